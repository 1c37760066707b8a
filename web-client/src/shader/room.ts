// The room as everything sees it: water mirrors it, panes do faintly, the page shows it behind the tank, and a headset
// all around. It is made of directions alone: no picture is loaded.
import { LIGHTS, type Light, type LightName, type LightValues } from "./lights.js";

type Value = number | readonly number[];
type Names = keyof LightValues | "skyColour" | "roomSun";
export type RoomUniforms = Record<Names, { value: Value }>;

/** Of the light from above and through the windows, where nobody asks for another one; linear. */
const SKY: readonly number[] = [0.716, 0.839, 1];

/** The light of one picture: its programs share the uniforms. */
export class Room {
  readonly uniforms: RoomUniforms;
  private light: Light = LIGHTS.day;
  private sky = SKY;

  constructor() {
    this.uniforms = Object.fromEntries(
      Object.entries(this.values()).map(([name, value]) => [name, { value }]),
    ) as RoomUniforms;
  }

  choose(name: LightName): void {
    this.light = LIGHTS[name];
    this.apply();
  }

  /** Colours the light from the sky. @param sky  linear; null: as it is by itself */
  colour(sky: readonly number[] | null): void {
    this.sky = sky ?? SKY;
    this.apply();
  }

  /** Towards the sun; one metre. */
  get sun(): readonly number[] {
    return this.uniforms.roomSun.value as readonly number[];
  }

  /** Nothing is to be drawn around the tank. */
  get isClear(): boolean {
    return this.light.isClear;
  }

  private apply(): void {
    for (const [name, value] of Object.entries(this.values())) this.uniforms[name as Names].value = value;
  }

  private values(): Record<Names, Value> {
    const { sun, values } = this.light;
    const length = Math.hypot(...sun);
    // In the dark the walls keep their own colour: windows and lamp have the sky's.
    const tinted = (colour: readonly number[]): readonly number[] =>
      values.roomOpen === 0
        ? colour
        : colour.map((part, i) => (part * (this.sky[i] as number)) / (SKY[i] as number));
    return {
      ...values,
      roomHorizon: tinted(values.roomHorizon),
      roomHalo: tinted(values.roomHalo),
      roomSun: sun.map((part) => part / length),
      skyColour: this.sky,
    };
  }
}

/** `roomLight(direction)` is the light from there, `softRoom` what of it rough things mirror. Directions are one long. */
export const room = /* glsl */ `
uniform vec3 skyColour;
uniform vec3 roomGround;
uniform vec3 roomHorizon;
uniform vec3 roomZenith;
uniform vec4 roomRise;
uniform vec3 roomLamps;
uniform vec3 roomHalo;
uniform vec3 roomSun;

vec3 softRoom(vec3 d) {
  vec3 light = mix(roomGround, roomHorizon, smoothstep(roomRise.x, roomRise.y, d.y));
  return light + roomZenith * skyColour * smoothstep(roomRise.z, roomRise.w, d.y);
}

/** Fair weather's clouds, 0..1. */
float clouds(vec3 d) {
  vec2 p = d.xz / (max(d.y, 0.0) + 0.18);
  p += 0.45 * sin(1.7 * p.yx + vec2(0.4, 2.1));
  float heaps = sin(1.9 * p.x + 0.6) * sin(2.3 * p.y) + 0.5 * sin(4.1 * p.x - 2.7 * p.y) * sin(3.7 * p.y + 1.0);
  return smoothstep(0.05, 0.95, heaps) * smoothstep(0.02, 0.25, d.y);
}

vec3 roomLight(vec3 d) {
  vec3 light = softRoom(d);
  if (d.y > 0.0) {
    if (roomLamps.z > 0.0) light = mix(light, vec3(0.98), roomLamps.z * clouds(d));
    float pane = abs(fract(atan(d.x, d.z) * 1.2732395 + 0.15) - 0.5);  // eight windows
    float window = (1.0 - smoothstep(0.17, 0.24, pane)) * smoothstep(0.08, 0.15, d.y);
    window *= 1.0 - smoothstep(0.60, 0.70, d.y);
    window *= 1.0 - 0.75 * (1.0 - smoothstep(0.008, 0.030, min(pane, 0.4 * abs(d.y - 0.38))));
    light += roomLamps.x * skyColour * window + roomLamps.y * skyColour * smoothstep(0.86, 0.97, d.y);
  }
  // What lies below mirrors it, roughly.
  float near = max(dot(vec3(d.x, abs(d.y), d.z), roomSun), 0.0);
  return light + roomHalo * (0.35 * pow(near, 8.0) + 0.9 * pow(near, 90.0));
}
`;
