// Reads back the surfaces that `tarn run` writes: test_surface.mjs TARN. Prints what failed and ends with 1; with 77 when
// all is right but something could not be read for want of a reader.
//
//     OBJ --same mesh--> PLY, .usda, .usdc, .usd       OBJ --as a solid--> tarn --field--> USD
//     a cube as OBJ, STL, PLY, .glb --as a solid--> the same hash
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { difference, equal, exitCode, expect, scratch, skip } from "./expect.mjs";
import { plyByOthers, vtkPython } from "./other_readers.mjs";
import { readPly, readUsd } from "./read_export.mjs";
import { gapsOf, meshOfUsd, readObj, readPlyMesh, volumeOf } from "./read_mesh.mjs";

const [tarn] = process.argv.slice(2);
const at = scratch("surface");
const folder = at();

function run(scene, ...options) {
  return execFileSync(tarn, ["run", at(scene), ...options], { stdio: ["ignore", "pipe", "pipe"] }).toString();
}

const CELL_M = 0.0625;
const solids = [
  { shape: { sphere: { radius_m: 0.1 } }, position_m: [0.8, 0.8, 0.5], motion: "free", density_kg_m3: 300 },
  { shape: { box: { size_m: [0.1, 0.2, 0.3] } }, position_m: [0.85, 0.1, 0.2], rotation_deg: [0, 90, 0] },
  { shape: { capsule: { radius_m: 0.05, length_m: 0.4 } }, position_m: [0.9, 0.5, 0.8], colour: "#ff0000" },
];
writeFileSync(
  at("block.json"),
  JSON.stringify({
    size_m: [1, 1, 1],
    cell_m: CELL_M,
    blocks: [{ min_m: [0.125, 0.25, 0.25], max_m: [0.625, 0.75, 0.75] }],
    solids,
    tank_motion: { keyframes: [{ time_s: 0.15 }, { time_s: 0.6, rotation_deg: [0, 30, 0] }] },
  }),
);

/** Half a cell from the block's sides, closed, of its volume; normals outwards, as the triangles are. */
function checkBlock(mesh, what) {
  equal(gapsOf(mesh), 0, `${what}: gaps`);
  expect(Math.abs(volumeOf(mesh) / 0.125 - 1) < 0.03, `${what}: ${volumeOf(mesh)} m3`);
  expect(mesh.normals.length === mesh.points.length, `${what}: normals`);
  const off = mesh.points.map(
    ([x, y, z]) => Math.max(Math.abs(x - 0.375), Math.abs(y - 0.5), Math.abs(z - 0.5)) - 0.25,
  );
  const most = off.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  expect(most < 0.5 * CELL_M, `${what}: ${most} m from the block's sides`);
  const inwards = mesh.points.filter(([x, y, z], i) => {
    const [nx, ny, nz] = mesh.normals[i];
    return (x - 0.375) * nx + (y - 0.5) * ny + (z - 0.5) * nz <= 0;
  });
  expect(inwards.length <= 1e-3 * mesh.points.length, `${what}: ${inwards.length} normals inwards`);
}

async function testBlock() {
  const files = ["run.obj", "run.ply", "run.usda", "run.usdc", "run.usd"];
  const options = files.flatMap((name) => ["--surface", at(name)]);
  const said = run("block.json", "--steps", "18", "--every", "6", "--channel", "speed", ...options);
  expect(said.includes(`4 OBJ files in ${at("run-*.obj")}`), `the report names the files: ${said}`);
  expect(said.includes("20 surfaces in"), `and how long they took: ${said}`);
  const names = readdirSync(folder).filter((name) => name.startsWith("run"));
  equal(names.length, 2 * 4 + 3, `the files: ${names}`);
  const meshes = [0, 6, 12, 18].map((step) => {
    const number = String(step).padStart(6, "0");
    const [obj, ply] = [readObj(at(`run-${number}.obj`)), readPlyMesh(at(`run-${number}.ply`))];
    equal(obj.triangles, ply.triangles, `step ${step}: OBJ's and PLY's triangles`);
    expect(difference(obj.points, ply.points) < 1e-6, `step ${step}: OBJ's and PLY's points`);
    expect(difference(obj.normals, ply.normals) < 1e-3, `step ${step}: OBJ's and PLY's normals`);
    equal(gapsOf(ply), 0, `step ${step}: gaps`);
    return ply;
  });
  checkBlock(meshes[0], "step 0");
  const fall = meshes[2].attributes.velocities.map(([, y]) => y).reduce((a, b) => a + b, 0);
  const mean = fall / meshes[2].points.length;
  expect(Math.abs(mean + 9.81 * 0.2) < 0.15, `the mesh falls at ${mean} m/s after 0.2 s`);
  const { speed, velocities } = meshes[3].attributes;
  expect(
    speed.every((v, i) => v > 0.99 * Math.hypot(...velocities[i])),
    "a mean of speeds is no less than the speed of the mean",
  );
  expect(Buffer.compare(readFileSync(at("run.usd")), readFileSync(at("run.usdc"))) === 0, ".usd is .usdc");
  for (const name of ["run.usda", "run.usdc"]) checkUsd(name, await readUsd(at(name)), meshes);
}

function checkUsd(name, usd, meshes) {
  if (usd === null) return skip(`${name} isn't read back, tinyusdz isn't installed (npm ci in web-client)`);
  equal(
    usd.prims.map(([type, prim]) => `${type} ${prim}`),
    ["Xform Tank", "BasisCurves Box", "Sphere Solid_0", "Cube Solid_1", "Capsule Solid_2", "Mesh Liquid"],
    `${name}: the prims`,
  );
  meshes.forEach((wanted, code) => {
    const mesh = meshOfUsd(usd.of.Liquid, code);
    equal(mesh.triangles, wanted.triangles, `${name}, ${code}: triangles`);
    expect(difference(mesh.points, wanted.points) < 1e-6, `${name}, ${code}: points`);
    expect(difference(mesh.normals, wanted.normals) < 1e-6, `${name}, ${code}: normals`);
    expect(
      difference(mesh.attributes.velocities, wanted.attributes.velocities) < 1e-5,
      `${name}, ${code}: velocities`,
    );
  });
  equal(usd.of.Liquid.subdivisionScheme.value, "none", `${name}: no subdivision`);
  equal(usd.of.Liquid["primvars:speed"].samples.size, 4, `${name}: the channel`);
  checkBodies(name, usd.of);
  const box = usd.of.Box;
  equal(
    box.curveVertexCounts.value.reduce((a, b) => a + b - 1, 0),
    12,
    `${name}: edges of the box`,
  );
  equal(new Set(box.points.value.map(String)).size, 8, `${name}: corners of the box`);
  const lengths = [];
  let from = 0;
  for (const count of box.curveVertexCounts.value) {
    for (let i = from + 1; i < from + count; i++) {
      lengths.push(Math.hypot(...box.points.value[i].map((p, k) => p - box.points.value[i - 1][k])));
    }
    from += count;
  }
  expect(
    lengths.every((length) => Math.abs(length - 1) < 1e-6),
    `${name}: lengths of edges ${lengths}`,
  );
}

function checkBodies(name, of) {
  const ball = of.Solid_0;
  expect(Math.abs(ball.radius.value - 0.1) < 1e-6, `${name}: the ball's radius`);
  const heights = [...ball["xformOp:translate"].samples.values()].map(([, y]) => y);
  const fallen = [0, 6, 12, 18].map((step) => 0.8 - 0.5 * 9.81 * (step / 60) ** 2);
  expect(
    heights.length === 4 && heights.every((y, i) => Math.abs(y - fallen[i]) < 0.03),
    `${name}: the ball falls: ${heights} for ${fallen}`,
  );
  const order = ["xformOp:translate", "xformOp:orient", "xformOp:scale"];
  for (const solid of ["Solid_0", "Solid_1", "Solid_2"]) {
    equal(of[solid].xformOpOrder.value, order, `${name}: the order of what moves ${solid}`);
  }
  const near = (value, wanted) => difference([value], [wanted]) < 1e-6;
  const half = Math.SQRT1_2;
  expect(near(of.Solid_1["xformOp:scale"].value, [0.1, 0.2, 0.3]), `${name}: the box's edges`);
  expect(near(of.Solid_1["xformOp:translate"].value, [0.85, 0.1, 0.2]), `${name}: the box's place`);
  expect(near(of.Solid_1["xformOp:orient"].value, [half, 0, half, 0]), `${name}: the box is turned`);
  equal([of.Solid_1.size.value, of.Solid_2.axis.value], [1, "Y"], `${name}: a unit cube, and along y`);
  expect(near(of.Solid_2["primvars:displayColor"].value[0], [1, 0, 0]), `${name}: the capsule's colour`);
  // The tank has not moved at 0.1 s, and has at 0.2 s and 0.3 s; about its middle.
  const turns = [...of.Tank["xformOp:orient"].samples].filter(([, [, , y]]) => Math.abs(y) > 1e-3);
  equal(
    turns.map(([code]) => code),
    [2, 3],
    `${name}: when the tank turns`,
  );
  for (const [code, [w, , y]] of turns) {
    const [cos, sin] = [1 - 2 * y * y, 2 * w * y];
    const [x, , z] = of.Tank["xformOp:translate"].samples.get(code);
    const middle = [x + 0.5 * cos + 0.5 * sin, z - 0.5 * sin + 0.5 * cos];
    expect(near(middle, [0.5, 0.5]), `${name}, ${code}: the tank's middle is at ${middle}`);
  }
}

/** What was written is a solid for tarn itself, whose reader of OBJ refuses what isn't closed. */
async function testAsSolid() {
  writeFileSync(
    at("ball.json"),
    JSON.stringify({
      size_m: [1, 1, 1],
      cell_m: 0.04,
      fluids: [{ shape: { sphere: { radius_m: 0.3 } }, position_m: [0.5, 0.5, 0.5] }],
    }),
  );
  run("ball.json", "--steps", "0", "--quiet", "--surface", at("ball.obj"), "--ply", at("ball"));
  const ball = readObj(at("ball-000000.obj"));
  const wanted = (4 / 3) * Math.PI * 0.3 ** 3;
  equal(gapsOf(ball), 0, "the ball's gaps");
  expect(Math.abs(volumeOf(ball) / wanted - 1) < 0.03, `the ball has ${volumeOf(ball)} m3 for ${wanted}`);
  const { x, y, z } = readPly(at("ball", "ball-000000.ply"));
  const most = ball.points.reduce((worst, [px, py, pz]) => {
    const nearest = x.reduce(
      (a, qx, i) => Math.min(a, (px - qx) ** 2 + (py - y[i]) ** 2 + (pz - z[i]) ** 2),
      1,
    );
    return Math.max(worst, nearest);
  }, 0);
  const reach = 0.5 * 0.02; // of a particle
  expect(Math.sqrt(most) - reach < 0.5 * 0.04, `the ball ends ${Math.sqrt(most)} m from its particles`);
  const radii = ball.points.map((p) => Math.hypot(...p.map((c) => c - 0.5)));
  expect(
    radii.every((r) => r > 0.3 - 0.04 && r < 0.3 + 0.04),
    `the ball's radius: ${Math.min(...radii)}`,
  );
  writeFileSync(
    at("again.json"),
    JSON.stringify({
      size_m: [2, 2, 2],
      cell_m: 0.125,
      blocks: [{ min_m: [0, 0, 0], max_m: [2, 0.5, 2] }],
      solids: [{ shape: { mesh: { file: "ball-000000.obj" } }, position_m: [1, 1, 1] }],
    }),
  );
  run("again.json", "--steps", "0", "--quiet", "--export", at("again.usda"), "--export", at("again.usdc"));
  for (const name of ["again.usda", "again.usdc"]) {
    const usd = await readUsd(at(name));
    if (usd === null) return skip(`${name} isn't read back, tinyusdz isn't installed (npm ci in web-client)`);
    const field = meshOfUsd(usd.of.Solid_0, 0);
    equal(gapsOf(field), 0, `${name}: the solid's gaps`);
    const share = volumeOf(field) / volumeOf(ball);
    expect(Math.abs(share - 1) < 0.03, `${name}: the solid has ${share} of the ball's volume`);
  }
}

/** A binary glTF of a mesh, moved by as much as its node moves it back. */
function glbOf({ points, triangles }) {
  const bytes = Buffer.alloc(12 * points.length + 12 * triangles.length);
  points.flat().forEach((number, i) => {
    bytes.writeFloatLE(number - (i % 3 === 0 ? 1 : 0), 4 * i);
  });
  triangles.flat().forEach((index, i) => {
    bytes.writeUInt32LE(index, 12 * points.length + 4 * i);
  });
  const json = JSON.stringify({
    asset: { version: "2.0" },
    nodes: [{ children: [1], translation: [1, 0, 0] }, { mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0 }, indices: 1 }] }],
    accessors: [
      { bufferView: 0, componentType: 5126, type: "VEC3", count: points.length },
      { bufferView: 1, componentType: 5125, type: "SCALAR", count: 3 * triangles.length },
    ],
    buffers: [{ byteLength: bytes.length }],
    bufferViews: [
      { buffer: 0, byteLength: 12 * points.length },
      { buffer: 0, byteOffset: 12 * points.length, byteLength: 12 * triangles.length },
    ],
  });
  const text = Buffer.from(json.padEnd(Math.ceil(json.length / 4) * 4));
  const words = (...numbers) => Buffer.from(Uint32Array.from(numbers).buffer);
  const length = 28 + text.length + bytes.length;
  return Buffer.concat([
    words(0x46546c67, 2, length, text.length, 0x4e4f534a),
    text,
    words(bytes.length, 0x004e4942),
    bytes,
  ]);
}

/** The same solid in every format that scenes may name, and what --surface writes of the liquid as PLY. */
function testKinds() {
  const points = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [i & 1, (i >> 1) & 1, i >> 2].map((c) => c / 4));
  const quads = [
    [0, 2, 3, 1],
    [4, 5, 7, 6],
    [0, 1, 5, 4],
    [2, 6, 7, 3],
    [0, 4, 6, 2],
    [1, 3, 7, 5],
  ];
  const triangles = quads.flatMap(([a, b, c, d]) => [
    [a, b, c],
    [a, c, d],
  ]);
  const lines = (...texts) => `${texts.flat().join("\n")}\n`;
  const of = (list) => list.map((tuple) => tuple.join(" "));
  const head = [
    "ply",
    "format ascii 1.0",
    "element vertex 8",
    ...["x", "y", "z"].map((a) => `property float ${a}`),
  ];
  const list = ["element face 6", "property list uchar int vertex_indices", "end_header"];
  const facets = triangles.flatMap((corners) => [
    "facet normal 0 0 0",
    "outer loop",
    ...corners.map((corner) => `vertex ${points[corner].join(" ")}`),
    "endloop",
    "endfacet",
  ]);
  writeFileSync(
    at("cube.obj"),
    lines(
      of(points).map((p) => `v ${p}`),
      of(quads.map((quad) => quad.map((c) => c + 1))).map((q) => `f ${q}`),
    ),
  );
  writeFileSync(at("cube.stl"), lines("solid", facets, "endsolid"));
  writeFileSync(at("cube.ply"), lines(head, list, of(points), of(quads.map((quad) => [4, ...quad]))));
  writeFileSync(at("cube.glb"), glbOf({ points, triangles }));
  writeFileSync(at("open.glb"), glbOf({ points, triangles: triangles.slice(1) }));
  const check = (file, ...options) => {
    const scene = {
      size_m: [1, 1, 1],
      cell_m: 0.125,
      blocks: [{ min_m: [0, 0, 0], max_m: [0.375, 0.75, 1] }],
      solids: [{ shape: { mesh: { file } }, position_m: [0.5, 0, 0.5] }],
    };
    writeFileSync(at("kind.json"), JSON.stringify(scene));
    return spawnSync(tarn, [...options, at("kind.json")], { encoding: "utf8" });
  };
  const hashes = ["obj", "stl", "ply", "glb"].map(
    (kind) => check(`cube.${kind}`, "run", "--quiet", "--hash", "--steps", "20").stdout,
  );
  expect(/^[0-9a-f]{32}\n$/.test(hashes[0]), `a hash: ${hashes[0]}`);
  equal(hashes, Array(4).fill(hashes[0]), "tanks with one solid in four formats");
  equal(check("cube.glb", "check", "-q").stderr, "", "nothing is doubted about a closed mesh");
  expect(
    /solids\[0\].shape.mesh.file: open.glb isn.t closed: \d+ of its edges/.test(
      check("open.glb", "check", "-q").stderr,
    ),
    "an open one is refused",
  );
  const liquid = check("run-000018.ply", "check", "-q");
  equal(liquid.status, 0, "a surface as a solid");
  // Drops and sheets are thinner than the cells of a tank that is so coarse.
  expect(
    /^[^\n]*: warning: solids\[0\] is 0\.0\d+ m thin in places[^\n]*\n$/.test(liquid.stderr),
    `thin drops: ${liquid.stderr}`,
  );
  const [whole, { triangles: faces }] = [
    readFileSync(at("run-000018.ply")),
    readPlyMesh(at("run-000018.ply")),
  ];
  const [before, after] = [faces.length, faces.length - 1].map((count) => `element face ${count}\n`);
  const text = whole.subarray(0, -13).toString("latin1").replace(before, after);
  writeFileSync(at("hole.ply"), Buffer.from(text, "latin1"));
  const doubt = check("hole.ply", "check", "-q").stderr;
  expect(doubt.includes("hole.ply isn't closed: 3 of its edges"), `what is said of a hole: ${doubt}`);
}

/** Each vertex has the colours of the liquid around it. */
function testLiquids() {
  writeFileSync(
    at("two.json"),
    JSON.stringify({
      size_m: [1, 1, 1],
      cell_m: CELL_M,
      liquids: [
        { density_kg_m3: 1000, colour: "#2040c0" },
        { density_kg_m3: 800, colour: "#e0c020" },
      ],
      blocks: [
        { min_m: [0, 0, 0], max_m: [0.5, 0.5, 1] },
        { min_m: [0.5, 0, 0], max_m: [1, 0.5, 1], liquid: 1 },
      ],
    }),
  );
  run("two.json", "--steps", "0", "--quiet", "--surface", at("two.ply"), "--surface", at("two.obj"));
  const [ply, obj] = [readPlyMesh(at("two-000000.ply")), readObj(at("two-000000.obj"))];
  equal(gapsOf(ply), 0, "two liquids: gaps");
  equal(ply.attributes.colours.length, ply.points.length, "two liquids: a colour for each vertex");
  expect(difference(obj.attributes.colours, ply.attributes.colours) <= 1, "OBJ's and PLY's colours");
  const wrong = ply.points.filter(([x], i) => {
    const wanted = x < 0.5 ? [0x20, 0x40, 0xc0] : [0xe0, 0xc0, 0x20];
    return Math.abs(x - 0.5) > 2 * CELL_M && difference([ply.attributes.colours[i]], [wanted]) > 0;
  });
  equal(wrong.length, 0, "vertices of another liquid's colour");
}

/** The same bits for any number of threads; finer with more detail; nothing of nothing. */
function testOptions() {
  for (const threads of ["1", "3"]) {
    run(
      "block.json",
      "--steps",
      "9",
      "--every",
      "9",
      "--quiet",
      "--threads",
      threads,
      "--surface",
      at(`t${threads}.ply`),
    );
  }
  const [one, three] = ["t1-000009.ply", "t3-000009.ply"].map((name) => readFileSync(at(name)));
  expect(Buffer.compare(one, three) === 0, "the same for one thread and for three");
  const counts = ["1", "2", "4"].map((detail) => {
    const file = at(`d${detail}.obj`);
    run("block.json", "--steps", "0", "--quiet", "--surface-detail", detail, "--surface", file);
    const mesh = readObj(at(`d${detail}-000000.obj`));
    checkBlock(mesh, `detail ${detail}`);
    return mesh.triangles.length;
  });
  expect(counts[1] > 3 * counts[0] && counts[2] > 3 * counts[1], `triangles by detail: ${counts}`);
  const shape = { sphere: { radius_m: 0.2 } };
  const emitters = [{ shape, position_m: [0.5, 0.5, 0.5], velocity_m_s: [0, -1, 0], start_s: 5 }];
  writeFileSync(
    at("empty.json"),
    JSON.stringify({ size_m: [1, 1, 1], cell_m: CELL_M, particles_max: 10000, emitters }),
  );
  run("empty.json", "--steps", "1", "--quiet", "--surface", at("none.obj"), "--surface", at("none.ply"));
  equal(readObj(at("none-000000.obj")).points.length, 0, "no vertices without liquid");
  equal(readPlyMesh(at("none-000000.ply")).triangles.length, 0, "no triangles without liquid");
}

/** Particles and surfaces with colours above 127 come out of other programs' readers as they went in. */
async function testPlyElsewhere() {
  run("two.json", "--steps", "0", "--quiet", "--ply", at("two"));
  const points = readPly(at("two", "two-000000.ply"));
  const mesh = readPlyMesh(at("two-000000.ply"));
  const colours = Object.fromEntries(
    ["red", "green", "blue"].map((name, k) => [name, mesh.attributes.colours.map((colour) => colour[k])]),
  );
  expect(Math.max(...points.red) === 0xe0 && Math.max(...colours.red) === 0xe0, "bright colours");
  const places = points.x.map((_, i) => [points.x[i], points.y[i], points.z[i]]);
  for (const [file, wanted] of [
    [at("two", "two-000000.ply"), { ...points, places, faces: 0 }],
    [at("two-000000.ply"), { ...colours, places: mesh.points, faces: mesh.triangles.length }],
  ])
    for (const [reader, said] of await plyByOthers(file)) {
      if (said === null) {
        skip(
          `PLY isn't read by ${reader}, which isn't here (npm ci in web-client, python3-meshio, python3-vtk9)`,
        );
        continue;
      }
      const what = `${file}, read by ${reader}`;
      expect(difference(said.places, wanted.places) < 1e-6, `${what}: places`);
      equal(said.faces, wanted.faces, `${what}: faces`);
      for (const name of ["red", "green", "blue"]) {
        const off = said[name].map((shade, i) => Math.abs(shade - wanted[name][i]));
        expect(
          Math.max(...off) <= (reader === "three" ? 6 : 0),
          `${what}: ${name} is off by ${Math.max(...off)}`,
        );
      }
      if (wanted.liquid && said.liquid) equal(said.liquid, wanted.liquid, `${what}: liquids`);
    }
}

/** VTK, where it is there, reads the same mesh. */
function testOtherReaders() {
  const python = vtkPython();
  if (python === null)
    return skip("OBJ and PLY aren't read by VTK, no python3 has its module (python3-vtk9)");
  const script = at("count.py");
  writeFileSync(
    script,
    [
      "import sys, vtk",
      "reader = (vtk.vtkOBJReader if sys.argv[1].endswith('obj') else vtk.vtkPLYReader)()",
      "reader.SetFileName(sys.argv[1]); reader.Update(); mesh = reader.GetOutput()",
      "edges = vtk.vtkFeatureEdges(); edges.SetInputData(mesh)",
      "edges.FeatureEdgesOff(); edges.BoundaryEdgesOn(); edges.NonManifoldEdgesOn(); edges.Update()",
      "print(mesh.GetNumberOfPolys(), edges.GetOutput().GetNumberOfCells())",
    ].join("\n"),
  );
  for (const file of ["run-000018.obj", "run-000018.ply"]) {
    const vtk = spawnSync(python, [script, at(file)], { encoding: "utf8" });
    equal(
      vtk.stdout.trim(),
      `${readPlyMesh(at("run-000018.ply")).triangles.length} 0`,
      `VTK: triangles and gaps of ${file}`,
    );
  }
}

await testBlock();
await testAsSolid();
testKinds();
testLiquids();
await testPlyElsewhere();
testOptions();
testOtherReaders();
expect(!readdirSync(folder).some((name) => name.endsWith(".part")), "no part of a file is left");
process.exitCode = exitCode();
