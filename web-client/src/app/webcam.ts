// The viewer's own camera as an input: what it sees move, moves the tank's fluid, as in a mirror. It runs from a press of
// the panel's button until another press, and no longer than somebody looks and may play.

import type { Camera } from "../camera/camera.js";
import { aspectFor } from "../camera/camera-framing.js";
import type { MotionCells } from "../camera/motion-cells.js";
import { partOf, plainly } from "../net/plain.js";
import type { MotionInput } from "../protocol/messages.js";
import { CameraView } from "../ui/camera-view.js";
import type { App } from "./app.js";

export interface WebcamHost {
  /** Of the tank, metres. */
  sizeM(): readonly [number, number, number];
  strength(): number;
  send(input: MotionInput): void;
  changed(on: boolean): void;
  say(text: string): void;
}

interface Running {
  camera: Camera;
  view: CameraView;
}

/** Why there can be no camera here, in a sentence; "": there can. */
export function whyNoCamera(): string {
  if (navigator.mediaDevices?.getUserMedia === undefined)
    return window.isSecureContext
      ? "This browser has no camera for pages."
      : "A page gets a camera only over https, or of its own machine.";
  return "OffscreenCanvas" in window && "transferControlToOffscreen" in HTMLCanvasElement.prototype
    ? ""
    : "This browser can't look at a camera's pictures beside the page: Chrome, Edge, Firefox from 105 and Safari from 16.4 can.";
}

export class Webcam {
  private running: Running | null = null;
  /** Somebody is being asked; an answer to an earlier question than this one is too late. */
  private question = 0;
  private asking = false;
  private shown = "";

  constructor(private readonly host: WebcamHost) {}

  get camera(): Camera | null {
    return this.running?.camera ?? null;
  }

  toggle(): void {
    if (this.running !== null || this.asking) this.stop();
    else this.begin();
  }

  /** As a press of the button that starts it does. */
  begin(): void {
    if (this.running === null && !this.asking) void this.start();
  }

  /** @param why  said to people; "": they know */
  stop(why = ""): void {
    this.question++;
    this.asking = false;
    const { running } = this;
    if (running === null) return;
    this.running = null;
    running.camera.stop();
    running.view.remove();
    this.send({ columns: 1, rows: 1, speed_m_s: 1, cells: new Uint8Array(0) });
    this.host.changed(false);
    if (why !== "") this.host.say(why);
  }

  /** The tank may have another size. */
  fit(): void {
    const [width, height] = this.host.sizeM();
    if (this.running === null || this.shown === `${width} ${height}`) return;
    this.shown = `${width} ${height}`;
    this.running.camera.fit(width, height);
    this.running.view.shape(aspectFor(width, height));
  }

  private async start(): Promise<void> {
    const question = ++this.question;
    this.asking = true;
    try {
      // Fetched with the first press.
      const part = await partOf(() => import("../camera/camera.js"), this.host.say);
      if (part === null) return;
      const stream = await part.askForCamera();
      if (question === this.question) this.run(part, stream);
      else for (const track of stream.getTracks()) track.stop();
    } catch (error) {
      if (question === this.question)
        this.host.say(plainly(error, "The camera can't be used: this browser can't look at its pictures."));
    } finally {
      if (question === this.question) this.asking = false;
    }
  }

  private run(part: typeof import("../camera/camera.js"), stream: MediaStream): void {
    const view = new CameraView(() => this.stop());
    const [width, height] = this.host.sizeM();
    try {
      const camera = new part.Camera(stream, view.canvas, width, height, {
        onMotion: (motion) => this.send(motion),
        onEnded: (why) => this.stop(why),
        onSilent: (silent) => view.silent(silent),
      });
      this.running = { camera, view };
    } catch (error) {
      view.remove();
      for (const track of stream.getTracks()) track.stop();
      throw error;
    }
    this.shown = "";
    this.fit();
    this.host.changed(true);
  }

  /** On the tank's front, whose lower left corner is to the left of who looks at it. */
  private send(motion: MotionCells): void {
    const [width, height, depth] = this.host.sizeM();
    this.host.send({
      source: 0,
      corner_m: [0, 0, depth],
      across_m: [width, 0, 0],
      up_m: [0, height, 0],
      depth_m: 0,
      strength: this.host.strength(),
      ...motion,
    });
  }
}

export function createWebcam(app: App, changed: (on: boolean) => void, say: (text: string) => void): Webcam {
  return new Webcam({
    sizeM: () => app.stage.sizeM,
    strength: () => app.controls.tool.strength,
    send: (input) => {
      // The next grid takes a grid's place, but nothing takes that of its end.
      const isEnd = input.cells.length === 0;
      if (!isEnd && app.link.isBehind) return;
      const sequence = app.conversation.motion(input);
      if (sequence > 0) app.model.inputTimes.sent(sequence, performance.now());
    },
    changed,
    say,
  });
}
