// What of the flow's picture can be taken hold of: the plane's ball, the rake's ends and middle; and particles, while
// somebody chooses them.

import { type Axis, PLANE_AXES } from "../state/flow-slice.js";
import type { InsightChoices } from "../state/insight-choices.js";
import { meetPlane } from "../state/liquid-map.js";
import type { Rake, RakeEnd } from "../state/rake.js";
import { cutBox, type Ray, type Span, type Vec3 } from "../state/ray.js";
import type { Grip } from "./desk-button.js";

/** How near to a ball a press takes hold of it, CSS pixels: fingers cover more than a pointer points at. */
const REACH_PX = matchMedia("(pointer: coarse)").matches ? 28 : 14;
/** A plane that is seen from its axis isn't moved by dragging. */
const EDGE_MIN = 0.02;

export type Handle = "slice" | RakeEnd;
export const ENDS: readonly RakeEnd[] = ["from", "to", "middle"];

export interface GripView {
  readonly sizeM: readonly number[];
  readonly isFlat: boolean;
  rayAt(x: number, y: number, ray: Ray): void;
  projectInto(at: readonly number[], place: [number, number]): boolean;
}

export interface GripDesk {
  readonly choices: InsightChoices;
  readonly rake: Rake;
  readonly isOpen: boolean;
  readonly choosing: boolean;
  readonly hasRake: boolean;
  /** Where the plane lies on its axis, metres. */
  readonly planeM: number;
  /** Something is taken hold of, moved or let go. */
  grasped(): void;
  follow(x: number, y: number, reach: number): boolean;
}

export class InsightGrip implements Grip {
  private held: { pointer: number; handle: Handle; point: Vec3; normal: Vec3 } | null = null;
  /** The pointer whose press chose a particle. */
  private swallowed = -1;
  private readonly ray: Ray = { origin: [0, 0, 0], direction: [0, 0, -1] };
  private readonly span: Span = { entry: 0, exit: 0 };
  private readonly point: Vec3 = [0, 0, 0];
  private readonly at: [number, number] = [0, 0];

  constructor(
    private readonly view: GripView,
    private readonly desk: GripDesk,
  ) {}

  /** What is there to be taken hold of. */
  get handles(): Handle[] {
    const { choices, isOpen, hasRake } = this.desk;
    if (!isOpen) return [];
    const slice: Handle[] = choices.slice && !this.view.isFlat ? ["slice"] : [];
    return [...slice, ...(hasRake ? ENDS : [])];
  }

  /** What is held; null: nothing. */
  get holds(): Handle | null {
    return this.held?.handle ?? null;
  }

  letGo(): void {
    this.held = null;
  }

  placeOf(handle: Handle): readonly number[] {
    const { choices, planeM, rake } = this.desk;
    if (handle !== "slice") return rake.placeOf(handle);
    const [right, up] = PLANE_AXES[choices.axis] as readonly [Axis, Axis];
    const place = [planeM, planeM, planeM];
    place[right] = this.view.sizeM[right] as number;
    place[up] = this.view.sizeM[up] as number;
    return place;
  }

  reaches(x: number, y: number): boolean {
    if (!this.desk.isOpen || this.held !== null) return false;
    if (this.desk.choosing) {
      this.view.rayAt(x, y, this.ray);
      return cutBox(this.ray, this.view.sizeM, this.span);
    }
    return this.handleNear(x, y) !== null;
  }

  down(pointer: number, x: number, y: number): boolean {
    if (!this.reaches(x, y)) return false;
    if (this.desk.choosing) {
      this.desk.follow(x, y, 1);
      this.swallowed = pointer;
      return true;
    }
    const handle = this.handleNear(x, y) as Handle;
    this.view.rayAt(x, y, this.ray);
    this.held = {
      pointer,
      handle,
      point: [...this.placeOf(handle)] as Vec3,
      normal: [...this.ray.direction],
    };
    this.desk.grasped();
    return true;
  }

  move(pointer: number, x: number, y: number): boolean {
    const { held } = this;
    if (held === null || held.pointer !== pointer) return this.swallowed === pointer;
    this.view.rayAt(x, y, this.ray);
    if (held.handle === "slice") {
      const along = nearestOnAxis(this.ray, held.point, this.desk.choices.axis);
      if (along !== null)
        this.desk.choices.share = clampShare(along / (this.view.sizeM[this.desk.choices.axis] as number));
    } else if (meetPlane(this.ray, held.point, held.normal, this.point)) {
      // A flat tank has one plane.
      if (this.view.isFlat) this.point[2] = 0.5 * (this.view.sizeM[2] as number);
      this.desk.rake.move(held.handle, this.point);
    }
    this.desk.grasped();
    return true;
  }

  up(pointer: number): boolean {
    if (this.held?.pointer === pointer) {
      this.held = null;
      this.desk.grasped();
      return true;
    }
    const mine = this.swallowed === pointer;
    if (mine) this.swallowed = -1;
    return mine;
  }

  private handleNear(x: number, y: number): Handle | null {
    let nearest: Handle | null = null;
    let least = REACH_PX;
    for (const handle of this.handles) {
      if (!this.view.projectInto(this.placeOf(handle), this.at)) continue;
      const distance = Math.hypot(this.at[0] - x, this.at[1] - y);
      if (distance > least) continue;
      least = distance;
      nearest = handle;
    }
    return nearest;
  }
}

/** Where on an axis through a point a ray comes nearest, metres; null: it looks along the axis. */
function nearestOnAxis({ origin, direction }: Ray, point: Vec3, axis: Axis): number | null {
  const along = direction[axis];
  const across = 1 - along * along;
  if (across < EDGE_MIN) return null;
  const away = point.map((metres, i) => metres - (origin[i] as number));
  const ahead = away.reduce((sum, metres, i) => sum + metres * (direction[i] as number), 0);
  return point[axis] + (along * ahead - (away[axis] as number)) / across;
}

function clampShare(share: number): number {
  return Math.min(1, Math.max(0, Math.round(1000 * share) / 1000));
}
