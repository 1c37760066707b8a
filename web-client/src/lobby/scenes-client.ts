// An owner's scenes over HTTP: what was uploaded to a tank, one more, one less; and the tank as one file. What
// comes is read defensively.
import { ask, type Fetch, isObject, SessionsError, whyNot, withKey } from "./sessions.js";

export interface UploadedScene {
  /** By which it is loaded. */
  scene: string;
  /** For people. */
  name: string;
  bytes: number;
}

export interface UploadedScenes {
  scenes: UploadedScene[];
  /** That one more may have; 0: the server takes none. */
  uploadBytesMax: number;
}

/** More than a server has. */
const SCENES_MAX = 512;

export class ScenesClient {
  /** @param key  its owners', or that of a visit by one */
  constructor(
    private readonly fetch: Fetch,
    private readonly session: string,
    private readonly key: string,
  ) {}

  async list(): Promise<UploadedScenes> {
    const answer = await ask(this.fetch, this.path("scenes"), { headers: withKey(this.key) });
    if (!Array.isArray(answer.scenes)) throw new SessionsError("The server's answer can't be read.");
    const most = answer.upload_bytes_max;
    return {
      scenes: answer.scenes.slice(0, SCENES_MAX).flatMap((item) => readScene(item)),
      uploadBytesMax: typeof most === "number" && Number.isFinite(most) ? most : 0,
    };
  }

  /** @returns the scene, for people: its title, or its name */
  async upload(archive: Blob): Promise<string> {
    const headers = { "content-type": "application/x-tar", ...withKey(this.key) };
    const answer = await ask(this.fetch, this.path("scenes"), { method: "POST", headers, body: archive });
    if (typeof answer.scene !== "string") throw new SessionsError("The server's answer can't be read.");
    return typeof answer.title === "string" && answer.title !== "" ? answer.title : String(answer.name);
  }

  async remove(scene: string): Promise<void> {
    const path = this.path(`scenes/${encodeURIComponent(scene)}`);
    await ask(this.fetch, path, { method: "DELETE", headers: withKey(this.key) });
  }

  /** The tank as it stands, as an archive; where no scene can tell that, the one that it was made from, and why. */
  async download(): Promise<{ archive: Blob; because: string }> {
    const standing = await this.get("scene");
    if (standing.ok) return { archive: await standing.blob(), because: "" };
    const because = await whyNot(standing);
    const made = standing.status === 409 ? await this.get("scene/made.tar") : standing;
    if (!made.ok) throw new SessionsError(`The server refused: ${because}.`);
    return { archive: await made.blob(), because };
  }

  private async get(page: string): Promise<Response> {
    const response = await this.fetch(this.path(page), { headers: withKey(this.key) }).catch(() => null);
    if (response === null) throw new SessionsError("The server doesn't answer.");
    return response;
  }

  private path(page: string): string {
    return `sessions/${encodeURIComponent(this.session)}/${page}`;
  }
}

function readScene(item: unknown): UploadedScene[] {
  if (!isObject(item) || typeof item.scene !== "string" || typeof item.name !== "string") return [];
  return [{ scene: item.scene, name: item.name, bytes: typeof item.bytes === "number" ? item.bytes : 0 }];
}
