// The page for setting a camera up. What it is told it draws; what the host changes is a draft until it is applied. A
// picture is asked for when the one before is drawn, so that nothing comes while nobody sees it.
import { drawDepth, drawDifference, drawFlow, readPicture } from "./show-panes.js";

const SUBPROTOCOL = "tarn.camera.v1";
const AGAIN_MS = 2000;
const CORNERS = ["Top left", "Top right", "Bottom right", "Bottom left"];
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
/** The side of the picture's outline that is the wall's top, for each quarter turn: from corner, to corner. */
const TOPS = [
  [0, 1],
  [3, 0],
  [2, 3],
  [1, 2],
];

const find = (id) => document.getElementById(id);
const stage = find("stage");
const buttons = [...document.querySelectorAll(".corner")];
const inputs = { near_m: find("near"), far_m: find("far"), dead_zone_m_s: find("dead-zone") };

/** As the bridge has it, and as the host wants it. null: not known yet. */
let applied = null;
let draft = null;
let file = null;
let frame = { width: 640, height: 480 };
let chosen = 0;
let socket = null;
/** What waits for the bridge's answer. */
let asked = null;
let pending = null;

// ---- the draft ----

const round = (value, digits) => Number(value.toFixed(digits));

function corners() {
  const { width, height } = frame;
  const whole = [
    [0, 0],
    [width, 0],
    [width, height],
    [0, height],
  ];
  return draft?.corners_px ?? whole;
}

const isChanged = () => JSON.stringify(draft) !== JSON.stringify(applied);

/** Moves a corner, at most to the picture's edge. */
function moveCorner(index, x, y) {
  const moved = corners().map((corner) => [...corner]);
  moved[index] = [
    round(Math.min(Math.max(x, 0), frame.width), 1),
    round(Math.min(Math.max(y, 0), frame.height), 1),
  ];
  draft.corners_px = moved;
  show();
}

function choose(index) {
  chosen = index;
  for (const [i, button] of buttons.entries()) button.classList.toggle("chosen", i === chosen);
}

/** The options that would do the same. */
function optionsText() {
  const words = [];
  if (draft.corners_px) words.push(`--corners ${draft.corners_px.flat().join(",")}`);
  words.push(`--near ${draft.near_m}`, `--far ${draft.far_m}`, `--dead-zone ${draft.dead_zone_m_s}`);
  if (draft.mirror) words.push("--mirror");
  if (draft.rotate_deg !== 0) words.push(`--rotate ${draft.rotate_deg}`);
  return words.join(" ");
}

// ---- what is seen of it ----

function showOutline() {
  const { width, height } = frame;
  const at = corners();
  find("outline").setAttribute("viewBox", `0 0 ${width} ${height}`);
  find("outline").querySelector("polygon").setAttribute("points", at.join(" "));
  for (const [i, [x, y]] of at.entries()) {
    buttons[i].style.left = `${(100 * x) / width}%`;
    buttons[i].style.top = `${(100 * y) / height}%`;
    buttons[i].setAttribute("aria-label", `${CORNERS[i]} corner, at ${Math.round(x)}, ${Math.round(y)}`);
  }
  const [from, to] = TOPS[(draft?.rotate_deg ?? 0) / 90].map((i) => at[i]);
  const line = find("outline").querySelector("line");
  for (const [name, value] of [
    ["x1", from[0]],
    ["y1", from[1]],
    ["x2", to[0]],
    ["y2", to[1]],
  ])
    line.setAttribute(name, value);
  // Inside the picture, whichever side it is.
  const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  const [left, top] = [(100 * middle[0]) / width, (100 * middle[1]) / height];
  find("top").style.left = `clamp(60px, ${left}%, calc(100% - 60px))`;
  find("top").style.top = `min(${top}%, calc(100% - 32px))`;
}

function show() {
  if (draft === null) return;
  for (const [name, input] of Object.entries(inputs)) {
    input.value = draft[name];
    const unit = name === "dead_zone_m_s" ? "m/s" : "m";
    input.parentElement.querySelector(".value").textContent = `${draft[name].toFixed(2)} ${unit}`;
  }
  find("mirror").checked = draft.mirror;
  find("rotate").value = String(draft.rotate_deg);
  find("options").value = optionsText();
  find("unsaved").hidden = !isChanged();
  find("undo").disabled = !isChanged();
  find("whole").disabled = draft.corners_px === null;
  find("save").disabled = file === null;
  find("file").textContent =
    file === null ? "To save, start the program with --calibration FILE." : `Save writes ${file}.`;
  showOutline();
}

function say(text, isBad) {
  find("said").textContent = text;
  find("said").classList.toggle("bad", isBad);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function showStates(camera, link, isBad) {
  find("camera").textContent = capital(camera);
  find("link").textContent = capital(link);
  find("camera").classList.toggle("bad", isBad || / is lost|isn't open| measures 0 %/.test(camera));
  find("link").classList.toggle("bad", /^no connection|may only watch/.test(link));
}

function showFigures(figures) {
  const texts = {
    frames: `${figures.frames_s.toFixed(0)}/s`,
    find: `${figures.find_ms.toFixed(1)} ms`,
    people: `${figures.people}`,
    cells: `${figures.cells}`,
    sent: `${figures.sent_s.toFixed(0)}/s`,
    bits: `${(figures.bits_s / 1000).toFixed(0)} kbit/s`,
    latency: figures.latency_ms === null ? "–" : `${figures.latency_ms.toFixed(0)} ms`,
    wrong: `${figures.wrong}/s`,
  };
  for (const [name, text] of Object.entries(texts))
    document.querySelector(`[data-figure="${name}"]`).textContent = text;
  showStates(figures.camera, figures.link, false);
}

function showPicture(picture) {
  if (picture.width !== frame.width || picture.height !== frame.height) {
    frame = { width: picture.width, height: picture.height };
    show();
  }
  drawDepth(find("depth"), picture.depth, draft?.near_m ?? 0, draft?.far_m ?? 10);
  drawDifference(find("difference"), picture.depth);
  drawFlow(find("motion"), picture.motion, false);
  drawFlow(find("grid"), picture.grid, true);
  const { columns, rows, speed } = picture.grid;
  const size = `${columns} x ${rows} cells, the longest arrow ${speed.toFixed(1)} m/s.`;
  find("grid-hint").textContent = picture.learning
    ? "Nothing yet: the empty scene is looked at first. Keep out of the picture."
    : picture.goesOut
      ? `${size} It goes to the tank.`
      : `${size} Not sent: there is no tank that takes it.`;
  document.body.dataset.picture = picture.number;
}

// ---- the bridge ----

function send(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  else say("Not connected to the bridge.", true);
}

/** Asks for the next picture once a browser that shows the page has drawn the last. */
function lookNext() {
  requestAnimationFrame(() => {
    if (pending !== null) showPicture(pending);
    pending = null;
    if (socket?.readyState === WebSocket.OPEN) socket.send('{"do":"look"}');
  });
}

function onAnswer({ to, error }) {
  asked = null;
  if (error !== null) say(error, true);
  else say(to === "save" ? `Saved into ${file}, and in effect.` : "In effect.", false);
}

function onSetup(message) {
  const isFresh = draft === null || !isChanged() || asked !== null;
  applied = message.setup;
  file = message.file;
  if (isFresh) draft = structuredClone(applied);
  show();
}

function onText(message) {
  if (message.is === "setup") onSetup(message);
  else if (message.is === "figures") showFigures(message);
  else if (message.is === "answer") onAnswer(message);
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/ws`, SUBPROTOCOL);
  socket.binaryType = "arraybuffer";
  socket.onopen = lookNext;
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") {
      onText(JSON.parse(data));
      return;
    }
    pending = readPicture(data);
    lookNext();
  };
  socket.onclose = ({ reason }) => {
    asked = null;
    showStates(reason === "" ? "No connection to the bridge; trying again." : `Closed: ${reason}.`, "", true);
    setTimeout(connect, AGAIN_MS);
  };
}

function ask(what) {
  if (draft === null) return;
  asked = what;
  say("", false);
  send({ do: what, setup: draft });
}

// ---- the host's hands ----

function placeOf(event) {
  const box = stage.getBoundingClientRect();
  return [
    ((event.clientX - box.left) / box.width) * frame.width,
    ((event.clientY - box.top) / box.height) * frame.height,
  ];
}

/** Follows a pointer from a corner; `from` is what lies between it and the corner's middle. */
function drag(button, index, event) {
  const [x, y] = placeOf(event);
  const from = [corners()[index][0] - x, corners()[index][1] - y];
  button.setPointerCapture(event.pointerId);
  button.onpointermove = (moved) => {
    const [toX, toY] = placeOf(moved);
    moveCorner(index, toX + from[0], toY + from[1]);
  };
  button.onpointerup = button.onpointercancel = () => {
    button.onpointermove = null;
  };
}

for (const [index, button] of buttons.entries()) {
  button.addEventListener("focus", () => choose(index));
  button.addEventListener("pointerdown", (event) => {
    event.stopPropagation();
    if (draft === null) return;
    choose(index);
    drag(button, index, event);
  });
  button.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (step === undefined || draft === null) return;
    event.preventDefault();
    const pixels = event.shiftKey ? 10 : 1;
    const [x, y] = corners()[index];
    moveCorner(index, x + pixels * step[0], y + pixels * step[1]);
  });
}

// A click in the picture puts the chosen corner there, and chooses the next.
stage.addEventListener("pointerdown", (event) => {
  if (draft === null || event.button !== 0) return;
  event.preventDefault();
  moveCorner(chosen, ...placeOf(event));
  const next = (chosen + 1) % buttons.length;
  choose(next);
  buttons[next].focus({ preventScroll: true });
});

for (const [name, input] of Object.entries(inputs)) {
  input.addEventListener("input", () => {
    draft[name] = Number(input.value);
    // The limits keep apart: the other one gives way.
    if (name === "near_m") draft.far_m = Math.max(draft.far_m, round(draft.near_m + 0.05, 2));
    if (name === "far_m") draft.near_m = Math.min(draft.near_m, round(draft.far_m - 0.05, 2));
    draft.near_m = Math.min(Math.max(draft.near_m, 0.2), 9.95);
    draft.far_m = Math.min(Math.max(draft.far_m, 0.25), 10);
    show();
  });
}
find("mirror").addEventListener("change", ({ target }) => {
  draft.mirror = target.checked;
  show();
});
find("rotate").addEventListener("change", ({ target }) => {
  draft.rotate_deg = Number(target.value);
  show();
});
find("setup").addEventListener("submit", (event) => {
  event.preventDefault();
  ask("apply");
});
find("save").addEventListener("click", () => ask("save"));
find("undo").addEventListener("click", () => {
  draft = structuredClone(applied);
  show();
});
find("whole").addEventListener("click", () => {
  draft.corners_px = null;
  show();
});
find("copy").addEventListener("click", async () => {
  find("options").select();
  try {
    await navigator.clipboard.writeText(find("options").value);
    say("Copied.", false);
  } catch {
    say("Selected: copy it with the keyboard.", false);
  }
});

choose(0);
showOutline();
connect();
