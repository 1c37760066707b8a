// The page over HTTP: types, caching, headers, and that nothing but the page can be had.
#include "server/base/limits.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

static server_process server;
static char answer[1 << 20];

static int start(void **state)
{
    (void)state;
    static const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool",
                                            "--client", TARN_TEST_PAGES,  NULL};
    server_start(&server, arguments);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_stop(&server);
    return 0;
}

static int get(const char *target)
{
    return server_http(server.port, "GET", target, NULL, answer, sizeof answer);
}

static void assert_says(const char *part)
{
    if (strstr(answer, part) == NULL) {
        fail_msg("the answer does not have \"%s\":\n%s", part, answer);
    }
}

static void test_the_page_comes_with_its_type_and_headers(void **state)
{
    (void)state;
    assert_int_equal(get("/"), 200);
    assert_says("content-type: text/html; charset=utf-8");
    assert_says("cache-control: no-cache");
    assert_says("content-security-policy: default-src 'self'");
    assert_says("connect-src 'self' ws://127.0.0.1 wss://127.0.0.1");
    assert_says("cross-origin-opener-policy: same-origin");
    assert_says("cross-origin-embedder-policy: require-corp");
    assert_says("x-content-type-options: nosniff");
    assert_says("A page for tests");
    assert_int_equal(get("/index.html?session=main"), 200);
    assert_says("A page for tests");
    assert_int_equal(get("/assets/page.js"), 200);
    assert_says("content-type: text/javascript; charset=utf-8");
    assert_says("immutable");
    assert_says("a script for tests");
}

static void test_a_host_with_odd_characters_does_not_get_into_the_policy(void **state)
{
    (void)state;
    assert_int_equal(server_http(server.port, "GET", "/", "Host: a; script-src *\r\n", answer, sizeof answer), 400);
    assert_null(strstr(answer, "script-src *"));
}

static void test_what_the_browser_has_is_not_sent_again(void **state)
{
    (void)state;
    char header[128];
    assert_int_equal(get("/"), 200);
    char *etag = strstr(answer, "etag: ");
    assert_non_null(etag);
    snprintf(header, sizeof header, "If-None-Match: %.18s\r\n", etag + 6);
    assert_int_equal(server_http(server.port, "GET", "/", header, answer, sizeof answer), 304);
    assert_null(strstr(answer, "A page for tests"));
    assert_int_equal(server_http(server.port, "GET", "/", "If-None-Match: \"other\"\r\n", answer, sizeof answer), 200);
}

static int get_coded(uint16_t port, const char *method, const char *target, const char *fields)
{
    return server_http(port, method, target, fields, answer, sizeof answer);
}

static const char *body(void)
{
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

/// The page's files come in the form that the browser takes, each with an etag of its own.
static void test_compressed_forms_are_sent_to_whoever_takes_them(void **state)
{
    (void)state;
    static server_process other;
    char folder[] = "/tmp/tarn-forms-XXXXXX", command[1024], header[128], etags[3][20];
    // SHA-256 of "hash me" begins with eb201af5aaf0d606.
    assert_non_null(mkdtemp(folder));
    snprintf(
        command, sizeof command,
        "cd %s && mkdir assets && printf 'hash me' > index.html && printf 'brotli' > "
        "index.html.eb201af5aaf0d606.br && printf 'zipped' > index.html.eb201af5aaf0d606.gz && printf 'hash you' > "
        "assets/a.js && printf 'stale' > assets/a.js.eb201af5aaf0d606.gz",
        folder);
    assert_int_equal(system(command), 0);
    const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--client", folder, NULL};
    server_start(&other, arguments);
    static const struct {
        const char *fields, *encoding, *body;
    } forms[] = {{"Accept-Encoding: gzip, deflate, br, zstd\r\n", "content-encoding: br\r\n", "brotli"},
                 {"Accept-Encoding: gzip\r\n", "content-encoding: gzip\r\n", "zipped"},
                 {"Range: bytes=0-1\r\n", NULL, "hash me"}}; // ranges aren't served
    for (int i = 0; i < 3; i++) {
        assert_int_equal(get_coded(other.port, "GET", "/", forms[i].fields), 200);
        assert_string_equal(body(), forms[i].body);
        assert_says("vary: accept-encoding\r\n");
        assert_says("content-type: text/html; charset=utf-8\r\n");
        snprintf(header, sizeof header, "content-length: %zu\r\n", strlen(forms[i].body));
        assert_says(header);
        if (forms[i].encoding != NULL) {
            assert_says(forms[i].encoding);
        } else {
            assert_null(strstr(answer, "content-encoding"));
        }
        const char *etag = strstr(answer, "etag: ");
        assert_non_null(etag);
        snprintf(etags[i], sizeof etags[i], "%.18s", etag + 6);
        assert_int_equal(get_coded(other.port, "HEAD", "/", forms[i].fields), 200);
        assert_string_equal(body(), "");
        assert_says(header);
        assert_says("vary: accept-encoding\r\n");
        snprintf(header, sizeof header, "%sIf-None-Match: W/%s\r\n", forms[i].fields, etags[i]);
        assert_int_equal(get_coded(other.port, "GET", "/", header), 304);
        assert_string_equal(body(), "");
        assert_says(etags[i]);
        assert_says("vary: accept-encoding\r\n");
        assert_null(strstr(answer, "content-encoding"));
        snprintf(header, sizeof header, "%sIf-None-Match: *\r\n", forms[i].fields);
        assert_int_equal(get_coded(other.port, "GET", "/", header), 304);
        if (i > 0) { // what the browser has is in another form
            assert_string_not_equal(etags[i], etags[i - 1]);
            snprintf(header, sizeof header, "%sIf-None-Match: %s\r\n", forms[i].fields, etags[i - 1]);
            assert_int_equal(get_coded(other.port, "GET", "/", header), 200);
        }
    }
    assert_int_equal(get_coded(other.port, "GET", "/", "Accept-Encoding: deflate, *;q=0\r\n"), 406);
    assert_says("this file comes as br, gzip or identity");
    assert_int_equal(get_coded(other.port, "GET", "/assets/a.js", "Accept-Encoding: gzip, br\r\n"), 200);
    assert_string_equal(body(), "hash you");
    assert_null(strstr(answer, "vary:"));
    assert_null(strstr(answer, "content-encoding"));
    assert_int_equal(get_coded(other.port, "GET", "/assets/a.js.eb201af5aaf0d606.gz", NULL), 404);
    assert_non_null(strstr(server_said(&other), "1 compressed files belong to other files"));
    server_stop(&other);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/// Undoes what gzip did. @return bytes
static size_t unzip(const char *from, size_t from_bytes, char *to, size_t to_bytes)
{
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)from,
                       .avail_in = (uInt)from_bytes,
                       .next_out = (uint8_t *)to,
                       .avail_out = (uInt)to_bytes};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    inflateEnd(&stream);
    return stream.total_out;
}

/// Scenes, their meshes and /metrics are compressed when they are asked for.
static void test_made_texts_are_compressed_for_whoever_takes_that(void **state)
{
    (void)state;
    static server_process other;
    static char plain[1 << 18], made[1 << 18];
    static const char *const targets[] = {"/scenes/duck.obj", "/metrics"};
    static const char *const arguments[] = {"--scene", TARN_TEST_SCENES "/small-pool.json", NULL};
    server_start(&other, arguments);
    for (int i = 0; i < 2; i++) {
        size_t bytes = 0, length = 0;
        assert_int_equal(get_coded(other.port, "GET", targets[i], "Accept-Encoding: br, gzip\r\n"), 200);
        assert_says("content-encoding: gzip\r\n");
        assert_says(i == 0 ? "vary: origin, accept-encoding\r\n" : "vary: accept-encoding\r\n");
        assert_int_equal(sscanf(strstr(answer, "content-length: "), "content-length: %zu", &length), 1);
        bytes = unzip(body(), length, made, sizeof made);
        assert_true(bytes > length);
        const char *etag = strstr(answer, "etag: ");
        char header[128] = "";
        if (i == 0) {
            assert_non_null(etag);
            assert_non_null(strstr(etag, "-gz\"\r\n"));
            snprintf(header, sizeof header, "Accept-Encoding: gzip\r\nIf-None-Match: %.21s\r\n", etag + 6);
            assert_int_equal(get_coded(other.port, "GET", targets[i], header), 304);
        }
        assert_int_equal(get_coded(other.port, "GET", targets[i], NULL), 200);
        assert_null(strstr(answer, "content-encoding"));
        snprintf(plain, sizeof plain, "%s", body());
        if (i == 0) { // the other changes by itself
            assert_int_equal(strlen(plain), bytes);
            assert_memory_equal(made, plain, bytes);
        } else {
            assert_memory_equal(made, plain, 7); // # HELP
        }
    }
    // Keys come uncompressed, whatever is asked: how far a text shrinks tells of what is in it.
    assert_int_equal(get_coded(other.port, "GET", "/sessions", "Accept-Encoding: gzip\r\n"), 200);
    assert_null(strstr(answer, "content-encoding"));
    server_stop(&other);
}

static void test_head_has_no_body_and_other_methods_are_refused(void **state)
{
    (void)state;
    assert_int_equal(server_http(server.port, "HEAD", "/", NULL, answer, sizeof answer), 200);
    assert_null(strstr(answer, "A page for tests"));
    assert_int_equal(server_http(server.port, "POST", "/", "Content-Length: 0\r\n", answer, sizeof answer), 405);
    int status = server_http(server.port, "DELETE", "/", NULL, answer, sizeof answer);
    assert_true(status == 405 || status == 0);
    assert_int_equal(get("/"), 200);
    assert_int_equal(server_http(server.port, "DELETE", "/sessions", NULL, answer, sizeof answer), 405);
    assert_says("allow: GET, HEAD, POST\r\n");
    assert_int_equal(server_http(server.port, "GET", "/sessions/none", NULL, answer, sizeof answer), 405);
    assert_says("allow: DELETE\r\n");
}

static void test_nothing_outside_the_page_can_be_had(void **state)
{
    (void)state;
    static const char *const targets[] = {
        "/../../../../etc/passwd",
        "/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/assets/../../../../etc/passwd",
        "//etc/passwd",
        "/./../etc/passwd",
        "/etc/passwd",
        "/assets/",
        "/assets",
        "/..\\..\\etc\\passwd",
        "/%00/etc/passwd",
        "/index.html%00.js",
        "/.git/config",
        "http://127.0.0.1/etc/passwd",
    };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        int status = get(targets[i]);
        if (status == 200 || strstr(answer, "root:") != NULL) {
            fail_msg("%s was answered with %d", targets[i], status);
        }
    }
    assert_int_equal(get("/no-such-page"), 404);
}

static void test_scenes_and_what_they_name_can_be_had(void **state)
{
    (void)state;
    char header[128];
    assert_int_equal(get("/scenes/small-pool.json"), 200);
    assert_says("content-type: application/json");
    assert_says("cache-control: no-cache");
    assert_says("content-security-policy: default-src 'self'");
    assert_says("Small pool");
    char *etag = strstr(answer, "etag: ");
    assert_non_null(etag);
    snprintf(header, sizeof header, "If-None-Match: %.18s\r\n", etag + 6);
    assert_int_equal(server_http(server.port, "GET", "/scenes/small-pool.json", header, answer, sizeof answer), 304);
    assert_int_equal(server_http(server.port, "HEAD", "/scenes/small-pool.json", NULL, answer, sizeof answer), 200);
    assert_null(strstr(answer, "Small pool"));
    static const char *const targets[] = {
        "/scenes",
        "/scenes/",
        "/scenes/small-pool",
        "/scenes/no-such.json",
        "/scenes/../bad_scenes/negative-size.json",
        "/scenes/..%2fbad_scenes/negative-size.json",
        "/scenes/%2e%2e/bad_scenes/negative-size.json",
        "/scenes/small-pool.json%00.obj",
        "/scenes/..%5c..%5csmall-pool.json",
        "/scenes//etc/passwd",
    };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (get(targets[i]) == 200) {
            fail_msg("%s was answered", targets[i]);
        }
    }
    // Many at once, some of them left in the middle.
    for (int i = 0; i < 50; i++) {
        int fd = ws_connect(server.port);
        assert_true(fd >= 0);
        static const char request[] = "GET /scenes/small-pool.json HTTP/1.1\r\nHost: a\r\n\r\n";
        ws_send_raw(fd, request, sizeof request - 1);
        close(fd);
    }
    assert_int_equal(get("/scenes/small-dam.json"), 200);
}

static void test_scenes_are_shared_with_allowed_origins_alone(void **state)
{
    (void)state;
    static server_process own;
    static const char *const arguments[] = {"--scenes",   TARN_TEST_SCENES, "--scene",
                                            "small-pool", "--origin",       "https://page.example",
                                            "--client",   TARN_TEST_PAGES,  NULL};
    server_start(&own, arguments);
    static const char allowed[] = "Origin: https://page.example\r\n", other[] = "Origin: https://page.example.evil\r\n";
    assert_int_equal(server_http(own.port, "GET", "/scenes/small-pool.json", allowed, answer, sizeof answer), 200);
    assert_says("access-control-allow-origin: https://page.example\r\n");
    assert_says("vary: origin");
    assert_int_equal(server_http(own.port, "GET", "/scenes/none.json", allowed, answer, sizeof answer), 404);
    assert_says("access-control-allow-origin: https://page.example\r\n");
    assert_int_equal(server_http(own.port, "GET", "/scenes/small-pool.json", other, answer, sizeof answer), 200);
    assert_null(strstr(answer, "access-control"));
    assert_says("vary: origin");
    static const char *const kept[] = {"/", "/sessions", "/metrics", "/healthz"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        assert_int_equal(server_http(own.port, "GET", kept[i], allowed, answer, sizeof answer), 200);
        assert_null(strstr(answer, "access-control"));
    }
    server_stop(&own);
}

/// What stands in a body that nobody reads is no request.
static void test_bodies_are_not_taken_for_requests(void **state)
{
    (void)state;
    static const char body[] = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    static const char *const heads[] = {"Content-Length: %zu\r\n\r\n%s", "Transfer-Encoding: chunked\r\n\r\n%zx\r\n%s"};
    static const char *const requests[] = {"GET /healthz", "DELETE /sessions/none", "POST /sessions", "POST /none"};
    for (size_t r = 0; r < sizeof requests / sizeof requests[0]; r++) {
        for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++) {
            char text[512];
            int used = snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n",
                                requests[r]);
            used += snprintf(text + used, sizeof text - (size_t)used, heads[h], sizeof body - 1, body);
            const int fd = ws_connect(server.port);
            assert_int_equal(ws_send_raw(fd, text, (size_t)used), 0);
            shutdown(fd, SHUT_WR);
            size_t have = 0;
            for (ssize_t got; (got = recv(fd, answer + have, sizeof answer - 1 - have, 0)) > 0;) {
                have += (size_t)got;
            }
            answer[have] = 0;
            close(fd);
            const char *first = strstr(answer, "HTTP/1.");
            if (first == NULL || strstr(first + 1, "HTTP/1.") != NULL) {
                fail_msg("%s is answered with:\n%s", text, answer);
            }
        }
    }
}

static void test_a_scene_named_by_its_file_can_be_had(void **state)
{
    (void)state;
    static server_process own;
    static const char file[] = TARN_TEST_SCENES "/small-dam.json";
    static const char *const arguments[] = {"--scenes", TARN_TEST_PAGES, "--scene", file, NULL};
    server_start(&own, arguments);
    assert_int_equal(server_http(own.port, "GET", "/scenes/small-dam.json", NULL, answer, sizeof answer), 200);
    assert_says("Small dam");
    assert_int_equal(server_http(own.port, "GET", "/scenes/small-pool.json", NULL, answer, sizeof answer), 404);
    server_stop(&own);
}

/// Loads a scene by its name, and waits until it is the tank's.
static void load(ws_client *client, const char *scene, double height_m)
{
    tarn_message message;
    ws_client_control(client, TARN_CONTROL_LOAD, scene);
    do {
        assert_true(ws_client_wait(client, TARN_MESSAGE_STATE, &message));
    } while (strcmp(message.state.scene, scene) != 0);
    assert_float_equal(message.state.size_m[1], height_m, 1e-6);
}

static void test_a_scene_named_by_its_file_is_listed_and_loaded_again(void **state)
{
    (void)state;
    static server_process own;
    static const char other_one[] = TARN_TEST_SCENES "/small-dam.json";
    // A copy elsewhere, under a name that sorts between the others, and one under the name of a listed scene.
    static const char *const names[] = {"small-mine", "small-pool"};
    for (int i = 0; i < 2; i++) {
        char folder[] = "/tmp/tarn-own-XXXXXX", file[64], picture[64], target[64], copy[600];
        tarn_message message;
        ws_client client;
        assert_non_null(mkdtemp(folder));
        snprintf(file, sizeof file, "%s/%s.json", folder, names[i]);
        snprintf(target, sizeof target, "/scenes/%s.json", names[i]);
        snprintf(picture, sizeof picture, "%s/hill.pgm", folder);
        snprintf(copy, sizeof copy, "cp '%s' '%s'; echo 'P2 2 2 9 0 0 9 9' >'%s'", other_one, file, picture);
        assert_int_equal(system(copy), 0);
        server_start(&own, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", file, NULL});
        assert_int_equal(ws_client_open(&client, own.port, "/ws", "tarn.v1", NULL), 101);
        assert_int_equal(ws_client_hello(&client), 0);
        assert_true(ws_client_wait(&client, TARN_MESSAGE_WELCOME, &message));
        assert_int_equal(message.welcome.scene_count, i == 0 ? 3 : 2);
        assert_string_equal(message.welcome.scenes[1], names[i]);
        assert_int_equal(ws_client_join(&client, ""), 0);
        assert_true(ws_client_wait(&client, TARN_MESSAGE_JOINED, &message));
        load(&client, "small-dam", 0.5);
        assert_int_equal(server_http(own.port, "GET", "/scenes/small-dam.json", NULL, answer, sizeof answer), 200);
        // It and its files can be had while the tank is of another scene.
        assert_int_equal(server_http(own.port, "GET", target, NULL, answer, sizeof answer), 200);
        assert_says("Small dam");
        assert_int_equal(server_http(own.port, "GET", "/scenes/hill.pgm", NULL, answer, sizeof answer), 200);
        assert_says("P2 2 2");
        load(&client, names[i], 0.5);
        assert_int_equal(server_http(own.port, "GET", target, NULL, answer, sizeof answer), 200);
        assert_says("Small dam");
        ws_client_close(&client);
        server_stop(&own);
        unlink(file);
        unlink(picture);
        rmdir(folder);
    }
}

/// Waits for an owner's word about a scene, which begins so and names no folder.
static void expect_fault(ws_client *client, const char *sentence)
{
    tarn_message message;
    assert_true(ws_client_wait(client, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_SCENE);
    if (strncmp(message.error.text, sentence, strlen(sentence)) != 0 || strstr(message.error.text, "/tmp") != NULL) {
        fail_msg("%s\ninstead of %s", message.error.text, sentence);
    }
}

static void test_scenes_that_come_while_it_runs_can_be_loaded(void **state)
{
    (void)state;
    static server_process own;
    static const char pool[] = TARN_TEST_SCENES "/small-pool.json";
    char folder[] = "/tmp/tarn-come-XXXXXX", file[64], broken[64], copy[600];
    ws_client client;
    tarn_message message;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/come.json", folder);
    snprintf(broken, sizeof broken, "%s/broken.json", folder);
    snprintf(copy, sizeof copy, "cp '%s' '%s'; echo '{}' >'%s'", TARN_TEST_SCENES "/small-dam.json", file, broken);
    server_start(&own, (const char *[]){"--scenes", folder, "--scene", pool, NULL});
    assert_int_equal(system(copy), 0);
    for (int ms = 0; strstr(answer, "\"come\"") == NULL; ms += 100) {
        assert_true(ms < WS_CLIENT_WAIT_MS);
        usleep(100000);
        assert_int_equal(server_http(own.port, "GET", "/sessions", NULL, answer, sizeof answer), 200);
    }
    assert_null(strstr(answer, "broken"));
    assert_int_equal(ws_client_open(&client, own.port, "/ws", "tarn.v1", NULL), 101);
    assert_int_equal(ws_client_hello(&client), 0);
    assert_int_equal(ws_client_join(&client, ""), 0);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_JOINED, &message));
    assert_int_equal(message.joined.role, TARN_ROLE_OWN);
    expect_fault(&client, "the scene \"broken\" isn't offered: size_m: the field is missing");
    snprintf(copy, sizeof copy, "echo '{ ' >'%s/worse.json'", folder);
    assert_int_equal(system(copy), 0);
    expect_fault(&client, "the scene \"worse\" isn't offered (the log has 1 other): line ");
    load(&client, "come", 0.5);
    ws_client_close(&client);
    server_stop(&own);
    unlink(file);
    assert_non_null(strstr(server_said(&own), "the scene \"broken\" isn't offered: "));
    unlink(broken);
    snprintf(broken, sizeof broken, "%s/worse.json", folder);
    unlink(broken);
    rmdir(folder);
}

/// A large file is read before any of it is sent, by the thread that serves all: one client has its share of that,
/// whatever it takes of the answers.
static void test_one_client_has_so_much_read_of_scenes(void **state)
{
    (void)state;
    enum { FILE_BYTES = TARN_GATEWAY_PAGE_BYTES_MAX, TIMES_MAX = 500 };
    static const char pool[] = TARN_TEST_SCENES "/small-pool.json";
    static const char one[] = "X-Forwarded-For: 2001:db8::1\r\n", other[] = "X-Forwarded-For: 2001:db8:0:1::1\r\n";
    static server_process own;
    char folder[] = "/tmp/tarn-large-XXXXXX", file[64];
    int status = 200, times = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/large.obj", folder);
    const int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, FILE_BYTES), 0);
    close(fd);
    server_start(&own, (const char *[]){"--scenes", folder, "--scene", pool, "--trusted-proxy", "127.0.0.0/8", NULL});
    while (status == 200 && times < TIMES_MAX) {
        status = server_http(own.port, "HEAD", "/scenes/large.obj", one, answer, sizeof answer);
        times++;
    }
    assert_int_equal(status, 429);
    assert_true(times > TARN_GATEWAY_SCENE_PIECES_BURST / (FILE_BYTES / TARN_GATEWAY_SCENE_PIECE_BYTES));
    assert_int_equal(server_http(own.port, "HEAD", "/sessions/main/scene/small-pool.json", one, answer, sizeof answer),
                     429);
    assert_int_equal(server_http(own.port, "HEAD", "/scenes/large.obj", other, answer, sizeof answer), 200);
    assert_int_equal(server_http(own.port, "HEAD", "/scenes/large.obj", NULL, answer, sizeof answer), 200);
    server_stop(&own);
    unlink(file);
    rmdir(folder);
}

static void test_health_and_metrics_tell_how_it_goes(void **state)
{
    (void)state;
    ws_client client;
    ws_frame frame;
    const float origin[3] = {0.5f, 3, 0.5f}, down[3] = {0, -1, 0};
    assert_int_equal(get("/healthz"), 200);
    ws_client_enter(&client, server.port);
    ws_client_pointer(&client, TARN_PHASE_DOWN, origin, down, 0.1f);
    for (int i = 0; i < 120; i++) { // longer than between two reports of the worker, at 60 a second
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    assert_true(server_metric(server.port, "tarn_viewers") == 1);
    assert_true(server_metric(server.port, "tarn_frames_sent_total") >= 120);
    assert_true(server_metric(server.port, "tarn_bytes_sent_total") > 10000);
    assert_true(server_metric(server.port, "tarn_worker_starts_total{worker=\"0\"}") == 1);
    assert_true(server_metric(server.port, "tarn_worker_ready{worker=\"0\"}") == 1);
    assert_true(server_metric(server.port, "tarn_input_to_frame_seconds_count") == 1);
    assert_true(server_metric(server.port, "tarn_stage_seconds_count{stage=\"wait\"}") == 1);
    for (int i = 0; i < 4; i++) {
        static const char *const stages[] = {"step", "encode", "pass", "write"};
        char name[64];
        snprintf(name, sizeof name, "tarn_stage_seconds_count{stage=\"%s\"}", stages[i]);
        assert_true(server_metric(server.port, name) >= 1);
    }
    assert_true(server_metric(server.port, "tarn_session_realtime_factor{session=\"main\",worker=\"0\"}") > 0);
    assert_true(server_metric(server.port, "tarn_session_unconverged{session=\"main\",worker=\"0\"}") == 0);
    assert_true(server_metric(server.port, "tarn_session_particles{session=\"main\",worker=\"0\"}") > 1000);
    ws_client_close(&client);
}

/// A pressure that may take one iteration alone ends early, and people learn of it.
static void test_pressures_that_end_early_are_told(void **state)
{
    (void)state;
    static const char field[] = "\"unconverged\":";
    ws_client client;
    ws_frame frame;
    tarn_message message = {.kind = TARN_MESSAGE_PING, .ping = {.id = 1}};
    ws_client_enter(&client, server.port);
    ws_client_parameter(&client, "pressure_tolerance", 1e-6f);
    ws_client_parameter(&client, "pressure_iterations", 1);
    for (int i = 0; i < 120; i++) { // as above
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    ws_client_tell(&client, &message);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_PONG, &message));
    assert_true(message.pong.unconverged > 0);
    assert_int_equal(get("/sessions"), 200);
    assert_says(field);
    assert_true(strtoull(strstr(answer, field) + strlen(field), NULL, 10) >= message.pong.unconverged);
    ws_client_parameter(&client, "pressure_tolerance", 1e-4f);
    ws_client_parameter(&client, "pressure_iterations", 20);
    ws_client_close(&client);
}

/// Sends a request as it is. @return the status, 0 when the connection just ended
static int raw_request(const char *request, size_t bytes)
{
    int fd = ws_connect(server.port), status = 0, have = 0;
    assert_true(fd >= 0);
    ws_send_raw(fd, request, bytes);
    shutdown(fd, SHUT_WR);
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    while (have < 4096 && poll(&pollfd, 1, WS_CLIENT_WAIT_MS) > 0) {
        ssize_t got = recv(fd, answer + have, 4096, 0);
        if (got <= 0) {
            break;
        }
        have += (int)got;
    }
    answer[have] = 0;
    sscanf(answer, "HTTP/1.%*d %d", &status);
    close(fd);
    return status;
}

/// No browser takes a source such as ws://[::1]: what it means is left to 'self'.
static void test_a_host_in_brackets_is_not_in_the_policy(void **state)
{
    (void)state;
    static const char request[] = "GET / HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: close\r\n\r\n";
    assert_int_equal(raw_request(request, sizeof request - 1), 200);
    assert_says("connect-src 'self'\r\n");
}

static void test_an_upgrade_to_http2_is_refused(void **state)
{
    (void)state;
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                                  "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
    assert_int_not_equal(raw_request(request, sizeof request - 1), 101);
    assert_int_equal(get("/"), 200);
}

static void test_a_websocket_is_upgraded_only_as_its_standard_says(void **state)
{
    (void)state;
    static char path[400], request[1024];
    static const char rest[] = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: tarn.v1\r\n";
    memset(path, 'a', sizeof path - 1);
    path[0] = '/';
    const struct {
        const char *method, *path, *version;
        int status;
    } cases[] = {
        {"GET", "/ws", "Sec-WebSocket-Version: 13\r\n", 101},    {"POST", "/ws", "Sec-WebSocket-Version: 13\r\n", 404},
        {"HEAD", "/ws", "Sec-WebSocket-Version: 13\r\n", 404},   {"GET", path, "Sec-WebSocket-Version: 13\r\n", 404},
        {"GET", "/ws", "Sec-WebSocket-Version: 8\r\n", 426},     {"GET", "/ws", "", 426},
        {"GET", "/other", "Sec-WebSocket-Version: 13\r\n", 404},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int length = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: a\r\n%s%s\r\n", cases[i].method,
                              cases[i].path, rest, cases[i].version);
        int status = raw_request(request, (size_t)length);
        if (status != cases[i].status) {
            fail_msg("%s %.10s with \"%s\" was answered with %d instead of %d", cases[i].method, cases[i].path,
                     cases[i].version, status, cases[i].status);
        }
    }
    assert_int_equal(get("/"), 200);
}

/// libwebsockets gives such requests up amid its own handshake.
static void test_a_handshake_that_goes_wrong_ends_one_connection(void **state)
{
    (void)state;
    static char request[4096], key[1024], extensions[1024];
    static const char good[] = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    strcpy(key, "Sec-WebSocket-Key: ");
    memset(key + strlen(key), 'a', 128);
    strcat(key, "\r\n");
    strcpy(extensions, "Sec-WebSocket-Extensions: ");
    memset(extensions + strlen(extensions), 'a', 400);
    strcat(extensions, "\r\n");
    const struct {
        const char *host, *key, *more;
        int status;
    } cases[] = {
        {"Host: a\r\n", good, "", 101},
        {"Host: a\r\n", good, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n", 101},
        {"Host: a\r\n", "", "", 400},
        {"Host: a\r\n", "Sec-WebSocket-Key:\r\n", "", 400},
        {"Host: a\r\n", "Sec-WebSocket-Key: abc\r\n", "", 400},
        {"Host: a\r\n", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=!\r\n", "", 400},
        {"Host: a\r\n", key, "", 400},
        {"", good, "", 400},
        {"Host:\r\n", good, "", 400},
        {"Host: a\r\n", good, extensions, 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int length = snprintf(request, sizeof request,
                                    "GET /ws HTTP/1.1\r\n%s%s%sConnection: Upgrade\r\nUpgrade: websocket\r\n"
                                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: tarn.v1\r\n\r\n",
                                    cases[i].host, cases[i].key, cases[i].more);
        const int status = raw_request(request, (size_t)length);
        if (status != cases[i].status) {
            fail_msg("case %zu was answered with %d instead of %d", i, status, cases[i].status);
        }
    }
    assert_int_equal(get("/"), 200);
}

/// A page elsewhere whose name leads to this machine (DNS rebinding) sends an origin that equals the host.
static void test_only_pages_of_this_server_may_connect(void **state)
{
    (void)state;
    static const char rest[] = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: tarn.v1\r\n";
    const struct {
        const char *host, *origin;
        int status;
    } cases[] = {
        {"127.0.0.1:80", "http://127.0.0.1:80", 101}, {"localhost:80", "http://localhost:80", 101},
        {"[::1]:80", "http://[::1]:80", 101},         {"evil.example:80", "http://evil.example:80", 421},
        {"127.0.0.1:80", "http://evil.example", 403}, {"127.0.0.1:80", "null", 403},
    };
    char request[1024];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int length = snprintf(request, sizeof request, "GET /ws HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\n%s\r\n",
                              cases[i].host, cases[i].origin, rest);
        int status = raw_request(request, (size_t)length);
        if (status != cases[i].status) {
            fail_msg("a page of %s at host %s was answered with %d instead of %d", cases[i].origin, cases[i].host,
                     status, cases[i].status);
        }
    }
}

static void test_requests_that_are_no_http_harm_nobody(void **state)
{
    (void)state;
    static char noise[10000];
    srand(11);
    for (int round = 0; round < 30; round++) {
        size_t bytes = (size_t)(rand() % (int)sizeof noise);
        for (size_t i = 0; i < bytes; i++) {
            noise[i] = round % 2 ? (char)rand() : (char)('a' + rand() % 26);
        }
        static const uint8_t begin[] = {'G', 'E', 'T', ' ', '/', ' ', 'H',  'T',
                                        'T', 'P', '/', '1', '.', '1', '\r', '\n'};
        if (round % 3 == 0 && bytes > sizeof begin) {
            memcpy(noise, begin, sizeof begin);
        }
        raw_request(noise, bytes);
    }
    assert_int_equal(get("/"), 200);
}

static void test_idle_connections_keep_nobody_out(void **state)
{
    (void)state;
    enum { MANY = 600 };
    // Says nothing, stops in the middle, asks for what isn't there and stays, or upgrades and says nothing.
    static const char *const beginnings[] = {
        "",
        "GET / HTTP/1.1\r\nHost",
        "CONNECT a:1 HTTP/1.1\r\n\r\n",
        "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: tarn.v1\r\n\r\n",
    };
    static int fds[MANY];
    ws_client viewer, other;
    ws_frame frame;
    int opened = 0;
    ws_client_enter(&viewer, server.port);
    for (; opened < MANY && (fds[opened] = ws_connect(server.port)) >= 0; opened++) {
        const char *begin = beginnings[opened % 4];
        ws_send_raw(fds[opened], begin, strlen(begin));
    }
    assert_int_equal(opened, MANY);
    // They would stay for 10 s and longer; new ones are served as soon as those before have been accepted.
    int status = 0;
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 10 && status != 200; i++) {
        usleep(10000);
        status = get("/");
    }
    assert_int_equal(status, 200);
    ws_client_enter(&other, server.port);
    assert_true(ws_client_wait_frame(&other, &frame));
    assert_true(server_metric(server.port, "tarn_connections_dropped_total") > 0);
    // Whoever had joined before is still there.
    assert_true(ws_client_wait_frame(&viewer, &frame));
    for (int i = 0; i < opened; i++) {
        close(fds[i]);
    }
    ws_client_close(&viewer);
    ws_client_close(&other);
}

/// A quarter of the places; whom a request comes from says a proxy only where it is trusted.
static void test_an_address_has_its_share(void **state)
{
    (void)state;
    enum { SHARE = 6 };
    static server_process own;
    static ws_client viewers[SHARE + 3];
    static char headers[128];
    static const char *const first = "X-Forwarded-For: 192.0.2.9, 192.0.2.1\r\n", *const second =
                                                                                      "X-Forwarded-For: 192.0.2.2\r\n";
    server_descriptors_max = 56 + 4 * SHARE;
    server_start(&own, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--trusted-proxy",
                                        "127.0.0.0/8", NULL});
    server_descriptors_max = 0;
    for (int i = 0; i < SHARE + 3; i++) {
        tarn_message message;
        const bool is_too_many = i == SHARE;
        ws_client_headers = i <= SHARE ? first : i == SHARE + 1 ? second : "";
        assert_int_equal(ws_client_open(&viewers[i], own.port, "/ws", "tarn.v1", NULL), 101);
        assert_int_equal(ws_client_hello(&viewers[i]), 0);
        assert_int_equal(ws_client_join(&viewers[i], ""), 0);
        if (is_too_many) {
            assert_int_equal(ws_client_wait_close(&viewers[i]), 4006);
            assert_non_null(strstr(viewers[i].close_reason, "6 viewers have joined from this address"));
        } else {
            assert_true(ws_client_wait(&viewers[i], TARN_MESSAGE_JOINED, &message));
        }
    }
    ws_client_headers = "";
    // Whoever has an address of IPv6 has its network, from which each request may come by another one.
    static const struct {
        const char *from;
        int expected;
    } makers[] = {{"192.0.2.1", 201},   {"192.0.2.1", 201},        {"192.0.2.1", 429},
                  {"192.0.2.2", 201},   {"2001:db8::1", 201},      {"2001:db8::2", 201},
                  {"2001:db8::3", 429}, {"2001:db8:0:0:7::", 429}, {"2001:db8:0:1::", 201}};
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        snprintf(headers, sizeof headers, "Content-Type: application/json\r\nX-Forwarded-For: %s\r\n", makers[i].from);
        const int status =
            server_request(own.port, "POST", "/sessions", headers, "{\"scene\":\"small-pool\"}", answer, sizeof answer);
        if (status != makers[i].expected) {
            fail_msg("the request %zu of %s gives %d: %s", i, makers[i].from, status, answer);
        }
    }
    // A page of this host must have come the way that the proxy says.
    static const char pages[][128] = {"X-Forwarded-Proto: https\r\nOrigin: https://127.0.0.1\r\n",
                                      "X-Forwarded-Proto: https\r\nOrigin: http://127.0.0.1\r\n"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(server_http(own.port, "DELETE", "/sessions/none", pages[i], answer, sizeof answer),
                         i == 0 ? 404 : 403);
    }
    for (int i = 0; i < SHARE + 3; i++) {
        ws_client_close(&viewers[i]);
    }
    server_stop(&own);
    // This one trusts nobody: all come from this machine, which has no share.
    for (int i = 0; i < 3; i++) {
        snprintf(headers, sizeof headers, "Content-Type: application/json\r\n%s", first);
        assert_int_equal(server_request(server.port, "POST", "/sessions", headers, "{\"scene\":\"small-pool\"}", answer,
                                        sizeof answer),
                         201);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_page_comes_with_its_type_and_headers),
        cmocka_unit_test(test_a_host_with_odd_characters_does_not_get_into_the_policy),
        cmocka_unit_test(test_a_host_in_brackets_is_not_in_the_policy),
        cmocka_unit_test(test_what_the_browser_has_is_not_sent_again),
        cmocka_unit_test(test_compressed_forms_are_sent_to_whoever_takes_them),
        cmocka_unit_test(test_made_texts_are_compressed_for_whoever_takes_that),
        cmocka_unit_test(test_head_has_no_body_and_other_methods_are_refused),
        cmocka_unit_test(test_nothing_outside_the_page_can_be_had),
        cmocka_unit_test(test_scenes_and_what_they_name_can_be_had),
        cmocka_unit_test(test_scenes_are_shared_with_allowed_origins_alone),
        cmocka_unit_test(test_bodies_are_not_taken_for_requests),
        cmocka_unit_test(test_a_scene_named_by_its_file_can_be_had),
        cmocka_unit_test(test_a_scene_named_by_its_file_is_listed_and_loaded_again),
        cmocka_unit_test(test_scenes_that_come_while_it_runs_can_be_loaded),
        cmocka_unit_test(test_health_and_metrics_tell_how_it_goes),
        cmocka_unit_test(test_pressures_that_end_early_are_told),
        cmocka_unit_test(test_an_upgrade_to_http2_is_refused),
        cmocka_unit_test(test_a_websocket_is_upgraded_only_as_its_standard_says),
        cmocka_unit_test(test_a_handshake_that_goes_wrong_ends_one_connection),
        cmocka_unit_test(test_only_pages_of_this_server_may_connect),
        cmocka_unit_test(test_requests_that_are_no_http_harm_nobody),
        cmocka_unit_test(test_idle_connections_keep_nobody_out),
        cmocka_unit_test(test_an_address_has_its_share),
        cmocka_unit_test(test_one_client_has_so_much_read_of_scenes),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
