# shellcheck shell=bash disable=SC2154
# What Tarn needs from the system, and how it gets there. Sourced by deploy/run and tests/run, which set `program` to
# their name and `root` to the top of the tree.
#
# A need is one line: the package's name, what shows that it is there, and why it is needed.
# `=` means that dpkg knows it; a command's name means that the command can be found, whoever brought it.

# The clang that the codec is built with: the newest that is there, else the one that Debian 12 and 13 both have. What 16
# makes of the codec takes a third longer for a frame.
tarn_clang_version() {
    local version
    for version in 19 18 17 16; do
        if command -v "clang-$version" >/dev/null && command -v "wasm-ld-$version" >/dev/null; then
            echo "$version"
            return
        fi
    done
    echo 19
}

tarn_system() {
    if [ -r /etc/os-release ]; then
        (. /etc/os-release && echo "${VERSION_CODENAME:-}")
    fi
}

tarn_needs_to_run() {
    local clang
    clang=$(tarn_clang_version)
    cat <<END
build-essential = the C compiler and its tools
cmake cmake configures the build
ninja-build ninja builds
pkg-config pkg-config finds the libraries
libwebsockets-dev = HTTP and WebSocket
libwebsockets-evlib-uv = libwebsockets' event library for libuv, loaded at run time
libuv1-dev = event loop and processes
libssl-dev = TLS, which libwebsockets uses too
libmsgpack-dev = messages
libsqlite3-dev = sessions in files
libzstd-dev = states of tanks, compressed
libjansson-dev = scenes and settings in JSON
zlib1g-dev = pictures of a run as PNG
libfreenect-dev = a Kinect's depth, for tarn kinect
libopenni2-dev = the depth of other cameras, for tarn kinect
clang-$clang clang-$clang compiles the frame codec to WebAssembly
lld-$clang wasm-ld-$clang links the frame codec for WebAssembly
nodejs node runs the tools that build the page
npm npm fetches the libraries of the page
ca-certificates = lets npm trust its registry
END
}

tarn_needs_to_test() {
    local clang
    clang=$(tarn_clang_version)
    tarn_needs_to_run
    cat <<END
libcmocka-dev = unit tests in C
ccache ccache keeps what was compiled for the next build from scratch
chromium chromium browser tests
firefox-esr firefox-esr core browser tests in another engine
webkit2gtk-driver WebKitWebDriver core browser tests in Safari's engine
xvfb Xvfb the display that both draw on
libgl1-mesa-dri = draws it without a graphics card
libfreenect-bin fakenect plays recorded depth through libfreenect
libclang-rt-$clang-dev = fuzzers and their sanitizers
END
    # Of other systems' versions tests/run would say that the sources aren't kept with them.
    if [ "$(tarn_system)" = bookworm ]; then
        cat <<END
clang-format-16 clang-format-16 checks the layout of the C sources
clang-tidy clang-tidy checks the C sources for mistakes
END
    fi
}

tarn_fail() {
    printf '%s: %s\n' "$program" "$*" >&2
    exit 1
}

# Reads needs; prints those that aren't met.
tarn_missing() {
    local needs installed package shown why
    needs=$(cat)
    # One question for all packages: a warm start has no time for twenty.
    installed=$(awk '{print $1}' <<<"$needs" | xargs dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' 2>/dev/null |
        awk '$2 == "ii" {print $1}')
    while read -r package shown why; do
        if [ "$shown" != = ] && command -v "$shown" >/dev/null; then
            continue
        fi
        if ! grep -qxF "$package" <<<"$installed"; then
            printf '%s %s %s\n' "$package" "$shown" "$why"
        fi
    done <<<"$needs"
}

tarn_node_is_old() {
    ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 0 : 1)' 2>/dev/null
}

# Installs what the needs on standard input say is missing, after saying what and why.
tarn_install() {
    local missing
    command -v dpkg-query >/dev/null ||
        tarn_fail "this system has no dpkg; found $(uname -sr), supported are Debian 12 and 13"
    missing=$(tarn_missing)
    if [ -n "$missing" ]; then
        local names as_root=()
        names=$(awk '{print $1}' <<<"$missing")
        echo "$program: these Debian packages are missing:"
        while read -r package _ why; do
            printf '    %-24s %s\n' "$package" "$why"
        done <<<"$missing"
        if [ "$(id -u)" != 0 ]; then
            command -v sudo >/dev/null || tarn_fail "installing them needs root: found user $(id -un) and no sudo." \
                "As root, run: apt-get install $(tr '\n' ' ' <<<"$names")"
            as_root=(sudo)
            echo "$program: installing them through sudo"
        else
            echo "$program: installing them"
        fi
        "${as_root[@]}" apt-get -q update ||
            tarn_fail "apt-get update failed, see above; the package lists are needed to install what is missing"
        # shellcheck disable=SC2086 # one word per package
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0 install $names ||
            tarn_fail "apt-get install failed, see above; the packages listed before it are needed"
    fi
    if tarn_node_is_old; then
        tarn_fail "found node $(node --version 2>/dev/null || echo none), allowed is 18 or newer"
    fi
}

# Prints a hash of files and folders, given relative to the top: their names and contents.
tarn_tree_hash() {
    (cd "$root" && find "$@" -type d \( -name node_modules -o -name dist -o -name docs \) -prune -o \
        -type f ! -name '*.wasm' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-64)
}

# Installs the page's libraries with npm, once for each package-lock.json.
tarn_npm_install() {
    local stamp=$root/web-client/node_modules/.tarn-stamp want
    want=$(sha256sum <"$root/web-client/package-lock.json")$(node --version)
    if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$want" ]; then
        echo "$program: fetching the libraries of the page (npm ci)"
        (cd "$root/web-client" && npm ci --no-audit --no-fund --no-update-notifier --loglevel=error) || tarn_fail "npm ci failed in web-client, see above"
        echo "$want" >"$stamp"
    fi
}

# Builds the page into web-client/dist, unless it was built from these very sources.
tarn_build_page() {
    local stamp=$root/build/page.stamp want said
    tarn_npm_install
    want=$(tarn_tree_hash web-client protocol)
    if [ ! -f "$root/web-client/dist/index.html" ] || [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$want" ]; then
        echo "$program: building the page"
        # Long, and worth reading only when it fails.
        said=$(cd "$root/web-client" && npm run --silent build 2>&1) || {
            printf '%s\n' "$said" >&2
            tarn_fail "the page doesn't build, see above"
        }
        mkdir -p "$root/build"
        # The build may write into its sources' folder; what counts is what a next look will see.
        tarn_tree_hash web-client protocol >"$stamp"
    fi
}

# tarn_configure PRESET [OPTION...]: configures build/PRESET when it isn't, or when an option differs.
tarn_configure() {
    local preset=$1 stamp=$root/build/$1/configured.stamp want="$*"
    shift
    if [ ! -f "$root/build/$preset/build.ninja" ] || [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$want" ]; then
        # A cache from another place or compiler would be an error; what is built is kept where it can be.
        (cd "$root" && cmake --preset "$preset" "$@") || tarn_fail "configuring build/$preset failed, see above"
        echo "$want" >"$stamp"
    fi
}
