// Begin at outage_run.
#include "tests/faults/outage.h"
#include "server/base/clock.h"
#include "server/log/session_file.h"
#include "tests/server/server_process.h"
#include "tests/server/stream_client.h"
#include "tests/server/test_cmocka.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ANSWER_BYTES = 4096,
    PLAY_MS_MIN = 200, // between two outages, drawn evenly; a state is kept every 2 s
    PLAY_MS_MAX = 3000,
    KILL_MS_MIN = 300, // between two ends of workers
    KILL_MS_MAX = 1500,
    KILLS_SHORT_BELOW = 20, // outages
    KILLS_SHORT = 12,
    BUSY_MAX = 256,
    BETWEEN_INPUTS_MS = 10,
    JOIN_MS = 120000, // a busy machine takes as long as it takes
    SEEN_MAX = 4096,
};

/// The newest frames that a viewer saw since it came.
typedef struct tank_seen {
    uint32_t epoch;
    unsigned count;
    struct {
        uint64_t step, made_us; // by the server's clock, which is this machine's
    } of[SEEN_MAX];
} tank_seen;

typedef struct tank_link {
    char session[64], key[64];
} tank_link;

static server_process server;
static tank_link links[OUTAGE_TANKS];
static stream_client clients[OUTAGE_TANKS];
static tank_seen seen[OUTAGE_TANKS];
static const char dir_pattern[] = "/tmp/tarn-outage-XXXXXX";
static char dir[sizeof dir_pattern] = "/tmp/tarn-outage-XXXXXX";

/// Where workers are killed they are to be at work then, and far from done with a replay when the next kill comes.
static const char *const small_scenes[OUTAGE_TANKS] = {"small-dam", "small-dam", "small-pool"},
                         *const large_scenes[OUTAGE_TANKS] = {"dam-break", "smoke-2d", "falling-block"};
static const char *const *scenes = small_scenes;

static void start(void)
{
    const char *const options[] = {"--scenes", scenes == small_scenes ? TARN_TEST_SCENES : TARN_TEST_SHIPPED_SCENES,
                                   "--scene",  scenes[0],
                                   "--guests", "watch",
                                   "--store",  dir,
                                   NULL};
    server_start(&server, options);
}

static void text_of(const char *text, const char *before, char *found, size_t found_bytes)
{
    const char *at = strstr(text, before);
    assert_non_null(at);
    at += strlen(before);
    snprintf(found, found_bytes, "%.*s", (int)strcspn(at, "\" \n"), at);
}

static void make_tanks(void)
{
    static char answer[ANSWER_BYTES];
    snprintf(links[0].session, sizeof links[0].session, "main");
    server_owners_key(dir, links[0].key, sizeof links[0].key);
    for (int t = 1; t < OUTAGE_TANKS; t++) {
        char body[64];
        snprintf(body, sizeof body, "{\"scene\":\"%s\"}", scenes[t]);
        assert_int_equal(server_request(server.port, "POST", "/sessions", "Content-Type: application/json\r\n", body,
                                        answer, sizeof answer),
                         201);
        text_of(answer, "\"session\":\"", links[t].session, sizeof links[t].session);
        text_of(answer, "\"own\":\"", links[t].key, sizeof links[t].key);
    }
}

static void note_seen(int tank)
{
    const tarn_stream_head *head = &clients[tank].frame.head;
    tank_seen *at = &seen[tank];
    at->epoch = head->epoch;
    at->of[at->count % SEEN_MAX].step = head->step;
    at->of[at->count % SEEN_MAX].made_us = head->server_time_us;
    at->count++;
}

/// When the first of the frames that were seen behind a step was made; 0: none was seen.
static uint64_t first_behind_us(const tank_seen *at, uint64_t step)
{
    uint64_t first_us = 0;
    for (unsigned i = 0; i < at->count && i < SEEN_MAX; i++) {
        const uint64_t made_us = at->of[i].made_us;
        first_us = at->of[i].step > step && (first_us == 0 || made_us < first_us) ? made_us : first_us;
    }
    return first_us;
}

/// @return whether the link still opens its tank to an owner, and a frame of it was seen
static bool come_in(int tank)
{
    stream_client *client = &clients[tank];
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    memset(client, 0, sizeof *client);
    if (ws_client_open(&client->ws, server.port, "/ws", "tarn.v1", NULL) != 101 || ws_client_hello(&client->ws) != 0) {
        return false;
    }
    snprintf(message.join.session, sizeof message.join.session, "%s", links[tank].session);
    snprintf(message.join.key, sizeof message.join.key, "%s", links[tank].key);
    if (ws_client_tell(&client->ws, &message) != 0 || !ws_client_wait(&client->ws, TARN_MESSAGE_JOINED, &message) ||
        message.joined.role != TARN_ROLE_OWN || !stream_client_next(client, JOIN_MS) || client->status != TARN_OK) {
        return false;
    }
    seen[tank].count = 0;
    note_seen(tank);
    return true;
}

/// Takes the frames that have come: without an outage a tank never goes back.
static void look_on(int tank, outage_result *result)
{
    stream_client *client = &clients[tank];
    for (;;) {
        const uint64_t step = client->frame.head.step;
        const uint32_t epoch = client->frame.head.epoch;
        if (!stream_client_next(client, 0)) {
            return;
        }
        const bool is_set_back = client->frame.head.step < step || client->frame.head.epoch != epoch;
        if (is_set_back) {
            fprintf(stderr, "a tank went from step %llu to %llu, epoch %u to %u; the server said:\n%s\n",
                    (unsigned long long)step, (unsigned long long)client->frame.head.step, epoch,
                    client->frame.head.epoch, server_said(&server));
        }
        result->set_backs += is_set_back;
        note_seen(tank);
    }
}

/// Looks at all tanks and pushes in them for a while.
static void play(int ms, unsigned *seed, outage_result *result)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + (uint64_t)ms * 1000000;
    bool is_down = false;
    while (tarn_clock_monotonic_ns() < until_ns) {
        for (int t = 0; t < OUTAGE_TANKS; t++) {
            const float x = 0.2f + 0.6f * (float)rand_r(seed) / (float)RAND_MAX;
            const float origin_m[3] = {x, 3, 0.3f}, down[3] = {0, -1, 0};
            ws_client_pointer(&clients[t].ws, is_down ? TARN_PHASE_MOVE : TARN_PHASE_DOWN, origin_m, down, 0.3f);
            look_on(t, result);
        }
        is_down = true;
        usleep(BETWEEN_INPUTS_MS * 1000);
    }
}

/// Ends a worker that is there, whatever it does just then.
static void kill_worker(unsigned *seed, outage_result *result)
{
    pid_t worker;
    while ((worker = server_worker(&server)) == 0) {
        play(BETWEEN_INPUTS_MS, seed, result);
    }
    (void)kill(worker, SIGKILL); // it may be no more by now
    result->worker_kills++;
}

/// Fewer in the short run, and still so many that what counts them would notice.
static int kills_of(const server_fault *plan, int moments)
{
    return moments >= KILLS_SHORT_BELOW || plan->worker_kills == 0 ? plan->worker_kills : KILLS_SHORT;
}

/// Waits until the server says that everything is kept that has happened so far.
static void wait_for_commits(unsigned *seed, outage_result *result)
{
    const uint64_t begun_ns = tarn_clock_monotonic_ns();
    for (uint64_t asked_ns = begun_ns;; asked_ns = tarn_clock_monotonic_ns()) {
        const double unkept_s = server_metric(server.port, "tarn_store_unkept_seconds");
        assert_true(unkept_s >= 0);
        if (asked_ns - begun_ns > (uint64_t)(1e9 * unkept_s) + 1) {
            return;
        }
        play(BETWEEN_INPUTS_MS, seed, result);
    }
}

static pid_t busy[BUSY_MAX];
static int busy_count;

/// Processes that take all the time they get, until this one ends.
static void begin_busy(int count)
{
    const pid_t parent = getpid();
    for (busy_count = 0; busy_count < count && busy_count < BUSY_MAX; busy_count++) {
        busy[busy_count] = fork();
        assert_true(busy[busy_count] >= 0);
        if (busy[busy_count] == 0) {
            while (getppid() == parent) {
            }
            _exit(0);
        }
    }
}

static void end_busy(void)
{
    while (busy_count > 0) {
        busy_count--;
        (void)kill(busy[busy_count], SIGKILL);
        (void)waitpid(busy[busy_count], NULL, 0);
    }
}

static unsigned count_damaged(void)
{
    unsigned count = 0;
    DIR *opened = opendir(dir);
    assert_non_null(opened);
    for (const struct dirent *entry; (entry = readdir(opened)) != NULL;) {
        count += strstr(entry->d_name, ".damaged") != NULL;
    }
    closedir(opened);
    return count + (strstr(server_said(&server), "damaged") != NULL);
}

static void remove_dir(void)
{
    char path[512];
    DIR *opened = opendir(dir);
    for (const struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        unlink(path);
    }
    closedir(opened);
    rmdir(dir);
}

/// The step that a tank's file leads to, while no server has it: what the tank shows first may be some steps further.
static uint64_t kept_step(int tank)
{
    static tarn_session_rest rest; // large
    char path[256];
    tarn_session_file *file;
    tarn_text why = "";
    snprintf(path, sizeof path, "%s/%s.tank", dir, links[tank].session);
    if (tarn_session_file_open_to_read(path, &file, why) != TARN_OK ||
        tarn_session_file_rest(file, &rest, why) != TARN_OK) {
        fail_msg("%s", why);
    }
    const uint64_t step = rest.state.step + tarn_box_log_steps(rest.log.bytes, rest.log.count);
    tarn_session_rest_free(&rest);
    tarn_session_file_close(file);
    return step;
}

/// Looks what is gone of a tank that is back.
/// @param kept     the step that its file led to
/// @param kept_us  until when the server had said that everything is kept
static void compare(int tank, const tank_seen *before, uint64_t kept, uint64_t kept_us, uint64_t struck_us,
                    outage_result *result)
{
    const tarn_stream_head *head = &clients[tank].frame.head;
    // One that starts afresh has the time of day; that it came back is of what happened in it, and may be gone itself.
    const bool was_back_unkept =
        head->epoch == before->epoch && before->count <= SEEN_MAX && before->of[0].made_us >= kept_us;
    result->tanks_afresh += head->epoch != before->epoch + 1 && !was_back_unkept;
    result->set_backs += head->step < kept;
    const uint64_t lost_us = first_behind_us(before, kept);
    if (lost_us == 0) {
        return;
    }
    const double lost_ms = 1e-3 * ((double)struck_us - (double)lost_us);
    result->lost_ms = lost_ms > result->lost_ms ? lost_ms : result->lost_ms;
    if (lost_us < kept_us) {
        fprintf(stderr, "the server had said that all is kept but for %.0f ms, and %.0f ms are gone; it said:\n%s\n",
                1e-3 * (double)(struck_us - kept_us), lost_ms, server_said(&server));
        result->lost_unsaid++;
    }
}

/// One outage. @return how long it was
static double be_gone(outage_result *result)
{
    static tank_seen before[OUTAGE_TANKS]; // large
    const uint64_t asked_us = tarn_clock_unix_us();
    const double unkept_s = server_metric(server.port, "tarn_store_unkept_seconds");
    assert_true(unkept_s >= 0);
    const uint64_t kept_us = asked_us - (uint64_t)(1e6 * unkept_s) - 1; // rounded down
    for (int t = 0; t < OUTAGE_TANKS; t++) {
        look_on(t, result);
        result->inputs += clients[t].ws.sequence;
    }
    memcpy(before, seen, sizeof before);
    const uint64_t struck_us = tarn_clock_unix_us();
    assert_int_equal(kill(server.pid, SIGKILL), 0);
    const uint64_t struck_ns = tarn_clock_monotonic_ns();
    const double said_ms = 1e-3 * (double)(struck_us - kept_us);
    result->said_ms = said_ms > result->said_ms ? said_ms : result->said_ms;
    assert_int_equal(server_wait(&server), 128 + SIGKILL);
    uint64_t kept[OUTAGE_TANKS];
    for (int t = 0; t < OUTAGE_TANKS; t++) {
        stream_client_close(&clients[t]);
        kept[t] = kept_step(t);
    }
    start();
    for (int t = 0; t < OUTAGE_TANKS; t++) {
        const bool is_back = come_in(t);
        result->viewers_gone += !is_back;
        if (!is_back) {
            continue;
        }
        compare(t, &before[t], kept[t], kept_us, struck_us, result);
    }
    result->files_damaged += count_damaged();
    return 1e-9 * (double)(tarn_clock_monotonic_ns() - struck_ns);
}

void outage_run(const server_fault *plan, int moments, unsigned seed, outage_result *result)
{
    *result = (outage_result){.back_s = calloc((size_t)moments, sizeof *result->back_s)};
    assert_non_null(result->back_s);
    assert_non_null(mkdtemp(dir));
    scenes = plan->worker_kills > 0 ? large_scenes : small_scenes;
    if (plan->begin != NULL) {
        plan->begin();
    }
    start();
    make_tanks();
    for (int t = 0; t < OUTAGE_TANKS; t++) {
        assert_true(come_in(t));
    }
    wait_for_commits(&seed, result); // that there are these tanks, too
    begin_busy(plan->busy * (int)sysconf(_SC_NPROCESSORS_ONLN));
    // In one row: a server that is started again knows nothing of what workers died of.
    while (result->worker_kills < kills_of(plan, moments)) {
        play(KILL_MS_MIN + rand_r(&seed) % (KILL_MS_MAX - KILL_MS_MIN), &seed, result);
        kill_worker(&seed, result);
    }
    while (result->moments < moments && result->viewers_gone == 0) {
        play(PLAY_MS_MIN + rand_r(&seed) % (PLAY_MS_MAX - PLAY_MS_MIN), &seed, result);
        result->back_s[result->moments++] = be_gone(result);
    }
    end_busy();
    for (int t = 0; t < OUTAGE_TANKS; t++) {
        stream_client_close(&clients[t]);
    }
    server_stop(&server);
    if (plan->end != NULL) {
        plan->end();
    }
    remove_dir();
    snprintf(dir, sizeof dir, "%s", dir_pattern);
}

void outage_free(outage_result *result)
{
    free(result->back_s);
    result->back_s = NULL;
}
