// The others in the tank: a small marker in each one's colour where their cursor, head or hands are, with their name
// beside it. Markers are part of the picture, names are text over it, so that they stay sharp and can be read aloud.
import * as THREE from "three";
import type { ViewerInfo } from "../protocol/messages.js";
import { colourText } from "../state/identity.js";
import type { Track } from "../state/presence.js";

/** Of a marker, in the tank's largest edge. */
const MARKER_SHARE = 0.013;
const HEAD_SHARE = 0.03;
const PRESSED_SCALE = 1.6;

interface Marker {
  group: THREE.Group;
  material: THREE.MeshBasicMaterial;
  label: HTMLElement;
  /** The last that shows it. */
  picture: number;
}

export interface PeopleView {
  /** A place over the canvas (CSS pixels) of a point in tank coordinates. */
  project(at: readonly number[]): [number, number];
  readonly sizeM: readonly number[];
}

export class PeopleMarkers {
  /** In tank coordinates. */
  readonly group = new THREE.Group();

  private readonly markers = new Map<string, Marker>();
  private readonly viewers = new Map<number, ViewerInfo>();
  private picture = 0;
  private readonly ball = new THREE.SphereGeometry(1, 16, 12);
  private readonly nose = new THREE.ConeGeometry(0.5, 1.2, 12).rotateX(-Math.PI / 2).translate(0, 0, -1.2);

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
    const material = new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.9, depthTest: false });
    const group = new THREE.Group();
    group.add(new THREE.Mesh(this.ball, material));
    if (track.presence.part === "head") group.add(new THREE.Mesh(this.nose, material));
    group.traverse((part) => {
      part.renderOrder = 31;
    });
    const label = document.createElement("span");
    label.className = "person";
    label.dataset.viewer = String(track.viewerId);
    label.dataset.part = track.presence.part;
    const marker = { group, material, label, picture: 0 };
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
    // Of two hands one name is enough.
    marker.label.textContent = marker.label.dataset.part === "hand_left" ? "" : viewer.name;
  }

  private place(marker: Marker, track: Track): void {
    const { part, pressed, orientation } = track.presence;
    const size = Math.max(...this.view.sizeM) * (part === "head" ? HEAD_SHARE : MARKER_SHARE);
    marker.group.position.fromArray(track.at);
    marker.group.scale.setScalar(size * (pressed ? PRESSED_SCALE : 1));
    if (orientation.some((x) => x !== 0)) marker.group.quaternion.fromArray(orientation).normalize();
    const [x, y] = this.view.project(track.at);
    marker.label.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    marker.label.classList.toggle("pressed", pressed);
  }

  private remove(key: string): void {
    const marker = this.markers.get(key);
    if (marker === undefined) return;
    this.markers.delete(key);
    this.group.remove(marker.group);
    marker.material.dispose();
    marker.label.remove();
  }
}
