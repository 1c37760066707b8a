#!/bin/bash
# `tarn run --probe`, and probes of scenes: test_probe.sh TARN. The status is the number of failures.
set -u
tarn=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failures=0
pool='"size_m": [0.5, 0.5, 0.5], "cell_m": 0.03125, "blocks": [{ "min_m": [0, 0, 0], "max_m": [0.5, 0.25, 0.5] }]'
echo "{ $pool }" >"$folder/pool.json"
echo '{ "model": "smoke", "size_m": [0.5, 0.5, 0.5], "cell_m": 0.03125,
  "blocks": [{ "min_m": [0, 0, 0], "max_m": [0.5, 0.25, 0.5], "carries": { "heat_k": 40 } }] }' >"$folder/smoke.json"

fail() {
    echo "FAILED: $1"
    sed 's/^/    | /' "$folder/out" "$folder/err"
    failures=$((failures + 1))
}

# run STATUS SCENE ARGUMENT...: `tarn run` of a scene; expects an exit status.
run() {
    local want=$1 scene=$2 got
    shift 2
    "$tarn" run "$folder/$scene.json" "$@" >"$folder/out" 2>"$folder/err" </dev/null
    got=$?
    [ "$got" = "$want" ] || fail "tarn run $scene.json $*: status $got instead of $want"
}

says() { grep -qF -- "$1" "$folder/out" "$folder/err" || fail "no \"$1\" in what tarn said"; }

# within COLUMN FROM TO: the last row's value by the column's name.
within() {
    awk -F, -v column="$1" -v from="$2" -v to="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        { value = $at[column] }
        END { exit !(column in at) || value < from || value > to }' "$folder/table.csv" ||
        fail "$1 isn't from $2 to $3 in $(tail -1 "$folder/table.csv")"
}

table=(--probes "$folder/table.csv")

# Water a quarter of a metre deep, at rest: 2451.7 Pa on the floor, a tenth of a cell is 31.
run 0 pool --steps 60 --hash "${table[@]}" --probe pressure:0.25,0,0.25 --probe middle=point:0.25,0.125,0.25 \
    --probe rod=gauge:0.25,0,0.25 --probe half=gauge:0.25,0,0.25,0.25,0.125,0.25 --probe through=flux:0,0,0.25,0.5,0.5,0.25 \
    --probe gone=liquid:0.25,0.4,0.25 --probe calm=velocity:0.25,0.1,0.25
says "17 columns of 60 steps in $folder/table.csv"
with=$(tail -1 "$folder/out")
[ "$(head -1 "$folder/table.csv")" = "time_s,pressure1_pressure_pa,middle_pressure_pa,middle_velocity_x_m_s,\
middle_velocity_y_m_s,middle_velocity_z_m_s,middle_share,middle_density_kg_m3,rod_depth_m,rod_surface_m,half_depth_m,\
half_surface_m,through_flux_m3_s,gone_share,gone_density_kg_m3,calm_velocity_x_m_s,calm_velocity_y_m_s,\
calm_velocity_z_m_s" ] || fail "the head is $(head -1 "$folder/table.csv")"
[ "$(wc -l <"$folder/table.csv")" = 61 ] || fail "there is no row for each step"
within time_s 0.99999 1.00001
within pressure1_pressure_pa 2421 2483
within middle_pressure_pa 1195 1257
within middle_share 0.8 1
within middle_density_kg_m3 999.9 1000.1
within rod_depth_m 0.246 0.254
within rod_surface_m 0.246 0.254
within half_depth_m 0.123 0.125
within half_surface_m 0.1249 0.1251
within through_flux_m3_s -0.001 0.001
within gone_share 0 0
within gone_density_kg_m3 0 0
within calm_velocity_y_m_s -0.01 0.01
run 0 pool --steps 60 --hash --quiet
[ "$(cat "$folder/out")" = "$with" ] || fail "who measures changes what happens"

# On every device the same table.
cp "$folder/table.csv" "$folder/first.csv"
run 0 pool --steps 60 --threads 1 --isa v2 --quiet "${table[@]}" --probe pressure:0.25,0,0.25 \
    --probe middle=point:0.25,0.125,0.25 --probe rod=gauge:0.25,0,0.25 --probe half=gauge:0.25,0,0.25,0.25,0.125,0.25 \
    --probe through=flux:0,0,0.25,0.5,0.5,0.25 --probe gone=liquid:0.25,0.4,0.25 --probe calm=velocity:0.25,0.1,0.25
cmp -s "$folder/first.csv" "$folder/table.csv" || fail "another instruction set gives another table"

# Of a scene, with one more; the scene's come first.
echo "{ $pool, \"probes\": [{ \"name\": \"rod\", \"kind\": \"gauge\", \"at_m\": [0.25, 0, 0.25] },
    { \"kind\": \"flux\", \"at_m\": [0, 0, 0.25], \"to_m\": [0.5, 0.5, 0.25] }] }" >"$folder/measured.json"
run 0 measured --steps 60 --quiet "${table[@]}" --probe pressure:0.25,0,0.25
[ "$(head -1 "$folder/table.csv")" = "time_s,rod_depth_m,rod_surface_m,flux2_flux_m3_s,pressure3_pressure_pa" ] ||
    fail "the head is $(head -1 "$folder/table.csv")"
cut -d, -f 9,10,13,2 "$folder/first.csv" | tail -1 | tr , '\n' | sort >"$folder/out"
tail -1 "$folder/table.csv" | cut -d, -f 2- | tr , '\n' | sort | cmp -s - "$folder/out" ||
    fail "a scene's probes say something else"
"$tarn" check "$folder/measured.json" >"$folder/out" 2>"$folder/err" || fail "tarn check refuses it"
says "probes: rod, a gauge; flux2, a flux"
run 2 measured --steps 1 "${table[@]}" --probe rod=gauge:0.1,0,0.1 --probes nothing
says '--probes: found "nothing", allowed is a name that ends in .csv'
run 1 measured --steps 1 "${table[@]}" --probe rod=gauge:0.1,0,0.1
says 'found the name "rod" twice'

# What the water weighs on the floor, 613 N, and what it lifts of a box of 0.1 m, 9.81 N.
echo "{ $pool, \"solids\": [{ \"shape\": { \"box\": { \"size_m\": [0.1, 0.1, 0.1] } }, \"position_m\": [0.25, 0.125, 0.25] }] }" >"$folder/block.json"
run 0 block --steps 60 --quiet "${table[@]}" --probe floor=wall:0,0,0,0.5,0,0.5 --probe box=force:0
within floor_force_y_n -625 -600
within box_force_y_n 9.3 10.3
within box_torque_x_n_m -0.05 0.05
run 1 block --steps 1 "${table[@]}" --probe force:1
says 'probe "force1": the solid is 1; the tank has 1, counted from 0'
run 2 block --steps 1 "${table[@]}" --probe force:0,0,0
says "allowed is force:SOLID"
run 1 block --steps 1 "${table[@]}" --probe wall:0,0.1,0,0.5,0.1,0.5
says "the rectangle lies in none of the tank's walls"

# The blocks of the lesson begin above its water, none of which is left out: the level that its answer counts from.
"$tarn" run lesson-buoyancy --steps 1 >"$folder/out" 2>"$folder/err" </dev/null || fail "the lesson doesn't run"
says " 76800 particles"

# The lesson on waves: its crest goes from rod to rod, a metre, as fast as sqrt(g h), within 2 %.
"$tarn" run lesson-waves --steps 95 --quiet "${table[@]}" >"$folder/out" 2>"$folder/err" </dev/null || fail "the lesson doesn't run"
# The crest is where a parabola through eleven rows has its top: a row is a fortieth of the way.
took_s=$(awk -F, '
    function top_s(v,    at, i, k, sum, slope, bend) {
        for (i = at = 6; i <= rows - 5; i++) at = v[i] > v[at] ? i : at
        for (k = -5; k <= 5; k++) { sum += v[at + k]; slope += k * v[at + k]; bend += k * k * v[at + k] }
        return t[at] - slope / 110 / (2 * (bend - 10 * sum) / 858) * (t[2] - t[1])
    }
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { t[++rows] = $1; near[rows] = $column["near_surface_m"]; far[rows] = $column["far_surface_m"] }
    END { print top_s(far) - top_s(near) }' "$folder/table.csv")
awk -v took="$took_s" 'BEGIN { long = 1 / sqrt(9.81 * 0.1875); exit !(took > 0.98 * long && took < 1.02 * long) }' ||
    fail "the lesson's crest took $took_s s"

# Smoke has no surface; it has what it carries.
run 0 smoke --steps 2 --quiet "${table[@]}" --probe here=point:0.25,0.1,0.25
within here_heat_k 38 42
within here_smoke 0.9 1.1
run 1 smoke --steps 1 "${table[@]}" --probe gauge:0.25,0,0.25
says 'probe "gauge1": smoke fills its tank and has no surface; allowed are points'
run 1 smoke --steps 1 "${table[@]}" --probe liquid:0.25,0,0.25
says 'probe "liquid1": found a liquid in smoke'

# What isn't a probe, or isn't in the tank.
for wrong in presure:1,2,3 1,2,3 gauge gauge: gauge:1,2 gauge:1,2,3,4 gauge:x,1,2 gauge:1,2,nan A=gauge:0,0,0 \
    =gauge:0,0,0; do
    rm -f "$folder/table.csv"
    run 2 pool --steps 1 "${table[@]}" --probe "$wrong"
    says "tarn run: --probe: found"
    says "allowed"
    [ ! -e "$folder/table.csv" ] || fail "a table came of $wrong"
done
run 1 pool --steps 1 "${table[@]}" --probe up=gauge:0.1,0.6,0.1
says 'probe "up": y is 0.6 m; allowed is 0 to 0.5, which is in the tank'
run 1 pool --steps 1 "${table[@]}" --probe point:0,0,0,1,1,1
says "found two places, allowed is one of a point"
run 1 pool --steps 1 "${table[@]}" --probe flux:0,0,0
says "found one place, allowed are two of a flux"
run 1 pool --steps 1 "${table[@]}" --probe flux:0,0,0,0.4,0.4,0.4
says "which have 0 coordinates in common"
run 2 pool --steps 1 --probe point:0,0,0
says "--probe needs --probes FILE.csv"
run 1 pool --steps 1 "${table[@]}"
says "found none to write"
many=()
for i in $(seq 65); do many+=(--probe "point:0.1,0.1,0.$i"); done
run 2 pool --steps 1 "${table[@]}" "${many[@]}"
says "found more than 64"
run 1 pool --steps 1 --probes "$folder/no/such/table.csv" --probe point:0,0,0
says "No such file or directory"

# A full disk leaves no table.
rm -f "$folder/table.csv"
(
    ulimit -f 1
    run 1 pool --steps 200 --quiet "${table[@]}" --probe point:0.1,0.1,0.1 --probe point:0.2,0.1,0.1
    exit "$failures"
)
failures=$?
says "File too large"
[ -z "$(find "$folder" -name 'table.csv*')" ] || fail "a part of a table was left behind"

[ "$failures" = 0 ] && echo "ok"
exit "$failures"
