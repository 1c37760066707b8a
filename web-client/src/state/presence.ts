// Where people are: what this page says of its own viewer, and the others' ways from one message to the next.
import type { Presence, PresencePoint } from "../protocol/messages.js";

/** Between two messages of this page; the server passes no more on. */
export const SEND_EVERY_MS = 50;
/** In which a point glides to a new place: what comes between two messages. */
export const GLIDE_MS = 120;
/** Moves smaller than this are not worth a message, metres, nor turns, parts of a quaternion. */
const STILL = 1e-4;

/** Decides when this viewer's points are sent: when they changed, and not too often. */
export class PresenceSender {
  private sent: readonly PresencePoint[] = [];
  private sentMs = Number.NEGATIVE_INFINITY;

  /** @param send  whether the message could be sent */
  constructor(private readonly send: (points: readonly PresencePoint[]) => boolean) {}

  /** Once per picture. `points` is copied where it is kept. */
  tick(points: readonly PresencePoint[], nowMs: number): void {
    if (nowMs - this.sentMs < SEND_EVERY_MS || same(points, this.sent)) return;
    const kept = points.map((point) => ({
      ...point,
      position_m: [...point.position_m],
      ...(point.orientation !== undefined && { orientation: [...point.orientation] }),
    }));
    if (!this.send(kept)) return;
    this.sent = kept;
    this.sentMs = nowMs;
  }

  /** The server knows nothing of this viewer: a new connection. */
  reset(): void {
    this.sent = [];
    this.sentMs = Number.NEGATIVE_INFINITY;
  }
}

function same(a: readonly PresencePoint[], b: readonly PresencePoint[]): boolean {
  return a.length === b.length && a.every((point, i) => samePoint(point, b[i] as PresencePoint));
}

function samePoint(a: PresencePoint, b: PresencePoint): boolean {
  return (
    a.part === b.part &&
    a.pressed === b.pressed &&
    a.tool === b.tool &&
    isNear(a.position_m, b.position_m) &&
    isNear(a.orientation ?? [], b.orientation ?? [])
  );
}

function isNear(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((x, i) => Math.abs(x - (b[i] as number)) < STILL);
}

/** A point of somebody else, on its way to where it was said to be. */
export interface Track {
  readonly key: string;
  viewerId: number;
  presence: Presence;
  /** Where it is shown now. */
  at: [number, number, number];
  /** How it is turned now: x y z w, of unit length. */
  turn: [number, number, number, number];
}

interface Gliding extends Track {
  from: number[];
  turnedFrom: number[];
  turnedTo: number[];
  heardMs: number;
}

const NOBODY: readonly Track[] = [];

/** The others' points. */
export class PresenceTracks {
  private readonly tracks = new Map<string, Gliding>();

  /** Takes what the server says; points that it doesn't name are gone. */
  take(points: readonly Presence[], ownId: number, nowMs: number): void {
    const named = new Set<string>();
    for (const presence of points) {
      if (presence.viewerId === ownId) continue;
      const key = `${presence.viewerId} ${presence.part}`;
      named.add(key);
      const known = this.tracks.get(key);
      const at = known?.at ?? (presence.positionM.slice() as [number, number, number]);
      const turnedTo = unit(presence.orientation);
      const turn = known?.turn ?? (turnedTo.slice() as Track["turn"]);
      this.tracks.set(key, {
        key,
        viewerId: presence.viewerId,
        presence,
        at,
        turn,
        from: [...at],
        turnedFrom: [...turn],
        turnedTo,
        heardMs: nowMs,
      });
    }
    for (const key of this.tracks.keys()) if (!named.has(key)) this.tracks.delete(key);
  }

  /** Keeps only the points of those who are there. */
  keep(viewerIds: ReadonlySet<number>): void {
    for (const [key, track] of this.tracks) if (!viewerIds.has(track.viewerId)) this.tracks.delete(key);
  }

  clear(): void {
    this.tracks.clear();
  }

  /** Moves everybody on. @param calm  without gliding */
  tick(nowMs: number, calm: boolean): Iterable<Track> {
    if (this.tracks.size === 0) return NOBODY;
    for (const track of this.tracks.values()) {
      const share = calm ? 1 : Math.min(1, (nowMs - track.heardMs) / GLIDE_MS);
      for (let axis = 0; axis < 3; axis++) {
        const from = track.from[axis] as number;
        track.at[axis] = from + ((track.presence.positionM[axis] as number) - from) * share;
      }
      turnTowards(track, share);
    }
    return this.tracks.values();
  }
}

/** A turn of unit length; none where it isn't known. */
function unit(turn: readonly number[]): number[] {
  const length = Math.hypot(...turn);
  return length > 1e-3 ? turn.map((x) => x / length) : [0, 0, 0, 1];
}

/** The short way round, straight through: between two messages that is little. */
function turnTowards({ turn, turnedFrom, turnedTo }: Gliding, share: number): void {
  let cosine = 0;
  for (let i = 0; i < 4; i++) cosine += (turnedFrom[i] as number) * (turnedTo[i] as number);
  const from = (cosine < 0 ? -1 : 1) * (1 - share);
  for (let i = 0; i < 4; i++) turn[i] = from * (turnedFrom[i] as number) + share * (turnedTo[i] as number);
  const length = Math.hypot(turn[0], turn[1], turn[2], turn[3]);
  if (length < 1e-3) for (let i = 0; i < 4; i++) turn[i] = turnedTo[i] as number;
  else for (let i = 0; i < 4; i++) turn[i] = (turn[i] as number) / length;
}
