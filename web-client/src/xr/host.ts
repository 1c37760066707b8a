// What a headset needs of the page and of its picture. Nothing else of them is known here.
import type { Group, Object3D, PerspectiveCamera, Scene, WebGLRenderer } from "three";
import type { ControllerInput, HandInput } from "../protocol/headset-inputs.js";
import type { PointerInput, PresencePoint, Tool } from "../protocol/messages.js";
import type { Room } from "../shader/room.js";
import type { Tier } from "../state/quality.js";
import type { PanelRights } from "./panel-layout.js";

export interface XrStage {
  readonly renderer: WebGLRenderer;
  readonly scene: Scene;
  readonly camera: PerspectiveCamera;
  /** Where the tank's middle stands in the room, and how large: nowhere in particular without a headset. */
  readonly place: Group;
  /** In `place`: turned as the tank is, about its middle. */
  readonly room: Group;
  /** In `room`: tank coordinates. */
  readonly tank: Group;
  /** What its programs are lit by. */
  readonly light: Room;
  /** Of the tank, metres. */
  readonly sizeM: readonly number[];
  /** A headset shows the picture from now on, or no longer: what stands around the tank on the page is hidden. */
  wear(on: boolean): void;
  /** Draws the particles in another way from now on. */
  show(tier: Tier): void;
  /** Has an object drawn over the water that is behind it, as what is seen through has to be. */
  drawLast(object: Object3D): void;
  /** The nearest solid that moves and comes within reach of a point of the tank; null where there is none. */
  movingNear(point: readonly number[], reachM: number): Object3D | null;
}

export interface XrTool {
  tool: Tool;
  radiusM: number;
  strength: number;
  /** Of what is added, sRGB. */
  colour: number;
}

/** What the wrist panel shows. */
export interface XrState {
  /** Its title. */
  scene: string;
  paused: boolean;
  /** Of the tank's clock. */
  speed: number;
  /** What pressing may do: what isn't offered is greyed. */
  may: PanelRights;
}

export interface XrHost {
  readonly stage: XrStage;
  readonly tool: XrTool;
  state(): XrState;
  /** What probes measure, a line each. */
  measured(): readonly string[];
  /** How the eyes are to see the water, and whether somebody asked for just that. */
  tier(): { tier: Tier; pinned: boolean };
  /** The tank's orientation in the newest frame, x y z w; null before the first. */
  orientation(): readonly number[] | null;
  controller(input: ControllerInput): void;
  hand(input: HandInput): void;
  /** A finger on the screen of a phone. */
  pointer(input: PointerInput): void;
  /** @param orientation  of the tank in the room, x y z w */
  turn(orientation: readonly number[]): void;
  /** Once per picture: where the person is, for the others to see. */
  presence(points: readonly PresencePoint[]): void;
  resizeTool(factor: number): void;
  strengthenTool(factor: number): void;
  nextTool(): void;
  /** Chooses the next of a few colours for what is added. */
  nextColour(): void;
  /** Loads the scene that is so many further in the list. */
  nextScene(by: number): void;
  togglePause(): void;
  /** The next of the clock's speeds in turn. */
  changeSpeed(): void;
  reset(): void;
  /** The session began or ended; the page's own pointers let go, its size is taken anew. */
  changed(worn: boolean): void;
  /** Something that people should know. */
  say(text: string): void;
}

export type XrMode = "immersive-vr" | "immersive-ar";
