// A button of something that measures, which is fetched when somebody presses it.
import { partOf } from "../net/plain.js";

/** What takes presses in the tool's place. */
export interface Grip {
  /** Whether it takes a press at a place of the canvas from whoever, also beside the tank. */
  reaches(x: number, y: number): boolean;
  /** @return whether it takes this press: its moves and its end are told to no one else */
  down(pointer: number, x: number, y: number): boolean;
  /** @return whether this pointer's press is its own */
  move(pointer: number, x: number, y: number): boolean;
  up(pointer: number): boolean;
}

export interface Desk {
  /** Opens its pane, or closes it. */
  toggle(): Promise<void>;
}

export class DeskButton<D extends Desk> {
  /** Null: it wasn't fetched yet. */
  desk: D | null = null;
  private readonly button = document.createElement("button");
  private asked: Promise<D | null> | null = null;

  /**
   * @param header  where the button goes
   * @param title   with the key that presses it, too, as its last letter but one
   * @param load    is to tell `opened` when the pane is there, and when it is no more
   */
  constructor(
    header: HTMLElement,
    id: string,
    text: string,
    title: string,
    private readonly load: (opened: (open: boolean) => void) => Promise<D>,
    private readonly say: (text: string) => void,
  ) {
    const { button } = this;
    button.type = "button";
    button.id = id;
    button.textContent = text;
    button.title = title;
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-keyshortcuts", title.at(-2) as string);
    button.addEventListener("click", () => void this.toggle());
    (header.querySelector("nav") ?? header).append(button);
  }

  async toggle(): Promise<void> {
    const desk = await this.fetch();
    if (desk !== null) await partOf(() => desk.toggle(), this.say); // its pane is fetched, too
  }

  /** @returns null: it could not be had, which was said */
  fetch(): Promise<D | null> {
    const opened = (open: boolean): void => this.button.setAttribute("aria-expanded", String(open));
    this.asked ??= partOf(() => this.load(opened), this.say).then((desk) => {
      this.desk = desk;
      if (desk === null) this.asked = null;
      return desk;
    });
    return this.asked;
  }
}
