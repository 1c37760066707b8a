// What people do to the water and to the view: pointers, keys, a gamepad, a phone that is tilted. The tool is one for
// all of them.

import { PadReader } from "../input/gamepad.js";
import { Gestures } from "../input/gestures.js";
import type { KeyTarget } from "../input/keys.js";
import { listenToKeys, listenToPinch, listenToPointers } from "../input/listeners.js";
import { fittingRadiusM, KEY_POINTER, PAD_POINTER, PushTool } from "../input/push-tool.js";
import { type Quaternion, Tilt } from "../input/tilt.js";
import type { Grip } from "../measure/desk-button.js";
import { COLOURED, type PointerInput, type Tool } from "../protocol/messages.js";
import type { CursorLook } from "../render/cursor.js";
import type { Stage } from "../render/stage.js";
import type { DecodedFrame } from "../state/frame-stream.js";
import { LiquidMap } from "../state/liquid-map.js";
import type { Orbit } from "../state/orbit.js";
import { cutBox, type Ray, type Span, type Vec3 } from "../state/ray.js";
import type { Settings } from "../state/settings.js";
import { TOOLS } from "../tables/protocol-tables.js";
import { ToolBar } from "../ui/tool-bar.js";

export interface ControlsHost {
  canvas: HTMLCanvasElement;
  bar: HTMLElement;
  stage: Stage;
  orbit: Orbit;
  settings: Settings;
  /** The newest frame. */
  latest(): DecodedFrame | null;
  /** Whether there is a tank that listens. */
  isLive(): boolean;
  /** What may take a press in the tool's place. */
  grip(): Grip;
  /** Whether whoever is here may use tools. */
  mayAct(): boolean;
  /** @return whether it was sent */
  pointer(input: PointerInput): boolean;
  /** Once per picture. @param at  where the cursor is in the tank; null: nowhere */
  cursorShown(at: Vec3 | null, pressed: boolean, tool: Tool): void;
  orientation(orientation: Quaternion): void;
  togglePause(): void;
  step(): void;
  /** The tank's clock is to go slower or faster. */
  changeSpeed(way: 1 | -1): void;
  reset(): void;
  toggleHelp(): void;
  /** Somebody has used the tool. */
  begun(): void;
  toggleReadout(): void;
  toggleInstrument(which: "probes" | "insight"): void;
  /** The tool, its size, strength or colour changed. */
  toolChanged(): void;
  say(text: string): void;
}

export class Controls {
  readonly tool: PushTool;
  readonly tilt: Tilt;

  private readonly gestures: Gestures;
  private readonly bar: ToolBar;
  /** That the tank has. */
  private tools: readonly Tool[] = TOOLS;
  private readonly liquid = new LiquidMap();
  private readonly pad: PadReader;
  private padIndex = -1;
  /** Place of the gamepad's cursor on the canvas; null: another pointer was used since. */
  private padAt: [number, number] | null = null;
  private tilting: AbortController | null = null;
  private hoverAt: readonly [number, number] | null = null;
  private readonly ray: Ray = { origin: [0, 0, 0], direction: [0, 0, -1] };
  private readonly span: Span = { entry: 0, exit: 0 };
  private readonly point: Vec3 = [0, 0, 0];
  private readonly look: CursorLook;

  constructor(private readonly host: ControlsHost) {
    const { stage, settings } = host;
    this.tool = new PushTool({
      rayAt: (x, y, ray) => stage.rayAt(x, y, ray),
      depth: (ray) => this.liquid.depth(ray, stage.sizeM, host.latest()),
      send: (input) => host.pointer(input),
      isDeep: () => (host.latest()?.info.cells[2] ?? 2) > 1,
    });
    this.tool.tool = settings.values.tool;
    this.tool.strength = settings.values.strength;
    this.tool.colour = settings.values.colour;
    this.look = { tool: "push", radiusM: 0, colour: 0, pressed: false, sight: this.tool.sight };
    this.gestures = this.createGestures();
    this.pad = this.createPad();
    this.tilt = new Tilt({
      yaw: () => host.orbit.yaw,
      screenDegrees: () => window.screen.orientation?.angle ?? 0,
      nowMs: () => performance.now(),
      send: (orientation) => host.orientation(orientation),
    });
    this.bar = new ToolBar(host.bar, {
      choose: (tool) => this.choose(tool),
      help: () => host.toggleHelp(),
    });
    this.bar.offer(this.tools);
    this.bar.show(this.tool.tool, this.tool.colour);
    this.listen();
  }

  /** The tank has these tools. The one that was chosen stays, and comes back with a tank that has it. */
  offer(tools: readonly Tool[]): void {
    if (tools.join() === this.tools.join()) return;
    this.cancel();
    this.tools = tools;
    const { tool } = this.host.settings.values;
    this.tool.tool = tools.includes(tool) ? tool : (tools[0] ?? tool);
    this.bar.offer(tools);
    this.changed();
  }

  /** The tank is so large, metres: until somebody chooses a size, the tool has one that fits. */
  fit(size: readonly number[]): void {
    this.tool.radiusM = this.host.settings.values.radius ?? fittingRadiusM(size);
  }

  /** Once per picture. */
  tick(elapsedS: number): void {
    this.pollPad(elapsedS);
    this.tool.flush();
    this.showCursor();
  }

  /** Releases everything that is pressed, as when nobody looks any more. */
  cancel(): void {
    this.gestures.cancel();
    this.pad.stop();
    this.pour(false);
    this.tilt.rest();
  }

  choose(tool: Tool): void {
    if (!this.mayAct() || !this.tools.includes(tool)) return;
    this.tool.tool = tool;
    this.host.settings.set("tool", tool);
    this.changed();
  }

  /** @param step  1: the one behind it, -1: before it; they go round */
  chooseNext(step: number): void {
    const { length } = this.tools;
    const next = this.tools[(this.tools.indexOf(this.tool.tool) + step + length) % length];
    if (next !== undefined) this.choose(next);
  }

  setRadius(metres: number): void {
    if (!this.mayAct()) return;
    const size = Math.max(...this.host.stage.sizeM);
    this.tool.radiusM = Math.min(size / 4, Math.max(size / 100, metres));
    this.host.settings.set("radius", this.tool.radiusM);
    this.changed();
  }

  setStrength(share: number): void {
    this.tool.strength = share;
    this.host.settings.set("strength", share);
    this.host.toolChanged();
  }

  setColour(colour: number): void {
    this.tool.colour = colour;
    this.host.settings.set("colour", colour);
    // Whoever chooses a colour means to use it.
    if (!COLOURED.has(this.tool.tool) && this.tools.includes("dye")) this.choose("dye");
    else this.changed();
  }

  /** Whether this device may be one that can be tilted. */
  static get canTilt(): boolean {
    return "DeviceOrientationEvent" in window && matchMedia("(pointer: coarse)").matches;
  }

  /** Asks where the system wants to be asked. To be called from a press of a button. */
  async toggleTilt(): Promise<boolean> {
    if (this.tilt.on) {
      this.tilting?.abort();
      this.tilt.stop();
      return false;
    }
    const asking = DeviceOrientationEvent as unknown as { requestPermission?: () => Promise<string> };
    const answer = await asking.requestPermission?.().catch(() => "denied");
    if (answer !== undefined && answer !== "granted") {
      this.host.say("The phone's sensors may not be used: the system or the browser refuses it.");
      return false;
    }
    this.tilt.start();
    this.listenToTilt();
    return true;
  }

  private changed(): void {
    this.bar.show(this.tool.tool, this.tool.colour);
    this.host.toolChanged();
  }

  private createGestures(): Gestures {
    const { orbit } = this.host;
    return new Gestures({
      overTank: (x, y) => this.isOverTank(x, y) || this.host.grip().reaches(x, y),
      pushDown: (pointer, x, y) => {
        this.padAt = null;
        this.host.begun();
        if (!this.host.grip().down(pointer, x, y)) this.tool.down(pointer, x, y);
      },
      pushMove: (pointer, x, y) => {
        if (!this.host.grip().move(pointer, x, y)) this.tool.move(pointer, x, y);
      },
      pushUp: (pointer, x, y) => {
        if (!this.host.grip().up(pointer)) this.tool.up(pointer, x, y);
      },
      hover: (at) => {
        this.hoverAt = at;
        if (at === null) return;
        this.padAt = null;
        this.tool.move(KEY_POINTER, at[0], at[1]);
      },
      turn: (dx, dy) => orbit.turn(dx, dy),
      zoom: (factor) => orbit.zoom(factor),
      resizeTool: (factor) => this.setRadius(this.tool.radiusM * factor),
    });
  }

  private mayAct(): boolean {
    return this.host.mayAct() && this.tools.length > 0;
  }

  private isOverTank(x: number, y: number): boolean {
    if (!this.host.isLive() || !this.mayAct()) return false;
    this.host.stage.rayAt(x, y, this.ray);
    return cutBox(this.ray, this.host.stage.sizeM, this.span);
  }

  /** Pours where the pointer is, or in the middle where there is none. */
  private pour(held: boolean): void {
    const [x, y] = this.padAt ?? this.hoverAt ?? this.middle();
    if (!held) this.tool.up(KEY_POINTER, x, y);
    else if (this.tools.includes("pour") && this.isOverTank(x, y)) {
      this.host.begun();
      this.tool.down(KEY_POINTER, x, y, "pour");
    }
  }

  private middle(): [number, number] {
    const { stage } = this.host;
    return stage.project(stage.sizeM.map((m) => m / 2));
  }

  private createPad(): PadReader {
    const { orbit } = this.host;
    return new PadReader({
      moveCursor: (dx, dy) => this.movePad(dx, dy),
      press: () => {
        const [x, y] = this.movePad(0, 0);
        if (!this.isOverTank(x, y)) return;
        this.host.begun();
        this.tool.down(PAD_POINTER, x, y);
      },
      release: () => {
        const [x, y] = this.movePad(0, 0);
        this.tool.up(PAD_POINTER, x, y);
      },
      turn: (dx, dy) => orbit.turn(dx, dy),
      zoom: (factor) => orbit.zoom(factor),
      resizeTool: (factor) => this.setRadius(this.tool.radiusM * factor),
      nextTool: (step) => this.chooseNext(step),
      togglePause: () => this.host.togglePause(),
      goHome: () => orbit.goHome(),
    });
  }

  private movePad(dx: number, dy: number): [number, number] {
    const { clientWidth: width, clientHeight: height } = this.host.canvas;
    this.padAt ??= this.middle();
    const at = this.padAt;
    at[0] = Math.min(width, Math.max(0, at[0] + dx * height));
    at[1] = Math.min(height, Math.max(0, at[1] + dy * height));
    this.tool.move(PAD_POINTER, at[0], at[1]);
    return at;
  }

  private pollPad(elapsedS: number): void {
    if (this.padIndex < 0) return;
    const pad = navigator.getGamepads()[this.padIndex];
    if (pad) this.pad.read(pad, elapsedS);
  }

  private showCursor(): void {
    const { stage, canvas } = this.host;
    const aimAt = this.padAt ?? this.hoverAt;
    const shown =
      this.host.isLive() &&
      (this.tool.pressed
        ? this.tool.place(this.point)
        : aimAt !== null && this.tool.aim(aimAt[0], aimAt[1], this.point));
    this.look.tool = this.tool.acting;
    this.look.radiusM = this.tool.radiusM;
    this.look.colour = this.tool.colour;
    this.look.pressed = this.tool.pressed;
    const at = shown ? this.point : null;
    const acts = at !== null && this.mayAct();
    stage.cursor.place(acts ? at : null, this.look);
    this.host.cursorShown(at, this.tool.pressed, this.tool.acting);
    canvas.classList.toggle("over-water", acts);
  }

  private listen(): void {
    const { host } = this;
    listenToPointers(host.canvas, this.gestures);
    listenToPinch(host.bar, (factor) => this.setRadius(this.tool.radiusM * factor));
    listenToKeys(this.keyTarget(), host.settings.values.keys);
    window.addEventListener("gamepadconnected", (event) => {
      this.padIndex = event.gamepad.index;
      host.say(`Gamepad: ${event.gamepad.id.replace(/\(.*\)/, "").trim() || "connected"}.`);
    });
    window.addEventListener("gamepaddisconnected", (event) => {
      if (event.gamepad.index !== this.padIndex) return;
      this.padIndex = -1;
      this.padAt = null;
      this.pad.stop();
    });
  }

  /** The sensor costs power: it is listened to only while the tank is tilted. */
  private listenToTilt(): void {
    this.tilting?.abort();
    this.tilting = new AbortController();
    const read = (event: DeviceOrientationEvent): void => {
      if (!document.hidden && this.host.isLive()) this.tilt.onReading(event.beta, event.gamma);
    };
    window.addEventListener("deviceorientation", read, { signal: this.tilting.signal });
  }

  private keyTarget(): KeyTarget {
    const { host } = this;
    return {
      togglePause: () => host.togglePause(),
      step: () => host.step(),
      changeSpeed: (way) => host.changeSpeed(way),
      reset: () => host.reset(),
      toggleHelp: () => host.toggleHelp(),
      toggleReadout: () => host.toggleReadout(),
      toggleInstrument: (which) => host.toggleInstrument(which),
      toggleFullScreen: () => void this.toggleFullScreen(),
      chooseTool: (index) => {
        const tool = TOOLS[index];
        if (tool !== undefined) this.choose(tool);
      },
      pour: (held) => this.pour(held),
      resizeTool: (factor) => this.setRadius(this.tool.radiusM * factor),
      goHome: () => host.orbit.goHome(),
      turn: (dx, dy) => host.orbit.turn(dx, dy),
      zoom: (factor) => host.orbit.zoom(factor),
    };
  }

  private async toggleFullScreen(): Promise<void> {
    try {
      if (document.fullscreenElement !== null) await document.exitFullscreen();
      else await document.documentElement.requestFullscreen();
    } catch {
      this.host.say("This browser doesn't let the page fill the screen.");
    }
  }
}
