#!/usr/bin/env bash
# WebKitWebDriver: of eight turns of the wheel, a command each, fewer reach the page, and the event doesn't know of a Shift that a
# command before has pressed and that is still held.
. "$(dirname "$0")/browser.sh"
start_display
start_webkit
seen=$(run_node <<'END'
import { open } from "./driver.mjs";
const session = await open("data:text/html,<body style='height:3000px'>x");
await session.run(`window.seen = [];
  addEventListener("wheel", (event) => {
    event.preventDefault();
    window.seen.push([event.deltaX, event.deltaY, event.shiftKey]);
  }, { passive: false });
  addEventListener("keydown", (event) => { window.shift = event.key; });`);
await session.act({ type: "key", id: "keys", actions: [{ type: "keyDown", value: "\uE008" }] });
for (let i = 0; i < 8; i++)
  await session.act({
    type: "wheel",
    id: "wheel",
    actions: [{ type: "scroll", origin: "viewport", x: 50, y: 50, deltaX: 0, deltaY: 30, duration: 0 }],
  });
await new Promise((resolve) => setTimeout(resolve, 1000));
const { seen, shift } = await session.run("return { seen: window.seen, shift: window.shift }");
const sum = seen.reduce((total, [x, y]) => total + x + y, 0);
console.log(`Shift was ${shift === "Shift" ? "pressed" : "not pressed"}, ` +
  `${seen.length === 8 ? "all" : "not all"} turns came, ${sum === 240 ? "all" : "not all"} of their way, ` +
  `${seen.some(([, , held]) => held) ? "with" : "without"} Shift`);
console.error(JSON.stringify(seen));
await session.end();
END
)
verdict "$seen" "Shift was pressed, not all turns came, not all of their way, without Shift" \
    "Shift was pressed, all turns came, all of their way, with Shift"
