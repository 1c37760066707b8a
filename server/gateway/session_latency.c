// When an input came is noted where it is received (viewer_receive.c), when it acted in the frame itself.
#include "server/gateway/session_latency.h"
#include "server/gateway/viewer.h"

void tarn_session_stage(tarn_session *session, tarn_stage stage, double seconds)
{
    tarn_stages_note(&session->stages, stage, seconds);
    tarn_stages_note(&session->all->metrics->stages, stage, seconds);
}

/// A frame contains a viewer's inputs up to a number.
static void note_input(tarn_session *session, tarn_viewer *viewer, uint32_t sequence)
{
    for (int i = 0; i < TARN_GATEWAY_INPUTS_TIMED_MAX; i++) {
        if (viewer->timed[i].sequence == 0 || viewer->timed[i].sequence > sequence) {
            continue;
        }
        const uint64_t arrived_ns = viewer->timed[i].arrived_ns;
        tarn_latency_note(&session->counts.latency, (double)(session->taken_ns - arrived_ns) * 1e-9);
        tarn_latency_note(&session->all->metrics->latency, (double)(session->taken_ns - arrived_ns) * 1e-9);
        tarn_session_stage(session, TARN_STAGE_WAIT, (double)(int64_t)(session->stamps.latched_ns - arrived_ns) * 1e-9);
        viewer->timed[i].sequence = 0;
    }
}

void tarn_session_note_latency(tarn_session *session, const tarn_fanout_inputs *inputs)
{
    const uint64_t now_ns = session->taken_ns;
    tarn_stages_frame(&session->stages, &session->stamps, now_ns);
    tarn_stages_frame(&session->all->metrics->stages, &session->stamps, now_ns);
    for (uint32_t i = 0; i < inputs->count; i++) {
        const tarn_frame_input input = inputs->inputs[i];
        for (uint32_t v = 0; v < session->viewer_count; v++) {
            if (session->viewers[v]->id == input.viewer_id) {
                note_input(session, session->viewers[v], input.sequence);
            }
        }
    }
}
