#!/bin/sh
# Runs clang-tidy over our C sources, several at a time: tidy.sh BUILD-FOLDER JOBS.
set -eu
build=$1
jobs=$2
clang-tidy --version | grep version
# The sources that this build compiles; kernels compile once for each instruction set and are looked at once.
grep -o '"file": "[^"]*\.c"' "$build/compile_commands.json" | cut -d '"' -f 4 | sort -u |
    xargs -P "$jobs" -n 4 clang-tidy -p "$build" --quiet
