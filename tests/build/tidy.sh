#!/bin/sh
# Runs clang-tidy over our C sources, several at a time: tidy.sh BUILD-FOLDER JOBS [NODES].
#
# NODES: how far the analyzer walks along the paths of each function, in steps; 30 000 by default. Clang's own 225 000 take
# three to five times as long.
set -eu
build=$1
jobs=$2
nodes=${3:-30000}
list=$build/tidy
clang-tidy --version | grep version
mkdir -p "$list"
# clang-tidy looks at a file once for every way in which it is compiled. A kernel is compiled for each instruction set and
# the liquid a second time for the emulated device; the first is kept, and the second for a source that tells them apart.
# What takes longest comes first, or one process would go on alone at the end.
node -e '
    const { readFileSync, statSync, writeFileSync } = require("fs");
    const commands = new Map();
    for (const command of JSON.parse(readFileSync(process.argv[1] + "/compile_commands.json", "utf8"))) {
        const { file } = command;
        if (!file.endsWith(".c")) continue;
        const differs = readFileSync(file, "utf8").includes("TARN_HAVE_CUDA");
        const way = differs ? /TARN_HAVE_CUDA=./.exec(command.command) : "";
        if (!commands.has(file + way)) commands.set(file + way, command);
    }
    const weight = (file) => statSync(file).size * (file.endsWith(".tile.c") ? 10 : 1);
    const files = [...new Set([...commands.values()].map(({ file }) => file))].sort((a, b) => weight(b) - weight(a));
    writeFileSync(process.argv[2] + "/compile_commands.json", JSON.stringify([...commands.values()]));
    writeFileSync(process.argv[2] + "/files", files.map((file) => file + "\n").join(""));
' "$build" "$list"
[ -s "$list/files" ]
# The analyzer's walk along paths takes seven eighths of a file's time. Sanitizers run the tests, and see more. A kernel takes
# no memory that could be lost, and no pointer that could be missing: what is left, divisions and arrays, is theirs, too.
export list nodes
xargs -P "$jobs" -n 1 sh -c '
    case $1 in
        "$PWD"/tests/*) set -- "$1" "--checks=-clang-analyzer-*" --extra-arg=-Wno-everything ;;
        *.tile.c) set -- "$1" "--checks=-clang-analyzer-*" --extra-arg=-Wno-unknown-pragmas ;;
    esac
    file=$1
    shift
    exec clang-tidy -p "$list" --quiet --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang \
        --extra-arg="max-nodes=$nodes" "$@" "$file"
' sh <"$list/files"
