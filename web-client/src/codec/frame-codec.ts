// The C frame codec behind its WebAssembly ABI (protocol/wasm/README.md). One instance per thread.
import { BODY_VALUES, type FieldPlane, type FrameInfo, topVorticity } from "./frame-info.js";

const ABI = 6;
const HEADER_VALUES = 43;
const FLAG_PAUSED = 1;
/** TARN_E_STATE: the frame that it refers to isn't there. */
const STATUS_STATE = -12;

interface CodecExports {
  memory: WebAssembly.Memory;
  tarn_codec_abi(): number;
  tarn_codec_reserve(inputBytes: number, particles: number): number;
  tarn_codec_input(): number;
  tarn_codec_decode(byteCount: number): number;
  tarn_codec_show_curl(topPerS: number): void;
  tarn_codec_field_plane(z: number): number;
  tarn_codec_header(): number;
  tarn_codec_inputs(): number;
  tarn_codec_bodies(): number;
  tarn_codec_positions(): number;
  tarn_codec_velocities(): number;
  tarn_codec_status_name(status: number): number;
  tarn_codec_status_text(status: number): number;
}

export class FrameError extends Error {}

export class FrameCodec {
  private byteCount = 0;

  private constructor(private readonly wasm: CodecExports) {}

  static async create(bytes: BufferSource): Promise<FrameCodec> {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    const wasm = instance.exports as unknown as CodecExports;
    const abi = wasm.tarn_codec_abi();
    if (abi !== ABI) throw new FrameError(`the frame codec has ABI ${abi}, this page needs ${ABI}`);
    return new FrameCodec(wasm);
  }

  /**
   * Decodes a frame; what positions() and velocities() show is overwritten by the next one.
   * @return false where the frame that it refers to is missing: the next key frame will do
   */
  decode(frame: Uint8Array): boolean {
    this.byteCount = 0;
    this.check(this.wasm.tarn_codec_reserve(frame.byteLength, 0));
    new Uint8Array(this.wasm.memory.buffer, this.wasm.tarn_codec_input(), frame.byteLength).set(frame);
    const status = this.wasm.tarn_codec_decode(frame.byteLength);
    if (status === STATUS_STATE) return false;
    this.check(status);
    this.byteCount = frame.byteLength;
    return true;
  }

  /** Puts the flow's vorticity at each particle of the decoded frame into the positions. */
  showCurl(info: FrameInfo): void {
    this.wasm.tarn_codec_show_curl(topVorticity(info));
    info.hasCurl = true;
    info.channel = 0;
  }

  /**
   * The levels of the frame's field in a plane across an axis, at a share of the tank's edge along it; what runs fastest:
   * z across x, x across y and across z.
   * @param into  is filled where it is as large as the plane
   * @return null: the frame has no field
   */
  fieldPlane(
    { cells }: Pick<FrameInfo, "cells">,
    share: number,
    into: FieldPlane | null,
    axis: 0 | 1 | 2 = 2,
  ): FieldPlane | null {
    const [nx, ny, nz] = cells;
    const cut = Math.min(cells[axis] - 1, Math.max(0, Math.floor(share * cells[axis])));
    const count = (nx * ny * nz) / cells[axis];
    const plane = into?.length === count ? into : new Uint8Array(count);
    for (let z = axis === 2 ? cut : 0; z < (axis === 2 ? cut + 1 : nz); z++) {
      const at = this.wasm.tarn_codec_field_plane(z);
      if (at === 0) return null;
      const levels = new Uint8Array(this.wasm.memory.buffer, at, nx * ny);
      if (axis === 2) plane.set(levels);
      else if (axis === 0) for (let y = 0; y < ny; y++) plane[z + nz * y] = levels[cut + nx * y] as number;
      else plane.set(levels.subarray(nx * cut, nx * (cut + 1)), nx * z);
    }
    return plane;
  }

  /** The bytes of the last frame that decoded. */
  bytes(): Uint8Array {
    return new Uint8Array(this.wasm.memory.buffer, this.wasm.tarn_codec_input(), this.byteCount);
  }

  positions(particleCount: number): Uint16Array {
    return new Uint16Array(this.wasm.memory.buffer, this.wasm.tarn_codec_positions(), particleCount * 4);
  }

  velocities(particleCount: number): Int8Array {
    return new Int8Array(this.wasm.memory.buffer, this.wasm.tarn_codec_velocities(), particleCount * 4);
  }

  bodies(bodyCount: number): Float64Array {
    return new Float64Array(this.wasm.memory.buffer, this.wasm.tarn_codec_bodies(), bodyCount * BODY_VALUES);
  }

  info(viewerId: number): FrameInfo {
    const h = new Float64Array(this.wasm.memory.buffer, this.wasm.tarn_codec_header(), HEADER_VALUES);
    const at = (index: number): number => h[index] as number;
    return {
      kind: at(0),
      receivedBytes: this.byteCount,
      epoch: at(3),
      step: at(4),
      simTimeS: at(5),
      serverTimeUs: at(6),
      realtimeFactor: at(7),
      paused: (at(1) & FLAG_PAUSED) !== 0,
      particleCount: at(8),
      particlesTotal: at(34),
      cells: [at(11), at(12), at(13)],
      cellM: at(16),
      unitBits: at(28),
      layersTotal: at(15),
      layersPresent: at(31),
      orientation: [at(17), at(18), at(19), at(20)],
      gravity: [at(21), at(22), at(23)],
      velocityScale: at(24),
      bodyCount: at(26),
      coloured: at(27) !== 0,
      hasCurl: false,
      channel: at(35),
      channelLow: at(36),
      channelHigh: at(37),
      field: at(38),
      fieldLow: at(39),
      fieldHigh: at(40),
      ownSequence: this.sequenceOf(viewerId, at(10)),
      inputs: this.sequenceSum(at(10)),
      lightDims: [1, 1, 1],
      lightCells: 1,
      crowding: 0,
      secondaryCount: 0,
      decodeMs: 0,
    };
  }

  private sequenceOf(viewerId: number, inputCount: number): number {
    const inputs = new Uint32Array(this.wasm.memory.buffer, this.wasm.tarn_codec_inputs(), inputCount * 2);
    for (let i = 0; i < inputs.length; i += 2) {
      if (inputs[i] === viewerId) return inputs[i + 1] as number;
    }
    return 0;
  }

  private sequenceSum(inputCount: number): number {
    const inputs = new Uint32Array(this.wasm.memory.buffer, this.wasm.tarn_codec_inputs(), inputCount * 2);
    let sum = 0;
    for (let i = 1; i < inputs.length; i += 2) sum += inputs[i] as number;
    return sum;
  }

  private check(status: number): void {
    if (status === 0) return;
    const name = this.text(this.wasm.tarn_codec_status_name(status));
    throw new FrameError(`${this.text(this.wasm.tarn_codec_status_text(status))} (${name})`);
  }

  private text(pointer: number): string {
    const bytes = new Uint8Array(this.wasm.memory.buffer, pointer);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }
}
