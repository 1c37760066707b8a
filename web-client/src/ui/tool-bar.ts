// The bar of tools: a button for each that the tank has, with a picture and its key. Two fingers on the bar, or the wheel
// over it, size the tool.
import type { Tool } from "../protocol/messages.js";
import { colourText } from "../state/identity.js";
import { TOOLS } from "../tables/protocol-tables.js";

/** What a tool does, in words; the picture is drawn on 24 x 24. */
const LOOKS: Readonly<Record<Tool, { words: string; picture: string }>> = {
  push: { words: "Push", picture: "M3 12h12m-5-5 5 5-5 5M19 5v14" },
  pull: {
    words: "Pull",
    picture: "M12 3v5m-2-2 2 2 2-2M12 21v-5m-2 2 2-2 2 2M3 12h5m-2-2 2 2-2 2M21 12h-5m2-2-2 2 2 2",
  },
  vortex: { words: "Vortex", picture: "M12 12a2 2 0 0 1 3 2c-1 3-7 3-8-1-1-5 5-8 9-6 6 2 6 10 1 13" },
  pour: {
    words: "Pour",
    picture: "M4 4h9l3 3v2M4 4v5h8M16 13c2 3 3 4 3 5.5a3 3 0 0 1-6 0C13 17 14 16 16 13Z",
  },
  drain: { words: "Drain", picture: "M4 5h16M6 5c0 5 4 6 4 9h4c0-3 4-4 4-9M12 17v4m-2-2 2 2 2-2" },
  dye: {
    words: "Dye",
    picture: "M14 5l5 5M12 7l5 5-7 7c-2 2-4 1-6 2 1-2 0-4 2-6ZM15.5 3.5a2.5 2.5 0 0 1 5 5",
  },
  throw: {
    words: "Throw in",
    picture:
      "M3 20q2.5-2 5 0t5 0 5 0 3 0M6 17a6 5 0 0 0 12 0c0-2-1-3-3-3h-2a4 4 0 1 0-5-1l-1 3ZM8 9l-3 1 2 1.5",
  },
  wall: { words: "Wall", picture: "M3 6h18v13H3ZM3 12.5h18M9 6v6.5M15 12.5V19" },
  erase: { words: "Erase walls", picture: "M3 8h9v11H3ZM3 13.5h9M15 6l6 6M21 6l-6 6" },
};

const NAMESPACE = "http://www.w3.org/2000/svg";

export interface ToolBarActions {
  choose(tool: Tool): void;
  help(): void;
}

/** The key of a tool, whichever others the tank has. */
export function keyOf(tool: Tool): string {
  return String(TOOLS.indexOf(tool) + 1);
}

export class ToolBar {
  private readonly buttons = new Map<Tool, HTMLButtonElement>();
  private readonly help: HTMLButtonElement;

  constructor(
    private readonly host: HTMLElement,
    private readonly actions: ToolBarActions,
  ) {
    const mark = document.createElement("span");
    mark.textContent = "?";
    this.help = createButton("Help", "H", mark);
    this.help.addEventListener("click", () => actions.help());
    host.append(this.help);
    // A button that is clicked leaves the keys where they are: the space bar pours.
    host.addEventListener("mousedown", (event) => event.preventDefault());
    host.addEventListener("keydown", (event) => move(host, event));
  }

  /** Has buttons for these tools, in this order. */
  offer(tools: readonly Tool[]): void {
    for (const button of this.buttons.values()) button.remove();
    this.buttons.clear();
    for (const tool of tools) {
      const { words, picture } = LOOKS[tool];
      const button = createButton(words, keyOf(tool), createPicture(picture));
      button.dataset.tool = tool;
      button.addEventListener("click", () => this.actions.choose(tool));
      this.buttons.set(tool, button);
      this.host.insertBefore(button, this.help);
    }
  }

  /** @param colour  of what the tool adds, sRGB */
  show(tool: Tool, colour: number): void {
    for (const [name, button] of this.buttons) button.setAttribute("aria-pressed", String(name === tool));
    const text = colourText(colour);
    for (const name of ["pour", "dye"] as const) this.buttons.get(name)?.style.setProperty("--adds", text);
  }
}

function createButton(words: string, key: string, face: Element): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.title = `${words} (${key})`;
  button.setAttribute("aria-label", words);
  button.setAttribute("aria-keyshortcuts", key);
  button.append(face);
  return button;
}

function createPicture(path: string): SVGElement {
  const picture = document.createElementNS(NAMESPACE, "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(NAMESPACE, "path");
  line.setAttribute("d", path);
  picture.append(line);
  return picture;
}

/** Arrows go from button to button. */
function move(host: HTMLElement, event: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const buttons = [...host.querySelectorAll("button")].filter((button) => button.offsetParent !== null);
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
  buttons[(at + step + buttons.length) % buttons.length]?.focus();
  event.preventDefault();
}
