// When it is time is noted where a worker's refusal is read (session_return.c).
#include "server/gateway/session_retry.h"

static void retry(tarn_session *session, uint64_t now_ns)
{
    if (session->state.worker_ready) {
        session->try_ns = session->tries = 0;
    } else if (session->try_ns != 0 && now_ns >= session->try_ns && !session->pending && session->worker != NULL &&
               tarn_worker_process_is_ready(session->worker)) {
        session->try_ns = 0;
        tarn_session_make_tank(session);
    }
}

void tarn_session_retry_tick(tarn_sessions *all, uint64_t now_ns)
{
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        if (all->sessions[i].id != 0) {
            retry(&all->sessions[i], now_ns);
        }
    }
}
