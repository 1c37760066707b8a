/// What viewers hold of a tank, between the tank and its bytes (press_bytes.h).
#ifndef TARN_SERVER_WORKER_TANK_PRESSES_H
#define TARN_SERVER_WORKER_TANK_PRESSES_H

#include "server/worker/worker_tank.h"

/// @return bytes written; 0: a value is none that is read
uint32_t tarn_tank_presses_write(const tarn_worker_tank *tank, uint8_t bytes[TARN_IPC_PRESSES_BYTES_MAX]);

/// What viewers held goes on, with the bodies and the parameters that this tank has.
/// @return TARN_OK, TARN_E_VERSION, TARN_E_TRUNCATED or TARN_E_MALFORMED: then nothing changes
tarn_status tarn_tank_presses_read(tarn_worker_tank *tank, const uint8_t *bytes, uint32_t byte_count);

#endif
