// The run-length code of motion's grids: what is coded comes back, whatever else is refused.
#include "protocol/motion_code.h"
#include "tests/protocol/test_support.h"

#include <stdlib.h>
#include <string.h>

static uint8_t planes[TARN_MOTION_BYTES_MAX], back[TARN_MOTION_BYTES_MAX + 1], code[2 * TARN_MOTION_BYTES_MAX];

static uint32_t seed = 1;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * limit >> 32);
}

/// Runs of lengths up to `most`, of a few values.
static void fill_runs(size_t count, uint32_t most)
{
    for (size_t at = 0; at < count;) {
        const uint8_t value = (uint8_t)random_below(4);
        for (uint32_t left = 1 + random_below(most); left > 0 && at < count; left--) {
            planes[at++] = value;
        }
    }
}

static void what_is_coded_comes_back(void **state)
{
    (void)state;
    for (int round = 0; round < 4000; round++) {
        const size_t count = 1 + random_below(round < 3900 ? 700 : TARN_MOTION_BYTES_MAX);
        fill_runs(count, 1 + random_below(300));
        const size_t bytes = tarn_motion_encode(planes, count, code, sizeof code);
        assert_true(bytes > 0 && bytes <= count + (count + 127) / 128);
        back[count] = 77;
        assert_int_equal(tarn_motion_decode(code, bytes, NULL, count), TARN_OK);
        assert_int_equal(tarn_motion_decode(code, bytes, back, count), TARN_OK);
        assert_memory_equal(back, planes, count);
        assert_int_equal(back[count], 77);
        assert_int_equal(tarn_motion_encode(planes, count, code, bytes - 1), 0);
        size_t last = count;
        while (last > 0 && planes[last - 1] == 0) {
            last--;
        }
        tarn_motion_encode(planes, count, code, sizeof code);
        assert_int_equal(tarn_motion_has(code, bytes, 0), last > 0);
        assert_true(last == 0 || tarn_motion_has(code, bytes, last - 1));
        assert_false(tarn_motion_has(code, bytes, last));
    }
}

static void nothing_takes_little(void **state)
{
    (void)state;
    memset(planes, 0, sizeof planes);
    assert_true(tarn_motion_encode(planes, sizeof planes, code, sizeof code) <= 2 * ((sizeof planes + 127) / 128));
}

/// Any bytes, in memory of exactly their size.
static void rubbish_is_refused_or_gives_all(void **state)
{
    (void)state;
    int taken = 0;
    for (int round = 0; round < 200000; round++) {
        const size_t bytes = random_below(12), count = 1 + random_below(40);
        uint8_t *exact = malloc(bytes + (bytes == 0)), *room = malloc(count);
        for (size_t i = 0; i < bytes; i++) {
            exact[i] = (uint8_t)(random_below(3) == 0 ? random_below(256) : random_below(5));
        }
        const tarn_status checked = tarn_motion_decode(exact, bytes, NULL, count);
        assert_int_equal(tarn_motion_decode(exact, bytes, room, count), checked);
        taken += checked == TARN_OK;
        free(exact);
        free(room);
    }
    assert_true(taken > 100);
}

static void each_fault_has_its_status(void **state)
{
    (void)state;
    const uint8_t plain[] = {1, 5, 6}, run[] = {254, 9}, none[] = {128, 0}, cut[] = {3, 1, 2}, headless[] = {254};
    assert_int_equal(tarn_motion_decode(plain, 3, back, 2), TARN_OK);
    assert_int_equal(tarn_motion_decode(plain, 3, back, 3), TARN_E_TRUNCATED);
    assert_int_equal(tarn_motion_decode(plain, 3, back, 1), TARN_E_MALFORMED);
    assert_int_equal(tarn_motion_decode(run, 2, back, 3), TARN_OK);
    assert_int_equal(back[2], 9);
    assert_int_equal(tarn_motion_decode(run, 2, back, 2), TARN_E_MALFORMED);
    assert_int_equal(tarn_motion_decode(none, 2, back, 1), TARN_E_MALFORMED);
    assert_int_equal(tarn_motion_decode(cut, 3, back, 4), TARN_E_TRUNCATED);
    assert_int_equal(tarn_motion_decode(headless, 1, back, 3), TARN_E_TRUNCATED);
    assert_int_equal(tarn_motion_decode(NULL, 0, back, 1), TARN_E_TRUNCATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_coded_comes_back),
        cmocka_unit_test(nothing_takes_little),
        cmocka_unit_test(rubbish_is_refused_or_gives_all),
        cmocka_unit_test(each_fault_has_its_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
