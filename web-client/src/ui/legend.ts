// What the particles' colours mean: the channel, its unit and what the scale's ends stand for.
import type { Channel } from "../protocol/messages.js";
import { STOPS } from "../shader/stops.js";
import type { Scale } from "../state/colour-by.js";
import { colourText } from "../state/identity.js";

export class Legend {
  private readonly title = document.createElement("figcaption");
  private readonly ends = [document.createElement("span"), document.createElement("span")] as const;
  private shown = "";

  constructor(private readonly host: HTMLElement) {
    const bar = document.createElement("div");
    bar.style.background = `linear-gradient(to right, ${STOPS.map(colourText).join(", ")})`;
    const row = document.createElement("p");
    row.append(...this.ends);
    host.append(this.title, bar, row);
  }

  /** @param scale  null: the values aren't there yet */
  show(channel: Channel | null, scale: Scale | null): void {
    const texts = channel === null ? [] : [channelTitle(channel), ...endTexts(scale)];
    if (texts.join("\n") === this.shown) return;
    this.shown = texts.join("\n");
    this.host.hidden = channel === null;
    [this.title.textContent, this.ends[0].textContent, this.ends[1].textContent] = [
      texts[0] ?? "",
      texts[1] ?? "",
      texts[2] ?? "",
    ];
  }
}

/** As people read it: Speed, m/s. */
export function channelTitle({ name, label, unit }: Channel): string {
  const title = label === "" ? name.replaceAll("_", " ") : label;
  return unit === "" ? title : `${title}, ${unit}`;
}

/** Three digits are as many as a colour tells. */
export function endTexts(scale: Scale | null): [string, string] {
  if (scale === null) return ["…", "…"];
  const text = (value: number): string =>
    Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
  return [text(scale.low), text(scale.high)];
}
