// Where the page's parts are: nothing lies over anything that can be pressed, what is written on a picture can be read
// whatever the picture, and labels of axes are whole.
import { assert, assertEqual, settled, test } from "../harness.mjs";
import { cheap, drawn, faultsOf } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

const SIZES = [
  [1280, 800],
  [1024, 768],
  [390, 844],
  [768, 1024],
  [844, 390],
];
const LOOKS = ["water", "ink", "lava", "smoke", "aurora", "particles"];
const CONTRAST = 4.5;

/** In a page: controls that something else lies over, where they can be seen at all. */
function covered() {
  const named = (element) =>
    `${element.tagName.toLowerCase()}#${element.id} "${(element.textContent || element.ariaLabel || element.title || "").trim().slice(0, 30)}"`;
  const seen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const faults = [];
  let count = 0;
  for (const control of document.querySelectorAll("button, a[href], input, select, summary")) {
    if (!seen(control) || control.disabled) continue;
    control.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    const { left, top, width, height } = control.getBoundingClientRect();
    if (width === 0 || height === 0) continue;
    count++;
    const [x, y] = [left + width / 2, top + height / 2];
    const found = document.elementFromPoint(x, y);
    const isHit =
      found !== null &&
      (control.contains(found) || found.contains(control) || found.closest("label")?.contains(control));
    // What contains all of the page is no answer.
    if (!isHit || found === document.body || found === document.documentElement)
      faults.push(
        `${named(control)} at ${Math.round(x)}, ${Math.round(y)} is below ${found === null ? "nothing: outside" : named(found)}`,
      );
  }
  return { count, faults };
}

async function assertFree(page, what, least) {
  await settled(
    () => page.evaluate(() => document.body.scrollHeight + document.getElementById("title").offsetHeight),
    what,
  );
  const { count, faults } = await page.evaluate(covered);
  assert(count >= least, `${what}: only ${count} controls are seen`);
  assertEqual(faults, [], `${what}: controls that something lies over`);
}

for (const [width, height] of SIZES)
  test(`with a lesson and Measure open at ${width} x ${height} everything can be pressed`, async (world) => {
    const server = await world.tank({ scene: SMALL_POOL, args: ["--store", world.folder()] });
    const made = await fetch(`${server.url}sessions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ scene: "lesson-waves" }),
    });
    const { session, keys } = await made.json();
    const address = `${cheap(`${server.url}?session=${session}`)}#key=${keys.own}`; // its owner's: with all buttons
    const page = await world.watch(address, {
      context: { viewport: { width, height }, hasTouch: width < 1000 },
    });
    await page.locator("#lesson").waitFor();
    await page.locator("#panel .lil-gui").first().waitFor();
    await assertFree(page, "a lesson", 15);
    if (!(await page.locator("#lesson").evaluate(({ open }) => open)))
      await page.locator("#lesson > summary").click();
    await page.locator("#measure").click();
    await page.locator("#probes li[data-probe]").nth(1).waitFor();
    await page.locator("#probes canvas").first().waitFor();
    await assertFree(page, "a lesson and Measure", 25);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      assertEqual(await faultsOf(page, "body"), [], `what axe finds, ${colorScheme}`);
    }
    await page.locator("#probes").getByRole("button", { name: "Close" }).click();
    await page.locator("#insight-button").click();
    await page.locator("#insight").waitFor();
    await assertFree(page, "a lesson and Flow", 25);
    // On a phone what measures has the time line's place.
    if (width <= 640 || height <= 480) return;
    await page.locator("#past").click();
    await page.locator("#time").waitFor();
    await assertFree(page, "a lesson, Flow and Time", 25);
  });

/** In a page: how well a text is to be read on each pixel of a picture that it stands on; the least. */
async function leastContrast([colour, shot, clip]) {
  const image = await createImageBitmap(await (await fetch(shot)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(...clip);
  const luminance = (rgb) =>
    rgb
      .map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const text = luminance(colour.match(/\d+/g).slice(0, 3).map(Number));
  let least = 21;
  for (let i = 0; i < data.length; i += 4) {
    const ground = luminance([...data.subarray(i, i + 3)]);
    least = Math.min(least, (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05));
  }
  return least;
}

for (const name of LOOKS)
  test(`what is written over a wall of ${name} can be read`, async (world) => {
    const server = await world.tank({ scene: "water-wall" });
    const page = await world.watch(`${server.url}?look=${name}&quality=spheres&distance=0.6`, {
      context: { viewport: { width: 520, height: 490 }, bypassCSP: true },
    });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const parts = page.locator("#heading, #help");
      const texts = await parts.evaluateAll((all) =>
        all.map((part) => {
          const { color } = getComputedStyle(part);
          const { x, y, width, height } = part.getBoundingClientRect();
          part.style.setProperty("-webkit-text-fill-color", "transparent");
          // Within its round corners.
          return { colour: color, clip: [x + 6, y + 2, width - 12, height - 4].map(Math.round) };
        }),
      );
      assertEqual(texts.length, 2, "texts");
      await drawn(page);
      const shot = `data:image/png;base64,${(await page.screenshot()).toString("base64")}`;
      for (const { colour, clip } of texts) {
        const least = await page.evaluate(leastContrast, [colour, shot, clip]);
        assert(least >= CONTRAST, `${colour} at ${clip}, ${colorScheme}: ${least.toFixed(2)}`);
      }
    }
  });
