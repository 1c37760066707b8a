import { partOf } from "../net/plain.js";
import "../ui/together.css";
import type { TimeMachine } from "../app/time-machine.js";
// Everything about the others in a tank: who they are, where they are, what one may do oneself, links for more.
import { endSession, LASTING_SESSION } from "../lobby/sessions.js";
import { beside, fetchBeside, here, ownFingerprint } from "../net/here.js";
import type { Conversation } from "../protocol/conversation.js";
import type {
  Joined,
  Moderation,
  PresencePoint,
  Role,
  ServerMessage,
  Tool,
  ViewerInfo,
} from "../protocol/messages.js";
import { PeopleMarkers, type PeopleView } from "../render/people.js";
import type { SceneShelf } from "../scenes/scene-shelf.js";
import { IdentityShelf } from "../state/identity.js";
import { momentIn, startPage } from "../state/links.js";
import { PresenceSender, PresenceTracks } from "../state/presence.js";
import { areScene } from "../state/scene-archive.js";
import { PeopleList } from "../ui/people-list.js";

const NOWHERE: readonly PresencePoint[] = [];

export interface TogetherParts {
  /** Where the list of people goes. */
  list: HTMLElement;
  canvas: HTMLElement;
  /** The page's heading: links go below it. */
  header: HTMLElement;
  view: PeopleView;
  /** That the tank has. */
  tools(): readonly Tool[];
  /** Seconds that are still played back; null: the tank is live. */
  replayLeftS(): number | null;
  /** What the tank was made from; "": nobody knows yet. */
  scene(): string;
  say(text: string): void;
  /** A display may show a code to scan. */
  code: boolean;
  /** Once per picture for each who presses at a place of the tank. @param id  whose */
  pressing(id: number, at: readonly number[]): void;
}

export class Together {
  readonly markers: PeopleMarkers;
  /** The newest answer to joining. */
  joined: Joined | null = null;

  private readonly list: PeopleList;
  private readonly shelf = new IdentityShelf(() => window.localStorage);
  private readonly query = new URLSearchParams(window.location.search);
  private readonly sender: PresenceSender;
  private readonly tracks = new PresenceTracks();
  private readonly calm = matchMedia("(prefers-reduced-motion: reduce)");
  private readonly all = document.createElement("a");
  private readonly ending = document.createElement("button");
  private readonly timing = document.createElement("button");
  private readonly shelving = document.createElement("button");
  private time: TimeMachine | null = null;
  private scenes: SceneShelf | null = null;
  /** The link's moment was followed, or can't be. */
  private momentSaid = false;
  private ownId = 0;
  /** Where the person under a headset is; null: nobody wears one. */
  private worn: readonly PresencePoint[] | null = null;
  private actedMs = performance.now();
  private tankName = "";

  constructor(
    private readonly conversation: Conversation,
    private readonly parts: TogetherParts,
  ) {
    this.sender = new PresenceSender((points) => conversation.presence(points));
    const labels = document.createElement("div");
    labels.id = "people";
    labels.ariaHidden = "true"; // the panel has them as text
    parts.canvas.after(labels);
    this.markers = new PeopleMarkers(labels, parts.view);
    parts.header.append(this.links());
    this.list = new PeopleList(parts.list, {
      profile: (name, colour) => {
        this.shelf.keep(name, colour);
        conversation.profile(name, colour);
      },
      moderate: (viewer, offered) => void this.moderate(viewer, offered),
      lock: () => void this.lock(),
    });
    for (const kind of ["pointerdown", "keydown", "wheel"] as const)
      window.addEventListener(kind, () => this.acted(), { passive: true, capture: true });
    // A browser moves a mouse that lies still by nothing, where the page below it changes.
    const moved = ({ movementX, movementY }: PointerEvent): void => {
      if (movementX !== 0 || movementY !== 0) this.acted();
    };
    window.addEventListener("pointermove", moved, { passive: true, capture: true });
    window.addEventListener("drop", (event) => this.drop(event), { capture: true });
  }

  onJoined(message: Joined): void {
    this.joined = message;
    this.ownId = message.viewerId;
    this.sender.reset();
    this.tracks.clear();
    document.body.dataset.role = message.role;
    this.all.href = startPage(beside("./"), message.ownKey);
    this.ending.hidden = message.ownKey === "" || message.session === LASTING_SESSION;
    this.stand(message.role);
    if (this.query.get("display") === "1") void this.display();
  }

  /** This viewer's role is, or has become, another: owners alone have the time line. */
  stand(role: Role): void {
    const { joined } = this;
    const has = joined !== null && role === "own" && (joined.past || joined.visitKey !== "");
    this.timing.hidden = !has;
    if (!has) this.time?.close();
    this.shelving.hidden = role !== "own" || this.ownersKey() === "";
  }

  /** Leads to the moment that the page's address names, once. @return why that can't be; "": it can, or there is none */
  followMoment(): string {
    const moment = momentIn(new URL(here()));
    if (moment === null || this.momentSaid || this.joined === null) return "";
    this.momentSaid = true;
    if (this.joined.past) {
      void this.openTime(moment);
      return "";
    }
    return this.joined.role === "own"
      ? "The link leads to a moment (t), but this server keeps no past of its tanks."
      : "The link leads to a moment (t) of this tank, to which only its owners may go back.";
  }

  onMessage(message: ServerMessage): void {
    if (message.t === "viewers") {
      this.tracks.keep(new Set(message.viewers.map((viewer) => viewer.viewerId)));
      this.markers.know(message.viewers);
      this.list.show(message.viewers, this.ownId);
    } else if (message.t === "presences") {
      if (message.points.some((point) => point.pressed && point.viewerId !== this.ownId)) this.acted();
      this.tracks.take(message.points, this.ownId, performance.now());
    }
  }

  onLost(): void {
    this.tracks.clear();
  }

  /** Once per picture. @param cursor  where this page's cursor is in the tank; null: nowhere */
  tick(nowMs: number, cursor: readonly number[] | null, pressed: boolean, tool: Tool): void {
    const points: readonly PresencePoint[] =
      this.worn ?? (cursor === null ? NOWHERE : [{ part: "cursor", position_m: cursor, pressed, tool }]);
    if (pressed) this.acted(); // a gamepad gives off no events
    this.sender.tick(points, nowMs);
    const tracks = this.tracks.tick(nowMs, this.calm.matches);
    this.markers.show(tracks);
    if (pressed && cursor !== null) this.parts.pressing(this.ownId, cursor);
    for (const { viewerId, presence, at } of tracks) if (presence.pressed) this.parts.pressing(viewerId, at);
  }

  /** Head and hands are shown to the others in the cursor's place. @param points  null: nobody wears a headset */
  wear(points: readonly PresencePoint[] | null): void {
    if ((points !== null) !== (this.worn !== null)) this.markers.wear(points !== null);
    this.worn = points;
    if (points?.some((point) => point.pressed)) this.acted();
  }

  /** What the tank is called. */
  name(name: string): void {
    this.tankName = name;
    const shown = document.querySelector("#display strong");
    if (shown !== null) shown.textContent = name;
  }

  /** Since somebody did something here, ms. */
  idleMs(): number {
    return performance.now() - this.actedMs;
  }

  private links(): HTMLElement {
    const links = document.createElement("nav");
    const { all } = this;
    all.href = "./";
    all.textContent = "All tanks";
    const share = document.createElement("button");
    share.type = "button";
    share.id = "share";
    share.textContent = "Share";
    share.addEventListener("click", () => void this.share());
    this.ending.type = "button";
    this.ending.id = "end";
    this.ending.hidden = true;
    this.ending.textContent = "End tank";
    this.ending.addEventListener("click", () => void this.end());
    this.timing.type = "button";
    this.timing.id = "past";
    this.timing.hidden = true;
    this.timing.textContent = "Time";
    this.timing.setAttribute("aria-expanded", "false");
    this.timing.addEventListener("click", () => {
      if (this.time === null) void this.openTime(null);
      else this.time.close();
    });
    this.shelving.type = "button";
    this.shelving.id = "scenes";
    this.shelving.hidden = true;
    this.shelving.textContent = "Own scenes";
    this.shelving.addEventListener("click", () => void this.openScenes([]));
    links.append(all, share, this.timing, this.shelving, this.ending);
    return links;
  }

  /** Somebody did something. */
  acted(): void {
    this.actedMs = performance.now();
  }

  private async share(): Promise<void> {
    if (this.joined === null) return;
    const part = await partOf(() => import("../ui/share.js"), this.parts.say);
    if (part === null || this.joined === null) return;
    part.openShare(this.joined, here(), ownFingerprint(fetchBeside, here()));
  }

  private async moderate(viewer: ViewerInfo, offered: readonly Moderation[]): Promise<void> {
    const part = await partOf(() => import("../ui/moderate.js"), this.parts.say);
    part?.openModerate(viewer, viewer.viewerId === this.ownId, offered, (action) =>
      this.conversation.moderate(viewer.viewerId, action),
    );
  }

  private async lock(): Promise<void> {
    const part = await partOf(() => import("../ui/moderate.js"), this.parts.say);
    part?.openLocks(
      [...this.parts.tools(), "tilt", "camera", "probe"],
      this.conversation.standing,
      (locked, open) => this.conversation.lock(locked, open),
    );
  }

  private async openTime(moment: number | null): Promise<void> {
    const part = await partOf(() => import("../app/time-machine.js"), this.parts.say);
    const { joined } = this;
    if (part === null || joined === null || this.time !== null) return;
    const keys = { past: this.ownersKey(), link: this.lastingKey() };
    this.timing.setAttribute("aria-expanded", "true");
    const setSpeed = (speed: number): void => void this.conversation.speed(speed);
    this.time = new part.TimeMachine(joined.session, keys, moment, this.parts.replayLeftS, setSpeed, () => {
      this.time = null;
      this.timing.setAttribute("aria-expanded", "false");
    });
  }

  /** An owner's; whom an owner gave the role has none that lasts. "": none */
  private lastingKey(): string {
    const { joined } = this;
    return joined?.role === "own" ? joined.ownKey || this.conversation.introduction.key : "";
  }

  /** By which an owner asks for something over HTTP. "": none */
  private ownersKey(): string {
    return this.lastingKey() || (this.joined?.visitKey ?? "");
  }

  /** A scene that an owner drops on the page is uploaded; other files are somebody else's. */
  private drop(event: DragEvent): void {
    const files = [...(event.dataTransfer?.files ?? [])];
    if (this.shelving.hidden || !areScene(files)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    void this.openScenes(files);
  }

  /** @param files  to be uploaded */
  private async openScenes(files: readonly File[]): Promise<void> {
    const part = await partOf(() => import("../scenes/scene-shelf.js"), this.parts.say);
    const { joined } = this;
    if (part === null || joined === null) return;
    if (this.scenes === null || !this.scenes.isOpen)
      this.scenes = new part.SceneShelf(
        joined.session,
        this.ownersKey(),
        () => this.parts.scene(),
        (scene) => void this.conversation.control("load", scene),
      );
    this.scenes.take(files);
  }

  private async end(): Promise<void> {
    const { joined } = this;
    if (joined === null) return;
    const part = await partOf(() => import("../ui/end-tank.js"), this.parts.say);
    part?.openEndTank(joined.title, async () => {
      await endSession(fetchBeside, joined.session, joined.ownKey);
      window.location.assign(beside("./"));
    });
  }

  private async display(): Promise<void> {
    const part = await partOf(() => import("../ui/display.js"), this.parts.say);
    if (part === null || this.joined === null) return;
    part.showDisplay(this.joined, this.tankName, here(), this.parts.code, {
      idleMs: () => this.idleMs(),
      restart: () => {
        this.acted();
        this.conversation.speed(1);
        this.conversation.control("resume");
        this.conversation.control("reset");
      },
    });
  }
}
