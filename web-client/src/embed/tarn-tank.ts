// <tarn-tank src="https://host/?session=NAME">: a tank in any page. Attributes: src; tool, radius, strength, colour, draw,
// quality, channel, light and sky as in the page's address; controls="off": people can look around, but not touch the water; scenes: folder of the
// scenes' files, where they lie elsewhere than at the server. It gives off the events `tankstate` and `tankproblem`, whose
// details are the session's state and a sentence.

import { Pictures } from "../app/pictures.js";
import { Gestures } from "../input/gestures.js";
import { lookKey } from "../input/keys.js";
import { listenToPointers } from "../input/listeners.js";
import { fittingRadiusM, PushTool } from "../input/push-tool.js";
import { bare } from "../net/here.js";
import { plainly } from "../net/plain.js";
import type { Channel, SessionState } from "../protocol/messages.js";
import { Stage } from "../render/stage.js";
import { SceneLoader } from "../scenes/scene-loader.js";
import { readAdded } from "../state/added-solids.js";
import { drawingOf } from "../state/drawing.js";
import type { DecodedFrame, FrameStream } from "../state/frame-stream.js";
import { lightOf } from "../state/light.js";
import { LiquidMap } from "../state/liquid-map.js";
import { Orbit } from "../state/orbit.js";
import { QUALITIES } from "../state/quality.js";
import { cutBox, type Ray, type Span } from "../state/ray.js";
import { readSettings, type SettingValues } from "../state/settings.js";
import { join, type Tank } from "./join.js";

/** What is wrong stays to be read for so long. */
const PROBLEM_MS = 5000;

const STYLE = `
  :host { display: block; position: relative; min-height: 120px; overflow: hidden; background: #071019; }
  :host([hidden]) { display: none; }
  :host([light="clear"]) { background: none; }
  canvas { position: absolute; inset: 0; width: 100%; height: 100%; touch-action: none; outline: none; cursor: grab; }
  canvas:focus-visible { outline: 1px solid rgb(120 180 210 / 45%); outline-offset: -4px; }
  p { position: absolute; inset: auto 8px 8px; margin: 0; color: #ffc46b; font: 13px system-ui, sans-serif; }
  p:not(:empty) { padding: 3px 8px; border-radius: 6px; background: rgb(7 18 28 / 84%); }
`;

/** What a tank on a page consists of while the element is part of it. */
class Showing {
  readonly stage: Stage;
  readonly tool: PushTool;
  readonly pictures: Pictures;

  private readonly orbit = new Orbit();
  private readonly liquid = new LiquidMap();
  private readonly gestures: Gestures;
  private readonly watchers: { disconnect(): void }[];
  private readonly ended = new AbortController();
  private latest: DecodedFrame | null = null;
  private picture = 0;
  private visible = true;

  constructor(
    canvas: HTMLCanvasElement,
    private readonly tank: Tank & {
      stream: Pick<FrameStream, "latest" | "curl" | "secondaryRoom" | "showObstacles">;
    },
    private readonly interactive: () => boolean,
    say: (text: string, stays?: boolean) => void,
  ) {
    this.stage = new Stage(canvas, true);
    this.stage.feed(tank.stream);
    this.pictures = new Pictures(this.stage, { fullDetail: false, software: this.stage.isSoftware, say });
    this.tool = new PushTool({
      rayAt: (x, y, ray) => this.stage.rayAt(x, y, ray),
      depth: (ray) => this.liquid.depth(ray, this.stage.sizeM, this.latest),
      send: (input) => tank.send(input) > 0,
      isDeep: () => (this.latest?.info.cells[2] ?? 2) > 1,
    });
    this.gestures = this.createGestures();
    listenToPointers(canvas, this.gestures, this.ended.signal);
    const { signal } = this.ended;
    canvas.addEventListener("keydown", (event) => this.key(event), { signal });
    const lost = (): void =>
      say("The browser took the drawing surface away: reload the page to see the tank.", true);
    canvas.addEventListener("webglcontextlost", lost, { signal });
    const resized = new ResizeObserver(() => this.pictures.tiers.resize());
    resized.observe(canvas);
    const seen = new IntersectionObserver((entries) => {
      this.visible = entries.at(-1)?.isIntersecting ?? true;
      this.attend();
    });
    seen.observe(canvas);
    document.addEventListener("visibilitychange", () => this.attend(), { signal });
    this.watchers = [resized, seen];
    this.picture = requestAnimationFrame(this.animate);
  }

  end(): void {
    cancelAnimationFrame(this.picture);
    this.gestures.cancel();
    this.ended.abort();
    for (const watcher of this.watchers) watcher.disconnect();
    this.stage.dispose();
  }

  colourBy(channel: string): void {
    this.pictures.colourBy.name = channel;
    this.tank.stream.curl = channel === "vorticity";
    this.tank.carry(this.pictures.colourBy.carried);
    this.pictures.recolour();
  }

  offer(channels: readonly Channel[]): void {
    this.pictures.colourBy.offer(channels);
    this.tank.carry(this.pictures.colourBy.carried);
  }

  private attend(): void {
    this.tank.hide(document.hidden || !this.visible);
  }

  private readonly animate = (timeMs: number): void => {
    this.picture = requestAnimationFrame(this.animate);
    if (!this.visible) return;
    const { latest } = this.tank.stream;
    this.latest = latest;
    if (this.pictures.begin(timeMs, latest, this.orbit) && latest !== null)
      this.pictures.clock.onFrame(latest.info, latest.arrivedMs);
    this.pictures.clock.ask(this.tank.state?.speed ?? 1);
    this.tool.flush();
    this.pictures.end(true);
    this.tank.stream.secondaryRoom = this.stage.secondaryRoom;
  };

  private key(event: KeyboardEvent): void {
    if (lookKey(event, this.orbit)) event.preventDefault();
  }

  private createGestures(): Gestures {
    const ray: Ray = { origin: [0, 0, 0], direction: [0, 0, -1] };
    const span: Span = { entry: 0, exit: 0 };
    return new Gestures({
      overTank: (x, y) => {
        this.stage.rayAt(x, y, ray);
        return this.interactive() && this.tank.connected && cutBox(ray, this.stage.sizeM, span);
      },
      pushDown: (pointer, x, y) => this.tool.down(pointer, x, y),
      pushMove: (pointer, x, y) => this.tool.move(pointer, x, y),
      pushUp: (pointer, x, y) => this.tool.up(pointer, x, y),
      hover: () => {},
      turn: (dx, dy) => this.orbit.turn(dx, dy),
      zoom: (factor) => this.orbit.zoom(factor),
      resizeTool: (factor) => {
        this.tool.radiusM *= factor;
      },
    });
  }
}

export class TarnTank extends HTMLElement {
  static readonly observedAttributes = [
    "src",
    "tool",
    "radius",
    "strength",
    "colour",
    "draw",
    "quality",
    "channel",
    "light",
    "sky",
  ];

  private joined: Tank | null = null;
  private showing: Showing | null = null;
  /** Largest edge of the tank for which the tool's size was chosen, metres. */
  private fittedM = 0;
  /** What the tank holds, as its state says. */
  private model = "";
  /** From when on frames that come wipe what was wrong. */
  private fadesMs = 0;
  private readonly line = document.createElement("p");

  /** What the particles are drawn as; null before there is anything to draw. */
  get drawing(): string | null {
    return this.showing?.stage.drawing ?? null;
  }

  /** The tank that is shown: for inputs and frames of one's own. */
  get tank(): Tank | null {
    return this.joined;
  }

  connectedCallback(): void {
    this.begin();
  }

  disconnectedCallback(): void {
    this.end();
  }

  attributeChangedCallback(name: string): void {
    if (!this.isConnected) return;
    if (name === "src") {
      this.end();
      this.begin();
    } else if (name === "quality") this.applyQuality();
    else if (name === "channel") this.applyChannel();
    else if (name === "draw") this.applyDrawing();
    else if (name === "light" || name === "sky") this.applyLight();
    else this.applyTool();
  }

  private begin(): void {
    const src = this.getAttribute("src");
    if (src === null || this.joined !== null) return;
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    // Not an element: a page's policy may forbid those.
    const style = new CSSStyleSheet();
    style.replaceSync(STYLE);
    root.adoptedStyleSheets = [style];
    const canvas = document.createElement("canvas");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute(
      "aria-label",
      this.getAttribute("aria-label") ?? "A tank of water. Arrows turn the view, plus and minus zoom.",
    );
    this.line.setAttribute("role", "status");
    this.line.textContent = "";
    this.fittedM = 0;
    root.replaceChildren(canvas, this.line);
    try {
      const address = new URL(src, document.baseURI);
      const scenes = this.createScenes(address);
      this.joined = join(src, {
        onState: (state) => this.showState(state, scenes),
        onProblem: (text, final) => this.say(text, final),
        onFrame: () => this.fade(),
      });
      const tank = this.joined as ConstructorParameters<typeof Showing>[1];
      this.showing = new Showing(
        canvas,
        tank,
        () => this.getAttribute("controls") !== "off",
        (text, stays) => this.say(text, stays),
      );
      this.applyTool();
      this.applyQuality();
      this.applyChannel();
      this.applyLight();
    } catch (error) {
      this.end();
      this.say(
        `The tank can't be shown: ${plainly(error, "its address is none, or this browser lacks what drawing takes")}.`,
      );
    }
  }

  /** Another server gives its scenes out to the pages that may connect to it. */
  private createScenes(address: URL): SceneLoader {
    const named = this.getAttribute("scenes");
    const base =
      named === null ? new URL("scenes/", bare(address.href)) : new URL(named, bare(document.baseURI));
    return new SceneLoader((path) => fetch(new URL(path, base)), {
      onSolids: (solids, files) => this.showing?.stage.solids.show(solids, files),
      onProblem: (text) => this.say(text),
    });
  }

  private end(): void {
    this.showing?.end();
    this.showing = null;
    this.joined?.close();
    this.joined = null;
  }

  private showState(state: SessionState, scenes: SceneLoader): void {
    scenes.use(state.scene);
    this.model = state.model;
    this.applyDrawing();
    this.showing?.stage.solids.add(readAdded(state.added));
    this.showing?.offer(state.channels);
    const sizeM = Math.max(...state.sizeM);
    if (this.showing !== null && sizeM > 0 && sizeM !== this.fittedM) {
      this.fittedM = sizeM;
      if (!this.hasAttribute("radius")) this.showing.tool.radiusM = fittingRadiusM(state.sizeM);
    }
    this.dispatchEvent(new CustomEvent("tankstate", { detail: state }));
  }

  private applyDrawing(): void {
    const drawing = drawingOf(this.model, this.read(["draw"]).draw);
    this.showing?.pictures.tiers.drawAs(drawing);
  }

  private applyTool(): void {
    if (this.showing === null) return;
    const values = this.read(["tool", "radius", "strength", "colour"]);
    const { tool } = this.showing;
    tool.tool = values.tool;
    tool.strength = values.strength;
    tool.colour = values.colour;
    if (values.radius !== null) tool.radiusM = values.radius;
  }

  private applyQuality(): void {
    const { quality } = this.read(["quality"]);
    this.showing?.pictures.tiers.pin(QUALITIES[quality] ?? null);
  }

  private applyChannel(): void {
    const { channel } = this.read(["channel"]);
    this.showing?.colourBy(channel);
  }

  private applyLight(): void {
    const { light, sky } = this.read(["light", "sky"]);
    this.showing?.stage.lightBy(lightOf(light, null));
    this.showing?.stage.colourSky(sky);
  }

  /** Attributes as the page's address has them. */
  private read(names: readonly string[]): SettingValues {
    const query = new URLSearchParams();
    for (const name of names) {
      const value = this.getAttribute(name);
      if (value !== null) query.set(name, value.replace(/^#/, ""));
    }
    const { values, problems } = readSettings(`?${query}`);
    if (problems.length > 0) this.say(problems.join(" "));
    return values;
  }

  /** @param stays  it doesn't pass by itself */
  private say(text: string, stays = false): void {
    this.fadesMs = stays ? Number.POSITIVE_INFINITY : performance.now() + PROBLEM_MS;
    if (this.line.textContent === text) return;
    this.line.textContent = text;
    this.dispatchEvent(new CustomEvent("tankproblem", { detail: text }));
  }

  /** Frames come: what was wrong some time ago isn't any more. */
  private fade(): void {
    if (this.line.textContent !== "" && performance.now() > this.fadesMs) this.line.textContent = "";
  }
}
