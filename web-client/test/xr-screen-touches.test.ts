import { Matrix4, Vector3 } from "three";
import { expect, test } from "vitest";
import type { PointerInput } from "../src/protocol/messages.js";
import { ScreenTouches, TOUCHES_MAX } from "../src/xr/screen-touches.js";
import { newStand } from "../src/xr/two-handed.js";

const TANK = [2, 1, 1];
const ROOM = new Matrix4();

class Source {
  targetRayMode = "screen";
  targetRaySpace = this;
  tracked = true;
  matrix = new Matrix4();

  at(x: number, y: number): this {
    this.matrix.setPosition(x, y, 5); // looks along -z
    return this;
  }
}

class Phone {
  inputSources: Source[] = [];
  readonly sent: PointerInput[] = [];
  readonly tool = { tool: "push", radiusM: 0.1, strength: 1, colour: 0x0080ff } as const;
  /** Of the tank, which has its corner in the room's middle at first. */
  readonly stand = Object.assign(newStand(), { position: new Vector3(1, 0.5, 0.5) });
  readonly touches = new ScreenTouches(
    { tool: this.tool, pointer: (input) => this.sent.push(input) },
    this.stand,
  );
  private readonly heard = new Map<string, (event: { inputSource: Source }) => void>();

  constructor() {
    this.touches.begin(this as never);
  }

  addEventListener(kind: string, heard: (event: { inputSource: Source }) => void): void {
    this.heard.set(kind, heard);
  }

  press(source: Source): void {
    this.inputSources.push(source);
    this.heard.get("selectstart")?.({ inputSource: source });
  }

  release(source: Source): void {
    this.heard.get("selectend")?.({ inputSource: source });
    this.inputSources = this.inputSources.filter((one) => one !== source);
  }

  picture(): void {
    const frame = {
      getPose: (source: Source) =>
        source.tracked ? { transform: { matrix: new Float32Array(source.matrix.elements) } } : undefined,
    };
    const { position, yaw, scale } = this.stand;
    const toTank = new Matrix4()
      .makeTranslation(position)
      .multiply(new Matrix4().makeRotationY(yaw))
      .multiply(new Matrix4().makeScale(scale, scale, scale))
      .multiply(new Matrix4().makeTranslation(-0.5 * (TANK[0] as number), -0.5, -0.5))
      .invert();
    this.touches.tick(this as never, frame as never, {} as never, ROOM, toTank, TANK);
  }

  get said(): string[] {
    return this.sent.map(({ phase, id }) => `${phase} ${id}`);
  }
}

test("a finger on the tank goes down, moves and comes up, along rays in the tank", () => {
  const phone = new Phone();
  const finger = new Source().at(0.5, 0.5);
  phone.press(finger);
  phone.picture();
  phone.picture();
  finger.at(0.8, 0.5);
  phone.picture();
  phone.release(finger);
  phone.picture();
  expect(phone.said).toEqual(["down 0", "move 0", "up 0"]);
  expect(phone.sent[1]).toMatchObject({ tool: "push", radius_m: 0.1, strength: 1 });
  expect(phone.sent[1]?.origin_m).toEqual([0.8, 0.5, 5].map((x) => expect.closeTo(x, 5)));
  expect(phone.sent[1]?.direction).toEqual([0, 0, -1].map((x) => expect.closeTo(x, 5)));
  expect(phone.sent[1]).not.toHaveProperty("colour");
});

test("the tank may stand anywhere, at any scale", () => {
  const phone = new Phone();
  const toTank = new Matrix4()
    .makeScale(0.5, 0.5, 0.5)
    .setPosition(new Vector3(-1, 0, -3))
    .invert();
  const finger = new Source().at(-0.5, 0.25);
  phone.press(finger);
  const frame = { getPose: () => ({ transform: { matrix: new Float32Array(finger.matrix.elements) } }) };
  phone.touches.tick(phone as never, frame as never, {} as never, ROOM, toTank, TANK);
  expect(phone.sent[0]?.origin_m).toEqual([1, 0.5, 16].map((x) => expect.closeTo(x, 5)));
  expect(Math.hypot(...(phone.sent[0]?.direction ?? []))).toBeCloseTo(1, 6);
});

test("fingers beside the tank, on a button, or too many of them do nothing", () => {
  const phone = new Phone();
  phone.press(new Source().at(3, 0.5));
  const onButton = new Source().at(0.5, 0.5);
  phone.inputSources.push(onButton); // the page kept its selecting for itself
  const controller = new Source().at(0.5, 0.5);
  controller.targetRayMode = "tracked-pointer";
  phone.press(controller);
  phone.picture();
  expect(phone.sent).toEqual([]);
  for (let i = 0; i <= TOUCHES_MAX; i++) phone.press(new Source().at(0.1 * i, 0.5));
  phone.picture();
  expect(phone.said).toEqual(Array.from({ length: TOUCHES_MAX }, (_, i) => `down ${i}`));
});

test("a finger whose place is lost, or whose session ends, comes up", () => {
  const phone = new Phone();
  const [one, two] = [new Source().at(0.5, 0.5), new Source().at(1, 0.5)];
  phone.press(one);
  phone.press(two);
  phone.picture();
  one.tracked = false;
  phone.picture();
  phone.touches.lose();
  phone.picture();
  expect(phone.said).toEqual(["down 0", "down 1", "up 0", "up 1"]);
});

/** A finger that points straight down at a place of the table. */
function onTable(x: number, z: number): Source {
  const source = new Source();
  source.matrix.makeRotationX(-Math.PI / 2);
  return pointAt(source, x, z);
}

function pointAt(source: Source, x: number, z: number): Source {
  source.matrix.setPosition(x, 3, z);
  return source;
}

test("a finger beside the tank carries it over the table, and pushes nothing", () => {
  const phone = new Phone();
  const finger = onTable(-0.5, 0);
  phone.press(finger);
  phone.picture();
  pointAt(finger, -0.2, 0.4);
  phone.picture();
  expect(phone.stand.position.x).toBeCloseTo(1.3);
  expect(phone.stand.position.y).toBeCloseTo(0.5);
  expect(phone.stand.position.z).toBeCloseTo(0.9);
  finger.tracked = false;
  phone.picture();
  finger.tracked = true;
  pointAt(finger, 3, 3);
  phone.picture();
  expect(phone.stand.position.x, "after it was lost it begins anew").toBeCloseTo(1.3);
  phone.release(finger);
  expect(phone.said).toEqual([]);
});

test("two fingers beside the tank turn and scale it about the place between them", () => {
  const phone = new Phone();
  phone.stand.position.set(1, 0.5, 0);
  const [one, other] = [onTable(-1, -0.5), onTable(-1, 1.5)];
  for (const finger of [one, other]) phone.press(finger);
  phone.picture();
  // A quarter turn from along z to along x, twice as far apart.
  pointAt(one, -3, 0.5);
  pointAt(other, 1, 0.5);
  phone.picture();
  expect(phone.stand.scale).toBeCloseTo(2);
  expect(phone.stand.yaw).toBeCloseTo(Math.PI / 2);
  // It was 2 and -0.5 from the middle, and stands on the same table.
  expect(phone.stand.position.x).toBeCloseTo(-1 - 1);
  expect(phone.stand.position.y).toBeCloseTo(1);
  expect(phone.stand.position.z).toBeCloseTo(0.5 - 4);
  // Where the tank is now, a finger pushes; where it was it doesn't.
  for (const finger of [one, other]) phone.release(finger);
  const [onTank, wasTank] = [onTable(-2, -3.5), onTable(1, 0.5)];
  phone.press(wasTank);
  phone.picture();
  expect(phone.said).toEqual([]);
  phone.press(onTank);
  phone.picture();
  expect(phone.said).toEqual(["down 0"]);
  expect(phone.sent[0]?.origin_m[0]).toBeCloseTo(1);
});

test("a tank gets no larger than hands may make it, and no smaller", () => {
  const phone = new Phone();
  const [one, other] = [onTable(-1, -1), onTable(-1, -0.9)];
  for (const finger of [one, other]) phone.press(finger);
  phone.picture();
  pointAt(one, -4, -5);
  pointAt(other, -4, 5);
  phone.picture();
  expect(phone.stand.scale).toBeCloseTo(4);
  pointAt(one, -4, 0);
  pointAt(other, -4, 0.03);
  phone.picture();
  expect(phone.stand.scale).toBeCloseTo(0.075);
});

test("a finger does to its end what it began with, whatever is under it", () => {
  const phone = new Phone();
  const [pushing, carrying] = [onTable(1, 0.5), onTable(-0.5, 0)];
  phone.press(pushing);
  phone.picture();
  // Lost for a picture, and back beside the tank.
  pushing.tracked = false;
  phone.picture();
  pushing.tracked = true;
  pointAt(pushing, -1, 0.5);
  phone.picture();
  pointAt(pushing, -1.5, 0.5);
  phone.picture();
  expect(phone.stand.position.toArray()).toEqual([1, 0.5, 0.5]);
  expect(phone.said).toEqual(["down 0", "up 0"]);
  // One carries while another pushes.
  phone.press(carrying);
  phone.picture();
  pointAt(pushing, 1, 0.5);
  pointAt(carrying, -0.4, 0);
  phone.picture();
  expect(phone.stand.position.x).toBeCloseTo(1.1);
  expect(phone.said).toEqual(["down 0", "up 0", "down 0"]);
});

test("a tank that is put elsewhere isn't thrown by a finger that carries it", () => {
  const phone = new Phone();
  const finger = onTable(-0.5, 0);
  phone.press(finger);
  phone.picture();
  phone.touches.forgetDrag();
  phone.stand.position.set(0, 0.5, -3);
  pointAt(finger, 2, 2);
  phone.picture();
  expect(phone.stand.position.toArray()).toEqual([0, 0.5, -3]);
});

test("a finger that points over the table doesn't throw the tank about", () => {
  const phone = new Phone();
  const finger = onTable(-0.5, 0);
  phone.press(finger);
  phone.picture();
  finger.matrix.makeRotationX(-0.01).setPosition(-0.5, 3, 0);
  phone.picture();
  expect(phone.stand.position.toArray()).toEqual([1, 0.5, 0.5]);
});
