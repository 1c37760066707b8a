// What a session tells its worker.
#include "server/gateway/session.h"
#include "server/gateway/session_return.h"

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
