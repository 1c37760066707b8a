// Begin at try_all. What is done, and undone, is a pair of functions; everything else is the same for all.
#include "tests/faults/starved.h"
#include "server/base/clock.h"
#include "tests/faults/failing_memory.h"
#include "tests/server/server_process.h"
#include "tests/server/stream_client.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/tls_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    ANSWER_BYTES = 262144,
    FRAME_MS = 5000,  ///< within which one must come
    ACT_MS = 3000,    ///< that anything may take
    SETTLE_MS = 4000, ///< within which what was made is gone again
    CALLS_MAX = 20000,
    ROUNDS_WARM = 3,
    ATTEMPTS = 3,
    ADDRESSES = 60,
};

static server_process server;
static failing_memory *memory;
static stream_client onlooker;
static char answer[ANSWER_BYTES];
static ws_client visitor;
static char session[64], key[64];

static const char json[] = "Content-Type: application/json\r\n";

// What hangs ends by deadlines of the server's, of up to a minute; nobody waits for so long here.

static volatile int newest_fd = -1;

/// From many addresses of this machine: one may not make so many tanks.
static int connect_and_note(uint16_t port)
{
    static uint32_t count;
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + count++ % ADDRESSES)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    newest_fd = fd;
    return fd;
}

static void give_up(int number)
{
    (void)number;
    shutdown(newest_fd, SHUT_RDWR);
}

static void wait_at_most(unsigned ms)
{
    const struct itimerval time = {.it_value = {ms / 1000, ms % 1000 * 1000}};
    setitimer(ITIMER_REAL, &time, NULL);
}

// ---------------------------------------------------------------------------------------------------- what can be done

/// @return whether a frame came
static bool join(void)
{
    ws_message message;
    memset(&visitor, 0, sizeof visitor);
    if (ws_client_open(&visitor, server.port, "/ws", "tarn.v1", NULL) != 101 || ws_client_hello(&visitor) != 0 ||
        ws_client_join(&visitor, "main") != 0) {
        return false;
    }
    const uint64_t until_ns = tarn_clock_monotonic_ns() + FRAME_MS * (uint64_t)1000000;
    visitor.auto_ack = true;
    while (visitor.close_code == 0 && tarn_clock_monotonic_ns() < until_ns) {
        if (ws_client_next(&visitor, &message, 50) == 1 && message.opcode == WS_BINARY && message.byte_count > 8 &&
            visitor.decoder.particles.count > 0) {
            return true;
        }
    }
    return false;
}

static void leave(void)
{
    ws_client_close(&visitor);
}

static bool look_at_pages(void)
{
    static const char *const targets[] = {"/healthz", "/metrics", "/sessions", "/readyz", "/scenes/small-pool.json"};
    bool is_all = true;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        is_all &= server_http(server.port, "GET", targets[i], NULL, answer, sizeof answer) == 200;
    }
    return is_all;
}

static void nothing(void)
{
}

/// Reads a text of an answer. @return whether it is there
static bool text_of(const char *before, char *found, size_t found_bytes)
{
    const char *at = strstr(answer, before);
    if (at != NULL) {
        at += strlen(before);
        snprintf(found, found_bytes, "%.*s", (int)strcspn(at, "\""), at);
    }
    return at != NULL;
}

/// Makes a tank and looks at it.
static bool make_session(void)
{
    session[0] = '\0';
    if (server_request(server.port, "POST", "/sessions", json, "{\"scene\":\"small-dam\"}", answer, sizeof answer) !=
            201 ||
        !text_of("\"session\":\"", session, sizeof session) || !text_of("\"own\":\"", key, sizeof key)) {
        return false;
    }
    ws_message message;
    memset(&visitor, 0, sizeof visitor);
    if (ws_client_open(&visitor, server.port, "/ws", "tarn.v1", NULL) != 101 || ws_client_hello(&visitor) != 0 ||
        ws_client_join(&visitor, session) != 0) {
        return false;
    }
    const uint64_t until_ns = tarn_clock_monotonic_ns() + FRAME_MS * (uint64_t)1000000;
    while (visitor.close_code == 0 && tarn_clock_monotonic_ns() < until_ns) {
        if (ws_client_next(&visitor, &message, 50) == 1 && visitor.decoder.particles.count > 0) {
            return true;
        }
    }
    return false;
}

/// One of which nobody was told ends by itself.
static void end_session(void)
{
    char target[96], headers[128];
    ws_client_close(&visitor);
    if (session[0] != '\0') {
        snprintf(target, sizeof target, "/sessions/%s", session);
        snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", key);
        (void)server_http(server.port, "DELETE", target, headers, answer, sizeof answer);
    }
}

// ------------------------------------------------------------------------------------------------------------ each
// call

typedef struct starved_trial {
    bool (*act)(void); ///< @return whether it came to be
    void (*undo)(void);
    failing_program program;
    failing_threads threads;
    bool may_meet_onlooker; ///< the call may be one of the onlooker's own frames, and cost its connection
} starved_trial;

static void start(const char *const *options)
{
    memory = failing_memory_begin();
    server_start(&server, options);
    failing_memory_leave();
    memset(&onlooker, 0, sizeof onlooker);
    stream_client_enter(&onlooker, server.port);
    onlooker.ws.auto_ack = true;
    stream_client_see(&onlooker);
}

static void stop(void)
{
    stream_client_close(&onlooker);
    server_stop(&server);
    failing_memory_end(memory);
}

/// Does it, for a while. @return whether it came to be
static bool act_on(const starved_trial *trial)
{
    wait_at_most(ACT_MS);
    const bool came = trial->act();
    wait_at_most(0);
    return came;
}

/// Whether whoever looks on still sees the tank move.
static bool goes_on(void)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + FRAME_MS * (uint64_t)1000000;
    while (stream_client_next(&onlooker, 0)) {
    }
    const uint64_t step = onlooker.frame.head.step;
    while (onlooker.ws.close_code == 0 && tarn_clock_monotonic_ns() < until_ns) {
        if (stream_client_next(&onlooker, 50) && onlooker.frame.head.step > step) {
            return true;
        }
    }
    return false;
}

/// Who lost its connection by a call of its own comes again.
static bool comes_again(void)
{
    if (onlooker.ws.close_code == 0) {
        return false;
    }
    stream_client_close(&onlooker);
    memset(&onlooker, 0, sizeof onlooker);
    stream_client_enter(&onlooker, server.port);
    onlooker.ws.auto_ack = true;
    return goes_on();
}

static int64_t settle(const starved_trial *trial, int64_t wanted)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + SETTLE_MS * (uint64_t)1000000;
    int64_t live;
    do {
        usleep(5000);
        live = atomic_load(&memory->live[trial->program]);
    } while (live > wanted && tarn_clock_monotonic_ns() < until_ns);
    return live;
}

/// What libraries don't give back when a call of theirs fails: libwebsockets' plugin for libuv what it has of a
/// connection that it gives up, and OpenSSL the code that it makes.
static bool is_known_leak(const char *where)
{
    const char *plugin = strstr(where, "libwebsockets-evlib_uv.so"), *second = strstr(where, " < ");
    return (plugin != NULL && second != NULL && plugin <= second + strlen(" < ")) ||
           strstr(where, "(EVP_Q_mac)") != NULL;
}

/// Lets each call fail in turn.
static void try_all(const starved_trial *trial, uint32_t stride, unsigned seed, starved_result *result)
{
    int64_t before = 0;
    for (int i = 0; i < ROUNDS_WARM; i++) {
        assert_true(act_on(trial));
        trial->undo();
        before = settle(trial, 0);
    }
    const pid_t worker = server_worker(&server);
    for (uint64_t at = stride > 1 ? 1 + seed % stride : 1; at < CALLS_MAX; at += stride) {
        failing_memory_arm(memory, trial->program, trial->threads, at);
        const bool came = act_on(trial);
        if (!failing_memory_disarm(memory)) {
            trial->undo();
            break;
        }
        trial->undo();
        result->calls++;
        result->refused += !came;
        if (!server_runs(&server) || server_worker(&server) != worker) {
            fprintf(stderr, "call %u: a program ended: %s\n%s\n", (unsigned)at, memory->where, server_said(&server));
            result->crashes++;
            return;
        }
        if (!goes_on() && !(trial->may_meet_onlooker && comes_again())) {
            fprintf(stderr, "call %u: others saw nothing more: %s\n", (unsigned)at, memory->where);
            result->others_hurt++;
            return;
        }
        bool is_served = false;
        for (int i = 0; i < ATTEMPTS && !is_served; i++) { // a busy machine may be slow
            is_served = act_on(trial);
            trial->undo();
        }
        if (!is_served) {
            fprintf(stderr, "call %u: it couldn't be done afterwards: %s\n%s\n", (unsigned)at, memory->where,
                    server_said(&server));
            result->unserved++;
            return;
        }
        const int64_t left = settle(trial, before) - before;
        if (left > 0 && is_known_leak(memory->where)) {
            result->libraries_left += left;
            before += left;
        } else if (left > 0) {
            fprintf(stderr, "call %u: %lld pieces are left: %s\n", (unsigned)at, (long long)left, memory->where);
            result->pieces_left += left;
            before += left;
        }
    }
}

static const char *const plain[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--keep-empty", "2", NULL};

static void run_join(const starved_act *act, uint32_t stride, unsigned seed, starved_result *result)
{
    (void)act;
    start(plain);
    try_all(&(starved_trial){join, leave, FAILING_GATEWAY, FAILING_FIRST, false}, stride, seed, result);
    stop();
}

static int connect_by_tls(uint16_t port)
{
    newest_fd = tls_connect(port);
    return newest_fd;
}

/// OpenSSL's calls among them, from the handshake on.
static void run_tls(const starved_act *act, uint32_t stride, unsigned seed, starved_result *result)
{
    static char dir[32];
    static const char *const options[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool",        "--keep-empty",
                                          "2",        "--tls-dir",      dir,       "--tls-self-signed", NULL};
    char command[64];
    int (*const connector)(uint16_t) = ws_connect_by;
    (void)act;
    snprintf(dir, sizeof dir, "/tmp/tarn-starved-XXXXXX");
    assert_non_null(mkdtemp(dir));
    ws_connect_by = connect_by_tls;
    void (*const on_pipe)(int) = signal(SIGPIPE, SIG_IGN); // OpenSSL writes to connections that the server gave up
    start(options);
    try_all(&(starved_trial){join, leave, FAILING_GATEWAY, FAILING_FIRST, true}, stride, seed, result);
    stop();
    signal(SIGPIPE, on_pipe);
    ws_connect_by = connector;
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

static void run_pages(const starved_act *act, uint32_t stride, unsigned seed, starved_result *result)
{
    (void)act;
    start(plain);
    try_all(&(starved_trial){look_at_pages, nothing, FAILING_GATEWAY, FAILING_FIRST, false}, stride, seed, result);
    stop();
}

static void run_session(const starved_act *act, uint32_t stride, unsigned seed, starved_result *result)
{
    (void)act;
    start(plain);
    try_all(&(starved_trial){make_session, end_session, FAILING_GATEWAY, FAILING_FIRST, false}, stride, seed, result);
    stop();
}

static void run_tank(const starved_act *act, uint32_t stride, unsigned seed, starved_result *result)
{
    (void)act;
    start(plain);
    try_all(&(starved_trial){make_session, end_session, FAILING_WORKER, FAILING_ALL, false}, stride, seed, result);
    stop();
}

/// Steps, frames and states of a tank that people play with: nothing is asked for at all.
static void run_steps(const starved_act *act, uint32_t stride, unsigned seed, starved_result *result)
{
    enum { STEPS = 150 }; // a state is kept every 60
    (void)act;
    (void)stride;
    (void)seed;
    start(plain);
    for (int i = 0; i < 40; i++) { // everything has been used once
        stream_client_see(&onlooker);
    }
    failing_memory_arm(memory, FAILING_WORKER, FAILING_ALL, 0);
    const uint64_t until = onlooker.frame.head.step + STEPS;
    for (unsigned i = 0; onlooker.frame.head.step < until; i++) {
        const float at_m[2] = {0.2f + 0.01f * (float)(i % 50), 0.2f};
        (void)ws_client_point(&onlooker.ws, 0, TARN_TOOL_PUSH, i == 0 ? TARN_PHASE_DOWN : TARN_PHASE_MOVE, at_m, 0.2f);
        stream_client_see(&onlooker);
    }
    (void)failing_memory_disarm(memory);
    result->calls = (uint32_t)atomic_load(&memory->calls);
    result->takes_none = result->calls == 0;
    stop();
}

static char store[32];
static const char *stored[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-dam", "--store", store, NULL};

static void make_store(void)
{
    snprintf(store, sizeof store, "/tmp/tarn-starved-XXXXXX");
    assert_non_null(mkdtemp(store));
}

static bool commits_go_on(void)
{
    const double before = server_metric(server.port, "tarn_store_commits_total");
    double now = before;
    for (int i = 0; i < 200 && now < before + 3; i++) {
        while (stream_client_next(&onlooker, 20)) {
        }
        now = server_metric(server.port, "tarn_store_commits_total");
    }
    return before >= 0 && now >= before + 3;
}

/// The store's thread: a state and the log, again and again; the file is opened anew after each failure.
static void run_commit(const starved_act *act, uint32_t stride, unsigned seed, starved_result *result)
{
    enum { COMMITS_MS = 2500, COMMIT_CALLS_MAX = 600 }; // a state is put every 2 s, and takes less
    (void)act;
    make_store();
    start(stored);
    assert_true(commits_go_on());
    const pid_t worker = server_worker(&server);
    for (uint64_t at = 1 + (stride > 1 ? seed % stride : 0); at <= COMMIT_CALLS_MAX; at += stride) {
        const double failures = server_metric(server.port, "tarn_store_failures_total");
        failing_memory_arm(memory, FAILING_GATEWAY, FAILING_OTHERS, at);
        for (int i = 0; i < COMMITS_MS / 50 && atomic_load(&memory->failed) == 0; i++) {
            (void)stream_client_next(&onlooker, 0);
            usleep(50000);
        }
        if (!failing_memory_disarm(memory)) {
            break;
        }
        result->calls++;
        if (!server_runs(&server) || server_worker(&server) != worker) {
            fprintf(stderr, "call %u: a program ended: %s\n%s\n", (unsigned)at, memory->where, server_said(&server));
            result->crashes++;
            break;
        }
        if (!goes_on()) {
            result->others_hurt++;
        }
        if (!commits_go_on()) {
            fprintf(stderr, "call %u: nothing is kept any more: %s\n%s\n", (unsigned)at, memory->where,
                    server_said(&server));
            result->unserved++;
            break;
        }
        result->refused += server_metric(server.port, "tarn_store_failures_total") > failures;
    }
    stop();
    assert_int_equal(server_remove_store(store), 0);
}

/// A start with a tank that was kept: it comes back, or the server says why it can't and the next start has it.
static void run_restore(const starved_act *act, uint32_t stride, unsigned seed, starved_result *result)
{
    enum { RESTORE_CALLS_MAX = 600 }; // what follows is not of this
    (void)act;
    make_store();
    start(stored);
    for (int i = 0; i < 60; i++) {
        stream_client_see(&onlooker);
    }
    assert_true(commits_go_on());
    stop();
    uint32_t epoch = onlooker.frame.head.epoch;
    for (uint64_t at = 1 + (stride > 1 ? seed % stride : 0); at <= RESTORE_CALLS_MAX; at += stride) {
        memory = failing_memory_begin();
        failing_memory_arm(memory, FAILING_GATEWAY, FAILING_FIRST, at);
        atomic_store(&memory->is_armed, 0);
        atomic_store(&memory->arms_on_tank, 1);
        server_spawn(&server, (const char *[]){"--port", "0", "--threads", "1", "--scenes", TARN_TEST_SCENES, "--scene",
                                               "small-dam", "--store", store, NULL});
        failing_memory_leave();
        for (int i = 0; i < 400 && server_listens(&server) && server.port == 0; i++) {
        }
        const bool has_failed = failing_memory_disarm(memory), serves = server.port != 0;
        result->calls += has_failed;
        result->refused += has_failed && !serves;
        if (serves) {
            server_stop(&server);
        } else {
            const int status = server_wait(&server);
            if (status != 1 || strstr(server.err, "tarnd: ") == NULL) {
                fprintf(stderr, "call %u: it ended with %d: %s\n%s\n", (unsigned)at, status, memory->where, server.err);
                result->crashes++;
            }
        }
        failing_memory_end(memory);
        // The tank is there for the next one, as it was.
        server_start(&server, stored);
        memset(&onlooker, 0, sizeof onlooker);
        stream_client_enter(&onlooker, server.port);
        stream_client_see(&onlooker);
        if (onlooker.frame.head.step < 60 || strstr(server_said(&server), "damaged") != NULL ||
            strstr(server.err, "aside") != NULL || onlooker.frame.head.epoch - epoch > 2) {
            fprintf(stderr, "call %u: the tank is not what it was (step %u): %s\n%s\n", (unsigned)at,
                    (unsigned)onlooker.frame.head.step, memory->where, server.err);
            result->unserved++;
        }
        epoch = onlooker.frame.head.epoch;
        stream_client_close(&onlooker);
        server_stop(&server);
        if (!has_failed || result->unserved > 0 || result->crashes > 0) {
            break;
        }
    }
    assert_int_equal(server_remove_store(store), 0);
}

const starved_act starved_acts[] = {
    {"join", "gateway: a viewer joins", run_join, 1, 1},
    {"tls", "gateway: a viewer joins by TLS", run_tls, 1, 7},
    {"pages", "gateway: pages are asked for", run_pages, 1, 9},
    {"make", "gateway: a tank is made and seen", run_session, 1, 9},
    {"tank", "worker: a tank is made and seen", run_tank, 1, 9},
    {"steps", "worker: 150 steps, frames, 2 states", run_steps, 1, 1},
    {"commit", "store: states and logs are put", run_commit, 5, 97},
    {"restore", "start: a tank is brought back", run_restore, 3, 97},
};

const uint32_t starved_act_count = sizeof starved_acts / sizeof starved_acts[0];

void starved_run(const starved_act *act, uint32_t stride, unsigned seed, starved_result *result)
{
    *result = (starved_result){0};
    signal(SIGALRM, give_up);
    ws_connect_by = connect_and_note;
    act->run(act, stride, seed, result);
    ws_connect_by = NULL;
    signal(SIGALRM, SIG_DFL);
}

bool starved_holds(const starved_result *result)
{
    return (result->calls > 0 || result->takes_none) && result->unserved == 0 && result->crashes == 0 &&
           result->others_hurt == 0 && result->pieces_left == 0;
}
