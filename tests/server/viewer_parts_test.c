// What is on its way to one viewer, and how long the way is.
#include "server/gateway/viewer/rate.h"
#include "tests/server/test_cmocka.h"

enum { LAYERS = 4, FRAME_MS = 50 };

static uint64_t ms(uint64_t count)
{
    return count * 1000000;
}

static bool take(tarn_viewer_flight *flight, uint32_t epoch, uint64_t step, uint32_t number)
{
    tarn_viewer_landing landing;
    return tarn_viewer_flight_land(flight, &(tarn_ack){.epoch = epoch, .step = step, .number = number}, &landing);
}

static void test_an_acknowledgement_takes_its_frame_and_all_before(void **state)
{
    (void)state;
    tarn_viewer_flight flight = {0};
    tarn_viewer_landing landing;
    for (uint32_t i = 0; i < 4; i++) {
        tarn_viewer_flight_put(&flight, 1, 10 + i, 100 + i, ms(i));
    }
    assert_false(take(&flight, 2, 101, 11)); // of another epoch
    assert_false(take(&flight, 1, 99, 9));
    assert_int_equal(flight.count, 4);
    assert_true(tarn_viewer_flight_land(&flight, &(tarn_ack){1, 101, 11, 0}, &landing));
    assert_int_equal(landing.sent_ns, ms(1));
    assert_false(landing.is_alone);
    assert_int_equal(flight.count, 2);
    assert_true(take(&flight, 1, 103, 0)); // by its step
    assert_int_equal(flight.count, 0);
    tarn_viewer_flight_put(&flight, 1, 20, 104, ms(9));
    assert_true(tarn_viewer_flight_land(&flight, &(tarn_ack){1, 104, 20, 0}, &landing));
    assert_true(landing.is_alone);
}

static void test_frames_of_one_step_are_told_apart_by_their_numbers(void **state)
{
    (void)state;
    tarn_viewer_flight flight = {0};
    tarn_viewer_flight_put(&flight, 1, 7, 100, ms(1));
    tarn_viewer_flight_put(&flight, 1, 8, 100, ms(2)); // of a tank that was paused there
    assert_true(take(&flight, 1, 100, 7));
    assert_int_equal(flight.count, 1);
    assert_int_equal(flight.frames[0].number, 8);
}

/// Lets frames come and go for some time. @return things that are left out at the end
static uint32_t live(tarn_viewer_rate *rate, uint64_t *now_ns, uint64_t seconds, uint64_t way_ms, uint64_t queue_ms)
{
    for (uint64_t i = 0; i < seconds * 1000 / FRAME_MS; i++) {
        // What waits for everything before it meets no queue of ours.
        const bool is_alone = tarn_viewer_rate_in_flight_max(rate) == 1;
        const uint64_t sent_ns = *now_ns - ms(way_ms + (is_alone ? 0 : queue_ms));
        tarn_viewer_rate_layers(rate, i % 20 ? TARN_STREAM_BASE : TARN_STREAM_KEY, LAYERS);
        const uint64_t late_ns = tarn_viewer_rate_lateness(rate, sent_ns, *now_ns, is_alone);
        tarn_viewer_rate_acknowledged(rate, sent_ns, *now_ns, late_ns, UINT64_MAX);
        *now_ns += ms(FRAME_MS);
    }
    return LAYERS + 1 - rate->level;
}

static void test_a_queue_that_stands_for_long_does_not_pass_for_the_way(void **state)
{
    (void)state;
    tarn_viewer_rate rate;
    uint64_t now_ns = ms(100000);
    tarn_viewer_rate_init(&rate);
    assert_int_equal(live(&rate, &now_ns, 5, 20, 0), 0);
    for (int i = 0; i < 60; i += 5) {
        live(&rate, &now_ns, 5, 20, 300);
        assert_int_equal(rate.level, 0);
    }
    assert_int_equal(live(&rate, &now_ns, 90, 20, 0), 0); // and once it is gone all comes back
}

static void test_a_way_that_has_become_longer_costs_nothing_in_the_long_run(void **state)
{
    (void)state;
    tarn_viewer_rate rate;
    uint64_t now_ns = ms(100000);
    tarn_viewer_rate_init(&rate);
    live(&rate, &now_ns, 5, 20, 0);
    assert_true(live(&rate, &now_ns, 5, 220, 0) > 0); // which looks like a queue at first
    assert_int_equal(live(&rate, &now_ns, 60, 220, 0), 0);
    assert_int_equal(rate.least_ns, ms(220));
    assert_true(tarn_viewer_rate_in_flight_max(&rate) > TARN_VIEWER_RATE_IN_FLIGHT_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_acknowledgement_takes_its_frame_and_all_before),
        cmocka_unit_test(test_frames_of_one_step_are_told_apart_by_their_numbers),
        cmocka_unit_test(test_a_queue_that_stands_for_long_does_not_pass_for_the_way),
        cmocka_unit_test(test_a_way_that_has_become_longer_costs_nothing_in_the_long_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
