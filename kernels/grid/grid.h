/// A tank's grid: what the host code and the kernels of grid, tank and models share of it: layout of the memory, units,
/// limits. Private to kernels; included by kernels, so it is C17 and C++17 at once.
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
/// Velocities lie on the cells' lower faces (MAC grid), everything else in their centres.
#ifndef TARN_KERNELS_GRID_H
#define TARN_KERNELS_GRID_H

#include "kernels/device/tile.h"

#include <stdint.h>

enum {
    TILE_LOG2 = 3,
    TILE_EDGE = 8,
    TILE_CELLS = 512,
    TILE_ROWS = 64,     ///< of eight cells along x: [z][y]
    TILE_FACES = 576,   ///< faces normal to one axis, both borders included: 9 * 8 * 8
    POSITION_BITS = 20, ///< fraction bits of a position; a particle sits at (X + 0.5) / 2^20 cells
    TILE_POSITION_BITS = 23,
    WALL_MARGIN = 1 << (POSITION_BITS - 6), ///< that particles keep from the tank's walls: 1/64 cell
    LEVELS_MAX = 8,                         ///< 8 * 2^(LEVELS_MAX - 1) = 1024 cells
    EXTRAPOLATION_LAYERS = 3,
    PARTICLE_LANES = 256,
    CELL_LANES = 256,
    SOLVER_LANES = 512, ///< of what goes over matrices and what they are made of: a cell each (lines.h, rim.cuda.h)
};

#define TILE_NONE 0xffffffffu
#define TILE_FULL 0xfffffffeu ///< in solid_tile: all of it lies deep inside a solid

#define SPEED_MAX 32.0f        ///< cells per step: the largest cfl times the most substeps
#define SPEED_UNKNOWN 1e6f     ///< in u_old, of a face that has no velocity of its own; it gives particles no change
#define MOVE_CELLS_MAX 4.0f    ///< per axis and substep, of liquid: velocities are extrapolated so far
#define FLIGHT_CELLS_MAX 7.0f  ///< the same of spray, which flies straight: less than a tile
#define DENSITY_STEP_MAX 0.25f ///< largest density error that is corrected in one substep

/// CELL_FRINGE: has liquid, but the surface passes below its centre; pressure takes it for air (grid_fringe).
enum { CELL_AIR = 0, CELL_LIQUID = 1, CELL_SOLID = 2, CELL_FRINGE = 4 };

enum {
    SOLID_EDGE = 9, ///< nodes of a tile per axis: its cells' corners
    SOLID_NODES = SOLID_EDGE * SOLID_EDGE * SOLID_EDGE,
    SOLID_NODE_UNIT = 1024, ///< per cell
    SOLID_NEAR_CELLS = 4,   ///< tiles that come this close to a surface have nodes
    SOLID_ROUGH_CELLS = 2,
};

/// Shape of the tank and of the multigrid's levels. Constant after creation.
typedef struct grid_shape {
    int32_t cells[3];
    int32_t tiles[LEVELS_MAX][3]; ///< per level
    uint32_t tile_total[LEVELS_MAX];
    uint32_t level_count;
    uint32_t active_max, occupied_max; ///< tiles that memory is there for
} grid_shape;

enum { WATCHED_MAX = 32 }; ///< bits of a word

/// What the host sets before a step.
typedef struct grid_control {
    float frac; ///< of a step, that one substep covers
    /// Share of a step for which forces act in a substep. Velocities are those of the middle of the substep that moves
    /// with them (leapfrog): forces act for half of the last substep and half of this one. The first substep's; then
    /// the device makes it `frac`.
    float kick;
    float gravity[3]; ///< cells per step^2, and what a shaken tank adds
    // of a turning tank
    uint32_t is_turning;
    float pivot[3];          ///< cells
    float force_slope[3][3]; ///< centrifugal and Euler force per cell from the pivot, 1 / step^2
    float coriolis[3][3];    ///< rotation of velocities in a substep
    float turn[3];           ///< the tank's own, in its frame: radians per step
    float turn_change[3];    ///< radians per step^2
    float tolerance;         ///< max abs(div u) * dt
    float density_tolerance; ///< max abs(density error)
    float relaxation;        ///< of Jacobi's and Gauss-Seidel's iterations
    float density_gain;      ///< share of the density error that is corrected in a substep
    float speed_max;         ///< cells per step, at most SPEED_MAX
    float grip; ///< 0..1: share of the way to a wall's or a solid's velocity that liquid beside it goes in a substep
    float body_viscosity; ///< nu dt / dx^2 of a substep where bodies grip; 0 where it differs from cell to cell
    uint32_t balances;    ///< 1: free bodies have the last pressure's change, too, until grid_bodies_unbalance
    uint32_t faces_carry; ///< 1: u_old is about what particles brought, which faces off the liquid keep
    // cells of which it is asked whether they lie in closed regions, to the density correction
    uint32_t watched_count;
    uint32_t watched_tile[WATCHED_MAX], watched_cell[WATCHED_MAX]; ///< dense tile, and which of its cells
} grid_control;

enum { REGIONS_MAX = 32 }; ///< closed ones that have a mean each: bits of a word

/// What the device counts.
typedef struct grid_counters {
    uint32_t occupied, active;
    uint32_t active_next, level_tiles_next[LEVELS_MAX]; ///< of the lists to come
    uint32_t adopting;                                  ///< tiles of the launch that makes them the present ones
    uint32_t overflow;                                  ///< more tiles are needed than there is memory for
    uint32_t solved_active;                             ///< active tiles of the last pressure solve
    uint32_t solved;                                    ///< tiles of the last pressure solve
    uint32_t level_tiles[LEVELS_MAX];                   ///< [0] == occupied
    uint32_t liquid_cells;                              ///< being counted
    uint32_t liquid_cells_last;                         ///< of the last substep
    uint32_t speed_max_bits; ///< along an axis, of what moved farthest; as bits: non-negative floats order as integers
    uint32_t liquid_speed_bits; ///< the same without spray
    uint32_t open;              ///< the free surface crosses faces of some tile
    uint32_t watched_closed;    ///< bit per watched cell: no free surface touches its liquid
    uint32_t watched_last;      ///< the same, of the last substep
    uint32_t regions;           ///< of liquid that no free surface touches, as far as they were told apart: regions.h
    uint32_t regions_afloat;    ///< of liquid that free bodies touch, but no free surface
    uint32_t closed_cells[REGIONS_MAX];  ///< with equations, of these
    uint64_t closed_excess[REGIONS_MAX]; ///< sum of the right side over them, two's complement, 2^-EXCESS_BITS
    uint32_t go;                         ///< the solver's loop goes on
    uint32_t failed;      ///< the solve in progress came to something that isn't finite: it is not applied
    uint32_t broken;      ///< values out of all bounds have come to particles or to a solve since the tank was seeded
    uint32_t unconverged; ///< pressure solves that ended by their cap on iterations, since the tank was seeded
    uint32_t iterations;  ///< of the solve in progress
    uint32_t pressure_iterations;
    float residual;          ///< of the solve in progress
    float pressure_residual; ///< max abs(div u) * dt
    float rz, alpha, beta;   ///< of the conjugate gradients
    uint32_t come;           ///< tiles of the launch that tile_is_last counts
} grid_counters;

enum { BODIES_MAX = 16, BODY_POINTS_MAX = 61, GRABS_MAX = 16, FIELDS_MAX = 16 };

enum { SOLIDS_MAX = 64, SOLID_SMOOTH = 255 }; ///< in solid_rough: none that has friction

#define BODY_SPEED_MAX (0.5f * SPEED_MAX) ///< cells per step, per axis
#define BODY_SPIN_MAX 1.0f                ///< radians per step, per axis

enum { BODY_GRIP = 6, BODY_SUMS = 7 }; ///< gathered: a force, a moment, and by what mass liquid grips the body

/// Shapes of bodies. BODY_ROUND: sphere and capsule.
enum { BODY_BOX = 0, BODY_ROUND = 1, BODY_CYLINDER = 2, BODY_FIELD = 3 };

/// A sampled distance of a shape, cells.
typedef struct grid_field {
    int32_t nodes[3];
    float per_spacing, min[3];
    const float *distance; ///< device memory
} grid_field;

/// A solid that moves, as far as it never changes. Lengths in cells; masses in cells of the lightest liquid.
typedef struct grid_body {
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
} grid_body;

/// Where a body is and how it moves; cells, steps, radians.
typedef struct grid_body_state {
    float position[3]; ///< of the centre of mass
    float rotation[4]; ///< unit quaternion x, y, z, w
    float velocity[3], spin[3];
    float turn[9];    ///< the rotation as a matrix, rows first
    float contact[6]; ///< velocity and spin per step that contacts gave in the last substep: the next one's first guess
    float balance[6]; ///< the same of pressure, in tanks where what acts before it is to be balanced by the last one
} grid_body_state;

typedef struct grid_bodies {
    grid_body_state state[BODIES_MAX];
    float change[BODIES_MAX][6]; ///< velocity and spin that a pressure gives: M^-1 J^T p
    float hold[BODIES_MAX];      ///< share of viscosity that acts between liquid and body, in a substep
    uint32_t count;
    uint32_t tile_count; ///< of body_tile
    grid_field field[FIELDS_MAX];
    grid_body body[BODIES_MAX];
} grid_bodies;

typedef struct grid_grab {
    uint32_t body;
    float point[3], target[3]; ///< from the centre of mass in the body's frame; in the tank
    float strength;
} grid_grab;

/// What the host tells the bodies before a step.
typedef struct grid_body_control {
    float from[BODIES_MAX][7], to[BODIES_MAX][7]; ///< keyframed: position and rotation at the step's ends
    uint32_t substep;                             ///< the device counts them
    float grab_limit;                             ///< change of velocity that a hand may make in a step
    uint32_t grab_count;
    grid_grab grab[GRABS_MAX];
} grid_body_control;

/// A tile of a multigrid level among the others. Tiles are indices in their level's list.
typedef struct grid_patch {
    uint32_t beside[6];     ///< -x +x -y +y -z +z, or TILE_NONE
    uint32_t child[8];      ///< of the finer level, x fastest, or TILE_NONE
    uint32_t parent;        ///< of the coarser level
    uint32_t octant;        ///< which of the parent's eight it is
    uint32_t row_count;     ///< rows with equations
    uint32_t row_end;       ///< rows that the tank has in its tiles: tile_rows
    uint32_t full[2];       ///< those with equations as bits
    uint8_t row[TILE_ROWS]; ///< first those with equations, then the others, each ascending
} grid_patch;

/// The matrix and vectors of one multigrid level; per tile.
typedef struct grid_level {
    uint32_t *tile;      ///< [i]: dense tile
    uint32_t *index;     ///< [dense]: i, or TILE_NONE
    uint32_t *tile_next; ///< the list to come
    uint32_t *bits;      ///< bitmap over dense tiles: the list to come, before it is a list
    /// Off-diagonal coefficients (positive, the matrix has their negatives), one per face:
    /// ax[i][z][y][0..8], ay[i][z][0..8][x], az[i][0..8][y][x]
    float *ax, *ay, *az;
    float *diagonal; ///< [i][512]; 0 where the cell has no equation
    grid_patch *patch;
    float *b; ///< right-hand side
    float *x; ///< pre-smoothed, then with the coarser level's correction; zero in rows without equations
    float *y; ///< the finest level's result, as x; and iterates in turn with x, on all levels, where contrast is high
} grid_level;

enum { SWEEPS_MAX = 96 };

/// A Chebyshev semi-iteration, one more degree with each sweep: what of the last change is kept, and by how much of the
/// new one it goes on. The first one's is step[0] alone.
typedef struct grid_sweeps {
    float keep[SWEEPS_MAX], step[SWEEPS_MAX];
    uint32_t count;
} grid_sweeps;

/// Device memory of a tank's grid.
typedef struct grid_memory {
    grid_control *control;
    grid_counters *counters;

    // dense tables
    uint32_t *slot; ///< active index or TILE_NONE

    // active
    uint32_t *active_tile; ///< dense tile
    uint32_t *active_tile_next, *active_bits;
    float *u[3];          ///< [s][512] on the lower faces: with forces, then projected
    float *u_old[3];      ///< before the forces, or SPEED_UNKNOWN
    float *u_ext[3];      ///< projected and extrapolated
    float *shift[3];      ///< displacement of the density correction, cells; until then free (regions.h has shift[0])
    uint8_t *cell_type;   ///< [s][512]
    uint8_t *face_rows;   ///< [s][axis][64], bit per lower face of a row: without a velocity after the P2G, then valid
    float *density_error; ///< [s][512] smoothed density over that at rest, less 1
    float *beta[3]; ///< [s][512] lower faces: density of the lightest liquid over the face's; NULL where all are equal
    // active, and NULL in a tank without solids
    uint8_t *open[3];  ///< [s][512] share of the lower face that no solid covers, 0..255
    uint8_t *room;     ///< [s][512] share of the density kernel around the cell's centre that no solid covers, 0..255
    float *solid_flux; ///< [s][512] sum over a cell's faces of covered share times the solid's velocity outwards
    uint8_t *sides;    ///< [s][512] bit per side of a cell that isn't all covered: -x +x -y +y -z +z
    // solids that don't move: NULL in a tank without solids
    uint32_t *solid_tile;                              ///< [dense]: i, TILE_NONE (no surface near) or TILE_FULL
    uint32_t *solid_dense;                             ///< [i]: dense tile
    int16_t *solid_node;                               ///< [i][729] signed distance, 1/SOLID_NODE_UNIT cell
    uint8_t *solid_open[3], *solid_room, *solid_sides; ///< [i][512] as open, room, sides; of these solids alone
    uint32_t *solid_listed;                            ///< of those i whose shares are computed anew; NULL: of all
    uint8_t *solid_rough; ///< [i][512], i < rough_count: the description's nearest solid, if it has friction and is
                          ///< less than SOLID_ROUGH_CELLS from the cell's middle; walls put in change no such i
    uint32_t rough_count; ///< 0: no solid that stands still has friction
    // bodies: NULL in a tank without
    grid_bodies *bodies;
    grid_body_control *body_control;
    uint8_t *cover_owner; ///< [s][512] body that covers faces of a cell, or BODY_NONE
    int16_t *cover[3];    ///< [s][512] what it covers of the upper face less of the lower one, 1/255
    int16_t *lack[3];     ///< [s][512] what it takes of a cell less its mean cover of both faces, 1/510
    uint32_t *body_tile;  ///< [k] occupied index of tiles that free bodies may cover
    float *body_partial;  ///< [k][BODIES_MAX][BODY_SUMS]
    // occupied
    uint8_t *cell_count;                   ///< [o][512] particles, saturated
    float *residual, *direction, *product; ///< [o][512]; the direction is the last iteration's until the update
    float *pressure, *potential;           ///< [o][512]: solutions of the two solves
    uint32_t *solved_tile;                 ///< [o]: dense tile, as it was when the pressure was solved
    float *partial;                        ///< [o]: of dot products and maxima

    uint32_t *kept_tile; ///< dense tiles that are always active; NULL where there are none
    grid_sweeps *sweeps; ///< [3]: over the finest level, over the coarser ones, and over the coarsest

    grid_level level[LEVELS_MAX];

    // last: before the levels it would cost the solver's chain two more registers stored (kernels/ptx)
    uint32_t *solved_slot; ///< [o]: of solved_tile the active index then, which has the faces that the pressure acts on
} grid_memory;

enum { COLOUR_ALL = 2 };

/// The argument of every kernel of the grid.
typedef struct grid_args {
    grid_shape shape;
    grid_memory m;
    uint32_t level;        ///< for the multigrid's kernels
    uint32_t sweep;        ///< for grid_mg_sweep: which of the level's
    uint32_t is_after;     ///< the same: 1: the coarser levels have had their turn
    uint32_t is_density;   ///< 0: the solve is for pressure, 1: for the density correction
    uint32_t is_alone;     ///< no density correction follows the pressure: what regions.h has of `shift` is zero again
    float *solution;       ///< of the solve: pressure or potential
    uint32_t colour;       ///< for grid_relax: cells whose coordinates have an even (0) or odd (1) sum, or COLOUR_ALL
    uint32_t is_conjugate; ///< 1: the direction is level[0].y and beta times the last one; 0: `direction` has it
    uint32_t is_first;     ///< before the solver's first iteration
    uint32_t ends;         ///< the launch's last tile does what all of them lead to: alpha, or the check
    const float *gathered; ///< for the bodies: the pressure that acts on them; NULL: the iteration's direction
    uint32_t walls_known;  ///< 1: faces in and beyond the tank's walls are 0 and need no extrapolated velocity
} grid_args;

/// Kernels from the matrix to the projection: one launch where the device can (solve.tile.c).
#define GRID_CHAIN_LIST(K)                                                                                             \
    K(grid_matrix)                                                                                                     \
    K(grid_coarsen)                                                                                                    \
    K(grid_regions_join)                                                                                               \
    K(grid_regions_open)                                                                                               \
    K(grid_regions_list)                                                                                               \
    K(grid_solve_start)                                                                                                \
    K(grid_solve_closed)                                                                                               \
    K(grid_solve_check)                                                                                                \
    K(grid_mg_smooth)                                                                                                  \
    K(grid_mg_restrict)                                                                                                \
    K(grid_mg_top)                                                                                                     \
    K(grid_mg_prolong)                                                                                                 \
    K(grid_mg_sweep)                                                                                                   \
    K(grid_cg_apply)                                                                                                   \
    K(grid_body_gather)                                                                                                \
    K(grid_body_respond)                                                                                               \
    K(grid_body_apply)                                                                                                 \
    K(grid_cg_alpha)                                                                                                   \
    K(grid_cg_update)                                                                                                  \
    K(grid_relax)                                                                                                      \
    K(grid_bodies_kick)                                                                                                \
    K(grid_project)

/// All of them.
#define GRID_KERNEL_LIST(K)                                                                                            \
    K(grid_solid_shares)                                                                                               \
    K(grid_solids)                                                                                                     \
    K(grid_solid_cells)                                                                                                \
    K(grid_bodies_begin)                                                                                               \
    K(grid_body_tiles)                                                                                                 \
    K(grid_bodies_unbalance)                                                                                           \
    K(grid_body_hold)                                                                                                  \
    K(grid_body_lift)                                                                                                  \
    K(grid_body_flux)                                                                                                  \
    K(grid_bodies_end)                                                                                                 \
    K(grid_fringe)                                                                                                     \
    GRID_CHAIN_LIST(K)                                                                                                 \
    K(grid_extrapolate)                                                                                                \
    K(grid_slip)                                                                                                       \
    K(grid_slip_end)

// ---------------------------------------------------------------------------------------------------- small geometry

typedef struct tile_place {
    int x, y, z;
} tile_place;

TILE_FN tile_place tile_place_of(const grid_shape *shape, uint32_t level, uint32_t dense)
{
    const int nx = shape->tiles[level][0], ny = shape->tiles[level][1];
    tile_place place;
    place.x = (int)dense % nx;
    place.y = (int)dense / nx % ny;
    place.z = (int)dense / (nx * ny);
    return place;
}

/// Dense index of a place, or TILE_NONE outside the tank.
TILE_FN uint32_t tile_dense_of(const grid_shape *shape, uint32_t level, int x, int y, int z)
{
    const int nx = shape->tiles[level][0], ny = shape->tiles[level][1], nz = shape->tiles[level][2];
    if (x < 0 || y < 0 || z < 0 || x >= nx || y >= ny || z >= nz) {
        return TILE_NONE;
    }
    return (uint32_t)((z * ny + y) * nx + x);
}

/// How fast what carries particles is beyond the tank's walls across an axis, over what it is before them: 1 where
/// liquid slips freely, -1 where its velocity goes to zero at the wall. In a tank of one cell's depth nothing rubs.
TILE_FN float wall_slip(const grid_args *args, int axis)
{
    return args->shape.cells[axis] > 1 ? 1.0f - 2.0f * args->m.control->grip : 1.0f;
}

/// Planes of cells across z that tiles have in the tank: in one that is flat the first alone. Of the others only types,
/// which are solid, and the faces' bits are ever set.
TILE_FN int tile_planes(const grid_shape *shape)
{
    return shape->cells[2] == 1 ? 1 : TILE_EDGE;
}
TILE_FN uint32_t tile_rows(const grid_shape *shape)
{
    return (uint32_t)(tile_planes(shape) * TILE_EDGE);
}

/// Neighbour n (0..26, x fastest, 13 is the tile itself) of a place.
TILE_FN uint32_t tile_neighbour(const grid_shape *shape, uint32_t level, tile_place place, uint32_t n)
{
    return tile_dense_of(shape, level, place.x + (int)(n % 3) - 1, place.y + (int)(n / 3 % 3) - 1,
                         place.z + (int)(n / 9) - 1);
}

/// Whether a cell's lower face across axis c lies on the tank's walls or beyond them.
TILE_FN int face_is_outside(const grid_shape *shape, const int *cell, int c)
{
    return cell[c] <= 0 || cell[0] >= shape->cells[0] || cell[1] >= shape->cells[1] || cell[2] >= shape->cells[2];
}

TILE_FN uint32_t cell_index(int x, int y, int z)
{
    return (uint32_t)((z * TILE_EDGE + y) * TILE_EDGE + x);
}

/// Cells of the tank in a tile, along an axis: 8, or less in the last tile.
TILE_FN int tile_extent(const grid_shape *shape, int axis, int tile_at)
{
    return tile_min_i32(TILE_EDGE, shape->cells[axis] - tile_at * TILE_EDGE);
}

/// Whether the tank is one cell deep: kernels then do one plane of cells.
TILE_FN int is_flat(const grid_shape *shape)
{
    return shape->cells[2] == 1;
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
