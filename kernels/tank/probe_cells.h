/// What probes have on the device: where they are, in cells, and what they add up. Private to kernels; included by
/// kernels, so it is C17 and C++17 at once.
#ifndef TARN_KERNELS_TANK_PROBE_CELLS_H
#define TARN_KERNELS_TANK_PROBE_CELLS_H

#include "kernels/tank/store.h"

enum {
    PROBE_POINT,
    PROBE_GAUGE,
    PROBE_FLUX,
    PROBE_WALL,
    PROBE_FORCE,
    PROBE_LANES = 128,
    PROBE_UNIT_BITS = 20, ///< fraction bits of sums: integers, so that the order doesn't matter
    // a point's sums
    PROBE_WEIGHT = 0,
    PROBE_MASS,     ///< weights times the liquid's density over the heaviest one's
    PROBE_MOMENTUM, ///< three
    PROBE_CARRIED = PROBE_MOMENTUM + 3,
    PROBE_POINT_SUMS = PROBE_CARRIED + CARRIED_MAX,
    PROBE_FORCE_SUMS = 6, ///< a force's: cells' pressures times areas, and their moments
    // of the grid around a point
    PROBE_PRESSURES = 27, ///< of its cell and those around it, x fastest
    PROBE_FACES = 24,     ///< [component][corner]: of what fills a tank, the faces around it, x fastest
    PROBE_CELLS = PROBE_PRESSURES + PROBE_FACES,
    PROBE_SAMPLES_PER_CELL = 2, ///< of a gauge, at least
    PROBE_TILE_SAMPLES = 64,    ///< of a gauge, of those that a tile's particles reach
    PROBE_SAMPLE_BITS = 14,     ///< fraction bits of a tile's own sums, of 32 bits
    PROBE_FLUX_BITS = 11,       ///< so many particles, as a power of two, fit into one of a flux
};

/// Lengths in cells.
typedef struct tank_probe {
    uint32_t kind;
    uint32_t first;                  ///< of its sums
    uint32_t cells;                  ///< a point: first of what it has of the grid
    uint32_t samples;                ///< a gauge: how many sums, at the middles of so many parts
    float part, per_part;            ///< one of these, and 1 over it
    float per_along[3];              ///< 1 / along; 0 where it lies across the axis
    uint32_t low[3];                 ///< box around what it can see of, where particles are: 2^-POSITION_BITS cell
    uint32_t extent[3];              ///< the same; at most one tile more than the tank
    float at[3];                     ///< where it is, or begins
    float along[3];                  ///< unit vectors: a gauge's own, a rectangle's first side
    float side[3], up[3];            ///< of a rectangle: its other side, and across it
    uint32_t is_along_axes, axis[3]; ///< of a rectangle whose sides are: those of along, side and up
    float length[2];                 ///< a gauge's, or of the two sides
    uint32_t body;                   ///< a force's, where it moves; `at` is its centre otherwise
} tank_probe;

/// A tile that a probe may see particles of.
typedef struct tank_probe_tile {
    uint32_t probe, dense;
} tank_probe_tile;

/// What a surface takes of a cell, as bodies have it (grid_memory.cover and lack).
typedef struct tank_probe_cell {
    uint16_t cell;    ///< of its tile
    int16_t cover[3]; ///< of the upper face less of the lower one, 1/255
    int16_t lack[3];  ///< of the cell less the mean cover of both faces, 1/510
} tank_probe_cell;

/// A tile's part of a surface that stands still.
typedef struct tank_probe_patch {
    uint32_t probe, dense;
    uint32_t first, end; ///< of the cells
} tank_probe_patch;

/// The argument of these kernels; the tank's comes first.
typedef struct tank_probe_args {
    tank_args tank;
    const tank_probe *probe;
    const tank_probe_tile *tile;
    const uint32_t *point; ///< probes that are points
    const tank_probe_patch *patch;
    const tank_probe_cell *surface;
    const uint32_t *mover; ///< probes of bodies
    uint32_t point_count, tile_count, patch_count, mover_count;
    uint32_t solved; ///< tiles of the last solve: each mover looks at all
    float kick;      ///< share of a step that forces acted for in the last substep
    uint64_t *sum;   ///< two's complement
    float *cell;
    uint32_t carried_count; ///< that points add up
    uint32_t has_pressure, has_flow;
} tank_probe_args;

#endif
