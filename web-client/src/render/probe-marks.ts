// Probes in the tank: a ball, a rod, a sheet of glass, each in its colour and with its name over the picture. They are
// shown over everything, as cursors are: what is measured may lie deep in the water.
import * as THREE from "three";
import type { Probe } from "../protocol/messages.js";
import { middleOf } from "../state/probe-place.js";
import { probeColour, titleOf } from "../state/probe-track.js";
import type { Vec3 } from "../state/ray.js";
import { LAYER } from "./layers.js";
import type { PeopleView } from "./people.js";
import { PlacedLabel } from "./placed-label.js";

interface MarksView extends PeopleView {
  /** Writes where a solid of the scene is. @return false where there is none */
  solidPlace(index: number, out: Vec3): boolean;
}

/** In the tank's largest edge. */
const BALL_SHARE = 0.012;
const ROD_SHARE = 0.004;
const HELD_SCALE = 1.5;

interface Mark {
  probe: Probe;
  group: THREE.Group;
  material: THREE.MeshBasicMaterial;
  glass: THREE.MeshBasicMaterial;
  label: PlacedLabel;
}

export class ProbeMarks {
  /** In tank coordinates. */
  readonly group = new THREE.Group();

  private readonly ball = new THREE.SphereGeometry(1, 16, 12);
  private readonly rod = new THREE.CylinderGeometry(1, 1, 1, 10);
  private readonly sheet = new THREE.BoxGeometry(1, 1, 1);
  private marks: Mark[] = [];
  private readonly at: [number, number] = [0, 0];
  private readonly middle: Vec3 = [0, 0, 0];
  private readonly up = new THREE.Vector3(0, 1, 0);
  private readonly way = new THREE.Vector3();

  /** @param labels  an element over the canvas and as large */
  constructor(
    private readonly labels: HTMLElement,
    private readonly view: MarksView,
  ) {}

  /** @param heldId  the one that is dragged; 0: none */
  show(probes: readonly Probe[], heldId: number): void {
    for (const mark of this.marks) this.remove(mark);
    this.marks = probes.map((probe, index) => this.make(probe, index, probe.id === heldId));
  }

  /** Once per picture: names stay where their marks are. */
  tick(): void {
    for (const { probe, group, label } of this.marks) {
      const middle = this.middleOf(probe);
      if (probe.kind === "force") group.children[0]?.position.fromArray(middle);
      label.follow(this.view, middle);
    }
  }

  /** The probe whose middle is nearest to a place of the canvas. @return null: none is so near */
  near(x: number, y: number, reachPx: number): Probe | null {
    let nearest: Probe | null = null;
    let least = reachPx;
    for (const { probe } of this.marks) {
      if (!this.view.projectInto(this.middleOf(probe), this.at)) continue;
      const distance = Math.hypot(this.at[0] - x, this.at[1] - y);
      if (distance > least) continue;
      least = distance;
      nearest = probe;
    }
    return nearest;
  }

  /** A force goes with its solid. */
  private middleOf(probe: Probe): readonly number[] {
    const goes = probe.kind === "force" && this.view.solidPlace(probe.solid, this.middle);
    return goes ? this.middle : middleOf(probe);
  }

  private make(probe: Probe, index: number, isHeld: boolean): Mark {
    const colour = probeColour(index);
    const material = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.95 });
    const glass = new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.22 });
    // The shaders write display values, and so do these.
    for (const one of [material, glass]) one.color.setHex(colour, THREE.LinearSRGBColorSpace);
    const group = new THREE.Group();
    const edge = Math.max(...this.view.sizeM);
    const ball = new THREE.Mesh(this.ball, material);
    ball.position.fromArray(middleOf(probe));
    ball.scale.setScalar(edge * BALL_SHARE * (isHeld ? HELD_SCALE : 1));
    group.add(ball);
    if (probe.kind === "gauge") group.add(this.rodOf(probe, edge, material));
    if (probe.kind === "flux" || probe.kind === "wall") group.add(this.sheetOf(probe, edge, glass));
    for (const child of group.children) {
      child.renderOrder = 30;
      child.layers.set(LAYER.front);
    }
    const label = document.createElement("span");
    label.className = "probe";
    label.dataset.probe = String(probe.id);
    label.textContent = titleOf(probe);
    label.style.setProperty("--probe", `#${colour.toString(16).padStart(6, "0")}`);
    this.labels.append(label);
    this.group.add(group);
    return { probe, group, material, glass, label: new PlacedLabel(label) };
  }

  private rodOf(probe: Probe, edge: number, material: THREE.Material): THREE.Mesh {
    const rod = new THREE.Mesh(this.rod, material);
    this.way.fromArray(probe.toM).sub(rod.position.fromArray(probe.atM));
    const length = this.way.length();
    rod.position.fromArray(middleOf(probe));
    rod.quaternion.setFromUnitVectors(this.up, this.way.normalize());
    rod.scale.set(edge * ROD_SHARE, length, edge * ROD_SHARE);
    return rod;
  }

  private sheetOf(probe: Probe, edge: number, glass: THREE.Material): THREE.Mesh {
    const sheet = new THREE.Mesh(this.sheet, glass);
    sheet.position.fromArray(middleOf(probe));
    const [x, y, z] = probe.atM.map((metres, axis) =>
      Math.max(Math.abs((probe.toM[axis] ?? 0) - metres), 0.25 * edge * ROD_SHARE),
    );
    sheet.scale.set(x ?? 0, y ?? 0, z ?? 0);
    return sheet;
  }

  private remove({ group, material, glass, label }: Mark): void {
    this.group.remove(group);
    material.dispose();
    glass.dispose();
    label.element.remove();
  }
}
