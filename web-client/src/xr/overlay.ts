// What a phone shows over the real room besides the tank: the tool, and the way out. A headset has its wrist panel.
import type { Tool } from "../protocol/messages.js";

export interface OverlayActions {
  nextTool(): void;
  leave(): void;
}

export class Overlay {
  readonly root = document.createElement("div");
  private readonly tool = document.createElement("button");

  constructor(actions: OverlayActions) {
    this.root.id = "headset-overlay";
    this.root.hidden = true;
    const leave = document.createElement("button");
    leave.textContent = "Leave";
    for (const [button, press] of [
      [this.tool, actions.nextTool],
      [leave, actions.leave],
    ] as const) {
      button.type = "button";
      button.addEventListener("click", press);
      // A press of the button is no touch of the water behind it.
      button.addEventListener("beforexrselect", (event) => event.preventDefault());
      this.root.append(button);
    }
  }

  /** @param tool  null: no session shows it */
  show(tool: Tool | null): void {
    this.root.hidden = tool === null;
    const text = `Tool: ${tool}`;
    if (tool !== null && this.tool.textContent !== text) this.tool.textContent = text;
  }
}
