// Probes in a live tank, as people place them: what they measure, who sees and may move them, where they may be, and
// what stays of them when the worker, the tank or the server is another one.
#include "server/base/clock.h"
#include "server/worker/limits.h"
#include "tests/sanitized.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS_MAX = 4096, TEST_S_MAX = TEST_IS_SANITIZED ? 240 : 60 };

static server_process server;
static char store[64];
static tarn_key own_key;

static const char *const arguments[] = {
    "--scenes", TARN_TEST_PROBE_SCENES, "--scene", "pool", "--guests", "play", "--store", store, NULL};

/// Somebody who watches, and keeps what it is told of probes.
typedef struct watcher {
    ws_client ws;
    tarn_probe_list list; ///< the newest
    uint32_t lists;       ///< that came
    uint32_t epoch;
    uint32_t row_count; ///< of the newest list and epoch
    uint32_t columns;
    uint32_t messages; ///< of readings, altogether
    uint64_t steps[ROWS_MAX];
    float rows[ROWS_MAX][TARN_PROBE_VALUES_MAX * TARN_LIVE_PROBES_MAX];
    float dt_s;
    uint64_t shown_step; ///< of the newest frame
    uint32_t shown_epoch;
    tarn_error error; ///< the newest; its code 0: none
} watcher;

static watcher ada, bob, eve[4];
static uint64_t until_ns; ///< when what a test waits for has come

static void take_readings(watcher *w, const tarn_readings *readings)
{
    w->messages++;
    assert_int_equal(readings->list, w->list.list); // it came before
    assert_int_equal(readings->byte_count, readings->row_count * w->columns * sizeof(float));
    if (readings->epoch != w->epoch) {
        w->row_count = 0;
    }
    w->epoch = readings->epoch;
    w->dt_s = readings->dt_s;
    for (uint32_t i = 0; i < readings->row_count && w->row_count < ROWS_MAX; i++) {
        w->steps[w->row_count] = readings->step + i;
        memcpy(w->rows[w->row_count++], readings->values + i * w->columns * sizeof(float), w->columns * sizeof(float));
    }
}

static void take_list(watcher *w, const tarn_probe_list *list)
{
    w->list = *list;
    w->lists++;
    w->row_count = w->columns = 0;
    for (uint32_t i = 0; i < list->probe_count; i++) {
        w->columns += list->probes[i].column_count;
    }
}

/// Takes the next message, whatever it is.
static void look(watcher *w)
{
    ws_message raw;
    ws_frame frame;
    static tarn_message message;
    assert_true(tarn_clock_monotonic_ns() < until_ns);
    assert_int_equal(ws_client_next(&w->ws, &raw, WS_CLIENT_WAIT_MS), 1);
    if (raw.opcode != WS_BINARY) {
        return;
    }
    if (ws_frame_open(raw.bytes, raw.byte_count, &frame) == TARN_OK) {
        const tarn_message ack = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame.epoch, .step = frame.step}};
        ws_client_tell(&w->ws, &ack);
        w->shown_step = frame.step;
        w->shown_epoch = frame.epoch;
        return;
    }
    assert_int_equal(tarn_message_read(raw.bytes, raw.byte_count, &message, NULL), TARN_OK);
    if (message.kind == TARN_MESSAGE_PROBES) {
        take_list(w, &message.probes);
    } else if (message.kind == TARN_MESSAGE_READINGS) {
        take_readings(w, &message.readings);
    } else if (message.kind == TARN_MESSAGE_ERROR && message.error.code != TARN_ERROR_WORKER) {
        w->error = message.error; // else: how a tank that begins anew often is kept
    } else if (message.kind == TARN_MESSAGE_STATE) {
        w->ws.state = message.state;
    }
}

static void enter_by(watcher *w, const char *key, bool wants_readings)
{
    tarn_message message;
    memset(w, 0, sizeof *w);
    assert_int_equal(ws_client_open(&w->ws, server.port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(&w->ws);
    ws_client_join_by(&w->ws, "", key);
    assert_true(ws_client_wait(&w->ws, TARN_MESSAGE_JOINED, &message));
    w->ws.viewer_id = message.joined.viewer_id;
    message = (tarn_message){.kind = TARN_MESSAGE_VIEW, .view = {.probes = wants_readings}};
    ws_client_tell(&w->ws, &message);
}

static void enter(watcher *w)
{
    enter_by(w, "", true);
}

static void leave(watcher *w)
{
    ws_client_close(&w->ws);
}

static void wish(watcher *w, const tarn_probe_wish *probe)
{
    const tarn_message message = {.kind = TARN_MESSAGE_PROBE, .probe = *probe};
    assert_int_equal(ws_client_tell(&w->ws, &message), 0);
}

static void place(watcher *w, tarn_probe_shows shows, float x, float y, float z)
{
    wish(w, &(tarn_probe_wish){.action = TARN_PROBE_ACT_PLACE,
                               .shows = shows,
                               .at_m = {x, y, z},
                               .to_m = {x, shows == TARN_SHOWS_GAUGE ? 1.0f : y, z}});
}

static void move(watcher *w, uint32_t id, float x, float y, float z)
{
    wish(w, &(tarn_probe_wish){.action = TARN_PROBE_ACT_MOVE, .id = id, .at_m = {x, y, z}, .to_m = {x, 1, z}});
}

static void take_away(watcher *w, uint32_t id)
{
    wish(w, &(tarn_probe_wish){.action = TARN_PROBE_ACT_REMOVE, .id = id});
}

static void wait_count(watcher *w, uint32_t count)
{
    for (int i = 0; i < 4000 && w->list.probe_count != count; i++) {
        look(w);
    }
    assert_int_equal(w->list.probe_count, count);
}

/// Waits until the newest list has rows. @return those, the newest
static const float *wait_rows(watcher *w, uint32_t count)
{
    const uint32_t lists = w->lists;
    for (int i = 0; i < 20000 && w->row_count < count; i++) {
        look(w);
        assert_true(w->lists <= lists + 16);
    }
    assert_true(w->row_count >= count);
    return w->rows[w->row_count - 1];
}

static void expect_refusal(watcher *w, tarn_error_code code, const char *says)
{
    for (int i = 0; i < 4000 && w->error.code == 0; i++) {
        look(w);
    }
    if (w->error.code != code || strstr(w->error.text, says) == NULL) {
        fail_msg("expected error %d \"%s\", got %u \"%s\"", code, says, w->error.code, w->error.text);
    }
    w->error.code = 0;
}

/// @return NULL: the list has none of this number
static const tarn_probe_info *info_of(const watcher *w, uint32_t id)
{
    for (uint32_t i = 0; i < w->list.probe_count; i++) {
        if (w->list.probes[i].id == id) {
            return &w->list.probes[i];
        }
    }
    return NULL;
}

static uint32_t newest(const watcher *w)
{
    uint32_t id = 0;
    for (uint32_t i = 0; i < w->list.probe_count; i++) {
        id = w->list.probes[i].id > id ? w->list.probes[i].id : id;
    }
    return id;
}

/// Where in a row a probe's column is.
static uint32_t column_of(const watcher *w, uint32_t id, const char *name)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < w->list.probe_count; i++) {
        for (uint32_t k = 0; k < w->list.probes[i].column_count; k++, at++) {
            if (w->list.probes[i].id == id && strcmp(w->list.probes[i].columns[k], name) == 0) {
                return at;
            }
        }
    }
    fail_msg("probe %u has no column %s", id, name);
    return 0;
}

static int start(void **state)
{
    (void)state;
    snprintf(store, sizeof store, "/tmp/tarn-probes-XXXXXX");
    assert_non_null(mkdtemp(store));
    server_start(&server, arguments);
    server_owners_key(store, own_key, sizeof own_key);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_stop(&server);
    return server_remove_store(store);
}

/// Loads a scene, however soon after another one, and waits for its first state.
static void load(watcher *w, const char *scene)
{
    const uint32_t epoch = w->shown_epoch;
    do {
        w->error.code = 0;
        ws_client_control(&w->ws, TARN_CONTROL_LOAD, scene);
        for (int i = 0;
             i < 4000 && w->error.code == 0 && (w->shown_epoch == epoch || strcmp(w->ws.state.scene, scene) != 0);
             i++) {
            look(w);
        }
        usleep(w->error.code != 0 ? 200000 : 0);
    } while (w->error.code != 0);
}

/// Every test begins with a new pool, its scene's two probes, and an owner.
static int begin(void **state)
{
    (void)state;
    until_ns = tarn_clock_monotonic_ns() + TEST_S_MAX * (uint64_t)1000000000;
    enter_by(&ada, own_key, true);
    while (ada.shown_epoch == 0) {
        look(&ada);
    }
    const uint32_t before = newest(&ada);
    load(&ada, "pool");
    for (int i = 0; i < 4000 && (ada.list.probe_count < 2 || ada.list.probes[0].id <= before); i++) {
        look(&ada);
    }
    while (ada.list.probe_count > 2) { // of the test before
        const uint32_t count = ada.list.probe_count;
        take_away(&ada, ada.list.probes[2].id);
        wait_count(&ada, count - 1);
    }
    wait_rows(&ada, 2);
    ada.error.code = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    leave(&ada);
    return 0;
}

// ------------------------------------------------------------------------------------------------------------- figures

/// V1: in a pool half a metre deep, within a tenth of a cell's weight of water.
static void test_pressure_is_that_of_the_water_above(void **state)
{
    (void)state;
    const double weight_pa_m = 1000.0 * 9.81, cell_m = 0.0625;
    place(&ada, TARN_SHOWS_POINT, 0.5f, 0.25f, 0.5f);
    wait_count(&ada, 3);
    const uint32_t floor = column_of(&ada, ada.list.probes[0].id, "pressure_pa");
    const uint32_t rod = column_of(&ada, ada.list.probes[1].id, "depth_m");
    const uint32_t middle = column_of(&ada, newest(&ada), "pressure_pa");
    const uint32_t share = column_of(&ada, newest(&ada), "share");
    wait_rows(&ada, 1);
    while (ada.steps[ada.row_count - 1] < 150 || ada.row_count < 30) { // the lattice has settled
        wait_rows(&ada, ada.row_count + 1);
    }
    for (uint32_t i = ada.row_count - 30; i < ada.row_count; i++) {
        const float *row = ada.rows[i];
        assert_true(fabs((double)row[floor] - weight_pa_m * 0.5) < 0.1 * cell_m * weight_pa_m);
        assert_true(fabs((double)row[middle] - weight_pa_m * 0.25) < 0.1 * cell_m * weight_pa_m);
        assert_true(fabs((double)row[rod] - 0.5) < 0.25 * cell_m);
        assert_true(row[share] > 0.7f);
    }
}

static void place_force(watcher *w, uint32_t solid)
{
    wish(w, &(tarn_probe_wish){.action = TARN_PROBE_ACT_PLACE, .shows = TARN_SHOWS_FORCE, .solid = solid});
}

/// A wall bears the water beside it; what floats is borne by what it weighs, 172 N, whoever asks for it.
static void test_forces_are_those_of_the_water(void **state)
{
    (void)state;
    const double weight_n = 500.0 * 9.81 * 0.375 * 0.25 * 0.375, wall_n = 0.5 * 1000.0 * 9.81 * 0.5 * 0.5;
    place_force(&ada, 0);
    expect_refusal(&ada, TARN_ERROR_INPUT, "probe: the solid is 0; the tank has 0, counted from 0");
    load(&ada, "float");
    wait_count(&ada, 1);
    place_force(&ada, 0);
    wait_count(&ada, 2);
    wish(&ada,
         &(tarn_probe_wish){.action = TARN_PROBE_ACT_PLACE, .shows = TARN_SHOWS_WALL, .to_m = {0.0f, 1.0f, 1.0f}});
    wait_count(&ada, 3);
    place_force(&ada, 2);
    expect_refusal(&ada, TARN_ERROR_INPUT, "probe: the solid is 2; the tank has 2");
    const uint32_t lift = column_of(&ada, ada.list.probes[0].id, "force_y_n");
    const uint32_t again = column_of(&ada, ada.list.probes[1].id, "force_y_n");
    const uint32_t side = column_of(&ada, ada.list.probes[2].id, "force_x_n");
    while (ada.row_count < 60 || ada.steps[ada.row_count - 1] < 240) { // it bobs
        wait_rows(&ada, ada.row_count + 1);
    }
    double mean[2] = {0.0, 0.0};
    for (uint32_t i = ada.row_count - 60; i < ada.row_count; i++) {
        mean[0] += (double)ada.rows[i][lift] / 60.0;
        mean[1] += (double)ada.rows[i][side] / 60.0;
        assert_float_equal(ada.rows[i][lift], ada.rows[i][again], 0.0f);
    }
    assert_true(fabs(mean[0] - weight_n) < 0.05 * weight_n);
    assert_true(-mean[1] > wall_n && -mean[1] < 1.2 * wall_n); // the box raises the water by 2 cm
}

static double arrival_s(const watcher *w, uint32_t column)
{
    for (uint32_t i = 0; i < w->row_count; i++) {
        if (w->rows[i][column] > 0.02f) {
            return (double)w->steps[i] * (double)w->dt_s;
        }
    }
    return INFINITY;
}

/// V5: the dam of Zhou et al. reaches its two gauges after 0.4 and 0.5 s.
static void test_a_dam_comes_to_its_gauges_in_time(void **state)
{
    (void)state;
    load(&ada, "dam");
    wait_count(&ada, 0);
    ws_client_control(&ada.ws, TARN_CONTROL_PAUSE, NULL);
    ws_client_control(&ada.ws, TARN_CONTROL_RESET, NULL);
    place(&ada, TARN_SHOWS_GAUGE, 2.228f, 0.0f, 0.1f);
    place(&ada, TARN_SHOWS_GAUGE, 2.725f, 0.0f, 0.1f);
    wait_count(&ada, 2);
    wait_rows(&ada, 1); // the paused tank's
    while (ada.steps[ada.row_count - 1] != 0) {
        wait_rows(&ada, ada.row_count + 1);
    }
    ws_client_control(&ada.ws, TARN_CONTROL_RESUME, NULL);
    while (ada.steps[ada.row_count - 1] < 39) {
        wait_rows(&ada, ada.row_count + 1);
    }
    assert_true(fabs(arrival_s(&ada, 0) - 0.40) < 0.05);
    assert_true(fabs(arrival_s(&ada, 2) - 0.50) < 0.05);
    for (uint32_t i = 1; i < ada.row_count; i++) { // and no step is missing
        assert_int_equal(ada.steps[i], ada.steps[i - 1] + 1);
    }
}

/// What the tank is after some single steps from its beginning on, as frames have it.
static uint64_t hash_of_steps(watcher *w)
{
    ws_frame frame;
    const uint32_t epoch = w->shown_epoch;
    ws_client_control(&w->ws, TARN_CONTROL_RESET, NULL);
    for (int i = 0; i < 12; i++) {
        ws_client_control(&w->ws, TARN_CONTROL_STEP, NULL);
    }
    do {
        assert_true(ws_client_wait_frame(&w->ws, &frame));
    } while (frame.epoch == epoch || frame.step != 12 || frame.kind != TARN_STREAM_KEY); // which has no residuals
    w->shown_epoch = frame.epoch;
    const tarn_stream_particles *seen = &w->ws.decoder.particles;
    assert_int_equal(w->ws.decoder.status, TARN_OK);
    uint64_t sum = seen->count; // of an unordered set
    for (uint32_t i = 0; i < seen->count; i++) {
        uint64_t place;
        memcpy(&place, &seen->positions[4 * (size_t)i], sizeof place);
        place *= 0x9e3779b97f4a7c15u;
        sum += place ^ place >> 29;
    }
    return sum;
}

static void test_who_measures_changes_nothing(void **state)
{
    (void)state;
    ws_client_control(&ada.ws, TARN_CONTROL_PAUSE, NULL);
    const uint64_t with_two = hash_of_steps(&ada);
    for (uint32_t i = 2; i < TARN_LIVE_PROBES_MAX; i++) {
        place(&ada, i % 2 == 0 ? TARN_SHOWS_POINT : TARN_SHOWS_GAUGE, 0.05f * (float)i, 0.1f, 0.5f);
    }
    wait_count(&ada, TARN_LIVE_PROBES_MAX);
    sleep(2); // fresh starts take turns
    assert_true(hash_of_steps(&ada) == with_two);
}

// -------------------------------------------------------------------------------------------------------------- people

static void test_two_people_measure_in_one_tank(void **state)
{
    (void)state;
    enter(&bob);
    wait_count(&bob, 2); // the scene's, as soon as somebody comes
    place(&ada, TARN_SHOWS_VELOCITY, 0.5f, 0.25f, 0.5f);
    wait_count(&ada, 3);
    wait_count(&bob, 3);
    wish(&bob, &(tarn_probe_wish){.action = TARN_PROBE_ACT_PLACE,
                                  .shows = TARN_SHOWS_FLUX,
                                  .at_m = {0.5f, 0.0f, 0.0f},
                                  .to_m = {0.5f, 0.5f, 1.0f},
                                  .label = "weir"});
    wait_count(&ada, 4);
    wait_count(&bob, 4);
    const tarn_probe_info *weir = info_of(&ada, newest(&ada));
    assert_int_equal(weir->viewer_id, bob.ws.viewer_id);
    assert_int_equal(ada.list.probes[2].viewer_id, ada.ws.viewer_id);
    assert_true(ada.list.probes[0].scene && !weir->scene);
    assert_string_equal(weir->label, "weir");
    assert_string_equal(ada.list.probes[0].label, "floor");
    const uint32_t a = column_of(&ada, newest(&ada), "flux_m3_s"), b = column_of(&bob, newest(&bob), "flux_m3_s");
    wait_rows(&ada, 20);
    wait_rows(&bob, 20);
    uint32_t same = 0;
    for (uint32_t i = 0; i < ada.row_count; i++) {
        for (uint32_t k = 0; k < bob.row_count; k++) {
            if (ada.epoch == bob.epoch && ada.steps[i] == bob.steps[k]) {
                same++;
                assert_true(ada.rows[i][a] == bob.rows[k][b]);
            }
        }
    }
    assert_true(same > 0);
    // An owner moves everybody's; who plays its own.
    move(&bob, ada.list.probes[2].id, 0.1f, 0.1f, 0.1f);
    expect_refusal(&bob, TARN_ERROR_INPUT, "somebody else's");
    move(&bob, ada.list.probes[0].id, 0.1f, 0.1f, 0.1f);
    expect_refusal(&bob, TARN_ERROR_INPUT, "the scene's");
    take_away(&bob, 4000000000u);
    expect_refusal(&bob, TARN_ERROR_INPUT, "found 4000000000");
    const uint32_t id = newest(&ada);
    take_away(&ada, id);
    wait_count(&bob, 3);
    assert_null(info_of(&bob, id));
    leave(&bob);
}

static void test_what_somebody_leaves_behind_is_anybodys(void **state)
{
    (void)state;
    enter(&bob);
    place(&bob, TARN_SHOWS_POINT, 0.75f, 0.25f, 0.5f);
    wait_count(&ada, 3);
    const uint32_t id = newest(&ada);
    assert_int_equal(info_of(&ada, id)->viewer_id, bob.ws.viewer_id);
    leave(&bob);
    while (info_of(&ada, id)->viewer_id != 0) {
        look(&ada);
    }
    enter(&eve[0]);
    wait_count(&eve[0], 3);
    move(&eve[0], id, 0.25f, 0.125f, 0.5f);
    while (info_of(&ada, id)->at_m[1] != 0.125f) {
        look(&ada);
    }
    take_away(&eve[0], id);
    wait_count(&ada, 2);
    leave(&eve[0]);
}

static void test_readings_come_to_who_asks(void **state)
{
    (void)state;
    enter_by(&bob, "", false);
    wait_count(&bob, 2);
    const uint32_t before = ada.messages;
    const uint64_t from = ada.shown_step, from_ns = tarn_clock_monotonic_ns();
    while (ada.shown_step < from + 60) {
        look(&ada);
        look(&bob);
    }
    assert_true(ada.messages > before + 3);
    const uint64_t passed_ms = (tarn_clock_monotonic_ns() - from_ns) / 1000000; // a tank may be slower than the clock
    assert_true(ada.messages - before < 10 + passed_ms / TARN_WORKER_READINGS_MS); // rows travel together
    assert_int_equal(bob.messages, 0);
    tarn_message message = {.kind = TARN_MESSAGE_VIEW, .view = {.probes = 1}};
    ws_client_tell(&bob.ws, &message);
    wait_rows(&bob, 2);
    leave(&bob);
}

// ------------------------------------------------------------------------------------------------------------ refusals

static void test_what_cannot_be_is_refused(void **state)
{
    (void)state;
    place(&ada, TARN_SHOWS_POINT, 0.5f, 1.5f, 0.5f);
    expect_refusal(&ada, TARN_ERROR_INPUT, "probe: y is 1.5 m; allowed is 0 to 1");
    // A hair outside, where nobody could be told of it.
    place(&ada, TARN_SHOWS_POINT, -1e-9f, 0.25f, 0.5f);
    expect_refusal(&ada, TARN_ERROR_INPUT, "probe: x is -1e-09 m; allowed is 0 to 1");
    place(&ada, TARN_SHOWS_FLUX, 0.5f, 0.5f, 0.5f);
    expect_refusal(&ada, TARN_ERROR_INPUT, "corners");
    assert_int_equal(ada.list.probe_count, 2);
    // One that is moved out of the tank stays where it was.
    move(&ada, ada.list.probes[1].id, 2.0f, 0.0f, 0.5f);
    expect_refusal(&ada, TARN_ERROR_INPUT, "x is 2 m");
    place(&ada, TARN_SHOWS_POINT, 0.5f, 0.25f, 0.5f);
    wait_count(&ada, 3);
    assert_true(ada.list.probes[1].at_m[0] == 0.25f);
    take_away(&ada, newest(&ada));
    wait_count(&ada, 2);
    // In another model there is no surface.
    load(&ada, "smoke");
    wait_count(&ada, 0);
    place(&ada, TARN_SHOWS_GAUGE, 0.25f, 0.0f, 0.25f);
    expect_refusal(&ada, TARN_ERROR_INPUT, "smoke");
    place(&ada, TARN_SHOWS_POINT, 0.25f, 0.125f, 0.25f);
    wait_count(&ada, 1);
    const uint32_t heat = column_of(&ada, newest(&ada), "heat_k");
    const float *row = wait_rows(&ada, 2);
    assert_true(row[heat] > 20.0f && row[heat] < 45.0f);
}

/// What there is no room for takes none of the others along.
static void test_a_surface_too_many_leaves_the_others(void **state)
{
    (void)state;
    const tarn_probe_wish floor = {
        .action = TARN_PROBE_ACT_PLACE, .shows = TARN_SHOWS_WALL, .to_m = {10.24f, 0, 5.12f}};
    load(&ada, "wide");
    wait_count(&ada, 0);
    wish(&ada, &floor);
    wait_count(&ada, 1);
    wish(&ada, &floor);
    wait_count(&ada, 2);
    const tarn_probe_list before = ada.list;
    enter(&bob);
    wait_count(&bob, 2);
    const uint32_t lists = ada.lists;
    wish(&bob, &floor);
    expect_refusal(&bob, TARN_ERROR_INPUT, "1048576 cells");
    ada.row_count = 0;
    wait_rows(&ada, 3);
    assert_int_equal(ada.lists, lists);
    assert_memory_equal(&ada.list, &before, sizeof before);
    assert_int_equal(ada.error.code, 0);
    leave(&bob);
}

static void test_there_are_so_many_and_no_more(void **state)
{
    (void)state;
    for (int who = 0; who < 4; who++) {
        enter(&eve[who]);
        const uint32_t most = who < 3 ? 4 : 2;
        for (uint32_t i = 0; i < most; i++) {
            place(&eve[who], TARN_SHOWS_POINT, 0.125f + 0.25f * (float)who, 0.1f, 0.2f * (float)i);
        }
        wait_count(&ada, 2 + 4 * (uint32_t)who + most);
    }
    place(&eve[0], TARN_SHOWS_POINT, 0.5f, 0.5f, 0.5f);
    expect_refusal(&eve[0], TARN_ERROR_INPUT, "you have placed 4");
    place(&eve[3], TARN_SHOWS_POINT, 0.5f, 0.5f, 0.5f);
    expect_refusal(&eve[3], TARN_ERROR_INPUT, "this tank has 16");
    // The oldest of those that are nobody's gives way.
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < ada.list.probe_count && oldest == 0; i++) {
        oldest = ada.list.probes[i].viewer_id == eve[0].ws.viewer_id ? ada.list.probes[i].id : 0;
    }
    leave(&eve[0]);
    while (info_of(&ada, oldest)->viewer_id != 0) {
        look(&ada);
    }
    const uint32_t last = newest(&ada);
    place(&eve[3], TARN_SHOWS_POINT, 0.5f, 0.5f, 0.5f);
    while (newest(&ada) == last) {
        look(&ada);
    }
    assert_int_equal(ada.list.probe_count, TARN_LIVE_PROBES_MAX);
    assert_null(info_of(&ada, oldest));
    for (int who = 1; who < 4; who++) {
        leave(&eve[who]);
    }
}

static void test_owners_lock_them(void **state)
{
    (void)state;
    tarn_message message = {.kind = TARN_MESSAGE_LOCK, .lock = {.locked = TARN_LOCK_PROBE}};
    enter(&bob);
    place(&bob, TARN_SHOWS_POINT, 0.5f, 0.25f, 0.5f);
    wait_count(&bob, 3);
    const uint32_t id = newest(&bob);
    ws_client_tell(&ada.ws, &message);
    while (bob.ws.state.lock.locked != TARN_LOCK_PROBE) {
        look(&bob);
    }
    place(&bob, TARN_SHOWS_POINT, 0.5f, 0.25f, 0.25f);
    expect_refusal(&bob, TARN_ERROR_ROLE, "locked");
    take_away(&bob, id); // one's own may go
    wait_count(&bob, 2);
    place(&ada, TARN_SHOWS_POINT, 0.5f, 0.25f, 0.25f);
    wait_count(&ada, 3);
    message.lock.locked = 0;
    ws_client_tell(&ada.ws, &message);
    while (bob.ws.state.lock.locked != 0) {
        look(&bob);
    }
    leave(&bob);
}

// ----------------------------------------------------------------------------------------------------------- what
// stays

static void test_they_outlive_the_worker(void **state)
{
    (void)state;
    place(&ada, TARN_SHOWS_PRESSURE, 0.25f, 0.0f, 0.25f);
    wait_count(&ada, 3);
    wait_rows(&ada, 2);
    const tarn_probe_list before = ada.list;
    const uint64_t step = ada.steps[ada.row_count - 1];
    const uint32_t messages = ada.messages;
    const pid_t worker = server_worker(&server);
    assert_int_equal(kill(worker, SIGKILL), 0);
    ada.row_count = 0;
    while (ada.messages == messages || ada.row_count == 0 || ada.steps[ada.row_count - 1] <= step + 10) {
        look(&ada);
    }
    assert_true(server_worker(&server) != worker);
    assert_int_equal(ada.list.probe_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_memory_equal(&ada.list.probes[i], &before.probes[i], sizeof before.probes[i]);
    }
}

static void test_another_scene_brings_its_own(void **state)
{
    (void)state;
    place(&ada, TARN_SHOWS_POINT, 0.1f, 0.1f, 0.1f);
    place(&ada, TARN_SHOWS_POINT, 0.9f, 0.1f, 0.1f);
    wait_count(&ada, 4);
    const uint32_t near = ada.list.probes[2].id;
    load(&ada, "smoke"); // half as large
    expect_refusal(&ada, TARN_ERROR_INPUT, "x is 0.9 m");
    wait_count(&ada, 1);
    assert_non_null(info_of(&ada, near));
    load(&ada, "pool");
    wait_count(&ada, 3);
    assert_true(ada.list.probes[0].scene && ada.list.probes[1].scene);
    assert_string_equal(info_of(&ada, near)->columns[0], "pressure_pa");
    wait_rows(&ada, 2);
}

/// The same server once more, and the owner comes back.
static void restart(void)
{
    leave(&ada);
    server_stop(&server);
    server_start(&server, arguments);
    enter_by(&ada, own_key, true);
}

static void test_a_force_outlives_the_server_on_its_solid(void **state)
{
    (void)state;
    load(&ada, "float");
    wait_count(&ada, 1);
    place_force(&ada, 1);
    wait_count(&ada, 2);
    restart();
    wait_count(&ada, 2);
    assert_int_equal(ada.list.probes[0].solid, 0);
    assert_int_equal(ada.list.probes[1].solid, 1);
    const uint32_t lift = column_of(&ada, ada.list.probes[0].id, "force_y_n");
    const uint32_t dry = column_of(&ada, ada.list.probes[1].id, "force_y_n");
    while (ada.row_count < 10 || ada.steps[ada.row_count - 1] < 60) {
        wait_rows(&ada, ada.row_count + 1);
    }
    const float *row = ada.rows[ada.row_count - 1];
    assert_true(row[lift] > 50.0f && row[dry] == 0.0f); // the box that stands is above the water
}

static void test_they_outlive_the_server(void **state)
{
    (void)state;
    wish(&ada, &(tarn_probe_wish){.action = TARN_PROBE_ACT_PLACE,
                                  .shows = TARN_SHOWS_GAUGE,
                                  .at_m = {0.5f, 0.0f, 0.5f},
                                  .to_m = {0.5f, 1.0f, 0.5f},
                                  .label = "weir"});
    wait_count(&ada, 3);
    take_away(&ada, ada.list.probes[0].id);
    wait_count(&ada, 2);
    restart();
    wait_count(&ada, 2);
    assert_string_equal(ada.list.probes[0].label, "rod"); // the scene's that was taken away isn't back
    assert_string_equal(ada.list.probes[1].label, "weir");
    assert_int_equal(ada.list.probes[1].viewer_id, 0);
    wait_rows(&ada, 2);
}

int main(void)
{
#define IN_THE_POOL(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        IN_THE_POOL(test_pressure_is_that_of_the_water_above),
        IN_THE_POOL(test_forces_are_those_of_the_water),
        IN_THE_POOL(test_a_dam_comes_to_its_gauges_in_time),
        IN_THE_POOL(test_who_measures_changes_nothing),
        IN_THE_POOL(test_two_people_measure_in_one_tank),
        IN_THE_POOL(test_what_somebody_leaves_behind_is_anybodys),
        IN_THE_POOL(test_readings_come_to_who_asks),
        IN_THE_POOL(test_what_cannot_be_is_refused),
        IN_THE_POOL(test_a_surface_too_many_leaves_the_others),
        IN_THE_POOL(test_there_are_so_many_and_no_more),
        IN_THE_POOL(test_owners_lock_them),
        IN_THE_POOL(test_they_outlive_the_worker),
        IN_THE_POOL(test_another_scene_brings_its_own),
        IN_THE_POOL(test_a_force_outlives_the_server_on_its_solid),
        IN_THE_POOL(test_they_outlive_the_server),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
