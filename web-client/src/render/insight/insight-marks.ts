// What the page finds out of a flow, as a picture: a plane with colours and arrows, lines, dots, and what they are held by.
// In tank coordinates. All of it is seen through the fluid, and hidden by what is opaque; what it is held by is over everything.
import * as THREE from "three";
import { AIR, type LineBuffer, POINT_VALUES } from "../../state/flow-lines.js";
import { ARROW_VALUES, type Axis, type FlowSlice, PLANE_AXES } from "../../state/flow-slice.js";
import { DOT_VALUES, type MarkerDots } from "../../state/marker-dots.js";
import { LAYER } from "../layers.js";
import {
  arrowFragment,
  arrowVertex,
  dotFragment,
  dotVertex,
  lineFragment,
  lineVertex,
  planeFragment,
  planeVertex,
} from "./insight-shaders.js";
import { OpaqueDepths } from "./opaque-depths.js";

/** In the tank's largest edge. */
const TUBE_SHARE = 0.0034;
const DOT_SHARE = 0.0042;
const HANDLE_SHARE = 0.011;
const HELD_SCALE = 1.5;
const RIM_SHARE = 0.0011;
/** Of an arrow at the scale's top, in distances between arrows. */
const LONGEST = 1.8;
/** A pulse on a streamline comes after so much of the way that the scale's top goes in its length, and so fast. */
const PULSE_SHARE = 0.22;

/** Where they are put. */
export interface MarksView {
  add(object: THREE.Object3D): void;
  /** All that is drawn. */
  readonly scene: THREE.Object3D;
}

/** Of the particles' programs. */
export interface MarkUniforms {
  lead: THREE.IUniform;
  viewHeight: THREE.IUniform;
}

type Uniforms = Record<string, THREE.IUniform>;

/** A corner more than once: after tail, neck and tip; across; shaft or head. */
const ARROW = [
  [0, -1, 0],
  [1, -1, 0],
  [1, 1, 0],
  [0, 1, 0],
  [1, -1, 1],
  [2, 0, 1],
  [1, 1, 1],
];
const ARROW_FACES = [0, 1, 2, 0, 2, 3, 4, 5, 6];

export class InsightMarks {
  readonly group = new THREE.Group();

  private readonly plane: THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial>;
  private readonly arrows: Pieces;
  private readonly streams: Pieces;
  private readonly paths: Pieces;
  private readonly dots: THREE.Points<THREE.BufferGeometry, THREE.ShaderMaterial>;
  private readonly rake: Pieces;
  private readonly handles = new Map<string, THREE.Mesh<THREE.BufferGeometry, THREE.MeshBasicMaterial>>();
  private readonly ball = new THREE.SphereGeometry(1, 20, 14);
  private readonly depths = new OpaqueDepths();
  private texels = new Uint8Array(0);
  private edgeM = 1;

  constructor(
    shared: MarkUniforms,
    private readonly view: MarksView,
  ) {
    this.plane = this.addPlane();
    this.arrows = this.addArrows();
    this.streams = this.addLines(shared, 4, [0.97, 0.98, 1]);
    this.paths = this.addLines(shared, 4, [1, 0.66, 0.3]);
    this.rake = this.addLines(shared, 3, [1, 0.7, 0.33]);
    this.showPlain(this.rake, true);
    this.dots = this.addDots(shared);
    for (const child of this.group.children) {
      child.layers.set(LAYER.front);
      child.frustumCulled = false;
      child.visible = false;
    }
    this.group.add(this.depths.forget);
    view.add(this.group);
  }

  fit(sizeM: readonly number[]): void {
    this.edgeM = Math.max(...sizeM);
    for (const one of [this.streams, this.paths]) set(one, "radius", TUBE_SHARE * this.edgeM);
    set(this.rake, "radius", 1.3 * TUBE_SHARE * this.edgeM);
    set(this.dots, "radius", DOT_SHARE * this.edgeM);
    set(this.arrows, "rim", RIM_SHARE * this.edgeM);
  }

  /** @param low  and `high`: what the scale's ends stand for; of opposite signs: it is one of values with a sign */
  showPlane(
    slice: FlowSlice | null,
    axis: Axis,
    atM: number,
    sizeM: readonly number[],
    low: number,
    high: number,
  ): void {
    this.plane.visible = slice !== null;
    if (slice === null) return;
    const { columns, rows, values, presence } = slice;
    const uniforms = this.plane.material.uniforms as Uniforms;
    let texture = (uniforms.texels as THREE.IUniform<THREE.DataTexture | null>).value;
    if (texture === null || texture.image.width !== columns || texture.image.height !== rows) {
      texture?.dispose();
      this.texels = new Uint8Array(2 * columns * rows);
      texture = new THREE.DataTexture(this.texels, columns, rows, THREE.RGFormat);
      texture.unpackAlignment = 1;
      texture.magFilter = texture.minFilter = THREE.LinearFilter;
      (uniforms.texels as THREE.IUniform).value = texture;
    }
    const scale = high > low ? 1 / (high - low) : 0;
    for (let i = 0; i < columns * rows; i++) {
      const density = presence[i] as number;
      const there = density < 0.5 * AIR ? 0 : Math.min(1, 1.6 * density);
      const share = Math.min(1, Math.max(0, ((values[i] as number) - low) * scale));
      this.texels[2 * i] = 255 * share * there;
      this.texels[2 * i + 1] = 255 * there;
    }
    texture.needsUpdate = true;
    set(this.plane, "isSigned", low < 0);
    this.place(axis, atM, sizeM);
  }

  /** @param topSpeed  the longest arrow stands for it @param spacingM  between two of them */
  showArrows(slice: FlowSlice | null, axis: Axis, spacingM: number, topSpeed: number): void {
    const count = slice?.arrowCount ?? 0;
    this.arrows.visible = count > 0;
    if (slice === null || count === 0) return;
    this.arrows.geometry.fill(slice.arrows, count);
    set(this.arrows, "longest", LONGEST * spacingM);
    set(this.arrows, "metresPerSpeed", (LONGEST * spacingM) / Math.max(topSpeed, 1e-9));
    (this.arrows.material.uniforms.across as THREE.IUniform<THREE.Vector3>).value
      .set(0, 0, 0)
      .setComponent(axis, 1);
  }

  /** @param plain  in a colour of their own: those of speeds are another thing's */
  colourLines(plain: boolean): void {
    for (const one of [this.streams, this.paths]) this.showPlain(one, plain);
  }

  private showPlain({ material }: Pieces, plain: boolean): void {
    (material.uniforms.plain as THREE.IUniform<THREE.Vector4>).value.w = plain ? 1 : 0;
  }

  showStreams(lines: LineBuffer | null, topSpeed: number): void {
    fillLines(this.streams, lines, topSpeed);
    // A pulse passes a streamline of the tank's length in so many.
    set(this.streams, "pulseS", (PULSE_SHARE * this.edgeM) / Math.max(1e-6, 0.5 * topSpeed));
  }

  showPaths(lines: LineBuffer | null, topSpeed: number): void {
    fillLines(this.paths, lines, topSpeed);
  }

  showRake(line: LineBuffer | null): void {
    fillLines(this.rake, line, 1);
  }

  showDots({ dots, count }: MarkerDots): void {
    this.dots.visible = count > 0;
    if (count === 0) return;
    const { geometry } = this.dots;
    let buffer = (geometry.attributes.position as THREE.InterleavedBufferAttribute | undefined)?.data;
    if (buffer === undefined) {
      buffer = new THREE.InterleavedBuffer(dots, DOT_VALUES).setUsage(THREE.DynamicDrawUsage);
      geometry.setAttribute("position", new THREE.InterleavedBufferAttribute(buffer, 3, 0));
      geometry.setAttribute("velocity", new THREE.InterleavedBufferAttribute(buffer, 3, 3));
      geometry.setAttribute("row", new THREE.InterleavedBufferAttribute(buffer, 1, 6));
    }
    upload(buffer, count * DOT_VALUES);
    geometry.setDrawRange(0, count);
  }

  /** A ball that can be taken hold of; at null there is none. */
  handle(name: string, at: readonly number[] | null, colour: number, isHeld: boolean): void {
    let ball = this.handles.get(name);
    if (at === null) {
      if (ball !== undefined) ball.visible = false;
      return;
    }
    if (ball === undefined) {
      ball = new THREE.Mesh(
        this.ball,
        new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.95 }),
      );
      ball.layers.set(LAYER.front);
      ball.renderOrder = 30;
      this.handles.set(name, ball);
      this.group.add(ball);
    }
    ball.visible = true;
    ball.material.color.setHex(colour, THREE.LinearSRGBColorSpace);
    ball.position.fromArray(at as number[]);
    ball.scale.setScalar(this.edgeM * HANDLE_SHARE * (isHeld ? HELD_SCALE : 1));
  }

  /** Once per picture. @param momentS  of people's time; 0: nothing is to move by itself */
  tick(momentS: number): void {
    set(this.streams, "momentS", momentS);
    const { plane, arrows, streams, paths, dots, rake } = this;
    const any = [plane, arrows, streams, paths, dots, rake].some(({ visible }) => visible);
    this.depths.show(any);
    if (any) this.depths.see(this.view.scene);
  }

  private place(axis: Axis, atM: number, sizeM: readonly number[]): void {
    const [right, up] = PLANE_AXES[axis] as readonly [Axis, Axis];
    const basis = [right, up, axis].map((one) => new THREE.Vector3().setComponent(one, 1)) as [
      THREE.Vector3,
      THREE.Vector3,
      THREE.Vector3,
    ];
    const { matrix } = this.plane;
    matrix.makeBasis(
      basis[0].multiplyScalar(sizeM[right] as number),
      basis[1].multiplyScalar(sizeM[up] as number),
      basis[2],
    );
    matrix.setPosition(new THREE.Vector3().setComponent(axis, atM));
    this.plane.matrixWorldNeedsUpdate = true;
  }

  private addPlane(): THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial> {
    const material = program(planeVertex, planeFragment, {
      texels: { value: null },
      isSigned: { value: false },
      border: { value: new THREE.Vector3(0.92, 0.97, 1) },
    });
    const plane = new THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial>(
      new THREE.PlaneGeometry(1, 1).translate(0.5, 0.5, 0),
      material,
    );
    plane.matrixAutoUpdate = false;
    plane.renderOrder = 22;
    this.group.add(plane);
    return plane;
  }

  private addArrows(): Pieces {
    const shape = new THREE.BufferGeometry();
    const corners = [...ARROW.map(([x, y, z]) => [x, y, (z as number) - 2]), ...ARROW] as number[][];
    shape.setAttribute("position", new THREE.Float32BufferAttribute(corners.flat(), 3));
    shape.setIndex([...ARROW_FACES, ...ARROW_FACES.map((corner) => corner + ARROW.length)]);
    const material = program(arrowVertex, arrowFragment, {
      metresPerSpeed: { value: 1 },
      longest: { value: 1 },
      rim: { value: 0.001 },
      across: { value: new THREE.Vector3(0, 0, 1) },
    });
    const geometry = new PieceGeometry(shape, ARROW_VALUES, [
      ["middle", 3, 0],
      ["velocity", 3, 3],
    ]);
    return this.addPieces(geometry, material, 23);
  }

  private addLines({ viewHeight }: MarkUniforms, leastPx: number, plain: [number, number, number]): Pieces {
    const shape = new THREE.BufferGeometry();
    shape.setAttribute(
      "position",
      new THREE.Float32BufferAttribute([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0], 3),
    );
    shape.setIndex([0, 1, 2, 0, 2, 3]);
    const material = program(lineVertex, lineFragment, {
      radius: { value: 0.002 },
      leastPx: { value: leastPx },
      viewHeight,
      topSpeed: { value: 1 },
      momentS: { value: 0 },
      plain: { value: new THREE.Vector4(...plain, 0) },
      pulseS: { value: 0 },
    });
    const geometry = new PieceGeometry(shape, POINT_VALUES, [
      ["first", 4, 0],
      ["firstS", 1, 4],
      ["second", 4, POINT_VALUES],
      ["secondS", 1, POINT_VALUES + 4],
    ]);
    return this.addPieces(geometry, material, 24);
  }

  private addPieces(geometry: PieceGeometry, material: THREE.ShaderMaterial, order: number): Pieces {
    const mesh = new THREE.Mesh(geometry, material);
    mesh.renderOrder = order;
    this.group.add(mesh);
    return mesh;
  }

  private addDots({
    lead,
    viewHeight,
  }: MarkUniforms): THREE.Points<THREE.BufferGeometry, THREE.ShaderMaterial> {
    const material = program(dotVertex, dotFragment, { lead, viewHeight, radius: { value: 0.004 } });
    const points = new THREE.Points(new THREE.BufferGeometry(), material);
    points.renderOrder = 25;
    this.group.add(points);
    return points;
  }
}

type Pieces = THREE.Mesh<PieceGeometry, THREE.ShaderMaterial>;

/**
 * One shape many times. three tells instances by these marks; its own classes that bear them would come with the page's
 * first load, of which all that is used of three is a part.
 */
class PieceGeometry extends THREE.BufferGeometry {
  readonly isInstancedBufferGeometry = true;
  instanceCount = 0;
  private data: THREE.InterleavedBuffer | null = null;

  /** @param parts  of what each one has: name, values and where they begin, which may be in the next one's */
  constructor(
    shape: THREE.BufferGeometry,
    private readonly stride: number,
    private readonly parts: readonly (readonly [name: string, size: number, offset: number])[],
  ) {
    super();
    this.setAttribute("position", shape.getAttribute("position"));
    this.setIndex(shape.getIndex());
  }

  /** @param values  the same array each time @param uploaded  of the buffer's strides */
  fill(values: Float32Array, count: number, uploaded = count): void {
    let { data } = this;
    if (data === null || data.array !== values) {
      const marks = { isInstancedInterleavedBuffer: true, meshPerAttribute: 1 };
      this.data = data = Object.assign(new THREE.InterleavedBuffer(values, this.stride), marks);
      data.setUsage(THREE.DynamicDrawUsage);
      for (const [name, size, offset] of this.parts)
        this.setAttribute(name, new THREE.InterleavedBufferAttribute(data, size, offset));
    }
    upload(data, uploaded * this.stride);
    this.instanceCount = count;
  }
}

function fillLines(pieces: Pieces, lines: LineBuffer | null, topSpeed: number): void {
  const count = lines?.count ?? 0;
  pieces.visible = count > 1;
  if (lines === null || count < 2) return;
  pieces.geometry.fill(lines.points, count - 1, count);
  set(pieces, "topSpeed", Math.max(topSpeed, 1e-9));
}

function upload(buffer: THREE.InterleavedBuffer, values: number): void {
  buffer.clearUpdateRanges();
  buffer.addUpdateRange(0, values);
  buffer.needsUpdate = true;
}

function program(vertexShader: string, fragmentShader: string, uniforms: Uniforms): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    vertexShader,
    fragmentShader,
    uniforms,
    transparent: true,
    side: THREE.DoubleSide,
  });
}

function set(object: { material: THREE.ShaderMaterial }, name: string, value: unknown): void {
  (object.material.uniforms[name] as THREE.IUniform).value = value;
}
