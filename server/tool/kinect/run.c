// Two threads: the camera's (camera.h), and the loop of all that is sent. Start at kinect_run, which is the last one.
//
//     mailbox -> motion_wall_planes -> code -> link -> and where somebody looks at it, the page of --show
//     a tick: interrupts, status line
#include "server/tool/kinect/run.h"
#include "protocol/motion_code.h"
#include "server/base/clock.h"
#include "server/base/text.h"
#include "server/tool/kinect/camera.h"
#include "server/tool/kinect/show.h"
#include "server/tool/load/frame.h"
#include "server/tool/load/socket.h"

#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

// ---- what people are told ----
// One write for each line, so that those of two threads don't mix.

enum { LINE_BYTES = 1024 };

void kinect_say(const char *command, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    tarn_make_printable(line);
    fprintf(stderr, "%s%s: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", command, line);
}

/// The line that is written over; nothing where standard error isn't a terminal.
static void kinect_say_status(const char *line)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%s", line);
    }
}

// ---- the link ----
// The bridge's connection to a server: joins a session as any viewer does, sends inputs, reads of frames only the head,
// and comes back by itself after a time that doubles. Everything on the loop's thread.
//
//     waiting -> opening -> joining -> joined -> closing -> waiting, twice as long, or refused
//               (upgrade)  (hello,
//                           join)
//
// A loss is said once, and once that it is over. Frames are acknowledged and thrown away by the kernel: what counts is
// their table of inputs, by which the bridge measures how late the wall is.

enum {
    KINECT_SENT_MAX = 256,
    KINECT_MESSAGE_BYTES = 256, ///< of a motion's message besides its cells, with all headers, at most
};

typedef enum kinect_link_phase {
    KINECT_LINK_WAITING = 0, ///< until the next try
    KINECT_LINK_OPENING = 1,
    KINECT_LINK_JOINING = 2,
    KINECT_LINK_JOINED = 3,
    KINECT_LINK_CLOSING = 4,
    KINECT_LINK_REFUSED = 5, ///< for good: trying again would end the same way
} kinect_link_phase;

typedef struct kinect_link {
    // set by the owner
    const char *command; ///< begins what is said
    load_target target;
    tarn_name session;
    tarn_pass key;
    tarn_name viewer;

    uv_loop_t *loop;
    uv_poll_t poll;
    uv_timer_t timer;
    load_socket socket;
    load_frame_head head;
    kinect_link_phase phase;
    int polled;
    bool said_lost, said_role, ending;
    tarn_text said_error; ///< the server's last complaint that was said, and when
    uint64_t said_error_ns;
    uint32_t unsaid_errors; ///< since then, so many that saying them would fill a log
    uint32_t wait_ms;
    uint32_t viewer_id, sequence;
    float size_m[3]; ///< of the tank; zeros: not known
    tarn_role role;

    struct {
        uint32_t sequence;
        uint64_t from_ns;    ///< when what it tells of arrived from the camera
    } sent[KINECT_SENT_MAX]; ///< not yet in a frame
    uint32_t sent_first, sent_count;
    uint64_t latency_ns, latency_max_ns; ///< from the camera to the head of a frame that has it: sum, largest
    uint32_t latency_count;
    uint64_t bytes_sent;
} kinect_link;

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

// ---- the link: what the server sends ----

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

// ---- the link: what the bridge asks ----

/// Begins to connect. The fields that the owner sets are set, the rest is zero.
static void kinect_link_start(kinect_link *link, uv_loop_t *loop)
{
    link->loop = loop;
    link->socket.fd = -1;
    link->wait_ms = WAIT_MS_MIN;
    uv_timer_init(loop, &link->timer);
    link->timer.data = link;
    try_again(&link->timer);
}

/// Whether an input may be sent now: joined, the tank's size known, nothing waits.
static bool kinect_link_ready(const kinect_link *link)
{
    return link->phase == KINECT_LINK_JOINED && link->role != TARN_ROLE_WATCH && link->size_m[0] > 0 &&
           link->socket.out_count == 0;
}

/// Sends a motion. @param from_ns  see `sent`. @return whether it went
static bool kinect_link_send(kinect_link *link, const tarn_input_motion *motion, uint64_t from_ns)
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

/// Says goodbye and closes everything; the loop then ends by itself.
static void kinect_link_end(kinect_link *link)
{
    if (link->phase == KINECT_LINK_JOINED) {
        load_socket_say_close(&link->socket, LOAD_CLOSE_NORMAL);
    }
    link->ending = true;
    close_link(link, KINECT_LINK_CLOSING);
    uv_close((uv_handle_t *)&link->timer, NULL);
}

// ---- the bridge ----

enum {
    TICK_MS = 50,
    STATUS_TICKS = 20,
    GOODBYE_TICKS = 10, ///< for the last message to be taken
    COARSER_MAX = 4,    ///< halvings of a grid whose code is too long
};

/// Of a region while no server has said how large its tank is: for the page alone.
static const float unknown_size_m[2] = {4, 3};

/// Between messages about somebody who rests; a server forgets a source after half a second.
static const uint64_t rest_period_ns = 200000000;

typedef struct bridge {
    const kinect_options *options;
    kinect_camera camera;
    kinect_calibration calibration;

    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t tick;
    kinect_link link;
    kinect_mail taken;
    motion_wall *walls[COARSER_MAX];
    motion_wall_settings wall_settings[COARSER_MAX];
    float wall_size_m[2];
    uint32_t wall_width, wall_height; ///< 0: to be made anew
    kinect_show *show;                ///< NULL: there is no page
    show_grid grid;                   ///< the newest
    bool grid_fresh;                  ///< it is of this frame
    uint8_t grid_planes[TARN_MOTION_BYTES_MAX];
    double allowance_bits;
    uint64_t allowance_ns, next_ns;
    uint32_t ticks, goodbye;
    uint32_t sent, sent_moving, people;
    uint64_t bytes_before;
    kinect_tally all; ///< of the whole run, as the status lines have counted
    uint64_t all_sent, all_latency_ns, all_latency_max_ns, all_latency_count, began_ns;
    bool empty_sent; ///< the server knows that nobody is there
    bool rest_sent;  ///< it knows that whoever is there rests
    uint64_t sent_ns;
    int status;
} bridge;

/// The rectangle in the tank.
static void find_region(const bridge *b, tarn_input_motion *motion)
{
    const kinect_options *o = b->options;
    const float *size_m = b->link.size_m;
    const float z_m = o->has_place ? o->place_m : size_m[2];
    motion->corner_m[0] = o->has_region ? o->region_m[0] : 0;
    motion->corner_m[1] = o->has_region ? o->region_m[1] : 0;
    motion->corner_m[2] = z_m;
    motion->across_m[0] = o->has_region ? o->region_m[2] : size_m[0];
    motion->up_m[1] = o->has_region ? o->region_m[3] : size_m[1];
}

/// The walls of this region and picture, each half as fine as the one before.
static bool fit_walls(bridge *b, float across_m, float up_m, uint32_t width, uint32_t height)
{
    if (b->walls[0] != NULL && b->wall_size_m[0] == across_m && b->wall_size_m[1] == up_m && b->wall_width == width &&
        b->wall_height == height) {
        return true;
    }
    b->wall_size_m[0] = across_m;
    b->wall_size_m[1] = up_m;
    b->wall_width = width;
    b->wall_height = height;
    motion_wall_settings settings = b->options->wall;
    settings.has_corners = b->calibration.has_corners;
    memcpy(settings.corners, b->calibration.corners, sizeof settings.corners);
    settings.mirror = b->calibration.mirror;
    settings.turns = b->calibration.turns;
    settings.width = width;
    settings.height = height;
    settings.across_m = across_m;
    settings.up_m = up_m;
    bool whole = true;
    for (int i = 0; i < COARSER_MAX; i++) {
        motion_wall_free(b->walls[i]);
        b->wall_settings[i] = settings;
        b->walls[i] = motion_wall_make(&settings);
        whole &= b->walls[i] != NULL;
        settings.columns = (settings.columns + 1) / 2;
        settings.rows = (settings.rows + 1) / 2;
    }
    return whole;
}

/// As fine as its code has room. @return how many cells move; `*somebody`: any holds somebody
static size_t code_cells(bridge *b, const motion_result *result, tarn_input_motion *motion, uint8_t *code,
                         bool *somebody)
{
    *somebody = false;
    uint8_t *planes = b->grid_planes;
    b->grid = (show_grid){.planes = planes};
    b->grid_fresh = true;
    for (int i = 0; i < COARSER_MAX; i++) {
        const motion_wall_settings *settings = &b->wall_settings[i];
        const size_t count = (size_t)settings->columns * settings->rows;
        const size_t moving = motion_wall_planes(b->walls[i], result, planes, &motion->speed_m_s);
        const size_t bytes = tarn_motion_encode(planes, TARN_MOTION_PLANES * count, code, TARN_MOTION_CODE_BYTES_MAX);
        if (bytes > 0) {
            motion->columns = settings->columns;
            motion->rows = settings->rows;
            motion->cells = code;
            motion->cell_bytes = (uint32_t)bytes;
            b->grid.columns = settings->columns;
            b->grid.rows = settings->rows;
            b->grid.speed_m_s = motion->speed_m_s;
            *somebody = tarn_motion_has(code, bytes, 0);
            return moving;
        }
    }
    return 0;
}

/// Whether so many bytes may be sent now; the allowance of a second gathers at most.
static bool allowed(bridge *b, size_t bytes, uint64_t now_ns)
{
    const double most = KINECT_MBIT_S * 1e6;
    b->allowance_bits = fmin(most, b->allowance_bits + most * (double)(now_ns - b->allowance_ns) * 1e-9);
    b->allowance_ns = now_ns;
    const double bits = 8.0 * (double)(bytes + KINECT_MESSAGE_BYTES);
    if (b->allowance_bits < bits) {
        return false;
    }
    b->allowance_bits -= bits;
    return true;
}

static void begin_motion(const bridge *b, tarn_input_motion *motion)
{
    *motion = (tarn_input_motion){.source = b->options->number,
                                  .columns = 1,
                                  .rows = 1,
                                  .depth_m = b->options->depth_m,
                                  .speed_m_s = 1,
                                  .strength = b->options->strength,
                                  .solid = b->options->solid};
    find_region(b, motion);
}

/// fit_walls, which ends the bridge where it can't be done.
static bool make_walls(bridge *b, float across_m, float up_m)
{
    const uint32_t width = b->taken.width, height = b->taken.height;
    if (fit_walls(b, across_m, up_m, width, height)) {
        return true;
    }
    kinect_say(b->options->command, "the wall's corners don't fit a picture of %u x %u pixels, or memory is out", width,
               height);
    b->status = EXIT_FAILURE;
    b->goodbye = 1;
    return false;
}

static void send_motion(bridge *b)
{
    static uint8_t code[TARN_MOTION_CODE_BYTES_MAX];
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    tarn_input_motion motion;
    b->people = b->taken.result.person_count;
    // Frames come a little early or late; over time there are no more than the rate.
    const uint64_t period_ns = 1000000000u / b->options->rate;
    if (!kinect_link_ready(&b->link) || now_ns + period_ns / 2 < b->next_ns) {
        return;
    }
    begin_motion(b, &motion);
    if (!make_walls(b, motion.across_m[0], motion.up_m[1])) {
        return;
    }
    bool somebody;
    const size_t moving = code_cells(b, &b->taken.result, &motion, code, &somebody);
    const bool rests = somebody && moving == 0 && !motion.solid;
    b->sent_moving = (uint32_t)moving;
    if (!somebody) {
        motion.cell_bytes = 0; // said once, and then nothing until somebody comes
    }
    // Who rests carries nothing along: that is said, and then only often enough for the server not to forget it.
    if ((!somebody && b->empty_sent) || (rests && b->rest_sent && now_ns < b->sent_ns + rest_period_ns)) {
        return;
    }
    if (!allowed(b, motion.cell_bytes, now_ns) || !kinect_link_send(&b->link, &motion, b->taken.arrived_ns)) {
        return;
    }
    b->empty_sent = !somebody;
    b->rest_sent = rests;
    b->sent_ns = now_ns;
    b->sent++;
    b->next_ns = (b->next_ns + period_ns > now_ns ? b->next_ns : now_ns - period_ns) + period_ns;
}

static bool goes_out(const bridge *b)
{
    return b->link.phase == KINECT_LINK_JOINED && b->link.role != TARN_ROLE_WATCH;
}

/// The newest frame for the page. Without a server the grid is what would be sent.
static void show_frame(bridge *b)
{
    static uint8_t code[TARN_MOTION_CODE_BYTES_MAX];
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    atomic_store(&b->camera.looks, kinect_show_looks(b->show, now_ns));
    if (!b->taken.has_planes || !kinect_show_due(b->show, now_ns)) {
        return;
    }
    if (!b->grid_fresh && !goes_out(b)) {
        tarn_input_motion motion;
        begin_motion(b, &motion);
        const float across_m = motion.across_m[0] > 0 ? motion.across_m[0] : unknown_size_m[0];
        const float up_m = motion.up_m[1] > 0 ? motion.up_m[1] : unknown_size_m[1];
        if (!make_walls(b, across_m, up_m)) {
            return;
        }
        bool somebody;
        b->sent_moving = (uint32_t)code_cells(b, &b->taken.result, &motion, code, &somebody);
    }
    b->grid.goes_out = goes_out(b);
    kinect_show_picture(b->show, b->taken.planes, &b->taken.result, &b->grid, now_ns);
}

/// What the page has changed counts from the next frame on.
static void on_changed(void *user, const kinect_calibration *calibration)
{
    bridge *b = user;
    b->calibration = *calibration;
    kinect_camera_limit(&b->camera, calibration);
    b->wall_width = 0;
}

static void on_wake(uv_async_t *wake)
{
    bridge *b = wake->data;
    const kinect_camera_state state = kinect_camera_is(&b->camera);
    if (kinect_camera_take(&b->camera, &b->taken) && b->goodbye == 0) {
        b->grid_fresh = false;
        send_motion(b);
        show_frame(b);
    }
    if ((state == KINECT_CAMERA_THROUGH || state == KINECT_CAMERA_FAILED) && b->goodbye == 0) {
        b->status = state == KINECT_CAMERA_FAILED ? EXIT_FAILURE : b->status;
        b->goodbye = 1;
    }
}

/// Takes what was counted since the last time over into that of the whole run.
static kinect_tally take_tally(bridge *b)
{
    kinect_link *link = &b->link;
    const kinect_tally t = kinect_camera_count(&b->camera);
    b->all.frames += t.frames;
    b->all.bad += t.bad;
    b->all.find_ns += t.find_ns;
    b->all_sent += b->sent;
    b->all_latency_ns += link->latency_ns;
    b->all_latency_count += link->latency_count;
    b->all_latency_max_ns = link->latency_max_ns > b->all_latency_max_ns ? link->latency_max_ns : b->all_latency_max_ns;
    return t;
}

static void forget_tally(bridge *b)
{
    b->sent = 0;
    b->bytes_before = b->link.bytes_sent;
    b->link.latency_ns = b->link.latency_max_ns = 0;
    b->link.latency_count = 0;
}

/// What the run was, on standard output.
static void print_summary(bridge *b)
{
    take_tally(b);
    const double seconds = (double)(tarn_clock_monotonic_ns() - b->began_ns) * 1e-9;
    printf("%u frames in %.1f s, %u wrong, %.2f ms each; %llu messages, %.3f Mbit/s", b->all.frames, seconds,
           b->all.bad, b->all.frames > 0 ? (double)b->all.find_ns / b->all.frames * 1e-6 : 0,
           (unsigned long long)b->all_sent, (double)b->link.bytes_sent * 8e-6 / seconds);
    if (b->all_latency_count > 0) {
        printf("; in a frame after %.1f ms, at most %.1f",
               (double)b->all_latency_ns / (double)b->all_latency_count * 1e-6, (double)b->all_latency_max_ns * 1e-6);
    }
    printf("\n");
}

static void describe_link(const bridge *b, char sentence[2 * DEPTH_WHY_BYTES])
{
    const kinect_link *link = &b->link;
    snprintf(sentence, 2 * DEPTH_WHY_BYTES, "%s %.300s%s",
             link->phase == KINECT_LINK_JOINED ? "connected to" : "no connection to", link->target.authority,
             link->phase != KINECT_LINK_JOINED ? "; trying again"
             : link->role == TARN_ROLE_WATCH   ? ", but may only watch: --key takes the key of a link for playing"
                                               : "");
}

/// @param t  of the last seconds
static void show_figures_of(bridge *b, const kinect_tally *t, double seconds)
{
    char camera[2 * DEPTH_WHY_BYTES], server[2 * DEPTH_WHY_BYTES];
    const kinect_link *link = &b->link;
    kinect_camera_describe(&b->camera, &b->taken, camera);
    describe_link(b, server);
    kinect_show_figures(b->show, &(show_figures){.frames_s = t->frames / seconds,
                                                 .find_ms = t->frames > 0 ? (double)t->find_ns / t->frames * 1e-6 : 0,
                                                 .wrong = t->bad,
                                                 .people = b->people,
                                                 .cells = b->sent_moving,
                                                 .sent_s = b->sent / seconds,
                                                 .bits_s = (double)(link->bytes_sent - b->bytes_before) * 8 / seconds,
                                                 .latency_ms = link->latency_count > 0 ? (double)link->latency_ns /
                                                                                             link->latency_count * 1e-6
                                                                                       : -1,
                                                 .camera = camera,
                                                 .link = server});
}

static void show_status(bridge *b)
{
    char line[512], late[64] = "";
    kinect_link *link = &b->link;
    const kinect_tally t = take_tally(b);
    const double seconds = STATUS_TICKS * TICK_MS * 1e-3;
    if (link->latency_count > 0) {
        snprintf(late, sizeof late, ", in a frame after %.0f ms (most %.0f)",
                 (double)link->latency_ns / link->latency_count * 1e-6, (double)link->latency_max_ns * 1e-6);
    }
    snprintf(line, sizeof line, "%.0f frames/s, %.1f ms each%s; %u there, %u cells; %u sent/s, %.2f Mbit/s%s%s",
             t.frames / seconds, t.frames > 0 ? (double)t.find_ns / t.frames * 1e-6 : 0,
             t.bad > 0 ? ", some wrong" : "", b->people, b->sent_moving, (uint32_t)(b->sent / seconds),
             (double)(link->bytes_sent - b->bytes_before) * 8e-6 / seconds, late,
             link->phase == KINECT_LINK_JOINED ? "" : "; no connection");
    if (!b->options->quiet) {
        kinect_say_status(line);
    }
    if (b->show != NULL) {
        show_figures_of(b, &t, seconds);
    }
    forget_tally(b);
}

/// Says that the source is gone, then ends the connection, then the loop.
static void say_goodbye(bridge *b)
{
    if (b->goodbye == 1) {
        kinect_camera_stop(&b->camera);
        if (kinect_link_ready(&b->link)) {
            tarn_input_motion motion;
            begin_motion(b, &motion);
            kinect_link_send(&b->link, &motion, tarn_clock_monotonic_ns());
        }
    }
    const bool waits = b->link.phase == KINECT_LINK_JOINED && load_socket_wants_write(&b->link.socket);
    if (b->goodbye++ > 1 && (!waits || b->goodbye > GOODBYE_TICKS)) {
        kinect_link_end(&b->link);
        kinect_show_close(b->show);
        uv_close((uv_handle_t *)&b->tick, NULL);
        uv_close((uv_handle_t *)&b->wake, NULL);
    }
}

static void on_tick(uv_timer_t *tick)
{
    bridge *b = tick->data;
    if (b->goodbye == 0 && b->options->interrupted()) {
        b->goodbye = 1;
    }
    if (b->goodbye == 0 && b->link.phase == KINECT_LINK_REFUSED) {
        b->status = EXIT_FAILURE;
        b->goodbye = 1;
    }
    if (b->goodbye > 0) {
        say_goodbye(b);
    } else if (++b->ticks % STATUS_TICKS == 0) {
        show_status(b);
    }
}

/// The options' calibration; the page may change it.
static void take_calibration(bridge *b)
{
    const kinect_options *o = b->options;
    b->calibration = (kinect_calibration){.has_corners = o->wall.has_corners,
                                          .near_m = o->motion.near_m,
                                          .far_m = o->motion.far_m,
                                          .dead_zone_m_s = o->motion.dead_zone_m_s,
                                          .mirror = o->wall.mirror,
                                          .turns = o->wall.turns};
    memcpy(b->calibration.corners, o->wall.corners, sizeof b->calibration.corners);
}

static bool open_show(bridge *b)
{
    const kinect_options *o = b->options;
    b->show = kinect_show_open(
        &b->loop,
        &(kinect_show_choice){
            .command = o->command, .port = o->show_port, .file = o->calibration, .user = b, .changed = on_changed},
        &b->calibration);
    return b->show != NULL;
}

int kinect_run(const kinect_options *options)
{
    bridge *b = calloc(1, sizeof *b);
    if (b == NULL || uv_loop_init(&b->loop) != 0) {
        kinect_say(options->command, "out of memory");
        free(b);
        return EXIT_FAILURE;
    }
    b->options = options;
    b->allowance_ns = b->began_ns = tarn_clock_monotonic_ns();
    take_calibration(b);
    if (options->show && !open_show(b)) {
        uv_loop_close(&b->loop);
        free(b);
        return EXIT_FAILURE;
    }
    uv_async_init(&b->loop, &b->wake, on_wake);
    uv_timer_init(&b->loop, &b->tick);
    b->wake.data = b->tick.data = b;
    uv_timer_start(&b->tick, on_tick, TICK_MS, TICK_MS);

    kinect_link *link = &b->link;
    link->command = options->command;
    link->target = options->target;
    memcpy(link->session, options->session, sizeof link->session);
    memcpy(link->key, options->key, sizeof link->key);
    snprintf(link->viewer, sizeof link->viewer, "depth camera");
    kinect_link_start(link, &b->loop);
    b->camera.command = options->command;
    b->camera.source = options->source;
    b->camera.motion = options->motion;
    b->camera.shows = b->show != NULL;
    b->camera.wake = &b->wake;
    if (!kinect_camera_start(&b->camera)) {
        b->status = EXIT_FAILURE;
        b->goodbye = 1;
    }
    uv_run(&b->loop, UV_RUN_DEFAULT);
    kinect_say_status("");
    kinect_camera_end(&b->camera);
    kinect_show_free(b->show);
    uv_loop_close(&b->loop);
    print_summary(b);
    const int status = b->status;
    for (int i = 0; i < COARSER_MAX; i++) {
        motion_wall_free(b->walls[i]);
    }
    kinect_mail_free(&b->taken);
    kinect_camera_free(&b->camera);
    free(b);
    return status;
}
