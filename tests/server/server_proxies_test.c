// The proxies' configurations in deploy/, each with the proxy itself on this machine: server_proxies_test
// haproxy|nginx. Names of files and ports are replaced, and the time that a silent WebSocket is given: with little more
// than the time between two pings it must last, too.
#include "server/base/clock.h"
#include "server/base/limits.h"
#include "tests/sanitized.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/tls_client.h"
#include "tests/server/tls_files.h"
#include "tests/server/ws_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/// A server that a sanitizer slows down is late with its pings.
#if TEST_IS_SANITIZED
#define PROXY_SILENCE_S "20s"
#else
#define PROXY_SILENCE_S "12s"
#endif
enum { SKIPPED = 77, SILENCE_MS = TEST_IS_SANITIZED ? 23000 : 14000 };

static char folder[] = "/tmp/tarn-proxy-XXXXXX", configuration[64], certificate[64], key[64], answer[1 << 16];
static server_process server;
static uint16_t tls_port, plain_port;
static pid_t proxy;
static bool is_nginx;

/// A port that is free now.
static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    close(fd);
    return ntohs(address.sin_port);
}

/// Replaces every occurrence, of which there must be one at least.
static void replace(char *text, size_t text_bytes, const char *what, const char *with)
{
    char *at = strstr(text, what);
    if (at == NULL) {
        fail_msg("the configuration does not have \"%s\"", what);
    }
    for (; at != NULL; at = strstr(at + strlen(with), what)) {
        assert_true(strlen(text) + strlen(with) < text_bytes);
        memmove(at + strlen(with), at + strlen(what), strlen(at + strlen(what)) + 1);
        for (size_t i = 0; with[i]; i++) {
            at[i] = with[i];
        }
    }
}

static void read_file(const char *file, char *text, size_t text_bytes)
{
    FILE *in = fopen(file, "re");
    assert_non_null(in);
    const size_t got = fread(text, 1, text_bytes - 1, in);
    assert_true(got > 0 && got < text_bytes - 1);
    text[got] = 0;
    fclose(in);
}

static void replace_port(char *text, size_t text_bytes, const char *what, const char *format, uint16_t port)
{
    char with[64];
    snprintf(with, sizeof with, format, port);
    replace(text, text_bytes, what, with);
}

static void configure_haproxy(void)
{
    static char text[16384], pair[8192];
    char both[64];
    read_file(TARN_TEST_DEPLOY "/haproxy.cfg", text, sizeof text);
    replace_port(text, sizeof text, "bind :80\n", "bind 127.0.0.1:%u\n", plain_port);
    replace_port(text, sizeof text, "bind :443", "bind 127.0.0.1:%u", tls_port);
    replace_port(text, sizeof text, "server tarnd 127.0.0.1:8080", "server tarnd 127.0.0.1:%u", server.port);
    replace(text, sizeof text, "timeout tunnel 60s", "timeout tunnel " PROXY_SILENCE_S);
    snprintf(both, sizeof both, "%s/both.pem", folder);
    replace(text, sizeof text, "crt /etc/haproxy/tarn.pem", "crt PEM"); // not in the comment
    replace(text, sizeof text, "PEM", both);
    tls_files_write_text(configuration, text);
    read_file(certificate, pair, sizeof pair / 2);
    read_file(key, pair + strlen(pair), sizeof pair / 2);
    tls_files_write_text(both, pair);
}

static void configure_nginx(void)
{
    static char text[16384], all[20000];
    read_file(TARN_TEST_DEPLOY "/nginx.conf", text, sizeof text);
    replace_port(text, sizeof text, "listen 80;", "listen 127.0.0.1:%u;", plain_port);
    replace(text, sizeof text, "listen [::]:80;", "");
    replace_port(text, sizeof text, "listen 443 ssl;", "listen 127.0.0.1:%u ssl;", tls_port);
    replace(text, sizeof text, "listen [::]:443 ssl;", "");
    replace_port(text, sizeof text, "server 127.0.0.1:8080;", "server 127.0.0.1:%u;", server.port);
    replace(text, sizeof text, "_timeout 60s", "_timeout " PROXY_SILENCE_S);
    replace(text, sizeof text, "/etc/nginx/tarn/fullchain.pem", certificate);
    replace(text, sizeof text, "/etc/nginx/tarn/key.pem", key);
    snprintf(all, sizeof all,
             "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr warn;\nevents {}\nhttp {\n"
             "access_log off;\nclient_body_temp_path body;\nproxy_temp_path proxy;\nfastcgi_temp_path fastcgi;\n"
             "uwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\n%s}\n",
             text);
    tls_files_write_text(configuration, all);
}

/// Starts the proxy. @param checks  it only looks at its configuration
static pid_t spawn_proxy(bool checks)
{
    char error_log[80];
    snprintf(error_log, sizeof error_log, "%s/stderr", folder);
    const pid_t child = fork();
    if (child != 0) {
        return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = open(error_log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    if (is_nginx) {
        execlp("nginx", "nginx", "-p", folder, "-e", "stderr", "-c", configuration, checks ? "-t" : (char *)NULL,
               (char *)NULL);
    } else {
        execlp("haproxy", "haproxy", checks ? "-c" : "-db", "-f", configuration, (char *)NULL);
    }
    _exit(127);
}

/// What the proxy said.
static const char *said(void)
{
    static char text[8192];
    char path[80];
    snprintf(path, sizeof path, "%s/stderr", folder);
    text[0] = 0;
    FILE *in = fopen(path, "re");
    if (in != NULL) {
        text[fread(text, 1, sizeof text - 1, in)] = 0;
        fclose(in);
    }
    return text;
}

static int start(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(configuration, sizeof configuration, "%s/configuration", folder);
    snprintf(certificate, sizeof certificate, "%s/a.crt", folder);
    snprintf(key, sizeof key, "%s/a.key", folder);
    tls_files_write(certificate, key, &(tls_plan){.is_issued = true});
    server_start(&server, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--client",
                                           TARN_TEST_PAGES, "--origin", "https://tank.example", NULL});
    tls_port = free_port();
    plain_port = free_port();
    (is_nginx ? configure_nginx : configure_haproxy)();
    int status;
    assert_int_equal(waitpid(spawn_proxy(true), &status, 0) > 0, 1);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("the configuration is refused:\n%s", said());
    }
    proxy = spawn_proxy(false);
    const uint64_t until_ns = tarn_clock_monotonic_ns() + WS_CLIENT_WAIT_MS * (uint64_t)1000000;
    ws_connect_by = tls_connect;
    while (server_http(tls_port, "GET", "/healthz", NULL, answer, sizeof answer) != 200) {
        if (tarn_clock_monotonic_ns() > until_ns || waitpid(proxy, &status, WNOHANG) != 0) {
            fail_msg("the proxy does not serve:\n%s\n%s", answer, said());
        }
        usleep(50000);
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    char command[64];
    ws_connect_by = NULL;
    if (proxy > 0) {
        kill(proxy, SIGTERM);
        waitpid(proxy, NULL, 0);
    }
    if (server.pid > 0) {
        server_stop(&server);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void assert_has(const char *part)
{
    if (strcasestr(answer, part) == NULL) {
        fail_msg("the answer does not have \"%s\":\n%s", part, answer);
    }
}

static void test_the_page_comes_over_tls_and_browsers_are_told_to_stay(void **state)
{
    (void)state;
    assert_int_equal(server_http(tls_port, "GET", "/", NULL, answer, sizeof answer), 200);
    assert_has("A page for tests");
    assert_has("strict-transport-security: max-age=15552000");
    assert_int_equal(server_http(tls_port, "GET", "/nothing", NULL, answer, sizeof answer), 404);
    assert_has("strict-transport-security: max-age=15552000");
    const tls_facts facts = tls_probe(tls_port, 0, "\2h2\10http/1.1");
    assert_true(facts.is_agreed);
    assert_string_equal(facts.alpn, "http/1.1");
    assert_false(tls_probe(tls_port, 0x0302, NULL).is_agreed); // TLS 1.1
}

static void test_requests_without_tls_are_sent_to_https(void **state)
{
    (void)state;
    int (*const connector)(uint16_t) = ws_connect_by;
    ws_connect_by = NULL;
    assert_int_equal(server_http(plain_port, "GET", "/?session=main", NULL, answer, sizeof answer), 308);
    assert_has("location: https://127.0.0.1/?session=main");
    ws_connect_by = connector;
}

static void test_pages_of_the_named_origin_may_connect_and_no_others(void **state)
{
    (void)state;
    ws_client client;
    assert_int_equal(ws_client_open(&client, tls_port, "/ws", "tarn.v1", "https://other.example"), 403);
    assert_int_equal(ws_client_open(&client, tls_port, "/ws", "tarn.v1", "https://tank.example"), 101);
    ws_client_close(&client);
}

/// Begins an upload of which no byte comes. @param says  the answer ends with, behind which HAProxy waits for the rest
/// @return its status
static int begin_upload(int byte_count, const char *says)
{
    char head[256];
    const int fd = ws_connect(tls_port);
    int status = 0;
    size_t have = 0;
    assert_true(fd >= 0);
    const int bytes = snprintf(head, sizeof head,
                               "POST /sessions/main/scenes HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                               "Content-Length: %d\r\n\r\n",
                               byte_count);
    assert_int_equal(ws_send_raw(fd, head, (size_t)bytes), 0);
    answer[0] = 0;
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    while (strstr(answer, says) == NULL && have < sizeof answer - 1 && poll(&pollfd, 1, WS_CLIENT_WAIT_MS) > 0) {
        const ssize_t got = recv(fd, answer + have, sizeof answer - 1 - have, 0);
        if (got <= 0) {
            break;
        }
        have += (size_t)got;
        answer[have] = 0;
    }
    close(fd);
    assert_has(says);
    sscanf(answer, "HTTP/1.%*d %d", &status);
    return status;
}

/// What tarnd takes isn't refused on its way: the answer is tarnd's own, to the very byte.
static void test_scenes_may_be_uploaded_up_to_what_tarnd_takes(void **state)
{
    (void)state;
    assert_int_equal(begin_upload(TARN_GATEWAY_UPLOAD_BYTES_MAX,
                                  "only with the owners' key may this tank's scenes be seen or uploaded"),
                     403);
    assert_int_equal(begin_upload(TARN_GATEWAY_UPLOAD_BYTES_MAX + 1, "413 "), 413);
}

/// What a browser takes passes through the proxy to tarnd, and the answer back.
static void test_compressed_answers_pass(void **state)
{
    (void)state;
    assert_int_equal(server_http(tls_port, "GET", "/metrics", "Accept-Encoding: gzip\r\n", answer, sizeof answer), 200);
    assert_has("content-encoding: gzip");
    assert_has("vary: accept-encoding");
}

static void test_who_comes_by_the_proxy_is_not_taken_for_this_machine(void **state)
{
    (void)state;
    static const char sent[] = "/sessions/main/move";
    // The server has one worker: whoever may move the tank is told that there is no other.
    assert_int_equal(server_http(tls_port, "POST", sent, "Content-Length: 0\r\n", answer, sizeof answer), 403);
    int (*const connector)(uint16_t) = ws_connect_by;
    ws_connect_by = NULL;
    assert_int_equal(server_http(server.port, "POST", sent, "Content-Length: 0\r\n", answer, sizeof answer), 409);
    ws_connect_by = connector;
}

static void test_a_viewer_gets_frames_and_a_silent_one_stays(void **state)
{
    (void)state;
    ws_client client;
    ws_frame frame;
    ws_message message;
    ws_client_enter(&client, tls_port);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(ws_client_wait_frame(&client, &frame), 1);
        assert_int_equal(client.decoder.status, TARN_OK);
    }
    ws_client_control(&client, TARN_CONTROL_PAUSE, NULL);
    // Longer than the proxy stands it there is nothing but pings. On a busy machine frames go on for a while before.
    int pings = 0;
    const uint64_t begun_ns = tarn_clock_monotonic_ns();
    uint64_t now_ns = begun_ns, said_ns = begun_ns;
    while (pings == 0 || now_ns - said_ns < SILENCE_MS * (uint64_t)1000000) {
        const int got = ws_client_next(&client, &message, 500);
        now_ns = tarn_clock_monotonic_ns();
        assert_true(got >= 0);
        assert_true(now_ns - begun_ns < 2 * WS_CLIENT_WAIT_MS * (uint64_t)1000000);
        if (got == 1 && message.opcode == WS_PING) {
            pings++;
        } else if (got == 1) {
            pings = 0;
            said_ns = now_ns;
        }
        if (got == 1 && ws_frame_open(message.bytes, message.byte_count, &frame) == TARN_OK) {
            ws_client_tell(
                &client, &(tarn_message){.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame.epoch, .step = frame.step}});
        }
    }
    ws_client_control(&client, TARN_CONTROL_RESUME, NULL);
    const uint64_t step = frame.step;
    do {
        assert_int_equal(ws_client_wait_frame(&client, &frame), 1);
    } while (frame.step < step + 10);
    ws_client_close(&client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_page_comes_over_tls_and_browsers_are_told_to_stay),
        cmocka_unit_test(test_requests_without_tls_are_sent_to_https),
        cmocka_unit_test(test_pages_of_the_named_origin_may_connect_and_no_others),
        cmocka_unit_test(test_scenes_may_be_uploaded_up_to_what_tarnd_takes),
        cmocka_unit_test(test_compressed_answers_pass),
        cmocka_unit_test(test_who_comes_by_the_proxy_is_not_taken_for_this_machine),
        cmocka_unit_test(test_a_viewer_gets_frames_and_a_silent_one_stays),
    };
    is_nginx = argc > 1 && strcmp(argv[1], "nginx") == 0;
    setenv("PATH", "/usr/sbin:/usr/local/sbin:/usr/bin:/bin", 1);
    if (system(is_nginx ? "command -v nginx >/dev/null" : "command -v haproxy >/dev/null") != 0) {
        printf("skipped: %s isn't installed\n", is_nginx ? "nginx" : "haproxy");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, start, stop);
}
