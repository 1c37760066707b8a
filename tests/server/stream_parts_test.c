// What decides who is sent which frame when, by itself: the worker's end of the socket, the frames that are kept,
// stages, ceilings, a viewer's rate.
#include "server/base/ipc.h"
#include "server/gateway/metrics.h"
#include "server/gateway/viewer/fanout.h"
#include "server/gateway/viewer/rate.h"
#include "server/worker/limits.h"
#include "server/worker/link.h"
#include "tests/server/test_cmocka.h"

#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t ms(uint64_t count)
{
    return count * 1000000u;
}

// -------------------------------------------------------------------------------------------------------------- link

static void test_a_frame_that_others_refer_to_waits_until_it_is_sent(void **state)
{
    (void)state;
    static tarn_worker_link link;
    static uint8_t taken[1 << 16];
    const uint32_t bytes = 8 << 20; // more than a socket holds
    const tarn_ipc_sink sink = {0};
    const tarn_ipc_stamps stamps = {1, 2, 3};
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(tarn_worker_link_open(&link, ends[0], &sink), TARN_OK);
    for (int i = 0; i < 2; i++) { // the first is being sent, the second may give way
        memset(tarn_worker_link_frame_space(&link, 0), 1 + i, bytes);
        tarn_worker_link_frame_put(&link, 0, 1, bytes, &stamps, i == 0);
        assert_int_equal(tarn_worker_link_frame_waits(&link, 0), i == 0);
        assert_int_equal(tarn_worker_link_flush(&link), TARN_OK);
        assert_false(tarn_worker_link_frame_waits(&link, 0));
    }
    memset(tarn_worker_link_frame_space(&link, 0), 3, bytes);
    tarn_worker_link_frame_put(&link, 0, 1, bytes, &stamps, true);
    assert_true(tarn_worker_link_frame_waits(&link, 0));
    assert_int_equal(link.slots[0].replaced, 1);
    uint64_t got = 0;
    while (got < 2 * ((uint64_t)bytes + TARN_IPC_STAMPS_BYTES + TARN_IPC_HEADER_BYTES)) {
        assert_int_equal(tarn_worker_link_flush(&link), TARN_OK);
        const ssize_t count = read(ends[1], taken, sizeof taken);
        assert_true(count > 0);
        got += (uint64_t)count;
        if (got > (uint64_t)bytes + sizeof taken) {
            assert_false(tarn_worker_link_frame_waits(&link, 0)); // it is on its way
        }
    }
    assert_int_equal(taken[0], 3);
    tarn_worker_link_close(&link);
    close(ends[1]);
}

/// The one before is sent to its end while a job is still encoding.
static void test_a_frame_may_be_made_while_another_is_sent(void **state)
{
    (void)state;
    static tarn_worker_link link;
    static uint8_t received[1 << 16];
    const uint32_t bytes = 1 << 20, whole = bytes + TARN_IPC_STAMPS_BYTES + TARN_IPC_HEADER_BYTES;
    const tarn_ipc_sink sink = {0};
    const tarn_ipc_stamps stamps = {1, 2, 3};
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(tarn_worker_link_open(&link, ends[0], &sink), TARN_OK);
    memset(tarn_worker_link_frame_space(&link, 0), 1, bytes);
    tarn_worker_link_frame_put(&link, 0, 1, bytes, &stamps, true);
    assert_int_equal(tarn_worker_link_flush(&link), TARN_OK); // the socket is full
    uint8_t *space = tarn_worker_link_frame_space(&link, 0);
    memset(space, 2, bytes);
    uint32_t got = 0;
    for (int frames = 1; frames <= 2; frames++) {
        while (got < (uint32_t)frames * whole) {
            assert_int_equal(tarn_worker_link_flush(&link), TARN_OK);
            const ssize_t count = read(ends[1], received, sizeof received);
            assert_true(count > 0);
            got += (uint32_t)count;
        }
        tarn_worker_link_frame_put(&link, 0, 1, bytes, &stamps, true);
    }
    assert_int_equal(received[0], 2);
    tarn_worker_link_close(&link);
    close(ends[1]);
}

// ------------------------------------------------------------------------------------------------------------ fanout

enum { EPOCH = 5, LAYER_BYTES = 40, FRAME_ROOM_BYTES = 4096 };

static tarn_fanout fanout;
static tarn_fanout_inputs inputs;
static uint64_t apart_ms; // between frames

/// Writes a frame of two layers as the worker would, of any bytes behind its head. @return its size
static uint32_t write_frame(uint8_t *bytes, tarn_stream_kind kind, uint32_t number, uint32_t reference, uint32_t epoch)
{
    const tarn_frame_input input = {3, number};
    tarn_stream_head head = {.kind = (uint8_t)kind, .place_bits = 4, .layer_count = 2, .epoch = epoch};
    head.number = number;
    head.reference = kind == TARN_STREAM_KEY ? number : reference;
    head.step = 10 * (uint64_t)number;
    head.server_time_us = 1000 * apart_ms * number;
    head.interval_steps = 4;
    head.interval_s = 0.1f;
    head.realtime_factor = 1;
    head.input_count = 1;
    head.cell_m = 0.1f;
    head.orientation[3] = 1;
    for (int axis = 0; axis < 3; axis++) {
        head.cells[axis] = 16;
    }
    head.flow_tiles = head.flow_tiles_max = 1;
    head.flow_bytes = LAYER_BYTES;
    for (int l = 0; l < 2; l++) {
        head.layers[l] = (tarn_stream_layer){LAYER_BYTES, 8, 8, 8};
    }
    const size_t head_bytes = tarn_stream_head_bytes(&head);
    head.frame_bytes = (uint32_t)head_bytes + 3 * LAYER_BYTES;
    assert_int_equal(tarn_stream_write_head(&head, &input, bytes, head_bytes), TARN_OK);
    memset(bytes + head_bytes, (int)number, 3 * LAYER_BYTES);
    return head.frame_bytes;
}

static tarn_status receive(tarn_stream_kind kind, uint32_t number, uint32_t reference)
{
    uint8_t *space = tarn_fanout_space(&fanout, FRAME_ROOM_BYTES);
    assert_non_null(space);
    return tarn_fanout_put(&fanout, write_frame(space, kind, number, reference, EPOCH), EPOCH, &inputs);
}

/// A viewer of the fan-out. @return the number of the frame that it is sent, or 0
typedef struct watcher {
    uint64_t reference, sent;
} watcher;

static uint32_t send_to(watcher *w, bool skip_extras)
{
    const tarn_fanout_frame *frame = tarn_fanout_next(&fanout, w->reference, w->sent, skip_extras);
    if (frame == NULL) {
        return 0;
    }
    w->sent = frame->serial;
    if (frame->kind != TARN_STREAM_EXTRA) {
        w->reference = frame->serial;
    }
    // The frame is still there as it was received.
    assert_int_equal(tarn_fanout_bytes(&fanout, frame)[frame->cut_bytes[1] - 1], (uint8_t)frame->number);
    return frame->number;
}

static int begin_fanout(void **state)
{
    (void)state;
    apart_ms = 33;
    tarn_fanout_init(&fanout);
    return 0;
}

static int end_fanout(void **state)
{
    (void)state;
    tarn_fanout_free(&fanout);
    return 0;
}

static void test_who_keeps_up_gets_every_frame_and_who_is_late_the_chain(void **state)
{
    (void)state;
    watcher quick = {0}, late = {0}, calm = {0};
    assert_true(tarn_fanout_is_lost(&fanout, 0, 0));
    assert_int_equal(receive(TARN_STREAM_KEY, 1, 0), TARN_OK);
    assert_int_equal(inputs.count, 1);
    assert_int_equal(inputs.inputs[0].sequence, 1);
    assert_false(tarn_fanout_is_lost(&fanout, 0, 0));
    assert_int_equal(send_to(&quick, false), 1);
    assert_int_equal(send_to(&late, false), 1);
    assert_int_equal(send_to(&calm, true), 1);
    assert_int_equal(send_to(&quick, false), 0);
    static const uint32_t references[] = {0, 0, 1, 1, 3, 3, 5};
    for (uint32_t n = 2; n <= 6; n++) { // extra base extra base extra
        assert_int_equal(receive(n % 2 ? TARN_STREAM_BASE : TARN_STREAM_EXTRA, n, references[n]), TARN_OK);
        assert_int_equal(send_to(&quick, false), n);
        assert_int_equal(send_to(&calm, true), n % 2 ? n : 0);
    }
    assert_int_equal(send_to(&late, false), 3);
    assert_int_equal(send_to(&late, false), 5);
    assert_int_equal(send_to(&late, false), 6);
    assert_int_equal(send_to(&late, false), 0);
    assert_false(tarn_fanout_is_lost(&fanout, late.reference, late.sent));
}

/// Receives a key frame and more base frames than are kept. @return the newest one's number
static uint32_t receive_chain(uint32_t number)
{
    assert_int_equal(receive(TARN_STREAM_KEY, number, 0), TARN_OK);
    for (uint32_t i = 0; i < 3 * TARN_FANOUT_CHAIN_MAX; i++, number++) {
        assert_int_equal(receive(TARN_STREAM_EXTRA, number + 1, number), TARN_OK);
        assert_int_equal(receive(TARN_STREAM_BASE, number + 1, number), TARN_OK);
    }
    return number;
}

static void test_who_comes_to_a_slow_tank_looks_at_the_last_key_frame(void **state)
{
    (void)state;
    uint32_t number = receive_chain(1);
    assert_null(tarn_fanout_still(&fanout)); // a key frame will come soon enough
    apart_ms = TARN_FANOUT_STILL_MS;
    assert_int_equal(receive(TARN_STREAM_KEY, ++number, 0), TARN_OK);
    const uint32_t key = number;
    assert_null(tarn_fanout_still(&fanout)); // it isn't left behind
    number = receive_chain(key);
    const tarn_fanout_frame *still = tarn_fanout_still(&fanout);
    assert_non_null(still);
    assert_int_equal(still->number, key);
    assert_int_equal(tarn_fanout_bytes(&fanout, still)[still->cut_bytes[1] - 1], (uint8_t)key);
    assert_true(tarn_fanout_is_lost(&fanout, 0, 0)); // and waits for another
    assert_true(tarn_fanout_is_lost(&fanout, still->serial, still->serial));
    watcher viewer = {still->serial, still->serial};
    assert_int_equal(send_to(&viewer, false), 0);
    assert_int_equal(receive(TARN_STREAM_KEY, number + 1, 0), TARN_OK);
    assert_null(tarn_fanout_still(&fanout));
    assert_int_equal(send_to(&viewer, false), number + 1);
    receive_chain(number + 1);
    tarn_fanout_clear(&fanout);
    assert_null(tarn_fanout_still(&fanout));
}

static void test_who_is_too_late_waits_for_a_key_frame(void **state)
{
    (void)state;
    watcher late = {0}, other = {0};
    receive(TARN_STREAM_KEY, 1, 0);
    send_to(&late, false);
    send_to(&other, false);
    for (uint32_t n = 2; n <= TARN_FANOUT_CHAIN_MAX + 1; n++) {
        receive(TARN_STREAM_BASE, n, n - 1);
    }
    assert_false(tarn_fanout_is_lost(&fanout, late.reference, late.sent)); // the key frame is gone, what moves it isn't
    assert_true(tarn_fanout_is_lost(&fanout, 0, 0));
    for (uint32_t n = 2; n <= TARN_FANOUT_CHAIN_MAX + 1; n++) {
        assert_int_equal(send_to(&other, false), n);
    }
    receive(TARN_STREAM_BASE, TARN_FANOUT_CHAIN_MAX + 2, TARN_FANOUT_CHAIN_MAX + 1);
    assert_true(tarn_fanout_is_lost(&fanout, late.reference, late.sent));
    assert_int_equal(send_to(&late, false), 0);
    receive(TARN_STREAM_KEY, 20, 0);
    assert_int_equal(send_to(&late, false), 20);
    assert_int_equal(send_to(&other, false), 20); // instead of the base frame that came before
    assert_int_equal(send_to(&other, false), 0);
}

static void test_who_begins_again_gets_nothing_older(void **state)
{
    (void)state;
    watcher viewer = {0};
    receive(TARN_STREAM_KEY, 1, 0);
    send_to(&viewer, false);
    receive(TARN_STREAM_BASE, 2, 1);
    send_to(&viewer, false);
    viewer.reference = 0; // it was hidden
    assert_int_equal(send_to(&viewer, false), 0);
    assert_true(tarn_fanout_is_lost(&fanout, viewer.reference, viewer.sent));
    receive(TARN_STREAM_KEY, 3, 0);
    assert_int_equal(send_to(&viewer, false), 3);
    viewer.reference = 0; // the tank is paused: it may have the same once more, whole this time
    assert_int_equal(send_to(&viewer, false), 3);
    assert_int_equal(send_to(&viewer, false), 0);
}

static void test_a_frame_that_moves_another_than_the_newest_ends_the_chain(void **state)
{
    (void)state;
    watcher viewer = {0};
    assert_int_equal(receive(TARN_STREAM_BASE, 1, 0), TARN_E_STATE);
    receive(TARN_STREAM_KEY, 2, 0);
    send_to(&viewer, false);
    assert_int_equal(receive(TARN_STREAM_BASE, 4, 3), TARN_E_STATE); // 3 was lost
    assert_true(tarn_fanout_is_lost(&fanout, viewer.reference, viewer.sent));
    assert_int_equal(receive(TARN_STREAM_EXTRA, 5, 4), TARN_E_STATE);
    assert_int_equal(receive(TARN_STREAM_KEY, 6, 0), TARN_OK);
    assert_int_equal(send_to(&viewer, false), 6);
}

static void test_frames_of_another_epoch_and_wrong_ones_are_refused(void **state)
{
    (void)state;
    receive(TARN_STREAM_KEY, 1, 0);
    uint8_t *space = tarn_fanout_space(&fanout, FRAME_ROOM_BYTES);
    uint32_t bytes = write_frame(space, TARN_STREAM_KEY, 2, 0, EPOCH + 1);
    assert_int_equal(tarn_fanout_put(&fanout, bytes, EPOCH, &inputs), TARN_E_STATE);
    space = tarn_fanout_space(&fanout, FRAME_ROOM_BYTES);
    bytes = write_frame(space, TARN_STREAM_KEY, 2, 0, EPOCH);
    assert_int_equal(tarn_fanout_put(&fanout, bytes - LAYER_BYTES, EPOCH, &inputs), TARN_E_TRUNCATED); // cut
    assert_non_null(tarn_fanout_space(&fanout, FRAME_ROOM_BYTES));
    assert_int_equal(tarn_fanout_put(&fanout, 7, EPOCH, &inputs), TARN_E_TRUNCATED);
    space = tarn_fanout_space(&fanout, FRAME_ROOM_BYTES);
    write_frame(space, TARN_STREAM_KEY, 2, 0, EPOCH);
    space[0] ^= 1;
    assert_int_equal(tarn_fanout_put(&fanout, bytes, EPOCH, &inputs), TARN_E_MALFORMED);
    watcher viewer = {0};
    assert_int_equal(send_to(&viewer, false), 1); // the one before stays
    tarn_fanout_clear(&fanout);
    assert_true(tarn_fanout_is_lost(&fanout, viewer.reference, viewer.sent));
}

static void test_a_frame_that_was_begun_elsewhere_is_not_taken(void **state)
{
    (void)state;
    assert_int_equal(receive(TARN_STREAM_KEY, 1, 0), TARN_OK);
    // Of a worker that began it when the tank was another's, and as large as nothing here has room for.
    assert_int_equal(tarn_fanout_put(&fanout, TARN_IPC_FRAME_BYTES_MAX, EPOCH, &inputs), TARN_E_STATE);
    uint8_t *space = tarn_fanout_space(&fanout, FRAME_ROOM_BYTES);
    const uint32_t bytes = write_frame(space, TARN_STREAM_KEY, 2, 0, EPOCH);
    tarn_fanout_forget_begun(&fanout);
    assert_int_equal(tarn_fanout_put(&fanout, bytes, EPOCH, &inputs), TARN_E_STATE);
    watcher viewer = {0};
    assert_int_equal(send_to(&viewer, false), 1);
}

// ------------------------------------------------------------------------------------------------------------ stages

static void test_stages_that_are_out_of_order_or_too_long_are_not_believed(void **state)
{
    (void)state;
    static const tarn_ipc_stamps wrong[] = {{5, 4, 6}, {5, 7, 6}, {5, 6, 11}, {0, 0, UINT64_MAX}};
    tarn_stages stages = {0};
    for (int i = 0; i < 4; i++) {
        tarn_stages_frame(&stages, &wrong[i], 10);
    }
    tarn_stages_note(&stages, TARN_STAGE_WAIT, -0.001);
    tarn_stages_note(&stages, TARN_STAGE_WAIT, 61);
    tarn_stages_note(&stages, TARN_STAGE_WAIT, (double)NAN);
    for (int s = 0; s < TARN_STAGE_COUNT; s++) {
        assert_int_equal(stages.count[s], 0);
    }
}

static void test_stages_are_the_times_between_stamps(void **state)
{
    (void)state;
    tarn_stages stages = {0};
    const tarn_ipc_stamps stamps = {ms(1000), ms(1004), ms(1005)};
    tarn_stages_frame(&stages, &stamps, ms(1007));
    assert_true(fabs(stages.sum_s[TARN_STAGE_STEP] - 0.004) < 1e-9);
    assert_true(fabs(stages.sum_s[TARN_STAGE_ENCODE] - 0.001) < 1e-9);
    assert_true(fabs(stages.sum_s[TARN_STAGE_PASS] - 0.002) < 1e-9);
    assert_int_equal(stages.count[TARN_STAGE_WAIT], 0);
    for (int i = 0; i < 200; i++) {
        tarn_stages_note(&stages, TARN_STAGE_STEP, 0.020);
    }
    assert_true(fabs(stages.recent_s[TARN_STAGE_STEP] - 0.020) < 1e-6); // what is past is forgotten
    assert_int_equal(stages.count[TARN_STAGE_STEP], 201);
}

// ----------------------------------------------------------------------------------------------------------- traffic

enum { TRAFFIC_LAYERS = 2 };

static tarn_stream_traffic traffic;

/// Some seconds of 30 frames each: base and extra frames of 1000 bytes a layer in turns, each second a key frame of
/// 3000 in the place of a base frame, and 100 particles a layer.
static void flow(uint64_t *now_ns, int seconds)
{
    for (int i = 0; i < 30 * seconds; i++) {
        tarn_fanout_frame frame = {.kind = i % 30 == 0 ? TARN_STREAM_KEY
                                           : i % 2     ? TARN_STREAM_EXTRA
                                                       : TARN_STREAM_BASE};
        frame.layer_count = TRAFFIC_LAYERS;
        for (uint32_t l = 0; l < TRAFFIC_LAYERS; l++) {
            frame.cut_bytes[l] = (frame.kind == TARN_STREAM_KEY ? 3000 : 1000) * (l + 1);
            frame.particles[l] = 100 * (l + 1);
        }
        frame.plain_bytes = frame.cut_bytes[TRAFFIC_LAYERS - 1];
        frame.cut_bytes[TRAFFIC_LAYERS - 1] += frame.plain_bytes; // a field's details
        *now_ns += 1000000000u / 30;
        tarn_stream_traffic_note(&traffic, &frame, *now_ns);
    }
}

static void test_ceilings_leave_what_fits(void **state)
{
    (void)state;
    // All: 64 kB/s = 0.51 Mbit/s, 30 frames/s, 200 particles. Without extra frames: 0.27, 15; of one layer: 0.14, 100
    // particles. Key frames: 0.05, of one layer 0.02.
    static const struct {
        tarn_view view;
        uint32_t level;
        int keys_only;
        uint64_t spacing_ms[2]; ///< at least, at most
    } cases[] = {
        {{.mbit_per_s = 0}, UINT32_MAX, 0, {0, 0}},
        {{.mbit_per_s = 0.60f, .frames_per_s = 31, .particles = 200}, UINT32_MAX, 0, {32, 32}},
        {{.mbit_per_s = 0.42f}, UINT32_MAX, 0, {36, 46}}, // and 0.6 of the extra frames
        {{.mbit_per_s = 0.285f}, 1, 0, {0, 0}},
        {{.frames_per_s = 20}, UINT32_MAX, 0, {48, 51}},
        {{.frames_per_s = 15}, 1, 0, {0, 0}},
        {{.particles = 199}, 0, 0, {0, 0}},
        {{.particles = 1}, 0, 0, {0, 0}}, // the first layer, whatever it has
        {{.mbit_per_s = 0.20f}, 0, 0, {0, 0}},
        {{.frames_per_s = 5}, 1, 1, {0, 0}}, // few frames are no reason for fewer particles
        {{.frames_per_s = 5, .particles = 199}, 0, 1, {0, 0}},
        {{.mbit_per_s = 0.10f}, 1, 1, {0, 0}},
        {{.mbit_per_s = 0.03f}, 0, 1, {0, 0}},
        {{.mbit_per_s = 0.001f}, 0, 1, {0, 0}},
        {{.mbit_per_s = 0.75f, .field = "speed"}, UINT32_MAX, 0, {40, 56}}, // twice the bytes
        {{.mbit_per_s = 1.10f, .field = "speed"}, UINT32_MAX, 0, {0, 0}},
    };
    uint64_t now_ns = ms(5000);
    tarn_stream_traffic_init(&traffic);
    assert_int_equal(tarn_stream_traffic_share(&traffic, &cases[8].view, now_ns).level, UINT32_MAX);
    for (int seconds = 1; seconds < 9; seconds += 3) {
        flow(&now_ns, seconds);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            const tarn_stream_share share = tarn_stream_traffic_share(&traffic, &cases[i].view, now_ns);
            if (share.level != cases[i].level || share.keys_only != cases[i].keys_only ||
                share.spacing_ns / 1000000 < cases[i].spacing_ms[0] ||
                share.spacing_ns / 1000000 > cases[i].spacing_ms[1]) {
                fail_msg("case %zu: level %u, key frames only %d, extra ones %g ms apart", i, share.level,
                         share.keys_only, 1e-6 * (double)share.spacing_ns);
            }
        }
    }
}

static void test_what_came_before_a_pause_says_nothing(void **state)
{
    (void)state;
    const tarn_view view = {.mbit_per_s = 0.20f};
    uint64_t now_ns = ms(5000);
    tarn_stream_traffic_init(&traffic);
    flow(&now_ns, 3);
    now_ns += ms(60000);
    flow(&now_ns, 1);
    assert_int_equal(tarn_stream_traffic_share(&traffic, &view, now_ns).level, 0);
}

static void test_a_young_stream_knows_its_particles_only(void **state)
{
    (void)state;
    uint64_t now_ns = ms(5000);
    tarn_fanout_frame key = {
        .kind = TARN_STREAM_KEY, .layer_count = 2, .cut_bytes = {9000, 18000}, .plain_bytes = 18000};
    key.particles[0] = 100;
    key.particles[1] = 200;
    tarn_stream_traffic_init(&traffic);
    tarn_stream_traffic_note(&traffic, &key, now_ns);
    const tarn_view slow = {.mbit_per_s = 0.1f}, few = {.particles = 150};
    assert_int_equal(tarn_stream_traffic_share(&traffic, &slow, now_ns + ms(33)).level, UINT32_MAX);
    assert_int_equal(tarn_stream_traffic_share(&traffic, &few, now_ns + ms(33)).level, 0);
}

// -------------------------------------------------------------------------------------------------------------- rate

enum { LAYERS = 4 };

static tarn_viewer_rate rate;

static void acknowledge(uint64_t now_ns, uint64_t sent_ns, uint64_t queue_ns)
{
    const uint64_t late_ns = tarn_viewer_rate_lateness(&rate, sent_ns, now_ns, false);
    tarn_viewer_rate_acknowledged(&rate, sent_ns, now_ns, late_ns, queue_ns);
}

/// A second of frames, each acknowledged so many milliseconds after it was sent; a key frame first.
/// @return the layers of that key frame
static uint32_t live_a_second(uint64_t *now_ns, uint64_t delay_ms)
{
    const uint32_t layers = tarn_viewer_rate_layers(&rate, TARN_STREAM_KEY, LAYERS);
    for (int i = 0; i < 20; i++) {
        *now_ns += ms(50);
        acknowledge(*now_ns, *now_ns - ms(delay_ms), UINT64_MAX);
        assert_true(tarn_viewer_rate_layers(&rate, TARN_STREAM_BASE, LAYERS) <= layers);
    }
    return layers;
}

static int begin_rate(void **state)
{
    (void)state;
    tarn_viewer_rate_init(&rate);
    return 0;
}

static void test_a_viewer_gets_everything_however_far_away_it_is(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    for (int s = 0; s < 30; s++) {
        assert_int_equal(live_a_second(&now_ns, 300), LAYERS);
        assert_false(tarn_viewer_rate_skips_extras(&rate));
    }
}

static void test_a_queue_costs_extra_frames_first_and_then_layers(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    live_a_second(&now_ns, 20);
    tarn_viewer_rate_layers(&rate, TARN_STREAM_KEY, LAYERS);
    for (int i = 0; i < 21; i++) { // one whole look of it, and no other
        now_ns += ms(50);
        acknowledge(now_ns, now_ns - ms(90), UINT64_MAX);
    }
    assert_true(tarn_viewer_rate_skips_extras(&rate));
    assert_int_equal(tarn_viewer_rate_layers(&rate, TARN_STREAM_BASE, LAYERS), LAYERS);
    live_a_second(&now_ns, 90);
    assert_true(tarn_viewer_rate_layers(&rate, TARN_STREAM_BASE, LAYERS) < LAYERS);
    for (int s = 0; s < 3; s++) {
        live_a_second(&now_ns, 90);
    }
    assert_int_equal(tarn_viewer_rate_layers(&rate, TARN_STREAM_BASE, LAYERS), 1); // and no fewer
}

static void test_single_late_frames_and_small_queues_cost_nothing(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    live_a_second(&now_ns, 20);
    for (int i = 0; i < 400; i++) {
        now_ns += ms(50);
        acknowledge(now_ns, now_ns - ms(i % 4 == 0 ? 60 : 400), UINT64_MAX);
    }
    assert_false(tarn_viewer_rate_skips_extras(&rate));
}

static void test_layers_come_back_with_key_frames_after_a_calm_time(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    live_a_second(&now_ns, 20);
    for (int s = 0; s < 4; s++) {
        live_a_second(&now_ns, 200);
    }
    uint32_t before = live_a_second(&now_ns, 20), seconds = 0;
    assert_int_equal(before, 1);
    while (tarn_viewer_rate_skips_extras(&rate)) {
        const uint32_t layers = live_a_second(&now_ns, 20); // asserts that no layer comes between key frames
        assert_in_range(layers, before, before + 1);
        before = layers;
        seconds++;
        assert_true(seconds < 30);
    }
    assert_true(seconds >= LAYERS * TARN_VIEWER_RATE_RAISE_MS / 1000 - 2);
    assert_int_equal(live_a_second(&now_ns, 20), LAYERS);
}

static void test_late_acknowledgements_without_a_queue_cost_nothing(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    live_a_second(&now_ns, 20);
    for (int i = 0; i < 100; i++) {
        now_ns += ms(50);
        acknowledge(now_ns, now_ns - ms(500), ms(i % 4 == 0 ? 0 : 80));
    }
    assert_false(tarn_viewer_rate_skips_extras(&rate));
    for (int i = 0; i < 40; i++) {
        now_ns += ms(50);
        acknowledge(now_ns, now_ns - ms(500), ms(80));
    }
    assert_true(tarn_viewer_rate_skips_extras(&rate));
}

static void test_a_viewer_gets_no_more_than_it_wants(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    live_a_second(&now_ns, 20);
    const tarn_stream_share few = {.level = 1}, all = {.level = UINT32_MAX};
    tarn_viewer_rate_bound(&rate, &few);
    assert_true(tarn_viewer_rate_skips_extras(&rate));
    assert_int_equal(live_a_second(&now_ns, 20), 2);
    tarn_viewer_rate_bound(&rate, &all);
    assert_int_equal(live_a_second(&now_ns, 20), LAYERS);
    assert_false(tarn_viewer_rate_skips_extras(&rate));
}

/// Steps of a sixtieth with frames each, every fourth a base frame, to a viewer. @return how many it gets in a second
static uint32_t send_frames(uint64_t *now_ns, uint32_t seconds, uint64_t delay_ms)
{
    uint32_t sent = 0;
    for (uint32_t i = 0; i < 60 * seconds; i++) {
        *now_ns += 1000000000u / 60;
        const uint64_t at_ns = *now_ns + ms(i * 7 % 5);
        if (i % 4 == 0 || tarn_viewer_rate_takes_extra(&rate, at_ns)) {
            tarn_viewer_rate_sent(&rate, at_ns);
            acknowledge(at_ns + ms(delay_ms), at_ns, UINT64_MAX);
            sent++;
        }
    }
    return sent / seconds;
}

static void test_extra_frames_keep_to_a_viewers_ceiling(void **state)
{
    (void)state;
    static const struct {
        float frames_per_s;
        uint32_t least, most;
    } cases[] = {{0, 60, 60}, {60, 59, 60}, {45, 43, 46}, {30, 29, 31}, {20, 19, 21}, {15, 15, 16}};
    uint64_t now_ns = ms(100000);
    tarn_viewer_rate_layers(&rate, TARN_STREAM_KEY, LAYERS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const float per_s = cases[i].frames_per_s;
        const tarn_stream_share share = {UINT32_MAX, 0, per_s > 0 ? (uint64_t)(1e9 / (double)per_s) : 0};
        tarn_viewer_rate_bound(&rate, &share);
        assert_in_range(send_frames(&now_ns, 8, 5), cases[i].least, cases[i].most);
    }
}

/// A way that takes 30 frames a second and not 60 goes on with 30, not with 15.
static void test_a_queue_of_close_frames_costs_every_other_first(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    tarn_viewer_rate_layers(&rate, TARN_STREAM_KEY, LAYERS);
    assert_int_equal(send_frames(&now_ns, 2, 5), 60);
    for (int i = 0; send_frames(&now_ns, 1, 90) > 50; i++) {
        assert_true(i < 3);
    }
    assert_false(tarn_viewer_rate_skips_extras(&rate));
    assert_in_range(send_frames(&now_ns, 1, 5), 29, 31);
    now_ns += ms(TARN_VIEWER_RATE_RAISE_MS);
    send_frames(&now_ns, 2, 5);
    assert_int_equal(send_frames(&now_ns, 1, 5), 60);
}

static void test_an_idle_way_brings_back_what_was_left_out(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    uint32_t shown = 1;
    live_a_second(&now_ns, 20);
    assert_false(tarn_viewer_rate_idle(&rate, now_ns)); // it has everything
    for (int s = 0; s < 4; s++) {
        live_a_second(&now_ns, 200);
    }
    assert_int_equal(tarn_viewer_rate_layers(&rate, TARN_STREAM_KEY, LAYERS), 1);
    for (int s = 0; s < 40; s++) {
        now_ns += ms(1000);
        if (!tarn_viewer_rate_idle(&rate, now_ns)) {
            continue;
        }
        const uint32_t layers = tarn_viewer_rate_layers(&rate, TARN_STREAM_KEY, LAYERS);
        assert_int_equal(layers, shown + 1);
        shown = layers;
    }
    assert_int_equal(shown, LAYERS);
    const tarn_stream_share few = {.level = 1};
    tarn_viewer_rate_bound(&rate, &few);
    tarn_viewer_rate_layers(&rate, TARN_STREAM_KEY, LAYERS);
    assert_false(tarn_viewer_rate_idle(&rate, now_ns + ms(100000))); // it wants no more
}

static void test_who_loses_the_chain_by_being_slow_does_without_one_thing_more(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    live_a_second(&now_ns, 20);
    for (int i = 0; i < 2 * LAYERS; i++) {
        tarn_viewer_rate_lost(&rate, now_ns); // it answers as fast as ever: it is far away, no more
    }
    assert_false(tarn_viewer_rate_skips_extras(&rate));
    for (int i = 0; i < 40; i++) { // busy, without a queue on the way
        now_ns += ms(50);
        acknowledge(now_ns, now_ns - ms(300), 0);
    }
    tarn_viewer_rate_lost(&rate, now_ns);
    assert_true(tarn_viewer_rate_skips_extras(&rate));
    assert_int_equal(live_a_second(&now_ns, 300), LAYERS);
    for (int i = 0; i < 2 * LAYERS; i++) {
        tarn_viewer_rate_lost(&rate, now_ns);
    }
    assert_int_equal(live_a_second(&now_ns, 300), 1);
}

static void test_more_frames_are_on_a_long_way(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    assert_int_equal(tarn_viewer_rate_in_flight_max(&rate), TARN_VIEWER_RATE_IN_FLIGHT_MIN);
    live_a_second(&now_ns, 20);
    assert_int_equal(tarn_viewer_rate_in_flight_max(&rate), TARN_VIEWER_RATE_IN_FLIGHT_MIN);
    begin_rate(state);
    live_a_second(&now_ns, 150);
    assert_int_equal(tarn_viewer_rate_in_flight_max(&rate), TARN_VIEWER_RATE_IN_FLIGHT_MIN + 2);
    begin_rate(state);
    live_a_second(&now_ns, 2000);
    assert_int_equal(tarn_viewer_rate_in_flight_max(&rate), TARN_VIEWER_RATE_IN_FLIGHT_MAX);
}

/// A way that holds two layers: whether more fit is asked ever more rarely.
static void test_what_was_too_much_comes_back_ever_more_slowly(void **state)
{
    (void)state;
    uint64_t now_ns = ms(100000);
    uint32_t raised[2] = {0}, layers = LAYERS;
    live_a_second(&now_ns, 20);
    for (uint32_t i = 0; i < 20 * 240; i++) {
        const uint32_t before = layers;
        layers = tarn_viewer_rate_layers(&rate, i % 20 == 0 ? TARN_STREAM_KEY : TARN_STREAM_BASE, LAYERS);
        raised[i / (20 * 120)] += layers > before && layers > 2;
        now_ns += ms(50);
        acknowledge(now_ns, now_ns - ms(layers > 2 ? 120 : 20), UINT64_MAX);
    }
    assert_true(raised[0] > raised[1]);
    assert_in_range(raised[1], 1, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frame_that_others_refer_to_waits_until_it_is_sent),
        cmocka_unit_test(test_a_frame_may_be_made_while_another_is_sent),
        cmocka_unit_test_setup_teardown(test_who_keeps_up_gets_every_frame_and_who_is_late_the_chain, begin_fanout,
                                        end_fanout),
        cmocka_unit_test_setup_teardown(test_who_comes_to_a_slow_tank_looks_at_the_last_key_frame, begin_fanout,
                                        end_fanout),
        cmocka_unit_test_setup_teardown(test_who_is_too_late_waits_for_a_key_frame, begin_fanout, end_fanout),
        cmocka_unit_test_setup_teardown(test_who_begins_again_gets_nothing_older, begin_fanout, end_fanout),
        cmocka_unit_test_setup_teardown(test_a_frame_that_moves_another_than_the_newest_ends_the_chain, begin_fanout,
                                        end_fanout),
        cmocka_unit_test_setup_teardown(test_frames_of_another_epoch_and_wrong_ones_are_refused, begin_fanout,
                                        end_fanout),
        cmocka_unit_test_setup_teardown(test_a_frame_that_was_begun_elsewhere_is_not_taken, begin_fanout, end_fanout),
        cmocka_unit_test_setup(test_a_viewer_gets_everything_however_far_away_it_is, begin_rate),
        cmocka_unit_test_setup(test_a_queue_costs_extra_frames_first_and_then_layers, begin_rate),
        cmocka_unit_test_setup(test_single_late_frames_and_small_queues_cost_nothing, begin_rate),
        cmocka_unit_test(test_stages_that_are_out_of_order_or_too_long_are_not_believed),
        cmocka_unit_test(test_stages_are_the_times_between_stamps),
        cmocka_unit_test(test_ceilings_leave_what_fits),
        cmocka_unit_test(test_what_came_before_a_pause_says_nothing),
        cmocka_unit_test(test_a_young_stream_knows_its_particles_only),
        cmocka_unit_test_setup(test_a_viewer_gets_no_more_than_it_wants, begin_rate),
        cmocka_unit_test_setup(test_extra_frames_keep_to_a_viewers_ceiling, begin_rate),
        cmocka_unit_test_setup(test_a_queue_of_close_frames_costs_every_other_first, begin_rate),
        cmocka_unit_test_setup(test_an_idle_way_brings_back_what_was_left_out, begin_rate),
        cmocka_unit_test_setup(test_late_acknowledgements_without_a_queue_cost_nothing, begin_rate),
        cmocka_unit_test_setup(test_who_loses_the_chain_by_being_slow_does_without_one_thing_more, begin_rate),
        cmocka_unit_test_setup(test_more_frames_are_on_a_long_way, begin_rate),
        cmocka_unit_test_setup(test_layers_come_back_with_key_frames_after_a_calm_time, begin_rate),
        cmocka_unit_test_setup(test_what_was_too_much_comes_back_ever_more_slowly, begin_rate),
    };
    return cmocka_run_group_tests_name("stream_parts", tests, NULL, NULL);
}
