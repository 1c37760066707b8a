// The picture: renderer, camera, the tank and everything in it.
//
//     scene ─ place ─ room ─ tank      where the tank stands · turned as the tank is · tank coordinates
//
// Without a headset the tank stands in the middle of the scene, at its own size.
import * as THREE from "three";
import type { FrameInfo } from "../codec/frame-info.js";
import type { LightName } from "../shader/lights.js";
import { Room } from "../shader/room.js";
import type { BodyTrack } from "../state/body-track.js";
import type { Drawing } from "../state/drawing.js";
import type { FrameStream } from "../state/frame-stream.js";
import {
  type Covers,
  distanceOf,
  framingOf,
  isHigh,
  MARGIN,
  withLesson,
  withPane,
} from "../state/framing.js";
import type { Orbit } from "../state/orbit.js";
import { isWater, SECONDARY_ROOM, type Tier } from "../state/quality.js";
import type { Ray, Vec3 } from "../state/ray.js";
import type { WallLook } from "../state/wall-look.js";
import { WALL_AT, type WallPart, windowOf } from "../state/wall-part.js";
import { createBackdrop, Table } from "./backdrop.js";
import { Cursor } from "./cursor.js";
import { Eyes } from "./eyes.js";
import { FieldSlice } from "./field-slice.js";
import { LAYER } from "./layers.js";
import { Particles } from "./particles.js";
import type { Fluid, View } from "./passes.js";
import { Secondary } from "./secondary.js";
import { isDrawnBySoftware } from "./software.js";
import { SolidShadows } from "./solid-shadows.js";
import { Solids } from "./solids.js";
import { TankBox } from "./tank-box.js";
import { SHARED, type TankShared } from "./tank-light.js";
import type { Wall } from "./wall/wall.js";
import { WallSpeeds } from "./wall/wall-speeds.js";
import { canDrawWater } from "./water/targets.js";
import { Water } from "./water/water.js";

const FOV_DEGREES = 34;
const FOV_TANGENT = Math.tan((FOV_DEGREES * Math.PI) / 360);
/** More pixels than this per CSS pixel cost much and show little. */
const PIXEL_RATIO_MAX = 2;
const NO_COVERS: Covers = { rightPx: 0, bottomPx: 0 };

const DIRECT = [LAYER.scene, LAYER.spheres, LAYER.glass, LAYER.front];

export class Stage {
  readonly particles: Particles;
  /** Spray, foam and bubbles. */
  readonly secondary: Secondary;
  readonly light = new Room();
  readonly cursor = new Cursor(this.light.uniforms);
  readonly solids = new Solids(this.light.uniforms);
  readonly fieldSlice = new FieldSlice();
  /** How fast its fluid is where no particles say so. */
  readonly speeds = new WallSpeeds();
  /** Of the tank, metres. */
  readonly sizeM: Vec3 = [2, 1, 1];
  readonly camera = new THREE.PerspectiveCamera(FOV_DEGREES, 1, 0.01, 100);
  /** Whether this machine can draw the tiers that show water. */
  readonly hasWater: boolean;
  /** Whether the drawing is done by the processor. */
  readonly isSoftware: boolean;

  readonly renderer: THREE.WebGLRenderer;
  readonly scene = new THREE.Scene();
  readonly place = new THREE.Group();
  readonly room = new THREE.Group();
  readonly tank = new THREE.Group();
  private readonly surroundings = new THREE.Group();
  private readonly box: TankBox;
  private readonly table: Table;
  private readonly shadows = new SolidShadows();
  private readonly size = new THREE.Vector3(2, 1, 1);
  private readonly pointer = new THREE.Vector2();
  private readonly caster = new THREE.Raycaster();
  private readonly inverse = new THREE.Matrix4();
  private readonly eyes = new Eyes();
  private readonly view: View = { camera: this.camera, target: null, viewport: new THREE.Vector4() };
  private readonly pixel = new Uint8Array(4);
  private readonly point = new THREE.Vector3();
  private shownTier: Tier = "spheres";
  private shownDrawing: Drawing = "water";
  /** Draws the particles in several passes; null: they are points or spheres. */
  private fluid: Fluid | null = null;
  /** What `fluid` is where it is that. */
  private wall: Wall | null = null;
  /** What draws all but water, once it is there. */
  private others: typeof import("./other-fluids.js") | null = null;
  private loadsOthers = false;
  private isOver = false;
  /** Of a flat tank as a whole; null: its particles are drawn. */
  private shownLook: WallLook | null = null;
  /** What of a flat tank fills the window; null: it is framed. */
  private part: WallPart | null = null;
  /** Somebody measures. */
  private hasPane = false;
  /** What covers the canvas now and then, as it was framed last, CSS pixels. */
  private readonly framed = { headPx: 0, bottomPx: 0, lessonRightPx: 0, lessonBottomPx: 0, timePx: 0 };
  /** Nothing but a flat tank is to be shown. */
  private wantsAlone = false;
  private isWorn = false;
  /** The tank is one cell deep. */
  private flat = false;
  private reach = 1;
  /** Of the canvas, CSS pixels. */
  private width = 1;
  private height = 1;
  /** From where all of the tank is seen, metres from its middle. */
  private wholeM = 1;

  /** @throws where the browser has no WebGL2 */
  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly smoothEdges: boolean,
    private readonly covers: Covers = NO_COVERS,
  ) {
    const context = canvas.getContext("webgl2", {
      antialias: smoothEdges,
      alpha: true,
      powerPreference: "high-performance",
    });
    if (context === null) throw new Error("no WebGL2");
    this.renderer = new THREE.WebGLRenderer({ canvas, context });
    this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace; // the shaders write display values themselves
    this.renderer.info.autoReset = true;
    this.renderer.setClearColor(0x000000, 0);
    this.hasWater = canDrawWater(context);
    this.isSoftware = isDrawnBySoftware(context);
    this.particles = new Particles(context, this.light);
    const { uniforms } = this.particles;
    this.secondary = new Secondary(context, uniforms);
    const shared = Object.fromEntries(SHARED.map((name) => [name, uniforms[name]])) as TankShared;
    this.box = new TankBox(shared, this.light.uniforms, this.shadows.uniforms);
    this.table = new Table(this.light.uniforms, shared, this.shadows.uniforms);
    this.tank.add(
      this.box.group,
      this.solids.group,
      this.particles.group,
      this.secondary.group,
      this.cursor.mesh,
      this.fieldSlice.mesh,
    );
    this.room.add(this.tank);
    this.place.add(this.room);
    this.surroundings.add(createBackdrop(this.light.uniforms), this.table.mesh);
    this.scene.add(this.surroundings, this.place);
    this.fitTank([2, 1, 1]);
    this.resize();
  }

  /** Makes the tank so large, metres. @param cellM  edge of its cells: a tank that is one deep is flat */
  fitTank(size: readonly number[], cellM = 0): void {
    const [x, y, z] = size as [number, number, number];
    const flat = z < 1.5 * cellM;
    const isOther = flat !== this.flat || x !== this.size.x || y !== this.size.y || z !== this.size.z;
    this.size.set(x, y, z);
    copy(this.size, this.sizeM);
    this.flat = flat;
    if (isOther) this.frame();
    this.tank.position.copy(this.size).multiplyScalar(-0.5);
    this.box.fit(this.size);
    this.table.fit(this.size);
    this.solids.fit(this.size);
    this.reach = 0.5 * this.size.length();
  }

  /** Draws a picture in which all programs are used that the first one of water takes: they are made by that. */
  warmUp(): void {
    this.particles.warmUp(true);
    this.secondary.warmUp(true);
    this.drawCanvas(0);
    this.particles.warmUp(false);
    this.secondary.warmUp(false);
  }

  /** Shows the tank and what it stands on, or only what is around them. Who never says is shown all. */
  reveal(on: boolean): void {
    this.tank.visible = on;
    this.table.mesh.visible = on;
  }

  /** Calls back, with the page's time in ms, before each picture of the display, or of the headset while one is worn. */
  loop(callback: (timeMs: number) => void): void {
    const { xr } = this.renderer;
    // The time that a headset's pictures come with begins anew with its session in some browsers.
    this.renderer.setAnimationLoop((timeMs) => callback(xr.isPresenting ? performance.now() : timeMs));
  }

  /** No picture comes any more. */
  stop(): void {
    this.renderer.setAnimationLoop(null);
  }

  /** A headset shows the picture from now on, or no longer. */
  wear(on: boolean): void {
    this.isWorn = on;
    this.surround();
    this.box.group.visible = on || !this.alone;
    if (on) return;
    this.place.position.set(0, 0, 0);
    this.place.quaternion.identity();
    this.place.scale.setScalar(1);
  }

  /** The nearest solid that moves and comes within reach of a point of the tank; null where there is none. */
  movingNear(point: readonly number[], reachM: number): THREE.Object3D | null {
    return this.solids.movingNear(point, reachM);
  }

  /** The scene's solid whose middle is nearest to a point of the tank; null where it has none. */
  solidNear(point: readonly number[]): number | null {
    return this.solids.nearest(point);
  }

  /** Writes where a solid of the scene is. @return false where there is none */
  solidPlace(index: number, out: Vec3): boolean {
    const place = this.solids.middleOf(index);
    place?.toArray(out);
    return place !== null;
  }

  /** Takes the canvas's present size over. @param detail  share of the screen's own pixels */
  resize(detail = 1): void {
    if (this.renderer.xr.isPresenting) return; // the headset's size counts
    const width = Math.max(1, this.canvas.clientWidth);
    const height = Math.max(1, this.canvas.clientHeight);
    [this.width, this.height] = [width, height];
    this.renderer.setPixelRatio(Math.min(PIXEL_RATIO_MAX, window.devicePixelRatio) * detail);
    this.renderer.setSize(width, height, false);
    this.frame();
  }

  /**
   * Shows nothing but the tank where it is flat: it fills the window as far as its shape allows.
   * @param part  that fills the window altogether; null: all of it
   */
  standAlone(part: WallPart | null): void {
    this.wantsAlone = true;
    this.part = part;
    this.frame();
  }

  /**
   * Keeps the tank beside what comes and goes on the page. For each picture.
   * @param pane  the one in which one measures is there
   */
  standBeside(pane: boolean): void {
    const { framed } = this;
    const { headPx = 0, bottomPx, lessonRightPx = 0, lessonBottomPx = 0, timePx = 0 } = this.covers;
    if (
      pane === this.hasPane &&
      headPx === framed.headPx &&
      bottomPx === framed.bottomPx &&
      lessonRightPx === framed.lessonRightPx &&
      lessonBottomPx === framed.lessonBottomPx &&
      timePx === framed.timePx
    )
      return;
    this.hasPane = pane;
    framed.headPx = headPx;
    framed.bottomPx = bottomPx;
    framed.lessonRightPx = lessonRightPx;
    framed.lessonBottomPx = lessonBottomPx;
    framed.timePx = timePx;
    this.frame();
  }

  /** A flat tank is all that is shown. */
  private get alone(): boolean {
    return this.wantsAlone && this.flat;
  }

  /** What of a flat tank fills the window; null: it is framed. */
  private get shownPart(): WallPart | null {
    return this.flat ? this.part : null;
  }

  /** Whether the tank is one cell deep: it is seen from the front. */
  get isFlat(): boolean {
    return this.flat;
  }

  private frame(): void {
    const { width, height } = this;
    const covers = this.hasPane
      ? withPane(width, height, this.covers)
      : withLesson(width, height, this.covers);
    const framing = framingOf(width, height, covers, this.flat, isHigh(this.sizeM, this.flat));
    this.wholeM = distanceOf(this.sizeM, framing, FOV_TANGENT, this.flat, this.alone ? 0 : MARGIN);
    this.box.group.visible = !this.alone;
    this.surround();
    this.camera.aspect = width / height;
    const part = this.shownPart;
    if (part !== null) {
      const { fullWidth, fullHeight, left, top } = windowOf(part, width, height);
      this.camera.setViewOffset(fullWidth, fullHeight, left, top, width, height);
      this.camera.aspect = this.size.x / this.size.y;
      this.camera.updateProjectionMatrix();
      return;
    }
    const { leftPx, upPx } = framing;
    if (leftPx !== 0 || upPx !== 0) this.camera.setViewOffset(width, height, leftPx, upPx, width, height);
    else this.camera.clearViewOffset();
    this.camera.updateProjectionMatrix();
  }

  /** Adds something in tank coordinates to the picture. */
  add(object: THREE.Object3D): void {
    this.tank.add(object);
  }

  /** Has an object drawn over the water that is behind it, as what is seen through has to be. */
  drawLast(object: THREE.Object3D): void {
    object.layers.set(LAYER.front);
  }

  orient(info: FrameInfo): void {
    this.room.quaternion.fromArray(info.orientation);
  }

  /** For a tank that goes with the device in somebody's hands. */
  standUpright(): void {
    this.room.quaternion.identity();
  }

  look(orbit: Orbit): void {
    let distance = orbit.distance * this.wholeM;
    // A wall that fills the window does so with its own plane, not with the tank's front.
    if (this.alone) distance -= (1 - WALL_AT) * this.size.z;
    const flat = Math.cos(orbit.pitch) * distance;
    if (this.shownPart !== null) {
      // From where the wall is as high as the whole of which the window is a piece.
      distance = (0.5 * this.size.y) / FOV_TANGENT + (WALL_AT - 0.5) * this.size.z;
      this.camera.position.set(0, 0, distance);
    } else {
      this.camera.position.set(
        Math.sin(orbit.yaw) * flat,
        Math.sin(orbit.pitch) * distance,
        Math.cos(orbit.yaw) * flat,
      );
    }
    this.camera.near = Math.max(distance * 0.02, distance - 4 * this.reach);
    this.camera.far = distance + 12 * this.reach;
    this.camera.lookAt(0, this.flat ? 0 : -0.06 * this.size.y, 0);
    this.camera.updateProjectionMatrix();
    this.camera.updateMatrixWorld();
  }

  /** How the particles are drawn. */
  get tier(): Tier {
    return this.shownTier;
  }

  /** What the particles are drawn as. */
  get drawing(): Drawing {
    return this.shownDrawing;
  }

  /** Whether a wall is what is drawn: not of points or arrows. */
  get drawsWall(): boolean {
    return this.wall !== null;
  }

  /** What a flat tank looks like as a whole; null: its particles are drawn. */
  get wallLook(): WallLook | null {
    return this.shownLook;
  }

  /**
   * Draws the particles in another way from now on; what takes several passes, where it can't be drawn, as spheres.
   * @param look  of a flat tank that is full of fluid: all of it is drawn, but as points and arrows
   */
  show(tier: Tier, drawing: Drawing = this.shownDrawing, look: WallLook | null = this.shownLook): void {
    if (tier === this.shownTier && drawing === this.shownDrawing && look === this.shownLook) return;
    this.shownTier = tier;
    this.shownDrawing = drawing;
    this.shownLook = look;
    this.particles.flatten(tier === "points");
    this.secondary.showBesideSpheres(this.secondaryRoom > 0 && !isWater(tier));
    // Of any tier they are the same, and know what a frame said that is gone.
    if (drawing === "arrows" && this.others !== null && this.fluid instanceof this.others.Arrows) return;
    // What is under way on a wall goes on.
    if (this.wall !== null && look !== null && tier !== "points" && drawing !== "arrows") {
      this.wall.show(look, tier);
      return;
    }
    this.box.lightUp(drawing === "dye");
    this.renewFluid();
  }

  private renewFluid(): void {
    this.fluid?.dispose();
    this.wall = null;
    this.fluid = this.createFluid(this.shownTier, this.shownDrawing);
  }

  private createFluid(tier: Tier, drawing: Drawing): Fluid | null {
    const { renderer, scene, particles, secondary, smoothEdges, light, others, shownLook } = this;
    const isArrows = drawing === "arrows";
    if (!isArrows && (!this.hasWater || tier === "points")) return null;
    if (drawing === "water" && shownLook === null) {
      return isWater(tier)
        ? new Water(renderer, scene, particles, secondary, tier, smoothEdges, light.uniforms)
        : null;
    }
    if (others === null) {
      void this.loadOthers();
      return null;
    }
    if (isArrows || tier === "points") return new others.Arrows(renderer, scene, particles);
    if (shownLook !== null) {
      this.wall = new others.Wall(renderer, scene, particles, this.speeds);
      this.wall.show(shownLook, tier);
      return this.wall;
    }
    return drawing === "water"
      ? null
      : new others.Gas(renderer, scene, particles, drawing, tier, smoothEdges);
  }

  /** Whether no part that draws is on its way. */
  get isWhole(): boolean {
    return !this.loadsOthers;
  }

  /** Until it is there, and where it can't be had, particles are spheres. */
  private async loadOthers(): Promise<void> {
    if (this.loadsOthers) return;
    this.loadsOthers = true;
    try {
      this.others = await import("./other-fluids.js");
      if (!this.isOver) this.renewFluid();
    } catch (error) {
      console.warn(error);
    } finally {
      this.loadsOthers = false;
    }
  }

  /** Tells what decodes frames how many of spray, foam and bubbles are drawn now, and from now on where solids are. */
  feed(stream: Pick<FrameStream, "secondaryRoom" | "showObstacles">): void {
    stream.secondaryRoom = this.secondaryRoom;
    this.solids.watch = (solids) => stream.showObstacles(solids.obstacles());
  }

  /** So many particles of spray, foam and bubbles are drawn at most, as things are. */
  get secondaryRoom(): number {
    return this.shownDrawing === "water" && this.shownLook === null ? SECONDARY_ROOM[this.shownTier] : 0;
  }

  /** Lights the tank in another way from now on. */
  lightBy(name: LightName): void {
    this.light.choose(name);
    this.surround();
  }

  /** Colours the light from the sky. @param sky  sRGB 0xrrggbb; null: as it is by itself */
  colourSky(sky: number | null): void {
    this.light.colour(sky === null ? null : new THREE.Color(sky).toArray());
  }

  /** Shows what stands around the tank, where something does. */
  private surround(): void {
    this.surroundings.visible = !this.isWorn && !this.alone && !this.light.isClear;
  }

  /** Somebody is pressing at a place of a wall, in this picture. @param id  whose, not 0 */
  touch(id: number, at: readonly number[]): void {
    if (this.wall === null) return;
    const edge = this.wallEdge;
    this.wall.hands.touch(id, (at[0] as number) / edge, (at[1] as number) / edge);
  }

  /** Once per picture, after the touches. @param idle  0..1: how much an idle display stirs. @param timeS  of the day, about */
  stir(elapsedS: number, idle: number, timeS: number): void {
    if (this.wall === null) return;
    const edge = this.wallEdge;
    this.wall.hands.tick(elapsedS, this.size.x / edge, this.size.y / edge, idle, timeS);
  }

  /** Of a square as large as the tank's front, metres. */
  private get wallEdge(): number {
    return Math.sqrt(this.size.x * this.size.y);
  }

  /**
   * @param leadS  seconds by which the newest frame is to be moved on
   * @param nowMs  when the picture began
   * @param speed  of a recording
   */
  draw(leadS: number, bodies: BodyTrack, nowMs: number, speed: number): void {
    this.solids.move(bodies, leadS);
    this.shadows.draw(this.renderer, this.solids.group, this.tank, this.size, this.light.sun);
    if (this.wall !== null) {
      this.wall.nowMs = nowMs;
      this.wall.speed = speed;
    }
    if (this.fluid !== null && this.renderer.xr.isPresenting) this.drawEyes(leadS);
    else this.drawCanvas(leadS);
  }

  /** Waits until the machine has drawn what it was told to: for measuring only. */
  finish(): void {
    const gl = this.renderer.getContext();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, this.pixel);
  }

  private drawCanvas(leadS: number): void {
    this.view.viewport.set(0, 0, this.renderer.domElement.width, this.viewHeight());
    this.drawView(this.view, leadS);
    // A headset may show a real room around the tank.
    if (!this.light.isClear && !this.renderer.xr.isPresenting) this.close();
  }

  /** The page isn't to show through the picture, whatever was blended into it. */
  private close(): void {
    const { color } = this.renderer.state.buffers;
    const gl = this.renderer.getContext();
    gl.colorMask(false, false, false, true);
    color.setClear(0, 0, 0, 1, false);
    gl.clear(gl.COLOR_BUFFER_BIT);
    color.setClear(0, 0, 0, 0, false);
    gl.colorMask(true, true, true, true);
  }

  /** What takes several passes is drawn an eye at a time; spheres are drawn for both by three itself. */
  private drawEyes(leadS: number): void {
    const { renderer } = this;
    const views = this.eyes.look(renderer, this.camera);
    const target = renderer.getRenderTarget();
    renderer.xr.enabled = false;
    renderer.clear();
    for (const view of views) this.drawView(view, leadS);
    target?.viewport.set(0, 0, target.width, target.height);
    renderer.setRenderTarget(target);
    renderer.xr.enabled = true;
  }

  private drawView(view: View, leadS: number): void {
    const { camera, viewport } = view;
    this.particles.prepare(leadS, camera, viewport.w);
    this.table.prepare(this.particles.group);
    if (this.fluid !== null) {
      this.fluid.draw(view, Math.cbrt(this.size.x * this.size.y * this.size.z));
      return;
    }
    camera.layers.disableAll();
    for (const layer of DIRECT) camera.layers.enable(layer);
    this.renderer.render(this.scene, camera);
  }

  /** Gives the graphics card back what it was lent: nothing is drawn any more. */
  dispose(): void {
    this.isOver = true;
    this.fluid?.dispose();
    this.speeds.dispose();
    this.solids.show([], new Map());
    this.shadows.dispose();
    this.renderer.dispose();
    this.renderer.forceContextLoss();
  }

  /** Of the canvas, or of each eye's picture, pixels. */
  private viewHeight(): number {
    const { xr, domElement } = this.renderer;
    return (xr.isPresenting && xr.getCamera().cameras[0]?.viewport.w) || domElement.height;
  }

  /** The ray under a place of the canvas (CSS pixels), in tank coordinates. */
  rayAt(x: number, y: number, ray: Ray): void {
    this.pointer.set((2 * x) / this.canvas.clientWidth - 1, 1 - (2 * y) / this.canvas.clientHeight);
    this.caster.setFromCamera(this.pointer, this.camera);
    this.tank.updateWorldMatrix(true, false);
    this.inverse.copy(this.tank.matrixWorld).invert();
    const { origin, direction } = this.caster.ray.applyMatrix4(this.inverse);
    direction.normalize();
    copy(origin, ray.origin);
    copy(direction, ray.direction);
  }

  /** A canvas place (CSS pixels) for a point in tank coordinates. */
  project(at: readonly number[]): [number, number] {
    const place: [number, number] = [0, 0];
    this.projectInto(at, place);
    return place;
  }

  /** As `project`, for every picture: allocates nothing. @returns false where the point is behind the camera */
  projectInto(at: readonly number[], place: [number, number]): boolean {
    this.tank.updateWorldMatrix(true, false);
    const p = this.point
      .fromArray(at as number[])
      .applyMatrix4(this.tank.matrixWorld)
      .project(this.camera);
    place[0] = (0.5 + 0.5 * p.x) * this.width;
    place[1] = (0.5 - 0.5 * p.y) * this.height;
    return p.z <= 1;
  }
}

function copy(from: THREE.Vector3, to: Vec3): void {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
}
