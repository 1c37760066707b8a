// What keeping a tank costs while people play with it, and how long going back takes: tarnd with a store and without
// one, by turns, viewers by `tarn load`. Prints two tables; asserts nothing of times.
#include "server/base/clock.h"
#include "server/base/options.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <argp.h>
#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ROUNDS_MAX = 100,
    REWINDS_MAX = 1000,
    WARM_UP_S = 5,
    CALM_MS = 3000, // between two rewinds, of which a server allows only so many at once
    ANSWER_BYTES = 65536,
    OPTION_ROUNDS = 256,
    OPTION_REWINDS,
    OPTION_SCENE,
};

typedef struct settings {
    long seconds, rounds, rewinds, viewers;
    char *scene;
} settings;

static settings options = {.seconds = 20, .rounds = 3, .rewinds = 20, .viewers = 4, .scene = "dam-break"};

/// What a turn gave.
typedef struct turn {
    double step_ms, encode_ms, factor;
    double to_frame_p50_ms, to_frame_p99_ms, interval_p99_ms;
    double gateway_cores, worker_cores;
    double file_mb_min, written_mb_min;
    double particles;
} turn;

static void give_up(const char *what)
{
    fprintf(stderr, "bench_storing: %s\n", what);
    exit(1);
}

static double folder_bytes(const char *dir)
{
    char path[1024];
    struct stat about;
    double sum = 0;
    DIR *opened = opendir(dir);
    for (const struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        sum += stat(path, &about) == 0 && S_ISREG(about.st_mode) ? (double)about.st_size : 0;
    }
    if (opened != NULL) {
        closedir(opened);
    }
    return sum;
}

/// What a process had written to disks.
static double written_bytes(pid_t pid)
{
    char path[64], line[128];
    double bytes = 0;
    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "write_bytes: %lf", &bytes);
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

static double session_metric(const server_process *server, const char *name)
{
    char of_first[128];
    snprintf(of_first, sizeof of_first, "tarn_%s{session=\"main\",worker=\"0\"}", name);
    const double value = server_metric(server->port, of_first);
    if (value < 0) {
        give_up(of_first);
    }
    return value;
}

static double number(json_t *object, const char *const *path)
{
    for (; *path != NULL; path++) {
        object = json_object_get(object, *path);
    }
    return json_number_value(object);
}

#define NUMBER(object, ...) number(object, (const char *const[]){__VA_ARGS__, NULL})

static json_t *play(const server_process *server, long seconds)
{
    char command[1024];
    json_error_t error;
    snprintf(command, sizeof command,
             "%s load --json --quiet --check 0 --viewers %ld --pushers 1 --inputs 60 --seconds %ld --server-pid %d "
             "127.0.0.1:%u",
             TARN_BENCH_TARN, options.viewers, seconds, (int)server->pid, server->port);
    FILE *out = popen(command, "r");
    json_t *report = out != NULL ? json_loadf(out, 0, &error) : NULL;
    if (report == NULL || pclose(out) != 0) {
        give_up("tarn load failed");
    }
    return report;
}

/// People play, first until all is warm, and then so long that it is measured.
static turn measure(server_process *server, const char *store)
{
    static const char *const counters[] = {"session_step_time_seconds_sum", "session_step_time_seconds_count"};
    double before[2], after[2];
    json_decref(play(server, WARM_UP_S));
    for (int i = 0; i < 2; i++) {
        before[i] = session_metric(server, counters[i]);
    }
    const double file_bytes = store != NULL ? folder_bytes(store) : 0, written = written_bytes(server->pid);
    json_t *report = play(server, options.seconds);
    for (int i = 0; i < 2; i++) {
        after[i] = session_metric(server, counters[i]);
    }
    const double seconds = NUMBER(report, "seconds"), minutes = seconds / 60;
    const turn measured = {
        .step_ms = 1e3 * (after[0] - before[0]) / (after[1] - before[1]),
        .encode_ms = 1e3 * NUMBER(report, "server", "metrics", "encode_s"),
        .factor = NUMBER(report, "server", "metrics", "realtime_factor"),
        .to_frame_p50_ms = NUMBER(report, "inputs", "to_frame", "p50_ms"),
        .to_frame_p99_ms = NUMBER(report, "inputs", "to_frame", "p99_ms"),
        .interval_p99_ms = NUMBER(report, "viewers", "steady", "interval", "p99_ms"),
        .gateway_cores = NUMBER(report, "server", "gateway", "cpu_share"),
        .worker_cores = NUMBER(report, "server", "worker", "cpu_share"),
        .file_mb_min = store != NULL ? 1e-6 * (folder_bytes(store) - file_bytes) / minutes : 0,
        .written_mb_min = 1e-6 * (written_bytes(server->pid) - written) / minutes,
        .particles = NUMBER(report, "server", "metrics", "particles"),
    };
    json_decref(report);
    return measured;
}

static void start(server_process *server, const char *store)
{
    const char *const arguments[] = {"--port",      "0",     "--scenes", TARN_BENCH_SHIPPED_SCENES,        "--scene",
                                     options.scene, "--log", "error",    store != NULL ? "--store" : NULL, store,
                                     NULL};
    memset(server, 0, sizeof *server);
    server_start_bare(server, arguments);
}

// ------------------------------------------------------------------------------------------------------------- rewinds

/// The newest moment that is kept, and the oldest.
static void span_of(const server_process *server, const char *headers, double *from_s, double *until_s)
{
    static char answer[ANSWER_BYTES];
    const int status = server_http(server->port, "GET", "/sessions/main/history", headers, answer, sizeof answer);
    const char *from = strstr(answer, "\"from\":"), *until = strstr(answer, "\"until\":");
    if (status != 200 || from == NULL || until == NULL) {
        give_up("there is no past");
    }
    *from_s = atof(from + strlen("\"from\":"));
    *until_s = atof(until + strlen("\"until\":"));
}

/// Goes back to a moment. @return ms until a viewer has the first frame of then
static double rewind_ms(const server_process *server, const char *headers, ws_client *viewer, double t_s)
{
    static char answer[ANSWER_BYTES];
    char body[64], headers_of_body[256];
    ws_frame frame;
    assert_true(ws_client_wait_frame(viewer, &frame));
    const uint32_t epoch = frame.epoch;
    const uint64_t asked_ns = tarn_clock_monotonic_ns();
    snprintf(body, sizeof body, "{\"t\":%.6f}", t_s);
    snprintf(headers_of_body, sizeof headers_of_body, "%sContent-Type: application/json\r\n", headers);
    const int status =
        server_request(server->port, "POST", "/sessions/main/rewind", headers_of_body, body, answer, sizeof answer);
    if (status != 202) {
        give_up(answer);
    }
    while (frame.epoch == epoch) {
        assert_true(ws_client_wait_frame(viewer, &frame));
    }
    return 1e-6 * (double)(tarn_clock_monotonic_ns() - asked_ns);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Takes all that comes, for so long.
static void look_on(ws_client *viewer, uint64_t for_ms)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + for_ms * 1000000;
    ws_frame frame;
    while (tarn_clock_monotonic_ns() < until_ns) {
        assert_true(ws_client_wait_frame(viewer, &frame));
    }
}

static void measure_rewinds(const server_process *server, const char *store)
{
    static double took_ms[REWINDS_MAX];
    static ws_client viewer;
    char key[128], headers[192];
    double from_s, until_s;
    if (options.rewinds == 0) {
        return;
    }
    server_owners_key(store, key, sizeof key);
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", key);
    ws_client_enter(&viewer, server->port);
    viewer.is_blind = true;
    span_of(server, headers, &from_s, &until_s);
    const double span_s = until_s - from_s;
    for (long i = 0; i < options.rewinds; i++) {
        const double part = (double)((i * 7) % options.rewinds) / (double)options.rewinds; // near, far, by turns
        took_ms[i] = rewind_ms(server, headers, &viewer, from_s + part * span_s);
        look_on(&viewer, CALM_MS);
    }
    qsort(took_ms, (size_t)options.rewinds, sizeof *took_ms, by_size);
    printf("\n%ld rewinds within %.0f s of its time, until the first frame of then: least %.0f, median %.0f, longest "
           "%.0f ms\n",
           options.rewinds, span_s, took_ms[0], took_ms[options.rewinds / 2], took_ms[options.rewinds - 1]);
    ws_client_close(&viewer);
}

// ---------------------------------------------------------------------------------------------------------------- main

static const struct argp_option option_list[] = {
    {"scene", OPTION_SCENE, "NAME", 0, "Of those that come with the server (dam-break)", 0},
    {"viewers", 'n', "N", 0, "Viewers besides the one who pushes, 1 to 64 (4)", 0},
    {"seconds", 's', "N", 0, "Seconds of each turn, 5 to 7200 (20)", 0},
    {"rounds", OPTION_ROUNDS, "N", 0, "Turns of each kind, 1 to 100 (3)", 0},
    {"rewinds", OPTION_REWINDS, "N", 0, "Moments that it is gone back to in the end, 0 to 1000 (20)", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case OPTION_SCENE:
        options.scene = text;
        return 0;
    case 'n':
        options.viewers = tarn_option_number(state, "viewers", text, 1, 64);
        return 0;
    case 's':
        options.seconds = tarn_option_number(state, "seconds", text, 5, 7200);
        return 0;
    case OPTION_ROUNDS:
        options.rounds = tarn_option_number(state, "rounds", text, 1, ROUNDS_MAX);
        return 0;
    case OPTION_REWINDS:
        options.rewinds = tarn_option_number(state, "rewinds", text, 0, REWINDS_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_turn(const char *what, const turn *of)
{
    printf("| %-7s | %7.3f %7.3f | %6.3f | %6.1f %6.1f | %6.1f | %5.2f %5.2f | %7.1f %7.1f |\n", what, of->step_ms,
           of->encode_ms, of->factor, of->to_frame_p50_ms, of->to_frame_p99_ms, of->interval_p99_ms, of->gateway_cores,
           of->worker_cores, of->file_mb_min, of->written_mb_min);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct argp parser = {
        option_list, parse, NULL, "What keeping a tank costs while people play with it, and how long going back takes.",
        NULL,        NULL,  NULL};
    static server_process server;
    static turn turns[2][ROUNDS_MAX];
    double ratios[3][ROUNDS_MAX];
    argp_parse(&parser, argc, argv, 0, NULL, &options);
    printf("%s, %ld viewers and one who pushes; %ld s a turn\n\n"
           "|         |  ms: step  encode | times  | input to frame  | frames | cores         | MB a minute     |\n"
           "|         |                 | real   | p50 ms   p99 ms | p99 ms | gateway worker | file    written |\n",
           options.scene, options.viewers, options.seconds);
    for (long round = 0; round < options.rounds; round++) {
        for (int i = 0; i < 2; i++) {
            const bool is_kept = (round + i) % 2 != 0;
            char store[] = "/tmp/tarn-bench-storing-XXXXXX";
            if (is_kept && mkdtemp(store) == NULL) {
                give_up("no folder for the store");
            }
            start(&server, is_kept ? store : NULL);
            turns[is_kept][round] = measure(&server, is_kept ? store : NULL);
            print_turn(is_kept ? "kept" : "not", &turns[is_kept][round]);
            if (is_kept && round >= options.rounds - 1) {
                measure_rewinds(&server, store);
            }
            server_stop(&server);
            if (is_kept) {
                server_remove_store(store);
            }
        }
        ratios[0][round] = turns[1][round].step_ms / turns[0][round].step_ms;
        ratios[1][round] = turns[1][round].encode_ms / turns[0][round].encode_ms;
        ratios[2][round] = turns[1][round].to_frame_p99_ms / turns[0][round].to_frame_p99_ms;
    }
    for (int i = 0; i < 3; i++) {
        qsort(ratios[i], (size_t)options.rounds, sizeof ratios[i][0], by_size);
    }
    printf("\n%.0f particles; kept over not, median of the rounds (least, most): step %.3f (%.3f, %.3f), encode %.3f "
           "(%.3f, "
           "%.3f), input to frame p99 %.3f (%.3f, %.3f)\n",
           turns[0][0].particles, ratios[0][options.rounds / 2], ratios[0][0], ratios[0][options.rounds - 1],
           ratios[1][options.rounds / 2], ratios[1][0], ratios[1][options.rounds - 1], ratios[2][options.rounds / 2],
           ratios[2][0], ratios[2][options.rounds - 1]);
    return 0;
}
