// What probes need of the page.
import type { App, AppParts } from "./app.js";
import { Probes } from "./probes.js";

export function createProbes(
  app: App,
  { canvas, title, panel }: Pick<AppParts, "canvas" | "title" | "panel">,
  say: (text: string) => void,
): Probes {
  return new Probes({
    conversation: app.conversation,
    canvas,
    header: title.parentElement ?? panel,
    view: app.stage,
    state: () => app.model.state,
    ownId: () => app.model.viewerId,
    standing: () => app.conversation.standing,
    aim: (x, y, out) => app.controls.tool.aim(x, y, out),
    timeS: () => app.stream.latest?.info.simTimeS ?? 0,
    say,
  });
}
