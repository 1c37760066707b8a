#!/usr/bin/env bash
# Firefox on X11: a WAYLAND_DISPLAY that is set to nothing leaves it without WebGL, though it starts and shows pages; without the
# variable it has WebGL 2 by llvmpipe. To libwayland, too, an empty one is a display that can't be reached.
. "$(dirname "$0")/browser.sh"
start_display
install_playwright
seen=$(run_node <<'END'
import { firefox } from "playwright-core";
const found = [];
for (const [what, more] of [["unset", {}], ["empty", { WAYLAND_DISPLAY: "" }]]) {
  const browser = await firefox.launch({
    channel: "moz-firefox",
    executablePath: "/usr/bin/firefox-esr",
    headless: false,
    env: { ...process.env, ...more },
  });
  const page = await (await browser.newContext()).newPage();
  await page.goto("data:text/html,<title>x</title>");
  const has = await page.evaluate(() => document.createElement("canvas").getContext("webgl2") !== null);
  found.push(`${what}: ${has ? "WebGL 2" : "none"}`);
  await browser.close();
}
console.log(found.join(", "));
END
)
verdict "$seen" "unset: WebGL 2, empty: none" "unset: WebGL 2, empty: WebGL 2"
