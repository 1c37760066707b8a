// Puts the page together: socket -> conversation -> frame stream -> display clock -> picture, and pointers back.
import { createHeadset } from "./app-headset.js";
import { FRAME_KIND } from "./codec/frame-info.js";
import type { DecoderPort } from "./codec/worker-messages.js";
import { Gestures } from "./input/gestures.js";
import { listenToKeys, listenToPointers } from "./input/listeners.js";
import { PushTool } from "./input/push-tool.js";
import { Backoff } from "./net/backoff.js";
import { Link, type SocketLike } from "./net/link.js";
import { Conversation, type EndReason, OWN_VERSIONS } from "./protocol/conversation.js";
import {
  type Ceilings,
  ERROR,
  type ServerMessage,
  type SessionState,
  SUBPROTOCOL,
} from "./protocol/messages.js";
import { Stage } from "./render/stage.js";
import { SceneLoader } from "./scene-loader.js";
import { BodyTrack } from "./state/body-track.js";
import { Detail } from "./state/detail.js";
import { DisplayClock } from "./state/display-clock.js";
import type { FramePosition } from "./state/frame-queue.js";
import { type DecodedFrame, FrameStream } from "./state/frame-stream.js";
import { LiquidMap } from "./state/liquid-map.js";
import { Orbit } from "./state/orbit.js";
import { cutBox, type Ray, type Span, type Vec3 } from "./state/ray.js";
import { ViewModel } from "./state/view-model.js";
import { Help } from "./ui/help.js";
import { Notices } from "./ui/notices.js";
import { Panel } from "./ui/panel.js";
import { type Measurements, Readout } from "./ui/readout.js";
import type { HeadsetEntry } from "./xr/entry.js";

const PING_EVERY_MS = 1000;
const READOUT_EVERY_MS = 250;
/** A running tank that shows nothing new for so long is said to be waited for. */
const QUIET_MS = 1500;
/** So many refused frames in a row mean that this page and the server don't understand each other. */
const REFUSED_MAX = 5;

export interface AppParts {
  canvas: HTMLCanvasElement;
  panel: HTMLElement;
  readout: HTMLElement;
  help: HTMLElement;
  status: HTMLElement;
  notice: HTMLElement;
  subtitle: HTMLElement;
}

export interface AppOptions {
  socketUrl: string;
  session: string;
  viewer: string;
  decoder: DecoderPort;
  /** Gets a file of the scenes' folder. */
  fetchScene: (path: string) => Promise<Response>;
  wasm: ArrayBuffer;
  ceilings: Ceilings;
  /** Draws as finely as the screen shows, however slow the machine. */
  fullDetail: boolean;
  /** The drawing is done by the processor. */
  software: boolean;
}

export class App {
  readonly model = new ViewModel();
  readonly stage: Stage;
  readonly stream: FrameStream;
  readonly conversation: Conversation;
  readonly bodies = new BodyTrack();

  private readonly scenes: SceneLoader;
  private readonly link: Link;
  private readonly clock = new DisplayClock();
  private readonly liquid = new LiquidMap();
  private readonly orbit = new Orbit();
  private readonly detail = new Detail();
  private readonly fullDetail: boolean;
  private readonly push: PushTool;
  private readonly gestures: Gestures;
  private readonly panel: Panel;
  private readonly readout: Readout;
  private readonly notices: Notices;
  private readonly help: Help;
  readonly headset: HeadsetEntry;
  private readonly calm = matchMedia("(prefers-reduced-motion: reduce)");

  private uploaded: DecodedFrame | null = null;
  private refusedInARow = 0;
  private drawnMs = 0;
  private decodedMs = 0;
  private readoutMs = 0;
  private hoverAt: readonly [number, number] | null = null;
  private problem = "";
  private problemUntilMs = 0;
  private toolSized = false;
  private readonly ray: Ray = { origin: [0, 0, 0], direction: [0, 0, -1] };
  private readonly span: Span = { entry: 0, exit: 0 };
  private readonly point: Vec3 = [0, 0, 0];
  private readonly hashListeners = new Set<(frame: DecodedFrame, hash: string) => void>();
  private readonly measurements: Measurements = {
    fps: 0,
    particles: 0,
    mbitPerS: 0,
    framesPerS: 0,
    roundTripMs: Number.NaN,
    latencyMs: Number.NaN,
    stagesMs: [],
    decodeMs: Number.NaN,
    drawMs: Number.NaN,
    kind: FRAME_KIND.key,
    layersPresent: 0,
    layersTotal: 0,
    bitsPerParticle: Number.NaN,
    dropped: 0,
    unreferenced: 0,
    realtimeFactor: 1,
    step: 0,
    paused: false,
  };

  constructor(
    private readonly parts: AppParts,
    options: AppOptions,
  ) {
    this.notices = new Notices(parts.status, parts.notice);
    this.fullDetail = options.fullDetail;
    this.stage = new Stage(parts.canvas, options.fullDetail || !options.software);
    this.readout = new Readout(parts.readout);
    this.help = new Help(parts.help);
    this.stream = new FrameStream(options.decoder, options.wasm, {
      onDecoded: (frame, hash) => this.decoded(frame, hash),
      onRefused: (why, position) => this.refused(why, position),
      onUnreferenced: (position) => this.unreferenced(position),
      onGivenUp: ({ epoch, step }) => this.conversation.ack(epoch, step),
      onFailed: (why) => this.notices.stop("The frames can't be decoded", `${why}.`, RELOAD),
    });
    this.scenes = new SceneLoader(options.fetchScene, {
      onSolids: (solids, files) => this.stage.solids.show(solids, files),
      onProblem: (text) => this.say(sentence(text)),
    });
    this.conversation = this.createConversation(options);
    this.link = this.createLink(options.socketUrl);
    this.conversation.attach(this.link);
    this.conversation.view(document.hidden, options.ceilings);
    this.push = this.createPushTool();
    this.gestures = this.createGestures();
    this.panel = new Panel(parts.panel, this.panelActions(), this.push);
    this.headset = createHeadset(this, this.push, {
      resizeTool: (factor) => this.resizeTool(factor),
      changed: (worn) => this.headsetChanged(worn),
      say: (text) => this.say(sentence(text)),
    });
    this.listen();
  }

  start(): void {
    this.notices.say("Connecting…");
    this.stream.hold(document.hidden);
    this.link.start();
    window.setInterval(() => this.beat(), PING_EVERY_MS);
    this.stage.loop(this.animate);
  }

  /** Calls back with each decoded frame and its fingerprint until the returned function is called. */
  watchFrames(listener: (frame: DecodedFrame, hash: string) => void): () => void {
    this.hashListeners.add(listener);
    this.stream.hashing = true;
    return () => {
      this.hashListeners.delete(listener);
      this.stream.hashing = this.hashListeners.size > 0;
    };
  }

  // ---- what comes from the server ----

  private joined(message: Extract<ServerMessage, { t: "joined" }>): void {
    this.model.connection = "connected";
    this.model.connections++;
    this.model.session = message.session;
    this.model.viewerId = message.viewerId;
    this.model.inputTimes.reset();
    this.model.drops.restart();
    this.model.roundTrip.reset();
    this.model.decodeTime.reset();
    this.model.drawTime.reset();
    this.model.serverStagesMs = [];
    this.stream.viewerId = message.viewerId;
    this.notices.clear();
    this.showState(message.state);
    this.conversation.ping();
  }

  private heard(message: ServerMessage): void {
    switch (message.t) {
      case "welcome":
        this.model.server = message.server;
        this.model.device = message.device;
        this.model.scenes = message.scenes;
        break;
      case "viewers":
        this.model.viewers = message.viewers;
        this.panel.showViewers(message.viewers, this.model.viewerId);
        break;
      case "state":
        this.showState(message.state);
        break;
      case "pong":
        this.model.serverStagesMs = message.stagesMs;
        break;
      case "error":
        // A simulation that is being started again has a line of its own.
        if (message.code !== ERROR.worker || this.model.state?.workerReady) this.say(sentence(message.text));
        break;
    }
  }

  private showState(state: SessionState): void {
    this.model.state = state;
    if (state.sizeM.every((m) => m > 0)) this.fit(state.sizeM);
    this.scenes.use(state.scene);
    this.panel.showScenes(this.model.scenes, state.scene);
    this.panel.showState(state);
    this.parts.subtitle.textContent = `${state.scene.replaceAll("-", " ")} · ${this.model.device}`;
    document.title = `Tarn – ${state.scene.replaceAll("-", " ")}`;
  }

  private fit(size: readonly number[]): void {
    this.stage.fitTank(size);
    if (!this.toolSized) {
      this.toolSized = true;
      this.push.radiusM = Number((Math.max(...size) / 16).toPrecision(2));
    }
  }

  private frame(bytes: ArrayBuffer): void {
    const now = performance.now();
    this.model.byteRate.add(bytes.byteLength, now);
    this.stream.push(bytes, now);
  }

  private decoded(frame: DecodedFrame, hash: string): void {
    const { info } = frame;
    const now = performance.now();
    this.refusedInARow = 0;
    this.model.framesDecoded++;
    if (info.particleCount > 0) this.model.bits.add((8 * info.receivedBytes) / info.particleCount);
    this.model.frameRate.add(1, now);
    this.model.drops.onFrame(info.epoch, info.step, info.serverTimeUs, info.paused);
    this.clock.onFrame(info, frame.arrivedMs);
    this.conversation.ack(info.epoch, info.step);
    this.decodedMs = now;
    this.model.decodeTime.add(now - frame.arrivedMs);
    const age =
      info.ownSequence > 0 ? this.model.inputTimes.contained(info.ownSequence, frame.arrivedMs) : null;
    if (age !== null) this.model.latency.add(age);
    for (const listener of this.hashListeners) listener(frame, hash);
  }

  private refused(why: string, position: FramePosition | null): void {
    if (position !== null) this.conversation.ack(position.epoch, position.step);
    this.model.framesRefused++;
    this.refusedInARow++;
    if (this.refusedInARow < REFUSED_MAX) {
      this.say(`A frame could not be decoded: ${why}`);
      return;
    }
    this.link.stop();
    this.notices.stop(
      "The frames can't be decoded",
      `${why}. This page and the server may be of different versions.`,
      RELOAD,
    );
  }

  /** The last picture stays until the next key frame. */
  private unreferenced(position: FramePosition | null): void {
    if (position !== null) this.conversation.ack(position.epoch, position.step);
    this.model.framesUnreferenced++;
  }

  private lost(why: string, retryMs: number): void {
    this.model.connection = "lost";
    this.stream.drop();
    this.gestures.cancel();
    const seconds = Math.max(1, Math.round(retryMs / 1000));
    this.notices.say(`${why.replace(/\.$/, "")}. Trying again in ${seconds} s…`, "bad");
  }

  private ended(why: EndReason, text: string): void {
    this.model.connection = "ended";
    const say = (title: string, hint: string): void =>
      this.notices.stop(title, [sentence(text), hint].filter((part) => part !== "").join(" "), RELOAD);
    if (why === "version")
      say(
        "Versions disagree",
        "This page and the server speak different versions of the protocol. Reload the page to get the one that fits.",
      );
    else if (why === "session")
      say("This session is gone", "It may have ended, or the link may be mistyped.");
    else say("The server refused the connection", "Reload the page to try again.");
  }

  // ---- time ----

  private beat(): void {
    if (document.hidden) return;
    if (this.link.state === "open") {
      this.link.watch();
      this.conversation.ping();
    }
  }

  private readonly animate = (): void => {
    const now = performance.now();
    const elapsedS = Math.min(0.1, (now - this.drawnMs) / 1000);
    this.drawnMs = now;
    this.model.displayRate.add(1, now);
    if (this.headset.mode === null) this.lookAround(now, elapsedS);
    const latest = this.stream.latest;
    const isNew = latest !== null && latest !== this.uploaded;
    if (isNew) {
      this.uploaded = latest;
      this.stage.fitTank(sizeOf(latest, this.point));
      this.stage.orient(latest.info);
      this.stage.particles.show(latest);
      this.bodies.onFrame(latest.info, latest.views.bodies);
    }
    this.headset.tick(now);
    this.push.flush();
    this.showCursor();
    this.stage.draw(this.clock.tick(now), this.bodies);
    if (isNew) this.model.drawTime.add(performance.now() - this.decodedMs);
    if (now - this.readoutMs > READOUT_EVERY_MS) {
      this.readoutMs = now;
      this.measure(now);
    }
  };

  /** The page's own camera; in a headset it is the head that looks. */
  private lookAround(now: number, elapsedS: number): void {
    if (!this.fullDetail && this.detail.tick(now)) this.stage.resize(this.detail.scale);
    this.orbit.tick(elapsedS, this.calm.matches);
    this.stage.look(this.orbit);
  }

  private headsetChanged(worn: boolean): void {
    this.gestures.cancel();
    if (worn) return;
    this.stage.resize(this.detail.scale);
    if (this.uploaded !== null) this.stage.orient(this.uploaded.info);
  }

  private showCursor(): void {
    const connected = this.model.connection === "connected" && this.headset.mode === null;
    const shown =
      connected &&
      (this.push.pressed
        ? this.push.place(this.point)
        : this.hoverAt !== null && this.push.aim(this.hoverAt[0], this.hoverAt[1], this.point));
    const at = shown ? this.point : null;
    this.stage.cursor.place(at, this.push.radiusM, this.push.pressed);
    this.parts.canvas.classList.toggle("over-water", at !== null);
  }

  private measure(now: number): void {
    const m = this.measurements;
    const info = this.stream.latest?.info;
    m.fps = this.model.displayRate.perSecond(now);
    m.mbitPerS = (this.model.byteRate.perSecond(now) * 8) / 1e6;
    m.framesPerS = this.model.frameRate.perSecond(now);
    m.roundTripMs = this.model.roundTrip.value;
    m.latencyMs = this.model.latency.value;
    m.stagesMs = this.model.serverStagesMs;
    m.decodeMs = this.model.decodeTime.value;
    m.drawMs = this.model.drawTime.value;
    m.kind = info?.kind ?? FRAME_KIND.key;
    m.layersPresent = info?.layersPresent ?? 0;
    m.layersTotal = info?.layersTotal ?? 0;
    m.bitsPerParticle = this.model.bits.value;
    m.dropped = this.model.drops.total;
    m.unreferenced = this.model.framesUnreferenced;
    m.particles = info?.particleCount ?? 0;
    m.realtimeFactor = info?.realtimeFactor ?? 1;
    m.step = info?.step ?? 0;
    m.paused = info?.paused ?? false;
    this.readout.show(m);
    this.showStatus(now);
  }

  private showStatus(now: number): void {
    if (this.model.connection !== "connected") return;
    const latest = this.stream.latest;
    if (this.problem !== "" && now < this.problemUntilMs) this.notices.say(this.problem, "warn");
    else if (this.model.state?.workerReady === false)
      this.notices.say("The simulation stopped and is being started again…", "warn");
    else if (latest === null) this.notices.say("Waiting for the first frame…");
    else if (this.model.state?.paused) this.notices.say("Paused");
    else if (now - latest.arrivedMs > QUIET_MS) this.notices.say("Waiting for the simulation…", "warn");
    else this.notices.say("");
  }

  private say(problem: string): void {
    this.problem = problem;
    this.problemUntilMs = performance.now() + 5000;
    if (this.model.connection === "connected") this.notices.say(problem, "warn");
  }

  // ---- what people do ----

  private createConversation(options: AppOptions): Conversation {
    const identity = {
      session: options.session,
      viewer: options.viewer,
      client: "tarn-web 0.1.0",
      versions: OWN_VERSIONS,
    };
    return new Conversation(identity, () => performance.now(), {
      onJoined: (message) => this.joined(message),
      onMessage: (message) => this.heard(message),
      onFrame: (bytes) => this.frame(bytes),
      onRoundTrip: (ms) => this.model.roundTrip.add(ms),
      onLost: (why, retryMs) => this.lost(why, retryMs),
      onEnded: (why, text) => this.ended(why, text),
      onProblem: (text) => this.say(text),
    });
  }

  private createLink(url: string): Link {
    const environment = {
      open: () => new WebSocket(url, SUBPROTOCOL) as SocketLike,
      nowMs: () => performance.now(),
      setTimer: (callback: () => void, delayMs: number) => window.setTimeout(callback, delayMs),
      clearTimer: (id: number) => window.clearTimeout(id),
    };
    return new Link(environment, new Backoff(), {
      onOpen: () => this.conversation.linkOpened(),
      onBinary: (bytes) => this.conversation.linkBinary(bytes),
      onDown: (code, reason, retryMs) => this.conversation.linkDown(code, reason, retryMs),
    });
  }

  private createPushTool(): PushTool {
    return new PushTool({
      rayAt: (x, y, ray) => this.stage.rayAt(x, y, ray),
      depth: (ray) => this.liquid.depth(ray, this.stage.sizeM, this.stream.latest),
      send: (input) => {
        const sequence = this.conversation.pointer(input);
        if (sequence > 0) this.model.inputTimes.sent(sequence, performance.now());
      },
    });
  }

  private createGestures(): Gestures {
    return new Gestures({
      overTank: (x, y) => {
        this.stage.rayAt(x, y, this.ray);
        return cutBox(this.ray, this.stage.sizeM, this.span);
      },
      pushDown: (pointer, x, y) => this.push.down(pointer, x, y),
      pushMove: (pointer, x, y) => this.push.move(pointer, x, y),
      pushUp: (pointer, x, y) => this.push.up(pointer, x, y),
      hover: (at) => {
        this.hoverAt = at;
      },
      turn: (dx, dy) => this.orbit.turn(dx, dy),
      zoom: (factor) => this.orbit.zoom(factor),
      resizeTool: (factor) => this.resizeTool(factor),
    });
  }

  private resizeTool(factor: number): void {
    const size = Math.max(...this.stage.sizeM);
    this.push.radiusM = Math.min(size / 4, Math.max(size / 100, this.push.radiusM * factor));
    this.panel.showTool();
  }

  private panelActions(): ConstructorParameters<typeof Panel>[1] {
    return {
      load: (scene) => this.conversation.control("load", scene),
      togglePause: () => this.togglePause(),
      step: () => this.conversation.control("step"),
      reset: () => this.conversation.control("reset"),
      parameter: (name, value) => this.conversation.parameter(name, value),
      radius: (metres) => {
        this.push.radiusM = metres;
      },
      strength: (share) => {
        this.push.strength = share;
      },
      view: () => this.orbit.goHome(),
    };
  }

  private togglePause(): void {
    this.conversation.control(this.model.state?.paused ? "resume" : "pause");
  }

  private listen(): void {
    listenToPointers(this.parts.canvas, this.gestures);
    listenToKeys({
      togglePause: () => this.togglePause(),
      step: () => void this.conversation.control("step"),
      reset: () => void this.conversation.control("reset"),
      toggleHelp: () => this.help.toggle(),
      toggleReadout: () => {
        this.parts.readout.hidden = !this.parts.readout.hidden;
      },
      goHome: () => this.orbit.goHome(),
      turn: (dx, dy) => this.orbit.turn(dx, dy),
      zoom: (factor) => this.orbit.zoom(factor),
    });
    this.parts.canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.notices.stop(
        "The graphics card stopped drawing",
        "The browser took the drawing surface away.",
        RELOAD,
      );
    });
    window.addEventListener("resize", () => this.stage.resize(this.detail.scale));
    window.addEventListener("online", () => this.link.hurry());
    document.addEventListener("visibilitychange", () => this.visibilityChanged());
  }

  private visibilityChanged(): void {
    // While nobody looks no frames come, and those on their way wait.
    this.stream.hold(document.hidden);
    this.conversation.view(document.hidden);
    if (document.hidden) {
      this.gestures.cancel();
      return;
    }
    this.link.forgive();
    this.model.drops.restart();
    this.link.hurry();
  }
}

const RELOAD = { label: "Reload", run: () => window.location.reload() };

function sizeOf(frame: DecodedFrame, out: Vec3): Vec3 {
  for (let axis = 0; axis < 3; axis++) out[axis] = (frame.info.cells[axis] as number) * frame.info.cellM;
  return out;
}

/** Text from the server as a sentence: begins large, ends with a full stop. */
function sentence(text: string): string {
  if (text === "") return "";
  const large = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(large) ? large : `${large}.`;
}
