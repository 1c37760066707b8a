// A server seen from outside: /metrics, the dashboard that reads them, /readyz, and the lines of its log.
#include "tests/server/metrics_text.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <ctype.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const two_tanks[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--threads",
                                        "1",        "--log",          "debug",   NULL};
static const char MAIN[] = "{session=\"main\",worker=\"0\"}";

static server_process server;
static char answer[1 << 20];

static int start(void **state)
{
    (void)state;
    server_start(&server, two_tanks);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_stop(&server);
    return 0;
}

/// What a page says, without its headers.
static const char *body_of(const char *target, int status)
{
    assert_int_equal(server_http(server.port, "GET", target, NULL, answer, sizeof answer), status);
    const char *body = strstr(answer, "\r\n\r\n");
    assert_non_null(body);
    return body + 4;
}

static double session_metric(const char *name, const char *labels)
{
    char all[160];
    snprintf(all, sizeof all, "tarn_session_%s%s", name, labels);
    return server_metric(server.port, all);
}

/// Waits until a metric of the first tank has a value or more.
static void wait_for(const char *name, const char *labels, double least)
{
    for (int i = 0; i < 600 && session_metric(name, labels) < least; i++) {
        usleep(100000);
    }
    const double value = session_metric(name, labels);
    if (!(value >= least)) {
        fail_msg("tarn_session_%s is %g, not %g", name, value, least);
    }
}

/// Presses a pointer, and sees the frame that contains it.
static void press(ws_client *client)
{
    const float origin[3] = {0.5f, 3, 0.5f}, down[3] = {0, -1, 0};
    ws_frame frame;
    ws_client_pointer(client, TARN_PHASE_DOWN, origin, down, 0.1f);
    for (;;) {
        assert_true(ws_client_wait_frame(client, &frame));
        for (uint32_t i = 0; i < frame.input_count; i++) {
            if (frame.inputs[i].viewer_id == client->viewer_id && frame.inputs[i].sequence >= client->sequence) {
                return;
            }
        }
    }
}

/// The promtool of Debian's package prometheus, which knows the conventions.
static void check_with_promtool(const char *text)
{
    if (system("command -v promtool >/dev/null") != 0) {
        print_message("skipped: promtool (Debian: prometheus) isn't installed\n");
        return;
    }
    FILE *promtool = popen("promtool check metrics", "w");
    assert_non_null(promtool);
    assert_int_equal(fwrite(text, 1, strlen(text), promtool), strlen(text));
    assert_int_equal(pclose(promtool), 0);
}

static void test_metrics_are_as_prometheus_wants_them(void **state)
{
    (void)state;
    ws_client client;
    char why[512];
    ws_client_enter(&client, server.port);
    press(&client);
    assert_int_equal(server_request(server.port, "POST", "/sessions", "Content-Type: application/json\r\n",
                                    "{\"scene\":\"small-dam\",\"listed\":false}", answer, sizeof answer),
                     201);
    const char *text = body_of("/metrics", 200);
    assert_non_null(strstr(answer, "content-type: text/plain; version=0.0.4"));
    if (!metrics_text_check(text, why, sizeof why)) {
        fail_msg("%s", why);
    }
    assert_non_null(strstr(text, "{session=\"unlisted-"));
    check_with_promtool(text);
    ws_client_close(&client);
}

static void test_the_reader_of_metrics_is_strict(void **state)
{
    (void)state;
    char why[512];
#define H "# HELP h x\n# TYPE h histogram\n"
    static const char *const wrong[] = {
        "",
        "a 1\n",
        "# HELP a x\n# TYPE a gauge\na 1",
        "# HELP a x\na 1\n",
        "# TYPE a gauge\na 1\n",
        "# HELP a x\n# TYPE a gauge\nb 1\n",
        "# HELP a x\n# TYPE a counter\na 1\n",
        "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
        "# HELP a_ms x\n# TYPE a_ms gauge\na_ms 1\n",
        "# HELP a x\n# TYPE a gauge\na 1\na 2\n",
        "# HELP a x\n# TYPE a gauge\na{b=\"1\"} 1\na{b=\"1\"} 2\n",
        "# HELP a x\n# TYPE a gauge\na{b=\"\\x\"} 1\n",
        "# HELP a x\n# TYPE a gauge\na{b=\"1\",} 1\n",
        "# HELP a x\n# TYPE a gauge\na{1b=\"1\"} 1\n",
        "# HELP a x\n# TYPE a gauge\na nan\n",
        "# HELP a x\n# TYPE a gauge\na 1 2\n",
        "# HELP a x\n# TYPE a gauge\na 1\n# HELP b x\n# TYPE b gauge\nb 1\n# HELP a x\n# TYPE a gauge\n",
        H "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 3\n",
        H "h_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 2\n",
        H "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 1\nh_count 2\n",
        H "h_bucket{le=\"1\"} 2\nh_sum 1\nh_count 2\n",
        H "h_bucket{le=\"+Inf\"} 2\nh_count 2\n",
        H "h_sum 1\nh_count 2\n",
    };
    static const char right[] = H "h_bucket{a=\"\\\"\",le=\"1\"} 1\nh_bucket{a=\"\\\"\",le=\"+Inf\"} 2\n"
                                  "h_sum{a=\"\\\"\"} 1\nh_count{a=\"\\\"\"} 2\n";
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (metrics_text_check(wrong[i], why, sizeof why)) {
            fail_msg("this passed:\n%s", wrong[i]);
        }
    }
    assert_true(metrics_text_check(right, why, sizeof why));
}

static void test_each_tank_and_the_process_are_told_of(void **state)
{
    (void)state;
    static const char *const more[] = {"frames_skipped_total", "inputs_waiting", "frames_in_flight", "unconverged",
                                       "set_backs_total"};
    ws_client client;
    ws_frame frame;
    ws_client_enter(&client, server.port);
    const double inputs = session_metric("input_to_frame_seconds_count", MAIN);
    press(&client);
    assert_true(session_metric("input_to_frame_seconds_count", MAIN) == inputs + 1);
    assert_true(session_metric("input_to_frame_seconds_bucket", "{session=\"main\",worker=\"0\",le=\"+Inf\"}") ==
                inputs + 1);
    assert_true(session_metric("input_to_frame_seconds_sum", MAIN) > 0);
    assert_true(session_metric("viewers", MAIN) == 1);
    for (int i = 0; i < 150; i++) { // longer than between two reports
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    wait_for("step_time_seconds_count", MAIN, 30);
    const double mean_s =
        session_metric("step_time_seconds_sum", MAIN) / session_metric("step_time_seconds_count", MAIN);
    assert_true(mean_s > 1e-6 && mean_s < 1);
    assert_true(session_metric("bytes_sent_total", MAIN) > 10000);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        assert_true(session_metric(more[i], MAIN) >= 0);
    }
    assert_true(server_metric(server.port, "process_open_fds") > 5);
    assert_true(server_metric(server.port, "process_max_fds") >= 256);
    assert_true(server_metric(server.port, "process_resident_memory_bytes") > 1e6);
    assert_true(server_metric(server.port, "process_cpu_seconds_total") > 0);
    const double age_s = (double)time(NULL) - server_metric(server.port, "process_start_time_seconds");
    assert_true(age_s > -2 && age_s < 600);
    assert_true(server_metric(server.port, "tarn_worker_resident_memory_bytes{worker=\"0\"}") > 1e6);
    assert_true(server_metric(server.port, "tarn_worker_queue_messages{worker=\"0\"}") >= 0);
    ws_client_close(&client);
}

static void test_a_tank_that_goes_on_is_counted(void **state)
{
    (void)state;
    ws_client client;
    ws_frame frame;
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    const double losses = session_metric("worker_losses_total", MAIN);
    const double resumes = session_metric("resumes_total", MAIN);
    kill(server_worker(&server), SIGKILL);
    wait_for("resumes_total", MAIN, resumes + 1);
    assert_true(session_metric("worker_losses_total", MAIN) == losses + 1);
    assert_true(session_metric("restarts_total", MAIN) == 0);
    assert_true(ws_client_wait_frame(&client, &frame));
    body_of("/readyz", 200);
    ws_client_close(&client);
}

/// Calls back for each text of a kind anywhere in a JSON value.
static void each_text(const json_t *value, const char *field, void (*tell)(const char *text))
{
    const char *name;
    json_t *member;
    size_t index;
    if (json_is_array(value)) {
        json_array_foreach(value, index, member)
        {
            each_text(member, field, tell);
        }
        return;
    }
    json_object_foreach((json_t *)value, name, member)
    {
        if (json_is_string(member) && strcmp(name, field) == 0) {
            tell(json_string_value(member));
        } else {
            each_text(member, field, tell);
        }
    }
}

static const char *metrics;
static int named;

/// Each word of an expression that begins as metrics of ours do must be one.
static void check_expression(const char *text)
{
    char name[96];
    while (*text != '\0') {
        size_t bytes = 0;
        while (isalnum((unsigned char)text[bytes]) || text[bytes] == '_') {
            bytes++;
        }
        if (bytes > 0 && (strncmp(text, "tarn_", 5) == 0 || strncmp(text, "process_", 8) == 0)) {
            snprintf(name, sizeof name, "%.*s", (int)bytes, text);
            if (!metrics_text_has(metrics, name)) {
                fail_msg("/metrics has no %s", name);
            }
            named++;
        }
        text += bytes > 0 ? bytes : 1;
    }
}

static void test_the_dashboard_names_metrics_that_are_there(void **state)
{
    (void)state;
    json_error_t error;
    json_t *board = json_load_file(TARN_TEST_DASHBOARD, JSON_REJECT_DUPLICATES, &error);
    if (board == NULL) {
        fail_msg("%s", error.text);
    }
    metrics = body_of("/metrics", 200);
    named = 0;
    each_text(board, "expr", check_expression);
    assert_true(named > 30);
    each_text(board, "definition", check_expression);
    json_decref(board);
}

static void test_every_line_of_the_log_is_an_object(void **state)
{
    (void)state;
    static server_process own;
    static const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--log-format",
                                            "json",     "--log",          "debug",   NULL};
    ws_client client;
    bool has_worker = false, has_viewer = false, has_session = false;
    server_start(&own, arguments);
    ws_client_enter(&client, own.port);
    assert_int_equal(ws_client_hello(&client), 0); // twice, which ends it
    assert_int_equal(ws_client_wait_close(&client), 4004);
    assert_int_equal(server_request(own.port, "POST", "/sessions", "Content-Type: application/json\r\n",
                                    "{\"scene\":\"small-dam\"}", answer, sizeof answer),
                     201);
    ws_client_close(&client);
    server_stop(&own);
    for (char *rest = own.err, *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
        json_t *read = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        if (read == NULL) {
            fail_msg("no JSON: %s", line);
        }
        const char *program = json_string_value(json_object_get(read, "program"));
        assert_non_null(json_string_value(json_object_get(read, "ts")));
        assert_non_null(json_string_value(json_object_get(read, "level")));
        assert_non_null(json_string_value(json_object_get(read, "msg")));
        has_worker |= strcmp(program, "tarn-worker") == 0 && json_is_integer(json_object_get(read, "worker")) &&
                      json_is_integer(json_object_get(read, "tank"));
        has_viewer |= json_is_integer(json_object_get(read, "viewer"));
        has_session |= json_is_string(json_object_get(read, "session"));
        json_decref(read);
    }
    assert_true(has_worker);
    assert_true(has_viewer);
    assert_true(has_session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_are_as_prometheus_wants_them),
        cmocka_unit_test(test_the_reader_of_metrics_is_strict),
        cmocka_unit_test(test_each_tank_and_the_process_are_told_of),
        cmocka_unit_test(test_a_tank_that_goes_on_is_counted),
        cmocka_unit_test(test_the_dashboard_names_metrics_that_are_there),
        cmocka_unit_test(test_every_line_of_the_log_is_an_object),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
