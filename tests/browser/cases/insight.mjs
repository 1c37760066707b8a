// What a fluid hides, shown by the page: slices, streamlines, dots, path lines, and a liquid's energy; with the mouse, a
// finger and keys alone, on the page and in a headset.
import { readFileSync } from "node:fs";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { cheap, drag, drawn, faultsOf } from "../world.mjs";
import { enter, pictures, plugIn } from "../worn.mjs";
import { SMALL_FLOAT } from "./probes.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** Room for the panel beside the tank. */
const WIDE = { context: { viewport: { width: 1000, height: 700 }, acceptDownloads: true } };
/** Of the pool: a cubic metre's eighth, 0.125 m above the floor in the mean. */
const POOL_M3 = 0.125;
const POOL_J = 1000 * POOL_M3 * 9.81 * 0.125;

const insight = (page) => page.evaluate(() => window.tarn.insight);
const sequence = (page) => page.evaluate(() => window.tarn.sequence);
const project = (page, point) => page.evaluate((at) => window.tarn.project(at), point);
const panel = (page) => page.locator("#insight");
const scales = (page) => page.locator("#insight-scales figure");

async function open(world, url, options = WIDE) {
  const address = new URL(cheap(url));
  address.searchParams.set("panel", "0");
  const page = await world.watch(address.href, options);
  await page.locator("#insight-button").click();
  await panel(page).waitFor();
  await drawn(page); // the camera has made room for it
  return page;
}

/** Drags what can be taken hold of by so many pixels. */
async function pull(page, handle, dx, dy) {
  const [x, y] = await project(page, (await insight(page)).handles[handle]);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + dx, y + dy, { steps: 5 });
  await page.mouse.up();
}

test("a slice shows the flow where water is, and is moved by its ball and by keys", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await open(world, server.url);
  assertEqual((await insight(page)).handles, {}, "what can be taken hold of before");
  await panel(page).getByLabel("Slice", { exact: true }).check();
  await until(
    async () => Math.abs((await insight(page)).fluid - 0.5) < 0.08,
    "half of the plane is in water",
  );
  await scales(page).getByText("Speed, m/s").waitFor();
  await until(async () => (await insight(page)).handles.slice !== undefined, "the plane has its ball");
  const [px, py] = await project(page, [0.7, 0.1, 0.25]);
  await until(async () => {
    const [red, green, blue] = (await world.pixels(page)).at(Math.round(px), Math.round(py));
    return blue > green + 40 && red > green + 10;
  }, "water at rest has the scale's lowest colour");
  const before = await sequence(page);
  const [, , z] = (await insight(page)).handles.slice;
  await pull(page, "slice", 60, 40);
  await until(async () => Math.abs((await insight(page)).handles.slice[2] - z) > 0.02, "the plane has moved");
  assertEqual(await sequence(page), before, "inputs sent by dragging the plane");

  const place = panel(page).getByLabel("Place of the plane", { exact: true });
  await panel(page).getByLabel("y: seen from above").focus();
  await page.keyboard.press(" ");
  await place.focus();
  await page.keyboard.press("Home");
  await until(async () => (await insight(page)).handles.slice[1] === 0, "by keys it lies on the floor");
  await until(async () => (await insight(page)).fluid > 0.95, "which is all in water");
  await page.keyboard.press("End");
  await until(async () => (await insight(page)).fluid === 0, "under the lid there is air alone");

  await panel(page).getByLabel("x: seen from the side").check();
  await place.fill("0.5");
  await panel(page).getByLabel("Colours of the plane").selectOption({ label: "Pressure, Pa" });
  await until(async () => (await insight(page)).fluid > 0.4, "the field comes, cut across x");
  await until(async () => {
    const [low, high = ""] = await scales(page).locator("span").allTextContents();
    return low === "0" && Number(high.replace(",", "")) > 2000;
  }, "its range in Pa");
  await panel(page).getByRole("button", { name: "Close" }).click();
  assertEqual((await insight(page)).handles, {}, "what can be taken hold of while the panel is closed");
  await scales(page).getByText("Pressure, Pa").waitFor();
  await page.keyboard.press("i");
  await panel(page).getByRole("button", { name: "Hide all" }).click();
  await until(async () => (await insight(page)).handles.slice === undefined, "all is hidden");
  await until(async () => (await scales(page).count()) === 0, "and so are the scales");
  await page.keyboard.press("Escape");
  assertEqual(await panel(page).count(), 0, "panels");
});

test("a rake is dragged or put by numbers, and dots are put in off it and in the plane", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await open(world, server.url);
  await panel(page).getByLabel("Streamlines").check();
  await panel(page).getByRole("button", { name: "Along x" }).click();
  await until(async () => (await insight(page)).handles.middle !== undefined, "the rake is there");
  const before = await sequence(page);
  const { from } = (await insight(page)).handles;
  await pull(page, "middle", 0, 12);
  await until(
    async () => (await insight(page)).handles.from[1] < from[1] - 0.005,
    "it goes where it is dragged",
  );
  assertEqual(await sequence(page), before, "inputs sent by dragging it");
  await panel(page)
    .getByText(/^Rake: drag/)
    .focus();
  await page.keyboard.press("Enter");
  await panel(page).getByLabel("Rake from y, m").fill("0.12");
  await page.keyboard.press("Enter");
  await until(async () => Math.abs((await insight(page)).handles.from[1] - 0.12) < 1e-6, "or by a number");
  await panel(page).getByRole("button", { name: "A row, off the rake" }).click();
  await until(async () => (await insight(page)).dots === 24, "a row of dots");
  const [px, py] = await project(page, (await insight(page)).dotPlaces.slice(15, 18));
  await until(
    async () => Math.min(...(await world.pixels(page)).at(Math.round(px), Math.round(py))) > 130,
    "a dot is white",
  );
  await panel(page).getByRole("button", { name: "Take them out" }).click();
  await until(async () => (await insight(page)).dots === 0, "they go");
  await panel(page).getByRole("button", { name: "A grid, in the plane" }).click();
  await until(async () => (await insight(page)).dots > 60, "a grid of them is put in");
  await page.locator("#measure").click();
  await page.locator("#probes").waitFor();
  assertEqual(await panel(page).count(), 0, "panels beside that of probes");
});

test("what is stirred has streamlines, and dots that drift with it", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await open(world, server.url);
  await panel(page).getByLabel("Streamlines").check();
  await panel(page).getByRole("button", { name: "Along x" }).click();
  await panel(page).getByRole("button", { name: "A row, off the rake" }).click();
  await until(async () => (await insight(page)).dots > 20, "a row of dots");
  const still = (await insight(page)).dotPlaces;
  await drag(page, [0.3, 0.2, 0.3], [0.8, 0.2, 0.3], 20);
  await until(async () => (await insight(page)).streams > 40, "there are streamlines");
  await until(async () => {
    const { dots, dotPlaces } = await insight(page);
    return dots > 8 && dotPlaces.some((metres, i) => i % 3 === 0 && Math.abs(metres - still[i]) > 0.01);
  }, "dots have drifted");
  await panel(page)
    .getByLabel(/^A row every/)
    .check();
  await until(async () => (await insight(page)).dots > 60, "rows come off the rake");
});

test("a particle that is tapped leaves its way behind, by a finger and by keys", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await open(world, server.url, { context: { ...WIDE.context, hasTouch: true } });
  await panel(page).getByRole("button", { name: "Tap a particle" }).click();
  const before = await sequence(page);
  await page.touchscreen.tap(...(await project(page, [0.6, 0.1, 0.5])));
  await until(async () => (await insight(page)).paths === 1, "it is followed");
  assertEqual(await sequence(page), before, "inputs sent by choosing it");
  const [x, y, z] = (await insight(page)).pathPlaces;
  assert(Math.abs(x - 0.6) < 0.08 && Math.abs(y - 0.1) < 0.08 && z > 0.4, `the foremost: ${[x, y, z]}`);
  await panel(page).getByRole("button", { name: "One in the middle" }).focus();
  await page.keyboard.press("Enter");
  await until(async () => (await insight(page)).paths === 2, "another one");
  await panel(page).getByText("2 of 8 particles followed").waitFor();
  await page.keyboard.press("Escape");
  assertEqual(await panel(page).count(), 1, "panels after one has stopped choosing");
  await drag(page, [0.3, 0.1, 0.5], [0.8, 0.1, 0.5], 20);
  assert((await sequence(page)) > before, "a press is the tool's again");
  await until(async () => {
    const { pathPieces, pathPlaces } = await insight(page);
    return pathPieces > 12 && Math.hypot(pathPlaces[0] - x, pathPlaces[1] - y) > 0.01;
  }, "it has gone some way");
  await panel(page).getByRole("button", { name: "Forget them" }).click();
  await until(async () => (await insight(page)).pathPieces === 0, "it is forgotten");
});

test("a pool's energy, volume and momentum are those of the water in it, and can be kept", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await open(world, server.url);
  assertEqual((await insight(page)).sums[3], 0, "what is summed up that nobody asked for");
  await panel(page).getByText("Energy, momentum, volume").focus();
  await page.keyboard.press("Enter");
  await until(async () => Math.abs((await insight(page)).sums[3] - POOL_M3) < 1e-6, "the volume");
  const [kinetic, potential, both] = (await insight(page)).sums;
  assert(Math.abs(potential - POOL_J) < 0.03 * POOL_J, `potential energy: ${potential} J, not ${POOL_J}`);
  assert(kinetic < 0.01 * POOL_J && both >= potential, `kinetic energy at rest: ${kinetic} J`);
  await panel(page)
    .getByText(/from the tank's lowest corner/)
    .waitFor();
  await drag(page, [0.3, 0.2, 0.3], [0.9, 0.2, 0.3], 20);
  await until(
    async () => (await insight(page)).sums[0] > kinetic + 0.01,
    "what is pushed has kinetic energy",
  );
  await panel(page).locator('details[data-column="kinetic_j"] canvas').waitFor();
  const shown = panel(page).locator('dd[data-column="volume_m3"]');
  await until(async () => (await shown.textContent()) === "0.125 m³", "the value");
  const saving = page.waitForEvent("download");
  await panel(page).getByRole("button", { name: /CSV/ }).click();
  const table = readFileSync(await (await saving).path(), "utf8")
    .trim()
    .split("\n");
  assert(
    table[0].startsWith("time_s,kinetic_j,potential_j,total_j,volume_m3,momentum_x"),
    `head: ${table[0]}`,
  );
  assert(table.length > 3, `${table.length} lines`);
});

const PHONES = [
  { held: "upright", viewport: { width: 390, height: 844 } },
  { held: "on its side", viewport: { width: 844, height: 390 } },
];

/** What a finger presses on, of which nothing else lies over the middle. CSS pixels. */
const pressable = (page) =>
  page.evaluate(() => {
    const pane = document.querySelector("#insight");
    const parts = pane.querySelectorAll("button, select, input, summary");
    return [...parts].flatMap((part) => {
      if (part.closest("details:not([open]) > :not(summary)") !== null) return [];
      part.scrollIntoView({ block: "center" });
      const { left, top, right, bottom, width, height } = part.getBoundingClientRect();
      const found = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
      const isFree = found !== null && part.contains(found);
      const isInside = left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
      // A press beside a box, on what it is called, is one on it.
      const label = part.closest("label")?.getBoundingClientRect() ?? { width, height };
      const size = [Math.max(width, label.width), Math.max(height, label.height)];
      return [{ what: part.ariaLabel ?? part.textContent, size, isFree, isInside }];
    });
  });

/** Which of these parts of the page lie over each other. */
const overlaps = (page, selectors) =>
  page.evaluate((all) => {
    const boxes = all.flatMap((selector) => {
      const box = document.querySelector(selector)?.getBoundingClientRect();
      return box === undefined || box.width === 0 ? [] : [{ selector, box }];
    });
    return boxes.flatMap((a, i) =>
      boxes.slice(i + 1).flatMap((b) => {
        const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const along = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        return across > 0 && along > 0 ? [`${a.selector} ${b.selector}`] : [];
      }),
    );
  }, selectors);

/** Drags a finger from one place of the page to another. */
async function swipe(page, from, to) {
  const touch = await page.context().newCDPSession(page);
  const send = (type, points) =>
    touch.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y]) => ({ x, y })) });
  await send("touchStart", [from]);
  for (let i = 1; i <= 5; i++)
    await send("touchMove", [from.map((pixels, axis) => pixels + ((to[axis] - pixels) * i) / 5)]);
  await send("touchEnd", []);
}

for (const { held, viewport } of PHONES)
  test(`on a phone that is held ${held} the flow is looked into by fingers, and all of the tank is seen`, async (world) => {
    const server = await world.tank({ scene: SMALL_POOL });
    const page = await world.watch(cheap(server.url), {
      context: { viewport, hasTouch: true, isMobile: true },
    });
    const parts = ["#title nav", "#panel", "#tools", "#readout", "#time", "#insight", "#insight-scales"];
    await page.locator("#insight-button").tap();
    await panel(page).getByLabel("Slice", { exact: true }).tap();
    await panel(page).getByLabel("Streamlines").tap();
    const energy = panel(page).getByText("Energy, momentum, volume");
    await energy.tap();
    await panel(page).locator('details[data-column="kinetic_j"] canvas').waitFor();
    await until(async () => (await insight(page)).handles.middle !== undefined, "the rake is there");
    // The panel has the scales.
    assertEqual(await overlaps(page, parts.slice(0, -1)), [], "what lies over each other");
    for (const { what, size, isFree, isInside } of await pressable(page)) {
      assert(isFree && isInside, `${what} can't be pressed`);
      assert(Math.min(...size) >= 40, `${what} is ${size.join(" x ")} pixels large`);
    }
    const pane = await panel(page).boundingBox();
    assertEqual(
      await panel(page).evaluate((one) => one.scrollWidth - one.clientWidth),
      0,
      "it scrolls sideways",
    );
    const corners = [0, 1].flatMap((x) => [0, 0.5].flatMap((y) => [0, 0.5].map((z) => [x, y, z])));
    for (const corner of corners) {
      const [x, y] = await project(page, corner);
      const isUnder = x > pane.x && x < pane.x + pane.width && y > pane.y && y < pane.y + pane.height;
      assert(
        !isUnder && x > 0 && x < viewport.width && y > 0 && y < viewport.height,
        `a corner is at ${[x, y]}`,
      );
    }
    assertEqual(await faultsOf(page, "#insight, #title, #tools"), [], "faults that axe finds");
    const before = await sequence(page);
    const { slice, middle } = (await insight(page)).handles;
    const at = await project(page, slice);
    await swipe(page, at, [at[0] + 24, at[1] + 16]);
    await until(async () => (await insight(page)).handles.slice[2] !== slice[2], "the plane has moved");
    const rake = await project(page, middle);
    await swipe(page, rake, [rake[0] + 20, rake[1]]);
    await until(async () => (await insight(page)).handles.middle[0] !== middle[0], "the rake has moved");
    assertEqual(await sequence(page), before, "inputs sent by dragging them");
    // However far down one is.
    await panel(page).getByRole("button", { name: "Close" }).tap();
    assertEqual(await panel(page).count(), 0, "panels");
    await scales(page).first().waitFor();
    assertEqual(await overlaps(page, parts), [], "what lies over each other once it is closed");
  });

for (const quality of ["spheres", "low"])
  test(`a solid hides what is behind it of a flow, and water doesn't: ${quality}`, async (world) => {
    const server = await world.tank({ scene: SMALL_FLOAT });
    const address = new URL(server.url);
    for (const [name, value] of Object.entries({ quality, panel: 0, detail: "full", light: "day" }))
      address.searchParams.set(name, value);
    const page = await world.watch(address.href, { context: { viewport: { width: 720, height: 360 } } });
    await page.keyboard.press("p");
    await until(() => page.evaluate(() => window.tarn.paused), "it is paused");
    await page.locator("#insight-button").click();
    await panel(page).waitFor();
    await drawn(page);
    const box = await page.evaluate(() => window.tarn.bodyAt(0));
    // The plane lies behind the box, of which the front is looked at.
    const places = { box: [box[0], box[1], box[2] + 0.12], water: [0.88, 0.1, 0.1] };
    const seen = async () => {
      await drawn(page);
      const picture = await world.pixels(page);
      const colours = {};
      for (const [name, place] of Object.entries(places)) {
        const [x, y] = await project(page, place);
        colours[name] = picture.at(Math.round(x), Math.round(y));
      }
      return colours;
    };
    const without = await seen();
    await panel(page).getByLabel("Place of the plane", { exact: true }).fill("0.2");
    await until(async () => (await insight(page)).fluid > 0.3, "the plane is in water");
    const shown = await seen();
    const differ = (name) => Math.max(...shown[name].map((value, i) => Math.abs(value - without[name][i])));
    assert(differ("water") > 40, `through water it is seen: ${without.water}, ${shown.water}`);
    assert(differ("box") <= 6, `before the box it isn't: ${without.box}, ${shown.box}`);
  });

for (const colorScheme of ["dark", "light"])
  test(`the panel of the flow has no fault that axe finds, ${colorScheme}`, async (world) => {
    const server = await world.tank({ scene: SMALL_POOL });
    const page = await open(world, server.url, { context: { ...WIDE.context, colorScheme } });
    await panel(page).getByLabel("Slice", { exact: true }).check();
    await panel(page).getByLabel("Streamlines").check();
    await panel(page)
      .getByText(/^Rake: drag/)
      .click();
    await panel(page).getByText("Energy, momentum, volume").click();
    await panel(page).locator('details[data-column="kinetic_j"] canvas').waitFor();
    assertEqual(await faultsOf(page, "#insight, #insight-scales, #title"), [], "faults");
  });

test("who may only watch looks into the flow, too, and costs the server nothing by it", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL, args: ["--guests", "watch"] });
  const page = await open(world, server.url);
  await panel(page).getByLabel("Slice", { exact: true }).check();
  await until(async () => (await insight(page)).handles.slice !== undefined, "the plane has its ball");
  const [, , z] = (await insight(page)).handles.slice;
  await pull(page, "slice", 60, 40);
  await until(async () => Math.abs((await insight(page)).handles.slice[2] - z) > 0.02, "the plane has moved");
  await panel(page).getByRole("button", { name: "Tap a particle" }).click();
  await page.mouse.click(...(await project(page, [0.6, 0.1, 0.5])));
  await until(async () => (await insight(page)).paths === 1, "a particle is followed");
  assertEqual(await page.evaluate(() => window.tarn.sequence), 0, "inputs");
});

test("in a headset what is shown of the flow stays, and nothing breaks", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const address = new URL(server.url);
  address.searchParams.set("panel", "0");
  const page = await world.watch(address.href, {
    prepare: plugIn,
    context: { viewport: { width: 480, height: 320 } },
  });
  await page.locator("#insight-button").click();
  await panel(page).getByLabel("Slice", { exact: true }).check();
  await panel(page).getByLabel("Streamlines").check();
  await panel(page).getByRole("button", { name: "A grid, in the plane" }).click();
  await until(async () => (await insight(page)).dots > 20, "there are dots");
  await page.keyboard.press("Escape");
  await drawn(page);
  await enter(page);
  await pictures(page, 4);
  const { fluid } = await insight(page);
  assert(fluid > 0.3, `in the headset ${fluid} of the plane is in fluid`);
});
