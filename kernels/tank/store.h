/// A tank's particles: their memory on the device, what the host tells their kernels, and what these count. Private to
/// kernels; included by kernels, so it is C17 and C++17 at once.
///
/// Particles are sorted by dense tile. A particle moves at most FLIGHT_CELLS_MAX < 8 cells in a substep, so whatever
/// it needs and wherever it goes is active.
#ifndef TARN_KERNELS_TANK_STORE_H
#define TARN_KERNELS_TANK_STORE_H

#include "kernels/grid/grid.h"

/// Over that at rest, smoothed: particles in cells of less are spray, which flies by itself.
#define SPRAY_DENSITY 0.25f

enum {
    NODE_EDGE = 10, ///< a tile's nodes for the P2G: cells -1..8
    NODE_COUNT = 1000,
    NODE_EDGE_QUADRATIC = 11, ///< -1..9: face 8's far neighbour is face 9
    NODE_EDGE_CUBIC = 12,     ///< -2..9
    NODE_COUNT_MAX = 1728,
    LIQUIDS_MAX = 4,
    MOTION_FIELDS_MAX = 4,
    CARRIED_MAX = 8,
    MOVED_STAYS = 13, ///< of the 27 neighbours: the particle's own tile
    MOVED_GONE = 27,  ///< instead of a neighbour: the particle leaves the tank
    CLEAR_TILES = 256,
    AGE_CLASSES = 256,    ///< of spray, eight to a doubling
    PIECE_BITS_MIN = 9,   ///< a piece has at most 2^9 particles,
    PIECE_BITS_MAX = 12,  ///< or up to 2^12, a full tile's, so that there are less than
    PIECES_WANTED = 1024, ///< full ones, which keep a large GPU busy
    PIECE_BITS_TILE = 31, ///< all of a tile's
    PIECE_ALIGNMENT = 32,
    P2G_PARTS = 4, ///< of an occupied tile, where tiles are cut: its sums, not its particles
};

#define CELL_PARTICLES_MAX_LOWEST 32.0f ///< of cell_particles_max
#define CARRIED_LIMIT 1e9f              ///< of what a particle carries, its magnitude
#define SLOPE_MAX (4.0f * SPEED_MAX)    ///< of an affine particle, 1 / step: more than any gathering leaves

typedef struct tank_push {
    float center[3]; ///< cells
    float radius;    ///< cells
    float velocity[3];
    float strength;      ///< of a substep
    float step_strength; ///< of the whole step, for what the next substep doesn't find in the velocity any more
    uint32_t swirls;     ///< the next two aren't all zero
    float inward;        ///< cells per step, towards the centre
    float spin[3];       ///< radians per step
} tank_push;

/// A sphere that colours.
typedef struct tank_dye {
    float center[3]; ///< cells
    float radius;    ///< cells
    float share;     ///< of the way to the colour that a particle goes
    uint32_t colour; ///< as in a particle's attribute
} tank_dye;

enum {
    TANK_PUSHES_MAX = 64,
    TANK_DYES_MAX = 64,
    TANK_POURS_MAX = 16,
    TANK_REGIONS_MAX = 32,                     ///< the description's, then those of pours or sinks
    TANK_POUR_TILES_MAX = TANK_POURS_MAX * 27, ///< that pours reach
};

#define POUR_RADIUS_MAX 8.0f ///< cells: it then reaches three tiles along an axis at most

/// How people in front of a camera move, over a rectangle in the tank: a grid of cells in store_memory.
typedef struct tank_motion_field {
    float corner[3];       ///< cells
    float to_grid[3][3];   ///< from there to columns, rows, and cells to the front of the rectangle
    float to_speed[3][3];  ///< [axis][along a row, along a column, to the front]: a signed byte to cells per step
    float depth;           ///< cells, to either side of the rectangle
    float low[3], high[3]; ///< cells: around all that acts
    float strength;        ///< of a substep
    float speed_max;       ///< cells per step
    uint32_t columns, rows;
    uint32_t first; ///< of its cells
} tank_motion_field;

enum { REGION_BOX, REGION_ROUND, REGION_CYLINDER };

/// Where liquid enters or leaves. A sphere is round with a half height of 0, a capsule with more.
typedef struct tank_region {
    uint32_t kind;
    float center[3];      ///< cells
    float to_local[3][3]; ///< rotation from the tank to the shape
    float half[3];        ///< cells: half extents, or radius and half height
    float reach;          ///< cells: radius of a sphere around it all
    float extent[3];      ///< cells: half extents of the box around it, along the tank's axes
    float velocity[3];    ///< cells per step
    float births;         ///< of an emitter: particles per cell and step
    uint32_t attribute;
    uint32_t keeps_off;         ///< of an emitter: nothing is born beside solids
    uint32_t takes_cells;       ///< of a drain that was thinner than a cell: what is in a cell whose centre it holds
                                ///< leaves, and what passed it in the substep
    float carried[CARRIED_MAX]; ///< of what is born
} tank_region;

/// What particles are like. Constant after creation.
typedef struct store_scale {
    uint32_t particles_max;
    uint32_t filled;                   ///< with so many the tank is full, and taps bring no more; at most the above
    float rest_density;                ///< particles per cell at rest
    float cell_particles_max;          ///< that a cell counts for in the P2G, a power of two
    float node_reach;                  ///< cells along an axis from a particle to its nodes in the P2G, at most
    float liquid_density[LIQUIDS_MAX]; ///< over that of the heaviest
    uint32_t makes_way;                ///< 1: where there is no room for births the oldest particles go, not only spray
} store_scale;

/// What the host sets before a step; the grid's part comes first.
typedef struct tank_control {
    grid_control grid;
    float flip;
    float dye_share;   ///< of the difference to the cell's colour that a particle takes
    uint32_t dye_step; ///< the step's number
    uint32_t undyed;   ///< attribute of the first liquid, as it is without dye
    uint32_t has_births;
    uint32_t dye_count;
    tank_dye dyes[TANK_DYES_MAX];
    uint32_t pour_tile_count;
    uint32_t pour_tiles[TANK_POUR_TILES_MAX]; ///< dense: stay active in this step
    uint32_t push_count;
    tank_push pushes[TANK_PUSHES_MAX];
    uint32_t motion_field_count;
    tank_motion_field motion_fields[MOTION_FIELDS_MAX];
    uint32_t emitter_count, drain_count;
    tank_region emitters[TANK_REGIONS_MAX], drains[TANK_REGIONS_MAX];
    uint32_t tap_of[TANK_REGIONS_MAX]; ///< of `emitters` the description's number, for the host; of pours more than any
    uint32_t seed;                     ///< of what is random in this step
} tank_control;

/// What the device counts; the grid's part comes first.
typedef struct tank_counters {
    grid_counters grid;
    uint32_t particles;
    uint32_t next_id;        ///< of the next particle to be born
    uint32_t births;         ///< in the substep
    uint32_t reseed_debt;    ///< particles that reseeding has brought, less those it has taken: signed, mod 2^32
    uint32_t reseed_pays;    ///< the debt was above zero when the particles of this substep had moved
    uint32_t births_refused; ///< in the substep, for want of room: spray makes way for them
    uint32_t spray_age[AGE_CLASSES]; ///< spray by age, while it must make way
    uint32_t spray_age_max;          ///< spray of this class of age or older goes; AGE_CLASSES: none
    uint32_t pieces;                 ///< of piece_tile, at least 1
    uint32_t piece_bits;             ///< of the particles in a piece
    uint32_t p2g_parts;              ///< of all occupied tiles, each P2G_PARTS or one
} tank_counters;

/// Totals for reports and hashes: sums modulo 2^64, so that the order doesn't matter. The first eight weigh a particle
/// by its liquid's density over that of the heaviest.
enum {
    TOTAL_POSITION = 0, ///< three sums of positions, 1/2^POSITION_BITS cell
    TOTAL_VELOCITY = 3, ///< three sums of velocities, 1/2^20 cell per step, signed
    TOTAL_ENERGY = 6,   ///< sum of velocity^2, 1/2^20
    TOTAL_MASS = 7,     ///< sum of these weights, 1/2^TOTAL_MASS_BITS
    TOTAL_HASH = 8,     ///< two sums of the particles' hashes
    TOTAL_VOLUME = 10,  ///< sum over cells of the smoothed density, at most that at rest, 1/2^20 cell
    TOTAL_COUNT = 11,
    TOTAL_MASS_BITS = 36,
};

typedef struct tank_totals {
    uint64_t sum[TOTAL_COUNT];
} tank_totals;

/// Device memory of a tank's particles.
typedef struct store_memory {
    tank_control *control;
    tank_counters *counters;
    tank_totals *totals;
    uint32_t *motion; ///< cells of motion fields, bytes from the lowest: presence, 0 where nothing acts; velocity[3]

    // particles, sorted by tile; and as they are after a substep, still in the old order
    uint32_t *position[3], *id;
    float *velocity[3];
    uint32_t *moved_position[3];
    float *moved_velocity[3];
    uint32_t *moved_id;
    uint8_t *moved_to; ///< which of the 27 neighbours, or MOVED_GONE
    // particles' optional values: NULL in a tank that has no use for them
    float *affine[9], *moved_affine[9];    ///< APIC: [3 c + a] is d velocity[c] / d x[a], 1 / step
    uint32_t *attribute, *moved_attribute; ///< liquid | red << 8 | green << 16 | blue << 24; NULL until there is dye
    uint32_t *seat, *moved_seat;           ///< what a frame's encoder knows a particle by; TILE_NONE: born since
    float *carried[CARRIED_MAX], *moved_carried[CARRIED_MAX]; ///< what the model lets them carry, in its units

    // dense tables
    uint32_t *tile_first, *tile_count;           ///< particles
    uint32_t *tile_first_next, *tile_count_next; ///< after the move
    uint8_t *awake; ///< of a tank that is filled: the tile is occupied, whatever it holds; NULL in others

    uint32_t *piece_tile; ///< [piece] occupied index, ascending; TILE_NONE: the tank is empty

    // active
    uint32_t *births;       ///< [s] particles born in a tile, in steps with births
    uint32_t *births_first; ///< [s] of these, those in tiles before
    float *kept[3];         ///< [s][512] of faces, as `keeping` was at the end of the substep before, else 0; or NULL
    float *keeping[3];      ///< [s][512] u_ext where velocities are kept, or what the model took memory for (tank_keep)
    // occupied
    uint32_t *move_count; ///< [o][27]: to each neighbour; then where there they begin; 0 before the advection
} store_memory;

/// The argument of every kernel of the particles; the grid's comes first.
typedef struct tank_args {
    grid_args grid;
    store_scale scale;
    store_memory store;
    uint32_t reseed;      ///< 1: thinned-out cells get particles, crowded ones lose some
    uint32_t cuts;        ///< 1: tiles with many particles are several pieces; 0: each is one
    uint32_t keeps_edges; ///< 1: faces that have an occupied tile on one side alone keep what is kept, too
} tank_args;

/// Kernels, in the order of a step.
#define TANK_KERNEL_LIST(K)                                                                                            \
    K(tank_clear)                                                                                                      \
    K(tank_mark)                                                                                                       \
    K(tank_collide)                                                                                                    \
    K(tank_gather_apic)                                                                                                \
    K(tank_gather_quadratic)                                                                                           \
    K(tank_gather_apic_quadratic)                                                                                      \
    K(tank_gather_cubic)                                                                                               \
    K(tank_gather_apic_cubic)                                                                                          \
    K(tank_advect)                                                                                                     \
    K(tank_events)                                                                                                     \
    K(tank_spray)                                                                                                      \
    K(tank_spray_choose)                                                                                               \
    K(tank_births)                                                                                                     \
    K(tank_births_limit)                                                                                               \
    K(tank_advect_gathered)                                                                                            \
    K(tank_arrivals)                                                                                                   \
    K(tank_keep_active)                                                                                                \
    K(tank_keep_pours)                                                                                                 \
    K(tank_stay)                                                                                                       \
    K(tank_retire)                                                                                                     \
    K(tank_list)                                                                                                       \
    K(tank_keep)                                                                                                       \
    K(tank_unkeep)                                                                                                     \
    K(tank_scatter)                                                                                                    \
    K(tank_spawn)                                                                                                      \
    K(tank_adopt)                                                                                                      \
    K(tank_dye)                                                                                                        \
    K(tank_undyed)                                                                                                     \
    K(tank_tint)                                                                                                       \
    K(tank_volume)                                                                                                     \
    K(tank_totals_sum)                                                                                                 \
    K(tank_totals_tiles)                                                                                               \
    K(tank_field_particles)                                                                                            \
    K(tank_field_kinds)                                                                                                \
    K(tank_field_pressure)                                                                                             \
    K(tank_field_flow)

// A tile's particles are worked on in pieces of at most 2^piece_bits; all but a tile's first begin with a multiple of
// PIECE_ALIGNMENT. As tile o begins with particle `first`, its pieces begin with number (first >> piece_bits) + o: that
// leaves it as many as it needs, or one more, which is empty. So every tile knows its pieces' numbers without a sum
// over the others.

/// Particles of a piece.
typedef struct store_piece {
    uint32_t tile, dense; ///< occupied index
    uint32_t tile_first;  ///< the tile's first particle
    uint32_t first, end;
} store_piece;

/// Into pieces of how many particles so many are cut.
TILE_FN uint32_t piece_bits_for(const tank_args *args, uint32_t particles)
{
    uint32_t bits = args->cuts ? PIECE_BITS_MIN : PIECE_BITS_TILE;
    while (bits < PIECE_BITS_MAX && particles >> bits >= PIECES_WANTED) {
        bits++;
    }
    return bits;
}

TILE_FN store_piece piece_of(const tank_args *args, uint32_t number)
{
    const store_memory *m = &args->store;
    store_piece piece = {m->piece_tile[number], 0, 0, 0, 0};
    if (piece.tile != TILE_NONE) {
        const uint32_t bits = m->counters->piece_bits;
        piece.dense = args->grid.m.level[0].tile[piece.tile];
        piece.tile_first = m->tile_first[piece.dense];
        const uint32_t end = piece.tile_first + m->tile_count[piece.dense];
        const uint32_t at = piece.tile_first / PIECE_ALIGNMENT * PIECE_ALIGNMENT +
                            ((number - ((piece.tile_first >> bits) + piece.tile)) << bits);
        piece.first = tile_min_u32(tile_max_u32(at, piece.tile_first), end);
        piece.end = tile_min_u32(at + (1u << bits), end);
    }
    return piece;
}

/// The cell of its tile that a particle is in.
TILE_FN uint32_t particle_cell(const store_memory *m, uint32_t particle)
{
    const uint32_t mask = TILE_EDGE - 1;
    return cell_index((int)(m->position[0][particle] >> POSITION_BITS & mask),
                      (int)(m->position[1][particle] >> POSITION_BITS & mask),
                      (int)(m->position[2][particle] >> POSITION_BITS & mask));
}

#endif
