// How a session's tank comes to be: begin at tarn_session_place, then tarn_session_awaits_older.
#include "server/gateway/session/making.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/session/box.h"
#include "server/gateway/session/post.h"
#include "server/gateway/session/session.h"
#include "server/gateway/store/store.h"
#include "server/gateway/viewer/viewer.h"
#include "server/gateway/worker/placement.h"
#include "server/log/follow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- on which worker ----
// What worker/placement.h needs to know, gathered: begin at tarn_session_place.

double tarn_session_cost(const tarn_session *session)
{
    const double speed = session->past.speed > 0 ? (double)session->past.speed : 1;
    return session->report_ns != 0 ? tarn_placement_cost(&session->report, (double)session->state.dt_s, speed) : 0;
}

/// What a tank that hasn't reported yet may cost: what another one of its scene does.
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

// ---- from an older state ----
// Begin at tarn_session_awaits_older.

enum { FALLS_MAX = 2 }; // an older state, and the scene

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
    if (!tarn_store_ask_older(session->all->store, tarn_session_place_of(session), session->id, session->epoch + 1,
                              reason)) {
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
    if (!session->awaits_older || !tarn_store_take_older(session->all->store, tarn_session_place_of(session), &older)) {
        return false;
    }
    session->awaits_older = session->pending = session->resumes = false;
    if (session->falls == FALLS_MAX) {
        tarn_session_box_close(&older.box_fd); // as did the one before it
    }
    say(session, &older);
    tarn_session_box_close(&session->box_fd); // of no use, and the store follows it no more
    session->kept_fd = 0;
    if (older.box_fd > 0) {
        session->box_fd = older.box_fd;
        memcpy(session->scene, older.scene, sizeof session->scene);
    } else {
        session->is_afresh_asked = true;
        session->past.is_filled = false;
    }
    return true;
}

void tarn_session_tell_older(tarn_session *session)
{
    if (session->older_notice[0] != 0 && tarn_viewer_tell_owners(session, TARN_ERROR_WORKER, session->older_notice)) {
        session->older_notice[0] = 0;
    }
}

// ---- whether frames come ----
// One time for each session: since when frames have been due without a break.

static bool is_watched(const tarn_session *session)
{
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (!session->viewers[i]->view.hidden && !session->viewers[i]->is_preview) {
            return true;
        }
    }
    return false;
}

static bool owes_frames(const tarn_session *session)
{
    return session->worker != NULL && is_watched(session) && !session->state.paused && !session->pending &&
           session->moves_to == NULL;
}

void tarn_session_pulse_tick(tarn_sessions *all, uint64_t now_ns)
{
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session *session = &all->sessions[i];
        if (session->id == 0 || !owes_frames(session)) {
            session->due_since_ns = 0;
        } else if (session->due_since_ns == 0) {
            session->due_since_ns = now_ns;
        }
    }
}

void tarn_session_pulse_stood(tarn_sessions *all, const tarn_standstill *stood)
{
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session *session = &all->sessions[i];
        tarn_standstill_move(stood, &session->due_since_ns);
        tarn_standstill_move(stood, &session->taken_ns);
        tarn_standstill_move(stood, &session->empty_since_ns);
        tarn_standstill_move(stood, &session->left_since_ns);
    }
}

uint64_t tarn_session_pulse_late_ms(const tarn_session *session, uint64_t now_ns)
{
    const uint64_t since_ns = session->taken_ns > session->due_since_ns ? session->taken_ns : session->due_since_ns;
    return session->due_since_ns == 0 || since_ns > now_ns ? 0 : (now_ns - since_ns) / 1000000;
}

// ---- what it is played back from ----
// Begin at tarn_session_replay_wanted, then tarn_session_replay_tick.

void tarn_session_replay_wanted(tarn_session *session, const tarn_ipc_replay_wanted *at)
{
    session->past.replay.at = *at;
    session->past.replay.is_wanted = true;
    session->past.replay.is_asked = false;
}

/// @param piece  its descriptor stays the caller's  @return whether the worker has it
static bool hand_over(const tarn_session *session, const tarn_replay_piece *piece)
{
    const tarn_worker_queue_key key = {.kind = TARN_IPC_REPLAY, .index = session->id & TARN_SESSION_PLACE_MASK};
    tarn_ipc_message message = {.kind = TARN_IPC_REPLAY, .tank = session->id};
    message.replay = (tarn_ipc_replay){
        .at = piece->at, .byte_count = piece->byte_count, .is_last = piece->is_last, .box = piece->fd};
    return (piece->fd <= 0 || tarn_session_box_can_go(piece->fd)) &&
           tarn_worker_process_send(session->worker, &message, key, false) == TARN_OK;
}

/// Without any further piece the worker goes on live.
static void give(tarn_session *session, tarn_replay_piece *piece)
{
    tarn_session_replay *replay = &session->past.replay;
    if (piece->status != TARN_OK) {
        tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.session = session->label, .tank = session->id}, "%s",
                    piece->why);
        tarn_viewer_tell_owners(session, TARN_ERROR_INPUT,
                                piece->status == TARN_E_NOT_FOUND
                                    ? "what was done to the tank then isn't kept any more; it goes on live"
                                    : "what was done to the tank then can't be read just now; it goes on live");
        piece->byte_count = 0;
        piece->is_last = true;
    }
    replay->is_wanted = !hand_over(session, piece);
    replay->is_asked = false;
    tarn_session_box_close(&piece->fd);
}

void tarn_session_replay_tick(tarn_session *session)
{
    tarn_session_replay *replay = &session->past.replay;
    const uint32_t place = tarn_session_place_of(session);
    tarn_replay_piece piece = {.at = replay->at, .is_last = true};
    if (!replay->is_wanted || session->worker == NULL || !tarn_worker_process_is_ready(session->worker)) {
        return;
    }
    if (session->all->store == NULL || replay->stretch.state == 0) { // it isn't of a tank that was gone back with
        give(session, &piece);
    } else if (!replay->is_asked) {
        replay->is_asked =
            tarn_store_replay_want(session->all->store, place, session->id, &replay->stretch, &replay->at);
    } else if (tarn_store_replay_take(session->all->store, place, &piece)) {
        give(session, &piece);
    }
}
