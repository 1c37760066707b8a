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
import { FlowGrid } from "./flow-grid.js";
import { type FrameInfo, SECONDARY_MAX, type SlotViews, topSpeed } from "./frame-info.js";

/** Density of the water around one, 1 in the calm: less is spray, more is a bubble, what is between is foam. */
export const SPRAY_BELOW = 0.26;
export const BUBBLE_ABOVE = 0.66;

/** Shares of the tank's top speed: from and up to where the potentials grow. */
const ENERGY_LOW = 0.2;
const ENERGY_HIGH = 0.5;
const TRAPPED_LOW = 0.09;
const TRAPPED_HIGH = 0.26;
/** How much the surface turns from a voxel to those beside it, and the least slope of the density that is a surface. */
const CREST_LOW = 0.35;
const CREST_HIGH = 1.4;
const SLOPE_MIN = 0.22;
/** The surface goes where the water does: cosine of the angle between. */
const CREST_COSINE = 0.6;
/** Share of what is around a particle that is air: where less is, none is trapped. */
const OPEN_LOW = 0.1;
const OPEN_HIGH = 0.3;
/** Births a second of a voxel's eighth, at the highest potentials. */
const TRAPPED_PER_S = 70;
const CREST_PER_S = 50;
/** So many particles of a frame are asked whether they give birth. */
const ASKED = 16384;
/** Top speed of a tank from which on there are so many: small waves trap less, m/s. */
const FOAMY_SPEED = 4;
const BIRTHS_EACH_MAX = 5;

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

/** Simulated time is walked in steps of at most so long; frames farther apart begin afresh, seconds. */
const STEP_S = 1 / 25;
const GAP_S = 0.3;
/** Who comes sees at once what would be there, had the first frame lasted so long. */
const BEFORE_S = 0.35;

export type SecondaryKind = "spray" | "foam" | "bubble";

/** What one is in water of a density. */
export function kindAt(density: number): SecondaryKind {
  if (density < SPRAY_BELOW) return "spray";
  return density > BUBBLE_ABOVE ? "bubble" : "foam";
}

/** How far a value is between two others, 0..1: the paper's clamping function. */
export function potential(value: number, low: number, high: number): number {
  return Math.max(0, Math.min(1, (value - low) / (high - low)));
}

export class SecondaryParticles {
  /** How many there are. */
  count = 0;
  readonly grid = new FlowGrid();
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
  private readonly normal = new Float32Array(3);
  private readonly otherNormal = new Float32Array(3);
  /** Of the tank. */
  private readonly tankM: [number, number, number] = [1, 1, 1];
  private epoch = -1;
  private timeS = 0;
  private random = 1;

  /**
   * Goes on to a frame, and puts what there is then into the slot. The frame's light is computed.
   * @param room  how many there may be, up to SECONDARY_MAX; 0: none are wanted
   * @return how many there are
   */
  follow(info: FrameInfo, views: SlotViews, room: number): number {
    const most = Math.max(0, Math.min(SECONDARY_MAX, Math.floor(room)));
    const passedS = info.simTimeS - this.timeS;
    const follows = info.epoch === this.epoch && passedS >= 0 && passedS <= GAP_S;
    this.epoch = most > 0 ? info.epoch : -1;
    this.timeS = info.simTimeS;
    if (!follows) this.count = 0;
    this.count = Math.min(this.count, most);
    if (most === 0) return 0;
    for (let axis = 0; axis < 3; axis++) this.tankM[axis] = (info.cells[axis] as number) * info.cellM;
    if (!follows || passedS > 0) {
      this.random = (Math.imul(info.step + 1, 0x9e3779b1) ^ Math.imul(info.epoch + 1, 0x85ebca6b)) | 1;
      this.grid.compute(info, views, follows ? passedS : Number.POSITIVE_INFINITY);
      const walkedS = follows ? passedS : BEFORE_S;
      const steps = Math.ceil(walkedS / STEP_S);
      for (let i = 0; i < steps; i++) {
        this.move(info, walkedS / steps, most);
        this.bear(info, views, walkedS / steps, most);
      }
    }
    this.pack(info, views);
    return this.count;
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

  /** Asks some of the particles, others each time, how many they give birth to. */
  private bear(info: FrameInfo, views: SlotViews, dt: number, most: number): void {
    const { particleCount, particlesTotal, unitBits, cellM, velocityScale: scale } = info;
    const { positions, velocities } = views;
    const { dims, voxelM } = this.grid;
    const top = topSpeed(info);
    const energyLow = 0.5 * (ENERGY_LOW * top) ** 2;
    const energyHigh = 0.5 * (ENERGY_HIGH * top) ** 2;
    const stride = Math.max(1, Math.ceil(particleCount / ASKED));
    const quantum = cellM / 2 ** unitBits;
    const perVoxel = quantum / voxelM;
    const foamy = Math.min(1, (top / FOAMY_SPEED) ** 2);
    // A particle stands for those that aren't asked or weren't sent; and where a voxel has more of them, for less water.
    const each =
      (foamy * dt * stride * particlesTotal * 8) / Math.max(1, particleCount * Math.max(1, info.crowding));
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
      const open = this.openAt(ix, iy, iz);
      if (open === 0) continue;
      const trapped = potential(this.closingAt(ix, iy, iz, ux, uy, uz) / top, TRAPPED_LOW, TRAPPED_HIGH);
      const crest = this.crestAt(ix, iy, iz, ux, uy, uz);
      const strength = energy * open;
      const wanted = strength * (TRAPPED_PER_S * trapped + CREST_PER_S * crest) * each * room;
      let births = Math.min(BIRTHS_EACH_MAX, Math.floor(wanted + this.draw()));
      if (births === 0) continue;
      const px = ((positions[at] as number) + 0.5) * quantum;
      const py = ((positions[at + 1] as number) + 0.5) * quantum;
      const pz = ((positions[at + 2] as number) + 0.5) * quantum;
      const lasting = Math.sqrt(Math.min(1, strength * (trapped + crest)));
      const life = LIFE_LOW_S + (LIFE_HIGH_S - LIFE_LOW_S) * lasting;
      for (; births > 0 && this.count < most; births--) this.add(px, py, pz, ux, uy, uz, dt, life);
    }
  }

  /** How open it is around a voxel: 0 deep in the water, where there is no air. */
  private openAt(ix: number, iy: number, iz: number): number {
    const { sums, full, dims } = this.grid;
    const nx = dims[0];
    const ny = dims[1];
    const nz = dims[2];
    const here = 4 * (ix + nx * (iy + ny * iz)) + 3;
    let sum = Math.min(full, sums[here] as number);
    let places = 1;
    for (let side = 0; side < 6; side++) {
      const to = (side & 1) * 2 - 1;
      const i = (side < 2 ? ix : side < 4 ? iy : iz) + to;
      if (i < 0 || i >= (side < 2 ? nx : side < 4 ? ny : nz)) continue;
      const at = here + 4 * to * (side < 2 ? 1 : side < 4 ? nx : nx * ny);
      sum += Math.min(full, sums[at] as number);
      places++;
    }
    return potential(1 - sum / (places * full), OPEN_LOW, OPEN_HIGH);
  }

  /** How fast what is around a voxel comes towards a particle in it, m/s: the faster, the more air is trapped between. */
  private closingAt(ix: number, iy: number, iz: number, ux: number, uy: number, uz: number): number {
    const { sums, full, dims, scale } = this.grid;
    const nx = dims[0];
    const ny = dims[1];
    const nz = dims[2];
    const here = 4 * (ix + nx * (iy + ny * iz));
    let sum = 0;
    let weights = 0;
    for (let side = -1; side < 6; side++) {
      const to = (side & 1) * 2 - 1;
      let at = here;
      if (side >= 0) {
        const i = (side < 2 ? ix : side < 4 ? iy : iz) + to;
        if (i < 0 || i >= (side < 2 ? nx : side < 4 ? ny : nz)) continue;
        at += 4 * to * (side < 2 ? 1 : side < 4 ? nx : nx * ny);
      }
      const count = sums[at + 3] as number;
      if (count === 0) continue;
      const speed = scale / count;
      const dx = ux - (sums[at] as number) * speed;
      const dy = uy - (sums[at + 1] as number) * speed;
      const dz = uz - (sums[at + 2] as number) * speed;
      // The direction from the other voxel to this one is against the axis.
      const towards = side < 0 ? 0 : to * (side < 2 ? dx : side < 4 ? dy : dz);
      const weight = Math.min(1, count / full);
      sum += weight * (Math.sqrt(dx * dx + dy * dy + dz * dz) + towards);
      weights += weight;
    }
    // A drop by itself traps nothing.
    return weights > 0 ? (sum / weights) * Math.min(1, weights) : 0;
  }

  /** 0..1: whether the surface in a voxel is a crest that goes where it faces. */
  private crestAt(ix: number, iy: number, iz: number, ux: number, uy: number, uz: number): number {
    const { normal, otherNormal } = this;
    if (this.outwardAt(ix, iy, iz, normal) < SLOPE_MIN) return 0;
    const nx = normal[0] as number;
    const ny = normal[1] as number;
    const nz = normal[2] as number;
    const speed = Math.sqrt(ux * ux + uy * uy + uz * uz);
    if (nx * ux + ny * uy + nz * uz < CREST_COSINE * speed) return 0;
    let turns = 0;
    for (let side = 0; side < 6; side++) {
      const to = (side & 1) * 2 - 1;
      // Only what lies below this place of the surface: it bulges then.
      if (to * (side < 2 ? nx : side < 4 ? ny : nz) > 0) continue;
      const dx = side < 2 ? to : 0;
      const dy = side >= 2 && side < 4 ? to : 0;
      const dz = side >= 4 ? to : 0;
      if (this.outwardAt(ix + dx, iy + dy, iz + dz, otherNormal) < SLOPE_MIN) continue;
      turns +=
        1 -
        (nx * (otherNormal[0] as number) + ny * (otherNormal[1] as number) + nz * (otherNormal[2] as number));
    }
    return potential(turns, CREST_LOW, CREST_HIGH);
  }

  /** The surface's direction in a voxel, of length 1, into `into`. @return how much the density falls across it */
  private outwardAt(ix: number, iy: number, iz: number, into: Float32Array): number {
    const { sums, full, dims } = this.grid;
    const nx = dims[0];
    const ny = dims[1];
    const nz = dims[2];
    const cx = Math.max(0, Math.min(nx - 1, ix));
    const cy = Math.max(0, Math.min(ny - 1, iy));
    const cz = Math.max(0, Math.min(nz - 1, iz));
    const here = 4 * (cx + nx * (cy + ny * cz)) + 3;
    const [sy, sz] = [4 * nx, 4 * nx * ny];
    const x = (sums[here - (cx > 0 ? 4 : 0)] as number) - (sums[here + (cx < nx - 1 ? 4 : 0)] as number);
    const y = (sums[here - (cy > 0 ? sy : 0)] as number) - (sums[here + (cy < ny - 1 ? sy : 0)] as number);
    const z = (sums[here - (cz > 0 ? sz : 0)] as number) - (sums[here + (cz < nz - 1 ? sz : 0)] as number);
    const length = Math.sqrt(x * x + y * y + z * z);
    const scale = length > 0 ? 1 / length : 0;
    into[0] = x * scale;
    into[1] = y * scale;
    into[2] = z * scale;
    return length / (2 * full);
  }

  /** Puts one into the cylinder that a particle sweeps in a step. */
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
    const speed = Math.hypot(ux, uy, uz);
    const radius = 0.9 * this.grid.voxelM * Math.sqrt(this.draw());
    const angle = 2 * Math.PI * this.draw();
    const along = this.draw() * dt;
    // Two directions across the velocity.
    const [dx, dy, dz] = [ux / speed, uy / speed, uz / speed];
    let [ax, ay, az] = Math.abs(dy) < 0.9 ? [dz, 0, -dx] : [0, -dz, dy];
    const length = Math.hypot(ax, ay, az);
    [ax, ay, az] = [ax / length, ay / length, az / length];
    const [bx, by, bz] = [dy * az - dz * ay, dz * ax - dx * az, dx * ay - dy * ax];
    const [ca, cb] = [radius * Math.cos(angle), radius * Math.sin(angle)];
    const [ox, oy, oz] = [ca * ax + cb * bx, ca * ay + cb * by, ca * az + cb * bz];
    this.x[i] = Math.max(0, Math.min(this.tankM[0], px + ox + along * ux));
    this.y[i] = Math.max(0, Math.min(this.tankM[1], py + oy + along * uy));
    this.z[i] = Math.max(0, Math.min(this.tankM[2], pz + oz + along * uz));
    // What is farther out goes away from the middle, a little.
    this.vx[i] = ux + 3 * ox;
    this.vy[i] = uy + 3 * oy;
    this.vz[i] = uz + 3 * oz;
    this.age[i] = 0;
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
