// Keeps the direction of imports: tables -> codec, net, shader -> protocol -> state -> render, input, ui, lobby, camera, xr -> the page.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SOURCE = new URL("../src/", import.meta.url);
const RANK: Readonly<Record<string, number>> = {
  tables: -1,
  codec: 0,
  net: 0,
  shader: 0,
  sound: 1,
  protocol: 1,
  state: 2,
  render: 3,
  input: 3,
  ui: 3,
  xr: 3,
  lobby: 3,
  camera: 3,
  page: 4,
};

/** What puts the page together, or is a feature of it that reaches through all layers. */
const PAGE = ["app", "embed", "keep", "measure", "people", "scenes"];

function layerOf(path: string): string {
  const folder = path.includes("/") ? path.slice(0, path.indexOf("/")) : "page";
  return PAGE.includes(folder) ? "page" : folder;
}

function modules(folder = ""): string[] {
  return readdirSync(new URL(folder, SOURCE), { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return modules(`${folder}${entry.name}/`);
    return entry.name.endsWith(".ts") ? [`${folder}${entry.name}`] : [];
  });
}

function importsOf(path: string): string[] {
  const text = readFileSync(new URL(path, SOURCE), "utf8");
  return [...text.matchAll(/(?:\bfrom |\bimport |\bimport\()"(\.[^"]+)"/g)]
    .map((match) => new URL(match[1] as string, new URL(path, SOURCE)).href)
    .filter((href) => href.startsWith(SOURCE.href))
    .map((href) => href.slice(SOURCE.href.length));
}

test("every folder has its layer", () => {
  for (const path of modules()) expect(RANK, path).toHaveProperty(layerOf(path));
});

test("a module imports only from its own folder or from layers below", () => {
  for (const path of modules()) {
    for (const target of importsOf(path)) {
      const [from, to] = [layerOf(path), layerOf(target)];
      const allowed = from === to || (RANK[from] as number) > (RANK[to] as number);
      expect(allowed, `${path} imports ${target}`).toBe(true);
    }
  }
});
