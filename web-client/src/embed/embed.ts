// The library for other pages: the element <tarn-tank>, and `join` for pages that draw by themselves.
import { TarnTank } from "./tarn-tank.js";

export type { Action, PointerInput, SessionState, Tool } from "../protocol/messages.js";
export { type JoinOptions, join, type Tank, type TankFrame } from "./join.js";
export { TarnTank };

if (!customElements.get("tarn-tank")) customElements.define("tarn-tank", TarnTank);
