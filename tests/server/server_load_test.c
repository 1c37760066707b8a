// `tarn load` against a real server: its JSON report is read and compared with what the viewers were told to do.
#include "server/base/options.h"
#include "tests/sanitized.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/tls_files.h"
#include "tests/server/ws_client.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/// What is counted in a while comes slowly where a sanitizer looks on.
#if TEST_IS_SANITIZED
#define SECONDS(quick) "8"
#else
#define SECONDS(quick) #quick
#endif

static const char *const pool[] = {"--scene", "small-pool", "--scenes", TARN_TEST_SCENES, "--threads", "1", NULL};
/// Water that falls, and takes more than a slow viewer reads.
static const char *const dam[] = {"--scene", "dam-break", "--threads", "1", NULL};

/// Runs the program with these options. @param text  receives what it printed, errors too where `errors` says so
static int run(const char *options, bool errors, char *text, size_t text_bytes)
{
    char command[1024];
    snprintf(command, sizeof command, "%s load --quiet %s%s", TARN_TEST_TOOL, options, errors ? " 2>&1" : "");
    FILE *out = popen(command, "r");
    assert_non_null(out);
    size_t have = fread(text, 1, text_bytes - 1, out);
    text[have] = 0;
    int status = pclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Runs it against a server and reads its report.
static json_t *load(const server_process *server, const char *options, int status)
{
    static char text[65536];
    char all[512];
    snprintf(all, sizeof all, "--json --server-pid %d %s 127.0.0.1:%u", (int)server->pid, options, server->port);
    int found = run(all, false, text, sizeof text);
    if (found != status) {
        fail_msg("tarn load ended with %d: %s", found, text);
    }
    json_error_t error;
    json_t *report = json_loads(text, 0, &error);
    if (report == NULL) {
        fail_msg("%s: %s", error.text, text);
    }
    return report;
}

/// A number by its path, whose parts are parted by dots; -1 where it is missing or null.
static double number(json_t *report, const char *path)
{
    char parts[128], *rest, *name;
    snprintf(parts, sizeof parts, "%s", path);
    for (name = strtok_r(parts, ".", &rest); name != NULL; name = strtok_r(NULL, ".", &rest)) {
        report = json_object_get(report, name);
    }
    return json_is_number(report) ? json_number_value(report) : -1;
}

static void viewers_and_pushers_are_measured(void **state)
{
    (void)state;
    static server_process server;
    server_start(&server, pool);
    json_t *report = load(&server, "--viewers 3 --pushers 1 --check 4 --seconds " SECONDS(2), 0);
    assert_true(json_is_true(json_object_get(report, "good")));
    assert_true(number(report, "viewers.steady.frames") > 3);
    assert_int_equal(number(report, "viewers.steady.connections"), 3);
    assert_true(number(report, "viewers.steady.interval.count") > 0);
    // All of what came is in frames of some kind, but for some messages.
    static const char *const kinds[] = {"key", "base", "extra"};
    double frames = 0, bytes = 0;
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "viewers.steady.frames_by_kind.%s.frames", kinds[i]);
        // Key frames come when somebody needs one. A tank that is late, under a sanitizer say, has no frames to spare
        // for extra ones.
        const bool is_needed = i == 1 || (i == 2 && number(report, "server.metrics.frames_made_per_s") > 25);
        if (is_needed && number(report, path) <= 0) {
            fail_msg("%s is %g", path, number(report, path));
        }
        frames += number(report, path);
        snprintf(path, sizeof path, "viewers.steady.frames_by_kind.%s.bytes", kinds[i]);
        bytes += number(report, path);
    }
    assert_true(frames == number(report, "viewers.steady.frames"));
    double received = 3 * number(report, "viewers.steady.mbit_s_each") * 1e6 / 8 * number(report, "seconds");
    assert_true(bytes > 0.5 * received && bytes < 1.5 * received);
    assert_true(number(report, "viewers.steady.layers") >= 1);
    assert_true(number(report, "inputs.sent") > 0);
    assert_true(number(report, "inputs.to_first_bytes.count") > 0);
    assert_true(number(report, "inputs.to_first_bytes.p50_ms") > 0);
    assert_true(number(report, "inputs.to_frame.mean_ms") >= number(report, "inputs.to_first_bytes.mean_ms"));
    assert_int_equal(number(report, "inputs.refused"), 0);
    assert_true(number(report, "checks.decoded") > 0);
    assert_int_equal(number(report, "checks.wrong"), 0);
    assert_int_equal(number(report, "checks.out_of_order"), 0);
    json_decref(report);
    server_stop(&server);
}

static void the_server_is_looked_at(void **state)
{
    (void)state;
    static server_process server;
    server_start(&server, pool);
    json_t *report = load(&server, "--viewers 2 --pushers 0 --seconds " SECONDS(1), 0);
    assert_int_equal(number(report, "server.gateway.pid"), server.pid);
    assert_int_equal(number(report, "server.worker.pid"), server_worker(&server));
    assert_true(number(report, "server.gateway.rss_bytes") > 1e6);
    assert_true(number(report, "server.worker.cpu_s") > 0);
    assert_true(number(report, "server.metrics.frames_made_per_s") > 0);
    assert_int_equal(number(report, "server.metrics.particles"), 16384);
    assert_int_equal(number(report, "server.metrics.viewers"), 2);
    assert_true(json_is_null(json_object_get(json_object_get(report, "inputs"), "to_frame")));
    json_decref(report);
    server_stop(&server);
}

/// Runs it against a server by its whole address. @return the exit status
static int load_from(const char *scheme, const server_process *server, char *text, size_t text_bytes)
{
    char command[1024];
    snprintf(command, sizeof command,
             "%s load --quiet --json --seconds " SECONDS(2) " --viewers 2 --pushers 1 --slow 1 --check 1 "
                                                            "%s127.0.0.1:%u 2>&1",
             TARN_TEST_TOOL, scheme, server->port);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    text[fread(text, 1, text_bytes - 1, out)] = 0;
    const int status = pclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_server_with_tls_is_loaded_by_https(void **state)
{
    (void)state;
    static server_process server, plain;
    static char text[65536];
    char folder[] = "/tmp/tarn-load-XXXXXX", certificate[64], key[64];
    assert_non_null(mkdtemp(folder));
    snprintf(certificate, sizeof certificate, "%s/a.crt", folder);
    snprintf(key, sizeof key, "%s/a.key", folder);
    tls_files_write(certificate, key, &(tls_plan){0});
    server_start(&server, (const char *[]){"--scene", "small-pool", "--scenes", TARN_TEST_SCENES, "--threads", "1",
                                           "--tls-cert", certificate, "--tls-key", key, NULL});
    const int status = load_from("https://", &server, text, sizeof text);
    json_error_t error;
    json_t *report = json_loads(text, 0, &error);
    if (status != 0 || report == NULL) {
        fail_msg("%d: %s", status, text);
    }
    assert_true(number(report, "viewers.steady.frames") > 3);
    assert_true(number(report, "checks.decoded") > 0);
    assert_int_equal(number(report, "checks.wrong"), 0);
    assert_true(number(report, "inputs.to_first_bytes.count") > 0);
    assert_int_equal(number(report, "server.metrics.viewers"), 3);
    json_decref(report);
    assert_int_equal(load_from("", &server, text, sizeof text), 1);
    assert_non_null(strstr(text, "name it with https://"));
    server_stop(&server);
    server_start(&plain, pool);
    assert_int_equal(load_from("wss://", &plain, text, sizeof text), 1);
    assert_non_null(strstr(text, "its TLS can't be understood"));
    server_stop(&plain);
    remove(certificate);
    remove(key);
    rmdir(folder);
}

static void the_session_that_is_joined_is_reported(void **state)
{
    (void)state;
    static const char *const two[] = {"--scene",   "small-pool", "--scenes", TARN_TEST_SCENES,
                                      "--devices", "cpu,cpu",    NULL};
    static const char made[] = "Content-Type: application/json\r\n";
    static server_process server;
    static char answer[4096];
    char options[128], session[64];
    server_start(&server, two);
    for (int listed = 1; listed >= 0; listed--) {
        assert_int_equal(
            server_request(server.port, "POST", "/sessions", made,
                           listed ? "{\"scene\":\"small-dam\"}" : "{\"scene\":\"small-dam\",\"listed\":false}", answer,
                           sizeof answer),
            201);
        assert_int_equal(sscanf(strstr(answer, "\"session\""), "\"session\":\"%63[^\"]", session), 1);
        snprintf(options, sizeof options, "--session %s --viewers 2 --pushers 0 --seconds " SECONDS(2), session);
        json_t *report = load(&server, options, 0);
        json_t *metrics = json_object_get(json_object_get(report, "server"), "metrics");
        if (listed) {
            assert_string_equal(json_string_value(json_object_get(metrics, "session")), session);
            assert_int_equal(number(report, "server.metrics.worker"), 1);
            assert_int_equal(number(report, "server.worker.pid"), server_worker_at(&server, 1));
            assert_in_range(number(report, "server.metrics.particles"), 1000, 10000); // the first session has 16384
            assert_int_equal(number(report, "server.metrics.viewers"), 2);
            assert_true(number(report, "server.metrics.frames_made_per_s") > 0);
            assert_true(number(report, "server.metrics.step_s") > 0);
        } else {
            assert_true(json_is_null(metrics)); // the page must not tell its name
        }
        json_decref(report);
    }
    server_stop(&server);
}

static void viewers_misbehave_as_they_are_told(void **state)
{
    (void)state;
    static server_process server;
    server_start(&server, dam);
    json_t *report = load(&server,
                          "--viewers 8 --slow 1 --stalled 1 --half-open 1 --reconnecting 25% --slow-rate 1 "
                          "--reconnect-after 1 --pushers 0 --seconds " SECONDS(4),
                          0);
    assert_int_equal(number(report, "viewers.steady.viewers"), 3);
    assert_int_equal(number(report, "viewers.reconnecting.viewers"), 2);
    assert_int_equal(number(report, "viewers.stalled.frames"), 0);
    assert_int_equal(number(report, "viewers.half_open.frames"), 0);
    // They all had a first one.
    assert_int_equal(number(report, "viewers.stalled.first_frame.count"), 1);
    assert_int_equal(number(report, "viewers.half_open.first_frame.count"), 1);
    assert_true(number(report, "viewers.reconnecting.connections") > 3);
    assert_true(number(report, "viewers.reconnecting.first_frame.count") > 3);
    assert_true(number(report, "viewers.slow.frames") > 0);
    assert_true(number(report, "viewers.slow.mbit_s_each") < 1.5);
    if (number(report, "viewers.steady.mbit_s_each") > 2) { // more than the slow one takes, where the tank isn't late
        assert_true(number(report, "viewers.slow.frames_per_s_each") <
                    number(report, "viewers.steady.frames_per_s_each"));
        assert_true(number(report, "viewers.slow.frames_dropped") > 0);
    }
    assert_true(number(report, "viewers.steady.frames") > 0);
    json_decref(report);
    server_stop(&server);
}

static void a_server_that_ends_is_a_failure(void **state)
{
    (void)state;
    static server_process server;
    static char text[65536];
    char options[128];
    server_start(&server, pool);
    snprintf(options, sizeof options, "--viewers 2 --pushers 0 --seconds 60 127.0.0.1:%u", server.port);
    pid_t killer = fork();
    if (killer == 0) {
        for (int i = 0; i < WS_CLIENT_WAIT_MS / 100 && server_metric(server.port, "tarn_viewers") < 2; i++) {
            usleep(100000);
        }
        sleep(1);
        kill(server.pid, SIGTERM);
        _exit(0);
    }
    assert_int_equal(run(options, true, text, sizeof text), EXIT_FAILURE);
    assert_non_null(strstr(text, "the server is ending"));
    waitpid(killer, NULL, 0);
    assert_int_equal(server_wait(&server), 0);
}

static void a_wrong_frame_is_found(void **state)
{
    (void)state;
    static server_process server;
    static const char *const fake[] = {"--worker", TARN_TEST_FAKE_WORKER, NULL};
    setenv("TARN_TEST_FAKE_WORKER", "frames", 1);
    server_start(&server, fake);
    json_t *report = load(&server, "--viewers 1 --pushers 0 --check 1 --seconds " SECONDS(1), EXIT_FAILURE);
    assert_true(number(report, "checks.wrong") > 0);
    assert_true(json_is_false(json_object_get(report, "good")));
    json_decref(report);
    server_stop(&server);
}

static void what_cannot_be_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *options, *sentence;
        int status;
    } wrong[] = {
        {"--viewers 0", "--viewers: found \"0\", allowed is a whole number from 1 to 1024", TARN_EXIT_USAGE},
        {"--slow 120%", "--slow: found \"120%\"", TARN_EXIT_USAGE},
        {"--viewers 4 --slow 50% --stalled 3", "5 slow, stalled, half-open and reconnecting viewers", TARN_EXIT_USAGE},
        {"--viewers 1024 --pushers 1", "found 1025 viewers and pushers, allowed are 1024", TARN_EXIT_USAGE},
        {"--seconds 5x", "--seconds: found \"5x\"", TARN_EXIT_USAGE},
        {"192.0.2.1:8080", "--allow-remote", TARN_EXIT_USAGE},
        {"[2001:db8::1]:80", "--allow-remote", TARN_EXIT_USAGE},
        {"ftp://127.0.0.1/", "allowed are http, https, ws and wss", TARN_EXIT_USAGE},
        {"127.0.0.1:70000", "found the port \"70000\"", TARN_EXIT_USAGE},
        {"http://127.0.0.1/page", "found the path \"/page\"", TARN_EXIT_USAGE},
        {"127.0.0.1 127.0.0.1", "found a second server", TARN_EXIT_USAGE},
        {"--server-pid 4194305", "--server-pid: found no process 4194305, allowed is a tarnd", TARN_EXIT_USAGE},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[4096];
        int status = run(wrong[i].options, true, text, sizeof text);
        if (status != wrong[i].status || strstr(text, wrong[i].sentence) == NULL) {
            fail_msg("tarn load %s: status %d, %s", wrong[i].options, status, text);
        }
    }
}

static void only_a_tarnd_is_measured(void **state)
{
    (void)state;
    char options[64], sentence[128], text[4096];
    int named[2];
    assert_int_equal(pipe(named), 0);
    pid_t other = fork();
    if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "sleep\033");
        close(named[0]);
        close(named[1]);
        pause();
        _exit(0);
    }
    close(named[1]);
    assert_int_equal(read(named[0], text, 1), 0);
    close(named[0]);
    snprintf(options, sizeof options, "--server-pid %d 127.0.0.1:1", (int)other);
    snprintf(sentence, sizeof sentence, "--server-pid: found process %d, \"sleep?\"; allowed is a tarnd", (int)other);
    int status = run(options, true, text, sizeof text);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    if (status != TARN_EXIT_USAGE || strstr(text, sentence) == NULL) {
        fail_msg("status %d, %s", status, text);
    }
}

static void a_server_that_is_not_there_is_one_sentence(void **state)
{
    (void)state;
    char text[4096];
    assert_int_equal(run("127.0.0.1:1", true, text, sizeof text), EXIT_FAILURE);
    assert_string_equal(text, "tarn load: nothing listens on 127.0.0.1:1; start it with deploy/run --port 1\n");
}

/// Who loads a tank that guests may only watch pushes by a key of it, as with a link.
static void a_key_joins_as_its_link_does(void **state)
{
    (void)state;
    static server_process server;
    char dir[] = "/tmp/tarn-load-XXXXXX", key[64], options[256], text[4096];
    assert_non_null(mkdtemp(dir));
    const char *const watched[] = {"--scene",   "small-pool", "--scenes", TARN_TEST_SCENES, "--guests",
                                   "watch",     "--store",    dir,        "--metrics",      "owners",
                                   "--threads", "1",          NULL};
    server_start(&server, watched);
    server_owners_key(dir, key, sizeof key);
    json_t *report = load(&server, "--viewers 1 --check 0 --seconds " SECONDS(1), 1);
    assert_true(number(report, "inputs.refused") > 0);
    json_decref(report);
    snprintf(options, sizeof options, "--viewers 1 --check 0 --key %s --seconds " SECONDS(1), key);
    report = load(&server, options, 0);
    assert_int_equal(number(report, "inputs.refused"), 0);
    assert_true(number(report, "server.metrics.viewers") > 0);
    json_decref(report);
    key[31] = key[31] == '0' ? '1' : '0';
    snprintf(options, sizeof options, "--viewers 1 --seconds 1 --key %s 127.0.0.1:%u", key, server.port);
    assert_int_equal(run(options, true, text, sizeof text), 1);
    assert_int_equal(run("--key 'a b'", true, text, sizeof text), 2);
    assert_non_null(strstr(text, "--key: allowed are 1 to 512 characters without blanks"));
    server_stop(&server);
    server_remove_store(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(viewers_and_pushers_are_measured),
        cmocka_unit_test(the_server_is_looked_at),
        cmocka_unit_test(a_server_with_tls_is_loaded_by_https),
        cmocka_unit_test(the_session_that_is_joined_is_reported),
        cmocka_unit_test(a_key_joins_as_its_link_does),
        cmocka_unit_test(viewers_misbehave_as_they_are_told),
        cmocka_unit_test(a_server_that_ends_is_a_failure),
        cmocka_unit_test(a_wrong_frame_is_found),
        cmocka_unit_test(what_cannot_be_is_said),
        cmocka_unit_test(only_a_tarnd_is_measured),
        cmocka_unit_test(a_server_that_is_not_there_is_one_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
