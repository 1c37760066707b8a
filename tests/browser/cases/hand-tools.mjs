// Tools, what works them, and the settings that live in the address.
import { assert, assertEqual, test, until } from "../harness.mjs";
import { cheap, hasSaid, look } from "../world.mjs";
import { plugIn as wearable } from "../worn.mjs";

const TOOLS = ["push", "pull", "vortex", "pour", "drain", "dye", "throw", "wall", "erase"];
const address = (server, query = "") => `http://127.0.0.1:${server.port}/${query}`;
const presses = (server) => server.received.filter((m) => m.t === "input" && m.k === "pointer");
const query = (page) => Object.fromEntries(new URL(page.url()).searchParams);

/** Presses and releases the mouse in the middle of the tank. */
async function press(page) {
  const [x, y] = await page.evaluate(() => window.tarn.project([1, 0.4, 0.5]));
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.up();
}

test("every tool has a button and a key, and acts by its name", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(address(server, "?colour=10ff80"));
  const pressed = () =>
    page.locator("#tools [aria-pressed=true]").evaluateAll((all) => all.map((one) => one.dataset.tool));
  assertEqual(await pressed(), ["push"], "the tool at the start");
  for (const [i, tool] of TOOLS.entries()) {
    if (i % 2 === 0) await page.locator(`#tools [data-tool=${tool}]`).click();
    else await page.keyboard.press(String(i + 1));
    assertEqual(await pressed(), [tool], "the button that is pressed");
    const before = presses(server).length;
    await press(page);
    await until(() => presses(server).length === before + 2, `${tool} is sent`);
    const [down, up] = presses(server).slice(before);
    const colour = tool === "pour" || tool === "dye" ? 0x10ff80 : undefined;
    assertEqual(
      [down.phase, down.tool, down.colour, up.phase, up.tool],
      ["down", tool, colour, "up", tool],
      "what the server hears",
    );
  }
});

test("the bar has the tools that the tank has, with the keys that they always have", async (world) => {
  const server = await world.fake({
    particles: 500,
    model: { model: "whirl", tools: ["drain", "sponge", "dye"] },
  });
  const page = await world.watch(address(server));
  const buttons = page.locator("#tools [data-tool]");
  const bar = () => buttons.evaluateAll((all) => all.map((one) => [one.dataset.tool, one.ariaKeyShortcuts]));
  assertEqual(
    await bar(),
    [
      ["drain", "5"],
      ["dye", "6"],
    ],
    "the bar",
  );
  const pressed = () =>
    page.locator("#tools [aria-pressed=true]").evaluateAll((all) => all.map((one) => one.dataset.tool));
  assertEqual(await pressed(), ["drain"], "the tool at the start");
  await page.keyboard.press("4");
  await page.keyboard.press(" "); // pours, where that is a tool
  assertEqual(await pressed(), ["drain"], "after a key of a tool that isn't there");
  await page.keyboard.press("6");
  assertEqual(await pressed(), ["dye"], "after a key of one that is");
  await press(page);
  await until(() => presses(server).length === 2, "it is sent");
  assertEqual(presses(server)[0].tool, "dye", "what the server hears");
});

test("the space bar pours while it is held, whatever the tool", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(address(server, "?tool=vortex"));
  // A button that is clicked doesn't take the space bar.
  await page.locator("#tools [data-tool=pull]").click();
  await page.keyboard.down(" ");
  await until(() => presses(server).length === 1, "the press is sent");
  await page.keyboard.up(" ");
  await until(() => presses(server).length === 2, "the release is sent");
  assertEqual(
    presses(server).map((m) => [m.phase, m.tool]),
    [
      ["down", "pour"],
      ["up", "pour"],
    ],
    "what the server hears",
  );
  assertEqual((await look(page, "tool")).tool, "pull", "the tool");
});

test("the bar of tools is worked by keys alone, and the help closes where it was opened", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(address(server));
  await page.locator("#tank").focus();
  await until(async () => {
    await page.keyboard.press("Tab");
    return page.evaluate(() => document.activeElement.closest("#tools") !== null);
  }, "the bar has the focus");
  for (const key of ["ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  assertEqual((await look(page, "tool")).tool, "vortex", "the tool");
  const outline = () => page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assertEqual(await outline(), "solid", "the outline of what has the focus");
  await page.keyboard.press("h");
  assert((await page.locator("#keys").textContent()).includes("pour while held"), "the list of keys");
  await page.keyboard.press("Escape");
  assertEqual(await page.locator("#keys").count(), 0, "lists of keys");
  assertEqual(await page.evaluate(() => document.activeElement.dataset.tool), "vortex", "the focus");
});

test("two fingers on the bar of tools size the tool", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(address(server), { context: { hasTouch: true } });
  const touch = await page.context().newCDPSession(page);
  const send = (type, points) =>
    touch.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
  const { radiusM } = await look(page, "radiusM");
  const { x, y, height } = await page.locator("#tools").boundingBox();
  const [left, middle] = [x + 12, y + height / 2];
  await send("touchStart", [[left, middle - 20]]);
  await send("touchStart", [
    [left, middle - 20],
    [left, middle + 20],
  ]);
  await send("touchMove", [
    [left, middle - 30],
    [left, middle + 30],
  ]);
  await send("touchEnd", []);
  await until(async () => Math.abs((await look(page, "radiusM")).radiusM / radiusM - 1.5) < 0.1, "it grows");
  assertEqual(presses(server).length, 0, "presses");
});

/** Puts a gamepad into the page that `window.pad` works. */
const plugIn = (page) =>
  page.evaluate(() => {
    const buttons = Array.from({ length: 17 }, () => ({ pressed: false, touched: false, value: 0 }));
    window.pad = { index: 0, id: "Test pad", mapping: "standard", axes: [0, 0, 0, 0], buttons };
    navigator.getGamepads = () => [window.pad];
    window.hold = (button, held) => Object.assign(buttons[button], { pressed: held, value: held ? 1 : 0 });
    window.dispatchEvent(Object.assign(new Event("gamepadconnected"), { gamepad: window.pad }));
  });

test("a gamepad moves over the tank, acts, changes the tool, pauses and looks around", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(address(server));
  await plugIn(page);
  const hold = (button, held) => page.evaluate(([b, h]) => window.hold(b, h), [button, held]);
  await hold(7, true);
  await until(() => presses(server).length > 0, "the trigger presses");
  await page.evaluate(() => {
    window.pad.axes[0] = -0.8;
  });
  await until(() => presses(server).some((m) => m.phase === "move"), "the stick moves it");
  await page.evaluate(() => {
    window.pad.axes[0] = 0;
  });
  await hold(7, false);
  await until(() => presses(server).at(-1).phase === "up", "the trigger's release");
  const [down, move] = presses(server);
  assert(move.direction[0] < down.direction[0], "the stick to the left moves to the left");
  await hold(5, true);
  await until(async () => (await look(page, "tool")).tool === "pull", "the shoulder button changes the tool");
  await hold(9, true);
  await until(() => server.received.some((m) => m.action === "pause"), "start pauses");
  const [before] = await page.evaluate(() => window.tarn.project([0, 0, 0]));
  await page.evaluate(() => {
    window.pad.axes[2] = 1;
  });
  await until(
    async () => Math.abs((await page.evaluate(() => window.tarn.project([0, 0, 0])))[0] - before) > 5,
    "the other stick looks around",
  );
});

test("every tool and link is within reach on a phone's screen, held either way", async (world) => {
  const server = await world.fake({ particles: 500 });
  const context = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };
  // With the buttons of a browser that knows headsets.
  const page = await world.watch(address(server), { context, prepare: wearable });
  for (const [width, height] of [
    [390, 844],
    [844, 390],
    [320, 480],
    [360, 640],
    [640, 300],
    [568, 320],
  ]) {
    await page.setViewportSize({ width, height });
    const outside = await page.locator("#tools button, #title a, #title button").evaluateAll((controls) =>
      controls
        .filter((control) => {
          const { left, right, top, bottom, width: wide } = control.getBoundingClientRect();
          if (wide === 0) return false;
          const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
          return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight || !control.contains(at);
        })
        .map((control) => control.title || control.textContent),
    );
    assertEqual(outside.join(", "), "", `out of reach on ${width} x ${height}`);
  }
});

test("a phone that is tilted tilts the tank, once it was asked for", async (world) => {
  const server = await world.fake({ particles: 500 });
  const context = { hasTouch: true, isMobile: true, viewport: { width: 320, height: 480 } };
  const page = await world.watch(address(server), { context });
  const hold = (beta, gamma) =>
    page.evaluate(
      (angles) => {
        window.dispatchEvent(new DeviceOrientationEvent("deviceorientation", { alpha: 0, ...angles }));
      },
      { beta, gamma },
    );
  const sent = () => server.received.filter((m) => m.k === "orientation").map((m) => m.orientation);
  await page.getByRole("button", { name: "Controls" }).click();
  await page.getByRole("button", { name: "Tilt the tank with the phone" }).click();
  await page.getByRole("button", { name: "Stop tilting" }).waitFor();
  await hold(40, 0);
  await until(() => sent().length > 0, "the tank stands upright");
  assert(Math.abs(sent()[0][3]) > 0.9999, `the first orientation is ${sent()[0]}`);
  const isTilted = async () => {
    await hold(40, 20);
    return sent().some(([, , , w]) => Math.abs(w) < 0.995);
  };
  await until(isTilted, "the tank is tilted");
  await page.getByRole("button", { name: "Stop tilting" }).click();
  await until(() => sent().at(-1)[3] === 1, "it stands upright again");
});

test("settings are written into the address and survive a reload", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(address(server, "?particles=400#key=kept"));
  const view = server.received.find((m) => m.t === "view");
  assertEqual(view?.particles, 400, "the ceiling that the server hears");
  await page.keyboard.press("6");
  await page.keyboard.press("]");
  await page.keyboard.press("m");
  await page.keyboard.press("ArrowLeft");
  await until(() => query(page).yaw !== undefined && query(page).readout === "1", "the address has it");
  const { radiusM } = await look(page, "radiusM");
  const settings = query(page);
  assertEqual([settings.particles, settings.tool], ["400", "dye"], "the address");
  assertEqual(new URL(page.url()).hash, "#key=kept", "what is behind the address");
  assertEqual(Number(settings.radius), Number(radiusM.toFixed(3)), "the radius in the address");
  await page.reload();
  await until(() => page.evaluate(() => (window.tarn?.framesDecoded ?? 0) > 1), "frames are decoded");
  const after = await look(page, "tool", "radiusM");
  assertEqual([after.tool, after.radiusM], ["dye", Number(settings.radius)], "after the reload");
  assert(await page.locator("#readout").isVisible(), "the measurements are still shown");
  assertEqual(query(page), settings, "the address after the reload");
  assertEqual(new URL(page.url()).hash, "#key=kept", "and what is behind it");
});

test("a kiosk's address hides what isn't water; what is wrong in one is said", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(address(server, "?panel=0&tools=0&readout=0&help=0&tool=hammer"));
  for (const part of ["panel", "tools", "readout", "help"])
    assert(await page.locator(`#${part}`).isHidden(), `#${part} is hidden`);
  await hasSaid(page, /tool=hammer; allowed are push/);
  assertEqual((await look(page, "tool")).tool, "push", "the tool");
});

test("the bar of tools covers nothing of the tank at first", async (world) => {
  const server = await world.fake({ particles: 500, cells: [32, 32, 32] });
  const context = { viewport: { width: 1000, height: 640 } };
  const page = await world.watch(cheap(address(server)), { context });
  const lowest = await page.evaluate(() => {
    const corners = [0, 1].flatMap((x) => [0, 1].map((z) => [x, 0, z]));
    return Math.max(...corners.map((corner) => window.tarn.project(corner)[1]));
  });
  const { y } = await page.locator("#tools").boundingBox();
  assert(lowest < y, `the tank reaches down to ${lowest}, the bar begins at ${y}`);
});
