// What this page's viewer may do now, and what an owner may do about the others. The server decides; here it is said
// beforehand, and told when it changes.
import type { Lock, Moderation, Role, ViewerInfo } from "./messages.js";

export interface Standing {
  role: Role;
  /** An owner has muted this viewer: nothing that it does has an effect. */
  muted: boolean;
  /** What those who only play may not do for now. */
  locked: readonly Lock[];
  /** Players may set parameters. */
  openParameters: boolean;
}

export const FREE: Standing = { role: "own", muted: false, locked: [], openParameters: false };

export function mayAct(standing: Standing): boolean {
  return standing.role !== "watch" && !standing.muted;
}

export function mayUse(standing: Standing, lock: Lock): boolean {
  return mayAct(standing) && (standing.role === "own" || !standing.locked.includes(lock));
}

export function maySetParameters(standing: Standing): boolean {
  return mayAct(standing) && (standing.role === "own" || standing.openParameters);
}

/** What an owner may do about somebody, in the order in which to offer it. @param me  undefined: not known yet */
export function moderationsOf(me: ViewerInfo | undefined, about: ViewerInfo, owners: number): Moderation[] {
  if (me?.role !== "own") return [];
  if (about.viewerId === me.viewerId) return owners > 1 ? ["play", "watch"] : [];
  if (about.role === "own" && !about.given) return [];
  const roles = (["own", "play", "watch"] as const).filter((role) => role !== about.role);
  return [about.muted ? "unmute" : "mute", ...roles, "remove"];
}

/** Words for people. */
export const LOCK_WORDS: Readonly<Record<Lock, string>> = {
  push: "pushing",
  pull: "pulling",
  vortex: "whirling",
  pour: "pouring",
  drain: "draining",
  dye: "dyeing",
  throw: "throwing bodies in",
  wall: "building walls",
  erase: "erasing walls",
  tilt: "tilting the tank",
  camera: "moving it by camera",
  probe: "placing probes",
};

const ROLE_TOLD: Readonly<Record<Role, string>> = {
  own: "You own this tank now: you may pause, change and lock things.",
  play: "You may play here now; pausing and scenes are the owners' business.",
  watch: "You may only watch here now.",
};

/** What has changed for this viewer, as sentences; none where nothing has. */
export function changesTold(before: Standing, now: Standing): string[] {
  const told: string[] = [];
  if (now.role !== before.role) told.push(ROLE_TOLD[now.role]);
  if (now.muted && !before.muted) told.push("An owner has muted you: what you do here has no effect.");
  if (!now.muted && before.muted) told.push("You are no longer muted.");
  if (now.role !== "play") return told;
  const more = now.locked.filter((lock) => !before.locked.includes(lock));
  const fewer = before.locked.filter((lock) => !now.locked.includes(lock));
  if (more.length > 0) told.push(`The owners have locked ${listOf(more)} for now.`);
  if (fewer.length > 0) told.push(`The owners have unlocked ${listOf(fewer)}.`);
  if (now.openParameters && !before.openParameters) told.push("You may set this tank's parameters now.");
  if (!now.openParameters && before.openParameters && before.role === "play")
    told.push("Parameters are the owners' again.");
  return told;
}

function listOf(locks: readonly Lock[]): string {
  const words = locks.map((lock) => LOCK_WORDS[lock]);
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
