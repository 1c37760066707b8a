// What the particles are coloured by: which of a tank's channels, where its values come from, and what they range over.
//
// Ranges are fixed by the tank, so that a colour means the same from one frame to the next.
import { type FrameInfo, topSpeed, topVorticity } from "../codec/frame-info.js";
import type { Channel } from "../protocol/messages.js";

/** The particles' own look: what a page shows that nobody asks for anything else. */
export const OWN = "colour";

/** What a page has from every frame; others frames carry while somebody asks. */
const SEEN: readonly string[] = [OWN, "speed", "height", "vorticity"];

/** Where the shader has a particle's value from: the uniform `channel` of render/particle-shader.ts. */
export const SOURCE = { speed: 1, height: 2, level: 3 } as const;

export interface Scale {
  source: (typeof SOURCE)[keyof typeof SOURCE];
  low: number;
  high: number;
}

/** Of the flow's vorticity. */
export function vorticityScale(info: FrameInfo): Scale {
  return { source: SOURCE.level, low: 0, high: topVorticity(info) };
}

export class ColourBy {
  /** A channel's; one that the tank doesn't have counts as OWN. */
  name: string = OWN;
  /** That frames are to carry while they carry none for colours; "": none. */
  wish = "";
  private channels: readonly Channel[] = [];

  /** The tank has these. */
  offer(channels: readonly Channel[]): void {
    this.channels = channels;
  }

  /** The channel that is shown; null: the particles' own look. */
  get channel(): Channel | null {
    return (this.name !== OWN && this.channels.find(({ name }) => name === this.name)) || null;
  }

  /** The channel that frames are to carry; "": none. */
  get carried(): string {
    const { channel } = this;
    return channel === null || SEEN.includes(channel.name) ? this.wish : channel.name;
  }

  /** How a frame's particles are coloured; null: as they are, or the frame lacks the values. */
  scale(info: FrameInfo): Scale | null {
    switch (this.channel?.name) {
      case "speed":
        return { source: SOURCE.speed, low: 0, high: topSpeed(info) };
      case "height":
        return { source: SOURCE.height, low: 0, high: info.cells[1] * info.cellM };
      case "vorticity":
        return info.hasCurl ? vorticityScale(info) : null;
      default: {
        const isThere = info.channel > 0 && this.channels[info.channel - 1] === this.channel;
        return isThere ? { source: SOURCE.level, low: info.channelLow, high: info.channelHigh } : null;
      }
    }
  }
}
