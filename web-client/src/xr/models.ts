// What stands for controllers and hands: a handle with a bright tip, spheres for joints, the sphere of the tool, and a ray
// to the panel. Made here; nothing is fetched.
import * as THREE from "three";
import { HAND_JOINTS } from "../tables/protocol-tables.js";
import type { Device } from "./devices.js";
import { rim, shaded } from "./shade.js";

/** Display value of the tip, which nothing shades. */
export const TIP_COLOUR = 0xff8c1a;
const TIP_RADIUS_M = 0.008;
const HANDLE_COLOUR = 0x5a6a74;
const HAND_COLOUR = 0x9fb8c4;
const TOOL_COLOUR = 0xbff2ff;

/** For a material that nothing shades: three would make the value linear, and nothing makes it sRGB again. */
function displayed(hex: number): THREE.Color {
  return new THREE.Color().setHex(hex, THREE.LinearSRGBColorSpace);
}

export class DeviceModel {
  readonly group = new THREE.Group();
  /** What is seen through, or has no depth of its own. */
  readonly seenThrough: readonly THREE.Object3D[];
  private readonly handle = new THREE.Group();
  private readonly joints: THREE.InstancedMesh;
  private readonly tool: THREE.Mesh<THREE.SphereGeometry, THREE.ShaderMaterial>;
  private readonly ray: THREE.Line<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  private readonly matrix = new THREE.Matrix4();
  private readonly position = new THREE.Vector3();
  private readonly scale = new THREE.Vector3();
  private readonly upright = new THREE.Quaternion();

  constructor() {
    const tip = new THREE.Mesh(
      new THREE.SphereGeometry(TIP_RADIUS_M, 16, 10),
      new THREE.MeshBasicMaterial({ color: displayed(TIP_COLOUR) }),
    );
    tip.position.z = -0.05;
    const grip = new THREE.Mesh(new THREE.CapsuleGeometry(0.014, 0.09, 4, 12), shaded(HANDLE_COLOUR));
    grip.rotation.x = 0.5 * Math.PI - 0.5;
    grip.position.set(0, -0.025, 0.05);
    const ring = new THREE.Mesh(new THREE.TorusGeometry(0.03, 0.004, 8, 24), shaded(HANDLE_COLOUR));
    ring.rotation.x = 0.5 * Math.PI;
    const neck = new THREE.Mesh(new THREE.CylinderGeometry(0.003, 0.006, 0.045, 10), shaded(HANDLE_COLOUR));
    neck.rotation.x = -0.5 * Math.PI;
    neck.position.z = -0.025;
    this.handle.add(tip, grip, ring, neck);

    this.joints = new THREE.InstancedMesh(
      new THREE.SphereGeometry(1, 12, 8),
      shaded(HAND_COLOUR),
      HAND_JOINTS,
    );
    this.joints.frustumCulled = false;

    this.tool = new THREE.Mesh(new THREE.SphereGeometry(1, 32, 20), rim(TOOL_COLOUR));
    this.tool.renderOrder = 30;

    const points = new THREE.BufferGeometry().setFromPoints([
      new THREE.Vector3(),
      new THREE.Vector3(0, 0, -1),
    ]);
    this.ray = new THREE.Line(points, new THREE.LineBasicMaterial({ color: displayed(TOOL_COLOUR) }));
    this.seenThrough = [this.tool, this.ray];
    this.group.add(this.handle, this.joints, this.tool, this.ray);
  }

  /**
   * @param toolRadiusM  in the room
   * @param rayM         length of the ray to the panel; 0: none
   */
  show(device: Device, toolRadiusM: number, acts: boolean, holds: boolean, rayM: number): void {
    this.group.visible = device.tracked;
    if (!device.tracked) return;
    const isHand = device.kind === "hand";
    this.handle.visible = !isHand;
    this.joints.visible = isHand;
    this.handle.position.copy(device.rayOrigin);
    this.handle.quaternion.copy(device.rayOrientation);
    if (isHand) this.showJoints(device);

    this.tool.visible = !holds;
    this.tool.position.copy(device.point);
    this.tool.quaternion.copy(device.orientation);
    this.tool.scale.setScalar(toolRadiusM);
    (this.tool.material.uniforms.strength as THREE.IUniform).value = acts ? 0.8 : 0.35;

    this.ray.visible = rayM > 0;
    this.ray.position.copy(device.rayOrigin);
    this.ray.quaternion.copy(device.rayOrientation);
    this.ray.scale.setScalar(Math.max(1e-3, rayM));
  }

  dispose(): void {
    this.group.traverse((object) => {
      if (!(object instanceof THREE.Mesh || object instanceof THREE.Line)) return;
      object.geometry.dispose();
      (object.material as THREE.Material).dispose();
    });
    this.joints.dispose();
  }

  private showJoints(device: Device): void {
    for (let i = 0; i < HAND_JOINTS; i++) {
      this.position.fromArray(device.joints, 3 * i);
      this.scale.setScalar(Math.max(0.004, device.jointRadii[i] as number));
      this.joints.setMatrixAt(i, this.matrix.compose(this.position, this.upright, this.scale));
    }
    this.joints.instanceMatrix.needsUpdate = true;
  }
}
