// What stands around the tank in a virtual room: a floor to stand on, a sky, and a table. On a real table nothing of it is
// drawn.
import * as THREE from "three";
import { dither } from "../shader/dither.js";
import { gridLine, groundVertex } from "../shader/ground.js";
import { type RoomUniforms, room } from "../shader/room.js";
import { tone } from "../shader/tone.js";
import { shaded } from "./shade.js";

const FLOOR_RADIUS_M = 8;
const SKY_RADIUS_M = 30;
const TABLE_RADIUS_M = 0.75;
const TABLE_THICKNESS_M = 0.03;
/** The tank stands so far above the table's top: what lies in one plane shows in turn. */
const TANK_ABOVE_M = 0.004;

export class Surroundings {
  readonly group = new THREE.Group();
  private readonly floor: THREE.Mesh;
  private readonly table = new THREE.Group();

  /** @param light  that the page's picture has, too */
  constructor(light: RoomUniforms) {
    this.floor = new THREE.Mesh(
      new THREE.CircleGeometry(FLOOR_RADIUS_M, 64).rotateX(-0.5 * Math.PI),
      floorMaterial(light),
    );
    this.floor.renderOrder = -8;
    const sky = new THREE.Mesh(new THREE.SphereGeometry(SKY_RADIUS_M, 24, 16), skyMaterial(light));
    sky.renderOrder = -9;
    const top = new THREE.Mesh(
      new THREE.CylinderGeometry(TABLE_RADIUS_M, TABLE_RADIUS_M, TABLE_THICKNESS_M, 48),
      shaded(0x26343d, THREE.FrontSide, light),
    );
    top.position.y = -0.5 * TABLE_THICKNESS_M;
    const foot = new THREE.Mesh(
      new THREE.CylinderGeometry(0.06, 0.09, 1, 24),
      shaded(0x1c272e, THREE.FrontSide, light),
    );
    foot.name = "foot";
    this.table.add(top, foot);
    this.group.add(sky, this.floor, this.table);
  }

  /** @param table  under the tank: where the middle of that stands in the room; null: none */
  fit(floorY: number, table: THREE.Vector3 | null): void {
    this.floor.position.y = floorY;
    this.table.visible = table !== null;
    if (table === null) return;
    this.table.position.copy(table);
    this.table.position.y -= TANK_ABOVE_M;
    const height = Math.max(0.01, this.table.position.y - floorY - TABLE_THICKNESS_M);
    const foot = this.table.getObjectByName("foot") as THREE.Mesh;
    foot.scale.y = height;
    foot.position.y = -TABLE_THICKNESS_M - 0.5 * height;
  }

  dispose(): void {
    this.group.traverse((object) => {
      if (!(object instanceof THREE.Mesh)) return;
      object.geometry.dispose();
      (object.material as THREE.Material).dispose();
    });
  }
}

function floorMaterial(light: RoomUniforms): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    transparent: true,
    depthWrite: false,
    uniforms: { ...light },
    vertexShader: groundVertex,
    fragmentShader: /* glsl */ `
      uniform float roomOpen;
      uniform vec3 tableColour;
      in vec2 at;
      out vec4 colour;
      ${gridLine}
      void main() {
        float line = gridLine(at * 2.0, 0.0);
        float fade = 1.0 - smoothstep(0.2, 1.0, length(at) / ${FLOOR_RADIUS_M.toFixed(1)});
        colour = vec4(mix(vec3(0.05, 0.10, 0.14), vec3(0.22, 0.42, 0.52), 0.5 * line), fade);
        if (roomOpen > 0.0) colour.rgb = tableColour * (0.9 - 0.08 * line);
      }`,
  });
}

function skyMaterial(light: RoomUniforms): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    side: THREE.BackSide,
    depthWrite: false,
    uniforms: { ...light },
    vertexShader: /* glsl */ `
      out vec3 at;
      void main() {
        at = position;
        gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
      }`,
    fragmentShader: /* glsl */ `
      uniform float roomOpen;
      in vec3 at;
      out vec4 colour;
      ${dither}
      ${room}
      ${tone}
      void main() {
        if (roomOpen > 0.0) {
          colour = vec4(shown(roomLight(normalize(at))) + dither(), 1.0);
          return;
        }
        float h = normalize(at).y;
        vec3 c = mix(vec3(0.075, 0.150, 0.205), vec3(0.020, 0.045, 0.075), smoothstep(0.0, 0.8, h));
        c = mix(c, vec3(0.016, 0.035, 0.055), smoothstep(0.0, 0.25, -h));
        colour = vec4(c + dither(), 1.0);
      }`,
  });
}
