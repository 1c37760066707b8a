// Messages on their way to a worker, or kept for the one that comes, and what the store is given. Begin at
// tarn_session_post.
#include "server/gateway/session/post.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/gateway/session/box.h"
#include "server/gateway/session/session.h"
#include "server/gateway/store/store.h"
#include "server/gateway/viewer/viewer.h"

#include <string.h>

tarn_status tarn_session_post(const tarn_session *session, const tarn_ipc_message *message, tarn_worker_queue_key key,
                              bool is_move)
{
    const bool is_theirs = tarn_worker_sent_keeps(message->kind);
    if (session->held != NULL && is_theirs) {
        return tarn_worker_queue_push(session->held, message, key, is_move);
    }
    if (is_theirs && tarn_session_waits(session)) {
        (void)tarn_worker_queue_push(&session->worker->waiting, message, key, is_move); // what is too much is left out
        return TARN_OK;
    }
    return session->worker != NULL ? tarn_worker_process_send(session->worker, message, key, is_move) : TARN_E_STATE;
}

// ---- to a worker that brings a tank back ----
// In this order: who is there still, what the worker that died was sent, what came since.

bool tarn_session_comes_back(const tarn_session *session)
{
    const tarn_worker_process *worker = session->worker;
    if (session->resumes || !session->was_made || session->is_afresh_asked || worker == NULL) {
        return session->resumes;
    }
    const bool has_gone = worker->phase == TARN_WORKER_READY && worker->fd < 0; // how it ended isn't known yet
    return has_gone || worker->phase == TARN_WORKER_WAITING || worker->phase == TARN_WORKER_GREETING;
}

bool tarn_session_waits(const tarn_session *session)
{
    return tarn_session_comes_back(session) ||
           (session->worker != NULL && tarn_worker_queue_holds(&session->worker->waiting, session->id));
}

/// Who is there still, and who left while there was no worker, which it is told behind what they did: of them alone it
/// knows what it has. What others did and wasn't taken is left out, or it might be done twice.
static void fill_present(const tarn_session *session, tarn_ipc_present *present)
{
    present->viewer_count = session->viewer_count;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        present->viewer_ids[i] = session->viewers[i]->id;
    }
    for (uint32_t i = 0; i < session->gone_count && present->viewer_count < TARN_VIEWERS_MAX; i++) {
        present->viewer_ids[present->viewer_count++] = session->gone[i];
    }
}

void tarn_session_is_back(tarn_session *session, bool is_as_it_was)
{
    tarn_ipc_message message = {.kind = TARN_IPC_PRESENT, .tank = session->id};
    const tarn_worker_queue_key key = {.kind = TARN_IPC_PRESENT};
    session->counts.resumes += is_as_it_was;
    session->counts.restarts += !is_as_it_was;
    fill_present(session, &message.present);
    (void)tarn_worker_process_send(session->worker, &message, key, false); // where it finds no place the worker hangs
    if (!is_as_it_was) {
        tarn_worker_sent_forget(&session->worker->sent, session->id);
    }
    session->again_at = 0;
    session->again_until = session->worker->sent.end;
}

void tarn_session_is_refused(tarn_session *session)
{
    if (!session->was_made) {
        return; // nobody misses it
    }
    const uint32_t doublings =
        session->tries < TARN_GATEWAY_TRY_DOUBLINGS ? session->tries : TARN_GATEWAY_TRY_DOUBLINGS;
    session->tries++;
    session->try_ns = tarn_clock_monotonic_ns() + ((uint64_t)TARN_GATEWAY_TRY_MS * 1000000 << doublings);
    session->state.worker_ready = 0;
    tarn_viewer_tell_all(session, TARN_VIEWER_TELL_STATE);
}

void tarn_session_send_waiting(tarn_sessions *all, tarn_worker_process *worker)
{
    bool are_back = tarn_worker_process_is_ready(worker);
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        tarn_session *session = &all->sessions[i];
        if (session->id == 0 || session->worker != worker) {
            continue;
        }
        if (session->resumes && !session->pending && tarn_worker_process_is_ready(worker)) {
            tarn_ipc_present present;
            fill_present(session, &present);
            session->resumes = !tarn_worker_process_send_again(worker, session->id, &present, &session->again_at,
                                                               session->again_until);
        }
        if (worker->waiting.count > 0 && !tarn_session_comes_back(session)) {
            (void)tarn_worker_process_send_all(worker, &worker->waiting, session->id);
        }
        are_back = are_back && !session->resumes;
    }
    if (are_back && worker->waiting.count > 0) { // of tanks that are no more
        (void)tarn_worker_process_send_all(worker, &worker->waiting, 0);
    }
}

// ---- to the store ----
// What outlives a session's tank.

static void put_probes(const tarn_session *session, tarn_session_about *about)
{
    const tarn_session_probes *probes = &session->probes;
    memcpy(about->probes_scene, probes->scene, sizeof about->probes_scene);
    about->probe_count = probes->wanted.count;
    for (uint32_t i = 0; i < about->probe_count; i++) {
        const tarn_probe_wanted *from = &probes->wanted.of[i];
        tarn_session_probe *probe = &about->probes[i];
        probe->shows = (uint32_t)from->shows;
        probe->is_scenes = from->is_scenes;
        probe->solid = from->solid;
        memcpy(probe->at_m, from->at_m, sizeof probe->at_m);
        memcpy(probe->to_m, from->to_m, sizeof probe->to_m);
        memcpy(probe->label, from->label, sizeof probe->label);
    }
}

static tarn_session_about about_of(const tarn_session *session)
{
    tarn_session_about about = {.guests = (uint32_t)session->guests,
                                .is_kept = session->is_kept,
                                .is_listed = session->is_listed,
                                .locked = session->state.lock.locked,
                                .open_parameters = session->state.lock.open_parameters != 0,
                                .speed = session->past.speed};
    memcpy(about.name, session->name, sizeof about.name);
    memcpy(about.title, session->title, sizeof about.title);
    memcpy(about.begun_as, session->begun_as, sizeof about.begun_as);
    memcpy(about.salt, session->salt, sizeof about.salt);
    put_probes(session, &about);
    return about;
}

void tarn_session_keep_filled(tarn_session *session)
{
    const int box_fd = session->box_fd > 0 ? session->box_fd : TARN_SESSION_NO_BOX;
    if (session->all->store == NULL || session->kept_fd == box_fd) {
        return;
    }
    const tarn_session_about about = about_of(session);
    const uint32_t place = tarn_session_place_of(session);
    if (tarn_store_keep(session->all->store, place, session->id, &about, session->box_fd)) {
        session->kept_fd = box_fd;
    }
}

void tarn_session_keep(tarn_session *session)
{
    if (!session->past.is_filled) {
        tarn_session_keep_filled(session);
    }
}

void tarn_session_keep_anew(tarn_session *session)
{
    if (session->all->store != NULL && session->kept_fd != 0) {
        const tarn_session_about about = about_of(session);
        tarn_store_tell(session->all->store, tarn_session_place_of(session), session->id, &about);
    }
}

void tarn_session_keep_speed(tarn_session *session, float speed)
{
    TARN_ASSERT(speed >= TARN_SPEED_MIN && speed <= TARN_SPEED_MAX);
    session->past.speed = speed == 1.0f ? 0.0f : speed;
    session->past.speed_due_ns = 0;
    tarn_session_keep_anew(session);
}
