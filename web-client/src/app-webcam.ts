// What the viewer's camera needs of the page.
import type { App } from "./app.js";
import { Webcam } from "./webcam.js";

export function createWebcam(app: App, changed: (on: boolean) => void, say: (text: string) => void): Webcam {
  return new Webcam({
    sizeM: () => app.stage.sizeM,
    strength: () => app.controls.tool.strength,
    send: (input) => {
      // The next grid takes a grid's place, but nothing takes that of its end.
      const isEnd = input.cells.length === 0;
      if (!isEnd && app.link.isBehind) return;
      const sequence = app.conversation.motion(input);
      if (sequence > 0) app.model.inputTimes.sent(sequence, performance.now());
    },
    changed,
    say,
  });
}
