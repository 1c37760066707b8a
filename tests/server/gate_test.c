// The gate between sockets and libwebsockets, on bytes from memory and with clocks made up: what is passed on however
// the bytes come, and when time is over; and whom a request comes from.
#include "server/base/clock.h"
#include "server/net/gate.h"
#include "server/net/proxies.h"
#include "tests/server/test_cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct byte_source {
    const char *bytes;
    size_t left, piece;
    bool ends; ///< instead of having no more for now
} byte_source;

static ssize_t read_source(void *from, void *bytes, size_t byte_count)
{
    byte_source *source = from;
    if (source->left == 0) {
        errno = EAGAIN;
        return source->ends ? 0 : -1;
    }
    size_t count = source->left < byte_count ? source->left : byte_count;
    count = count < source->piece ? count : source->piece;
    memcpy(bytes, source->bytes, count);
    source->bytes += count;
    source->left -= count;
    return (ssize_t)count;
}

static tarn_gate gate;
static char passed[2 * TARN_GATEWAY_READ_BYTES];
static tarn_ws_fault faulty;

static void on_fault(void *user, const tarn_ws_fault *fault)
{
    (void)user;
    faulty = *fault;
}

static void begin(void)
{
    tarn_gate_close(&gate);
    memset(&faulty, 0, sizeof faulty);
    tarn_gate_open(&gate, 3, tarn_clock_monotonic_ns(), on_fault, NULL);
}

/// @return as the gate
static ssize_t give(const char *bytes, size_t byte_count, size_t piece)
{
    byte_source from = {bytes, byte_count, piece, false};
    const ssize_t got = tarn_gate_read(&gate, read_source, &from, passed, TARN_GATEWAY_READ_BYTES);
    passed[got > 0 ? got : 0] = 0;
    return got;
}

static ssize_t give_text(const char *text)
{
    return give(text, strlen(text), SIZE_MAX);
}

static const char post[] = "POST /sessions?a=b HTTP/1.1\r\nCookie: secret\r\nhost:  a \r\nContent-Length: 007\r\n"
                           "Content-Type: application/json\r\nX-Other: b\r\n\r\n{\"a\":1}";
static const char post_passed[] = "POST /sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                                  "Content-Length: 7\r\n\r\n{\"a\":1}";
static const char upgrade[] = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                              "Sec-WebSocket-Protocol: tarn.v1\r\n\r\n";

static void test_a_request_is_passed_on_whole_and_anew(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= sizeof post; piece++) {
        begin();
        assert_int_equal(give(post, sizeof post - 1, piece), sizeof post_passed - 1);
        assert_string_equal(passed, post_passed);
        assert_int_equal(gate.phase, TARN_GATE_ANSWERING);
    }
    // In two reads of libwebsockets, cut anywhere.
    for (size_t cut = 1; cut < sizeof post - 1; cut++) {
        begin();
        assert_int_equal(give(post, cut, SIZE_MAX), -1);
        assert_int_equal(errno, EAGAIN);
        assert_int_equal(give(post + cut, sizeof post - 1 - cut, SIZE_MAX), sizeof post_passed - 1);
        assert_string_equal(passed, post_passed);
        assert_false(gate.is_overrun);
    }
}

/// Fields at their longest are passed on whole, and one byte more is refused.
static void test_fields_are_passed_on_up_to_their_limits(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int bytes_max;
    } fields[] = {{"Host", TARN_GATEWAY_FIELD_BYTES_MAX},
                  {"Origin", TARN_GATEWAY_FIELD_BYTES_MAX},
                  {"Content-Type", TARN_GATEWAY_FIELD_BYTES_MAX},
                  {"Authorization", TARN_GATEWAY_AUTHORIZATION_BYTES_MAX},
                  {"If-None-Match", TARN_GATEWAY_FIELD_BYTES_MAX}};
    enum { FIELDS = sizeof fields / sizeof fields[0] };
    static char text[2 * TARN_GATEWAY_HEADER_BYTES_MAX], line[600], long_text[TARN_GATEWAY_TARGET_BYTES_MAX + 1];
    memset(long_text, 'a', sizeof long_text - 1);
    for (int longer = 0; longer <= FIELDS; longer++) { // the last: none is longer
        size_t used = (size_t)snprintf(text, sizeof text, "GET /%s HTTP/1.1\r\n", long_text + 1);
        for (int i = 0; i < FIELDS; i++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s: %.*s\r\n", fields[i].name,
                                     fields[i].bytes_max + (i == longer), long_text);
        }
        snprintf(text + used, sizeof text - used, "\r\n");
        begin();
        assert_true(give_text(text) > 0);
        // That one is left away: without it the page is sent once more.
        const bool is_refused = longer < FIELDS && strcmp(fields[longer].name, "If-None-Match") != 0;
        assert_int_equal(gate.head.status, is_refused ? 431 : 0);
        for (int i = 0; i < FIELDS && !is_refused; i++) {
            snprintf(line, sizeof line, "\r\n%s: %.*s\r\n", fields[i].name, fields[i].bytes_max, long_text);
            assert_int_equal(strstr(passed, line) != NULL, i != longer);
        }
    }
    tarn_gate_close(&gate);
}

/// A head has so many fields, and so many bytes, and not one more.
static void test_heads_have_limits(void **state)
{
    (void)state;
    static char text[2 * TARN_GATEWAY_HEAD_BYTES_MAX];
    for (int more = 0; more < 2; more++) {
        size_t used = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n");
        for (int i = 1; i < TARN_GATEWAY_FIELDS_MAX + more; i++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "A: b\r\n");
        }
        snprintf(text + used, sizeof text - used, "\r\n");
        begin();
        assert_true(give_text(text) > 0);
        assert_int_equal(gate.head.status, more ? 431 : 0);
    }
    size_t used = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\nA: ");
    memset(text + used, 'a', sizeof text - used);
    begin();
    assert_int_equal(give(text, TARN_GATEWAY_HEAD_BYTES_MAX - 1, SIZE_MAX), -1);
    assert_int_equal(errno, EAGAIN);
    assert_true(give(text + TARN_GATEWAY_HEAD_BYTES_MAX - 1, 1, SIZE_MAX) > 0);
    assert_int_equal(gate.head.status, 431);
    tarn_gate_close(&gate);
}

/// What a file that comes as br, as gzip and as it is is sent as; and one that comes as gzip and as it is.
static void test_codings_are_chosen_by_what_is_liked_best(void **state)
{
    (void)state;
    enum { BR = TARN_CODING_BROTLI, GZ = TARN_CODING_GZIP, PLAIN = TARN_CODING_IDENTITY, NONE = TARN_CODING_COUNT };
    static const struct {
        const char *fields;
        int of_all, of_two, of_one;
    } cases[] = {
        {"", PLAIN, PLAIN, PLAIN},
        {"Accept-Encoding:\r\n", PLAIN, PLAIN, PLAIN},
        {"Accept-Encoding: gzip, deflate, br, zstd\r\n", BR, GZ, PLAIN},
        {"Accept-Encoding: gzip, deflate\r\n", GZ, GZ, PLAIN},
        {"accept-encoding: GZIP\r\n", GZ, GZ, PLAIN},
        {"Accept-Encoding: x-gzip\r\n", GZ, GZ, PLAIN},
        {"Accept-Encoding: deflate, zstd\r\n", PLAIN, PLAIN, PLAIN},
        {"Accept-Encoding: *\r\n", BR, GZ, PLAIN},
        {"Accept-Encoding: br;q=0, *\r\n", GZ, GZ, PLAIN},
        {"Accept-Encoding: *;q=0, br\r\n", BR, NONE, NONE},
        {"Accept-Encoding: br;q=0.5, gzip;q=0.501\r\n", GZ, GZ, PLAIN},
        {"Accept-Encoding: br;q=0.001\r\n", BR, PLAIN, PLAIN},
        {"Accept-Encoding: gzip;q=0.4, identity;q=0.5\r\n", PLAIN, PLAIN, PLAIN},
        {"Accept-Encoding: gzip;q=0\r\n", PLAIN, PLAIN, PLAIN},
        {"Accept-Encoding: gzip;q=0.000, identity;q=0\r\n", NONE, NONE, NONE},
        {"Accept-Encoding: identity;q=0\r\n", NONE, NONE, NONE},
        {"Accept-Encoding: identity;q=0, *;q=0.1\r\n", BR, GZ, NONE},
        {"Accept-Encoding: gzip ; q=1.000 ,, br ;Q=0.9\r\n", GZ, GZ, PLAIN},
        {"Accept-Encoding: br\r\nAccept-Encoding: gzip;q=0.5\r\n", BR, GZ, PLAIN},
        // What is no weight makes the element none.
        {"Accept-Encoding: br;q=2, gzip\r\n", GZ, GZ, PLAIN},
        {"Accept-Encoding: br;q=0.0001, gzip;q=.5\r\n", PLAIN, PLAIN, PLAIN},
        {"Accept-Encoding: br;q=, gzip;q=1.001, identity;q=x\r\n", PLAIN, PLAIN, PLAIN},
        {"Accept-Encoding: gzip;level=9\r\n", PLAIN, PLAIN, PLAIN},
        {"Accept-Encoding: gzipped, b\r\n", PLAIN, PLAIN, PLAIN},
    };
    static const bool all[TARN_CODING_COUNT] = {true, true, true}, two[TARN_CODING_COUNT] = {false, true, true},
                      one[TARN_CODING_COUNT] = {false, false, true};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        tarn_http_head head;
        const int bytes = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", cases[i].fields);
        tarn_http_head_read(text, (size_t)bytes, &head);
        assert_int_equal(head.status, 0);
        if ((int)tarn_http_head_coding(&head, all) != cases[i].of_all ||
            (int)tarn_http_head_coding(&head, two) != cases[i].of_two ||
            (int)tarn_http_head_coding(&head, one) != cases[i].of_one) {
            fail_msg("%s: %d, %d and %d", cases[i].fields, tarn_http_head_coding(&head, all),
                     tarn_http_head_coding(&head, two), tarn_http_head_coding(&head, one));
        }
    }
}

static void test_nothing_passes_before_the_answer(void **state)
{
    (void)state;
    begin();
    char two[2 * sizeof post];
    snprintf(two, sizeof two, "%s%s", post, post);
    assert_int_equal(give_text(two), sizeof post_passed - 1);
    assert_int_equal(give_text(post), -1);
    assert_true(gate.is_overrun);
    tarn_gate_answered(&gate, tarn_clock_monotonic_ns());
    assert_int_equal(give_text(post), sizeof post_passed - 1);
    assert_int_equal(give_text("GET"), -1);
    assert_true(gate.is_overrun);
    tarn_gate_linger(&gate, tarn_clock_monotonic_ns());
    assert_int_equal(give_text(post), -1);
    byte_source ended = {"", 0, 1, true};
    assert_int_equal(tarn_gate_read(&gate, read_source, &ended, passed, sizeof passed), 0);
}

static void test_a_refused_request_is_passed_on_as_another(void **state)
{
    (void)state;
    begin();
    assert_true(give_text("POST /sessions HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\n{}") > 0);
    assert_string_equal(passed, "GET /sessions HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_int_equal(gate.head.status, 400);
    begin();
    assert_true(give_text("GET /a HTTP/1.1\n") > 0);
    assert_string_equal(passed, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_int_equal(gate.head.status, 400);
}

static void test_frames_pass_as_they_are_until_one_is_wrong(void **state)
{
    (void)state;
    static const char good[] = "\x82\x83\1\2\3\4abc", bad[] = "\x82\x03"
                                                              "abc";
    begin();
    assert_true(give_text(upgrade) > 0);
    assert_int_equal(gate.phase, TARN_GATE_FRAMES);
    for (size_t piece = 1; piece < sizeof good; piece++) {
        byte_source from = {good, sizeof good - 1, piece, false};
        for (size_t have = 0; have < sizeof good - 1;) {
            const ssize_t got = tarn_gate_read(&gate, read_source, &from, passed, 5);
            assert_true(got > 0 && memcmp(passed, good + have, (size_t)got) == 0);
            have += (size_t)got;
        }
    }
    assert_int_equal(give(bad, sizeof bad - 1, SIZE_MAX), -1);
    assert_int_equal(faulty.close_code, TARN_WS_CLOSE_PROTOCOL);
    assert_int_equal(give(good, sizeof good - 1, SIZE_MAX), -1);
}

static tarn_gate_verdict after_ms(uint64_t ms)
{
    return tarn_gate_tick(&gate, gate.since_ns + ms * 1000000);
}

static void test_each_phase_has_its_time(void **state)
{
    (void)state;
    begin();
    assert_int_equal(after_ms(TARN_GATEWAY_HEAD_MS_MAX), TARN_GATE_STAYS);
    assert_int_equal(after_ms(TARN_GATEWAY_HEAD_MS_MAX + 1), TARN_GATE_ENDS);
    give("GET", 3, SIZE_MAX);
    assert_true(tarn_gate_is_partial(&gate));
    assert_int_equal(after_ms(TARN_GATEWAY_HEAD_MS_MAX + 1), TARN_GATE_IS_LATE);
    const uint64_t since_ns = gate.since_ns;
    give(" ", 1, SIZE_MAX); // another byte is no more time
    assert_int_equal(gate.since_ns, since_ns);
    tarn_gate_cut(&gate);
    assert_int_equal(after_ms(TARN_GATEWAY_HEAD_MS_MAX + 1), TARN_GATE_STAYS);
    assert_true(give("", 0, SIZE_MAX) > 0);
    assert_int_equal(gate.head.status, 408);

    begin();
    assert_int_equal(give(post, sizeof post - 2, SIZE_MAX), -1);
    assert_int_equal(gate.phase, TARN_GATE_BODY);
    assert_int_equal(after_ms(TARN_GATEWAY_BODY_MS_MAX + 1), TARN_GATE_IS_LATE);
    assert_true(give("}", 1, SIZE_MAX) > 0);
    tarn_gate_answers(&gate, 10 * TARN_GATEWAY_ANSWER_BYTES_PER_S_MIN, tarn_clock_monotonic_ns());
    assert_int_equal(after_ms(TARN_GATEWAY_ANSWER_MS_MAX + 10000), TARN_GATE_STAYS);
    assert_int_equal(after_ms(TARN_GATEWAY_ANSWER_MS_MAX + 10001), TARN_GATE_ENDS);
    tarn_gate_answered(&gate, tarn_clock_monotonic_ns());
    assert_int_equal(after_ms(TARN_GATEWAY_KEEPALIVE_MS_MAX), TARN_GATE_STAYS);
    assert_int_equal(after_ms(TARN_GATEWAY_KEEPALIVE_MS_MAX + 1), TARN_GATE_ENDS);
    tarn_gate_linger(&gate, tarn_clock_monotonic_ns());
    assert_int_equal(after_ms(TARN_GATEWAY_LINGER_MS_MAX + 1), TARN_GATE_ENDS);

    begin();
    give_text(upgrade);
    assert_int_equal(after_ms(1000000000), TARN_GATE_STAYS);
    tarn_gate_close(&gate);
}

/// A scene's body goes on as it comes, in whatever pieces, and no byte behind it does.
static void test_an_upload_passes_as_it_comes(void **state)
{
    (void)state;
    enum { BODY = 20000, BEHIND = 5 };
    static const char head[] = "POST /sessions/main/scenes HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n";
    static char sent[sizeof head - 1 + BODY + BEHIND], all[sizeof sent + TARN_GATEWAY_HEADER_BYTES_MAX];
    static const size_t pieces[] = {1, 100, 2047, 2048, 2049, 8192, SIZE_MAX};
    memcpy(sent, head, sizeof head - 1);
    for (int i = 0; i < BODY + BEHIND; i++) {
        sent[sizeof head - 1 + i] = (char)('a' + i % 26);
    }
    for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
        byte_source from = {sent, sizeof sent, pieces[p], false};
        size_t got_bytes = 0;
        begin();
        do {
            const ssize_t got = tarn_gate_read(&gate, read_source, &from, passed, TARN_GATEWAY_READ_BYTES);
            assert_true(got > 0);
            // Over TLS, less than was asked for means that there is no more.
            assert_true(pieces[p] < SIZE_MAX || gate.phase != TARN_GATE_UPLOAD || got == TARN_GATEWAY_READ_BYTES);
            memcpy(all + got_bytes, passed, (size_t)got);
            got_bytes += (size_t)got;
        } while (gate.phase == TARN_GATE_UPLOAD);
        assert_int_equal(gate.phase, TARN_GATE_ANSWERING);
        assert_int_equal(got_bytes, sizeof head - 1 + BODY); // which is what is passed on, too
        assert_memory_equal(all, sent, got_bytes);
        assert_int_equal(tarn_gate_read(&gate, read_source, &from, passed, TARN_GATEWAY_READ_BYTES), -1);
        assert_true(gate.is_overrun);
        // It is checked first, on a machine that may be busy: whoever waits is to hear that this took too long.
        assert_int_equal(after_ms(TARN_GATEWAY_ANSWER_MS_MAX + TARN_GATEWAY_UPLOAD_CHECK_MS_MAX), TARN_GATE_STAYS);
        assert_int_equal(after_ms(TARN_GATEWAY_ANSWER_MS_MAX + TARN_GATEWAY_UPLOAD_CHECK_MS_MAX + 1), TARN_GATE_ENDS);
    }
    begin();
    assert_true(give(sent, sizeof head - 1 + 10, SIZE_MAX) > 0);
    assert_false(tarn_gate_is_partial(&gate)); // libwebsockets has its head
    assert_int_equal(after_ms(TARN_GATEWAY_BODY_MS_MAX), TARN_GATE_STAYS);
    assert_int_equal(after_ms(TARN_GATEWAY_BODY_MS_MAX + 1), TARN_GATE_ENDS);
    assert_true(give(sent + sizeof head - 1 + 10, 19661 - 10, SIZE_MAX) > 0); // one read of 8192
    assert_int_equal(after_ms(TARN_GATEWAY_BODY_MS_MAX + 8202 * 1000 / TARN_GATEWAY_UPLOAD_BYTES_PER_S_MIN),
                     TARN_GATE_STAYS);
    assert_int_equal(after_ms(TARN_GATEWAY_BODY_MS_MAX + 8202 * 1000 / TARN_GATEWAY_UPLOAD_BYTES_PER_S_MIN + 1),
                     TARN_GATE_ENDS);
    tarn_gate_close(&gate);
}

/// Who sends nearly all of it at once may not hold its place for the minutes that a slow one may take.
static void test_a_fast_upload_may_not_stand_for_long(void **state)
{
    (void)state;
    enum { BODY = 32 << 20, MOST_MS = TARN_GATEWAY_BODY_MS_MAX + TARN_GATEWAY_UPLOAD_CREDIT_MS_MAX };
    static const char head[] = "POST /sessions/main/scenes HTTP/1.1\r\nHost: a\r\nContent-Length: 33554432\r\n\r\n";
    static char piece[TARN_GATEWAY_READ_BYTES];
    begin();
    assert_true(give(head, sizeof head - 1, SIZE_MAX) > 0);
    for (size_t sent = 0; sent + sizeof piece < BODY; sent += sizeof piece) {
        assert_true(give(piece, sizeof piece, SIZE_MAX) == (ssize_t)sizeof piece);
    }
    assert_int_equal(gate.phase, TARN_GATE_UPLOAD);
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    assert_int_equal(tarn_gate_tick(&gate, now_ns + (MOST_MS - 5000) * UINT64_C(1000000)), TARN_GATE_STAYS);
    assert_int_equal(tarn_gate_tick(&gate, now_ns + (MOST_MS + 1) * UINT64_C(1000000)), TARN_GATE_ENDS);
    tarn_gate_close(&gate);
}

/// So much may come to a session's scenes alone.
static void test_only_a_scene_may_be_large(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        unsigned status;
    } targets[] = {
        {"POST /sessions/main/scenes HTTP/1.1\r\nHost: a\r\nContent-Length: 33554432\r\n\r\n", 0},
        {"POST /sessions/main/scenes?a HTTP/1.1\r\nHost: a\r\nContent-Length: 33554432\r\n\r\n", 0},
        {"POST /sessions/main/scenes HTTP/1.1\r\nHost: a\r\nContent-Length: 33554433\r\n\r\n", 413},
        {"POST /sessions/main/scenes HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413},
        {"POST /sessions/main/scenes/a HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n\r\n", 413},
        {"POST /sessions/a/b/scenes HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n\r\n", 413},
        {"POST /sessions//scenes HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n\r\n", 413},
        {"POST /sessions/scenes HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n\r\n", 413},
        {"POST /sessions HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n\r\n", 413},
    };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        begin();
        assert_true(give_text(targets[i].line) > 0);
        if (gate.head.status != targets[i].status) {
            fail_msg("%s: expected %u, got %u", targets[i].line, targets[i].status, gate.head.status);
        }
        assert_int_equal(gate.phase, targets[i].status == 0 ? TARN_GATE_UPLOAD : TARN_GATE_ANSWERING);
    }
    tarn_gate_close(&gate);
}

static struct in6_addr address_of(const char *text)
{
    struct in6_addr address = {0};
    struct in_addr v4;
    if (inet_pton(AF_INET, text, &v4) == 1) {
        address.s6_addr[10] = address.s6_addr[11] = 0xff;
        memcpy(address.s6_addr + 12, &v4, sizeof v4);
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
    }
    return address;
}

static void test_networks_of_proxies_are_read(void **state)
{
    (void)state;
    static const char *const right[] = {"10.0.0.0/8", "::1", "192.0.2.7", "fd00::/9", "0.0.0.0/0", "198.51.100.128/25"};
    static const char *const wrong[] = {"",        "10.0.0.0/33", "10.0.0.0/",     "10.0.0.0/-1", "10.0.0/8",
                                        "::1/129", "::1/8x",      "proxy.example", "10.0.0.0 /8", "10.0.0.0/+8"};
    tarn_text why;
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        tarn_proxies proxies = {0};
        assert_int_equal(tarn_proxies_add(&proxies, right[i], why), TARN_OK);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tarn_proxies proxies = {0};
        if (tarn_proxies_add(&proxies, wrong[i], why) != TARN_E_MALFORMED || proxies.count != 0) {
            fail_msg("%s was taken", wrong[i]);
        }
    }
    tarn_proxies many = {0};
    for (int i = 0; i < TARN_GATEWAY_PROXIES_MAX; i++) {
        assert_int_equal(tarn_proxies_add(&many, "::1", why), TARN_OK);
    }
    assert_int_equal(tarn_proxies_add(&many, "::1", why), TARN_E_LIMIT);
}

static void test_a_client_is_whom_trusted_proxies_name(void **state)
{
    (void)state;
    static const struct {
        const char *peer, *fields, *client;
    } cases[] = {
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1"},
        {"11.1.2.3", "X-Forwarded-For: 192.0.2.1\r\n", "11.1.2.3"}, // not trusted
        {"10.1.2.3", "", "10.1.2.3"},
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.9, 192.0.2.1\r\n", "192.0.2.1"}, // what is in front may be made up
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.9, 192.0.2.1, 10.9.9.9\r\n", "192.0.2.1"},
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-For: 192.0.2.1 , fd80::1\r\n", "192.0.2.1"},
        {"10.1.2.3", "X-Forwarded-For: 10.0.0.1,10.0.0.2\r\n", "10.0.0.1"},
        {"10.1.2.3", "X-Forwarded-For: nonsense, 10.0.0.2\r\n", "10.0.0.2"},
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.1,\r\n", "10.1.2.3"},
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.1 nonsense\r\n", "10.1.2.3"},
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.1:80x\r\n", "10.1.2.3"},
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.1:\r\n", "10.1.2.3"},
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.1:65536\r\n", "10.1.2.3"},
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.1, 10.9.9.9:nonsense\r\n", "10.1.2.3"},
        {"10.1.2.3", "X-Forwarded-For: [2001:db8::1]nonsense\r\n", "10.1.2.3"},
        {"10.1.2.3", "X-Forwarded-For: [2001:db8::1\r\n", "10.1.2.3"},
        {"10.1.2.3", "X-Forwarded-For: [2001:db8::1]\r\n", "2001:db8::1"},
        {"10.1.2.3", "X-Forwarded-For:\r\n", "10.1.2.3"},
        {"fdff::1", "X-Forwarded-For: [2001:db8::1]:1234\r\n", "2001:db8::1"},
        {"fd00::1", "X-Forwarded-For: 192.0.2.1:80\r\n", "192.0.2.1"},
        {"fe00::1", "X-Forwarded-For: 192.0.2.1\r\n", "fe00::1"},
    };
    tarn_proxies proxies = {0};
    tarn_http_head head;
    tarn_text why;
    assert_int_equal(tarn_proxies_add(&proxies, "10.0.0.0/8", why), TARN_OK);
    assert_int_equal(tarn_proxies_add(&proxies, "fd00::/8", why), TARN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        const int bytes = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", cases[i].fields);
        const struct in6_addr peer = address_of(cases[i].peer), expected = address_of(cases[i].client);
        tarn_http_head_read(text, (size_t)bytes, &head);
        assert_int_equal(head.status, 0);
        const struct in6_addr client = tarn_proxies_client(&proxies, &peer, &head);
        if (memcmp(&client, &expected, sizeof client) != 0) {
            fail_msg("case %zu", i);
        }
    }
    static const char https[] = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\n\r\n";
    const struct in6_addr proxy = address_of("10.0.0.1"), other = address_of("11.0.0.1");
    tarn_http_head_read(https, sizeof https - 1, &head);
    assert_int_equal(tarn_proxies_scheme(&proxies, &proxy, &head), TARN_FORWARDED_HTTPS);
    assert_int_equal(tarn_proxies_scheme(&proxies, &other, &head), TARN_FORWARDED_UNKNOWN);
}

/// Proxies mark whom they ask for, each in its way; whoever asks for itself writes none of that.
static void test_what_a_proxy_passes_on_is_known_by_its_fields(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        bool is_proxied;
    } cases[] = {
        {"", false},
        {"User-Agent: curl\r\nX-Requested-With: a\r\n", false},
        {"X-Forwarded-For: 192.0.2.1\r\n", true},
        {"X-Forwarded-For:\r\n", true},
        {"Forwarded: for=192.0.2.1\r\n", true},
        {"Via: 1.1 a\r\n", true},
        {"X-Forwarded-Proto: https\r\n", true},
        {"x-forwarded-host: a\r\n", true},
        {"X-FORWARDED-SERVER: a\r\n", true},
        {"X-Real-IP: 192.0.2.1\r\n", true},
        {"True-Client-IP: 192.0.2.1\r\n", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        tarn_http_head head;
        const int bytes = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", cases[i].fields);
        tarn_http_head_read(text, (size_t)bytes, &head);
        assert_int_equal(head.status, 0);
        if (head.is_proxied != cases[i].is_proxied) {
            fail_msg("%s", cases[i].fields);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_is_passed_on_whole_and_anew),
        cmocka_unit_test(test_fields_are_passed_on_up_to_their_limits),
        cmocka_unit_test(test_heads_have_limits),
        cmocka_unit_test(test_codings_are_chosen_by_what_is_liked_best),
        cmocka_unit_test(test_nothing_passes_before_the_answer),
        cmocka_unit_test(test_a_refused_request_is_passed_on_as_another),
        cmocka_unit_test(test_frames_pass_as_they_are_until_one_is_wrong),
        cmocka_unit_test(test_each_phase_has_its_time),
        cmocka_unit_test(test_an_upload_passes_as_it_comes),
        cmocka_unit_test(test_a_fast_upload_may_not_stand_for_long),
        cmocka_unit_test(test_only_a_scene_may_be_large),
        cmocka_unit_test(test_networks_of_proxies_are_read),
        cmocka_unit_test(test_a_client_is_whom_trusted_proxies_name),
        cmocka_unit_test(test_what_a_proxy_passes_on_is_known_by_its_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
