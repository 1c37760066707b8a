// A session with a headset, from its beginning to its end: poses in, inputs and the tank's place out.
//
//     session ─ devices ─┬─ grasp ─┬─ tank-stand ─▶ where the tank stands, its tilt to the server
//                        │         └─ tracked-input ─▶ the protocol's controllers and hands
//                        ├─ locomotion ─▶ the rig that carries the eyes
//                        └─ panel-layout, wrist-panel ─▶ scene, tool, pause and the like
import * as THREE from "three";
import { type Device, Devices } from "./devices.js";
import { type Around, Grasping } from "./grasp.js";
import { INDEX_TIP } from "./hand-pose.js";
import type { XrHost, XrMode } from "./host.js";
import { acts } from "./inputs.js";
import { Locomotion } from "./locomotion.js";
import { DeviceModel } from "./models.js";
import { OwnPresence } from "./own-presence.js";
import { Pacing } from "./pacing.js";
import {
  buttonAt,
  isAtPanel,
  isOffered,
  PANEL_LINES,
  type PanelButton,
  type PanelHit,
  rayHit,
  Touch,
  touchHit,
} from "./panel-layout.js";
import { tableHeight } from "./placement.js";
import { ScreenTouches } from "./screen-touches.js";
import { Surroundings } from "./surroundings.js";
import { TankStand } from "./tank-stand.js";
import { TrackedInput } from "./tracked-input.js";
import { WristPanel } from "./wrist-panel.js";

/** Metres. */
const NEAR_M = 0.03;
const FAR_M = 60;
/** Where the floor is unknown: so far below the eyes. */
const EYES_M = 1.5;
/** Displays that don't say their rate, pictures per second. */
const RATE = 72;
/** A body is taken hold of from so far off, in addition to the tool's radius, metres of the room. */
const REACH_M = 0.02;
const NOBODY: readonly [] = [];
/** What is measured is shown anew so often: a picture of the panel is large. */
const LINES_EVERY_MS = 200;
/** Of the "xr-standard" mapping: A. While it is held the stick sets the strength instead of the size. */
const STRENGTH_BUTTON = 1 << 4;
const UP = new THREE.Vector3(0, 1, 0);

interface Side {
  device: Device;
  grasping: Grasping;
  around: Around;
  input: TrackedInput;
  model: DeviceModel;
  touch: Touch;
}

export class Headset {
  mode: XrMode | null = null;
  readonly tank: TankStand;
  readonly panel = new WristPanel();
  /** What the wrist panel says of what is measured. */
  lines: readonly string[] = [];
  /** Of the newest picture. */
  readonly eyes = new THREE.Vector3();

  private readonly devices = new Devices();
  private readonly sides: readonly [Side, Side];
  private readonly rig = new THREE.Group();
  private readonly shown = new THREE.Group();
  private readonly surroundings: Surroundings;
  private readonly locomotion = new Locomotion();
  private readonly pacing = new Pacing();
  private readonly presence = new OwnPresence();
  private readonly touches: ScreenTouches;
  private readonly holding: Device[] = [];
  private readonly head = new THREE.Quaternion();
  private readonly matrix = new THREE.Matrix4();
  private readonly point = new THREE.Vector3();
  private readonly turn = new THREE.Quaternion();
  private readonly table = new THREE.Vector3();
  private readonly hit: PanelHit = { x: 0, y: 0, distance: 0 };
  private session: XRSession | null = null;
  private space: XRReferenceSpace | null = null;
  private hasFloor = true;
  private placed = false;
  private tickedMs = Number.NaN;
  private linesMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly host: XrHost) {
    this.tank = new TankStand(host);
    this.surroundings = new Surroundings(host.stage.light.uniforms);
    this.touches = new ScreenTouches(host, this.tank.stand);
    this.sides = [this.side(this.devices.left), this.side(this.devices.right)];
    this.shown.add(this.surroundings.group, this.panel.mesh, ...this.sides.map(({ model }) => model.group));
    for (const object of [this.panel.mesh, ...this.sides.flatMap(({ model }) => model.seenThrough)])
      host.stage.drawLast(object);
    host.stage.renderer.xr.addEventListener("sessionend", this.ended);
  }

  /** Shows the tank in a session that was granted. @throws where the headset can't be drawn on */
  async begin(session: XRSession, mode: XrMode): Promise<void> {
    const { renderer, scene, camera } = this.host.stage;
    this.session = session;
    this.touches.begin(session);
    this.hasFloor = await hasSpace(session, "local-floor");
    this.placed = false;
    this.tickedMs = Number.NaN;
    const { tier, pinned } = this.host.tier();
    this.pacing.begin(tier, pinned);
    renderer.xr.setReferenceSpaceType(this.hasFloor ? "local-floor" : "local");
    renderer.xr.setFramebufferScaleFactor(this.pacing.scale);
    renderer.xr.enabled = true;
    this.rig.position.set(0, 0, 0);
    this.rig.rotation.set(0, 0, 0);
    this.rig.add(camera);
    scene.add(this.rig, this.shown);
    this.surroundings.group.visible = mode === "immersive-vr";
    this.host.stage.wear(true);
    this.host.changed(true);
    this.host.stage.show(tier);
    try {
      await renderer.xr.setSession(session);
    } catch (error) {
      await session.end().catch(() => {});
      this.ended();
      throw error;
    }
    renderer.xr.setFoveation(this.pacing.foveation);
    camera.near = NEAR_M;
    camera.far = FAR_M;
    this.mode = mode;
  }

  /** Asks the session to end; what follows is the same as when the device ends it. */
  leave(): void {
    this.session?.end().catch(() => {});
  }

  /** Once per picture, before it is drawn. */
  tick(nowMs: number): void {
    const { renderer } = this.host.stage;
    const frame = renderer.xr.getFrame();
    const space = renderer.xr.getReferenceSpace();
    if (this.mode === null || this.session === null || frame === null || space === null) return;
    this.watch(space);
    const elapsedS = Number.isNaN(this.tickedMs) ? 0 : (nowMs - this.tickedMs) / 1000;
    this.tickedMs = nowMs;
    if (this.pacing.tick(nowMs, 1000 / (this.session.frameRate || RATE))) {
      renderer.xr.setFoveation(this.pacing.foveation);
      this.host.stage.show(this.pacing.tier);
    }

    const viewer = frame.getViewerPose(space);
    this.rig.updateMatrixWorld(true);
    if (viewer) this.see(viewer.transform.matrix);
    if (viewer && this.session.visibilityState === "visible")
      this.devices.read(this.session, frame, space, this.rig.matrixWorld);
    else this.devices.lose();
    if (viewer && !this.placed) this.put();

    this.walk(elapsedS);
    this.work(nowMs);
    if (this.session === null) return; // a button ended it
    this.tank.tick(this.holding, nowMs);
    for (const side of this.sides) this.act(side, nowMs);
    if (viewer && this.session.visibilityState === "visible")
      this.touches.tick(
        this.session,
        frame,
        space,
        this.rig.matrixWorld,
        this.tank.toTank,
        this.host.stage.sizeM,
      );
    else this.touches.lose();
    this.show(Boolean(viewer) && this.session.visibilityState !== "hidden");
  }

  /** Tells the others where the person is; nowhere while the headset doesn't know. */
  private show(isThere: boolean): void {
    const { tank, host } = this;
    host.presence(
      isThere
        ? this.presence.tell(this.eyes, this.head, this.sides, tank.toTank, tank.turnToTank, host.tool)
        : NOBODY,
    );
  }

  private side(device: Device): Side {
    return {
      device,
      grasping: new Grasping(),
      around: { bodyNear: () => this.isBodyNear(device), toolHere: () => this.isToolHere(device) },
      input: new TrackedInput(device.side, this.host),
      model: new DeviceModel(),
      touch: new Touch(),
    };
  }

  /** The person asked the system to centre the view: the tank comes along. */
  private watch(space: XRReferenceSpace): void {
    if (space === this.space) return;
    this.space = space;
    space.addEventListener("reset", () => {
      this.placed = false;
    });
  }

  private see(matrix: Float32Array): void {
    this.matrix.fromArray(matrix).premultiply(this.rig.matrixWorld);
    this.matrix.decompose(this.eyes, this.head, this.point);
  }

  /** Where the person looks, about the vertical. */
  private get yaw(): number {
    this.point.set(0, 0, -1).applyQuaternion(this.head);
    // Someone who looks straight down or up has the forehead or the neck in front.
    if (Math.hypot(this.point.x, this.point.z) < 0.2)
      this.point.set(0, this.point.y < 0 ? 1 : -1, 0).applyQuaternion(this.head);
    return Math.atan2(-this.point.x, -this.point.z);
  }

  private put(): void {
    this.placed = true;
    const floorY = this.hasFloor ? 0 : this.eyes.y - EYES_M;
    this.tank.put(this.eyes, this.yaw, floorY);
    const { position } = this.tank.stand;
    const isOnTable = this.tank.placement === "table";
    this.table.set(position.x, tableHeight(this.eyes.y, floorY), position.z);
    this.surroundings.fit(floorY, isOnTable ? this.table : null);
    this.touches.forgetDrag();
    this.forgetMotion();
  }

  /** With the thumbsticks: in a virtual room the person moves, on a real table the tank. */
  private walk(elapsedS: number): void {
    const { locomotion, rig } = this;
    locomotion.tick(this.devices.left.stick, this.devices.right.stick, this.yaw, elapsedS);
    if (locomotion.sizeFactor !== 1) {
      if (this.devices.right.buttons & STRENGTH_BUTTON) this.host.strengthenTool(locomotion.sizeFactor);
      else this.host.resizeTool(locomotion.sizeFactor);
    }
    if (this.mode === "immersive-ar") {
      if (this.holding.length > 0) return;
      const { stand } = this.tank;
      stand.position.x += locomotion.dx;
      stand.position.z += locomotion.dz;
      stand.yaw += locomotion.turn;
      if (locomotion.turn !== 0) this.forgetMotion();
      return;
    }
    rig.position.x += locomotion.dx;
    rig.position.z += locomotion.dz;
    if (locomotion.turn === 0) return;
    // About the head, so that one turns on the spot.
    this.turn.setFromAxisAngle(UP, locomotion.turn);
    rig.position.sub(this.eyes).applyQuaternion(this.turn).add(this.eyes);
    rig.quaternion.premultiply(this.turn);
    this.forgetMotion();
  }

  /** Everything has jumped: how fast it was says nothing. */
  private forgetMotion(): void {
    for (const { input } of this.sides) input.pose.motion.reset();
  }

  /** Grips, triggers, and the panel at the left wrist. */
  private work(nowMs: number): void {
    const { left } = this.devices;
    if (left.tracked) this.panel.follow(left.kind, left.wrist, left.wristOrientation, this.eyes);
    else this.panel.hide();
    let over: PanelButton | null = null;
    let pressed: PanelButton | null = null;
    this.holding.length = 0;
    for (const side of this.sides) {
      const { device, grasping, model, around } = side;
      const pointed = this.pointed(device);
      const clicks = grasping.tick(device, pointed !== null, around);
      const touched = this.touched(side);
      over = pointed ?? over;
      pressed = touched ?? (clicks ? pointed : null) ?? pressed;
      if (grasping.now === "tank") this.holding.push(device);
      const radius = this.host.tool.radiusM * this.tank.stand.scale;
      const rayM = pointed === null ? 0 : this.hit.distance;
      model.show(device, radius, acts(device, grasping, this.host.tool.tool), grasping.now === "tank", rayM);
    }
    if (pressed !== null && isOffered(pressed, this.host.state().may)) this.press(pressed, nowMs);
    if (nowMs - this.linesMs >= LINES_EVERY_MS) {
      this.linesMs = nowMs;
      const ruler = this.ruler();
      // The ruler has a line of its own, however much is measured.
      this.lines = [
        ...this.host.measured().slice(0, PANEL_LINES - (ruler === null ? 0 : 1)),
        ...(ruler ?? []),
      ];
    }
    if (this.panel.mesh.visible) this.showPanel(over);
  }

  /** @param over  the button that is pointed at */
  private showPanel(over: PanelButton | null): void {
    const { scene, paused, speed, may } = this.host.state();
    const { tool, strength, colour } = this.host.tool;
    this.panel.show(
      {
        scene,
        paused,
        speed,
        tool,
        strength,
        colour,
        placement: this.tank.placement,
        may,
        lines: this.lines,
      },
      over !== null && isOffered(over, may) ? over : null,
    );
  }

  /** A line: how far the tips of both hands are from each other, in the tank's metres; null where one isn't seen. */
  private ruler(): readonly [string] | null {
    const { left, right } = this.devices;
    if (!left.tracked || !right.tracked) return null;
    const metres = left.point.distanceTo(right.point) / this.tank.stand.scale;
    return [`Tip to tip: ${metres.toFixed(3)} m`];
  }

  /** The button that the right hand points at. */
  private pointed(device: Device): PanelButton | null {
    const { mesh } = this.panel;
    if (!mesh.visible || !device.tracked || device.side === "left") return null;
    const { position, quaternion } = mesh;
    if (!rayHit(position, quaternion, device.rayOrigin, device.rayOrientation, this.hit)) return null;
    return buttonAt(this.hit.x, this.hit.y);
  }

  /** The button that the right hand's finger, or its controller's end, has just touched. */
  private touched({ device, grasping, touch }: Side): PanelButton | null {
    const { mesh } = this.panel;
    if (device.side === "left") return null;
    if (!mesh.visible || !device.tracked) {
      touch.tick(null);
      return null;
    }
    if (device.kind === "hand") this.point.fromArray(device.joints, 3 * INDEX_TIP);
    else this.point.copy(device.point);
    const hit = { x: 0, y: 0, distance: 0 };
    const isOver = touchHit(mesh.position, mesh.quaternion, this.point, hit);
    if (device.kind === "hand" && isOver && isAtPanel(hit.distance)) grasping.touchPanel();
    return touch.tick(isOver ? hit.distance : null) ? buttonAt(hit.x, hit.y) : null;
  }

  private press(button: PanelButton, nowMs: number): void {
    switch (button) {
      case "scene-back":
        this.host.nextScene(-1);
        break;
      case "scene-next":
        this.host.nextScene(1);
        break;
      case "tool":
        this.host.nextTool();
        break;
      case "colour":
        this.host.nextColour();
        break;
      case "pause":
        this.host.togglePause();
        break;
      case "speed":
        this.host.changeSpeed();
        break;
      case "reset":
        this.host.reset();
        break;
      case "placement":
        this.tank.placement = this.tank.placement === "table" ? "floor" : "table";
        this.placed = false;
        break;
      case "level":
        this.tank.level(nowMs);
        break;
      case "leave":
        this.leave();
        break;
    }
  }

  private isBodyNear(device: Device): boolean {
    const reachM = this.host.tool.radiusM + REACH_M / this.tank.stand.scale;
    this.point.copy(device.point).applyMatrix4(this.tank.toTank);
    return this.host.stage.movingNear(this.point.toArray(), reachM) !== null;
  }

  /** In the tank a pinch uses a tool other than push, which an open hand does. */
  private isToolHere(device: Device): boolean {
    if (this.host.tool.tool === "push") return false;
    const { sizeM } = this.host.stage;
    const at = this.point.copy(device.point).applyMatrix4(this.tank.toTank).toArray();
    return at.every((x, axis) => x >= 0 && x <= (sizeM[axis] as number));
  }

  private act(side: Side, nowMs: number): void {
    side.input.tick(side.device, side.grasping, this.tank.toTank, this.tank.turnToTank, nowMs);
  }

  private readonly ended = (): void => {
    if (this.session === null) return;
    this.session = null;
    this.space = null;
    this.mode = null;
    this.devices.lose();
    for (const { grasping, input } of this.sides) {
      grasping.letGo();
      input.lose();
    }
    this.touches.lose();
    this.tank.letGo();
    this.panel.hide();
    const { renderer, camera } = this.host.stage;
    renderer.xr.enabled = false;
    camera.removeFromParent();
    this.rig.removeFromParent();
    this.shown.removeFromParent();
    this.host.stage.wear(false);
    this.host.changed(false);
  };
}

async function hasSpace(session: XRSession, type: XRReferenceSpaceType): Promise<boolean> {
  return session.requestReferenceSpace(type).then(
    () => true,
    () => false,
  );
}
