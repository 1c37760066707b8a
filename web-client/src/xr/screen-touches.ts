// Fingers on the screen of a phone that shows the tank on a real table: each is a ray into the room for as long as it
// touches, and uses the tool on the water as a finger on the page does. What begins beside the tank moves it over the table.
import { Matrix4, Quaternion, Vector3 } from "three";
import { COLOURED, type PointerInput, type Tool } from "../protocol/messages.js";
import { cutBox, type Ray, type Span } from "../state/ray.js";
import { COORDINATE_M_MAX, RANGE } from "../tables/protocol-tables.js";
import type { XrTool } from "./host.js";
import { TableDrag } from "./table-drag.js";
import type { Stand } from "./two-handed.js";

/** More fingers than these do nothing. */
export const TOUCHES_MAX = 5;

export interface TouchHost {
  readonly tool: XrTool;
  pointer(input: PointerInput): void;
}

interface Touch {
  id: number;
  /** A touch keeps the tool that it began with. */
  tool: Tool;
  ray: Ray;
  seen: boolean;
}

/** Of a session. */
interface Touched {
  readonly inputSources: Iterable<XRInputSource>;
  addEventListener(kind: "selectstart" | "selectend", heard: (event: XRInputSourceEvent) => void): void;
}

export class ScreenTouches {
  /** Those that select: what presses something of the page over the picture doesn't. */
  private readonly selecting = new Set<XRInputSource>();
  private readonly touches = new Map<XRInputSource, Touch>();
  /** What a finger does for as long as it is on the screen: where it began says so. */
  private readonly does = new Map<XRInputSource, "pushes" | "carries">();
  private readonly drag = new TableDrag();
  private readonly inRoom = new Matrix4();
  private readonly inTank = new Matrix4();
  private readonly origin = new Vector3();
  private readonly turn = new Quaternion();
  private readonly scale = new Vector3();
  private readonly ahead = new Vector3();
  private readonly ray: Ray = { origin: [0, 0, 0], direction: [0, 0, -1] };
  private readonly span: Span = { entry: 0, exit: 0 };

  /** @param stand  where the tank is; moved */
  constructor(
    private readonly host: TouchHost,
    private readonly stand: Stand,
  ) {}

  /** A session begins. */
  begin(session: Touched): void {
    this.lose();
    session.addEventListener("selectstart", ({ inputSource }) => {
      if (inputSource.targetRayMode === "screen") this.selecting.add(inputSource);
    });
    session.addEventListener("selectend", ({ inputSource }) => {
      this.selecting.delete(inputSource);
      this.does.delete(inputSource);
    });
  }

  /**
   * Once per picture.
   * @param toRoom  from the session's space to the room
   * @param toTank  from the room to the tank
   * @param sizeM   of the tank
   */
  tick(
    session: Touched,
    frame: XRFrame,
    space: XRReferenceSpace,
    toRoom: Matrix4,
    toTank: Matrix4,
    sizeM: readonly number[],
  ): void {
    for (const touch of this.touches.values()) touch.seen = false;
    for (const source of session.inputSources) {
      if (!this.selecting.has(source)) continue;
      const pose = frame.getPose(source.targetRaySpace, space);
      if (!pose) continue;
      this.inRoom.fromArray(pose.transform.matrix).premultiply(toRoom);
      this.inTank.multiplyMatrices(toTank, this.inRoom);
      if (this.roleOf(source, sizeM) === "carries") this.carry(source, sizeM);
      else this.push(source, sizeM);
    }
    this.drag.tick(this.stand, sizeM);
    for (const [source, touch] of this.touches) if (!touch.seen) this.up(source, touch);
  }

  /** Nothing touches any more. */
  lose(): void {
    this.selecting.clear();
    this.does.clear();
    this.drag.forget();
    for (const [source, touch] of this.touches) this.up(source, touch);
  }

  /** The tank was put somewhere else: fingers that carry it go on from there. */
  forgetDrag(): void {
    this.drag.forget();
  }

  private roleOf(source: XRInputSource, sizeM: readonly number[]): "pushes" | "carries" {
    let role = this.does.get(source);
    if (role === undefined) {
      role = this.aim() && cutBox(this.ray, sizeM, this.span) ? "pushes" : "carries";
      this.does.set(source, role);
    }
    return role;
  }

  private push(source: XRInputSource, sizeM: readonly number[]): void {
    if (!this.aim()) return;
    const touch = this.touches.get(source);
    if (touch !== undefined) this.move(touch);
    else if (cutBox(this.ray, sizeM, this.span)) this.down(source);
  }

  private look(from: Matrix4): void {
    from.decompose(this.origin, this.turn, this.scale);
    this.ahead.set(0, 0, -1).applyQuaternion(this.turn);
  }

  private carry(source: XRInputSource, sizeM: readonly number[]): void {
    this.look(this.inRoom);
    this.drag.point(source, this.origin, this.ahead, this.stand, sizeM);
  }

  /** @return whether the ray can be said */
  private aim(): boolean {
    this.look(this.inTank);
    this.origin.toArray(this.ray.origin);
    this.ahead.toArray(this.ray.direction);
    return this.ray.origin.every((x) => Math.abs(x) <= COORDINATE_M_MAX);
  }

  private down(source: XRInputSource): void {
    if (this.touches.size === TOUCHES_MAX) return;
    const taken = new Set([...this.touches.values()].map(({ id }) => id));
    let id = 0;
    while (taken.has(id)) id++;
    const touch = { id, tool: this.host.tool.tool, ray: copyOf(this.ray), seen: true };
    this.touches.set(source, touch);
    this.send(touch, "down");
  }

  private move(touch: Touch): void {
    touch.seen = true;
    const isStill = same(touch.ray.origin, this.ray.origin) && same(touch.ray.direction, this.ray.direction);
    if (isStill) return;
    touch.ray = copyOf(this.ray);
    this.send(touch, "move");
  }

  private up(source: XRInputSource, touch: Touch): void {
    this.touches.delete(source);
    this.send(touch, "up");
  }

  private send({ id, tool, ray }: Touch, phase: PointerInput["phase"]): void {
    const { radiusM, strength, colour } = this.host.tool;
    this.host.pointer({
      id,
      phase,
      tool,
      origin_m: ray.origin,
      direction: ray.direction,
      radius_m: Math.min(RANGE.radius_m.max, Math.max(RANGE.radius_m.min, radiusM)),
      strength: Math.min(1, Math.max(0, strength)),
      ...(COLOURED.has(tool) && { colour }),
    });
  }
}

function copyOf(ray: Ray): Ray {
  return { origin: [...ray.origin], direction: [...ray.direction] };
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.every((x, i) => Math.abs(x - (b[i] as number)) < 1e-4);
}
