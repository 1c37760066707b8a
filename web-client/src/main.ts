// The page of a tank: finds its parts and starts, with what has been begun already.

import { App, type AppParts } from "./app/app.js";
import type { Arrival } from "./app/arrival.js";
import type { Graphics } from "./app/graphics.js";
import { installHook } from "./app/hook.js";
import { fetchBeside } from "./net/here.js";
import { plainly } from "./net/plain.js";
import { Notices } from "./ui/notices.js";

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

/** Puts the page together. What is wrong with it is said on the page. */
export async function openTank(arrival: Arrival, graphics: Graphics): Promise<void> {
  const notices = new Notices(element("status"), element("notice"));
  const reload = { label: "Reload", run: () => window.location.reload() };
  const stop = (title: string, text: string, way: typeof reload | null): void => {
    arrival.live.link.stop();
    notices.stop(title, text, way);
  };
  if (graphics === "none") {
    stop(
      "This browser can't draw the tank",
      "Tarn needs WebGL 2. A current Chrome, Edge, Firefox or Safari has it; it may be switched off in the settings or by the graphics driver.",
      null,
    );
    return;
  }
  try {
    const app = new App(parts(), arrival, graphics, (path) => fetchBeside(`scenes/${path}`));
    installHook(app);
    app.start(arrival);
  } catch (error) {
    stop(
      "The page could not start",
      plainly(
        error,
        "This browser lacks something that the page needs, or a part of the page doesn't fit the others.",
      ),
      reload,
    );
    return;
  }
  const missing = await arrival.missing;
  if (missing !== "") stop("The page is incomplete", missing, reload);
}

function parts(): AppParts {
  return {
    canvas: element("tank") as HTMLCanvasElement,
    panel: element("panel"),
    tools: element("tools"),
    readout: element("readout"),
    legend: element("legend"),
    help: element("help"),
    status: element("status"),
    notice: element("notice"),
    title: element("heading"),
    subtitle: element("subtitle"),
  };
}
