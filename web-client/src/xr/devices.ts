// The two things in or at somebody's hands, as a session tells them in each picture: controllers or tracked hands, in the
// room. What is read here is plain numbers; no session is needed to use them.
import { Matrix4, Quaternion, Vector3 } from "three";
import type { Side } from "../protocol/headset-inputs.js";
import { HAND_JOINTS } from "../tables/protocol-tables.js";
import { areJoints, type HandPose, palmOf, readHandPose, WRIST } from "./hand-pose.js";

export interface Device {
  readonly side: Side;
  kind: "controller" | "hand";
  tracked: boolean;
  /** Of the tool: the controller's tip, or the palm. */
  readonly point: Vector3;
  readonly orientation: Quaternion;
  /** Along which it points: the origin, and -z of the orientation. */
  readonly rayOrigin: Vector3;
  readonly rayOrientation: Quaternion;
  /** Where a panel is worn. */
  readonly wrist: Vector3;
  readonly wristOrientation: Quaternion;
  trigger: number;
  /** Of a controller's grip. */
  squeeze: number;
  readonly stick: [number, number];
  /** Bit i: button i is pressed. */
  buttons: number;
  readonly pose: HandPose;
  /** Of a hand: x y z each. */
  readonly joints: Float32Array;
  readonly jointRadii: Float32Array;
}

/** The tip is so far before a controller's ray begins, metres. */
const TIP_M = 0.05;
const BUTTONS_MAX = 32;
/** Radius of joints that don't say theirs. */
const JOINT_M = 0.008;

/** Of "WebXR Hand Input", which the types leave out. */
interface JointFrame {
  fillPoses?(spaces: readonly XRSpace[], base: XRSpace, matrices: Float32Array): boolean;
  fillJointRadii?(spaces: readonly XRJointSpace[], radii: Float32Array): boolean;
}

export function newDevice(side: Side): Device {
  return {
    side,
    kind: "controller",
    tracked: false,
    point: new Vector3(),
    orientation: new Quaternion(),
    rayOrigin: new Vector3(),
    rayOrientation: new Quaternion(),
    wrist: new Vector3(),
    wristOrientation: new Quaternion(),
    trigger: 0,
    squeeze: 0,
    stick: [0, 0],
    buttons: 0,
    pose: { pinch: 0, fist: 0 },
    joints: new Float32Array(3 * HAND_JOINTS),
    jointRadii: new Float32Array(HAND_JOINTS),
  };
}

export class Devices {
  readonly left = newDevice("left");
  readonly right = newDevice("right");
  readonly both: readonly Device[] = [this.left, this.right];

  private readonly matrices = new Float32Array(16 * HAND_JOINTS);
  private readonly matrix = new Matrix4();
  private readonly scale = new Vector3();
  private readonly offset = new Vector3();
  private jointSpaces: XRJointSpace[] = [];

  /** Nothing is tracked. */
  lose(): void {
    for (const device of this.both) lose(device);
  }

  /**
   * Reads a picture's poses.
   * @param toRoom  from the session's space to the room
   */
  read(session: XRSession, frame: XRFrame, space: XRReferenceSpace, toRoom: Matrix4): void {
    let [left, right] = [false, false];
    for (const source of session.inputSources) {
      if (source.targetRayMode !== "tracked-pointer" || source.handedness === "none") continue;
      const device = source.handedness === "left" ? this.left : this.right;
      if (!this.readSource(source, frame, space, toRoom, device)) continue;
      if (device === this.left) left = true;
      else right = true;
    }
    if (!left) lose(this.left);
    if (!right) lose(this.right);
  }

  private readSource(
    source: XRInputSource,
    frame: XRFrame,
    space: XRReferenceSpace,
    toRoom: Matrix4,
    device: Device,
  ): boolean {
    const ray = frame.getPose(source.targetRaySpace, space);
    if (!ray) return false;
    this.place(ray.transform.matrix, toRoom, device.rayOrigin, device.rayOrientation);
    const isHand = source.hand !== undefined && source.hand !== null;
    device.kind = isHand ? "hand" : "controller";
    if (isHand) {
      if (!this.readHand(source.hand as XRHand, frame, space, toRoom, device)) return false;
    } else {
      device.orientation.copy(device.rayOrientation);
      device.point.copy(device.rayOrigin).add(this.forward(device.rayOrientation, TIP_M));
      device.wrist.copy(device.rayOrigin);
      device.wristOrientation.copy(device.rayOrientation);
    }
    readGamepad(source.gamepad, device);
    device.tracked = true;
    return true;
  }

  private readHand(
    hand: XRHand,
    frame: XRFrame,
    space: XRReferenceSpace,
    toRoom: Matrix4,
    device: Device,
  ): boolean {
    this.jointSpaces.length = 0;
    for (const joint of hand.values()) this.jointSpaces.push(joint);
    if (this.jointSpaces.length !== HAND_JOINTS) return false;
    const joints = frame as XRFrame & JointFrame;
    if (!joints.fillPoses?.(this.jointSpaces, space, this.matrices)) return false;
    if (!joints.fillJointRadii?.(this.jointSpaces, device.jointRadii)) device.jointRadii.fill(JOINT_M);
    for (let joint = 0; joint < HAND_JOINTS; joint++) {
      const m = this.matrices;
      this.offset.set(
        m[16 * joint + 12] as number,
        m[16 * joint + 13] as number,
        m[16 * joint + 14] as number,
      );
      this.offset.applyMatrix4(toRoom).toArray(device.joints, 3 * joint);
    }
    if (!areJoints(device.joints)) return false;
    this.place(this.matrices, toRoom, device.wrist, device.wristOrientation, WRIST);
    device.orientation.copy(device.wristOrientation);
    device.point.set(palmOf(device.joints, 0), palmOf(device.joints, 1), palmOf(device.joints, 2));
    readHandPose(device.joints, device.pose);
    return true;
  }

  private place(
    matrix: Float32Array,
    toRoom: Matrix4,
    position: Vector3,
    orientation: Quaternion,
    index = 0,
  ): void {
    this.matrix.fromArray(matrix, 16 * index).premultiply(toRoom);
    this.matrix.decompose(position, orientation, this.scale);
  }

  private forward(orientation: Quaternion, metres: number): Vector3 {
    return this.offset.set(0, 0, -metres).applyQuaternion(orientation);
  }
}

/** The order of the "xr-standard" mapping: trigger, squeeze, touchpad, thumbstick, others; axes of touchpad, thumbstick. */
function readGamepad(gamepad: Gamepad | undefined, device: Device): void {
  device.trigger = share(gamepad?.buttons[0]?.value);
  device.squeeze = share(gamepad?.buttons[1]?.value);
  device.stick[0] = share(gamepad?.axes[2], -1);
  device.stick[1] = share(gamepad?.axes[3], -1);
  device.buttons = 0;
  const count = Math.min(BUTTONS_MAX, gamepad?.buttons.length ?? 0);
  for (let i = 0; i < count; i++) if (gamepad?.buttons[i]?.pressed) device.buttons |= 1 << i;
  device.buttons >>>= 0;
}

function lose(device: Device): void {
  device.tracked = false;
  device.trigger = device.squeeze = device.buttons = 0;
  device.stick[0] = device.stick[1] = 0;
  device.pose.pinch = device.pose.fist = 0;
}

function share(value: number | undefined, low = 0): number {
  return value !== undefined && Number.isFinite(value) ? Math.min(1, Math.max(low, value)) : 0;
}
