#!/usr/bin/env bash
# playwright-core with the channel moz-firefox: page.screenshot() puts the style "body {}" into the page. Where the page's
# Content-Security-Policy allows no inline style, each screenshot comes with a "pageerror" that the page has no part in.
. "$(dirname "$0")/browser.sh"
start_display
install_playwright
seen=$(run_node <<'END'
import { createServer } from "node:http";
import { firefox } from "playwright-core";
const server = createServer((_, response) =>
  response
    .setHeader("content-type", "text/html")
    .setHeader("content-security-policy", "default-src 'self'")
    .end("<title>x</title><p>A page."),
);
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const browser = await firefox.launch({ channel: "moz-firefox", executablePath: "/usr/bin/firefox-esr", headless: false });
const page = await (await browser.newContext()).newPage();
const errors = [];
page.on("pageerror", (error) => errors.push(error.message));
await page.goto(`http://127.0.0.1:${server.address().port}/`);
const before = errors.length;
await page.screenshot();
await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 2000)));
console.error(errors);
console.log(`errors before ${before}, after ${errors.length}, of a style ${errors.filter((text) => /inline style/.test(text)).length}`);
await browser.close();
server.closeAllConnections();
server.close();
END
)
verdict "$seen" "errors before 0, after 1, of a style 1" "errors before 0, after 0, of a style 0"
