// The shadows that solids cast on level ground, the tank's floor and the table: the solids as the sun sees them, flattened
// onto the floor. Of the picture the alpha counts, what of the sun's light they keep.
import * as THREE from "three";
import { LAYER } from "./layers.js";

const PIXELS = 256;
/** Of the ground's picture that stays free around what may be in shadow. */
const BORDER = 0.02;
/** Nearer to the floor, as a sine, the sun casts no shadows that would mean anything. */
const SUN_LOW = 0.15;
/** So far away, metres, the sun sees all from the same side. */
const SUN_M = 100;

export class SolidShadows {
  readonly uniforms = {
    solidShadows: { value: null as THREE.Texture | null },
    /** From places on the floor to those of the picture: scale, offset. */
    shadowPlace: { value: new THREE.Vector4() },
  };
  private readonly target = new THREE.WebGLRenderTarget(PIXELS, PIXELS, {
    depthBuffer: false,
    generateMipmaps: true,
    minFilter: THREE.LinearMipmapLinearFilter,
  });
  private readonly camera = new THREE.Camera();
  private readonly toTank = new THREE.Matrix4();
  private readonly sun = new THREE.Vector3();

  constructor() {
    for (const layer of [LAYER.scene, LAYER.glass]) this.camera.layers.enable(layer);
  }

  /**
   * Before each picture; allocates nothing.
   * @param tank  what is in tank coordinates. @param size  of it, metres. @param roomSun  towards the sun, one metre
   */
  draw(
    renderer: THREE.WebGLRenderer,
    solids: THREE.Object3D,
    tank: THREE.Object3D,
    size: THREE.Vector3,
    roomSun: readonly number[],
  ): void {
    const { camera, sun, toTank, target, uniforms } = this;
    tank.updateWorldMatrix(true, false);
    sun.fromArray(roomSun).transformDirection(toTank.copy(tank.matrixWorld).invert());
    const casts = solids.children.length > 0 && sun.y > SUN_LOW;
    uniforms.solidShadows.value = casts ? target.texture : null;
    if (!casts) return;
    camera.position.fromArray(roomSun as number[]).multiplyScalar(SUN_M);
    camera.lookAt(0, 0, 0);
    camera.updateMatrixWorld();
    // What is so high falls beside its place on the floor by so much.
    const fallX = -sun.x / sun.y;
    const fallZ = -sun.z / sun.y;
    const scaleX = scaleOf(size.x, fallX * size.y);
    const scaleZ = scaleOf(size.z, fallZ * size.y);
    const offsetX = BORDER - Math.min(fallX * size.y, 0) * scaleX;
    const offsetZ = BORDER - Math.min(fallZ * size.y, 0) * scaleZ;
    uniforms.shadowPlace.value.set(scaleX, scaleZ, offsetX, offsetZ);
    // biome-ignore format: rows
    camera.projectionMatrix
      .set(
        2 * scaleX, 2 * scaleX * fallX, 0, 2 * offsetX - 1,
        0, 2 * scaleZ * fallZ, 2 * scaleZ, 2 * offsetZ - 1,
        0, -1 / size.y, 0, 0,
        0, 0, 0, 1,
      )
      .multiply(toTank)
      .multiply(camera.matrixWorld);
    const { xr } = renderer;
    const shown = renderer.getRenderTarget();
    const worn = xr.enabled;
    xr.enabled = false;
    renderer.setRenderTarget(target);
    renderer.render(solids, camera);
    renderer.setRenderTarget(shown);
    xr.enabled = worn;
  }

  dispose(): void {
    this.target.dispose();
  }
}

/** Brings 0..length, and what is moved from it by `fall`, into the picture. */
function scaleOf(length: number, fall: number): number {
  return (1 - 2 * BORDER) / (length + Math.abs(fall));
}

/** `inShadow(place)` is what solids keep of the sun's light from a place of the tank at or below its floor. */
export const solidShadows = /* glsl */ `
uniform mediump sampler2D solidShadows;
uniform vec4 shadowPlace;
const vec3 SHADE = vec3(0.50, 0.56, 0.64); // of level ground that the sky alone lights, for the picture's own values
float inShadow(vec3 place) {
  vec2 floor_ = place.xz - place.y / max(sunTank.y, 1e-3) * sunTank.xz;
  return textureLod(solidShadows, floor_ * shadowPlace.xy + shadowPlace.zw, 0.7).a;
}
`;
