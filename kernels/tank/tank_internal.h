/// A tank's host side, shared by the files of kernels/tank and by models.
#ifndef TARN_KERNELS_TANK_INTERNAL_H
#define TARN_KERNELS_TANK_INTERNAL_H

#include "kernels/tank/tank.h"
#include "kernels/tank/tank_kernels.h"
#include "protocol/frame.h"

#include <stdbool.h>

/// The stages of a profile that all models have; a model's own follow: STAGE_COUNT + i is its i-th.
typedef enum tank_stage {
    STAGE_GATHER, ///< where it is not part of the next
    STAGE_ADVECT,
    STAGE_SORT,
    STAGE_ENCODE,
    STAGE_COUNT,
} tank_stage;

#define STAGE_NONE UINT32_MAX ///< begins a stage, ends none

/// The tank in the room; part of the state.
typedef struct tank_motion {
    double position_m[3], rotation[4]; ///< of the tank's middle against where it began; unit quaternion x y z w
    double target_m[3], target_rotation[4];
    double velocity_m_s[3], spin[3]; ///< in the room; rad/s
    // what the step in progress feels, in the tank's frame: not part of the state
    double gravity_m_s2[3];
    double turn[3], turn_change[3]; ///< rad per step, and its change
    bool is_moving;
} tank_motion;

/// What the grid sees of a solid.
typedef struct tank_solid_seen {
    float thick_m;   ///< where it is thin; infinite: it is all around
    bool is_outside; ///< of the tank, wherever it goes
} tank_solid_seen;

struct tarn_tank {
    grid_host grid;
    const tank_model *model;
    void *part;            ///< the model's, on the host
    tank_args *args;       ///< its beginning: shape and memory, the same for every launch
    tank_control *control; ///< of the step, of the model's size
    float parameters[TARN_MODEL_PARAMETERS_MAX];
    uint32_t role[TARN_PLAYS_COUNT]; ///< number of the parameter that has it, or TARN_MODEL_PARAMETERS_MAX
    uint32_t particle_count;
    uint32_t generation; ///< counts how often all particles were replaced
    uint32_t kept_count; ///< tiles that are always active
    double sim_time_s;
    tank_motion motion;
    uint64_t seeded, born;                        ///< particles at the start, and since
    float emitter_births[TARN_TANK_EMITTERS_MAX]; ///< particles per cell of the emitter and step
    float emitter_at[TARN_TANK_EMITTERS_MAX][3];  ///< cells: where it is known whether it pours into what is full
    bool is_volume;  ///< with args->scale.filled particles it is full, and not just at its particles_max
    double capped_s; ///< when births found particles_max reached; below 0: never
    double tap_shut_s[TARN_TANK_EMITTERS_MAX];           ///< when an emitter last found that; below 0: never
    double leapt_s[BODIES_MAX];                          ///< the same of a body farther in a substep than it is thick
    tank_solid_seen seen[TARN_TANK_SOLIDS_MAX];          ///< the description's solids, once judged
    uint64_t empty_blocks, empty_fluids;                 ///< bits of those that begin with no particle
    bool has_births;                                     ///< in this step particles may come into being
    bool has_pours;                                      ///< some of them where a pour is
    bool has_events;                                     ///< something may become of particles besides moving
    bool had_births;                                     ///< in some step since the start
    uint32_t *attributes[2];                             ///< device: args->store has them once there is dye
    tank_counters counters;                              ///< as the last step left them
    uint32_t *tiles_host;                                ///< [active]
    struct tank_motion_cells *motion_cells;              ///< of the step's motion fields, as they go to the device
    bool paused;                                         ///< as inputs said
    uint64_t input_count;                                ///< that came to pass
    bool turned_by_hand;                                 ///< what the scene does with the tank no longer counts
    uint32_t thrown_count, thrown[TARN_STEP_THROWS_MAX]; ///< bodies, of the last step
    struct probe_solid *probed; ///< [TARN_TANK_SOLIDS_MAX] malloc, once a force was measured on one that stands still
    tarn_tank_profiling profiling;
    double stage_s[TARN_TANK_STAGES_MAX], stage_mark_s;
    uint32_t mark_count, mark_stage[TARN_QUEUE_MARKS_MAX]; ///< of the queue's marks: which stage ends there
};

/// Books the time since the last mark under a stage, while profiling.
void tank_mark(tarn_tank *tank, uint32_t stage);

/// Particles on a jittered lattice in the description's blocks and fluid shapes: tank_model's particles and seed, for
/// models that begin so.
uint64_t tank_blocks_particles(const tarn_tank_desc *desc);
void tank_seed_blocks(const tarn_tank *tank, tank_arrays *arrays, float *fastest);

/// Whether the particles that a description tells of are such as it may have.
tarn_status tank_particles_check(const grid_complaint *why, const tarn_tank_desc *desc);

/// Makes the description's particles the tank's own, in the order of its tiles. @return TARN_OK or TARN_E_MEMORY; then
/// too tank_particles_free is to be called
tarn_status tank_particles_copy(tarn_tank *tank);
void tank_particles_free(tarn_tank *tank);

/// A part of tank_model's scale: rest_density, as blocks are seeded, and cell_particles_max.
void tank_scale_particles(tarn_tank *tank);

/// Where in its cube, 0..1 along axis `a`, a point of these lattices is asked whether it is in the liquid.
double tank_seed_sample(const tarn_tank_desc *desc, const int *cell, const int *point, int a);

/// Room for `count` particles with what this tank's particles have. tank_arrays_free takes what failed, too.
tarn_status tank_arrays_alloc(const tarn_tank *tank, uint32_t count, tank_arrays *arrays);
void tank_arrays_free(tank_arrays *arrays);

/// Replaces all particles, and lists the tiles in use.
/// @return TARN_OK, TARN_E_MALFORMED (not sorted, or beyond the tank), TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tank_place(tarn_tank *tank, const tank_arrays *arrays, uint32_t next_id);

/// Launches that turn the marked tiles into lists, and these into the present ones.
void tank_list_tiles(tarn_tank *tank, const tank_args *args);
void tank_adopt_tiles(tarn_tank *tank, const tank_args *args);

/// Launches that bring the grid's velocities to the particles, move these and sort them.
void tank_launch_advection(tarn_tank *tank, const tank_args *args);

/// The same in two parts, between which a model may move particles farther: by moved_position, moved_to and move_count.
void tank_launch_moves(tarn_tank *tank, const tank_args *args);
void tank_launch_sort(tarn_tank *tank, const tank_args *args);

/// The first of these: moved_velocity and moved_affine. @return false where the advection does that
bool tank_launch_gather(tarn_tank *tank, const tank_args *args);

/// The n-th root of a number of 0..1, n up to TARN_TANK_SUBSTEPS_MAX, by Newton's method from above: additions,
/// multiplications and divisions only, so that every machine gets the same bits, which pow doesn't promise.
float tank_nth_root(float of, uint32_t n);

/// Applies what acts at once of an input that was admitted. @return TARN_OK or TARN_E_DEVICE
tarn_status tank_apply_input(tarn_tank *tank, const tarn_step_input *input);

/// All parameters, which are within their ranges.
void tank_set_parameters(tarn_tank *tank, const float values[TARN_MODEL_PARAMETERS_MAX]);

/// The parameter that has a role, or what it is where the model has none such.
float tank_role(const tarn_tank *tank, tarn_parameter_role role, float otherwise);

/// For which share of a step forces acted in the last substep.
float tank_pressure_kick(const tarn_tank *tank);

/// What the solver's unit of pressure is of that over the density of the heaviest liquid, m^2/s^2; 0: nothing is
/// solved.
float tank_pressure_m2_s2(const tarn_tank *tank);

/// Fields that models have in common: what becomes of `room` is as tank_view_field says.
/// Speed, m/s: of the particles, or of what fills the tank.
void tank_field_speed(tarn_tank *tank, float *room, tank_field *field);
/// Magnitude of the vorticity of what fills the tank, 1/s.
void tank_field_vorticity(tarn_tank *tank, float *room, tank_field *field);
/// What particles carry, as their share of the cell has it.
void tank_field_carried(tarn_tank *tank, uint32_t number, float *room, tank_field *field);
/// Air, liquid and solid: as CELL_*.
void tank_field_kinds(tarn_tank *tank, float *room, tank_field *field);
/// The pressure, Pa, in a liquid of this density; its range is the caller's to say.
void tank_field_pressure(tarn_tank *tank, float density_kg_m3, float *room, tank_field *field);

void tank_motion_reset(tank_motion *motion);

/// Where the tank goes from now on.
void tank_motion_aim(tank_motion *motion, const tarn_pose *pose);

/// Sets gravity as the tank feels it where it is, at rest.
void tank_motion_weigh(tarn_tank *tank);

/// Moves the tank by a step and sets gravity as the liquid in it feels it.
void tank_motion_step(tarn_tank *tank, tank_control *control);

/// The other fictitious forces of that step, for tank->substeps substeps.
void tank_motion_fill(const tarn_tank *tank, tank_control *control);

/// Liquid and dye of a particle; colour may be NULL.
uint32_t tank_attribute(const tarn_tank_desc *desc, uint32_t liquid, const uint8_t *colour);

/// Whether particles carry a liquid (or a kind) and a dye.
bool tank_has_attributes(const tarn_tank_desc *desc);

/// Liquids, or the model's kinds of particles.
uint32_t tank_kinds(const tarn_tank *tank);

/// The largest magnitude of what particles carry, of those that a tank begins with, that its emitters bring or people
/// pour.
float tank_carried_most(const tarn_tank_desc *desc, uint32_t number);

/// Whether particles ever come into being by the description alone.
bool tank_bears(const tarn_tank_desc *desc);

/// What follows of tank->grid.desc alone: model, parameters, which solids are bodies.
void tank_describe(tarn_tank *tank);

/// What the grid sees of the description's solids and fluids, for tarn_tank_remarks; and behind each step, which free
/// bodies leapt over liquid.
void tank_judge(tarn_tank *tank);
void tank_bodies_watch(tarn_tank *tank);

/// Emitters that are on, and drains.
void tank_sources_fill(const tarn_tank *tank, tank_control *control);

/// A sphere as a region; and one that drains, which the grid sees however small it is.
void tank_ball_fill(const tarn_tank *tank, const float *center_m, float radius_m, tank_region *region);
void tank_sink_fill(const tarn_tank *tank, const float *center_m, float radius_m, tank_region *region);

/// Lets the newest of the step's emitters be asked at a point (cells) whether what it pours into is full: then nothing
/// is born.
void tank_watch_tap(const tarn_tank *tank, const float at[3], tank_control *control);

/// Pours, sinks and dyes of the step, behind the description's emitters and drains.
bool tank_tools_are_sound(const tarn_tank *tank, const tarn_tank_tools *tools);
void tank_tools_fill(const tarn_tank *tank, const tarn_tank_tools *tools, tank_control *control);

/// Marks the tiles where something pours, before tiles are listed.
void tank_keep_pours(tarn_tank *tank, const tank_args *args);

/// Before the substeps: colours for all particles where the first dye comes, active tiles where something pours.
void tank_tools_begin(tarn_tank *tank, const tarn_tank_tools *tools, const tank_control *control);

/// After them: dyes.
void tank_tools_end(tarn_tank *tank, const tank_control *control);

/// Lets particles have colours, or no longer; those of a description that has some always do.
void tank_set_coloured(tarn_tank *tank, bool coloured);

/// Lists the tiles that stay active for the emitters' sake.
tarn_status tank_keep_tiles(tarn_tank *tank);

/// Emitters' rates. @return the index of an emitter that can't be one, and what is wrong with it; or -1
int tank_emitters_measure(tarn_tank *tank, const char **complaint);

/// Whether a number of a description lies within its range. @return TARN_OK or TARN_E_ARGUMENT
tarn_status tank_check_range(const grid_complaint *why, const char *field, float value, float min, float max);

/// For validating builds (protocol/assert.h): asserts that every particle is in the tile that lists it; and all that
/// the grid guarantees. Between steps that went well.
void tank_validate_particles(const tarn_tank *tank);
void tank_validate(const tarn_tank *tank);

/// Bytes of device memory in use.
uint64_t tank_bytes(const tarn_tank *tank);

#endif
