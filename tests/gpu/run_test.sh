#!/bin/sh
# Tries tests/gpu/run on machines that are made up, and once with the emulated GPU:
#
#     sh tests/gpu/run_test.sh RUN PROGRAM
#
# PROGRAM is gpu_check with the emulated GPU. NVIDIA's tools are scripts that do what they are told.
set -u
run=$1
program=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

make_tool() { # NAME, its text from the standard input
    cat >"$work/bin/$1" && chmod +x "$work/bin/$1"
}

mkdir "$work/bin"
make_tool nvidia-smi <<'TEXT'
#!/bin/sh
case $* in
*-L*) echo "GPU 0: made up" ;;
*) exit 1 ;;
esac
TEXT
make_tool compute-sanitizer <<'TEXT'
#!/bin/sh
echo "========= ${FOUND_TEXT:-ERROR SUMMARY: 0 errors}"
exit "${FOUND:-0}"
TEXT
make_tool ncu <<'TEXT'
#!/bin/sh
echo "  tarn_cuda_made_up(args, const unsigned int *, unsigned int) (125, 1, 1)x(256, 1, 1), Device 0, CC 9.0, Invocations 4"
echo "    gpu__time_duration.sum ns 1,000 3,000 2,000.00"
TEXT
make_tool nsys <<'TEXT'
#!/bin/sh
while [ $# -gt 1 ]; do
    if [ "$1" = --output ]; then
        echo times >"$2.nsys-rep"
    fi
    shift
done
TEXT
# A program that answers as DEVICES, HANGS and WRONG say, and writes down what it was called with.
make_tool answers <<'TEXT'
#!/bin/sh
echo "$*" >>"$CALLS"
for section in "$@"; do :; done
case $section in
devices) exit "${DEVICES:-0}" ;;
"${HANGS:-none}") exec sleep 1000 ;;
esac
case "$* " in
*"--without chains"*) exit 0 ;;
*" ${WRONG:-none} "*) exit 1 ;;
esac
exit "${ALL:-0}"
TEXT

expect() { # NAME STATUS TEXT: that the last run ended so and said that
    if [ "$found" -ne "$2" ] || ! grep -q -e "$3" "$work/said"; then
        echo "$1: ended with $found, wanted $2 and \"$3\"; it said:"
        cat "$work/said"
        failures=$((failures + 1))
    fi
}

try() { # FOLDER ARGUMENTS... of run; after assignments
    folder=$work/$1
    shift
    CALLS=$folder.calls PATH=$work/bin:$PATH TARN_GPU_BUILD=$folder sh "$run" --out "$folder/out" "$@" >"$work/said" 2>&1
    found=$?
}

made_up=$work/bin/answers

# These take as long as what hangs: beside the others.
(
    "$program" --gpus 1 --seconds 1 large >"$work/watch" 2>&1
    echo $? >"$work/watch.status"
) &
watch=$!
(
    HANGS=tanks CALLS=$work/hangs.calls PATH=$work/bin:$PATH TARN_GPU_BUILD=$work/hangs \
        sh "$run" --out "$work/hangs/out" --seconds 22 --program "$made_up" >"$work/hangs.said" 2>&1
    echo $? >"$work/hangs.status"
) &
hangs=$!

try bad --seconds x
expect "a wrong number" 1 'seconds: found "x"'
try bad --outt x
expect "a wrong option" 1 'found "--outt"'

try well --program "$made_up"
expect "all is well" 0 '^passed$'
for section in dialect tanks large beside budget memcheck crowd many rebuilds faults racecheck costs ncu moves synccheck initcheck nsys \
    stages poison; do
    expect "all is well" 0 "^=== $section,"
done
expect "all is well" 0 "^=== many, --without chains,"
expect "all is well" 0 "8.0 us     4 times       2.0 us each  made_up"
if [ "$(find "$work/well/out" -type f | wc -l)" -gt 8 ] || [ ! -e "$work/well/out/ncu.txt" ] ||
    [ ! -e "$work/well/out/nsys.nsys-rep" ] || ! grep -q passed "$work/well/out/report.txt"; then
    echo "the reports aren't there: $(ls "$work/well/out")"
    failures=$((failures + 1))
fi

export FOUND=9
try found --program "$made_up"
unset FOUND
expect "a sanitizer finds something" 1 "FAILED: memcheck: see sanitizers.txt"
export FOUND=1 FOUND_TEXT="Error: Device not supported"
try unfit --program "$made_up"
unset FOUND FOUND_TEXT
expect "a sanitizer doesn't work" 0 "skipped: it doesn't work here"

export DEVICES=77
try none --program "$made_up"
expect "CUDA doesn't see the driver's GPU" 1 "the driver has a GPU, and CUDA none"
rm "$work/bin/nvidia-smi"
export ALL=77
try none --program "$made_up"
expect "no GPU" 77 ""
unset ALL
export DEVICES=1
try unusable --program "$made_up"
expect "a GPU that can't be used" 1 "FAILED: devices"
unset DEVICES

export WRONG=tanks
try wrong --program "$made_up"
unset WRONG
expect "chains are wrong" 1 "right --without chains"
if ! grep -q -e "--without chains.* crowd" "$work/wrong.calls"; then
    echo "the rest doesn't go on without chains: $(cat "$work/wrong.calls")"
    failures=$((failures + 1))
fi

# What only tanks with more tiles than run at once do.
export WRONG=large
try large --program "$made_up"
unset WRONG
expect "chains of large tanks are wrong" 1 "right --without chains"
if ! grep -q -e "--without chains.* large" "$work/large.calls" || ! grep -q -e "--without chains.* crowd" "$work/large.calls"; then
    echo "the rest doesn't go on without chains: $(cat "$work/large.calls")"
    failures=$((failures + 1))
fi

try emulated --quick --program "$program" -- --gpus 1
expect "the emulated GPU" 0 '^passed$'
# A chain is one launch, and has one row; its time comes from marks in a replay.
expect "the budget" 0 'matrix, pressure, density *[0-9.]*[1-9][0-9.]* *1\.0 *[1-9][0-9.]* .*[0-9.] *[0-9]*%$'

wait "$watch" "$hangs"
found=$(cat "$work/watch.status")
cp "$work/watch" "$work/said"
expect "a device that takes forever" 3 "FAILED: hung"
found=$(cat "$work/hangs.status")
cp "$work/hangs.said" "$work/said"
expect "a program that takes forever" 1 "FAILED: tanks: ended after"
expect "a program that takes forever" 1 "left out for want of time:.* crowd"
[ "$failures" -eq 0 ]
