// Begin at tarn_session_awaits_older.
#include "server/gateway/session_older.h"
#include "server/common/box_follow.h"
#include "server/common/clock.h"
#include "server/common/log.h"
#include "server/gateway/session_box.h"
#include "server/gateway/session_keep.h"
#include "server/gateway/session_place.h"
#include "server/gateway/tank_store.h"
#include "server/gateway/viewer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FALLS_MAX = 2 }; // an older state, and the scene

static uint32_t place_of(const tarn_session *session)
{
    return session->id & TARN_SESSION_PLACE_MASK;
}

/// What the tank tries next is another thing, and gets its chances: its worker isn't given up for what came before.
static void note_fall(tarn_session *session)
{
    session->falls++;
    session->fell_ns = tarn_clock_monotonic_ns();
    session->worker->failures = 0;
}

bool tarn_session_awaits_older(tarn_session *session)
{
    tarn_text reason;
    const uint64_t calm_ns = TARN_GATEWAY_STORE_CALM_MS * (uint64_t)1000000;
    if (session->awaits_older) {
        session->pending = session->resumes = true; // what viewers do waits
        return true;
    }
    if (session->all->store == NULL || !session->was_made || session->is_afresh_asked || session->box_fd <= 0 ||
        !tarn_box_is_spent(session->box_fd, reason)) {
        return false;
    }
    if (session->falls > 0 && tarn_clock_monotonic_ns() - session->fell_ns > calm_ns) {
        session->falls = 0;
    }
    if (session->falls >= FALLS_MAX) {
        return false; // the scene itself kills, as far as anybody knows
    }
    tarn_session_keep_filled(session); // a tank that died at once isn't the store's yet
    if (!tarn_store_ask_older(session->all->store, place_of(session), session->id, session->epoch + 1, reason)) {
        return false;
    }
    note_fall(session);
    session->awaits_older = session->pending = session->resumes = true;
    return true;
}

static void say(tarn_session *session, const tarn_store_older *older)
{
    char when[64] = "its newest state", back[64] = "its scene's beginning";
    if (older->is_aside) {
        snprintf(when, sizeof when, "its state of step %" PRIu64, older->aside_step);
    }
    if (older->box_fd > 0) {
        snprintf(back, sizeof back, "its state of step %" PRIu64, older->step);
    }
    snprintf(session->older_notice, sizeof session->older_notice,
             "%s ended the worker again and again; %s, and this tank goes on from %s", when,
             older->is_aside ? "it is set aside in the session's file" : "it can't be set aside", back);
    tarn_log_of(TARN_LOG_ERROR, (tarn_log_subject){.session = session->label, .tank = session->id},
                "the session \"%s\": %s%s%s", session->label, session->older_notice, older->why[0] != 0 ? ": " : "",
                older->why);
}

bool tarn_session_take_older(tarn_session *session)
{
    static tarn_store_older older; // large
    if (!session->awaits_older || !tarn_store_take_older(session->all->store, place_of(session), &older)) {
        return false;
    }
    session->awaits_older = session->pending = session->resumes = false;
    if (session->falls == FALLS_MAX) {
        tarn_session_box_close(&older.box_fd); // as did the one before it
    }
    say(session, &older);
    if (older.box_fd > 0) {
        tarn_session_forget_box(session);
        session->box_fd = older.box_fd;
        memcpy(session->scene, older.scene, sizeof session->scene);
    } else {
        session->is_afresh_asked = true;
    }
    return true;
}

void tarn_session_tell_older(tarn_session *session)
{
    bool is_told = false;
    for (uint32_t v = 0; session->older_notice[0] != 0 && v < session->viewer_count; v++) {
        if (session->viewers[v]->role == TARN_ROLE_OWN) {
            tarn_viewer_error(session->viewers[v], TARN_ERROR_WORKER, session->older_notice);
            is_told = true;
        }
    }
    if (is_told) {
        session->older_notice[0] = 0;
    }
}
