// Reads back the grids that `tarn run --export FILE.vti` writes: test_grid.mjs TARN. Prints what failed and ends with 1;
// with 77 when all is right but VTK, which reads them too, is missing.
//
//     tank --.vti--> our reader: mass, pressure          --> VTK: the same values, and the surface that it finds
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { exitCode, expect, scratch, skip } from "./expect.mjs";
import { vtkPython } from "./other_readers.mjs";
import { readPly, readVti } from "./read_export.mjs";

const [tarn] = process.argv.slice(2);
const at = scratch("grid");
const CELL_M = 0.0625;
const sum = (list) => list.reduce((a, b) => a + b, 0);
const most = (list) => list.reduce((a, b) => Math.max(a, b));
const near = (found, wanted, share) => Math.abs(found - wanted) <= share * Math.abs(wanted);

/** @returns the grid behind so many steps, its arrays of numbers flat, and the particles */
function run(name, scene, steps) {
  writeFileSync(at(`${name}.json`), JSON.stringify({ size_m: [1, 1, 1], cell_m: CELL_M, ...scene }));
  const files = ["--export", at(`${name}.vti`), "--ply", at(name)];
  execFileSync(tarn, [
    "run",
    at(`${name}.json`),
    "-q",
    "-s",
    `${steps}`,
    "--every",
    `${steps || 1}`,
    ...files,
  ]);
  const number = String(steps).padStart(6, "0");
  const { arrays } = readVti(at(`${name}-${number}.vti`));
  const flat = Object.entries(arrays).map(([key, tuples]) => [key, tuples.flat()]);
  return { arrays: Object.fromEntries(flat), ply: readPly(join(at(name), `${name}-${number}.ply`)) };
}

/** What lies there weighs what its particles do, wherever they are; the floor bears it. */
function testLiquids() {
  const blocks = [
    { min_m: [0, 0, 0], max_m: [1, 0.25, 1], liquid: 0 },
    { min_m: [0, 0.25, 0], max_m: [1, 0.5, 1], liquid: 1 },
  ];
  const liquids = [{ density_kg_m3: 1000 }, { density_kg_m3: 800 }];
  const { arrays, ply } = run("layers", { liquids, blocks }, 30);
  expect(
    Object.keys(arrays).join() === "pressure,velocity,density,solid",
    `the arrays: ${Object.keys(arrays)}`,
  );
  const share = CELL_M ** 3 / 8;
  const mass = sum(ply.liquid.map((liquid) => share * liquids[liquid].density_kg_m3));
  const found = sum(arrays.density) * CELL_M ** 3;
  expect(near(found, mass, 1e-4) && near(mass, 450, 1e-6), `${found} kg in the cells, of ${mass}`);
  const floor = arrays.pressure.filter((_, i) => Math.floor(i / 16) % 16 === 0);
  const wanted = 9.81 * (0.25 * 800 + (0.25 - CELL_M / 2) * 1000);
  const mean = sum(floor) / floor.length;
  expect(near(mean, wanted, 0.05), `${mean} Pa at the middle of the lowest cells for ${wanted}`);
}

/** Warm air weighs some grams less: a fraction of a pascal over a tank's height. */
function testSmoke() {
  const blocks = [{ min_m: [0.25, 0.25, 0.25], max_m: [0.75, 0.5, 0.75], carries: { heat_k: 60, smoke: 2 } }];
  const { arrays, ply } = run("warm", { model: "smoke", blocks }, 10);
  expect(
    Object.keys(arrays).join() === "pressure,velocity,smoke,solid",
    `the arrays: ${Object.keys(arrays)}`,
  );
  const highest = most(arrays.pressure.map(Math.abs));
  expect(highest > 0.01 && highest < 2.5, `${highest} Pa of warm air`);
  const smoke = sum(arrays.smoke);
  expect(
    near(smoke, (2 * ply.x.length) / 8, 0.1),
    `${smoke} cells of smoke of ${ply.x.length} particles of 2`,
  );
}

/** Vortices have no pressure that means anything. */
function testDye() {
  const blocks = [{ min_m: [0, 0, 0], max_m: [0.5, 0.5, 1] }];
  const { arrays } = run("dye", { model: "vortons", blocks }, 2);
  expect(Object.keys(arrays).join() === "velocity,solid", `the arrays: ${Object.keys(arrays)}`);
}

/** Which cells a box, a ball that goes along, and a round container have their middles in. */
function testSolids() {
  const solids = [
    { shape: { box: { size_m: [0.25, 0.5, 0.125] } }, position_m: [0.625, 0.25, 0.5] },
    {
      shape: { sphere: { radius_m: 0.15 } },
      motion: "keyframes",
      keyframes: [
        { time_s: 0, position_m: [0.2, 0.8, 0.5] },
        { time_s: 0.1, position_m: [0.7, 0.8, 0.5] },
      ],
    },
    { shape: { cylinder: { radius_m: 0.5, height_m: 4 }, inverted: true }, position_m: [0.5, 0.5, 0.5] },
  ];
  const blocks = [{ min_m: [0.1875, 0, 0.4375], max_m: [0.375, 0.25, 0.5625] }];
  for (const steps of [0, 6]) {
    const { arrays } = run(`solids-${steps}`, { solids, blocks }, steps);
    const ball = [0.2 + (0.5 * steps) / 6, 0.8, 0.5];
    const wanted = arrays.solid.map((_, i) => {
      const [x, y, z] = [i % 16, Math.floor(i / 16) % 16, Math.floor(i / 256)].map((c) => (c + 0.5) * CELL_M);
      const inBox = x > 0.5 && x < 0.75 && y < 0.5 && z > 0.4375 && z < 0.5625;
      const inBall = Math.hypot(x - ball[0], y - ball[1], z - ball[2]) < 0.15;
      return Number(inBox || inBall || Math.hypot(x - 0.5, z - 0.5) > 0.5);
    });
    expect(
      wanted.every((solid, i) => solid === arrays.solid[i]),
      `solid cells behind ${steps} steps: ${sum(arrays.solid)} of ${sum(wanted)}`,
    );
  }
}

const SCRIPT = `
import json, sys, vtk
reader = vtk.vtkXMLImageDataReader()
reader.SetFileName(sys.argv[1]); reader.Update()
image = reader.GetOutput()
cells = image.GetCellData()
said = {"cells": image.GetNumberOfCells(), "bounds": image.GetBounds(), "sums": {}, "time": 0}
said["time"] = image.GetFieldData().GetArray("TimeValue").GetValue(0)
for i in range(cells.GetNumberOfArrays()):
    values = cells.GetArray(i)
    width = values.GetNumberOfComponents()
    said["sums"][values.GetName()] = sum(values.GetValue(k) for k in range(values.GetNumberOfTuples() * width))
points = vtk.vtkCellDataToPointData()
points.SetInputData(image); points.Update()
surface = vtk.vtkContourFilter()
surface.SetInputData(points.GetOutput()); surface.SetValue(0, 500)
surface.SetInputArrayToProcess(0, 0, 0, vtk.vtkDataObject.FIELD_ASSOCIATION_POINTS, "density")
surface.Update()
found = surface.GetOutput()
heights = [found.GetPoint(i)[1] for i in range(found.GetNumberOfPoints())]
said["surface"] = sum(heights) / len(heights) if heights else None
print(json.dumps(said))
`;

/** Half of the density is the surface of water at rest. */
function testVtk() {
  const { arrays } = run("pool", { blocks: [{ min_m: [0, 0, 0], max_m: [1, 0.5, 1] }] }, 6);
  const python = vtkPython();
  if (python === null) {
    skip("VTK doesn't read the grid, no python3 has its module (python3-vtk9)");
    return;
  }
  writeFileSync(at("read.py"), SCRIPT);
  const said = JSON.parse(execFileSync(python, [at("read.py"), at("pool-000006.vti")], { encoding: "utf8" }));
  expect(said.cells === 4096 && said.bounds.join() === "0,1,0,1,0,1", `VTK: ${JSON.stringify(said)}`);
  expect(Math.abs(said.time - 0.1) < 1e-6, `VTK: at ${said.time} s`);
  expect(Object.keys(said.sums).join() === Object.keys(arrays).join(), `VTK: ${Object.keys(said.sums)}`);
  for (const [name, values] of Object.entries(arrays)) {
    expect(
      Math.abs(said.sums[name] - sum(values)) <= 1e-6 * sum(values.map(Math.abs)),
      `VTK: the sum of ${name}`,
    );
  }
  expect(Math.abs(said.surface - 0.5) < 0.5 * CELL_M, `VTK: the surface lies at ${said.surface} m`);
}

testLiquids();
testSmoke();
testDye();
testSolids();
testVtk();
process.exitCode = exitCode();
