#!/bin/bash
# `tarn run --record-inputs` and `--inputs`: test_inputs.sh TARN SCENES README. The status is the number of failures.
#
#     every scene: recorded -> replayed elsewhere -> the same hash;   files that aren't logs of this tank -> a sentence
set -u
tarn=$1
scenes=$2
readme=$3
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failures=0

fail() {
    echo "FAILED: $1"
    sed 's/^/    | /' "$folder/out" "$folder/err"
    failures=$((failures + 1))
}

# run STATUS SCENE ARGUMENT...: expects an exit status.
run() {
    local want=$1 got
    shift
    "$tarn" run "$@" >"$folder/out" 2>"$folder/err" </dev/null
    got=$?
    [ "$got" = "$want" ] || fail "tarn run $*: status $got instead of $want"
}

says() { grep -qF -- "$1" "$folder/out" "$folder/err" || fail "no \"$1\" in what tarn said"; }

# set_bytes FILE AT BYTE...: a copy of a log with other bytes in it, at $folder/other.
set_bytes() {
    cp "$1" "$folder/other"
    printf '%b' "$3" | dd of="$folder/other" bs=1 seek="$2" conv=notrunc status=none
}

# A tank that is turned, so that each step has an input. $1: a cell's edge, $2: how high the liquid stands
scene() {
    cat <<SCENE
{ "size_m": [0.5, 0.5, 0.5], "cell_m": $1, "blocks": [{ "min_m": [0, 0, 0], "max_m": [0.25, $2, 0.5] }],
  "tank_motion": { "keyframes": [{ "time_s": 0 }, { "time_s": 1, "rotation_deg": [20, 0, 10] }] } }
SCENE
}
scene 0.0625 0.25 >"$folder/turned.json"
scene 0.125 0.25 >"$folder/coarse.json"
scene 0.0625 0.125 >"$folder/low.json"
turned=$folder/turned.json
log=$folder/turned.inputs

# Every scene goes the same way again on another number of threads, with another instruction set.
count=0
for scene in "$scenes"/*.json "$turned"; do
    case $scene in *.schema.json) continue ;; esac
    name=$(basename "$scene" .json)
    run 0 "$scene" --steps "$([ "$scene" = "$turned" ] && echo 8 || echo 4)" --quiet --hash --threads 1 --record-inputs "$folder/$name.inputs"
    recorded=$(cat "$folder/out")
    run 0 "$scene" --quiet --hash --threads 3 --isa v2 --inputs "$folder/$name.inputs"
    if [ -z "$recorded" ] || [ "$recorded" != "$(cat "$folder/out")" ]; then
        fail "$name: a replay ends in another state"
    fi
    count=$((count + 1))
done
[ "$count" -ge 14 ] || fail "only $count scenes were replayed"

# The inputs come from the file: with another pose in it, the tank goes another way, and that is said.
bytes=$(stat -c %s "$log")
[ "$bytes" -gt 300 ] || fail "a log of $bytes bytes has no poses"
set_bytes "$log" $((bytes - 40 - 28)) '\x0a\xd7\x23\x3c' # a centimetre along x
run 1 "$turned" --quiet --inputs "$folder/other"
says "other: found the hash"
says "at the end, recorded is"

# A part of a log, and none of it.
run 0 "$turned" --quiet --hash --steps 5
five=$(cat "$folder/out")
run 0 "$turned" --quiet --hash --steps 5 --inputs "$log"
[ "$five" = "$(cat "$folder/out")" ] || fail "five steps of a log aren't five steps"
run 1 "$turned" --steps 9 --inputs "$log"
says "--steps: found 9, allowed are at most 8, which \"$log\" has"
run 0 "$turned" --quiet --hash --steps 0 --record-inputs "$folder/none"
none=$(cat "$folder/out")
run 0 "$turned" --quiet --hash --inputs "$folder/none"
[ "$none" = "$(cat "$folder/out")" ] || fail "no steps are something"

# A replay that goes on from a checkpoint comes to the recorded hash; with the wrong part of the log it wouldn't.
run 0 "$turned" --quiet --inputs "$log" --steps 3 --checkpoint "$folder/third"
run 0 "$turned" --hash --inputs "$log" --resume "$folder/third"
says "turned.inputs: the hash at the end is the recorded one"
whole=$(tail -n 1 "$folder/out")
run 0 "$turned" --quiet --hash --steps 8
[ "$whole" = "$(cat "$folder/out")" ] || fail "a replay that was resumed ends in another state"
run 0 "$turned" --quiet --hash --inputs "$log" --steps 5 --resume "$folder/third"
[ "$five" = "$(cat "$folder/out")" ] || fail "a part of a replay that was resumed ends in another state"
run 0 "$turned" --quiet --steps 9 --checkpoint "$folder/ninth"
run 1 "$turned" --inputs "$log" --resume "$folder/ninth"
says "ninth: found the state of step 9, allowed is at most --steps, 8"

# Logs of other tanks.
run 1 "$folder/coarse.json" --inputs "$log"
says 'turned.inputs: found inputs of "turned" with 8 x 8 x 8 cells of 0.0625 m'
says 'allowed is what "coarse" has, 4 x 4 x 4 cells of 0.125 m'
run 1 "$folder/low.json" --inputs "$log"
says 'found inputs of "turned" that begin in another state than "low" does'

# Files that aren't whole, wherever they end; that aren't logs, or of another version.
for ((n = 0; n < bytes; n += 7)); do
    head -c "$n" "$log" >"$folder/cut"
    run 1 "$turned" --quiet --inputs "$folder/cut"
    says "cut: found "
done
{ cat "$log" && echo; } >"$folder/longer"
run 1 "$turned" --inputs "$folder/longer"
says "found no record of the end at byte $((bytes + 1 - 40)), the last of the file: it was cut off, or something was added"
run 1 "$turned" --inputs "$turned"
says "turned.json: found something else, allowed is a log of inputs that tarn wrote"
set_bytes "$log" 4 '\x02'
run 1 "$turned" --inputs "$folder/other"
says "other: found version 2 of a log of inputs, allowed is 1"
set_bytes "$log" $((bytes - 24)) '\x07'
run 1 "$turned" --quiet --inputs "$folder/other"
says "found an input before byte $((bytes - 40)), allowed are 7 steps"
set_bytes "$log" $((bytes - 24)) '\x09'
run 1 "$turned" --quiet --inputs "$folder/other"
says "allowed is one in between, and the end after the last"
set_bytes "$log" $((bytes - 40 - 4)) '\xff\xff\xff\xff'
run 1 "$turned" --quiet --inputs "$folder/other"
says "other: step 7: "
run 1 "$turned" --inputs "$folder/nowhere"
says "nowhere: No such file or directory"
run 1 "$turned" --inputs "$folder"
says "found something that isn't a file, allowed is a log of inputs"
mkfifo "$folder/pipe"
run 1 "$turned" --inputs "$folder/pipe"
says "pipe: found something that isn't a file"

# A log that can't be written is given up; the run goes on, and its status says so.
(
    ulimit -f 1
    run 1 "$turned" --steps 400 --quiet --hash --record-inputs "$folder/full"
    exit "$failures"
)
failures=$?
says "full: File too large"
grep -qxE '[0-9a-f]{32}' "$folder/out" || fail "no hash beside a log that was given up"
run 1 "$turned" --steps 1 --record-inputs "$folder/no/such/folder/log"
says "No such file or directory"
[ -z "$(find "$folder" -name 'full*' -o -name '*.part')" ] || fail "parts of a log were left"

# What an interrupt leaves is a log of what was done.
"$tarn" run "$turned" --steps 1000000 --record-inputs "$folder/interrupted" >"$folder/out" 2>"$folder/err" &
for _ in $(seq 200); do
    grep -q '^step ' "$folder/err" && break
    sleep 0.1
done
kill -INT $!
wait $!
[ $? = 130 ] || fail "an interrupted run doesn't end with status 130"
run 0 "$turned" --quiet --inputs "$folder/interrupted"

# The README's example of a log that is made by hand, as it stands there.
if command -v python3 >/dev/null; then
    sed -n '/^    import struct, sys$/,/^$/s/^    //p' "$readme" >"$folder/push.py"
    echo '{ "size_m": [0.5, 0.5, 0.5], "cell_m": 0.0625, "blocks": [{ "min_m": [0, 0, 0], "max_m": [0.5, 0.25, 0.5] }] }' >"$folder/pool.json"
    run 0 "$folder/pool.json" --steps 0 --record-inputs "$folder/none.inputs" --hash --quiet
    # The head's hash is behind 20 bytes, its lower half first.
    [ "$(od -An -v -j20 -N16 -tx8 "$folder/none.inputs" | awk '{ print $2 $1 }')" = "$(cat "$folder/out")" ] ||
        fail "the head of a log doesn't hold the hash that --hash prints"
    python3 "$folder/push.py" "$folder/none.inputs" "$folder/push.inputs" >"$folder/out" 2>"$folder/err" ||
        fail "the README's example doesn't run"
    run 0 "$folder/pool.json" --inputs "$folder/push.inputs" --hash
    says "push.inputs: not replayed to a recorded hash: nothing was compared"
    says "pool: 60 steps"
    pushed=$(tail -n 1 "$folder/out")
    run 0 "$folder/pool.json" --steps 60 --hash --quiet
    [ "$pushed" != "$(cat "$folder/out")" ] || fail "the README's example pushes nothing"
else
    echo "skipped: no python3 for the README's example"
fi

run 2 "$turned" --inputs "$log" --record-inputs "$folder/again"
says "found both --inputs and --record-inputs, allowed is one of them"
run 2 "$turned" --record-inputs -
says '--record-inputs: found "-", allowed is a file'

exit "$failures"
