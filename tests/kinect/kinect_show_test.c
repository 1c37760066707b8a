// The page of `tarn kinect --show`, as a browser would ask for it: what it shows is what moves, what it changes takes
// effect, and whoever has no business there gets a sentence.
#include "server/base/clock.h"
#include "server/base/options.h"
#include "tests/kinect/bridge_process.h"
#include "tests/server/pool_server.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SUBPROTOCOL "tarn.camera.v1"

enum {
    ANSWER_BYTES = 1 << 16,
    HEAD_BYTES = 32,
    CELLS_MAX = 160 * 120,
    LEARNING = 1,
    GOES_OUT = 2,
    PICTURES_MAX = 400, ///< that are waited for
};

static char *const folder = bridge_folder, *const recording = bridge_recording;
static char answer[ANSWER_BYTES];
static ws_client viewers[5];

/// A picture as the page gets it; see tool/kinect/show.h.
typedef struct picture {
    uint8_t flags, people;
    uint32_t columns, rows, motion_columns, motion_rows, grid_columns, grid_rows;
    uint8_t depth[CELLS_MAX], difference[CELLS_MAX], motion[4 * CELLS_MAX], grid[4 * CELLS_MAX];
} picture;

static picture seen;

/// Starts the bridge with its page. @return the page's port
static uint16_t start(bridge_process *b, const char *more)
{
    static const char before[] = "http://127.0.0.1:";
    char options[512];
    snprintf(options, sizeof options, "--frames %s --loop --show=0 %s", recording, more);
    bridge_start(b, folder, options, NULL, NULL);
    bridge_wait_said(b, before);
    bridge_wait_said(b, "/\n");
    return (uint16_t)atoi(strstr(b->text, before) + strlen(before));
}

static uint16_t start_at_pool(bridge_process *b, const char *more)
{
    char options[256];
    snprintf(options, sizeof options, "--url 127.0.0.1:%u %s", pool_server.port, more);
    return start(b, options);
}

/// One request as it is; the answer goes to `answer`. @return its status
static int ask_raw(uint16_t port, const char *request)
{
    int status = 0, have = 0;
    const int fd = ws_connect(port);
    assert_true(fd >= 0);
    assert_int_equal(ws_send_raw(fd, request, strlen(request)), 0);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (have < ANSWER_BYTES - 1 && poll(&wait, 1, WS_CLIENT_WAIT_MS) > 0) {
        const ssize_t got = recv(fd, answer + have, (size_t)(ANSWER_BYTES - 1 - have), 0);
        if (got <= 0) {
            break;
        }
        have += (int)got;
    }
    answer[have] = '\0';
    close(fd);
    sscanf(answer, "HTTP/1.%*d %d", &status);
    return status;
}

static void assert_says(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("it doesn't say \"%s\", but: %s", part, text);
    }
}

static void open_viewer(ws_client *viewer, uint16_t port)
{
    assert_int_equal(ws_client_open(viewer, port, "/ws", SUBPROTOCOL, NULL), 101);
}

static void say(ws_client *viewer, const char *text)
{
    assert_int_equal(ws_client_send(viewer, WS_TEXT, text, strlen(text)), 0);
}

/// The next text that has this in it, in `answer`.
static void wait_text(ws_client *viewer, const char *part)
{
    ws_message message;
    const uint64_t until_ns = tarn_clock_monotonic_ns() + BRIDGE_WAIT_S * (uint64_t)1000000000;
    do { // figures come all the time
        if (tarn_clock_monotonic_ns() > until_ns) {
            fail_msg("never said \"%s\", but \"%s\"", part, answer);
        }
        assert_int_equal(ws_client_next(viewer, &message, WS_CLIENT_WAIT_MS), 1);
        snprintf(answer, sizeof answer, "%.*s", message.opcode == WS_TEXT ? (int)message.byte_count : 0,
                 (const char *)message.bytes);
    } while (strstr(answer, part) == NULL);
}

static uint32_t number_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

/// The next picture, in `seen`.
static void look(ws_client *viewer)
{
    ws_message message;
    say(viewer, "{\"do\":\"look\"}");
    do {
        assert_int_equal(ws_client_next(viewer, &message, WS_CLIENT_WAIT_MS), 1);
    } while (message.opcode != WS_BINARY);
    const uint8_t *at = message.bytes;
    assert_true(message.byte_count > HEAD_BYTES);
    assert_int_equal(at[0], 1);
    seen.flags = at[1];
    seen.people = at[2];
    assert_int_equal(number_at(at + 4), 640);
    assert_int_equal(number_at(at + 6), 480);
    seen.columns = number_at(at + 8);
    seen.rows = number_at(at + 10);
    seen.motion_columns = number_at(at + 12);
    seen.motion_rows = number_at(at + 14);
    seen.grid_columns = number_at(at + 16);
    seen.grid_rows = number_at(at + 18);
    const size_t cells = (size_t)seen.columns * seen.rows, motion = 4 * (size_t)seen.motion_columns * seen.motion_rows;
    const size_t grid = 4 * (size_t)seen.grid_columns * seen.grid_rows;
    assert_int_equal(message.byte_count, HEAD_BYTES + 2 * cells + motion + grid);
    at += HEAD_BYTES;
    memcpy(seen.depth, at, cells);
    memcpy(seen.difference, at + cells, cells);
    memcpy(seen.motion, at + 2 * cells, motion);
    memcpy(seen.grid, at + 2 * cells + motion, grid);
}

/// How many cells of the first plane aren't empty: where somebody is.
static size_t present(const uint8_t *planes, uint32_t columns, uint32_t rows)
{
    size_t count = 0;
    for (size_t i = 0; i < (size_t)columns * rows; i++) {
        count += planes[i] > 0;
    }
    return count;
}

static size_t in_motion(void)
{
    return present(seen.motion, seen.motion_columns, seen.motion_rows);
}

static size_t in_grid(void)
{
    return present(seen.grid, seen.grid_columns, seen.grid_rows);
}

/// Looks until somebody is there.
static void look_for_somebody(ws_client *viewer)
{
    for (int i = 0; i < PICTURES_MAX; i++) {
        look(viewer);
        if (in_motion() > 100) {
            return;
        }
    }
    fail_msg("nobody came");
}

static void the_page_and_its_files_come(void **state)
{
    (void)state;
    bridge_process b;
    const uint16_t port = start_at_pool(&b, "");
    assert_int_equal(server_http(port, "GET", "/", NULL, answer, sizeof answer), 200);
    assert_says(answer, "content-type: text/html; charset=utf-8");
    assert_says(answer, "content-security-policy: default-src 'none'; script-src 'self'");
    assert_says(answer, "Set the camera up");
    assert_int_equal(server_http(port, "GET", "/show.js", NULL, answer, sizeof answer), 200);
    assert_says(answer, "content-type: text/javascript; charset=utf-8");
    assert_int_equal(server_http(port, "GET", "/show.css", NULL, answer, sizeof answer), 200);
    assert_int_equal(server_http(port, "GET", "/../show.c", NULL, answer, sizeof answer), 404);
    assert_int_not_equal(server_http(port, "GET", "/show.js%00", NULL, answer, sizeof answer), 200);
    assert_int_equal(server_http(port, "POST", "/", "Content-Length: 0\r\n", answer, sizeof answer), 405);
    assert_says(answer, "allowed here: GET");
    assert_int_equal(bridge_finish(&b, SIGINT), 0);
    assert_int_equal(bridge_count_said(&b, "http://"), 1);
}

static void planes_differ_where_somebody_moves(void **state)
{
    (void)state;
    bridge_process b;
    double inside = 0, outside = 0, inside_cells = 0, outside_cells = 0;
    ws_client *viewer = &viewers[0];
    const uint16_t port = start_at_pool(&b, "");
    open_viewer(viewer, port);
    wait_text(viewer, "\"is\":\"setup\"");
    assert_says(answer, "\"corners_px\":null");
    assert_says(answer, "\"file\":null");
    for (int n = 0; n < 20;) {
        look_for_somebody(viewer);
        n++;
        assert_int_equal(seen.columns, 160);
        assert_int_equal(seen.rows, 120);
        assert_int_equal(seen.motion_columns, 80);
        assert_true(seen.people > 0);
        for (uint32_t i = 0; i < seen.columns * seen.rows; i++) {
            const uint32_t x = i % seen.columns / 2, y = i / seen.columns / 2;
            // A cell's neighbours are left out: what leaves a cell moves, too.
            uint32_t near = 0;
            for (int dy = -2; dy <= 2; dy++) {
                for (int dx = -2; dx <= 2; dx++) {
                    const int at_x = (int)x + dx, at_y = (int)y + dy;
                    near += at_x >= 0 && at_y >= 0 && at_x < 80 && at_y < 60 && seen.motion[at_y * 80 + at_x] > 0;
                }
            }
            if (seen.motion[y * 80 + x] > 0) {
                inside += seen.difference[i];
                inside_cells++;
            } else if (near == 0) {
                outside += seen.difference[i];
                outside_cells++;
            }
        }
    }
    print_message("difference: %.2f where somebody is, %.2f elsewhere\n", inside / inside_cells,
                  outside / outside_cells);
    assert_true(inside / inside_cells > 3 * outside / outside_cells);
    wait_text(viewer, "\"is\":\"figures\"");
    assert_says(answer, "\"camera\":\"the recording");
    assert_says(answer, "\"link\":\"connected to");
    ws_client_close(viewer);
    assert_int_equal(bridge_finish(&b, SIGINT), 0);
}

/// Who asks often gets no more pictures for it, and who doesn't ask gets none.
static void pictures_do_not_queue(void **state)
{
    (void)state;
    bridge_process b;
    ws_client *viewer = &viewers[0];
    const uint16_t port = start_at_pool(&b, "");
    open_viewer(viewer, port);
    look(viewer);
    for (int asks = 20; asks >= 0; asks -= 20) {
        int pictures = 0;
        for (int i = 0; i < asks; i++) {
            say(viewer, "{\"do\":\"look\"}");
        }
        for (int figures = 0; figures < 3;) {
            ws_message message;
            assert_int_equal(ws_client_next(viewer, &message, WS_CLIENT_WAIT_MS), 1);
            pictures += message.opcode == WS_BINARY;
            figures += message.opcode == WS_TEXT;
        }
        assert_true(asks > 0 ? pictures >= 1 && pictures <= 10 : pictures == 0);
    }
    ws_client_close(viewer);
    assert_int_equal(bridge_finish(&b, SIGINT), 0);
}

static void what_is_applied_changes_what_is_sent(void **state)
{
    (void)state;
    bridge_process b;
    char options[128], file[96];
    ws_client *viewer = &viewers[0], *other = &viewers[1];
    snprintf(file, sizeof file, "%s/wall.json", folder);
    snprintf(options, sizeof options, "--calibration %s", file);
    const uint16_t port = start_at_pool(&b, options);
    open_viewer(viewer, port);
    open_viewer(other, port);
    wait_text(other, "\"corners_px\":null");
    look_for_somebody(viewer);
    assert_int_equal(seen.grid_columns, 80);
    assert_true((seen.flags & GOES_OUT) != 0);
    assert_true(in_grid() > 50);

    // The picture's corner, in which nobody is.
    say(viewer, "{\"do\":\"apply\",\"setup\":{\"corners_px\":[[0,0],[60,0],[60,60],[0,60]]}}");
    wait_text(viewer, "\"is\":\"answer\"");
    assert_says(answer, "\"to\":\"apply\"");
    assert_says(answer, "\"error\":null");
    wait_text(other, "\"corners_px\":[[0,0],[60,0],[60,60],[0,60]]");
    look(viewer); // may be from before
    look_for_somebody(viewer);
    assert_int_equal(in_grid(), 0);

    // The body stands at 2.4 m, with a hand's breadth of depth around it.
    assert_int_equal(access(file, F_OK), -1);
    say(viewer, "{\"do\":\"save\",\"setup\":{\"corners_px\":null,\"far_m\":1.25,\"mirror\":true,\"rotate_deg\":180}}");
    wait_text(viewer, "\"is\":\"answer\"");
    assert_says(answer, "\"to\":\"save\"");
    assert_says(answer, "\"error\":null");
    look(viewer);
    for (int i = 0; i < 30; i++) {
        look(viewer);
        assert_int_equal(in_motion(), 0);
    }
    ws_client_close(viewer);
    ws_client_close(other);
    assert_int_equal(bridge_finish(&b, SIGINT), 0);

    // The file is read, and an option comes before it.
    snprintf(options, sizeof options, "--near 0.75 --calibration %s", file);
    open_viewer(viewer, start_at_pool(&b, options));
    wait_text(viewer, "\"is\":\"setup\"");
    assert_says(answer, "\"near_m\":0.75,\"far_m\":1.25,\"dead_zone_m_s\":0.1");
    assert_says(answer, "\"mirror\":true,\"rotate_deg\":180}");
    assert_says(answer, file);
    ws_client_close(viewer);
    assert_int_equal(bridge_finish(&b, SIGINT), 0);

    // Beside it nothing is left of how it was written.
    DIR *directory = opendir(folder);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        assert_true(strncmp(entry->d_name, "wall.json", 9) != 0 || entry->d_name[9] == '\0');
    }
    closedir(directory);
}

static void what_is_malformed_disturbs_nobody(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "the message isn't JSON"},
        {"{\"do\":", "the message isn't JSON"},
        {"[]", "do: found something else, allowed are look, apply and save"},
        {"{\"do\":\"end\"}", "do: found something else, allowed are look, apply and save"},
        {"{\"do\":\"apply\"}", "setup: found no object"},
        {"{\"do\":\"apply\",\"setup\":{\"near_m\":0.1}}", "near_m: found 0.1, allowed is a number from 0.2 to 10"},
        {"{\"do\":\"apply\",\"setup\":{\"far_m\":\"2\"}}", "far_m: found something else, allowed is a number"},
        {"{\"do\":\"apply\",\"setup\":{\"near_m\":5}}", "allowed is a near limit below the far one"},
        {"{\"do\":\"apply\",\"setup\":{\"rotate_deg\":45}}", "rotate_deg: found another number, allowed are 0, 90"},
        {"{\"do\":\"apply\",\"setup\":{\"mirror\":1}}", "mirror: found something else, allowed are true and false"},
        {"{\"do\":\"apply\",\"setup\":{\"corners_px\":[1,2]}}", "corners_px: found something else, allowed are null"},
        {"{\"do\":\"apply\",\"setup\":{\"corners_px\":[[0,0],[1e9,0],[9,9],[0,9]]}}",
         "found 1e+09, allowed are pixels"},
        {"{\"do\":\"apply\",\"setup\":{\"corners_px\":[[0,0],[99,99],[99,0],[0,99]]}}",
         "found corners that go around no"},
        {"{\"do\":\"apply\",\"setup\":{\"depth\":1}}", "found another field, allowed are corners_px, near_m"},
        {"{\"do\":\"save\",\"setup\":{}}", "found no file to save to; --calibration FILE names one"},
    };
    static char long_text[1025];
    bridge_process b;
    ws_client *viewer = &viewers[0], *worse = &viewers[1];
    const uint16_t port = start_at_pool(&b, "");
    open_viewer(viewer, port);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        say(viewer, wrong[i].text);
        wait_text(viewer, "\"is\":\"answer\"");
        assert_says(answer, wrong[i].says);
    }
    memset(long_text, 'x', sizeof long_text);
    open_viewer(worse, port);
    assert_int_equal(ws_client_send(worse, WS_TEXT, long_text, sizeof long_text), 0);
    assert_int_equal(ws_client_wait_close(worse), 1009);
    assert_says(worse->close_reason, "allowed are 1024 bytes");
    ws_client_close(worse);
    open_viewer(worse, port);
    assert_int_equal(ws_client_send_header(worse, 0x81, (uint64_t)1 << 40, true), 0);
    assert_int_equal(ws_client_send(worse, WS_TEXT, "x", 1), 0);
    assert_int_equal(ws_client_wait_close(worse), 1009);
    ws_client_close(worse);
    open_viewer(worse, port);
    assert_int_equal(ws_client_send(worse, WS_BINARY, "{}", 2), 0);
    assert_int_equal(ws_client_wait_close(worse), 1003);
    assert_says(worse->close_reason, "allowed are texts");
    ws_client_close(worse);
    // A message in pieces is one all the same.
    open_viewer(worse, port);
    assert_int_equal(ws_client_send_header(worse, 0x01, 6, true), 0);
    assert_int_equal(ws_send_raw(worse->fd, "{\"do\":", 6), 0);
    assert_int_equal(ws_client_send_header(worse, 0x80, 7, true), 0);
    assert_int_equal(ws_send_raw(worse->fd, "\"save\"}", 7), 0);
    wait_text(worse, "setup: found no object");
    ws_client_close(worse);

    // Nothing of all that took effect.
    look_for_somebody(viewer);
    assert_true(in_grid() > 50);
    ws_client_close(viewer);
    assert_int_equal(bridge_finish(&b, SIGINT), 0);
}

static void strangers_get_a_sentence(void **state)
{
    (void)state;
    bridge_process b;
    char text[1024], own[64];
    static const char upgrade[] = "GET /ws HTTP/1.1\r\nHost: %s\r\n%sUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: "
                                  "13\r\nSec-WebSocket-Protocol: %s\r\n\r\n";
    const uint16_t port = start_at_pool(&b, "");
    snprintf(own, sizeof own, "127.0.0.1:%u", port);
    static const struct {
        const char *host, *more, *subprotocol;
        int status;
        const char *says;
    } wrong[] = {
        {NULL, "Origin: http://example.org\r\n", SUBPROTOCOL, 403, "found a page of another origin"},
        {NULL, "Origin: null\r\n", SUBPROTOCOL, 403, "found a page of another origin"},
        {NULL, "Origin: https://127.0.0.1\r\n", SUBPROTOCOL, 403, "found a page of another origin"},
        // A name of theirs that leads here.
        {"example.org", "Origin: http://example.org\r\n", SUBPROTOCOL, 403, "allowed are 127.0.0.1 and localhost"},
        {NULL, "", "tarn.v1", 400, "found another subprotocol"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, upgrade, wrong[i].host != NULL ? wrong[i].host : own, wrong[i].more,
                 wrong[i].subprotocol);
        assert_int_equal(ask_raw(port, text), wrong[i].status);
        assert_says(answer, wrong[i].says);
    }
    snprintf(text, sizeof text,
             "GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
             own, SUBPROTOCOL);
    assert_int_equal(ask_raw(port, text), 400);
    assert_says(answer, "Sec-WebSocket-Key");
    assert_int_equal(ask_raw(port, "GET / HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n"), 403);
    assert_says(answer, "found another host, allowed are 127.0.0.1 and localhost");
    snprintf(text, sizeof text, "http://127.0.0.1:%u", port);
    assert_int_equal(ws_client_open(&viewers[0], port, "/ws", SUBPROTOCOL, text), 101);
    for (int i = 1; i < 4; i++) {
        open_viewer(&viewers[i], port);
    }
    open_viewer(&viewers[4], port);
    assert_int_equal(ws_client_wait_close(&viewers[4]), 1013);
    assert_says(viewers[4].close_reason, "open 4 times already");
    ws_client_close(&viewers[4]);
    for (int i = 0; i < 4; i++) {
        look(&viewers[i]);
    }
    // One that goes makes room, once the bridge knows.
    ws_client_close(&viewers[3]);
    for (int i = 0; i < 100; i++) {
        ws_message message;
        open_viewer(&viewers[3], port);
        say(&viewers[3], "{\"do\":\"look\"}");
        if (ws_client_next(&viewers[3], &message, WS_CLIENT_WAIT_MS) == 1 && message.opcode != WS_CLOSE) {
            break;
        }
        ws_client_close(&viewers[3]);
        usleep(20000);
    }
    look(&viewers[3]);

    // The end takes all of them along.
    assert_int_equal(bridge_finish(&b, SIGINT), 0);
    assert_int_equal(ws_connect(port), -1);
    for (int i = 0; i < 4; i++) {
        ws_client_wait_close(&viewers[i]);
        ws_client_close(&viewers[i]);
    }
}

static void without_a_server_it_shows_what_would_be_sent(void **state)
{
    (void)state;
    bridge_process b;
    const uint16_t port = start(&b, "--url 127.0.0.1:1");
    open_viewer(&viewers[0], port);
    look_for_somebody(&viewers[0]);
    assert_int_equal(seen.flags & GOES_OUT, 0);
    assert_true(in_grid() > 50);
    wait_text(&viewers[0], "\"link\":\"no connection to 127.0.0.1:1; trying again\"");
    ws_client_close(&viewers[0]);
    assert_int_equal(bridge_finish(&b, SIGTERM), 0);
}

static void what_cannot_begin_is_said(void **state)
{
    (void)state;
    bridge_process b;
    char options[512], file[96];
    snprintf(file, sizeof file, "%s/broken.json", folder);
    FILE *broken = fopen(file, "w");
    assert_non_null(broken);
    fputs("{ \"near_m\": 20 }", broken);
    fclose(broken);
    snprintf(options, sizeof options, "--frames %s --calibration %s --show=0", recording, file);
    const struct {
        const char *options, *says;
        int status;
    } wrong[] = {
        {"--frames x --show=70000", "--show: found", TARN_EXIT_USAGE},
        {"--frames x --calibration /nowhere/wall.json", "--calibration: /nowhere/wall.json", TARN_EXIT_USAGE},
        {options, "near_m: found 20, allowed is a number from 0.2 to 10", TARN_EXIT_USAGE},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bridge_start(&b, folder, wrong[i].options, NULL, NULL);
        assert_int_equal(bridge_finish(&b, 0), wrong[i].status);
        assert_says(b.text, wrong[i].says);
    }
    snprintf(options, sizeof options, "--frames %s --show=%u", recording, pool_server.port);
    bridge_start(&b, folder, options, NULL, NULL);
    assert_int_equal(bridge_finish(&b, 0), 1);
    assert_says(b.text, "can't be opened, another program may have it; --show=PORT names another");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_and_its_files_come),
        cmocka_unit_test(planes_differ_where_somebody_moves),
        cmocka_unit_test(pictures_do_not_queue),
        cmocka_unit_test(what_is_applied_changes_what_is_sent),
        cmocka_unit_test(what_is_malformed_disturbs_nobody),
        cmocka_unit_test(strangers_get_a_sentence),
        cmocka_unit_test(without_a_server_it_shows_what_would_be_sent),
        cmocka_unit_test(what_cannot_begin_is_said),
    };
    return cmocka_run_group_tests(tests, bridge_record, bridge_forget);
}
