import { expect, test } from "vitest";
import { potential } from "../src/codec/air-traps.js";
import { type FrameInfo, type SlotViews, slotBytes, slotViews, topSpeed } from "../src/codec/frame-info.js";
import type { Obstacle } from "../src/codec/obstacles.js";
import { BUBBLE_ABOVE, kindAt, SecondaryParticles, SPRAY_BELOW } from "../src/codec/secondary-particles.js";
import { SECONDARY_ROOM } from "../src/state/quality.js";

type Vec = readonly [x: number, y: number, z: number];
interface Water {
  /** Whether a place, in cells, is in the water. */
  has(x: number, y: number, z: number): boolean;
  /** m/s there. */
  velocity(x: number, y: number, z: number): Vec;
  /** Of the particles, one in so many is at hand. */
  oneIn?: number;
}

const CELLS: [number, number, number] = [32, 24, 16];
const CELL_M = 0.05;
const UNIT_BITS = 6;
const SCALE = 0.05;
const FRAME_S = 1 / 30;
const ROOM = 5000;
const GRAVITY: [number, number, number] = [0, -9.81, 0];
/** Of a tank that high. */
const TOP = topSpeed({ gravity: GRAVITY, cells: CELLS, cellM: CELL_M });
const STILL: Vec = [0, 0, 0];

/** A tank's frames, one after the other: eight particles in each cell of water. */
class Frames {
  readonly views: SlotViews;
  readonly secondary = new SecondaryParticles();
  info = { epoch: 1, step: 0, simTimeS: 0, bodyCount: 0 } as FrameInfo;

  /** @param finer  cells of the same tank where there would be one along each axis */
  constructor(private readonly finer = 1) {
    this.views = slotViews(new ArrayBuffer(slotBytes(CELLS[0] * CELLS[1] * CELLS[2] * 8 * finer ** 3)));
  }

  /** @return how many there are after so many frames of this water */
  show(water: Water, { frames = 1, room = ROOM, passedS = FRAME_S } = {}): number {
    const count = this.fill(water);
    for (let i = 0; i < frames; i++) {
      this.info = {
        ...this.info,
        step: this.info.step + 2,
        simTimeS: this.info.simTimeS + passedS,
        particleCount: count,
        particlesTotal: count * (water.oneIn ?? 1),
        unitBits: UNIT_BITS,
        cells: CELLS.map((n) => n * this.finer) as [number, number, number],
        cellM: CELL_M / this.finer,
        gravity: GRAVITY,
        velocityScale: SCALE,
        crowding: 8,
      };
      this.secondary.follow(this.info, this.views, room);
    }
    return this.secondary.count;
  }

  private fill(water: Water): number {
    const { positions, velocities } = this.views;
    const oneIn = water.oneIn ?? 1;
    const apart = 0.5 / this.finer;
    const quanta = this.finer * 2 ** UNIT_BITS;
    let seen = 0;
    let count = 0;
    for (let z = 0.5 * apart; z < CELLS[2]; z += apart)
      for (let y = 0.5 * apart; y < CELLS[1]; y += apart)
        for (let x = 0.5 * apart; x < CELLS[0]; x += apart) {
          if (!water.has(x, y, z) || seen++ % oneIn !== 0) continue;
          positions.set([x * quanta, y * quanta, z * quanta, 0], 4 * count);
          velocities.set([...water.velocity(x, y, z).map((v) => v / SCALE), 0], 4 * count);
          count++;
        }
    return count;
  }

  /** Mean of what is packed for the kinds asked, m/s and metres. */
  mean(kind: string): { count: number; velocity: number[]; y: number } {
    const { secondary, views } = this;
    const mean = { count: 0, velocity: [0, 0, 0], y: 0 };
    for (let i = 0; i < secondary.count; i++) {
      if (kindAt(secondary.wet[i] as number) !== kind) continue;
      mean.count++;
      mean.y += secondary.y[i] as number;
      for (let axis = 0; axis < 3; axis++)
        mean.velocity[axis] =
          (mean.velocity[axis] as number) + SCALE * (views.secondaryMotions[4 * i + axis] as number);
    }
    mean.velocity = mean.velocity.map((sum) => sum / mean.count);
    mean.y /= mean.count;
    return mean;
  }
}

const pool = (_x: number, y: number): boolean => y < 8;
const full = (): boolean => true;
const nothing: Water = { has: () => false, velocity: () => STILL };
const still: Water = { has: pool, velocity: () => STILL };
/** Two halves of a pool that run into each other. */
const clash: Water = { has: pool, velocity: (x) => [(x < 16 ? 0.5 : -0.5) * TOP, 0, 0] };
/** A ridge on the pool that goes in a direction. */
const ridge = (velocity: Vec): Water => ({
  has: (x, y) => y < 8 || (Math.abs(x - 16) < 2 && y < 12),
  velocity: (_x, y) => (y < 8 ? STILL : velocity),
});

test("what one is follows from the density around it", () => {
  expect([0, SPRAY_BELOW - 0.01].map(kindAt)).toEqual(["spray", "spray"]);
  expect([SPRAY_BELOW + 0.01, 0.5, BUBBLE_ABOVE - 0.01].map(kindAt)).toEqual(["foam", "foam", "foam"]);
  expect([BUBBLE_ABOVE + 0.01, 1, 2].map(kindAt)).toEqual(["bubble", "bubble", "bubble"]);
});

test("a potential grows from one value to another and stays within 0 and 1", () => {
  expect([1, 2, 3, 4, 9].map((value) => potential(value, 2, 4))).toEqual([0, 0, 0.5, 1, 1]);
});

test("a still pool has none, and one that moves as a whole slowly has none", () => {
  expect(new Frames().show(still, { frames: 30 })).toBe(0);
  const slow: Water = { has: pool, velocity: (x) => [(x < 16 ? 0.1 : -0.1) * TOP, 0, 0] };
  expect(new Frames().show(slow, { frames: 30 })).toBe(0);
});

test("waters that run into each other trap air, those that part don't", () => {
  const born = new Frames().show(clash, { frames: 8 });
  expect(born).toBeGreaterThan(100);
  const parting: Water = { has: pool, velocity: (x) => [(x < 16 ? -0.5 : 0.5) * TOP, 0, 0] };
  expect(new Frames().show(parting, { frames: 8 })).toBeLessThan(0.2 * born);
});

test("deep in the water there is no air to be trapped", () => {
  const deep: Water = { has: full, velocity: clash.velocity };
  expect(new Frames().show(deep, { frames: 8 })).toBe(0);
});

test("a crest that goes where it faces gives birth, one that goes along itself hardly does", () => {
  // Its foot shears over the pool, and traps air there: only what is at the top counts.
  const above = (velocity: Vec): number => {
    const frames = new Frames();
    frames.show(ridge(velocity), { frames: 6 });
    const { count, y } = frames.secondary;
    return y.subarray(0, count).filter((height) => height > 10.5 * CELL_M).length;
  };
  const rising = above([0, 0.4 * TOP, 0]);
  expect(rising).toBeGreaterThan(40);
  expect(above([0, 0, 0.4 * TOP])).toBeLessThan(0.3 * rising);
});

test("as many are born in a second whether frames come often or seldom", () => {
  const after = (frames: number, passedS: number): number => {
    const shown = new Frames();
    shown.show(still);
    return shown.show(clash, { frames, passedS, room: 20_000 });
  };
  const often = after(12, 1 / 60);
  expect(often).toBeGreaterThan(100);
  expect(Math.abs(after(6, 1 / 30) / often - 1)).toBeLessThan(0.2);
  expect(Math.abs(after(2, 1 / 10) / often - 1)).toBeLessThan(0.2);
});

test("as many are born on a square metre whether the cells are coarse or fine", () => {
  const coarse = new Frames(1).show(clash, { frames: 4, room: 20_000 });
  const fine = new Frames(2).show(clash, { frames: 4, room: 20_000 });
  expect(coarse).toBeGreaterThan(100);
  expect(fine / coarse).toBeGreaterThan(0.6);
  expect(fine / coarse).toBeLessThan(1.6);
});

test("who is born between two frames that are far apart lies along the water's way, not all before it", () => {
  const frames = new Frames();
  const rising: Water = ridge([0, 0.5 * TOP, 0]);
  frames.show(still);
  frames.show(rising, { passedS: 0.2 });
  const { count, y } = frames.secondary;
  const above = y.subarray(0, count).filter((height) => height > 13 * CELL_M).length;
  expect(count).toBeGreaterThan(40);
  expect(above).toBeLessThan(0.1 * count);
});

test("a frame that comes late keeps the foam that there was, as much older as it is later", () => {
  const frames = new Frames();
  const born = frames.show(clash, { frames: 8 });
  const kept = frames.show(still, { passedS: 0.5 });
  expect(kept).toBeGreaterThan(0.1 * born);
  expect(kept).toBeLessThan(0.9 * born);
  expect(frames.show(still, { passedS: 3 })).toBe(0);
});

test("a solid deep in the water is no air: nothing is trapped beside it", () => {
  const pillar: Obstacle = {
    body: -1,
    kind: "box",
    half: [2 * CELL_M, 12 * CELL_M, 2 * CELL_M],
    middle: [0, 0, 0],
    inverted: false,
    position: [16 * CELL_M, 12 * CELL_M, 8 * CELL_M],
    rotation: [0, 0, 0, 1],
    rows: [],
  };
  const isPillar = (x: number, z: number): boolean => Math.abs(x - 16) < 2 && Math.abs(z - 8) < 2;
  const around: Water = {
    has: (x, _y, z) => !isPillar(x, z),
    velocity: (x, _y, z) => [(x < 16 ? 0.5 : -0.5) * TOP, 0, (z < 8 ? 0.3 : -0.3) * TOP],
  };
  expect(new Frames().show(around, { frames: 8 })).toBeGreaterThan(50);
  const known = new Frames();
  known.secondary.showObstacles([pillar]);
  expect(known.show(around, { frames: 8 })).toBe(0);
  const moves = new Frames();
  moves.secondary.showObstacles([{ ...pillar, body: 3, position: [0, 0, 0] }]);
  moves.info.bodyCount = 1;
  moves.views.bodies.set([3, ...pillar.position, ...pillar.rotation]);
  expect(moves.show(around, { frames: 8 })).toBe(0);
});

test("the faster, the more: what is slower than the least energy gives none", () => {
  const clashAt = (share: number): number =>
    new Frames().show({ has: pool, velocity: (x) => [(x < 16 ? share : -share) * TOP, 0, 0] }, { frames: 8 });
  expect(clashAt(0.15)).toBe(0);
  const [slow, fast] = [clashAt(0.3), clashAt(0.5)];
  expect(slow).toBeGreaterThan(0);
  expect(fast).toBeGreaterThan(1.5 * slow);
});

test("spray flies: it falls as gravity has it, and goes on sideways", () => {
  const frames = new Frames();
  const { secondary } = frames;
  frames.show(ridge([0.3 * TOP, 0.4 * TOP, 0]), { frames: 4 });
  frames.show(nothing, { frames: 6 }); // it takes a moment until it is noticed that no water is around
  const before = { count: secondary.count, vx: secondary.vx.slice(), vy: secondary.vy.slice() };
  expect(frames.mean("spray").count).toBeGreaterThan(20);
  frames.show(nothing, { frames: 3 });
  const change = (now: ArrayLike<number>, then: ArrayLike<number>): number => {
    const all = Array.from({ length: secondary.count }, (_, i) => (now[i] as number) - (then[i] as number));
    return all.sort((a, b) => a - b)[all.length >> 1] as number; // a few came to a wall
  };
  expect(secondary.count).toBeGreaterThan(0.5 * before.count);
  const free = -9.81 * 3 * FRAME_S;
  expect(Math.abs(change(secondary.vy, before.vy) / free - 1)).toBeLessThan(0.1);
  expect(Math.abs(change(secondary.vx, before.vx))).toBeLessThan(0.1 * Math.abs(free));
  expect(frames.mean("foam").count + frames.mean("bubble").count).toBe(0);
});

test("foam goes with the water", () => {
  const frames = new Frames();
  frames.show(clash, { frames: 8 });
  const flows: Water = { has: pool, velocity: () => [0, 0, 8 * SCALE] };
  frames.show(flows, { frames: 3 });
  const { count, velocity } = frames.mean("foam");
  expect(count).toBeGreaterThan(20);
  expect(velocity[0]).toBeCloseTo(0, 1);
  expect(Math.abs((velocity[2] as number) - 8 * SCALE)).toBeLessThan(SCALE);
});

test("bubbles rise", () => {
  const frames = new Frames();
  frames.show(clash, { frames: 8 });
  const deep: Water = { has: full, velocity: () => STILL };
  frames.show(deep, { frames: 4 });
  const before = frames.mean("bubble");
  expect(before.count).toBeGreaterThan(50);
  expect(before.velocity[1]).toBeGreaterThan(0.1);
  expect(before.velocity[1]).toBeLessThan(0.6);
});

test("each lives for a while: in calm water all have gone after some seconds, and they fade", () => {
  const frames = new Frames();
  const born = frames.show(clash, { frames: 8 });
  expect(frames.show(still, { frames: 5 })).toBeGreaterThan(0.3 * born);
  expect(frames.show(still, { frames: 150 })).toBe(0);
  const other = new Frames();
  other.show(clash, { frames: 8 });
  const shown = (): number[] =>
    Array.from(
      { length: other.secondary.count },
      (_, i) => other.views.secondaryMotions[4 * i + 3] as number,
    );
  expect(Math.max(...shown())).toBe(127);
  other.show(still, { frames: 30 });
  expect(Math.min(...shown())).toBeLessThan(60);
});

test("there are never more than there is room for, and room that gets less is kept to at once", () => {
  const frames = new Frames();
  for (let i = 0; i < 60; i++) expect(frames.show(clash, { room: 400 })).toBeLessThanOrEqual(400);
  expect(frames.secondary.count).toBeGreaterThan(250);
  expect(frames.show(clash, { room: 100 })).toBeLessThanOrEqual(100);
  expect(frames.show(clash, { room: 0 })).toBe(0);
  expect(Object.values(SECONDARY_ROOM)).toEqual([0, 6144, 12288, 24576]);
});

test("the same frames give the same, to the last bit; a paused tank's stay as they are", () => {
  const bytes = (): Uint8Array => {
    const frames = new Frames();
    const count = frames.show(clash, { frames: 12 });
    const { secondaryPlaces, secondaryMotions } = frames.views;
    const taken = (): Uint8Array =>
      Uint8Array.from([
        ...new Uint8Array(secondaryPlaces.slice(0, 4 * count).buffer),
        ...new Uint8Array(secondaryMotions.slice(0, 4 * count).buffer),
      ]);
    const before = taken();
    expect(frames.show(clash, { frames: 3, passedS: 0 })).toBe(count);
    expect(Buffer.compare(taken(), before)).toBe(0);
    return before;
  };
  expect(Buffer.compare(bytes(), bytes())).toBe(0);
});

test("a tank that starts afresh has none of before; who comes to a splash sees it with some", () => {
  const frames = new Frames();
  frames.show(clash, { frames: 8 });
  frames.info.epoch++;
  expect(frames.show(still)).toBe(0);
  expect(frames.show(clash, { passedS: 5 })).toBeGreaterThan(50);
  expect(new Frames().show(clash)).toBeGreaterThan(50);
});

test("where layers were cut off there are about as many", () => {
  const all = new Frames().show(clash, { frames: 6 });
  const some = new Frames().show({ ...clash, oneIn: 2 }, { frames: 6 });
  expect(some).toBeGreaterThan(0.5 * all);
  expect(some).toBeLessThan(2 * all);
});

test("none leaves the tank, and what is packed says where it is", () => {
  const frames = new Frames();
  const size = CELLS.map((n) => n * CELL_M);
  const up: Water = { has: pool, velocity: (x) => [(x < 16 ? 0.6 : -0.6) * TOP, 0.5 * TOP, 0.2 * TOP] };
  const out: number[][] = [];
  const off: number[] = [];
  for (let i = 0; i < 20; i++) {
    frames.show(up);
    const { secondary, views } = frames;
    for (let at = 0; at < secondary.count; at++) {
      const place = [secondary.x[at], secondary.y[at], secondary.z[at]] as number[];
      if (place.some((x, axis) => x < 0 || x > (size[axis] as number) + 1e-6)) out.push(place);
      const packed = [...views.secondaryPlaces.subarray(4 * at, 4 * at + 3)];
      off.push(
        ...packed.map((x, axis) => Math.abs((x * Math.max(...size)) / 65535 - (place[axis] as number))),
      );
    }
  }
  expect(off.length).toBeGreaterThan(1000);
  expect(out).toEqual([]);
  expect(off.reduce((most, x) => Math.max(most, x), 0)).toBeLessThan(1e-4);
});
