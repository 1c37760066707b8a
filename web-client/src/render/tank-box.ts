// The tank itself: panes of thin glass, a frame of slender bars and a floor with a grid. Everything is built in tank
// coordinates (metres, origin at the lowest corner).
import * as THREE from "three";
import { EXTINCTION } from "../codec/light-volume.js";
import { absorbedPerEdge } from "../shader/absorption.js";
import { dither } from "../shader/dither.js";
import { grazing } from "../shader/grazing.js";
import { gridLine, groundVertex } from "../shader/ground.js";
import { type RoomUniforms, room } from "../shader/room.js";
import { tone } from "../shader/tone.js";
import { LAYER } from "./layers.js";
import { type SolidShadows, solidShadows } from "./solid-shadows.js";
import { sunlight, type TankShared, web } from "./tank-light.js";

const glassVertex = /* glsl */ `
out vec3 toEye;
out vec3 facing;
out vec3 at;
void main() {
  vec4 view = modelViewMatrix * vec4(position, 1.0);
  toEye = -view.xyz;
  facing = normalMatrix * normal;
  at = uv.xyx;
  gl_Position = projectionMatrix * view;
}`;

const glassFragment = /* glsl */ `
uniform float strength;
uniform float roomOpen;
in vec3 at;
out vec4 colour;
${grazing}
${room}
${tone}
void main() {
  float fresnel = 0.04 + 0.96 * pow(grazing(), 4.0);
  float streak = smoothstep(0.32, 0.36, at.x + 0.35 * at.y) * (1.0 - smoothstep(0.52, 0.60, at.x + 0.35 * at.y));
  float a = strength * (0.10 + 0.50 * fresnel + 0.10 * streak);
  colour = vec4(vec3(0.62, 0.86, 0.96), a);
  if (roomOpen == 0.0) return;
  // Before what is bright glass is what it mirrors, and a little green where it is seen from its edge.
  vec3 normal = normalize(facing) * (gl_FrontFacing ? 1.0 : -1.0);
  vec3 mirrored = softRoom(reflect(-normalize(toEye), normal) * mat3(viewMatrix));
  vec2 border = min(at.xy, 1.0 - at.xy);
  float edge = exp(-60.0 * min(border.x, border.y));
  colour.rgb = mix(mix(vec3(0.70, 0.86, 0.83), shown(mirrored), 0.4 + 0.6 * fresnel), vec3(0.42, 0.64, 0.60), edge);
  colour.a += strength * (0.35 * streak + 0.8 * edge);
}`;

const tableVertex = /* glsl */ `
out vec3 place;
out vec3 facing;
void main() {
  place = position;
  facing = normal;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

/** Panes that shine by themselves, like a light table: less at their edges, and where the dye's shadow falls. */
const tableFragment = /* glsl */ `
in vec3 place;
in vec3 facing;
out vec4 colour;
${dither}
${sunlight}
void main() {
  vec3 at = clamp(place / tankSize, 0.0, 1.0);
  vec3 across = mix(4.0 * at * (1.0 - at), vec3(1.0), abs(facing));
  float middle = pow(across.x * across.y * across.z, 0.3);
  float side = dot(abs(facing), vec3(0.95, 0.91, 1.0));
  vec3 light = mix(vec3(0.60, 0.72, 0.80), vec3(0.95, 0.97, 0.98), middle) * side * (0.88 + 0.12 * at.y);
  light *= mix(vec3(0.72, 0.76, 0.84), vec3(1.0), sunlight(place));
  colour = vec4(light + dither(), 1.0);
}`;
/** A bar is at least so wide, pixels. */
const BAR_PX = 1.4;

const barVertex = /* glsl */ `
uniform vec3 along;      // 1 along the bar
uniform float width;     // metres
uniform float viewHeight;
out vec3 facing;
void main() {
  facing = normalMatrix * normal;
  vec4 view = modelViewMatrix * vec4(position, 1.0);
  float pixels = 0.5 * viewHeight * projectionMatrix[1][1] / -view.z; // of a metre
  vec3 wider = sign(position) * (1.0 - along) * 0.5 * max(0.0, ${BAR_PX.toFixed(1)} / pixels - width);
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position + wider, 1.0);
}`;

const barFragment = /* glsl */ `
uniform vec3 barDark;
uniform vec3 barBright;
uniform vec3 roomSun;
in vec3 facing;
out vec4 colour;
void main() {
  float lit = smoothstep(0.2, 0.9, dot(normalize(facing) * mat3(viewMatrix), roomSun));
  colour = vec4(mix(barDark, barBright, lit), 1.0);
}`;

export class TankBox {
  readonly group = new THREE.Group();
  private readonly size = new THREE.Vector3();
  /** What is seen through the tank: its floor and its glass, or light behind clear liquid. */
  private dark: THREE.Object3D[] = [];
  private bright: THREE.Object3D[] = [];
  private lit = false;

  /** @param shared  of the particles' programs: the light volume and its scale, the moment, the view's height */
  constructor(
    private readonly shared: TankShared,
    private readonly light: RoomUniforms,
    private readonly shadows: SolidShadows["uniforms"],
  ) {}

  /** Builds the tank for a size; does nothing where it is built already. */
  fit(size: THREE.Vector3): void {
    if (this.size.equals(size)) return;
    this.size.copy(size);
    for (const child of [...this.group.children]) {
      this.group.remove(child);
      if (!(child instanceof THREE.Mesh)) continue;
      child.geometry.dispose();
      (child.material as THREE.Material).dispose();
    }
    const box = new THREE.BoxGeometry(size.x, size.y, size.z);
    box.translate(size.x / 2, size.y / 2, size.z / 2);
    const back = new THREE.Mesh(box, glass(THREE.BackSide, 0.3, this.light));
    back.renderOrder = 0;
    const front = new THREE.Mesh(box, glass(THREE.FrontSide, 0.22, this.light));
    front.renderOrder = 20;
    front.layers.set(LAYER.front);
    const floor = this.floor(size);
    const table = new THREE.Mesh(box, this.tableMaterial());
    this.group.add(floor, back, table, front, ...this.bars(size));
    this.dark = [floor, back];
    this.bright = [table];
    this.lightUp(this.lit);
  }

  /** Whether light comes through the panes behind the tank. */
  lightUp(on: boolean): void {
    this.lit = on;
    for (const object of this.dark) object.visible = !on;
    for (const object of this.bright) object.visible = on;
  }

  private tableMaterial(): THREE.ShaderMaterial {
    return new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3,
      vertexShader: tableVertex,
      fragmentShader: tableFragment,
      uniforms: { ...this.shared },
      defines: { MARCH_STEPS: 6 },
      side: THREE.BackSide,
    });
  }

  private bars(size: THREE.Vector3): THREE.Mesh[] {
    const width = 0.0042 * Math.cbrt(size.x * size.y * size.z);
    const meshes: THREE.Mesh[] = [];
    const lengths = [size.x, size.y, size.z];
    for (let axis = 0; axis < 3; axis++) {
      for (let corner = 0; corner < 4; corner++) {
        const dims = [width, width, width];
        dims[axis] = (lengths[axis] as number) + width;
        const centre = [0, 0, 0];
        centre[axis] = (lengths[axis] as number) / 2;
        const [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
        centre[b] = corner & 1 ? (lengths[b] as number) : 0;
        centre[c] = corner & 2 ? (lengths[c] as number) : 0;
        const along = new THREE.Vector3().setComponent(axis, 1);
        const bar = new THREE.Mesh(
          new THREE.BoxGeometry(...(dims as [number, number, number])),
          barMaterial(along, width, { viewHeight: this.shared.viewHeight, ...this.light }),
        );
        // Those at the front are drawn again over the water, so that their edges are as smooth as elsewhere.
        bar.layers.enable(LAYER.front);
        bar.position.set(...(centre as [number, number, number]));
        bar.renderOrder = 5;
        meshes.push(bar);
      }
    }
    return meshes;
  }

  private floor(size: THREE.Vector3): THREE.Mesh {
    const material = new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3,
      transparent: true,
      depthWrite: false,
      side: THREE.DoubleSide,
      uniforms: {
        pitch: { value: Math.max(size.x, size.z) / 16 },
        ...this.shared,
        ...this.light,
        ...this.shadows,
      },
      defines: { MARCH_STEPS: 6 },
      vertexShader: groundVertex,
      fragmentShader: /* glsl */ `
        uniform float pitch;
        uniform float momentS;
        uniform float roomOpen;
        uniform vec3 tileColour;
        uniform vec3 lineColour;
        uniform float floorCover;
        uniform float pigment;     // 1: the liquid has a colour that isn't known here
        const float EXTINCTION = ${EXTINCTION.toFixed(2)}; // of the light volume, for a tank full of water
        const float STEEP = 1.15;  // way of the sun's light through water, for its depth
        // Of what a bright floor scatters, what meets the surface beyond the critical angle comes down again.
        const float RETURNED = 0.2;
        const vec3 ABSORBED = ${absorbedPerEdge()};  // of an edge of a cube as large as the tank
        in vec2 at;
        out vec4 colour;
        ${gridLine}
        ${sunlight}
        ${solidShadows}
        ${web}
        /** How much water is above a place, as far as light is concerned. */
        float above(vec2 uv) { return -log(max(textureLod(lightVolume, vec3(uv.x, 0.0, uv.y), 0.0).r, 0.01)); }
        /** Daylight that comes through water to a place of the floor, for the picture's own values. @param lit  by the sun, 0..1 */
        vec3 throughWater(float lit) {
          // Where more water is above than around, it gathers the light: caustics, coarsely. The rest is shadow.
          vec2 uv = at * voxelsPerMetre.xz;
          vec2 off = 1.3 / vec2(textureSize(lightVolume, 0).xz);
          float here = above(uv);
          float around = 0.25 * (above(uv + vec2(off.x, 0.0)) + above(uv - vec2(off.x, 0.0)) +
                                 above(uv + vec2(0.0, off.y)) + above(uv - vec2(0.0, off.y)));
          float wet = smoothstep(0.02, 0.2, here);
          float gathered = clamp(6.0 * (here - around), -0.5, 1.5) * wet;
          float edges = STEEP * here / EXTINCTION * tankSize.y / pow(tankSize.x * tankSize.y * tankSize.z, 0.3333);
          float focus = 1.0 + mix(0.8, 0.25, roomOpen) * gathered;
          // In a bright room the net is wide and soft.
          float net = mix(0.75 * web(1.3 * at / pitch) - 0.2, 0.4 * web(0.8 * at / pitch) - 0.08, roomOpen);
          focus = mix(1.0, focus * (1.0 + wet * exp(-0.35 * here) * net), lit);
          if (roomOpen > 0.0 && pigment == 0.0) {
            vec3 down = exp(-ABSORBED * edges);
            return pow(down * (1.0 + RETURNED * wet * down * down) * focus, vec3(1.0 / 2.2));
          }
          return vec3(mix(mix(0.45, 0.65, roomOpen), 1.0, exp(-0.5 * here)) * focus);
        }
        void main() {
          float grid = gridLine(at / pitch, 0.0);
          float lit = 1.0 - inShadow(vec3(at.x, 0.0, at.y));
          vec3 light = shadowing > 0.0 ? vec3(mix(mix(0.3, 0.55, roomOpen), 1.0, sunlight(vec3(at.x, 0.0, at.y)))) : throughWater(lit);
          light *= mix(SHADE, vec3(1.0), lit);
          vec3 tile = mix(tileColour, lineColour, grid * 0.55) * light;
          colour = vec4(tile, min(floorCover + 0.1 * grid, 1.0));
        }`,
    });
    const geometry = new THREE.PlaneGeometry(size.x, size.z).rotateX(-Math.PI / 2);
    geometry.translate(size.x / 2, 0, size.z / 2);
    const mesh = new THREE.Mesh(geometry, material);
    mesh.renderOrder = -1;
    return mesh;
  }
}

function barMaterial(
  along: THREE.Vector3,
  width: number,
  shared: Record<string, THREE.IUniform>,
): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    vertexShader: barVertex,
    fragmentShader: barFragment,
    uniforms: { along: { value: along }, width: { value: width }, ...shared },
    polygonOffset: true,
    polygonOffsetFactor: -1,
    polygonOffsetUnits: -4,
  });
}

function glass(side: THREE.Side, strength: number, light: RoomUniforms): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    vertexShader: glassVertex,
    fragmentShader: glassFragment,
    uniforms: { strength: { value: strength }, ...light },
    transparent: true,
    depthWrite: false,
    side,
  });
}
