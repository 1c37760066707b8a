// What the page says to people: a line at the top for what passes by itself, a page-filling notice for what doesn't.

export type Tone = "calm" | "warn" | "bad";

export class Notices {
  private shown = "";

  constructor(
    private readonly line: HTMLElement,
    private readonly notice: HTMLElement,
  ) {}

  /** Shows a line, or hides it where there is nothing to say. */
  say(text: string, tone: Tone = "calm"): void {
    const key = `${tone} ${text}`;
    if (key === this.shown) return;
    this.shown = key;
    this.line.textContent = text;
    this.line.hidden = text === "";
    this.line.className = tone;
  }

  /** Says why there is no tank to see. */
  stop(title: string, text: string, action: { label: string; run(): void } | null): void {
    this.say("");
    const heading = document.createElement("h2");
    heading.textContent = title;
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    this.notice.replaceChildren(heading, paragraph);
    if (action !== null) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = action.label;
      button.addEventListener("click", action.run);
      this.notice.append(button);
    }
    this.notice.hidden = false;
  }

  clear(): void {
    this.notice.hidden = true;
    this.notice.replaceChildren();
  }
}
