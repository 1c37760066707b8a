// What viewers may say in which state: two of them at one session, by the real halves that receive and send, with
// doubles for the session, the socket and the clock. Each byte of the input is one act: a message of some kind, any
// bytes, a writable socket, a frame, time that passes, a connection that ends. After each the viewers are whole, and
// what reached the session was theirs to say. Begin at LLVMFuzzerTestOneInput.
#include "server/base/log.h"
#include "server/gateway/listener.h"
#include "server/gateway/options.h"
#include "server/gateway/session/post.h"
#include "server/gateway/session/session.h"
#include "server/gateway/viewer/viewer.h"

#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_clock_gettime(clockid_t clock, struct timespec *now);

enum { VIEWERS = 2, EPOCH = 5, LAYERS = 2, LAYER_BYTES = 40, STEP_MS = 20, CLOSE_TEXT = 1003, CLOSE_ERRORS = 4000 };

/// A connection's other end, and what it was sent.
typedef struct peer {
    tarn_viewer viewer;
    tarn_connection connection;
    bool is_open, is_welcome, is_joined, is_closed;
    uint32_t sequence; ///< the largest that reached the session
} peer;

typedef struct source {
    const uint8_t *bytes;
    size_t left;
} source;

/// Of the kinds that are made here.
union client_kinds {
    tarn_hello hello;
    tarn_join join;
    tarn_input input;
    tarn_control control;
    tarn_ack ack;
    tarn_ping ping;
    tarn_view view;
    tarn_presence presence;
    tarn_profile profile;
    tarn_probe_wish probe;
};

enum { CLIENT_BYTES_MAX = sizeof(union client_kinds) };

static peer peers[VIEWERS];
static tarn_viewer_list all;
static tarn_sessions sessions;
static tarn_session session;
static tarn_workers workers;
static tarn_metrics metrics;
static uint64_t now_ns;
static uint32_t frame_number;
static peer *speaking;        // whose message is being taken
static tarn_ipc_probes asked; // of the worker; its revision 0: nothing is

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

// ------------------------------------------------------------------------------------------------------------- doubles

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_MONOTONIC) {
        return __real_clock_gettime(clock, now);
    }
    *now = (struct timespec){.tv_sec = (time_t)(now_ns / 1000000000), .tv_nsec = (long)(now_ns % 1000000000)};
    return 0;
}

static peer *peer_of(const struct lws *wsi)
{
    for (int i = 0; i < VIEWERS; i++) {
        if (wsi == (const struct lws *)(const void *)&peers[i]) {
            return &peers[i];
        }
    }
    abort();
}

void *lws_get_opaque_user_data(const struct lws *wsi)
{
    return &peer_of(wsi)->connection;
}

int lws_callback_on_writable(struct lws *wsi)
{
    must(peer_of(wsi)->is_open);
    return 1;
}

lws_sockfd_type lws_get_socket_fd(struct lws *wsi)
{
    (void)wsi;
    return -1;
}

void lws_set_timeout(struct lws *wsi, enum pending_timeout reason, int secs)
{
    (void)reason;
    (void)secs;
    must(peer_of(wsi)->viewer.phase == TARN_VIEWER_CLOSING);
}

struct lws_context *lws_get_context(const struct lws *wsi)
{
    (void)wsi;
    return NULL;
}

void lws_cancel_service(struct lws_context *context)
{
    (void)context;
}

/// What a client would see.
int lws_write(struct lws *wsi, unsigned char *bytes, size_t byte_count, enum lws_write_protocol protocol)
{
    static tarn_message message;
    peer *to = peer_of(wsi);
    tarn_stream_frame frame;
    must(to->is_open && !to->is_closed && byte_count > 0);
    if (protocol != LWS_WRITE_BINARY) {
        const unsigned code = (unsigned)bytes[0] << 8 | bytes[1];
        must(byte_count >= 2 && byte_count <= 125 && code == to->viewer.close_code);
        to->is_closed = true;
        return (int)byte_count;
    }
    if (byte_count >= 4 && memcmp(bytes, "TRN", 3) == 0) {
        must(to->is_joined && !to->viewer.view.hidden);
        must(tarn_stream_open(bytes, byte_count, &frame) == TARN_OK);
        return (int)byte_count;
    }
    tarn_text why;
    if (tarn_message_read(bytes, byte_count, &message, &why) != TARN_OK) {
        // Frames begin otherwise than messages, whatever the version.
        must(to->is_joined && tarn_stream_open(bytes, byte_count, &frame) == TARN_OK);
        return (int)byte_count;
    }
    must(!tarn_message_from_client(message.kind));
    must(to->is_welcome || message.kind == TARN_MESSAGE_WELCOME || message.kind == TARN_MESSAGE_ERROR);
    must(to->is_joined || message.kind == TARN_MESSAGE_WELCOME || message.kind == TARN_MESSAGE_ERROR ||
         message.kind == TARN_MESSAGE_PONG || message.kind == TARN_MESSAGE_JOINED);
    must(message.kind != TARN_MESSAGE_READINGS || (to->viewer.view.probes && !to->viewer.view.hidden));
    to->is_welcome |= message.kind == TARN_MESSAGE_WELCOME;
    if (message.kind == TARN_MESSAGE_JOINED) {
        must(!to->is_joined);
        const bool has_own = message.joined.own_key[0] != 0, has_play = message.joined.play_key[0] != 0;
        must((!has_own || to->viewer.role == TARN_ROLE_OWN) && (!has_play || to->viewer.role >= TARN_ROLE_PLAY));
        to->is_joined = true;
    }
    return (int)byte_count;
}

void tarn_log(tarn_log_level level, const char *format, ...)
{
    (void)level;
    (void)format;
}

void tarn_log_of(tarn_log_level level, tarn_log_subject subject, const char *format, ...)
{
    (void)format;
    (void)subject;
    must(level != TARN_LOG_ERROR); // a message that can't be written
}

bool tarn_passes_is_over(const tarn_passes *passes, tarn_grant *grant, tarn_text why)
{
    (void)passes;
    snprintf(why, sizeof(tarn_text), "it is over");
    return grant->until_s != 0 && grant->until_s < (int64_t)(now_ns / 1000000000);
}

/// Keys are roles' names; one with a number behind it is a token for so many seconds.
tarn_status tarn_passes_admit(const tarn_passes *passes, const tarn_session *of, const char *pass, tarn_grant *grant,
                              tarn_text why)
{
    static const char letters[] = "wpo";
    const char *role = strchr(letters, pass[0]);
    (void)passes;
    must(of == &session && pass[0] != 0);
    if (role == NULL) {
        snprintf(why, sizeof(tarn_text), "this key opens nothing");
        return TARN_E_NOT_FOUND;
    }
    *grant = (tarn_grant){.role = (tarn_role)(role - letters)};
    if (pass[1] != 0) {
        grant->until_s = (int64_t)(now_ns / 1000000000) + pass[1] % 16;
        snprintf(grant->token, sizeof grant->token, "token");
    }
    return TARN_OK;
}

tarn_session *tarn_session_find(tarn_sessions *of, const char *name)
{
    (void)of;
    return name[0] == 0 || strcmp(name, session.name) == 0 ? &session : NULL;
}

tarn_status tarn_session_join(tarn_session *of, tarn_viewer *viewer)
{
    must(of == &session && viewer->session == NULL && viewer->phase == TARN_VIEWER_GREETED);
    if (viewer->colour == 0xffffff && session.viewer_count > 0) { // a full session, or one that many join at once
        return viewer->view.particles % 2 == 0 ? TARN_E_LIMIT : TARN_E_STATE;
    }
    session.viewers[session.viewer_count++] = viewer;
    viewer->session = of;
    viewer->fanout = &session.fanout;
    session.board.changed = true;
    return TARN_OK;
}

void tarn_session_leave(tarn_session *of, tarn_viewer *viewer)
{
    uint32_t kept = 0;
    must(of == &session && viewer->session == of);
    for (uint32_t i = 0; i < session.viewer_count; i++) {
        if (session.viewers[i] != viewer) {
            session.viewers[kept++] = session.viewers[i];
        }
    }
    must(kept + 1 == session.viewer_count);
    session.viewer_count = kept;
    viewer->session = NULL;
    viewer->fanout = NULL;
    tarn_session_probes_left(of, viewer->id);
    if (viewer->rate.layers > 0) {
        must(metrics.viewers_by_layers[viewer->rate.layers - 1]-- > 0);
    }
}

void tarn_session_view_changed(tarn_session *of)
{
    must(of == &session);
}

tarn_status tarn_session_post(const tarn_session *of, const tarn_ipc_message *message, tarn_worker_queue_key key,
                              bool is_move)
{
    must(of == &session && message->kind == TARN_IPC_PROBES && key.viewer_id == 0 && !is_move);
    must(message->probes.count <= TARN_LIVE_PROBES_MAX && message->probes.revision > asked.revision);
    asked = message->probes;
    return TARN_OK;
}

/// The worker says what it measures, or something else.
static void answer_probes(uint8_t how)
{
    static tarn_ipc_probed answer;
    static const float values[3 * TARN_LIVE_PROBES_MAX];
    answer = (tarn_ipc_probed){.revision = asked.revision - how % 2, .count = asked.count};
    for (uint32_t i = 0; i < asked.count; i++) {
        if (how == 2 && i == 0) {
            snprintf(answer.of[i].why, sizeof answer.of[i].why, "it can't be there");
            continue;
        }
        answer.of[i].column_count = 1;
        snprintf(answer.of[i].columns[0], sizeof answer.of[i].columns[0], "pressure_pa");
    }
    must(tarn_session_probes_answered(&session, &answer) == TARN_OK);
    const uint32_t count = tarn_session_probes_told(&session);
    const tarn_ipc_readings readings = {.revision = asked.revision,
                                        .epoch = session.epoch_served,
                                        .row_count = 3,
                                        .byte_count = 3 * count * (uint32_t)sizeof values[0],
                                        .values = (const uint8_t *)values};
    must(count == 0 || tarn_session_probes_read(&session, &readings) == TARN_OK);
}

void tarn_session_ask_for_key(tarn_session *of)
{
    must(of == &session && speaking->viewer.phase == TARN_VIEWER_JOINED);
}

static void note_sequence(const tarn_viewer *viewer, uint32_t sequence)
{
    must(viewer == &speaking->viewer && viewer->phase == TARN_VIEWER_JOINED && !viewer->is_preview);
    must(sequence > speaking->sequence);
    speaking->sequence = sequence;
}

void tarn_session_control(tarn_session *of, tarn_viewer *viewer, const tarn_control *control)
{
    must(of == &session && viewer->role == TARN_ROLE_OWN);
    note_sequence(viewer, control->sequence);
}

void tarn_session_input(tarn_session *of, tarn_viewer *viewer, const tarn_input *input, const uint8_t *bytes,
                        size_t byte_count)
{
    static tarn_message again;
    const bool is_owners = input->kind == TARN_INPUT_PARAMETER && !session.state.lock.open_parameters;
    must(of == &session && viewer->role >= (is_owners ? TARN_ROLE_OWN : TARN_ROLE_PLAY));
    note_sequence(viewer, input->sequence);
    must(tarn_message_read(bytes, byte_count, &again, NULL) == TARN_OK && again.kind == TARN_MESSAGE_INPUT &&
         again.input.sequence == input->sequence && again.input.kind == input->kind);
}

void tarn_session_keep_anew(tarn_session *of)
{
    must(of == &session);
}

const char *tarn_session_ended_because(const tarn_sessions *of, const char *name)
{
    must(of != NULL && name != NULL);
    return NULL;
}

void lws_validity_confirmed(struct lws *wsi)
{
    must(wsi != NULL);
}

void tarn_session_stage(tarn_session *of, tarn_stage stage, double seconds)
{
    must(of == &session && stage == TARN_STAGE_WRITE && seconds >= 0);
}

// ---------------------------------------------------------------------------------------------------------------- acts

static uint8_t take(source *from)
{
    if (from->left == 0) {
        return 0;
    }
    from->left--;
    return *from->bytes++;
}

/// Numbers of all sizes, and small ones most.
static uint32_t take_number(source *from)
{
    const uint32_t low = take(from);
    return low < 0xf0 ? low : low << 24 | (uint32_t)take(from) << 16 | take(from);
}

static float take_share(source *from)
{
    return (float)((int)take(from) - 128) / 64;
}

static void receive(peer *from, const uint8_t *bytes, size_t byte_count, uint8_t how)
{
    const tarn_viewer_piece piece = {.bytes = bytes,
                                     .byte_count = byte_count,
                                     .bytes_to_come = (how & 1) != 0 ? how : 0,
                                     .first = (how & 2) == 0,
                                     .last = (how & 4) == 0,
                                     .binary = (how & 24) != 24};
    speaking = from;
    tarn_viewer_receive(&from->viewer, &piece);
}

/// A message that is well-formed, of any kind. @return false: of a server's kind, or it can't be written
static bool make_message(source *from, uint8_t *bytes, size_t *byte_count)
{
    static tarn_message message;
    static const char *const names[] = {"", "main", "nobody", "Ada", " ", "vorticity", "w", "p", "o", "p9", "x"};
    const uint32_t name_count = sizeof names / sizeof names[0];
    // Servers' kinds are many times as large.
    memset(&message, 0, offsetof(tarn_message, hello) + CLIENT_BYTES_MAX);
    message.kind = (tarn_message_kind)(take(from) % (TARN_MESSAGE_PROBE + 1));
    const char *name = names[take(from) % name_count];
    switch (message.kind) {
    case TARN_MESSAGE_HELLO:
        message.hello.version_count = 1;
        message.hello.versions[0] = TARN_PROTOCOL_VERSION + take(from) / 128;
        break;
    case TARN_MESSAGE_JOIN:
        snprintf(message.join.session, sizeof message.join.session, "%s", name);
        snprintf(message.join.key, sizeof message.join.key, "%s", names[take(from) % name_count]);
        message.join.preview = take(from) > 200;
        message.join.colour = take(from) > 240 ? 0xffffff : take(from);
        break;
    case TARN_MESSAGE_INPUT:
        message.input.sequence = take_number(from);
        message.input.kind = (tarn_input_kind)(take(from) % 2 == 0 ? TARN_INPUT_POINTER : TARN_INPUT_PARAMETER);
        if (message.input.kind == TARN_INPUT_PARAMETER) {
            snprintf(message.input.parameter.name, sizeof message.input.parameter.name, "%s", name);
            message.input.parameter.value = take_share(from);
        } else {
            message.input.pointer =
                (tarn_input_pointer){.direction = {take_share(from), -1, 0}, .radius_m = 0.1f, .strength = 1};
        }
        break;
    case TARN_MESSAGE_CONTROL:
        message.control.sequence = take_number(from);
        message.control.action = (tarn_control_action)(take(from) % 5);
        snprintf(message.control.scene, sizeof message.control.scene, "%s", name);
        break;
    case TARN_MESSAGE_ACK:
        message.ack.number = take_number(from);
        message.ack.step = 10 * (uint64_t)message.ack.number;
        message.ack.epoch = EPOCH + take(from) / 250;
        message.ack.key = take(from) > 200;
        break;
    case TARN_MESSAGE_PING:
        message.ping.id = take_number(from);
        break;
    case TARN_MESSAGE_VIEW:
        message.view.hidden = take(from) % 2;
        message.view.mbit_per_s = take(from);
        message.view.frames_per_s = take(from);
        message.view.particles = take_number(from);
        message.view.probes = message.view.particles % 2;
        snprintf(message.view.field, sizeof message.view.field, "%s", name);
        break;
    case TARN_MESSAGE_PRESENCE:
        message.presence.point_count = take(from) % (TARN_PRESENCE_POINTS_MAX + 1);
        for (uint32_t i = 0; i < message.presence.point_count; i++) {
            message.presence.points[i].position_m[0] = take_share(from);
            message.presence.points[i].part = (tarn_part)(i % 2);
        }
        break;
    case TARN_MESSAGE_PROFILE:
        snprintf(message.profile.name, sizeof message.profile.name, "%s", name);
        message.profile.colour = take_number(from);
        break;
    case TARN_MESSAGE_PROBE:
        message.probe.action = (tarn_probe_action)(take(from) % TARN_PROBE_ACT_COUNT);
        message.probe.id = take(from) % 32;
        message.probe.shows = (tarn_probe_shows)(take(from) % TARN_SHOWS_COUNT);
        message.probe.at_m[0] = take_share(from);
        snprintf(message.probe.label, sizeof message.probe.label, "%s", name);
        break;
    default:
        return false;
    }
    return tarn_message_write(&message, bytes, TARN_MESSAGE_BYTES_MAX, byte_count) == TARN_OK;
}

/// The worker sends a frame of the kind, of any bytes behind its head.
static void put_frame(tarn_stream_kind kind)
{
    static tarn_fanout_inputs inputs;
    const tarn_frame_input input = {1, 1};
    frame_number++;
    tarn_stream_head head = {.kind = (uint8_t)kind,
                             .place_bits = 4,
                             .layer_count = LAYERS,
                             .epoch = EPOCH,
                             .number = frame_number,
                             .reference = kind == TARN_STREAM_KEY ? frame_number : frame_number - 1,
                             .step = 10 * (uint64_t)frame_number,
                             .server_time_us = now_ns / 1000,
                             .interval_steps = 4,
                             .interval_s = 0.1f,
                             .realtime_factor = 1,
                             .input_count = 1,
                             .cell_m = 0.1f,
                             .orientation = {0, 0, 0, 1},
                             .cells = {16, 16, 16},
                             .flow_tiles = 1,
                             .flow_tiles_max = 1,
                             .flow_bytes = LAYER_BYTES};
    for (int l = 0; l < LAYERS; l++) {
        head.layers[l] = (tarn_stream_layer){LAYER_BYTES, 8, 8, 8};
    }
    const size_t head_bytes = tarn_stream_head_bytes(&head);
    head.frame_bytes = (uint32_t)head_bytes + (LAYERS + 1) * LAYER_BYTES;
    uint8_t *space = tarn_fanout_space(&session.fanout, head.frame_bytes);
    must(space != NULL && tarn_stream_write_head(&head, &input, space, head_bytes) == TARN_OK);
    memset(space + head_bytes, 7, (LAYERS + 1) * LAYER_BYTES);
    if (tarn_fanout_put(&session.fanout, head.frame_bytes, EPOCH, &inputs) != TARN_OK) {
        return; // nothing that it could move
    }
    for (uint32_t i = 0; i < session.viewer_count; i++) {
        tarn_viewer_check_chain(session.viewers[i], now_ns);
        tarn_viewer_frame_ready(session.viewers[i]);
    }
}

static void open_peer(peer *one)
{
    memset(one, 0, sizeof *one);
    one->is_open = true;
    one->connection.used = true;
    tarn_viewer_open(&all, &one->viewer, (struct lws *)(void *)one);
}

static void close_peer(peer *one)
{
    tarn_viewer_closed(&one->viewer);
    must(one->viewer.session == NULL);
    one->is_open = false;
}

static void act(source *from)
{
    static uint8_t bytes[TARN_MESSAGE_BYTES_MAX + 256];
    const uint8_t what = take(from);
    peer *who = &peers[what % VIEWERS];
    size_t byte_count = 0;
    speaking = who;
    switch (what / VIEWERS % 8) {
    case 0:
    case 1:
    case 2:
        if (make_message(from, bytes, &byte_count)) {
            receive(who, bytes, byte_count, 0);
        }
        return;
    case 3: { // any bytes, as a piece of any message
        const uint8_t how = take(from);
        byte_count = take(from);
        byte_count = (how & 128) != 0 ? 64 * byte_count : byte_count;
        const size_t there = byte_count < from->left ? byte_count : from->left;
        memset(bytes, 0xc0, byte_count);
        memcpy(bytes, from->bytes, there);
        from->bytes += there;
        from->left -= there;
        receive(who, bytes, byte_count, how & 31);
        return;
    }
    case 4:
        for (int i = what / (8 * VIEWERS); i >= 0 && !who->is_closed; i--) {
            must(tarn_viewer_writable(&who->viewer) == 0);
        }
        return;
    case 5:
        put_frame((tarn_stream_kind)(what / (8 * VIEWERS) % 3));
        return;
    case 6:
        now_ns += ((uint64_t)STEP_MS << what / (8 * VIEWERS)) * 1000000;
        tarn_viewer_tick(&all, now_ns);
        tarn_presence_beat(&session, now_ns);
        tarn_session_probes_send(&session);
        if (asked.revision > 0) {
            answer_probes(what / (8 * VIEWERS) % 3);
        }
        return;
    default:
        if (what / (8 * VIEWERS) < 4) {
            close_peer(who);
            open_peer(who);
        } else if (session.viewer_count > 0) {
            tarn_viewer_tell(session.viewers[0], TARN_VIEWER_TELL_STATE | TARN_VIEWER_TELL_VIEWERS);
        }
        return;
    }
}

static void check(const peer *one)
{
    const tarn_viewer *viewer = &one->viewer;
    const bool is_in = viewer->session != NULL;
    uint32_t places = 0;
    for (uint32_t i = 0; i < session.viewer_count; i++) {
        places += session.viewers[i] == viewer;
    }
    must(places == is_in && (viewer->fanout != NULL) == is_in);
    must(viewer->phase == TARN_VIEWER_CLOSING || is_in == (viewer->phase == TARN_VIEWER_JOINED));
    must(viewer->phase != TARN_VIEWER_CLOSING || viewer->close_code == CLOSE_TEXT || viewer->close_code > CLOSE_ERRORS);
    must(viewer->phase != TARN_VIEWER_CLOSING || (viewer->to_tell == 0 && viewer->error_count <= 1));
    must(viewer->error_count <= TARN_GATEWAY_ERRORS_QUEUED_MAX && viewer->assembled <= sizeof viewer->assembly);
    must(viewer->tokens >= 0 && viewer->tokens <= TARN_GATEWAY_MESSAGES_BURST_MAX);
    must(viewer->flight.count <= TARN_VIEWER_RATE_IN_FLIGHT_MAX && viewer->timed_next < TARN_GATEWAY_INPUTS_TIMED_MAX);
    must(!viewer->is_preview || viewer->role == TARN_ROLE_WATCH);
    must(!is_in || (viewer->name[0] != 0 && one->connection.is_joined));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    tarn_fanout_init(&session.fanout);
    static const tarn_gateway_options options = {.viewers_max = TARN_VIEWERS_MAX};
    sessions.options = &options;
    session.all = &sessions;
    sessions.metrics = &metrics;
    snprintf(session.name, sizeof session.name, "main");
    for (int r = 0; r < TARN_ROLE_COUNT; r++) {
        memset(session.keys.keys[r], 'a' + r, TARN_KEY_BYTES);
    }
    session.state.worker_ready = 1;
    session.state.cell_m = 0.1f;
    session.state.dt_s = 0.01f;
    for (int axis = 0; axis < 3; axis++) {
        session.state.size_m[axis] = 1.6f;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    source from = {bytes, byte_count};
    now_ns = 1000000000000;
    frame_number = 0;
    metrics = (tarn_metrics){0};
    all =
        (tarn_viewer_list){.per_address_max = VIEWERS, .sessions = &sessions, .workers = &workers, .metrics = &metrics};
    session.guests = (tarn_role)(take(&from) % TARN_ROLE_COUNT);
    session.viewer_count = 0;
    session.traffic = (tarn_stream_traffic){0};
    session.board.changed = false;
    session.board.due_ns = 0;
    tarn_probes_shown *shown = session.probes.shown;
    memset(&session.probes, 0, sizeof session.probes);
    tarn_session_probes_begin(&session, shown);
    asked.revision = asked.count = 0;
    tarn_fanout_clear(&session.fanout);
    for (int i = 0; i < VIEWERS; i++) {
        open_peer(&peers[i]);
    }
    while (from.left > 0) {
        act(&from);
        for (int i = 0; i < VIEWERS; i++) {
            check(&peers[i]);
        }
    }
    for (int i = 0; i < VIEWERS; i++) {
        close_peer(&peers[i]);
    }
    must(session.viewer_count == 0 && all.first == NULL);
    return 0;
}
