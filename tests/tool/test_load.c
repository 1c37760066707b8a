// The parts of `tarn load` that need no server: who it may load, times, what frames have to do with one another and
// which of them are decoded, and its WebSocket client against a peer that says what the test wants, in pieces of any
// size.
#include "server/tool/load/frame.h"
#include "server/tool/load/run.h"
#include "server/tool/load/socket.h"
#include "tests/protocol/golden_streams.h"
#include "tests/protocol/golden_vectors.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

// ---- targets ----

static void servers_are_named_in_many_ways(void **state)
{
    (void)state;
    static const struct {
        const char *text, *authority;
        bool loopback;
    } right[] = {
        {"127.0.0.1", "127.0.0.1:8080", true},
        {"127.8.9.1:90", "127.8.9.1:90", true},
        {"http://127.0.0.1/", "127.0.0.1:80", true},
        {"WS://127.0.0.1:9000/ws", "127.0.0.1:9000", true},
        {"https://127.0.0.1/", "127.0.0.1:443", true},
        {"wss://127.0.0.1:9443/ws", "127.0.0.1:9443", true},
        {"[::1]:7", "[::1]:7", true},
        {"http://[::1]", "[::1]:80", true},
        {"[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]:8080", true},
        {"192.0.2.7:8080", "192.0.2.7:8080", false},
        {"0.0.0.0:8080", "0.0.0.0:8080", false},
        {"[::ffff:192.0.2.7]", "[::ffff:192.0.2.7]:8080", false},
        {"[2001:db8::1]", "[2001:db8::1]:8080", false},
    };
    static const char *const wrong[] = {
        "",     ":80",     "127.0.0.1:",   "127.0.0.1:0",     "127.0.0.1:65536", "127.0.0.1:8x",
        "[::1", "[::1]80", "https://::1/", "ftp://127.0.0.1", "127.0.0.1/other"};
    char why[LOAD_TARGET_WHY_BYTES];
    load_target target;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        if (!load_target_find(right[i].text, &target, why)) {
            fail_msg("%s: %s", right[i].text, why);
        }
        assert_string_equal(target.authority, right[i].authority);
        assert_int_equal(target.loopback, right[i].loopback);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        why[0] = '\0';
        if (load_target_find(wrong[i], &target, why) || why[0] == '\0') {
            fail_msg("\"%s\" was taken", wrong[i]);
        }
    }
}

// ---- times and frames ----

static void percentiles_are_within_a_hundredth(void **state)
{
    (void)state;
    load_histogram *histogram = calloc(1, sizeof *histogram);
    assert_int_equal(load_histogram_at(histogram, 0.5), 0);
    for (uint64_t i = 1; i <= 100000; i++) {
        load_histogram_add(histogram, i * 1000);
    }
    static const double shares[] = {0.001, 0.01, 0.5, 0.9, 0.99, 0.999};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        double exact = shares[i] * 1e8, found = (double)load_histogram_at(histogram, shares[i]);
        assert_true(found > 0.99 * exact && found < 1.01 * exact);
    }
    assert_true(load_histogram_at(histogram, 1) <= 100000000 && load_histogram_at(histogram, 1) > 99000000);
    assert_int_equal(histogram->max_ns, 100000000);
    load_histogram_add(histogram, UINT64_MAX);
    assert_true(load_histogram_at(histogram, 1) > UINT64_MAX / 100 * 99);
    memset(histogram, 0, sizeof *histogram);
    load_histogram_add(histogram, 3);
    assert_int_equal(load_histogram_at(histogram, 0.5), 3);
    free(histogram);
}

static void frames_are_numbered_as_they_were_made(void **state)
{
    (void)state;
    load_frame_log *log = calloc(1, sizeof *log);
    assert_int_equal(load_frame_log_note(log, 5, 2), 1);
    assert_int_equal(load_frame_log_note(log, 5, 4), 2);
    assert_int_equal(load_frame_log_note(log, 5, 2), 1);
    assert_int_equal(load_frame_log_note(log, 5, 8), 3);
    assert_int_equal(load_frame_log_note(log, 5, 6), 3); // overtaken
    assert_int_equal(load_frame_log_note(log, 6, 0), 4); // a fresh start
    assert_int_equal(load_frame_log_note(log, 5, 9), 4);
    assert_int_equal(load_frame_log_note(log, 4, 100), 1);
    for (uint64_t step = 1; step <= 3 * LOAD_FRAME_LOG_ENTRIES; step++) {
        assert_int_equal(load_frame_log_note(log, 6, step), 4 + step);
    }
    assert_int_equal(load_frame_log_note(log, 6, 1), 5 + 2 * LOAD_FRAME_LOG_ENTRIES); // forgotten
    memset(log, 0, sizeof *log);
    assert_int_equal(load_frame_log_note(log, UINT32_MAX, 7), 1);
    assert_int_equal(load_frame_log_note(log, 0, 0), 2); // epochs wrap around
    assert_int_equal(load_frame_log_note(log, UINT32_MAX, 7), 1);
    free(log);
}

// ---- what viewers are sent ----

static load_frame_head frame_of(tarn_stream_kind kind, uint32_t number, uint32_t reference, uint64_t step)
{
    return (load_frame_head){.kind = kind, .epoch = 7, .number = number, .reference = reference, .step = step};
}

/// @return whether the chain refuses it
static bool refuses(load_chain *chain, const load_frame_head *head)
{
    return load_chain_follow(chain, head) != NULL;
}

static void a_viewer_can_decode_what_it_was_sent_before(void **state)
{
    (void)state;
    const load_frame_head key = frame_of(TARN_STREAM_KEY, 5, 5, 10), base = frame_of(TARN_STREAM_BASE, 7, 5, 12),
                          extra = frame_of(TARN_STREAM_EXTRA, 9, 7, 12);
    load_chain chain = {0};
    assert_true(refuses(&chain, &base)); // before any key frame
    assert_false(refuses(&chain, &key));
    assert_false(refuses(&chain, &base));
    assert_false(refuses(&chain, &extra));
    assert_true(refuses(&chain, &extra)); // again

    static const struct {
        tarn_stream_kind kind;
        uint32_t epoch, number, reference;
        uint64_t step;
        bool wrong;
    } next[] = {
        {TARN_STREAM_EXTRA, 7, 10, 7, 13, false}, {TARN_STREAM_BASE, 7, 10, 7, 13, false},
        {TARN_STREAM_KEY, 7, 10, 10, 13, false},  {TARN_STREAM_KEY, 8, 0, 0, 0, false},
        {TARN_STREAM_EXTRA, 7, 10, 9, 13, true},  {TARN_STREAM_BASE, 7, 10, 5, 13, true},
        {TARN_STREAM_BASE, 8, 10, 7, 13, true},   {TARN_STREAM_KEY, 7, 8, 8, 13, true},
        {TARN_STREAM_KEY, 7, 9, 9, 12, false},    {TARN_STREAM_BASE, 7, 9, 7, 12, true},
        {TARN_STREAM_KEY, 7, 10, 10, 11, true},   {TARN_STREAM_EXTRA, 7, 10, 7, 11, true},
    };
    for (size_t i = 0; i < sizeof next / sizeof next[0]; i++) {
        load_chain here = {.begun = true, .epoch = 7, .number = 9, .reference = 7, .step = 12};
        load_frame_head head = frame_of(next[i].kind, next[i].number, next[i].reference, next[i].step);
        head.epoch = next[i].epoch;
        if (refuses(&here, &head) != next[i].wrong) {
            fail_msg("case %zu", i);
        }
        load_frame_head after = frame_of(TARN_STREAM_BASE, next[i].number + 1, next[i].number, next[i].step);
        after.epoch = next[i].epoch;
        const bool is_reference =
            next[i].kind == TARN_STREAM_KEY || (next[i].kind == TARN_STREAM_BASE && !next[i].wrong);
        assert_int_equal(refuses(&here, &after), !is_reference);
    }
    load_chain wrapping = {.begun = true, .epoch = 7, .number = UINT32_MAX, .reference = UINT32_MAX};
    const load_frame_head zero = frame_of(TARN_STREAM_BASE, 0, UINT32_MAX, 0);
    assert_false(refuses(&wrapping, &zero));
}

static void golden_streams_are_read_and_decoded(void **state)
{
    (void)state;
    static uint8_t bytes[GOLDEN_BYTES_MAX];
    for (int i = 0; i < golden_stream_count(); i++) {
        size_t byte_count = golden_stream_encode(i, bytes, sizeof bytes), used = 0, frame_bytes;
        load_decoder decoder = {0}, late = {0};
        load_chain chain = {0};
        const uint8_t *frame;
        for (int k = 0; (frame = golden_stream_next(bytes, byte_count, &used, &frame_bytes)) != NULL; k++) {
            tarn_stream_frame opened;
            load_frame_head head;
            size_t head_bytes = frame_bytes < LOAD_FRAME_HEAD_BYTES_MAX ? frame_bytes : LOAD_FRAME_HEAD_BYTES_MAX;
            assert_int_equal(tarn_stream_open(frame, frame_bytes, &opened), TARN_OK);
            assert_int_equal(load_frame_head_read(frame, head_bytes, frame_bytes, &head), TARN_OK);
            assert_int_equal(head.kind, opened.head.kind);
            assert_int_equal(head.layers, opened.layers_present);
            assert_int_equal(head.number, opened.head.number);
            assert_int_equal(head.step, opened.head.step);
            assert_ptr_equal(head.inputs, opened.inputs);
            assert_int_equal(load_frame_head_read(frame, head_bytes, frame_bytes - 1, &head), TARN_E_MALFORMED);
            assert_int_equal(load_frame_head_read(frame, head_bytes, frame_bytes + 1, &head), TARN_E_MALFORMED);
            assert_null(load_chain_follow(&chain, &head));
            // Of "stream-cut" frames 1 and 4 have layers that a key or base frame before them lacked.
            const bool wrong = strcmp(golden_stream_name(i), "stream-cut") == 0 && (k == 1 || k == 4);
            const tarn_status status = load_decoder_decode(&decoder, frame, frame_bytes);
            if (status != (wrong ? TARN_E_MALFORMED : TARN_OK)) {
                fail_msg("%s, frame %d: %s", golden_stream_name(i), k, tarn_status_text(status));
            }
            if (k > 0 && opened.head.kind != TARN_STREAM_KEY && late.stream == NULL) {
                assert_int_equal(load_decoder_decode(&late, frame, frame_bytes), TARN_E_STATE);
            }
        }
        load_decoder_free(&decoder);
    }
}

/// What the checks below told and ask for.
typedef struct checked {
    uint32_t done, wrong;
    const void *turn;
} checked;

static void on_checked(void *user, tarn_status status)
{
    checked *c = user;
    c->done++;
    c->wrong += status != TARN_OK;
}

static const void *choose(void *user)
{
    return ((checked *)user)->turn;
}

/// Sends the frames of "stream-extra", of kinds k e e b e, to a viewer; `spoilt` is the number of one that is wrong.
/// @return how many were taken
static uint32_t send_stream(load_checks *checks, const void *viewer, int spoilt)
{
    static uint8_t bytes[GOLDEN_BYTES_MAX];
    size_t byte_count = golden_stream_encode(2, bytes, sizeof bytes), used = 0, frame_bytes;
    const uint8_t *frame;
    uint32_t taken = 0;
    assert_string_equal(golden_stream_name(2), "stream-extra");
    for (int i = 0; (frame = golden_stream_next(bytes, byte_count, &used, &frame_bytes)) != NULL; i++) {
        tarn_stream_frame opened;
        assert_int_equal(tarn_stream_open(frame, frame_bytes, &opened), TARN_OK);
        uint8_t *room = load_checks_frame(checks, viewer, (tarn_stream_kind)opened.head.kind, frame_bytes, 1);
        if (room == NULL) {
            continue;
        }
        taken++;
        memcpy(room, frame, frame_bytes);
        room[frame_bytes - 1] ^= i == spoilt;
        load_checks_frame_end(checks, viewer);
        uv_run(checks->loop, UV_RUN_DEFAULT);
    }
    return taken;
}

static void one_viewer_at_a_time_is_followed(void **state)
{
    (void)state;
    static const char viewers[2];
    const void *a = &viewers[0], *b = &viewers[1];
    uv_loop_t loop;
    checked told = {.turn = a};
    load_checks checks = {.loop = &loop, .every = 2, .choose = choose, .done = on_checked, .user = &told};
    assert_int_equal(uv_loop_init(&loop), 0);
    load_checks_init(&checks);
    assert_int_equal(send_stream(&checks, b, -1), 0);
    assert_int_equal(send_stream(&checks, a, -1), 5);
    assert_int_equal(told.done, 5);
    told.turn = b;
    assert_int_equal(send_stream(&checks, a, -1), 0); // its next key frame ended that
    assert_int_equal(send_stream(&checks, b, -1), 5);
    load_checks_leave(&checks, b);
    assert_int_equal(send_stream(&checks, b, -1), 5); // 25 have come: 12 may be taken
    told.turn = a;
    assert_int_equal(send_stream(&checks, b, -1), 0);
    assert_int_equal(told.wrong, 0);
    assert_int_equal(send_stream(&checks, a, 1), 2); // until what is wrong
    assert_int_equal(told.wrong, 1);
    assert_int_equal(send_stream(&checks, a, -1), 5);
    assert_int_equal(told.wrong, 1);
    assert_int_equal(checks.left_out, 0);
    load_checks_free(&checks);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void what_finds_no_room_is_left_out(void **state)
{
    (void)state;
    static const char viewer;
    uv_loop_t loop;
    checked told = {.turn = &viewer};
    load_checks checks = {.loop = &loop, .every = 1, .choose = choose, .done = on_checked, .user = &told};
    assert_int_equal(uv_loop_init(&loop), 0);
    load_checks_init(&checks);
    for (uint32_t i = 0; i < LOAD_CHECK_FRAMES_MAX; i++) { // nothing is decoded, since the loop doesn't run
        const tarn_stream_kind kind = i == 0 ? TARN_STREAM_KEY : TARN_STREAM_EXTRA;
        uint8_t *room = load_checks_frame(&checks, &viewer, kind, 100, 1);
        assert_non_null(room);
        memset(room, 0, 100);
        load_checks_frame_end(&checks, &viewer);
    }
    assert_null(load_checks_frame(&checks, &viewer, TARN_STREAM_EXTRA, 100, 1));
    assert_true(checks.following);
    assert_null(load_checks_frame(&checks, &viewer, TARN_STREAM_BASE, 100, 1));
    assert_false(checks.following);
    assert_int_equal(checks.left_out, 2);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(told.done, 1); // the first is no frame, and the others wait for nothing
    assert_int_equal(told.wrong, 1);
    load_checks_free(&checks);
    assert_int_equal(uv_loop_close(&loop), 0);
}

// ---- the client ----

enum { FRAME_BYTES = 12000, SAID_BYTES_MAX = 1 << 17 };

static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                             "Sec-WebSocket-Protocol: tarn.v1\r\n\r\n";

/// A client and its peer, and what the client told.
typedef struct pair {
    load_socket socket;
    load_target target;
    int fd; ///< the peer's
    char log[256];
    uint8_t room[FRAME_BYTES];
    bool keep; ///< frames
} pair;

static void note(pair *p, const char *what)
{
    strncat(p->log, what, sizeof p->log - strlen(p->log) - 1);
}

static bool on_open(void *user)
{
    note(user, "open ");
    return true;
}

static bool on_message(void *user, const uint8_t *bytes, size_t byte_count)
{
    char text[32];
    snprintf(text, sizeof text, "message%zu%c ", byte_count, byte_count > 0 ? bytes[0] : '-');
    note(user, text);
    return true;
}

static bool on_frame(void *user, const uint8_t *head, size_t head_bytes, uint64_t frame_bytes, uint8_t **room)
{
    pair *p = user;
    char text[48];
    assert_true(load_frame_begins(head));
    snprintf(text, sizeof text, "frame%zu/%llu ", head_bytes, (unsigned long long)frame_bytes);
    note(p, text);
    *room = p->keep && frame_bytes <= sizeof p->room ? p->room : NULL;
    return true;
}

static bool on_frame_end(void *user)
{
    note(user, "end ");
    return true;
}

static bool on_close(void *user, uint16_t code, const char *reason)
{
    char text[64];
    snprintf(text, sizeof text, "close%u(%s) ", code, reason);
    note(user, text);
    return false;
}

static const load_socket_events events = {on_open, on_message, on_frame, on_frame_end, on_close};

static void wait_for(int fd, short what)
{
    struct pollfd pollfd = {.fd = fd, .events = what};
    assert_int_equal(poll(&pollfd, 1, 20000), 1);
}

static pair *open_pair(void)
{
    pair *p = calloc(1, sizeof *p);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    char text[32], why[LOAD_TARGET_WHY_BYTES], request[2048] = "";
    assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &bytes), 0);
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(address.sin_port));
    assert_true(load_target_find(text, &p->target, why));
    assert_int_equal(load_socket_open(&p->socket, &p->target, 0, &events, p, 1), TARN_OK);
    assert_true(load_socket_wants_write(&p->socket));
    p->fd = accept(listening, NULL, NULL);
    setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    close(listening);
    wait_for(p->socket.fd, POLLOUT);
    assert_int_equal(load_socket_write(&p->socket, &p->target), TARN_OK);
    wait_for(p->fd, POLLIN);
    assert_true(recv(p->fd, request, sizeof request - 1, 0) > 0);
    assert_non_null(strstr(request, "GET /ws HTTP/1.1\r\n"));
    assert_non_null(strstr(request, "\r\nSec-WebSocket-Protocol: tarn.v1\r\n"));
    return p;
}

static void close_pair(pair *p)
{
    load_socket_close(&p->socket, false);
    close(p->fd);
    free(p);
}

/// What a peer says, put together.
typedef struct said {
    size_t byte_count;
    uint8_t bytes[SAID_BYTES_MAX];
} said;

static void say_bytes(said *what, const void *bytes, size_t byte_count)
{
    assert_true(byte_count <= sizeof what->bytes - what->byte_count);
    memcpy(what->bytes + what->byte_count, bytes, byte_count);
    what->byte_count += byte_count;
}

static void say(said *what, uint8_t first, const void *payload, size_t count)
{
    uint8_t header[10] = {first, (uint8_t)count};
    size_t header_bytes = count < 126 ? 2 : count < 65536 ? 4 : 10;
    if (header_bytes > 2) {
        header[1] = header_bytes == 4 ? 126 : 127;
        for (size_t i = 2; i < header_bytes; i++) {
            header[i] = (uint8_t)((uint64_t)count >> 8 * (header_bytes - 1 - i));
        }
    }
    say_bytes(what, header, header_bytes);
    say_bytes(what, payload, count);
}

/// Sends in pieces of a size, reading after each.
static tarn_status hear(pair *p, const said *what, size_t piece_bytes, size_t budget)
{
    tarn_status status = TARN_OK;
    for (size_t at = 0; at < what->byte_count && status == TARN_OK; at += piece_bytes) {
        size_t left = what->byte_count - at, count = left < piece_bytes ? left : piece_bytes;
        assert_int_equal(send(p->fd, what->bytes + at, count, MSG_NOSIGNAL), count);
        wait_for(p->socket.fd, POLLIN);
        int waiting;
        do {
            status = load_socket_read(&p->socket, budget);
            struct pollfd more = {.fd = p->socket.fd, .events = POLLIN};
            waiting = poll(&more, 1, 0);
        } while (status == TARN_OK && waiting > 0 && p->socket.bytes_received < at + count);
    }
    return status;
}

static void fill_frame(uint8_t frame[FRAME_BYTES])
{
    for (size_t i = 0; i < FRAME_BYTES; i++) {
        frame[i] = (uint8_t)(i * 31 + i / 256);
    }
    frame[0] = 'T';
    frame[1] = 'R';
    frame[2] = 'N';
    frame[3] = 'F';
}

static void messages_and_frames_are_told_apart_in_any_pieces(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 3, 1000, 4096, 5000, SAID_BYTES_MAX};
    static uint8_t frame[FRAME_BYTES], text[6000];
    static said what;
    fill_frame(frame);
    memset(text, 'm', sizeof text);
    what.byte_count = 0;
    say_bytes(&what, answer, sizeof answer - 1);
    say(&what, 0x82, "a", 1);
    say(&what, 0x82, "", 0);
    say(&what, 0x82, frame, FRAME_BYTES);
    say(&what, 0x82, text, 300);
    say(&what, 0x89, "ping", 4);
    say(&what, 0x82, frame, 200);
    say(&what, 0x82, text, sizeof text);
    say(&what, 0x82, frame, FRAME_BYTES);
    say(&what, 0x88,
        "\x0f\xaa"
        "bye",
        5);
    for (size_t i = 0; i < 2 * sizeof pieces / sizeof pieces[0]; i++) {
        pair *p = open_pair();
        p->keep = i % 2 == 0;
        assert_int_equal(hear(p, &what, pieces[i / 2], i % 4 < 2 ? SIZE_MAX : 100), TARN_OK);
        assert_string_equal(p->log, "open message1a message0- frame1692/12000 end message300m frame200/200 end "
                                    "message6000m frame1692/12000 end close4010(bye) ");
        assert_int_equal(p->socket.bytes_received, what.byte_count);
        if (p->keep) {
            assert_memory_equal(p->room, frame, FRAME_BYTES);
        }
        uint8_t pong[64];
        wait_for(p->fd, POLLIN);
        assert_int_equal(recv(p->fd, pong, sizeof pong, 0), 10);
        assert_int_equal(pong[0], 0x8a);
        assert_int_equal(pong[1], 0x84);
        for (size_t b = 0; b < 4; b++) {
            assert_int_equal(pong[6 + b] ^ pong[2 + b], "ping"[b]);
        }
        close_pair(p);
    }
}

static void what_is_no_websocket_of_ours_is_refused(void **state)
{
    (void)state;
    static uint8_t bytes[40000];
    static const struct {
        uint8_t first;
        size_t count;
        uint8_t mask; ///< added to the length
    } wrong[] = {{0x81, 3, 0},   {0x02, 3, 0}, {0x80, 3, 0},     {0xc2, 3, 0},   {0x83, 3, 0},
                 {0x89, 126, 0}, {0x09, 3, 0}, {0x82, 40000, 0}, {0x82, 8, 0x80}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        static said what;
        pair *p = open_pair();
        what.byte_count = 0;
        say_bytes(&what, answer, sizeof answer - 1);
        say(&what, wrong[i].first, bytes, wrong[i].count);
        what.bytes[sizeof answer] |= wrong[i].mask;
        if (hear(p, &what, SAID_BYTES_MAX, SIZE_MAX) != TARN_E_MALFORMED || p->socket.why[0] == '\0') {
            fail_msg("case %zu was taken: %s", i, p->log);
        }
        assert_string_equal(p->log, "open ");
        close_pair(p);
    }
#define SWITCHING "HTTP/1.1 101 Switching Protocols\r\n"
#define ACCEPT "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
    static const char *const answers[] = {
        "HTTP/1.1 403 Forbidden\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n\r\n",
        SWITCHING "Sec-WebSocket-Protocol: tarn.v1\r\n\r\n",
        SWITCHING ACCEPT "\r\n",
        SWITCHING ACCEPT "Sec-WebSocket-Protocol: tarn.v2\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        static said what;
        pair *p = open_pair();
        what.byte_count = 0;
        say_bytes(&what, answers[i], strlen(answers[i]));
        assert_int_equal(hear(p, &what, SAID_BYTES_MAX, SIZE_MAX), TARN_E_MALFORMED);
        assert_string_equal(p->log, "");
        close_pair(p);
    }
}

static void what_a_full_connection_does_not_take_is_refused(void **state)
{
    (void)state;
    static said what;
    pair *p = open_pair();
    what.byte_count = 0;
    say_bytes(&what, answer, sizeof answer - 1);
    assert_int_equal(hear(p, &what, SAID_BYTES_MAX, SIZE_MAX), TARN_OK);
    int small = 4096;
    setsockopt(p->socket.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    tarn_message ping = {.kind = TARN_MESSAGE_PING};
    tarn_status status = TARN_OK;
    for (int i = 0; i < 1000000 && status == TARN_OK; i++) {
        status = load_socket_tell(&p->socket, &ping);
    }
    assert_int_equal(status, TARN_E_SPACE);
    assert_true(load_socket_wants_write(&p->socket));
    assert_true(p->socket.out_count <= LOAD_SOCKET_OUT_BYTES);
    close_pair(p);
}

// ---- the metrics page ----

/// A server that answers one request, and shows the page to whoever shows this key.
static void serve_metrics(int listener, const char *key)
{
    static const char page[] = "HTTP/1.1 200 OK\r\n\r\n\ntarn_viewers 1\n",
                      refusal[] = "HTTP/1.1 403 Forbidden\r\n\r\n";
    char request[2048], wanted[1024];
    size_t have = 0;
    const int fd = accept(listener, NULL, NULL);
    while (have < sizeof request - 1 && (have < 4 || memcmp(request + have - 4, "\r\n\r\n", 4) != 0)) {
        const ssize_t got = recv(fd, request + have, sizeof request - 1 - have, 0);
        if (got <= 0) {
            break;
        }
        have += (size_t)got;
    }
    request[have] = 0;
    snprintf(wanted, sizeof wanted, "\r\nAuthorization: Bearer %s\r\n", key);
    const bool is_shown = strstr(request, wanted) != NULL;
    (void)!send(fd, is_shown ? page : refusal, is_shown ? sizeof page - 1 : sizeof refusal - 1, MSG_NOSIGNAL);
    close(fd);
}

static bool shows_metrics(const char *key, const char *shown)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    load_target target;
    load_metrics metrics;
    char text[32], why[LOAD_TARGET_WHY_BYTES];
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    const pid_t child = fork();
    if (child == 0) {
        serve_metrics(listener, key);
        _exit(0);
    }
    close(listener);
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(address.sin_port));
    assert_true(load_target_find(text, &target, why));
    const bool is_shown = load_metrics_fetch(&target, "main", shown, &metrics);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return is_shown;
}

static void the_key_opens_the_metrics_page(void **state)
{
    (void)state;
    char longest[TARN_PASS_BYTES_MAX + 1];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_true(shows_metrics("0123456789abcdef", "0123456789abcdef"));
    assert_true(shows_metrics(longest, longest));
    assert_false(shows_metrics("0123456789abcdef", "0123456789abcdee"));
    assert_false(shows_metrics("", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_are_named_in_many_ways),
        cmocka_unit_test(percentiles_are_within_a_hundredth),
        cmocka_unit_test(frames_are_numbered_as_they_were_made),
        cmocka_unit_test(a_viewer_can_decode_what_it_was_sent_before),
        cmocka_unit_test(golden_streams_are_read_and_decoded),
        cmocka_unit_test(one_viewer_at_a_time_is_followed),
        cmocka_unit_test(what_finds_no_room_is_left_out),
        cmocka_unit_test(messages_and_frames_are_told_apart_in_any_pieces),
        cmocka_unit_test(what_is_no_websocket_of_ours_is_refused),
        cmocka_unit_test(what_a_full_connection_does_not_take_is_refused),
        cmocka_unit_test(the_key_opens_the_metrics_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
