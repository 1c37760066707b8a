// What a viewer is sent, in this order: welcome and joined first, since everything else refers to them; then what
// changed, errors, pongs, then frames, and where the others are last. Frames still flow: what goes before them is
// bounded and rare. Begin at tarn_viewer_writable.
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/rights/visits.h"
#include "server/gateway/session/session.h"
#include "server/gateway/viewer/viewer.h"

#include <libwebsockets.h>
#include <stdio.h>
#include <string.h>

enum {
    CLOSE_REASON_BYTES_MAX = 123,
    WRITE_CLOSE = 4, ///< lws_write's kind for a close frame, which lws-write.h leaves out of its list
};

// One thread writes one message at a time.
static uint8_t scratch[LWS_PRE + TARN_MESSAGE_SERVER_BYTES_MAX];
static tarn_message outgoing;
static tarn_viewer_info viewer_infos[TARN_VIEWERS_MAX];

/// @return 0, or -1 when the connection is broken
static int write_bytes(tarn_viewer *viewer, uint8_t *bytes, size_t byte_count)
{
    int written = lws_write(viewer->wsi, bytes, byte_count, LWS_WRITE_BINARY);
    if (written < (int)byte_count) {
        return -1;
    }
    viewer->all->metrics->bytes_sent_total += byte_count;
    if (viewer->session != NULL) {
        viewer->session->counts.bytes_sent += byte_count;
    }
    return 0;
}

static void fill_viewers(const tarn_session *session, tarn_viewers *viewers)
{
    TARN_ASSERT(session->viewer_count <= TARN_VIEWERS_MAX);
    viewers->viewer_count = 0;
    viewers->viewers = viewer_infos;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        const tarn_viewer *viewer = session->viewers[i];
        if (viewer->is_preview) {
            continue;
        }
        tarn_viewer_info *info = &viewer_infos[viewers->viewer_count++];
        info->viewer_id = viewer->id;
        memcpy(info->name, viewer->name, sizeof info->name);
        info->colour = viewer->colour;
        info->role = viewer->role;
        info->muted = viewer->is_muted;
        info->given = viewer->is_given;
    }
}

static void fill_stages(const tarn_session *session, float stages_ms[TARN_PONG_STAGES])
{
    _Static_assert((int)TARN_PONG_STAGES == (int)TARN_STAGE_COUNT, "a number per stage");
    for (int i = 0; i < TARN_PONG_STAGES; i++) {
        stages_ms[i] = (float)(1e3 * session->stages.recent_s[i]);
    }
}

/// Keys go to those who may pass on what they give: owners all, players what isn't more than theirs. Who came by a
/// token gets none, since they would outlive it.
static void fill_joined(const tarn_viewer *viewer, tarn_joined *joined)
{
    const tarn_session *session = viewer->session;
    const tarn_key *keys = session->keys.keys;
    memcpy(joined->session, session->name, sizeof joined->session);
    memcpy(joined->title, session->title, sizeof joined->title);
    joined->viewer_id = viewer->id;
    memcpy(joined->viewer, viewer->name, sizeof joined->viewer);
    joined->role = viewer->role;
    const bool passes_on = viewer->grant.token[0] == 0;
    if (passes_on && viewer->role >= TARN_ROLE_PLAY) {
        memcpy(joined->watch_key, keys[TARN_ROLE_WATCH], sizeof joined->watch_key);
        memcpy(joined->play_key, keys[TARN_ROLE_PLAY], sizeof joined->play_key);
    }
    if (passes_on && viewer->role >= TARN_ROLE_OWN) {
        memcpy(joined->own_key, keys[TARN_ROLE_OWN], sizeof joined->own_key);
    }
    if (session->all->store != NULL && !viewer->is_preview) {
        memcpy(joined->visit_key, viewer->visit_key, sizeof joined->visit_key);
    }
    joined->past = session->all->store != NULL && tarn_role_may(viewer->role, TARN_ACT_HTTP_REWIND);
    joined->state = session->state;
}

static uint32_t next_to_tell(const tarn_viewer *viewer)
{
    return viewer->to_tell & (~viewer->to_tell + 1); // the lowest bit
}

/// Makes the message that is due first. @return whether there is one
static bool next_message(tarn_viewer *viewer)
{
    uint32_t what = next_to_tell(viewer);
    memset(&outgoing, 0, sizeof outgoing);
    if (what == 0 || (what > TARN_VIEWER_TELL_VIEWERS && viewer->error_count > 0)) {
        if (viewer->error_count == 0) {
            return false;
        }
        outgoing.kind = TARN_MESSAGE_ERROR;
        TARN_ASSERT(viewer->error_first < TARN_GATEWAY_ERRORS_QUEUED_MAX);
        TARN_ASSERT(viewer->error_count <= TARN_GATEWAY_ERRORS_QUEUED_MAX);
        outgoing.error = viewer->errors[viewer->error_first];
        tarn_viewer_error_taken(viewer);
        return true;
    }
    TARN_ASSERT(viewer->session != NULL || (what & (TARN_VIEWER_TELL_WELCOME | TARN_VIEWER_TELL_PONG)) != 0);
    viewer->to_tell &= ~what;
    switch ((tarn_viewer_tell_what)what) {
    case TARN_VIEWER_TELL_WELCOME:
        outgoing.kind = TARN_MESSAGE_WELCOME;
        tarn_welcome_fill(&viewer->all->workers->told, &outgoing.welcome);
        break;
    case TARN_VIEWER_TELL_JOINED:
        outgoing.kind = TARN_MESSAGE_JOINED;
        tarn_visit_draw(viewer);
        fill_joined(viewer, &outgoing.joined);
        viewer->to_tell &= ~(uint32_t)TARN_VIEWER_TELL_STATE;
        break;
    case TARN_VIEWER_TELL_STATE:
        outgoing.kind = TARN_MESSAGE_STATE;
        outgoing.state = viewer->session->state;
        break;
    case TARN_VIEWER_TELL_VIEWERS:
        outgoing.kind = TARN_MESSAGE_VIEWERS;
        fill_viewers(viewer->session, &outgoing.viewers);
        break;
    case TARN_VIEWER_TELL_PROBES:
        outgoing.kind = TARN_MESSAGE_PROBES;
        outgoing.probes = viewer->session->probes.shown->told;
        break;
    case TARN_VIEWER_TELL_PONG:
        outgoing.kind = TARN_MESSAGE_PONG;
        outgoing.pong.id = viewer->ping.id;
        outgoing.pong.client_time_ms = viewer->ping.client_time_ms;
        outgoing.pong.server_time_us = tarn_clock_unix_us();
        if (viewer->session != NULL) {
            fill_stages(viewer->session, outgoing.pong.stages_ms);
            outgoing.pong.unconverged = viewer->session->report.unconverged;
        }
        break;
    }
    return true;
}

static int send_message(tarn_viewer *viewer)
{
    size_t bytes;
    tarn_status status = tarn_message_write(&outgoing, scratch + LWS_PRE, TARN_MESSAGE_SERVER_BYTES_MAX, &bytes);
    if (status != TARN_OK) {
        tarn_log_of(TARN_LOG_ERROR, (tarn_log_subject){.viewer = viewer->id},
                    "viewer %u: a message of kind %d cannot be written: %s", viewer->id, (int)outgoing.kind,
                    tarn_status_text(status));
        return 0;
    }
    return write_bytes(viewer, scratch + LWS_PRE, bytes);
}

/// Behind a frame, if one is due: those mustn't wait for it.
static int send_presence(tarn_viewer *viewer)
{
    tarn_presence_board *board = &viewer->session->board;
    viewer->presence_due = false;
    TARN_ASSERT(board->byte_count > 0 && board->byte_count <= TARN_MESSAGE_SERVER_BYTES_MAX);
    return write_bytes(viewer, board->bytes + LWS_PRE, board->byte_count);
}

/// The same of what was measured, which the list that it is of goes before.
static int send_readings(tarn_viewer *viewer)
{
    tarn_probes_shown *probes = viewer->session->probes.shown;
    viewer->readings_due = false;
    TARN_ASSERT(probes != NULL && probes->byte_count > 0 && probes->byte_count <= TARN_MESSAGE_SERVER_BYTES_MAX);
    return write_bytes(viewer, probes->bytes + LWS_PRE, probes->byte_count);
}

/// Bytes of a frame that this viewer gets: up to the end of a layer, and a field's details if it asks for a field.
static uint32_t cut(tarn_viewer *viewer, const tarn_fanout_frame *frame)
{
    uint32_t *const viewers_by_layers = viewer->all->metrics->viewers_by_layers;
    const uint32_t before = viewer->rate.layers;
    if (frame->kind == TARN_STREAM_KEY) {
        tarn_viewer_bound(viewer, &viewer->session->traffic, tarn_clock_monotonic_ns());
    }
    const uint32_t layers = tarn_viewer_rate_layers(&viewer->rate, frame->kind, frame->layer_count);
    TARN_ASSERT(layers >= 1 && layers <= frame->layer_count);
    TARN_ASSERT(before == 0 || viewers_by_layers[before - 1] > 0);
    if (before) {
        viewers_by_layers[before - 1]--;
    }
    viewers_by_layers[layers - 1]++;
    const bool is_plain = layers == frame->layer_count && viewer->view.field[0] == 0;
    return is_plain ? frame->plain_bytes : frame->cut_bytes[layers - 1];
}

static int send_frame(tarn_viewer *viewer, const tarn_fanout_frame *frame)
{
    const uint32_t bytes = cut(viewer, frame);
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (viewer->frame_serial && frame->serial > viewer->frame_serial + 1 && !viewer->was_hidden) {
        viewer->all->metrics->frames_skipped_total += frame->serial - viewer->frame_serial - 1;
        viewer->session->counts.frames_skipped += frame->serial - viewer->frame_serial - 1;
    }
    TARN_ASSERT(frame->kind == TARN_STREAM_KEY || frame->refers == viewer->reference); // or it decodes to nonsense
    viewer->frame_serial = frame->serial;
    viewer->was_hidden = frame == tarn_fanout_still(viewer->fanout); // what came since isn't skipped for its sake
    if (frame->kind != TARN_STREAM_EXTRA) {
        viewer->reference = frame->serial;
    }
    if (frame->kind == TARN_STREAM_KEY) {
        viewer->key_serial = frame->serial;
        viewer->key_sent_ns = now_ns;
        viewer->wants_key = false;
    }
    tarn_viewer_rate_sent(&viewer->rate, now_ns);
    tarn_viewer_flight_put(&viewer->flight, frame->epoch, frame->number, frame->step, now_ns);
    viewer->all->metrics->frames_sent_total++;
    viewer->session->counts.frames_sent++;
    viewer->all->metrics->frames_by_kind_total[frame->kind]++;
    viewer->all->metrics->frame_bytes_by_kind_total[frame->kind] += bytes;
    if (write_bytes(viewer, tarn_fanout_bytes(&viewer->session->fanout, frame), bytes) != 0) {
        return -1;
    }
    // Of what waited in the session for this viewer's sake it says nothing.
    if (frame->serial == viewer->session->fanout.serial) {
        tarn_session_stage(viewer->session, TARN_STAGE_WRITE,
                           (double)(tarn_clock_monotonic_ns() - viewer->session->taken_ns) * 1e-9);
    }
    return 0;
}

/// Sends the close frame ourselves: where libwebsockets was built for debugging it forgets the one that it was asked
/// for when the connection is closed from a callback. The connection ends when the peer answers, or by the deadline.
static int close_now(tarn_viewer *viewer)
{
    const tarn_error *last =
        &viewer->errors[(viewer->error_first + TARN_GATEWAY_ERRORS_QUEUED_MAX - 1) % TARN_GATEWAY_ERRORS_QUEUED_MAX];
    const char *reason = viewer->close_reason != NULL ? viewer->close_reason : last->text;
    size_t bytes = strnlen(reason, CLOSE_REASON_BYTES_MAX);
    // A reason must be whole UTF-8: not cut inside a character.
    while (bytes > 0 && ((unsigned char)reason[bytes] & 0xc0) == 0x80) {
        bytes--;
    }
    TARN_ASSERT(bytes <= CLOSE_REASON_BYTES_MAX);
    uint8_t *frame = scratch + LWS_PRE;
    frame[0] = (uint8_t)(viewer->close_code >> 8);
    frame[1] = (uint8_t)viewer->close_code;
    memcpy(frame + 2, reason, bytes);
    viewer->close_sent = true;
    viewer->all->metrics->bytes_sent_total += 2 + bytes;
    return lws_write(viewer->wsi, frame, 2 + bytes, (enum lws_write_protocol)WRITE_CLOSE) < 0 ? -1 : 0;
}

int tarn_viewer_writable(tarn_viewer *viewer)
{
    int result = 0;
    const tarn_fanout_frame *frame;
    if (next_message(viewer)) {
        result = send_message(viewer);
    } else if (viewer->phase == TARN_VIEWER_CLOSING) {
        return viewer->close_sent ? 0 : close_now(viewer);
    } else if ((frame = tarn_viewer_next_frame(viewer)) != NULL) {
        result = send_frame(viewer, frame);
    } else if (viewer->presence_due) {
        result = send_presence(viewer);
    } else if (viewer->readings_due) {
        result = send_readings(viewer);
    }
    if (viewer->presence_due || viewer->readings_due || viewer->to_tell || viewer->error_count ||
        viewer->phase == TARN_VIEWER_CLOSING || tarn_viewer_frame_is_due(viewer)) {
        lws_callback_on_writable(viewer->wsi);
    }
    return result;
}
