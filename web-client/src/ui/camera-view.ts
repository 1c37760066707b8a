// The small live view of what the camera's motion does, with a button that ends it.

/** What people read before it runs, and while it does. */
export const CAMERA_PROMISE = "No picture leaves this browser: only how things move is sent.";
const SHORT_PROMISE = "No picture leaves this browser.";

export class CameraView {
  readonly canvas = document.createElement("canvas");
  private readonly pane = document.createElement("section");
  private readonly line = document.createElement("p");

  constructor(stop: () => void) {
    this.pane.id = "camera";
    this.pane.setAttribute("aria-label", "Your camera");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "What your camera sees move, as in a mirror");
    this.line.setAttribute("role", "status");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Stop the camera";
    button.addEventListener("click", stop);
    this.pane.append(this.canvas, this.line, button);
    this.silent(false);
    document.body.append(this.pane);
  }

  /** @param aspect  width by height of what of the camera's picture is used */
  shape(aspect: number): void {
    this.canvas.style.setProperty("--aspect", String(aspect));
  }

  silent(silent: boolean): void {
    this.pane.classList.toggle("silent", silent);
    this.line.textContent = silent ? "The camera sends no pictures." : SHORT_PROMISE;
  }

  remove(): void {
    this.pane.remove();
  }
}
