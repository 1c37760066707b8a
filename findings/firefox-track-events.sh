#!/usr/bin/env bash
# Firefox: an event that a script dispatches at a MediaStreamTrack reaches none of its listeners; at its stream, or at any other
# target, it does. So a page's answer to a camera that is unplugged can't be tried by dispatching "ended".
. "$(dirname "$0")/browser.sh"
start_display
install_playwright
seen=$(run_node <<'END'
import { firefox } from "playwright-core";
const browser = await firefox.launch({ channel: "moz-firefox", executablePath: "/usr/bin/firefox-esr", headless: false });
const page = await (await browser.newContext()).newPage();
await page.goto("data:text/html,<title>x</title>");
console.log(
  await page.evaluate(() => {
    const canvas = document.createElement("canvas");
    canvas.getContext("2d");
    const stream = canvas.captureStream();
    const heard = (target) => {
      let count = 0;
      target.addEventListener("ended", () => count++);
      target.dispatchEvent(new Event("ended"));
      return count;
    };
    return `track ${heard(stream.getVideoTracks()[0])}, stream ${heard(stream)}, plain target ${heard(new EventTarget())}`;
  }),
);
await browser.close();
END
)
verdict "$seen" "track 0, stream 1, plain target 1" "track 1, stream 1, plain target 1"
