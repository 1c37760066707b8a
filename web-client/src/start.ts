// The page's entry: which of its two halves the address asks for. Each loads without the other.
//
//     ?session=NAME [&key=KEY]   a tank            otherwise   the start page with all of them

const query = new URLSearchParams(window.location.search);
const TANK = ["session", "recording", "display"];

async function start(): Promise<void> {
  if (TANK.some((name) => query.has(name))) {
    await import("./main.js");
    return;
  }
  const { openLobby } = await import("./lobby/lobby.js");
  openLobby();
}

start().catch(() => {
  const status = document.getElementById("status");
  if (status === null) return;
  status.textContent = "The page is incomplete: a part of it could not be loaded. Reload it to try again.";
  status.hidden = false;
});
