// One time for each session: since when frames have been due without a break.
#include "server/gateway/session_pulse.h"
#include "server/common/log.h"
#include "server/gateway/session.h"
#include "server/gateway/viewer.h"

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

void tarn_session_pulse_memory(tarn_session *session, bool is_there, uint32_t frame_bytes)
{
    if (is_there != session->lacks_memory) {
        return;
    }
    session->lacks_memory = !is_there;
    tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.session = session->label, .tank = session->id},
                is_there ? "there is memory for a frame of %u bytes of \"%s\" again"
                         : "there is no memory for a frame of %u bytes of \"%s\"; frames are left out",
                frame_bytes, session->label);
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
