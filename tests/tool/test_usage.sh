#!/bin/bash
# What `tarn` ends with where it is called wrongly: test_usage.sh TARN. The status is the number of failures.
#
#     2   the command line is wrong whatever the files hold
#     1   it is right, but a file, a scene or a server isn't what it needs
set -u
tarn=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failures=0
cd "$folder" || exit 1
echo '{ "size_m": [0.5, 0.5, 0.5], "cell_m": 0.0625, "blocks": [{ "min_m": [0, 0, 0], "max_m": [0.5, 0.25, 0.5] }] }' >pool.json
echo "no session" >file

# STATUS | ARGUMENTS, split at blanks | what the sentence says
while IFS='|' read -r want arguments sentence; do
    [ -n "${want// /}" ] || continue
    read -ra words <<<"$arguments"
    read -r sentence <<<"$sentence"
    timeout 60 "$tarn" "${words[@]}" >out 2>err </dev/null
    got=$?
    if [ "$got" != "${want// /}" ] || ! grep -qF -- "$sentence" err; then
        echo "FAILED: tarn $arguments: status $got, wanted $want with \"$sentence\""
        sed 's/^/    | /' err
        failures=$((failures + 1))
    fi
done <<'TABLE'
2 |                                                      | a command is missing
2 | walk                                                 | found the command "walk"
2 | lod                                                  | found the command "lod" (did you mean load?)
2 | --faster                                             | --faster
2 | run pool.json --stps 3                               | found "--stps", which is no option; did you mean --steps?
2 | run pool.json --setps=3                              | found "--setps", which is no option; did you mean --steps?
2 | run pool.json --zzz                                  | found "--zzz", which is no option
1 | run still-pol                                        | did you mean "still-pool"?
2 | run                                                  | the scene is missing
2 | run pool.json other.json                             | found a second scene
2 | run pool.json --faster                               | --faster
2 | run pool.json --steps x                              | --steps: found "x"
2 | run pool.json --device gpu                           | --device: found "gpu"
2 | run pool.json --threads 0                            | --threads: found "0"
2 | run pool.json --isa v9                               | --isa: found "v9"
2 | run pool.json --set cell_m                           | --set: found the setting "cell_m"
2 | run pool.json --set =2                               | --set: found the setting "=2"
2 | run pool.json --set a..b=2                           | --set: found the setting "a..b=2"
2 | run pool.json --set a.b.c.d.e.f.g.h.i=2              | --set: found the setting
1 | run pool.json --set cell_m=-1                        | cell_m: found -1
1 | run pool.json --set cell_n=1                         | cell_n
2 | run pool.json --probe presure:1,2,3 --probes a.csv   | --probe: found "presure:1,2,3"
2 | run pool.json --probe force:x --probes a.csv         | --probe: found "force:x"
1 | run pool.json --probe force:0 --probes a.csv         | the solid is 0
1 | run pool.json --probe point:9,9,9 --probes a.csv     | x is 9 m
2 | run pool.json --probe point:0,0,0                    | --probe needs --probes
2 | run pool.json --probes a.txt                         | --probes: found "a.txt"
2 | run pool.json --render a.gif                         | --render: found "a.gif"
2 | run pool.json --export a.obj                         | --export: found "a.obj"
2 | run pool.json --surface a.vtp                        | --surface: found "a.vtp"
2 | run pool.json --surface a.obj --surface a.obj        | found "a.obj" twice
2 | run pool.json --surface-detail 9                     | --surface-detail: found "9"
2 | run pool.json --size 2x2 --render a.png              | --size: found "2x2"
2 | run pool.json --every 0                              | --every: found "0"
2 | run pool.json --fps 0                                | --fps: found "0"
2 | run pool.json --every 2 --fps 3 --render a.apng      | both --every and --fps
2 | run pool.json --channel speed                        | --channel needs
1 | run pool.json --channel heat --render a.apng         | --channel: found "heat"
2 | run pool.json --checkpoint-every 5                   | --checkpoint-every needs
2 | run pool.json --inputs a --record-inputs b           | both --inputs and --record-inputs
1 | run pool.json --inputs nowhere                       | nowhere: No such file
1 | run nowhere.json                                     | nowhere.json
2 | bench                                                | the scene is missing
2 | bench pool.json --steps 0                            | --steps: found "0"
2 | bench pool.json --set cell_m                         | --set: found the setting
1 | bench nowhere.json                                   | nowhere.json
2 | check                                                | the scene is missing
2 | check pool.json --faster                             | --faster
1 | check nowhere.json                                   | nowhere.json
1 | check file                                           | file
2 | load 127.0.0.1:1 127.0.0.1:2                         | found a second server
2 | load 127.0.0.1:port                                  | found the port "port"
2 | load --viewers x                                     | --viewers: found "x"
2 | load --slow 200%                                     | --slow: found "200%"
1 | load 127.0.0.1:1 --viewers 1                         | 127.0.0.1:1
2 | kinect                                               | found 0 sources of depth
2 | kinect --frames a --freenect 0                       | found 2 sources of depth
2 | kinect --frames a --near 5 --far 2                   | found --near 5 and --far 2
2 | kinect --frames a --view 500                         | --view: found "500"
2 | kinect --frames a --region 1                         | --region: found "1"
2 | top 127.0.0.1:1 127.0.0.1:2                          | found a second server
2 | top 127.0.0.1:port                                   | found the port "port"
1 | top 127.0.0.1:1 --once                               | 127.0.0.1:1
2 | token                                                | allowed are mint, list and revoke
2 | token forge                                          | found "forge"
2 | token mint                                           | --secret FILE and --store DIR
2 | token mint --store . --session a --role boss         | --role: found "boss"
2 | token mint --store . --session a --expires 2x        | --expires: found "2x"
2 | token list                                           | --store DIR is missing
2 | token revoke --store .                               | the token's id is missing
2 | session                                              | allowed are list, show, verify, export, backup and prune
2 | session burn                                         | found "burn"
2 | session list                                         | allowed is one folder
2 | session backup . main                                | allowed are a folder, the name
1 | session backup . main copy                           | .: no session "main" is kept there
2 | session export file                                  | nothing says what to write
1 | session verify nowhere                               | nowhere: No such file
1 | session show file                                    | file
2 | replay                                               | the file of a kept session is missing
2 | replay file --from x                                 | --from: found "x"
2 | replay file --from 1                                 | --from needs
2 | replay file --export a.gif                           | --export: found "a.gif"
2 | replay file --probe x --probes a.csv                 | --probe: found "x"
1 | replay nowhere.tank                                  | nowhere.tank: No such file
1 | replay file                                          | file
TABLE

# A variable that nothing reads is named, and what is done is done all the same.
TARN_SCENESS=. TARN_PORT=80 "$tarn" check pool.json >out 2>err || failures=$((failures + 1))
if ! grep -qx 'tarn: found the variable TARN_SCENESS in the environment.*did you mean TARN_SCENES?' err || grep -q PORT err; then
    echo "FAILED: a variable that nothing reads"
    sed 's/^/    | /' err
    failures=$((failures + 1))
fi

# Nothing of it wrote a file.
left=$(find . -type f ! -name pool.json ! -name file ! -name out ! -name err)
[ -z "$left" ] || { echo "FAILED: files were left: $left"; failures=$((failures + 1)); }

[ "$failures" = 0 ] && echo "ok"
exit "$failures"
