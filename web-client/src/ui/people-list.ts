// Who is here and who may do what. One's own line has the name and the colour to change.
import type { Role, ViewerInfo } from "../protocol/messages.js";
import { clipName } from "../protocol/messages.js";
import { colourText, readColour } from "../state/identity.js";
import { NAME_BYTES_MAX } from "../tables/protocol-tables.js";

/** Of one's own role, and of the others'. */
const MAY: Readonly<Record<Role, string>> = { watch: "watches", play: "plays", own: "owns" };
const YOU_MAY: Readonly<Record<Role, string>> = {
  watch: "You watch this tank. For playing you need another link.",
  play: "You may push the water. Pausing and scenes are the owners' business.",
  own: "You may do everything in this tank.",
};

export interface PeopleActions {
  /** "" and 0 leave name and colour as they are. */
  profile(name: string, colour: number): void;
}

export class PeopleList {
  private readonly list = document.createElement("ul");
  private readonly role = document.createElement("p");
  private readonly form = document.createElement("form");
  private readonly name = document.createElement("input");
  private readonly colour = document.createElement("input");

  constructor(
    host: HTMLElement,
    private readonly actions: PeopleActions,
  ) {
    host.classList.add("people");
    this.list.className = "viewers";
    this.role.className = "role";
    this.makeForm();
    host.replaceChildren(this.form, this.list, this.role);
  }

  show(viewers: readonly ViewerInfo[], own: number): void {
    const me = viewers.find((viewer) => viewer.viewerId === own);
    if (me !== undefined) this.showOwn(me);
    this.list.replaceChildren(...viewers.map((viewer) => line(viewer, viewer.viewerId === own)));
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
    this.role.textContent = YOU_MAY[me.role];
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
  may.textContent = MAY[viewer.role];
  item.append(dot, name, may);
  return item;
}
