// The name and colour that somebody chose, kept by the browser from one visit to the next.
import type { Introduction } from "../protocol/conversation.js";
import { clipName } from "../protocol/messages.js";
import { BROWSER_BYTES_MAX } from "../tables/protocol-tables.js";
import { keyIn } from "./links.js";

/** What of a Storage is needed; a browser may refuse to have one. */
export interface Shelf {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

const NAME = "tarn.name";
const COLOUR = "tarn.colour";
const BROWSER = "tarn.browser";

export class IdentityShelf {
  constructor(private readonly shelf: () => Shelf) {}

  /** "": none was chosen. */
  get name(): string {
    return this.read(NAME);
  }

  /** 0: none was chosen. */
  get colour(): number {
    return readColour(this.read(COLOUR)) ?? 0;
  }

  /** A random word that stays with this browser; "": it keeps nothing. */
  get browser(): string {
    const kept = this.read(BROWSER);
    if (/^[0-9a-f]{32}$/.test(kept)) return kept;
    const bytes = crypto.getRandomValues(new Uint8Array(BROWSER_BYTES_MAX / 2));
    const drawn = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    try {
      this.shelf().setItem(BROWSER, drawn);
    } catch {
      return "";
    }
    return drawn;
  }

  keep(name: string, colour: number): void {
    try {
      if (name !== "") this.shelf().setItem(NAME, name);
      if (colour !== 0) this.shelf().setItem(COLOUR, colourText(colour));
    } catch {
      // A browser that keeps nothing forgets them with the page.
    }
  }

  private read(key: string): string {
    try {
      return this.shelf().getItem(key) ?? "";
    } catch {
      return "";
    }
  }
}

/** What a page says of its person when it joins: what the address says, before what the browser kept. */
export function introductionOf(address: URL, shelf: IdentityShelf): Introduction {
  return {
    viewer: clipName(address.searchParams.get("name") ?? "") || clipName(shelf.name),
    colour: shelf.colour,
    key: keyIn(address),
    preview: false,
    browser: shelf.browser,
  };
}

/** 0xRRGGBB as "#rrggbb". */
export function colourText(colour: number): string {
  return `#${colour.toString(16).padStart(6, "0")}`;
}

/** @return null for anything but "#rrggbb" */
export function readColour(text: string): number | null {
  return /^#[0-9a-f]{6}$/i.test(text) ? Number.parseInt(text.slice(1), 16) : null;
}
