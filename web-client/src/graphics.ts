// What draws on this machine.

/** Nothing that this page can use, the processor, or a graphics card. */
export type Graphics = "none" | "software" | "card";

/** Whether the processor does the graphics card's work, as far as the browser tells. Takes a while. */
export function findGraphics(): Graphics {
  const probe = document.createElement("canvas").getContext("webgl2");
  if (probe === null) return "none";
  const name = String(probe.getParameter(probe.RENDERER));
  const extension = probe.getExtension("WEBGL_debug_renderer_info");
  const full = extension === null ? name : String(probe.getParameter(extension.UNMASKED_RENDERER_WEBGL));
  probe.getExtension("WEBGL_lose_context")?.loseContext();
  const isSoftware = /swiftshader|llvmpipe|softpipe|software|basic render/i.test(`${name} ${full}`);
  return isSoftware ? "software" : "card";
}
