// Meshes that three's exporters write are solids: test_meshes.mjs TARN. Prints what failed and ends with 1; with 77 where
// three isn't installed.
//
//     geometry of three --OBJ, STL, PLY, .glb--> tarn: as much liquid beside it, whatever the file
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { exitCode, expect, scratch, skip } from "./expect.mjs";

const [tarn] = process.argv.slice(2);
const at = scratch("meshes");
const packages = new URL("../../web-client/node_modules/three/", import.meta.url);

/** Some of what exporters ask of a browser. */
globalThis.FileReader ??= class {
  async readAsArrayBuffer(blob) {
    this.result = await blob.arrayBuffer();
    this.onloadend();
  }
};

/** Liquid in a full tank beside the solid of a file, in particles. */
function particlesBeside(file) {
  const scene = {
    size_m: [2, 2, 2],
    cell_m: 0.0625,
    blocks: [{ min_m: [0, 0, 0], max_m: [2, 2, 2], velocity_m_s: [0.1, 0, 0] }],
    solids: [{ shape: { mesh: { file } }, position_m: [0, 0, 0] }],
  };
  writeFileSync(at("solid.json"), JSON.stringify(scene));
  const check = spawnSync(tarn, ["check", at("solid.json")], { encoding: "utf8" });
  expect(check.status === 0 && check.stderr === "", `${file}: ${check.stderr}`);
  return Number(check.stdout.match(/(\d+) particles/)?.[1]);
}

async function load() {
  const exporter = (name) => import(new URL(`examples/jsm/exporters/${name}.js`, packages).href);
  try {
    const three = await import(new URL("build/three.module.js", packages).href);
    const [obj, stl, ply, gltf] = await Promise.all(
      ["OBJExporter", "STLExporter", "PLYExporter", "GLTFExporter"].map(exporter),
    );
    return { ...three, ...obj, ...stl, ...ply, ...gltf };
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    return null;
  }
}

/** A star with a hole: concave, and one piece. */
function star(three) {
  const outline = Array.from({ length: 10 }, (_, i) => {
    const radius = i % 2 === 0 ? 0.7 : 0.35;
    return new three.Vector2(radius * Math.cos((Math.PI / 5) * i), radius * Math.sin((Math.PI / 5) * i));
  });
  const shape = new three.Shape(outline);
  shape.holes.push(new three.Path().absarc(0, 0, 0.15, 0, 2 * Math.PI, true));
  return new three.ExtrudeGeometry(shape, { depth: 0.5, bevelEnabled: false, curveSegments: 16 });
}

/** As every format has it. */
async function writeAll(three, name, scene) {
  scene.updateMatrixWorld(true);
  const files = {
    [`${name}.obj`]: new three.OBJExporter().parse(scene),
    [`${name}-text.stl`]: new three.STLExporter().parse(scene),
    [`${name}-bytes.stl`]: new Uint8Array(new three.STLExporter().parse(scene, { binary: true }).buffer),
    [`${name}-text.ply`]: new three.PLYExporter().parse(scene, null),
    [`${name}-bytes.ply`]: new Uint8Array(new three.PLYExporter().parse(scene, null, { binary: true })),
    [`${name}.glb`]: new Uint8Array(await new three.GLTFExporter().parseAsync(scene, { binary: true })),
  };
  for (const [file, content] of Object.entries(files)) writeFileSync(at(file), content);
  return Object.keys(files);
}

async function testFormats(three) {
  const mesh = new three.Mesh(star(three));
  mesh.position.set(1, 1, 0.7);
  mesh.rotation.set(0.3, 0.5, 0.2);
  const scene = new three.Scene().add(mesh);
  const counts = (await writeAll(three, "star", scene)).map((file) => [file, particlesBeside(file)]);
  const [[, first]] = counts;
  const full = 32 ** 3 * 8;
  expect(first > 0.95 * full && first < 0.99 * full, `star.obj: ${first} of ${full} particles`);
  for (const [file, count] of counts)
    expect(Math.abs(count - first) <= 2, `${file}: ${count} instead of ${first}`);
}

/** Three boxes at places of one mesh, one of them mirrored, and the same as three meshes. */
async function testInstances(three) {
  const box = new three.BoxGeometry(0.3, 0.4, 0.5);
  const places = [
    new three.Matrix4().makeTranslation(0.4, 0.5, 0.6),
    new three.Matrix4().makeTranslation(1.2, 1, 1).multiply(new three.Matrix4().makeRotationY(0.7)),
    new three.Matrix4().makeTranslation(1.5, 0.4, 0.4).multiply(new three.Matrix4().makeScale(-1, 1.2, 1)),
  ];
  const many = new three.InstancedMesh(box, new three.MeshBasicMaterial(), places.length);
  for (const [i, place] of places.entries()) many.setMatrixAt(i, place);
  const written = await new three.GLTFExporter().parseAsync(new three.Scene().add(many), { binary: true });
  writeFileSync(at("many.glb"), new Uint8Array(written));
  const each = new three.Scene();
  for (const place of places) {
    const mesh = new three.Mesh(box);
    mesh.applyMatrix4(place);
    each.add(mesh);
  }
  await writeAll(three, "each", each);
  const [found, wanted] = ["many.glb", "each.glb"].map(particlesBeside);
  expect(Math.abs(found - wanted) <= 2, `many.glb: ${found} instead of ${wanted}`);
}

const three = await load();
if (three === null) skip("three isn't installed (npm ci in web-client)");
else {
  await testFormats(three);
  await testInstances(three);
}
process.exitCode = exitCode();
