#!/usr/bin/env bash
# Configures and builds folders of build/: tree.sh [--ahead] NAME...
#
#     release      everything
#     asan, tsan   what tests/run runs with address and undefined-behaviour, or with the thread sanitizer
#     asan:A,B     of the first what the folders A and B of tests/ are made of
#     fuzz         the fuzzers
#
# --ahead builds only while the processors have nothing else to do, for tests/run, which wants the trees later; it is
# ended by a signal, and what it has built is there. The status is that of the first that fails.
set -uo pipefail
program=tests/build/tree.sh
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/deploy/packages.sh"
cd "$root" || exit 1
trap 'exit 143' TERM # once what is being built has ended
isa=v3 # of the sanitizers' kernels
[ "$(uname -m)" != x86_64 ] || grep -qw avx2 /proc/cpuinfo || isa=v2

build() {
    local name=${1%%:*} targets=() folder
    case $name in
        release) ;;
        asan)
            targets=({server,kernels,protocol}/all tests/{kernels,kinect,protocol,scene,server,shapes,stream,tables,tank,tool,toy}/all)
            if [[ $1 == *:* ]]; then
                targets=()
                for folder in $(tr , ' ' <<<"${1#*:}"); do targets+=("tests/$folder/all"); done
            fi
            ;;
        # What has threads, and nothing else: the rest would be built for nothing.
        tsan)
            targets=(tarnd tarn-worker tarn tarn_scenes fake_worker dialect_test device_test test_render {jobs,turns}_test
                server_{load,store,tank}_test server_stress)
            ;;
        fuzz)
            exec sh tests/fuzz/run --build
            ;;
        *) tarn_fail "found \"$name\", allowed are release, asan, tsan and fuzz" ;;
    esac
    if [ "$name" = release ]; then
        tarn_configure release -DTARN_TESTS=ON -DTARN_WARNINGS_FAIL=ON
    else
        tarn_configure "$name" -DTARN_TESTS=ON -DTARN_WARNINGS_FAIL=ON -DTARN_ONE_ISA="$isa"
    fi
    exec ninja -C "build/$name" "${targets[@]}"
}

if [ "${1:-}" = --ahead ]; then
    shift
    # Some systems share time among sessions first: this one gets the least there, and within a session as well.
    { echo 19 >/proc/self/autogroup; } 2>/dev/null
    chrt --idle --pid 0 $$ 2>/dev/null || renice -n 19 $$ >/dev/null
fi
for name in "$@"; do
    (build "$name") || exit
done
