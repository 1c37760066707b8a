// A plume for the fake tank (fake-tank.mjs): smoke that rises from the floor, or dye that sinks from the lid. Particles
// drift with a flow that is written down, waves in all directions around a jet, so that it looks like a recorded one.

const LIFE_S = 4;
const STEPS = 48;

/** Waves that a flow without sources is made of: [along, to where, how fast], by a golden spiral of directions. */
const WAVES = Array.from({ length: 24 }, (_, i) => {
  const size = 7 * 1.13 ** i;
  const y = 1 - (2 * i + 1) / 24;
  const [around, flat] = [2.39996 * i, Math.sqrt(1 - y * y)];
  const along = [flat * Math.cos(around), y, flat * Math.sin(around)];
  const side = [along[1], -along[0], 0.3 * along[2]];
  const dot = along[0] * side[0] + along[1] * side[1] + along[2] * side[2];
  return {
    k: along.map((x) => x * size),
    to: side.map((x, axis) => (x - dot * along[axis]) * 0.5 * (7 / size) ** 0.75),
    omega: 0.25 * size ** 0.66,
    phase: 1.7 * i,
  };
});

/** Of a place in heights of the tank, x and z from its middle. */
function flow([x, y, z], t) {
  const sway = 0.04 * Math.sin(5 * y - 2.1 * t);
  const wide = 0.045 + 0.1 * y;
  const jet = Math.exp(-((x - sway) ** 2 + z * z) / wide ** 2);
  const top = Math.max(0, (y - 0.62) / 0.38) ** 2;
  const v = [0.5 * x * top, 0.42 * (0.35 + 0.65 * jet) * (1 - top), 0.5 * z * top];
  const wild = 0.1 + 0.9 * Math.min(1, 1.6 * y);
  for (const { k, to, omega, phase } of WAVES) {
    const wave = 0.32 * wild * Math.cos(k[0] * x + k[1] * y + k[2] * z - omega * t + phase);
    for (let axis = 0; axis < 3; axis++) v[axis] += wave * to[axis];
  }
  return v;
}

/** @param sinks  from the lid instead of from the floor */
export function plumeAt(seed, t, size, sinks = false) {
  const [, height, deep] = size;
  const isFlat = deep < 0.1 * height;
  const age = LIFE_S * ((((seed[0] + t / LIFE_S) % 1) + 1) % 1);
  const [radius, around] = [0.05 * Math.sqrt(seed[1]), 2 * Math.PI * seed[2]];
  const at = [radius * Math.cos(around), 0.03, isFlat ? 0 : radius * Math.sin(around)];
  let v = [0, 0, 0];
  for (let i = 0; i < STEPS; i++) {
    v = flow(at, t - age + (age * i) / STEPS);
    for (let axis = 0; axis < (isFlat ? 2 : 3); axis++) at[axis] += (v[axis] * age) / STEPS;
  }
  const up = sinks ? 1 - at[1] : at[1];
  return {
    at: [0.5 * size[0] + at[0] * height, up * height, 0.5 * deep + at[2] * height],
    velocity: [v[0] * height, (sinks ? -v[1] : v[1]) * height, isFlat ? 0 : v[2] * height],
  };
}
