// What the particles' colours mean: the channel, its unit and what the scale's ends stand for.
import type { Channel } from "../protocol/messages.js";
import { KINDS, STOPS } from "../shader/stops.js";
import type { Scale } from "../state/colour-by.js";
import { colourText } from "../state/identity.js";

/** What the ends of the colours stand for. */
type Ends = Scale | { low: number; high: number };

export class Legend {
  private readonly bar = document.createElement("div");
  private readonly title = document.createElement("figcaption");
  private readonly ends = [document.createElement("span"), document.createElement("span")] as const;
  private shown = "";

  constructor(private readonly host: HTMLElement) {
    const row = document.createElement("p");
    row.append(...this.ends);
    host.append(this.title, this.bar, row);
  }

  /** @param scale  null: the values aren't there yet @param stops  the colours, from the lowest value to the highest */
  show(channel: Channel | null, scale: Ends | null, stops = STOPS): void {
    const kinds = channel?.kinds?.split(",") ?? [];
    const ends = kinds.length > 0 ? [kinds.slice(0, -1).join(", "), kinds.at(-1)] : endTexts(scale);
    const texts = channel === null ? [] : [channelTitle(channel), ...ends];
    if (texts.join("\n") === this.shown) return;
    this.shown = texts.join("\n");
    this.host.hidden = channel === null;
    this.bar.style.background = `linear-gradient(to right, ${(kinds.length > 0 ? steps(kinds.length) : stops.map(colourText)).join(", ")})`;
    [this.title.textContent, this.ends[0].textContent, this.ends[1].textContent] = [
      texts[0] ?? "",
      texts[1] ?? "",
      texts[2] ?? "",
    ];
  }
}

/** Colours of kinds, each as wide as the others. */
function steps(count: number): string[] {
  return KINDS.slice(0, count).map(
    (colour, i) => `${colourText(colour)} ${(100 * i) / count}% ${(100 * (i + 1)) / count}%`,
  );
}

/** As people read it: Speed, m/s. */
export function channelTitle({ name, label, unit }: Channel): string {
  const title = label === "" ? name.replaceAll("_", " ") : label;
  return unit === "" ? title : `${title}, ${unit}`;
}

/** Three digits are as many as a colour tells. */
export function endTexts(scale: Ends | null): [string, string] {
  if (scale === null) return ["…", "…"];
  const text = (value: number): string =>
    Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
  return [text(scale.low), text(scale.high)];
}
