// The tool at the end of each pressing pointer. Pointers move more often than pictures are drawn, so moves are kept
// until the next picture and sent as one; presses and releases are sent at once and never lost.
import { COLOURED, type PointerInput, type Tool } from "../protocol/messages.js";
import { meetPlane } from "../state/liquid-map.js";
import { pointAt, type Ray, type Vec3 } from "../state/ray.js";

export interface PushEnvironment {
  /** Writes the ray under a place of the canvas, in tank coordinates. */
  rayAt(x: number, y: number, ray: Ray): void;
  /** Depth along a ray at which a press takes hold; null where the ray misses the tank. */
  depth(ray: Ray): number | null;
  /** @return false where it can't be sent at the moment, or at all */
  send(input: PointerInput): boolean;
  /** Whether the tank is deeper than a cell: walls are then drawn on the level. */
  isDeep?(): boolean;
}

interface Press {
  x: number;
  y: number;
  /** A press keeps the tool that it began with. */
  tool: Tool;
  moved: boolean;
  /** The server knows of it. */
  told: boolean;
  /** The plane that the press slides along, tank coordinates; null: it holds nothing. */
  hold: { point: Vec3; normal: Vec3 } | null;
}

export const RADIUS_M_MIN = 0.001;
export const RADIUS_M_MAX = 10;
/** Numbers on the wire of what isn't a pointer of the page; gestures use those below. */
export const PAD_POINTER = 14;
export const KEY_POINTER = 15;
/** Tools that draw on the level where they are seen from above, with rays at least so steep. */
const LEVEL: ReadonlySet<Tool> = new Set(["wall", "erase"]);
const LEVEL_MIN = 0.15;

/** A tool's size that suits a tank, metres. */
export function fittingRadiusM(sizeM: readonly number[]): number {
  return Number((Math.max(...sizeM) / 16).toPrecision(2));
}

export class PushTool {
  tool: Tool = "push";
  radiusM = 0.1;
  strength = 1;
  /** Of what is added, sRGB. */
  colour = 0xffffff;

  private readonly presses = new Map<number, Press>();
  /** Releases that could not be sent, by pointer: the server still takes these for pressed. */
  private readonly owed = new Map<number, PointerInput>();
  private readonly ray: Ray = { origin: [0, 0, 0], direction: [0, 0, -1] };

  constructor(private readonly environment: PushEnvironment) {}

  get pressed(): boolean {
    return this.presses.size > 0;
  }

  /** That acts now, or would if a pointer pressed. */
  get acting(): Tool {
    return this.newest()?.tool ?? this.tool;
  }

  /** Along the viewer's line of sight through what was placed or aimed at last, tank coordinates. */
  get sight(): Vec3 {
    return this.ray.direction;
  }

  /** Writes where the newest press acts, in tank coordinates. @return false where there is none */
  place(out: Vec3): boolean {
    const newest = this.newest();
    if (newest === null || newest.hold === null) return false;
    this.environment.rayAt(newest.x, newest.y, this.ray);
    return meetPlane(this.ray, newest.hold.point, newest.hold.normal, out);
  }

  /** Writes where a press at a place of the canvas would take hold. @return false where it wouldn't */
  aim(x: number, y: number, out: Vec3): boolean {
    this.environment.rayAt(x, y, this.ray);
    const depth = this.environment.depth(this.ray);
    if (depth !== null) pointAt(this.ray, depth, out);
    return depth !== null;
  }

  down(pointer: number, x: number, y: number, tool = this.tool): void {
    const point: Vec3 = [0, 0, 0];
    const held = this.aim(x, y, point);
    const hold = held ? { point, normal: this.planeOf(tool) } : null;
    const press: Press = { x, y, tool, moved: false, told: false, hold };
    this.presses.set(pointer, press);
    this.tellPress(pointer, press);
  }

  move(pointer: number, x: number, y: number): void {
    const press = this.presses.get(pointer);
    if (press === undefined || (press.x === x && press.y === y)) return;
    press.x = x;
    press.y = y;
    press.moved = true;
  }

  up(pointer: number, x: number, y: number): void {
    const press = this.presses.get(pointer);
    if (press === undefined) return;
    this.presses.delete(pointer);
    if (!press.told) return;
    const input = this.input(pointer, "up", x, y, press.tool);
    if (this.environment.send(input)) return;
    // The ray is used again meanwhile.
    this.owed.set(pointer, { ...input, origin_m: [...input.origin_m], direction: [...input.direction] });
  }

  /** Once per picture: sends where the pointers that moved are now, and what could not be sent before. */
  flush(): void {
    for (const [pointer, input] of this.owed) if (this.environment.send(input)) this.owed.delete(pointer);
    for (const [pointer, press] of this.presses) {
      if (!press.told) this.tellPress(pointer, press);
      else if (press.moved)
        press.moved = !this.environment.send(this.input(pointer, "move", press.x, press.y, press.tool));
    }
  }

  /** The normal of the plane along which a press slides: as the server chooses it. */
  private planeOf(tool: Tool): Vec3 {
    const { direction } = this.ray;
    const level =
      LEVEL.has(tool) && Math.abs(direction[1]) >= LEVEL_MIN && this.environment.isDeep?.() === true;
    return level ? [0, 1, 0] : [direction[0], direction[1], direction[2]];
  }

  private newest(): Press | null {
    let newest: Press | null = null;
    if (this.presses.size > 0) for (const press of this.presses.values()) newest = press;
    return newest;
  }

  private tellPress(pointer: number, press: Press): void {
    press.told = this.environment.send(this.input(pointer, "down", press.x, press.y, press.tool));
    // To the server a new press of a pointer is the end of its old one.
    if (press.told) this.owed.delete(pointer);
    press.moved = false;
  }

  private input(
    pointer: number,
    phase: PointerInput["phase"],
    x: number,
    y: number,
    tool: Tool,
  ): PointerInput {
    this.environment.rayAt(x, y, this.ray);
    return {
      id: pointer,
      phase,
      tool,
      origin_m: this.ray.origin,
      direction: this.ray.direction as Vec3,
      radius_m: Math.min(RADIUS_M_MAX, Math.max(RADIUS_M_MIN, this.radiusM)),
      strength: this.strength,
      ...(COLOURED.has(tool) && { colour: this.colour }),
    };
  }
}
