// The Web Worker that turns frames into arrays ready for the GPU, so that decoding never costs the display a frame.
import { byteHash } from "./byte-hash.js";
import { copyFrame, lightFrame } from "./fill-slot.js";
import { FrameCodec, FrameError } from "./frame-codec.js";
import { LightVolume } from "./light-volume.js";
import type { Obstacle } from "./obstacles.js";
import { SecondaryParticles } from "./secondary-particles.js";
import type { FromWorker, ToWorker } from "./worker-messages.js";

const port = self as unknown as {
  postMessage(message: FromWorker, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
};

/** What is behind it is an engine's own error, in its own words. */
const NO_WASM =
  "this browser can't run the decoder, which needs WebAssembly with SIMD: Chrome and Edge from 91, Firefox from 89 and " +
  "Safari from 16.4 have it, unless it is switched off, as Apple's Lockdown Mode does";

type FrameMessage = Extract<ToWorker, { kind: "frame" }>;

const lightVolume = new LightVolume();
/** Made when the first are wanted. */
let secondary: SecondaryParticles | null = null;
let obstacles: Obstacle[] = [];
let codec: FrameCodec | null = null;

port.onmessage = (event) => {
  const message = event.data;
  if (message.kind === "start") {
    FrameCodec.create(message.wasm).then(
      (created) => {
        codec = created;
        port.postMessage({ kind: "ready" }, []);
      },
      (error: unknown) => port.postMessage({ kind: "failed", why: told(error, NO_WASM) }, []),
    );
    return;
  }
  if (message.kind === "obstacles") {
    obstacles = message.obstacles;
    secondary?.showObstacles(obstacles);
    return;
  }
  try {
    if (codec === null) throw new FrameError("the frame codec is not ready");
    decode(codec, message);
  } catch (error) {
    const why = told(error, "the decoder has failed");
    port.postMessage({ kind: "refused", slot: message.slot, why }, [message.slot]);
  }
};

function told(error: unknown, otherwise: string): string {
  if (error instanceof FrameError) return error.message;
  console.debug(error);
  return otherwise;
}

function decode(c: FrameCodec, message: FrameMessage): void {
  const { bytes, slot: offered, viewerId, hash, curl, secondaryRoom, slice, sliceAxis, plane } = message;
  const began = performance.now();
  if (!c.decode(new Uint8Array(bytes))) {
    port.postMessage({ kind: "unreferenced", slot: offered }, [offered]);
    return;
  }
  const info = c.info(viewerId);
  if (curl) c.showCurl(info);
  const { slot, views } = copyFrame(c, info, offered);
  lightFrame(lightVolume, info, views);
  if (secondaryRoom > 0 && secondary === null) {
    secondary = new SecondaryParticles();
    secondary.showObstacles(obstacles);
  }
  info.secondaryCount = secondary?.follow(info, views, secondaryRoom) ?? 0;
  info.decodeMs = performance.now() - began;
  const field = slice < 0 ? null : c.fieldPlane(info, slice, plane, sliceAxis);
  port.postMessage(
    { kind: "decoded", info, slot, field, fieldAxis: sliceAxis, hash: hash ? byteHash(c.bytes()) : "" },
    field === null ? [slot] : [slot, field.buffer],
  );
}
