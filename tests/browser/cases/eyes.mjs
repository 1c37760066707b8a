// The water as each eye of a headset sees it: drops at known places, drawn as water.

import { encodeFrame } from "../fake-tank.mjs";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { bare } from "../world.mjs";
import { enter, eyes, find, inRoom, isTip, move, plugIn, UNDER } from "../worn.mjs";

/** Far larger than the table that the tank is shown on: what forgets its scale is seen to. */
const TANK = { cells: [32, 16, 16], cellM: 0.125 };
const DROP_M = 0.3;
/** In the tank: to the left and far, in the middle, to the right and near. */
const DROPS = [
  [0.8, 1.1, 0.5],
  [2, 1.4, 1],
  [3.2, 1, 1.5],
];
/** 3, 3 and 2 bits. */
const RED = 0b111_000_00;
/** All else that is drawn is bluish. */
const isRed = ([red, green, blue]) => red > green && red > blue;

/** Balls of red liquid that hang in the air, on one frame of a tank that stands still. */
function hanging(centres) {
  const spacing = TANK.cellM / 2;
  const reach = Math.ceil(DROP_M / spacing);
  const particles = [];
  for (const centre of centres)
    for (let i = 0; i < (2 * reach + 1) ** 3; i++) {
      const at = [1, 2 * reach + 1, (2 * reach + 1) ** 2].map(
        (stride) => ((Math.floor(i / stride) % (2 * reach + 1)) - reach) * spacing,
      );
      if (Math.hypot(...at) > DROP_M) continue;
      particles.push({ at: at.map((x, axis) => centre[axis] + x), velocity: [0, 0, 0], colour: RED });
    }
  const frame = encodeFrame(particles, { ...TANK, step: 2, epoch: 1, simTimeS: 0, paused: true });
  return { next: (viewer) => (viewer.played++ === 0 ? frame : null) };
}

/** A page in a headset that shows the drops as water; without a sky to mirror they look the same from everywhere. */
async function wear(world, mode, query = "quality=low", centres = DROPS) {
  const server = await world.fake({ recording: hanging(centres), ...TANK });
  const page = await world.open(
    `http://127.0.0.1:${server.port}/?detail=full&light=night&sky=000000&${query}`,
    {
      prepare: plugIn,
      context: { viewport: { width: 400, height: 200 } },
    },
  );
  await until(() => page.evaluate(() => window.tarn?.particles > 0), "the drops are there", 30_000);
  await enter(page, mode);
  return { page, server };
}

/** What one eye sees of a drop: pixels that look like it, near where it should be. */
function findDrop(picture, eye, [x, y], reachPx, looks) {
  return find(
    picture,
    eye,
    (pixel, px, py) => Math.hypot(px + 0.5 - x, py + 0.5 - y) < reachPx && looks(pixel),
  );
}

test("both eyes see the water where geometry says, and what it hides", async (world) => {
  const { page } = await wear(world, "immersive-vr");
  assertEqual(await page.evaluate(() => window.tarn.tier), "water-low", "tier");
  const picture = await world.pixels(page);
  const { project, focal, distance } = await eyes(page, picture);
  const { scale } = await page.evaluate(() => window.tarn.headset);
  const places = await Promise.all(DROPS.map((drop) => inRoom(page, drop)));
  for (const [i, place] of places.entries()) {
    const radiusPx = (focal * scale * DROP_M) / distance(place);
    const [left, right] = ["left", "right"].map((eye) => {
      const wanted = project(place, eye);
      const seen = findDrop(picture, eye, wanted, 1.7 * radiusPx, isRed);
      const size = Math.sqrt(seen.count / Math.PI) / radiusPx;
      assert(size > 0.7 && size < 1.5, `drop ${i} is ${size.toFixed(2)} times as large for the ${eye} eye`);
      assert(
        Math.hypot(seen.x - wanted[0], seen.y - wanted[1]) < 1.5,
        `the ${eye} eye sees drop ${i} at ${seen.x.toFixed(1)}, ${seen.y.toFixed(1)}, not ${wanted}`,
      );
      return { seen: seen.x, wanted: wanted[0] };
    });
    const [seen, wanted] = [left.seen - right.seen, left.wanted - right.wanted];
    assert(
      Math.abs(seen - wanted) < 0.8,
      `the eyes see drop ${i} ${(seen - wanted).toFixed(2)} pixels too far apart`,
    );
  }

  // On the line of sight through the middle drop: before it, and behind it.
  const tips = async (towards) => {
    const away = places[1].map((x, axis) => x - [0, 1.6, 0][axis]);
    const length = Math.hypot(...away);
    const at = places[1].map((x, axis) => x + (away[axis] / length) * towards);
    // The tip is before the middle of a controller.
    at[2] += 0.05;
    await move(page, [{ kind: "controllers", side: "right", from: at, to: at }], 0);
    const shown = await world.pixels(page);
    return ["left", "right"].map((eye) => find(shown, eye, isTip).count);
  };
  const before = await tips(-0.2);
  assert(
    before.every((count) => count > 0),
    `pixels of a controller before the water for each eye: ${before}`,
  );
  assertEqual(await tips(0.2), [0, 0], "pixels of a controller behind the water for each eye");
});

/** A point of the room behind the tank, as an emulated screen's finger sees it: from the eyes. */
const FINGER = `
  window.finger = { targetRayMode: "screen", handedness: "none", profiles: [], gamepad: null, hand: null };
  const session = window.device.activeSession;
  const own = session.inputSources;
  finger.targetRaySpace = [...own].find(({ handedness }) => handedness === "right").targetRaySpace;
  window.touching = [];
  Object.defineProperty(session, "inputSources", { get: () => window.touching });
  window.touch = (kind) => {
    window.touching = kind === "selectstart" ? [finger] : [];
    session.dispatchEvent(Object.assign(new Event(kind), { inputSource: finger }));
  };`;

test("on a real table the room shows through the water, and fingers on a phone's screen push it", async (world) => {
  const { page, server } = await wear(world, "immersive-ar");
  const picture = await world.pixels(page);
  assertEqual(picture.at(4, 4), UNDER, "what is seen beside the tank");
  const { project } = await eyes(page, picture);
  for (const eye of ["left", "right"]) {
    const at = project(await inRoom(page, DROPS[0]), eye);
    const seen = findDrop(picture, eye, at, 8, isRed);
    assert(seen.count > 30, `the ${eye} eye sees ${seen.count} pixels of a drop`);
  }

  const above = await inRoom(page, [2, 3, 1]);
  const beside = above.map((x, axis) => (axis === 0 ? x + 0.1 : x));
  const down = [[1, 0, 0], -Math.PI / 2, -Math.PI / 2];
  const ray = (from, to) => [{ kind: "controllers", side: "right", from, to, turn: down }];
  await move(page, ray(above, above), 0);
  await page.evaluate(FINGER);
  const pointers = () => server.received.filter(({ k }) => k === "pointer");
  await page.evaluate(() => window.touch("selectstart"));
  await until(() => pointers().some(({ phase }) => phase === "down"), "the finger goes down");
  const first = pointers()[0];
  assertEqual(
    [
      first.tool,
      ...first.origin_m.map((x) => x.toFixed(1)),
      ...first.direction.map((x) => Math.round(x)),
    ].join(),
    "push,2.0,3.0,1.0,0,-1,0",
    "the finger's ray in the tank",
  );
  await move(page, ray(above, beside), 0.1);
  await until(() => pointers().some(({ phase }) => phase === "move"), "the finger moves");
  await page.evaluate(() => window.touch("selectend"));
  await until(() => pointers().at(-1).phase === "up", "the finger comes up");
  assert(pointers().at(-1).origin_m[0] > 2.3, `it came up at ${pointers().at(-1).origin_m}`);
});

const SMALL = { viewport: { width: 240, height: 136 } };

test("whoever wears a headset is shown to the others by head and hands", async (world) => {
  const server = await world.fake({ particles: 100 });
  const page = await world.watch(`http://127.0.0.1:${server.port}/?quality=points`, {
    prepare: plugIn,
    context: SMALL,
  });
  const told = () => server.received.filter(({ t }) => t === "presence");
  const parts = () =>
    told()
      .at(-1)
      ?.points.map(({ part }) => part)
      .join();
  assertEqual(told().length, 0, "what is told of somebody without a headset or a cursor");
  await enter(page, "immersive-vr");
  await until(() => parts() === "head,hand_left,hand_right", "head and hands are told");
  const at = await inRoom(page, [1.5, 0.75, 0.5]);
  at[2] += 0.05; // the tip is before a controller
  await move(page, [{ kind: "controllers", side: "right", from: at, to: at }], 0);
  const hand = () =>
    told()
      .at(-1)
      .points.find(({ part }) => part === "hand_right");
  const wanted = [1.5, 0.75, 0.5];
  await until(
    () => Math.hypot(...hand().position_m.map((x, axis) => x - wanted[axis])) < 0.01,
    "the hand is told in the tank's coordinates",
  );
  // Rounded, and looking down at the tank.
  const [head] = told().at(-1).points;
  assertEqual(head.orientation.map((x) => x.toFixed(2)).join(), "-0.30,0.00,0.00,0.96", "the head's turn");
  const { length } = told();
  await move(page, [{ kind: "controllers", side: "right", from: at, to: at }], 0.3);
  assert(told().length <= length + 1, "whoever holds still says nothing");

  const track = (isTracked) =>
    page.evaluate((on) => {
      window.device.controllers.right.connected = on;
    }, isTracked);
  const isTrackedToServer = () =>
    server.received.filter(({ k, side }) => k === "controller" && side === "right").at(-1).tracked;
  await track(false);
  await until(() => parts() === "head,hand_left" && !isTrackedToServer(), "what isn't tracked is let go");
  await track(true);
  await until(() => parts() === "head,hand_left,hand_right" && isTrackedToServer(), "and taken up again");

  await page.evaluate(() => window.device.updateVisibilityState("visible-blurred"));
  await until(() => parts() === "head", "hands that do something else aren't told");
  await page.evaluate(() => window.device.activeSession.end());
  await until(() => parts() === "", "nobody is told of when the session ends");
});

test("the heads and hands of others are drawn in their colour, with a name", async (world) => {
  const points = [
    { part: "head", position_m: [1, 1.3, 0.5], orientation: [0, 1, 0, 0] },
    { part: "hand_left", position_m: [0.5, 1.2, 0.5], orientation: [0, 0, 0, 1] },
    { part: "hand_right", position_m: [1.5, 1.2, 0.5], orientation: [0, 0, 0, 1] },
  ];
  const behave = (message, _socket, send) => {
    if (message.t !== "ping") return false;
    send({ t: "viewers", viewers: [{ viewer_id: 77, name: "Ada", colour: 0x20ff40 }] });
    send({ t: "presences", points: points.map((point) => ({ viewer_id: 77, ...point })) });
    return false;
  };
  const server = await world.fake({ particles: 100, behave });
  const page = await world.watch(`http://127.0.0.1:${server.port}/?quality=points&detail=full&panel=0`, {
    prepare: plugIn,
    context: { viewport: { width: 320, height: 180 } },
  });
  await until(
    () => page.evaluate(() => document.querySelectorAll("#people .person").length === 3),
    "all three are there",
  );
  const names = await page
    .locator("#people .person")
    .evaluateAll((labels) => labels.map((label) => `${label.dataset.part}:${label.textContent}`).sort());
  assertEqual(names, ["hand_left:", "hand_right:", "head:Ada"], "names");
  await bare(page);
  const isGreen = ([red, green, blue]) => green > 50 && green > 1.5 * red && green > 1.5 * blue;
  const flat = await world.pixels(page);
  const count = (picture, [x, y], reach) => {
    let found = 0;
    for (let dy = -reach; dy <= reach; dy++)
      for (let dx = -reach; dx <= reach; dx++)
        if (isGreen(picture.at(Math.round(x) + dx, Math.round(y) + dy))) found++;
    return found;
  };
  for (const { part, position_m } of points) {
    const place = await page.evaluate((point) => window.tarn.project(point), position_m);
    const found = count(flat, place, 6);
    assert(found > (part === "head" ? 12 : 4), `${found} pixels of the ${part} on the page`);
  }

  await enter(page, "immersive-vr");
  await until(() => page.evaluate(() => window.tarn.headset !== null), "the headset is on");
  const worn = await world.pixels(page);
  const { project } = await eyes(page, worn);
  for (const eye of ["left", "right"])
    for (const { part, position_m } of points) {
      const place = project(await inRoom(page, position_m), eye);
      assert(count(worn, place, 5) > 2, `the ${eye} eye doesn't see the ${part}`);
    }
});
