// Who is here and who may do what. One's own line has the name and the colour to change.
import type { Moderation, Role, ViewerInfo } from "../protocol/messages.js";
import { clipName } from "../protocol/messages.js";
import { moderationsOf } from "../protocol/standing.js";
import { colourText, readColour } from "../state/identity.js";
import { NAME_BYTES_MAX } from "../tables/protocol-tables.js";

/** Of one's own role, and of the others'. */
const MAY: Readonly<Record<Role, string>> = { watch: "watches", play: "plays", own: "owns" };
const MUTED = "An owner has muted you: what you do here has no effect.";
const YOU_MAY: Readonly<Record<Role, string>> = {
  watch: "You watch this tank. For playing you need another link.",
  play: "You may use the tools. Pausing and scenes are the owners' business.",
  own: "You may do everything in this tank.",
};

export interface PeopleActions {
  /** "" and 0 leave name and colour as they are. */
  profile(name: string, colour: number): void;
  /** An owner wants to do something about somebody. @param offered  what may be done, not empty */
  moderate(viewer: ViewerInfo, offered: readonly Moderation[]): void;
  /** An owner wants to lock something, or unlock it. */
  lock(): void;
}

export class PeopleList {
  private readonly list = document.createElement("ul");
  private readonly role = document.createElement("p");
  private readonly form = document.createElement("form");
  private readonly name = document.createElement("input");
  private readonly colour = document.createElement("input");
  private readonly locks = document.createElement("button");

  constructor(
    host: HTMLElement,
    private readonly actions: PeopleActions,
  ) {
    host.classList.add("people");
    this.list.className = "viewers";
    this.role.className = "role";
    this.makeForm();
    this.locks.type = "button";
    this.locks.className = "locks";
    this.locks.hidden = true;
    this.locks.textContent = "What players may do …";
    this.locks.addEventListener("click", () => actions.lock());
    host.replaceChildren(this.form, this.list, this.role, this.locks);
  }

  show(viewers: readonly ViewerInfo[], own: number): void {
    const me = viewers.find((viewer) => viewer.viewerId === own);
    if (me !== undefined) this.showOwn(me);
    this.locks.hidden = me?.role !== "own";
    const owners = viewers.filter(({ role }) => role === "own").length;
    // Whoever is about to press a button goes on with it when the list comes again.
    const held =
      document.activeElement instanceof HTMLElement ? document.activeElement.dataset.viewer : undefined;
    this.list.replaceChildren(
      ...viewers.map((viewer) => {
        const item = line(viewer, viewer.viewerId === own);
        const offered = moderationsOf(me, viewer, owners);
        if (offered.length > 0) item.append(this.moderateButton(viewer, viewer.viewerId === own, offered));
        return item;
      }),
    );
    if (held !== undefined) this.list.querySelector<HTMLElement>(`[data-viewer="${held}"]`)?.focus();
  }

  private moderateButton(viewer: ViewerInfo, own: boolean, offered: readonly Moderation[]): HTMLElement {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.viewer = String(viewer.viewerId);
    button.textContent = "⋯";
    button.setAttribute("aria-label", own ? "Step back" : `What to do about ${viewer.name}`);
    button.setAttribute("aria-haspopup", "dialog");
    button.addEventListener("click", () => this.actions.moderate(viewer, offered));
    return button;
  }

  private makeForm(): void {
    this.name.type = "text";
    this.name.maxLength = NAME_BYTES_MAX;
    this.name.setAttribute("aria-label", "Your name");
    this.name.className = "name";
    this.colour.type = "color";
    this.colour.className = "colour";
    this.colour.setAttribute("aria-label", "Your colour");
    this.form.append(this.colour, this.name);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.name.blur();
    });
    this.name.addEventListener("change", () => {
      const name = clipName(this.name.value);
      if (name !== "") this.actions.profile(name, 0);
    });
    this.colour.addEventListener("change", () => {
      // Black stands for no choice: the darkest that can be told is one above.
      this.actions.profile("", readColour(this.colour.value) || 1);
    });
  }

  private showOwn(me: ViewerInfo): void {
    if (document.activeElement !== this.name) this.name.value = me.name;
    if (document.activeElement !== this.colour) this.colour.value = colourText(me.colour);
    this.role.textContent = me.muted ? MUTED : YOU_MAY[me.role];
  }
}

function line(viewer: ViewerInfo, own: boolean): HTMLElement {
  const item = document.createElement("li");
  item.classList.toggle("own", own);
  const dot = document.createElement("i");
  dot.style.background = colourText(viewer.colour);
  const name = document.createElement("span");
  name.textContent = own ? `${viewer.name} (you)` : viewer.name;
  const may = document.createElement("small");
  may.textContent = viewer.muted ? `${MAY[viewer.role]}, muted` : MAY[viewer.role];
  item.append(dot, name, may);
  return item;
}
