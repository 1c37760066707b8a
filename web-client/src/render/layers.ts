// Which pass draws what: three's layers, one bit each. What no one says anything about is in the scene.
//
//     scene      what is seen through the water and hides it: backdrop, table, floor, bars, opaque solids, others' heads
//                and hands
//     spheres    the particles as spheres or dots
//     depth      the particles as the water's surface
//     thickness  the particles as the water's thickness and colour
//     glass      tinted solids: behind the water they are part of what is seen through it, before it they cover it
//     secondary  spray, foam and bubbles beside water
//     splat      the particles of a wall, added up cell by cell
//     wall       a flat tank's fluid as a surface
//     front      over everything: the near panes, the cursor, others' cursors and name tags

/** 1 and 2 are the eyes of a headset. */
export const LAYER = {
  scene: 0,
  spheres: 3,
  depth: 4,
  thickness: 5,
  glass: 6,
  front: 7,
  splat: 8,
  wall: 9,
  secondary: 10,
} as const;
