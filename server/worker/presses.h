/// What viewers are doing to a tank, as bytes that go along with it: to the worker that it is moved to, and into its
/// black box.
#ifndef TARN_SERVER_WORKER_PRESSES_H
#define TARN_SERVER_WORKER_PRESSES_H

#include "kernels/step_input.h"
#include "server/base/ipc.h"
#include "server/worker/input/state.h"
#include "server/worker/tank.h"

/// @return bytes written; 0: a value is none that is read
uint32_t tarn_tank_presses_write(const tarn_worker_tank *tank, uint8_t bytes[TARN_IPC_PRESSES_BYTES_MAX]);

/// What viewers held goes on, with the bodies and the parameters that this tank has.
/// @return TARN_OK, TARN_E_VERSION, TARN_E_TRUNCATED or TARN_E_MALFORMED: then nothing changes
tarn_status tarn_tank_presses_read(tarn_worker_tank *tank, const uint8_t *bytes, uint32_t byte_count);

// ---- as bytes ----
// What viewers hold, which of their inputs frames contain, and what the next step has been told already. Pure.
//
// Version 2, little-endian, field by field. It is written and read by workers of one build, but for the gateway's sake
// it is checked all the same: what was read can be stepped with.

enum { TARN_PRESS_VERSION = 2 };

#define TARN_PRESS_VALUE_MAX 1e6f ///< of a coordinate, metres, or a speed

typedef struct tarn_presses {
    tarn_input_state inputs;
    tarn_step_input next; ///< of which only pose and parameters are carried
    uint32_t steps_asked; ///< single steps, while paused
} tarn_presses;

/// @param presses  is as it was afterwards
/// @return bytes written, at most TARN_IPC_PRESSES_BYTES_MAX; 0: bytes_max are too few, or a value is none that is read
uint32_t tarn_presses_write(tarn_presses *presses, uint8_t *bytes, uint32_t bytes_max);

/// @return TARN_OK, TARN_E_VERSION, TARN_E_TRUNCATED or TARN_E_MALFORMED: then *presses is anything
tarn_status tarn_presses_read(const uint8_t *bytes, uint32_t byte_count, tarn_presses *presses);

#endif
