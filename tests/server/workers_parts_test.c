// Several workers: which devices are meant, and where a tank goes.
#include "server/base/devices.h"
#include "server/gateway/worker/placement.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <string.h>

static void test_words_for_devices_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text, *written;
        uint32_t count, cpus;
    } right[] = {{"auto", "auto", 1, 0},         {"cpu", "cpu", 1, 1},           {"cuda", "cuda:0", 1, 0},
                 {"cuda:63", "cuda:63", 1, 0},   {"cpu,cpu,cpu", "cpu", 3, 3},   {"cuda:7,cuda:0", "cuda:7", 2, 0},
                 {"cuda:1,cpu", "cuda:1", 2, 1}, {"cuda,cuda:1", "cuda:0", 2, 0}};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        tarn_device_list list;
        char why[TARN_DEVICE_WHY_BYTES], word[TARN_DEVICE_WORD_BYTES];
        assert_true(tarn_device_list_read(right[i].text, &list, why));
        assert_int_equal(list.count, right[i].count);
        assert_int_equal(tarn_device_list_cpus(&list), right[i].cpus);
        tarn_device_word_write(&list.devices[0], word);
        assert_string_equal(word, right[i].written);
    }
}

static void test_other_words_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"", "found \"\""},
        {"gpu", "found \"gpu\""},
        {"cpu,", "found \"\""},
        {"cpu,,cpu", "found \"\""},
        {"cpu cpu", "found \"cpu cpu\""},
        {"cuda:", "found \"cuda:\""},
        {"cuda:64", "found \"cuda:64\""},
        {"cuda:01", "found \"cuda:01\""},
        {"cuda:-1", "found \"cuda:-1\""},
        {"cuda:4294967296", "found \"cuda:4294967296\""},
        {"auto,cpu", "auto alone"},
        {"cuda,cuda:0", "allowed is each once"},
        {"cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu", "more than 16"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tarn_device_list list;
        char why[TARN_DEVICE_WHY_BYTES] = "";
        if (tarn_device_list_read(wrong[i].text, &list, why) || strstr(why, wrong[i].why) == NULL) {
            fail_msg("\"%s\": \"%s\" does not say \"%s\"", wrong[i].text, why, wrong[i].why);
        }
    }
}

/// A worker that is up and takes four tanks.
static tarn_placement_worker up(uint32_t tank_count, double share, uint64_t particles)
{
    return (tarn_placement_worker){.is_up = true,
                                   .tank_count = tank_count,
                                   .tanks_max = 4,
                                   .tanks_anyhow = 4,
                                   .share = share,
                                   .particles = particles};
}

static void test_a_tank_goes_where_the_least_is_done(void **state)
{
    (void)state;
    // Time that was measured comes first, however many particles rest elsewhere.
    const tarn_placement_worker busy[] = {up(1, 0.9, 1000), up(3, 0.2, 5000000), up(2, 0.4, 10)};
    assert_int_equal(tarn_placement_choose(busy, 3), 1);
    // What differs by less than the measurement does is equal: particles, then tanks, then the order decide.
    const tarn_placement_worker resting[] = {up(1, 0.01, 2000), up(3, 0.02, 1000), up(1, 0, 1001)};
    assert_int_equal(tarn_placement_choose(resting, 3), 1);
    const tarn_placement_worker counted[] = {up(2, 0, 50), up(1, 0, 50), up(1, 0, 50)};
    assert_int_equal(tarn_placement_choose(counted, 3), 1);
    const tarn_placement_worker empty[] = {up(0, 0, 0), up(0, 0, 0)};
    assert_int_equal(tarn_placement_choose(empty, 2), 0);
}

static void test_a_tank_goes_to_no_worker_that_is_down_or_full(void **state)
{
    (void)state;
    tarn_placement_worker workers[] = {up(0, 0, 0), up(4, 0, 0), up(3, 0.9, 9)};
    workers[0].is_up = false;
    assert_int_equal(tarn_placement_choose(workers, 3), 2);
    workers[2].tank_count = 4;
    assert_int_equal(tarn_placement_choose(workers, 3), -1);
    assert_int_equal(tarn_placement_choose(workers, 0), -1);
}

/// Beyond a few tanks it counts what they cost, also those that rest.
static void test_a_tank_goes_to_no_worker_whose_tanks_cost_too_much(void **state)
{
    (void)state;
    tarn_placement_worker worker = {.is_up = true,
                                    .tank_count = 60,
                                    .tanks_max = 256,
                                    .tanks_anyhow = 16,
                                    .known_count = 60,
                                    .cost = 0.87,
                                    .cost_max = 0.9};
    assert_int_equal(tarn_placement_choose(&worker, 1), 0); // 61 of them cost 0.88
    worker.cost = 0.886;
    assert_true(tarn_placement_is_busy(&worker)); // 61 cost 0.9008
    assert_int_equal(tarn_placement_choose(&worker, 1), -1);
    worker.tank_count = worker.known_count = 15;
    worker.cost = 40;
    assert_int_equal(tarn_placement_choose(&worker, 1), 0);
    // Those of which nothing is known don't count.
    worker = (tarn_placement_worker){true, 100, 256, 16, 10, 0.8, 0.9, 0, 0};
    assert_int_equal(tarn_placement_choose(&worker, 1), 0);
    worker.cost = 0.82;
    assert_int_equal(tarn_placement_choose(&worker, 1), -1);
    worker.known_count = 0;
    worker.cost = 0;
    assert_int_equal(tarn_placement_choose(&worker, 1), 0);
    const tarn_placement_worker other = {.is_up = true, .tank_count = 20, .tanks_max = 256, .tanks_anyhow = 16};
    worker.known_count = 10;
    worker.cost = 0.9;
    const tarn_placement_worker both[] = {worker, other};
    assert_int_equal(tarn_placement_choose(both, 2), 1);
}

static void test_a_share_is_what_steps_took(void **state)
{
    (void)state;
    const tarn_ipc_report before = {.step = 100}, now = {.step = 160, .cost_s = 0.01f};
    assert_float_equal(tarn_placement_share(&before, &now, 1), 60 * 0.01, 1e-6);
    assert_float_equal(tarn_placement_share(&before, &now, 2), 60 * 0.01 / 2, 1e-6);
    assert_float_equal(tarn_placement_cost(&now, 0.02, 1), 0.5, 1e-6);
    assert_float_equal(tarn_placement_cost(&now, 0.02, 0.5), 0.25, 1e-6);
    const tarn_ipc_report rests = {.step = 100, .cost_s = 0.01f}, afresh = {.step = 5, .cost_s = 0.005f};
    assert_true(tarn_placement_share(&before, &rests, 1) == 0);
    assert_true(tarn_placement_share(&before, &afresh, 1) == 0);
    // No worker takes more than all of its time, or none at all, whatever it says.
    const tarn_ipc_report lies[] = {{.step = UINT64_MAX, .cost_s = 3e38f}, {.step = 101, .cost_s = -3e38f}};
    assert_true(tarn_placement_share(&before, &lies[0], 1) == 1);
    assert_true(tarn_placement_share(&before, &lies[1], 1) == 0);
    assert_true(tarn_placement_share(&before, &now, 0) == 0);
    assert_true(tarn_placement_cost(&lies[0], 0.02, 1) == 1);
    assert_true(tarn_placement_cost(&lies[1], 0.02, 1) == 0);
    assert_true(tarn_placement_cost(&now, 0, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_for_devices_are_read_and_written),
        cmocka_unit_test(test_other_words_are_refused),
        cmocka_unit_test(test_a_tank_goes_where_the_least_is_done),
        cmocka_unit_test(test_a_tank_goes_to_no_worker_that_is_down_or_full),
        cmocka_unit_test(test_a_tank_goes_to_no_worker_whose_tanks_cost_too_much),
        cmocka_unit_test(test_a_share_is_what_steps_took),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
