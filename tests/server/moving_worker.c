// tarn-worker for which taking a tank over goes wrong, for `tarnd --worker`: the linker puts these functions in
// front of the real ones (--wrap). TARN_TEST_MOVING says how:
//
//     refuse   the state is none of the tank's
//     die      the worker ends
//     stop     it stops, until somebody lets it go on
//     slow     it takes a while
//     /PATH    no tank can be made while there is such a file
//     deaf     nothing more is read for a moment when the state begins to come
#include "kernels/tank.h"
#include "server/worker/resume.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

tarn_status __real_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count);
tarn_status __wrap_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count);
tarn_status __real_tarn_tank_create(tarn_device *device, const tarn_tank_desc *desc, tarn_tank **tank, char *why,
                                    size_t why_bytes);
tarn_status __wrap_tarn_tank_create(tarn_device *device, const tarn_tank_desc *desc, tarn_tank **tank, char *why,
                                    size_t why_bytes);
tarn_status __real_tarn_worker_move_head(tarn_worker_tank *tank, const tarn_ipc_state_head *head, tarn_text why);
tarn_status __wrap_tarn_worker_move_head(tarn_worker_tank *tank, const tarn_ipc_state_head *head, tarn_text why);

tarn_status __wrap_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count)
{
    const char *named = getenv("TARN_TEST_MOVING"), *what = named != NULL ? named : "";
    if (strcmp(what, "refuse") == 0) {
        return TARN_E_MALFORMED;
    }
    if (strcmp(what, "die") == 0) {
        raise(SIGKILL);
    }
    if (strcmp(what, "stop") == 0) {
        raise(SIGSTOP);
    }
    if (strcmp(what, "slow") == 0) {
        usleep(500000);
    }
    return __real_tarn_tank_load(tank, bytes, byte_count);
}

tarn_status __wrap_tarn_worker_move_head(tarn_worker_tank *tank, const tarn_ipc_state_head *head, tarn_text why)
{
    const char *what = getenv("TARN_TEST_MOVING");
    if (what != NULL && strcmp(what, "deaf") == 0) {
        usleep(50000);
    }
    return __real_tarn_worker_move_head(tank, head, why);
}

tarn_status __wrap_tarn_tank_create(tarn_device *device, const tarn_tank_desc *desc, tarn_tank **tank, char *why,
                                    size_t why_bytes)
{
    const char *what = getenv("TARN_TEST_MOVING");
    const bool is_failing = what != NULL && what[0] == '/' && access(what, F_OK) == 0;
    return is_failing ? TARN_E_MEMORY : __real_tarn_tank_create(device, desc, tank, why, why_bytes);
}
