// In this order: who is there still, what the worker that died was sent, what came since.
#include "server/gateway/session_return.h"
#include "server/common/clock.h"
#include "server/gateway/viewer.h"

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
    tarn_session_counts_return(&session->counts, is_as_it_was);
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
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        tarn_viewer_tell(session->viewers[i], TARN_VIEWER_TELL_STATE);
    }
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
