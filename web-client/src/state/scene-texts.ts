// What scenes are called: the title and the description that their files have. Until a scene's file is there, and where
// it has no title, the words of its name stand for it.

import { sceneMark } from "./scene-mark.js";

export interface SceneText {
  title: string;
  description: string;
  /** Of the file (sceneMark); "": it isn't known. */
  mark: string;
}

export class SceneTexts {
  private readonly asked = new Map<string, Promise<void>>();
  private readonly known = new Map<string, SceneText>();

  /**
   * @param fetchFile  gets a file of the scenes' folder by its path below it
   * @param changed    more is known of a scene
   */
  constructor(
    private readonly fetchFile: (path: string) => Promise<Response>,
    private readonly changed: () => void = () => {},
  ) {}

  /** What is known now. */
  of(scene: string): SceneText {
    return this.known.get(scene) ?? { title: words(scene), description: "", mark: "" };
  }

  /** A scene's file was read. */
  know(scene: string, file: unknown): void {
    this.keep(scene, file);
    this.changed();
  }

  /** Reads the scenes' files, each once. What can't be read keeps its name. */
  async read(scenes: readonly string[]): Promise<void> {
    if (scenes.every((scene) => this.known.has(scene))) return;
    const missing = scenes.filter((scene) => scene !== "" && !this.asked.has(scene));
    for (const scene of missing) this.asked.set(scene, this.readOne(scene));
    await Promise.all(scenes.map((scene) => this.asked.get(scene)));
    if (missing.length > 0) this.changed();
  }

  private keep(scene: string, file: unknown): void {
    const { title, description } = (file ?? {}) as Record<string, unknown>;
    this.asked.set(scene, Promise.resolve());
    this.known.set(scene, {
      title: typeof title === "string" && title !== "" ? title : words(scene),
      description: typeof description === "string" ? description : "",
      mark: sceneMark(file),
    });
  }

  private async readOne(scene: string): Promise<void> {
    const response = await this.fetchFile(`${encodeURIComponent(scene)}.json`).catch(() => null);
    const file: unknown = response?.ok ? await response.json().catch(() => null) : null;
    if (file !== null) this.keep(scene, file);
  }
}

function words(name: string): string {
  const text = name.replaceAll("-", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// In which order people are offered scenes: those that a server has besides Tarn's own first, by their names, then Tarn's
// as server/scenes/README.md lists them, which a test holds it to: from water to smoke, lessons last.

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
