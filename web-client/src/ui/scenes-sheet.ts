// The dialog of an owner's scenes: those that were uploaded, a place for more, and the tank's own as a file. Escape
// closes it.
import { FAILED, plainly } from "../net/plain.js";
import { makeSheet, sheetButton, showSheet } from "./sheet.js";

/** What the dialog may do. What these throw is shown. */
export interface SceneActions {
  upload(files: readonly File[]): Promise<void>;
  load(scene: string): void;
  remove(scene: string): Promise<void>;
  download(): Promise<void>;
}

export interface ShownScene {
  scene: string;
  name: string;
  bytes: number;
}

export class ScenesSheet {
  private readonly sheet = makeSheet("scenes-dialog", "Scenes of your own");
  private readonly list = document.createElement("ul");
  private readonly said = document.createElement("p");
  private readonly place = document.createElement("div");
  private readonly choose = sheetButton("Choose files", () => this.input.click());
  private readonly input = document.createElement("input");

  constructor(private readonly actions: SceneActions) {
    const { sheet, said, place, input } = this;
    this.list.className = "choices";
    said.className = "hint";
    said.setAttribute("role", "status");
    input.type = "file";
    input.multiple = true;
    input.hidden = true;
    input.setAttribute("aria-label", "Files of a scene");
    input.accept = ".json,.tar,.obj,.stl,.ply,.glb,.pgm";
    input.addEventListener("change", () => {
      const files = [...(input.files ?? [])];
      input.value = ""; // the same may be chosen again
      this.upload(files);
    });
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent =
      "Drop a scene here: its .json with the meshes and heights that it names, or a .tar of them. Nobody else is told of it.";
    place.className = "drop-place";
    place.append(hint, this.choose, input);
    const row = document.createElement("div");
    row.className = "row";
    const get = sheetButton("Download this tank", () => this.do(() => actions.download()));
    row.append(
      get,
      sheetButton("Close", () => sheet.close()),
    );
    sheet.append(this.list, place, said, row);
    showSheet(sheet);
  }

  get isOpen(): boolean {
    return this.sheet.isConnected;
  }

  /** @param takes  whether the server takes more */
  show(scenes: readonly ShownScene[], takes: boolean): void {
    this.list.replaceChildren(...scenes.map((one) => this.row(one)));
    this.list.hidden = scenes.length === 0;
    this.place.hidden = !takes;
    if (!takes) this.say("This server takes no scenes; whoever runs it may start it with --uploads.");
  }

  say(text: string): void {
    this.said.textContent = text;
  }

  upload(files: readonly File[]): void {
    if (files.length === 0) return;
    this.say("On its way …");
    this.do(() => this.actions.upload(files));
  }

  private do(act: () => Promise<void>): void {
    this.choose.disabled = true;
    act()
      .catch((error: unknown) => this.say(plainly(error, FAILED)))
      .finally(() => {
        this.choose.disabled = false;
      });
  }

  private row(one: ShownScene): HTMLLIElement {
    const item = document.createElement("li");
    const name = document.createElement("span");
    const size = document.createElement("span");
    item.className = "choice";
    name.textContent = one.name;
    name.className = "scene-name";
    size.className = "why";
    size.textContent = sizeText(one.bytes);
    const load = sheetButton("Load", () => {
      this.actions.load(one.scene);
      this.sheet.close();
    });
    load.setAttribute("aria-label", `Load ${one.name}`);
    const remove = sheetButton("Remove", () => this.do(() => this.actions.remove(one.scene)));
    remove.setAttribute("aria-label", `Remove ${one.name}`);
    item.append(load, remove, name, size);
    return item;
  }
}

function sizeText(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
