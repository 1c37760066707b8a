/// What the host code and the kernels of the liquid share: layout of the memory, units, limits. Private to
/// kernels/liquid; included by kernels, so it is C17 and C++17 at once.
///
/// Units: lengths in cells, velocities in cells per step (the fixed step dt_s), so that a substep of the share `frac`
/// of a step moves a particle by frac * velocity cells.
///
/// The tank is cut into tiles of 8^3 cells. Tables over all tiles ("dense") say which are in use; fields exist for
/// those only:
///
///     occupied  tiles that hold particles; pressure lives here          index o, in ascending dense order
///     active    occupied tiles and their 26 neighbours; velocity        index s, in ascending dense order
///     level l   coarsened occupied tiles of the multigrid, l >= 1       index i, in ascending dense order
///
/// Particles are sorted by dense tile. A particle moves at most MOVE_CELLS_MAX < 8 cells in a substep, so whatever
/// it needs and wherever it goes is active.
#ifndef TARN_KERNELS_LIQUID_H
#define TARN_KERNELS_LIQUID_H

#include "kernels/device/tile.h"

#include <stdint.h>

enum {
    TILE_LOG2 = 3,
    TILE_EDGE = 8,
    TILE_CELLS = 512,
    TILE_ROWS = 64,   ///< of eight cells along x: [z][y]
    TILE_FACES = 576, ///< faces normal to one axis, both borders included: 9 * 8 * 8
    NODE_EDGE = 10,   ///< a tile's nodes for the P2G: cells -1..8
    NODE_COUNT = 1000,
    NODE_EDGE_QUADRATIC = 11, ///< -1..9: face 8's far neighbour is face 9
    NODE_COUNT_QUADRATIC = 1331,
    LIQUIDS_MAX = 4,
    VISCOSITY_ITERATIONS_MAX = 96,
    POSITION_BITS = 20, ///< fraction bits of a position; a particle sits at (X + 0.5) / 2^20 cells
    TILE_POSITION_BITS = 23,
    WALL_MARGIN = 1 << (POSITION_BITS - 6), ///< that particles keep from the tank's walls: 1/64 cell
    LEVELS_MAX = 8,                         ///< 8 * 2^(LEVELS_MAX - 1) = 1024 cells
    EXTRAPOLATION_LAYERS = 3,
    PARTICLE_LANES = 256,
    CELL_LANES = 256,
    MOVED_STAYS = 13, ///< of the 27 neighbours: the particle's own tile
    MOVED_GONE = 27,  ///< instead of a neighbour: the particle leaves the tank
    CLEAR_TILES = 256,
    AGE_CLASSES = 256, ///< of spray, eight to a doubling
};

#define TILE_NONE 0xffffffffu
#define TILE_FULL 0xfffffffeu ///< in solid_tile: all of it lies deep inside a solid

/// Fixed point of the P2G. A face's weight is at most 8 cells' worth of particles: along its normal two cells reach it
/// with weights up to 1, across it one with weights up to 1 and two with weights up to 1/2, so 2 * 2 * 2 = 8. A cell
/// counts for at most cell_particles_max particles: those of a fuller cell are scaled down together. That is several
/// times the density at rest, or a resting tank would count as thinned out and be pulled together. Speeds are at most
/// SPEED_MAX, and weight_scale is 2^27 over cell_particles_max. Hence |sum| <= 8 * 2^27 = 2^30 plus half a unit per
/// contribution (under 2^24 * 0.5 even if every particle of the largest tank were in reach), which fits 31 bits.
///
/// Quadratic B-splines weigh less: along an axis a cell's particles reach a face with weights up to 3/4 from the two
/// cells beside it and up to 1/8 from the two behind those, and a centre with up to 3/4 from its own cell and up to 1/2
/// from the two beside it: 7/4 in both cases, (7/4)^3 < 8. Mirror images of cells, which walls fold back, count as
/// cells.
///
/// Affine particles bring v + C (node - particle) with |node - particle| <= NODE_REACH along each axis. The gathering
/// keeps |v_c| + NODE_REACH (|C_cx| + |C_cy| + |C_cz|) <= SPEED_MAX but for rounding, so that no contribution is
/// faster.
///
/// Liquids of different density weigh momentum by q = rho / rho of the heaviest <= 1, which keeps it within the same
/// bounds, and divide it by the sum of q. Where a liquid is over 64 times lighter than the heaviest, its velocity would
/// drown in rounding: there q = a + (1 - a) rho / rho of the heaviest, with an `a` that gives the lightest 1/64. At a
/// face between the two the heavy one still has 98 % of the say, and as q is linear, the mean density follows from the
/// mean q. A particle of the lightest has at least 2^22 / 64 units in a tank of 8 particles a cell: a face with eight
/// of them knows its velocity to 1/1000 cell per step.
#define CELL_PARTICLES_MAX_LOWEST 32.0f ///< of cell_particles_max
#define CELL_WEIGHT_MAX 134217728.0f    ///< 2^27: a cell's particles in fixed point
#define SPEED_MAX 32.0f                 ///< cells per step: the largest cfl times the most substeps
#define WEIGHT_MIN_SHARE 1024           ///< a face with less than a particle over this has no velocity of its own
#define MASS_MIN 1024                   ///< nor one with less mass, in fixed point: rounding would be its velocity
#define SPEED_UNKNOWN 1e6f              ///< of such a face in u_old; it gives particles no change
#define MASS_SHARE_MIN (1.0f / 64.0f)   ///< of the lightest liquid: least q
#define NODE_REACH 1.5f                 ///< cells along an axis from a particle to its nodes
#define VISCOSITY_MAX 50.0f             // nu dt / dx^2: thicker liquids are taken for liquids of this
#define MOVE_CELLS_MAX 4.0f             ///< per axis and substep
#define DENSITY_STEP_MAX 0.25f          ///< largest density error that is corrected in one substep

/// CELL_FRINGE: has liquid, but the surface passes below its centre; pressure takes it for air (liquid_fringe).
enum { CELL_AIR = 0, CELL_LIQUID = 1, CELL_SOLID = 2, CELL_FRINGE = 4 };

enum {
    SOLID_EDGE = 9, ///< nodes of a tile per axis: its cells' corners
    SOLID_NODES = SOLID_EDGE * SOLID_EDGE * SOLID_EDGE,
    SOLID_NODE_UNIT = 1024, ///< per cell
    SOLID_NEAR_CELLS = 4,   ///< tiles that come this close to a surface have nodes
};

/// Shape of the tank and of the multigrid's levels. Constant after creation.
typedef struct liquid_shape {
    int32_t cells[3];
    int32_t tiles[LEVELS_MAX][3]; ///< per level
    uint32_t tile_total[LEVELS_MAX];
    uint32_t level_count;
    uint32_t particles_max;
    uint32_t active_max, occupied_max; ///< tiles that memory is there for
    float rest_density;                ///< particles per cell at rest
    float cell_particles_max;          ///< that a cell counts for in the P2G, a power of two
    float weight_scale;                ///< of one particle in fixed point
    int32_t weight_min;                ///< fixed point
    uint32_t node_edge;                ///< of a tile's nodes: NODE_EDGE or NODE_EDGE_QUADRATIC
    uint32_t node_count;
    float liquid_mass[LIQUIDS_MAX];    ///< q
    float mass_base;                   ///< a
    float lightest;                    ///< density of the lightest liquid over that of the heaviest
    float liquid_density[LIQUIDS_MAX]; ///< over that of the heaviest
} liquid_shape;

typedef struct liquid_push {
    float center[3]; ///< cells
    float radius;    ///< cells
    float velocity[3];
    float strength;
    uint32_t swirls; ///< the next two aren't all zero
    float inward;    ///< cells per step, towards the centre
    float spin[3];   ///< radians per step
} liquid_push;

/// A sphere that colours.
typedef struct liquid_dye {
    float center[3]; ///< cells
    float radius;    ///< cells
    float share;     ///< of the way to the colour that a particle goes
    uint32_t colour; ///< as in a particle's attribute
} liquid_dye;

enum {
    LIQUID_PUSHES_MAX = 64,
    LIQUID_DYES_MAX = 64,
    LIQUID_POURS_MAX = 16,
    LIQUID_REGIONS_MAX = 32,                       ///< the description's, then those of pours or sinks
    LIQUID_POUR_TILES_MAX = LIQUID_POURS_MAX * 27, ///< that pours reach
};

#define POUR_RADIUS_MAX 8.0f ///< cells: it then reaches three tiles along an axis at most

enum { REGION_BOX, REGION_ROUND, REGION_CYLINDER };

/// Where liquid enters or leaves. A sphere is round with a half height of 0, a capsule with more.
typedef struct liquid_region {
    uint32_t kind;
    float center[3];      ///< cells
    float to_local[3][3]; ///< rotation from the tank to the shape
    float half[3];        ///< cells: half extents, or radius and half height
    float reach;          ///< cells: radius of a sphere around it all
    float velocity[3];    ///< cells per step
    float births;         ///< of an emitter: particles per cell and step
    uint32_t attribute;
    uint32_t keeps_off; ///< of an emitter: nothing is born beside solids
} liquid_region;

/// What the host sets before a step.
typedef struct liquid_control {
    float frac;       ///< of a step, that one substep covers
    float gravity[3]; ///< cells per step^2, and what a shaken tank adds
    // of a turning tank
    uint32_t is_turning;
    float pivot[3];          ///< cells
    float force_slope[3][3]; ///< centrifugal and Euler force per cell from the pivot, 1 / step^2
    float coriolis[3][3];    ///< rotation of velocities in a substep
    float turn[3];           ///< the tank's own, in its frame: radians per step
    float turn_change[3];    ///< radians per step^2
    float flip;
    float tolerance;              ///< max abs(div u) * dt
    float density_tolerance;      ///< max abs(density error)
    float relaxation;             ///< of Jacobi's and Gauss-Seidel's iterations
    float density_gain;           ///< share of the density error that is corrected in a substep
    float speed_max;              ///< cells per step, at most SPEED_MAX
    float viscosity[LIQUIDS_MAX]; ///< nu dt / dx^2 of a substep, at most VISCOSITY_MAX
    float viscosity_alpha[VISCOSITY_ITERATIONS_MAX], viscosity_gamma[VISCOSITY_ITERATIONS_MAX];
    float tension;     ///< pressure of a substep at a surface of curvature 1, in the solver's units
    float dye_share;   ///< of the difference to the cell's colour that a particle takes
    uint32_t dye_step; ///< the step's number
    uint32_t undyed;   ///< attribute of the first liquid, as it is without dye
    uint32_t has_births;
    uint32_t dye_count;
    liquid_dye dyes[LIQUID_DYES_MAX];
    uint32_t pour_tile_count;
    uint32_t pour_tiles[LIQUID_POUR_TILES_MAX]; ///< dense: stay active in this step
    uint32_t push_count;
    liquid_push pushes[LIQUID_PUSHES_MAX];
    uint32_t emitter_count, drain_count;
    liquid_region emitters[LIQUID_REGIONS_MAX], drains[LIQUID_REGIONS_MAX];
    uint32_t seed; ///< of what is random in this step
} liquid_control;

/// What the device counts.
typedef struct liquid_counters {
    uint32_t occupied, active;
    uint32_t active_next, level_tiles_next[LEVELS_MAX]; ///< of the lists to come
    uint32_t adopting;                                  ///< tiles of the launch that makes them the present ones
    uint32_t overflow;                                  ///< the liquid needs more tiles than there is memory for
    uint32_t particles;
    uint32_t next_id;        ///< of the next particle to be born
    uint32_t births;         ///< in the substep
    uint32_t reseed_debt;    ///< particles that reseeding has brought, less those it has taken: signed, mod 2^32
    uint32_t reseed_pays;    ///< the debt was above zero when the particles of this substep had moved
    uint32_t births_refused; ///< in the substep, for want of room: spray makes way for them
    uint32_t spray_age[AGE_CLASSES];  ///< spray by age, while it must make way
    uint32_t spray_age_max;           ///< spray of this class of age or older goes; AGE_CLASSES: none
    uint32_t solved_active;           ///< active tiles of the last pressure solve
    uint32_t solved;                  ///< tiles of the last pressure solve
    uint32_t level_tiles[LEVELS_MAX]; ///< [0] == occupied
    uint32_t liquid_cells;            ///< being counted
    uint32_t liquid_cells_last;       ///< of the last substep
    uint32_t speed_max_bits; ///< along an axis, of what moved farthest; as bits: non-negative floats order as integers
    uint32_t go;             ///< the solver's loop goes on
    uint32_t failed;         ///< the solve in progress came to something that isn't finite: it is not applied
    uint32_t broken;         ///< a solve has failed since the tank was seeded
    uint32_t iterations;     ///< of the solve in progress
    uint32_t pressure_iterations;
    float residual;          ///< of the solve in progress
    float pressure_residual; ///< max abs(div u) * dt
    float rz, alpha, beta;   ///< of the conjugate gradients
} liquid_counters;

enum { BODIES_MAX = 16, BODY_POINTS_MAX = 61, GRABS_MAX = 16, FIELDS_MAX = 16 };

#define BODY_SPEED_MAX (0.5f * SPEED_MAX) ///< cells per step, per axis
#define BODY_SPIN_MAX 1.0f                ///< radians per step, per axis

enum { BODY_GRIP = 6, BODY_SUMS = 7 }; ///< gathered: a force, a moment, and by what mass liquid grips the body

/// Shapes of bodies. BODY_ROUND: sphere and capsule.
enum { BODY_BOX = 0, BODY_ROUND = 1, BODY_CYLINDER = 2, BODY_FIELD = 3 };

/// A sampled distance of a shape, cells.
typedef struct liquid_field {
    int32_t nodes[3];
    float per_spacing, min[3];
    const float *distance; ///< device memory
} liquid_field;

/// A solid that moves, as far as it never changes. Lengths in cells; masses in cells of the lightest liquid.
typedef struct liquid_body {
    uint32_t kind, field, is_free;
    float half[3];       ///< as tarn_shape's
    float center[3];     ///< of mass, in the shape's frame
    float reach;         ///< from the centre of mass to the farthest point
    float box_center[3]; ///< of the box around it, in the shape's frame
    float box_half[3];
    float box_slack;          ///< no distance is less than that to the box by more than this, rounding included
    float inverse_mass;       ///< 0: keyframed
    float film;               ///< share of a thin film beside it that it takes along in a substep: less than 1 if light
    float inverse_inertia[6]; ///< along the shape's axes: xx yy zz yz xz xy
    uint32_t point_count;
    float point[BODY_POINTS_MAX][3]; ///< for contacts, from the centre of mass: first those on a round body's axis
    uint32_t axis_points;            ///< which are middles of balls of half[0]; the others lie on the surface
} liquid_body;

/// Where a body is and how it moves; cells, steps, radians.
typedef struct liquid_body_state {
    float position[3]; ///< of the centre of mass
    float rotation[4]; ///< unit quaternion x, y, z, w
    float velocity[3], spin[3];
    float turn[9];    ///< the rotation as a matrix, rows first
    float contact[6]; ///< velocity and spin per step that contacts gave in the last substep: the next one's first guess
} liquid_body_state;

typedef struct liquid_bodies {
    liquid_body_state state[BODIES_MAX];
    float change[BODIES_MAX][6]; ///< velocity and spin that a pressure gives: M^-1 J^T p
    float hold[BODIES_MAX];      ///< share of viscosity that acts between liquid and body, in a substep
    uint32_t count;
    uint32_t tile_count; ///< of body_tile
    liquid_field field[FIELDS_MAX];
    liquid_body body[BODIES_MAX];
} liquid_bodies;

typedef struct liquid_grab {
    uint32_t body;
    float point[3], target[3]; ///< from the centre of mass in the body's frame; in the tank
    float strength;
} liquid_grab;

/// What the host tells the bodies before a step.
typedef struct liquid_body_control {
    float from[BODIES_MAX][7], to[BODIES_MAX][7]; ///< keyframed: position and rotation at the step's ends
    uint32_t substep;                             ///< the device counts them
    float grab_limit;                             ///< change of velocity that a hand may make in a step
    uint32_t grab_count;
    liquid_grab grab[GRABS_MAX];
} liquid_body_control;

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

typedef struct liquid_totals {
    uint64_t sum[TOTAL_COUNT];
} liquid_totals;

/// A tile of a multigrid level among the others. Tiles are indices in their level's list.
typedef struct liquid_patch {
    uint32_t beside[6];     ///< -x +x -y +y -z +z, or TILE_NONE
    uint32_t child[8];      ///< of the finer level, x fastest, or TILE_NONE
    uint32_t parent;        ///< of the coarser level
    uint32_t octant;        ///< which of the parent's eight it is
    uint32_t row_count;     ///< rows with equations
    uint8_t row[TILE_ROWS]; ///< first those with equations, then the others, each ascending
} liquid_patch;

/// The matrix and vectors of one multigrid level; per tile.
typedef struct liquid_level {
    uint32_t *tile;      ///< [i]: dense tile
    uint32_t *index;     ///< [dense]: i, or TILE_NONE
    uint32_t *tile_next; ///< the list to come
    uint32_t *bits;      ///< bitmap over dense tiles: the list to come, before it is a list
    /// Off-diagonal coefficients (positive, the matrix has their negatives), one per face:
    /// ax[i][z][y][0..8], ay[i][z][0..8][x], az[i][0..8][y][x]
    float *ax, *ay, *az;
    float *diagonal; ///< [i][512]; 0 where the cell has no equation
    liquid_patch *patch;
    float *b; ///< right-hand side
    float *x; ///< pre-smoothed, then with the coarser level's correction; zero in rows without equations
    float *y; ///< the finest level's result, as x
} liquid_level;

/// Device memory of a tank.
typedef struct liquid_memory {
    liquid_control *control;
    liquid_counters *counters;
    liquid_totals *totals;

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

    // dense tables
    uint32_t *tile_first, *tile_count;           ///< particles
    uint32_t *tile_first_next, *tile_count_next; ///< after the move
    uint32_t *slot;                              ///< active index or TILE_NONE

    // active
    uint32_t *active_tile; ///< dense tile
    uint32_t *active_tile_next, *active_bits;
    uint32_t *births;       ///< [s] particles born in a tile, in steps with births
    uint32_t *births_first; ///< [s] of these, those in tiles before
    float *u[3];            ///< [s][512] on the lower faces: with forces, then projected
    float *u_old[3];        ///< as transferred, or SPEED_UNKNOWN
    float *u_ext[3];        ///< projected and extrapolated
    float *shift[3];        ///< displacement of the density correction, cells; until then free
    uint8_t *cell_type;     ///< [s][512]
    uint8_t *face_rows;   ///< [s][axis][64], bit per lower face of a row: without a velocity after the P2G, then valid
    uint8_t *face_kind;   ///< [s][512] of viscosity, bits per axis
    float *density_error; ///< [s][512] smoothed density over that at rest, less 1
    float *beta[3]; ///< [s][512] lower faces: density of the lightest liquid over the face's; NULL where all are equal
    // active, and NULL in a tank without solids
    uint8_t *open[3];  ///< [s][512] share of the lower face that no solid covers, 0..255
    uint8_t *room;     ///< [s][512] share of the density kernel around the cell's centre that no solid covers, 0..255
    float *solid_flux; ///< [s][512] sum over a cell's faces of covered share times the solid's velocity outwards
    float *viscosity;  ///< [s][512] mean of the cell's particles, of a substep; NULL in a tank of one liquid
    uint8_t *sides;    ///< [s][512] bit per side of a cell that isn't all covered: -x +x -y +y -z +z
    // solids that don't move: NULL in a tank without solids
    uint32_t *solid_tile;                              ///< [dense]: i, TILE_NONE (no surface near) or TILE_FULL
    uint32_t *solid_dense;                             ///< [i]: dense tile
    int16_t *solid_node;                               ///< [i][729] signed distance, 1/SOLID_NODE_UNIT cell
    uint8_t *solid_open[3], *solid_room, *solid_sides; ///< [i][512] as open, room, sides; of these solids alone
    uint32_t *solid_listed;                            ///< of those i whose shares are computed anew; NULL: of all
    // bodies: NULL in a tank without
    liquid_bodies *bodies;
    liquid_body_control *body_control;
    uint8_t *cover_owner; ///< [s][512] body that covers faces of a cell, or BODY_NONE
    int16_t *cover[3];    ///< [s][512] what it covers of the upper face less of the lower one, 1/255
    int16_t *lack[3];     ///< [s][512] what a free one takes of a cell less its mean cover of both faces, 1/510
    uint32_t *body_tile;  ///< [k] occupied index of tiles that free bodies may cover
    float *body_partial;  ///< [k][BODIES_MAX][BODY_SUMS]
    // occupied
    int32_t *momentum[3], *weight[3], *density; ///< [o][node_count]
    uint8_t *cell_count;                        ///< [o][512], saturated
    int32_t *mass[3];                           ///< [o][node_count]; NULL in a tank whose liquids are equally heavy
    uint32_t *move_count;                       ///< [o][27]: to each neighbour; then where there they begin
    float *residual, *direction, *product;      ///< [o][512]
    float *pressure, *potential;                ///< [o][512]: solutions of the two solves
    uint32_t *solved_tile;                      ///< [o]: dense tile, as it was when the pressure was solved
    float *partial;                             ///< [o]: of dot products and maxima

    uint32_t *kept_tile; ///< dense tiles that are always active; NULL where there are none

    liquid_level level[LEVELS_MAX];
} liquid_memory;

enum { COLOUR_ALL = 2 };

/// The argument of every kernel of the liquid.
typedef struct liquid_args {
    liquid_shape shape;
    liquid_memory m;
    uint32_t level;      ///< for the multigrid's kernels
    uint32_t is_density; ///< 0: the solve is for pressure, 1: for the density correction
    float *solution;     ///< of the solve: pressure or potential
    uint32_t reseed;     ///< 1: thinned-out cells get particles, crowded ones lose some
    uint32_t colour;     ///< for liquid_relax: cells whose coordinates have an even (0) or odd (1) sum, or COLOUR_ALL
    uint32_t is_first;   ///< the check before the solver's first iteration
    uint32_t iteration, iteration_count; ///< of viscosity
    const float *gathered;               ///< for the bodies: the pressure that acts on them
} liquid_args;

/// Kernels, in the order of a step.
#define LIQUID_KERNEL_LIST(K)                                                                                          \
    K(liquid_clear)                                                                                                    \
    K(liquid_mark)                                                                                                     \
    K(liquid_p2g)                                                                                                      \
    K(liquid_p2g_mixed)                                                                                                \
    K(liquid_p2g_apic)                                                                                                 \
    K(liquid_p2g_quadratic)                                                                                            \
    K(liquid_p2g_apic_quadratic)                                                                                       \
    K(liquid_grid)                                                                                                     \
    K(liquid_grid_any)                                                                                                 \
    K(liquid_fill)                                                                                                     \
    K(liquid_beta)                                                                                                     \
    K(liquid_viscous_faces)                                                                                            \
    K(liquid_viscous_cells)                                                                                            \
    K(liquid_viscosity)                                                                                                \
    K(liquid_viscosity_mixed)                                                                                          \
    K(liquid_solid_shares)                                                                                             \
    K(liquid_solids)                                                                                                   \
    K(liquid_solid_cells)                                                                                              \
    K(liquid_bodies_begin)                                                                                             \
    K(liquid_body_tiles)                                                                                               \
    K(liquid_body_gather)                                                                                              \
    K(liquid_body_respond)                                                                                             \
    K(liquid_body_apply)                                                                                               \
    K(liquid_body_hold)                                                                                                \
    K(liquid_body_drag)                                                                                                \
    K(liquid_body_lift)                                                                                                \
    K(liquid_body_flux)                                                                                                \
    K(liquid_bodies_kick)                                                                                              \
    K(liquid_bodies_end)                                                                                               \
    K(liquid_collide)                                                                                                  \
    K(liquid_fringe)                                                                                                   \
    K(liquid_tension_smooth)                                                                                           \
    K(liquid_tension)                                                                                                  \
    K(liquid_matrix)                                                                                                   \
    K(liquid_coarsen)                                                                                                  \
    K(liquid_solve_start)                                                                                              \
    K(liquid_solve_check)                                                                                              \
    K(liquid_mg_smooth)                                                                                                \
    K(liquid_mg_restrict)                                                                                              \
    K(liquid_mg_top)                                                                                                   \
    K(liquid_mg_prolong)                                                                                               \
    K(liquid_cg_beta)                                                                                                  \
    K(liquid_cg_direction)                                                                                             \
    K(liquid_cg_apply)                                                                                                 \
    K(liquid_cg_alpha)                                                                                                 \
    K(liquid_cg_update)                                                                                                \
    K(liquid_relax)                                                                                                    \
    K(liquid_project)                                                                                                  \
    K(liquid_extrapolate)                                                                                              \
    K(liquid_slip)                                                                                                     \
    K(liquid_slip_end)                                                                                                 \
    K(liquid_gather_apic)                                                                                              \
    K(liquid_gather_quadratic)                                                                                         \
    K(liquid_gather_apic_quadratic)                                                                                    \
    K(liquid_advect)                                                                                                   \
    K(liquid_events)                                                                                                   \
    K(liquid_spray)                                                                                                    \
    K(liquid_spray_choose)                                                                                             \
    K(liquid_births)                                                                                                   \
    K(liquid_births_limit)                                                                                             \
    K(liquid_advect_gathered)                                                                                          \
    K(liquid_arrivals)                                                                                                 \
    K(liquid_keep_active)                                                                                              \
    K(liquid_keep_pours)                                                                                               \
    K(liquid_stay)                                                                                                     \
    K(liquid_retire)                                                                                                   \
    K(liquid_list)                                                                                                     \
    K(liquid_scatter)                                                                                                  \
    K(liquid_spawn)                                                                                                    \
    K(liquid_adopt)                                                                                                    \
    K(liquid_dye)                                                                                                      \
    K(liquid_undyed)                                                                                                   \
    K(liquid_tint)                                                                                                     \
    K(liquid_volume)                                                                                                   \
    K(liquid_totals_sum)

// ---------------------------------------------------------------------------------------------------- small geometry

typedef struct tile_place {
    int x, y, z;
} tile_place;

TILE_FN tile_place tile_place_of(const liquid_shape *shape, uint32_t level, uint32_t dense)
{
    const int nx = shape->tiles[level][0], ny = shape->tiles[level][1];
    tile_place place;
    place.x = (int)dense % nx;
    place.y = (int)dense / nx % ny;
    place.z = (int)dense / (nx * ny);
    return place;
}

/// Dense index of a place, or TILE_NONE outside the tank.
TILE_FN uint32_t tile_dense_of(const liquid_shape *shape, uint32_t level, int x, int y, int z)
{
    const int nx = shape->tiles[level][0], ny = shape->tiles[level][1], nz = shape->tiles[level][2];
    if (x < 0 || y < 0 || z < 0 || x >= nx || y >= ny || z >= nz) {
        return TILE_NONE;
    }
    return (uint32_t)((z * ny + y) * nx + x);
}

/// Neighbour n (0..26, x fastest, 13 is the tile itself) of a place.
TILE_FN uint32_t tile_neighbour(const liquid_shape *shape, uint32_t level, tile_place place, uint32_t n)
{
    return tile_dense_of(shape, level, place.x + (int)(n % 3) - 1, place.y + (int)(n / 3 % 3) - 1,
                         place.z + (int)(n / 9) - 1);
}

TILE_FN uint32_t cell_index(int x, int y, int z)
{
    return (uint32_t)((z * TILE_EDGE + y) * TILE_EDGE + x);
}

/// The cell of its tile that a particle is in.
TILE_FN uint32_t particle_cell(const liquid_memory *m, uint32_t particle)
{
    const uint32_t mask = TILE_EDGE - 1;
    return cell_index((int)(m->position[0][particle] >> POSITION_BITS & mask),
                      (int)(m->position[1][particle] >> POSITION_BITS & mask),
                      (int)(m->position[2][particle] >> POSITION_BITS & mask));
}

/// Cells of the tank in a tile, along an axis: 8, or less in the last tile.
TILE_FN int tile_extent(const liquid_shape *shape, int axis, int tile_at)
{
    return tile_min_i32(TILE_EDGE, shape->cells[axis] - tile_at * TILE_EDGE);
}

/// A position's two nodes along one axis, for nodes on faces and for nodes at cell centres, in cells of the tile (the
/// centre of cell -1 comes before the tile); and their weights, which are exact.
typedef struct particle_axis {
    int face, center;
    float face_weight[2], center_weight[2];
} particle_axis;

/// `local`: position in the tile, in 1/2^20 cells. What a mirrored position gets are the mirrored weights, exactly.
TILE_FN particle_axis axis_weights_local(int local)
{
    const int centered = local - (1 << (POSITION_BITS - 1));
    const int mask = (1 << POSITION_BITS) - 1;
    const float unit = 1.0f / (1 << POSITION_BITS);
    particle_axis a;
    a.face = local >> POSITION_BITS;
    a.face_weight[1] = ((float)(local & mask) + 0.5f) * unit;
    a.face_weight[0] = 1.0f - a.face_weight[1];
    a.center = centered >> POSITION_BITS;
    a.center_weight[1] = ((float)(centered & mask) + 0.5f) * unit;
    a.center_weight[0] = 1.0f - a.center_weight[1];
    return a;
}

#endif
