// When a session's viewers need a key frame, which all of them get.
#include "server/common/clock.h"
#include "server/gateway/session.h"
#include "server/gateway/session_place.h"
#include "server/gateway/viewer.h"

/// Whether a viewer that gets only some of the stream is due a key frame: what it goes on with, or what draws its
/// layers anew and lets it have more.
static bool is_due_key(const tarn_session *session, const tarn_viewer *viewer, uint64_t age_ns)
{
    const tarn_viewer_rate *rate = &viewer->rate;
    const uint64_t due_ms = viewer->is_preview ? TARN_GATEWAY_KEY_GLIMPSE_MS : TARN_GATEWAY_KEY_PART_MS;
    return viewer->reference > 0 && (rate->keys_only || rate->layers < rate->layer_count) &&
           viewer->flight.count < tarn_viewer_rate_in_flight_max(rate) && age_ns >= due_ms * 1000000 &&
           session->fanout.serial - viewer->key_serial >= TARN_GATEWAY_KEY_PART_FRAMES;
}

/// Whether a key frame is to be asked for on behalf of a viewer: at once for whoever has just come; for whoever fell
/// behind, looks again or can't decode what it gets once it takes frames, and not so often that the others notice.
static bool needs_key(const tarn_session *session, const tarn_viewer *viewer, uint64_t now_ns)
{
    if (viewer->phase != TARN_VIEWER_JOINED || viewer->view.hidden) {
        return false;
    }
    const uint64_t age_ns = now_ns - session->key_ns;
    if (is_due_key(session, viewer, age_ns)) {
        return true;
    }
    if (viewer->wants_key) {
        return age_ns >= TARN_GATEWAY_KEY_AGE_MS_MIN * (uint64_t)1000000;
    }
    if ((viewer->rate.keys_only && viewer->reference > 0) ||
        !tarn_fanout_is_lost(&session->fanout, viewer->reference, viewer->frame_serial)) {
        return false;
    }
    return viewer->frame_serial == 0 ||
           (viewer->flight.count == 0 && age_ns >= TARN_GATEWAY_KEY_AGE_MS_MIN * (uint64_t)1000000);
}

void tarn_session_ask_for_key(tarn_session *session)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns(), again_ns = TARN_GATEWAY_KEY_ASK_MS * (uint64_t)1000000;
    bool is_needed = false;
    if (session->key_asked_ns && now_ns - session->key_asked_ns < again_ns) {
        return;
    }
    for (uint32_t i = 0; i < session->viewer_count && !is_needed; i++) {
        is_needed = needs_key(session, session->viewers[i], now_ns);
    }
    if (!is_needed) {
        return;
    }
    const tarn_ipc_message message = {.kind = TARN_IPC_KEY_WANTED, .tank = session->id};
    const tarn_worker_queue_key key = {.kind = TARN_IPC_KEY_WANTED, .index = session->id & TARN_SESSION_PLACE_MASK};
    if (tarn_session_post(session, &message, key, true) != TARN_OK) {
        return; // the next tick asks again
    }
    session->key_asked_ns = now_ns;
    session->all->metrics->keys_asked_total++;
}
