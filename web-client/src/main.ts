// The page's entry: finds its parts, loads the codec, starts.
import { App, type AppParts } from "./app.js";
import wasmUrl from "./codec/codec.wasm?url";
import DecodeWorker from "./codec/decode-worker.js?worker";
import { installHook } from "./hook.js";
import { socketUrlBeside } from "./live.js";
import { Settings } from "./state/settings.js";
import { Notices } from "./ui/notices.js";

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

/** Whether the processor does the graphics card's work, as far as the browser tells. */
function isSoftware(probe: WebGL2RenderingContext): boolean {
  const name = String(probe.getParameter(probe.RENDERER));
  const extension = probe.getExtension("WEBGL_debug_renderer_info");
  const full = extension === null ? name : String(probe.getParameter(extension.UNMASKED_RENDERER_WEBGL));
  probe.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(`${name} ${full}`);
}

async function start(): Promise<void> {
  const parts: AppParts = {
    canvas: element("tank") as HTMLCanvasElement,
    panel: element("panel"),
    tools: element("tools"),
    readout: element("readout"),
    help: element("help"),
    status: element("status"),
    notice: element("notice"),
    subtitle: element("subtitle"),
  };
  const notices = new Notices(parts.status, parts.notice);
  const reload = { label: "Reload", run: () => window.location.reload() };
  const probe = document.createElement("canvas").getContext("webgl2");
  if (probe === null) {
    notices.stop(
      "This browser can't draw the tank",
      "Tarn needs WebGL 2. A current Chrome, Edge, Firefox or Safari has it; it may be switched off in the settings or by the graphics driver.",
      null,
    );
    return;
  }
  const response = await fetch(wasmUrl);
  if (!response.ok) {
    notices.stop(
      "The page is incomplete",
      `The frame codec could not be loaded (${response.status}).`,
      reload,
    );
    return;
  }
  const decoder = new DecodeWorker();
  decoder.onerror = () =>
    notices.stop("The page is incomplete", "The part that decodes frames could not be started.", reload);
  const app = new App(parts, {
    socketUrl: socketUrlBeside(document.baseURI),
    settings: new Settings({
      search: () => window.location.search,
      replace: (search) =>
        window.history.replaceState(null, "", `${window.location.pathname}${search}${window.location.hash}`),
      setTimer: (callback, delayMs) => void window.setTimeout(callback, delayMs),
    }),
    decoder,
    fetchScene: (path) => fetch(new URL(`scenes/${path}`, document.baseURI)),
    wasm: await response.arrayBuffer(),
    software: isSoftware(probe),
  });
  installHook(app);
  app.start();
}

start().catch((error: unknown) => {
  const notices = new Notices(element("status"), element("notice"));
  const text = error instanceof Error ? error.message : String(error);
  notices.stop("The page could not start", `${text}.`, {
    label: "Reload",
    run: () => window.location.reload(),
  });
});
