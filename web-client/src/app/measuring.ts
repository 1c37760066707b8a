// The page's measurements, gathered a few times a second.

import type { DecodedFrame } from "../state/frame-stream.js";
import type { ViewModel } from "../state/view-model.js";
import { FRAME_KIND } from "../tables/protocol-tables.js";
import type { Measurements } from "../ui/readout.js";

export function noMeasurements(): Measurements {
  return {
    fps: 0,
    particles: 0,
    mbitPerS: 0,
    framesPerS: 0,
    roundTripMs: Number.NaN,
    latencyMs: Number.NaN,
    stagesMs: [],
    decodeMs: Number.NaN,
    drawMs: Number.NaN,
    kind: FRAME_KIND.key,
    layersPresent: 0,
    layersTotal: 0,
    bitsPerParticle: Number.NaN,
    dropped: 0,
    unreferenced: 0,
    realtimeFactor: 1,
    speed: 1,
    step: 0,
    unconverged: 0,
    paused: false,
    device: "",
  };
}

export function measure(m: Measurements, model: ViewModel, latest: DecodedFrame | null, now: number): void {
  const info = latest?.info;
  m.fps = model.displayRate.perSecond(now);
  m.mbitPerS = (model.byteRate.perSecond(now) * 8) / 1e6;
  m.framesPerS = model.frameRate.perSecond(now);
  m.roundTripMs = model.roundTrip.value;
  m.latencyMs = model.latency.value;
  m.stagesMs = model.serverStagesMs;
  m.decodeMs = model.decodeTime.value;
  m.drawMs = model.drawTime.value;
  m.kind = info?.kind ?? FRAME_KIND.key;
  m.layersPresent = info?.layersPresent ?? 0;
  m.layersTotal = info?.layersTotal ?? 0;
  m.bitsPerParticle = model.bits.value;
  m.dropped = model.drops.total;
  m.unreferenced = model.framesUnreferenced;
  m.particles = info?.particleCount ?? 0;
  m.realtimeFactor = info?.realtimeFactor ?? 1;
  m.speed = model.state?.speed ?? 1;
  m.step = info?.step ?? 0;
  m.unconverged = model.connection === "playing" ? 0 : model.unconverged;
  m.paused = info?.paused ?? false;
  m.device = model.connection === "playing" ? "" : model.device;
}
