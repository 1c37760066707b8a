// What probes need of the page.
import type { App } from "./app.js";
import { ProbeDesk } from "./probe-desk.js";
import type { Vec3 } from "./state/ray.js";

export function createProbeDesk(
  app: App,
  canvas: HTMLCanvasElement,
  say: (text: string) => void,
  opened: (open: boolean) => void,
): ProbeDesk {
  const { controls, conversation, model, stage, stream } = app;
  const host = {
    conversation,
    canvas,
    view: stage,
    state: () => model.state,
    ownId: () => model.viewerId,
    standing: () => conversation.standing,
    aim: (x: number, y: number, out: Vec3) => controls.tool.aim(x, y, out),
    timeS: () => stream.latest?.info.simTimeS ?? 0,
    say,
  };
  return new ProbeDesk(host, opened);
}
