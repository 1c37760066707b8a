#!/bin/bash
# Checks deploy/run and an installation, after both builds: takes the top folder, prints "ok ..." and "not ok ...".
set -u
cd "$1" || exit 1
folder=$(mktemp -d) || exit 1
server=
end() {
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null
    rm -rf "$folder"
}
trap end EXIT
unset TARN_SCENES

verdict() {
    if [ "$1" = 0 ]; then
        echo "ok $2"
    else
        echo "not ok $2: $(tail -n 3 "$folder/out" | tr '\n' ' ')"
    fi
}

# Waits for an address in what a server prints.
address() {
    local i found
    for ((i = 0; i < 300; i++)); do
        found=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$folder/out" | head -n 1)
        if [ -n "$found" ]; then
            echo "$found"
            return
        fi
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

page_is_served() {
    local url
    url=$(address) &&
        node -e 'require("http").get(process.argv[1], (r) => {
            let text = ""; r.on("data", (d) => (text += d));
            r.on("end", () => process.exit(r.statusCode === 200 && /<script/.test(text) ? 0 : 1));
        }).on("error", () => process.exit(1))' "$url/"
}

# serves NAME SIGNAL COMMAND...: starts a server, asks it for the page, ends it by a signal and expects status 0.
serves() {
    local name=$1 signal=$2
    shift 2
    "$@" >"$folder/out" 2>&1 </dev/null &
    server=$!
    page_is_served
    verdict $? "$name serves the page"
    kill -"$signal" "$server" 2>/dev/null
    wait "$server"
    verdict $? "$name ends cleanly on SIG$signal"
    server=
}

deploy/run --no-install --build-only >"$folder/out" 2>&1
verdict $? "deploy/run builds"
deploy/run --no-install --build-only >"$folder/out" 2>&1
[ "$(wc -l <"$folder/out")" = 1 ]
verdict $? "deploy/run does nothing the second time"
serves deploy/run INT deploy/run --no-install --port 0
deploy/run --no-install --no-such-option >"$folder/out" 2>&1
[ $? != 0 ] && grep -q -- '--no-such-option' "$folder/out"
verdict $? "deploy/run passes options on, and tarnd refuses a wrong one"
deploy/run --no-install --no-instal >"$folder/out" 2>&1
[ $? = 2 ] && grep -qF 'deploy/run: found "--no-instal", which is no option; did you mean --no-install?' "$folder/out"
verdict $? "deploy/run names its own options where one of them was meant"

# A ninja that finds everything to do, has tarnd at once, and works on the rest until it is interrupted.
mkdir "$folder/bin"
cat >"$folder/bin/ninja" <<'END'
#!/bin/sh
case " $* " in *" -n "* | *" tarnd ") exit ;; esac
echo compiling
trap 'exit 2' INT
sleep 60
END
chmod +x "$folder/bin/ninja"
PATH=$folder/bin:$PATH timeout 20 deploy/run --no-install --no-such-option >"$folder/out" 2>&1
[ $? = 2 ] && grep -q -- '--no-such-option' "$folder/out" && ! grep -q compiling "$folder/out"
verdict $? "deploy/run refuses a wrong option before all is built"
# As by Ctrl-C: a session of its own gets the signal, whatever this script was started with.
PATH=$folder/bin:$PATH setsid env --default-signal=INT deploy/run --no-install --build-only >"$folder/out" 2>&1 &
server=$!
for ((i = 0; i < 100; i++)); do
    grep -q compiling "$folder/out" && break
    sleep 0.1
done
kill -INT -- "-$server"
wait "$server"
[ $? = 130 ] && grep -q 'interrupted$' "$folder/out" && ! grep -q failed "$folder/out"
verdict $? "deploy/run says that it was interrupted"
server=

cmake --install build/release --prefix "$folder/prefix" >"$folder/out" 2>&1
verdict $? "cmake --install"
"$folder/prefix/bin/tarn" check dam-break still-pool >"$folder/out" 2>&1 && grep -q "$folder/prefix/share" "$folder/out"
verdict $? "an installed tarn finds its scenes"
serves "an installed tarnd" TERM "$folder/prefix/bin/tarnd" --port 0
