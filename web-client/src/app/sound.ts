// The sound of the water: off until somebody asks for it, and fetched then. What it is made of is sound/'s; here is where
// it comes from, the frames, and where it goes, the place of whoever looks.

import * as THREE from "three";
import { PlainError, plainly } from "../net/plain.js";
import type { Stage } from "../render/stage.js";
import type { Splashes } from "../sound/splashes.js";
import type { WaterSound } from "../sound/water-sound.js";
import type { DecodedFrame } from "../state/frame-stream.js";
import type { App } from "./app.js";

/** Of the tank's diagonal, up to where it is as loud as at its place. */
const REACH = 0.75;

/** A device that is there has begun by then. */
const START_MS = 3000;

export interface SoundHost {
  stage: Stage;
  /** The tank has water with air above it, which is what is heard. */
  hasWater(): boolean;
  changed(on: boolean): void;
  say(text: string): void;
}

type Triple = [number, number, number];

interface Playing {
  context: AudioContext;
  sound: WaterSound;
  splashes: Splashes;
}

export class Sound {
  private playing: Playing | null = null;
  private asking = false;
  private lastMs = 0;
  private readonly at = new THREE.Vector3();
  private readonly forward = new THREE.Vector3();
  private readonly up = new THREE.Vector3();
  private readonly ear: [place: Triple, forward: Triple, up: Triple] = [
    [0, 0, 0],
    [0, 0, -1],
    [0, 1, 0],
  ];

  constructor(private readonly host: SoundHost) {}

  /** Called by a press of a button: browsers let nothing else begin to sound. */
  async toggle(): Promise<void> {
    if (this.asking) return;
    if (this.playing !== null) {
      void this.playing.context.close();
      this.playing = null;
      this.host.changed(false);
      return;
    }
    this.asking = true;
    let context: AudioContext | null = null;
    try {
      context = new AudioContext({ latencyHint: "interactive" });
      const [{ WaterSound }, { Splashes }] = await Promise.all([
        import("../sound/water-sound.js"),
        import("../sound/splashes.js"),
        started(context),
      ]);
      this.playing = { context, sound: new WaterSound(context), splashes: new Splashes(Math.random) };
      this.host.changed(true);
    } catch (error) {
      void context?.close(); // a browser has few of them
      this.host.say(plainly(error, "This browser can't play the water's sound."));
    }
    this.asking = false;
  }

  /** What is heard now, 0..1; null: it is off. */
  get level(): number | null {
    return this.playing?.sound.level ?? null;
  }

  frame({ info, views, arrivedMs }: DecodedFrame): void {
    const lastsS = (arrivedMs - this.lastMs) / 1000;
    this.lastMs = arrivedMs;
    if (this.playing === null || !this.host.hasWater()) return;
    const splash = this.playing.splashes.hear(info, views, lastsS);
    if (splash === null) return;
    const { tank, renderer, sizeM } = this.host.stage;
    const { x, y, z } = this.at.set(...splash.at).applyMatrix4(tank.matrixWorld);
    const scale = tank.matrixWorld.getMaxScaleOnAxis();
    this.playing.sound.splash(
      splash,
      [x, y, z],
      REACH * scale * Math.hypot(...sizeM),
      renderer.xr.isPresenting,
    );
  }

  /** Once per picture. */
  tick(): void {
    if (this.playing === null) return;
    const { renderer, camera } = this.host.stage;
    const { matrixWorld } = renderer.xr.isPresenting ? renderer.xr.getCamera() : camera;
    const { at, forward, up, ear } = this;
    at.setFromMatrixPosition(matrixWorld);
    forward.setFromMatrixColumn(matrixWorld, 2).normalize().negate();
    up.setFromMatrixColumn(matrixWorld, 1).normalize();
    at.toArray(ear[0]);
    forward.toArray(ear[1]);
    up.toArray(ear[2]);
    this.playing.sound.listen(ear[0], ear[1], ear[2]);
  }
}

/** Has it begin to sound. @throws where it doesn't: some browsers then say nothing at all */
async function started(context: AudioContext): Promise<void> {
  const isLate = new Promise((resolve) => setTimeout(resolve, START_MS));
  await Promise.race([context.resume(), isLate]);
  if (context.state !== "running")
    throw new PlainError(
      "There is no sound: this machine has no audio device, or the browser lets this page have none.",
    );
}

export function createSound(app: App, changed: (on: boolean) => void, say: (text: string) => void): Sound {
  const hasWater = (): boolean => app.model.state?.model === "liquid";
  return new Sound({ stage: app.stage, hasWater, changed, say });
}
