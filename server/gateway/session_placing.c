// Which worker a session's tank goes to: what placement.h needs to know, gathered.
#include "protocol/assert.h"
#include "server/common/box_follow.h"
#include "server/gateway/placement.h"
#include "server/gateway/session.h"

#include <stdio.h>
#include <string.h>

double tarn_session_cost(const tarn_session *session)
{
    const double speed = session->past.speed > 0 ? (double)session->past.speed : 1;
    return session->report_ns != 0 ? tarn_placement_cost(&session->report, (double)session->state.dt_s, speed) : 0;
}

/// The same of one that hasn't reported yet: what others of its scene take.
static double cost_of_alike(const tarn_sessions *all, const tarn_session *session)
{
    double cost = 0;
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX && cost == 0; i++) {
        const tarn_session *other = &all->sessions[i];
        if (other->id != 0 && other->report_ns != 0 && strcmp(other->scene, session->scene) == 0) {
            cost = tarn_session_cost(other);
        }
    }
    return cost;
}

/// What the workers have, by index.
/// @param is_new  a tank is to be made that need not be: what the others cost counts
static void look_at_workers(const tarn_sessions *all, bool is_new, tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX])
{
    const tarn_workers *workers = all->workers;
    TARN_ASSERT(workers->count <= TARN_GATEWAY_WORKERS_MAX);
    for (uint32_t i = 0; i < workers->count; i++) {
        seen[i] = (tarn_placement_worker){.is_up = tarn_worker_process_is_ready(&workers->workers[i]),
                                          .tanks_max = workers->workers[i].hello.tanks_max,
                                          .tanks_anyhow = is_new ? TARN_GATEWAY_WORKER_TANKS_ANYHOW : UINT32_MAX,
                                          .cost_max = 0.01 * all->options->load_max};
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        const tarn_session *session = &all->sessions[i];
        if (session->id != 0 && session->moves_to != NULL) {
            seen[session->moves_to->index].tank_count++;
        }
        if (session->id != 0 && session->worker != NULL) {
            tarn_placement_worker *worker = &seen[session->worker->index];
            const double known = is_new ? tarn_session_cost(session) : 0,
                         cost = is_new && known == 0 ? cost_of_alike(all, session) : known;
            TARN_ASSERT(session->worker->index < workers->count);
            worker->tank_count++;
            worker->known_count += cost > 0;
            worker->cost += cost;
            worker->share += session->share;
            worker->particles +=
                session->report_ns != 0 ? session->report.particle_count : TARN_PLACEMENT_PARTICLES_GUESS;
        }
    }
}

bool tarn_session_has_room(const tarn_sessions *all, tarn_text why)
{
    tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX];
    bool are_busy = false;
    look_at_workers(all, true, seen);
    if (tarn_placement_choose(seen, all->workers->count) >= 0) {
        return true;
    }
    for (uint32_t i = 0; i < all->workers->count; i++) {
        are_busy |= seen[i].is_up && seen[i].tank_count < seen[i].tanks_max && tarn_placement_is_busy(&seen[i]);
    }
    if (why != NULL && are_busy) {
        snprintf(
            why, sizeof(tarn_text),
            "one more tank would take the workers above %u %% of their time, which is all that is allowed beyond %d "
            "tanks each (--load-max); try again when one has ended",
            all->options->load_max, TARN_GATEWAY_WORKER_TANKS_ANYHOW);
    } else if (why != NULL) {
        snprintf(why, sizeof(tarn_text), "the workers have as many tanks as they take; try again when one has ended");
    }
    return false;
}

bool tarn_session_leaves(tarn_session *session)
{
    return session->was_made && !session->is_afresh_asked && session->box_fd > 0 &&
           !tarn_box_is_suspect(session->box_fd) && tarn_session_place(session);
}

int tarn_session_other_worker(const tarn_session *session, int wanted)
{
    tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX];
    look_at_workers(session->all, false, seen);
    for (int i = 0; i < (int)session->all->workers->count; i++) {
        const bool is_own = session->worker != NULL && (int)session->worker->index == i;
        seen[i].is_up = seen[i].is_up && !is_own && (wanted < 0 || wanted == i);
    }
    return tarn_placement_choose(seen, session->all->workers->count);
}

bool tarn_session_place(tarn_session *session)
{
    tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX];
    look_at_workers(session->all, false, seen);
    const int index = tarn_placement_choose(seen, session->all->workers->count);
    if (index < 0) {
        return false;
    }
    TARN_ASSERT((uint32_t)index < session->all->workers->count);
    session->worker = &session->all->workers->workers[index];
    tarn_fanout_forget_begun(&session->fanout);
    return true;
}
