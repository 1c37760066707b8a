// What stands and floats in the tank, and colours: from the fake server, whose bodies and dyes are known exactly.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { HERE } from "../places.mjs";
import { cheap, drawn, hasSaid, look, pause } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

const SCENE = {
  solids: [
    { shape: { box: { size_m: [0.3, 0.3, 0.3] } }, position_m: [0.3, 0.15, 0.5], colour: "#b98b5e" },
    { shape: { sphere: { radius_m: 0.1 } }, motion: "free", position_m: [1, 0.5, 0.5], colour: "#e02020" },
    {
      shape: { mesh: { file: "parts/tent.obj", scale: 0.3 } },
      motion: "keyframes",
      keyframes: [{ time_s: 0, position_m: [1.6, 0.5, 0.5] }],
    },
    { shape: { heightfield: { spacing_m: 0.5, file: "hills.pgm", height_m: 0.2 } }, position_m: [1, 0, 0.5] },
    { shape: { cylinder: { radius_m: 0.45, height_m: 0.9 }, inverted: true }, position_m: [1, 0.5, 0.5] },
    {
      shape: { capsule: { radius_m: 0.05, length_m: 0.2 } },
      position_m: [1.9, 0.5, 0.2],
      rotation_deg: [0, 0, 45],
    },
  ],
};
const FILES = {
  "dam-break.json": JSON.stringify(SCENE),
  "parts/tent.obj": "v 0 0 0\nv 1 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n",
  "hills.pgm": "P2 5 3 10  0 2 4 2 0  1 5 10 5 1  0 2 4 2 0",
};
/** Nothing lies over the water. */
const BARE = "?panel=0&tools=0&readout=0&help=0";
const SPEED = 0.4;
/** A body goes on beyond the newest frame by 3/4 of the time between two, which is 250 ms at most. */
const BEYOND_S = 0.75 * 0.25;
/** Wide enough for the ball to be seen beside the readout. */
const WIDE = { context: { viewport: { width: 720, height: 405 } } };
/** The ball goes along z and back, every second. */
const ballAt = (t) => 0.3 + SPEED * Math.abs(((t + 0.5) % 1) - 0.5);
const bodies = (t) => [
  { solid: 1, at: [1.2, 0.6, ballAt(t)], rotation: [0, 0, 0, 1] },
  { solid: 2, at: [1.6, 0.6, 0.5], rotation: [0, Math.SQRT1_2, 0, Math.SQRT1_2] },
];

test("a scene's solids are drawn, and bodies are where the frames have them", async (world) => {
  const server = await world.fake({ particles: 300, files: FILES, bodies });
  const page = await world.watch(`http://127.0.0.1:${server.port}/`, WIDE);
  await until(async () => (await look(page, "solids")).solids === 6, "all six solids are there");
  const places = await page.evaluate(async () => {
    const seen = [];
    while (seen.length < 40) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      seen.push(window.tarn.bodyAt(1));
    }
    return seen;
  });
  const along = places.map((at) => at[2]);
  assert(Math.max(...along) - Math.min(...along) > 0.02, `the ball stays at z ${along[0]}`);
  for (const [x, y, z] of places) {
    assert(Math.abs(x - 1.2) < 1e-6 && Math.abs(y - 0.6) < 1e-6, `the ball leaves its path: ${x} ${y} ${z}`);
    assert(z > 0.3 - BEYOND_S * SPEED && z < 0.5 + BEYOND_S * SPEED, `the ball is at z ${z}`);
  }
  await pause(page, server);
  const { simTimeS } = await look(page, "simTimeS");
  const [, , z] = await page.evaluate(() => window.tarn.bodyAt(1));
  assert(Math.abs(z - ballAt(simTimeS)) < 1e-5, `paused at z ${z}, the frame has ${ballAt(simTimeS)}`);
  const tent = await page.evaluate(() => window.tarn.bodyAt(2));
  assert(Math.hypot(tent[0] - 1.6, tent[1] - 0.6, tent[2] - 0.5) < 1e-6, `the tent is at ${tent}`);
  // The ball's own pixels: red where it is drawn.
  const [px, py] = await page.evaluate((at) => window.tarn.project(at), [1.2, 0.6, z]);
  const [red, green, blue] = (await world.pixels(page)).at(Math.round(px), Math.round(py));
  assert(red > green + 40 && red > blue + 40, `the ball isn't red: ${[red, green, blue]}`);
});

test("particles are drawn in the colours that the frames bring", async (world) => {
  const counts = [];
  for (const colour of [7 << 5, 7 << 2]) {
    const server = await world.fake({ particles: 20000, colour: () => colour });
    const page = await world.watch(`http://127.0.0.1:${server.port}/${BARE}&quality=spheres`);
    await pause(page, server);
    assertEqual((await look(page, "coloured")).coloured, true, "coloured");
    const picture = await world.pixels(page);
    const seen = [0, 0];
    for (let y = 0; y < picture.height; y++)
      for (let x = 0; x < picture.width; x++) {
        const [red, green, blue] = picture.at(x, y);
        if (red > Math.max(green, blue) + 60) seen[0]++;
        if (green > Math.max(red, blue) + 60) seen[1]++;
      }
    counts.push(seen);
  }
  const [[red, greenOfRed], [redOfGreen, green]] = counts;
  assert(red > 2000 && greenOfRed === 0, `red liquid has ${red} red pixels and ${greenOfRed} green ones`);
  assert(green > 2000 && redOfGreen === 0, `green liquid has ${green} green pixels, ${redOfGreen} red ones`);
});

test("a frame without colours is drawn as water, also after one with colours", async (world) => {
  let coloured = true;
  const server = await world.fake({ particles: 500, colour: () => (coloured ? 7 << 5 : undefined) });
  const page = await world.watch(`http://127.0.0.1:${server.port}/`);
  assertEqual((await look(page, "coloured")).coloured, true, "coloured");
  coloured = false;
  await until(async () => !(await look(page, "coloured")).coloured, "colours go");
  coloured = true;
  await until(async () => (await look(page, "coloured")).coloured, "colours come back");
});

test("meshes from scans and models are drawn, with readers that are fetched for them", async (world) => {
  const cone = (z) => [0, 0, z, 1, 0, z, 0, 0, z + 1, 0, 1, z];
  const json = JSON.stringify({
    asset: { version: "2.0" },
    nodes: [{ mesh: 0, translation: [0, 0, 1] }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0 }, indices: 1 }] }],
    accessors: [
      { bufferView: 0, componentType: 5126, type: "VEC3", count: 4 },
      { bufferView: 1, componentType: 5121, type: "SCALAR", count: 12 },
    ],
    bufferViews: [
      { buffer: 0, byteLength: 48 },
      { buffer: 0, byteOffset: 48, byteLength: 12 },
    ],
    buffers: [{ byteLength: 60 }],
  });
  const faces = [0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2];
  const text = json.padEnd(Math.ceil(json.length / 4) * 4);
  const words = (...numbers) => Buffer.from(Uint32Array.from(numbers).buffer);
  const glb = Buffer.concat([
    words(0x46546c67, 2, 28 + text.length + 60, text.length, 0x4e4f534a),
    Buffer.from(text),
    words(60, 0x004e4942),
    Buffer.from(Float32Array.from(cone(-1)).buffer),
    Buffer.from(faces),
  ]);
  const points = [0, 3, 6, 9].map((i) =>
    cone(0)
      .slice(i, i + 3)
      .join(" "),
  );
  const triangles = [0, 3, 6, 9].map((i) => `3 ${faces.slice(i, i + 3).join(" ")}`);
  const axes = ["x", "y", "z"].map((axis) => `property float ${axis}`);
  const ply = ["ply", "format ascii 1.0", "element vertex 4", ...axes, "element face 4"];
  const rest = ["property list uchar int vertex_indices", "end_header", ...points, ...triangles, ""];
  const at = (file, x) => ({ shape: { mesh: { file, scale: 0.3 } }, position_m: [x, 0.5, 0.5] });
  const server = await world.fake({
    particles: 300,
    files: {
      "dam-break.json": JSON.stringify({ solids: [at("scan.ply", 0.5), at("parts/fish.glb", 1.2)] }),
      "scan.ply": [...ply, ...rest].join("\n"),
      "parts/fish.glb": glb,
    },
  });
  const page = await world.watch(`http://127.0.0.1:${server.port}/`);
  await until(async () => (await look(page, "solids")).solids === 2, "both solids are there");
});

test("what can't be had of a scene is said, and the water goes on", async (world) => {
  world.expected.push(/404/);
  const server = await world.fake({
    particles: 300,
    files: { "dam-break.json": JSON.stringify({ solids: [{ shape: { mesh: { file: "gone.obj" } } }] }) },
  });
  const page = await world.watch(`http://127.0.0.1:${server.port}/`);
  await hasSaid(page, "gone.obj: the server answers 404");
  const { framesDecoded } = await look(page, "framesDecoded");
  await until(
    async () => (await look(page, "framesDecoded")).framesDecoded > framesDecoded + 5,
    "frames go on",
  );
  assertEqual((await look(page, "solids")).solids, 0, "solids");
});

test("a tank that is turned is shown turned, about its centre", async (world) => {
  const places = [];
  for (const orientation of [
    [0, 0, 0, 1],
    [0, 0, Math.SQRT1_2, Math.SQRT1_2],
  ]) {
    const server = await world.fake({ particles: 300, orientation });
    const page = await world.watch(`http://127.0.0.1:${server.port}/`);
    places.push(
      await page.evaluate(() => [window.tarn.project([2, 0.5, 0.5]), window.tarn.project([1, 0.5, 0.5])]),
    );
  }
  const [[[right], [, middle]], [[x, y], [centre, still]]] = places;
  assert(Math.abs(middle - still) < 1, `the centre moved from ${middle} to ${still}`);
  assert(right > centre + 40, `the right end is at ${right}, the centre at ${centre}`);
  assert(Math.abs(x - centre) < 15 && y < still - 40, `turned to the left, it is at ${x}, ${y}`);
});

test("the solids of a scene that the server got as a file are drawn", async (world) => {
  const server = await world.tank({ scene: join(HERE, "scenes", "small-rock.json") });
  const page = await world.watch(server.url);
  await until(async () => (await look(page, "solids")).solids === 1, "the rock is drawn");
});

test("a solid that sticks out of the tank ends at its wall", async (world) => {
  const box = { shape: { box: { size_m: [1, 0.2, 0.2] } }, position_m: [2, 0.5, 0.5], colour: "#ff0000" };
  const server = await world.fake({
    particles: 100,
    files: { "dam-break.json": JSON.stringify({ solids: [box] }) },
  });
  // What is behind the tank is no redder than it is blue in the dark.
  const page = await world.watch(`http://127.0.0.1:${server.port}/${BARE}&light=night`);
  await until(async () => (await look(page, "solids")).solids === 1, "the box is there");
  await drawn(page);
  const places = await page.evaluate(() => [1.8, 2.2].map((x) => window.tarn.project([x, 0.5, 0.5])));
  const pixels = await world.pixels(page);
  const [inside, outside] = places.map(([x, y]) => pixels.at(Math.round(x), Math.round(y)));
  assert(inside[0] > inside[2] + 40, `inside there is ${inside}`);
  assert(outside[0] <= outside[2], `outside there is ${outside}`);
});

test("a tank whose scene's file has changed still shows what stands in it", async (world) => {
  const scene = join(world.folder(), "walled.json");
  const pool = JSON.parse(readFileSync(SMALL_POOL, "utf8"));
  const wall = { shape: { box: { size_m: [0.1, 0.2, 0.1] } }, position_m: [0.3, 0.1, 0.2] };
  writeFileSync(scene, JSON.stringify({ ...pool, title: "Walled", solids: [wall, wall] }));
  const server = await world.tank({ scene });
  copyFileSync(SMALL_POOL, scene); // which has no walls
  const page = await world.watch(cheap(server.url));
  await until(async () => (await look(page, "solids")).solids === 2, "both walls are there");
});

test("a body's shadow falls where the sun has it: on the tank's floor, on the table, and elsewhere by another light", async (world) => {
  const ball = { shape: { sphere: { radius_m: 0.12 } }, motion: "free", position_m: [1, 0.5, 0.2] };
  let z = 0.2;
  const server = await world.fake({
    particles: 10,
    files: { "dam-break.json": JSON.stringify({ solids: [ball] }) },
    bodies: () => [{ solid: 0, at: [1, 0.5, z], rotation: [0, 0, 0, 1] }],
  });
  const page = await world.watch(`http://127.0.0.1:${server.port}/${BARE}&quality=points&light=day`, WIDE);
  // As lights.ts has the sun, of a ball half a metre above the floor.
  const places = { day: [1.2, 0, 0.7], studio: [1.347, 0, 0.408], table: [1.2, 0, 1.4] };
  const brightness = async () => {
    const picture = await world.pixels(page);
    const seen = {};
    for (const [name, place] of Object.entries(places)) {
      const [x, y] = (await page.evaluate((at) => window.tarn.project(at), place)).map(Math.round);
      seen[name] = picture.at(x, y).reduce((sum, part) => sum + part, 0);
    }
    return seen;
  };
  await until(async () => {
    const { day, studio } = await brightness();
    return day < 0.8 * studio;
  }, "the ball's shadow is on the floor, by day");
  const before = await brightness();
  z = 0.9;
  await until(async () => {
    const { day, table } = await brightness();
    return day > 1.2 * before.day && table < 0.85 * before.table;
  }, "it went from the floor to the table");
  z = 0.2;
  await page.goto(page.url().replace("light=day", "light=studio"));
  await until(
    () => page.evaluate(() => (window.tarn?.framesDecoded ?? 0) > 0),
    "it shows frames again",
    30_000,
  );
  await until(async () => {
    const { day, studio } = await brightness();
    return studio < 0.8 * day;
  }, "in the studio it is where its sun has it");
});
