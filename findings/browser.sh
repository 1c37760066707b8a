# shellcheck shell=bash
# Sourced by the scripts beside it: a folder that goes, a display without a screen, playwright-core, a session of WebKitWebDriver.
set -euo pipefail
folder=$(mktemp -d)
processes=()
end() {
    local one
    for one in ${processes[@]+"${processes[@]}"}; do kill -TERM -- "-$one" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap end EXIT

need() {
    command -v "$1" >/dev/null || {
        echo "this needs $1, of Debian's $2"
        exit 2
    }
}

# In a session of its own, which ends with this.
start() {
    setsid "$@" &
    processes+=("$!")
}

start_display() {
    need Xvfb xvfb
    mkfifo "$folder/display"
    exec 4<>"$folder/display"
    start Xvfb -displayfd 3 -screen 0 1280x1024x24 -nolisten tcp 3>&4 2>/dev/null
    read -r DISPLAY <&4
    export DISPLAY=:$DISPLAY
    unset WAYLAND_DISPLAY
}

install_playwright() {
    need node nodejs
    need npm npm
    need firefox-esr firefox-esr
    (cd "$folder" && npm install --silent --no-audit --no-fund --prefix . playwright-core@1.61.0 >/dev/null)
    firefox-esr --version
    echo "playwright-core 1.61.0"
}

# run_node: a module on standard input, which finds what is in the folder.
run_node() {
    cat >"$folder/run.mjs"
    node "$folder/run.mjs"
}

start_webkit() {
    need node nodejs
    need WebKitWebDriver webkit2gtk-driver
    dpkg-query -W -f '${Package} ${Version}\n' webkit2gtk-driver
    cat >"$folder/driver.mjs" <<'END'
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";

const PORT = 20000 + (process.pid % 20000);
const browser = readdirSync("/usr/lib")
  .filter((name) => name.endsWith("-linux-gnu"))
  .flatMap((name) => ["webkit2gtk-4.1", "webkitgtk-6.0"].map((lib) => `/usr/lib/${name}/${lib}/MiniBrowser`))
  .find(existsSync);

/** A session at an address. @returns {run(script), act(actions), end()} */
export async function open(url) {
  const driver = spawn("WebKitWebDriver", [`--port=${PORT}`], { stdio: "ignore", detached: true });
  driver.unref();
  const kill = () => process.kill(-driver.pid, "SIGKILL");
  process.once("exit", kill);
  process.once("SIGTERM", () => process.exit(1));
  const call = async (method, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${PORT}${path}`, { method, body: body && JSON.stringify(body) });
    const { value } = await answer.json();
    if (!answer.ok) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };
  for (let i = 0; i < 100; i++) {
    if (await call("GET", "/status").then(({ ready }) => ready, () => false)) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const { sessionId } = await call("POST", "/session", {
    capabilities: { alwaysMatch: { "webkitgtk:browserOptions": { binary: browser, args: ["--automation"] } } },
  });
  const session = `/session/${sessionId}`;
  await call("POST", `${session}/url`, { url });
  return {
    run: (script) => call("POST", `${session}/execute/sync`, { script, args: [] }),
    act: (...actions) => call("POST", `${session}/actions`, { actions }),
    end: () => call("DELETE", session).then(() => process.exit(0)),
  };
}
END
}

# verdict SEEN EXPECTED GUESS: what was seen beside what this finding says.
verdict() {
    echo "seen:    $1"
    echo "known:   $2"
    echo "guessed: $3"
    if [ "$1" != "$2" ]; then
        echo "this has changed"
        exit 1
    fi
}
