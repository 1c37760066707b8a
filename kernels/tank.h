/// A tank on one device: created from a description, stepped with a fixed time step and an input
/// (kernels/step_input.h), which alone changes it; its frames are made by kernels/encoder.h. All functions run on the
/// thread that created the tank. A tank's memory is taken when it is created: stepping, saving and reporting take none,
/// but for what CUDA needs to record a substep's launches anew after some changes of parameters. The first solid that
/// is put in takes what a tank with solids needs and this one lacks, once (tarn_tank_admit). tarn_tank_reset,
/// tarn_tank_load and the copies of particles and pressure take host memory until they return, and return TARN_E_MEMORY
/// where there is none.
///
/// Coordinates are tank coordinates: metres, y up, origin at the tank's lowest corner. The result of a step depends on
/// the description and the inputs alone: not on the device, the number of threads or the instruction set.
#ifndef TARN_KERNELS_TANK_H
#define TARN_KERNELS_TANK_H

#include "kernels/device/device.h"
#include "kernels/model.h"
#include "kernels/shapes/shape.h"
#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TARN_TANK_CELLS_MIN = 4,    ///< per axis; z may also have a single cell, which makes the tank two-dimensional
    TARN_TANK_CELLS_MAX = 1024, ///< per axis
    TARN_TANK_CELL_COUNT_MAX = 1 << 27,
    TARN_TANK_PARTICLES_MAX = 1 << 24,
    TARN_TANK_BLOCKS_MAX = 64, ///< fluid blocks of a description
    TARN_TANK_FLUIDS_MAX = 32, ///< fluid shapes
    TARN_TANK_LIQUIDS_MAX = 4,
    TARN_TANK_SOLIDS_MAX = 64,
    TARN_TANK_BODIES_MAX = 16, ///< solids that move
    TARN_TANK_THROWN_MAX = 8,  ///< bodies that are thrown in, within TARN_TANK_BODIES_MAX
    TARN_TANK_WALLS_MAX = 64,  ///< pieces of wall that are put in
    TARN_TANK_ADDED_MAX = TARN_TANK_THROWN_MAX + TARN_TANK_WALLS_MAX,
    TARN_TANK_THROWN_FIRST = TARN_TANK_SOLIDS_MAX, ///< from here on thrown bodies are numbered: tarn_body_state.solid
    TARN_TANK_KEYFRAMES_MAX = 256,
    TARN_TANK_EMITTERS_MAX = 16,
    TARN_TANK_DRAINS_MAX = 16,
    TARN_TANK_FIELDS_MAX = 16,
    TARN_TANK_GRABS_MAX = 16,  ///< that act in one step
    TARN_TANK_PUSHES_MAX = 64, ///< that act in one step
    TARN_TANK_POURS_MAX = 16,  ///< the same, besides the emitters
    TARN_TANK_SINKS_MAX = 16,  ///< the same, besides the drains
    TARN_TANK_DYES_MAX = 64,   ///< the same
    TARN_TANK_POUR_RADIUS_CELLS_MAX = 8,
    TARN_TANK_SUBSTEPS_MAX = 8,
    TARN_REMARK_BYTES = 192, ///< with the NUL
    TARN_TANK_ITERATIONS_MAX = 2000,
};

/// One of the liquids of a tank. The first is what blocks hold that don't say otherwise.
typedef struct tarn_liquid {
    float density_kg_m3;  ///< 0.01..20000; at most TARN_TANK_DENSITY_RATIO_MAX times that of the lightest
    float viscosity_m2_s; ///< kinematic, 0..100; 0: none. Above 0 nothing slips along the tank's walls and solids any
                          ///< more: those that move drag liquid along, and it drags free ones. At most
                          ///< 50 cell_m^2 / dt_s has an effect in a substep
    uint8_t colour[3];    ///< sRGB, of new particles
} tarn_liquid;

#define TARN_TANK_DENSITY_RATIO_MAX 1000.0f

/// An axis-aligned block of liquid at the start.
typedef struct tarn_fluid_block {
    float min_m[3];
    float max_m[3];
    float velocity_m_s[3];
    uint32_t liquid;                       ///< index
    uint8_t colour[4];                     ///< sRGB dye; the fourth is 0 where the liquid's own colour holds
    float carried[TARN_MODEL_CARRIED_MAX]; ///< by the model's table
} tarn_fluid_block;

/// A particle of liquid at the start, where each is told of by itself: of another tank, or another program's.
typedef struct tarn_seed_particle {
    float position_m[3];   ///< in the tank
    float velocity_m_s[3]; ///< limited to what a step can move a particle
    uint8_t liquid;        ///< index
    uint8_t colour[3];     ///< sRGB dye; read where the description's particles have colours
} tarn_seed_particle;

/// Liquid of any shape at the start; blocks come first where both hold a point.
typedef struct tarn_fluid_shape {
    tarn_shape shape;
    tarn_pose pose;
    float velocity_m_s[3];
    uint32_t liquid;
    uint8_t colour[4];
    float carried[TARN_MODEL_CARRIED_MAX]; ///< by the model's table
} tarn_fluid_shape;

typedef enum tarn_motion {
    TARN_MOTION_STATIC,
    TARN_MOTION_KEYFRAMES, ///< follows its key frames, and pushes liquid without being pushed
    TARN_MOTION_FREE,      ///< floats: liquid, walls and hands move it
    TARN_MOTION_COUNT
} tarn_motion;

/// A solid in the tank. Those that move are its bodies, numbered in their order.
typedef struct tarn_solid {
    tarn_shape shape;
    tarn_pose pose; ///< at the start
    tarn_motion motion;
    float density_kg_m3;                     ///< of a free one, 1..20000
    float velocity_m_s[3];                   ///< of a free one's middle, at the start
    float angular_velocity_rad_s[3];         ///< of a free one, at the start
    float friction;                          ///< as the tank's wall_friction; 0 of a free one
    uint32_t keyframe_first, keyframe_count; ///< in the description's keyframes
    uint32_t keyframes_loop;                 ///< 1: from the last key frame's time on it starts again
    uint8_t colour[3];
} tarn_solid;

/// Where a body is at a time; between key frames it moves evenly.
typedef struct tarn_keyframe {
    float time_s; ///< ascending within a solid
    tarn_pose pose;
} tarn_keyframe;

/// A region that is kept full of liquid of a velocity: a tap. Where all that it pours into is full, none is born.
typedef struct tarn_emitter {
    tarn_shape shape;
    tarn_pose pose;
    float velocity_m_s[3];
    float start_s, end_s; ///< end_s 0: never ends
    uint32_t liquid;
    uint8_t colour[4];
    float carried[TARN_MODEL_CARRIED_MAX]; ///< by the model's table
} tarn_emitter;

/// A region that takes away liquid that enters it. One that is thinner than a cell is one that is a cell thick, and
/// takes what passes it between two substeps, too.
typedef struct tarn_drain {
    tarn_shape shape;
    tarn_pose pose;
} tarn_drain;

/// How particles and grid exchange velocities.
typedef enum tarn_transfer {
    TARN_TRANSFER_FLIP, ///< PIC/FLIP blend (Zhu & Bridson 2005)
    TARN_TRANSFER_APIC, ///< affine (Jiang et al. 2015); flip_ratio has no effect
    TARN_TRANSFER_COUNT
} tarn_transfer;

typedef enum tarn_weights {
    TARN_WEIGHTS_LINEAR,
    TARN_WEIGHTS_QUADRATIC, ///< B-splines of degree 2
    TARN_WEIGHTS_CUBIC,     ///< B-splines of degree 3
    TARN_WEIGHTS_COUNT
} tarn_weights;

/// What solves for the pressure. All but the first are for teaching and comparison.
typedef enum tarn_solver {
    TARN_SOLVER_MULTIGRID,    ///< conjugate gradients preconditioned by multigrid
    TARN_SOLVER_JACOBI,       ///< damped by `relaxation`
    TARN_SOLVER_GAUSS_SEIDEL, ///< red-black, over-relaxed by `relaxation` (SOR)
    TARN_SOLVER_COUNT
} tarn_solver;

/// What a tank is made from. Fill it with tarn_tank_desc_default first.
typedef struct tarn_tank_desc {
    uint16_t cells[3];           ///< TARN_TANK_CELLS_MIN..TARN_TANK_CELLS_MAX each, product <= TARN_TANK_CELL_COUNT_MAX
    float cell_m;                ///< 1e-4..10
    float dt_s;                  ///< 1e-4..0.1; the fixed step
    uint32_t particles_per_axis; ///< per cell and axis when seeding: 1..4 (2: eight particles in a cell)
    uint32_t particles_max;      ///< capacity, 1..TARN_TANK_PARTICLES_MAX; 0: what the liquid at the start needs and a
                                 ///< quarter more, for pours or reseeding; a full tank or 2^20 with emitters
    uint32_t seed;               ///< of the jitter
    float jitter;                ///< 0..1: share of a particle's own sub-cell it may be moved by
    uint32_t model;              ///< number: tarn_model_at
    float parameters[TARN_MODEL_PARAMETERS_MAX]; ///< by the model's table
    float gravity_direction[3];                  ///< unit vector, in the room; its strength is the model's parameter
    tarn_pose start_pose; ///< where the tank is in the room at the start; a rotation of zeros: not turned, at its place
    float spin_rad_s[3];  ///< the tank turns at the start, and the liquid with it; poses have to go on from there
                          ///< (tarn_step_input.pose), or it brakes
    float led_turn_rad_s, led_speed_m_s; ///< the fastest that poses are known to ask for; 0: none are. Of a tank that
                                         ///< goes no faster than it may, as the remarks then say
    float led_turn_jump_rad_s, led_speed_jump_m_s; ///< by how much these change at once, at most
    float wall_friction; ///< 0..1, from free slip to no slip: of its velocity along a wall beside it, less the wall's,
                         ///< the share that liquid loses in a step, in a layer of one cell; besides what viscosity does
    tarn_transfer transfer;
    tarn_weights p2g_weights, g2p_weights; ///< particles to grid, grid to particles
    tarn_solver solver;
    uint32_t reseed; ///< 1: thinned-out cells inside the liquid get new particles, crowded ones lose some
    uint32_t liquid_count;
    tarn_liquid liquids[TARN_TANK_LIQUIDS_MAX];
    uint32_t block_count;
    tarn_fluid_block blocks[TARN_TANK_BLOCKS_MAX];
    uint32_t fluid_count;
    tarn_fluid_shape fluids[TARN_TANK_FLUIDS_MAX];
    /// Instead of blocks and fluid shapes, in tanks of models with liquids.
    uint32_t particle_count;
    uint32_t particles_have_colours;     ///< 0 or 1; 0: each has its liquid's
    const tarn_seed_particle *particles; ///< borrowed until tarn_tank_create returns, and copied
    uint32_t solid_count;
    tarn_solid solids[TARN_TANK_SOLIDS_MAX];
    uint32_t keyframe_count;
    tarn_keyframe keyframes[TARN_TANK_KEYFRAMES_MAX];
    uint32_t emitter_count;
    tarn_emitter emitters[TARN_TANK_EMITTERS_MAX];
    uint32_t drain_count;
    tarn_drain drains[TARN_TANK_DRAINS_MAX];
    uint32_t field_count;
    tarn_distance_field fields[TARN_TANK_FIELDS_MAX]; ///< borrowed until tarn_tank_create returns, and copied
} tarn_tank_desc;

/// A sphere that drags the liquid in it along, draws it to the centre or turns it about an axis through the centre.
/// Imposed on the grid before the projection. All three together are clamped to TARN_TANK_PUSH_SPEED_MAX_M_S.
typedef struct tarn_push {
    float center_m[3];
    float radius_m;
    float velocity_m_s[3]; ///< of the sphere
    float strength;        ///< 0..1: how much of the difference to the sphere's velocity is taken away in a step
    float inward_m_s;      ///< towards the centre; below 0: away from it
    float spin_rad_s[3];
} tarn_push;

#define TARN_TANK_PUSH_SPEED_MAX_M_S 10.0f

/// How people in front of a camera move, cell by cell over a rectangle in the tank: drags along the fluid behind and
/// before it as a push does. Speeds are clamped to TARN_TANK_PUSH_SPEED_MAX_M_S.
typedef struct tarn_motion_field {
    float corner_m[3];          ///< where the grid begins
    float across_m[3], up_m[3]; ///< from there to the ends of its first row and first column; they span an area
    float depth_m;              ///< how far it acts to either side of the rectangle; 0: all through the tank
    float speed_m_s;            ///< above 0; what 127 stands for
    float strength;             ///< 0..1: as a push's
    bool solid;                 ///< who rests is in the way, too: the fluid takes on their velocity of 0
    uint32_t columns, rows;     ///< 1..TARN_MOTION_COLUMNS_MAX, TARN_MOTION_ROWS_MAX
    uint32_t cell_bytes;        ///< 1..TARN_MOTION_CODE_BYTES_MAX
    const uint8_t *cells;       ///< the caller's: coded planes (protocol/motion_code.h)
} tarn_motion_field;

/// A sphere in which liquid is born, as much as fills what flows out of it; nothing is born beside solids. Where the
/// tank is full (tarn_tank_particles_max), old spray makes way.
typedef struct tarn_pour {
    float center_m[3];     ///< moved into the tank
    float radius_m;        ///< from one cell to TARN_TANK_POUR_RADIUS_CELLS_MAX cells; clamped
    float velocity_m_s[3]; ///< clamped to TARN_TANK_PUSH_SPEED_MAX_M_S; at rest nothing is born
    uint32_t liquid;
    uint8_t colour[4]; ///< sRGB dye; the fourth is 0 where the liquid's own colour holds
} tarn_pour;

/// A sphere that takes away the liquid in it; a small one as a drain that is thinner than a cell.
typedef struct tarn_sink {
    float center_m[3];
    float radius_m;
} tarn_sink;

/// A sphere that colours the particles in it.
typedef struct tarn_dye {
    float center_m[3];
    float radius_m;
    uint8_t colour[3]; ///< sRGB
    float share;       ///< 0..1: of the way to the colour that a particle goes in a step
} tarn_dye;

/// What people do to the liquid in a step besides pushing it.
typedef struct tarn_tank_tools {
    uint32_t pour_count;
    tarn_pour pours[TARN_TANK_POURS_MAX];
    uint32_t sink_count;
    tarn_sink sinks[TARN_TANK_SINKS_MAX];
    uint32_t dye_count;
    tarn_dye dyes[TARN_TANK_DYES_MAX];
} tarn_tank_tools;

/// A hand that holds a free body: a spring from the point that is held to the target.
typedef struct tarn_grab {
    uint32_t body;
    float point_m[3];  ///< on the body, in the body's frame
    float target_m[3]; ///< in the tank
    float strength;    ///< 0..1: share of the distance that is made up in a step
} tarn_grab;

/// Where a body is and how it moves.
typedef struct tarn_body_state {
    uint32_t solid; ///< index in the description; of a thrown one its number, TARN_TANK_THROWN_FIRST..65535
    tarn_pose pose;
    float velocity_m_s[3], angular_velocity_rad_s[3];
} tarn_body_state;

/// A solid that came while the tank ran.
typedef struct tarn_added_solid {
    uint32_t number;  ///< of a thrown body, as tarn_body_state.solid has it; 0: a piece of wall
    tarn_solid solid; ///< as it came; a wall's motion is TARN_MOTION_STATIC
} tarn_added_solid;

/// Room for the stages of tarn_tank_profile_get.
enum { TARN_TANK_STAGES_MAX = 24 };

/// What the last step did.
typedef struct tarn_tank_report {
    uint64_t step;
    double sim_time_s;
    uint32_t particle_count;
    uint32_t active_tiles, liquid_cells;
    uint32_t substeps, pressure_iterations; ///< iterations: of the last substep
    uint64_t unconverged;                   ///< substeps since the start whose pressure ended by its cap on iterations
    float residual;                         ///< max over liquid cells of abs(div u) * dt after projection
    float speed_max_m_s;                    ///< along an axis, of what moved farthest in the last substep
    double kinetic_j_kg;    ///< of the liquids, per kg: a heavy liquid's particles count for more; it and the
                            ///< momentum as they were in the middle of the last substep
    double potential_j_kg;  ///< the same: g times the height against gravity of the centre of mass, from the origin
    double momentum_m_s[3]; ///< momentum per kg
    double center_m[3];     ///< centre of mass
    uint64_t bytes;         ///< of device memory that the tank uses
    uint64_t particle_bytes, cell_bytes; ///< of these: per particle of its capacity, and per cell of active tiles
    double volume_m3;    ///< of the liquid as the last substep's grid saw it; crowded cells count as full
    uint64_t born, gone; ///< particles that entered and left since the start
} tarn_tank_report;

/// 128-bit hash of the whole state that later steps depend on.
typedef struct tarn_tank_hash {
    uint64_t lo, hi;
} tarn_tank_hash;

typedef struct tarn_tank tarn_tank;

#ifdef __cplusplus
extern "C" {
#endif

/// Documented defaults for everything, of model 0 and of another one; no blocks.
void tarn_tank_desc_default(tarn_tank_desc *desc);
void tarn_tank_desc_default_of(tarn_tank_desc *desc, const tarn_model *model);

/// Number of particles that a valid description begins with: its own, or those that its blocks and shapes are seeded
/// with.
uint64_t tarn_tank_desc_particles(const tarn_tank_desc *desc);

/// Creates a tank and seeds its liquid.
/// @param why  where not NULL: what was wrong, with the field's name, what was found and what is allowed
/// @return TARN_OK, TARN_E_ARGUMENT, TARN_E_LIMIT, TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tarn_tank_create(tarn_device *device, const tarn_tank_desc *desc, tarn_tank **tank, char *why,
                             size_t why_bytes);

/// Takes NULL.
void tarn_tank_destroy(tarn_tank *tank);

/// Back to the start: liquid, solids, step and the tank's own motion are what tarn_tank_create made. Parameters and
/// pause stay as they are, and so does what the profile has added up.
/// @return TARN_OK, TARN_E_MEMORY or TARN_E_DEVICE: after these the tank may only be reset, loaded or destroyed
tarn_status tarn_tank_reset(tarn_tank *tank);

/// A parameter as it is now.
float tarn_tank_parameter(const tarn_tank *tank, uint32_t id);

/// A parameter as it acts now: less than it is where cells and steps limit it, by what its model's header says.
float tarn_tank_parameter_used(const tarn_tank *tank, uint32_t id);

/// A sentence for people about something of a tank that acts otherwise than it was asked for, or that its grid can't
/// see as it is. It begins with the description's field: "drains[0] ...".
typedef char tarn_remark[TARN_REMARK_BYTES];

/// What there is to say so of a tank now: of its description, its parameters, what was put in, and what became of it in
/// the last second of its time. @return how many there are; the first remarks_max of them are written
uint32_t tarn_tank_remarks(const tarn_tank *tank, tarn_remark *remarks, uint32_t remarks_max);

/// The same of a sound description, of which there is no tank.
uint32_t tarn_tank_desc_remarks(const tarn_tank_desc *desc, tarn_remark *remarks, uint32_t remarks_max);

/// Where the tank is in the room.
void tarn_tank_pose(const tarn_tank *tank, tarn_pose *pose);

#define TARN_TANK_TURN_MAX_RAD_S 6.3f
#define TARN_TANK_TURN_MAX_RAD_S2 60.0f ///< how fast it changes that
#define TARN_TANK_SHAKE_MAX_M_S2 30.0f
#define TARN_TANK_SPEED_MAX_M_S 5.0f

#define TARN_TANK_WALL_CELLS_MAX 2048.0f ///< half of it along an axis; of thrown bodies too

/// What was put in and is there: thrown bodies by their number, then walls by their age.
/// @param added  TARN_TANK_ADDED_MAX values
uint32_t tarn_tank_added(const tarn_tank *tank, tarn_added_solid *added);

/// Counts the changes of that.
uint32_t tarn_tank_added_changes(const tarn_tank *tank);

/// Whether a step's input has paused the tank, which then is not stepped but with inputs that hold, by who goes by it.
bool tarn_tank_paused(const tarn_tank *tank);

/// The bodies as the last step left them, in their order. Waits for nothing.
/// @param bodies  TARN_TANK_BODIES_MAX values
uint32_t tarn_tank_bodies(const tarn_tank *tank, tarn_body_state *bodies);

/// The whole state that later steps depend on, as bytes: restored into a tank of the same description, on any device,
/// it continues bit for bit.
size_t tarn_tank_save_bytes_max(const tarn_tank *tank);

/// @return TARN_OK; TARN_E_UNSTABLE: some of it is no number, or out of all bounds, so that it couldn't be loaded;
///         TARN_E_SPACE, TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tarn_tank_save(tarn_tank *tank, uint8_t *bytes, size_t bytes_max, size_t *byte_count);

/// @return TARN_OK, TARN_E_MALFORMED (not of such a tank; the tank is as it was), TARN_E_MEMORY or TARN_E_DEVICE: after
///         these two the tank may only be reset, loaded or destroyed
tarn_status tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count);

/// What is known of the last step without asking the device: all but the energies, the momentum and the centre, which
/// are 0. Costs nothing.
void tarn_tank_report_light(const tarn_tank *tank, tarn_tank_report *report);

/// Report on the last step, with the sums over all particles. Waits for the device.
tarn_status tarn_tank_report_get(tarn_tank *tank, tarn_tank_report *report);

/// Hash of the state. Waits for the device.
tarn_status tarn_tank_hash_get(tarn_tank *tank, tarn_tank_hash *hash);

typedef enum tarn_tank_profiling {
    TARN_PROFILE_OFF,
    TARN_PROFILE_WAITS, ///< of all launches, one by one with a wait behind each stage
    /// Of each step's last substep alone, as it runs when nobody looks: the device notes times by itself. What a chain
    /// does counts for the stage that ends behind it. Not while frames are made.
    TARN_PROFILE_MARKS,
} tarn_tank_profiling;

/// Seconds that each stage took since creation or the last call with reset; only filled while profiling is on.
/// @param seconds  TARN_TANK_STAGES_MAX values; unused ones are 0
void tarn_tank_profile(tarn_tank *tank, tarn_tank_profiling how);
uint32_t tarn_tank_profile_get(tarn_tank *tank, const char **names, double *seconds, bool reset);

/// Marks the tiles that hold particles. Waits for the device.
/// @param bits  a bit per tile of the tank, x fastest, z slowest, from the lowest bit of the first byte on
/// @return TARN_OK, TARN_E_SPACE (bits_bytes are too few) or TARN_E_DEVICE; where it fails the bits stay as they were
tarn_status tarn_tank_tiles(tarn_tank *tank, uint8_t *bits, size_t bits_bytes);

/// Copies particles out, unquantized, ordered by id: for exports and tests. Any of the arrays may be NULL.
/// @param positions_m     3 floats per particle
/// @param velocities_m_s  3 floats per particle
/// @param ids             ascending; an id is never used again
/// @param particles_max   what the arrays hold
tarn_status tarn_tank_particles(tarn_tank *tank, float *positions_m, float *velocities_m_s, uint32_t *ids,
                                uint32_t particles_max, uint32_t *particle_count);

/// A channel's values in the same order, as the last step left them, in its unit; of channels that frames carry
/// (protocol/channel.h). Takes device memory for the call.
/// @param number  tarn_model_channel_find
/// @param range   what colours of it range over, lowest and highest: fixed by the tank, values may lie beyond; NULL:
/// not asked
/// @return TARN_OK, TARN_E_SPACE, TARN_E_ARGUMENT (the model has no such channel), TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tarn_tank_channel(tarn_tank *tank, uint32_t number, float *values, uint32_t particles_max,
                              uint32_t *particle_count, float range[2]);

/// Whether particles have a liquid and a dye of their own now: several liquids, or dye somewhere, or put in by a tool.
bool tarn_tank_has_colours(const tarn_tank *tank);

/// The particles' liquid and dye in the same order. Either array may be NULL.
/// @param colours  3 bytes per particle, sRGB
tarn_status tarn_tank_particle_colours(tarn_tank *tank, uint8_t *liquids, uint8_t *colours, uint32_t particles_max,
                                       uint32_t *particle_count);

/// Copies out the pressure of the last substep, for tests and diagnostics.
/// @param pressure_m2_s2  pressure over density, one per cell of the tank, [z][y][x]; 0 where there was no liquid
/// @param cells_max       what the array holds
/// @return TARN_OK, TARN_E_SPACE, TARN_E_STATE (before the first step), TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tarn_tank_pressure(tarn_tank *tank, float *pressure_m2_s2, size_t cells_max);

/// What that pressure is over, kg/m^3. 0: the model's pressure is nobody's
float tarn_tank_pressure_density(const tarn_tank *tank);

/// How many particles fit.
uint32_t tarn_tank_particles_max(const tarn_tank *tank);

/// What flows in it.
const tarn_model *tarn_tank_model(const tarn_tank *tank);

/// The tank's description as it was created.
const tarn_tank_desc *tarn_tank_desc_of(const tarn_tank *tank);

#ifdef __cplusplus
}
#endif
#endif
