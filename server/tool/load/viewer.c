// The life of a connection:
//
//     idle -> opening -> greeting -> joining -> joined -> watching -> closing -> idle, or gone
//             (upgrade)  (hello)     (join)     (first frame)
//
// The loop calls on_poll, which reads or writes the socket, which calls the events below. Whatever ends a connection
// goes through `end`.
#include "server/tool/load/viewer.h"
#include "server/base/clock.h"
#include "server/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MS = 1000000,
    INPUTS_OF_A_DRAG = 45, ///< one down, the moves, one up
    SLOW_BURST_BYTES = 65536,
};

static const uint64_t second_ns = 1000000000u;

/// A share of 1, from the viewer's own sequence of random numbers.
static double draw(load_viewer *viewer)
{
    viewer->seed = viewer->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(viewer->seed >> 11) * 0x1p-53;
}

static load_group *group_of(load_viewer *viewer)
{
    return &viewer->crowd->results->groups[viewer->kind];
}

void load_viewer_init(load_viewer *viewer, load_crowd *crowd, load_kind kind, uint32_t index)
{
    viewer->crowd = crowd;
    viewer->kind = kind;
    viewer->index = index;
    viewer->socket.fd = -1;
    viewer->seed = (uint64_t)crowd->options->seed << 32 | index;
    draw(viewer);
}

// ---- opening and ending ----

static void on_poll(uv_poll_t *poll, int status, int events);

/// Asks the loop for what the viewer waits for.
static void watch(load_viewer *viewer)
{
    int events = 0;
    if (viewer->phase == LOAD_IDLE || viewer->phase >= LOAD_CLOSING) {
        return;
    }
    if (!viewer->deaf && (viewer->kind != LOAD_SLOW || viewer->read_tokens > 0)) {
        events |= UV_READABLE;
    }
    if (load_socket_wants_write(&viewer->socket)) {
        events |= UV_WRITABLE;
    }
    if (events == viewer->polled) {
        return;
    }
    viewer->polled = events;
    if (events != 0) {
        uv_poll_start(&viewer->poll, events, on_poll);
    } else {
        uv_poll_stop(&viewer->poll);
    }
}

static void count_bytes(load_viewer *viewer)
{
    if (viewer->crowd->measuring) {
        uint64_t bytes = viewer->socket.bytes_received - viewer->bytes_before;
        viewer->bytes += bytes;
        group_of(viewer)->bytes += bytes;
    }
    viewer->bytes_before = viewer->socket.bytes_received;
}

static void on_closed(uv_handle_t *handle)
{
    load_viewer *viewer = handle->data;
    load_crowd *crowd = viewer->crowd;
    load_socket_close(&viewer->socket, viewer->kind == LOAD_RECONNECTING && draw(viewer) < 0.5);
    viewer->phase = viewer->gone || crowd->ending ? LOAD_GONE : LOAD_IDLE;
    double pause_ms = LOAD_RECONNECT_MS_MIN + draw(viewer) * (LOAD_RECONNECT_MS_MAX - LOAD_RECONNECT_MS_MIN);
    viewer->due_ns = tarn_clock_monotonic_ns() + (uint64_t)(pause_ms * MS);
}

static void close_viewer(load_viewer *viewer, bool for_good)
{
    if (viewer->phase == LOAD_IDLE || viewer->phase == LOAD_GONE) {
        viewer->phase = for_good ? LOAD_GONE : viewer->phase;
        return;
    }
    viewer->gone |= for_good;
    if (viewer->phase == LOAD_CLOSING) {
        return;
    }
    if (viewer->phase < LOAD_WATCHING) {
        viewer->crowd->opening--;
    }
    load_checks_leave(&viewer->crowd->checks, viewer);
    count_bytes(viewer);
    viewer->phase = LOAD_CLOSING;
    uv_close((uv_handle_t *)&viewer->poll, on_closed);
}

/// The connection is over although nobody here wanted that.
static void end(load_viewer *viewer, const char *why)
{
    char text[LOAD_TARGET_WHY_BYTES];
    if (viewer->phase == LOAD_CLOSING || viewer->phase == LOAD_IDLE || viewer->phase == LOAD_GONE) {
        return;
    }
    static const char *const when[] = {"",           "while connecting",       "after hello",
                                       "after join", "before its first frame", "while watching"};
    if (!viewer->crowd->ending) {
        group_of(viewer)->lost++;
        snprintf(text, sizeof text, "a %s viewer was lost %s: %s", load_kind_name(viewer->kind), when[viewer->phase],
                 why);
        load_fail(viewer->crowd->results, text);
    }
    close_viewer(viewer, viewer->kind != LOAD_RECONNECTING);
}

static const load_socket_events events_of_viewer;

static void open_viewer(load_viewer *viewer, uint64_t now_ns)
{
    load_crowd *crowd = viewer->crowd;
    viewer->phase = LOAD_IDLE;
    int receive_bytes = viewer->kind == LOAD_SLOW ? LOAD_SLOW_RECEIVE_BYTES : 0;
    tarn_status status = load_socket_open(&viewer->socket, &crowd->options->target, receive_bytes, &events_of_viewer,
                                          viewer, viewer->seed);
    if (status != TARN_OK || uv_poll_init(&crowd->loop, &viewer->poll, viewer->socket.fd) != 0) {
        load_socket_close(&viewer->socket, false);
        load_fail(crowd->results, status == TARN_E_LIMIT ? "no descriptors are left for another viewer; see ulimit -n"
                                                         : "a connection could not be begun");
        viewer->phase = LOAD_GONE;
        return;
    }
    viewer->poll.data = viewer;
    viewer->phase = LOAD_OPENING;
    viewer->polled = 0;
    viewer->deaf = false;
    viewer->opened_ns = viewer->ticked_ns = now_ns;
    viewer->last_frame_ns = viewer->last_serial = 0;
    viewer->bytes_before = 0;
    viewer->frame_count = viewer->sequence = viewer->drag = 0;
    viewer->open_count = 0;
    viewer->chain = (load_chain){0};
    viewer->read_tokens = SLOW_BURST_BYTES;
    group_of(viewer)->connections++;
    crowd->opening++;
    watch(viewer);
}

void load_viewer_leave(load_viewer *viewer)
{
    if (viewer->phase == LOAD_WATCHING && !viewer->deaf) {
        load_socket_say_close(&viewer->socket, LOAD_CLOSE_NORMAL);
    }
    close_viewer(viewer, true);
}

bool load_viewer_listens(const load_viewer *viewer)
{
    return viewer->phase >= LOAD_OPENING && viewer->phase <= LOAD_WATCHING && !viewer->deaf;
}

bool load_viewer_settled(const load_viewer *viewer)
{
    return viewer->frame_count > 0 || viewer->phase == LOAD_GONE || viewer->kind == LOAD_RECONNECTING;
}

void load_viewer_measure(load_viewer *viewer)
{
    if (viewer->phase >= LOAD_OPENING && viewer->phase <= LOAD_WATCHING) {
        count_bytes(viewer);
    }
    viewer->last_frame_ns = 0; // an interval begins and ends inside the measurement
}

static void tell(load_viewer *viewer, const tarn_message *message)
{
    if (load_socket_tell(&viewer->socket, message) != TARN_OK) {
        end(viewer, viewer->socket.why);
    } else {
        watch(viewer);
    }
}

// ---- pushing ----

/// A pointer straight down into the tank, that drags around its middle.
static void push(load_viewer *viewer, uint64_t now_ns)
{
    if (viewer->size_m[0] <= 0 || viewer->open_count == LOAD_INPUTS_OPEN_MAX) {
        return;
    }
    uint32_t place = viewer->drag++ % INPUTS_OF_A_DRAG;
    float angle = 6.2831853f * (float)place / INPUTS_OF_A_DRAG + (float)viewer->index;
    float smallest = fminf(viewer->size_m[0], viewer->size_m[2]);
    tarn_message message = {.kind = TARN_MESSAGE_INPUT};
    message.input.sequence = ++viewer->sequence;
    message.input.kind = TARN_INPUT_POINTER;
    tarn_input_pointer *pointer = &message.input.pointer;
    pointer->phase = place == 0 ? TARN_PHASE_DOWN : place == INPUTS_OF_A_DRAG - 1 ? TARN_PHASE_UP : TARN_PHASE_MOVE;
    pointer->tool = TARN_TOOL_PUSH;
    pointer->origin_m[0] = viewer->size_m[0] * (0.5f + 0.3f * cosf(angle));
    pointer->origin_m[1] = fminf(2 * viewer->size_m[1], 1000);
    pointer->origin_m[2] = viewer->size_m[2] * (0.5f + 0.3f * sinf(angle));
    pointer->direction[1] = -1;
    pointer->radius_m = fmaxf(0.001f, fminf(10, 0.1f * smallest));
    pointer->strength = 0.5f;
    uint32_t entry = (viewer->open_first + viewer->open_count++) % LOAD_INPUTS_OPEN_MAX;
    viewer->open[entry].sequence = viewer->sequence;
    viewer->open[entry].sent_ns = now_ns;
    viewer->open[entry].measured = viewer->crowd->measuring;
    viewer->open[entry].head_seen = false;
    viewer->crowd->results->inputs_sent += viewer->crowd->measuring;
    tell(viewer, &message);
}

/// The head of a frame that contains inputs up to a number.
static void note_inputs_in_head(load_viewer *viewer, uint32_t sequence, uint64_t now_ns)
{
    for (uint32_t i = 0; i < viewer->open_count; i++) {
        uint32_t entry = (viewer->open_first + i) % LOAD_INPUTS_OPEN_MAX;
        if (viewer->open[entry].sequence > sequence) {
            return;
        }
        if (viewer->open[entry].measured && !viewer->open[entry].head_seen) {
            load_histogram_add(&viewer->crowd->results->input_to_head, now_ns - viewer->open[entry].sent_ns);
        }
        viewer->open[entry].head_seen = true;
    }
}

/// That frame is there as a whole.
static void note_inputs_in_frame(load_viewer *viewer, uint64_t now_ns)
{
    while (viewer->open_count > 0 && viewer->open[viewer->open_first].head_seen) {
        if (viewer->open[viewer->open_first].measured) {
            load_histogram_add(&viewer->crowd->results->input_to_frame,
                               now_ns - viewer->open[viewer->open_first].sent_ns);
        }
        viewer->open_first = (viewer->open_first + 1) % LOAD_INPUTS_OPEN_MAX;
        viewer->open_count--;
    }
}

uint32_t load_viewer_inputs_unseen(const load_viewer *viewer, uint64_t now_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < viewer->open_count; i++) {
        uint32_t entry = (viewer->open_first + i) % LOAD_INPUTS_OPEN_MAX;
        count += viewer->open[entry].measured && !viewer->open[entry].head_seen &&
                 now_ns - viewer->open[entry].sent_ns > LOAD_INPUT_MS_MAX * (uint64_t)MS;
    }
    return count;
}

// ---- what the server sends ----

static bool on_open(void *user)
{
    load_viewer *viewer = user;
    tarn_message message = {.kind = TARN_MESSAGE_HELLO};
    message.hello.version_count = 1;
    message.hello.versions[0] = TARN_PROTOCOL_VERSION;
    snprintf(message.hello.client, sizeof message.hello.client, "tarn load " TARN_VERSION);
    viewer->phase = LOAD_GREETING;
    tell(viewer, &message);
    return viewer->phase == LOAD_GREETING;
}

static void join(load_viewer *viewer)
{
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    memcpy(message.join.session, viewer->crowd->options->session, sizeof message.join.session);
    memcpy(message.join.key, viewer->crowd->options->key, sizeof message.join.key);
    snprintf(message.join.viewer, sizeof message.join.viewer, "load, %s", load_kind_name(viewer->kind));
    viewer->phase = LOAD_JOINING;
    tell(viewer, &message);
}

static void on_error(load_viewer *viewer, const tarn_error *error)
{
    char text[LOAD_TARGET_WHY_BYTES];
    if (error->code == TARN_ERROR_INPUT || error->code == TARN_ERROR_ROLE) {
        viewer->crowd->results->inputs_refused += viewer->crowd->measuring;
        if (viewer->open_count > 0) { // the oldest that wasn't answered: no frame will have it
            viewer->open_first = (viewer->open_first + 1) % LOAD_INPUTS_OPEN_MAX;
            viewer->open_count--;
        }
    }
    snprintf(text, sizeof text, "the server said error %u: %.400s", error->code, error->text);
    tarn_make_printable(text);
    if (!viewer->crowd->ending) {
        load_fail(viewer->crowd->results, text);
    }
}

static bool on_message(void *user, const uint8_t *bytes, size_t byte_count)
{
    load_viewer *viewer = user;
    tarn_message message;
    tarn_text why = "";
    tarn_status status = tarn_message_read(bytes, byte_count, &message, &why);
    if (status == TARN_E_UNKNOWN_KIND) {
        return true;
    }
    if (status != TARN_OK || tarn_message_from_client(message.kind)) {
        char text[LOAD_TARGET_WHY_BYTES];
        snprintf(text, sizeof text, "it sent a wrong message: %.400s", status != TARN_OK ? why : "one of a client");
        end(viewer, text);
    } else if (message.kind == TARN_MESSAGE_WELCOME && viewer->phase == LOAD_GREETING) {
        join(viewer);
    } else if (message.kind == TARN_MESSAGE_JOINED && viewer->phase == LOAD_JOINING) {
        viewer->id = message.joined.viewer_id;
        viewer->phase = LOAD_JOINED;
        memcpy(viewer->size_m, message.joined.state.size_m, sizeof viewer->size_m);
        memcpy(viewer->crowd->results->session, message.joined.session, sizeof message.joined.session);
    } else if (message.kind == TARN_MESSAGE_STATE) {
        memcpy(viewer->size_m, message.state.size_m, sizeof viewer->size_m);
    } else if (message.kind == TARN_MESSAGE_ERROR) {
        on_error(viewer, &message.error);
    }
    return viewer->phase != LOAD_CLOSING;
}

/// Numbers the frame among those that anybody was sent, and counts what this viewer missed.
static void note_frame(load_viewer *viewer)
{
    load_crowd *crowd = viewer->crowd;
    uint64_t known = crowd->frames.count;
    uint64_t serial = load_frame_log_note(&crowd->frames, viewer->head.epoch, viewer->head.step);
    if (crowd->measuring) {
        crowd->results->frames += crowd->frames.count - known;
        if (viewer->last_serial != 0 && serial > viewer->last_serial + 1) {
            group_of(viewer)->dropped += serial - viewer->last_serial - 1;
        }
    }
    viewer->last_serial = serial;
}

/// Whether the viewer can decode the frame by what it was sent before; that takes no more than the heads.
static void check_chain(load_viewer *viewer)
{
    load_results *results = viewer->crowd->results;
    const char *wrong = load_chain_follow(&viewer->chain, &viewer->head);
    if (wrong != NULL && viewer->crowd->options->check_every > 0) {
        results->chains_wrong++;
        load_fail(results, wrong);
    }
}

static bool on_frame(void *user, const uint8_t *head_bytes, size_t head_byte_count, uint64_t frame_bytes,
                     uint8_t **room)
{
    load_viewer *viewer = user;
    load_crowd *crowd = viewer->crowd;
    load_frame_head *head = &viewer->head;
    tarn_status status = load_frame_head_read(head_bytes, head_byte_count, frame_bytes, head);
    if (status != TARN_OK || viewer->phase < LOAD_JOINED) {
        end(viewer, status != TARN_OK ? "it sent a frame whose header is wrong" : "it sent a frame before `joined`");
        return false;
    }
    uint64_t now_ns = tarn_clock_monotonic_ns();
    uint32_t sequence = viewer->kind == LOAD_PUSHER ? load_frame_input_of(head, viewer->id) : 0;
    viewer->frame_bytes = frame_bytes;
    note_frame(viewer);
    check_chain(viewer);
    if (sequence != 0) {
        note_inputs_in_head(viewer, sequence, now_ns);
    }
    *room = load_checks_frame(&crowd->checks, viewer, head->kind, (size_t)frame_bytes, now_ns);
    return true;
}

static void on_first_frame(load_viewer *viewer, uint64_t now_ns)
{
    viewer->phase = LOAD_WATCHING;
    viewer->crowd->opening--;
    viewer->deaf = viewer->kind == LOAD_STALLED || viewer->kind == LOAD_HALF_OPEN;
    viewer->due_ns = now_ns;
    if (viewer->kind == LOAD_RECONNECTING) {
        viewer->due_ns += (uint64_t)(viewer->crowd->options->reconnect_s * (0.5 + draw(viewer)) * 1e9);
    } else if (viewer->kind == LOAD_PUSHER) {
        viewer->due_ns += (uint64_t)(draw(viewer) * 1e9 / viewer->crowd->options->inputs_per_s);
    }
    load_histogram_add(&group_of(viewer)->first_frame, now_ns - viewer->opened_ns);
}

static void measure_frame(load_viewer *viewer, uint64_t now_ns)
{
    load_group *group = group_of(viewer);
    if (!viewer->crowd->measuring) {
        return;
    }
    group->frames[viewer->head.kind]++;
    group->frame_bytes[viewer->head.kind] += viewer->frame_bytes;
    group->layers += viewer->head.layers;
    if (viewer->last_frame_ns != 0) {
        load_histogram_add(&group->interval, now_ns - viewer->last_frame_ns);
    }
}

static bool on_frame_end(void *user)
{
    load_viewer *viewer = user;
    uint64_t now_ns = tarn_clock_monotonic_ns();
    measure_frame(viewer, now_ns);
    viewer->last_frame_ns = now_ns;
    viewer->frame_count++;
    note_inputs_in_frame(viewer, now_ns);
    load_checks_frame_end(&viewer->crowd->checks, viewer);
    if (viewer->phase == LOAD_JOINED) {
        on_first_frame(viewer, now_ns);
    }
    if (!viewer->deaf) {
        tarn_message message = {.kind = TARN_MESSAGE_ACK,
                                .ack = {viewer->head.epoch, viewer->head.step, viewer->head.number, 0}};
        message.ack.key = load_checks_wants_key(&viewer->crowd->checks, viewer);
        tell(viewer, &message);
    } else {
        load_checks_leave(&viewer->crowd->checks, viewer);
    }
    return viewer->phase == LOAD_WATCHING && !viewer->deaf;
}

static bool on_close_frame(void *user, uint16_t code, const char *reason)
{
    load_viewer *viewer = user;
    char text[LOAD_SOCKET_WHY_BYTES];
    snprintf(text, sizeof text, "the server closed with %u%s%s", code, reason[0] != '\0' ? ": " : "", reason);
    tarn_make_printable(text);
    end(viewer, text);
    return false;
}

static const load_socket_events events_of_viewer = {on_open, on_message, on_frame, on_frame_end, on_close_frame};

static void on_poll(uv_poll_t *poll, int status, int events)
{
    load_viewer *viewer = poll->data;
    tarn_status result = TARN_OK;
    if (status < 0) {
        // The kernel knows why.
        events = viewer->phase == LOAD_OPENING ? UV_WRITABLE : UV_READABLE;
    }
    if ((events & UV_WRITABLE) != 0) {
        result = load_socket_write(&viewer->socket, &viewer->crowd->options->target);
    }
    if (result == TARN_OK && (events & UV_READABLE) != 0) {
        bool slow = viewer->kind == LOAD_SLOW;
        uint64_t before = viewer->socket.bytes_received;
        result = load_socket_read(&viewer->socket, slow ? (size_t)fmax(viewer->read_tokens, 1) : LOAD_READ_BYTES_MAX);
        viewer->read_tokens -= slow ? (double)(viewer->socket.bytes_received - before) : 0;
    }
    if (result != TARN_OK) {
        end(viewer, viewer->socket.why);
    }
    watch(viewer);
}

// ---- time ----

static void give_sign_of_life(load_viewer *viewer, uint64_t now_ns)
{
    tarn_message message = {.kind = TARN_MESSAGE_PING, .ping = {.client_time_ms = 1e-6 * (double)now_ns}};
    tell(viewer, &message);
}

/// What a viewer does that its kind does at times of its own.
static void behave(load_viewer *viewer, uint64_t now_ns)
{
    const load_options *options = viewer->crowd->options;
    switch (viewer->kind) {
    case LOAD_STALLED:
        give_sign_of_life(viewer, now_ns);
        viewer->due_ns = now_ns + LOAD_SIGN_OF_LIFE_MS * (uint64_t)MS;
        break;
    case LOAD_RECONNECTING:
        load_socket_say_close(&viewer->socket, LOAD_CLOSE_NORMAL);
        close_viewer(viewer, false);
        break;
    case LOAD_PUSHER:
        push(viewer, now_ns);
        // Irregular, or the inputs would keep step with the frames.
        viewer->due_ns = now_ns + (uint64_t)((0.5 + draw(viewer)) * (double)second_ns / options->inputs_per_s);
        break;
    default:
        viewer->due_ns = UINT64_MAX;
        break;
    }
}

void load_viewer_tick(load_viewer *viewer, uint64_t now_ns)
{
    if (viewer->phase == LOAD_IDLE && now_ns >= viewer->due_ns && viewer->crowd->opening < LOAD_OPENING_MAX &&
        !viewer->crowd->ending) {
        open_viewer(viewer, now_ns);
        return;
    }
    if (viewer->phase == LOAD_IDLE || viewer->phase >= LOAD_CLOSING) {
        return;
    }
    if (viewer->phase < LOAD_WATCHING && now_ns - viewer->opened_ns > LOAD_OPEN_MS_MAX * (uint64_t)MS) {
        end(viewer, "it took longer than 10 s");
        return;
    }
    if (viewer->kind == LOAD_SLOW) {
        double bytes_per_ns = viewer->crowd->options->slow_mbit_s * 1e6 / 8 * 1e-9;
        viewer->read_tokens =
            fmin(viewer->read_tokens + bytes_per_ns * (double)(now_ns - viewer->ticked_ns), SLOW_BURST_BYTES);
        viewer->ticked_ns = now_ns;
        watch(viewer);
    }
    if (viewer->phase == LOAD_WATCHING && now_ns >= viewer->due_ns) {
        behave(viewer, now_ns);
    }
}
