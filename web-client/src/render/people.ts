// The others in the tank, in each one's colour: a ball where somebody's cursor is, a head with a visor and hands where
// somebody wears a headset, and their name. Cursors are shown over everything; heads and hands are things among others:
// water hides them, they hide water. Names are text over the picture, so that they stay sharp and can be read aloud;
// in a headset, which shows no text, they are part of it.
import * as THREE from "three";
import type { ViewerInfo } from "../protocol/messages.js";
import { colourText } from "../state/identity.js";
import type { Track } from "../state/presence.js";
import { LAYER } from "./layers.js";
import { NameTag } from "./name-tag.js";
import { PersonShapes } from "./person-shape.js";
import { type LabelView, PlacedLabel } from "./placed-label.js";

/** Of a marker, in the tank's largest edge. */
const SHARES = { cursor: 0.013, head: 0.035, hand_left: 0.022, hand_right: 0.022 } as const;
const TAG_SHARE = 0.035;
const PRESSED_SCALE = 1.6;
const GRIPPED_SCALE = 1.15;

interface Marker {
  group: THREE.Group;
  material: THREE.MeshBasicMaterial;
  label: HTMLElement;
  placed: PlacedLabel;
  tag: NameTag | null;
  /** The last that shows it. */
  picture: number;
}

export interface PeopleView extends LabelView {
  readonly sizeM: readonly number[];
}

export class PeopleMarkers {
  /** In tank coordinates. */
  readonly group = new THREE.Group();

  private readonly markers = new Map<string, Marker>();
  private readonly viewers = new Map<number, ViewerInfo>();
  private readonly shapes = new PersonShapes();
  private worn = false;
  private picture = 0;

  /** @param labels  an element over the canvas and as large */
  constructor(
    private readonly labels: HTMLElement,
    private readonly view: PeopleView,
  ) {}

  /** Who is there, and how they are called and coloured. */
  know(viewers: readonly ViewerInfo[]): void {
    this.viewers.clear();
    for (const viewer of viewers) this.viewers.set(viewer.viewerId, viewer);
    for (const [key, marker] of this.markers) this.dress(marker, Number.parseInt(key, 10));
  }

  /** Whether a headset shows the picture: names become part of it. */
  wear(on: boolean): void {
    this.worn = on;
  }

  /** Once per picture. */
  show(tracks: Iterable<Track>): void {
    this.picture++;
    for (const track of tracks) {
      if (!this.viewers.has(track.viewerId)) continue;
      const marker = this.markers.get(track.key) ?? this.make(track);
      marker.picture = this.picture;
      this.place(marker, track);
    }
    if (this.markers.size === 0) return;
    for (const [key, marker] of this.markers) if (marker.picture !== this.picture) this.remove(key);
  }

  private make(track: Track): Marker {
    const { part } = track.presence;
    const isCursor = part === "cursor";
    const material = new THREE.MeshBasicMaterial({
      vertexColors: true,
      transparent: isCursor,
      opacity: isCursor ? 0.9 : 1,
      depthTest: !isCursor,
    });
    const group = new THREE.Group();
    for (const geometry of this.shapes.of(part)) {
      const mesh = new THREE.Mesh(geometry, material);
      mesh.renderOrder = isCursor ? 31 : 0;
      if (isCursor) mesh.layers.set(LAYER.front);
      group.add(mesh);
    }
    const label = document.createElement("span");
    label.className = "person";
    label.dataset.viewer = String(track.viewerId);
    label.dataset.part = part;
    const marker: Marker = { group, material, label, placed: new PlacedLabel(label), tag: null, picture: 0 };
    this.group.add(group);
    this.labels.append(label);
    this.markers.set(track.key, marker);
    this.dress(marker, track.viewerId);
    return marker;
  }

  private dress(marker: Marker, viewerId: number): void {
    const viewer = this.viewers.get(viewerId);
    if (viewer === undefined) return;
    // The shaders write display values, and so do these.
    marker.material.color.setHex(viewer.colour, THREE.LinearSRGBColorSpace);
    marker.label.style.setProperty("--person", colourText(viewer.colour));
    // Of a head and two hands one name is enough.
    marker.label.textContent = marker.label.dataset.part?.startsWith("hand") ? "" : viewer.name;
  }

  private place(marker: Marker, track: Track): void {
    const { part, pressed } = track.presence;
    const grown = !pressed ? 1 : part === "cursor" ? PRESSED_SCALE : GRIPPED_SCALE;
    const edge = Math.max(...this.view.sizeM);
    marker.group.position.fromArray(track.at);
    marker.group.scale.setScalar(edge * SHARES[part] * grown);
    marker.group.quaternion.fromArray(track.turn);
    marker.placed.follow(this.view, track.at);
    marker.label.classList.toggle("pressed", pressed);
    this.tag(marker, track, edge);
  }

  private tag(marker: Marker, track: Track, edge: number): void {
    const name = this.worn ? (marker.label.textContent ?? "") : "";
    if (marker.tag === null) {
      if (name === "") return;
      marker.tag = new NameTag();
      marker.tag.sprite.layers.set(LAYER.front);
      marker.tag.sprite.renderOrder = 32;
      this.group.add(marker.tag.sprite);
    }
    const { sprite } = marker.tag;
    marker.tag.show(name, this.viewers.get(track.viewerId)?.colour ?? 0, TAG_SHARE * edge);
    sprite.position.fromArray(track.at);
    sprite.position.y += (SHARES[track.presence.part] * 1.3 + 0.5 * TAG_SHARE) * edge;
  }

  private remove(key: string): void {
    const marker = this.markers.get(key);
    if (marker === undefined) return;
    this.markers.delete(key);
    this.group.remove(marker.group);
    if (marker.tag !== null) this.group.remove(marker.tag.sprite);
    marker.tag?.dispose();
    marker.material.dispose();
    marker.label.remove();
  }
}
