// Where the page's parts are: nothing lies over anything that can be pressed, what is written on a picture can be read
// whatever the picture, and labels of axes are whole.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { ROOT } from "../places.mjs";
import { cheap, drawn, faultsOf, look } from "../world.mjs";
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

/** In a page: corners of the tank that aren't seen: outside, or below something that can be pressed or read. */
function hiddenCorners() {
  const [x, y, z] = window.tarn.sizeM;
  const corners = [0, x].flatMap((i) => [0, y].flatMap((j) => [0, z].map((k) => [i, j, k])));
  return corners.flatMap((corner) => {
    const [left, top] = window.tarn.project(corner);
    const found = document.elementFromPoint(left, top);
    return found?.id === "tank"
      ? []
      : [
          `${corner} at ${Math.round(left)}, ${Math.round(top)} is below ${found?.closest("[id]")?.id ?? "nothing"}`,
        ];
  });
}

/** In a page: how much of the height nothing lies over, where the tank is, CSS pixels. */
function freeHeight() {
  const { sizeM, project } = window.tarn;
  const [x, y] = project(sizeM.map((metres) => metres / 2));
  const isFree = (at) => document.elementFromPoint(x, at)?.id === "tank";
  let [top, bottom] = [y, y];
  while (isFree(top - 1)) top--;
  while (isFree(bottom + 1)) bottom++;
  return isFree(y) ? Math.round(bottom - top) : 0;
}

/** The tank is seen, and can be pressed, in a third of the window's height or more. */
async function assertRoomy(page, what) {
  await assertSeen(page, what);
  const { height } = page.viewportSize();
  const free = await page.evaluate(freeHeight);
  assert(free >= height / 3, `${what}: the tank has ${free} of ${height} pixels`);
}

/** Of the tank on the page, CSS pixels. */
const tankWidth = (page) =>
  page.evaluate(() => {
    const [x, , z] = window.tarn.sizeM;
    return window.tarn.project([x, 0, z])[0] - window.tarn.project([0, 0, z])[0];
  });

/** Soon: a pane that opens is laid out first, and the tank is fitted beside it in a later picture. */
async function assertSeen(page, what) {
  let last;
  await drawn(page);
  await until(async () => {
    last = await page.evaluate(hiddenCorners);
    return last.length === 0;
  }, what).catch(() => {});
  assertEqual(last, [], `${what}: corners of the tank that aren't seen`);
}

/** Soon: what comes from the server makes a pane higher, and the next picture the others smaller. */
async function assertFree(page, what, least) {
  let last;
  await until(async () => {
    last = await page.evaluate(covered);
    return last.faults.length === 0 && last.count >= least;
  }, what).catch(() => {});
  assertEqual(last.faults, [], `${what}: controls that something lies over`);
  assert(last.count >= least, `${what}: only ${last.count} controls are seen`);
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
    if (height > 480) await assertSeen(page, "a lesson");
    if (!(await page.locator("#lesson").evaluate(({ open }) => open)))
      await page.locator("#lesson > summary").click();
    await page.locator("#measure").click();
    await page.locator("#probes li[data-probe]").nth(1).waitFor();
    await page.locator("#probes canvas").first().waitFor();
    await assertFree(page, "a lesson and Measure", 25);
    if (height > 480) await assertRoomy(page, "a lesson and Measure");
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      assertEqual(await faultsOf(page, "body"), [], `what axe finds, ${colorScheme}`);
    }
    await page.locator("#probes").getByRole("button", { name: "Close" }).click();
    await page.locator("#insight-button").click();
    await page.locator("#insight").waitFor();
    await assertFree(page, "a lesson and Flow", 25);
    if (height > 480) {
      await assertRoomy(page, "a lesson and Flow");
      await page.locator("#lesson > summary").click();
      await assertFree(page, "a folded lesson and Flow", 20);
      await assertRoomy(page, "a folded lesson and Flow");
      await page.locator("#lesson > summary").click();
    }
    // On a phone what measures has the time line's place.
    if (width <= 640 || height <= 480) return;
    await page.locator("#past").click();
    await page.locator("#time").waitFor();
    await assertFree(page, "a lesson, Flow and Time", 25);
  });

for (const [width, height] of SIZES.filter(([, high]) => high > 480))
  test(`with Measure alone open at ${width} x ${height} the tank is seen`, async (world) => {
    const server = await world.tank({ scene: SMALL_POOL });
    const page = await world.watch(cheap(server.url), {
      context: { viewport: { width, height }, hasTouch: width < 1000 },
    });
    await page.locator("#panel .lil-gui").first().waitFor();
    await page.locator("#measure").click();
    await page.getByRole("button", { name: "Rod" }).click();
    await page.getByRole("button", { name: "Place it in the middle" }).click();
    await page.locator("#probes canvas").first().waitFor();
    await assertFree(page, "Measure", 20);
    await assertRoomy(page, "Measure");
  });

/** Before a page's scripts: time stands still until `letTimePass`, and where a corner of a tank that is seen is in each picture is kept. */
function followCorner() {
  const own = performance.now.bind(performance);
  const began = own();
  let isHeld = true;
  performance.now = () => (isHeld ? began : own());
  window.letTimePass = () => {
    isHeld = false;
  };
  window.corners = [];
  const look = () => {
    if ((window.tarn?.drawnStep ?? -1) >= 0)
      window.corners.push(window.tarn.project([0, 0, 0]).map(Math.round).join(" "));
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** A page that has frames of a tank with a lesson, and waits for its scene's file. @returns it, and what lets that come */
async function beforeLesson(world, width, height) {
  const server = await world.tank({ scene: "lesson-waves" });
  let come;
  const comes = new Promise((resolve) => {
    come = resolve;
  });
  const page = await world.watch(cheap(server.url), {
    context: { viewport: { width, height }, hasTouch: width < 1000 },
    prepare: async (blank) => {
      await blank.addInitScript(followCorner);
      await blank.route(/\/scene\/lesson-[a-z]+\.json$/, async (route) => {
        await comes;
        await route.continue().catch(() => {}); // the case may be over
      });
    },
  });
  await drawn(page);
  return { page, come };
}

const corners = (page) => page.evaluate(() => window.corners);

for (const [width, height] of SIZES.filter(([, high]) => high > 480))
  test(`at ${width} x ${height} a tank is first seen where it stays beside its lesson`, async (world) => {
    const { page, come } = await beforeLesson(world, width, height);
    assertEqual(await corners(page), [], "where it is seen before");
    come();
    await page.locator("#lesson").waitFor();
    const places = await until(async () => (await corners(page)).length > 8 && corners(page), "pictures");
    assertEqual([...new Set(places)].length, 1, "places of a corner");
  });

test("a tank is seen though its lesson doesn't come", async (world) => {
  const { page, come } = await beforeLesson(world, 1280, 800);
  assertEqual(await corners(page), [], "where it is seen while it may come");
  await page.evaluate(() => window.letTimePass());
  await until(async () => (await corners(page)).length > 3, "pictures of the tank");
  assertEqual(await page.locator("#lesson").count(), 0, "lessons so far");
  come();
  await page.locator("#lesson").waitFor();
});

/** Of a wall that has a lesson and a probe. */
const WALL_LESSON = {
  ...JSON.parse(readFileSync(join(ROOT, "server", "scenes", "water-wall.json"), "utf8")),
  lesson: { text: "What moves goes on.", task: "Press Measure, and stir.", answer: "It does." },
  probes: [{ name: "middle", kind: "point", at_m: [2, 1.5, 0.0078125] }],
};

for (const [width, height] of SIZES.slice(0, 3)) {
  const context = { viewport: { width, height }, hasTouch: width < 1000 };
  const isPhone = width <= 640;

  test(`a wall with a lesson and Measure open at ${width} x ${height} can be pressed in all looks`, async (world) => {
    const scene = join(world.folder(), "wall-lesson.json");
    writeFileSync(scene, JSON.stringify(WALL_LESSON));
    const server = await world.tank({ scene });
    // Points are drawn fast, and nothing but the picture is another with a wall.
    const page = await world.watch(cheap(server.url), { context });
    await page.locator("#lesson").waitFor();
    await page.locator("#measure").click();
    await page.locator("#probes canvas").first().waitFor();
    const looks = page.locator("#panel .lil-controller", { hasText: "Look" }).locator("select");
    for (const name of LOOKS) {
      await looks.evaluate((select, word) => {
        select.selectedIndex = [...select.options].findIndex(({ text }) => text.toLowerCase() === word);
        select.dispatchEvent(new Event("change"));
      }, name);
      await until(async () => (await look(page, "look")).look === (name === "particles" ? "" : name), name);
      await assertFree(page, name, 20);
      if (isPhone) {
        await page.locator("#lesson > summary").click();
        await assertFree(page, `${name}, the lesson open`, 20);
        await page.locator("#lesson > summary").click();
      }
      await assertSeen(page, name);
    }
  });

  test(`at ${width} x ${height} the tank is seen beside a lesson, Measure and Time`, async (world) => {
    const server = await world.tank({ scene: "lesson-buoyancy", args: ["--store", world.folder()] });
    const page = await world.watch(cheap(server.url), { context });
    await page.locator("#lesson").waitFor();
    await page.locator("#panel .lil-gui").first().waitFor();
    await page.locator("#past").waitFor();
    if (isPhone) await page.locator("#lesson > summary").click();
    await assertSeen(page, "a lesson");
    const beside = await tankWidth(page);
    // On a phone there is no room for both: it can be folded.
    if (isPhone) await page.locator("#lesson > summary").click();
    await page.locator("#past").click();
    await page.locator("#time").waitFor();
    await assertFree(page, "Time", 25);
    await assertSeen(page, "Time");
    await page.locator("#time").getByRole("button", { name: "Close" }).click();
    await page.locator("#measure").click();
    await page.locator("#probes canvas").first().waitFor();
    await assertSeen(page, "Measure");
    await page.locator("#probes").getByRole("button", { name: "Close" }).click();
    if (!isPhone) await page.locator("#lesson > summary").click();
    await drawn(page);
    assert((await tankWidth(page)) > beside, "a folded lesson gives the tank its room back");
  });
}

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

test("on a phone nothing of the controls and of the help is cut or narrow", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(cheap(server.url), {
    context: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  });
  await page.getByRole("button", { name: "Controls" }).tap();
  const colour = page.locator("#panel .lil-color input[type=text]");
  await colour.waitFor();
  const cut = await page
    .locator("#panel input")
    .evaluateAll((all) =>
      all
        .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth)
        .map((one) => `${one.value}: ${one.scrollWidth} in ${one.clientWidth}`),
    );
  assertEqual(cut, [], "fields whose text is cut");
  await page.getByRole("button", { name: "Controls" }).tap();
  await page.getByRole("button", { name: "Help" }).tap();
  const { width } = await page.locator("#keys").boundingBox();
  assert(width > 320, `the help is ${width} pixels wide`);
});

test("a display's name stands in the picture or beside it, never over the edge", async (world) => {
  const server = await world.tank({ scene: "water-wall" });
  const page = await world.watch(`${cheap(server.url)}&session=main&display=1`);
  await page.locator("#display strong").waitFor();
  // Of a picture that is 4 by 3: with little beside it, below it, and much beside it.
  for (const [width, height] of [
    [1280, 800],
    [600, 500],
    [1600, 600],
    [400, 800],
  ]) {
    await page.setViewportSize({ width, height });
    const { x, y, width: wide, height: high } = await page.locator("#display").boundingBox();
    const right = width / 2 + Math.min(width / 2, (height * 2) / 3);
    const bottom = height / 2 + Math.min(height / 2, (width * 3) / 8);
    const isIn = x + wide <= right + 1 && y + high <= bottom + 1;
    const isBeside = x >= right - 1 || y >= bottom - 1;
    assert(
      isIn || isBeside,
      `${width} x ${height}: ${x} to ${x + wide}, ${y} to ${y + high} of ${right}, ${bottom}`,
    );
    assert(x + wide <= width && y + high <= height, `${width} x ${height}: it is outside`);
  }
});

test("the line that says how to begin names what is seen", async (world) => {
  const server = await world.tank({ scene: "water-wall" });
  for (const [name, word] of [
    ["water", "water"],
    ["lava", "lava"],
    ["particles", "smoke"],
  ]) {
    const page = await world.watch(`${server.url}?session=main&look=${name}&quality=spheres`);
    await page.locator("#help").getByText(`Drag the ${word} to push it`).waitFor({ state: "attached" });
    assert((await page.locator("#tank").getAttribute("aria-label")).startsWith(`The tank of ${word}.`), word);
    await page.close();
  }
});
