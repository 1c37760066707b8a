// The bar below a recording: play and pause, the moment, the speed, a link to the moment, and the way back.

export interface ScrubActions {
  toggle(): void;
  /** @param ms  since the recording began */
  seek(ms: number): void;
  speed(factor: number): void;
  /** Null where the recording has no address. */
  copyLink: (() => void) | null;
  close(): void;
}

export class ScrubBar {
  private readonly bar = document.createElement("section");
  private readonly play = document.createElement("button");
  private readonly slider = document.createElement("input");
  /** No output element: ten times a second it would be read aloud. */
  private readonly time = document.createElement("span");
  private shown = "";

  /**
   * @param speeds    that there are; 1 is one of them
   * @param measured  whether there are readings of probes in it: what shows them stays (page.css)
   */
  constructor(
    private readonly durationMs: number,
    speeds: readonly number[],
    measured: boolean,
    actions: ScrubActions,
  ) {
    this.bar.id = "scrub";
    this.bar.setAttribute("aria-label", "Recording");
    this.bar.classList.toggle("measured", measured);
    this.play.type = "button";
    this.play.addEventListener("click", () => actions.toggle());
    this.slider.type = "range";
    this.slider.min = "0";
    this.slider.max = String(durationMs);
    this.slider.step = "10";
    this.slider.setAttribute("aria-label", "Moment");
    this.slider.addEventListener("input", () => actions.seek(Number(this.slider.value)));
    const speed = document.createElement("select");
    speed.setAttribute("aria-label", "Speed");
    for (const factor of speeds)
      speed.add(new Option(`${factor} ×`, String(factor), factor === 1, factor === 1));
    speed.addEventListener("change", () => actions.speed(Number(speed.value)));
    this.bar.append(this.play, this.slider, this.time, speed);
    const { copyLink } = actions;
    if (copyLink !== null) this.bar.append(createButton("Copy link", copyLink));
    this.bar.append(createButton("Close", () => actions.close()));
    document.body.append(this.bar);
  }

  show(positionMs: number, playing: boolean): void {
    const text = `${clock(positionMs)} / ${clock(this.durationMs)}`;
    const key = `${text} ${playing}`;
    if (key === this.shown) return;
    this.shown = key;
    this.play.textContent = playing ? "Pause" : "Play";
    this.time.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    if (!this.slider.matches(":active")) this.slider.value = String(positionMs);
  }

  remove(): void {
    this.bar.remove();
  }
}

function createButton(text: string, act: () => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", act);
  return button;
}

function clock(ms: number): string {
  const tenths = Math.floor(ms / 100);
  const seconds = Math.floor(tenths / 10) % 60;
  return `${Math.floor(tenths / 600)}:${String(seconds).padStart(2, "0")}.${tenths % 10}`;
}
