// The beginning and the end of sessions.
#include "protocol/assert.h"
#include "server/common/clock.h"
#include "server/common/log.h"
#include "server/gateway/session.h"
#include "server/gateway/session_box.h"
#include "server/gateway/session_place.h"
#include "server/gateway/tank_store.h"
#include "server/gateway/uploads.h"
#include "server/gateway/viewer.h"

#include <stdio.h>
#include <stdlib.h>
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

static tarn_status begin(tarn_sessions *all, const tarn_session_plan *plan, uint32_t place, tarn_session *session)
{
    const tarn_fanout fanout = session->fanout; // its buffers serve every session of this place
    tarn_probes_shown *shown = session->probes.shown;
    memset(session, 0, sizeof *session);
    session->fanout = fanout;
    tarn_session_probes_begin(session, shown);
    session->all = all;
    tarn_status status = TARN_OK;
    if (plan->salt != NULL) {
        memcpy(session->salt, plan->salt, sizeof session->salt);
    } else if (getrandom(session->salt, sizeof session->salt, 0) != (ssize_t)sizeof session->salt) {
        status = TARN_E_IO;
    }
    if (status == TARN_OK) {
        status = tarn_role_keys_make(&session->keys, &all->secret, session->salt, sizeof session->salt);
    }
    if (status == TARN_OK && plan->name != NULL) {
        snprintf(session->name, sizeof session->name, "%s", plan->name);
    } else if (status == TARN_OK) {
        status = draw_name(session->name);
    }
    if (status != TARN_OK) {
        return status;
    }
    snprintf(session->title, sizeof session->title, "%s", plan->title);
    snprintf(session->scene, sizeof session->scene, "%s", plan->scene);
    snprintf(session->begun_as, sizeof session->begun_as, "%s", plan->begun_as != NULL ? plan->begun_as : plan->scene);
    session->guests = plan->guests;
    session->maker = plan->maker;
    session->is_kept = plan->is_kept;
    session->is_listed = plan->is_listed;
    // Epochs go on from the time of day, so that a tank of a restarted gateway is not taken for an older one.
    session->epoch = (uint32_t)time(NULL);
    session->left_since_ns = session->empty_since_ns = tarn_clock_monotonic_ns();
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    session->id = ++all->generation << TARN_SESSION_PLACE_BITS | place;
    if (session->is_listed) {
        snprintf(session->label, sizeof session->label, "%s", session->name);
    } else {
        snprintf(session->label, sizeof session->label, "unlisted-%u", all->generation);
    }
    return TARN_OK;
}

tarn_status tarn_session_open(tarn_sessions *all, const tarn_session_plan *plan, tarn_session **session)
{
    for (uint32_t place = 0; place < all->options->sessions_max; place++) {
        *session = &all->sessions[place];
        if ((*session)->id) {
            continue;
        }
        TARN_ASSERT((*session)->viewer_count == 0);
        return begin(all, plan, place, *session);
    }
    *session = NULL;
    return TARN_E_LIMIT;
}

void tarn_session_close(tarn_session *session)
{
    tarn_session_box_close(&session->box_fd);
    tarn_session_box_close(&session->past.box_fd);
    tarn_fanout_free(&session->fanout);
    free(session->probes.shown);
    session->probes.shown = NULL;
    session->id = 0;
}

static void note_end(tarn_sessions *all, const tarn_session *session, const char *sentence)
{
    const uint32_t place = all->ended_count++ % TARN_GATEWAY_ENDED_MAX;
    memcpy(all->ended[place].name, session->name, sizeof session->name);
    snprintf(all->ended[place].sentence, sizeof all->ended[place].sentence, "%s", sentence);
}

const char *tarn_session_ended_because(const tarn_sessions *all, const char *name)
{
    for (uint32_t i = 0; i < TARN_GATEWAY_ENDED_MAX; i++) {
        if (name[0] != '\0' && strcmp(all->ended[i].name, name) == 0) {
            return all->ended[i].sentence;
        }
    }
    return NULL;
}

void tarn_session_end(tarn_session *session, const char *sentence)
{
    const tarn_ipc_message message = {.kind = TARN_IPC_UNLOAD, .tank = session->id};
    const tarn_worker_queue_key key = {.kind = TARN_IPC_UNLOAD};
    TARN_ASSERT(session->id != 0);
    tarn_log_of(TARN_LOG_INFO, (tarn_log_subject){.session = session->label, .tank = session->id},
                "the session \"%s\" ends: %s", session->label, sentence);
    note_end(session->all, session, sentence);
    while (session->viewer_count > 0) {
        tarn_viewer *viewer = session->viewers[0];
        tarn_session_leave(session, viewer);
        tarn_viewer_fail(viewer, TARN_ERROR_SESSION, sentence);
    }
    if (session->worker != NULL) {
        tarn_worker_process_send(session->worker, &message, key, false);
        // A frame that is on its way is nobody's; the next session here may have another worker.
        tarn_worker_process_divert(session->worker, session->id,
                                   tarn_fanout_space(&session->all->nowhere, TARN_IPC_FRAME_BYTES_MAX));
    }
    if (session->moves_to != NULL) {
        tarn_worker_process_send(session->moves_to, &message, key, false);
    }
    TARN_ASSERT(session->viewer_count == 0);
    tarn_fanout_rest(&session->fanout);
    session->all->has_ended = true;
    session->moves_to = NULL;
    session->held = NULL;
    tarn_session_box_close(&session->past.box_fd);
    tarn_session_box_close(&session->box_fd);
    if (session->all->store != NULL) {
        tarn_store_drop(session->all->store, session->id & TARN_SESSION_PLACE_MASK, session->name);
    }
    tarn_uploads_end_session(session->all->uploads, session->name);
    tarn_session_telling_end(session);
    session->id = 0;
}

void tarn_session_sweep(tarn_sessions *all)
{
    bool has_ended = all->has_ended;
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session *session = &all->sessions[i];
        if (session->id != 0 && session->ends_because[0] != '\0') {
            tarn_session_end(session, session->ends_because);
            has_ended = true;
        }
    }
    all->has_ended = false;
    if (has_ended) { // one that found no worker when it came back may have its place
        tarn_session_place_all(all);
    }
}

uint32_t tarn_session_count(const tarn_sessions *all)
{
    uint32_t count = 0;
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        count += all->sessions[i].id != 0;
    }
    return count;
}
