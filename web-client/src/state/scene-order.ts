// In which order people are offered scenes: those that a server has besides Tarn's own first, by their names, then Tarn's as
// server/scenes/README.md lists them, which a test holds it to: from water to smoke, lessons last.

const OWN = `
  dam-break double-dam-break falling-block drop-into-pool still-pool wave-tank
  rotating-tank maze obstacle-course waterfall pouring-taps oil-and-water
  floating-ducks dye-drop dye-drops-collide vortex-rings stir smoke-2d
  water-wall plume candles colliding-plumes chimney lesson-pressure
  lesson-buoyancy lesson-waves
`.match(/[\w-]+/g) as readonly string[];

export function inOrder(scenes: readonly string[]): string[] {
  const place = (scene: string): number => OWN.indexOf(scene);
  return [...scenes].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
}
