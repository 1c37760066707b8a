// What draws a fluid otherwise than as water. It is loaded when a tank is first to be drawn so.
export { Arrows } from "./arrows/arrows.js";
export { Gas } from "./gas/gas.js";
export { Wall } from "./wall/wall.js";
