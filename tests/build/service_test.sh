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

# The page's compressed forms are those of the files beside them.
client=$folder/prefix/share/tarn/client
forms=0 strays=
while read -r form; do
    hash=${form%.*} base=${form%.*.*}
    hash=${hash##*.}
    forms=$((forms + 1))
    [ "$(sha256sum <"$base" 2>/dev/null | cut -c 1-16)" = "$hash" ] || strays="$strays $form"
done < <(find "$client" -name '*.br' -o -name '*.gz')
if [ ! -f web-client/dist/index.html ]; then
    echo "skipped the installed page: web-client isn't built"
else
    echo "$forms forms; strays:$strays" >"$folder/out"
    [ "$forms" -gt 20 ] && [ -z "$strays" ]
    verdict $? "the installed page has compressed forms of its own files"
    # One of an earlier page doesn't outlast an installation.
    touch "$client/gone.js.0123456789abcdef.br"
    cmake --install build/release --prefix "$folder/prefix" >"$folder/out" 2>&1 && [ ! -e "$client/gone.js.0123456789abcdef.br" ]
    verdict $? "an installation leaves no earlier page behind"
fi

# Port 443 needs no more than what tarnd-https.conf gives: as another user, with one capability and no way to get others.
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    echo "skipped port 443: it takes root and setpriv"
elif ! grep -q '^AmbientCapabilities=CAP_NET_BIND_SERVICE$' deploy/tarnd-https.conf; then
    echo "not ok port 443: tarnd-https.conf doesn't give CAP_NET_BIND_SERVICE"
else
    chmod 755 "$folder"
    # bound CAPABILITIES: whether tarnd gets a port below 1024 so.
    bound() {
        : >"$folder/out" # before the one that writes it is there, what the last one said would be read
        setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps="$1" --ambient-caps="$1" \
            --bounding-set="$1" "$folder/prefix/bin/tarnd" --port 443 --device cpu --scene still-pool >"$folder/out" 2>&1 &
        local tarnd=$! said=1
        while kill -0 "$tarnd" 2>/dev/null; do
            grep -q 'is serving on http://127.0.0.1:443/' "$folder/out" && said=0 && break
            sleep 0.05
        done
        kill "$tarnd" 2>/dev/null
        wait "$tarnd"
        return "$said"
    }
    if (: >/dev/tcp/127.0.0.1/443) 2>/dev/null; then
        echo "skipped port 443: something listens there"
    elif [ "$(cat /proc/sys/net/ipv4/ip_unprivileged_port_start 2>/dev/null)" = 0 ]; then
        echo "skipped port 443: this machine keeps it for nobody"
    else
        bound -all,+net_bind_service
        verdict $? "port 443 is to be had with one capability"
        ! bound -all
        verdict $? "port 443 isn't to be had without it"
    fi
fi

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
# The certificate and its key come by the credentials' folder, which the unit's own option names.
cp deploy/tarnd-https.conf "$unit.d/"
verified "systemd takes the unit with https on port 443"
for option in TLS_CERT=%d/fullchain.pem TLS_KEY=%d/privkey.pem; do
    grep -q "TARN_$option" deploy/tarnd-https.conf && grep -q "^LoadCredential=${option#*/}:/" deploy/tarnd-https.conf
    verdict $? "https has the credential ${option#*/}"
done
# A mistake is found, or the checks above say nothing.
sed -i 's/^WatchdogSec=.*/WatchdogSec=often/; s/^PrivateDevices=no/PrivateDevice=no/' "$unit" "$unit.d/tarnd-cuda.conf"
systemd-analyze verify "$unit" >"$folder/out" 2>&1
[ "$(grep -cE 'sec value|PrivateDevice' "$folder/out")" = 2 ]
verdict $? "systemd finds mistakes in both files"
