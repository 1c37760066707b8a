#!/usr/bin/env bash
# playwright-core with the channel moz-firefox: colorScheme of a context and page.emulateMedia are taken and change nothing; a
# listener for "websocket" is never called. Nothing says so: a test for a dark page passes on a light one.
. "$(dirname "$0")/browser.sh"
start_display
install_playwright
seen=$(run_node <<'END'
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { firefox } from "playwright-core";
const server = createServer((_, response) => response.setHeader("content-type", "text/html").end("<title>x</title>"));
server.on("upgrade", (request, socket) => {
  const accept = createHash("sha1")
    .update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest("base64");
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const at = `127.0.0.1:${server.address().port}`;
const browser = await firefox.launch({ channel: "moz-firefox", executablePath: "/usr/bin/firefox-esr", headless: false });
const isDark = (page) => page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
const schemes = [];
for (const colorScheme of ["light", "dark"]) {
  const page = await (await browser.newContext({ colorScheme })).newPage();
  await page.goto(`http://${at}/`);
  schemes.push(await isDark(page));
  await page.emulateMedia({ colorScheme });
  schemes.push(await isDark(page));
}
const page = await (await browser.newContext()).newPage();
let sockets = 0;
page.on("websocket", () => sockets++);
await page.goto(`http://${at}/`);
const opened = await page.evaluate(
  (url) => new Promise((resolve) => {
    new WebSocket(url).onopen = () => resolve("opened");
  }),
  `ws://${at}/`,
);
const differ = new Set(schemes).size > 1;
console.log(`light and dark ${differ ? "differ" : "are the same"}; a WebSocket ${opened}, heard of ${sockets}`);
await browser.close();
server.closeAllConnections();
server.close();
process.exit(0);
END
)
verdict "$seen" "light and dark are the same; a WebSocket opened, heard of 0" \
    "light and dark differ; a WebSocket opened, heard of 1; or an error that says what can't be had"
