// tarnd with TLS: handshakes, certificates that are changed while viewers watch, requests without TLS, wrong starts.
#include "server/base/clock.h"
#include "server/tool/load/run.h"
#include "tests/sanitized.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/tls_client.h"
#include "tests/server/tls_files.h"
#include "tests/server/ws_client.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL_POOL "--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--client", TARN_TEST_PAGES

static char folder[] = "/tmp/tarn-tls-XXXXXX", certificate[64], key[64], answer[1 << 16];
static server_process server;

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(certificate, sizeof certificate, "%s/a.crt", folder);
    snprintf(key, sizeof key, "%s/a.key", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"a.crt", "a.key", "tarn-self-signed.crt", "tarn-self-signed.key"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    return rmdir(folder);
}

static int by_tls(void **state)
{
    (void)state;
    ws_connect_by = tls_connect;
    return 0;
}

/// Also after a failure: other tests mustn't find it.
static int stop(void **state)
{
    (void)state;
    ws_connect_by = NULL;
    if (server.pid > 0) {
        server_stop(&server);
    }
    return 0;
}

static void start_issued(void)
{
    tls_files_write(certificate, key, &(tls_plan){.is_issued = true, .until_s = 90L * 86400});
    server_start(&server, (const char *[]){SMALL_POOL, "--tls-cert", certificate, "--tls-key", key, "--redirect-port",
                                           "0", "--name", "tank.example", NULL});
}

static void start_self_signed(void)
{
    server_start(&server, (const char *[]){SMALL_POOL, "--tls-self-signed", "--tls-dir", folder, NULL});
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("does not have \"%s\":\n%s", part, text);
    }
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("has \"%s\":\n%s", part, text);
    }
}

enum { HEAP_BYTES = 200 << 10, ALL_BYTES = 4 << 20 };

/// A connection in whose send buffer there is room for a heap.
static SSL *dial(SSL_CTX *context)
{
    const int fd = ws_connect_plain(server.port), room = 2 * HEAP_BYTES;
    SSL *ssl = SSL_new(context);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    assert_true(SSL_set_fd(ssl, fd) == 1 && SSL_connect(ssl) == 1);
    return ssl;
}

static void hang_up(SSL *ssl)
{
    close(SSL_get_fd(ssl));
    SSL_free(ssl);
}

/// Sends a text and a great deal behind it, of which the server finds a heap at once. @return when all was sent
static uint64_t send_too_much(SSL *ssl, const char *text, size_t text_bytes)
{
    static const uint8_t nothing[ALL_BYTES];
    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    assert_int_equal(SSL_write(ssl, text, (int)text_bytes), text_bytes);
    assert_int_equal(SSL_write(ssl, nothing, HEAP_BYTES), HEAP_BYTES);
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    assert_int_equal(SSL_write(ssl, nothing, ALL_BYTES - HEAP_BYTES), ALL_BYTES - HEAP_BYTES);
    return tarn_clock_monotonic_ns();
}

/// Reads to the end. @return bytes in `answer`
static size_t hear_out(SSL *ssl)
{
    size_t have = 0, got;
    while (SSL_read_ex(ssl, answer + have, sizeof answer - 1 - have, &got)) {
        have += got;
    }
    answer[have] = 0;
    return have;
}

/// Whoever goes on to send what nobody reads gets the refusal whole all the same, and its end without waiting.
static void test_a_refusal_reaches_who_goes_on_to_send(void **state)
{
    (void)state;
    enum { TIMES = 10, ENDS_MS_MAX = 1500 };
    static const char head[] = "POST /sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                               "Content-Length: 4194304\r\n\r\n";
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    start_issued();
    for (int i = 0; i < TIMES; i++) {
        SSL *ssl = dial(context);
        const uint64_t sent_ns = send_too_much(ssl, head, sizeof head - 1);
        hear_out(ssl);
        assert_int_equal(SSL_get_error(ssl, 0), SSL_ERROR_ZERO_RETURN); // the server said so
        assert_int_equal(strncmp(answer, "HTTP/1.1 413 ", 13), 0);
        assert_has(answer, "{\"error\":\"the body is too large; allowed are 1024 bytes\"}");
        assert_true(TEST_IS_SANITIZED || tarn_clock_monotonic_ns() - sent_ns < ENDS_MS_MAX * (uint64_t)1000000);
        hang_up(ssl);
    }
    SSL_CTX_free(context);
}

/// The same of a WebSocket's last word.
static void test_a_close_reaches_who_goes_on_to_send(void **state)
{
    (void)state;
    static const char upgrade[] = "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Protocol: tarn.v1\r\n\r\n";
    static const char unmasked[] = {(char)0x82, 1, 7}, closed[] = {0x03, (char)0xea}; // 1002
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    start_issued();
    SSL *ssl = dial(context);
    assert_int_equal(SSL_write(ssl, upgrade, sizeof upgrade - 1), sizeof upgrade - 1);
    assert_true(SSL_read(ssl, answer, sizeof answer) > 0);
    assert_int_equal(strncmp(answer, "HTTP/1.1 101 ", 13), 0);
    send_too_much(ssl, unmasked, sizeof unmasked);
    assert_non_null(memmem(answer, hear_out(ssl), closed, sizeof closed));
    hang_up(ssl);
    SSL_CTX_free(context);
}

/// What stands behind these words in what the server printed when it began to serve.
static const char *printed(const char *words)
{
    const char *found = strstr(server.out, words);
    if (found == NULL) {
        fail_msg("the server printed no \"%s\":\n%s", words, server.out);
    }
    return found + strlen(words);
}

static void wait_for_log(const char *part)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + WS_CLIENT_WAIT_MS * (uint64_t)1000000;
    while (strstr(server_said(&server), part) == NULL) {
        if (tarn_clock_monotonic_ns() > until_ns) {
            fail_msg("the log does not say \"%s\":\n%s", part, server.err);
        }
    }
}

static void test_a_handshake_agrees_on_http_1_1_and_a_safe_version(void **state)
{
    (void)state;
    start_issued();
    tls_facts facts = tls_probe(server.port, 0, "\2h2\10http/1.1");
    assert_true(facts.is_agreed);
    assert_int_equal(facts.version, TLS1_3_VERSION);
    assert_string_equal(facts.alpn, "http/1.1");
    assert_int_equal(facts.chain_count, 2);
    assert_memory_equal(facts.fingerprint, printed("SHA-256 fingerprint is "), 95);
    facts = tls_probe(server.port, TLS1_2_VERSION, NULL);
    assert_true(facts.is_agreed);
    assert_string_equal(facts.alpn, "");
    assert_false(tls_probe(server.port, TLS1_1_VERSION, NULL).is_agreed);
    assert_false(tls_probe(server.port, TLS1_VERSION, NULL).is_agreed);
}

static void test_every_answer_over_tls_tells_browsers_to_stay(void **state)
{
    (void)state;
    static const char hsts[] = "strict-transport-security: max-age=15552000\r\n";
    start_issued();
    assert_int_equal(server_http(server.port, "GET", "/", NULL, answer, sizeof answer), 200);
    assert_has(answer, hsts);
    assert_int_equal(server_http(server.port, "GET", "/nothing", NULL, answer, sizeof answer), 404);
    assert_has(answer, hsts);
    assert_int_equal(server_http(server.port, "PUT", "/", NULL, answer, sizeof answer), 405);
    assert_has(answer, hsts);
    assert_int_equal(
        server_http(server.port, "GET", "/ws", "Upgrade: websocket\r\nConnection: upgrade\r\n", answer, sizeof answer),
        426);
    assert_has(answer, hsts);
    assert_int_equal(server_http(server.port, "GET", "/certificate", NULL, answer, sizeof answer), 200);
    assert_has(answer, "\"self_signed\": false");
}

static void test_a_self_signed_certificate_is_announced_and_kept(void **state)
{
    (void)state;
    char first[96];
    start_self_signed();
    tls_facts facts = tls_probe(server.port, 0, NULL);
    assert_true(facts.is_agreed);
    assert_memory_equal(facts.fingerprint, printed("SHA-256 fingerprint is "), 95);
    snprintf(first, sizeof first, "%s", facts.fingerprint);
    assert_int_equal(server_http(server.port, "GET", "/certificate", NULL, answer, sizeof answer), 200);
    assert_has(answer, first);
    assert_has(answer, "\"self_signed\": true");
    // A browser that knew this header would let nobody go on past the certificate.
    assert_lacks(answer, "strict-transport-security");
    server_stop(&server);
    start_self_signed();
    assert_string_equal(tls_probe(server.port, 0, NULL).fingerprint, first);
    assert_int_equal(kill(server.pid, SIGHUP), 0);
    wait_for_log("was read again");
    assert_string_equal(tls_probe(server.port, 0, NULL).fingerprint, first);
}

static void test_a_viewer_decodes_large_frames_also_after_it_stalled(void **state)
{
    enum { LARGE = 32768, SLOW = 64 }; // bytes; messages
    (void)state;
    ws_client client;
    ws_frame frame = {0};
    ws_message raw;
    size_t largest = 0;
    tls_files_write(certificate, key, &(tls_plan){0});
    server_start(&server,
                 (const char *[]){"--scene", "double-dam-break", "--tls-cert", certificate, "--tls-key", key, NULL});
    tls_receive_bytes = 8192;
    ws_client_enter(&client, server.port);
    tls_receive_bytes = 0;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4; i++) {
            assert_int_equal(ws_client_wait_frame(&client, &frame), 1);
            assert_int_equal(client.decoder.status, TARN_OK);
        }
        // Nothing is read for a while, and nothing acknowledged: the server's sends are cut short.
        client.auto_ack = false;
        usleep(700000);
        client.auto_ack = true;
        ws_client_control(&client, TARN_CONTROL_RESET, NULL);
        for (int i = 0; i < 4 || (largest < LARGE && i < SLOW); i++) { // a busy server is a while behind
            assert_int_equal(ws_client_next(&client, &raw, WS_CLIENT_WAIT_MS), 1);
            largest = raw.byte_count > largest ? raw.byte_count : largest;
            if (ws_frame_open(raw.bytes, raw.byte_count, &frame) == TARN_OK) {
                assert_int_equal(client.decoder.status, TARN_OK);
                ws_client_tell(&client, &(tarn_message){.kind = TARN_MESSAGE_ACK,
                                                        .ack = {.epoch = frame.epoch, .step = frame.step}});
            }
        }
    }
    if (largest < LARGE) {
        fail_msg("the largest frame had %zu bytes", largest);
    }
    ws_client_close(&client);
}

static void test_a_certificate_is_changed_while_a_viewer_stays(void **state)
{
    (void)state;
    ws_client client;
    ws_frame frame;
    tls_facts before, after;
    start_issued();
    before = tls_probe(server.port, 0, NULL);
    ws_client_enter(&client, server.port);
    assert_int_equal(ws_client_wait_frame(&client, &frame), 1);

    // Another kind of key: nobody may get the old one any more.
    tls_files_write(certificate, key, &(tls_plan){.is_rsa = true, .is_issued = true});
    assert_int_equal(kill(server.pid, SIGHUP), 0);
    wait_for_log("was read again");
    after = tls_probe(server.port, 0, NULL);
    assert_true(after.is_agreed);
    assert_string_not_equal(after.fingerprint, before.fingerprint);
    assert_has(server.err, after.fingerprint);
    assert_string_equal(tls_probe(server.port, TLS1_2_VERSION, NULL).fingerprint, after.fingerprint);

    // A pair that doesn't match, then nothing at all.
    tls_files_write_text(key, "nothing");
    assert_int_equal(kill(server.pid, SIGHUP), 0);
    wait_for_log("the certificate stays as it was");
    wait_for_log("found no private key");
    remove(certificate);
    assert_int_equal(kill(server.pid, SIGHUP), 0);
    wait_for_log("a.crt: No such file");
    assert_string_equal(tls_probe(server.port, 0, NULL).fingerprint, after.fingerprint);

    const uint64_t step = frame.step;
    do {
        assert_int_equal(ws_client_wait_frame(&client, &frame), 1);
    } while (frame.step < step + 30);
    assert_int_equal(client.close_code, 0);
    ws_client_close(&client);
}

/// Sends bytes as they are and reads to the end of the connection. @return whether it ended
static bool ask_plainly(uint16_t port, const char *bytes, size_t byte_count)
{
    const int fd = ws_connect_plain(port);
    size_t have = 0;
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    ssize_t got = 1;
    assert_true(fd >= 0);
    assert_int_equal(ws_send_raw(fd, bytes, byte_count), 0);
    while (got > 0 && have < sizeof answer - 1 && poll(&pollfd, 1, WS_CLIENT_WAIT_MS) > 0) {
        got = recv(fd, answer + have, sizeof answer - 1 - have, 0);
        have += got > 0 ? (size_t)got : 0;
    }
    answer[have] = 0;
    close(fd);
    return got <= 0;
}

static void expect_redirect(uint16_t port, const char *request, const char *location)
{
    char line[256];
    snprintf(line, sizeof line, "Location: %s\r\n", location);
    assert_true(ask_plainly(port, request, strlen(request)));
    assert_int_equal(strncmp(answer, "HTTP/1.1 308 ", 13), 0);
    assert_has(answer, line);
    assert_has(answer, "Connection: close");
    // RFC 6797: not without TLS.
    assert_lacks(answer, "trict-");
}

static void test_requests_without_tls_are_sent_to_https(void **state)
{
    (void)state;
    char to[128];
    start_issued();
    const uint16_t plain = (uint16_t)atoi(printed("who comes to port "));
    assert_true(plain != 0 && plain != server.port);
    snprintf(to, sizeof to, "https://tank.example:%u/a/b%%20c?session=main&key=x%%26y", server.port);
    expect_redirect(plain, "GET /a/b%20c?session=main&key=x%26y HTTP/1.1\r\nHost: tank.example:80\r\n\r\n", to);
    snprintf(to, sizeof to, "https://tank.example:%u/sessions", server.port);
    static const char *const methods[] = {"POST", "DELETE", "HEAD", "PUT", "OPTIONS"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        char request[256];
        snprintf(request, sizeof request, "%s /sessions HTTP/1.1\r\nHost: tank.example\r\nContent-Length: 2\r\n\r\n{}",
                 methods[i]);
        expect_redirect(plain, request, to);
    }
    snprintf(to, sizeof to, "https://tank.example:%u/ws", server.port);
    expect_redirect(plain,
                    "GET /ws HTTP/1.1\r\nHost: tank.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Protocol: tarn.v1\r\n\r\n",
                    to);
    // On the encrypted port itself whoever came named the port.
    expect_redirect(server.port, "GET /x HTTP/1.1\r\nHost: tank.example:9443\r\n\r\n", "https://tank.example:9443/x");
    static const char *const wrong[] = {"Host: a b\r\n", "Host: \"><script>\r\n", "Host: a/..\r\n", "Host: a:0\r\n",
                                        ""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char request[256];
        snprintf(request, sizeof request, "GET / HTTP/1.1\r\n%s\r\n", wrong[i]);
        assert_true(ask_plainly(plain, request, strlen(request)));
        assert_lacks(answer, "Location");
        assert_has(answer, "text/plain"); // whatever of it is quoted
    }
}

static void test_without_tls_and_a_host_of_its_own_nothing_is_served(void **state)
{
    (void)state;
    static const char make[] = "POST /sessions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n"
                               "{\"scene\":\"small-pool\"}";
    static const char *const requests[] = {
        "GET / HTTP/1.0\r\n\r\n",
        "GET /metrics HTTP/1.0\r\n\r\n",
        make,
        "GET / HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
        "GET http://elsewhere.example/ HTTP/1.1\r\nHost: tank.example\r\n\r\n",
    };
    static const char *const answers[] = {"HTTP/1.1 400 ", "HTTP/1.1 400 ", "HTTP/1.1 400 ", "HTTP/1.1 421 ",
                                          "HTTP/1.1 421 "};
    start_issued();
    const uint16_t ports[] = {server.port, (uint16_t)atoi(printed("who comes to port "))};
    for (size_t p = 0; p < sizeof ports / sizeof ports[0]; p++) {
        for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
            assert_true(ask_plainly(ports[p], requests[i], strlen(requests[i])));
            assert_int_equal(strncmp(answer, answers[i], strlen(answers[i])), 0);
            assert_lacks(answer, "Location");
            assert_lacks(answer, "\"own\"");
        }
    }
}

static void test_what_is_neither_tls_nor_http_is_closed(void **state)
{
    (void)state;
    static const char *const heads[] = {"\x16\x03\x01\xff\xff", "\x16\x03\x01\x00\x05hello", "\x80\x2e\x01\x00\x02",
                                        "\x01\x02\x03\x04"};
    start_issued();
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        char bytes[20000];
        memset(bytes, 'A', sizeof bytes);
        memcpy(bytes, heads[i], 5);
        assert_true(ask_plainly(server.port, bytes, sizeof bytes));
        assert_lacks(answer, "HTTP/1.1 200");
    }
    assert_true(tls_probe(server.port, 0, NULL).is_agreed);
}

/// Connections that fail before they are accepted, between others that wait, too.
static void test_who_fails_at_the_door_takes_nobody_along(void **state)
{
    (void)state;
    enum { PAIRS = 8 };
    static const char junk[] = "\x16\x03\x01\x00\x05hello", request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
                                                                        "Connection: close\r\n\r\n";
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    int fds[PAIRS];
    start_issued();
    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    for (int i = 0; i < PAIRS; i++) {
        const int bad = ws_connect_plain(server.port);
        if (i % 2 == 0) {
            setsockopt(bad, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
        } else {
            assert_int_equal(send(bad, junk, sizeof junk - 1, MSG_NOSIGNAL), sizeof junk - 1);
        }
        close(bad);
        fds[i] = ws_connect_plain(server.port);
    }
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    for (int i = 0; i < PAIRS; i++) {
        SSL *ssl = SSL_new(context);
        assert_true(SSL_set_fd(ssl, fds[i]) == 1 && SSL_connect(ssl) == 1);
        assert_int_equal(SSL_write(ssl, request, sizeof request - 1), sizeof request - 1);
        hear_out(ssl);
        assert_has(answer, "HTTP/1.1 200 ");
        hang_up(ssl);
    }
    SSL_CTX_free(context);
}

static void test_the_redirecting_port_is_bounded_and_takes_nothing_from_the_other(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    int idle[COUNT];
    start_issued();
    const uint16_t plain = (uint16_t)atoi(printed("who comes to port "));
    for (int i = 0; i < COUNT; i++) {
        idle[i] = ws_connect_plain(plain);
        assert_true(idle[i] >= 0);
    }
    // Room is made when libwebsockets gets its turn; until then whoever comes is told to come again.
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 20 && (i == 0 || strstr(answer, " 503 ") != NULL); i++) {
        usleep(20000);
        assert_true(ask_plainly(plain, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27));
    }
    assert_has(answer, " 308 ");
    int open = 0;
    for (int i = 0; i < COUNT; i++) {
        struct pollfd pollfd = {.fd = idle[i], .events = POLLIN};
        open += poll(&pollfd, 1, 0) == 0;
        close(idle[i]);
    }
    assert_in_range(open, 1, 64);
    assert_int_equal(server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer), 200);
}

static void test_a_page_of_the_same_name_without_tls_may_not_connect(void **state)
{
    (void)state;
    ws_client client;
    char origin[64];
    start_issued();
    snprintf(origin, sizeof origin, "http://127.0.0.1:%u", server.port);
    assert_int_equal(ws_client_open(&client, server.port, "/ws", "tarn.v1", origin), 403);
    snprintf(origin, sizeof origin, "https://127.0.0.1:%u", server.port);
    assert_int_equal(ws_client_open(&client, server.port, "/ws", "tarn.v1", origin), 101);
    ws_client_close(&client);
}

static void expect_end(int wanted, const char *const *arguments, const char *part)
{
    static server_process refused;
    const char *list[SERVER_ARGUMENTS_MAX] = {"--port", "0", SMALL_POOL};
    int n = 8;
    for (; *arguments != NULL; arguments++) {
        list[n++] = *arguments;
    }
    server_spawn(&refused, list);
    const int status = server_wait(&refused);
    if (status != wanted || strstr(refused.err, part) == NULL || refused.out[0]) {
        fail_msg("expected %d with \"%s\"; status %d\nstdout: %s\nstderr: %s", wanted, part, status, refused.out,
                 refused.err);
    }
}

#define ENDS(wanted, part, ...) expect_end(wanted, (const char *[]){__VA_ARGS__, NULL}, part)

static void test_wrong_starts_end_with_a_sentence(void **state)
{
    (void)state;
    char other[64];
    snprintf(other, sizeof other, "%s/tarn-self-signed.key", folder);
    tls_files_write(certificate, other, &(tls_plan){0});
    tls_files_write(certificate, key, &(tls_plan){0});
    ENDS(2, "found --tls-cert alone, allowed are --tls-cert and --tls-key together", "--tls-cert", certificate);
    ENDS(2, "found --tls-key alone", "--tls-key", key);
    ENDS(2, "allowed is one of them", "--tls-cert", certificate, "--tls-key", key, "--tls-self-signed");
    ENDS(2, "found --tls-dir, allowed only with --tls-self-signed", "--tls-dir", folder);
    ENDS(2, "found --redirect-port, allowed only with --tls-cert", "--redirect-port", "0");
    ENDS(2, "--redirect-port: found 8443, which is --port", "--tls-self-signed", "--port", "8443", "--redirect-port",
         "8443");
    ENDS(2, "--redirect-port", "--tls-self-signed", "--redirect-port", "65536");
    ENDS(1, "isn't a file, allowed is a certificate in PEM", "--tls-cert", folder, "--tls-key", key);
    ENDS(1, "/nonexistent: No such file", "--tls-cert", certificate, "--tls-key", "/nonexistent");
    ENDS(1, "isn't that of the first certificate", "--tls-cert", certificate, "--tls-key", other);
    ENDS(1, "can't be used: Not a directory", "--tls-self-signed", "--tls-dir", key);
}

static void test_an_odd_certificate_is_served_with_a_warning(void **state)
{
    (void)state;
    tls_files_write(certificate, key, &(tls_plan){.from_s = -9 * 86400L, .until_s = -3 * 86400L - 60});
    assert_int_equal(chmod(key, 0644), 0);
    server_start(&server, (const char *[]){SMALL_POOL, "--tls-cert", certificate, "--tls-key", key, NULL});
    assert_true(tls_probe(server.port, 0, NULL).is_agreed);
    assert_has(server_said(&server), "ended 3 days ago: browsers refuse it");
    assert_has(server.err, "everybody on this machine can read the key");
}

/// Starts it from a terminal of its own. @return the terminal's other end
static int start_in_terminal(pid_t *pid)
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    char name[64], text[4096] = "";
    assert_int_equal(ptsname_r(terminal, name, sizeof name), 0);
    *pid = fork();
    if (*pid == 0) {
        setsid();
        const int fd = open(name, O_RDWR);
        ioctl(fd, TIOCSCTTY, 0);
        dup2(fd, STDIN_FILENO);
        dup2(fd, STDOUT_FILENO);
        const char *program = getenv("TARN_TEST_SERVER");
        program = program != NULL ? program : TARN_TEST_SERVER_BUILT;
        execl(program, program, "--port", "0", SMALL_POOL, "--tls-cert", certificate, "--tls-key", key, (char *)NULL);
        _exit(127);
    }
    struct pollfd pollfd = {.fd = terminal, .events = POLLIN};
    while (strstr(text, "fingerprint is") == NULL) {
        const size_t have = strlen(text);
        assert_true(poll(&pollfd, 1, WS_CLIENT_WAIT_MS) > 0);
        const ssize_t got = read(terminal, text + have, sizeof text - 1 - have);
        assert_true(got > 0);
        text[have + (size_t)got] = 0;
    }
    return terminal;
}

static void test_a_closed_terminal_ends_it_and_a_signal_in_an_open_one_does_not(void **state)
{
    (void)state;
    pid_t pid;
    int status = 0;
    tls_files_write(certificate, key, &(tls_plan){0});
    const int terminal = start_in_terminal(&pid);
    assert_int_equal(kill(pid, SIGHUP), 0);
    usleep(300000);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    close(terminal);
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 20 && waitpid(pid, &status, WNOHANG) == 0; i++) {
        usleep(20000);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || kill(pid, 0) == 0) {
        kill(pid, SIGKILL);
        fail_msg("it did not end with its terminal, or with %d", status);
    }
}

static bool is_reached(const char *host)
{
    load_target target;
    load_metrics metrics;
    char text[64], why[LOAD_TARGET_WHY_BYTES];
    snprintf(text, sizeof text, "https://127.0.0.1:%u", server.port);
    assert_true(load_target_find(text, &target, why));
    target.loopback = false; // as on the way to another machine
    snprintf(target.host, sizeof target.host, "%s", host);
    return load_metrics_fetch(&target, "main", "", &metrics);
}

static void test_the_tool_trusts_only_the_server_that_it_is_told_to(void **state)
{
    (void)state;
    tls_files_write(certificate, key, &(tls_plan){.names = "DNS:localhost,IP:127.0.0.1"});
    setenv("SSL_CERT_FILE", certificate, 1);
    server_start(&server, (const char *[]){SMALL_POOL, "--tls-cert", certificate, "--tls-key", key, NULL});
    assert_true(is_reached("127.0.0.1"));
    assert_true(is_reached("localhost"));
    assert_false(is_reached("127.0.0.2"));
    assert_false(is_reached("other.example"));
    tls_files_write(certificate, key, &(tls_plan){.names = "DNS:localhost,IP:127.0.0.1"});
    assert_int_equal(kill(server.pid, SIGHUP), 0);
    wait_for_log("was read again");
    assert_false(is_reached("127.0.0.1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_handshake_agrees_on_http_1_1_and_a_safe_version, NULL, stop),
        cmocka_unit_test_setup_teardown(test_a_refusal_reaches_who_goes_on_to_send, NULL, stop),
        cmocka_unit_test_setup_teardown(test_a_close_reaches_who_goes_on_to_send, NULL, stop),
        cmocka_unit_test_setup_teardown(test_every_answer_over_tls_tells_browsers_to_stay, by_tls, stop),
        cmocka_unit_test_setup_teardown(test_a_self_signed_certificate_is_announced_and_kept, by_tls, stop),
        cmocka_unit_test_setup_teardown(test_a_viewer_decodes_large_frames_also_after_it_stalled, by_tls, stop),
        cmocka_unit_test_setup_teardown(test_a_certificate_is_changed_while_a_viewer_stays, by_tls, stop),
        cmocka_unit_test_setup_teardown(test_requests_without_tls_are_sent_to_https, NULL, stop),
        cmocka_unit_test_setup_teardown(test_without_tls_and_a_host_of_its_own_nothing_is_served, by_tls, stop),
        cmocka_unit_test_setup_teardown(test_what_is_neither_tls_nor_http_is_closed, NULL, stop),
        cmocka_unit_test_setup_teardown(test_who_fails_at_the_door_takes_nobody_along, NULL, stop),
        cmocka_unit_test_setup_teardown(test_the_redirecting_port_is_bounded_and_takes_nothing_from_the_other, by_tls,
                                        stop),
        cmocka_unit_test_setup_teardown(test_a_page_of_the_same_name_without_tls_may_not_connect, by_tls, stop),
        cmocka_unit_test(test_wrong_starts_end_with_a_sentence),
        cmocka_unit_test_setup_teardown(test_an_odd_certificate_is_served_with_a_warning, NULL, stop),
        cmocka_unit_test_setup_teardown(test_the_tool_trusts_only_the_server_that_it_is_told_to, NULL, stop),
        cmocka_unit_test(test_a_closed_terminal_ends_it_and_a_signal_in_an_open_one_does_not),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
