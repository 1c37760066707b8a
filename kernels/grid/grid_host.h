/// A tank's grid on the host: its memory, the solids and bodies in it, the sequence of launches that solves for its
/// pressure. The first part of every tank; shared by kernels/grid and what stands on it.
#ifndef TARN_KERNELS_GRID_HOST_H
#define TARN_KERNELS_GRID_HOST_H

#include "kernels/device/arena.h"
#include "kernels/grid/grid_kernels.h"
#include "kernels/step_input.h"
#include "kernels/tank.h"

#include <stdbool.h>

/// What pieces of memory there is one of for each of.
typedef enum grid_group {
    GROUP_TANK,
    GROUP_PARTICLE,
    GROUP_ACTIVE,
    GROUP_OCCUPIED,
    GROUP_COARSE,
    GROUP_COUNT
} grid_group;

/// Distances that the host sampled.
typedef struct solid_samples {
    uint32_t *tile, *dense; ///< [dense] and [i] as solid_tile and solid_dense
    int16_t *node;          ///< [i][SOLID_NODES]
    uint8_t *rough;         ///< [i][TILE_CELLS] as solid_rough; NULL: none rubs
    uint32_t count, count_max;
} solid_samples;

/// Solids that came while the tank ran; part of the state. Thrown bodies follow the description's.
typedef struct grid_added {
    uint32_t thrown_total; ///< since the start
    uint32_t thrown_count, wall_count;
    uint32_t thrown_at[TARN_TANK_THROWN_MAX]; ///< how many came before each
    tarn_solid thrown[TARN_TANK_THROWN_MAX];
    tarn_solid walls[TARN_TANK_WALLS_MAX]; ///< the oldest first
} grid_added;

/// The tiles near walls, on the host; with what the description has there, so that walls can go again.
typedef struct wall_tiles {
    solid_samples still; ///< of the description's solids
    uint32_t *tile;      ///< [dense] as solid_tile, walls included
    uint32_t *dense;     ///< [i] as solid_dense
    uint32_t *spare;     ///< indices that are free again
    uint32_t *listed;    ///< scratch, [dense]
    uint8_t *touched;    ///< scratch, [dense]
    uint32_t count, count_max, spare_count;
    bool is_current; ///< these and the device's tables are those of grid_added's walls
} wall_tiles;

/// Sequences of launches that a substep can be: whose tank has events, births, pours, and from which level on the
/// solver is a chain: GRID_SUBSTEP_KINDS for each.
enum { GRID_SUBSTEP_KINDS = 8, GRID_SUBSTEPS = GRID_SUBSTEP_KINDS * (LEVELS_MAX + 1) };

typedef struct grid_host {
    tarn_device *device;
    tarn_queue *queue;
    tarn_tank_desc desc;
    grid_args *args; ///< the first part of the model's
    uint64_t step;
    uint32_t substeps;                   ///< of the last step, 0 before the first
    tarn_replay *substep[GRID_SUBSTEPS]; ///< its launches as recorded; NULL: they are to be recorded anew
    uint64_t group_bytes[GROUP_COUNT];   ///< of device memory, per thing of its group
    tarn_arena arena;                    ///< all of the tank's device memory but what is added:
    tarn_arena more_solids, more_bodies; ///< when they first come
    void *shared;                        ///< device: of particle to grid and the solver in turn
    grid_memory own, more;               ///< solids: as they were taken at first, and for what was added since
    uint64_t more_bytes[GROUP_COUNT];    ///< as group_bytes, of the latter
    bool has_solids;                     ///< that move or stand still
    bool corrects_density;               ///< the model solves for that after the pressure
    uint32_t chain_tiles;                ///< that are worked on at once where the solver is a chain
    uint32_t chain_blocks[LEVELS_MAX];   ///< by chain_level: that run side by side where the device has room for them
    uint32_t chain_level;                ///< of this step: from the first level on whose tiles are that few it is one
    bool high_contrast;                  ///< the model's densities differ by more than a factor of two
    grid_added added;
    uint32_t added_changes; ///< counts them
    wall_tiles walls;
    uint32_t body_count, own_body_count;    ///< the latter: the description's
    uint32_t body_solid[BODIES_MAX];        ///< of these: index in the description
    grid_body_state body_state[BODIES_MAX]; ///< as the last step left them
    float body_center[BODIES_MAX][3];       ///< of mass, in the shape's frame
    float body_reach[BODIES_MAX];
    float *field_distance[FIELDS_MAX]; ///< device
    grid_body_control body_control;    ///< of the next step
    uint32_t solid_tiles;              ///< near solids that don't move
    solid_samples samples;             ///< of these, while the tank is being made
} grid_host;

/// Where the sentence goes that says what is wrong with a description.
typedef struct grid_complaint {
    char *text; ///< may be NULL
    size_t bytes;
} grid_complaint;

/// Writes the sentence. @return status
__attribute__((format(printf, 3, 4))) tarn_status grid_refuse(const grid_complaint *why, tarn_status status,
                                                              const char *format, ...);

// ------------------------------------------------------------------------------------------------------------ launches

/// Launches one kernel over *count (device memory) or `most` tiles. `args` is grid_args or begins with it, as the
/// kernel wants it.
void grid_launch(grid_host *grid, const void *args, const tarn_kernel *kernel, const uint32_t *count, uint32_t most);
void grid_launch_occupied(grid_host *grid, const void *args, const tarn_kernel *kernel);
void grid_launch_active(grid_host *grid, const void *args, const tarn_kernel *kernel);

/// The substeps' launches are other ones from now on.
void grid_forget_launches(grid_host *grid);

/// A force on the free bodies that their faces' pressure doesn't hold, before the pressure acts. `args` as above.
void grid_push_bodies(grid_host *grid, const void *args, const tarn_kernel *force);

/// Takes the last pressure's change out of the bodies' velocities, which grid_bodies_begin put in.
void grid_unbalance_bodies(grid_host *grid);

/// Before a step's launches: from which of the multigrid's levels on the solver is a chain, and of how many blocks, by
/// the tiles that there are. Blocks are so many that a tank whose tiles come and go is seldom recorded anew.
void grid_choose_chain(grid_host *grid, const grid_counters *counters);

/// From the matrix to the projection, what doesn't launch anything else may be one launch: `body` with the context
/// does them, in this order. Where the finest level has too many tiles for that, the coarser levels' part of a matrix,
/// and of each round, are one.
void grid_launch_chain(grid_host *grid, void (*body)(void *), void *context);

/// Brings the coefficients of the sweeps to the device, and asks it for how many tiles a chain is.
tarn_status grid_prepare_solver(grid_host *grid);

/// The matrix of the Poisson equation, on all levels.
void grid_launch_matrix(grid_host *grid);

/// Solves for the pressure, or for the potential of the density correction, and applies it.
/// @param iterations  at most
void grid_solve(grid_host *grid, bool is_density, uint32_t iterations);

// -------------------------------------------------------------------------------------------------------------- memory

/// Gives pieces of an arena to whom they are for. It goes through them twice: before the arena is taken it measures.
typedef struct grid_carver {
    grid_host *grid;
    tarn_arena *arena;
    uint32_t particles_max;
    grid_group group;
    uint32_t level;                ///< of GROUP_COARSE
    uint64_t each_of[GROUP_COUNT]; ///< bytes for each thing of a group, added up
    uint64_t shared_each;          ///< bytes of grid->shared that are spoken for, per tile
    bool sharing;                  ///< pieces come from grid->shared
} grid_carver;

/// One piece of `each` bytes for every thing of the group, to *piece; NULL while the arena isn't taken.
void grid_carve(grid_carver *t, void *piece, uint64_t each);

/// Pieces that something uses before the solver begins, and may lie where the solver's do: calls `sums` to take them.
void grid_carve_in_turn(grid_carver *t, void (*sums)(grid_carver *t, void *context), void *context);

/// All of the grid's own but what is taken in turn.
void grid_carve_all(grid_carver *t);

/// Takes what solids that are added need and the tank hasn't yet: of `near` tiles those that stand still; and bodies.
/// @return TARN_OK or TARN_E_MEMORY: then nothing was taken
tarn_status grid_carve_more_solids(grid_host *grid, uint32_t near);
tarn_status grid_carve_more_bodies(grid_host *grid);
void grid_give_memory(grid_host *grid);

// -------------------------------------------------------------------------------------------------------------- solids

/// Where a node of a tile is. @param first  the tile's first cell
static inline void grid_node_place(const tarn_tank_desc *desc, const int first[3], uint32_t node, double at_m[3])
{
    const int local[3] = {(int)(node % SOLID_EDGE), (int)(node / SOLID_EDGE % SOLID_EDGE),
                          (int)(node / (SOLID_EDGE * SOLID_EDGE))};
    for (int a = 0; a < 3; a++) {
        at_m[a] = (first[a] + local[a]) * (double)desc->cell_m;
    }
}

/// Whether solids, fields, key frames and fluid shapes are sound. @return TARN_OK, TARN_E_ARGUMENT or TARN_E_LIMIT
tarn_status grid_solids_check(const tarn_tank_desc *desc, const grid_complaint *why);

/// Whether some solid that stands still has friction.
bool grid_solids_rub(const tarn_tank_desc *desc);

/// Makes the tank's description own its fields' distances; tarn_tank_destroy frees them.
tarn_status grid_fields_copy(grid_host *grid);

/// Whether one solid of a description, or one that is to be added, is sound.
tarn_status grid_solid_check(const tarn_tank_desc *desc, const tarn_solid *solid, const grid_complaint *why);

/// Samples the solids that don't move. Those of grid->samples are sampled before the memory is taken, which follows
/// from them. On failure there is something to free too.
tarn_status grid_solids_sample(const grid_host *grid, solid_samples *to);
void grid_solids_drop(solid_samples *samples);

/// Brings the samples to the device and computes what they leave open.
tarn_status grid_solids_upload(grid_host *grid);

/// Which of the first 64 shapes may come within margin_m of a box: a bit each.
uint64_t grid_shapes_near(const tarn_tank_desc *desc, const double min_m[3], const double max_m[3], double margin_m);

/// Distance of a point, metres, to the solids of a mask as they stand at the start.
double grid_solids_distance_m(const tarn_tank_desc *desc, uint64_t solids, const double point_m[3]);

/// Lets the solids' memory be what the description and what was added ask for, and counts the bodies.
void grid_show_solids(grid_host *grid);

// -------------------------------------------------------------------------------------------------------------- bodies

/// Puts the bodies where the description has them.
tarn_status grid_bodies_reset(grid_host *grid);

/// Puts a body among the others, in place of what was there: the description's or a thrown one, as it came.
tarn_status grid_bodies_put(grid_host *grid, uint32_t body);

/// What a body is.
const tarn_solid *grid_body_solid(const grid_host *grid, uint32_t body);

/// How a body is numbered: tarn_body_state.solid.
uint32_t grid_body_number(const grid_host *grid, uint32_t body);

/// Tells the device of the key frames and grabs of the next step, and reads back where the last one left the bodies.
tarn_status grid_bodies_before_step(grid_host *grid);
tarn_status grid_bodies_after_step(grid_host *grid);

/// Fastest point of a body in the next step as far as is known, cells per step.
float grid_bodies_speed(const grid_host *grid);

/// Whether a pressure's change is kept of a body.
bool grid_body_is_balanced(const grid_body_state *state);

/// Mixes the bodies into a hash.
uint64_t grid_bodies_hash(const grid_host *grid, uint64_t hash);

/// Hands on bodies in the next step, which are sound. As tarn_tank_bodies.
bool grid_grab_is_sound(const grid_host *grid, const tarn_grab *grab);
void grid_set_grabs(grid_host *grid, const tarn_grab *grabs, uint32_t grab_count);
uint32_t grid_bodies_list(const grid_host *grid, tarn_body_state *bodies);

// ------------------------------------------------------------------------------------------------------- what is added

/// Of an input, its throws, walls and erasures: as tarn_tank_admit says; and lets them come to pass.
/// @param thrown  numbers of the bodies that were thrown in
tarn_status grid_admit(grid_host *grid, tarn_step_input *input, tarn_step_refusals *refusals);
tarn_status grid_add(grid_host *grid, const tarn_step_input *input, uint32_t thrown[TARN_STEP_THROWS_MAX]);

/// As tarn_tank_added.
uint32_t grid_added_list(const grid_host *grid, tarn_added_solid *list);

/// Forgets what was added. Before the bodies are put back.
void grid_added_forget(grid_host *grid);

/// Whether what a state has could have been added here.
bool grid_added_fits(const grid_host *grid, const grid_added *added);

/// Has that in place of what was added. @return TARN_OK, TARN_E_MEMORY or TARN_E_DEVICE
tarn_status grid_added_apply(grid_host *grid, const grid_added *added);

/// Mixes it into a hash, which stays as it is where nothing was added.
uint64_t grid_added_hash(const grid_host *grid, uint64_t hash);

/// Distances near all walls anew, or only near some that came or went: to the device.
/// @return TARN_OK, TARN_E_LIMIT (too many tiles), TARN_E_MEMORY or TARN_E_DEVICE
tarn_status grid_walls_renew(grid_host *grid);
tarn_status grid_walls_change(grid_host *grid, const tarn_solid *some, uint32_t count);

/// Whether tiles are left for these walls, too. The tables are current.
bool grid_walls_fit(grid_host *grid, const tarn_solid *some, uint32_t count);

/// Distance of a wall at a point, cells.
double grid_wall_distance(const grid_host *grid, const tarn_solid *wall, const double at_m[3]);
void grid_walls_free(grid_host *grid);

// ---------------------------------------------------------------------------------------------------------- validation

/// For validating builds (protocol/assert.h): asserts that lists of tiles and their tables fit together; and walls,
/// what was added and bodies. Between steps; counters as read from the device.
void grid_validate_tiles(const grid_host *grid, const grid_counters *counters);
void grid_validate(const grid_host *grid, const grid_counters *counters);

#endif
