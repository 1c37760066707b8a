// Many small tanks on one machine: what share of real time each gets, how evenly its frames come, what that takes, and
// what its neighbours notice of tanks that end and are made. Prints a table; asserts nothing of times.
//
//     tarnd with N tanks ── a viewer in each but a few, all in this thread ── frames' intervals
//                        └─ a second thread watches those few, and by turns ends and makes them
#include "server/base/clock.h"
#include "server/base/options.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TANKS_MAX = 256,
    CHANGING = 4,    // tanks that end and are made while the others are measured
    CHANGE_MS = 250, // between two of these
    CHANGES_MAX = 4096,
    MADE_PER_ADDRESS = 5, // of the 10 that one may make at once
    FRAMES_PER_S_MAX = 130,
    WARM_UP_MS = 6000,
    SETTLE_MS = 1000, // before a row
    WORKERS_MAX = 16,
    ANYHOW = 15, // tanks besides the first that a worker takes whatever they cost
    ANSWER_BYTES = 65536,
};

typedef struct settings {
    long tanks, seconds, rounds;
    char *devices, *threads, *scene, *scenes, *fps, *beside;
    bool is_unwatched;
} settings;

/// A tank and who watches it.
typedef struct tank {
    char session[64], owners_key[64];
    ws_client viewer;
    uint64_t frame_ns; ///< when the newest came
    uint64_t asked_ns; ///< when it was asked for, until its first came; 0: not measured
    // of the phase
    uint64_t first_ns, first_step, last_step, frames;
    uint32_t epoch;
} tank;

/// What was taken since the machine was started, seconds of processors.
typedef struct taken {
    double workers, gateway, viewers, machine;
} taken;

static settings options = {.tanks = 64, .seconds = 10, .rounds = 2, .devices = "cpu", .threads = "0", .fps = NULL};
static server_process server;
static pid_t worker_pids[WORKERS_MAX];
static int worker_count;
static tank tanks[TANKS_MAX], beside;
static float *intervals_ms;              ///< of the phase, all tanks
static float *of_tank_ms[TANKS_MAX + 1]; ///< the last: of the one beside them
static size_t interval_count, of_tank_count[TANKS_MAX + 1], interval_max;
static long steady; ///< tanks that are measured, the first
static atomic_bool are_changing, is_over;
static atomic_uint ended_and_made;
static float made_ms[CHANGES_MAX]; ///< from asking for a tank to its first frame
static size_t made_count;
static _Thread_local uint32_t from_address;

// ------------------------------------------------------------------------------------------------------ tanks, viewers

/// From one of many addresses of this machine, since one may not make so many tanks.
static int connect_from(uint16_t port)
{
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + from_address)};
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    assert_true(fd >= 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void make_tank(tank *made, uint32_t number)
{
    char body[128], answer[ANSWER_BYTES];
    from_address = 1 + number / MADE_PER_ADDRESS;
    snprintf(body, sizeof body, "{\"scene\": \"%s\"}", options.scene);
    const int status = server_request(server.port, "POST", "/sessions", "Content-Type: application/json\r\n", body,
                                      answer, sizeof answer);
    const char *name = status == 201 ? strstr(answer, "\"session\":\"") : NULL, *key = strstr(answer, "\"own\":\"");
    if (name == NULL || key == NULL || sscanf(name, "\"session\":\"%63[^\"]", made->session) != 1 ||
        sscanf(key, "\"own\":\"%63[^\"]", made->owners_key) != 1) {
        fprintf(stderr, "bench_tanks: a tank could not be made: %d %s\n", status, answer);
        exit(1);
    }
}

static void watch(tank *watched)
{
    tarn_message joined;
    assert_int_equal(ws_client_open(&watched->viewer, server.port, "/ws", "tarn.v1", NULL), 101);
    watched->viewer.is_blind = true;
    assert_int_equal(ws_client_hello(&watched->viewer), 0);
    assert_true(ws_client_wait(&watched->viewer, TARN_MESSAGE_WELCOME, &joined));
    assert_int_equal(ws_client_join(&watched->viewer, watched->session), 0);
    assert_true(ws_client_wait(&watched->viewer, TARN_MESSAGE_JOINED, &joined));
}

static void end_tank(const tank *ended)
{
    char target[96], headers[128], answer[ANSWER_BYTES];
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", ended->owners_key);
    snprintf(target, sizeof target, "/sessions/%s", ended->session);
    assert_int_equal(server_http(server.port, "DELETE", target, headers, answer, sizeof answer), 200);
}

static void note_frame(tank *of, int index, const ws_frame *frame)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (of->first_ns == 0 || of->epoch != frame->epoch) {
        of->first_ns = now_ns;
        of->first_step = frame->step;
        of->epoch = frame->epoch;
    } else if (of_tank_count[index] < interval_max) {
        of_tank_ms[index][of_tank_count[index]++] = (float)((double)(now_ns - of->frame_ns) * 1e-6);
    }
    of->frames++;
    of->frame_ns = now_ns;
    of->last_step = frame->step;
}

/// Takes what has come to a viewer.
static void take(tank *of, int index)
{
    ws_message message;
    ws_frame frame;
    for (int got; (got = ws_client_next(&of->viewer, &message, 0)) != 0;) {
        if (got < 0) {
            fprintf(stderr, "bench_tanks: the server closed a viewer's connection: %u %s\n", of->viewer.close_code,
                    of->viewer.close_reason);
            exit(1);
        }
        if (message.opcode == WS_BINARY && ws_frame_open(message.bytes, message.byte_count, &frame) == TARN_OK) {
            const tarn_message ack = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame.epoch, .step = frame.step}};
            ws_client_tell(&of->viewer, &ack);
            if (index >= 0) {
                note_frame(of, index, &frame);
            } else if (of->asked_ns != 0 && made_count < CHANGES_MAX) {
                made_ms[made_count++] = (float)((double)(tarn_clock_monotonic_ns() - of->asked_ns) * 1e-6);
                of->asked_ns = 0;
            }
        }
    }
}

/// All viewers take their frames for so long.
static void look_on(uint64_t for_ms)
{
    static struct pollfd polled[TANKS_MAX + 1];
    const uint64_t until_ns = tarn_clock_monotonic_ns() + for_ms * 1000000;
    for (int i = 0; i < (int)steady; i++) {
        polled[i] = (struct pollfd){.fd = tanks[i].viewer.fd, .events = POLLIN};
    }
    polled[steady] = (struct pollfd){.fd = options.beside != NULL ? beside.viewer.fd : -1, .events = POLLIN};
    for (uint64_t now_ns; (now_ns = tarn_clock_monotonic_ns()) < until_ns;) {
        if (poll(polled, (nfds_t)steady + 1, (int)((until_ns - now_ns) / 1000000) + 1) <= 0) {
            continue;
        }
        for (int i = 0; i < (int)steady; i++) {
            if (polled[i].revents != 0) {
                take(&tanks[i], i);
            }
        }
        if (polled[steady].revents != 0) {
            take(&beside, TANKS_MAX);
        }
    }
}

/// The second thread: looks on at a few tanks, and while that is wished for ends one and makes another, again and
/// again.
static void *change(void *context)
{
    tank *changing = context;
    uint32_t made = 0;
    for (uint32_t at = 0; !atomic_load(&is_over); at = (at + 1) % CHANGING) {
        if (atomic_load(&are_changing)) {
            end_tank(&changing[at]);
            ws_client_close(&changing[at].viewer);
            changing[at].asked_ns = tarn_clock_monotonic_ns();
            make_tank(&changing[at], TANKS_MAX + made++ % (TANKS_MAX / 2));
            watch(&changing[at]);
            atomic_fetch_add(&ended_and_made, 1);
        }
        for (uint32_t wait_ms = 0; wait_ms < CHANGE_MS; wait_ms += 10) {
            for (uint32_t i = 0; i < CHANGING; i++) {
                take(&changing[i], -1);
            }
            usleep(10000);
        }
    }
    return NULL;
}

// ------------------------------------------------------------------------------------------------------------- figures

static double process_s(pid_t pid)
{
    char path[64], text[1024] = "";
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        const size_t bytes = fread(text, 1, sizeof text - 1, file);
        text[bytes] = '\0';
        fclose(file);
        const char *rest = strrchr(text, ')');
        if (rest != NULL) {
            sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
        }
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double machine_s(void)
{
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0;
    FILE *file = fopen("/proc/stat", "re");
    if (file == NULL ||
        fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq, &soft) != 7) {
        user = nice = system = irq = soft = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return (double)(user + nice + system + irq + soft) / (double)sysconf(_SC_CLK_TCK);
}

static taken take_stock(void)
{
    struct rusage own;
    taken stock = {.gateway = process_s(server.pid), .machine = machine_s()};
    getrusage(RUSAGE_SELF, &own);
    stock.viewers = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                    1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
    for (int i = 0; i < worker_count; i++) {
        stock.workers += process_s(worker_pids[i]);
    }
    return stock;
}

/// Megabytes of a process that are in memory, shared ones included.
static double resident_mb(pid_t pid)
{
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%*u %lu", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static double workers_mb(void)
{
    double sum = 0;
    for (int i = 0; i < worker_count; i++) {
        sum += resident_mb(worker_pids[i]);
    }
    return sum;
}

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double quantile(float *values, size_t count, double part)
{
    if (count == 0) {
        return 0;
    }
    qsort(values, count, sizeof *values, by_size);
    return (double)values[(size_t)(part * (double)(count - 1) + 0.5)];
}

/// Simulated seconds a second.
static double factor_of(const tank *of)
{
    const double dt_s = (double)of->viewer.state.dt_s, span_s = (double)(of->frame_ns - of->first_ns) * 1e-9;
    return span_s > 0 ? (double)(of->last_step - of->first_step) * dt_s / span_s : 0;
}

/// The table's row of a phase. @return p99 of all frames' intervals, ms
static double tell(const char *what, double seconds, const taken *before, const taken *after)
{
    double least = 1e9, sum = 0, frames = 0, worst_p99 = 0;
    interval_count = 0;
    for (int i = 0; i < (int)steady; i++) {
        const tank *of = &tanks[i];
        const double factor = factor_of(of);
        least = factor < least ? factor : least;
        sum += factor;
        frames += (double)of->frames;
        memcpy(intervals_ms + interval_count, of_tank_ms[i], of_tank_count[i] * sizeof *intervals_ms);
        interval_count += of_tank_count[i];
        const double p99 = quantile(of_tank_ms[i], of_tank_count[i], 0.99);
        worst_p99 = p99 > worst_p99 ? p99 : worst_p99;
    }
    const double p50 = quantile(intervals_ms, interval_count, 0.5), p99 = quantile(intervals_ms, interval_count, 0.99);
    const double longest = interval_count > 0 ? (double)intervals_ms[interval_count - 1] : 0;
    const double workers = (after->workers - before->workers) / seconds,
                 gateway = (after->gateway - before->gateway) / seconds,
                 viewers = (after->viewers - before->viewers) / seconds,
                 machine = (after->machine - before->machine) / seconds;
    printf("| %-8s | %6.3f %6.3f | %5.1f | %6.1f %6.1f %7.1f %7.1f | %5.2f %5.2f %5.2f %5.2f |\n", what,
           sum / (double)steady, least, frames / seconds / (double)steady, p50, p99, worst_p99, longest, workers,
           gateway, viewers, machine - workers - gateway - viewers);
    if (options.beside != NULL) {
        printf("| beside   | %6.3f        | %5.1f | %6.1f %6.1f                 |                         |\n",
               factor_of(&beside), (double)beside.frames / seconds,
               quantile(of_tank_ms[TANKS_MAX], of_tank_count[TANKS_MAX], 0.5),
               quantile(of_tank_ms[TANKS_MAX], of_tank_count[TANKS_MAX], 0.99));
    }
    fflush(stdout);
    return p99;
}

static double phase(const char *what, bool amid_changes)
{
    atomic_store(&are_changing, amid_changes);
    look_on(SETTLE_MS);
    for (int i = 0; i < (int)steady; i++) {
        tanks[i].first_ns = tanks[i].frames = 0;
        of_tank_count[i] = 0;
    }
    beside.first_ns = beside.frames = 0;
    of_tank_count[TANKS_MAX] = 0;
    const taken before = take_stock();
    const uint64_t since_ns = tarn_clock_monotonic_ns();
    look_on((uint64_t)options.seconds * 1000);
    const taken after = take_stock();
    return tell(what, (double)(tarn_clock_monotonic_ns() - since_ns) * 1e-9, &before, &after);
}

// ---------------------------------------------------------------------------------------------------------------- main

enum { OPTION_FPS = 256, OPTION_UNWATCHED };

static const struct argp_option option_list[] = {
    {"tanks", 'n', "N", 0, "Tanks, 1 to 256 (64)", 0},
    {"seconds", 's', "N", 0, "Seconds of each row, 1 to 600 (10)", 0},
    {"rounds", 'r', "N", 0, "Rows of each kind, by turns, 0 to 100 (2)", 0},
    {"devices", 'd', "LIST", 0, "As tarnd's (cpu)", 0},
    {"threads", 't', "N", 0, "As tarnd's (0)", 0},
    {"fps", OPTION_FPS, "N", 0, "As tarnd's (30, or more where somebody acts)", 0},
    {"scene", OPTION_UNWATCHED + 1, "NAME", 0, "Of --scenes (small-dam, 4032 particles)", 0},
    {"scenes", OPTION_UNWATCHED + 2, "DIR", 0, "Folder of scenes (tests/bench/scenes)", 0},
    {"beside", OPTION_UNWATCHED + 3, "NAME|FILE", 0, "A tank of another scene beside them", 0},
    {"unwatched", OPTION_UNWATCHED, NULL, 0, "Also what tanks take by which nobody is", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    switch (key) {
    case 'n':
        options.tanks = tarn_option_number(state, "tanks", text, 1, TANKS_MAX);
        return 0;
    case 's':
        options.seconds = tarn_option_number(state, "seconds", text, 1, 600);
        return 0;
    case 'r':
        options.rounds = tarn_option_number(state, "rounds", text, 0, 100);
        return 0;
    case 'd':
        options.devices = text;
        return 0;
    case 't':
        options.threads = text;
        return 0;
    case OPTION_FPS:
        options.fps = text;
        return 0;
    case OPTION_UNWATCHED:
        options.is_unwatched = true;
        return 0;
    case OPTION_UNWATCHED + 3:
        options.beside = text;
        return 0;
    case OPTION_UNWATCHED + 1:
        options.scene = text;
        return 0;
    case OPTION_UNWATCHED + 2:
        options.scenes = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void open_server(void)
{
    char most[24];
    snprintf(most, sizeof most, "%ld", options.tanks + 1);
    const char *arguments[24] = {"--port", "0", "--scenes", options.scenes, "--sessions-max", most, "--log", "error"};
    int count = 8;
    const char *const others[][2] = {{"--scene", options.beside != NULL ? options.beside : options.scene},
                                     {"--devices", options.devices},
                                     {"--threads", options.threads},
                                     {"--fps", options.fps},
                                     {"--load-max", options.tanks > ANYHOW ? "1000" : NULL}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i][1] != NULL) {
            arguments[count++] = others[i][0];
            arguments[count++] = others[i][1];
        }
    }
    server_start_bare(&server, arguments);
    for (pid_t pid; worker_count < WORKERS_MAX && (pid = server_worker_at(&server, worker_count)) > 0; worker_count++) {
        worker_pids[worker_count] = pid;
    }
    interval_max = (size_t)options.seconds * FRAMES_PER_S_MAX;
    intervals_ms = calloc((size_t)options.tanks * interval_max, sizeof *intervals_ms);
    assert_non_null(intervals_ms);
    for (int i = 0; i <= TANKS_MAX; i++) {
        of_tank_ms[i] = calloc(interval_max, sizeof **of_tank_ms);
        assert_non_null(of_tank_ms[i]);
    }
}

int main(int argc, char **argv)
{
    const struct argp parser = {
        option_list, parse, NULL, "Many small tanks at once: real time, frames, processors and memory.",
        NULL,        NULL,  NULL};
    options.scene = "small-dam";
    options.scenes = TARN_BENCH_SCENES;
    argp_parse(&parser, argc, argv, 0, NULL, NULL);
    ws_connect_by = connect_from;
    open_server();
    const double bare_mb = workers_mb(), bare_gateway_mb = resident_mb(server.pid);
    for (int i = 0; i < (int)options.tanks; i++) {
        make_tank(&tanks[i], (uint32_t)i);
    }
    if (options.is_unwatched) {
        sleep(WARM_UP_MS / 1000 + 4);
        const taken before = take_stock();
        sleep((unsigned)options.seconds);
        const taken after = take_stock();
        printf("%ld tanks by which nobody is: workers %.3f cores, gateway %.3f\n", options.tanks,
               (after.workers - before.workers) / (double)options.seconds,
               (after.gateway - before.gateway) / (double)options.seconds);
    }
    for (int i = 0; i < (int)options.tanks; i++) {
        watch(&tanks[i]);
    }
    if (options.beside != NULL) {
        snprintf(beside.session, sizeof beside.session, "main");
        watch(&beside);
    }
    pthread_t thread;
    steady = options.rounds > 0 && options.tanks > CHANGING ? options.tanks - CHANGING : options.tanks;
    if (steady < options.tanks) {
        assert_int_equal(pthread_create(&thread, NULL, change, &tanks[steady]), 0);
    }
    look_on(WARM_UP_MS);
    printf("%ld tanks of %s, a viewer in each; %ld s a row\n\n"
           "|          | times real time |  frames | ms between frames of a tank    | cores                   |\n"
           "|          |   mean  least |  a s  |    p50    p99 p99worst longest | workers gate view other |\n",
           options.tanks, options.scene, options.seconds);
    double quiet_ms = 0, amid_ms = 0;
    for (long i = 0; i < (options.rounds > 0 ? options.rounds : 1); i++) {
        quiet_ms += phase("quiet", false);
        amid_ms += steady < options.tanks ? phase("changes", true) : 0;
    }
    if (steady < options.tanks) {
        atomic_store(&is_over, true);
        pthread_join(thread, NULL);
        printf("\np99 of the frames' interval: quiet %.1f ms, while a tank ends and one is made every %d ms (%u did) "
               "%.1f ms: %+.1f ms\n",
               quiet_ms / (double)options.rounds, CHANGE_MS, atomic_load(&ended_and_made),
               amid_ms / (double)options.rounds, (amid_ms - quiet_ms) / (double)options.rounds);
        const double median_ms = quantile(made_ms, made_count, 0.5);
        printf("from asking for a tank to its first frame: p50 %.0f ms, longest %.0f ms\n", median_ms,
               quantile(made_ms, made_count, 1));
    }
    printf("memory of a tank: %.2f MB in the worker, %.2f MB in the gateway\n",
           (workers_mb() - bare_mb) / (double)options.tanks,
           (resident_mb(server.pid) - bare_gateway_mb) / (double)options.tanks);
    for (int i = 0; i < (int)options.tanks; i++) {
        ws_client_close(&tanks[i].viewer);
    }
    server_stop(&server);
    return 0;
}
