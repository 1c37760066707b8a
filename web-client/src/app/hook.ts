// `window.tarn`: what the page has decoded, for embedding, debugging and the browser tests. Read-only.

import type { PanelButton } from "../xr/panel-layout.js";
import type { App } from "./app.js";

export interface Fingerprint {
  epoch: number;
  step: number;
  hash: string;
}

export interface FrameSample extends Fingerprint {
  /** key, base or extra */
  kind: string;
  particles: number;
  /** Mean velocity of the particles, m/s: their momentum for each kilogram. */
  meanVelocity: [number, number, number];
  ownSequence: number;
}

export interface HeadsetSample {
  /** immersive-vr or immersive-ar */
  mode: string;
  /** Where the tank's middle stands in the room, its turn about the vertical and its scale. */
  position: number[];
  yaw: number;
  scale: number;
  /** The tank's tilt as it is drawn, x y z w. */
  tilt: number[];
  /** A place in the room, metres, of a point of the tank. */
  inRoom(point: readonly number[]): number[];
  /** Middle of a button of the wrist panel in the room; null while the panel isn't shown. */
  button(name: PanelButton): number[] | null;
  /** What it says of what is measured. */
  lines: readonly string[];
}

export interface CameraSample {
  /** Looked at so far. */
  pictures: number;
  /** What the newest ones took the page's own thread, ms; and the worker, of the newest. */
  ownMs: number[];
  workMs: number;
}

/** What is shown of the flow. */
export interface InsightSample {
  /** Pieces of streamlines, and of path lines. */
  streams: number;
  pathPieces: number;
  dots: number;
  paths: number;
  /** Places of some dots, and of the particles that are followed: x y z each. */
  dotPlaces: number[];
  pathPlaces: number[];
  arrows: number;
  /** Of the plane's texels, what share is in fluid, and the largest amount that is shown. */
  fluid: number;
  most: number;
  /** Of the newest row of sums: kinetic, potential, both, J; volume, m³; momentum x, y, z, kg m/s. */
  sums: number[];
  /** Places of what can be taken hold of, by name. */
  handles: Readonly<Record<string, readonly number[]>>;
}

export interface TarnHook {
  readonly connection: string;
  readonly session: string;
  readonly viewerId: number;
  /** How often the page has joined a session since it was loaded. */
  readonly connections: number;
  readonly framesDecoded: number;
  readonly framesRefused: number;
  readonly framesOvertaken: number;
  /** Frames that referred to one that wasn't there. */
  readonly framesUnreferenced: number;
  /** Of the newest frame: key, base or extra; layers that came and that there are; positions are in 1/2^unitBits cell. */
  readonly kind: string;
  readonly layersPresent: number;
  readonly layersTotal: number;
  readonly unitBits: number;
  readonly epoch: number;
  readonly step: number;
  /** Of the frame that the last picture shows; -1: none. */
  readonly drawnStep: number;
  readonly simTimeS: number;
  /** Simulated time that the last picture shows. */
  readonly shownS: number;
  readonly particles: number;
  /** Particles of spray, foam and bubbles in the newest frame. */
  readonly secondary: number;
  readonly paused: boolean;
  /** That the tank's clock is to have. */
  readonly speed: number;
  readonly workerReady: boolean;
  readonly sequence: number;
  readonly decodeMs: number;
  readonly roundTripMs: number;
  readonly latencyMs: number;
  readonly sizeM: readonly number[];
  /** Mean velocity of the particles in the newest frame, m/s. */
  meanVelocity(): [number, number, number];
  /** The same of those between two corners, in tank coordinates; null where there is none. */
  velocityIn(low: readonly number[], high: readonly number[]): [number, number, number] | null;
  /** The next `count` frames as they are decoded. */
  nextFrames(count: number): Promise<FrameSample[]>;
  /** How the particles are drawn, on the page or for the eyes of a headset: points, spheres, water-low or water. */
  readonly tier: string;
  /** What they are drawn as: water, smoke or dye. */
  readonly drawing: string;
  /** Whether all that draws it is here. */
  readonly isWhole: boolean;
  /** What a wall of fluid looks like; "": the tank is drawn as its particles. */
  readonly look: string;
  /** How much an idle display stirs by itself, 0..1. */
  readonly idleStir: number;
  /** Solids that are drawn. */
  readonly solids: number;
  /** Whether the particles of the newest frame have colours of their own. */
  readonly coloured: boolean;
  /** Where a solid that moves is drawn, in tank coordinates; null where there is none. */
  bodyAt(solid: number): [number, number, number] | null;
  /** Of the tool that a press would use. */
  readonly tool: string;
  readonly radiusM: number;
  /** Of the recording that is played, seconds; -1: the tank is live. */
  readonly momentS: number;
  /** Whether the frame of that moment is yet to be decoded. */
  readonly seeking: boolean;
  /** Those that are in the tank, and how many rows of what they measured have come. */
  readonly probes: readonly {
    id: number;
    kind: string;
    atM: readonly number[];
    toM: readonly number[];
    scene: boolean;
  }[];
  readonly readings: number;
  /** Null: nobody has asked for it. */
  readonly insight: InsightSample | null;
  /** Of the tank in the room, x y z w, as the newest frame says. */
  readonly orientation: readonly number[];
  /** Gravity in the tank, m/s², as the newest frame says. */
  readonly gravity: readonly number[];
  /** Some of the newest frame's particles, evenly taken: x y z each, in tank coordinates. */
  samplePoints(count: number): number[];
  /**
   * Where the last picture drew the first particle of a colour: when it was begun, ms, and x y z in tank coordinates;
   * null where there is none, or a newer frame already.
   */
  drawnAt(colour: number): [number, number, number, number] | null;
  /** How loud the water is just now, 0..1; null: its sound is off. */
  readonly soundLevel: number | null;
  /** The viewer's camera; null while it doesn't run. */
  readonly camera: CameraSample | null;
  /** The session with a headset; null without one. */
  readonly headset: HeadsetSample | null;
  /** Place on the page (CSS pixels) of a point in tank coordinates. */
  project(point: readonly number[]): [number, number];
}

declare global {
  interface Window {
    tarn?: TarnHook;
  }
}

/** By FRAME_KIND. */
const KINDS = ["key", "base", "extra"];

export function installHook(app: App): void {
  const { model, stream } = app;
  const info = () => stream.latest?.info;
  const hook: TarnHook = {
    get connection() {
      return model.connection;
    },
    get session() {
      return model.session;
    },
    get viewerId() {
      return model.viewerId;
    },
    get connections() {
      return model.connections;
    },
    get framesDecoded() {
      return model.framesDecoded;
    },
    get framesRefused() {
      return model.framesRefused;
    },
    get framesOvertaken() {
      return stream.overtaken;
    },
    get framesUnreferenced() {
      return model.framesUnreferenced;
    },
    get kind() {
      return KINDS[info()?.kind ?? -1] ?? "";
    },
    get layersPresent() {
      return info()?.layersPresent ?? 0;
    },
    get layersTotal() {
      return info()?.layersTotal ?? 0;
    },
    get unitBits() {
      return info()?.unitBits ?? 0;
    },
    get epoch() {
      return info()?.epoch ?? 0;
    },
    get step() {
      return info()?.step ?? 0;
    },
    get drawnStep() {
      return app.pictures.shown?.info.step ?? -1;
    },
    get shownS() {
      return app.pictures.clock.shownS;
    },
    get simTimeS() {
      return info()?.simTimeS ?? 0;
    },
    get particles() {
      return info()?.particleCount ?? 0;
    },
    get secondary() {
      return info()?.secondaryCount ?? 0;
    },
    get speed() {
      return model.state?.speed ?? 1;
    },
    get paused() {
      return model.state?.paused ?? false;
    },
    get workerReady() {
      return model.state?.workerReady ?? false;
    },
    get sequence() {
      return app.conversation.sequence;
    },
    get decodeMs() {
      return info()?.decodeMs ?? 0;
    },
    get roundTripMs() {
      return model.roundTrip.value;
    },
    get latencyMs() {
      return model.latency.value;
    },
    get sizeM() {
      return app.stage.sizeM;
    },
    get tier() {
      return app.stage.tier;
    },
    get drawing() {
      return app.stage.drawing;
    },
    get isWhole() {
      return app.stage.isWhole;
    },
    get look() {
      return app.stage.wallLook ?? "";
    },
    get idleStir() {
      return app.idle?.strength ?? 0;
    },
    get solids() {
      return app.stage.solids.count;
    },
    get coloured() {
      return info()?.coloured ?? false;
    },
    get tool() {
      return app.controls.tool.tool;
    },
    get radiusM() {
      return app.controls.tool.radiusM;
    },
    get momentS() {
      return (app.keeping.player?.positionMs ?? -1000) / 1000;
    },
    get seeking() {
      return app.keeping.catchingUp;
    },
    bodyAt: (solid) => app.stage.solids.placeOf(solid)?.toArray() ?? null,
    get probes() {
      return app.instruments.probes.desk?.track.probes ?? [];
    },
    get readings() {
      return app.instruments.probes.desk?.track.taken ?? 0;
    },
    get insight() {
      return app.instruments.insight.desk?.sample() ?? null;
    },
    get orientation() {
      return [...(info()?.orientation ?? [0, 0, 0, 1])];
    },
    get gravity() {
      return [...(info()?.gravity ?? [0, 0, 0])];
    },
    get headset() {
      return headsetSample(app);
    },
    get soundLevel() {
      return app.sound.level;
    },
    get camera() {
      const { camera } = app.webcam;
      return camera === null
        ? null
        : { pictures: camera.pictures, ownMs: [...camera.ownMs], workMs: camera.workMs };
    },
    drawnAt: (colour) => drawnAt(app, colour),
    samplePoints: (count) => samplePoints(app, count),
    meanVelocity: () => meanVelocity(app),
    velocityIn: (low, high) => velocityIn(app, low, high),
    nextFrames: (count) => nextFrames(app, count),
    project: (point) => app.stage.project(point),
  };
  Object.defineProperty(window, "tarn", { value: Object.freeze(hook), writable: false });
}

function headsetSample(app: App): HeadsetSample | null {
  const { headset = null, mode = null } = app.headset ?? {};
  if (headset === null || mode === null) return null;
  const { position, yaw, scale, tilt } = headset.tank.stand;
  return {
    mode,
    position: position.toArray(),
    yaw,
    scale,
    tilt: tilt.toArray(),
    inRoom: (point) => headset.tank.toRoom(point),
    lines: headset.lines,
    button: (name) => (headset.panel.mesh.visible ? headset.panel.placeOf(name).toArray() : null),
  };
}

function samplePoints(app: App, count: number): number[] {
  const latest = app.stream.latest;
  const points: number[] = [];
  if (latest === null) return points;
  const { particleCount, cellM, unitBits } = latest.info;
  const every = Math.max(1, Math.ceil(particleCount / Math.max(1, count)));
  const quantum = cellM / 2 ** unitBits;
  for (let i = 0; i < particleCount; i += every)
    for (let axis = 0; axis < 3; axis++)
      points.push(((latest.views.positions[4 * i + axis] as number) + 0.5) * quantum);
  return points;
}

function drawnAt(app: App, colour: number): [number, number, number, number] | null {
  const { stage } = app;
  const { shown, timeMs } = app.pictures;
  if (shown === null || shown !== app.stream.latest) return null;
  const { particleCount, cellM, unitBits, velocityScale } = shown.info;
  const { positions, velocities } = shown.views;
  const quantum = cellM / 2 ** unitBits;
  for (let i = 0; i < 4 * particleCount; i += 4) {
    if (((positions[i + 3] as number) & 0xff) !== colour) continue;
    const [x, y, z] = [0, 1, 2].map(
      (axis) =>
        ((positions[i + axis] as number) + 0.5) * quantum +
        (velocities[i + axis] as number) * velocityScale * stage.particles.leadS,
    ) as [number, number, number];
    return [timeMs, x, y, z];
  }
  return null;
}

function meanVelocity(app: App): [number, number, number] {
  const latest = app.stream.latest;
  const mean: [number, number, number] = [0, 0, 0];
  if (latest === null || latest.info.particleCount === 0) return mean;
  const { velocities } = latest.views;
  const values = latest.info.particleCount * 4;
  for (let i = 0; i < values; i += 4) {
    mean[0] += velocities[i] as number;
    mean[1] += velocities[i + 1] as number;
    mean[2] += velocities[i + 2] as number;
  }
  const unit = latest.info.velocityScale / latest.info.particleCount;
  return [mean[0] * unit, mean[1] * unit, mean[2] * unit];
}

function velocityIn(
  app: App,
  low: readonly number[],
  high: readonly number[],
): [number, number, number] | null {
  const latest = app.stream.latest;
  if (latest === null) return null;
  const { particleCount, cellM, unitBits, velocityScale } = latest.info;
  const { positions, velocities } = latest.views;
  const quantum = cellM / 2 ** unitBits;
  const [sum, axes] = [
    [0, 0, 0],
    [0, 1, 2],
  ] as [[number, number, number], number[]];
  let inside = 0;
  for (let i = 0; i < 4 * particleCount; i += 4) {
    const at = (axis: number): number => ((positions[i + axis] as number) + 0.5) * quantum;
    if (!axes.every((axis) => at(axis) >= (low[axis] ?? 0) && at(axis) <= (high[axis] ?? 0))) continue;
    inside++;
    for (const axis of axes) sum[axis] = (sum[axis] as number) + (velocities[i + axis] as number);
  }
  const unit = velocityScale / inside;
  return inside === 0 ? null : [sum[0] * unit, sum[1] * unit, sum[2] * unit];
}

function nextFrames(app: App, count: number): Promise<FrameSample[]> {
  return new Promise((resolve) => {
    const samples: FrameSample[] = [];
    const stop = app.watchFrames((frame, hash) => {
      if (hash === "") return; // was with the worker already when the watching began
      const { epoch, step, particleCount, ownSequence } = frame.info;
      samples.push({
        epoch,
        step,
        hash,
        kind: KINDS[frame.info.kind] ?? "",
        particles: particleCount,
        ownSequence,
        meanVelocity: meanVelocity(app),
      });
      if (samples.length < count) return;
      stop();
      resolve(samples);
    });
  });
}
