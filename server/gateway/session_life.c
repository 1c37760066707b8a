// The beginning and the end of sessions.
#include "server/common/clock.h"
#include "server/common/log.h"
#include "server/gateway/gateway.h"
#include "server/gateway/placement.h"
#include "server/gateway/session_place.h"
#include "server/gateway/viewer.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/// A name of letters and digits that are hard to mistake for each other. @return TARN_OK or TARN_E_IO
static tarn_status draw_name(tarn_name name)
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789"; // 32: five bits of a byte pick one evenly
    uint8_t bytes[TARN_GATEWAY_SESSION_NAME_LETTERS];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return TARN_E_IO;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        name[i] = letters[bytes[i] % (sizeof letters - 1)];
    }
    name[sizeof bytes] = 0;
    return TARN_OK;
}

static tarn_status begin(tarn_gateway *gateway, const tarn_session_plan *plan, uint32_t place, tarn_session *session)
{
    const tarn_fanout fanout = session->fanout; // its buffers serve every session of this place
    memset(session, 0, sizeof *session);
    session->fanout = fanout;
    tarn_status status = tarn_role_keys_make(&session->keys);
    if (status == TARN_OK && plan->name) {
        snprintf(session->name, sizeof session->name, "%s", plan->name);
    } else if (status == TARN_OK) {
        status = draw_name(session->name);
    }
    if (status != TARN_OK) {
        return status;
    }
    snprintf(session->title, sizeof session->title, "%s", plan->title);
    snprintf(session->scene, sizeof session->scene, "%s", plan->scene);
    session->guests = plan->guests;
    session->is_kept = plan->is_kept;
    session->is_listed = plan->is_listed;
    // Epochs go on from the time of day, so that a tank of a restarted gateway is not taken for an older one.
    session->epoch = (uint32_t)time(NULL);
    session->left_since_ns = session->empty_since_ns = tarn_clock_monotonic_ns();
    session->id = ++gateway->sessions.generation << TARN_SESSION_PLACE_BITS | place;
    return TARN_OK;
}

tarn_status tarn_session_open(tarn_gateway *gateway, const tarn_session_plan *plan, tarn_session **session)
{
    for (uint32_t place = 0; place < gateway->options.sessions_max; place++) {
        *session = &gateway->sessions.sessions[place];
        if ((*session)->id) {
            continue;
        }
        return begin(gateway, plan, place, *session);
    }
    *session = NULL;
    return TARN_E_LIMIT;
}

/// What the workers have, by index.
static void look_at_workers(const tarn_gateway *gateway, tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX])
{
    const tarn_workers *workers = &gateway->workers;
    for (uint32_t i = 0; i < workers->count; i++) {
        seen[i] = (tarn_placement_worker){.is_up = tarn_worker_process_is_ready(&workers->workers[i]),
                                          .tanks_max = workers->workers[i].hello.tanks_max};
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        const tarn_session *session = &gateway->sessions.sessions[i];
        if (session->id != 0 && session->worker != NULL) {
            tarn_placement_worker *worker = &seen[session->worker->index];
            worker->tank_count++;
            worker->share += session->share;
            worker->particles +=
                session->report_ns != 0 ? session->report.particle_count : TARN_PLACEMENT_PARTICLES_GUESS;
        }
    }
}

bool tarn_session_has_room(const tarn_gateway *gateway)
{
    tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX];
    look_at_workers(gateway, seen);
    return tarn_placement_choose(seen, gateway->workers.count) >= 0;
}

bool tarn_session_place(tarn_gateway *gateway, tarn_session *session)
{
    tarn_placement_worker seen[TARN_GATEWAY_WORKERS_MAX];
    look_at_workers(gateway, seen);
    const int index = tarn_placement_choose(seen, gateway->workers.count);
    if (index < 0) {
        return false;
    }
    session->worker = &gateway->workers.workers[index];
    tarn_session_make_tank(session);
    return true;
}

void tarn_session_close(tarn_session *session)
{
    tarn_fanout_free(&session->fanout);
    session->id = 0;
}

void tarn_session_end(tarn_gateway *gateway, tarn_session *session, const char *sentence)
{
    const tarn_ipc_message message = {.kind = TARN_IPC_UNLOAD, .tank = session->id};
    const tarn_worker_queue_key key = {.kind = TARN_IPC_UNLOAD};
    tarn_log_info("the session \"%s\" ends: %s", session->name, sentence);
    while (session->viewer_count > 0) {
        tarn_viewer_expel(gateway, session->viewers[0], TARN_ERROR_SESSION, sentence);
    }
    if (session->worker != NULL) {
        tarn_worker_process_send(session->worker, &message, key, 0);
        // A frame that is on its way is nobody's; the next session here may have another worker.
        tarn_worker_process_divert(session->worker, session->id, tarn_fanout_space(&gateway->sessions.nowhere));
    }
    tarn_fanout_rest(&session->fanout);
    session->id = 0;
}

uint32_t tarn_session_people(const tarn_session *session)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        count += !session->viewers[i]->is_preview;
    }
    return count;
}

uint32_t tarn_session_count(const tarn_gateway *gateway)
{
    uint32_t count = 0;
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        count += gateway->sessions.sessions[i].id != 0;
    }
    return count;
}
