// Spray, foam and bubbles: what waves and splashes leave on, above and in the water. They aren't part of the simulation
// and cost nothing of the stream: the decoding worker makes them of the particles that came.
//
// After Ihmsen, Akinci, Akinci and Teschner, Unified spray, foam and bubbles for particle-based fluids (The Visual
// Computer 28, 2012): fast water gives birth to them where it traps air and at the crests of waves. How much water is
// around one says what it is: spray flies, foam drifts with the surface, a bubble rises. Their sums over neighbours
// within a kernel are sums over the voxels of a grid here (flow-grid.ts).
//
//     frame -> flow grid -> what there is moves, ages, ends -> births, as far as there is room -> the slot
//
// What happens follows from the frames alone. Nothing is allocated after the first frame.
import { AirTraps, potential } from "./air-traps.js";
import { FlowGrid } from "./flow-grid.js";
import { type FrameInfo, SECONDARY_MAX, type SlotViews, topSpeed } from "./frame-info.js";
import { type Obstacle, Obstacles } from "./obstacles.js";

/** Density of the water around one, 1 in the calm: less is spray, more is a bubble, what is between is foam. */
export const SPRAY_BELOW = 0.26;
export const BUBBLE_ABOVE = 0.66;

/** Shares of the tank's top speed: from and up to where the potentials grow. */
const ENERGY_LOW = 0.2;
const ENERGY_HIGH = 0.5;
const TRAPPED_LOW = 0.09;
const TRAPPED_HIGH = 0.26;
/** Births a second of a square metre of water that traps air, at the highest potentials; and at most. Large patches are fewer. */
const TRAPPED_PER_M2_S = 570_000;
const CREST_PER_M2_S = 410_000;
const BIRTHS_PER_M2_S_MAX = 175_000;
/** So many particles of a frame are asked whether they give birth. */
const ASKED = 16384;
/** Top speed of a tank from which on there are so many: small waves trap less, m/s. */
const FOAMY_SPEED = 4;

const LIFE_LOW_S = 0.25;
const LIFE_HIGH_S = 1.9;
/** How fast each of them ages. */
const SPRAY_AGES = 1.4;
const BUBBLE_AGES = 1.2;
/** Comes and goes over so long, seconds. */
const COME_S = 0.07;
const GO_S = 0.8;
/** What is around one counts as it was on average for so long, seconds: nothing flickers between two kinds. */
const WET_S = 0.05;
/** Bubbles: buoyancy in units of gravity, and how soon they go with the water, seconds. */
const BUOYANCY = 1.1;
const DRAG_S = 0.03;
/** Air holds spray back, 1/s. */
const AIR_DRAG = 0.5;
/** How fast foam that left the surface comes back to it, m/s. */
const FLOAT_SPEED = 0.22;
/** A drop that meets a wall keeps so much of its velocity along it. */
const ALONG_WALL = 0.4;

/** Simulated time is walked in steps of at most so long, seconds. */
const STEP_S = 1 / 25;
/**
 * What was before that isn't walked: it ages by it. Who comes sees at once what would be there, had the first frame lasted
 * for so long.
 */
const WALK_S = 0.35;
/** Water is taken to have gone straight for so long before a frame, seconds. */
const STRAIGHT_S = 0.12;

/** Radius of a patch of foam on average, metres; in a large tank this share of its longest edge. */
const FOAM_M = 0.013;
const FOAM_SHARE = 1 / 190;

/** Radius of a patch of foam on average, metres. */
export function foamM({ cells, cellM }: Pick<FrameInfo, "cells" | "cellM">): number {
  return Math.max(FOAM_M, FOAM_SHARE * Math.max(...cells) * cellM);
}

export type SecondaryKind = "spray" | "foam" | "bubble";

/** What one is in water of a density. */
export function kindAt(density: number): SecondaryKind {
  if (density < SPRAY_BELOW) return "spray";
  return density > BUBBLE_ABOVE ? "bubble" : "foam";
}

export class SecondaryParticles {
  /** How many there are. */
  count = 0;
  readonly grid = new FlowGrid();
  private readonly traps = new AirTraps(this.grid);
  private readonly obstacles = new Obstacles();
  readonly x = new Float32Array(SECONDARY_MAX);
  readonly y = new Float32Array(SECONDARY_MAX);
  readonly z = new Float32Array(SECONDARY_MAX);
  readonly vx = new Float32Array(SECONDARY_MAX);
  readonly vy = new Float32Array(SECONDARY_MAX);
  private readonly vz = new Float32Array(SECONDARY_MAX);
  /** Seconds lived and left. */
  private readonly age = new Float32Array(SECONDARY_MAX);
  readonly left = new Float32Array(SECONDARY_MAX);
  /** Density of the water around one. */
  readonly wet = new Float32Array(SECONDARY_MAX);
  private readonly size = new Uint8Array(SECONDARY_MAX);
  /** Of the tank. */
  private readonly tankM: [number, number, number] = [1, 1, 1];
  private epoch = -1;
  private timeS = 0;
  private random = 1;

  /** These solids are in the tank from the next frame on, in place of those before. */
  showObstacles(all: readonly Obstacle[]): void {
    this.obstacles.show(all);
  }

  /**
   * Goes on to a frame, and puts what there is then into the slot. The frame's light is computed.
   * @param room  how many there may be, up to SECONDARY_MAX; 0: none are wanted
   * @return how many there are
   */
  follow(info: FrameInfo, views: SlotViews, room: number): number {
    const most = Math.max(0, Math.min(SECONDARY_MAX, Math.floor(room)));
    const passedS = info.simTimeS - this.timeS;
    const follows = info.epoch === this.epoch && passedS >= 0;
    this.epoch = most > 0 ? info.epoch : -1;
    this.timeS = info.simTimeS;
    if (!follows) this.count = 0;
    this.count = Math.min(this.count, most);
    if (most === 0) return 0;
    for (let axis = 0; axis < 3; axis++) this.tankM[axis] = (info.cells[axis] as number) * info.cellM;
    if (!follows || passedS > 0) {
      this.random = (Math.imul(info.step + 1, 0x9e3779b1) ^ Math.imul(info.epoch + 1, 0x85ebca6b)) | 1;
      this.grid.compute(info, views, follows ? passedS : Number.POSITIVE_INFINITY, this.obstacles);
      const walkedS = follows ? Math.min(passedS, WALK_S) : WALK_S;
      if (follows && passedS > walkedS) this.grow(passedS - walkedS);
      const steps = Math.ceil(walkedS / STEP_S);
      const dt = walkedS / steps;
      for (let i = 1; i <= steps; i++) {
        this.move(info, dt, most);
        this.bear(info, views, { dt, agoS: (steps - i) * dt, most });
      }
    }
    this.pack(info, views);
    return this.count;
  }

  /** All are so much older, where they are. */
  private grow(seconds: number): void {
    for (let i = this.count - 1; i >= 0; i--) {
      this.age[i] = (this.age[i] as number) + seconds;
      this.left[i] = (this.left[i] as number) - seconds;
      if ((this.left[i] as number) <= 0) this.end(i);
    }
  }

  /** Moves all by a step; those whose life is over, or that left the tank, end. */
  private move(info: FrameInfo, dt: number, most: number): void {
    const { grid, x, y, z, vx, vy, vz, age, left, wet } = this;
    const [gx, gy, gz] = info.gravity;
    const gravity = Math.max(1e-6, Math.hypot(gx, gy, gz));
    const [sx, sy, sz] = this.tankM;
    // A full tank ages faster: there is always room for what is new.
    const haste = 1 + 2 * (this.count / most) ** 3;
    const towards = 1 - Math.exp(-dt / WET_S);
    const taken = 1 - Math.exp(-dt / DRAG_S);
    const slowed = Math.exp(-AIR_DRAG * dt);
    const half = 0.5 * dt;
    for (let i = 0; i < this.count; i++) {
      let px = x[i] as number;
      let py = y[i] as number;
      let pz = z[i] as number;
      let ux = vx[i] as number;
      let uy = vy[i] as number;
      let uz = vz[i] as number;
      let w = wet[i] as number;
      // In the middle of its way.
      w += (grid.sample(px + half * ux, py + half * uy, pz + half * uz) - w) * towards;
      let ages = 1;
      if (w < SPRAY_BELOW) {
        ages = SPRAY_AGES;
        ux = ux * slowed + gx * dt;
        uy = uy * slowed + gy * dt;
        uz = uz * slowed + gz * dt;
      } else if (w > BUBBLE_ABOVE) {
        ages = BUBBLE_AGES;
        const rises = -BUOYANCY * DRAG_S * taken;
        ux += (grid.vx - ux) * taken + gx * rises;
        uy += (grid.vy - uy) * taken + gy * rises;
        uz += (grid.vz - uz) * taken + gz * rises;
      } else {
        const middle = 0.5 * (SPRAY_BELOW + BUBBLE_ABOVE);
        const floats = (-FLOAT_SPEED * Math.max(-1, Math.min(1, 4 * (w - middle)))) / gravity;
        ux = grid.vx + gx * floats;
        uy = grid.vy + gy * floats;
        uz = grid.vz + gz * floats;
      }
      px += ux * dt;
      py += uy * dt;
      pz += uz * dt;
      const out = px < 0 || py < 0 || pz < 0 || px > sx || py > sy || pz > sz;
      if (out) {
        ux = px < 0 || px > sx ? 0 : ux * ALONG_WALL;
        uy = py < 0 || py > sy ? 0 : uy * ALONG_WALL;
        uz = pz < 0 || pz > sz ? 0 : uz * ALONG_WALL;
        px = Math.max(0, Math.min(sx, px));
        py = Math.max(0, Math.min(sy, py));
        pz = Math.max(0, Math.min(sz, pz));
        if (w < SPRAY_BELOW) ages *= 6;
      }
      x[i] = px;
      y[i] = py;
      z[i] = pz;
      vx[i] = ux;
      vy[i] = uy;
      vz[i] = uz;
      wet[i] = w;
      age[i] = (age[i] as number) + dt;
      left[i] = (left[i] as number) - dt * ages * haste;
    }
    for (let i = this.count - 1; i >= 0; i--) if ((left[i] as number) <= 0) this.end(i);
  }

  private end(i: number): void {
    const last = --this.count;
    this.x[i] = this.x[last] as number;
    this.y[i] = this.y[last] as number;
    this.z[i] = this.z[last] as number;
    this.vx[i] = this.vx[last] as number;
    this.vy[i] = this.vy[last] as number;
    this.vz[i] = this.vz[last] as number;
    this.age[i] = this.age[last] as number;
    this.left[i] = this.left[last] as number;
    this.wet[i] = this.wet[last] as number;
    this.size[i] = this.size[last] as number;
  }

  /**
   * Asks some of the particles, others each time, how many they gave birth to in a step.
   * @param agoS  when the step ended, before the frame: the water was as much farther back
   */
  private bear(
    info: FrameInfo,
    views: SlotViews,
    { dt, agoS, most }: { dt: number; agoS: number; most: number },
  ): void {
    const { particleCount, particlesTotal, unitBits, cellM, velocityScale: scale } = info;
    const { positions, velocities } = views;
    const { traps } = this;
    const { dims, voxelM, fullWithUnsent } = this.grid;
    const top = topSpeed(info);
    const energyLow = 0.5 * (ENERGY_LOW * top) ** 2;
    const energyHigh = 0.5 * (ENERGY_HIGH * top) ** 2;
    const stride = Math.max(1, Math.ceil(particleCount / ASKED));
    const quantum = cellM / 2 ** unitBits;
    const perVoxel = quantum / voxelM;
    const backS = Math.min(agoS, STRAIGHT_S);
    const foamy = Math.min(1, (top / FOAMY_SPEED) ** 2);
    // A particle's share of the surface, with those that it stands for: they aren't asked or weren't sent.
    const larger = (foamM(info) / FOAM_M) ** 2;
    const areaM2 =
      (voxelM ** 2 / (larger * fullWithUnsent)) * stride * (particlesTotal / Math.max(1, particleCount));
    // Particles lie in the order of their places: who is asked first, and finds room, is another one each time.
    const asked = Math.floor(particleCount / stride);
    const first = Math.floor(this.draw() * stride);
    const begin = Math.floor(this.draw() * asked);
    const room = 1 - (this.count / most) ** 2;
    for (let n = 0; n < asked && this.count < most; n++) {
      const at = 4 * (first + stride * ((begin + n) % asked));
      const ux = (velocities[at] as number) * scale;
      const uy = (velocities[at + 1] as number) * scale;
      const uz = (velocities[at + 2] as number) * scale;
      const energy = potential(0.5 * (ux * ux + uy * uy + uz * uz), energyLow, energyHigh);
      if (energy === 0) continue;
      const ix = Math.min(dims[0] - 1, Math.floor((positions[at] as number) * perVoxel));
      const iy = Math.min(dims[1] - 1, Math.floor((positions[at + 1] as number) * perVoxel));
      const iz = Math.min(dims[2] - 1, Math.floor((positions[at + 2] as number) * perVoxel));
      const open = traps.openAt(ix, iy, iz);
      if (open === 0) continue;
      const trapped = potential(traps.closingAt(ix, iy, iz, ux, uy, uz) / top, TRAPPED_LOW, TRAPPED_HIGH);
      const crest = traps.crestAt(ix, iy, iz, ux, uy, uz);
      const strength = energy * open;
      const perM2 = strength * (TRAPPED_PER_M2_S * trapped + CREST_PER_M2_S * crest) * foamy * room;
      let births = Math.floor(Math.min(BIRTHS_PER_M2_S_MAX, perM2) * areaM2 * dt + this.draw());
      if (births === 0) continue;
      const px = ((positions[at] as number) + 0.5) * quantum - backS * ux;
      const py = ((positions[at + 1] as number) + 0.5) * quantum - backS * uy;
      const pz = ((positions[at + 2] as number) + 0.5) * quantum - backS * uz;
      const lasting = Math.sqrt(Math.min(1, strength * (trapped + crest)));
      const life = LIFE_LOW_S + (LIFE_HIGH_S - LIFE_LOW_S) * lasting;
      for (; births > 0 && this.count < most; births--) this.add(px, py, pz, ux, uy, uz, dt, life);
    }
  }

  /** Puts one into the ball of water around a place, born some time in a step that ends now. */
  private add(
    px: number,
    py: number,
    pz: number,
    ux: number,
    uy: number,
    uz: number,
    dt: number,
    life: number,
  ): void {
    const i = this.count++;
    const radius = 0.9 * this.grid.voxelM * Math.cbrt(this.draw());
    const angle = 2 * Math.PI * this.draw();
    const up = 2 * this.draw() - 1;
    const across = radius * Math.sqrt(1 - up * up);
    const [ox, oy, oz] = [across * Math.cos(angle), radius * up, across * Math.sin(angle)];
    this.x[i] = Math.max(0, Math.min(this.tankM[0], px + ox));
    this.y[i] = Math.max(0, Math.min(this.tankM[1], py + oy));
    this.z[i] = Math.max(0, Math.min(this.tankM[2], pz + oz));
    // What is farther out goes away from the middle, a little.
    this.vx[i] = ux + 3 * ox;
    this.vy[i] = uy + 3 * oy;
    this.vz[i] = uz + 3 * oz;
    this.age[i] = dt * this.draw();
    this.left[i] = life * (0.35 + 0.65 * this.draw());
    this.wet[i] = this.grid.sample(this.x[i] as number, this.y[i] as number, this.z[i] as number);
    // Many small ones, few large ones.
    this.size[i] = 255 * this.draw() ** 2.2;
  }

  private pack(info: FrameInfo, { secondaryPlaces: places, secondaryMotions: motions }: SlotViews): void {
    const longest = Math.max(this.tankM[0], this.tankM[1], this.tankM[2]);
    const perM = 65535 / longest;
    const perSpeed = 1 / Math.max(1e-9, info.velocityScale);
    const { count, x, y, z, vx, vy, vz, wet, size, age, left } = this;
    for (let i = 0, at = 0; i < count; i++, at += 4) {
      places[at] = (x[i] as number) * perM;
      places[at + 1] = (y[i] as number) * perM;
      places[at + 2] = (z[i] as number) * perM;
      places[at + 3] = (size[i] as number) | (Math.min(255, 255 * (wet[i] as number)) << 8);
      motions[at] = toByte((vx[i] as number) * perSpeed);
      motions[at + 1] = toByte((vy[i] as number) * perSpeed);
      motions[at + 2] = toByte((vz[i] as number) * perSpeed);
      motions[at + 3] = 127 * Math.min(1, (age[i] as number) / COME_S, (left[i] as number) / GO_S);
    }
  }

  /** 0..1. */
  private draw(): number {
    let r = this.random;
    r ^= r << 13;
    r ^= r >>> 17;
    r ^= r << 5;
    this.random = r;
    return (r >>> 0) / 2 ** 32;
  }
}

function toByte(value: number): number {
  return Math.max(-127, Math.min(127, Math.round(value)));
}
