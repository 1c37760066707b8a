// By path: the package exports no style sheet.
import "../../node_modules/lil-gui/dist/lil-gui.css";
// The panel of controls. It shows the session's state as the server tells it; what people change here becomes a
// message, and shows for good once the server has confirmed it.
import { type Controller, GUI } from "lil-gui";
import type { Channel, ParameterInfo, Role, SessionState } from "../protocol/messages.js";
import type { LightName } from "../shader/lights.js";
import type { Drawing } from "../state/drawing.js";
import { PHONE } from "../state/framing.js";
import { inOrder } from "../state/scene-texts.js";
import { SPEEDS, speedText } from "../state/speeds.js";
import { WALL_LOOKS, type WallLook } from "../state/wall-look.js";
import { CAMERA_PROMISE } from "./camera-view.js";
import { channelTitle } from "./legend.js";

const TITLES: Readonly<Record<Drawing, string>> = {
  water: "Water",
  smoke: "Smoke",
  dye: "Dye",
  arrows: "Vorticity, as arrows",
};

const LOOKS: Readonly<Record<string, WallLook | "particles">> = {
  Particles: "particles",
  ...Object.fromEntries(WALL_LOOKS.map((one) => [one.charAt(0).toUpperCase() + one.slice(1), one])),
};

const LIGHTS: Readonly<Record<string, LightName>> = {
  Day: "day",
  Night: "night",
  Studio: "studio",
  "None (clear)": "clear",
};

export interface PanelActions {
  load(scene: string): void;
  togglePause(): void;
  /** Of the tank's clock. */
  speed(speed: number): void;
  step(): void;
  reset(): void;
  parameter(name: string, value: number): void;
  radius(metres: number): void;
  strength(share: number): void;
  colour(colour: number): void;
  view(): void;
  readout(): void;
  channel(name: string): void;
  field(name: string): void;
  /** Where the plane lies that a field is shown in. */
  slice(share: number): void;
  drawing(name: Drawing): void;
  look(name: WallLook | "particles"): void;
  light(name: LightName): void;
  /** Null where the device can't be tilted. @return whether it is on now */
  tilt: (() => Promise<boolean>) | null;
  camera(): void;
  /** Why there can be no camera, in a sentence; "": there can. */
  whyNoCamera: string;
  sound(): void;
  picture(): void;
  clip(): void;
  record(): void;
  open(): void;
}

export interface PanelTool {
  radiusM: number;
  strength: number;
  colour: number;
}

export class Panel {
  private readonly gui: GUI;
  private readonly sceneFolder: GUI;
  private readonly parameterFolder: GUI;
  private readonly viewerFolder: GUI;
  /** What acts otherwise than it was asked for. */
  private readonly remarks = document.createElement("ul");
  private readonly pauseButton: Controller;
  private readonly speedChoice: Controller;
  private readonly stepButton: Controller;
  private sceneChoice: Controller | null = null;
  private channelChoice: Controller | null = null;
  private drawingChoice: Controller | null = null;
  private lookChoice: Controller | null = null;
  private readonly lightChoice: Controller;
  private readonly soundButton: Controller;
  private readonly chosen = {
    scene: "",
    channel: "",
    drawing: "",
    look: "",
    light: "day",
    field: "",
    slice: 0.5,
    speed: 1,
  };
  private fieldChoices: Controller[] = [];
  private fields = "";
  private scenes = "";
  private channels = "";
  private drawings = "";
  private parameters = "";
  private readonly values: Record<string, number> = {};
  private readonly sliders = new Map<string, Controller>();
  private radiusSlider: Controller | null = null;
  private clipButton: Controller | null = null;
  private recordButton: Controller | null = null;
  private cameraButton: Controller | null = null;
  /** Whether the tank can be controlled. */
  private controls = true;

  constructor(
    host: HTMLElement,
    private readonly actions: PanelActions,
    private readonly tool: PanelTool,
    people: HTMLElement,
  ) {
    this.gui = new GUI({ container: host, title: "Controls", injectStyles: false });
    // A button that is clicked leaves the focus, and with it the keys, where they are.
    host.addEventListener("mousedown", (event) => {
      if ((event.target as Element).closest("button") !== null) event.preventDefault();
    });
    this.sceneFolder = this.gui.addFolder("Tank");
    this.remarks.className = "remarks";
    const buttons = {
      pause: () => actions.togglePause(),
      step: () => actions.step(),
      reset: () => actions.reset(),
      view: () => actions.view(),
    };
    this.pauseButton = this.sceneFolder.add(buttons, "pause").name("Pause (P)");
    this.speedChoice = this.sceneFolder
      .add(this.chosen, "speed", Object.fromEntries(SPEEDS.map((one) => [speedText(one), one])))
      .name("Speed (<  >)")
      .onChange((speed: number) => actions.speed(speed));
    this.stepButton = this.sceneFolder.add(buttons, "step").name("Single step (S)").disable();
    this.sceneFolder.add(buttons, "reset").name("Reset (R)");
    this.sceneFolder.add(buttons, "view").name("Centre the view (V)");
    this.sceneFolder.add(actions, "readout").name("Performance (M)");
    this.soundButton = this.sceneFolder.add(actions, "sound");
    this.showSound(false);
    this.lightChoice = this.sceneFolder
      .add(this.chosen, "light", LIGHTS)
      .name("Light")
      .onChange((name: LightName) => actions.light(name));
    this.toolFolder = this.createToolFolder();
    this.createKeepFolder();
    this.parameterFolder = this.gui.addFolder("Parameters").close();
    this.viewerFolder = this.gui.addFolder("People").close();
    this.viewerFolder.$children.append(people);
    if (matchMedia(PHONE).matches) this.gui.close();
  }

  private readonly toolFolder: GUI;

  /** @param titleOf  what a scene is called */
  showScenes(scenes: readonly string[], current: string, titleOf: (scene: string) => string): void {
    // The server was started with a scene of its own: it is named while it runs, but can't be loaded again.
    const listed = inOrder(scenes.includes(current) ? scenes : [current, ...scenes]);
    const options: Record<string, string> = {};
    // Two may have one title.
    for (const scene of listed)
      options[titleOf(scene) in options ? `${titleOf(scene)} (${scene})` : titleOf(scene)] = scene;
    const key = JSON.stringify(options);
    this.chosen.scene = current;
    if (key !== this.scenes || this.sceneChoice === null) {
      this.scenes = key;
      this.sceneChoice?.destroy();
      this.sceneChoice = this.sceneFolder
        .add(this.chosen, "scene", options)
        .name("Scene")
        .onChange((scene: string) => this.actions.load(scene));
      this.sceneFolder.$children.prepend(this.sceneChoice.domElement);
      this.sceneChoice.show(this.controls);
    }
    this.sceneChoice.updateDisplay();
  }

  showSound(on: boolean): void {
    this.soundButton.name(on ? "Silence" : "Sound of the water");
  }

  showState(state: SessionState): void {
    this.pauseButton.name(state.paused ? "Resume (P)" : "Pause (P)");
    this.chosen.speed = state.speed;
    this.speedChoice.updateDisplay();
    this.stepButton.enable(state.paused);
    this.soundButton.show(state.model === "liquid"); // nothing else splashes
    this.showRadius(Math.max(...state.sizeM));
    this.showParameters(state.parameters);
    this.showRemarks(state.remarks);
  }

  private showRemarks(remarks: readonly string[]): void {
    this.sceneFolder.$children.append(this.remarks); // behind what has come since
    this.remarks.hidden = remarks.length === 0;
    this.remarks.replaceChildren(
      ...remarks.map((remark) => {
        const item = document.createElement("li");
        item.textContent = remark;
        return item;
      }),
    );
  }

  /** @param current  what the particles are drawn as; where there is one way only nothing is offered */
  showDrawings(drawings: readonly Drawing[], current: Drawing): void {
    const key = drawings.join();
    this.chosen.drawing = current;
    if (key !== this.drawings) {
      this.drawings = key;
      this.drawingChoice?.destroy();
      this.drawingChoice = this.sceneFolder
        .add(this.chosen, "drawing", Object.fromEntries(drawings.map((one) => [TITLES[one], one])))
        .name("Show")
        .onChange((name: Drawing) => this.actions.drawing(name));
      this.drawingChoice.show(drawings.length > 1);
    }
    this.drawingChoice?.updateDisplay();
  }

  /** @param offered  the tank is a wall of fluid. @param current  what it looks like; null: its particles are drawn */
  showLooks(offered: boolean, current: WallLook | null): void {
    this.chosen.look = current ?? "particles";
    this.lookChoice ??= this.sceneFolder
      .add(this.chosen, "look", LOOKS)
      .name("Look")
      .onChange((name: WallLook | "particles") => this.actions.look(name));
    this.lookChoice.show(offered);
    this.lookChoice.updateDisplay();
  }

  showLight(current: LightName): void {
    this.chosen.light = current;
    this.lightChoice.updateDisplay();
  }

  /** @param current  the name of the one that the particles are coloured by */
  showChannels(channels: readonly Channel[], current: string): void {
    const options = Object.fromEntries(channels.map((channel) => [channelTitle(channel), channel.name]));
    const key = JSON.stringify(options);
    this.chosen.channel = current;
    if (key !== this.channels) {
      this.channels = key;
      this.channelChoice?.destroy();
      this.channelChoice = this.sceneFolder
        .add(this.chosen, "channel", options)
        .name("Colours")
        .onChange((name: string) => this.actions.channel(name));
      this.channelChoice.show(channels.length > 1);
    }
    this.channelChoice?.updateDisplay();
  }

  /**
   * @param current  the name of the one that is looked at
   * @param slice    where it is cut, as a share of the tank's depth
   * @param isFlat   the tank has one plane only
   */
  showFields(fields: readonly Channel[], current: string, slice: number, isFlat: boolean): void {
    const options = {
      None: "",
      ...Object.fromEntries(fields.map((field) => [channelTitle(field), field.name])),
    };
    const key = JSON.stringify(options);
    this.chosen.field = current;
    this.chosen.slice = slice;
    if (key !== this.fields) {
      this.fields = key;
      for (const choice of this.fieldChoices) choice.destroy();
      this.fieldChoices = [
        this.sceneFolder
          .add(this.chosen, "field", options)
          .name("Field")
          .onChange((name: string) => this.actions.field(name)),
        this.sceneFolder
          .add(this.chosen, "slice", 0, 1, 0.01)
          .name("Slice")
          .onChange((share: number) => this.actions.slice(share)),
      ];
    }
    this.fieldChoices[0]?.show(fields.length > 0);
    this.fieldChoices[1]?.show(current !== "" && !isFlat);
    for (const choice of this.fieldChoices) choice.updateDisplay();
  }

  showTool(): void {
    for (const controller of this.toolFolder.controllers) controller.updateDisplay();
  }

  /** What is being kept: the buttons say what they would do. */
  showKept(clip: boolean, recording: boolean): void {
    this.clipButton?.name(clip ? "Stop the clip" : "Film a clip (video)");
    this.recordButton?.name(recording ? "Stop the recording" : "Record the tank (.tarn)");
  }

  private createToolFolder(): GUI {
    const folder = this.gui.addFolder("Tool");
    const { actions, tool } = this;
    folder
      .add(tool, "strength", 0, 1, 0.01)
      .name("Strength")
      .onChange((value: number) => actions.strength(value));
    folder
      .addColor(tool, "colour")
      .name("Colour")
      .onChange((value: number) => actions.colour(value));
    const { tilt } = actions;
    if (tilt !== null) {
      const name = (on: boolean): string => (on ? "Stop tilting" : "Tilt the tank with the phone");
      const button = folder.add({ tilt: () => void tilt().then((on) => button.name(name(on))) }, "tilt");
      button.name(name(false));
    }
    this.cameraButton = folder.add(actions, "camera");
    const promise = document.createElement("p");
    promise.className = "promise";
    promise.id = "camera-promise";
    promise.textContent = actions.whyNoCamera || CAMERA_PROMISE;
    folder.$children.append(promise);
    this.cameraButton.$widget.querySelector("button")?.setAttribute("aria-describedby", promise.id);
    this.cameraButton.enable(actions.whyNoCamera === "");
    this.showCamera(false);
    return folder;
  }

  showCamera(on: boolean): void {
    this.cameraButton?.name(on ? "Stop the camera" : "Move it with your camera");
  }

  private createKeepFolder(): void {
    const folder = this.gui.addFolder("Keep").close();
    folder.add(this.actions, "picture").name("Take a picture (PNG)");
    this.clipButton = folder.add(this.actions, "clip");
    this.recordButton = folder.add(this.actions, "record");
    this.showKept(false, false);
    folder.add(this.actions, "open").name("Open a recording …");
  }

  /** How many are there. */
  showCount(people: number): void {
    this.viewerFolder.title(`People (${people})`);
  }

  /** Leaves out what a role may not do, parameters where they may not be set, and all that concerns the live tank while a recording plays. */
  showRole(role: Role, plays: boolean, parameters: boolean): void {
    this.controls = role === "own" && !plays;
    for (const controller of this.sceneFolder.controllers)
      if (
        !["view", "readout", "sound", "channel", "drawing", "look", "light", "field", "slice"].includes(
          controller.property,
        )
      )
        controller.show(this.controls);
    this.parameterFolder.show(parameters && !plays);
    this.toolFolder.show(role !== "watch" && !plays);
    this.viewerFolder.show(!plays);
    this.recordButton?.show(!plays);
  }

  private showRadius(tankM: number): void {
    const max = Number((tankM / 4).toPrecision(2));
    if (this.radiusSlider === null) {
      this.radiusSlider = this.toolFolder
        .add(this.tool, "radiusM", max / 25, max, max / 100)
        .name("Radius, m")
        .onChange((value: number) => this.actions.radius(value));
      this.toolFolder.controllers[0]?.domElement.after(this.radiusSlider.domElement);
    } else {
      this.radiusSlider
        .min(max / 25)
        .max(max)
        .step(max / 100)
        .updateDisplay();
    }
  }

  private showParameters(parameters: readonly ParameterInfo[]): void {
    const key = parameters
      .map((p) => `${p.name} ${p.magnitudes ? Object.keys(powerOptions(p)) : ""} ${p.min} ${p.max}`)
      .join("\n");
    for (const p of parameters) {
      // A slider that is being dragged stays under the finger.
      const slider = this.sliders.get(p.name);
      if (!slider?.domElement.matches(":active, :focus-within")) this.values[p.name] = readable(p.value);
      if (slider && slider.$name.textContent !== labelOf(p)) slider.name(labelOf(p));
    }
    if (key === this.parameters) {
      for (const slider of this.sliders.values()) slider.updateDisplay();
      return;
    }
    this.parameters = key;
    for (const slider of this.sliders.values()) slider.destroy();
    this.sliders.clear();
    for (const p of parameters) {
      this.values[p.name] = readable(p.value);
      const slider = this.addParameter(p);
      slider.name(labelOf(p));
      slider.onFinishChange((value: number) => this.actions.parameter(p.name, value));
      this.sliders.set(p.name, slider);
    }
  }
  private addParameter(p: ParameterInfo): Controller {
    return p.magnitudes
      ? this.parameterFolder.add(this.values, p.name, powerOptions(p))
      : this.parameterFolder.add(this.values, p.name, p.min, p.max, stepOf(p));
  }
}

/** A value of 32 bits as people write it. */
function readable(value: number): number {
  return Number(value.toPrecision(6));
}

/** The powers of ten that a parameter may have, and the value that it has, as 1e-4. */
function powerOptions(p: ParameterInfo): Record<string, number> {
  const values = new Set([readable(p.value)]);
  for (let power = -12; power <= 12; power++) {
    const value = Number(`1e${power}`);
    if (value >= readable(p.min) && value <= readable(p.max)) values.add(value);
  }
  return Object.fromEntries([...values].sort((a, b) => a - b).map((value) => [value.toExponential(), value]));
}

function labelOf({ name, label, unit, note }: ParameterInfo): string {
  const title = label === "" ? name.replaceAll("_", " ") : unit === "" ? label : `${label}, ${unit}`;
  return note === "" ? title : `${title} (${note})`;
}

function stepOf(parameter: ParameterInfo): number {
  if (parameter.whole) return 1;
  const span = parameter.max - parameter.min;
  return span > 0 && span < 0.5 ? span / 10000 : span / 500;
}
