// The page's entry: which of its two halves the address asks for. Each loads without the other.
//
//     ?session=NAME [#key=KEY]   a tank            otherwise   the start page with all of them

import { type Arrival, arrive } from "./app/arrival.js";
import { findGraphics } from "./app/graphics.js";
import { bare } from "./net/here.js";
import { keyIn, withHiddenKey } from "./state/links.js";

const wholeAddress = document.URL; // browsers leave the password out of `location`
// With a password in it a browser takes the page's modules for two pages' and refuses to ask for anything. It has sent the
// password by now, and knows it from here on.
const isBare = bare(wholeAddress) === wholeAddress;
if (isBare) hideKey();
else window.location.replace(bare(wholeAddress));
const query = new URLSearchParams(window.location.search);
const TANK = ["session", "recording", "display"];
let arrival: Arrival | null = null;

/** Lets what has come be heard. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Puts the key where it is logged by nobody. Another key in the same page's address is another person's. */
function hideKey(): void {
  const hidden = withHiddenKey(window.location.href);
  if (hidden !== null) window.history.replaceState(null, "", hidden);
  const key = keyIn(new URL(window.location.href));
  window.addEventListener("hashchange", () => {
    if (keyIn(new URL(window.location.href)) !== key) window.location.reload();
  });
}

async function start(): Promise<void> {
  if (TANK.some((name) => query.has(name))) {
    const main = import("./main.js");
    arrival = arrive();
    const { openTank } = await main;
    // The looks at the graphics take long; what the server has said meanwhile is answered between them.
    await turn();
    const graphics = findGraphics();
    await turn();
    await openTank(arrival, graphics);
    return;
  }
  const { openLobby } = await import("./lobby/lobby.js");
  openLobby();
}

if (isBare)
  start().catch(() => {
    arrival?.live.link.stop();
    const status = document.getElementById("status");
    if (status === null) return;
    status.textContent = "The page is incomplete: a part of it could not be loaded. Reload it to try again.";
    status.hidden = false;
  });
