/** Whether the processor does the graphics card's work, as far as the browser tells. */
export function isDrawnBySoftware(context: WebGL2RenderingContext): boolean {
  const name = String(context.getParameter(context.RENDERER));
  const extension = context.getExtension("WEBGL_debug_renderer_info");
  const full = extension === null ? name : String(context.getParameter(extension.UNMASKED_RENDERER_WEBGL));
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(`${name} ${full}`);
}
