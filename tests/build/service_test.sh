#!/bin/bash
# Checks the service units with systemd's own tools, as an installation has them: takes the top folder, after a build;
# prints "ok ...", "not ok ..." and "skipped ...".
set -u
cd "$1" || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
exposure_max=20 # tenths

verdict() {
    if [ "$1" = 0 ]; then
        echo "ok $2"
    else
        echo "not ok $2: $(tail -n 3 "$folder/out" | tr '\n' ' ')"
    fi
}

# What is installed names its own prefix, and nothing else's.
DESTDIR=$folder/staged cmake --install build/release --prefix "$folder/prefix" >"$folder/out" 2>&1 &&
    cmake --install build/release --prefix "$folder/prefix" >"$folder/out" 2>&1
verdict $? "units are installed"
unit=$folder/prefix/lib/systemd/system/tarnd.service
grep -q "^ExecStart=$folder/prefix/bin/tarnd " "$unit" && ! grep -q /usr/local "$unit" &&
    cmp -s "$unit" "$folder/staged$unit"
verdict $? "an installed unit starts what was installed"

# Without a folder for it a self-signed certificate is a wrong option there, and the service stays down.
grep -q '^Environment=XDG_STATE_HOME=%S/tarn$' "$unit"
verdict $? "a self-signed certificate has a folder"

if ! command -v systemd-analyze >/dev/null; then
    echo "skipped the units by systemd-analyze: it isn't here"
    exit
fi

# verified NAME: systemd-analyze has nothing to say.
verified() {
    systemd-analyze verify "$unit" >"$folder/out" 2>&1 && [ ! -s "$folder/out" ]
    verdict $? "$1"
}

verified "systemd takes the unit"
systemd-analyze security --offline=true --threshold="$exposure_max" deploy/tarnd.service >"$folder/out" 2>&1
verdict $? "the unit is exposed by $exposure_max tenths at most"
mkdir "$unit.d" && cp deploy/tarnd-cuda.conf "$unit.d/"
verified "systemd takes the unit with a GPU"
# A mistake is found, or the checks above say nothing.
sed -i 's/^WatchdogSec=.*/WatchdogSec=often/; s/^PrivateDevices=no/PrivateDevice=no/' "$unit" "$unit.d/tarnd-cuda.conf"
systemd-analyze verify "$unit" >"$folder/out" 2>&1
[ "$(grep -cE 'sec value|PrivateDevice' "$folder/out")" = 2 ]
verdict $? "systemd finds mistakes in both files"
