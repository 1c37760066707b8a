// Where tanks go: comparing workers by what their tanks take. Begin at tarn_placement_choose.
#include "server/gateway/placement.h"
#include "protocol/assert.h"

#include <math.h>

/// @return whether a takes less than b
static bool takes_less(const tarn_placement_worker *a, const tarn_placement_worker *b)
{
    const double share_a = round(a->share / TARN_PLACEMENT_SHARE_STEP),
                 share_b = round(b->share / TARN_PLACEMENT_SHARE_STEP);
    if (share_a != share_b) {
        return share_a < share_b;
    }
    if (a->particles != b->particles) {
        return a->particles < b->particles;
    }
    return a->tank_count < b->tank_count;
}

int tarn_placement_choose(const tarn_placement_worker *workers, uint32_t worker_count)
{
    int chosen = -1;
    for (uint32_t i = 0; i < worker_count; i++) {
        if (!workers[i].is_up || workers[i].tank_count >= workers[i].tanks_max) {
            continue;
        }
        TARN_ASSERT(workers[i].tank_count < workers[i].tanks_max);
        if (chosen < 0 || takes_less(&workers[i], &workers[chosen])) {
            chosen = (int)i;
        }
    }
    return chosen;
}

double tarn_placement_share(const tarn_ipc_report *before, const tarn_ipc_report *now, uint64_t frames, double seconds)
{
    if (now->step < before->step || !(seconds > 0)) {
        return 0;
    }
    const double steps_s = (double)(now->step - before->step) * (double)now->step_s;
    const double taken = (steps_s + (double)frames * (double)now->encode_s) / seconds;
    return taken > 0 && taken < 1 ? taken : taken >= 1; // what a worker says need not be true
}
