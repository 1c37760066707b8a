// A line that says how to begin, until somebody has begun; and the list of everything, which H and the bar's last
// button open.

const MOUSE: readonly (readonly [string, string])[] = [
  ["Drag on the water", "use the tool"],
  ["Drag beside it, right button", "look around"],
  ["Wheel", "zoom"],
  ["Shift + wheel", "size of the tool"],
  ["1 … 9", "push, pull, vortex, pour, drain, dye, throw in, wall, erase walls"],
  ["Space", "pour while held"],
  ["[  ]", "size of the tool"],
  ["P, S, R", "pause, single step, reset"],
  ["Arrows, +, −, V", "turn, zoom, centre the view"],
  ["F", "full screen"],
  ["M", "measurements"],
  ["H, Esc", "this list"],
];
const TOUCH: readonly (readonly [string, string])[] = [
  ["One finger on the water", "use the tool"],
  ["One finger beside it, or two", "look around"],
  ["Pinch", "zoom"],
  ["Pinch on the bar of tools", "size of the tool"],
];
const PAD: readonly (readonly [string, string])[] = [
  ["Gamepad: left stick", "move over the tank"],
  ["Right stick", "look around"],
  ["Trigger or A", "use the tool"],
  ["Shoulder buttons", "another tool"],
  ["Cross", "size of the tool, zoom"],
  ["Start, Y", "pause, centre the view"],
];

export class Help {
  private list: HTMLElement | null = null;
  private returnTo: Element | null = null;
  private readonly touch = matchMedia("(pointer: coarse)").matches;

  constructor(
    private readonly line: HTMLElement,
    shown: boolean,
  ) {
    line.hidden = !shown;
    line.textContent = this.touch
      ? "One finger pushes the water · two look around"
      : "Drag the water to push it · H shows all keys";
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
    for (const [what, does] of [...(this.touch ? TOUCH : MOUSE), ...PAD]) {
      const term = document.createElement("dt");
      term.textContent = what;
      const text = document.createElement("dd");
      text.textContent = does;
      terms.append(term, text);
    }
    pane.append(terms, close);
    pane.addEventListener("keydown", (event) => {
      if (!/^(Escape|h|\?)$/i.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.stopPropagation();
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
