// Water that is heard, by Web Audio: each frame's bubbles are one short piece of sound at the place where they are, and
// the listener is where the picture is seen from.
//
//     splash -> samples -> source -> panner --+-> volume -> limiter -> analyser -> out
//     splash -> samples -> source -> panner --+
import { addBubble, durationS } from "./bubbles.js";
import type { Splash } from "./splashes.js";

/** Pieces that sound at once, at most: beyond, the next ones are left out. */
const PIECES_MAX = 24;
const VOLUME = 0.6;
/** Frames come unevenly: what is heard of one begins so much later. */
const LATER_S = 0.03;

export type Point = readonly [x: number, y: number, z: number];

export class WaterSound {
  private readonly volume: GainNode;
  private readonly analyser: AnalyserNode;
  private readonly heard: Float32Array<ArrayBuffer>;
  private pieces = 0;

  constructor(readonly context: BaseAudioContext) {
    this.volume = context.createGain();
    this.volume.gain.value = VOLUME;
    const limiter = context.createDynamicsCompressor();
    this.analyser = context.createAnalyser();
    this.analyser.fftSize = 2048;
    this.heard = new Float32Array(this.analyser.fftSize);
    this.volume.connect(limiter).connect(this.analyser).connect(context.destination);
  }

  /**
   * @param at      where it is, in the listener's metres
   * @param reachM  up to where it is as loud as it is at its place
   * @param spread  heard by two ears: for headsets
   */
  splash({ bubbles }: Splash, at: Point, reachM: number, spread: boolean): void {
    const { context } = this;
    if (bubbles.length === 0 || this.pieces >= PIECES_MAX) return;
    const lasts = Math.max(...bubbles.map(({ atS, radiusM }) => atS + durationS(radiusM)));
    const buffer = context.createBuffer(1, Math.ceil(lasts * context.sampleRate) + 1, context.sampleRate);
    const samples = buffer.getChannelData(0);
    for (const bubble of bubbles) addBubble(samples, context.sampleRate, bubble);
    const source = new AudioBufferSourceNode(context, { buffer });
    const panner = new PannerNode(context, {
      panningModel: spread ? "HRTF" : "equalpower",
      distanceModel: "inverse",
      refDistance: reachM,
      positionX: at[0],
      positionY: at[1],
      positionZ: at[2],
    });
    this.pieces++;
    source.addEventListener("ended", () => {
      this.pieces--;
      panner.disconnect();
    });
    source.connect(panner).connect(this.volume);
    source.start(context.currentTime + LATER_S);
  }

  /** The listener's place, and the directions in front of and above them. */
  listen(at: Point, forward: Point, up: Point): void {
    const { listener } = this.context;
    // Not every browser has parameters for these.
    if (listener.positionX === undefined) {
      listener.setPosition(...at);
      listener.setOrientation(...forward, ...up);
      return;
    }
    listener.positionX.value = at[0];
    listener.positionY.value = at[1];
    listener.positionZ.value = at[2];
    listener.forwardX.value = forward[0];
    listener.forwardY.value = forward[1];
    listener.forwardZ.value = forward[2];
    listener.upX.value = up[0];
    listener.upY.value = up[1];
    listener.upZ.value = up[2];
  }

  /** Root mean square of what was heard last, 1: full scale. */
  get level(): number {
    this.analyser.getFloatTimeDomainData(this.heard);
    return Math.sqrt(this.heard.reduce((sum, one) => sum + one * one, 0) / this.heard.length);
  }
}
