// Puts the page together: socket -> conversation -> frame stream -> display clock -> picture, and pointers back.

import { Keeping } from "../keep/keeping.js";
import { Instruments } from "../measure/instruments.js";
import type { Link } from "../net/link.js";
import { partOf } from "../net/plain.js";
import { Together } from "../people/together.js";
import type { Conversation, EndReason } from "../protocol/conversation.js";
import { sentence } from "../protocol/live.js";
import type { FramePosition, ServerMessage, SessionState } from "../protocol/messages.js";
import { changesTold, FREE, mayAct, maySetParameters, mayUse, type Standing } from "../protocol/standing.js";
import { Stage } from "../render/stage.js";
import { Lessons } from "../scenes/lessons.js";
import { ownSceneFiles } from "../scenes/scene-files.js";
import { SceneLoader } from "../scenes/scene-loader.js";
import type { LightName } from "../shader/lights.js";
import { readAdded } from "../state/added-solids.js";
import { OWN, vorticityScale } from "../state/colour-by.js";
import { drawingOf, drawingsOf, wordOf } from "../state/drawing.js";
import type { DecodedFrame, FrameStream } from "../state/frame-stream.js";
import { IdleStir } from "../state/idle-stir.js";
import { LightShelf, lightOf } from "../state/light.js";
import { misfitOf } from "../state/misfits.js";
import { Orbit } from "../state/orbit.js";
import { replayLeftS } from "../state/past.js";
import { QUALITIES } from "../state/quality.js";
import { SceneTexts } from "../state/scene-texts.js";
import type { Settings } from "../state/settings.js";
import { nextSpeed } from "../state/speeds.js";
import { ViewModel } from "../state/view-model.js";
import { recallView, rememberView } from "../state/view-settings.js";
import { carriedField, type WallWish } from "../state/wall-field.js";
import { isWall, lookOfScene, type WallLook, wallLookOf } from "../state/wall-look.js";
import { hasCorner } from "../state/wall-part.js";
import { ERROR } from "../tables/protocol-tables.js";
import { Help } from "../ui/help.js";
import { Legend } from "../ui/legend.js";
import { Notices } from "../ui/notices.js";
import type { Panel, PanelActions } from "../ui/panel.js";
import { Readout } from "../ui/readout.js";
import type { HeadsetEntry } from "../xr/entry.js";
import { Announcer, RELOAD } from "./announcer.js";
import type { Arrival } from "./arrival.js";
import { Controls } from "./controls.js";
import type { Graphics } from "./graphics.js";
import { later } from "./later.js";
import { measure, noMeasurements } from "./measuring.js";
import { pageCovers } from "./page-covers.js";
import { Pictures } from "./pictures.js";
import { createSound, type Sound } from "./sound.js";
import { createWebcam, type Webcam, whyNoCamera } from "./webcam.js";

const PING_EVERY_MS = 1000;
const READOUT_EVERY_MS = 250;
/** A mark of the page's time: what is loaded from here on isn't needed to see the tank. */
const FIRST_PICTURE = "tarn first picture";
/** The panel waits for the first picture, but no longer than this, ms of the page. */
const PANEL_MS = 15_000;
/** A tank's first picture waits for its lesson, beside which it stands, but no longer than this after the first frame, ms. */
const LESSON_MS = 1500;
/** A thumbstick that multiplies can't get beyond nothing. */
const STRENGTH_MIN = 0.05;
/** So many refused frames in a row mean that this page and the server don't understand each other. */
const REFUSED_MAX = 5;

/** What the panel is told of how things are. */
const PANEL_SHOWS = [
  "showScenes",
  "showSound",
  "showState",
  "showDrawings",
  "showLooks",
  "showLight",
  "showChannels",
  "showFields",
  "showTool",
  "showKept",
  "showCamera",
  "showCount",
  "showRole",
] as const;
type PanelShows = Pick<Panel, (typeof PANEL_SHOWS)[number]>;

export interface AppParts {
  canvas: HTMLCanvasElement;
  panel: HTMLElement;
  tools: HTMLElement;
  readout: HTMLElement;
  legend: HTMLElement;
  help: HTMLElement;
  status: HTMLElement;
  notice: HTMLElement;
  /** Heads the page: the tank's name, and a line below it. */
  title: HTMLElement;
  subtitle: HTMLElement;
}

export class App {
  readonly model = new ViewModel();
  readonly stage: Stage;
  readonly stream: FrameStream;
  readonly conversation: Conversation;
  readonly pictures: Pictures;
  readonly together: Together;
  readonly instruments: Instruments;
  readonly keeping: Keeping;

  private readonly scenes: SceneLoader;
  private readonly texts: SceneTexts;
  private readonly lessons = new Lessons((text) => this.announcer.say(text));
  readonly link: Link;
  private readonly orbit = new Orbit();
  private readonly settings: Settings;
  readonly controls: Controls;
  private readonly panelDoor = later<PanelShows>(PANEL_SHOWS, true);
  private readonly panel = this.panelDoor.events;
  private panelAsked = false;
  /** There was a picture of the tank. */
  private isSeen = false;
  private firstFrameMs = Number.POSITIVE_INFINITY;
  private readonly readout: Readout;
  private readonly legend: Legend;
  private readonly notices: Notices;
  private readonly announcer: Announcer;
  /** Where the list of people goes, in the panel. */
  private readonly people = document.createElement("div");
  private readonly help: Help;
  /** Null: the browser knows none, or hasn't said yet. */
  headset: HeadsetEntry | null = null;
  readonly webcam: Webcam;
  readonly sound: Sound;
  private cameraIsDue: boolean;

  /** Of the scene whose file was read last: its name, and what look it names. */
  private sceneLook: { scene: string; look: WallLook | null } = { scene: "", look: null };
  /** Null: people look at it from a page, which nothing is to move on. */
  readonly idle: IdleStir | null;
  private readonly wallWish: WallWish = { draws: false, isDisplay: false, idleMs: 0 };
  /** What of the address makes no sense for this tank has been said. */
  private misfitsSaid = false;
  /** As it was shown last. */
  private standing: Standing = FREE;
  private fluid = "";
  private inputs = 0;
  private refusedInARow = 0;
  private decodedMs = 0;
  private readoutMs = 0;
  private readonly hashListeners = new Set<(frame: DecodedFrame, hash: string) => void>();
  private readonly measurements = noMeasurements();
  private readonly lights = new LightShelf(() => window.localStorage);

  /**
   * @param arrival     what has been begun already
   * @param fetchScene  gets a file of the scenes' folder
   */
  constructor(
    private readonly parts: AppParts,
    arrival: Arrival,
    graphics: Graphics,
    fetchScene: (path: string) => Promise<Response>,
  ) {
    this.notices = new Notices(parts.status, parts.notice);
    this.settings = arrival.settings;
    this.announcer = new Announcer(this.notices, this.model, this.settings.values.session);
    this.stream = arrival.stream;
    this.conversation = arrival.live.conversation;
    this.link = arrival.live.link;
    const software = graphics === "software";
    const { values } = this.settings;
    const fullDetail = values.detail === "full";
    const isDisplay = new URLSearchParams(window.location.search).get("display") === "1";
    this.idle = isDisplay ? new IdleStir() : null;
    this.wallWish.isDisplay = isDisplay;
    const header = parts.title.parentElement ?? parts.panel;
    const covers = pageCovers(header, values.panel && !isDisplay, values.tools && !isDisplay);
    this.stage = new Stage(parts.canvas, fullDetail || !software, covers);
    if (isDisplay || values.view !== null) this.stage.standAlone(values.view);
    document.body.classList.toggle("no-corner", values.view !== null && !hasCorner(values.view));
    this.stage.colourSky(values.sky);
    this.pictures = new Pictures(this.stage, {
      fullDetail,
      software,
      say: (text) => this.announcer.say(text),
    });
    this.pictures.tiers.pin(QUALITIES[values.quality] ?? null);
    this.stage.feed(this.stream);
    this.legend = new Legend(parts.legend);
    this.colourBy(values.channel);
    Object.assign(this.pictures.fieldView, { slice: values.slice, name: values.field });
    this.help = new Help(parts.help, values.help, (text) => this.announcer.say(text));
    parts.readout.hidden = !values.readout;
    parts.panel.hidden = !values.panel;
    parts.tools.hidden = !values.tools;
    recallView(this.orbit, this.settings);
    this.texts = new SceneTexts(fetchScene, () => this.showNames());
    const key = (): string => this.conversation.introduction.key;
    this.scenes = new SceneLoader(ownSceneFiles(this.model, key, fetchScene), {
      onFile: (scene, file) => {
        this.texts.know(scene, file);
        if (!isDisplay) this.lessons.know(scene, file);
        this.instruments.sceneFile = file;
        this.sceneLook = { scene, look: lookOfScene(file) };
        this.drawAs(this.settings.values.draw);
      },
      onSolids: (solids, files) => this.stage.solids.show(solids, files),
      onProblem: (text) => {
        this.lessons.giveUp();
        this.announcer.say(sentence(text));
      },
    });
    this.keeping = this.createKeeping();
    this.controls = this.createControls();
    this.webcam = createWebcam(
      this,
      (on) => this.panel.showCamera(on),
      (text) => this.announcer.say(text),
    );
    this.sound = createSound(
      this,
      (on) => this.panel.showSound(on),
      (text) => this.announcer.say(text),
    );
    this.cameraIsDue = this.settings.values.camera;
    this.together = new Together(this.conversation, {
      list: this.people,
      canvas: parts.canvas,
      header,
      view: this.stage,
      tools: () => this.model.state?.tools ?? [],
      scene: () => this.model.state?.scene ?? "",
      replayLeftS: () => replayLeftS(this.model.state, this.stream.latest?.info.step ?? null),
      say: (text) => this.announcer.say(text),
      code: values.code,
      pressing: (id, at) => this.stage.touch(id, at),
    });
    this.stage.add(this.together.markers.group);
    this.instruments = new Instruments(this, parts.canvas, header, (text) => this.announcer.say(text));
    const nav = header.querySelector("nav") ?? header;
    this.readout = new Readout(parts.readout, nav, () => this.toggleReadout());
    this.lightBy(lightOf(values.light, this.lights.kept));
    this.carryField();
    void this.seekHeadset(navigator.xr);
    this.listen();
  }

  start(arrival: Arrival): void {
    const { recording, t } = this.settings.values;
    if (recording !== "") void this.keeping.openAddress(recording, t ?? 0);
    else this.sayConnecting(); // arrival.ts has begun it, and may have ended it
    this.hear(arrival);
    if (this.settings.problems.length > 0) this.announcer.say(this.settings.problems.join(" "));
    window.setInterval(() => this.beat(), PING_EVERY_MS);
    this.stage.warmUp();
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

  /** Shows the server's tank, now or again. */
  private goLive(): void {
    this.sayConnecting();
    this.link.start();
  }

  private sayConnecting(): void {
    this.model.connection = "connecting";
    this.notices.clear();
    this.notices.say("Connecting…");
  }

  /** Leaves the server, for a recording. */
  private leave(): void {
    this.controls.cancel();
    this.webcam.stop();
    this.conversation.leave();
    this.link.stop();
    this.stream.drop();
    this.model.connection = "playing";
    this.panel.showRole(this.conversation.role, true, false);
    this.notices.clear();
    this.notices.say("");
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
    this.model.unconverged = 0;
    this.stream.viewerId = message.viewerId;
    this.announcer.arrived();
    this.together.onJoined(message);
    this.instruments.onJoined();
    this.showState(message.state);
    if (message.role !== "watch") this.beginCamera();
    this.standing = this.conversation.standing;
    this.showStanding();
    const stray = this.together.followMoment();
    if (stray !== "") this.announcer.say(stray);
    this.conversation.ping();
  }

  /** What this viewer may do, as the page offers it. */
  private showStanding(): void {
    const { standing } = this.conversation;
    document.body.dataset.role = standing.role;
    this.together.stand(standing.role);
    if (standing.role === "watch") this.webcam.stop("The camera was stopped: you may only watch now.");
    else if (!mayUse(standing, "camera")) this.webcam.stop("The camera was stopped: you may not use it now.");
    this.panel.showRole(standing.role, false, maySetParameters(standing));
    this.help.showRole(standing.role);
    this.offerTools();
  }

  /** Owners may have changed it. */
  private standingChanged(): void {
    const told = changesTold(this.standing, this.conversation.standing);
    if (this.model.connection !== "connected") return;
    this.standing = this.conversation.standing;
    if (told.length === 0) return;
    this.showStanding();
    this.announcer.say(told.join(" "));
  }

  private offerTools(): void {
    const { role, locked } = this.conversation.standing;
    const tools = this.model.state?.tools ?? [];
    this.controls.offer(role === "own" ? tools : tools.filter((tool) => !locked.includes(tool)));
  }

  private heard(message: ServerMessage): void {
    this.together.onMessage(message);
    this.instruments.onMessage(message);
    this.keeping.heard(message);
    switch (message.t) {
      case "welcome":
        this.model.server = message.server;
        this.model.device = message.device;
        this.model.scenes = message.scenes;
        break;
      case "viewers":
        this.model.viewers = message.viewers;
        this.panel.showCount(message.viewers.length);
        this.standingChanged();
        break;
      case "state":
        this.showState(message.state);
        this.standingChanged();
        break;
      case "pong":
        this.model.serverStagesMs = message.stagesMs;
        this.model.unconverged = message.unconverged;
        break;
      case "error":
        // A simulation that is being started again has a line of its own.
        if (message.code !== ERROR.worker || this.model.state?.workerReady)
          this.announcer.say(sentence(message.text));
        break;
    }
  }

  private showState(state: SessionState): void {
    const isFirst = this.model.state === null;
    this.model.state = state;
    this.keeping.state(state);
    this.pictures.clock.ask(state.speed);
    if (state.sizeM.every((m) => m > 0)) this.fit(state.sizeM, state.cellM);
    this.scenes.use(state.scene);
    this.lessons.use(state.scene);
    this.drawAs(this.settings.values.draw);
    this.sayMisfits();
    this.stage.solids.add(readAdded(state.added));
    this.offerTools();
    this.panel.showState(state);
    // Guests hear of what changes while they are there.
    const { role } = this.conversation;
    this.announcer.remark(
      state.remarks,
      !this.wallWish.isDisplay && (role === "own" || (role === "play" && !isFirst)),
    );
    this.pictures.colourBy.offer(state.channels);
    this.conversation.carry(this.pictures.colourBy.carried);
    this.pictures.fieldView.offer(state.fields);
    this.carryField();
    this.showChannel();
    this.showNames();
  }

  /** What the scene is called that is shown. */
  get sceneTitle(): string {
    return this.texts.of(this.model.state?.scene ?? "").title;
  }

  /** The tank's name, or its scene's, heads the page. */
  private showNames(): void {
    const { scenes, state } = this.model;
    if (state === null) return;
    const plays = this.model.connection === "playing";
    const scene = this.sceneTitle;
    const tank = plays ? "" : (this.together.joined?.title ?? "");
    const name = tank || scene;
    this.parts.title.textContent = name;
    this.parts.title.title = name;
    this.parts.subtitle.textContent = plays ? "Recording" : tank === "" ? "" : scene;
    document.title = `Tarn – ${name}`;
    this.together.name(name);
    this.panel.showScenes(scenes, state.scene, (one) => this.texts.of(one).title);
  }

  private fit(size: readonly number[], cellM: number): void {
    this.stage.fitTank(size, cellM);
    this.controls.fit(size);
    this.webcam.fit();
    this.panel.showTool();
    // A display's wall has black beside it (display.css).
    const [width, height] = size as [number, number];
    const isWhole = this.stage.isFlat && this.settings.values.view === null;
    document.body.style.setProperty("--wall-aspect", isWhole ? String(width / height) : "");
  }

  private frame(bytes: ArrayBuffer): void {
    const now = performance.now();
    this.model.byteRate.add(bytes.byteLength, now);
    this.keeping.frame(bytes, now);
    this.stream.push(bytes, now);
  }

  private decoded(frame: DecodedFrame, hash: string): void {
    const { info } = frame;
    const now = performance.now();
    this.refusedInARow = 0;
    this.firstFrameMs = Math.min(this.firstFrameMs, now);
    this.model.framesDecoded++;
    if (info.particleCount > 0) this.model.bits.add((8 * info.receivedBytes) / info.particleCount);
    this.model.frameRate.add(1, now);
    this.model.drops.onFrame(info.epoch, info.step, info.serverTimeUs, info.paused);
    this.scenes.see(info.epoch);
    if (this.keeping.catchingUp) this.pictures.clock.reset();
    this.pictures.clock.onFrame(info, frame.arrivedMs);
    // Cameras give off no presence: that somebody moves before one is known from this alone.
    if (info.inputs > this.inputs) this.together.acted();
    this.inputs = info.inputs;
    this.decodedMs = now;
    this.model.decodeTime.add(now - frame.arrivedMs);
    const age =
      info.ownSequence > 0 ? this.model.inputTimes.contained(info.ownSequence, frame.arrivedMs) : null;
    if (age !== null) this.model.latency.add(age);
    this.sound.frame(frame);
    for (const listener of this.hashListeners) listener(frame, hash);
    this.instruments.decoded(frame);
    this.settled(frame.position);
  }

  /** The decoder is done with a frame. */
  private settled(position: FramePosition | null, isLost = false): void {
    const needsKey = isLost || this.stream.needsKey || this.keeping.wantsKey;
    if (position !== null) this.conversation.ack(position, needsKey);
    this.keeping.settled();
  }

  private refused(why: string, position: FramePosition | null): void {
    this.model.framesRefused++;
    this.refusedInARow++;
    this.settled(position, true);
    if (this.refusedInARow < REFUSED_MAX || this.keeping.playing) {
      this.announcer.say(`A frame could not be decoded: ${why}`);
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
    this.model.framesUnreferenced++;
    this.settled(position, true);
  }

  private lost(why: string, retryMs: number): void {
    this.model.connection = "lost";
    this.stream.drop();
    this.together.onLost();
    this.controls.cancel();
    this.announcer.lost(why, retryMs);
  }

  private ended(why: EndReason, text: string): void {
    this.model.connection = "ended";
    this.webcam.stop();
    this.announcer.ended(why, text);
  }

  // ---- time ----

  private beat(): void {
    if (performance.now() > PANEL_MS) this.openPanel(); // without a picture, too
    if (document.hidden || this.link.state !== "open") return;
    this.link.watch();
    this.conversation.ping();
  }

  private readonly animate = (timeMs: number): void => {
    const { pictures, keeping } = this;
    const isWorn = this.isWorn;
    this.model.displayRate.add(1, timeMs);
    keeping.tick(timeMs);
    const isPlaced = this.isPlaced;
    this.stage.reveal(isPlaced);
    const frame = keeping.catchingUp || !isPlaced ? null : this.stream.latest;
    const isNew = pictures.begin(timeMs, frame, isWorn ? null : this.orbit);
    if (isNew && this.controls.tilt.on) this.stage.standUpright();
    this.headset?.tick(timeMs);
    this.controls.tick(pictures.elapsedS);
    this.sound.tick();
    this.instruments.tick(timeMs);
    const idle = this.idle?.tick(pictures.elapsedS, this.together.idleMs()) ?? 0;
    this.stage.stir(pictures.elapsedS, idle, Date.now() / 1000);
    pictures.end(!isWorn);
    if (pictures.shown !== null && !this.isSeen) {
      this.isSeen = true;
      performance.mark(FIRST_PICTURE);
      this.openPanel();
    }
    this.stream.secondaryRoom = this.stage.secondaryRoom;
    keeping.drawn();
    if (isNew) this.model.drawTime.add(performance.now() - this.decodedMs);
    if (timeMs - this.readoutMs > READOUT_EVERY_MS) {
      this.readoutMs = timeMs;
      this.measure(timeMs);
    }
  };

  /** The tank has its place on the page: whoever sees it first sees it where it stays. */
  private get isPlaced(): boolean {
    if (this.isSeen || this.wallWish.isDisplay) return true;
    const isSettled = this.model.state !== null && this.lessons.isSettled;
    return isSettled || performance.now() > this.firstFrameMs + LESSON_MS;
  }

  /** A headset shows the picture. */
  private get isWorn(): boolean {
    return (this.headset?.mode ?? null) !== null;
  }

  /** Fetches the panel, once there is something to control, and what headsets need, once the browser knows of one. */
  private openPanel(): void {
    if (this.panelAsked) return;
    this.panelAsked = true;
    if (this.parts.panel.hidden || this.wallWish.isDisplay) return;
    const { panel } = this.parts;
    const fetched = partOf(
      () => import("../ui/panel.js"),
      (text) => this.announcer.say(text),
    );
    void fetched.then((part) => {
      const again = document.createElement("button");
      again.type = "button";
      again.textContent = "Load the controls again";
      again.addEventListener("click", () => {
        this.panelAsked = false;
        this.openPanel();
      });
      panel.replaceChildren(...(part === null ? [again] : []));
      if (part !== null)
        this.panelDoor.attach(new part.Panel(panel, this.panelActions(), this.controls.tool, this.people));
    });
  }

  private async seekHeadset(device: XRSystem | undefined): Promise<void> {
    if (device === undefined) return;
    const supports = (mode: XRSessionMode): Promise<boolean> =>
      device.isSessionSupported(mode).catch(() => false);
    const isThere = await Promise.all([supports("immersive-vr"), supports("immersive-ar")]);
    if (!isThere.includes(true)) {
      device.addEventListener?.("devicechange", () => void this.seekHeadset(device), { once: true });
      return;
    }
    const part = await partOf(
      () => import("./headset.js"),
      (text) => this.announcer.say(text),
    );
    if (part === null || this.headset !== null) return;
    this.headset = part.createHeadset(this, this.controls.tool, {
      nextTool: () => this.controls.chooseNext(1),
      resizeTool: (factor) => this.controls.setRadius(this.controls.tool.radiusM * factor),
      strengthenTool: (factor) =>
        this.controls.setStrength(Math.min(1, Math.max(STRENGTH_MIN, this.controls.tool.strength * factor))),
      colour: (colour) => this.controls.setColour(colour),
      togglePause: () => this.togglePause(),
      changed: (worn) => this.headsetChanged(worn),
      say: (text) => this.announcer.say(sentence(text)),
    });
  }

  private headsetChanged(worn: boolean): void {
    this.controls.cancel();
    this.together.wear(worn ? [] : null);
    if (worn) return;
    this.pictures.tiers.resume();
    if (this.pictures.shown !== null) this.stage.orient(this.pictures.shown.info);
  }

  private measure(now: number): void {
    // The list's titles are many files: they wait for the first picture.
    if (this.pictures.shown !== null && this.conversation.role === "own")
      void this.texts.read(this.model.scenes);
    measure(this.measurements, this.model, this.stream.latest, now);
    this.readout.show(this.measurements);
    this.carryField();
    this.showChannel();
    this.nameFluid();
    this.announcer.show(this.stream.latest, now);
    rememberView(this.orbit, this.settings);
  }

  // ---- what people do ----

  private hear({ conversationEvents, streamEvents }: Arrival): void {
    conversationEvents.attach({
      onJoined: (message) => this.joined(message),
      onMessage: (message) => this.heard(message),
      onFrame: (bytes) => this.frame(bytes),
      onRoundTrip: (ms) => this.model.roundTrip.add(ms),
      onLost: (why, retryMs) => this.lost(why, retryMs),
      onEnded: (why, text) => this.ended(why, text),
      onProblem: (text) => this.announcer.say(text),
    });
    streamEvents.attach({
      onDecoded: (frame, hash) => this.decoded(frame, hash),
      onRefused: (why, position) => this.refused(why, position),
      onUnreferenced: (position) => this.unreferenced(position),
      onGivenUp: (position) => this.settled(position),
      onFailed: (why) => this.notices.stop("The frames can't be decoded", sentence(why), RELOAD),
    });
  }

  private createKeeping(): Keeping {
    return new Keeping({
      canvas: this.parts.canvas,
      settings: this.settings,
      state: () => this.model.state,
      showState: (state) => this.showState(state),
      instruments: () => this.instruments,
      push: (bytes) => this.stream.push(bytes, performance.now()),
      drawFinest: (take) => (this.isWorn ? take() : this.pictures.tiers.drawFinest(take)),
      pace: (speed) => {
        this.pictures.clock.speed = speed;
      },
      restart: () => {
        this.model.drops.restart();
        this.pictures.clock.reset();
      },
      leave: () => this.leave(),
      goLive: () => this.goLive(),
      changed: (clip, recording) => {
        this.panel.showKept(clip, recording);
        this.instruments.listen("recording", recording);
      },
      stop: (title, text, back) => this.notices.stop(title, text, { label: "Show the live tank", run: back }),
      say: (text) => this.announcer.say(text),
    });
  }

  /** Notes when an input was sent. @return whether it was */
  private sent(sequence: number): boolean {
    if (sequence > 0) this.model.inputTimes.sent(sequence, performance.now());
    return sequence > 0;
  }

  /** As the address asks: once, so that who stops it has it stopped. */
  private beginCamera(): void {
    if (!this.cameraIsDue) return;
    this.cameraIsDue = false;
    const why = whyNoCamera();
    if (why === "") this.webcam.begin();
    else this.announcer.say(`The address has camera=1. ${why}`);
  }

  private createControls(): Controls {
    return new Controls({
      grip: () => this.instruments,
      canvas: this.parts.canvas,
      bar: this.parts.tools,
      stage: this.stage,
      orbit: this.orbit,
      settings: this.settings,
      latest: () => this.stream.latest,
      isLive: () => this.model.connection === "connected" && !this.isWorn,
      mayAct: () => mayAct(this.conversation.standing),
      pointer: (input) => this.sent(this.conversation.pointer(input)),
      cursorShown: (at, pressed, tool) => this.together.tick(performance.now(), at, pressed, tool),
      orientation: (orientation) => void this.sent(this.conversation.orientation({ orientation })),
      togglePause: () => this.togglePause(),
      step: () => void this.conversation.control("step"),
      changeSpeed: (way) => this.changeSpeed(way),
      reset: () => void this.conversation.control("reset"),
      toggleHelp: () => this.help.toggle(),
      begun: () => this.help.begun(),
      toggleReadout: () => this.toggleReadout(),
      toggleInstrument: (which) => void this.instruments[which].toggle(),
      toolChanged: () => this.panel.showTool(),
      say: (text) => this.announcer.say(text),
    });
  }

  private panelActions(): PanelActions {
    return {
      load: (scene) => this.conversation.control("load", scene),
      togglePause: () => this.togglePause(),
      speed: (speed) => this.conversation.speed(speed),
      step: () => this.conversation.control("step"),
      reset: () => this.conversation.control("reset"),
      parameter: (name, value) => this.conversation.parameter(name, value),
      radius: (metres) => this.controls.setRadius(metres),
      strength: (share) => this.controls.setStrength(share),
      colour: (colour) => this.controls.setColour(colour),
      view: () => this.orbit.goHome(),
      readout: () => this.toggleReadout(),
      channel: (name) => {
        this.colourBy(name);
        this.showChannel();
      },
      field: (name) => {
        this.lookAt(name);
        this.showChannel();
      },
      slice: (share) => this.cutAt(share),
      drawing: (name) => {
        const { model = "" } = this.model.state ?? {};
        this.settings.set("draw", name === drawingOf(model, "auto") ? "auto" : name);
        this.drawAs(name);
        this.showChannel();
      },
      look: (name) => {
        this.settings.set("look", name === (this.namedLook ?? "particles") ? "auto" : name);
        this.drawAs(this.settings.values.draw);
      },
      light: (name) => {
        this.settings.set("light", name);
        this.lights.keep(name);
        this.lightBy(name);
      },
      tilt: Controls.canTilt ? () => this.controls.toggleTilt() : null,
      camera: () => this.webcam.toggle(),
      whyNoCamera: whyNoCamera(),
      sound: () => void this.sound.toggle(),
      picture: () => this.keeping.picture(),
      clip: () => this.keeping.toggleClip(),
      record: () => this.keeping.toggleRecording(),
      open: () => this.keeping.choose(),
    };
  }

  /** The next slower or faster speed of the tank's clock. */
  private changeSpeed(way: 1 | -1): void {
    if (!this.keeping.playing) this.conversation.speed(nextSpeed(this.model.state?.speed ?? 1, way));
  }

  private togglePause(): void {
    if (this.keeping.playing) this.keeping.togglePause();
    else this.conversation.control(this.model.state?.paused ? "resume" : "pause");
  }

  /** Colours the particles by a channel, from the next frame on where that has to bring the values. */
  private colourBy(name: string): void {
    this.settings.set("channel", name);
    this.pictures.colourBy.name = name;
    const curl = name === "vorticity";
    // What a paused tank has shown was decoded without.
    if (curl && !this.stream.curl && this.model.state?.paused) this.conversation.lookAgain();
    this.stream.curl = curl;
    this.conversation.carry(this.pictures.colourBy.carried);
    this.pictures.recolour();
  }

  /** Shows a field of the tank, from the next frame on; "": none. */
  private lookAt(name: string): void {
    this.settings.set("field", name);
    this.pictures.fieldView.name = name;
    this.carryField();
  }

  /** Asks for the field that is looked at, or that a wall is drawn with. */
  carryField(): void {
    const { name, axis, share } = this.pictures.fieldView.asked;
    Object.assign(this.wallWish, { draws: this.stage.drawsWall, idleMs: this.together.idleMs() });
    const carried = carriedField(name, this.model.state?.fields ?? [], this.wallWish);
    this.stream.slice = carried === "" ? -1 : share;
    this.stream.sliceAxis = axis;
    this.conversation.carryField(carried);
  }

  private cutAt(share: number): void {
    this.settings.set("slice", share);
    this.pictures.fieldView.slice = share;
    this.lookAt(this.pictures.fieldView.name);
    if (this.model.state?.paused) this.conversation.lookAgain();
  }

  /** A field's colours are explained before the particles'. */
  private showChannel(): void {
    const { colourBy, fieldView, shown } = this.pictures;
    const [{ channel }, { field }] = [colourBy, fieldView];
    const channels = this.model.state?.channels ?? [];
    this.panel.showChannels(channels, channel?.name ?? OWN);
    this.panel.showFields(
      this.model.state?.fields ?? [],
      field?.name ?? "",
      fieldView.slice,
      this.stage.isFlat,
    );
    const info = shown?.info ?? null;
    if (field !== null) {
      this.legend.show(field, info === null ? null : fieldView.scale(info));
    } else if (this.stage.drawing === "arrows") {
      const vorticity = channels.find(({ name }) => name === "vorticity") ?? null;
      this.legend.show(vorticity, info === null ? null : vorticityScale(info));
    } else {
      this.legend.show(channel, info === null ? null : colourBy.scale(info));
    }
  }

  /** @param asked  as the setting */
  private drawAs(asked: string): void {
    const { model = "", paused = false } = this.model.state ?? {};
    const [before, drawing] = [this.stage.drawing, drawingOf(model, asked)];
    const canWall = isWall(model, this.stage.isFlat) && this.stage.hasWater;
    const look = canWall ? wallLookOf(this.settings.values.look, this.namedLook) : null;
    this.pictures.tiers.drawAs(drawing, look);
    this.panel.showDrawings(drawingsOf(model), drawing);
    this.panel.showLooks(canWall, look);
    this.nameFluid();
    // Arrows are made of a frame that comes.
    if (paused && drawing === "arrows" && before !== drawing) this.conversation.lookAgain();
  }

  /** What of the tank is seen, in words: a wall's look as soon as the machine draws it. */
  private nameFluid(): void {
    const fluid = wordOf(this.stage.drawing, this.stage.drawsWall ? this.stage.wallLook : null);
    if (fluid === this.fluid) return;
    this.fluid = fluid;
    this.help.showFluid(fluid);
    this.parts.canvas.ariaLabel = `The tank of ${fluid}. Drag on the ${fluid} to push it, drag beside it to look around; H lists the keys.`;
  }

  private lightBy(name: LightName): void {
    this.stage.lightBy(name);
    // What is written over the picture is to be read on it.
    document.body.dataset.light = name;
    this.panel.showLight(name);
  }

  /** The look that the scene names. */
  private get namedLook(): WallLook | null {
    const { scene, look } = this.sceneLook;
    return scene === this.model.state?.scene ? look : null;
  }

  /** Says once what the address asks for that this tank or this machine doesn't have. */
  private sayMisfits(): void {
    if (this.misfitsSaid) return;
    this.misfitsSaid = true;
    const { isFlat, hasWater } = this.stage;
    const misfit = misfitOf(this.settings.values, { model: this.model.state?.model ?? "", isFlat, hasWater });
    if (misfit !== "") this.announcer.say(misfit);
  }

  private toggleReadout(): void {
    this.parts.readout.hidden = !this.parts.readout.hidden;
    this.settings.set("readout", !this.parts.readout.hidden);
  }

  private listen(): void {
    const { canvas } = this.parts;
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // or it never comes back
      this.notices.stop(
        "The graphics card stopped drawing",
        "The browser took the drawing surface away. The page goes on as soon as it gives it back.",
        RELOAD,
      );
    });
    // All that was on the card is gone; the address has how the tank is looked at.
    canvas.addEventListener("webglcontextrestored", () => {
      this.stage.stop(); // until the page goes, it would draw with what was made for the surface before
      this.settings.flush();
      window.location.reload();
    });
    window.addEventListener("pagehide", () => this.webcam.stop());
    window.addEventListener("resize", () => this.pictures.tiers.resize());
    window.addEventListener("online", () => this.link.hurry());
    document.addEventListener("visibilitychange", () => this.visibilityChanged());
  }

  private visibilityChanged(): void {
    // While nobody looks no frames come, and those on their way wait.
    this.stream.hold(document.hidden);
    this.conversation.view(document.hidden);
    if (document.hidden) {
      this.controls.cancel();
      this.webcam.stop("The camera was stopped while nobody looked.");
      return;
    }
    this.model.drops.restart();
    this.link.hurry();
  }
}
