// Paused tanks are stepped one by one, so that each input belongs to the same step on both servers, whatever happens
// in between. Begin at lockstep_run.
#include "tests/faults/lockstep.h"
#include "server/base/clock.h"
#include "tests/server/server_process.h"
#include "tests/server/stream_client.h"
#include "tests/server/test_cmocka.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTIONS_MAX = 16,
    ANSWER_BYTES = 4096,
    PAUSE_US_MAX = 4000, ///< between two messages, drawn evenly
    WAIT_MS = 10000,
    STATE_MS = 2000,    ///< that a message may come after the frame
    STEPS_AFTER = 30,   ///< behind the last moment
    STEPS_BETWEEN = 70, ///< after which a state was kept: a tank that ends worker after worker before is set back
};

/// After which the next failure is not one of a row.
static const uint64_t service_ns = 2200000000;

typedef struct side {
    server_process server;
    stream_client clients[LOCKSTEP_TANKS];
} side;

static side hurt, whole;

static void open_side(side *to, const char *const *options)
{
    const char *list[OPTIONS_MAX] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-dam"};
    int n = 4;
    for (; options != NULL && *options != NULL; options++) {
        assert_true(n < OPTIONS_MAX - 1);
        list[n++] = *options;
    }
    server_start(&to->server, list);
    for (int t = 0; t < LOCKSTEP_TANKS; t++) {
        static char answer[ANSWER_BYTES];
        char name[64] = "";
        if (t > 0) {
            assert_int_equal(server_request(to->server.port, "POST", "/sessions", "Content-Type: application/json\r\n",
                                            t == 1 ? "{\"scene\":\"small-dam\"}" : "{\"scene\":\"small-pool\"}", answer,
                                            sizeof answer),
                             201);
            assert_int_equal(sscanf(strstr(answer, "\"session\":\""), "\"session\":\"%63[^\"]\"", name), 1);
        }
        stream_client *client = &to->clients[t];
        memset(client, 0, sizeof *client);
        assert_int_equal(ws_client_open(&client->ws, to->server.port, "/ws", "tarn.v1", NULL), 101);
        assert_int_equal(ws_client_hello(&client->ws), 0);
        assert_int_equal(ws_client_join(&client->ws, name), 0);
        stream_client_see(client);
        ws_client_control(&client->ws, TARN_CONTROL_PAUSE, NULL);
        while ((client->frame.head.flags & TARN_FRAME_FLAG_PAUSED) == 0) {
            stream_client_see(client);
        }
        const uint32_t epoch = client->frame.head.epoch;
        ws_client_control(&client->ws, TARN_CONTROL_RESET, NULL);
        while (client->frame.head.epoch == epoch) {
            stream_client_see(client);
        }
        assert_int_equal(client->frame.head.step, 0);
    }
}

static void close_side(side *of)
{
    for (int t = 0; t < LOCKSTEP_TANKS; t++) {
        stream_client_close(&of->clients[t]);
    }
    server_stop(&of->server);
}

static void point(ws_client *client, uint32_t pointer, tarn_tool tool, tarn_phase phase, float x, float z)
{
    const float radius_m = tool == TARN_TOOL_PUSH ? 0.3f : 0.12f;
    (void)ws_client_point(client, pointer, tool, phase, (const float[]){x, z},
                          radius_m); // whether it went away is seen in the end
}

/// What is done in a step of a tank: drawn from the step alone, so that both servers get the same.
static void act(ws_client *client, int tank, int step)
{
    unsigned seed = (unsigned)(step * LOCKSTEP_TANKS + tank);
    const float x = 0.2f + 0.6f * (float)rand_r(&seed) / (float)RAND_MAX, z = 0.1f + 0.3f * (float)(step % 7) / 7;
    const int turn = step % 40;
    if (turn == 1 || turn == 21) {
        ws_client_parameter(client, "gravity_m_s2", (float)(3 + rand_r(&seed) % 9));
    }
    if (turn == 5 || turn == 9) {
        point(client, 1, TARN_TOOL_THROW, turn == 5 ? TARN_PHASE_DOWN : TARN_PHASE_UP, x, z);
    } else if (turn == 12 || turn == 13) {
        point(client, 2, TARN_TOOL_WALL, turn == 12 ? TARN_PHASE_DOWN : TARN_PHASE_UP, x, z);
    } else if (turn == 30 || turn == 31) {
        point(client, 3, TARN_TOOL_ERASE, turn == 30 ? TARN_PHASE_DOWN : TARN_PHASE_UP, x, z);
    }
    const tarn_phase phase = turn == 3 ? TARN_PHASE_DOWN : turn == 37 ? TARN_PHASE_UP : TARN_PHASE_MOVE;
    if (turn >= 3 && turn <= 37) {
        point(client, 0, TARN_TOOL_PUSH, phase, x, z);
    }
}

/// Waits until a tank has made a step. @return whether it did, and the viewer is still there
static bool see_step(stream_client *client, int step)
{
    while (client->ws.close_code == 0 && client->frame.head.step < (uint64_t)step) {
        if (!stream_client_next(client, WAIT_MS)) {
            return false;
        }
    }
    return client->ws.close_code == 0;
}

/// Viewers go on to listen: whoever is silent for too long is closed.
static void listen_for(unsigned ms)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + ms * (uint64_t)1000000;
    while (tarn_clock_monotonic_ns() < until_ns) {
        for (int t = 0; t < LOCKSTEP_TANKS; t++) {
            (void)stream_client_next(&whole.clients[t], 1);
            (void)stream_client_next(&hurt.clients[t], 1);
        }
    }
}

static uint64_t strike(const server_fault *fault, int moment, unsigned *seed)
{
    return fault->strike(fault, &(strike_moment){&hurt.server, moment, seed, listen_for});
}

/// One step of all tanks on both servers. @param at  message before which the fault comes; -1: none
/// @return when it came; 0: it didn't
static uint64_t make_step(int step, const server_fault *fault, int moment, int at, unsigned *seed)
{
    uint64_t struck_ns = 0;
    int messages = 0;
    for (int t = 0; t < LOCKSTEP_TANKS; t++) {
        act(&whole.clients[t].ws, t, step);
        ws_client_control(&whole.clients[t].ws, TARN_CONTROL_STEP, NULL);
        for (int part = 0; part < 2; part++, messages++) {
            if (messages == at) {
                usleep((useconds_t)(rand_r(seed) % PAUSE_US_MAX));
                struck_ns = strike(fault, moment, seed);
            }
            if (part == 0) {
                act(&hurt.clients[t].ws, t, step);
            } else {
                ws_client_control(&hurt.clients[t].ws, TARN_CONTROL_STEP, NULL);
            }
        }
    }
    if (at >= messages) { // while the steps are made
        usleep((useconds_t)(rand_r(seed) % (8 * PAUSE_US_MAX)));
        struck_ns = strike(fault, moment, seed);
    }
    return struck_ns;
}

/// What two viewers see of a tank that should be the same. @return NULL: nothing; else what differs
static const char *difference(const stream_client *a, const stream_client *b)
{
    const tarn_stream_head *x = &a->frame.head, *y = &b->frame.head;
    if (x->step != y->step) {
        return "the step";
    }
    if (a->particles.count != b->particles.count) {
        return "the number of particles";
    }
    if (memcmp(a->particles.positions, b->particles.positions, 8 * (size_t)a->particles.count) != 0) {
        return "positions";
    }
    if (memcmp(a->particles.velocities, b->particles.velocities, 4 * (size_t)a->particles.count) != 0) {
        return "velocities";
    }
    if (x->body_count != y->body_count || memcmp(x->bodies, y->bodies, x->body_count * sizeof *x->bodies) != 0) {
        return "bodies";
    }
    return NULL;
}

/// The same of what messages say.
static const char *state_difference(const stream_client *a, const stream_client *b)
{
    const tarn_session_state *p = &a->ws.state, *q = &b->ws.state;
    if (p->added_count != q->added_count) {
        return "walls and thrown bodies";
    }
    const bool are_same = p->parameter_count == q->parameter_count &&
                          memcmp(p->parameters, q->parameters, p->parameter_count * sizeof *p->parameters) == 0;
    return are_same ? NULL : "parameters";
}

/// A key frame of the newest step, in which nothing is left out: acknowledgements ask for it. @return whether it came
static bool see_key(stream_client *client, uint64_t step)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + WAIT_MS * (uint64_t)1000000;
    while (client->frame.head.kind != TARN_STREAM_KEY || client->frame.head.step < step) {
        if (client->ws.close_code != 0 || tarn_clock_monotonic_ns() > until_ns ||
            !stream_client_next(client, WAIT_MS)) {
            return false;
        }
    }
    return true;
}

/// A message about a step may follow its frame. @return NULL: in the end both say the same; else what differs
static const char *settled_difference(stream_client *a, stream_client *b)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + STATE_MS * (uint64_t)1000000;
    const char *differs;
    while ((differs = state_difference(a, b)) != NULL && tarn_clock_monotonic_ns() < until_ns) {
        (void)stream_client_next(a, 1);
        (void)stream_client_next(b, 1);
    }
    return differs;
}

/// Compares the tanks, whole as they are seen now.
static uint32_t compare_tanks(int steps)
{
    uint32_t differing = 0;
    for (int t = 0; t < LOCKSTEP_TANKS; t++) {
        stream_client *a = &hurt.clients[t], *b = &whole.clients[t];
        a->wants_key = b->wants_key = true;
        const char *differs = !see_key(b, (uint64_t)steps)   ? "the undisturbed one shows no key frame"
                              : !see_key(a, (uint64_t)steps) ? "there is no key frame"
                                                             : difference(a, b);
        differs = differs != NULL ? differs : settled_difference(a, b);
        if (differs != NULL) {
            fprintf(stderr, "tank %d differs: %s (steps %llu and %llu of %d)\n", t, differs,
                    (unsigned long long)a->frame.head.step, (unsigned long long)b->frame.head.step, steps);
        }
        differing += differs != NULL;
        a->wants_key = b->wants_key = false;
    }
    return differing;
}

static void count_all(int steps, lockstep_result *result)
{
    const double lost = server_metric(hurt.server.port, "tarn_worker_failures_total{worker=\"0\"}");
    assert_true(lost >= 0);
    result->workers_lost = (uint32_t)lost;
    for (int t = 0; t < LOCKSTEP_TANKS; t++) {
        const stream_client *a = &hurt.clients[t];
        result->inputs_lost += a->frame.head.step != (uint64_t)steps;
        result->viewers_gone += a->ws.close_code != 0;
        result->inputs += a->ws.sequence;
    }
}

void lockstep_run(const server_fault *fault, int moments, unsigned seed, lockstep_result *result)
{
    *result = (lockstep_result){.back_s = calloc((size_t)moments, sizeof *result->back_s)};
    assert_non_null(result->back_s);
    open_side(&whole, fault->options);
    if (fault->begin != NULL) {
        fault->begin();
    }
    open_side(&hurt, fault->options);
    int step = 0, struck_step = 0, steps_left = STEPS_AFTER;
    bool goes_on = true;
    uint64_t served_ns = 0;
    while (goes_on && steps_left > 0) {
        const bool strikes = result->moments < moments && step - struck_step >= STEPS_BETWEEN &&
                             tarn_clock_monotonic_ns() - served_ns > service_ns;
        const int at = strikes ? rand_r(&seed) % (2 * LOCKSTEP_TANKS + 2) : -1;
        const uint64_t struck_ns = make_step(++step, fault, result->moments, at, &seed);
        for (int t = 0; t < LOCKSTEP_TANKS; t++) {
            goes_on = see_step(&hurt.clients[t], step) && see_step(&whole.clients[t], step) && goes_on;
        }
        if (struck_ns != 0) {
            served_ns = tarn_clock_monotonic_ns();
            struck_step = step;
            result->back_s[result->moments++] = 1e-9 * (double)(served_ns - struck_ns);
            result->tanks_differ = compare_tanks(step);
            if (result->tanks_differ > 0) {
                fprintf(stderr, "after moment %d, in step %d, before message %d; the server said:\n%s\n",
                        result->moments, step, at, server_said(&hurt.server));
                goes_on = false;
            }
        }
        steps_left -= result->moments == moments;
    }
    if (result->tanks_differ == 0) {
        (void)make_step(++step, fault, result->moments, -1, &seed);
        result->tanks_differ = compare_tanks(step);
    }
    count_all(step, result);
    close_side(&hurt);
    if (fault->end != NULL) {
        fault->end();
    }
    close_side(&whole);
}

void lockstep_free(lockstep_result *result)
{
    free(result->back_s);
    result->back_s = NULL;
}
