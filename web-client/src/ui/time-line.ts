import "./time-line.css";
// The bar below a tank whose past is kept: a slider over it, marks, and what can be done from the moment it is at. It
// knows no server.
import type { Mark, Past } from "../state/past.js";
import { SPEEDS } from "../state/speeds.js";

/** So near its end the slider is at what happens now. */
const NOW_S = 0.25;
const MARK_NAME_MAX = 40;

export interface TimeLineActions {
  /** @param t  seconds of the tank's time, as all moments */
  goBack(t: number): void;
  /** The same, and what was done from then on is done again. */
  playAgain(t: number): void;
  /** Makes another tank that goes on from there. */
  copy(t: number): void;
  mark(t: number, name: string): void;
  unmark(mark: Mark): void;
  copyLink(t: number): void;
  speed(factor: number): void;
  close(): void;
}

export class TimeLine {
  private readonly bar = document.createElement("section");
  private readonly slider = document.createElement("input");
  /** No output element: it would be read aloud with each picture. */
  private readonly time = document.createElement("span");
  private readonly name = document.createElement("input");
  private readonly speed = document.createElement("select");
  private readonly marks = document.createElement("ul");
  private readonly says = document.createElement("p");
  private readonly back: HTMLButtonElement;
  private readonly again: HTMLButtonElement;
  private readonly copy: HTMLButtonElement;
  private past: Past = { from: 0, until: 0, speed: 1, marks: [] };
  /** Null: now. */
  private at: number | null = null;
  /** Seconds that are still played back; null: the tank is live. */
  private leftS: number | null = null;
  private shownMarks = "";

  constructor(private readonly actions: TimeLineActions) {
    this.bar.id = "time";
    this.bar.setAttribute("aria-label", "Time line");
    this.slider.type = "range";
    this.slider.step = "0.05";
    this.slider.setAttribute("aria-label", "Moment");
    this.slider.addEventListener("input", () => this.slid());
    this.back = button("Go back", () => actions.goBack(this.moment));
    this.again = button("Play again", () => actions.playAgain(this.moment));
    this.again.title = "Everybody watches what happened from this moment on, until somebody touches the tank";
    this.copy = button("Make my own copy", () => actions.copy(this.moment));
    this.copy.title = "Another tank, which is yours, goes on from this moment; this one stays as it is";
    this.name.type = "text";
    this.name.maxLength = MARK_NAME_MAX;
    this.name.placeholder = "Name of this moment";
    this.name.setAttribute("aria-label", "Name of this moment");
    this.name.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.mark();
    });
    this.says.setAttribute("role", "status");
    this.bar.append(
      this.slider,
      this.time,
      this.back,
      this.again,
      this.copy,
      button("Copy link", () => actions.copyLink(this.moment)),
      this.speeds(),
      this.namer(),
      button("Close", () => actions.close()),
      this.marks,
      this.says,
    );
    this.bar.addEventListener("keydown", (event) => {
      event.stopPropagation(); // the page's own keys push the water
      if (event.key === "Escape") actions.close();
    });
    document.body.append(this.bar);
    this.slider.focus();
  }

  /** Where the slider is. */
  get moment(): number {
    return this.at ?? this.past.until;
  }

  /** There is so much past, and so much of it is still to be played back: the slider ends where that does. */
  show(past: Past, leftS: number | null): void {
    this.past = past;
    this.slider.min = String(past.from);
    this.slider.max = String(past.until + (leftS ?? 0));
    this.leftS = leftS;
    if (this.at !== null && this.at < past.from) this.at = past.from;
    this.speed.value = String(past.speed);
    this.showMarks();
    this.showTime();
  }

  /** So much is still to be played back. */
  showLeft(leftS: number | null): void {
    if (leftS === this.leftS) return;
    if ((leftS === null) !== (this.leftS === null)) this.slider.max = String(this.past.until + (leftS ?? 0));
    this.leftS = leftS;
    this.showTime();
  }

  /** @param t  null: now */
  moveTo(t: number | null): void {
    this.at = t;
    this.showTime();
  }

  say(text: string, link = ""): void {
    this.says.textContent = text;
    if (link === "") return;
    const anchor = document.createElement("a");
    anchor.href = link;
    anchor.target = "_blank";
    anchor.rel = "noopener";
    anchor.textContent = "Open it";
    this.says.append(" ", anchor);
  }

  remove(): void {
    this.bar.remove();
  }

  private slid(): void {
    const t = Number(this.slider.value);
    this.at = this.past.until - t < NOW_S ? null : t;
    this.showTime();
  }

  private mark(): void {
    const name = this.name.value.trim();
    if (name === "") {
      this.say("A mark needs a name.");
      this.name.focus();
      return;
    }
    this.actions.mark(this.moment, name);
    this.name.value = "";
  }

  private showTime(): void {
    const behind = this.past.until - this.moment;
    const kept = clock(this.past.until - this.past.from);
    const now = this.leftS === null ? `Now, ${kept} kept` : `Playing again, ${clock(this.leftS)} left`;
    const text = this.at === null ? now : `${clock(behind)} ago`;
    this.time.textContent = text;
    this.slider.value = String(this.moment);
    this.slider.setAttribute("aria-valuetext", text);
    this.back.disabled = this.again.disabled = this.at === null;
  }

  private showMarks(): void {
    const key = JSON.stringify(this.past.marks);
    if (key === this.shownMarks) return;
    this.shownMarks = key;
    this.marks.replaceChildren(
      ...this.past.marks.map((mark) => {
        const item = document.createElement("li");
        const away = button("×", () => this.actions.unmark(mark));
        away.setAttribute("aria-label", `Remove the mark ${mark.name}`);
        item.append(
          button(mark.name, () => this.moveTo(mark.t)),
          away,
        );
        return item;
      }),
    );
  }

  private namer(): HTMLElement {
    const row = document.createElement("div");
    row.append(
      this.name,
      button("Mark", () => this.mark()),
    );
    return row;
  }

  private speeds(): HTMLSelectElement {
    const { speed } = this;
    speed.setAttribute("aria-label", "Speed of the tank's clock");
    for (const factor of SPEEDS) speed.add(new Option(`${factor} ×`, String(factor)));
    speed.addEventListener("change", () => this.actions.speed(Number(speed.value)));
    return speed;
  }
}

function button(text: string, act: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

function clock(seconds: number): string {
  const tenths = Math.max(0, Math.round(10 * seconds));
  const whole = Math.floor(tenths / 10);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}.${tenths % 10}`;
}
