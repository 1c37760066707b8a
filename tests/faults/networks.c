// Fifteen viewers (tarn load: one of them acts) are measured beside a sixteenth, which is well and badly off by turns:
// what differs between two turns in a row is its doing, whatever else the machine does. Begin at run_row.
#include "tests/faults/networks.h"
#include "server/base/clock.h"
#include "tests/faults/wire.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OTHERS = 15,
    TURN_S = 6,
    TURNS_MAX = 1000,
    LOAD_BYTES_MAX = 1 << 20,
    LOAD_MS_MAX = 120000,
    SPEAKS_MS = 1000,          ///< between messages of one that doesn't read
    CLOSED_MS_MAX = 90000,     ///< after that it is taken to stay for ever
    MORE_MS_MAX = 5,           ///< that others' p99 may be longer
    STALLED_CLOSED_S_MAX = 30, ///< after which one that doesn't read is gone
};

typedef struct network_row {
    const char *name, *what;
    wire_weather weather;
    bool is_deaf;   ///< it never reads
    bool is_silent; ///< nothing comes from it that the server must take for a sign of life
    bool speaks;    ///< although it doesn't read
} network_row;

static const network_row rows[] = {
    {"deaf", "never reads", {0}, true, true, false},
    {"talker", "never reads, and goes on to speak", {0}, true, true, true},
    {"half-open", "half-open: nothing comes through", {.is_cut = true}, false, true, false},
    {"loss", "2 % of packets lost", {.lost_per_100 = 2}, false, false, false},
    {"slow", "1 Mbit/s", {.kbit_per_s = 1000}, false, false, false},
    {"far", "300 ms there and back", {.delay_ms = 150}, false, false, false},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/// What a turn came to.
typedef struct turn_outcome {
    double others_p99_ms, others_frames_per_s;
    double own_frames_per_s; ///< of the sixteenth
    double closed_s;         ///< of one that is silent: after the beginning; 0: not at all
    unsigned others_lost;
    bool is_gone; ///< the sixteenth's connection ended, though it wasn't silent
} turn_outcome;

static server_process server;

// ---------------------------------------------------------------------------------------------------------- the others

static pid_t spawn_load(int *out_fd)
{
    char address[64], viewers[16], seconds[16];
    int out[2];
    snprintf(address, sizeof address, "127.0.0.1:%u", server.port);
    snprintf(viewers, sizeof viewers, "%d", OTHERS - 1);
    snprintf(seconds, sizeof seconds, "%d", TURN_S);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], STDOUT_FILENO);
        execl(TARN_TEST_TOOL, "tarn", "load", "--json", "--quiet", "--check", "0", "--pushers", "1", "--viewers",
              viewers, "--seconds", seconds, address, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    *out_fd = out[0];
    return pid;
}

/// What `tarn load` says of those that look on.
static void read_load(const char *text, turn_outcome *outcome)
{
    json_t *report = json_loads(text, 0, NULL), *kind;
    const char *key;
    json_t *steady = json_object_get(json_object_get(report, "viewers"), "steady");
    outcome->others_p99_ms = json_number_value(json_object_get(json_object_get(steady, "interval"), "p99_ms"));
    outcome->others_frames_per_s = json_number_value(json_object_get(steady, "frames_per_s_each"));
    json_object_foreach(json_object_get(report, "viewers"), key, kind)
    {
        outcome->others_lost += (unsigned)json_integer_value(json_object_get(kind, "lost"));
    }
    if (outcome->others_p99_ms <= 0) {
        fail_msg("tarn load measured nothing: %.500s", text);
    }
    json_decref(report);
}

// ------------------------------------------------------------------------------------------------------- the sixteenth

/// Takes and acknowledges all that has come. @return whether the connection is still there
static bool drain(ws_client *viewer, unsigned *frames)
{
    ws_message raw;
    ws_frame frame;
    int got;
    while ((got = ws_client_next(viewer, &raw, 0)) == 1) {
        if (raw.opcode == WS_BINARY && ws_frame_open(raw.bytes, raw.byte_count, &frame) == TARN_OK) {
            const tarn_message ack = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame.epoch, .step = frame.step}};
            ++*frames;
            (void)ws_client_tell(viewer, &ack); // that it is gone is seen next time
        }
    }
    return got == 0;
}

/// One that goes on to speak without reading.
static void speak(const network_row *row, ws_client *viewer)
{
    static uint64_t spoke_ns;
    const tarn_message ping = {.kind = TARN_MESSAGE_PING};
    if (row != NULL && row->speaks && tarn_clock_monotonic_ns() - spoke_ns > SPEAKS_MS * (uint64_t)1000000) {
        spoke_ns = tarn_clock_monotonic_ns();
        (void)ws_client_tell(viewer, &ping); // whether it was let go is seen elsewhere
    }
}

static double viewers_there(void)
{
    return server_metric(server.port, "tarn_session_viewers{session=\"main\",worker=\"0\"}");
}

/// Waits until the server has let go of one that is silent. @return seconds since it became so; 0: it hasn't
static double wait_closed(const network_row *row, ws_client *viewer, uint64_t since_ns)
{
    while (tarn_clock_monotonic_ns() - since_ns < CLOSED_MS_MAX * (uint64_t)1000000) {
        if (viewers_there() == 0) {
            return 1e-9 * (double)(tarn_clock_monotonic_ns() - since_ns);
        }
        speak(row, viewer);
        usleep(100000);
    }
    return 0;
}

// ---------------------------------------------------------------------------------------------------------- the table

/// Measures the others beside the sixteenth. @param row  how that is off; NULL: well
static void take_turn(const network_row *row, turn_outcome *outcome)
{
    static char text[LOAD_BYTES_MAX];
    static const wire_weather well;
    ws_client viewer;
    size_t have = 0;
    unsigned frames = 0;
    int out_fd, status;
    const bool is_silent = row != NULL && row->is_silent, is_deaf = row != NULL && row->is_deaf;
    *outcome = (turn_outcome){0};
    wire_set(&well);
    ws_connect_by = wire_connect;
    ws_client_enter(&viewer, server.port);
    ws_connect_by = NULL;
    viewer.is_blind = true;
    if (row != NULL) {
        wire_set(&row->weather);
    }
    const uint64_t since_ns = tarn_clock_monotonic_ns();
    const pid_t load = spawn_load(&out_fd);
    for (bool goes_on = true; goes_on && tarn_clock_monotonic_ns() - since_ns < LOAD_MS_MAX * (uint64_t)1000000;) {
        struct pollfd polled[2] = {{.fd = out_fd, .events = POLLIN},
                                   {.fd = is_deaf || outcome->is_gone ? -1 : viewer.fd, .events = POLLIN}};
        poll(polled, 2, 1000);
        speak(row, &viewer);
        if (polled[0].revents != 0) {
            const ssize_t got = read(out_fd, text + have, sizeof text - 1 - have);
            goes_on = got > 0;
            have += got > 0 ? (size_t)got : 0;
        }
        if (polled[1].revents != 0 && !drain(&viewer, &frames)) {
            outcome->is_gone = true;
        }
    }
    text[have] = 0;
    close(out_fd);
    kill(load, SIGTERM); // where it didn't end
    assert_int_equal(waitpid(load, &status, 0), load);
    outcome->own_frames_per_s = 1e9 * frames / (double)(tarn_clock_monotonic_ns() - since_ns);
    read_load(text, outcome);
    if (is_silent) {
        outcome->closed_s = wait_closed(row, &viewer, since_ns);
    }
    ws_client_close(&viewer);
    wire_set(&well);
    while (viewers_there() > 0) { // the next turn begins without it
        usleep(50000);
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return 0.5 * (values[count / 2] + values[(count - 1) / 2]);
}

/// @return whether it holds
static bool run_row(const network_row *row, int turns)
{
    static double without_ms[TURNS_MAX], with_ms[TURNS_MAX], more_ms[TURNS_MAX], own_per_s[TURNS_MAX];
    double closed_s_max = 0;
    unsigned lost = 0, gone = 0, stayed = 0;
    for (int i = 0; i < turns; i++) {
        turn_outcome without, with;
        take_turn(NULL, &without);
        take_turn(row, &with);
        without_ms[i] = without.others_p99_ms;
        with_ms[i] = with.others_p99_ms;
        more_ms[i] = with_ms[i] - without_ms[i];
        own_per_s[i] = with.own_frames_per_s;
        lost += without.others_lost + with.others_lost;
        gone += without.is_gone + (with.is_gone && !row->is_silent);
        stayed += row->is_silent && with.closed_s == 0;
        closed_s_max = with.closed_s > closed_s_max ? with.closed_s : closed_s_max;
    }
    const double more = median(more_ms, turns);
    char closed[32] = "-";
    if (row->is_silent) {
        snprintf(closed, sizeof closed, "%.1f (%d)", closed_s_max, STALLED_CLOSED_S_MAX);
    }
    const bool holds = lost == 0 && gone == 0 && stayed == 0;
    printf("| %s | %d | %.1f | %.1f | %+.1f (%d) | %.1f | %s | %u | %s |\n", row->what, turns,
           median(without_ms, turns), median(with_ms, turns), more, MORE_MS_MAX, median(own_per_s, turns), closed,
           lost + gone,
           !holds                                                        ? "FAIL"
           : more <= MORE_MS_MAX && closed_s_max <= STALLED_CLOSED_S_MAX ? "ok"
                                                                         : "ok, but late");
    fflush(stdout);
    return holds;
}

static int run_rows(bool (*is_wanted)(const char *row), int turns)
{
    static const char *const options[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-dam",
                                          "--host",   "0.0.0.0",        NULL};
    int failed = 0;
    server_start(&server, options);
    for (int i = 0; i < ROWS; i++) {
        if (is_wanted(rows[i].name)) {
            failed += !run_row(&rows[i], turns);
        }
    }
    server_stop(&server);
    return failed;
}

int networks_run(bool (*is_wanted)(const char *row), int turns, int *ran)
{
    *ran = 0;
    for (int i = 0; i < ROWS; i++) {
        *ran += is_wanted(rows[i].name);
    }
    if (*ran == 0) {
        return 0;
    }
    printf("\n| one of %d viewers | turns | the others' interval, p99: ms without it | with it | more (asked) | its "
           "frames/s | closed after s (asked) | viewers gone | |\n|---|---|---|---|---|---|---|---|---|\n",
           OTHERS + 1);
    fflush(stdout);
    // Whoever comes after is where it was.
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        tarn_text why;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (wire_open(why) == TARN_OK) {
            exit(run_rows(is_wanted, turns));
        }
        for (int i = 0; i < ROWS; i++) {
            if (is_wanted(rows[i].name)) {
                printf("| %s | 0 | | | | | | | skipped: %s |\n", rows[i].what, why);
            }
        }
        exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : *ran;
}

const char *networks_name(unsigned index)
{
    return index < ROWS ? rows[index].name : NULL;
}
