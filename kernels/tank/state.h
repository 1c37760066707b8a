/// What a saved state holds besides the particles' arrays, on the host; and its sections. Private to kernels/tank.
#ifndef TARN_KERNELS_TANK_STATE_H
#define TARN_KERNELS_TANK_STATE_H

#include "kernels/tank/tank_internal.h"

enum { STATE_ARRAYS_MAX = 25, STATE_MODEL_NAME_BYTES = TARN_MODEL_NAME_BYTES };

/// What an array of particles holds.
typedef enum state_array {
    STATE_POSITION = 0, ///< and the next two
    STATE_VELOCITY = 3, ///< and the next two
    STATE_ID = 6,
    STATE_ATTRIBUTE = 7,
    STATE_AFFINE = 8,   ///< and the next eight
    STATE_CARRIED = 17, ///< and the next seven
    STATE_ARRAY_COUNT = 25,
} state_array;

typedef struct tank_state {
    char model[STATE_MODEL_NAME_BYTES];
    uint32_t cells[3];
    uint64_t step, seeded, born;
    bool paused, turned_by_hand;
    uint32_t parameter_count; ///< of the tank's model
    float parameters[TARN_MODEL_PARAMETERS_MAX];
    tank_motion motion;                   ///< what is part of the state
    uint32_t substeps, liquid_speed_bits; ///< of the last step
    uint32_t unconverged;
    uint32_t next_id, births_refused, reseed_debt, speed_max_bits, liquid_cells;
    uint32_t body_count;
    grid_body_state bodies[BODIES_MAX];
    grid_added added;
    uint32_t particle_count, array_count;
    uint8_t arrays[STATE_ARRAYS_MAX]; ///< state_array, ascending
    size_t particles_at;              ///< where the first array begins in the bytes; each has 4 bytes a particle
    /// Of a tank that is filled: occupied tiles, whose dense numbers lie behind the particles' arrays, ascending; and
    /// cells of each whose velocities follow, the first of a tile, three floats each: 0 where they aren't kept.
    uint32_t tile_count, kept_cells;
} tank_state;

/// Bytes that the sections take at most, without the arrays.
enum { STATE_BYTES_MAX = 1 << 14 };

/// Writes everything up to the arrays. @return bytes, or 0: bytes_max are too few
size_t tank_state_write(tank_state *state, uint8_t *bytes, size_t bytes_max);

/// Reads the same; `state` holds what a state without a section means. @return TARN_OK or TARN_E_MALFORMED
tarn_status tank_state_read(const uint8_t *bytes, size_t byte_count, tank_state *state);

#endif
