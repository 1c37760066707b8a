// A small panel at the left wrist: what runs, and a few buttons. Drawn on a canvas, only when it says something else.
import * as THREE from "three";
import type { Tool } from "../protocol/messages.js";
import { speedText } from "../state/speeds.js";
import {
  isOffered,
  PANEL_AREAS,
  PANEL_FOOT,
  PANEL_HEIGHT_M,
  PANEL_LINES,
  PANEL_WIDTH_M,
  type PanelButton,
  type PanelRights,
  placeOf,
  wear,
} from "./panel-layout.js";
import type { Placement } from "./placement.js";

export interface PanelWords {
  /** Its title. */
  scene: string;
  tool: Tool;
  /** Of the tool, 0..1. */
  strength: number;
  /** Of what is added, sRGB. */
  colour: number;
  paused: boolean;
  /** Of the tank's clock. */
  speed: number;
  placement: Placement;
  may: PanelRights;
  /** What is measured; the first PANEL_LINES are shown. */
  lines: readonly string[];
}

const PIXELS_PER_M = 3000;
const FONT = "system-ui, sans-serif";
/** The panel is shown when it faces the eyes by this cosine. */
const FACING_MIN = 0.1;
/** How opaque the words of a button are that does nothing. */
const GREYED = 0.3;

export class WristPanel {
  readonly mesh: THREE.Mesh;
  private readonly canvas = document.createElement("canvas");
  private readonly texture: THREE.CanvasTexture;
  private readonly material: THREE.MeshBasicMaterial;
  private shown = "";
  private readonly normal = new THREE.Vector3();
  private readonly toEyes = new THREE.Vector3();

  constructor() {
    this.canvas.width = Math.round(PANEL_WIDTH_M * PIXELS_PER_M);
    this.canvas.height = Math.round(PANEL_HEIGHT_M * PIXELS_PER_M);
    this.texture = new THREE.CanvasTexture(this.canvas);
    this.texture.generateMipmaps = true;
    this.texture.minFilter = THREE.LinearMipmapLinearFilter;
    this.material = new THREE.MeshBasicMaterial({ map: this.texture, transparent: true });
    this.mesh = new THREE.Mesh(new THREE.PlaneGeometry(PANEL_WIDTH_M, PANEL_HEIGHT_M), this.material);
    this.mesh.renderOrder = 40;
    this.mesh.visible = false;
  }

  /** Hangs the panel at a wrist, as long as it faces the eyes. */
  follow(
    kind: "controller" | "hand",
    wrist: THREE.Vector3,
    orientation: THREE.Quaternion,
    eyes: THREE.Vector3,
  ): void {
    wear(kind, wrist, orientation, this.mesh.position, this.mesh.quaternion);
    this.normal.set(0, 0, 1).applyQuaternion(this.mesh.quaternion);
    this.toEyes.copy(eyes).sub(this.mesh.position).normalize();
    this.mesh.visible = this.normal.dot(this.toEyes) > FACING_MIN;
  }

  hide(): void {
    this.mesh.visible = false;
  }

  /** A button's middle in the room. */
  placeOf(button: PanelButton): THREE.Vector3 {
    return placeOf(button, new THREE.Vector3()).applyQuaternion(this.mesh.quaternion).add(this.mesh.position);
  }

  /** @param over  the button that is pointed at */
  show(words: PanelWords, over: PanelButton | null): void {
    const key = JSON.stringify([words, over]);
    if (key === this.shown) return;
    this.shown = key;
    const context = this.canvas.getContext("2d");
    if (context === null) return;
    this.paint(context, words, over);
    this.texture.needsUpdate = true;
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.material.dispose();
    this.texture.dispose();
  }

  private paint(context: CanvasRenderingContext2D, words: PanelWords, over: PanelButton | null): void {
    const { width, height } = this.canvas;
    context.clearRect(0, 0, width, height);
    context.fillStyle = "rgba(7, 18, 28, 0.9)";
    context.beginPath();
    context.roundRect(0, 0, width, height, 24);
    context.fill();
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = "#dcecf3";
    context.font = `600 34px ${FONT}`;
    context.fillText(words.scene, 0.5 * width, 0.08 * height, 0.92 * width);
    context.font = `30px ${FONT}`;
    words.lines.slice(0, PANEL_LINES).forEach((line, index) => {
      const y = 1 - PANEL_FOOT * (1 - (index + 0.4) / PANEL_LINES);
      context.fillText(line, 0.5 * width, y * height, 0.92 * width);
    });
    for (const area of PANEL_AREAS) {
      const [x, y] = [area.x * width, area.y * height];
      const [w, h] = [area.width * width, area.height * height];
      context.fillStyle = area.button === over ? "#58c4e8" : "rgba(150, 210, 235, 0.18)";
      context.beginPath();
      context.roundRect(x, y, w, h, 14);
      context.fill();
      context.fillStyle = area.button === over ? "#071019" : "#dcecf3";
      context.globalAlpha = isOffered(area.button, words.may) ? 1 : GREYED;
      context.fillText(label(area.button, words), x + 0.5 * w, y + 0.5 * h, 0.92 * w);
      if (area.button === "colour") {
        context.fillStyle = `#${words.colour.toString(16).padStart(6, "0")}`;
        context.beginPath();
        context.arc(x + 0.84 * w, y + 0.5 * h, 0.27 * h, 0, 2 * Math.PI);
        context.fill();
      }
      context.globalAlpha = 1;
    }
  }
}

function label(button: PanelButton, words: PanelWords): string {
  switch (button) {
    case "scene-back":
      return "◀ Scene";
    case "scene-next":
      return "Scene ▶";
    case "tool":
      return words.strength < 0.995
        ? `${words.tool}, ${Math.round(100 * words.strength)} %`
        : `Tool: ${words.tool}`;
    case "colour":
      return "Colour";
    case "pause":
      return words.paused ? "Resume" : "Pause";
    case "speed":
      return `Speed ${speedText(words.speed)}`;
    case "reset":
      return "Reset";
    case "level":
      return "Level";
    case "placement":
      return words.placement === "table" ? "To the floor" : "To the table";
    case "leave":
      return "Leave";
  }
}
