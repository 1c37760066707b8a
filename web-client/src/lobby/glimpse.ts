// A live thumbnail of a tank: the first layer of its particles twice a second, over the ordinary stream, drawn as dots.

import type { DecoderPort } from "../codec/worker-messages.js";
import { createLive, type Live } from "../protocol/live.js";
import type { FramePosition } from "../protocol/messages.js";
import { type DecodedFrame, FrameStream } from "../state/frame-stream.js";
import { FRAME_KIND } from "../tables/protocol-tables.js";

const FRAMES_PER_S = 2;
/** Dots in a picture: enough for its size. */
const DOTS_MAX = 6000;

export interface GlimpseEnvironment {
  socketUrl: string;
  /** A decoder of its own. */
  decoder: () => DecoderPort & { terminate(): void };
  wasm: ArrayBuffer;
}

export class Glimpse {
  private readonly decoder: DecoderPort & { terminate(): void };
  private readonly live: Live;
  private readonly stream: FrameStream;

  constructor(
    environment: GlimpseEnvironment,
    session: string,
    private readonly canvas: HTMLCanvasElement,
  ) {
    this.decoder = environment.decoder();
    this.live = createLive(
      { socketUrl: environment.socketUrl, session, viewer: "" },
      {
        onJoined: ({ viewerId }) => {
          this.stream.viewerId = viewerId;
        },
        onMessage: () => {},
        onFrame: (bytes) => this.stream.push(bytes, performance.now()),
        onRoundTrip: () => {},
        onLost: () => this.stream.drop(),
        onEnded: () => {},
        onProblem: () => {},
      },
    );
    const { conversation, link } = this.live;
    conversation.introduction.preview = true;
    // The first layer comes, however few particles are asked for.
    conversation.view(false, { mbit_per_s: 0, frames_per_s: FRAMES_PER_S, particles: 1 });
    const settle = (position: FramePosition | null): void => {
      if (position !== null) conversation.ack(position);
    };
    const lose = (position: FramePosition | null): void => {
      if (position !== null) conversation.ack(position, true);
    };
    this.stream = new FrameStream(this.decoder, environment.wasm.slice(0), {
      onDecoded: (frame) => {
        settle(frame.position);
        if (frame.info.kind !== FRAME_KIND.extra) drawGlimpse(this.canvas, frame);
      },
      onRefused: (_why, position) => lose(position),
      onUnreferenced: lose,
      onGivenUp: (position) => conversation.ack(position, this.stream.needsKey),
      onFailed: () => this.close(),
    });
    link.start();
  }

  close(): void {
    this.live.link.stop();
    this.decoder.terminate();
  }
}

/** Seen from the front and a little from above; a flat tank just from the front. */
const YAW = -0.5;
const PITCH = 0.35;
const MARGIN = 1.06;

export interface GlimpseView {
  yaw: number;
  pitch: number;
  /** Pixels of a cell. */
  scale: number;
}

/** From where a tank of so many cells is seen, all of it, in a picture of so many pixels. */
export function glimpseView(
  [nx, ny, nz]: readonly [number, number, number],
  width: number,
  height: number,
): GlimpseView {
  const isFlat = nz === 1;
  const across = isFlat ? nx : Math.hypot(nx, nz);
  const up = isFlat ? ny : ny + 0.36 * Math.hypot(nx, nz);
  const scale = Math.min(width / (MARGIN * across), height / (MARGIN * up));
  return { yaw: isFlat ? 0 : YAW, pitch: isFlat ? 0 : PITCH, scale };
}

function drawGlimpse(canvas: HTMLCanvasElement, { info, views }: DecodedFrame): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { width, height } = canvas;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const unit = 1 / 2 ** info.unitBits;
  const [nx, ny, nz] = info.cells;
  const { yaw, pitch, scale } = glimpseView(info.cells, width, height);
  const [sinYaw, cosYaw] = [Math.sin(yaw), Math.cos(yaw)];
  const [sinPitch, cosPitch] = [Math.sin(pitch), Math.cos(pitch)];
  const reach = 0.5 * Math.hypot(nx, nz);
  const stride = Math.max(1, Math.ceil(info.particleCount / DOTS_MAX));
  for (let i = 0; i < info.particleCount; i += stride) {
    const x = (views.positions[4 * i] as number) * unit - nx / 2;
    const y = (views.positions[4 * i + 1] as number) * unit - ny / 2;
    const z = (views.positions[4 * i + 2] as number) * unit - nz / 2;
    const across = x * cosYaw + z * sinYaw;
    const depth = z * cosYaw - x * sinYaw;
    const column = Math.round(width / 2 + across * scale);
    const row = Math.round(height / 2 - (y * cosPitch - depth * sinPitch) * scale);
    if (column < 0 || row < 0 || column >= width - 1 || row >= height - 1) continue;
    const near = 0.55 + 0.45 * Math.min(1, Math.max(0, 0.5 + depth / (2 * reach)));
    const colour = info.coloured
      ? ownColour((views.positions[4 * i + 3] as number) & 0xff, near)
      : waterColour(near);
    const at = row * width + column;
    pixels[at] = pixels[at + 1] = pixels[at + width] = pixels[at + width + 1] = colour;
  }
  context.putImageData(image, 0, 0);
  canvas.dataset.frames = String(Number(canvas.dataset.frames ?? 0) + 1);
}

/** As a canvas has it in memory: red lowest. */
function pack(red: number, green: number, blue: number): number {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

function waterColour(near: number): number {
  return pack(70 * near, 175 * near, 235 * near);
}

function ownColour(value: number, near: number): number {
  const share = near * 255;
  return pack(((value >> 5) / 7) * share, (((value >> 2) & 7) / 7) * share, ((value & 3) / 3) * share);
}
