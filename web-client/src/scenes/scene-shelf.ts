// An owner's scenes: the server's list of them on one side, the dialog on the other. Fetched when somebody opens it, or
// drops a scene on the page.

import { ScenesClient } from "../lobby/scenes-client.js";
import { fetchBeside } from "../net/here.js";
import { FAILED, PlainError, plainly } from "../net/plain.js";
import { archiveOf, isArchive } from "../state/scene-archive.js";
import { ScenesSheet } from "../ui/scenes-sheet.js";

export class SceneShelf {
  private readonly client: ScenesClient;
  private readonly sheet: ScenesSheet;

  /**
   * @param key    of whoever owns the tank
   * @param scene  what the tank was made from
   * @param load   has the tank be made from another one
   */
  constructor(
    session: string,
    key: string,
    private readonly scene: () => string,
    load: (scene: string) => void,
  ) {
    this.client = new ScenesClient(fetchBeside, session, key);
    this.sheet = new ScenesSheet({
      load,
      upload: (files) => this.upload(files),
      remove: async (one) => {
        await this.client.remove(one);
        await this.look();
        this.sheet.say("It is removed; tanks that were made from it stay.");
      },
      download: () => this.download(),
    });
    this.look().catch((error: unknown) => this.sheet.say(plainly(error, FAILED)));
  }

  get isOpen(): boolean {
    return this.sheet.isOpen;
  }

  /** As if they had been dropped on the dialog. */
  take(files: readonly File[]): void {
    this.sheet.upload(files);
  }

  private async look(): Promise<number> {
    const { scenes, uploadBytesMax } = await this.client.list();
    this.sheet.show(scenes, uploadBytesMax > 0);
    return uploadBytesMax;
  }

  private async upload(files: readonly File[]): Promise<void> {
    const most = await this.look();
    if (most === 0) return; // which it says
    const archive = makeArchive(files);
    if (archive.size > most)
      throw new PlainError(`The files have ${archive.size} bytes together; allowed are ${most}.`);
    const title = await this.client.upload(archive);
    await this.look();
    this.sheet.say(`"${title}" is here. Press Load to start this tank anew from it.`);
  }

  private async download(): Promise<void> {
    this.sheet.say("On its way …");
    const { archive, because } = await this.client.download();
    const url = URL.createObjectURL(archive);
    const link = document.createElement("a");
    link.href = url;
    link.download = `${this.scene() || "scene"}.tar`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
    this.sheet.say(
      because === ""
        ? `${link.download} has the tank as it stands: its solids and walls, what was set, and the liquid.`
        : `${link.download} has the scene as it was when the tank was made: ${because}.`,
    );
  }
}

/** Files are read when they are sent, not before. */
function makeArchive(files: readonly File[]): Blob {
  if (isArchive(files)) return files[0] as File;
  const named = files.map((file) => ({ name: file.webkitRelativePath || file.name, size: file.size }));
  const parts = archiveOf(named).map((part) => (typeof part === "number" ? (files[part] as File) : part));
  return new Blob(parts, { type: "application/x-tar" });
}
