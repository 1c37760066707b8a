// tarn-worker for which taking a tank over goes wrong, for `tarnd --worker`: the linker puts these functions in
// front of the real ones (--wrap). TARN_MOVING says how:
//
//     refuse   the state is none of the tank's
//     die      the worker ends
//     stop     it stops, until somebody lets it go on
//     slow     it takes a while
//     deaf     nothing more is read for a moment when the state begins to come
#include "kernels/tank.h"
#include "server/worker/worker_move.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

tarn_status __real_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count);
tarn_status __wrap_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count);
tarn_status __real_tarn_worker_move_head(tarn_worker_tank *tank, const tarn_ipc_state_head *head, tarn_text why);
tarn_status __wrap_tarn_worker_move_head(tarn_worker_tank *tank, const tarn_ipc_state_head *head, tarn_text why);

tarn_status __wrap_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count)
{
    const char *named = getenv("TARN_MOVING"), *what = named != NULL ? named : "";
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
    const char *what = getenv("TARN_MOVING");
    if (what != NULL && strcmp(what, "deaf") == 0) {
        usleep(50000);
    }
    return __real_tarn_worker_move_head(tank, head, why);
}
