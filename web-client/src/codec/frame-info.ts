// What a decoded frame says of the tank as a whole, and the memory its particles travel in.
//
// A slot is one ArrayBuffer that wanders between the page and the decoding worker: the page lends it out with a
// frame's bytes, the worker fills it and gives it back. Two slots are enough for ever, so the stream allocates only
// when a tank outgrows them.
//
//     | positions: 4 x uint16 per particle | velocities: 4 x int8 per particle | light volume: 4 x uint8 per voxel |
//     | bodies: 8 x float32 each | places of spray, foam and bubbles: 4 x uint16 each | their velocities: 4 x int8 each |
//
// The fourth value of a position is the particle's colour, red << 5 | green << 2 | blue, where the frame has colours; its
// high byte is the level of a channel, where there is one.

import { FRAME_BODIES_MAX } from "../tables/protocol-tables.js";

export const POSITION_BYTES = 8;
export const VELOCITY_BYTES = 4;
/** Voxels of the light volume, at most. */
export const LIGHT_VOXELS_MAX = 1 << 16;
/** Bytes of a voxel: daylight, density, nearness of the particles, whether there are any. */
export const LIGHT_VALUES = 4;
export const LIGHT_PRESENCE = 3;
export const LIGHT_BYTES_MAX = LIGHT_VOXELS_MAX * LIGHT_VALUES;
/** Spray, foam and bubbles, at most. */
export const SECONDARY_MAX = 24576;
/** The solid's index, position x y z in metres, rotation x y z w. */
export const BODY_VALUES = 8;
const BODIES_BYTES = FRAME_BODIES_MAX * BODY_VALUES * 4;
const SECONDARY_BYTES = SECONDARY_MAX * (POSITION_BYTES + VELOCITY_BYTES);
const REST_BYTES = LIGHT_BYTES_MAX + BODIES_BYTES + SECONDARY_BYTES;

/** Levels of a field's cells in a plane of the tank, x fastest. Two wander as slots do, while a field is looked at. */
export type FieldPlane = Uint8Array<ArrayBuffer>;

export interface FrameInfo {
  /** A FRAME_KIND. */
  kind: number;
  epoch: number;
  step: number;
  simTimeS: number;
  serverTimeUs: number;
  realtimeFactor: number;
  paused: boolean;
  particleCount: number;
  /** With those of the layers that were cut off. */
  particlesTotal: number;
  /** Of the frame as it came: layers may have been cut off. */
  receivedBytes: number;
  /** Layers of particles that came, and that there are. */
  layersPresent: number;
  layersTotal: number;
  cells: [number, number, number];
  cellM: number;
  /** Positions are in 1/2^unitBits cell. */
  unitBits: number;
  orientation: [number, number, number, number];
  gravity: [number, number, number];
  /** Metres per second of one velocity unit. */
  velocityScale: number;
  /** Solids that move, and where they are. */
  bodyCount: number;
  /** The particles have colours of their own. */
  coloured: boolean;
  /** The particles' levels are of the flow's vorticity: 255 stands for topVorticity and more. */
  hasCurl: boolean;
  /** Or of a channel, 1 more than its place among the tank's; 0: of none. And what the levels 0 and 255 stand for. */
  channel: number;
  channelLow: number;
  channelHigh: number;
  /** The same of a field of cells. */
  field: number;
  fieldLow: number;
  fieldHigh: number;
  /** Newest of this viewer's inputs that the frame contains; 0 where there is none. */
  ownSequence: number;
  /** Sum of all viewers' newest inputs' numbers: it grows when somebody does something. */
  inputs: number;
  /** Voxels of the light volume per axis. */
  lightDims: [number, number, number];
  /** Cells of the tank along a voxel's edge. */
  lightCells: number;
  /** Particles in a cell around the average particle, with those of the layers that were cut off. */
  crowding: number;
  /** Spray, foam and bubbles. */
  secondaryCount: number;
  decodeMs: number;
}

/** The fastest colour stands for the speed of a fall from this share of the tank's height. */
const FALL_SHARE = 0.85;
/** Cells across which water that turns with the highest vorticity goes from the top speed to none. */
const TURN_CELLS = 8;

type Falls = Pick<FrameInfo, "gravity" | "cells" | "cellM">;

/** m/s: hardly any water in the tank is faster. Where there is no gravity to speak of, y is upwards. */
export function topSpeed({ gravity, cells, cellM }: Falls): number {
  const pull = Math.hypot(...gravity);
  const high = gravity.reduce((sum, part, axis) => sum + Math.abs(part) * (cells[axis] as number), 0);
  return Math.sqrt(2 * (pull < 1 ? cells[1] : high) * cellM * FALL_SHARE);
}

/** 1/s. */
export function topVorticity(info: Falls): number {
  return topSpeed(info) / (TURN_CELLS * info.cellM);
}

export function slotBytes(particlesMax: number): number {
  return particlesMax * (POSITION_BYTES + VELOCITY_BYTES) + REST_BYTES;
}

/** Capacity for a particle count, with room to grow so that small changes don't reallocate. */
export function slotCapacity(particleCount: number): number {
  return Math.max(4096, Math.ceil((particleCount * 1.125) / 4096) * 4096);
}

export interface SlotViews {
  capacity: number;
  positions: Uint16Array<ArrayBuffer>;
  velocities: Int8Array<ArrayBuffer>;
  light: Uint8Array<ArrayBuffer>;
  bodies: Float32Array<ArrayBuffer>;
  /** x y z in 1/65535 of the tank's longest edge; then size, and above it the water around one: 255 is the calm's density. */
  secondaryPlaces: Uint16Array<ArrayBuffer>;
  /** x y z in velocity units; then how much of it is shown, 0..127. */
  secondaryMotions: Int8Array<ArrayBuffer>;
}

export function slotViews(slot: ArrayBuffer): SlotViews {
  const capacity = Math.floor((slot.byteLength - REST_BYTES) / (POSITION_BYTES + VELOCITY_BYTES));
  const velocitiesAt = capacity * POSITION_BYTES;
  const lightAt = velocitiesAt + capacity * VELOCITY_BYTES;
  const bodiesAt = lightAt + LIGHT_BYTES_MAX;
  const placesAt = bodiesAt + BODIES_BYTES;
  return {
    capacity,
    positions: new Uint16Array(slot, 0, capacity * 4),
    velocities: new Int8Array(slot, velocitiesAt, capacity * 4),
    light: new Uint8Array(slot, lightAt, LIGHT_BYTES_MAX),
    bodies: new Float32Array(slot, bodiesAt, FRAME_BODIES_MAX * BODY_VALUES),
    secondaryPlaces: new Uint16Array(slot, placesAt, SECONDARY_MAX * 4),
    secondaryMotions: new Int8Array(slot, placesAt + SECONDARY_MAX * POSITION_BYTES, SECONDARY_MAX * 4),
  };
}
