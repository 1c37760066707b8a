// What probes need of the page.
import type { App } from "./app.js";
import { ProbeDesk } from "./probe-desk.js";
import { FREE } from "./protocol/standing.js";
import type { Vec3 } from "./state/ray.js";

export function createProbeDesk(
  app: App,
  canvas: HTMLCanvasElement,
  say: (text: string) => void,
  opened: (open: boolean) => void,
): ProbeDesk {
  const { controls, conversation, keeping, model, stage, stream } = app;
  const host = {
    conversation,
    canvas,
    view: stage,
    state: () => model.state,
    ownId: () => model.viewerId,
    // What was measured once is nobody's to change.
    standing: () => (keeping.playing ? { ...FREE, role: "watch" as const } : conversation.standing),
    aim: (x: number, y: number, out: Vec3) => controls.tool.aim(x, y, out),
    timeS: () => stream.latest?.info.simTimeS ?? 0,
    say,
  };
  return new ProbeDesk(host, opened);
}
