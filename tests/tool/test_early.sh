#!/bin/bash
# What can't be written is found before the steps are made, not behind them: test_early.sh TARN. The status is the number
# of failures.
set -u
tarn=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failures=0
patience=${2:-20} # seconds
cd "$folder" || exit 1
echo '{ "size_m": [1, 1, 1], "cell_m": 0.125, "blocks": [{ "min_m": [0, 0, 0], "max_m": [0.5, 0.5, 1] }] }' >small.json
: >file
mkdir taken taken.csv taken.pvd taken.usda taken.usdc taken.apng taken.y4m taken.vti.pvd
for name in full full.csv full.y4m brim.pvd full.vti.pvd; do
    ln -s /dev/full "$name"
done

fail() {
    echo "FAILED: $1"
    sed 's/^/    | /' err
    failures=$((failures + 1))
}

# More steps than anybody waits for: what isn't refused at once ends by the limit of time.
refused() {
    local want=$1 got
    shift
    timeout -s KILL "$patience" "$tarn" run small.json --steps 100000000 --quiet "$@" >out 2>err </dev/null
    got=$?
    [ "$got" = 1 ] && grep -qF -- "$want" err || fail "tarn run $*: status $got, wanted 1 with \"$want\""
}

probe=(--probe point:0.5,0.25,0.5)
seldom=(--every 100000 --size 16x16)
# A folder has the name of the file.
refused "taken: Is a directory" --checkpoint taken
refused "taken: Is a directory" --record-inputs taken
refused "taken.csv: Is a directory" "${probe[@]}" --probes taken.csv
refused "taken.pvd: Is a directory" --export taken.pvd --every 100000
refused "taken.vti.pvd: Is a directory" --export taken.vti --every 100000
refused "taken.usda: Is a directory" --export taken.usda --every 100000
refused "taken.usdc: Is a directory" --surface taken.usdc --every 100000
refused "taken.apng: Is a directory" --render taken.apng "${seldom[@]}"
refused "taken.y4m: Is a directory" --render taken.y4m "${seldom[@]}"

# What should be a folder is a file.
refused "file/state: Not a directory" --checkpoint file/state
refused "file/inputs: Not a directory" --record-inputs file/inputs
refused "file/probes.csv: Not a directory" "${probe[@]}" --probes file/probes.csv
refused "file/run: Not a directory" --export file/run.pvd --every 100000
refused "file/run-000000.vti: Not a directory" --export file/run.vti --every 100000
refused "file/run.usd: Not a directory" --export file/run.usd --every 100000
refused "file/picture-000000.png: Not a directory" --render file/picture.png "${seldom[@]}"
refused "file/water-000000.obj: Not a directory" --surface file/water.obj --every 100000
refused "file/water-000000.ply: Not a directory" --surface file/water.ply --every 100000
refused "file/ply: Not a directory" --ply file/ply --every 100000

# The disk is full.
refused "full: No space left on device" --checkpoint full
refused "full: No space left on device" --checkpoint full --checkpoint-every 1000
refused "full: No space left on device" --record-inputs full
refused "full.csv: No space left on device" "${probe[@]}" --probes full.csv
refused "brim.pvd: No space left on device" --export brim.pvd --every 100000
refused "full.vti.pvd: No space left on device" --export full.vti --every 100000
refused "full.y4m: No space left on device" --render full.y4m "${seldom[@]}"

# Nobody would see the hash.
timeout -s KILL "$patience" "$tarn" run small.json --steps 100000000 --quiet --hash >/dev/full 2>err </dev/null
[ $? = 1 ] && grep -qF "standard output: No space left on device" err || fail "--hash on a full disk"
timeout -s KILL "$patience" "$tarn" run small.json --steps 100000000 --quiet --hash >&- 2>err </dev/null
[ $? = 1 ] && grep -qF "standard output: Bad file descriptor" err || fail "--hash without standard output"

# A pipe isn't asked: what reads it may come later, and gets nothing but what is written.
mkfifo pipe
timeout -s KILL 20 cat pipe >from-pipe &
timeout -s KILL 20 "$tarn" run small.json --steps 3 --quiet --checkpoint pipe >out 2>err </dev/null ||
    fail "a pipe is refused"
wait $!
"$tarn" run small.json --steps 3 --quiet --checkpoint state 2>err || fail "a state isn't written"
cmp -s from-pipe state || fail "a pipe got something else than a file"

# What was asked leaves nothing behind.
left=$(find . -name '*.part' -o -name '*-000000.*')
[ -z "$left" ] || fail "files were left: $left"

[ "$failures" = 0 ] && echo "ok"
exit "$failures"
