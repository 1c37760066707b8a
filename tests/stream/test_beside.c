// A frame that has begun is of the tank as it was then, whatever the tank does before it is finished.
#include "tests/kernels/tank_acts.h"
#include "tests/stream/encoder_stage.h"
#include "tests/stream/frames_beside.h"
#include "tests/stream/late_queue.h"

#include <stdlib.h>
#include <string.h>

static void steps_change_no_frame(void **state)
{
    (void)state;
    for (int f = 0; f < TANK_FIXTURE_TINY; f++) {
        char why[256];
        if (!frames_beside_same(&one_thread, &tank_fixtures[f], 12, true, why)) {
            fail_msg("%s: %s", tank_fixtures[f].name, why);
        }
    }
}

/// A stage whose encoder's queue is late.
static stage open_late(uint32_t fixture)
{
    stage s = {.epoch = 1, .bytes = malloc(FRAME_BYTES_MAX)};
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    char why[256] = "";
    tank_fixtures[fixture].describe(&desc);
    tarn_encoder_desc_default(&how);
    assert_int_equal(tarn_device_create(&one_thread, &s.device), TARN_OK);
    assert_int_equal(tarn_tank_create(s.device, &desc, &s.tank, why, sizeof why), TARN_OK);
    late_queue_next(s.device);
    assert_int_equal(tarn_encoder_create(s.tank, &how, &s.encoder), TARN_OK);
    return s;
}

static void close_late(stage *s)
{
    tarn_encoder_destroy(s->encoder);
    s->encoder = NULL;
    late_queue_end(s->device);
    close_stage(s);
}

static void begin(stage *s, tarn_stream_kind kind)
{
    const tarn_tank_frame_info info = {.epoch = s->epoch, .realtime_factor = 1.0f};
    assert_int_equal(tarn_encoder_begin(s->encoder, kind, &info), TARN_OK);
    assert_true(tarn_encoder_is_begun(s->encoder));
    assert_false(tarn_encoder_is_done(s->encoder));
}

static void finish(stage *s, tarn_stream_kind kind)
{
    assert_int_equal(tarn_encoder_finish(s->encoder, s->bytes, FRAME_BYTES_MAX, &s->head), TARN_OK);
    assert_int_equal(s->head.kind, kind);
    assert_false(tarn_encoder_is_begun(s->encoder));
}

/// What replaces all particles doesn't reach the frame that has begun; what comes then refers to nothing.
static void a_tank_that_starts_afresh_changes_no_frame(void **state)
{
    (void)state;
    uint8_t *expected = malloc(FRAME_BYTES_MAX);
    uint32_t bytes = 0;
    for (int is_late = 0; is_late < 2; is_late++) {
        stage s = open_late(0);
        assert_int_equal(act_step(s.tank, NULL, 0), TARN_OK);
        assert_int_equal(encode(&s, TARN_STREAM_KEY), TARN_STREAM_KEY);
        assert_int_equal(act_step(s.tank, NULL, 0), TARN_OK);
        begin(&s, TARN_STREAM_BASE);
        if (is_late) {
            assert_int_equal(tarn_tank_reset(s.tank), TARN_OK);
        }
        finish(&s, TARN_STREAM_BASE);
        if (is_late) {
            assert_int_equal(s.head.frame_bytes, bytes);
            assert_memory_equal(s.bytes, expected, bytes);
            assert_int_equal(encode(&s, TARN_STREAM_BASE), TARN_STREAM_KEY);
        }
        bytes = s.head.frame_bytes;
        memcpy(expected, s.bytes, bytes);
        close_late(&s);
    }
    free(expected);
}

/// A frame that is dropped has made no reference, nor one whose encoder goes while it is coded.
static void a_dropped_frame_is_followed_by_a_key_frame(void **state)
{
    (void)state;
    stage s = open_late(0);
    assert_int_equal(act_step(s.tank, NULL, 0), TARN_OK);
    tarn_encoder_drop(s.encoder); // none has begun
    assert_int_equal(encode(&s, TARN_STREAM_KEY), TARN_STREAM_KEY);
    for (int k = 0; k < 3; k++) {
        const uint32_t number = tarn_encoder_number(s.encoder);
        assert_int_equal(act_step(s.tank, NULL, 0), TARN_OK);
        begin(&s, (tarn_stream_kind)k);
        tarn_encoder_drop(s.encoder);
        assert_int_equal(late_queue_waiting(), 0);
        assert_int_equal(encode(&s, TARN_STREAM_EXTRA), TARN_STREAM_KEY);
        assert_int_equal(tarn_encoder_number(s.encoder), number + 2);
        assert_int_equal(show(&s, 4), TARN_OK);
        assert_int_equal(s.seen.count, particle_count(&s));
        assert_int_equal(encode(&s, TARN_STREAM_BASE), TARN_STREAM_BASE);
        assert_int_equal(show(&s, 4), TARN_OK);
        assert_int_equal(s.seen.count, particle_count(&s));
    }
    begin(&s, TARN_STREAM_BASE);
    close_late(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_change_no_frame),
        cmocka_unit_test(a_tank_that_starts_afresh_changes_no_frame),
        cmocka_unit_test(a_dropped_frame_is_followed_by_a_key_frame),
    };
    return cmocka_run_group_tests_name("beside", tests, NULL, NULL);
}
