#!/bin/sh
# Shows that structure.sh can fail: builds small wrong trees and expects each mistake to be found, and a right one.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT

right_tree() {
    rm -rf "${tree:?}"/*
    for folder in protocol kernels server server/base server/gateway server/worker; do
        mkdir -p "$tree/$folder"
        echo "What lives here." >"$tree/$folder/README.md"
    done
    echo >"$tree/protocol/frame.h"
    echo '#include "protocol/frame.h"' >"$tree/kernels/tank.h"
    echo '#include "kernels/tank.h"' >"$tree/server/base/scene.h"
    echo '#include "server/base/scene.h"' >"$tree/server/gateway/session.h"
    echo '#include "server/base/scene.h"' >"$tree/server/worker/loop.h"
}

# expect NAME PATTERN: structure.sh must report it as wrong.
expect() {
    if sh "$here/structure.sh" "$tree" | grep -q "^not ok .*$2"; then
        echo "ok finds $1"
    else
        echo "not ok finds $1: structure.sh did not report it"
    fi
    right_tree
}

right_tree
if sh "$here/structure.sh" "$tree" | grep '^not ok'; then
    echo "not ok accepts a right tree"
else
    echo "ok accepts a right tree"
fi
echo '#include "kernels/tank.h"' >"$tree/protocol/frame.h"
expect "an include from protocol to kernels" "protocol depends on nothing"
echo '#include "server/base/scene.h"' >>"$tree/kernels/tank.h"
expect "an include from kernels to server" "nothing depends on server"
mkdir -p "$tree/kernels/grid" "$tree/kernels/liquid"
echo '#include "kernels/liquid/liquid.h"' >"$tree/kernels/grid/grid.c"
echo >"$tree/kernels/liquid/liquid.h"
expect "an include from the grid to a model" "kernels/grid may include"
mkdir -p "$tree/kernels/liquid" "$tree/kernels/smoke"
echo '#include "kernels/liquid/liquid.h"' >"$tree/kernels/smoke/smoke.c"
echo >"$tree/kernels/liquid/liquid.h"
expect "an include from a model to another" "kernels/smoke may include"
mkdir -p "$tree/kernels/stream" "$tree/kernels/tank"
echo '#include "kernels/tank/tank_internal.h"' >"$tree/kernels/stream/encoder.c"
echo >"$tree/kernels/tank/tank_internal.h"
expect "an include from the encoder to a tank's memory" "kernels/stream reads"
echo '  #  include "server/worker/loop.h"' >>"$tree/server/gateway/session.h"
expect "an include from gateway to worker" "server/gateway may include"
echo '#include "server/scene/scene.h"' >>"$tree/server/base/scene.h"
mkdir -p "$tree/server/scene" && echo "What lives here." >"$tree/server/scene/README.md" && echo >"$tree/server/scene/scene.h"
expect "an include from base to scenes" "server/base may include"
echo '#include "scene.h"' >>"$tree/server/base/scene.h"
expect "an include that isn't a path from the top" "paths from the top"
echo 'int number;' >"$tree/kernels/silent.c"
expect "a file that doesn't say what it is" "silent.c opens without"
printf '// A kernel.\n#ifdef __CUDACC__\n#endif\n' >"$tree/kernels/two.tile.c"
expect "a kernel that asks for its device" "two.tile.c asks what it is compiled for"
rm "$tree/server/worker/README.md"
expect "a folder without README" "server/worker has no README"
echo "cd /""work/main" >"$tree/protocol/notes.md"
expect "a path of a machine" "a path of one machine"
echo "// TO""DO" >>"$tree/kernels/tank.h"
expect "a mark of unfinished work" "unfinished"
