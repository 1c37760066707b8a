// The stream of frames, through gateway and worker: whoever joins or falls behind gets a key frame and can decode all
// that follows; a slow viewer gets less.
#include "server/base/clock.h"
#include "tests/server/pool_server.h"
#include "tests/server/stream_client.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Every test begins with a viewer of the running pool that has seen its first frame.
static int begin(void **state)
{
    static stream_client client;
    stream_client_enter(&client, pool_server.port);
    stream_client_see(&client);
    *state = &client;
    return 0;
}

static int end(void **state)
{
    stream_client_close(*state);
    return 0;
}

static int is_key(const stream_client *client)
{
    return client->frame.head.kind == TARN_STREAM_KEY;
}

static uint32_t particles_said(const stream_client *client)
{
    uint32_t count = 0;
    for (uint32_t l = 0; l < client->frame.layers_present; l++) {
        count += client->frame.head.layers[l].particles;
    }
    return count;
}

static void test_whoever_joins_begins_with_a_key_frame(void **state)
{
    stream_client *client = *state, other;
    assert_true(is_key(client));
    assert_true(client->particles.count > 0);
    assert_int_equal(client->particles.count, particles_said(client));
    for (int i = 0; i < 5; i++) {
        stream_client_enter(&other, pool_server.port);
        stream_client_see(&other);
        assert_true(is_key(&other));
        for (int k = 0; k < 10; k++) {
            stream_client_see(&other);
        }
        stream_client_close(&other);
        stream_client_see(client);
    }
}

static void test_a_viewer_that_keeps_up_decodes_everything(void **state)
{
    stream_client *client = *state;
    uint32_t kinds[3] = {0};
    const uint64_t start_ns = tarn_clock_monotonic_ns(), step = client->frame.head.step;
    for (int i = 0; i < 150; i++) {
        stream_client_see(client);
        kinds[client->frame.head.kind]++;
        assert_int_equal(client->particles.count, particles_said(client));
    }
    const double elapsed_s = 1e-9 * (double)(tarn_clock_monotonic_ns() - start_ns);
    // A tank that is late, under a sanitizer say, has no frames to spare for extra ones.
    const bool is_in_time = (double)(client->frame.head.step - step) > 0.8 * 60 * elapsed_s;
    if (kinds[0] > 2 || kinds[1] < 20 || (is_in_time && kinds[2] < 10)) {
        fail_msg("%u key, %u base and %u extra frames in %.1f s", kinds[0], kinds[1], kinds[2], elapsed_s);
    }
}

static void test_a_viewer_that_stalls_goes_on_with_a_key_frame(void **state)
{
    stream_client *client = *state, other;
    stream_client_enter(&other, pool_server.port);
    int in_flight = 0, passed = 0;
    client->ws.auto_ack = false;
    while (passed < 20) { // far more than are kept
        stream_client_see(&other);
        passed += other.frame.head.kind != TARN_STREAM_EXTRA;
        while (stream_client_next(client, 0)) {
            in_flight++;
        }
    }
    assert_in_range(in_flight, 1, 4);
    const uint32_t number = client->frame.head.number;
    client->ws.auto_ack = true;
    stream_client_ack(client);
    stream_client_see(client);
    assert_true(is_key(client));
    assert_true(client->frame.head.number > number + 2); // not the next one
    for (int i = 0; i < 40; i++) {
        stream_client_see(client);
    }
    stream_client_close(&other);
}

typedef struct kept_frame {
    uint32_t number;
    uint8_t *bytes;
    size_t byte_count;
} kept_frame;

static kept_frame keep(const stream_client *client)
{
    kept_frame kept = {client->frame.head.number, malloc(client->byte_count), client->byte_count};
    memcpy(kept.bytes, client->bytes, client->byte_count);
    return kept;
}

static void test_two_viewers_get_the_same_bytes(void **state)
{
    enum { FRAMES = 40 };
    static kept_frame a[FRAMES], b[FRAMES];
    stream_client *client = *state, other;
    int same = 0;
    stream_client_enter(&other, pool_server.port);
    for (int i = 0; i < FRAMES; i++) { // in turns, so that neither falls behind
        stream_client_see(client);
        a[i] = keep(client);
        stream_client_see(&other);
        b[i] = keep(&other);
    }
    for (int i = 0; i < FRAMES; i++) {
        for (int k = 0; k < FRAMES; k++) {
            if (a[i].number != b[k].number) {
                continue;
            }
            same++; // one of them may have fewer layers
            assert_memory_equal(a[i].bytes, b[k].bytes,
                                a[i].byte_count < b[k].byte_count ? a[i].byte_count : b[k].byte_count);
        }
    }
    assert_true(same >= 5);
    for (int i = 0; i < FRAMES; i++) {
        free(a[i].bytes);
        free(b[i].bytes);
    }
    stream_client_close(&other);
}

/// Waits for the first frame of another epoch.
static void see_fresh_start(stream_client *client)
{
    const uint32_t epoch = client->frame.head.epoch;
    do {
        stream_client_see(client);
    } while (client->frame.head.epoch == epoch);
    assert_true(is_key(client));
    for (int i = 0; i < 20; i++) {
        stream_client_see(client);
    }
}

static void test_a_fresh_start_begins_with_a_key_frame(void **state)
{
    stream_client *client = *state;
    ws_client_control(&client->ws, TARN_CONTROL_RESET, NULL);
    see_fresh_start(client);
    ws_client_control(&client->ws, TARN_CONTROL_LOAD, "small-dam");
    see_fresh_start(client);
    assert_int_equal(client->frame.head.cells[1], 8);
    ws_client_control(&client->ws, TARN_CONTROL_LOAD, "small-pool");
    see_fresh_start(client);
    assert_int_equal(client->frame.head.cells[1], 16);
}

static void test_a_tank_that_is_set_back_begins_with_a_key_frame(void **state)
{
    (void)state;
    static server_process unstable;
    stream_client client;
    static const char *const arguments[] = {"--scenes", TARN_TEST_SCENES,          "--scene", "small-pool",
                                            "--worker", TARN_TEST_UNSTABLE_WORKER, NULL};
    setenv("TARN_TEST_UNSTABLE_CALLS", "40,130", 1);
    server_start(&unstable, arguments);
    unsetenv("TARN_TEST_UNSTABLE_CALLS");
    stream_client_enter(&client, unstable.port);
    stream_client_see(&client);
    see_fresh_start(&client); // afresh
    see_fresh_start(&client); // to a state that was kept
    stream_client_close(&client);
    server_stop(&unstable);
}

static bool contains(const stream_client *client, uint32_t sequence)
{
    for (uint32_t i = 0; i < client->frame.head.input_count; i++) {
        const tarn_frame_input input = tarn_stream_input_at(&client->frame, i);
        if (input.viewer_id == client->ws.viewer_id && input.sequence >= sequence) {
            return true;
        }
    }
    return false;
}

static void test_a_paused_tank_shows_a_key_frame_and_its_steps(void **state)
{
    stream_client *client = *state, other;
    ws_client_control(&client->ws, TARN_CONTROL_PAUSE, NULL);
    do { // a key frame, which may come behind another where one was made just before
        stream_client_see(client);
    } while (!(client->frame.head.flags & TARN_FRAME_FLAG_PAUSED) || !is_key(client));
    uint64_t step = client->frame.head.step;
    assert_false(stream_client_next(client, 1500)); // longer than between key frames
    for (int i = 0; i < 3; i++) {
        ws_client_control(&client->ws, TARN_CONTROL_STEP, NULL);
        do {
            stream_client_see(client);
        } while (!contains(client, client->ws.sequence));
        assert_int_equal(client->frame.head.step, ++step);
    }
    stream_client_enter(&other, pool_server.port);
    do { // key frames that are kept, and what moves them, until it sees what there is
        stream_client_see(&other);
    } while (other.frame.head.step < step);
    stream_client_close(&other);
    ws_client_control(&client->ws, TARN_CONTROL_RESUME, NULL);
    do {
        stream_client_see(client);
    } while (client->frame.head.flags & TARN_FRAME_FLAG_PAUSED || client->frame.head.step < step + 20);
}

/// One whose frames may queue where the server can't see it.
static void enter_through_proxy(stream_client *client)
{
    ws_client_headers = "X-Forwarded-For: 192.0.2.1\r\n";
    stream_client_enter(client, pool_server.port);
    ws_client_headers = "";
}

/// Acknowledges later than frames come, as if they had queued on their way.
static void test_a_slow_viewer_gets_less(void **state)
{
    static stream_client far;
    stream_client *const client = &far;
    (void)state;
    enter_through_proxy(client);
    for (int i = 0; i < 30; i++) {
        stream_client_see(client);
    }
    client->ws.auto_ack = false;
    for (int keys = 0; !is_key(client) || client->frame.layers_present > 1; keys += is_key(client)) {
        if (keys > 30) {
            fail_msg("%u of %u layers", client->frame.layers_present, client->frame.head.layer_count);
        }
        stream_client_see(client);
        usleep(120000);
        stream_client_ack(client);
    }
    const uint32_t before = client->frame.head.layer_count;
    assert_true(before > 1);
    assert_int_equal(client->particles.count, client->frame.head.layers[0].particles);
    for (int i = 0; i < 10; i++) {
        stream_client_see(client);
        stream_client_ack(client);
        assert_true(client->frame.head.kind != TARN_STREAM_EXTRA);
        assert_int_equal(client->frame.layers_present, 1);
    }
    assert_true(server_metric(pool_server.port, "tarn_viewers_by_layers{layers=\"1\"}") == 1);
    stream_client_close(client);
}

/// Acknowledges what came more than so long ago, as a viewer far away or whose processor is busy would.
enum { BUSY_MS = 90, FAR_MS = 400, BUSY_FRAMES = 16 };

typedef struct busy_viewer {
    stream_client client;
    tarn_ack frames[BUSY_FRAMES];
    uint64_t came_ns[BUSY_FRAMES];
    int waiting;
} busy_viewer;

static void live(busy_viewer *viewer, uint64_t delay_ms)
{
    stream_client *client = &viewer->client;
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    while (viewer->waiting > 0 && now_ns - viewer->came_ns[0] >= delay_ms * 1000000) {
        const tarn_message message = {.kind = TARN_MESSAGE_ACK, .ack = viewer->frames[0]};
        ws_client_tell(&client->ws, &message);
        viewer->waiting--;
        memmove(viewer->frames, viewer->frames + 1, (size_t)viewer->waiting * sizeof viewer->frames[0]);
        memmove(viewer->came_ns, viewer->came_ns + 1, (size_t)viewer->waiting * sizeof viewer->came_ns[0]);
    }
    while (viewer->waiting < BUSY_FRAMES && stream_client_next(client, 5)) {
        assert_int_equal(client->status, TARN_OK);
        viewer->frames[viewer->waiting] =
            (tarn_ack){client->frame.head.epoch, client->frame.head.step, client->frame.head.number, 0};
        viewer->came_ns[viewer->waiting++] = tarn_clock_monotonic_ns();
    }
}

/// Both are late; only of the one behind a proxy can that be the network's fault.
static void test_a_busy_viewer_gets_all_layers_unless_it_may_be_far_away(void **state)
{
    static busy_viewer direct, proxied;
    stream_client_enter(&direct.client, pool_server.port);
    enter_through_proxy(&proxied.client);
    for (int i = 0; i < 20; i++) { // on time, at first
        stream_client_see(&direct.client);
        stream_client_see(&proxied.client);
    }
    direct.client.ws.auto_ack = proxied.client.ws.auto_ack = false;
    const uint64_t until_ns = tarn_clock_monotonic_ns() + WS_CLIENT_WAIT_MS * (uint64_t)1000000;
    while (proxied.client.frame.layers_present == proxied.client.frame.head.layer_count) {
        live(&direct, BUSY_MS);
        live(&proxied, BUSY_MS);
        assert_true(tarn_clock_monotonic_ns() < until_ns);
    }
    assert_int_equal(direct.client.frame.layers_present, direct.client.frame.head.layer_count);
    stream_client_close(&direct.client);
    stream_client_close(&proxied.client);
    (void)state;
}

/// Far away from its first frame on: that alone costs it nothing.
static void test_a_viewer_gets_all_layers_however_far_away_it_is(void **state)
{
    (void)state;
    static busy_viewer far;
    int frames = 0;
    stream_client_enter(&far.client, pool_server.port);
    far.client.ws.auto_ack = false;
    const uint64_t until_ns = tarn_clock_monotonic_ns() + 8 * (uint64_t)1000000000;
    while (tarn_clock_monotonic_ns() < until_ns || frames < 10) {
        const uint32_t number = far.client.frame.head.number;
        live(&far, FAR_MS);
        frames += far.client.frame.head.number != number;
        assert_int_equal(far.client.frame.layers_present, far.client.frame.head.layer_count);
    }
    stream_client_close(&far.client);
}

static void say_view(stream_client *client, tarn_view view)
{
    const tarn_message message = {.kind = TARN_MESSAGE_VIEW, .view = view};
    ws_client_tell(&client->ws, &message);
}

static void test_a_hidden_viewer_gets_nothing_and_then_a_key_frame(void **state)
{
    stream_client *client = *state, other;
    stream_client_enter(&other, pool_server.port); // keeps the tank running
    say_view(client, (tarn_view){.hidden = 1});
    while (stream_client_next(client, 500)) { // what was on its way
    }
    const uint32_t number = client->frame.head.number;
    for (int i = 0; i < 30; i++) {
        stream_client_see(&other);
    }
    assert_false(stream_client_next(client, 0));
    say_view(client, (tarn_view){.hidden = 0});
    stream_client_see(client);
    assert_true(is_key(client));
    assert_true(client->frame.head.number > number);
    for (int i = 0; i < 10; i++) {
        stream_client_see(client);
    }
    stream_client_close(&other);
}

/// One that takes nothing, and says again and again that it looks: the others notice nothing.
static void ask(stream_client *client, const char *channel)
{
    tarn_view view = {0};
    snprintf(view.channel, sizeof view.channel, "%s", channel);
    say_view(client, view);
}

/// Waits until frames carry a channel, by its number in them; all of them decode.
static void see_channel(stream_client *client, uint8_t channel)
{
    for (int i = 0; client->frame.head.channel != channel; i++) {
        assert_true(i < 200);
        stream_client_see(client);
    }
}

static uint32_t count_levels(const stream_client *client)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < client->particles.count; i++) {
        count += client->particles.positions[4 * (size_t)i + 3] >= 256;
    }
    return count;
}

static void test_frames_carry_the_channel_that_somebody_asks_for(void **state)
{
    enum { PRESSURE = 5, DENSITY = 6 };
    stream_client *client = *state, other;
    stream_client_enter(&other, pool_server.port);
    stream_client_see(&other);
    assert_int_equal(client->frame.head.channel, 0);
    assert_int_equal(count_levels(client), 0);
    ask(client, "pressure");
    see_channel(client, PRESSURE);
    see_channel(&other, PRESSURE); // one frame for all
    assert_true(client->frame.head.channel_high > 1000.0f);
    for (int i = 0; i < 30; i++) {
        stream_client_see(client);
        assert_int_equal(client->frame.head.channel, PRESSURE);
    }
    assert_true(count_levels(client) > client->particles.count / 2);
    // Who asks for another one waits until nobody asks for this one; what isn't carried is nothing asked for.
    ask(&other, "density");
    for (int i = 0; i < 20; i++) {
        stream_client_see(&other);
        assert_int_equal(other.frame.head.channel, PRESSURE);
    }
    ask(client, "speed");
    see_channel(&other, DENSITY);
    see_channel(client, DENSITY);
    stream_client_close(&other);
    see_channel(client, 0);
    ask(client, "temperature");
    for (int i = 0; i < 20; i++) {
        stream_client_see(client);
        assert_int_equal(client->frame.head.channel, 0);
        assert_int_equal(count_levels(client), 0);
    }
}

static void ask_field(stream_client *client, const char *field)
{
    tarn_view view = {0};
    snprintf(view.field, sizeof view.field, "%s", field);
    say_view(client, view);
}

static void see_field(stream_client *client, uint8_t field)
{
    for (int i = 0; client->frame.head.field.number != field; i++) {
        assert_true(i < 200);
        stream_client_see(client);
    }
}

/// A field is for who asks: others get frames with it, but none of its details.
static void test_frames_carry_the_field_that_somebody_asks_for(void **state)
{
    enum { PRESSURE = 1, CELLS = 2 };
    stream_client *client = *state, other;
    stream_client_enter(&other, pool_server.port);
    stream_client_see(&other);
    assert_int_equal(client->frame.head.field.number, 0);
    ask_field(client, "pressure");
    see_field(client, PRESSURE);
    see_field(&other, PRESSURE);
    assert_true(client->frame.head.field.high > 1000.0f);
    for (int i = 0; i < 30; i++) {
        stream_client_see(client);
        stream_client_see(&other);
        assert_int_equal(client->frame.head.field.number, PRESSURE);
        assert_true(other.frame.fine == NULL);
    }
    assert_true(client->frame.fine != NULL);
    ask_field(&other, "cells");
    for (int i = 0; i < 20; i++) {
        stream_client_see(&other);
        assert_int_equal(other.frame.head.field.number, PRESSURE);
    }
    ask_field(client, "nothing like it");
    see_field(&other, CELLS);
    see_field(client, CELLS);
    assert_int_equal(other.frame.head.field.is_kinds, 1);
    stream_client_close(&other);
    see_field(client, 0);
}

static void test_a_paused_tank_carries_a_channel_at_once(void **state)
{
    stream_client *client = *state;
    ws_client_control(&client->ws, TARN_CONTROL_PAUSE, NULL);
    while ((client->frame.head.flags & TARN_FRAME_FLAG_PAUSED) == 0) {
        stream_client_see(client);
    }
    ask(client, "pressure");
    see_channel(client, 5);
    assert_true(count_levels(client) > 0);
    ask(client, "");
    see_channel(client, 0);
    ws_client_control(&client->ws, TARN_CONTROL_RESUME, NULL);
}

static void test_a_silent_viewer_makes_no_key_frames_for_all(void **state)
{
    stream_client *client = *state, silent;
    stream_client_enter(&silent, pool_server.port);
    silent.ws.auto_ack = false;
    while (stream_client_next(&silent, 500)) { // until nothing comes any more
    }
    int keys = 0;
    const uint64_t start_ns = tarn_clock_monotonic_ns();
    uint64_t toggled_ns = 0;
    while (tarn_clock_monotonic_ns() - start_ns < 5 * (uint64_t)1000000000) {
        if (tarn_clock_monotonic_ns() - toggled_ns > 200 * (uint64_t)1000000) {
            toggled_ns = tarn_clock_monotonic_ns();
            say_view(&silent, (tarn_view){.hidden = 1});
            say_view(&silent, (tarn_view){.hidden = 0});
        }
        stream_client_see(client);
        keys += is_key(client);
    }
    assert_in_range(keys, 0, 3);
    stream_client_close(&silent);
}

static void test_a_viewer_gets_no_more_than_it_asks_for(void **state)
{
    stream_client *client = *state;
    while (!is_key(client) || client->frame.head.layer_count < 2) {
        stream_client_see(client);
    }
    const uint32_t first = client->frame.head.layers[0].particles;
    say_view(client, (tarn_view){.particles = first + 1});
    do {
        stream_client_see(client);
    } while (!is_key(client) || client->frame.layers_present > 1);
    for (int i = 0; i < 20; i++) {
        stream_client_see(client);
        assert_int_equal(client->frame.layers_present, 1);
        assert_true(client->frame.head.kind != TARN_STREAM_EXTRA);
    }
    // Less than the base frames' rate: key frames alone.
    say_view(client, (tarn_view){.frames_per_s = 0.5f});
    for (int keys = 0; keys < 2; keys = is_key(client) ? keys + 1 : 0) {
        stream_client_see(client);
    }
    for (int i = 0; i < 3; i++) {
        stream_client_see(client);
        assert_true(is_key(client));
    }
    say_view(client, (tarn_view){.hidden = 0});
    do {
        stream_client_see(client);
    } while (is_key(client));
}

static void test_a_paused_tank_comes_with_all_layers_in_the_end(void **state)
{
    stream_client *client = *state;
    say_view(client, (tarn_view){.particles = 1});
    while (client->frame.layers_present > 1) {
        stream_client_see(client);
    }
    ws_client_control(&client->ws, TARN_CONTROL_PAUSE, NULL);
    do {
        stream_client_see(client);
    } while (!(client->frame.head.flags & TARN_FRAME_FLAG_PAUSED) || !is_key(client));
    assert_int_equal(client->frame.layers_present, 1);
    const uint32_t number = client->frame.head.number;
    say_view(client, (tarn_view){.particles = 0});
    stream_client_see(client);
    assert_int_equal(client->frame.layers_present, client->frame.head.layer_count);
    assert_int_equal(client->frame.head.number, number); // the same frame
    assert_int_equal(client->particles.count, particles_said(client));
    ws_client_control(&client->ws, TARN_CONTROL_RESUME, NULL);
    for (int i = 0; i < 10; i++) {
        stream_client_see(client);
    }
}

static void test_whoever_can_go_on_with_nothing_else_is_sent_a_key_frame(void **state)
{
    stream_client *client = *state;
    for (int round = 0; round < 3; round++) {
        int frames = 0;
        do { // a while without one: the newest is as old as it has to be
            frames = is_key(client) ? 0 : frames + 1;
            stream_client_see(client);
        } while (frames < 30);
        client->wants_key = true;
        for (frames = 0; !is_key(client); frames++) {
            stream_client_see(client);
            assert_true(frames < 60);
        }
        client->wants_key = false;
    }
}

/// Holds something that pours until there are so many frames of steps in a row. @return how many frames that took
static int frames_in_a_row(stream_client *client, int count, int frames_max)
{
    uint64_t step = client->frame.head.step;
    int frames = 0;
    for (int in_a_row = 0; in_a_row < count && frames < frames_max; frames++) {
        stream_client_see(client);
        in_a_row += client->frame.head.step == step + 1;
        step = client->frame.head.step;
    }
    return frames;
}

static void test_every_step_has_a_frame_while_somebody_acts(void **state)
{
    stream_client *client = *state;
    const float origin_m[3] = {0.5f, 3.0f, 0.5f}, down[3] = {0.0f, -1.0f, 0.0f};
    int frames = frames_in_a_row(client, 40, 100);
    assert_true(frames == 100 || client->frame.head.realtime_factor < 0.9f); // a slow tank has time to show each step
    ws_client_pointer(&client->ws, TARN_PHASE_DOWN, origin_m, down, 0.1f);
    frames = 400;
    for (int tries = 0; tries < 3 && frames == 400; tries++) { // beside much else the tank has no time for it
        for (int i = 0; i < 20; i++) {
            const float to_m[3] = {0.3f + 0.02f * (float)i, 3.0f, 0.5f};
            ws_client_pointer(&client->ws, TARN_PHASE_MOVE, to_m, down, 0.1f);
            stream_client_see(client);
        }
        frames = frames_in_a_row(client, 40, 400);
    }
    ws_client_pointer(&client->ws, TARN_PHASE_UP, origin_m, down, 0.1f);
    if (client->frame.head.realtime_factor > 0.9f) {
        assert_true(frames < 400);
    }
}

static double kind_metric(const char *what, int kind)
{
    static const char *const kinds[] = {"key", "base", "extra"};
    char name[64];
    snprintf(name, sizeof name, "tarn_%s_by_kind_total{kind=\"%s\"}", what, kinds[kind]);
    return server_metric(pool_server.port, name);
}

static void test_metrics_count_what_is_sent(void **state)
{
    stream_client *client = *state;
    double frames[3], bytes[3];
    for (int k = 0; k < 3; k++) {
        frames[k] = kind_metric("frames", k);
        bytes[k] = kind_metric("frame_bytes", k);
    }
    // What is counted before may still come.
    for (int i = 0; i < 8; i++) {
        stream_client_see(client);
    }
    for (int i = 0; i < 40; i++) {
        stream_client_see(client);
        frames[client->frame.head.kind]++;
        bytes[client->frame.head.kind] += (double)client->byte_count;
    }
    for (int k = 0; k < 3; k++) {
        const double found_frames = kind_metric("frames", k), found_bytes = kind_metric("frame_bytes", k);
        if (found_frames < frames[k] || found_bytes < bytes[k] || found_frames > frames[k] + 20) {
            fail_msg("kind %d: %g frames of %g bytes, %g of %g came", k, found_frames, found_bytes, frames[k],
                     bytes[k]);
        }
    }
    assert_true(server_metric(pool_server.port, "tarn_keys_asked_total") >= 1);
    assert_true(server_metric(pool_server.port, "tarn_session_encoder_bytes{session=\"main\",worker=\"0\"}") >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whoever_joins_begins_with_a_key_frame, begin, end),
        cmocka_unit_test_setup_teardown(test_a_viewer_that_keeps_up_decodes_everything, begin, end),
        cmocka_unit_test_setup_teardown(test_a_viewer_that_stalls_goes_on_with_a_key_frame, begin, end),
        cmocka_unit_test_setup_teardown(test_two_viewers_get_the_same_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_a_fresh_start_begins_with_a_key_frame, begin, end),
        cmocka_unit_test(test_a_tank_that_is_set_back_begins_with_a_key_frame),
        cmocka_unit_test_setup_teardown(test_a_paused_tank_shows_a_key_frame_and_its_steps, begin, end),
        cmocka_unit_test(test_a_slow_viewer_gets_less),
        cmocka_unit_test(test_a_busy_viewer_gets_all_layers_unless_it_may_be_far_away),
        cmocka_unit_test(test_a_viewer_gets_all_layers_however_far_away_it_is),
        cmocka_unit_test_setup_teardown(test_frames_carry_the_channel_that_somebody_asks_for, begin, end),
        cmocka_unit_test_setup_teardown(test_frames_carry_the_field_that_somebody_asks_for, begin, end),
        cmocka_unit_test_setup_teardown(test_a_paused_tank_carries_a_channel_at_once, begin, end),
        cmocka_unit_test_setup_teardown(test_a_silent_viewer_makes_no_key_frames_for_all, begin, end),
        cmocka_unit_test_setup_teardown(test_a_hidden_viewer_gets_nothing_and_then_a_key_frame, begin, end),
        cmocka_unit_test_setup_teardown(test_a_viewer_gets_no_more_than_it_asks_for, begin, end),
        cmocka_unit_test_setup_teardown(test_a_paused_tank_comes_with_all_layers_in_the_end, begin, end),
        cmocka_unit_test_setup_teardown(test_whoever_can_go_on_with_nothing_else_is_sent_a_key_frame, begin, end),
        cmocka_unit_test_setup_teardown(test_every_step_has_a_frame_while_somebody_acts, begin, end),
        cmocka_unit_test_setup_teardown(test_metrics_count_what_is_sent, begin, end),
    };
    return cmocka_run_group_tests_name("server_stream", tests, pool_server_start, pool_server_stop);
}
