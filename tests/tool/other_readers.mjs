// Programs that read what tarn writes and share no code with it: VTK's Python module, meshio, three's loader, Blender.
// Where one is missing its part of a test says so.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** A Python that has a module; null where none has. Distributions bring it for their own Python alone. */
const pythonWith = (module) =>
  ["/usr/bin/python3", "python3"].find(
    (python) => spawnSync(python, ["-c", `import ${module}`]).status === 0,
  ) ?? null;

export const vtkPython = () => pythonWith("vtk");

/** What a script of Blender's prints as JSON behind "RESULT "; null where Blender is missing. */
export function blenderResult(script, ...parameters) {
  const options = ["-b", "--factory-startup", "-noaudio", "-P", script, "--", ...parameters];
  const blender = spawnSync("blender", options, { encoding: "utf8", maxBuffer: 1 << 26 });
  if (blender.error !== undefined) return null;
  const line = blender.stdout.split("\n").find((text) => text.startsWith("RESULT "));
  if (line === undefined)
    throw new Error(`Blender: ${blender.stdout.slice(-500)} ${blender.stderr.slice(-500)}`);
  return JSON.parse(line.slice("RESULT ".length));
}

const PLY_BY_MESHIO = `
import json, sys, meshio
mesh = meshio.read(sys.argv[1])
said = {"places": mesh.points.tolist(), "faces": sum(len(c.data) for c in mesh.cells if c.type == "triangle")}
print(json.dumps({**said, **{k: v.tolist() for k, v in mesh.point_data.items()}}))
`;
const PLY_BY_VTK = `
import json, sys, vtk
reader = vtk.vtkPLYReader(); reader.SetFileName(sys.argv[1]); reader.Update()
mesh = reader.GetOutput()
said = {"places": [mesh.GetPoint(i) for i in range(mesh.GetNumberOfPoints())], "faces": mesh.GetNumberOfPolys()}
rgb = mesh.GetPointData().GetArray("RGB")
for k, name in enumerate(["red", "green", "blue"] if rgb else []):
    said[name] = [rgb.GetComponent(i, k) for i in range(rgb.GetNumberOfTuples())]
print(json.dumps(said))
`;

function plyByPython(python, script, path) {
  const options = { encoding: "utf8", maxBuffer: 1 << 28 };
  return JSON.parse(execFileSync(python, ["-c", script, path], options));
}

async function plyByThree(path) {
  const web = join(fileURLToPath(new URL(".", import.meta.url)), "..", "..", "web-client", "package.json");
  let found;
  try {
    found = createRequire(web).resolve("three/examples/jsm/loaders/PLYLoader.js");
  } catch {
    return null;
  }
  const { PLYLoader } = await import(pathToFileURL(found));
  const loader = new PLYLoader();
  loader.setCustomPropertyNameMapping({ liquid: ["liquid"] });
  const geometry = loader.parse(new Uint8Array(readFileSync(path)).buffer);
  const column = (name, k, of = (value) => value) => {
    const attribute = geometry.getAttribute(name);
    return Array.from({ length: attribute.count }, (_, i) => of(attribute.getComponent(i, k)));
  };
  const srgb = (c) => Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
  const [x, y, z] = [0, 1, 2].map((k) => column("position", k));
  const said = { places: x.map((_, i) => [x[i], y[i], z[i]]), faces: (geometry.getIndex()?.count ?? 0) / 3 };
  if (geometry.hasAttribute("liquid")) said.liquid = column("liquid", 0);
  if (geometry.hasAttribute("color"))
    for (const [k, name] of ["red", "green", "blue"].entries()) said[name] = column("color", k, srgb);
  return said;
}

/**
 * What others read from a PLY file: places, how many faces, and properties by their names. three keeps 8 bits of linear
 * light, so that its dark colours are off by some shades.
 * @returns {Promise<[string, object | null][]>} by the reader's name; null where it is missing
 */
export async function plyByOthers(path) {
  const [vtk, meshio] = ["vtk", "meshio"].map(pythonWith);
  return [
    ["three", await plyByThree(path)],
    ["meshio", meshio && plyByPython(meshio, PLY_BY_MESHIO, path)],
    ["VTK", vtk && plyByPython(vtk, PLY_BY_VTK, path)],
  ];
}
