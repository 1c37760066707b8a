#!/bin/bash
# What can go wrong while `tarn run` writes: test_export_errors.sh TARN. The status is the number of failures.
set -u
tarn=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failures=0
cat >"$folder/small.json" <<'END'
{ "size_m": [1, 1, 1], "cell_m": 0.0625, "blocks": [{ "min_m": [0, 0, 0], "max_m": [0.5, 0.5, 1] }] }
END

fail() {
    echo "FAILED: $1"
    sed 's/^/    | /' "$folder/out" "$folder/err"
    failures=$((failures + 1))
}

# run STATUS ARGUMENT...: `tarn run` of the small scene; expects an exit status.
run() {
    local want=$1 got
    shift
    "$tarn" run "$folder/small.json" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    got=$?
    [ "$got" = "$want" ] || fail "tarn run $*: status $got instead of $want"
}

says() { grep -qF -- "$1" "$folder/out" "$folder/err" || fail "no \"$1\" in what tarn said"; }

# A limit on the size of files stands for a full disk: nothing is left that looks whole, and no part of it.
for file in run.pvd run.vti run.usda run.usdc pictures.png film.apng film.y4m surface.obj surface.ply surface.usda \
    surface.usdc; do
    option=--export
    case $file in *.png | *.apng | *.y4m) option=--render ;; surface.*) option=--surface ;; esac
    mkdir "$folder/full"
    (
        ulimit -f 20
        run 1 --steps 2 --every 1 "$option" "$folder/full/$file"
        exit "$failures"
    )
    failures=$?
    says "full/${file%.*}"
    says "File too large"
    [ -z "$(find "$folder/full" -type f)" ] || fail "left behind: $(find "$folder/full" -type f)"
    rm -r "$folder/full"
done

# Drawing isn't simulation: it has a time of its own.
run 0 --steps 8 --every 1 --size 640x360 --threads 1 --render "$folder/slow.apng"
says "9 pictures in"
awk '/simulated in/ { for (i = 2; i < NF; i++) if ($i == "in") spent[++n] = $(i + 1) }
    END { exit !(n == 2 && spent[1] + 0 < spent[2] + 0) }' "$folder/out" || fail "drawing passes for simulation"

# Folders are made, but not of files, nor several levels at once.
run 0 --steps 1 --export "$folder/new/run.usda" --quiet
[ -s "$folder/new/run.usda" ] || fail "no folder was made"
run 1 --steps 1 --export "$folder/small.json/run.usda"
says "small.json/run.usda: Not a directory"
run 1 --steps 1 --render "$folder/no/such/folder/film.apng"
says "No such file or directory"
: >"$folder/taken"
run 1 --steps 1 --export "$folder/taken.pvd" --ply "$folder/small.json/ply"
says "Not a directory"

# The folder beside a .pvd has its name.
mkdir "$folder/in-the-way.d"
: >"$folder/in-the-way.d/run"
run 1 --steps 1 --export "$folder/in-the-way.d/run.pvd"
says "run-000000.vtp: Not a directory"

# One file that can't be written is named, and the others get all of their frames, whichever comes first.
ln -s /dev/full "$folder/full.y4m"
run 1 --steps 4 --every 1 --size 64x48 --hash --export "$folder/before.pvd" --render "$folder/full.y4m" \
    --export "$folder/after.pvd" --ply "$folder/after-ply"
says "full.y4m: No space left on device"
says "not all of the files were written"
says "5 frames in $folder/after.pvd"
grep -qF "frames in $folder/full.y4m" "$folder/out" && fail "a file that was given up is counted"
tail -n 1 "$folder/out" | grep -qxE '[0-9a-f]{32}' || fail "no hash beside a file that was given up"
for file in before after; do
    [ "$(grep -c '<DataSet' "$folder/$file.pvd")" = 5 ] || fail "$file.pvd doesn't have all frames"
done
[ "$(find "$folder/after-ply" -name '*.ply' | wc -l)" = 5 ] || fail "PLY files are missing after another file failed"

# A reader that goes away is a write error, not a silent death.
"$tarn" run "$folder/small.json" --steps 50 --render - 2>"$folder/err" | head -c 100 >/dev/null
[ "${PIPESTATUS[0]}" = 1 ] || fail "a reader that went away: status ${PIPESTATUS[0]}"
says "Broken pipe"

# A named pipe is written to, not replaced.
mkfifo "$folder/pipe.y4m"
timeout 60 cat "$folder/pipe.y4m" >"$folder/from-pipe" &
run 0 --steps 2 --size 64x48 --render "$folder/pipe.y4m" --quiet
wait $!
[ -p "$folder/pipe.y4m" ] || fail "a named pipe was replaced"
[ "$(head -c 9 "$folder/from-pipe")" = YUV4MPEG2 ] || fail "no video came through the pipe"

# What goes back in its file doesn't wait for a pipe's other end.
for file in pipe.apng pipe.usda pipe.usdc; do
    option=--export
    [ $file = pipe.apng ] && option=--render
    mkfifo "$folder/$file"
    timeout -s KILL 20 "$tarn" run "$folder/small.json" --steps 1 $option "$folder/$file" \
        >"$folder/out" 2>"$folder/err" || [ $? = 1 ] || fail "$file: it wasn't refused"
    says "$file: found a pipe or a device, allowed is a file"
done

# What a closed standard error would have said doesn't get into the file that has its number.
"$tarn" run "$folder/small.json" --steps 1 --export "$folder/closed.usda" >"$folder/out" 2>&-
grep -q 'simulated' "$folder/closed.usda" && fail "the progress went into a file"
"$tarn" run "$folder/small.json" --steps 1 --hash >&- 2>"$folder/err" && fail "a closed standard output went unnoticed"

# One file by two names is whole in the end; parts with the same name are left alone.
run 0 --steps 2 --quiet --export "$folder/same.usda" --export "$folder/./same.usda"
run 0 --steps 2 --quiet --export "$folder/once.usda"
cmp -s "$folder/same.usda" "$folder/once.usda" || fail "a file that was written twice differs"
[ -z "$(find "$folder" -name '*.part')" ] || fail "left behind: $(find "$folder" -name '*.part')"

# What an interrupt leaves is whole.
"$tarn" run "$folder/small.json" --steps 1000000 --export "$folder/cut.pvd" >"$folder/out" 2>"$folder/err" &
for _ in $(seq 200); do
    [ -z "$(ls "$folder/cut" 2>/dev/null)" ] || break
    sleep 0.1
done
kill -INT $!
wait $!
[ $? = 130 ] || fail "an interrupted run doesn't end with status 130"
says "frames in $folder/cut.pvd are complete, the rest is missing"
[ "$(grep -c '<DataSet' "$folder/cut.pvd")" = "$(find "$folder/cut" -type f | wc -l)" ] || fail "an interrupted .pvd"

# Wrong options name what was found and what is allowed.
run 2 --export "$folder/run.obj"
says 'allowed is a name that ends in one of .pvd, .vti, .usda, .usdc, .usd'
run 2 --surface "$folder/run.vtp"
says 'allowed is a name that ends in one of .obj, .ply, .usda, .usdc, .usd'
run 2 --surface "$folder/a.obj" --surface-detail 5
says '--surface-detail: found "5"'
run 2 --surface-detail 2
says '--surface-detail needs --surface FILE'
run 2 --surface "$folder/a.obj" --channel speed
says '--channel needs'
run 2 --render "$folder/film.gif"
says 'allowed is a name that ends in one of .png, .apng, .y4m, or -'
run 2 --export .pvd
run 2 --render "$folder/a.png" --size 10x2000
says '--size: found "10x2000", allowed is a width and a height from 16 to 4096, such as 1280x720'
run 2 --render "$folder/a.png" --size 640
run 2 --render "$folder/a.png" --size 640x360x2
run 2 --render "$folder/a.png" --size 64x-36
run 2 --size 640x360
says '--size needs --render FILE'
run 2 --every 2
says '--every needs --export, --render, --surface or --ply'
run 2 --render "$folder/a.png" --every 0
run 2 --render "$folder/a.png" --fps 0
says '--fps: found "0", allowed is a number above 0, at most 10000'
run 2 --render "$folder/a.png" --fps nan
run 2 --render "$folder/a.png" --fps 30 --every 2
says 'found both --every and --fps'
run 2 --render - --hash
says 'found both --hash and --render -'
run 2 --export "$folder/a.usda" --export "$folder/a.usda"
says 'twice'
run 2 --ply-every 3
says '--ply-every needs --ply DIR'
run 2 --export "$folder/a.vti" --channel pressure
says '--channel needs --render FILE, --export FILE.pvd, .usd, .usda or .usdc, --surface FILE.ply, .usd, .usda or .usdc, or --ply DIR'
run 1 --ply "$folder/values" --channel heat
says 'found "heat", allowed of a tank of liquid: speed height vorticity pressure density'

sed 's/{/{ "model": "smoke",/' "$folder/small.json" >"$folder/smoke.json"
"$tarn" run "$folder/smoke.json" --steps 1 --surface "$folder/smoke.obj" >"$folder/out" 2>"$folder/err"
[ $? = 1 ] || fail "a surface of smoke isn't refused"
says 'found a tank of smoke, allowed is one of liquid'

exit "$failures"
