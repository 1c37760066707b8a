// What hides marks that are drawn over a picture: what is opaque, and nothing else. A fluid has left its own depths by then,
// and marks are to be seen through it. So all depths are forgotten, and those of opaque things written once more.
//
// Which things those are is found out from their materials, wherever they are in the scene; each gets a mesh of the same
// shape, which shows nothing, as a child. All of it is drawn with what is at the front, before the marks.
import * as THREE from "three";
import { LAYER } from "../layers.js";

/** Before all marks. */
const FORGET_ORDER = 21;
const OPAQUE_ORDER = 21.5;

const forgetVertex = /* glsl */ `
void main() { gl_Position = vec4(position.xy, 1.0, 1.0); }`;

const opaqueVertex = /* glsl */ `
void main() {
  vec4 at = vec4(position, 1.0);
#ifdef USE_INSTANCING
  at = instanceMatrix * at;
#endif
  gl_Position = projectionMatrix * modelViewMatrix * at;
}`;

const nothing = /* glsl */ `
out vec4 colour;
void main() { colour = vec4(0.0); }`;

export class OpaqueDepths {
  /** Has all depths forgotten; to be added to the scene. */
  readonly forget: THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial>;
  private readonly material = unseen(opaqueVertex);
  /** Things that have been looked at. */
  private readonly known = new WeakSet<THREE.Object3D>();

  constructor() {
    const everywhere = new THREE.BufferGeometry();
    everywhere.setAttribute("position", new THREE.Float32BufferAttribute([-1, -1, 0, 3, -1, 0, -1, 3, 0], 3));
    this.forget = new THREE.Mesh(everywhere, unseen(forgetVertex));
    this.forget.material.depthFunc = THREE.AlwaysDepth;
    this.forget.frustumCulled = false;
    this.forget.renderOrder = FORGET_ORDER;
    this.forget.layers.set(LAYER.front);
    this.show(false);
  }

  /** @param on  whether there are marks that something may hide */
  show(on: boolean): void {
    this.forget.material.visible = on;
    this.material.visible = on;
  }

  /** Once per picture with marks: things come and go. */
  see(scene: THREE.Object3D): void {
    scene.traverse(this.look);
  }

  private readonly look = (object: THREE.Object3D): void => {
    if (this.known.has(object)) return;
    this.known.add(object);
    if (!(object instanceof THREE.Mesh) || !isOpaque(object)) return;
    const mask = object.clone(false);
    mask.material = this.material;
    // Those of an instance go on being moved.
    if (object instanceof THREE.InstancedMesh) Object.assign(mask, { instanceMatrix: object.instanceMatrix });
    mask.matrix.identity().decompose(mask.position, mask.quaternion, mask.scale);
    mask.layers.set(LAYER.front);
    mask.renderOrder = OPAQUE_ORDER;
    this.known.add(mask);
    object.add(mask);
  };
}

function isOpaque({ layers, material }: THREE.Mesh): boolean {
  if (Array.isArray(material)) return false;
  // What shows its inside alone is behind all else.
  return (
    layers.isEnabled(LAYER.scene) &&
    !material.transparent &&
    material.depthWrite &&
    material.depthTest &&
    material.side !== THREE.BackSide
  );
}

/** Depths alone. It says that it is transparent, so that it comes in its turn. */
function unseen(vertexShader: string): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    vertexShader,
    fragmentShader: nothing,
    side: THREE.DoubleSide,
    transparent: true,
    colorWrite: false,
  });
}
