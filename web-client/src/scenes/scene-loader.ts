// Fetches what the picture needs of a scene: its file, and the files that its solids name. A newer scene makes an older
// one's answers worthless, however late they come. A tank that begins anew may have another scene of the same name, as
// one that is gone back with has: it is fetched again, and what is the same stays.
import { PlainError, plainly } from "../net/plain.js";
import type { SolidFile } from "../render/solids.js";
import { readSolids, type Solid } from "../state/scene-solids.js";
import { readPgm } from "../state/solid-files.js";

export interface SceneLoaderEvents {
  /** A scene's file was read, and is the newest scene's. */
  onFile?(scene: string, file: unknown): void;
  onSolids(solids: readonly Solid[], files: ReadonlyMap<string, SolidFile>): void;
  onProblem(text: string): void;
}

interface Kept {
  tag: string | null;
  file: SolidFile;
}

export class SceneLoader {
  private scene = "";
  private turn = 0;
  private epoch: number | null = null;
  /** What was read of the scene: its file, and the files that it names. */
  private text = "";
  private kept = new Map<string, Kept>();

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
    this.text = "";
    this.kept = new Map();
    this.epoch = null;
    this.events.onSolids([], new Map());
    if (scene !== "") void this.load(scene, turn);
  }

  /** The tank that is seen, by the epoch of its frames. */
  see(epoch: number): void {
    const isAnew = this.epoch !== null && epoch !== this.epoch;
    this.epoch = epoch;
    if (isAnew && this.scene !== "") void this.load(this.scene, ++this.turn);
  }

  private async load(scene: string, turn: number): Promise<void> {
    try {
      const text = await (await this.get(`${scene}.json`)).text();
      const file: unknown = JSON.parse(text);
      const isNew = text !== this.text;
      if (turn === this.turn && isNew) this.events.onFile?.(scene, file);
      const solids = readSolids(file);
      const kept = await this.loadFiles(solids);
      const isSame = !isNew && [...kept].every(([path, { file }]) => this.kept.get(path)?.file === file);
      if (turn !== this.turn || isSame) return;
      this.text = text;
      this.kept = kept;
      this.events.onSolids(solids, new Map([...kept].map(([path, { file }]) => [path, file])));
    } catch (error) {
      if (turn === this.turn)
        this.events.onProblem(
          `What stands in the tank can't be shown: ${plainly(error, "its scene can't be read")}`,
        );
    }
  }

  private async loadFiles(solids: readonly Solid[]): Promise<Map<string, Kept>> {
    const files = new Map<string, Kept>();
    for (const { shape } of solids) {
      if ((shape.kind !== "mesh" && shape.kind !== "picture") || files.has(shape.file)) continue;
      const response = await this.get(shape.file);
      const before = this.kept.get(shape.file);
      const tag = response.headers.get("etag");
      const file =
        before !== undefined && tag !== null && tag === before.tag
          ? before.file
          : await read(response, shape.file, shape.kind === "picture" ? shape.white : 1);
      files.set(shape.file, { tag, file });
    }
    return files;
  }

  private async get(path: string): Promise<Response> {
    const response = await this.fetchFile(path);
    if (!response.ok) throw new PlainError(`${path}: the server answers ${response.status}`);
    return response;
  }
}

async function read(response: Response, file: string, white: number): Promise<SolidFile> {
  try {
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (file.endsWith(".pgm")) return { rows: readPgm(bytes, white) };
    return (await import("../state/mesh-files.js")).readMesh(file, bytes);
  } catch (error) {
    throw new PlainError(`${file}: ${plainly(error, "it can't be read")}`);
  }
}
