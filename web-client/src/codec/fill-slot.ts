// A decoded frame into the memory that it travels in.
import type { FrameCodec } from "./frame-codec.js";
import { type FrameInfo, type SlotViews, slotBytes, slotCapacity, slotViews } from "./frame-info.js";
import type { LightVolume } from "./light-volume.js";

/** Copies what the codec holds. @returns the slot, another one where the frame needs more than was offered */
export function copyFrame(
  codec: FrameCodec,
  info: FrameInfo,
  offered: ArrayBuffer,
): { slot: ArrayBuffer; views: SlotViews } {
  let slot = offered;
  let views = slotViews(slot);
  if (views.capacity < info.particleCount) {
    slot = new ArrayBuffer(slotBytes(slotCapacity(info.particleCount)));
    views = slotViews(slot);
  }
  views.positions.set(codec.positions(info.particleCount));
  views.velocities.set(codec.velocities(info.particleCount));
  views.bodies.set(codec.bodies(info.bodyCount));
  return { slot, views };
}

/** Fills in the slot's light, and says in `info` how it is divided. */
export function lightFrame(volume: LightVolume, info: FrameInfo, views: SlotViews): void {
  volume.compute(info, views);
  info.lightDims = [volume.dims[0], volume.dims[1], volume.dims[2]];
  info.lightCells = volume.voxelCells;
  info.crowding = volume.crowding;
}
