// What a viewer sends and expects. Begin at received.
#include "tests/sim/sim_viewer.h"
#include "protocol/stream.h"
#include "tests/sim/sim_tank.h"

#include <stdio.h>
#include <string.h>

static sim_viewer *viewers;
static uint32_t viewer_count, mark_last;

sim_viewer *sim_viewers(void)
{
    return viewers;
}

static void gone(sim_viewer *viewer)
{
    viewer->phase = SIM_VIEWER_GONE;
    if (viewer->person != NULL) {
        sim_ledger_leave(viewer->person);
    }
}

// --------------------------------------------------------------------------------------------------------------
// sending

static void put_frame(sim_viewer *viewer, uint8_t first, const uint8_t *bytes, size_t byte_count)
{
    static uint8_t frame[TARN_MESSAGE_BYTES_MAX + 1024];
    const uint32_t mask = (uint32_t)sim_random();
    size_t at = 0;
    SIM_NEED(byte_count < 65536);
    frame[at++] = first;
    if (byte_count < 126) {
        frame[at++] = (uint8_t)(0x80 | byte_count);
    } else {
        frame[at++] = 0x80 | 126;
        frame[at++] = (uint8_t)(byte_count >> 8);
        frame[at++] = (uint8_t)byte_count;
    }
    memcpy(frame + at, &mask, 4);
    at += 4;
    for (size_t i = 0; i < byte_count; i++) {
        frame[at++] = bytes[i] ^ (uint8_t)(mask >> 8 * (i & 3));
    }
    sim_net_put(&viewer->net, frame, at);
}

static void put(sim_viewer *viewer, const tarn_message *message)
{
    static uint8_t bytes[TARN_MESSAGE_SERVER_BYTES_MAX];
    size_t byte_count;
    SIM_NEED(tarn_message_write(message, bytes, sizeof bytes, &byte_count) == TARN_OK);
    if (byte_count > 4 && sim_chance(5)) { // in two frames
        const size_t first = 1 + sim_below((uint32_t)byte_count - 1);
        put_frame(viewer, 0x02, bytes, first);
        put_frame(viewer, 0x80, bytes + first, byte_count - first);
        return;
    }
    put_frame(viewer, 0x82, bytes, byte_count);
}

static void join(sim_viewer *viewer)
{
    tarn_message message = {.kind = TARN_MESSAGE_HELLO};
    message.hello.version_count = 1;
    message.hello.versions[0] = TARN_PROTOCOL_VERSION;
    snprintf(message.hello.client, sizeof message.hello.client, "simulated");
    put(viewer, &message);
    message = (tarn_message){.kind = TARN_MESSAGE_JOIN};
    const sim_session *session = sim_model_find(viewer->session), *other = session;
    snprintf(message.join.session, sizeof message.join.session, "%s", viewer->session);
    snprintf(message.join.viewer, sizeof message.join.viewer, "v%u", viewer->index);
    message.join.preview = viewer->is_preview;
    for (uint32_t i = 0; i < sim_session_count; i++) {
        other = &sim_sessions[i] != session ? &sim_sessions[i] : other;
    }
    if (viewer->pass <= SIM_PASS_OWN) {
        snprintf(message.join.key, sizeof message.join.key, "%s", session != NULL ? session->keys[viewer->pass] : "");
    } else if (viewer->pass == SIM_PASS_WRONG || (viewer->pass == SIM_PASS_OTHER && other == session)) {
        snprintf(message.join.key, sizeof message.join.key, "0123456789abcdef0123456789abcdef");
    } else if (viewer->pass == SIM_PASS_OTHER) {
        snprintf(message.join.key, sizeof message.join.key, "%s", other->keys[TARN_ROLE_OWN]);
    }
    put(viewer, &message);
}

void sim_viewer_act(sim_viewer *viewer)
{
    tarn_message message = {.kind = TARN_MESSAGE_INPUT};
    tarn_input *input = &message.input;
    if (viewer->phase != SIM_VIEWER_JOINED || !viewer->net.is_open || viewer->person->sent_count + 4 > SIM_SENT_MAX) {
        return;
    }
    const uint32_t kind = sim_below(10);
    input->kind = kind == 0 ? TARN_INPUT_PARAMETER : kind == 1 ? TARN_INPUT_CONTROLLER : TARN_INPUT_POINTER;
    input->sequence = ++viewer->sequence;
    bool is_edge = input->kind == TARN_INPUT_PARAMETER;
    if (input->kind == TARN_INPUT_POINTER) {
        const bool changes = sim_chance(40);
        input->pointer.phase = !changes ? TARN_PHASE_MOVE : viewer->presses ? TARN_PHASE_UP : TARN_PHASE_DOWN;
        viewer->presses ^= changes;
        is_edge = changes;
    }
    const bool may =
        !viewer->is_preview && viewer->role >= (input->kind == TARN_INPUT_PARAMETER ? TARN_ROLE_OWN : TARN_ROLE_PLAY);
    is_edge &= may; // else it is refused
    sim_model_fill(input, ++mark_last);
    sim_ledger_sent(viewer->person, input->sequence, sim_model_mark(input), is_edge, false);
    sim_trace("viewer %u of %s sends input %u%s", viewer->person->viewer_id, viewer->session, input->sequence,
              is_edge ? ", which must not get lost" : "");
    viewer->person->sent[viewer->person->sent_count - 1].is_void = viewer->is_muted && !viewer->was_freed;
    put(viewer, &message);
}

void sim_viewer_control(sim_viewer *viewer, tarn_control_action action, const char *scene)
{
    tarn_message message = {.kind = TARN_MESSAGE_CONTROL};
    if (viewer->phase != SIM_VIEWER_JOINED || !viewer->net.is_open || viewer->person->sent_count + 4 > SIM_SENT_MAX) {
        return;
    }
    message.control.sequence = ++viewer->sequence;
    message.control.action = action;
    snprintf(message.control.scene, sizeof message.control.scene, "%s", scene);
    sim_ledger_sent(viewer->person, viewer->sequence, 0, false, true);
    sim_trace("viewer %u of %s sends control %u: %d %s", viewer->person->viewer_id, viewer->session, viewer->sequence,
              (int)action, scene);
    sim_session *session = sim_model_find(viewer->session);
    if (session != NULL && action >= TARN_CONTROL_RESET) {
        session->afresh_asked = true;
    }
    put(viewer, &message);
}

void sim_viewer_moderate(sim_viewer *owner, sim_viewer *about, tarn_moderation action)
{
    tarn_message message = {.kind = TARN_MESSAGE_MODERATE};
    static const tarn_role given[] = {TARN_ROLE_OWN, TARN_ROLE_PLAY, TARN_ROLE_WATCH};
    const bool is_role = action >= TARN_MODERATE_OWN;
    sim_session *session = sim_model_find(owner->session);
    message.moderate.viewer_id = about->person->viewer_id;
    message.moderate.action = action;
    sim_trace("viewer %u of %s does %d about viewer %u", owner->person->viewer_id, owner->session, (int)action,
              about->person->viewer_id);
    about->was_freed |= action == TARN_MODERATE_UNMUTE || action == TARN_MODERATE_OWN;
    tarn_role role_most = is_role ? given[action - TARN_MODERATE_OWN] : about->person->role;
    if (session != NULL && session->is_opened && role_most >= TARN_ROLE_PLAY) {
        role_most = TARN_ROLE_OWN; // players may set parameters there
    }
    sim_ledger_meddle(about->person, role_most, about->was_freed);
    if (session != NULL) {
        session->is_meddled = true; // who comes from the same place is muted, too
    }
    put(owner, &message);
}

void sim_viewer_lock(sim_viewer *owner, uint32_t locked, bool opens_parameters)
{
    tarn_message message = {.kind = TARN_MESSAGE_LOCK};
    sim_session *session = sim_model_find(owner->session);
    message.lock.locked = locked;
    message.lock.open_parameters = opens_parameters;
    sim_trace("viewer %u of %s locks %x%s", owner->person->viewer_id, owner->session, locked,
              opens_parameters ? ", but lets all set parameters" : "");
    if (session != NULL) {
        session->is_meddled = true;
        session->is_opened |= opens_parameters;
    }
    for (sim_viewer *at = viewers; at != NULL; at = at->next) {
        if (at->person != NULL && strcmp(at->session, owner->session) == 0) {
            const bool may_set = opens_parameters && at->person->role_most >= TARN_ROLE_PLAY;
            sim_ledger_meddle(at->person, may_set ? TARN_ROLE_OWN : TARN_ROLE_WATCH, false);
        }
    }
    put(owner, &message);
}

void sim_viewer_look(sim_viewer *viewer, bool hidden)
{
    tarn_message message = {.kind = TARN_MESSAGE_VIEW};
    if (viewer->phase != SIM_VIEWER_JOINED || !viewer->net.is_open) {
        return;
    }
    viewer->hidden = hidden;
    message.view.hidden = hidden;
    if (!hidden && sim_chance(30)) {
        message.view.mbit_per_s = (float)sim_below(3);
        message.view.frames_per_s = (float)sim_below(30);
        message.view.particles = sim_below(2000);
    }
    put(viewer, &message);
}

void sim_viewer_say(sim_viewer *viewer)
{
    tarn_message message = {.kind = TARN_MESSAGE_PING};
    if (viewer->phase != SIM_VIEWER_JOINED || !viewer->net.is_open) {
        return;
    }
    message.ping.id = sim_below(1000);
    if (sim_chance(40)) {
        message = (tarn_message){.kind = TARN_MESSAGE_PRESENCE};
        message.presence.point_count = 1;
        message.presence.points[0].position_m[0] = (float)viewer->index;
    } else if (sim_chance(30)) {
        message = (tarn_message){.kind = TARN_MESSAGE_PROFILE};
        message.profile.colour = 1 + sim_below(TARN_COLOUR_MAX);
    }
    put(viewer, &message);
}

/// What no client of ours does.
void sim_viewer_misbehave(sim_viewer *viewer)
{
    uint8_t bytes[64];
    if (!viewer->net.is_open) {
        return;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)sim_random();
    }
    if (sim_chance(50)) {
        put_frame(viewer, 0x82, bytes, sim_below(sizeof bytes));
    } else {
        sim_net_put(&viewer->net, bytes, 1 + sim_below(sizeof bytes - 1));
    }
    if (viewer->person != NULL) {
        sim_ledger_leave(viewer->person); // nothing more is expected for it
    }
}

void sim_viewer_leave(sim_viewer *viewer, bool is_reset)
{
    static const uint8_t code[] = {0x03, 0xe8};
    if (viewer->phase == SIM_VIEWER_GONE) {
        return;
    }
    if (!is_reset && sim_chance(50)) {
        put_frame(viewer, 0x88, code, sizeof code);
    }
    sim_net_close(&viewer->net, is_reset);
    gone(viewer);
}

void sim_viewer_acknowledge(sim_viewer *viewer)
{
    tarn_message message = {.kind = TARN_MESSAGE_ACK};
    if (viewer->phase != SIM_VIEWER_JOINED || !viewer->net.is_open || viewer->number == 0) {
        return;
    }
    message.ack.epoch = viewer->epoch;
    message.ack.number = viewer->number;
    message.ack.step = 0;
    viewer->unacknowledged = 0;
    put(viewer, &message);
}

// ------------------------------------------------------------------------------------------------------------
// receiving

static void acknowledge_later(void *of, uint64_t number)
{
    (void)number;
    sim_viewer_acknowledge(of);
}

/// That the frame contains what it says it does.
static void check_inputs(const sim_viewer *viewer, const tarn_stream_frame *frame, uint32_t life)
{
    for (uint32_t i = 0; i < frame->head.input_count; i++) {
        const tarn_frame_input input = tarn_stream_input_at(frame, i);
        const sim_person *person = sim_ledger_person(input.viewer_id);
        SIM_CHECK(PRIVATE, person != NULL && strcmp(person->session, viewer->session) == 0,
                  "viewer %u of %s is told of an input of viewer %u", viewer->index, viewer->session, input.viewer_id);
        for (uint32_t s = 0; s < person->sent_count && person == viewer->person; s++) {
            const sim_sent *sent = &person->sent[s];
            if (sent->sequence <= input.sequence && sent->is_edge) {
                SIM_CHECK(ACKNOWLEDGED,
                          sent->is_excused ||
                              (sent->life != 0 && (sent->life != life || sent->step <= frame->head.step)),
                          "viewer %u of %s is told that its input %u is in step %llu, where %u isn't", viewer->index,
                          viewer->session, input.sequence, (unsigned long long)frame->head.step, sent->sequence);
            }
        }
    }
}

static void on_frame(sim_viewer *viewer, const uint8_t *bytes, size_t byte_count)
{
    const char *session = NULL;
    bool is_intact = false;
    tarn_stream_frame opened;
    const sim_frame *frame = sim_tank_frame_made(bytes, byte_count, &session, &is_intact);
    SIM_CHECK(PRIVATE, viewer->phase == SIM_VIEWER_JOINED && viewer->person != NULL,
              "viewer %u gets a frame before it has joined", viewer->index);
    SIM_CHECK(INTACT, frame != NULL && is_intact, "viewer %u of %s gets a frame of %zu bytes that no worker made",
              viewer->index, viewer->session, byte_count);
    SIM_CHECK(PRIVATE, strcmp(session, viewer->session) == 0, "viewer %u of %s gets a frame of %s", viewer->index,
              viewer->session, session);
    SIM_NEED(tarn_stream_open(bytes, byte_count, &opened) == TARN_OK);
    const tarn_stream_head *head = &opened.head;
    SIM_CHECK(DECODES,
              head->kind == TARN_STREAM_KEY || (head->epoch == viewer->epoch && head->reference == viewer->reference),
              "viewer %u of %s gets frame %u, which moves %u; it has %u", viewer->index, viewer->session, head->number,
              head->reference, viewer->reference);
    SIM_CHECK(DECODES, head->epoch != viewer->epoch || head->number >= viewer->number,
              "viewer %u of %s gets frame %u after %u", viewer->index, viewer->session, head->number, viewer->number);
    SIM_CHECK(BOUNDED, ++viewer->unacknowledged <= 12, "viewer %u of %s has %u unacknowledged frames", viewer->index,
              viewer->session, viewer->unacknowledged);
    check_inputs(viewer, &opened, frame->life);
    viewer->epoch = head->epoch;
    viewer->number = head->number;
    if (head->kind != TARN_STREAM_EXTRA) {
        viewer->reference = head->number;
    }
    viewer->frames++;
    viewer->frame_ns = sim_now();
    if (viewer->acks) {
        sim_at(sim_now() + sim_between(0, viewer->is_slow ? 300 * SIM_MS : 5 * SIM_MS), acknowledge_later, viewer, 0);
    }
}

static void on_joined(sim_viewer *viewer, const tarn_joined *joined)
{
    SIM_CHECK(ROLE, viewer->is_admitted, "viewer %u joins %s without a key that opens it", viewer->index,
              viewer->session);
    SIM_CHECK(PRIVATE, strcmp(joined->session, viewer->session) == 0, "viewer %u, who asked for %s, joins %s",
              viewer->index, viewer->session, joined->session);
    SIM_CHECK(ROLE, joined->role == viewer->role, "viewer %u joins %s as %d, its key gives %d", viewer->index,
              viewer->session, (int)joined->role, (int)viewer->role);
    SIM_CHECK(ROLE,
              (joined->own_key[0] == 0 || joined->role == TARN_ROLE_OWN) &&
                  ((joined->play_key[0] == 0 && joined->watch_key[0] == 0) || joined->role >= TARN_ROLE_PLAY),
              "viewer %u of %s, who is %d, is given keys of more", viewer->index, viewer->session, (int)joined->role);
    const sim_session *session = sim_model_find(viewer->session);
    SIM_CHECK(ROLE,
              joined->own_key[0] == 0 || session == NULL || viewer->since_ns < session->since_ns || // of a run before
                  strcmp(joined->own_key, session->keys[TARN_ROLE_OWN]) == 0,
              "viewer %u of %s is given another key than it opens with", viewer->index, viewer->session);
    viewer->person = sim_ledger_join(joined->viewer_id, viewer->session, joined->role, viewer->is_preview);
    if (session != NULL && session->is_meddled) {
        const bool may_set = session->is_opened && joined->role >= TARN_ROLE_PLAY;
        sim_ledger_meddle(viewer->person, may_set ? TARN_ROLE_OWN : TARN_ROLE_WATCH, false);
    }
    viewer->phase = SIM_VIEWER_JOINED;
    viewer->joined_ns = sim_now();
    viewer->state = joined->state;
    sim_trace("viewer %u has joined %s as %d, number %u", viewer->index, viewer->session, (int)joined->role,
              joined->viewer_id);
}

static void check_state(const sim_viewer *viewer, const tarn_session_state *state)
{
    SIM_CHECK(PRIVATE, state->model[0] == 0 || strcmp(state->model, viewer->session) == 0,
              "viewer %u of %s gets the state of %s", viewer->index, viewer->session, state->model);
}

static void check_viewers(sim_viewer *viewer, const uint8_t *bytes, size_t byte_count)
{
    static tarn_viewer_info infos[TARN_VIEWERS_MAX];
    uint32_t count = 0;
    SIM_NEED(tarn_message_read_viewers(bytes, byte_count, infos, TARN_VIEWERS_MAX, &count, NULL) == TARN_OK);
    for (uint32_t i = 0; i < count; i++) {
        const sim_person *person = sim_ledger_person(infos[i].viewer_id);
        viewer->is_muted = person != NULL && person == viewer->person ? infos[i].muted != 0 : viewer->is_muted;
        SIM_CHECK(PRIVATE,
                  person == NULL || strcmp(person->session, viewer->session) == 0, // it may not know yet itself
                  "viewer %u of %s is told of viewer %u of %s", viewer->index, viewer->session, infos[i].viewer_id,
                  person->session);
    }
}

static void check_presences(const sim_viewer *viewer, const uint8_t *bytes, size_t byte_count)
{
    static tarn_presence_point points[TARN_PRESENCES_MAX];
    uint32_t count = 0;
    SIM_NEED(tarn_message_read_presences(bytes, byte_count, points, TARN_PRESENCES_MAX, &count, NULL) == TARN_OK);
    for (uint32_t i = 0; i < count; i++) {
        const sim_person *person = sim_ledger_person(points[i].viewer_id);
        SIM_CHECK(PRIVATE, person != NULL && strcmp(person->session, viewer->session) == 0,
                  "viewer %u of %s is told where viewer %u is", viewer->index, viewer->session, points[i].viewer_id);
    }
}

static void on_message(sim_viewer *viewer, const uint8_t *bytes, size_t byte_count)
{
    static tarn_message message;
    tarn_text why = "";
    SIM_CHECK(ALIVE, tarn_message_read(bytes, byte_count, &message, &why) == TARN_OK, "viewer %u can't read: %s",
              viewer->index, why);
    switch (message.kind) {
    case TARN_MESSAGE_JOINED:
        on_joined(viewer, &message.joined);
        check_state(viewer, &message.joined.state);
        break;
    case TARN_MESSAGE_STATE:
        check_state(viewer, &message.state);
        viewer->state = message.state;
        break;
    case TARN_MESSAGE_VIEWERS:
        check_viewers(viewer, bytes, byte_count);
        break;
    case TARN_MESSAGE_PRESENCES:
        check_presences(viewer, bytes, byte_count);
        break;
    case TARN_MESSAGE_ERROR:
        viewer->error = message.error.code;
        sim_trace("viewer %u is told error %u: %s", viewer->index, message.error.code, message.error.text);
        break;
    default:
        break;
    }
}

static void on_http(sim_viewer *viewer, const uint8_t *bytes, size_t byte_count)
{
    const size_t room = sizeof viewer->text - 1 - viewer->text_bytes, kept = byte_count < room ? byte_count : room;
    memcpy(viewer->text + viewer->text_bytes, bytes, kept);
    viewer->text_bytes += kept;
    viewer->text[viewer->text_bytes] = 0;
    if (viewer->phase == SIM_VIEWER_CONNECTS && strstr(viewer->text, "\r\n\r\n") != NULL) {
        if (strncmp(viewer->text, "HTTP/1.1 101", 12) == 0) {
            viewer->phase = SIM_VIEWER_GREETS;
            join(viewer);
        }
    }
}

static void received(sim_client *client, sim_net_kind kind, const uint8_t *bytes, size_t byte_count)
{
    sim_viewer *viewer = client->owner;
    switch (kind) {
    case SIM_NET_RAW:
        on_http(viewer, bytes, byte_count);
        break;
    case SIM_NET_BINARY: {
        uint32_t magic = 0;
        memcpy(&magic, bytes, byte_count >= sizeof magic ? sizeof magic : 0);
        if (magic == TARN_FRAME_MAGIC) {
            on_frame(viewer, bytes, byte_count);
        } else {
            on_message(viewer, bytes, byte_count);
        }
        break;
    }
    case SIM_NET_PING:
        put_frame(viewer, 0x8a, bytes, 0);
        break;
    case SIM_NET_CLOSE:
        viewer->close_code = (uint16_t)(byte_count >= 2 ? bytes[0] << 8 | bytes[1] : 0);
        sim_trace("viewer %u is closed with %u", viewer->index, viewer->close_code);
        put_frame(viewer, 0x88, bytes, byte_count < 2 ? 0 : 2);
        viewer->was_closed = true;
        gone(viewer);
        break;
    case SIM_NET_END:
    case SIM_NET_BROKEN:
        if (viewer->phase == SIM_VIEWER_CONNECTS && sim_traces) {
            sim_trace("viewer %u is not let in: %.60s", viewer->index, viewer->text);
        }
        viewer->was_closed = true;
        gone(viewer);
        break;
    }
}

sim_viewer *sim_viewer_connect(const char *session, sim_pass pass, bool is_preview)
{
    static const tarn_role roles[] = {TARN_ROLE_WATCH, TARN_ROLE_PLAY, TARN_ROLE_OWN};
    sim_viewer *viewer = sim_make(sizeof *viewer);
    viewer->index = ++viewer_count;
    viewer->since_ns = sim_now();
    snprintf(viewer->session, sizeof viewer->session, "%s", session);
    viewer->pass = pass;
    viewer->is_preview = is_preview;
    viewer->is_admitted = pass <= SIM_PASS_NONE;
    viewer->role = is_preview ? TARN_ROLE_WATCH : pass <= SIM_PASS_OWN ? roles[pass] : sim_planned.guests;
    viewer->acks = sim_chance(95);
    viewer->is_slow = sim_chance(15);
    viewer->net.owner = viewer;
    viewer->net.received = received;
    viewer->net.address = sim_chance(50) ? 0x7f000001 : 0x0a000000 + sim_below(3);
    viewer->net.latency_ns = sim_between(50000, sim_chance(20) ? 200 * SIM_MS : 5 * SIM_MS);
    viewer->net.bytes_per_s = sim_chance(20) ? 20000 + sim_below(100000) : 20000000;
    viewer->net.room = sim_chance(30) ? 8000 : 131072;
    viewer->next = viewers;
    viewers = viewer;
    if (!sim_net_connect(&viewer->net)) {
        viewer->phase = SIM_VIEWER_GONE;
        return viewer;
    }
    static const char request[] =
        "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: tarn.v1\r\n\r\n";
    sim_net_put(&viewer->net, request, sizeof request - 1);
    sim_trace("viewer %u connects to %s with pass %d%s", viewer->index, session, (int)pass,
              is_preview ? ", for a glimpse" : "");
    return viewer;
}
