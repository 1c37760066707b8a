import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const HERE = dirname(fileURLToPath(import.meta.url));
export const ROOT = join(HERE, "..", "..");
export const WEB = join(ROOT, "web-client");
/** Packages come from the page's own node_modules. */
export const webRequire = createRequire(join(WEB, "package.json"));
