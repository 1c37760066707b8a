// Reads back what `tarn run` and export_probe write: test_export.mjs TARN PROBE. Prints what failed and ends with 1;
// with 77 when all is right but USD could not be read for want of tinyusdz.
//
//     PLY --same particles--> .vtp, .vti, .usda, .usdc, .usd            PNG --same pixels--> APNG, Y4M
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { difference, equal, exitCode, expect, scratch, skip } from "./expect.mjs";
import {
  readApng,
  readPicture,
  readPly,
  readPvd,
  readUsd,
  readVti,
  readVtp,
  readY4m,
} from "./read_export.mjs";

const [tarn, probe] = process.argv.slice(2);
const at = scratch("export");
const folder = at();

/** Relative to 1 where the values are smaller than that. */
const relative = (a, b) => difference(a, b, (value) => Math.max(1, Math.abs(value)));
const zip = (...columns) => columns[0].map((_, i) => columns.map((column) => column[i]));
const PRINTED = 2e-7; // tinyusdz prints eight digits

const particlesOf = (ply) => ({
  positions: zip(ply.x, ply.y, ply.z),
  velocities: zip(ply.vx, ply.vy, ply.vz),
});

function compareVtp(path, time, wanted, what) {
  const vtp = readVtp(path);
  const count = wanted.positions.length;
  expect(Math.abs(vtp.time - time) < 1e-6, `${what}: time ${vtp.time} instead of ${time}`);
  equal([vtp.count, vtp.verts], [count, count], `${what}: points and vertices`);
  equal(vtp.arrays.position, wanted.positions, `${what}: positions`);
  equal(vtp.arrays.velocity, wanted.velocities, `${what}: velocities`);
  equal(
    vtp.arrays.id,
    wanted.ids.map((id) => [id]),
    `${what}: ids`,
  );
  const speeds = wanted.velocities.map((v) => [Math.hypot(...v)]);
  expect(relative(vtp.arrays.speed, speeds) < 1e-6, `${what}: speeds`);
  equal(
    vtp.arrays.connectivity,
    wanted.ids.map((_, i) => [i]),
    `${what}: connectivity`,
  );
  equal(
    vtp.arrays.offsets,
    wanted.ids.map((_, i) => [i + 1]),
    `${what}: offsets`,
  );
  return vtp;
}

function compareUsdSample(usd, code, wanted, radius, what) {
  const sample = (name) => usd.attributes[name].samples?.get(code);
  expect(sample("points") !== undefined, `${what}: no sample`);
  if (sample("points") === undefined) return;
  expect(relative(sample("points"), wanted.positions) < PRINTED, `${what}: points`);
  expect(relative(sample("velocities"), wanted.velocities) < PRINTED, `${what}: velocities`);
  if (usd.hasIds) expect(usd.hasIds(code, wanted.ids), `${what}: ids`);
  else equal(sample("ids"), wanted.ids, `${what}: ids`);
  const bound = (pick, off) =>
    [0, 1, 2].map((k) => (wanted.ids.length ? pick(...wanted.positions.map((p) => p[k])) + off : 0));
  const box = [bound(Math.min, -radius), bound(Math.max, radius)];
  expect(relative(sample("extent"), box) < 1e-6, `${what}: extent`);
}

// ---- a run: all formats hold the same particles ----

writeFileSync(
  at("small.json"),
  '{ "size_m": [1, 1, 1], "cell_m": 0.125, "blocks": [{ "min_m": [0, 0, 0], "max_m": [0.5, 0.5, 1] }] }',
);

function run(...options) {
  return execFileSync(tarn, ["run", at("small.json"), ...options], { stdio: ["ignore", "pipe", "pipe"] });
}

async function testRun() {
  const files = ["run.pvd", "run.vti", "run.usda", "run.usdc", "run.usd"].flatMap((name) => [
    "--export",
    at(name),
  ]);
  const measured = ["--probe", "gauge:0.25,0,0.5", "--probes", at("run.csv")];
  const said = run("--steps", "8", "--every", "4", "--ply", at("ply"), ...files, ...measured).toString();
  expect(said.includes(`3 frames in ${at("run.pvd")}`), `the report names the files: ${said}`);
  const wanted = [0, 4, 8].map((step) => {
    const ply = particlesOf(readPly(at("ply", `small-${String(step).padStart(6, "0")}.ply`)));
    return { step, ...ply, ids: ply.positions.map((_, i) => i) };
  });
  expect(wanted[0].positions.length === 1024, "1024 particles in the first frame");
  expect(relative(wanted[0].positions, wanted[2].positions) > 0.01, "the particles move");

  const collection = readPvd(at("run.pvd"));
  equal(collection.length, 3, "frames in the .pvd");
  collection.forEach((entry, i) => {
    const time = wanted[i].step / 60;
    expect(Math.abs(entry.time - time) < 1e-6, `.pvd: time ${entry.time} of step ${wanted[i].step}`);
    const vtp = compareVtp(entry.file, time, wanted[i], `.vtp of step ${wanted[i].step}`);
    equal(vtp.time, entry.time, "the very number of the .pvd in the .vtp");
  });
  testOneTime(collection);
  equal(readdirSync(at("run")).length, 3, "files beside the .pvd");
  for (const frame of wanted) checkGrid(frame);

  expect(Buffer.compare(readFileSync(at("run.usd")), readFileSync(at("run.usdc"))) === 0, ".usd is .usdc");
  for (const name of ["run.usda", "run.usdc", "run.usd"]) checkRunUsd(name, await readUsd(at(name)), wanted);
}

/** A run's files name a moment by one number, or programs that put them beside each other find two. */
function testOneTime(particles) {
  const grids = readPvd(at("run.vti.pvd"));
  equal(
    grids.map(({ time, file }) => [time, file]),
    particles.map(({ time }, i) => [time, at(`run-00000${4 * i}.vti`)]),
    "the grid's .pvd",
  );
  const times = grids.map(({ file }) => readVti(file).time);
  equal(
    times,
    particles.map(({ time }) => time),
    "times of the .vti",
  );
  const rows = readFileSync(at("run.csv"), "utf8").trim().split("\n").slice(1);
  const measured = [4, 8].map((step) => Number(rows[step - 1].split(",")[0]));
  equal(measured, times.slice(1), "times of what is measured");
}

/** Mean velocities of the particles around the centres of the cells, by trilinear weights. */
function cellVelocities(frame, cells, edge) {
  const sums = Array.from({ length: cells ** 3 }, () => [0, 0, 0, 0]);
  frame.positions.forEach((position, i) => {
    for (let n = 0; n < 27; n++) {
      const cell = position.map((p, a) => Math.floor(p / edge) + (Math.floor(n / 3 ** a) % 3) - 1);
      const weights = cell.map((c, a) => Math.max(0, 1 - Math.abs(position[a] / edge - c - 0.5)));
      const weight = weights[0] * weights[1] * weights[2];
      if (weight > 0 && cell.every((c) => c >= 0 && c < cells)) {
        const sum = sums[(cell[2] * cells + cell[1]) * cells + cell[0]];
        [...frame.velocities[i], 1].forEach((v, k) => {
          sum[k] += weight * v;
        });
      }
    }
  });
  return sums.map((sum) => [0, 1, 2].map((k) => (sum[3] > 0 ? sum[k] / sum[3] : 0)));
}

function checkGrid(frame) {
  const what = `.vti of step ${frame.step}`;
  const vti = readVti(at(`run-${String(frame.step).padStart(6, "0")}.vti`));
  expect(Math.abs(vti.time - frame.step / 60) < 1e-6, `${what}: time ${vti.time}`);
  equal(
    [vti.extent, vti.origin, vti.spacing],
    [
      [0, 8, 0, 8, 0, 8],
      [0, 0, 0],
      [0.125, 0.125, 0.125],
    ],
    what,
  );
  equal([vti.arrays.pressure.length, vti.arrays.velocity.length], [512, 512], `${what}: cells`);
  const velocities = cellVelocities(frame, 8, 0.125);
  expect(relative(vti.arrays.velocity, velocities) < 1e-4, `${what}: velocities`);
  const pressures = vti.arrays.pressure.map(([p]) => p);
  const deepest = Math.max(...pressures);
  // The column is half a metre high: rho g h, which falling makes less; at the start there is none yet.
  expect(frame.step === 0 ? deepest === 0 : deepest > 2000 && deepest < 4905, `${what}: ${deepest} Pa`);
  expect(
    frame.step === 0 || pressures.indexOf(deepest) % 64 < 8,
    `${what}: the pressure is highest on the floor`,
  );
  expect(
    pressures.every((p, i) => p === 0 || velocities[i].some((v) => v !== 0)),
    `${what}: pressure where there is liquid`,
  );
}

function checkRunUsd(name, usd, wanted) {
  if (usd === null) {
    skip(`${name} isn't read back, tinyusdz isn't installed (npm ci in web-client)`);
    return;
  }
  const { doc, ...layer } = usd.layer;
  expect(/^tarn .*, scene small$/.test(doc), `${name}: where it comes from: ${doc}`);
  equal(
    layer,
    {
      metersPerUnit: 1,
      upAxis: "Y",
      timeCodesPerSecond: 15,
      startTimeCode: 0,
      endTimeCode: 2,
      defaultPrim: "Tank",
    },
    `${name}: the layer`,
  );
  equal(
    usd.prims,
    [
      ["Xform", "Tank"],
      ["BasisCurves", "Box"],
      ["Points", "Liquid"],
    ],
    `${name}: the prims`,
  );
  equal(usd.attributes.widths.value, [0.0625], `${name}: widths`);
  equal(usd.attributes.widths.interpolation, "constant", `${name}: how widths are meant`);
  const colour = usd.attributes["primvars:displayColor"];
  expect(relative(colour.value, [[0.04, 0.26, 0.5]]) < 1e-6, `${name}: the colour`);
  equal(colour.interpolation, "constant", `${name}: how the colour is meant`);
  const types = ["points", "velocities", "ids", "extent", "widths"].map((key) => usd.attributes[key].type);
  equal(types, ["point3f", "vector3f", "int64", "float3", "float"], `${name}: types`);
  equal([...usd.attributes.points.samples.keys()], [0, 1, 2], `${name}: time codes`);
  wanted.forEach((frame, code) => {
    compareUsdSample(usd, code, frame, 0.03125, `${name}, time code ${code}`);
  });
}

// ---- a channel's values ----

/** The bottom of the water is pressed by all that is above it, wherever the values go. */
async function testChannel() {
  const layers = ["values.usda", "values.usdc"];
  const files = ["values.pvd", ...layers].flatMap((name) => ["--export", at(name)]);
  files.push("--ply", at("values-ply"));
  run("--steps", "60", "--every", "60", "--quiet", "--channel", "pressure", ...files);
  const frame = readPvd(at("values.pvd"))[1];
  const { pressure, position } = readVtp(frame.file).arrays;
  const ply = readPly(at("values-ply", "small-000060.ply"));
  equal(zip(ply.pressure), pressure, "the same pressures in PLY and VTP");
  for (const name of layers) {
    const usd = await readUsd(at(name));
    if (usd === null) continue;
    const { type, interpolation, samples } = usd.attributes["primvars:pressure"];
    equal([type, interpolation, [...samples.keys()]], ["float", "vertex", [0, 1]], `${name}: the pressure`);
    const pa = [samples.get(1), pressure.map(([p]) => p)].map((list) => list.toSorted((a, b) => a - b));
    expect(pa[0].length === pa[1].length && pa[1].length > 0, `${name}: ${pa[0].length} pressures`);
    expect(
      pa[1].every((p, i) => Math.abs(pa[0][i] - p) <= PRINTED * Math.abs(p)),
      `${name}: the same pressures`,
    );
  }
  const values = pressure.map(([pa]) => pa);
  const heights = position.map(([, y]) => y);
  const top = heights.toSorted((a, b) => a - b)[Math.floor(0.95 * heights.length)]; // above are drops that fly
  const deepest = heights.reduce((lowest, y) => Math.min(lowest, y));
  const most = values.reduce((a, b) => Math.max(a, b));
  const weight = 1000 * 9.81 * (top - deepest);
  expect(most > 0.4 * weight && most < 4 * weight, `${most} Pa below ${weight} Pa of water`);
  const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
  const deep = mean(values.filter((_, i) => heights[i] < deepest + 0.2 * (top - deepest)));
  expect(deep > mean(values), `${deep} Pa at the floor, ${mean(values)} Pa on average`);
}

/** What viewers have from every frame is the same in files. */
function testSeenChannels() {
  const of = (channel) => {
    const files = ["--export", at(`${channel}.pvd`)];
    run("--steps", "60", "--every", "60", "--quiet", "--channel", channel, ...files);
    return readVtp(readPvd(at(`${channel}.pvd`))[1].file).arrays;
  };
  const fast = of("speed");
  const isClose = (a, b) => Math.abs(a - b) <= 1e-5 * (1 + Math.abs(b));
  expect(
    fast.speed.every(([v], i) => isClose(v, Math.hypot(...fast.velocity[i]))),
    "the speed is the velocity's",
  );
  const high = of("height");
  equal(zip(high.height), zip(high.position.map(([, y]) => [y])), "the height is the place's");
  const turning = of("vorticity").vorticity.map(([w]) => w);
  const most = turning.reduce((a, b) => Math.max(a, b));
  expect(turning.every((w) => w >= 0) && most > 1 && most < 1000, `a vorticity of ${most}/s`);

  const said = run("--steps", "0", "--channel", "height", "--render", at("seen.png")).toString();
  expect(/height, 0 to [\d.]+ m\b/.test(said), `the range is told: ${said}`);
}

// ---- a column in the left half of a flat tank, from its floor to its lid ----

const COLUMN_PX = 128;
/** Rows of the picture that the tank takes, and columns. */
const TANK_PX = 122;

function pictureOfColumn(model, carries, ...options) {
  const block = { min_m: [0, 0, 0], max_m: [0.5, 1, 0.03125], ...(carries && { carries }) };
  const tank = { size_m: [1, 1, 0.03125], cell_m: 0.03125, particles_per_axis: 2 };
  writeFileSync(at(`${model}.json`), JSON.stringify({ model, ...tank, blocks: [block] }));
  const size = `${COLUMN_PX}x${COLUMN_PX}`;
  const files = ["--size", size, "--render", at(`${model}.png`)];
  execFileSync(tarn, ["run", at(`${model}.json`), "--steps", "0", "--quiet", ...files, ...options]);
  const { rgb } = readPicture(at(`${model}-000000.png`));
  const pixel = (share) => Math.round(0.5 * (COLUMN_PX - TANK_PX) + share * TANK_PX);
  return (x, y) => {
    const index = 3 * (pixel(1 - y) * COLUMN_PX + pixel(x));
    return [...rgb.subarray(index, index + 3)];
  };
}

/** Degrees: what light and what is behind, both grey, leave of a colour. */
function hueOf(srgb) {
  const [r, g, b] = srgb.map((c) => (c / 255) ** 2.2);
  return (Math.atan2(Math.sqrt(3) * (g - b), 2 * r - g - b) * 180) / Math.PI;
}

/** Of the scale, web-client/src/shader/stops.ts. */
const STOPS = ["472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725"].map((text) =>
  [0, 2, 4].map((from) => Number.parseInt(text.slice(from, from + 2), 16)),
);

function testSeenHeight() {
  for (const [model, carries] of [["liquid"], ["smoke", { heat_k: 0, smoke: 1 }]]) {
    const seen = pictureOfColumn(model, carries, "--channel", "height");
    STOPS.slice(1, -1).forEach((stop, i) => {
      const found = seen(0.25, (i + 1) / (STOPS.length - 1));
      const off = Math.abs(((hueOf(found) - hueOf(stop) + 540) % 360) - 180);
      expect(off < 15, `${model}: stop ${i + 1}, ${stop}, is seen as ${found}: its hue is off by ${off}`);
    });
    const [r, g, b] = seen(0.75, 0.5);
    expect(Math.max(r, g, b) - Math.min(r, g, b) < 12, `${model}: nothing beside it, but ${[r, g, b]}`);
  }
}

/** Water ends at once; smoke and dye, which are drawn as puffs, fade out. */
function testSoft() {
  const fadingOf = (model, carries) => {
    const seen = pictureOfColumn(model, carries);
    const changes = Array.from({ length: 61 }, (_, i) => {
      const found = seen((20 + i) / 100, 0.5);
      return Math.max(...seen(0.9, 0.5).map((c, k) => Math.abs(c - found[k])));
    });
    const most = Math.max(...changes);
    expect(most > 20, `${model}: the column is seen by ${most}`);
    return changes.filter((change) => change > 0.15 * most && change < 0.7 * most).length;
  };
  const water = fadingOf("liquid");
  const smoke = fadingOf("smoke", { heat_k: 0, smoke: 1 });
  const dye = fadingOf("vortons", { density_deviation: 0 });
  const seen = `hundredths of the tank that fade: water ${water}, smoke ${smoke}, dye ${dye}`;
  expect(smoke > 2 * water && dye > 2 * water, seen);
}

// ---- frames with changing counts, gaps in the ids, liquids and colours ----

function probeFrame(number) {
  const count = [5, 0, 7][number];
  const rows = Array.from({ length: count }, (_, i) => i);
  const vector = (value) => rows.map((i) => [0, 1, 2].map((axis) => value(i, axis)));
  return {
    step: 3 * number,
    positions: vector((i, axis) => 0.1 * (i + 1) + 0.01 * axis + 0.001 * number),
    velocities: vector((i, axis) => i - 2.5 * axis),
    ids: rows.map((i) => 10 * i + 3 + number + (i === count - 1 ? 4000000000 : 0)),
    liquids: rows.map((i) => i % 3),
    colours: vector((i, axis) => 30 * i + 20 * axis + number),
  };
}

async function testProbe() {
  execFileSync(probe, [folder], { stdio: "inherit" });
  const collection = readPvd(at("probe.pvd"));
  equal(collection.length, 3, "the probe's frames");
  const layers = [];
  for (const name of ["probe.usda", "probe.usdc"]) layers.push([name, await readUsd(at(name))]);
  for (let number = 0; number < 3; number++) {
    const wanted = probeFrame(number);
    const what = `the probe's frame ${number}`;
    const ply = readPly(at(`probe-${String(wanted.step).padStart(6, "0")}.ply`));
    const positions = zip(ply.x, ply.y, ply.z);
    expect(relative(positions, wanted.positions) < 1e-6, `${what}: PLY's positions`);
    equal(ply.liquid, wanted.liquids, `${what}: PLY's liquids`);
    equal(zip(ply.red, ply.green, ply.blue), wanted.colours, `${what}: PLY's colours`);
    const vtp = compareVtp(collection[number].file, 0.05 * number, { ...wanted, positions }, what);
    equal(
      vtp.arrays.liquid,
      wanted.liquids.map((l) => [l]),
      `${what}: liquids`,
    );
    equal(vtp.arrays.colour, wanted.colours, `${what}: colours`);
    for (const [name, usd] of layers) {
      if (usd !== null) checkProbeUsd(`${name}, ${what}`, usd, number, { ...wanted, positions });
    }
  }
}

function checkProbeUsd(what, usd, number, wanted) {
  compareUsdSample(usd, number, wanted, 0.025, what);
  const liquids = usd.attributes["primvars:liquid"];
  equal(liquids.samples.get(number), wanted.liquids, `${what}: liquids`);
  equal(liquids.interpolation, "vertex", `${what}: a liquid for each particle`);
  const linear = wanted.colours.map((c) =>
    c.map((byte) => (byte <= 10 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4)),
  );
  const colours = usd.attributes["primvars:displayColor"];
  expect(relative(colours.samples.get(number), linear) < 1e-5, `${what}: colours`);
  equal(colours.interpolation, "vertex", `${what}: a colour for each particle`);
}

// ---- pictures: the three formats show the same ----

const isWater = (rgb, i) => rgb[3 * i + 2] - rgb[3 * i] > 30;

function countWater(rgb) {
  let count = 0;
  for (let i = 0; i < rgb.length / 3; i++) count += isWater(rgb, i) ? 1 : 0;
  return count;
}

function testPictures() {
  run(
    ...["--steps", "40", "--every", "20", "--size", "161x91", "--quiet"],
    ...["--render", at("p", "see.png"), "--render", at("see.apng"), "--render", at("see.y4m")],
  );
  equal(readdirSync(at("p")), ["see-000000.png", "see-000020.png", "see-000040.png"], "the pictures' names");
  const stills = [0, 20, 40].map((step) => readPicture(at("p", `see-0000${step || "00"}.png`)));
  const animation = readApng(at("see.apng"));
  const video = readY4m(at("see.y4m"));
  equal([animation.width, animation.height, animation.frames.length], [161, 91, 3], "the animation");
  equal([video.width, video.height, video.frames.length], [161, 91, 3], "the video");
  expect(/ F3000:1000( |$)/.test(video.header), `the video's pace: ${video.header}`);
  expect(
    animation.delays.every((delay) => Math.abs(delay - 1 / 3) < 1e-3),
    `the animation's pace: ${animation.delays}`,
  );
  stills.forEach((still, i) => {
    expect(
      Buffer.compare(animation.frames[i], still.rgb) === 0,
      `frame ${i} of the animation is the picture`,
    );
    let most = 0;
    video.frames[i].forEach((luma, k) => {
      const [r, g, b] = still.rgb.subarray(3 * k, 3 * k + 3);
      most = Math.max(most, Math.abs(luma - (0.299 * r + 0.587 * g + 0.114 * b)));
    });
    expect(most <= 1, `frame ${i} of the video is the picture: off by ${most}`);
    const water = countWater(still.rgb) / (161 * 91);
    expect(water > 0.05 && water < 0.6, `picture ${i} shows water: ${(100 * water).toFixed(1)} %`);
    expect(i === 0 || Buffer.compare(still.rgb, stills[i - 1].rgb) !== 0, `picture ${i} shows something new`);
  });
  const standard = run("--steps", "40", "--every", "20", "--size", "161x91", "--render", "-");
  writeFileSync(at("piped.y4m"), standard);
  const piped = readY4m(at("piped.y4m"));
  expect(Buffer.compare(piped.frames[2], video.frames[2]) === 0, "the same video on standard output");
  expect(standard.length === piped.header.length + 1 + 3 * (6 + 161 * 91 + 2 * 81 * 46), "and nothing else");
}

// ---- what pictures show beside water ----

writeFileSync(
  at("moving.json"),
  `{ "size_m": [1, 1, 1], "cell_m": 0.125, "blocks": [{ "min_m": [0, 0, 0], "max_m": [1, 0.25, 1] }],
     "solids": [
       { "shape": { "sphere": { "radius_m": 0.1 } }, "position_m": [0.7, 0.8, 0.5], "motion": "free",
         "density_kg_m3": 300, "colour": "#e02020" },
       { "shape": { "box": { "size_m": [0.2, 0.5, 0.2] } }, "position_m": [0.25, 0.25, 0.25], "colour": "#20d020" }
     ],
     "tank_motion": { "keyframes": [{ "time_s": 0.3 }, { "time_s": 0.6, "rotation_deg": [0, 30, 0] }] } }`,
);

/** Number and mean place of the pixels in which one channel is far above the others. */
function spotOf({ rgb, width }, channel) {
  let [count, x, y] = [0, 0, 0];
  for (let i = 0; i < rgb.length / 3; i++) {
    const others = Math.max(rgb[3 * i + ((channel + 1) % 3)], rgb[3 * i + ((channel + 2) % 3)]);
    if (rgb[3 * i + channel] - others > 50)
      [count, x, y] = [count + 1, x + (i % width), y + Math.floor(i / width)];
  }
  return { count, x: x / count, y: y / count };
}

/** A ball falls, and then the tank turns with all that is in it. */
function testMovingPictures() {
  const options = [
    "--steps",
    "36",
    "--every",
    "18",
    "--size",
    "160x90",
    "--render",
    at("m", "see.png"),
    "--quiet",
  ];
  execFileSync(tarn, ["run", at("moving.json"), ...options]);
  const pictures = [0, 18, 36].map((step) =>
    readPicture(at("m", `see-0000${String(step).padStart(2, "0")}.png`)),
  );
  const balls = pictures.map((picture) => spotOf(picture, 0));
  const posts = pictures.map((picture) => spotOf(picture, 1));
  expect(
    [...balls, ...posts].every((spot) => spot.count > 15),
    `ball and post are seen: ${JSON.stringify([balls, posts])}`,
  );
  expect(balls[1].y > balls[0].y + 5, `the ball falls: ${JSON.stringify(balls)}`);
  const moved = posts.map((post) => Math.hypot(post.x - posts[0].x, post.y - posts[0].y));
  expect(moved[1] < 2 && moved[2] > 4, `the post turns with the tank: ${JSON.stringify(posts)}`);
}

/** Frames by time: of 60 steps a second, every second one, or two of three. */
function testPace() {
  run("--steps", "12", "--fps", "30", "--export", at("half.pvd"), "--quiet");
  equal(readdirSync(at("half")).length, 7, "frames at 30 a second");
  run("--steps", "12", "--fps", "40", "--export", at("some.pvd"), "--quiet");
  const times = readPvd(at("some.pvd")).map((entry) => Math.round(entry.time * 60));
  equal(times, [0, 2, 3, 5, 6, 8, 9, 11, 12], "steps at 40 frames a second");
  run("--steps", "3", "--fps", "1000", "--export", at("all.pvd"), "--quiet");
  equal(readdirSync(at("all")).length, 4, "frames when more are asked for than there are steps");
}

/** What XML gives another meaning to is itself in names. */
function testNames() {
  const name = "a\"<&>\n'b";
  run("--steps", "1", "--export", at(`${name}.pvd`), "--quiet");
  const entities = (text) => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
  const files = [...readFileSync(at(`${name}.pvd`), "utf8").matchAll(/ file="([^"<>\n]*)"\/>/g)].map(
    ([, text]) => entities(text),
  );
  equal(files, [`${name}/${name}-000000.vtp`, `${name}/${name}-000001.vtp`], "files that a .pvd names");
}

testNames();
await testRun();
await testProbe();
await testChannel();
testSeenChannels();
testSeenHeight();
testSoft();
testPictures();
testMovingPictures();
testPace();
expect(!readdirSync(folder).some((name) => name.endsWith(".part")), "no part of a file is left");
expect(existsSync(at("run.usda")), "the files are there");
process.exitCode = exitCode();
