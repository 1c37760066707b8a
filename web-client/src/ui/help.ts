// A line that says how to begin, until somebody has begun; and the list of everything, which H and the bar's last
// button open.
import type { Role } from "../protocol/messages.js";
import { ROLES } from "../tables/protocol-tables.js";

/** What to do, what it does, and the least role in which it does. */
type Row = readonly [what: string, does: string, role?: Role];

const MOUSE: readonly Row[] = [
  ["Drag on the water", "use the tool", "play"],
  ["Drag beside it, right button", "look around"],
  ["Wheel", "zoom"],
  ["Shift + wheel", "size of the tool", "play"],
  ["1 … 9", "push, pull, vortex, pour, drain, dye, throw in, wall, erase walls", "play"],
  ["Space", "pour while held", "play"],
  ["[  ]", "size of the tool", "play"],
  ["P, S, R", "pause, single step, reset", "own"],
  ["<  >", "slower, faster: slow motion", "own"],
  ["Arrows, +, −, V", "turn, zoom, centre the view"],
  ["F", "full screen"],
  ["M", "measurements"],
  ["0", "probes: measure in the tank"],
  ["H, Esc", "this list"],
];
const TOUCH: readonly Row[] = [
  ["One finger on the water", "use the tool", "play"],
  ["One finger beside it, or two", "look around"],
  ["Pinch", "zoom"],
  ["Pinch on the bar of tools", "size of the tool", "play"],
];
const PAD: readonly Row[] = [
  ["Gamepad: left stick", "move over the tank"],
  ["Right stick", "look around"],
  ["Trigger or A", "use the tool", "play"],
  ["Shoulder buttons", "another tool", "play"],
  ["Cross", "size of the tool, zoom"],
  ["Start, Y", "pause, centre the view"],
];

export class Help {
  private list: HTMLElement | null = null;
  private returnTo: Element | null = null;
  private readonly touch = matchMedia("(pointer: coarse)").matches;
  private role: Role = "own";

  constructor(
    private readonly line: HTMLElement,
    shown: boolean,
  ) {
    line.hidden = !shown;
    this.showRole("own");
  }

  /** Says what the role may do only. */
  showRole(role: Role): void {
    this.role = role;
    const watching = `You are watching · ${this.touch ? "a finger looks" : "drag to look"} around`;
    const acting = this.touch
      ? "One finger pushes the water · two look around"
      : "Drag the water to push it · H shows all keys";
    this.line.textContent = role === "watch" ? watching : acting;
  }

  /** Somebody knows how to begin. */
  begun(): void {
    this.line.hidden = true;
  }

  toggle(): void {
    if (this.list === null) this.open();
    else this.close();
  }

  private open(): void {
    this.begun();
    this.returnTo = document.activeElement;
    const pane = document.createElement("section");
    pane.id = "keys";
    pane.setAttribute("role", "dialog");
    pane.setAttribute("aria-label", "Help");
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Close";
    close.addEventListener("click", () => this.close());
    const terms = document.createElement("dl");
    for (const [what, does, least = "watch"] of [...(this.touch ? TOUCH : MOUSE), ...PAD]) {
      if (ROLES.indexOf(this.role) < ROLES.indexOf(least)) continue;
      const term = document.createElement("dt");
      term.textContent = what;
      const text = document.createElement("dd");
      text.textContent = does;
      terms.append(term, text);
    }
    pane.append(terms, close);
    pane.addEventListener("keydown", (event) => {
      if (!/^(Escape|h|\?)$/i.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      this.close();
    });
    document.body.append(pane);
    this.list = pane;
    close.focus();
  }

  private close(): void {
    this.list?.remove();
    this.list = null;
    if (this.returnTo instanceof HTMLElement) this.returnTo.focus();
  }
}
