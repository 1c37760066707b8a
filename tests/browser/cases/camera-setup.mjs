// The page of `tarn kinect --show`: a host sets the camera up with mouse, keys and finger.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CameraBridge } from "../camera-bridge.mjs";
import { assert, assertEqual, sleep, test, until } from "../harness.mjs";

async function open(world, calibration, viewport) {
  const bridge = await CameraBridge.start(calibration);
  world.servers.push(bridge);
  const page = await world.open(bridge.url, { lobby: true, context: { viewport } });
  await until(() => page.evaluate(() => Number(document.body.dataset.picture) > 0), "a picture is shown");
  return { bridge, page };
}

const corner = (page, name) => page.getByRole("button", { name: `${name} corner` });
const options = (page) => page.getByLabel("The same as options").inputValue();
const said = (page) => page.getByRole("status").textContent();

/** How many pixels of a pane are light, somebody's. */
const lightOf = (page, id) =>
  page.evaluate((name) => {
    const { width, height } = document.getElementById(name);
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(document.getElementById(name), 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    let light = 0;
    for (let i = 0; i < data.length; i += 4) light += data[i + 1] > 60 ? 1 : 0;
    return light;
  }, id);

/** Drags a corner to a share of the picture. */
async function dragTo(page, name, x, y) {
  await page.locator("#depth").scrollIntoViewIfNeeded();
  const box = await corner(page, name).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(...(await placeOf(page, x, y)), { steps: 3 });
  await page.mouse.up();
}

/** Where a share of the picture lies on the page. */
async function placeOf(page, x, y) {
  const box = await page.locator("#depth").boundingBox();
  return [box.x + x * box.width, box.y + y * box.height];
}

test("a camera is set up by dragging the wall's corners, and what is sent follows", async (world) => {
  const { bridge, page } = await open(world, "wall.json", { width: 1280, height: 900 });
  await until(async () => (await lightOf(page, "grid")) > 1000, "somebody is on the wall");

  // All four into the picture's left edge, where nobody is; the last way goes by keys.
  for (const [name, x, y] of [
    ["Top left", 0, 0],
    ["Top right", 0.1, 0],
    ["Bottom right", 0.1, 0.2],
    ["Bottom left", 0, 0.24],
  ])
    await dragTo(page, name, x, y);
  await page.keyboard.press("Shift+ArrowUp");
  await page.keyboard.press("Shift+ArrowUp");
  await page.keyboard.press("ArrowDown");
  const corners = /--corners ([\d.,]+)/
    .exec(await options(page))[1]
    .split(",")
    .map(Number);
  for (const [i, expected] of [0, 0, 64, 0, 64, 96, 0, 96.2].entries())
    assert(Math.abs(corners[i] - expected) <= 2, `the corners are ${corners}`);
  assert(await page.getByText("not applied yet").isVisible(), "it isn't said that nothing is applied");
  await page.getByRole("button", { name: "Apply" }).click();
  await until(async () => (await said(page)) === "In effect.", "it is in effect");
  assert(!(await page.getByText("not applied yet").isVisible()), "it is applied, and the page says it isn't");
  await until(
    async () => (await lightOf(page, "motion")) > 1000 && (await lightOf(page, "grid")) === 0,
    "somebody is there, and nobody on the wall",
  );

  const file = join(bridge.folder, "wall.json");
  assert(!existsSync(file), "there is a file before it is saved");
  await page.getByLabel("Far limit").fill("2.5");
  await page.getByRole("button", { name: "Save" }).click();
  await until(async () => /^Saved into/.test(await said(page)), "it is saved");
  const saved = JSON.parse(readFileSync(file, "utf8"));
  assertEqual([saved.far_m, saved.corners_px.flat()], [2.5, corners], "what is saved");
});

test("a camera is set up with a finger on a narrow screen, and Undo takes back", async (world) => {
  const { page } = await open(world, null, { width: 390, height: 800 });
  assertEqual(await page.evaluate(() => document.documentElement.scrollWidth), 390, "the page's width");
  assert(await page.getByRole("button", { name: "Save" }).isDisabled(), "there is a file to save to");
  const before = await options(page);
  // A click in the picture puts the first corner there, and chooses the second.
  await page.mouse.click(...(await placeOf(page, 0.25, 0.25)));
  await page.mouse.click(...(await placeOf(page, 0.75, 0.25)));
  const corners = /--corners ([\d.,]+)/
    .exec(await options(page))[1]
    .split(",")
    .map(Number);
  for (const [i, expected] of [160, 120, 480, 120, 640, 480, 0, 480].entries())
    assert(Math.abs(corners[i] - expected) <= 3, `the corners are ${corners}`);
  await page.getByRole("button", { name: "Undo" }).click();
  assertEqual(await options(page), before, "the options");

  // Corners that cross are refused in a sentence, and the page goes on.
  await dragTo(page, "Top left", 0.8, 0.1);
  await dragTo(page, "Top right", 0.2, 0.1);
  await page.getByRole("button", { name: "Apply" }).click();
  await until(async () => /found corners that go around no area/.test(await said(page)), "it is refused");
  const shown = () => page.evaluate(() => Number(document.body.dataset.picture));
  const last = await shown();
  await sleep(100);
  await until(async () => (await shown()) > last, "pictures come");
});
