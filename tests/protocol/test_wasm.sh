#!/bin/sh
# Builds codec.wasm and runs test_wasm.mjs on it, and half a minute of hour.mjs: test_wasm.sh GOLDEN TRACE_STREAM RECORD_STREAM
# Exits with 77 where a tool is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
golden=$1
trace_stream=$2
record_stream=$3
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

# Sequences: of the encoder as it is now, those that the page's tests play, and the golden ones.
scenes=$here/../browser/scenes
"$record_stream" "$scenes/small-pool.json" "$scratch/pool.bin" --frames 12 --first 20 --key 8 --base 2
"$record_stream" "$scenes/small-splash.json" "$scratch/splash.bin" --frames 24 --first 10 --key 12 --base 3 --every 1
"$record_stream" "$scenes/small-splash.json" "$scratch/fine.bin" --frames 12 --key 12 --base 2 --bits 7 --reset 7
set -- "$scratch/pool.bin" "$scratch/splash.bin" "$scratch/fine.bin"
for sequence in "$golden"/stream-*.bin "$golden"/version-2/*.bin "$here"/../browser/streams/*.bin; do
    [ ! -f "$sequence" ] || set -- "$@" "$sequence"
done
node "$here/test_wasm.mjs" "$scratch/codec.wasm" "$trace_stream" "$scratch" "$@"
node "$here/hour.mjs" "$scratch/codec.wasm" "$record_stream" "$trace_stream" "$scenes/small-splash.json" 0.5
