// What draws on this machine.
import { isDrawnBySoftware } from "../render/software.js";

/** Nothing that this page can use, the processor, or a graphics card. */
export type Graphics = "none" | "software" | "card";

/** Whether the processor does the graphics card's work, as far as the browser tells. Takes a while. */
export function findGraphics(): Graphics {
  const probe = document.createElement("canvas").getContext("webgl2");
  if (probe === null) return "none";
  const isSoftware = isDrawnBySoftware(probe);
  probe.getExtension("WEBGL_lose_context")?.loseContext();
  return isSoftware ? "software" : "card";
}
