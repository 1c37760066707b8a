/// A tank's host side, shared by the files of kernels/liquid.
#ifndef TARN_KERNELS_LIQUID_TANK_INTERNAL_H
#define TARN_KERNELS_LIQUID_TANK_INTERNAL_H

#include "kernels/liquid/kernels.h"
#include "kernels/tank.h"
#include "protocol/frame.h"

/// X(id, name): the stages of a profile.
#define TANK_STAGE_LIST(X)                                                                                             \
    X(STAGE_P2G, "p2g")                                                                                                \
    X(STAGE_GRID, "grid")                                                                                              \
    X(STAGE_VISCOSITY, "viscosity")                                                                                    \
    X(STAGE_MATRIX, "matrix")                                                                                          \
    X(STAGE_PRESSURE, "pressure")                                                                                      \
    X(STAGE_DENSITY, "density")                                                                                        \
    X(STAGE_EXTRAPOLATE, "extrapolate")                                                                                \
    X(STAGE_GATHER, "g2p") /* where it is not part of the next */                                                      \
    X(STAGE_ADVECT, "g2p+advect")                                                                                      \
    X(STAGE_SORT, "sort")                                                                                              \
    X(STAGE_ENCODE, "encode")

typedef enum tank_stage {
#define TANK_STAGE_ENUM(id, name) id,
    TANK_STAGE_LIST(TANK_STAGE_ENUM)
#undef TANK_STAGE_ENUM
        STAGE_COUNT
} tank_stage;

/// What pieces of memory there is one of for each of.
typedef enum tank_group {
    GROUP_TANK,
    GROUP_PARTICLE,
    GROUP_ACTIVE,
    GROUP_OCCUPIED,
    GROUP_COARSE,
    GROUP_COUNT
} tank_group;

/// Particles on the host, sorted by tile.
typedef struct tank_arrays {
    uint32_t *position[3], *id, *attribute;
    float *velocity[3], *affine[9];
    uint32_t count;
} tank_arrays;

/// The tank in the room; part of the state.
typedef struct tank_motion {
    double position_m[3], rotation[4]; ///< of the tank's middle against where it began; unit quaternion x y z w
    double target_m[3], target_rotation[4];
    double velocity_m_s[3], spin[3]; ///< in the room; rad/s
    // what the step in progress feels, in the tank's frame: not part of the state
    double gravity_m_s2[3];
    double turn[3], turn_change[3]; ///< rad per step, and its change
    int is_moving;
} tank_motion;

/// Distances that the host sampled.
typedef struct solid_samples {
    uint32_t *tile, *dense; ///< [dense] and [i] as solid_tile and solid_dense
    int16_t *node;          ///< [i][SOLID_NODES]
    uint32_t count, count_max;
} solid_samples;

/// Where a node of a tile is. @param first  the tile's first cell
static inline void tank_node_place(const tarn_tank_desc *desc, const int first[3], uint32_t node, double at_m[3])
{
    const int local[3] = {(int)(node % SOLID_EDGE), (int)(node / SOLID_EDGE % SOLID_EDGE),
                          (int)(node / (SOLID_EDGE * SOLID_EDGE))};
    for (int a = 0; a < 3; a++) {
        at_m[a] = (first[a] + local[a]) * (double)desc->cell_m;
    }
}

/// Solids that came while the tank ran; part of the state. Thrown bodies follow the description's.
typedef struct tank_added {
    uint32_t thrown_total; ///< since the start
    uint32_t thrown_count, wall_count;
    uint32_t thrown_at[TARN_TANK_THROWN_MAX]; ///< how many came before each
    tarn_solid thrown[TARN_TANK_THROWN_MAX];
    tarn_solid walls[TARN_TANK_WALLS_MAX]; ///< the oldest first
} tank_added;

/// The tiles near walls, on the host; with what the description has there, so that walls can go again.
typedef struct wall_tiles {
    solid_samples still; ///< of the description's solids
    uint32_t *tile;      ///< [dense] as solid_tile, walls included
    uint32_t *dense;     ///< [i] as solid_dense
    uint32_t *spare;     ///< indices that are free again
    uint32_t *listed;    ///< scratch, [dense]
    uint8_t *touched;    ///< scratch, [dense]
    uint32_t count, count_max, spare_count;
    int is_current; ///< these and the device's tables are those of tank_added's walls
} wall_tiles;

struct tarn_tank {
    tarn_device *device;
    tarn_queue *queue;
    tarn_tank_desc desc;
    float parameters[TARN_PARAMETER_COUNT];
    liquid_args args; ///< shape and memory, the same for every launch
    uint32_t particle_count;
    uint32_t generation;               ///< counts how often all particles were replaced
    uint64_t group_bytes[GROUP_COUNT]; ///< of device memory, per thing of its group
    void *shared;                      ///< device: of particle to grid and the solver in turn
    uint32_t kept_count;               ///< tiles that are always active
    uint64_t step;
    double sim_time_s;
    tank_motion motion;
    uint64_t seeded, born;                        ///< particles at the start, and since
    float emitter_births[TARN_TANK_EMITTERS_MAX]; ///< particles per cell of the emitter and step
    int has_births;                               ///< in this step particles may come into being
    int has_pours;                                ///< some of them where a pour is
    int has_events;                               ///< something may become of particles besides moving
    int had_births;                               ///< in some step since the start
    uint32_t *attributes[2];                      ///< device: args.m has them once there is dye
    uint32_t substeps;                            ///< of the last step
    liquid_counters counters;                     ///< as the last step left them
    tarn_replay *substep;
    uint32_t *tiles_host;             ///< [occupied]
    liquid_memory own, more;          ///< solids: as they were taken at first, and for what was added since
    uint64_t more_bytes[GROUP_COUNT]; ///< as group_bytes, of the latter
    int has_solids;                   ///< that move or stand still
    tank_added added;
    wall_tiles walls;
    uint32_t body_count, own_body_count;      ///< the latter: the description's
    uint32_t body_solid[BODIES_MAX];          ///< of these: index in the description
    liquid_body_state body_state[BODIES_MAX]; ///< as the last step left them
    float body_center[BODIES_MAX][3];         ///< of mass, in the shape's frame
    float body_reach[BODIES_MAX];
    float *field_distance[FIELDS_MAX]; ///< device
    liquid_body_control body_control;  ///< of the next step
    tarn_tank_tools tools;             ///< of the next step
    uint32_t solid_tiles;              ///< near solids that don't move
    solid_samples samples;             ///< of these, while the tank is being made
    int profiling;
    double stage_s[STAGE_COUNT], stage_mark_s;
};

/// Where the sentence goes that says what is wrong with a description.
typedef struct tank_complaint {
    char *text; ///< may be NULL
    size_t bytes;
} tank_complaint;

/// Writes the sentence. @return status
__attribute__((format(printf, 3, 4))) tarn_status tank_refuse(const tank_complaint *why, tarn_status status,
                                                              const char *format, ...);

/// Launches one kernel with the tank's arguments over *count (device memory) or `most` tiles.
void tank_launch(tarn_tank *tank, const liquid_args *args, liquid_kernel_id kernel, const uint32_t *count,
                 uint32_t most);

/// Particles to grid, with forces: p2g and grid, by what the tank was made for.
void tank_launch_p2g(tarn_tank *tank, const liquid_args *args);

/// Grid to particles: moved_velocity and moved_affine. @return 0 where the advection does that
int tank_launch_gather(tarn_tank *tank, const liquid_args *args);

/// Iterations of the viscosity: 0 where no liquid has any.
uint32_t tank_viscosity_iterations(const tarn_tank *tank);
/// The strengths and coefficients of these for a substep of control->frac.
void tank_fill_viscosity(const tarn_tank *tank, liquid_control *control);
/// Viscosity's launches, between the forces and the pressure.
void tank_launch_viscosity(tarn_tank *tank, const liquid_args *args);

/// Substeps that surface tension asks for, 0 where there is none; and its strength in them.
float tank_tension_substeps(const tarn_tank *tank);
void tank_fill_tension(const tarn_tank *tank, liquid_control *control);

/// Books the time since the last mark under a stage, while profiling.
void tank_mark(tarn_tank *tank, tank_stage stage);

/// Whether solids, fields, key frames and fluid shapes are sound. @return TARN_OK, TARN_E_ARGUMENT or TARN_E_LIMIT
tarn_status tank_solids_check(const tarn_tank_desc *desc, const tank_complaint *why);

/// Makes the tank's description own its fields' distances; tarn_tank_destroy frees them.
tarn_status tank_fields_copy(tarn_tank *tank);

/// Whether one solid of a description, or one that is to be added, is sound.
tarn_status tank_solid_check(const tarn_tank_desc *desc, const tarn_solid *solid, const tank_complaint *why);

/// Samples the solids that don't move. Those of tank->samples are sampled before the memory is taken, which follows
/// from them. On failure there is something to free too.
tarn_status tank_solids_sample(const tarn_tank *tank, solid_samples *to);
void tank_solids_drop(solid_samples *samples);

/// Brings the samples to the device and computes what they leave open.
tarn_status tank_solids_upload(tarn_tank *tank);

/// Puts the bodies where the description has them.
tarn_status tank_bodies_reset(tarn_tank *tank);

/// Puts a body among the others, in place of what was there: the description's or a thrown one, as it came.
tarn_status tank_bodies_put(tarn_tank *tank, uint32_t body);

/// What a body is.
const tarn_solid *tank_body_solid(const tarn_tank *tank, uint32_t body);

/// How a body is numbered: tarn_body_state.solid.
uint32_t tank_body_number(const tarn_tank *tank, uint32_t body);

/// Lets the solids' memory be what the description and what was added ask for, and counts the bodies.
void tank_show_solids(tarn_tank *tank);

/// Forgets what was added. Before the bodies are put back.
void tank_added_forget(tarn_tank *tank);

/// Whether what a state has could have been added here.
int tank_added_fits(const tarn_tank *tank, const tank_added *added);

/// Has that in place of what was added. @return TARN_OK, TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tank_added_take(tarn_tank *tank, const tank_added *added);

/// Mixes it into a hash, which stays as it is where nothing was added.
uint64_t tank_added_hash(const tarn_tank *tank, uint64_t hash);

/// Distances near all walls anew, or only near some that came or went: to the device.
/// @return TARN_OK, TARN_E_LIMIT (too many tiles: ask once more without the newest), TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tank_walls_renew(tarn_tank *tank);
tarn_status tank_walls_change(tarn_tank *tank, const tarn_solid *some, uint32_t count);

/// Distance of a wall at a point, cells.
double tank_wall_distance(const tarn_tank *tank, const tarn_solid *wall, const double at_m[3]);
void tank_walls_free(tarn_tank *tank);

/// Tells the device of the key frames and grabs of the next step, and reads back where the last one left the bodies.
tarn_status tank_bodies_before_step(tarn_tank *tank);
tarn_status tank_bodies_after_step(tarn_tank *tank);

/// Fastest point of a body in the next step as far as is known, cells per step.
float tank_bodies_speed(const tarn_tank *tank);

/// Mixes the bodies into a hash.
uint64_t tank_bodies_hash(const tarn_tank *tank, uint64_t hash);

/// Which of the first 64 shapes may come within margin_m of a box: a bit each.
uint64_t tank_shapes_near(const tarn_tank_desc *desc, const double min_m[3], const double max_m[3], double margin_m);

/// Distance of a point, metres, to the solids of a mask as they stand at the start.
double tank_solids_distance_m(const tarn_tank_desc *desc, uint64_t solids, const double point_m[3]);

/// Puts the description's particles into the tank.
tarn_status tank_seed(tarn_tank *tank);

/// Room for `count` particles with what this tank's particles have. tank_arrays_free takes what failed, too.
tarn_status tank_arrays_alloc(const tarn_tank *tank, uint32_t count, tank_arrays *arrays);
void tank_arrays_free(tank_arrays *arrays);

/// Replaces all particles, and lists the tiles in use.
/// @return TARN_OK, TARN_E_MALFORMED (not sorted, or beyond the tank), TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tank_place(tarn_tank *tank, const tank_arrays *arrays, uint32_t next_id);

/// Lets particles carry seats, or no longer (NULL). Arrays of device memory for as many particles as the tank has.
void tank_set_seats(tarn_tank *tank, uint32_t *seat, uint32_t *moved_seat);

/// The bodies as frames have them. @return how many
uint32_t tank_frame_bodies(const tarn_tank *tank, tarn_frame_body *bodies);

/// Launches that turn the marked tiles into lists, and these into the present ones.
void tank_list_tiles(tarn_tank *tank, const liquid_args *args);
void tank_adopt_tiles(tarn_tank *tank, const liquid_args *args);

/// Launches that bring the grid's velocities to the particles, move these and sort them.
void tank_launch_advection(tarn_tank *tank, const liquid_args *args);

void tank_motion_reset(tank_motion *motion);

/// Sets gravity as the tank feels it where it is, at rest.
void tank_motion_weigh(tarn_tank *tank);

/// Moves the tank by a step and sets gravity as the liquid in it feels it.
void tank_motion_step(tarn_tank *tank, liquid_control *control);

/// The other fictitious forces of that step, for tank->substeps substeps.
void tank_motion_fill(const tarn_tank *tank, liquid_control *control);

/// Liquid and dye of a particle; colour may be NULL.
uint32_t tank_attribute(const tarn_tank_desc *desc, uint32_t liquid, const uint8_t *colour);

/// Whether particles carry a liquid and a dye.
int tank_has_attributes(const tarn_tank_desc *desc);

/// Whether particles ever come into being by the description alone.
int tank_bears(const tarn_tank_desc *desc);

/// Emitters that are on, and drains.
void tank_sources_fill(const tarn_tank *tank, liquid_control *control);

/// A sphere as a region.
void tank_ball_fill(const tarn_tank *tank, const float *center_m, float radius_m, liquid_region *region);

/// Pours, sinks and dyes of the step, behind the description's emitters and drains.
void tank_tools_fill(const tarn_tank *tank, liquid_control *control);

/// Marks the tiles where something pours, before tiles are listed.
void tank_keep_pours(tarn_tank *tank, const liquid_args *args);

/// Before the substeps: colours for all particles where the first dye comes, active tiles where something pours.
void tank_tools_begin(tarn_tank *tank, const liquid_control *control);

/// After them: dyes. Then the tools are done with.
void tank_tools_end(tarn_tank *tank, const liquid_control *control);

/// Lets particles have colours, or no longer; those of a description that has some always do.
void tank_set_coloured(tarn_tank *tank, int coloured);

/// Lists the tiles that stay active for the emitters' sake.
tarn_status tank_keep_tiles(tarn_tank *tank);

/// Emitters' rates. @return the index of an emitter that can't be one, and what is wrong with it; or -1
int tank_emitters_measure(tarn_tank *tank, const char **complaint);

/// Takes a tank's memory for as many tiles as fit; gives it back, also what was taken by a call that failed.
tarn_status tank_take_memory(tarn_tank *tank);
void tank_give_memory(tarn_tank *tank);

/// Takes what solids that are added need and the tank hasn't yet: of `near` tiles those that stand still; and bodies.
/// @return TARN_OK or TARN_E_MEMORY: then nothing was taken
tarn_status tank_take_more_solids(tarn_tank *tank, uint32_t near);
tarn_status tank_take_more_bodies(tarn_tank *tank);

/// Bytes of device memory in use, and what the tank needs at least.
uint64_t tank_bytes(const tarn_tank *tank);
uint64_t tank_bytes_least(const tarn_tank *tank);

#endif
