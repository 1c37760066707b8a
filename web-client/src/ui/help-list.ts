import "./help-list.css";
// The list of everything that keys, fingers and gamepads do, which H and the bar's last button open.
import type { Role } from "../protocol/messages.js";
import { ROLES } from "../tables/protocol-tables.js";

/** What to do, what it does, and the least role in which it does. */
type Row = readonly [what: string, does: string, role?: Role];

const MOUSE: readonly Row[] = [
  ["Drag in the tank", "use the tool", "play"],
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
  ["M", "performance: figures of page and server"],
  ["0", "measure in the tank, with probes"],
  ["I", "flow: slices, streamlines, energy"],
  ["H, Esc", "this list"],
];
const TOUCH: readonly Row[] = [
  ["One finger in the tank", "use the tool", "play"],
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

/**
 * Puts it onto the page.
 * @param role   says what it may do only
 * @param close  takes it away again
 */
export function openHelpList(role: Role, touch: boolean, close: () => void): HTMLElement {
  const pane = document.createElement("section");
  pane.id = "keys";
  pane.setAttribute("role", "dialog");
  pane.setAttribute("aria-label", "Help");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Close";
  button.addEventListener("click", close);
  const terms = document.createElement("dl");
  for (const [what, does, least = "watch"] of [...(touch ? TOUCH : MOUSE), ...PAD]) {
    if (ROLES.indexOf(role) < ROLES.indexOf(least)) continue;
    const term = document.createElement("dt");
    term.textContent = what;
    const text = document.createElement("dd");
    text.textContent = does;
    terms.append(term, text);
  }
  pane.append(terms, button);
  pane.addEventListener("keydown", (event) => {
    if (!/^(Escape|h|\?)$/i.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    close();
  });
  document.body.append(pane);
  button.focus();
  return pane;
}
