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
  send(input: PointerInput): void;
}

interface Press {
  x: number;
  y: number;
  /** A press keeps the tool that it began with. */
  tool: Tool;
  moved: boolean;
  /** The plane that the press slides along, tank coordinates; null: it holds nothing. */
  hold: { point: Vec3; normal: Vec3 } | null;
}

export const RADIUS_M_MIN = 0.001;
export const RADIUS_M_MAX = 10;
/** Numbers on the wire of what isn't a pointer of the page; gestures use those below. */
export const PAD_POINTER = 14;
export const KEY_POINTER = 15;

export class PushTool {
  tool: Tool = "push";
  radiusM = 0.1;
  strength = 1;
  /** Of what is added, sRGB. */
  colour = 0xffffff;

  private readonly presses = new Map<number, Press>();
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
    const hold = held ? { point, normal: [...this.ray.direction] as Vec3 } : null;
    this.presses.set(pointer, { x, y, tool, moved: false, hold });
    this.send(pointer, "down", x, y, tool);
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
    this.send(pointer, "up", x, y, press.tool);
  }

  /** Once per picture: sends where the pointers that moved are now. */
  flush(): void {
    for (const [pointer, press] of this.presses) {
      if (!press.moved) continue;
      press.moved = false;
      this.send(pointer, "move", press.x, press.y, press.tool);
    }
  }

  private newest(): Press | null {
    let newest: Press | null = null;
    for (const press of this.presses.values()) newest = press;
    return newest;
  }

  private send(pointer: number, phase: PointerInput["phase"], x: number, y: number, tool: Tool): void {
    this.environment.rayAt(x, y, this.ray);
    this.environment.send({
      id: pointer,
      phase,
      tool,
      origin_m: this.ray.origin,
      direction: this.ray.direction as Vec3,
      radius_m: Math.min(RADIUS_M_MAX, Math.max(RADIUS_M_MIN, this.radiusM)),
      strength: this.strength,
      ...(COLOURED.has(tool) && { colour: this.colour }),
    });
  }
}
