// An hour of play, or as long as one likes: eight tanks with eight viewers each on two workers, with a store. Somebody
// acts in each tank; viewers leave, politely or not, and come back; tanks are reset; the first worker is killed now and
// then, the second one never. Each minute a line of what the processes hold, in the end whether it grew. Begin at main.
#include "server/base/clock.h"
#include "tests/faults/process_watch.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TANKS = 8,
    VIEWERS_PER_TANK = 8,
    VIEWERS = TANKS * VIEWERS_PER_TANK,
    MINUTES = 60,
    MINUTES_MAX = 10000,
    MINUTES_JUDGED = 20, ///< for slopes: shorter runs are about warming up
    LATE_MS = 500,       ///< between two frames of a viewer
    TURN_MS = 100,       ///< between what is done
    RECONNECT_S = 5,     ///< between viewers that leave
    RESET_S = 45,
    KILL_S = 300,
    STORE_MAX_MB = 64,
    GROWTH_BYTES_PER_H = 1 << 20,
    ANSWER_BYTES = 8192,
};

typedef struct soak_viewer {
    ws_client ws;
    uint64_t seen_ns; ///< the newest frame; 0: none since it came
} soak_viewer;

/// What happened in a minute, and what the processes hold at its end.
typedef struct minute_row {
    process_look gateway, workers[2];
    uint64_t store_bytes, file_bytes_max; ///< of all files, and of the largest
    unsigned frames, late, gap_ms_max, reconnects, resets, kills, lost;
} minute_row;

static server_process server;
static soak_viewer viewers[VIEWERS];
static char sessions[TANKS][64];
static char dir[] = "/tmp/tarn-soak-XXXXXX";
static minute_row *rows;
static unsigned seed = 17; // the same each time

static double random_share(void)
{
    return (double)rand_r(&seed) / RAND_MAX;
}

static void start(void)
{
    static char answer[ANSWER_BYTES], store_max[16];
    snprintf(store_max, sizeof store_max, "%dM", STORE_MAX_MB);
    const char *const options[] = {
        "--scenes", TARN_TEST_SOAK_SCENES, "--scene", "slow-dam", "--devices", "cpu,cpu", "--store",
        dir,        "--store-max",         store_max, NULL};
    assert_non_null(mkdtemp(dir));
    server_start(&server, options);
    for (int t = 1; t < TANKS; t++) {
        assert_int_equal(server_request(server.port, "POST", "/sessions", "Content-Type: application/json\r\n",
                                        t % 2 != 0 ? "{\"scene\":\"slow-pool\"}" : "{\"scene\":\"slow-dam\"}", answer,
                                        sizeof answer),
                         201);
        assert_int_equal(sscanf(strstr(answer, "\"session\":\""), "\"session\":\"%63[^\"]\"", sessions[t]), 1);
    }
}

/// A viewer opens, says hello and joins its tank. @return whether it got in
static bool enter(soak_viewer *viewer)
{
    const int tank = (int)(viewer - viewers) / VIEWERS_PER_TANK;
    tarn_message message;
    memset(viewer, 0, sizeof *viewer);
    if (ws_client_open(&viewer->ws, server.port, "/ws", "tarn.v1", NULL) != 101) {
        return false;
    }
    viewer->ws.is_blind = true;
    return ws_client_hello(&viewer->ws) == 0 && ws_client_join(&viewer->ws, sessions[tank]) == 0 &&
           ws_client_wait(&viewer->ws, TARN_MESSAGE_JOINED, &message);
}

/// Takes all that has come. @return whether the connection is still there
static bool drain(soak_viewer *viewer, minute_row *row)
{
    ws_message raw;
    ws_frame frame;
    int got;
    while ((got = ws_client_next(&viewer->ws, &raw, 0)) == 1) {
        if (raw.opcode != WS_BINARY || ws_frame_open(raw.bytes, raw.byte_count, &frame) != TARN_OK) {
            continue;
        }
        const uint64_t now_ns = tarn_clock_monotonic_ns();
        const unsigned gap_ms = viewer->seen_ns != 0 ? (unsigned)((now_ns - viewer->seen_ns) / 1000000) : 0;
        const tarn_message ack = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame.epoch, .step = frame.step}};
        row->frames++;
        row->late += gap_ms > LATE_MS;
        row->gap_ms_max = gap_ms > row->gap_ms_max ? gap_ms : row->gap_ms_max;
        viewer->seen_ns = now_ns;
        (void)ws_client_tell(&viewer->ws, &ack); // that it is gone is seen next time
    }
    return got == 0;
}

static void listen_to_all(int ms, minute_row *row)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + (uint64_t)ms * 1000000;
    struct pollfd polled[VIEWERS];
    for (uint64_t now_ns; (now_ns = tarn_clock_monotonic_ns()) < until_ns;) {
        for (int v = 0; v < VIEWERS; v++) {
            polled[v] = (struct pollfd){.fd = viewers[v].ws.fd, .events = POLLIN};
        }
        poll(polled, VIEWERS, (int)((until_ns - now_ns) / 1000000) + 1);
        for (int v = 0; v < VIEWERS; v++) {
            if (polled[v].revents != 0 && !drain(&viewers[v], row)) {
                row->lost++;
                ws_client_close(&viewers[v].ws);
                row->lost += !enter(&viewers[v]);
            }
        }
        usleep(10000); // whole batches of frames: to the millisecond isn't what is measured
    }
}

/// In each tank one viewer pushes, and another throws, builds and takes away now and then.
static void act(unsigned turn)
{
    for (int t = 0; t < TANKS; t++) {
        const float at_m[2] = {(float)(0.1 + 0.8 * random_share()), (float)(0.1 + 0.3 * random_share())};
        ws_client *pushes = &viewers[t * VIEWERS_PER_TANK].ws, *builds = &viewers[t * VIEWERS_PER_TANK + 1].ws;
        const unsigned part = (turn + (unsigned)t * 7) % 60;
        if (part < 40) {
            ws_client_point(pushes, 0, TARN_TOOL_PUSH,
                            part == 0    ? TARN_PHASE_DOWN
                            : part == 39 ? TARN_PHASE_UP
                                         : TARN_PHASE_MOVE,
                            at_m, 0.2f);
        }
        if (part >= 40 && part < 46) {
            const tarn_tool tool = part < 42 ? TARN_TOOL_THROW : part < 44 ? TARN_TOOL_WALL : TARN_TOOL_ERASE;
            ws_client_point(builds, 1, tool, part % 2 == 0 ? TARN_PHASE_DOWN : TARN_PHASE_UP, at_m, 0.1f);
        }
        if (part == 50) {
            ws_client_parameter(builds, "gravity_m_s2", (float)(3 + 9 * random_share()));
        }
    }
}

/// A viewer leaves, every other time without a word and with a reset on the wire, and another one comes.
static void reconnect(minute_row *row)
{
    soak_viewer *viewer = &viewers[(unsigned)rand_r(&seed) % VIEWERS];
    if (row->reconnects++ % 2 == 0) {
        ws_client_send(&viewer->ws, WS_CLOSE, "\x03\xe9", 2);
    } else {
        setsockopt(viewer->ws.fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    }
    ws_client_close(&viewer->ws);
    row->lost += !enter(viewer);
}

static void count_store(minute_row *row)
{
    char path[512];
    struct stat about;
    DIR *opened = opendir(dir);
    for (const struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (stat(path, &about) == 0 && S_ISREG(about.st_mode)) {
            row->store_bytes += (uint64_t)about.st_size;
            row->file_bytes_max =
                (uint64_t)about.st_size > row->file_bytes_max ? (uint64_t)about.st_size : row->file_bytes_max;
        }
    }
    if (opened != NULL) {
        closedir(opened);
    }
}

static double mb(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void print_row(unsigned minute, const minute_row *row, const minute_row *before)
{
    printf("| %u |", minute);
    const process_look *now[] = {&row->gateway, &row->workers[0], &row->workers[1]};
    const process_look *then[] = {&before->gateway, &before->workers[0], &before->workers[1]};
    for (int p = 0; p < 3; p++) {
        const double cpu_s = now[p]->cpu_s - (then[p]->cpu_s < now[p]->cpu_s ? then[p]->cpu_s : 0);
        printf(" %.2f %.2f %.2f, %u, %.2f |", mb(now[p]->rss_bytes), mb(now[p]->anon_bytes), mb(now[p]->shared_bytes),
               now[p]->descriptors, cpu_s / 60);
    }
    printf(" %.2f, %.2f | %u | %u, %u | %u, %u, %u | %u |\n", mb(row->store_bytes), mb(row->file_bytes_max),
           row->frames, row->late, row->gap_ms_max, row->reconnects, row->resets, row->kills, row->lost);
    fflush(stdout);
}

static void happen(unsigned second, minute_row *row)
{
    if (second % RECONNECT_S == 0) {
        reconnect(row);
    }
    if (second % RESET_S == 0) {
        row->resets++;
        ws_client_control(&viewers[(unsigned)rand_r(&seed) % VIEWERS].ws, TARN_CONTROL_RESET, NULL);
    }
    if (second % KILL_S == KILL_S / 2) {
        const pid_t worker = server_worker_at(&server, 0);
        row->kills += worker > 0 && kill(worker, SIGKILL) == 0;
    }
}

static void play_minute(unsigned minute, minute_row *row)
{
    static unsigned turn, second;
    const uint64_t begun_ns = tarn_clock_monotonic_ns();
    for (unsigned s; (s = (unsigned)((tarn_clock_monotonic_ns() - begun_ns) / 1000000000)) < 60; turn++) {
        act(turn);
        while (second < minute * 60 + s) { // a busy machine takes several at once
            happen(++second, row);
        }
        listen_to_all(TURN_MS, row);
    }
    (void)server_said(&server); // or its log would fill the pipe, and it would wait
    process_look_at(server.pid, &row->gateway);
    for (int w = 0; w < 2; w++) {
        process_look_at(server_worker_at(&server, w), &row->workers[w]);
    }
    count_store(row);
}

/// Of the second half of the minutes: the first one fills what has a limit.
static double slope_per_h(unsigned minutes, size_t offset)
{
    static double hours[MINUTES_MAX], values[MINUTES_MAX];
    unsigned count = 0;
    for (unsigned m = minutes / 2; m < minutes; m++, count++) {
        hours[count] = m / 60.0;
        values[count] = (double)*(const uint64_t *)(const void *)((const char *)&rows[m] + offset);
    }
    return slope_of(hours, values, count);
}

static bool judge(const char *what, bool holds)
{
    printf("%s: %s\n", holds ? "ok" : "FAIL", what);
    return holds;
}

/// @return whether everything stayed as it was
static bool judge_all(unsigned minutes)
{
    char text[256];
    unsigned late = 0, lost = 0;
    uint64_t store_bytes_max = 0, frames = 0;
    for (unsigned m = 0; m < minutes; m++) {
        late += rows[m].late;
        lost += rows[m].lost;
        frames += rows[m].frames;
        store_bytes_max = rows[m].store_bytes > store_bytes_max ? rows[m].store_bytes : store_bytes_max;
    }
    const minute_row *half = &rows[minutes / 2], *last = &rows[minutes - 1];
    const double gateway = slope_per_h(minutes, offsetof(minute_row, gateway.rss_bytes));
    const double worker = slope_per_h(minutes, offsetof(minute_row, workers[1].rss_bytes));
    bool holds = true;
    printf("%llu frames, %u of them more than %d ms after the one before\n", (unsigned long long)frames, late, LATE_MS);
    snprintf(text, sizeof text, "descriptors: gateway %u, then %u; worker %u, then %u", half->gateway.descriptors,
             last->gateway.descriptors, half->workers[1].descriptors, last->workers[1].descriptors);
    holds = judge(text, half->gateway.descriptors >= last->gateway.descriptors &&
                            half->workers[1].descriptors >= last->workers[1].descriptors) &&
            holds;
    snprintf(text, sizeof text, "memory: gateway %+.2f MB/h, worker that is never killed %+.2f MB/h (1)%s",
             gateway / (1 << 20), worker / (1 << 20), minutes < MINUTES_JUDGED ? "; too short to be judged" : "");
    holds =
        judge(text, minutes < MINUTES_JUDGED || (gateway < GROWTH_BYTES_PER_H && worker < GROWTH_BYTES_PER_H)) && holds;
    snprintf(text, sizeof text, "store: at most %.1f MB (%d), %+.2f MB/h", mb(store_bytes_max), STORE_MAX_MB,
             slope_per_h(minutes, offsetof(minute_row, store_bytes)) / (1 << 20));
    holds = judge(text, mb(store_bytes_max) <= STORE_MAX_MB) && holds;
    snprintf(text, sizeof text, "viewers that lost their connection, or weren't let in: %u", lost);
    return judge(text, lost == 0) && holds;
}

int main(int argc, char **argv)
{
    char *end = "";
    const long minutes = argc == 3 && strcmp(argv[1], "--minutes") == 0 ? strtol(argv[2], &end, 10)
                         : argc == 1                                    ? MINUTES
                                                                        : 0;
    if (*end != 0 || minutes < 1 || minutes > MINUTES_MAX) {
        fprintf(stderr, "soak: allowed is --minutes N of 1 to %d\n", MINUTES_MAX);
        return 2;
    }
    rows = calloc((size_t)minutes + 1, sizeof *rows);
    assert_non_null(rows);
    start();
    for (int v = 0; v < VIEWERS; v++) {
        assert_true(enter(&viewers[v]));
    }
    printf("MB resident, own, shared; descriptors; cores in use:\n"
           "| minute | gateway | worker that is killed | worker that isn't | store, its largest file: MB | frames | "
           "late, longest gap ms | reconnects, resets, kills | lost |\n|---|---|---|---|---|---|---|---|---|\n");
    minute_row nothing = {0};
    for (long m = 0; m < minutes; m++) {
        play_minute((unsigned)m, &rows[m]);
        print_row((unsigned)m + 1, &rows[m], m > 0 ? &rows[m - 1] : &nothing);
    }
    const bool holds = judge_all((unsigned)minutes);
    for (int v = 0; v < VIEWERS; v++) {
        ws_client_close(&viewers[v].ws);
    }
    server_stop(&server);
    server_remove_store(dir);
    free(rows);
    return holds ? 0 : 1;
}
