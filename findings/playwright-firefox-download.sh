#!/usr/bin/env bash
# playwright-core with the channel moz-firefox: a click on a link to a blob with `download` fires no "download" event; a link to
# the same bytes on a server does. Firefox tells of both, of the blob's without a navigation, and playwright drops what has none.
. "$(dirname "$0")/browser.sh"
start_display
install_playwright
seen=$(run_node <<'END'
import { createServer } from "node:http";
import { firefox } from "playwright-core";
const server = createServer((request, response) => {
  if (request.url === "/file") response.setHeader("content-disposition", "attachment").end("bytes");
  else response.setHeader("content-type", "text/html").end('<a id="file" href="/file" download="file.txt">x</a><a id="blob">y</a>');
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const browser = await firefox.launch({ channel: "moz-firefox", executablePath: "/usr/bin/firefox-esr", headless: false });
const found = [];
for (const id of ["file", "blob"]) {
  const page = await (await browser.newContext({ acceptDownloads: true })).newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.evaluate(() => {
    const link = document.getElementById("blob");
    link.href = URL.createObjectURL(new Blob(["bytes"]));
    link.download = "blob.txt";
  });
  const told = page.waitForEvent("download", { timeout: 10_000 }).then(() => "told", () => "not told");
  await page.click(`#${id}`);
  found.push(`${id} ${await told}`);
}
console.log(found.join(", "));
await browser.close();
server.closeAllConnections();
server.close();
END
)
verdict "$seen" "file told, blob not told" "file told, blob told"
