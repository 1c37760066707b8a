#!/bin/sh
# Builds codec.wasm and runs test_wasm.mjs on it: test_wasm.sh GOLDEN_DIRECTORY. Exits with 77 where a tool is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
golden=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if ! command -v node >/dev/null 2>&1; then
    echo "skipped: node is not installed"
    exit 77
fi
if ! sh "$here/../../protocol/wasm/build" "$scratch/codec.wasm" 2>"$scratch/log"; then
    cat "$scratch/log"
    if grep -q "no clang that can build WebAssembly" "$scratch/log"; then
        echo "skipped: no clang with a wasm32 target and wasm-ld"
        exit 77
    fi
    exit 1
fi
node "$here/test_wasm.mjs" "$scratch/codec.wasm" "$golden"
