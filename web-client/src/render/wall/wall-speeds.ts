// How fast a wall's fluid is in each cell, where frames say so: for fluid that has no particles in it.
import * as THREE from "three";
import type { FieldPlane, FrameInfo } from "../../codec/frame-info.js";

const NOTHING = new Uint8Array(1);

export class WallSpeeds {
  /** Levels; of one cell where there is nothing to say. */
  texture = levelTexture(NOTHING, 1, 1);
  /** What the levels 0 and 1 of the texture stand for, m/s. */
  low = 0;
  high = 0;
  /** Whether the newest frame says it. */
  known = false;
  /** A plane of a frame travels on. */
  private copy = NOTHING;

  /** @param levels  of the cells, are copied; null: this frame doesn't say */
  show(levels: FieldPlane | null, { cells: [x, y], fieldLow, fieldHigh }: FrameInfo): void {
    this.known = levels !== null && levels.length === x * y;
    if (levels === null || !this.known) return;
    if (this.texture.image.width !== x || this.texture.image.height !== y) {
      this.texture.dispose();
      this.copy = new Uint8Array(x * y);
      this.texture = levelTexture(this.copy, x, y);
    }
    this.copy.set(levels);
    this.texture.needsUpdate = true;
    [this.low, this.high] = [fieldLow, fieldHigh];
  }

  dispose(): void {
    this.texture.dispose();
  }
}

function levelTexture(levels: Uint8Array<ArrayBuffer>, width: number, height: number): THREE.DataTexture {
  const texture = new THREE.DataTexture(levels, width, height, THREE.RedFormat);
  texture.unpackAlignment = 1;
  texture.magFilter = texture.minFilter = THREE.LinearFilter;
  texture.needsUpdate = true;
  return texture;
}
