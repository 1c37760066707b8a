import { assert, assertEqual, settled, test, until } from "../harness.mjs";
import {
  pictures as drawn,
  enter,
  eyes,
  find,
  inRoom,
  isTip,
  move,
  plugIn,
  press,
  pressPanel,
  UNDER,
} from "../worn.mjs";
import { SMALL_POOL } from "./stream.mjs";

const WEAR = { prepare: plugIn };
/** Where nobody looks at the pictures. */
const WEAR_SMALL = { ...WEAR, context: { viewport: { width: 240, height: 136 } } };
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

const isWater = ([red, , blue]) => blue > 80 && blue > red + 60;

test("a browser without a headset shows no button for one", async (world) => {
  const server = await world.fake({ particles: 0 });
  const page = await world.open(`http://127.0.0.1:${server.port}/`);
  await until(() => page.evaluate(() => window.tarn?.connection === "connected"), "the page connects");
  assertEqual(await page.locator("#headset button:visible").count(), 0, "buttons for a headset");
});

test("in a headset each eye has a picture of its own, and the tank stands where it should in both", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url, WEAR);
  assertEqual(await page.locator("#headset button:visible").count(), 2, "buttons for a headset");
  await enter(page, "immersive-vr");
  const marker = [0.05, 1.3, -0.3];
  const beside = marker.map((x, axis) => (axis === 2 ? x + 0.05 : x));
  await move(page, [{ kind: "controllers", side: "right", from: beside, to: beside }], 0);
  const picture = await world.pixels(page);
  const { project } = await eyes(page, picture);
  const [left, right] = ["left", "right"].map((eye) => ({ eye, tip: find(picture, eye, isTip) }));
  for (const { eye, tip } of [left, right]) {
    assert(tip.count >= 4, `the controller's tip isn't drawn for the ${eye} eye: ${tip.count} pixels`);
    const [x, y] = project(marker, eye);
    assert(
      Math.hypot(tip.x - x, tip.y - y) < 2,
      `the ${eye} eye sees the tip at ${tip.x.toFixed(1)}, ${tip.y.toFixed(1)}, not ${x.toFixed(1)}, ${y.toFixed(1)}`,
    );
  }
  const disparity = left.tip.x - (right.tip.x - picture.width / 2);
  assert(disparity > 10, `the disparity of something near is ${disparity.toFixed(1)} pixels`);

  // Spheres of the right size and at the right depth stay within the tank, however the page's own camera was.
  const corners = [0, 1].flatMap((x) => [0, 0.5].flatMap((y) => [0, 0.5].map((z) => [x, y, z])));
  const places = await Promise.all(corners.map((corner) => inRoom(page, corner)));
  for (const eye of ["left", "right"]) {
    const seen = places.map((place) => project(place, eye));
    const bounds = [0, 1].flatMap((axis) => {
      const along = seen.map((at) => at[axis]);
      return [Math.min(...along) - 5, Math.max(...along) + 5];
    });
    const water = find(picture, eye, isWater);
    const strays = find(
      picture,
      eye,
      (pixel, x, y) => isWater(pixel) && (x < bounds[0] || x > bounds[1] || y < bounds[2] || y > bounds[3]),
    );
    assert(water.count > 2500, `only ${water.count} pixels of water for the ${eye} eye`);
    assert(strays.count < 20, `${strays.count} pixels of water beside the tank for the ${eye} eye`);
  }
  const corner = picture.at(8, 8);
  assert(Math.max(...corner) > 15, `there is no room around the tank: ${corner}`);
});

test("leaving gives the page back, by the device or by the wrist panel, and one may enter again", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(`http://127.0.0.1:${server.port}/?detail=full`, WEAR);
  const look = () =>
    page.evaluate(() => {
      const canvas = document.getElementById("tank");
      return [
        window.tarn.project([0, 0, 0]),
        window.tarn.project([2, 1, 1]),
        canvas.width,
        canvas.height,
      ].flat();
    });
  const before = await look();
  const isBack = async (how) => {
    await until(() => page.evaluate(() => window.tarn.headset === null), `the session ends ${how}`);
    await drawn(page, 3);
    const after = await look();
    for (const [i, value] of after.entries())
      assert(Math.abs(value - before[i]) < 0.5, `the page's view ${how}: ${after}, was ${before}`);
    const { framesDecoded } = await page.evaluate(() => ({ framesDecoded: window.tarn.framesDecoded }));
    await until(() => page.evaluate((n) => window.tarn.framesDecoded > n, framesDecoded), "frames go on");
    // The page's own loop runs, once for each picture: the camera follows a key.
    await page.keyboard.press("ArrowLeft");
    await until(async () => Math.abs((await look())[0] - before[0]) > 2, `the view turns ${how}`);
    await page.keyboard.press("v");
    await until(async () => Math.abs((await look())[0] - before[0]) < 0.1, `the view goes home ${how}`);
  };

  await enter(page, "immersive-vr");
  await page.evaluate(() => window.device.activeSession.end());
  await isBack("by the device");

  await enter(page, "immersive-ar");
  const picture = await world.pixels(page);
  assertEqual(picture.at(8, 8), UNDER, "what is seen where the real room is");
  const tank = find(picture, "left", (pixel) => Math.max(...pixel) > 30);
  assert(tank.count > 300, `the tank isn't drawn on the real table: ${tank.count} pixels`);
  await pressPanel(page, "leave");
  await isBack("by the wrist panel");

  await enter(page, "immersive-vr");
  await page.evaluate(() => window.device.activeSession.end());
  await isBack("the third time");
});

test("the wrist panel pauses and loads, and a session that loses the focus lets go", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(`http://127.0.0.1:${server.port}/`, WEAR_SMALL);
  const controls = () => server.received.filter((m) => m.t === "control");
  const sent = (side) => server.received.filter((m) => m.k === "controller" && m.side === side);
  await enter(page, "immersive-vr");
  await pressPanel(page, "pause");
  await until(() => controls().some(({ action }) => action === "pause"), "the tank is paused");
  const tool = () => page.evaluate(() => window.tarn.tool);
  await pressPanel(page, "colour");
  await until(async () => (await tool()) === "dye", "whoever chooses a colour means to use it");
  await pressPanel(page, "scene-next");
  await until(
    () => controls().some(({ action, scene }) => action === "load" && scene === "still-pool"),
    "the next scene is loaded",
  );
  assert(
    sent("right").every(({ trigger }) => trigger === 0),
    "a trigger that pressed the panel was sent to the tank",
  );
  assert(sent("right").length > 0, "no controller was sent");

  const dyes = sent("right").filter((m) => m.tool === "dye");
  assertEqual([...new Set(dyes.map(({ colour }) => colour))], [0xffb020], "colours that are sent");
  await page.evaluate(() => window.device.updateVisibilityState("visible-blurred"));
  await until(
    () => ["left", "right"].every((side) => sent(side).at(-1).tracked === false),
    "both are let go",
  );
  const told = server.received.length;
  await drawn(page, 5);
  assertEqual(
    server.received.slice(told).filter(({ k }) => k === "controller").length,
    0,
    "inputs while another thing has the focus",
  );
  await page.evaluate(() => window.device.updateVisibilityState("visible"));
  await until(() => sent("left").at(-1).tracked === true, "it goes on when the focus is back");
});

/** The most momentum along x gained over the frames that come while `act` runs, m/s. */
async function gain(page, act) {
  const [still] = await page.evaluate(() => window.tarn.nextFrames(1));
  await page.evaluate(() => {
    window.fastest = -Infinity;
    window.watching = true;
    (async () => {
      while (window.watching) {
        const [frame] = await window.tarn.nextFrames(1);
        window.fastest = Math.max(window.fastest, frame.meanVelocity[0]);
      }
    })();
  });
  await act();
  return (
    (await page.evaluate(() => {
      window.watching = false;
      return window.fastest;
    })) - still.meanVelocity[0]
  );
}

/** Makes the tool as large as it goes: an eighth of the small pool is little water. */
async function enlargeTool(page) {
  await page.mouse.move(5, 5);
  await page.keyboard.down("Shift");
  for (let i = 0; i < 8; i++) await page.mouse.wheel(0, -240);
  await page.keyboard.up("Shift");
}

test("a controller pushes the water while its trigger is pulled, and only then", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url, WEAR_SMALL);
  await enlargeTool(page);
  await enter(page, "immersive-vr");
  const tip = ([x, y, z]) => [x, y, z + 0.05];
  const [from, to] = [
    tip(await inRoom(page, [0.25, 0.15, 0.25])),
    tip(await inRoom(page, [0.8, 0.15, 0.25])),
  ];
  const sweep = [{ kind: "controllers", side: "right", from, to }];
  const idle = await gain(page, () => move(page, sweep, 0.5));
  assert(idle < 0.02, `a controller that does nothing moves the water by ${idle.toFixed(3)} m/s`);
  const push = async () => {
    await press(page, "right", "trigger", 0);
    await move(page, [{ ...sweep[0], to: from }], 0);
    await press(page, "right", "trigger", 1);
    return gain(page, () => move(page, sweep, 0.5));
  };
  // Where pictures are few a sweep may fall between them.
  await until(async () => (await push()) > 0.05, "the water is pushed", 40_000);
});

test("an open hand pushes the water", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url, WEAR_SMALL);
  await enlargeTool(page);
  await page.evaluate(() => {
    window.device.primaryInputMode = "hand";
  });
  await enter(page, "immersive-vr");
  const [from, to] = [await inRoom(page, [0.25, 0.15, 0.3]), await inRoom(page, [0.8, 0.15, 0.3])];
  await move(page, [{ kind: "hands", side: "right", from, to: from }], 0.3);
  const sweep = [{ kind: "hands", side: "right", from, to }];
  await until(
    async () => (await gain(page, () => move(page, sweep, 0.5))) > 0.05,
    "the water is pushed",
    40_000,
  );
});

test("a hand that pinches in the tank uses its tool there, and beside the tank carries it", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(`http://127.0.0.1:${server.port}/?tool=pour`, WEAR_SMALL);
  const last = () => server.received.filter(({ k, side }) => k === "hand" && side === "right").at(-1);
  const pinch = (value) =>
    page.evaluate((amount) => window.device.hands.right.updatePinchValue(amount), value);
  await page.evaluate(() => {
    window.device.primaryInputMode = "hand";
  });
  await enter(page, "immersive-vr");
  const inside = await inRoom(page, [1, 0.5, 0.5]);
  await move(page, [{ kind: "hands", side: "right", from: inside, to: inside }], 0);
  await until(() => last()?.tracked && last().pinch < 0.7, "an open hand is told as one");
  await pinch(1);
  await until(() => last().tracked && last().pinch === 1 && last().grip === 0, "the hand pours");
  assertEqual(last().tool, "pour", "the tool that is told");
  await pinch(0);
  await until(() => last().tracked && last().pinch < 0.7, "it opens");
  const beside = await inRoom(page, [1, 0.5, 2]);
  await move(page, [{ kind: "hands", side: "right", from: beside, to: beside }], 0);
  await pinch(1);
  await until(() => !last().tracked, "it holds the tank");
});

/** Normal of the water's surface in the x-y plane of the tank, from the highest particle of each column along x. */
function surfaceNormal(points, width) {
  const columns = 12;
  const tops = Array.from({ length: columns }, () => null);
  for (let i = 0; i < points.length; i += 3) {
    const column = Math.min(columns - 1, Math.floor((points[i] / width) * columns));
    if (tops[column] === null || points[i + 1] > tops[column][1]) tops[column] = [points[i], points[i + 1]];
  }
  // Without the ends: at a wall the water creeps up or has run away.
  const line = tops.slice(1, -1).filter((top) => top !== null);
  const [mx, my] = [0, 1].map((axis) => line.reduce((sum, top) => sum + top[axis], 0) / line.length);
  const slope =
    dot(
      line.map(([x]) => x - mx),
      line.map(([, y]) => y - my),
    ) /
    dot(
      line.map(([x]) => x - mx),
      line.map(([x]) => x - mx),
    );
  const length = Math.hypot(slope, 1);
  return [-slope / length, 1 / length];
}

test("two hands turn the tank, and its water's surface tilts", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url, WEAR_SMALL);
  await enter(page, "immersive-vr");
  const [left, right] = [await inRoom(page, [-0.1, 0.25, 0.25]), await inRoom(page, [1.1, 0.25, 0.25])];
  const hold = (side, from, to, turn) => ({ kind: "controllers", side, from, to, turn });
  await move(page, [hold("left", left, left), hold("right", right, right)], 0);
  await press(page, "left", "squeeze", 1);
  await press(page, "right", "squeeze", 1);
  const before = await page.evaluate(() => window.tarn.headset.position);
  // About the line that looks at the person: the right hand rises, the left one sinks.
  const angle = 0.35;
  const radius = 0.5 * (right[0] - left[0]);
  const lift = radius * Math.sin(angle);
  const turn = [[0, 0, 1], 0, angle];
  const inwards = radius * (1 - Math.cos(angle));
  await move(
    page,
    [
      hold("left", left, [left[0] + inwards, left[1] - lift, left[2]], turn),
      hold("right", right, [right[0] - inwards, right[1] + lift, right[2]], turn),
    ],
    0.6,
  );
  const held = await page.evaluate(() => window.tarn.headset);
  const tilt = 2 * Math.asin(held.tilt[2]);
  assert(
    Math.abs(tilt - angle) < 0.12,
    `hands that turned by ${angle} tilt the tank by ${tilt.toFixed(3)} rad`,
  );
  assert(
    Math.abs(held.yaw) < 0.02 && Math.abs(held.scale - 0.9) < 0.05,
    `yaw ${held.yaw}, scale ${held.scale}`,
  );
  assert(
    Math.hypot(...held.position.map((x, i) => x - before[i])) < 0.05,
    `the tank moved to ${held.position}`,
  );
  await press(page, "left", "squeeze", 0);
  await press(page, "right", "squeeze", 0);

  // A tank that is turned by +tilt about z feels gravity turned by -tilt.
  const down = [-Math.sin(tilt), -Math.cos(tilt)];
  await until(
    () =>
      page.evaluate(([x, y]) => {
        const [gx, gy] = window.tarn.gravity;
        return Math.hypot(gx / 9.81 - x, gy / 9.81 - y) < 0.03;
      }, down),
    "gravity turns in the frames",
  );
  await until(async () => {
    const points = await page.evaluate(() => window.tarn.samplePoints(100_000));
    const normal = surfaceNormal(points, 1);
    return -dot(normal, down) > Math.cos(0.1) && normal[0] > 0.12;
  }, "the water's surface is level again, and no longer in the tank");
  const shown = await settled(
    () => page.evaluate(() => window.tarn.headset.tilt.map((x) => Number(x.toFixed(3)))),
    "the tilt is what the frames say",
  );
  const told = await page.evaluate(() => window.tarn.orientation.map((x) => Number(x.toFixed(3))));
  assertEqual(shown, told, "the tilt that is drawn");
});

test("the wrist panel says what is measured, and how far the hands' tips are from each other", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url, WEAR_SMALL);
  const measure = page.locator("#measure");
  await measure.press("Enter"); // on so small a page a headset's buttons cover it
  for (const name of ["Point", "Place it in the middle"])
    await page.locator("#probes").getByRole("button", { name }).press("Enter"); // its header may, too
  await page.locator("#probes li").waitFor();
  await measure.press("Enter");
  const before = await page.evaluate(() => window.tarn.readings);
  await enter(page, "immersive-vr");
  const lines = () => page.evaluate(() => window.tarn.headset.lines);
  await until(() => page.evaluate((n) => window.tarn.readings > n + 10, before), "it measures again");
  await until(
    async () => /^point \d+: [\d.]+ k?Pa$/.test((await lines())[0] ?? ""),
    "the panel has its value",
  );
  const [left, right] = [await inRoom(page, [0.25, 0.15, 0.25]), await inRoom(page, [0.8, 0.15, 0.25])];
  await move(
    page,
    [
      { kind: "controllers", side: "left", from: left, to: left, turn: [[1, 0, 0], 0, 0] },
      { kind: "controllers", side: "right", from: right, to: right, turn: [[1, 0, 0], 0, 0] },
    ],
    0,
  );
  await until(async () => (await lines()).at(-1) === "Tip to tip: 0.550 m", "the ruler says 0.55 m");
});
