// What a viewer says: pieces become messages, and messages are checked for their order, their sender's role and their
// rate before anything is done. Begin at tarn_viewer_receive.
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/listener.h"
#include "server/gateway/rights/moderation.h"
#include "server/gateway/session/presence.h"
#include "server/gateway/session/session.h"
#include "server/gateway/viewer/rate.h"
#include "server/gateway/viewer/room.h"
#include "server/gateway/viewer/viewer.h"
#include "server/net/addresses.h"

#include <libwebsockets.h>
#include <stdio.h>
#include <string.h>

enum { CLOSE_TEXT_MESSAGE = 1003 };

void tarn_viewer_closed(tarn_viewer *viewer)
{
    if (viewer->session != NULL) {
        tarn_session_leave(viewer->session, viewer);
    }
    TARN_ASSERT(viewer->session == NULL);
    for (tarn_viewer **link = &viewer->all->first; *link != NULL; link = &(*link)->next) {
        if (*link == viewer) {
            *link = viewer->next;
            return;
        }
    }
}

static bool speaks(const tarn_hello *hello, uint32_t version)
{
    for (uint32_t i = 0; i < hello->version_count; i++) {
        if (hello->versions[i] == version) {
            return true;
        }
    }
    return false;
}

static void on_hello(tarn_viewer *viewer, const tarn_hello *hello)
{
    tarn_text why;
    if (!speaks(hello, TARN_PROTOCOL_VERSION)) {
        snprintf(why, sizeof why, "hello.versions: this server speaks version %d; the newest that was offered is %u",
                 TARN_PROTOCOL_VERSION, hello->versions[0]);
        tarn_viewer_fail(viewer, TARN_ERROR_VERSION, why);
        return;
    }
    tarn_log_of(TARN_LOG_DEBUG, (tarn_log_subject){.viewer = viewer->id}, "viewer %u: hello from \"%s\"", viewer->id,
                hello->client);
    viewer->phase = TARN_VIEWER_GREETED;
    tarn_viewer_tell(viewer, TARN_VIEWER_TELL_WELCOME);
}

/// Whether one more may take part from where this one comes, or one that is away makes room.
static bool has_share(const tarn_viewer *viewer)
{
    const tarn_connection *own = lws_get_opaque_user_data(viewer->wsi);
    uint32_t count = 0;
    for (const tarn_viewer *other = viewer->all->first; other != NULL; other = other->next) {
        const tarn_connection *connection = lws_get_opaque_user_data(other->wsi);
        count += other->phase == TARN_VIEWER_JOINED && tarn_client_is_one(&connection->client, &own->client);
    }
    return count < viewer->all->per_address_max || tarn_address_is_loopback(&own->client) ||
           tarn_viewer_room_make(viewer, NULL, &own->client);
}

/// Whether where this one comes from hasn't come too often.
static bool comes_in_turn(const tarn_viewer *viewer)
{
    const tarn_connection *connection = lws_get_opaque_user_data(viewer->wsi);
    return tarn_address_is_loopback(&connection->client) ||
           tarn_client_turn_allow(&viewer->all->joins, &connection->client, TARN_GATEWAY_JOIN_ADDRESS_MS,
                                  TARN_GATEWAY_JOIN_ADDRESS_BURST);
}

static void on_join(tarn_viewer *viewer, const tarn_join *join)
{
    tarn_text why;
    tarn_session *session = tarn_session_find(viewer->all->sessions, join->session);
    if (session == NULL) {
        const char *because = tarn_session_ended_because(viewer->all->sessions, join->session);
        if (because != NULL) {
            snprintf(why, sizeof why, "join.session: \"%s\" has ended: %.300s", join->session, because);
        } else {
            snprintf(why, sizeof why, "join.session: there is no session \"%s\"", join->session);
        }
        tarn_viewer_fail(viewer, TARN_ERROR_SESSION, why);
        return;
    }
    viewer->role = session->guests;
    if (join->key[0]) {
        if (tarn_passes_admit(viewer->all->sessions->passes, session, join->key, &viewer->grant, why) != TARN_OK) {
            tarn_viewer_fail(viewer, TARN_ERROR_KEY, why);
            return;
        }
        viewer->role = viewer->grant.role;
    }
    viewer->is_preview = join->preview;
    if (viewer->is_preview) {
        viewer->role = TARN_ROLE_WATCH;
    }
    if (tarn_moderation_admit(session, viewer, join, why) != TARN_OK) {
        tarn_viewer_fail(viewer, TARN_ERROR_REMOVED, why);
        return;
    }
    if (!has_share(viewer)) {
        snprintf(why, sizeof why, "%u viewers have joined from this address, which is all it may have",
                 viewer->all->per_address_max);
        tarn_viewer_fail(viewer, TARN_ERROR_FULL, why);
        return;
    }
    tarn_viewer_profile_join(session, viewer, join);
    tarn_status status = comes_in_turn(viewer) ? tarn_session_join(session, viewer) : TARN_E_STATE;
    if (status == TARN_E_LIMIT && tarn_viewer_room_make(viewer, session, NULL)) {
        status = tarn_session_join(session, viewer);
    }
    if (status == TARN_E_STATE) {
        tarn_viewer_fail(viewer, TARN_ERROR_FULL, "too many join at once; try again in a moment");
        return;
    }
    if (status != TARN_OK) {
        snprintf(why, sizeof why, "this session is full; allowed are %u viewers", session->all->options->viewers_max);
        tarn_viewer_fail(viewer, TARN_ERROR_FULL, why);
        return;
    }
    TARN_ASSERT(viewer->phase == TARN_VIEWER_GREETED && viewer->session == session);
    viewer->phase = TARN_VIEWER_JOINED;
    tarn_connection *connection = lws_get_opaque_user_data(viewer->wsi);
    connection->is_joined = true;
    tarn_viewer_tell(viewer, TARN_VIEWER_TELL_JOINED);
    if (tarn_session_probes_told(session) > 0 && !viewer->is_preview) {
        tarn_viewer_tell(viewer, TARN_VIEWER_TELL_PROBES);
    }
    tarn_scene_faults_tell(viewer->all->workers, tarn_session_find(viewer->all->sessions, ""), viewer);
    tarn_viewer_frame_ready(viewer);
    tarn_session_ask_for_key(session);
}

/// @return whether a sequence number is larger than all before
static bool check_sequence(tarn_viewer *viewer, uint32_t sequence)
{
    if (sequence > viewer->sequence) {
        viewer->sequence = sequence;
        return true;
    }
    tarn_text why;
    snprintf(why, sizeof why, "seq: found %u after %u, allowed is a larger number than before", sequence,
             viewer->sequence);
    tarn_viewer_error(viewer, TARN_ERROR_INPUT, why);
    return false;
}

static void on_input(tarn_viewer *viewer, const tarn_message *message)
{
    uint8_t bytes[TARN_IPC_INPUT_BYTES_MAX];
    size_t byte_count;
    if (!check_sequence(viewer, message->input.sequence)) {
        return;
    }
    // Written anew, so that fields nobody knows do not travel further.
    if (tarn_message_write(message, bytes, sizeof bytes, &byte_count) != TARN_OK) {
        tarn_viewer_error(viewer, TARN_ERROR_INPUT, "input: it is too large");
        return;
    }
    viewer->timed[viewer->timed_next].sequence = message->input.sequence;
    TARN_ASSERT(viewer->timed_next < TARN_GATEWAY_INPUTS_TIMED_MAX);
    viewer->timed[viewer->timed_next].arrived_ns = tarn_clock_monotonic_ns();
    viewer->timed_next = (viewer->timed_next + 1) % TARN_GATEWAY_INPUTS_TIMED_MAX;
    tarn_session_input(viewer->session, viewer, &message->input, bytes, byte_count);
}

/// What the kernel sees of the way to a proxy says nothing about the way behind it.
static uint64_t queue_ns(const tarn_viewer *viewer)
{
    const tarn_connection *connection = lws_get_opaque_user_data(viewer->wsi);
    return connection->is_proxied ? TARN_VIEWER_PATH_UNKNOWN
                                  : tarn_viewer_path_queue_ns(lws_get_socket_fd(viewer->wsi));
}

static void note_landing(tarn_viewer *viewer, const tarn_viewer_landing *landing, uint64_t now_ns)
{
    const uint64_t sent_ns = landing->sent_ns;
    const uint64_t late_ns = tarn_viewer_rate_lateness(&viewer->rate, sent_ns, now_ns, landing->is_alone);
    const bool is_late = late_ns > TARN_VIEWER_RATE_CALM_MS_MAX * (uint64_t)1000000;
    tarn_viewer_rate_acknowledged(&viewer->rate, sent_ns, now_ns, late_ns,
                                  is_late ? queue_ns(viewer) : TARN_VIEWER_PATH_UNKNOWN);
}

static void on_ack(tarn_viewer *viewer, const tarn_ack *ack)
{
    tarn_viewer_landing landing;
    if (!tarn_viewer_flight_land(&viewer->flight, ack, &landing)) {
        return;
    }
    note_landing(viewer, &landing, tarn_clock_monotonic_ns());
    tarn_viewer_frame_ready(viewer);
    // Of a frame before a key frame that is on its way it is settled.
    if (ack->key && landing.sent_ns >= viewer->key_sent_ns) {
        viewer->wants_key = true;
        tarn_session_ask_for_key(viewer->session);
    }
}

/// Who looks again begins as if it had just come.
static void on_view(tarn_viewer *viewer, const tarn_view *view)
{
    const int was_hidden = viewer->view.hidden;
    // Frames until now were cut before a field's cells, which follow one another from a key frame on.
    viewer->wants_key |= view->field[0] != 0 && strcmp(view->field, viewer->view.field) != 0;
    viewer->view = *view;
    viewer->readings_due = viewer->readings_due && view->probes && !view->hidden;
    if (view->hidden && !was_hidden) {
        viewer->hidden_since_ns = tarn_clock_monotonic_ns();
        viewer->reference = 0;
        viewer->was_hidden = true;
    }
    if (viewer->phase != TARN_VIEWER_JOINED) {
        return;
    }
    if (view->hidden) {
        tarn_presence_forget(viewer->session, viewer);
    } else if (was_hidden) {
        viewer->session->board.changed = true;
    }
    tarn_viewer_bound(viewer, &viewer->session->traffic, tarn_clock_monotonic_ns());
    tarn_viewer_frame_ready(viewer);
    tarn_session_view_changed(viewer->session);
}

static bool needs_session(tarn_message_kind kind)
{
    return kind == TARN_MESSAGE_INPUT || kind == TARN_MESSAGE_CONTROL || kind == TARN_MESSAGE_ACK ||
           kind == TARN_MESSAGE_PRESENCE || kind == TARN_MESSAGE_PROFILE || kind == TARN_MESSAGE_MODERATE ||
           kind == TARN_MESSAGE_LOCK || kind == TARN_MESSAGE_PROBE;
}

/// Messages that need a session.
static void on_joined(tarn_viewer *viewer, const tarn_message *message)
{
    TARN_ASSERT(viewer->session != NULL);
    if (!tarn_moderation_allows(viewer, message)) {
        return;
    }
    if (message->kind == TARN_MESSAGE_INPUT) {
        on_input(viewer, message);
    } else if (message->kind == TARN_MESSAGE_ACK) {
        on_ack(viewer, &message->ack);
    } else if (viewer->is_preview) {
        return; // nobody knows of it
    } else if (message->kind == TARN_MESSAGE_PRESENCE) {
        tarn_presence_put(viewer->session, viewer, &message->presence);
    } else if (message->kind == TARN_MESSAGE_PROFILE) {
        tarn_viewer_profile_set(viewer->session, viewer, &message->profile);
    } else if (message->kind == TARN_MESSAGE_MODERATE) {
        tarn_moderation_act(viewer, &message->moderate);
    } else if (message->kind == TARN_MESSAGE_LOCK) {
        tarn_moderation_lock(viewer, &message->lock);
    } else if (message->kind == TARN_MESSAGE_PROBE) {
        tarn_session_probes_wish(viewer->session, viewer, &message->probe);
    } else if (check_sequence(viewer, message->control.sequence)) {
        tarn_session_control(viewer->session, viewer, &message->control);
    }
}

static void on_message(tarn_viewer *viewer, const tarn_message *message)
{
    tarn_message_kind kind = message->kind;
    if (kind == TARN_MESSAGE_HELLO && viewer->phase == TARN_VIEWER_NEW) {
        on_hello(viewer, &message->hello);
    } else if (kind == TARN_MESSAGE_PING && viewer->phase != TARN_VIEWER_NEW) {
        viewer->ping = message->ping;
        tarn_viewer_tell(viewer, TARN_VIEWER_TELL_PONG);
    } else if (kind == TARN_MESSAGE_VIEW && viewer->phase != TARN_VIEWER_NEW) {
        on_view(viewer, &message->view);
    } else if (kind == TARN_MESSAGE_JOIN && viewer->phase == TARN_VIEWER_GREETED) {
        on_join(viewer, &message->join);
    } else if (needs_session(kind) && viewer->phase == TARN_VIEWER_JOINED) {
        on_joined(viewer, message);
    } else {
        static const char *const expected[] = {"hello", "join", "anything but hello and join"};
        tarn_text why;
        snprintf(why, sizeof why, "this message may not come now; allowed is %s", expected[viewer->phase]);
        tarn_viewer_fail(viewer, TARN_ERROR_ORDER, why);
    }
}

static void on_bytes(tarn_viewer *viewer, const uint8_t *bytes, size_t byte_count)
{
    tarn_message message;
    tarn_text why = "";
    tarn_status status = tarn_message_read(bytes, byte_count, &message, &why);
    viewer->all->metrics->messages_total++;
    viewer->spoke_ns = tarn_clock_monotonic_ns();
    if (status == TARN_OK && !tarn_message_from_client(message.kind)) {
        status = TARN_E_MALFORMED;
        snprintf(why, sizeof why, "t: found \"%s\", which only a server sends", tarn_message_kind_name(message.kind));
    }
    if (status == TARN_OK) {
        on_message(viewer, &message);
    } else if (status == TARN_E_UNKNOWN_KIND) {
        viewer->all->metrics->messages_unknown_total++;
    } else {
        viewer->all->metrics->messages_refused_total++;
        tarn_viewer_fail(viewer, status == TARN_E_LIMIT ? TARN_ERROR_LIMIT : TARN_ERROR_MALFORMED, why);
    }
}

/// @return whether another message, or piece of one, may come now
static bool within_rate(tarn_viewer *viewer)
{
    uint64_t now_ns = tarn_clock_monotonic_ns();
    viewer->tokens += (double)(now_ns - viewer->tokens_ns) * 1e-9 * TARN_GATEWAY_MESSAGES_PER_S_MAX;
    viewer->tokens_ns = now_ns;
    if (viewer->tokens > TARN_GATEWAY_MESSAGES_BURST_MAX) {
        viewer->tokens = TARN_GATEWAY_MESSAGES_BURST_MAX;
    }
    if (viewer->tokens < 1) {
        return false;
    }
    viewer->tokens -= 1;
    return true;
}

void tarn_viewer_receive(tarn_viewer *viewer, const tarn_viewer_piece *piece)
{
    tarn_text why;
    if (viewer->phase == TARN_VIEWER_CLOSING) {
        return;
    }
    if (!piece->binary) {
        tarn_viewer_close(viewer, CLOSE_TEXT_MESSAGE, "binary messages only");
        return;
    }
    // Pieces count, too: a message that never ends, of empty ones, would else be free.
    if (!within_rate(viewer)) {
        snprintf(why, sizeof why, "too many messages; allowed are %d a second", TARN_GATEWAY_MESSAGES_PER_S_MAX);
        tarn_viewer_fail(viewer, TARN_ERROR_LIMIT, why);
        return;
    }
    if (piece->first) {
        viewer->assembled = 0;
    }
    uint64_t declared = viewer->assembled + (uint64_t)piece->byte_count + piece->bytes_to_come;
    if (declared > TARN_MESSAGE_BYTES_MAX) {
        snprintf(why, sizeof why, "found a message of %llu bytes or more, allowed are %d", (unsigned long long)declared,
                 TARN_MESSAGE_BYTES_MAX);
        tarn_viewer_fail(viewer, TARN_ERROR_LIMIT, why);
        return;
    }
    TARN_ASSERT(viewer->assembled <= sizeof viewer->assembly);
    memcpy(viewer->assembly + viewer->assembled, piece->bytes, piece->byte_count);
    viewer->assembled += (uint32_t)piece->byte_count;
    if (!piece->last) {
        return;
    }
    on_bytes(viewer, viewer->assembly, viewer->assembled);
}
