// Compiles the C frame codec to WebAssembly, unless the one at hand is newer than its sources.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const protocol = join(web, "..", "protocol");
const output = join(web, "src", "codec", "codec.wasm");
const script = join(protocol, "wasm", "build");

function newest(folder) {
  let time = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) time = Math.max(time, newest(path));
    else if (/\.[ch]$/.test(entry.name) || path === script) time = Math.max(time, statSync(path).mtimeMs);
  }
  return time;
}

if (existsSync(output) && statSync(output).mtimeMs > newest(protocol)) {
  console.log("codec.wasm is up to date");
} else {
  execFileSync("sh", [script, output], { stdio: "inherit" });
  console.log(`codec.wasm: ${statSync(output).size} bytes`);
}
