// The life of the connection:
//
//     waiting -> opening -> joining -> joined -> closing -> waiting, twice as long, or refused
//               (upgrade)  (hello,
//                           join)
//
// A loss is said once, and once that it is over. Frames are acknowledged and thrown away by the kernel: what counts is
// their table of inputs, by which the bridge measures how late the wall is.
#include "server/tool/kinect/kinect_link.h"
#include "server/common/clock.h"
#include "server/tool/kinect/kinect_say.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
    WAIT_MS_MIN = 500,
    WAIT_MS_MAX = 10000,
    JOIN_MS_MAX = 10000, ///< from the first packet until the session is joined
    DEAD_MS_MAX = 10000, ///< without an answer of the peer's kernel
    READ_BYTES = 1 << 20,
};

/// Between two different complaints of a server that are said.
static const uint64_t said_ns_min = 1000000000;

static const load_socket_events link_events;
static void try_again(uv_timer_t *timer);

static void wait_and_try(kinect_link *link)
{
    link->phase = KINECT_LINK_WAITING;
    uv_timer_start(&link->timer, try_again, link->wait_ms, 0);
    link->wait_ms = 2 * link->wait_ms < WAIT_MS_MAX ? 2 * link->wait_ms : WAIT_MS_MAX;
}

static void say_lost(kinect_link *link, const char *why)
{
    if (!link->said_lost && !link->ending) {
        kinect_say(link->command, "no connection to %s: %s; trying again", link->target.authority, why);
        link->said_lost = true;
    }
}

static void on_closed(uv_handle_t *handle)
{
    kinect_link *link = handle->data;
    load_socket_close(&link->socket, false);
    if (link->ending || link->phase == KINECT_LINK_REFUSED) {
        return;
    }
    wait_and_try(link);
}

static void close_link(kinect_link *link, kinect_link_phase phase)
{
    if (link->phase == KINECT_LINK_OPENING || link->phase == KINECT_LINK_JOINING || link->phase == KINECT_LINK_JOINED) {
        uv_close((uv_handle_t *)&link->poll, on_closed);
    }
    link->phase = phase;
    link->sent_count = 0;
}

/// The connection is over although nobody here wanted that.
static void lose(kinect_link *link, const char *why)
{
    if (link->phase >= KINECT_LINK_CLOSING || link->phase == KINECT_LINK_WAITING) {
        return;
    }
    say_lost(link, why);
    uv_timer_stop(&link->timer);
    close_link(link, KINECT_LINK_CLOSING);
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void watch(kinect_link *link)
{
    if (link->phase < KINECT_LINK_OPENING || link->phase > KINECT_LINK_JOINED) {
        return;
    }
    const int events = UV_READABLE | (load_socket_wants_write(&link->socket) ? UV_WRITABLE : 0);
    if (events != link->polled) {
        link->polled = events;
        uv_poll_start(&link->poll, events, on_poll);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    kinect_link *link = poll->data;
    tarn_status result = TARN_OK;
    // The loop says that something is wrong, and the socket what.
    if (status < 0 || (events & UV_WRITABLE) != 0) {
        result = load_socket_write(&link->socket, &link->target);
    }
    if (result == TARN_OK && status < 0) {
        result = TARN_E_IO;
    }
    if (result == TARN_OK && (events & UV_READABLE) != 0) {
        result = load_socket_read(&link->socket, READ_BYTES);
    }
    if (result != TARN_OK) {
        lose(link, link->socket.why[0] != '\0' ? link->socket.why : uv_strerror(status));
    } else {
        watch(link);
    }
}

static void on_no_answer(uv_timer_t *timer)
{
    lose(timer->data, "it doesn't answer");
}

/// A network that is cut says nothing, and the bridge may have nothing to send: the kernel asks.
static void keep_alive(int fd)
{
    const int on = 1, idle_s = 5, every_s = 2, count = 3;
    const unsigned dead_ms = DEAD_MS_MAX;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof dead_ms);
}

static void try_again(uv_timer_t *timer)
{
    kinect_link *link = timer->data;
    const tarn_status status =
        load_socket_open(&link->socket, &link->target, 0, &link_events, link, tarn_clock_monotonic_ns());
    link->phase = KINECT_LINK_OPENING;
    link->polled = 0;
    if (status != TARN_OK || uv_poll_init(link->loop, &link->poll, link->socket.fd) != 0) {
        say_lost(link, status != TARN_OK && link->socket.why[0] != '\0' ? link->socket.why : "no socket can be opened");
        if (status == TARN_OK) {
            load_socket_close(&link->socket, false);
        }
        wait_and_try(link);
        return;
    }
    keep_alive(link->socket.fd);
    uv_timer_start(&link->timer, on_no_answer, JOIN_MS_MAX, 0);
    link->poll.data = link;
    watch(link);
}

static bool tell(kinect_link *link, const tarn_message *message)
{
    if (load_socket_tell(&link->socket, message) != TARN_OK) {
        lose(link, link->socket.why);
        return false;
    }
    watch(link);
    return true;
}

// ---- what the server sends ----

static bool on_open(void *user)
{
    kinect_link *link = user;
    tarn_message message = {.kind = TARN_MESSAGE_HELLO};
    message.hello.version_count = 1;
    message.hello.versions[0] = TARN_PROTOCOL_VERSION;
    snprintf(message.hello.client, sizeof message.hello.client, "tarn kinect " TARN_VERSION);
    link->phase = KINECT_LINK_JOINING;
    return tell(link, &message);
}

static bool join(kinect_link *link)
{
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    memcpy(message.join.session, link->session, sizeof message.join.session);
    memcpy(message.join.key, link->key, sizeof message.join.key);
    memcpy(message.join.viewer, link->viewer, sizeof message.join.viewer);
    return tell(link, &message); // and no ceiling: below one the server leaves out frames, by which latency is measured
}

static void on_joined(kinect_link *link, const tarn_joined *joined)
{
    link->phase = KINECT_LINK_JOINED;
    link->viewer_id = joined->viewer_id;
    link->role = joined->role;
    link->sequence = 0;
    link->wait_ms = WAIT_MS_MIN;
    uv_timer_stop(&link->timer);
    memcpy(link->size_m, joined->state.size_m, sizeof link->size_m);
    if (link->said_lost) {
        kinect_say(link->command, "connected to %s again", link->target.authority);
        link->said_lost = false;
    }
    if (joined->role == TARN_ROLE_WATCH && !link->said_role) {
        kinect_say(
            link->command,
            "found the role \"watch\" in the session \"%s\", allowed are play and own: --key takes the key of a link "
            "for playing",
            joined->session);
        link->said_role = true;
    }
}

/// What trying again wouldn't change ends the bridge.
static void on_error(kinect_link *link, const tarn_error *error)
{
    const bool for_good =
        error->code == TARN_ERROR_KEY || error->code == TARN_ERROR_SESSION || error->code == TARN_ERROR_VERSION;
    const bool is_said = error->code == TARN_ERROR_ROLE ? link->said_role : strcmp(link->said_error, error->text) == 0;
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (!for_good && !is_said && now_ns < link->said_error_ns + said_ns_min) {
        link->unsaid_errors++;
    } else if (for_good || !is_said) {
        if (link->unsaid_errors > 0) {
            kinect_say(link->command, "the server complained %u times more in between", link->unsaid_errors);
        }
        kinect_say(link->command, "the server said: %s", error->text);
        snprintf(link->said_error, sizeof link->said_error, "%s", error->text);
        link->said_error_ns = now_ns;
        link->unsaid_errors = 0;
    }
    if (for_good) {
        close_link(link, KINECT_LINK_REFUSED);
    } else if (error->code == TARN_ERROR_ROLE) {
        link->said_role = true;
    }
}

static bool on_message(void *user, const uint8_t *bytes, size_t byte_count)
{
    kinect_link *link = user;
    static tarn_message message;
    tarn_text why = "";
    const tarn_status status = tarn_message_read(bytes, byte_count, &message, &why);
    if (status == TARN_E_UNKNOWN_KIND) {
        return true;
    }
    if (status != TARN_OK || tarn_message_from_client(message.kind)) {
        lose(link, "it sent a wrong message");
    } else if (message.kind == TARN_MESSAGE_WELCOME && link->phase == KINECT_LINK_JOINING) {
        join(link);
    } else if (message.kind == TARN_MESSAGE_JOINED && link->phase == KINECT_LINK_JOINING) {
        on_joined(link, &message.joined);
    } else if (message.kind == TARN_MESSAGE_STATE) {
        memcpy(link->size_m, message.state.size_m, sizeof link->size_m);
    } else if (message.kind == TARN_MESSAGE_ERROR) {
        on_error(link, &message.error);
    }
    return link->phase >= KINECT_LINK_OPENING && link->phase <= KINECT_LINK_JOINED;
}

/// A frame contains what was sent up to a number.
static void note_latency(kinect_link *link, uint32_t sequence)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    while (link->sent_count > 0 && link->sent[link->sent_first].sequence <= sequence) {
        // Of several that came between two frames the newest counts; the others were merged.
        const uint32_t next = (link->sent_first + 1) % KINECT_SENT_MAX;
        if (link->sent_count == 1 || link->sent[next].sequence > sequence) {
            const uint64_t late_ns = now_ns - link->sent[link->sent_first].from_ns;
            link->latency_ns += late_ns;
            link->latency_max_ns = late_ns > link->latency_max_ns ? late_ns : link->latency_max_ns;
            link->latency_count++;
        }
        link->sent_first = next;
        link->sent_count--;
    }
}

static bool on_frame(void *user, const uint8_t *head, size_t head_bytes, uint64_t frame_bytes, uint8_t **room)
{
    kinect_link *link = user;
    *room = NULL;
    if (link->phase != KINECT_LINK_JOINED ||
        load_frame_head_read(head, head_bytes, frame_bytes, &link->head) != TARN_OK) {
        lose(link, "it sent a frame whose header is wrong");
        return false;
    }
    note_latency(link, load_frame_input_of(&link->head, link->viewer_id));
    return true;
}

static bool on_frame_end(void *user)
{
    kinect_link *link = user;
    tarn_message message = {.kind = TARN_MESSAGE_ACK};
    message.ack.epoch = link->head.epoch;
    message.ack.step = link->head.step;
    message.ack.number = link->head.number;
    return tell(link, &message);
}

static bool on_said_close(void *user, uint16_t code, const char *reason)
{
    kinect_link *link = user;
    char why[LOAD_TARGET_WHY_BYTES];
    snprintf(why, sizeof why, "it closes with %u%s%.200s", code, reason[0] != '\0' ? ": " : "", reason);
    lose(link, why);
    return false;
}

static const load_socket_events link_events = {on_open, on_message, on_frame, on_frame_end, on_said_close};

// ---- for the owner ----

void kinect_link_start(kinect_link *link, uv_loop_t *loop)
{
    link->loop = loop;
    link->socket.fd = -1;
    link->wait_ms = WAIT_MS_MIN;
    uv_timer_init(loop, &link->timer);
    link->timer.data = link;
    try_again(&link->timer);
}

bool kinect_link_ready(const kinect_link *link)
{
    return link->phase == KINECT_LINK_JOINED && link->role != TARN_ROLE_WATCH && link->size_m[0] > 0 &&
           link->socket.out_count == 0;
}

bool kinect_link_send(kinect_link *link, const tarn_input_motion *motion, uint64_t from_ns)
{
    static tarn_message message;
    memset(&message, 0, sizeof message);
    message.kind = TARN_MESSAGE_INPUT;
    message.input.sequence = ++link->sequence;
    message.input.kind = TARN_INPUT_MOTION;
    message.input.motion = *motion;
    if (!tell(link, &message)) {
        return false;
    }
    if (link->sent_count == KINECT_SENT_MAX) {
        link->sent_first = (link->sent_first + 1) % KINECT_SENT_MAX;
        link->sent_count--;
    }
    const uint32_t entry = (link->sent_first + link->sent_count++) % KINECT_SENT_MAX;
    link->sent[entry].sequence = link->sequence;
    link->sent[entry].from_ns = from_ns;
    link->bytes_sent += motion->cell_bytes + KINECT_MESSAGE_BYTES;
    return true;
}

void kinect_link_end(kinect_link *link)
{
    if (link->phase == KINECT_LINK_JOINED) {
        load_socket_say_close(&link->socket, LOAD_CLOSE_NORMAL);
    }
    link->ending = true;
    close_link(link, KINECT_LINK_CLOSING);
    uv_close((uv_handle_t *)&link->timer, NULL);
}
