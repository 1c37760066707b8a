// The page's entry: finds its parts, loads the codec, starts.
import { App, type AppParts } from "./app.js";
import wasmUrl from "./codec/codec.wasm?url";
import DecodeWorker from "./codec/decode-worker.js?worker";
import { installHook } from "./hook.js";
import { type Ceilings, clipName, NO_CEILINGS } from "./protocol/messages.js";
import { QUALITIES } from "./state/quality.js";
import { Notices } from "./ui/notices.js";

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

/** The socket beside the page, whatever path it is served under. */
function socketUrl(): string {
  const url = new URL("ws", document.baseURI);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.search = "";
  url.hash = "";
  return url.href;
}

/** Whether the processor does the graphics card's work, as far as the browser tells. */
function isSoftware(probe: WebGL2RenderingContext): boolean {
  const name = String(probe.getParameter(probe.RENDERER));
  const extension = probe.getExtension("WEBGL_debug_renderer_info");
  const full = extension === null ? name : String(probe.getParameter(extension.UNMASKED_RENDERER_WEBGL));
  probe.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(`${name} ${full}`);
}

/** A number of the address, within what the protocol allows; 0 where it isn't there. */
function ceiling(query: URLSearchParams, name: string, max: number): number {
  const value = Number(query.get(name));
  return value > 0 ? Math.min(value, max) : 0;
}

function ceilings(query: URLSearchParams): Ceilings {
  const found: Ceilings = {
    mbit_per_s: ceiling(query, "mbit", 100000),
    frames_per_s: ceiling(query, "fps", 1000),
    particles: Math.floor(ceiling(query, "particles", 2 ** 32 - 1)),
  };
  return Object.values(found).some((value) => value > 0) ? found : NO_CEILINGS;
}

/** A colour of the address, rrggbb; null where there is none. */
function colour(query: URLSearchParams, name: string): number | null {
  const text = query.get(name) ?? "";
  return /^[0-9a-f]{6}$/i.test(text) ? Number.parseInt(text, 16) : null;
}

async function start(): Promise<void> {
  const parts: AppParts = {
    canvas: element("tank") as HTMLCanvasElement,
    panel: element("panel"),
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
  const query = new URLSearchParams(window.location.search);
  const app = new App(parts, {
    socketUrl: socketUrl(),
    session: clipName(query.get("session") ?? ""),
    viewer: clipName(query.get("name") ?? ""),
    decoder,
    fetchScene: (path) => fetch(new URL(`scenes/${path}`, document.baseURI)),
    wasm: await response.arrayBuffer(),
    ceilings: ceilings(query),
    fullDetail: query.get("detail") === "full",
    quality: QUALITIES[query.get("quality") ?? ""] ?? null,
    sky: colour(query, "sky"),
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
