// What a viewer is due is marked here; libwebsockets calls back when the socket takes it, and viewer_send.c writes it.
#include "server/gateway/viewer.h"
#include "protocol/assert.h"
#include "server/common/clock.h"
#include "server/common/log.h"
#include "server/common/printable.h"
#include "server/gateway/session.h"

#include <libwebsockets.h>

#include <stdio.h>
#include <string.h>

enum {
    CLOSE_ERROR_BASE = 4000,
    PING_SENT_S = TARN_GATEWAY_VALID_PING_S + 1, ///< after a sign of life, when the ping has been sent for certain
};

void tarn_viewer_open(tarn_viewer_list *all, tarn_viewer *viewer, struct lws *wsi)
{
    memset(viewer, 0, sizeof *viewer);
    viewer->all = all;
    viewer->wsi = wsi;
    if (++all->id_last == 0) {
        all->id_last = 1;
    }
    viewer->id = all->id_last;
    viewer->since_ns = viewer->spoke_ns = viewer->valid_ns = viewer->tokens_ns = tarn_clock_monotonic_ns();
    tarn_viewer_rate_init(&viewer->rate);
    viewer->tokens = TARN_GATEWAY_MESSAGES_BURST_MAX;
    TARN_ASSERT(all->first != viewer);
    viewer->next = all->first;
    all->first = viewer;
    if (all->is_ending) {
        tarn_viewer_fail(viewer, TARN_ERROR_SHUTDOWN, "the server is ending");
    }
}

void tarn_viewer_presence_ready(tarn_viewer *viewer)
{
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return;
    }
    viewer->presence_due = true;
    lws_callback_on_writable(viewer->wsi);
}

void tarn_viewer_readings_ready(tarn_viewer *viewer)
{
    if (viewer->phase == TARN_VIEWER_JOINED) {
        viewer->readings_due = true;
        lws_callback_on_writable(viewer->wsi);
    }
}

void tarn_viewer_tell(tarn_viewer *viewer, uint32_t what)
{
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return; // nothing may follow a close
    }
    viewer->to_tell |= what;
    lws_callback_on_writable(viewer->wsi);
}

static void log_closed(tarn_viewer *viewer, int close_code, const char *reason)
{
    if (tarn_log_meter_allow(&viewer->all->closed_log)) {
        tarn_log_of(TARN_LOG_INFO, (tarn_log_subject){.viewer = viewer->id}, "viewer %u: closed with %d: %s",
                    viewer->id, close_code, reason);
    }
}

static void close_with(tarn_viewer *viewer, uint16_t close_code, const char *reason)
{
    viewer->phase = TARN_VIEWER_CLOSING;
    TARN_ASSERT(close_code >= 1000 && close_code < 5000); // that a peer may be told
    viewer->close_code = close_code;
    viewer->close_reason = reason;
    viewer->closing_since_ns = tarn_clock_monotonic_ns();
    viewer->to_tell = 0;
    viewer->presence_due = viewer->readings_due = false;
    lws_callback_on_writable(viewer->wsi);
}

void tarn_viewer_close(tarn_viewer *viewer, uint16_t close_code, const char *reason)
{
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return;
    }
    log_closed(viewer, close_code, reason);
    viewer->error_count = viewer->errors_left_out = 0;
    close_with(viewer, close_code, reason);
}

static void queue_error(tarn_viewer *viewer, tarn_error_code code, const char *sentence)
{
    TARN_ASSERT(viewer->error_count < TARN_GATEWAY_ERRORS_QUEUED_MAX);
    uint32_t place = (viewer->error_first + viewer->error_count) % TARN_GATEWAY_ERRORS_QUEUED_MAX;
    viewer->errors[place].code = code;
    snprintf(viewer->errors[place].text, sizeof viewer->errors[place].text, "%s", sentence);
    tarn_make_printable(viewer->errors[place].text); // it may be a worker's, or be cut amid a character
    viewer->error_count++;
    lws_callback_on_writable(viewer->wsi);
}

void tarn_viewer_error(tarn_viewer *viewer, tarn_error_code code, const char *sentence)
{
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return;
    }
    if (viewer->error_count < TARN_GATEWAY_ERRORS_QUEUED_MAX && viewer->errors_left_out == 0) {
        queue_error(viewer, code, sentence);
    } else {
        viewer->errors_left_out++;
        viewer->left_out_code = code;
    }
}

void tarn_viewer_error_taken(tarn_viewer *viewer)
{
    tarn_text sentence;
    TARN_ASSERT(viewer->error_count > 0);
    viewer->error_first = (viewer->error_first + 1) % TARN_GATEWAY_ERRORS_QUEUED_MAX;
    viewer->error_count--;
    if (viewer->errors_left_out == 0) {
        return;
    }
    snprintf(sentence, sizeof sentence, "%u more errors came faster than they could be told", viewer->errors_left_out);
    viewer->errors_left_out = 0;
    queue_error(viewer, viewer->left_out_code, sentence);
}

void tarn_viewer_fail(tarn_viewer *viewer, tarn_error_code code, const char *sentence)
{
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return;
    }
    log_closed(viewer, CLOSE_ERROR_BASE + (int)code, sentence);
    viewer->error_count = viewer->errors_left_out = 0; // only the last word counts
    close_with(viewer, (uint16_t)(CLOSE_ERROR_BASE + code), NULL);
    queue_error(viewer, code, sentence);
}

void tarn_viewer_bound(tarn_viewer *viewer, const tarn_stream_traffic *traffic, uint64_t now_ns)
{
    const tarn_stream_share share = tarn_stream_traffic_share(traffic, &viewer->view, now_ns);
    tarn_viewer_rate_bound(&viewer->rate, &share);
}

/// Whether it had this very frame a moment ago: it can't need it again and again.
static bool had_key(const tarn_viewer *viewer, const tarn_fanout_frame *frame)
{
    return frame->serial == viewer->key_serial &&
           tarn_clock_monotonic_ns() - viewer->key_sent_ns < TARN_GATEWAY_KEY_AGE_MS_MIN * (uint64_t)1000000;
}

const tarn_fanout_frame *tarn_viewer_next_frame(const tarn_viewer *viewer)
{
    if (viewer->phase != TARN_VIEWER_JOINED || viewer->peer_closes || viewer->view.hidden ||
        viewer->flight.count >= tarn_viewer_rate_in_flight_max(&viewer->rate)) {
        return NULL;
    }
    TARN_ASSERT(viewer->fanout != NULL); // while joined
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const tarn_fanout_frame *frame = tarn_fanout_next(viewer->fanout, viewer->reference, viewer->frame_serial,
                                                      !tarn_viewer_rate_takes_extra(&viewer->rate, now_ns));
    if (frame == NULL && viewer->frame_serial == 0) {
        frame = tarn_fanout_still(viewer->fanout);
    }
    if (frame != NULL && (frame->kind == TARN_STREAM_KEY ? had_key(viewer, frame) : viewer->rate.keys_only)) {
        return NULL;
    }
    if (frame != NULL && frame->kind == TARN_STREAM_EXTRA && viewer->flight.count >= TARN_FRAMES_UNACKNOWLEDGED_MAX) {
        return NULL;
    }
    return frame;
}

bool tarn_viewer_frame_is_due(const tarn_viewer *viewer)
{
    return tarn_viewer_next_frame(viewer) != NULL;
}

void tarn_viewer_frame_ready(tarn_viewer *viewer)
{
    if (tarn_viewer_frame_is_due(viewer)) {
        lws_callback_on_writable(viewer->wsi);
    }
}

void tarn_viewer_check_chain(tarn_viewer *viewer, uint64_t now_ns)
{
    TARN_ASSERT(viewer->fanout != NULL);
    // Who gets key frames alone is off the chain all the time, and no slower for that once it wants more.
    const bool is_lost =
        viewer->rate.keys_only ||
        (viewer->reference > 0 && tarn_fanout_is_lost(viewer->fanout, viewer->reference, viewer->frame_serial));
    if (is_lost && !viewer->is_lost && !viewer->rate.keys_only) {
        tarn_viewer_rate_lost(&viewer->rate, now_ns);
    }
    viewer->is_lost = is_lost;
}

/// The answer to a ping that was sent before may lie in the socket. One that wasn't sent yet is not to come later:
/// where the gateway stands for a moment every few seconds there would be none, and proxies end what is silent.
static void give_time_for_pong(tarn_viewer *viewer, const tarn_standstill *stood)
{
    const uint64_t sent_ns = viewer->valid_ns + PING_SENT_S * (uint64_t)1000000000;
    if (stood->now_ns > sent_ns + stood->ns || stood->ns > TARN_GATEWAY_VALID_PING_S * (uint64_t)1000000000) {
        tarn_viewer_is_valid(viewer, stood->now_ns);
        lws_validity_confirmed(viewer->wsi);
    }
}

void tarn_viewer_is_valid(tarn_viewer *viewer, uint64_t now_ns)
{
    viewer->valid_ns = now_ns;
}

void tarn_viewer_stood(tarn_viewer_list *all, const tarn_standstill *stood)
{
    for (tarn_viewer *viewer = all->first; viewer != NULL; viewer = viewer->next) {
        tarn_standstill_move(stood, &viewer->since_ns);
        tarn_standstill_move(stood, &viewer->closing_since_ns);
        give_time_for_pong(viewer, stood);
    }
}

void tarn_viewer_tick(tarn_viewer_list *all, uint64_t now_ns)
{
    const uint64_t handshake_ns = TARN_GATEWAY_HANDSHAKE_MS_MAX * (uint64_t)1000000;
    tarn_text why;
    const uint64_t close_ns = TARN_GATEWAY_CLOSE_MS_MAX * (uint64_t)1000000;
    const uint32_t left_out = tarn_log_meter_left_out(&all->closed_log, now_ns);
    if (left_out > 0) {
        tarn_log_info("%u more viewers were closed; they are not listed one by one", left_out);
    }
    for (tarn_viewer *viewer = all->first; viewer != NULL; viewer = viewer->next) {
        if (viewer->phase == TARN_VIEWER_CLOSING) {
            if (now_ns > viewer->closing_since_ns && now_ns - viewer->closing_since_ns > close_ns) {
                lws_set_timeout(viewer->wsi, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC);
                lws_cancel_service(lws_get_context(viewer->wsi)); // or it looks at its timeouts when a socket moves
            }
        } else if (viewer->phase == TARN_VIEWER_JOINED) {
            if (tarn_passes_is_over(all->sessions->passes, &viewer->grant, why)) {
                tarn_viewer_fail(viewer, TARN_ERROR_KEY, why);
            }
        } else if (now_ns - viewer->since_ns > handshake_ns) {
            tarn_viewer_fail(viewer, TARN_ERROR_ORDER, "hello and join did not come in time");
        }
    }
}
