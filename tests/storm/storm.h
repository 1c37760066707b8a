/// Scenes under random input as strong as it may be. A storm's input follows from its seed and the scene's name alone.
#ifndef TARN_TESTS_STORM_H
#define TARN_TESTS_STORM_H

#include "kernels/encoder.h"
#include "kernels/model.h"
#include "server/log/inputs.h"
#include "server/scene/scene.h"

#include <stdbool.h>
#include <stdint.h>

enum { STORM_WHAT_BYTES = 320, STORM_FRAME_BYTES_MAX = 64 << 20 };

/// What a scene is put through.
typedef struct storm_plan {
    uint64_t seed;
    double storm_s;       ///< simulated, with input
    double rest_s;        ///< simulated, without, after that
    uint32_t check_steps; ///< particles are looked at every so many steps
    bool tools;           ///< people pull, turn, pour, drain and dye, too; without it the input is the same as ever
} storm_plan;

/// What was seen. `what` is empty where nothing was wrong.
typedef struct storm_result {
    uint64_t steps;        ///< made, those after a load counted again
    uint64_t steps_capped; ///< whose pressure took as many iterations as allowed, with the scene's own parameters
    uint32_t particles, saves, resets;
    uint32_t tiles_max;                  ///< active in a step
    uint64_t bytes_max;                  ///< of device memory in use
    double speed_max_m_s, deepest_cells; ///< deepest: a particle in a static solid, 0: none
    double storm_j_kg, rest_j_kg;        ///< mean kinetic energy when the input ended, and after the rest
    double volume_share;                 ///< volume after the rest over what the particles were seeded with
    double step_mean_ms, step_max_ms;
    uint64_t steps_replayed;
    double log_kib; ///< of their inputs
    uint64_t failed_step;
    char what[STORM_WHAT_BYTES];
} storm_result;

/// One scene and its tank.
typedef struct storm_tank {
    const tarn_scene *scene;
    const storm_plan *plan;
    tarn_tank *tank;
    tarn_encoder *encoder;
    storm_result *result;
    uint32_t seeded;
    uint32_t particles_max;
    float *positions_m, *velocities_m_s;
    uint32_t *ids;
    uint8_t *frame, *state;
    size_t state_bytes_max;
    FILE *file;          ///< of the log, without a name
    tarn_input_log *log; ///< of what is done to the tank
} storm_tank;

/// Random numbers: SplitMix64 (Steele, Lea & Flood 2014).
typedef struct storm_random {
    uint64_t state;
} storm_random;

uint64_t storm_next(storm_random *random);
uint32_t storm_below(storm_random *random, uint32_t limit);
double storm_between(storm_random *random, double from, double to);

/// The input of one step.
typedef struct storm_input {
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    uint32_t push_count;
    tarn_tank_tools tools;
    tarn_grab grabs[TARN_TANK_GRABS_MAX];
    uint32_t grab_count;
    bool throws, adds_wall, erases; ///< what is put in or taken away in this step, besides:
    tarn_solid thrown, wall;
    float erase_m[3], erase_radius_m;
    tarn_pose pose;
    bool poses;                               ///< the pose is set
    float value[TARN_MODEL_PARAMETERS_MAX];   ///< parameters
    uint32_t hold[TARN_MODEL_PARAMETERS_MAX]; ///< steps that a changed parameter stays as it is
} storm_input;

/// The model that the scene's tank holds.
const tarn_model *storm_model(const storm_tank *storm);

/// No input, and the scene's parameters.
void storm_input_start(const storm_tank *storm, storm_input *input);
/// The next step's input, from this one's.
void storm_input_next(const storm_tank *storm, storm_random *random, storm_input *input);
/// Whether all parameters are the scene's own.
bool storm_input_has_own_parameters(const storm_tank *storm, const storm_input *input);
/// The same as a tank takes it, from which nothing was taken out yet.
void storm_input_fill(const storm_tank *storm, const storm_input *input, uint64_t step, tarn_step_input *to);

/// Looks at the report without waiting. @return false with result->what set
bool storm_check_report(storm_tank *storm, const storm_input *input);
/// Looks at every particle and body, and at a frame.
bool storm_check_all(storm_tank *storm);
/// Says what is wrong. @return false
__attribute__((format(printf, 2, 3))) bool storm_wrong(storm_tank *storm, const char *format, ...);

/// Begins the log of all that is done to the tank from now on. @return false with result->what set
bool storm_record(storm_tank *storm);
/// Does the same to a second tank, on two threads and with another instruction set, through a save and a load into a
/// third one, and looks whether it ends the same. @return false with result->what set
bool storm_replay(storm_tank *storm);

/// What the strongest use of each tool costs over what the scene costs by itself: prints a row for each.
/// @param what  empty where it came to its end
/// @return rows in which a second cost more than twice the scene's own worst one, or more than that after five seconds
uint32_t storm_cost(const tarn_scene *scene, char what[STORM_WHAT_BYTES]);

/// Puts a scene through a plan, on one thread.
void storm_run(const tarn_scene *scene, const storm_plan *plan, storm_result *result);

#endif
