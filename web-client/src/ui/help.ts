// A line that says how to begin, until somebody has begun; and when the list of everything is there (help-list.ts).
import { partOf } from "../net/plain.js";
import type { Role } from "../protocol/messages.js";

export class Help {
  private isOpen = false;
  /** Once it was fetched. */
  private list: HTMLElement | null = null;
  private returnTo: Element | null = null;
  private readonly touch = matchMedia("(pointer: coarse)").matches;
  private role: Role = "own";
  private fluid = "water";

  constructor(
    private readonly line: HTMLElement,
    shown: boolean,
    private readonly say: (text: string) => void,
  ) {
    line.hidden = !shown;
    this.showRole("own");
  }

  /** Says what the role may do only. */
  showRole(role: Role): void {
    this.role = role;
    this.write();
  }

  /** @param fluid  what one pushes */
  showFluid(fluid: string): void {
    this.fluid = fluid;
    this.write();
  }

  private write(): void {
    const { fluid, role } = this;
    const watching = `You are watching · ${this.touch ? "a finger looks" : "drag to look"} around`;
    const acting = this.touch
      ? `One finger pushes the ${fluid} · two look around`
      : `Drag the ${fluid} to push it · H shows all keys`;
    this.line.textContent = role === "watch" ? watching : acting;
  }

  /** Somebody knows how to begin. */
  begun(): void {
    this.line.hidden = true;
  }

  toggle(): void {
    if (this.isOpen) this.close();
    else void this.open();
  }

  private async open(): Promise<void> {
    this.begun();
    this.isOpen = true;
    this.returnTo = document.activeElement;
    const part = await partOf(() => import("./help-list.js"), this.say);
    if (part === null) this.isOpen = false;
    else if (this.isOpen) this.list ??= part.openHelpList(this.role, this.touch, () => this.close());
  }

  private close(): void {
    this.isOpen = false;
    this.list?.remove();
    this.list = null;
    if (this.returnTo instanceof HTMLElement) this.returnTo.focus();
  }
}
