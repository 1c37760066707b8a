// Pictures of the scenes that come with Tarn, from real runs: tests/browser/gallery.mjs --kept takes them.

const WIDTH = 480;
const HEIGHT = 300;

/** By path: where the built page has it. */
const pictures = import.meta.glob<string>("../../../server/scenes/pictures/*.webp", {
  eager: true,
  query: "?url",
  import: "default",
});

/** Marks of the files that these are of (vite.config.ts): a server may have another scene under the same name. */
declare const SCENE_MARKS: Readonly<Record<string, string>>;

/**
 * An image that loads when it comes into view; null where there is none of this scene.
 * @param mark  of its file (sceneMark)
 */
export function pictureOf(scene: string, mark: string): HTMLImageElement | null {
  const url = pictures[`../../../server/scenes/pictures/${scene}.webp`];
  if (url === undefined || SCENE_MARKS[scene] !== mark) return null;
  const image = document.createElement("img");
  image.loading = "lazy";
  image.decoding = "async";
  image.width = WIDTH;
  image.height = HEIGHT;
  image.alt = ""; // the scene's title and description stand below it
  image.src = url;
  return image;
}
