import "./display.css";
// The display mode, for projectors and kiosks (?display=1): nothing but the tank, its name and a code to scan, unless
// code=0 wants none or it would lead nowhere.
// With ?idle=SECONDS a tank that nobody touches starts afresh.
import type { Joined } from "../protocol/messages.js";
import { isOfThisMachine, linkTo } from "../state/links.js";
import { qrCode } from "./qr.js";

export interface DisplayActions {
  /** Since somebody did something, ms. */
  idleMs(): number;
  /** Sets the tank back, and has it go on at its own pace whatever somebody left it at. */
  restart(): void;
}

const LOOK_EVERY_MS = 500;
const IDLE_S_MIN = 5;
const IDLE_S_MAX = 86400;

let timer = 0;

/** May be called again, as after a new connection. @param tank  what it is called @param code  there may be one to scan */
export function showDisplay(
  joined: Joined,
  tank: string,
  here: string,
  code: boolean,
  actions: DisplayActions,
): void {
  document.getElementById("display")?.remove();
  document.body.classList.add("display");
  const corner = document.createElement("aside");
  corner.id = "display";
  const name = document.createElement("strong");
  name.textContent = tank;
  corner.append(name);
  // A code that nobody can follow is none: the public can't do anything about it.
  if (code && !isOfThisMachine(here)) {
    const text = document.createElement("p");
    text.textContent = "Scan to play";
    corner.prepend(qrCode(linkTo(here, joined.session, joined.playKey)));
    corner.append(text);
  }
  document.body.append(corner);
  window.clearInterval(timer);
  const idleS = idleSeconds(here);
  if (idleS === 0 || joined.role !== "own") return;
  timer = window.setInterval(() => {
    if (actions.idleMs() > idleS * 1000) actions.restart();
  }, LOOK_EVERY_MS);
}

/** 0: none was asked for. */
function idleSeconds(here: string): number {
  const found = Number(new URL(here).searchParams.get("idle"));
  return found > 0 ? Math.min(IDLE_S_MAX, Math.max(IDLE_S_MIN, found)) : 0;
}
