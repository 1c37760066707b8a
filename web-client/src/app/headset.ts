// Between the page and the headset: what the wrist panel and the tracked hands do here.

import { slowerInTurn } from "../state/speeds.js";
import { HeadsetEntry } from "../xr/entry.js";
import type { XrHost, XrTool } from "../xr/host.js";
import { panelRights } from "../xr/panel-layout.js";
import type { App } from "./app.js";

type PagePart = Pick<
  XrHost,
  "nextTool" | "resizeTool" | "strengthenTool" | "togglePause" | "changed" | "say"
> & {
  colour(colour: number): void;
};

/** What the wrist panel offers to add, sRGB. */
const COLOURS: readonly number[] = [0xe8467c, 0xffb020, 0x58c850, 0x30a0ff, 0x9060ff, 0xffffff];

/** The headset of a page, with its buttons where this browser has one. */
export function createHeadset(app: App, tool: XrTool, page: PagePart): HeadsetEntry {
  const { model, stage, stream, conversation } = app;
  const sent = (sequence: number): void => {
    if (sequence > 0) model.inputTimes.sent(sequence, performance.now());
  };
  const entry = new HeadsetEntry({
    stage,
    tool,
    state: () => {
      const { player, playing } = app.keeping;
      return {
        scene: app.sceneTitle,
        paused: player === null ? (model.state?.paused ?? false) : !player.playing,
        speed: model.state?.speed ?? 1,
        may: panelRights(conversation.role, playing),
      };
    },
    measured: () => app.instruments.lines(),
    tier: () => app.pictures.tiers.forEyes(),
    orientation: () => stream.latest?.info.orientation ?? null,
    controller: (input) => sent(conversation.controller(input)),
    hand: (input) => sent(conversation.hand(input)),
    pointer: (input) => sent(conversation.pointer(input)),
    presence: (points) => app.together.wear(points),
    turn: (orientation) => sent(conversation.orientation({ orientation })),
    nextScene: (by) => {
      const { scenes } = model;
      if (scenes.length === 0) return;
      const now = scenes.indexOf(model.state?.scene ?? "");
      // A scene that isn't in the list comes before the first.
      const next = now < 0 ? (by > 0 ? 0 : scenes.length - 1) : (now + by + scenes.length) % scenes.length;
      conversation.control("load", scenes[next] as string);
    },
    // A colour that isn't among them comes before the first.
    nextColour: () => page.colour(COLOURS[(COLOURS.indexOf(tool.colour) + 1) % COLOURS.length] as number),
    changeSpeed: () => sent(conversation.speed(slowerInTurn(model.state?.speed ?? 1))),
    reset: () => conversation.control("reset"),
    ...page,
    changed: (worn) => {
      page.changed(worn);
      app.instruments.listen("headset", worn);
    },
  });
  entry.offer(navigator.xr ?? null, document.getElementById("title") ?? document.body);
  return entry;
}
