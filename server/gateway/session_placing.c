// Which worker a session's tank goes to: what placement.h needs to know, gathered.
#include "protocol/assert.h"
#include "server/gateway/placement.h"
#include "server/gateway/session.h"

/// What the workers have, by index.
static void look_at_workers(const tarn_sessions *all, tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX])
{
    const tarn_workers *workers = all->workers;
    TARN_ASSERT(workers->count <= TARN_GATEWAY_WORKERS_MAX);
    for (uint32_t i = 0; i < workers->count; i++) {
        seen[i] = (tarn_placement_worker){.is_up = tarn_worker_process_is_ready(&workers->workers[i]),
                                          .tanks_max = workers->workers[i].hello.tanks_max};
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        const tarn_session *session = &all->sessions[i];
        if (session->id != 0 && session->moves_to != NULL) {
            seen[session->moves_to->index].tank_count++;
        }
        if (session->id != 0 && session->worker != NULL) {
            tarn_placement_worker *worker = &seen[session->worker->index];
            TARN_ASSERT(session->worker->index < workers->count);
            worker->tank_count++;
            worker->share += session->share;
            worker->particles +=
                session->report_ns != 0 ? session->report.particle_count : TARN_PLACEMENT_PARTICLES_GUESS;
        }
    }
}

bool tarn_session_has_room(const tarn_sessions *all)
{
    tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX];
    look_at_workers(all, seen);
    return tarn_placement_choose(seen, all->workers->count) >= 0;
}

int tarn_session_other_worker(const tarn_session *session, int wanted)
{
    tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX];
    look_at_workers(session->all, seen);
    for (int i = 0; i < (int)session->all->workers->count; i++) {
        const bool is_own = session->worker != NULL && (int)session->worker->index == i;
        seen[i].is_up = seen[i].is_up && !is_own && (wanted < 0 || wanted == i);
    }
    return tarn_placement_choose(seen, session->all->workers->count);
}

bool tarn_session_place(tarn_session *session)
{
    tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX];
    look_at_workers(session->all, seen);
    const int index = tarn_placement_choose(seen, session->all->workers->count);
    if (index < 0) {
        return false;
    }
    TARN_ASSERT((uint32_t)index < session->all->workers->count);
    session->worker = &session->all->workers->workers[index];
    tarn_fanout_forget_begun(&session->fanout);
    return true;
}
