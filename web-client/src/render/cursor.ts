// The sphere in which the tool acts: a thin bright rim, brighter while it is pressed. Its colour and a mark inside tell
// the tool: an arrowhead down for pouring, a ring for a vortex, a funnel for draining, a core for pulling, a large
// one for dye and for what is thrown in, a post for a wall.
import * as THREE from "three";
import type { Tool } from "../protocol/messages.js";
import { grazing, grazingVertex } from "../shader/grazing.js";
import type { RoomUniforms } from "../shader/room.js";
import { LAYER } from "./layers.js";
import { besideWater, waterBeside } from "./water/beside-water.js";

const COLOURS: Readonly<Record<Tool, number>> = {
  push: 0xbff2ff,
  pull: 0xd8c8ff,
  vortex: 0xa8ffd9,
  pour: 0xbff2ff,
  drain: 0xffc9a8,
  dye: 0xffffff,
  throw: 0xffdc7a,
  wall: 0xc8d2dc,
  erase: 0xffa8a8,
};

/** Of these colours before what is bright. */
const SHADE = 0.4;

export interface CursorLook {
  tool: Tool;
  radiusM: number;
  /** Of what the tool adds, sRGB. */
  colour: number;
  pressed: boolean;
  /** The viewer's line of sight, tank coordinates. */
  sight: readonly number[];
}

export class Cursor {
  readonly mesh = new THREE.Group();
  private readonly rim: THREE.ShaderMaterial;
  private readonly inside: THREE.MeshBasicMaterial;
  private readonly marks: readonly (readonly [Tool, THREE.Mesh])[];
  private readonly vortex: THREE.Mesh;
  private readonly axis = new THREE.Vector3();
  private readonly ahead = new THREE.Vector3(0, 0, 1);

  constructor(private readonly light: RoomUniforms) {
    this.rim = new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3,
      transparent: true,
      depthTest: false,
      depthWrite: false,
      blending: THREE.CustomBlending,
      blendSrc: THREE.OneFactor,
      blendDst: THREE.OneMinusSrcAlphaFactor,
      uniforms: {
        strength: { value: 0.5 },
        tint: { value: new THREE.Color() },
        fill: { value: 0 },
        ...waterBeside,
        ...light,
      },
      vertexShader: grazingVertex,
      fragmentShader: /* glsl */ `
        uniform float strength;
        uniform float fill;
        uniform vec3 tint;
        uniform float roomOpen;
        out vec4 colour;
        ${grazing}
        ${besideWater}
        void main() {
          float rim = grazing();
          float a = strength * (0.08 + fill + 0.30 * rim * rim + 0.9 * smoothstep(0.80, 0.92, rim));
          // In the water it is seen through it.
          if (waterPart != 0 && waterBefore(toEye.z)) a *= 0.45;
          // It shines in the dark, and covers what is bright.
          colour = roomOpen > 0.0 ? vec4(tint * a, a) : vec4(tint * a * a, 0.0);
        }`,
    });
    this.inside = new THREE.MeshBasicMaterial({ transparent: true, depthTest: false, depthWrite: false });
    this.mesh.add(ordered(new THREE.Mesh(new THREE.SphereGeometry(1, 40, 24), this.rim)));
    this.vortex = this.mark(new THREE.TorusGeometry(0.55, 0.035, 8, 40, 5.2));
    this.marks = [
      ["pull", this.mark(new THREE.SphereGeometry(0.12, 16, 12))],
      ["vortex", this.vortex],
      ["pour", this.mark(new THREE.ConeGeometry(0.28, 0.5, 20).rotateX(Math.PI))],
      ["dye", this.mark(new THREE.SphereGeometry(0.4, 24, 16))],
      ["drain", this.mark(new THREE.CylinderGeometry(0.45, 0.1, 0.5, 24, 1, true))],
      ["throw", this.mark(new THREE.SphereGeometry(0.5, 24, 16))],
      ["wall", this.mark(new THREE.BoxGeometry(0.4, 1.2, 0.4))],
    ];
    this.mesh.visible = false;
  }

  /** Shows the tool at a place in tank coordinates, or hides it where there is none. */
  place(at: readonly number[] | null, look: CursorLook): void {
    this.mesh.visible = at !== null;
    if (at === null) return;
    this.mesh.position.set(at[0] as number, at[1] as number, at[2] as number);
    this.mesh.scale.setScalar(look.radiusM);
    const isOwn = look.tool === "dye" || look.tool === "pour";
    const colour = isOwn ? look.colour : COLOURS[look.tool];
    const shade = this.light.roomOpen.value === 0 || isOwn ? 1 : SHADE;
    const uniforms = this.rim.uniforms as Record<"strength" | "tint" | "fill", THREE.IUniform>;
    uniforms.strength.value = look.pressed ? 0.85 : 0.38;
    uniforms.fill.value = look.tool === "dye" ? 0.15 : 0;
    // The picture's own values are sRGB already.
    uniforms.tint.value.setHex(colour, THREE.LinearSRGBColorSpace).multiplyScalar(shade);
    this.inside.color.setHex(colour, THREE.LinearSRGBColorSpace).multiplyScalar(shade);
    this.inside.opacity = look.pressed ? 0.9 : 0.5;
    for (const [tool, mark] of this.marks) mark.visible = tool === look.tool;
    // A vortex turns about the line of sight.
    this.axis.set(look.sight[0] as number, look.sight[1] as number, look.sight[2] as number);
    this.vortex.quaternion.setFromUnitVectors(this.ahead, this.axis);
  }

  private mark(geometry: THREE.BufferGeometry): THREE.Mesh {
    const mesh = ordered(new THREE.Mesh(geometry, this.inside));
    this.mesh.add(mesh);
    return mesh;
  }
}

function ordered(mesh: THREE.Mesh): THREE.Mesh {
  mesh.renderOrder = 30;
  mesh.layers.set(LAYER.front);
  return mesh;
}
