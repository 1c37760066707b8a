#!/bin/bash
# Both commands of README.md on a Debian with nothing on it: clean_room.sh TOP SYSTEM KEEP [GROUP...]. SYSTEM is bookworm
# or trixie; KEEP, if not empty, leaves the folder behind; the groups are those of tests/run. With the group `build` alone
# it is the first command only, and the water that comes of it. Prints "ok ...", "not ok ..." or "skipped ..." for each
# check, and all else on standard error. Its status says whether it came to its end. Takes root.
#
#     debootstrap -> a clone of HEAD -> in a namespace of its own: deploy/run, a viewer, tests/run
#                                                        `build`: deploy/run --build-only, ten steps of three scenes
#
# The tree names no mirror. Where packages come from, and what this machine needs to reach them, is this machine's own
# configuration: apt's sources and settings, npm's registry, proxies, certificates. Nothing else of it is seen inside.
set -u

# ---- inside ----

# Waits for the address in what deploy/run prints, for as long as it runs.
address() {
    local found
    while kill -0 "$server" 2>/dev/null; do
        found=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$1" | tail -n 1)
        if [ -n "$found" ]; then
            echo "$found"
            return
        fi
        sleep 0.5
    done
    return 1
}

# What this system's compiler makes of the kernels gives the bits of the one that the hashes were pinned with. Two models
# in three dimensions, and a flat tank.
build_inside() {
    local system=$1 scene found wanted
    if ! deploy/run --build-only >&2 </dev/null; then
        echo "not ok $system: deploy/run --build-only" >&3
        return
    fi
    echo "ok $system: deploy/run --build-only" >&3
    for scene in dam-break plume water-wall; do
        wanted=$(awk -v scene="$scene" '$1 == scene && $2 == 10 { print $3 }' tests/golden/hashes.txt)
        found=$(build/release/bin/tarn run "$scene" --steps 10 --hash --quiet 2>&1 </dev/null | tail -n 1)
        if [ -n "$wanted" ] && [ "$found" = "$wanted" ]; then
            echo "ok $system: ten steps of $scene" >&3
        else
            echo "not ok $system: ten steps of $scene: found $found, pinned is ${wanted:-nothing}" >&3
        fi
    done
}

inside() {
    local system=$1 url summary status served=
    shift
    cd /srv/tarn || exit 1
    if [ "$*" = build ]; then
        build_inside "$system"
        return
    fi
    # Any free port: the machine around may have a server of its own at the usual one.
    deploy/run --port 0 >/tmp/deploy.log 2>&1 </dev/null &
    server=$!
    if url=$(address /tmp/deploy.log) &&
        build/release/bin/tarn load --viewers 2 --pushers 1 --seconds 5 --check 1 "$url/"; then
        served=yes
    fi
    kill -TERM "$server" 2>/dev/null
    wait "$server"
    status=$?
    cat /tmp/deploy.log >&2
    if [ -n "$served" ] && [ "$status" = 0 ]; then
        echo "ok $system: deploy/run serves water to a viewer" >&3
    else
        echo "not ok $system: deploy/run serves water to a viewer; its status is $status, its last line" \
            "$(tail -n 1 /tmp/deploy.log)" >&3
    fi

    [ $# != 0 ] || set -- full
    tests/run "$@" 2>&1 </dev/null | tee /tmp/tests.log >&2
    status=${PIPESTATUS[0]}
    summary=$(tail -n 1 /tmp/tests.log)
    if [ "$status" = 0 ] && [[ $summary =~ ^[1-9][0-9]*\ passed,\ 0\ failed,\ [0-9]+\ skipped$ ]]; then
        echo "ok $system: tests/run${*:+ $*} ends in \"$summary\"" >&3
    else
        echo "not ok $system: tests/run${*:+ $*} ends in \"$summary\"" \
            "$(sed -n 's/^FAILED:/;/p' /tmp/tests.log | tr -d '\n')" >&3
    fi
}

if [ "$1" = inside ]; then
    shift
    exec 3>&1 >&2
    inside "$@"
    exit
fi

# ---- outside ----

root=$1 system=$2 keep=$3
shift 3
room=$root/build/clean-room/$system
bundle=/etc/machine-certificates.crt # inside
running=

skip() {
    echo "skipped $system: $1"
    exit
}

fail() {
    echo "not ok $system: $1"
    exit
}

# contained COMMAND...: its processes and mounts are in namespaces of their own, which nobody else sees, and end with
# this script, whatever ends that.
contained() {
    local status
    setpriv --pdeathsig KILL unshare --mount --pid --ipc --fork --kill-child=KILL "$@" </dev/null &
    running=$!
    wait "$running"
    status=$?
    running=
    return "$status"
}

end() {
    local i
    trap '' HUP INT TERM
    if [ -n "$running" ]; then
        kill -KILL "$running" 2>/dev/null
        wait "$running" 2>/dev/null
    fi
    if [ -z "$keep" ]; then
        # Processes that are just ending may still write.
        for ((i = 0; i < 20; i++)); do
            rm -rf --one-file-system "$room" 2>/dev/null && break
            sleep 0.25
        done
        rmdir "$root/build/clean-room" 2>/dev/null
    fi
}

# debian_source RELEASE: the address of this machine's first source of Debian's main component with such a release.
debian_source() {
    # shellcheck disable=SC2016 # apt's variables
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
        awk -v release="^($1)\$" '$2 ~ release && $3 == "main" && ($4 == "Debian" || $4 ~ /^\$/) { print $1; exit }'
}

npm_setting() {
    local value
    value=$(npm config get "$1" 2>/dev/null) || return 0
    case $value in
        null | undefined) ;;
        *) echo "$value" ;;
    esac
}

# What this machine needs to reach apt's and npm's servers, as arguments of env.
settings() {
    local name value
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        [ -z "${!name:-}" ] || printf '%s\0' "$name=${!name}"
    done
    for name in registry proxy https-proxy; do
        value=$(npm_setting "$name")
        [ -z "$value" ] || printf '%s\0' "npm_config_${name/-/_}=$value"
    done
    [ ! -s "$room$bundle" ] || printf '%s\0' "NODE_EXTRA_CA_CERTS=$bundle"
}

[ "$(id -u)" = 0 ] || skip "it takes root, found user $(id -un)"
for program in debootstrap git; do
    command -v "$program" >/dev/null || skip "it takes $program, which isn't installed"
done
unshare --mount --pid --fork true 2>/dev/null || skip "this machine makes no namespaces"
names='bookworm|trixie|forky|oldstable|stable|testing|sid|unstable'
mirror=$(debian_source "$names")
security=$(debian_source "($names)-security")
[ -n "$mirror" ] || skip "this machine's apt has no source of Debian"

trap end EXIT
trap 'exit 130' HUP INT TERM
rm -rf --one-file-system "$room"
mkdir -p "$room" || fail "no folder at ${room#"$root/"}"
# The smallest that there is: what deploy/run and tests/run need they are to install themselves.
contained debootstrap --variant=minbase "$system" "$room" "$mirror" >&2 || fail "debootstrap"
git clone --quiet --depth 1 "file://$root" "$room/srv/tarn" >&2 </dev/null || fail "git clone"

{
    echo "deb $mirror $system main"
    echo "deb $mirror $system-updates main"
    [ -z "$security" ] || echo "deb $security $system-security main"
} >"$room/etc/apt/sources.list"
certificates=${NODE_EXTRA_CA_CERTS:-$(npm_setting cafile)}
certificates=${certificates:-/etc/ssl/certs/ca-certificates.crt}
{
    apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-Date|Check-Valid-Until)\b'
    if [ -s "$certificates" ] && cp "$certificates" "$room$bundle"; then
        echo "Acquire::https::CaInfo \"$bundle\";"
    fi
} >"$room/etc/apt/apt.conf.d/90machine"
cp /etc/resolv.conf "$room/etc/resolv.conf"
echo "127.0.0.1 localhost" >"$room/etc/hosts"

mapfile -d '' -t settings < <(settings)
# shellcheck disable=SC2016 # expanded by the shell in there
contained bash -c '
    room=$1
    shift
    mount -t proc proc "$room/proc" && mount -t devpts -o newinstance,ptmxmode=0666 devpts "$room/dev/pts" &&
        mount -t tmpfs tmpfs "$room/dev/shm" && exec chroot "$room" "$@"' - "$room" \
    /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    ${settings[@]+"${settings[@]}"} bash /srv/tarn/tests/build/clean_room.sh inside "$system" "$@" ||
    fail "the commands inside ended with status $?"
[ -z "$keep" ] || echo "$system is kept in $room" >&2
