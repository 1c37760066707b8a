import "./side-pane.css";

// A pane at the left of the page with something to measure with: at most one is there at a time.

let closeOther: (() => void) | null = null;

export class SidePane {
  readonly element = document.createElement("section");

  /**
   * Puts it onto the page, in the place of another one.
   * @param close  takes it away again, by `remove`: somebody wants that, or another pane comes
   */
  constructor(
    id: string,
    title: string,
    private readonly close: () => void,
  ) {
    closeOther?.();
    closeOther = close;
    const { element } = this;
    const head = document.createElement("header");
    const heading = document.createElement("h2");
    element.id = id;
    element.className = "side-pane instrument";
    element.setAttribute("aria-labelledby", `${id}-title`);
    heading.id = `${id}-title`;
    heading.textContent = title;
    head.append(
      heading,
      button("Close", () => close()),
    );
    element.append(head);
    document.body.append(element);
    document.body.classList.add("measuring");
  }

  remove(): void {
    this.element.remove();
    if (closeOther !== this.close) return;
    closeOther = null;
    document.body.classList.remove("measuring");
  }
}

export function button(text: string, act: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

/** A row of what belongs together. @param label  for those who hear it */
export function group(className: string, label: string, ...children: (Node | string)[]): HTMLElement {
  const row = document.createElement("div");
  row.className = className;
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", label);
  row.append(...children);
  return row;
}

/** A place's coordinate as a number, for those who don't drag. */
export function coordinateInput(
  words: string,
  label: string,
  metres: number,
  mostM: number,
  changed: (metres: number) => void,
): HTMLLabelElement & { input: HTMLInputElement } {
  const box = document.createElement("label");
  const input = document.createElement("input");
  input.type = "number";
  input.min = "0";
  input.max = String(mostM);
  input.step = "any";
  input.value = shortly(metres);
  input.setAttribute("aria-label", label);
  input.addEventListener("change", () => changed(input.valueAsNumber));
  box.append(`${words} `, input);
  return Object.assign(box, { input });
}

/** As many digits as a place in a tank has. */
export function shortly(metres: number): string {
  return String(Number(metres.toPrecision(4)));
}

/** How many seconds are shown: for plots. */
export function spanChoice(changed: () => void): { element: HTMLElement; seconds(): number } {
  const label = document.createElement("label");
  const select = document.createElement("select");
  label.textContent = "Shown: ";
  for (const seconds of [5, 15, 60, Number.POSITIVE_INFINITY])
    select.add(new Option(Number.isFinite(seconds) ? `${seconds} s` : "all that is kept", String(seconds)));
  select.value = "15";
  select.addEventListener("change", changed);
  label.append(select);
  return { element: label, seconds: () => Number(select.value) };
}

/** Has the browser save a table. */
export function saveTable(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  // What is being saved needs it a little longer.
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
