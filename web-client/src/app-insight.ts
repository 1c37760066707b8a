// What insight into the flow needs of the page.
import type { App } from "./app.js";
import { InsightDesk } from "./insight-desk.js";

/** @param sceneFile  of the scene that is shown; null: it isn't known */
export function createInsightDesk(
  app: App,
  sceneFile: () => unknown,
  say: (text: string) => void,
  opened: (open: boolean) => void,
): InsightDesk {
  const { conversation, keeping, model, pictures, stage, stream } = app;
  return new InsightDesk(
    {
      view: stage,
      state: () => model.state,
      frame: () => (keeping.catchingUp ? null : stream.latest),
      sceneFile,
      shownS: () => pictures.clock.shownS,
      cut: (wish) => {
        pictures.fieldView.wish = wish;
        app.carryField();
        if (wish !== null && model.state?.paused) conversation.lookAgain();
      },
      carry: (channel) => {
        pictures.colourBy.wish = channel;
        conversation.carry(pictures.colourBy.carried);
      },
      say,
    },
    opened,
  );
}
