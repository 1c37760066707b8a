// The tanks that were made from this tab, and their owners' keys: whoever comes back to the start page finds the way to
// them, as their owner. It lasts as long as the tab, whose history has the same links.

const NAME = "tarn-made";
const MADE_MAX = 32;

export class MadeHere {
  /** @param storage  may refuse, as where a browser keeps nothing */
  constructor(private readonly storage: () => Pick<Storage, "getItem" | "setItem">) {}

  /** The owners' key of a tank; "": it wasn't made here. */
  keyOf(session: string): string {
    return this.read().find(([name]) => name === session)?.[1] ?? "";
  }

  add(session: string, ownKey: string): void {
    const made = [...this.read().filter(([name]) => name !== session), [session, ownKey]];
    try {
      this.storage().setItem(NAME, JSON.stringify(made.slice(-MADE_MAX)));
    } catch {
      // The link that was opened is all there is.
    }
  }

  private read(): [string, string][] {
    try {
      const made: unknown = JSON.parse(this.storage().getItem(NAME) ?? "[]");
      return Array.isArray(made) ? made.filter(isPair) : [];
    } catch {
      return [];
    }
  }
}

function isPair(item: unknown): item is [string, string] {
  return Array.isArray(item) && item.length === 2 && item.every((part) => typeof part === "string");
}
