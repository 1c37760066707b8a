import "../ui/probes.css";
// Who measures in the tank: what its probes are and have measured, their marks in it, what people do to them, and the
// panel, once somebody opens it.
import type { Object3D } from "three";
import type { App } from "../app/app.js";
import type { Conversation } from "../protocol/conversation.js";
import type { Probe, ProbeKind, Readings, ServerMessage, SessionState } from "../protocol/messages.js";
import { FREE, mayUse, type Standing } from "../protocol/standing.js";
import type { PeopleView } from "../render/people.js";
import { ProbeMarks } from "../render/probe-marks.js";
import { meetPlane } from "../state/liquid-map.js";
import {
  isSamePlace,
  middleOf,
  movedTo,
  moveWish,
  type Place,
  placeAt,
  placeWish,
} from "../state/probe-place.js";
import { foremostOf, ProbeTrack, quantityOf, readable, titleOf } from "../state/probe-track.js";
import type { Ray, Vec3 } from "../state/ray.js";
import type { ProbePanel } from "../ui/probe-panel.js";
import type { Desk, Grip } from "./desk-button.js";

/** How near to a mark a press takes hold of it, CSS pixels: fingers cover more than a pointer points at. */
const REACH_PX = matchMedia("(pointer: coarse)").matches ? 28 : 14;
const SEND_EVERY_MS = 100;
const SHOW_EVERY_MS = 200;

export interface ProbesView extends PeopleView {
  add(object: Object3D): void;
  rayAt(x: number, y: number, ray: Ray): void;
  /** The scene's solid that is nearest to a point of the tank; null where it has none. */
  solidNear(point: readonly number[]): number | null;
  /** Writes where a solid of the scene is. @return false where there is none */
  solidPlace(index: number, out: Vec3): boolean;
}

export interface ProbesHost {
  conversation: Conversation;
  canvas: HTMLCanvasElement;
  view: ProbesView;
  state(): SessionState | null;
  ownId(): number;
  standing(): Standing;
  /** Writes where a press at a place of the canvas would take hold of the water. @return false where it wouldn't */
  aim(x: number, y: number, out: Vec3): boolean;
  /** Of what is shown, simulated seconds. */
  timeS(): number;
  say(text: string): void;
}

interface Held {
  pointer: number;
  probe: Probe;
  place: Place;
  /** The plane that it slides along. */
  point: Vec3;
  normal: Vec3;
  moved: boolean;
}

export class ProbeDesk implements Desk, Grip {
  readonly track = new ProbeTrack();
  /** What the next press in the tank places; null: nothing. */
  placing: ProbeKind | null = null;

  private readonly marks: ProbeMarks;
  private panel: ProbePanel | null = null;
  private held: Held | null = null;
  private readonly ray: Ray = { origin: [0, 0, 0], direction: [0, 0, -1] };
  private readonly point: Vec3 = [0, 0, 0];
  private isHeard = false;
  private sentMs = 0;
  private shownMs = 0;

  /** @param opened  is told when the panel is there, and when it is no more */
  constructor(
    private readonly host: ProbesHost,
    private readonly opened: (open: boolean) => void,
  ) {
    const labels = document.createElement("div");
    labels.id = "probe-names";
    labels.ariaHidden = "true"; // the panel has them as text
    host.canvas.after(labels);
    this.marks = new ProbeMarks(labels, host.view);
    host.view.add(this.marks.group);
  }

  /** Opens the panel, with the readings that it needs, or closes it. */
  async toggle(): Promise<void> {
    if (this.panel !== null) {
      this.close();
      return;
    }
    const { ProbePanel } = await import("../ui/probe-panel.js");
    if (this.panel !== null) return;
    this.panel = new ProbePanel(this.track, {
      choose: (kind) => this.choose(this.placing === kind ? null : kind),
      placeInMiddle: () => this.placeAtPoint(this.host.view.sizeM.map((metres) => metres / 2)),
      move: (probe, place) => this.send(moveWish(probe.id, place)),
      remove: (probe) => this.send({ action: "remove", id: probe.id }),
      may: (probe) => this.may(probe),
      mayPlace: () => mayUse(this.host.standing(), "probe"),
      channels: () => this.host.state()?.channels ?? [],
      sizeM: () => this.host.view.sizeM,
      timeS: () => this.host.timeS(),
      close: () => this.close(),
    });
    this.host.conversation.measure(true);
    this.panel.showList();
    this.opened(true);
  }

  /** What each probe says now: its name, and the foremost of what it measures. */
  lines(): readonly string[] {
    const channels = this.host.state()?.channels ?? [];
    return this.track.probes.flatMap((probe) => {
      const column = foremostOf(probe);
      const value = this.track.newest(probe, column);
      if (value === null) return [];
      return [`${titleOf(probe)}: ${readable(value, quantityOf(column, channels).unit)}`];
    });
  }

  /** Somebody else wants what is measured to come from now on, or no longer. */
  listen(on: boolean): void {
    this.isHeard = on;
    this.host.conversation.measure(on || this.panel !== null);
  }

  /** Whether the panel is there. */
  get isOpen(): boolean {
    return this.panel !== null;
  }

  show({ list, probes }: Extract<ServerMessage, { t: "probes" }>): void {
    this.track.show(list, probes);
    if (this.held !== null && !probes.some(({ id }) => id === this.held?.probe.id)) this.held = null;
    this.draw();
    this.panel?.showList();
  }

  take(readings: Readings): void {
    this.track.take(readings);
  }

  /** Once per picture. */
  tick(nowMs: number): void {
    this.marks.tick();
    if (this.held?.moved && nowMs - this.sentMs >= SEND_EVERY_MS) this.sendHeld(nowMs);
    if (this.panel === null || nowMs - this.shownMs < SHOW_EVERY_MS) return;
    this.shownMs = nowMs;
    this.panel.showValues();
  }

  // ---- presses ----

  /** Who may move probes may use tools. */
  reaches(): boolean {
    return false;
  }

  down(pointer: number, x: number, y: number): boolean {
    if (this.panel === null || this.held !== null) return false;
    if (this.placing !== null) {
      if (this.host.aim(x, y, this.point)) this.placeAtPoint(this.point);
      this.held = null;
      return this.swallow(pointer);
    }
    const probe = this.marks.near(x, y, REACH_PX);
    if (probe === null || probe.kind === "force" || !this.may(probe)) return false;
    this.host.view.rayAt(x, y, this.ray);
    const { direction } = this.ray;
    const point = middleOf(probe) as Vec3;
    this.held = {
      pointer,
      probe,
      place: probe,
      point,
      normal: [direction[0], direction[1], direction[2]],
      moved: false,
    };
    this.draw();
    return true;
  }

  move(pointer: number, x: number, y: number): boolean {
    const { held } = this;
    if (held === null || held.pointer !== pointer) return this.swallowed === pointer;
    this.host.view.rayAt(x, y, this.ray);
    if (!meetPlane(this.ray, held.point, held.normal, this.point)) return true;
    const place = movedTo(held.probe, this.point, this.host.view.sizeM);
    held.moved ||= !isSamePlace(place, held.place);
    held.place = place;
    this.draw();
    return true;
  }

  up(pointer: number): boolean {
    const { held } = this;
    if (held === null || held.pointer !== pointer) {
      const mine = this.swallowed === pointer;
      this.swallowed = -1;
      return mine;
    }
    if (held.moved) this.sendHeld(0);
    this.held = null;
    this.draw();
    return true;
  }

  /** The pointer whose press placed something. */
  private swallowed = -1;

  private swallow(pointer: number): true {
    this.swallowed = pointer;
    return true;
  }

  private choose(kind: ProbeKind | null): void {
    this.placing = kind;
    this.panel?.showPlacing(kind);
  }

  private placeAtPoint(point: readonly number[]): void {
    if (this.placing === null) return;
    const solid = this.placing === "force" ? this.host.view.solidNear(point) : undefined;
    if (solid === null) this.host.say("There is no solid in this scene to measure a force on.");
    else this.send(placeWish(placeAt(this.placing, point, this.host.view.sizeM), solid));
    this.choose(null);
  }

  private sendHeld(nowMs: number): void {
    if (this.held === null) return;
    this.held.moved = false;
    this.sentMs = nowMs;
    this.send(moveWish(this.held.probe.id, this.held.place));
  }

  private send(wish: Parameters<ProbesHost["conversation"]["probe"]>[0]): void {
    if (!this.host.conversation.probe(wish))
      this.host.say("Probes can't be placed or moved now: you may not, or there is no connection.");
  }

  /** Whether this page's viewer may move or remove it. */
  private may(probe: Probe): boolean {
    const standing = this.host.standing();
    if (!mayUse(standing, "probe")) return false;
    if (standing.role === "own" || probe.viewerId === this.host.ownId()) return true;
    return probe.viewerId === 0 && !probe.scene;
  }

  private draw(): void {
    const { held } = this;
    const probes = this.track.probes.map((probe) =>
      probe.id === held?.probe.id ? { ...probe, atM: held.place.atM, toM: held.place.toM } : probe,
    );
    this.marks.show(probes, held?.probe.id ?? 0);
  }

  private close(): void {
    this.choose(null);
    this.panel?.remove();
    this.panel = null;
    this.held = null;
    this.host.conversation.measure(this.isHeard);
    this.opened(false);
    document.getElementById("measure")?.focus();
  }
}

export function createProbeDesk(
  app: App,
  canvas: HTMLCanvasElement,
  say: (text: string) => void,
  opened: (open: boolean) => void,
): ProbeDesk {
  const { controls, conversation, keeping, model, stage, stream } = app;
  const host = {
    conversation,
    canvas,
    view: stage,
    state: () => model.state,
    ownId: () => model.viewerId,
    // What was measured once is nobody's to change.
    standing: () => (keeping.playing ? { ...FREE, role: "watch" as const } : conversation.standing),
    aim: (x: number, y: number, out: Vec3) => controls.tool.aim(x, y, out),
    timeS: () => stream.latest?.info.simTimeS ?? 0,
    say,
  };
  return new ProbeDesk(host, opened);
}
