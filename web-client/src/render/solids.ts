// The solids in the tank. Those that stand still are tinted glass, so that the water behind them is seen; ground,
// meshes and what moves are opaque; a container is a thin wall with its edges drawn.
import * as THREE from "three";
import type { Obstacle } from "../codec/obstacles.js";
import { grazingVertex } from "../shader/grazing.js";
import type { RoomUniforms } from "../shader/room.js";
import { tone } from "../shader/tone.js";
import type { BodyTrack } from "../state/body-track.js";
import { clipConvex } from "../state/clip-convex.js";
import type { Triangles } from "../state/mesh-surface.js";
import type { Vec3 } from "../state/ray.js";
import type { Solid, SolidShape } from "../state/scene-solids.js";
import { LAYER } from "./layers.js";
import { besideWater, waterBeside } from "./water/beside-water.js";

// The light is the particles': a sun, a sky, a glint and a rim.
const fragment = /* glsl */ `
uniform vec3 tint; // linear
uniform float opacity;
uniform vec3 roomSun;
uniform vec3 skyFill;
uniform vec3 sunFill;
in vec3 facing;
in vec3 toEye;
out vec4 colour;
${besideWater}
${tone}
void main() {
  if (opacity < 1.0 && !besideWater(toEye.z)) discard;
  vec3 eye = normalize(toEye);
  vec3 normal = normalize(facing);
  normal *= gl_FrontFacing ? 1.0 : -1.0;
  // Of each camera's own view: a headset has two.
  vec3 sunDirection = mat3(viewMatrix) * roomSun;
  vec3 upDirection = viewMatrix[1].xyz;
  float sun = 0.5 + 0.5 * dot(normal, sunDirection);
  float sky = 0.5 + 0.5 * dot(normal, upDirection);
  float glint = pow(max(dot(normal, normalize(sunDirection + eye)), 0.0), 40.0);
  float rim = pow(1.0 - clamp(dot(normal, eye), 0.0, 1.0), 3.0);
  vec3 lit = tint * (skyFill * vec3(0.26, 0.32, 0.40) * (0.45 + 0.55 * sky) +
                     sunFill * vec3(1.05, 1.0, 0.92) * sun * sun);
  lit += vec3(0.9, 0.95, 1.0) * glint * 0.25 + vec3(0.08, 0.14, 0.18) * rim;
  colour = vec4(shown(lit), mix(opacity, 1.0, 0.5 * rim * step(opacity, 0.999)));
}`;

const STILL_OPACITY = 0.52;
const WALL_OPACITY = 0.14;
const ROUND_SEGMENTS = 40;
const CONVEX: ReadonlySet<string> = new Set(["box", "sphere", "capsule", "cylinder"]);

/** What a solid's file holds, once it has been read. */
export type SolidFile = Triangles | { rows: number[][] };

export class Solids {
  /** In tank coordinates. */
  readonly group = new THREE.Group();
  /** Objects by the solid's index, for those that move. */
  private readonly moving = new Map<number, THREE.Object3D>();
  private readonly pose = new Float64Array(7);
  private readonly tankM = new THREE.Vector3();
  private readonly point = new THREE.Vector3();
  private shown: readonly Solid[] = [];
  private added: readonly Solid[] = [];
  /** Of those that were added, by what they are. */
  private readonly addedObjects = new Map<string, THREE.Object3D>();
  private files: ReadonlyMap<string, SolidFile> = new Map();
  /** Is told whenever others are shown. */
  watch: ((solids: Solids) => void) | null = null;

  constructor(private readonly light: RoomUniforms) {}

  /** Shows these solids in place of those shown before. @param files  what the files that they name hold */
  show(solids: readonly Solid[], files: ReadonlyMap<string, SolidFile>): void {
    this.clear();
    this.shown = solids;
    this.files = files;
    for (const solid of solids) this.put(solid);
    this.putAdded();
    this.watch?.(this);
  }

  /** Shows these besides the scene's, in place of those that were added before. */
  add(added: readonly Solid[]): void {
    this.added = added;
    if (this.putAdded()) this.watch?.(this);
  }

  /** @return whether anything changed */
  private putAdded(): boolean {
    const { added } = this;
    let changed = false;
    const wanted = new Map(added.map((solid) => [JSON.stringify(solid), solid]));
    for (const [key, object] of this.addedObjects) {
      if (wanted.has(key)) continue;
      changed = true;
      this.addedObjects.delete(key);
      this.group.remove(object);
      dispose(object);
      for (const [index, moving] of this.moving) if (moving === object) this.moving.delete(index);
    }
    for (const [key, solid] of wanted) {
      const object = this.addedObjects.has(key) ? null : this.put(solid);
      if (object === null) continue;
      changed = true;
      this.addedObjects.set(key, object);
    }
    return changed;
  }

  /** What they leave no room for water in. */
  obstacles(): Obstacle[] {
    return [...this.shown, ...this.added].flatMap((solid) => this.obstacleOf(solid) ?? []);
  }

  /** The tank is so large, metres: what stands still ends at its walls. */
  fit(size: THREE.Vector3): void {
    if (this.tankM.equals(size)) return;
    this.tankM.copy(size);
    this.show(this.shown, this.files);
  }

  clear(): void {
    dispose(this.group);
    this.group.clear();
    this.moving.clear();
    this.addedObjects.clear();
  }

  /** How many are shown. */
  get count(): number {
    return this.group.children.length;
  }

  /** Moves the bodies to where they are `leadS` seconds after the newest frame. */
  move(track: BodyTrack, leadS: number): void {
    for (let body = 0; body < track.count; body++) {
      const object = this.moving.get(track.solid(body));
      if (object === undefined) continue;
      const { pose } = this;
      track.pose(body, leadS, pose);
      object.position.set(pose[0] as number, pose[1] as number, pose[2] as number);
      object.quaternion.set(pose[3] as number, pose[4] as number, pose[5] as number, pose[6] as number);
    }
  }

  /** Where a moving solid is shown; null where there is none. */
  placeOf(solid: number): THREE.Vector3 | null {
    return this.moving.get(solid)?.position ?? null;
  }

  /** Where a solid of the scene is shown; null where there is none. */
  middleOf(index: number): THREE.Vector3 | null {
    const moving = this.placeOf(index);
    if (moving !== null) return moving;
    const solid = this.shown.find((one) => one.index === index);
    return solid === undefined ? null : this.point.fromArray(solid.position);
  }

  /** The scene's solid whose middle is nearest to a point; null where it has none. */
  nearest(point: readonly number[]): number | null {
    let nearest: number | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (const { index } of this.shown) {
      const [x = 0, y = 0, z = 0] = this.middleOf(index)?.toArray() ?? [];
      const distance = Math.hypot(x - (point[0] ?? 0), y - (point[1] ?? 0), z - (point[2] ?? 0));
      if (distance >= least) continue;
      least = distance;
      nearest = index;
    }
    return nearest;
  }

  /** The moving solid whose bounding sphere is nearest to a point, at most `reachM` from it; null where there is none. */
  movingNear(point: readonly number[], reachM: number): THREE.Object3D | null {
    this.point.fromArray(point as number[]);
    let nearest: THREE.Object3D | null = null;
    let least = reachM;
    for (const object of this.moving.values()) {
      if (!(object instanceof THREE.Mesh)) continue;
      if (object.geometry.boundingSphere === null) object.geometry.computeBoundingSphere();
      const radius = object.geometry.boundingSphere?.radius ?? 0;
      const distance = object.position.distanceTo(this.point) - radius;
      if (distance > least) continue;
      least = distance;
      nearest = object;
    }
    return nearest;
  }

  private shapeOf({ shape }: Solid): SolidShape | undefined {
    return shape.kind === "like" ? this.shown.find(({ index }) => index === shape.solid)?.shape : shape;
  }

  /** @returns null where its file is missing */
  private obstacleOf(solid: Solid): Obstacle | null {
    const shape = this.shapeOf(solid);
    const geometry = shape === undefined ? null : geometryOf(shape, this.files);
    if (shape === undefined || geometry === null) return null;
    geometry.computeBoundingBox();
    const { min, max } = geometry.boundingBox as THREE.Box3;
    geometry.dispose();
    const { kind, rows } = volumeOf(shape, this.files);
    return {
      body: solid.moves ? solid.index : -1,
      kind,
      half: max.clone().sub(min).multiplyScalar(0.5).toArray(),
      middle: max.clone().add(min).multiplyScalar(0.5).toArray(),
      inverted: solid.inverted,
      position: solid.position,
      rotation: solid.rotation,
      rows,
    };
  }

  /** @returns null where its file is missing */
  private put(solid: Solid): THREE.Object3D | null {
    const like = this.shapeOf(solid);
    const geometry = like === undefined ? null : geometryOf(like, this.files);
    if (geometry === null) return null;
    const inside = this.cutToTank(solid, geometry);
    const object = this.objectOf(solid, inside ?? geometry);
    if (inside === null) {
      object.position.fromArray(solid.position);
      object.quaternion.fromArray(solid.rotation);
    }
    this.group.add(object);
    if (solid.moves) this.moving.set(solid.index, object);
    return object;
  }

  /** A solid that sticks out of the tank without what is outside, in tank coordinates; null where nothing is cut off. */
  private cutToTank(solid: Solid, geometry: THREE.BufferGeometry): THREE.BufferGeometry | null {
    if (solid.moves || solid.inverted || !CONVEX.has(solid.shape.kind)) return null;
    const placed = geometry.toNonIndexed();
    placed.applyQuaternion(new THREE.Quaternion().fromArray(solid.rotation));
    placed.translate(...solid.position);
    placed.computeBoundingBox();
    if (new THREE.Box3(new THREE.Vector3(), this.tankM).containsBox(placed.boundingBox as THREE.Box3))
      return null;
    const surface = {
      positions: placed.getAttribute("position").array,
      normals: placed.getAttribute("normal").array,
    };
    const { positions, normals } = clipConvex(surface, this.tankM.toArray() as Vec3);
    const inside = new THREE.BufferGeometry();
    inside.setAttribute("position", new THREE.Float32BufferAttribute(positions, 3));
    inside.setAttribute("normal", new THREE.Float32BufferAttribute(normals, 3));
    return inside;
  }

  private objectOf(solid: Solid, geometry: THREE.BufferGeometry): THREE.Object3D {
    if (solid.inverted) return this.container(solid, geometry);
    const { kind } = solid.shape;
    const opaque = solid.moves || kind === "mesh" || kind === "heights" || kind === "picture";
    const mesh = new THREE.Mesh(geometry, this.material(solid.colour, opaque ? 1 : STILL_OPACITY));
    mesh.renderOrder = opaque ? 1 : 8;
    if (!opaque) mesh.layers.set(LAYER.glass);
    return mesh;
  }

  private container(solid: Solid, geometry: THREE.BufferGeometry): THREE.Object3D {
    const wall = new THREE.Mesh(geometry, this.material(solid.colour, WALL_OPACITY, THREE.BackSide));
    wall.renderOrder = 8;
    wall.layers.set(LAYER.glass);
    // Nothing shades it: the picture's own values are sRGB.
    const color = new THREE.Color().setHex(solid.colour, THREE.LinearSRGBColorSpace);
    const line = new THREE.LineBasicMaterial({ color, transparent: true, opacity: 0.7 });
    const edges = new THREE.LineSegments(new THREE.EdgesGeometry(geometry, 30), line);
    edges.renderOrder = 9;
    wall.add(edges);
    return wall;
  }

  private material(
    colour: number,
    opacity: number,
    side: THREE.Side = THREE.DoubleSide,
  ): THREE.ShaderMaterial {
    return new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3,
      vertexShader: grazingVertex,
      fragmentShader: fragment,
      uniforms: {
        tint: { value: new THREE.Color(colour) },
        opacity: { value: opacity },
        ...this.light,
        ...waterBeside,
      },
      transparent: opacity < 1,
      depthWrite: opacity === 1,
      // A closed surface shows its outside; of glass the back would be seen through the front.
      side: opacity === 1 ? side : side === THREE.DoubleSide ? THREE.FrontSide : side,
    });
  }
}

function dispose(all: THREE.Object3D): void {
  all.traverse((object) => {
    if (!(object instanceof THREE.Mesh || object instanceof THREE.LineSegments)) return;
    object.geometry.dispose();
    (object.material as THREE.Material).dispose();
  });
}

function geometryOf(shape: SolidShape, files: ReadonlyMap<string, SolidFile>): THREE.BufferGeometry | null {
  switch (shape.kind) {
    case "box":
      return new THREE.BoxGeometry(...shape.size);
    case "sphere":
      return new THREE.SphereGeometry(shape.radius, ROUND_SEGMENTS, ROUND_SEGMENTS / 2);
    case "capsule":
      return new THREE.CapsuleGeometry(shape.radius, shape.length, ROUND_SEGMENTS / 4, ROUND_SEGMENTS);
    case "cylinder":
      return new THREE.CylinderGeometry(shape.radius, shape.radius, shape.height, ROUND_SEGMENTS);
    case "heights":
      return ground(shape.rows, shape.spacing);
    case "picture": {
      const file = files.get(shape.file);
      return file !== undefined && "rows" in file ? ground(file.rows, shape.spacing) : null;
    }
    case "like":
      return null;
    case "mesh": {
      const file = files.get(shape.file);
      if (file === undefined || "rows" in file) return null;
      return triangles(file).scale(shape.scale, shape.scale, shape.scale);
    }
  }
}

function volumeOf(shape: SolidShape, files: ReadonlyMap<string, SolidFile>): Pick<Obstacle, "kind" | "rows"> {
  switch (shape.kind) {
    case "box":
      return { kind: "box", rows: [] };
    case "capsule":
    case "cylinder":
      return { kind: "cylinder", rows: [] };
    case "heights":
      return { kind: "ground", rows: shape.rows };
    case "picture": {
      const file = files.get(shape.file);
      return { kind: "ground", rows: file !== undefined && "rows" in file ? file.rows : [[0]] };
    }
    default:
      return { kind: "ellipsoid", rows: [] };
  }
}

function triangles(from: Triangles): THREE.BufferGeometry {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(from.positions.slice(), 3));
  geometry.setIndex(new THREE.BufferAttribute(from.indices.slice(), 1));
  geometry.computeVertexNormals();
  return geometry;
}

/** A surface of heights, its middle at the origin, with skirts down to the lowest height or to height 0. */
function ground(rows: number[][], spacing: number): THREE.BufferGeometry {
  const [nz, nx] = [rows.length, (rows[0] as number[]).length];
  const bottom = rows.reduce((low, row) => Math.min(low, ...row), 0);
  const height = (x: number, z: number): number => (rows[z] as number[])[x] as number;
  const place = (x: number, y: number, z: number): [number, number, number] => [
    (x - 0.5 * (nx - 1)) * spacing,
    y,
    (z - 0.5 * (nz - 1)) * spacing,
  ];
  const positions: number[] = [];
  const indices: number[] = [];
  for (let z = 0; z < nz; z++) for (let x = 0; x < nx; x++) positions.push(...place(x, height(x, z), z));
  for (let z = 0; z + 1 < nz; z++)
    for (let x = 0; x + 1 < nx; x++) {
      const i = z * nx + x;
      indices.push(i, i + nx, i + 1, i + 1, i + nx, i + nx + 1);
    }
  // Around the border, with vertices of its own: the edge is sharp.
  const border: [number, number][] = [];
  for (let x = 0; x < nx; x++) border.push([x, nz - 1]);
  for (let z = nz - 2; z >= 0; z--) border.push([nx - 1, z]);
  for (let x = nx - 2; x >= 0; x--) border.push([x, 0]);
  for (let z = 1; z < nz; z++) border.push([0, z]);
  const first = positions.length / 3;
  border.forEach(([x, z], i) => {
    positions.push(...place(x, height(x, z), z), ...place(x, bottom, z));
    const at = first + 2 * i;
    if (i + 1 < border.length) indices.push(at, at + 1, at + 2, at + 2, at + 1, at + 3);
  });
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(positions), 3));
  geometry.setIndex(indices);
  geometry.computeVertexNormals();
  return geometry;
}
