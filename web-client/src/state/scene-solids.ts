// What a scene's file says of its solids (server/scenes/scene.schema.json), as far as a picture needs it. The server has
// checked the scene before it simulates it; what doesn't look right here is left out all the same, as the file may be
// another by now.
import type { Vec3 } from "./ray.js";

/** x y z w */
export type Quaternion = [number, number, number, number];

export type SolidShape =
  | { kind: "box"; size: Vec3 }
  | { kind: "sphere"; radius: number }
  /** `length`: of the straight part; the axis is y. */
  | { kind: "capsule"; radius: number; length: number }
  | { kind: "cylinder"; radius: number; height: number }
  | { kind: "mesh"; file: string; scale: number }
  /** Rows along z of heights along x, in metres. */
  | { kind: "heights"; spacing: number; rows: number[][] }
  | { kind: "picture"; spacing: number; file: string; white: number }
  /** That of a solid of the scene, by its index. */
  | { kind: "like"; solid: number };

export interface Solid {
  /** Its place in the scene's list, which frames name it by. */
  index: number;
  shape: SolidShape;
  /** A container: solid outside. */
  inverted: boolean;
  /** Where it stands, or begins. */
  position: Vec3;
  rotation: Quaternion;
  /** Frames say where it is. */
  moves: boolean;
  /** 0xrrggbb */
  colour: number;
}

type Json = Readonly<Record<string, unknown>>;

const GREY = 0x9ea2a8;
const FILE = /^([A-Za-z0-9_-][A-Za-z0-9._-]*\/)*[A-Za-z0-9_-][A-Za-z0-9._-]*\.(obj|stl|ply|glb|pgm)$/;

/** The solids of a scene; those that can't be understood are missing. */
export function readSolids(scene: unknown): Solid[] {
  const list = isObject(scene) && Array.isArray(scene.solids) ? scene.solids : [];
  const solids: Solid[] = [];
  list.forEach((value, index) => {
    const solid = isObject(value) ? readSolid(value, index) : null;
    if (solid !== null) solids.push(solid);
  });
  return solids;
}

function readSolid(value: Json, index: number): Solid | null {
  const shape = isObject(value.shape) ? value.shape : {};
  const read = readShape(shape);
  if (read === null) return null;
  const frames = Array.isArray(value.keyframes) ? value.keyframes : [];
  const start: Json = value.motion === "keyframes" && isObject(frames[0]) ? frames[0] : value;
  return {
    index,
    shape: read,
    inverted: shape.inverted === true,
    position: (numbers(start.position_m, 3) as Vec3 | null) ?? [0, 0, 0],
    rotation: readRotation(start),
    moves: value.motion === "keyframes" || value.motion === "free",
    colour: /^#[0-9a-f]{6}$/i.test(String(value.colour))
      ? Number.parseInt(String(value.colour).slice(1), 16)
      : GREY,
  };
}

function readShape(shape: Json): SolidShape | null {
  const part = (name: string): Json => (isObject(shape[name]) ? (shape[name] as Json) : {});
  const { box, sphere, capsule, cylinder, mesh, heightfield } = shape;
  if (box !== undefined) {
    const size = numbers(part("box").size_m, 3);
    return size?.every((edge) => edge > 0) ? { kind: "box", size: size as Vec3 } : null;
  }
  if (sphere !== undefined) {
    const radius = positive(part("sphere").radius_m);
    return radius > 0 ? { kind: "sphere", radius } : null;
  }
  if (capsule !== undefined) {
    const radius = positive(part("capsule").radius_m);
    const length = positive(part("capsule").length_m);
    return radius > 0 && length > 0 ? { kind: "capsule", radius, length } : null;
  }
  if (cylinder !== undefined) {
    const radius = positive(part("cylinder").radius_m);
    const height = positive(part("cylinder").height_m);
    return radius > 0 && height > 0 ? { kind: "cylinder", radius, height } : null;
  }
  if (mesh !== undefined) {
    const file = fileName(part("mesh").file);
    return file === "" ? null : { kind: "mesh", file, scale: positive(part("mesh").scale) || 1 };
  }
  return heightfield === undefined ? null : readGround(part("heightfield"));
}

function readGround(ground: Json): SolidShape | null {
  const spacing = positive(ground.spacing_m);
  if (spacing === 0) return null;
  const file = fileName(ground.file);
  if (file !== "") return { kind: "picture", spacing, file, white: positive(ground.height_m) };
  const rows = Array.isArray(ground.heights_m) ? ground.heights_m : [];
  const columns = Array.isArray(rows[0]) ? rows[0].length : 0;
  const even = rows.length > 1 && columns > 1 && rows.every((row) => numbers(row, columns) !== null);
  return even ? { kind: "heights", spacing, rows: rows as number[][] } : null;
}

/** Turned about x, then y, then z, all of them the tank's axes; or a quaternion. */
function readRotation(value: Json): Quaternion {
  const given = numbers(value.rotation, 4);
  const length = given === null ? 0 : Math.hypot(...given);
  if (given !== null && length > 0) return given.map((part) => part / length) as Quaternion;
  const [x = 0, y = 0, z = 0] = numbers(value.rotation_deg, 3) ?? [];
  const half = Math.PI / 360;
  const [sx, sy, sz] = [Math.sin(x * half), Math.sin(y * half), Math.sin(z * half)];
  const [cx, cy, cz] = [Math.cos(x * half), Math.cos(y * half), Math.cos(z * half)];
  return [
    sx * cy * cz - cx * sy * sz,
    cx * sy * cz + sx * cy * sz,
    cx * cy * sz - sx * sy * cz,
    cx * cy * cz + sx * sy * sz,
  ];
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function numbers(value: unknown, count: number): number[] | null {
  if (!Array.isArray(value) || value.length !== count) return null;
  return value.every((part) => Number.isFinite(part)) ? value : null;
}

/** 0 for anything else. */
function positive(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

/** A file below the scene's folder; empty for anything else. */
function fileName(value: unknown): string {
  return typeof value === "string" && FILE.test(value) ? value : "";
}
