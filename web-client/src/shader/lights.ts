// The lights that a tank may stand in: values of the uniforms that its room (room.ts) and what stands in it are drawn
// with. Light is linear, 1 is white; colours of the table, the floor and the bars are the picture's own, sRGB.

type Colour = readonly [number, number, number];

export interface LightValues {
  /** Straight below, at the horizon, and what is added to that straight above, as the sky's colour has it. */
  roomGround: Colour;
  roomHorizon: Colour;
  roomZenith: Colour;
  /** Heights, as sines, between which the ground turns into the horizon, and this into the zenith. */
  roomRise: readonly [number, number, number, number];
  /** How bright windows all around, the lamp above and clouds are. */
  roomLamps: Colour;
  /** Around the sun. */
  roomHalo: Colour;
  /** 1: the tank stands on a table in bright light, which shadows fall on; 0: in the dark, on lines that shine. */
  roomOpen: number;
  /** What reaches things from the sky and from the sun, as shares of what does at night. */
  skyFill: Colour;
  sunFill: Colour;
  tableColour: Colour;
  /** Of the tank's floor: its tiles, the lines between them, and how much of what is below they cover. */
  tileColour: Colour;
  lineColour: Colour;
  floorCover: number;
  /** Of the frame, on its dark and on its bright side. */
  barDark: Colour;
  barBright: Colour;
}

export interface Light {
  /** Towards the sun, or what stands for it: y is up, z towards who looks straight from the front. */
  sun: Colour;
  /** Nothing is drawn around the tank: the page shows there. */
  isClear: boolean;
  values: LightValues;
}

const STUDIO: Light = {
  sun: [-0.5, 0.72, -0.3],
  isClear: false,
  values: {
    roomGround: [0.5, 0.5, 0.51],
    roomHorizon: [0.72, 0.73, 0.74],
    roomZenith: [0.1, 0.1, 0.1],
    roomRise: [-0.6, 0.1, 0, 1],
    roomLamps: [0.5, 0.6, 0],
    roomHalo: [0.1, 0.1, 0.1],
    roomOpen: 1,
    skyFill: [2.4, 1.75, 1.35],
    sunFill: [1, 1, 1],
    tableColour: [0.8, 0.8, 0.81],
    tileColour: [0.8, 0.81, 0.82],
    lineColour: [0.52, 0.56, 0.6],
    floorCover: 0.92,
    barDark: [0.3, 0.36, 0.4],
    barBright: [0.62, 0.68, 0.71],
  },
};

export const LIGHTS = {
  day: {
    sun: [-0.3, 0.75, -0.75],
    isClear: false,
    values: {
      roomGround: [0.1, 0.4, 0.5],
      roomHorizon: [0.8, 0.92, 1],
      roomZenith: [-0.9, -0.62, -0.28],
      roomRise: [-0.55, -0.03, -0.02, 0.62],
      roomLamps: [0, 0, 0.5],
      roomHalo: [1.1, 0.95, 0.7],
      roomOpen: 1,
      skyFill: [2.6, 2.2, 1.8],
      sunFill: [1.25, 1.2, 1.1],
      tableColour: [0.9, 0.86, 0.79],
      tileColour: [0.86, 0.88, 0.85],
      lineColour: [0.6, 0.74, 0.76],
      floorCover: 0.92,
      barDark: [0.36, 0.52, 0.54],
      barBright: [0.86, 0.95, 0.95],
    },
  },
  night: {
    sun: [-0.42, 0.8, 0.43],
    isClear: false,
    values: {
      roomGround: [0.004, 0.01, 0.017],
      roomHorizon: [0.016, 0.04, 0.064],
      roomZenith: [0.2, 0.2, 0.2],
      roomRise: [-0.6, 0.2, 0.15, 1],
      roomLamps: [0.95, 1.6, 0],
      roomHalo: [0, 0, 0],
      roomOpen: 0,
      skyFill: [1, 1, 1],
      sunFill: [1, 1, 1],
      tableColour: [0, 0, 0],
      tileColour: [0.115, 0.22, 0.28],
      lineColour: [0.42, 0.74, 0.86],
      floorCover: 0.8,
      barDark: [0.262, 0.436, 0.521],
      barBright: [0.262, 0.436, 0.521],
    },
  },
  studio: STUDIO,
  clear: { ...STUDIO, isClear: true, values: { ...STUDIO.values, floorCover: 0.45 } },
} as const satisfies Readonly<Record<string, Light>>;

export type LightName = keyof typeof LIGHTS;
export const LIGHT_NAMES = Object.keys(LIGHTS) as LightName[];
