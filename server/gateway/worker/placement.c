// Where tanks go: comparing workers by what their tanks take. Begin at tarn_placement_choose.
#include "server/gateway/worker/placement.h"
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

bool tarn_placement_is_busy(const tarn_placement_worker *worker)
{
    TARN_ASSERT(worker->known_count <= worker->tank_count);
    const double of_one = worker->known_count > 0 ? worker->cost / worker->known_count : 0;
    return worker->tank_count >= worker->tanks_anyhow && worker->cost + of_one > worker->cost_max;
}

int tarn_placement_choose(const tarn_placement_worker *workers, uint32_t worker_count)
{
    int chosen = -1;
    for (uint32_t i = 0; i < worker_count; i++) {
        if (!workers[i].is_up || workers[i].tank_count >= workers[i].tanks_max || tarn_placement_is_busy(&workers[i])) {
            continue;
        }
        if (chosen < 0 || takes_less(&workers[i], &workers[chosen])) {
            chosen = (int)i;
        }
    }
    return chosen;
}

/// What a worker says need not be true: it has all of its time, and no less than none.
static double part_of_time(double part)
{
    return part > 0 && part < 1 ? part : part >= 1;
}

double tarn_placement_share(const tarn_ipc_report *before, const tarn_ipc_report *now, double seconds)
{
    if (now->step < before->step || !(seconds > 0)) {
        return 0;
    }
    return part_of_time((double)(now->step - before->step) * (double)now->cost_s / seconds);
}

double tarn_placement_cost(const tarn_ipc_report *report, double dt_s, double speed)
{
    return dt_s > 0 && speed > 0 ? part_of_time((double)report->cost_s * speed / dt_s) : 0;
}
