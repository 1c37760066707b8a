// Lays the package's description beside the built library: dist/embed is what `npm pack` packs.
import { copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
for (const name of ["package.json", "README.md"])
  copyFileSync(join(web, "embed", name), join(web, "dist", "embed", name));
copyFileSync(join(web, "..", "LICENSE"), join(web, "dist", "embed", "LICENSE"));
