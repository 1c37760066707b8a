// Probes on the page: a button, and what is fetched when somebody presses it or the tank has any.
import type { Object3D } from "three";
import type { ProbeDesk } from "./probe-desk.js";
import type { Conversation } from "./protocol/conversation.js";
import type { ServerMessage, SessionState } from "./protocol/messages.js";
import type { Standing } from "./protocol/standing.js";
import type { PeopleView } from "./render/people.js";
import type { Ray, Vec3 } from "./state/ray.js";

/** What takes presses in the tool's place. */
export interface Grip {
  /** @return whether it takes this press: its moves and its end are told to no one else */
  down(pointer: number, x: number, y: number): boolean;
  /** @return whether this pointer's press is its own */
  move(pointer: number, x: number, y: number): boolean;
  up(pointer: number): boolean;
}

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
  /** Where the button goes. */
  header: HTMLElement;
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

type ListMessage = Extract<ServerMessage, { t: "probes" }>;

export class Probes implements Grip {
  desk: ProbeDesk | null = null;

  private readonly button = document.createElement("button");
  private newest: ListMessage | null = null;
  private asked: Promise<ProbeDesk> | null = null;
  private isWorn = false;

  constructor(private readonly host: ProbesHost) {
    const { button } = this;
    button.type = "button";
    button.id = "measure";
    button.textContent = "Measure";
    button.title = "Probes (0)";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-keyshortcuts", "0");
    button.addEventListener("click", () => void this.toggle());
    (host.header.querySelector("nav") ?? host.header).append(button);
  }

  /** Opens the panel, or closes it. */
  async toggle(): Promise<void> {
    const desk = await this.fetch();
    await desk.toggle();
  }

  onJoined(): void {
    this.onMessage({ t: "probes", list: 0, probes: [] }); // where there are any, they come right behind
  }

  onMessage(message: ServerMessage): void {
    if (message.t === "probes") {
      this.newest = message;
      if (this.desk !== null) this.desk.show(message);
      else if (message.probes.length > 0) void this.fetch();
    } else if (message.t === "readings") this.desk?.take(message);
  }

  /** What each probe says now, as a line of text. */
  lines(): readonly string[] {
    return this.desk?.lines() ?? [];
  }

  /** A headset shows what is measured from now on, or no longer. */
  wear(on: boolean): void {
    this.isWorn = on;
    this.desk?.wear(on);
  }

  /** Once per picture. */
  tick(nowMs: number): void {
    this.desk?.tick(nowMs);
  }

  down(pointer: number, x: number, y: number): boolean {
    return this.desk?.down(pointer, x, y) ?? false;
  }

  move(pointer: number, x: number, y: number): boolean {
    return this.desk?.move(pointer, x, y) ?? false;
  }

  up(pointer: number): boolean {
    return this.desk?.up(pointer) ?? false;
  }

  private fetch(): Promise<ProbeDesk> {
    this.asked ??= import("./probe-desk.js").then(({ ProbeDesk }) => {
      const desk = new ProbeDesk(this.host, (open) =>
        this.button.setAttribute("aria-expanded", String(open)),
      );
      this.desk = desk;
      desk.wear(this.isWorn);
      if (this.newest !== null) desk.show(this.newest);
      return desk;
    });
    return this.asked;
  }
}
