// Surfaces that Blender reads, and meshes of Blender's that are solids: test_blender.mjs TARN. Prints what failed and
// ends with 1; with 77 where Blender is missing, or can't read one of the formats. What a frame costs is printed.
//
//     tarn run --surface --OBJ, PLY, USD--> Blender: vertices, faces, gaps, volume
//     Blender --glb, PLY, STL, OBJ--> tarn: a solid of its volume
import { execFileSync, spawnSync } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { exitCode, expect, scratch, skip } from "./expect.mjs";
import { blenderResult } from "./other_readers.mjs";
import { readUsd } from "./read_export.mjs";
import { gapsOf, meshOfUsd, readPlyMesh, volumeOf } from "./read_mesh.mjs";

const [tarn] = process.argv.slice(2);
const SCRIPT = join(dirname(fileURLToPath(import.meta.url)), "blender_meshes.py");
const at = scratch("blender");
const folder = at();

function run(scene, ...options) {
  return execFileSync(tarn, ["run", at(scene), ...options], { stdio: ["ignore", "pipe", "pipe"] }).toString();
}

/** Splashing water, so that there are drops and holes; the tank is y up, and so is what is read here. */
function testSurfaces() {
  const blocks = [{ min_m: [0, 0, 0], max_m: [0.5, 0.75, 1] }];
  writeFileSync(at("dam.json"), JSON.stringify({ size_m: [1, 1, 1], cell_m: 0.0625, blocks }));
  const said = run(
    "dam.json",
    ...["--steps", "40", "--every", "40"],
    ...["obj", "ply", "usdc"].flatMap((kind) => ["--surface", at(`dam.${kind}`)]),
  );
  const files = ["dam-000040.obj", "dam-000040.ply", "dam.usdc"].map((name) => at(name));
  const found = blenderResult(SCRIPT, "import", ...files);
  if (found === null) return skip("Blender isn't installed");
  const wanted = readPlyMesh(at("dam-000040.ply"));
  const volume = volumeOf(wanted);
  expect(gapsOf(wanted) === 0, "gaps in what was written");
  for (const [path, mesh] of Object.entries(found)) {
    const name = basename(path);
    if (mesh === null) {
      skip(`${name}: this Blender was built without a reader for it`);
      continue;
    }
    if (!name.includes("usd")) {
      // which has the mesh of the first frame, too
      expect(
        mesh.vertices === wanted.points.length,
        `${name}: ${mesh.vertices} vertices, ${wanted.points.length}`,
      );
      expect(
        mesh.faces === wanted.triangles.length,
        `${name}: ${mesh.faces} faces, ${wanted.triangles.length}`,
      );
      const share = mesh.volume / volume;
      expect(Math.abs(share - 1) < 1e-3, `${name}: ${mesh.volume} m3 inside for ${volume}`);
    }
    expect(mesh.gaps === 0, `${name}: ${mesh.gaps} edges without two faces`);
    const bytes = statSync(path).size;
    console.log(
      `${name}: ${mesh.faces} faces, ${bytes} bytes, read by Blender in ${mesh.seconds.toFixed(2)} s of a processor`,
    );
  }
  console.log(said.match(/\d+ surfaces in [^,;]*/)?.[0] ?? said);
}

async function testSolids() {
  const made = blenderResult(SCRIPT, "export", folder);
  if (made === null) return;
  expect(made.whole.gaps === 0, "gaps in what Blender made");
  if (made.files.length < 5) skip(`this Blender writes ${made.files.join(", ")} alone`);
  for (const file of made.files) {
    const scene = {
      size_m: [4, 4, 4],
      cell_m: 0.0625,
      blocks: [{ min_m: [0, 0, 0], max_m: [1, 1, 4] }],
      solids: [{ shape: { mesh: { file } }, position_m: [2, 2, 2] }],
    };
    writeFileSync(at("made.json"), JSON.stringify(scene));
    const check = spawnSync(tarn, ["check", "-q", at("made.json")], { encoding: "utf8" });
    expect(check.status === 0 && check.stderr === "", `${file}: ${check.stderr}`);
    run("made.json", "--steps", "0", "--quiet", "--export", at("made.usdc"));
    const usd = await readUsd(at("made.usdc"));
    if (usd === null) {
      skip(`the volume of ${file} isn't looked at, tinyusdz isn't installed (npm ci in web-client)`);
      continue;
    }
    const share = volumeOf(meshOfUsd(usd.of.Solid_0, 0)) / made.whole.volume;
    expect(Math.abs(share - 1) < 0.05, `${file}: the solid has ${share} of the mesh's volume`);
  }
}

testSurfaces();
await testSolids();
process.exitCode = exitCode();
