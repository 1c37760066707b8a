// One errand of a session's at a time. Begin at tarn_time_machine_go_back, then tarn_time_machine_tick.
#include "server/gateway/session/time_machine.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/session/box.h"
#include "server/gateway/session/making.h"
#include "server/gateway/session/post.h"
#include "server/gateway/session/session.h"
#include "server/gateway/store/store.h"
#include "server/gateway/viewer/viewer.h"
#include "server/net/addresses.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static tarn_log_subject subject_of(const tarn_session *session)
{
    return (tarn_log_subject){.session = session->label, .tank = session->id};
}

bool tarn_time_machine_look(const tarn_session *session, tarn_session_span *span, tarn_text why)
{
    const tarn_sessions *all = session->all;
    if (all->store == NULL) {
        snprintf(why, sizeof(tarn_text), "this server keeps no past of its tanks: it was started without --store");
        return false;
    }
    if (!tarn_store_past(all->store, tarn_session_place_of(session), span)) {
        memset(span, 0, sizeof *span);
    }
    return true;
}

/// The moment of `t_s`, where it is kept. @return as tarn_time_machine_mark
static tarn_status find_moment(const tarn_session *session, double t_s, uint64_t *at_ns, tarn_text why)
{
    tarn_session_span span;
    if (!tarn_time_machine_look(session, &span, why)) {
        return TARN_E_STATE;
    }
    if (span.state_count == 0) {
        snprintf(why, sizeof(tarn_text), "nothing of this tank's past is kept yet");
        return TARN_E_STATE;
    }
    const double from_s = 1e-9 * (double)span.from_ns, until_s = 1e-9 * (double)span.until_ns;
    // What is said in milliseconds may lie just outside.
    const double slack_s = 1e-3;
    if (!(t_s >= from_s - slack_s && t_s <= until_s + slack_s)) {
        const double in_digits_s = 1e12; // what is larger has hundreds of them
        snprintf(why, sizeof(tarn_text),
                 fabs(t_s) < in_digits_s ? "t: found %.3f, allowed are %.3f to %.3f, which is what is kept"
                                         : "t: found %g, allowed are %.3f to %.3f, which is what is kept",
                 t_s, from_s, until_s);
        return TARN_E_ARGUMENT;
    }
    *at_ns = t_s <= from_s ? span.from_ns : t_s >= until_s ? span.until_ns : (uint64_t)(t_s * 1e9 + 0.5);
    return TARN_OK;
}

static tarn_status send_out(tarn_session *session, tarn_past_errand errand, const tarn_store_wish *wish, tarn_text why)
{
    if (session->past.errand != TARN_PAST_ERRAND_NONE ||
        !tarn_store_wish_for(session->all->store, tarn_session_place_of(session), wish)) {
        snprintf(why, sizeof(tarn_text), "something else is being done with this tank's past; try again in a moment");
        return TARN_E_STATE;
    }
    session->past.errand = errand;
    return TARN_OK;
}

/// Whether the session's tank can be made anew now. What waits for one that is back was done to that one.
static bool is_free(const tarn_session *session)
{
    return session->worker != NULL && tarn_worker_process_is_ready(session->worker) && session->was_made &&
           !session->pending && session->moves_to == NULL && session->past.box_fd == 0 && !tarn_session_waits(session);
}

static const char NOT_FREE[] = "the tank is being made or moved just now; try again in a moment";

tarn_status tarn_time_machine_go_back(tarn_session *session, double t_s, bool replays, tarn_text why)
{
    tarn_store_wish wish = {.kind = TARN_STORE_WISH_BOX, .replays = replays};
    const tarn_status status = find_moment(session, t_s, &wish.at_ns, why);
    if (status != TARN_OK) {
        return status;
    }
    if (!is_free(session)) {
        snprintf(why, sizeof(tarn_text), "%s", NOT_FREE);
        return TARN_E_STATE;
    }
    if (!tarn_turn_allow(&session->fresh_due_ns, TARN_GATEWAY_FRESH_MS, TARN_GATEWAY_FRESH_BURST)) {
        snprintf(why, sizeof(tarn_text), "the tank was made anew too often just now; try again in a moment");
        return TARN_E_STATE;
    }
    return send_out(session, TARN_PAST_ERRAND_BACK, &wish, why);
}

tarn_status tarn_time_machine_fork(tarn_session *session, double t_s, tarn_session *fork, tarn_text why)
{
    tarn_store_wish wish = {.kind = TARN_STORE_WISH_BOX};
    tarn_status status = find_moment(session, t_s, &wish.at_ns, why);
    if (status == TARN_OK) {
        status = send_out(session, TARN_PAST_ERRAND_FORK, &wish, why);
    }
    if (status == TARN_OK) {
        session->past.fork_id = fork->id;
        fork->past.awaits = true;
        fork->past.since_ns = tarn_clock_monotonic_ns();
    }
    return status;
}

tarn_status tarn_time_machine_mark(tarn_session *session, double t_s, const char *name, tarn_text why)
{
    tarn_store_wish wish = {.kind = TARN_STORE_WISH_MARK};
    const tarn_status status = find_moment(session, t_s, &wish.at_ns, why);
    TARN_ASSERT(strlen(name) < sizeof wish.name);
    snprintf(wish.name, sizeof wish.name, "%s", name);
    return status == TARN_OK ? send_out(session, TARN_PAST_ERRAND_MARK, &wish, why) : status;
}

tarn_status tarn_time_machine_unmark(tarn_session *session, uint32_t mark, tarn_text why)
{
    tarn_session_span span;
    const tarn_store_wish wish = {.kind = TARN_STORE_WISH_UNMARK, .mark = mark};
    return tarn_time_machine_look(session, &span, why) ? send_out(session, TARN_PAST_ERRAND_MARK, &wish, why)
                                                       : TARN_E_STATE;
}

/// The tank goes on from the reply's box, which is the session's from now on.
static void go_back(tarn_session *session, const tarn_store_reply *reply)
{
    const char *failure = is_free(session) ? NULL : NOT_FREE;
    if (failure == NULL && !tarn_session_box_can_go(reply->box_fd)) { // without it the worker would begin afresh
        failure = "the tank can't be gone back with: there is no descriptor for it";
    }
    tarn_ipc_load load = {.paused = session->state.paused, .resumes = TARN_IPC_GOES_BACK, .box = reply->box_fd};
    memcpy(load.scene, reply->scene, sizeof load.scene);
    if (failure == NULL && (tarn_box_set_epoch(reply->box_fd, session->epoch + 1) != TARN_OK ||
                            tarn_session_send_load(session, &load) != TARN_OK)) {
        failure = "the tank can't be gone back with: its worker takes no messages just now";
    }
    if (failure != NULL) {
        int box_fd = reply->box_fd;
        tarn_session_box_close(&box_fd);
        tarn_viewer_tell_owners(session, TARN_ERROR_INPUT, failure);
        return;
    }
    session->past.box_fd = reply->box_fd;
    session->past.replay.next = reply->stretch;
    memcpy(session->scene_asked, reply->scene, sizeof session->scene_asked);
    tarn_log_of(TARN_LOG_INFO, subject_of(session), "the tank of \"%s\" goes back to %.3f s%s", session->label,
                1e-9 * (double)reply->at_ns, reply->stretch.state != 0 ? ", from where it is played back" : "");
}

/// The other session's tank is made. Its epoch is its own.
static void begin_fork(tarn_session *fork, const tarn_store_reply *reply)
{
    fork->past.awaits = false;
    fork->box_fd = reply->box_fd;
    memcpy(fork->scene, reply->scene, sizeof fork->scene);
    memcpy(fork->begun_as, reply->scene, sizeof fork->begun_as);
    fork->was_made = fork->past.is_filled = true;
    fork->epoch_served = fork->epoch;
    if (tarn_box_set_epoch(fork->box_fd, fork->epoch) == TARN_OK && tarn_session_place(fork)) {
        tarn_session_make_tank(fork);
    } else {
        snprintf(fork->ends_because, sizeof fork->ends_because, "no worker takes this tank");
    }
}

static tarn_session *fork_of(const tarn_session *session)
{
    tarn_session *fork = &session->all->sessions[session->past.fork_id & TARN_SESSION_PLACE_MASK];
    const bool is_free_still = fork->id == session->past.fork_id && fork->past.awaits && fork->worker == NULL;
    return is_free_still ? fork : NULL;
}

/// What its errand came to.
static void take_reply(tarn_session *session, tarn_store_reply *reply)
{
    const tarn_past_errand errand = session->past.errand;
    tarn_session *fork = errand == TARN_PAST_ERRAND_FORK ? fork_of(session) : NULL;
    session->past.errand = TARN_PAST_ERRAND_NONE;
    if (reply->status != TARN_OK) {
        const bool is_for_people = reply->status == TARN_E_NOT_FOUND || reply->status == TARN_E_LIMIT ||
                                   reply->status == TARN_E_STATE || reply->status == TARN_E_MEMORY;
        // What was asked for wrongly is for who asked, and who asks often would fill the log.
        tarn_log_of(is_for_people && reply->status != TARN_E_MEMORY ? TARN_LOG_DEBUG : TARN_LOG_WARN,
                    subject_of(session), "%s", reply->why);
        const char *sentence = is_for_people ? reply->why
                                             : "what is kept of this tank's past can't be read or written just now; "
                                               "the tank is as it was";
        tarn_viewer_tell_owners(session, TARN_ERROR_INPUT, sentence);
        if (fork != NULL) {
            snprintf(fork->ends_because, sizeof fork->ends_because, "%s", sentence);
        }
    } else if (errand == TARN_PAST_ERRAND_BACK) {
        go_back(session, reply);
    } else if (fork != NULL) {
        begin_fork(fork, reply);
    } else {
        tarn_session_box_close(&reply->box_fd); // it has ended
    }
}

/// The worker may be another one than was told, or have been told of none.
static void tell_speed(tarn_session *session, uint64_t now_ns)
{
    tarn_ipc_message message = {.kind = TARN_IPC_SPEED, .tank = session->id};
    const tarn_worker_queue_key key = {.kind = TARN_IPC_SPEED, .index = session->id & TARN_SESSION_PLACE_MASK};
    if (session->state.speed == session->past.speed || !is_free(session) || now_ns < session->past.speed_due_ns) {
        return;
    }
    message.speed.speed = session->past.speed > 0.0f ? session->past.speed : 1.0f;
    if (tarn_worker_process_send(session->worker, &message, key, true) == TARN_OK) {
        session->past.speed_due_ns = now_ns + TARN_GATEWAY_SPEED_MS * (uint64_t)1000000;
    }
}

void tarn_time_machine_tick(tarn_sessions *all, uint64_t now_ns)
{
    static tarn_store_reply reply; // large, and one thread's
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        tarn_session *session = &all->sessions[place];
        if (session->id == 0) {
            continue;
        }
        if (session->past.errand != TARN_PAST_ERRAND_NONE && tarn_store_take_reply(all->store, place, &reply)) {
            take_reply(session, &reply);
        }
        session->past.awaits = session->past.awaits && session->worker == NULL; // somebody loaded a scene into it
        if (session->past.awaits && session->ends_because[0] == '\0' &&
            now_ns - session->past.since_ns > TARN_GATEWAY_HISTORY_WAIT_MS_MAX * (uint64_t)1000000) {
            snprintf(session->ends_because, sizeof session->ends_because,
                     "the tank that this one was to go on from has ended");
        }
        tell_speed(session, now_ns);
        tarn_session_replay_tick(session);
    }
}
