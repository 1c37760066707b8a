// The way into a headset: a button for each kind of session that this browser and this machine can have. What the session
// needs is loaded with the first press.
import { plainly } from "../net/plain.js";
import "./entry.css";
import type { Headset } from "./headset.js";
import type { XrHost, XrMode } from "./host.js";
import { Overlay } from "./overlay.js";

/** Of "WebXR DOM Overlays", which the types leave out. */
interface Overlaid {
  domOverlayState?: object | null;
}

/** What is needed of navigator.xr. */
export type XrDevice = Pick<XRSystem, "isSessionSupported" | "requestSession">;

const LABELS: Readonly<Record<XrMode, string>> = {
  "immersive-vr": "Enter VR",
  "immersive-ar": "On my table (AR)",
};
const MODES: readonly XrMode[] = ["immersive-vr", "immersive-ar"];
/** three draws on projection layers where a browser has them, and they have to be asked for. */
const FEATURES: readonly string[] = ["local-floor", "hand-tracking", "layers"];

export class HeadsetEntry {
  /** Once it has been loaded. */
  headset: Headset | null = null;

  private readonly buttons = new Map<XrMode, HTMLButtonElement>();
  private readonly overlay: Overlay;
  private session: XRSession | null = null;
  private busy = false;

  constructor(
    private readonly host: XrHost,
    private readonly load: () => Promise<typeof import("./headset.js")> = () => import("./headset.js"),
  ) {
    this.overlay = new Overlay({
      nextTool: () => host.nextTool(),
      leave: () => this.headset?.leave(),
    });
  }

  /** Whether a headset shows the picture. */
  get mode(): XrMode | null {
    return this.headset?.mode ?? null;
  }

  /** Shows the buttons for what is supported, now and when a headset is plugged in. @param device  null: none can be had */
  offer(device: (XrDevice & Partial<EventTarget>) | null, parent: HTMLElement): void {
    if (device === null) return;
    const nav = document.createElement("nav");
    nav.id = "headset";
    nav.setAttribute("aria-label", "Headset");
    nav.hidden = true;
    for (const mode of MODES) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = LABELS[mode];
      button.hidden = true;
      button.addEventListener("click", () => void this.press(device, mode));
      this.buttons.set(mode, button);
      nav.append(button);
    }
    parent.append(nav);
    document.body.append(this.overlay.root);
    const look = (): void => void this.look(device, nav);
    device.addEventListener?.("devicechange", look);
    look();
  }

  /** Once per picture. */
  tick(nowMs: number): void {
    this.headset?.tick(nowMs);
    const hasOverlay = this.mode !== null && Boolean((this.session as Overlaid | null)?.domOverlayState);
    this.overlay.show(hasOverlay ? this.host.tool.tool : null);
  }

  private wanted(mode: XrMode): XRSessionInit {
    if (mode !== "immersive-ar") return { optionalFeatures: [...FEATURES] };
    return {
      optionalFeatures: [...FEATURES, "dom-overlay"],
      domOverlay: { root: this.overlay.root },
    };
  }

  private async look(device: XrDevice, nav: HTMLElement): Promise<void> {
    for (const mode of MODES) {
      const supported = await device.isSessionSupported(mode).catch(() => false);
      (this.buttons.get(mode) as HTMLButtonElement).hidden = !supported;
    }
    nav.hidden = [...this.buttons.values()].every((button) => button.hidden);
  }

  private async press(device: XrDevice, mode: XrMode): Promise<void> {
    if (this.busy) return;
    if (this.mode !== null) {
      this.headset?.leave();
      return;
    }
    this.busy = true;
    try {
      // Asked for at once: browsers grant a session only as the answer to a press.
      const asked = device.requestSession(mode, this.wanted(mode));
      const loaded = this.load();
      loaded.catch(() => asked.then((session) => session.end()).catch(() => {}));
      const [session, code] = await Promise.all([asked, loaded]);
      this.headset ??= new code.Headset(this.host);
      this.session = session;
      await this.headset.begin(session, mode);
    } catch (error) {
      this.host.say(refusal(error));
    } finally {
      this.busy = false;
    }
  }
}

function refusal(error: unknown): string {
  const name = error instanceof Error || error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError" || name === "SecurityError")
    return "The browser doesn't let this page use the headset. Its permissions, and an https:// address, decide that";
  if (name === "NotSupportedError") return "The headset isn't there, or can't show this";
  if (name === "InvalidStateError") return "The headset is busy with something else";
  return plainly(
    error,
    "The headset could not be entered, or a part of the page that it needs could not be loaded; try again",
  );
}
