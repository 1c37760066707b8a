// Both ways between a tank and its presses' bytes.
#include "server/worker/tank_presses.h"
#include "server/worker/press_bytes.h"

/// Large, and used by one thread at a time: exactly one of a worker's runs, and none gives way here.
static tarn_presses presses;

uint32_t tarn_tank_presses_write(const tarn_worker_tank *tank, uint8_t bytes[TARN_IPC_PRESSES_BYTES_MAX])
{
    presses = (tarn_presses){.inputs = tank->inputs, .next = tank->next, .steps_asked = tank->steps_asked};
    return tarn_presses_write(&presses, bytes, TARN_IPC_PRESSES_BYTES_MAX);
}

tarn_status tarn_tank_presses_read(tarn_worker_tank *tank, const uint8_t *bytes, uint32_t byte_count)
{
    const tarn_status status = tarn_presses_read(bytes, byte_count, &presses);
    if (status == TARN_OK) {
        tank->inputs = presses.inputs;
        tank->next = presses.next;
        tank->steps_asked = presses.steps_asked;
    }
    return status;
}
