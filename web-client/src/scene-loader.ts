// Fetches what the picture needs of a scene: its file, and the files that its solids name. A newer scene makes an older
// one's answers worthless, however late they come.
import type { SolidFile } from "./render/solids.js";
import { readSolids, type Solid } from "./state/scene-solids.js";
import { readObj, readPgm } from "./state/solid-files.js";

export interface SceneLoaderEvents {
  /** A scene's file was read, and is the newest scene's. */
  onFile?(scene: string, file: unknown): void;
  onSolids(solids: readonly Solid[], files: ReadonlyMap<string, SolidFile>): void;
  onProblem(text: string): void;
}

export class SceneLoader {
  private scene = "";
  private turn = 0;

  /** @param fetchFile  gets a file of a scene by its path below the scenes' folder, as the tank has it */
  constructor(
    private readonly fetchFile: (path: string) => Promise<Response>,
    private readonly events: SceneLoaderEvents,
  ) {}

  /** The session runs this scene; an empty name: one that the server doesn't give out. */
  use(scene: string): void {
    if (scene === this.scene) return;
    this.scene = scene;
    const turn = ++this.turn;
    this.events.onSolids([], new Map());
    if (scene !== "") void this.load(scene, turn);
  }

  private async load(scene: string, turn: number): Promise<void> {
    try {
      const file: unknown = await (await this.get(`${scene}.json`)).json();
      if (turn === this.turn) this.events.onFile?.(scene, file);
      const solids = readSolids(file);
      const files = await this.loadFiles(solids);
      if (turn === this.turn) this.events.onSolids(solids, files);
    } catch (error) {
      if (turn === this.turn)
        this.events.onProblem(`What stands in the tank can't be shown: ${(error as Error).message}`);
    }
  }

  private async loadFiles(solids: readonly Solid[]): Promise<Map<string, SolidFile>> {
    const files = new Map<string, SolidFile>();
    for (const { shape } of solids) {
      if ((shape.kind !== "mesh" && shape.kind !== "picture") || files.has(shape.file)) continue;
      const response = await this.get(shape.file);
      files.set(shape.file, await read(response, shape.file, shape.kind === "picture" ? shape.white : 1));
    }
    return files;
  }

  private async get(path: string): Promise<Response> {
    const response = await this.fetchFile(path);
    if (!response.ok) throw new Error(`${path}: the server answers ${response.status}`);
    return response;
  }
}

async function read(response: Response, file: string, white: number): Promise<SolidFile> {
  try {
    if (file.endsWith(".obj")) return readObj(await response.text());
    const bytes = await response.arrayBuffer();
    if (file.endsWith(".pgm")) return { rows: readPgm(new Uint8Array(bytes), white) };
    // Few scenes have one, so that its reader is fetched only then.
    const { STLLoader } = await import("three/addons/loaders/STLLoader.js");
    return { geometry: new STLLoader().parse(bytes) };
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`);
  }
}
