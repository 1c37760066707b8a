/// Everything that can change a tank in one step, as one bounded value: what people do (pushes, motion fields, grabs,
/// tools, bodies that are thrown in, walls, erasures), where the tank is turned to, parameters, pause. tarn_tank_step
/// takes it, and nothing else changes a tank. All zero, it does nothing.
///
/// The value has a byte form, so that a log of them replays: tarn_step_input_write and _read.
#ifndef TARN_KERNELS_STEP_INPUT_H
#define TARN_KERNELS_STEP_INPUT_H

#include "kernels/tank.h"

#include <stdbool.h>

enum {
    TARN_STEP_PARAMETERS_MAX = 32,
    TARN_STEP_THROWS_MAX = 8,
    TARN_STEP_WALLS_MAX = 16,
    TARN_STEP_ERASES_MAX = 64,
    TARN_STEP_MOTION_FIELDS_MAX = 4,
    TARN_STEP_REFUSALS_MAX = TARN_STEP_THROWS_MAX + TARN_STEP_WALLS_MAX,
};

typedef enum tarn_step_pause {
    TARN_STEP_PAUSE_KEEPS, ///< as it was
    TARN_STEP_PAUSE_BEGINS,
    TARN_STEP_PAUSE_ENDS,
    TARN_STEP_PAUSE_COUNT
} tarn_step_pause;

/// Who turns the tank. Once a hand has, what the scene does with it no longer counts until the tank is reset.
typedef enum tarn_step_poser {
    TARN_STEP_POSER_NOBODY, ///< it goes on to where it was sent last
    TARN_STEP_POSER_SCENE,
    TARN_STEP_POSER_HAND,
    TARN_STEP_POSER_COUNT
} tarn_step_poser;

typedef struct tarn_parameter_change {
    uint32_t id;
    float value; ///< within the parameter's range
} tarn_parameter_change;

typedef struct tarn_step_input {
    bool holds; ///< no time passes: what acts at once does, which is parameters, pause, pose, throws, walls and
                ///< erasures; there is nothing else in it
    tarn_step_pause pause;
    tarn_step_poser poser;
    tarn_pose pose; ///< where the tank is to be in the room at the end of the step. The liquid feels it as gravity's
                    ///< direction and the fictitious forces. Rates are limited to TARN_TANK_TURN_MAX_RAD_S,
                    ///< TARN_TANK_SPEED_MAX_M_S and TARN_TANK_SHAKE_MAX_M_S2: a tank that is told to jump gets there as
                    ///< fast as these allow
    uint32_t parameter_count;
    tarn_parameter_change parameters[TARN_STEP_PARAMETERS_MAX]; ///< from this step on
    uint32_t push_count;
    tarn_push pushes[TARN_TANK_PUSHES_MAX]; ///< act in every substep
    uint32_t motion_field_count;
    tarn_motion_field motion_fields[TARN_STEP_MOTION_FIELDS_MAX]; ///< act in every substep, behind the pushes
    uint32_t grab_count;
    tarn_grab grabs[TARN_TANK_GRABS_MAX]; ///< on free bodies
    /// Pours, sinks and dyes. The first dye gives all particles colours; they have them until the tank is reset or a
    /// state without them is loaded.
    tarn_tank_tools tools;
    /// Bodies that are thrown in, behind the description's; they float as those do. Where TARN_TANK_THROWN_MAX or
    /// TARN_TANK_BODIES_MAX are there already, the oldest thrown one goes. Each is of TARN_MOTION_FREE; its middle is
    /// moved into the tank and its speed limited. A field is one of the description, which then has bodies.
    uint32_t throw_count;
    tarn_solid throws[TARN_STEP_THROWS_MAX];
    /// Solids that stand still; what they overlap is pushed out. Each is of TARN_MOTION_STATIC: a box, ball, capsule or
    /// cylinder that isn't inverted, of at most TARN_TANK_WALL_CELLS_MAX cells.
    uint32_t wall_count;
    tarn_solid walls[TARN_STEP_WALLS_MAX];
    uint32_t erase_count;
    tarn_sink erases[TARN_STEP_ERASES_MAX]; ///< take away the walls that come into them, new ones too
    uint64_t
        admitted; ///< set by tarn_tank_admit, for the tank's next step: it need not look again. No part of the bytes
} tarn_step_input;

/// What of an input can't be done.
typedef struct tarn_step_refusal {
    bool is_wall;    ///< else a throw
    uint32_t index;  ///< in what was asked for
    const char *why; ///< static storage
} tarn_step_refusal;

typedef struct tarn_step_refusals {
    uint32_t count;
    tarn_step_refusal of[TARN_STEP_REFUSALS_MAX];
    char why[256]; ///< on TARN_E_ARGUMENT: the field, what was found and what is allowed
} tarn_step_refusals;

#ifdef __cplusplus
extern "C" {
#endif

/// Decides, before a step, what of its input can be done: takes the memory that new solids need, and takes out of the
/// input those that there is no room or no memory for. Changes nothing of the tank.
/// @return TARN_OK, also where something was taken out; TARN_E_ARGUMENT: the input isn't sound, and is as it was; or
///         TARN_E_DEVICE
tarn_status tarn_tank_admit(tarn_tank *tank, tarn_step_input *input, tarn_step_refusals *refusals);

/// Advances by one fixed step, or not at all where input->holds.
/// @param input  NULL: nothing is done to the tank. Of an input that tarn_tank_admit hasn't seen nothing may have to be
///               taken out
/// @return TARN_OK; TARN_E_ARGUMENT: tarn_tank_admit would refuse some of it; the tank is as it was; TARN_E_UNSTABLE (a
///         value that isn't finite came up: load a state or reset), TARN_E_MEMORY (the liquid spread over more tiles
///         than there is memory for, and is lost: load a state or reset) or TARN_E_DEVICE
tarn_status tarn_tank_step(tarn_tank *tank, const tarn_step_input *input);

/// Bodies that the last step threw in, by their numbers among the bodies, in the order of input->throws.
uint32_t tarn_tank_thrown(const tarn_tank *tank, uint32_t bodies[TARN_STEP_THROWS_MAX]);

/// Byte form: version 1, little-endian, a bit for each part that is there. Limits are those of the arrays above.
enum { TARN_STEP_INPUT_BYTES_MAX = 1 << 17 };

/// @return bytes written, at most TARN_STEP_INPUT_BYTES_MAX, or 0: bytes_max are too few
size_t tarn_step_input_write(const tarn_step_input *input, uint8_t *bytes, size_t bytes_max);

/// Reads one input, which ends where the bytes do; the cells of its motion fields stay in them. What it means for a
/// tank is looked at when it is stepped.
/// @return TARN_OK, TARN_E_VERSION or TARN_E_MALFORMED; then *input is zero
tarn_status tarn_step_input_read(const uint8_t *bytes, size_t byte_count, tarn_step_input *input);

#ifdef __cplusplus
}
#endif
#endif
