// The parts that several people and several tanks need, by themselves.
#include "server/gateway/gateway_limits.h"
#include "server/gateway/role.h"
#include "server/gateway/session_json.h"
#include "server/worker/turns.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <string.h>

static const uint64_t ms_ns = 1000000;

/// Lets two tanks run for ten seconds; a step is due every 16 ms.
/// @param step_ms  that a step of each takes  @param ran_ms  receives the time that each has had
static void run(const uint32_t step_ms[2], uint64_t ran_ms[2])
{
    tarn_turns turns = {{0}, 0};
    uint64_t due_ns[TARN_WORKER_TANKS_MAX], now_ns = 0;
    for (int i = 0; i < TARN_WORKER_TANKS_MAX; i++) {
        due_ns[i] = i < 2 ? 0 : UINT64_MAX;
    }
    ran_ms[0] = ran_ms[1] = 0;
    while (now_ns < 10000 * ms_ns) {
        const int place = tarn_turns_pick(&turns, due_ns, now_ns);
        if (place < 0) {
            now_ns += ms_ns;
            continue;
        }
        assert_in_range(place, 0, 1);
        now_ns += step_ms[place] * ms_ns;
        tarn_turns_note(&turns, place, step_ms[place] * ms_ns);
        ran_ms[place] += step_ms[place];
        due_ns[place] += 16 * ms_ns;
        if (due_ns[place] + TARN_WORKER_LAG_MS_MAX * ms_ns < now_ns) {
            due_ns[place] = now_ns;
        }
    }
}

static void test_a_heavy_tank_slows_itself_alone(void **state)
{
    (void)state;
    uint64_t ran_ms[2];
    run((const uint32_t[]){40, 4}, ran_ms);
    // A quarter of the time is all that the light one needs.
    assert_true(ran_ms[1] >= 2400);
    assert_true(ran_ms[0] >= 7000);
}

static void test_heavy_tanks_share_the_time(void **state)
{
    (void)state;
    uint64_t ran_ms[2];
    run((const uint32_t[]){50, 20}, ran_ms);
    assert_true(ran_ms[0] > 4800 && ran_ms[1] > 4800);
}

static void test_a_tank_that_rested_does_not_take_all(void **state)
{
    (void)state;
    tarn_turns turns = {{0}, 0};
    uint64_t due_ns[TARN_WORKER_TANKS_MAX];
    for (int i = 0; i < TARN_WORKER_TANKS_MAX; i++) {
        due_ns[i] = UINT64_MAX;
    }
    assert_int_equal(tarn_turns_pick(&turns, due_ns, 5), -1);
    due_ns[0] = 0;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(tarn_turns_pick(&turns, due_ns, 0), 0);
        tarn_turns_note(&turns, 0, 10 * ms_ns);
    }
    due_ns[1] = 0;
    int row = 0;
    while (tarn_turns_pick(&turns, due_ns, 0) == 1) {
        tarn_turns_note(&turns, 1, 10 * ms_ns);
        row++;
    }
    assert_in_range(row, 1, TARN_WORKER_CREDIT_MS / 10 + 1);
}

static void test_keys_are_random_and_whole(void **state)
{
    (void)state;
    tarn_role_keys first, second;
    tarn_role role = TARN_ROLE_WATCH;
    tarn_key cut;
    assert_int_equal(tarn_role_keys_make(&first), TARN_OK);
    assert_int_equal(tarn_role_keys_make(&second), TARN_OK);
    for (int r = 0; r < TARN_ROLE_COUNT; r++) {
        assert_int_equal(strspn(first.keys[r], "0123456789abcdef"), TARN_KEY_BYTES);
        assert_string_not_equal(first.keys[r], second.keys[r]);
        assert_true(tarn_role_of_key(&first, first.keys[r], &role));
        assert_int_equal(role, r);
        assert_false(tarn_role_of_key(&second, first.keys[r], &role));
        for (size_t i = 0; i < TARN_KEY_BYTES; i++) {
            memcpy(cut, first.keys[r], sizeof cut);
            memset(cut + i, 0, sizeof cut - i);
            assert_false(tarn_role_of_key(&first, cut, &role));
        }
    }
}

static void test_the_largest_list_fits_an_answer(void **state)
{
    (void)state;
    static tarn_session_info infos[TARN_GATEWAY_SESSIONS_MAX];
    static tarn_name scenes[TARN_SCENES_MAX];
    static char text[TARN_GATEWAY_HTTP_TEXT_BYTES_MAX];
    tarn_name name;
    memset(name, '"', sizeof name); // each takes two bytes
    name[sizeof name - 1] = 0;
    for (int i = 0; i < TARN_SCENES_MAX; i++) {
        memset(scenes[i], 's', TARN_NAME_BYTES_MAX);
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        infos[i] = (tarn_session_info){name, name, scenes[0], UINT16_MAX, INT32_MAX, 0.123456789, 1234.56789, 15, name};
    }
    const size_t bytes = tarn_session_list_write(infos, TARN_GATEWAY_SESSIONS_MAX, (const tarn_name *)scenes,
                                                 TARN_SCENES_MAX, true, text, sizeof text);
    assert_true(bytes > 8000 && bytes < sizeof text);
    assert_int_equal(tarn_session_list_write(infos, 1, (const tarn_name *)scenes, 1, true, text, 20), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_heavy_tank_slows_itself_alone),      cmocka_unit_test(test_heavy_tanks_share_the_time),
        cmocka_unit_test(test_a_tank_that_rested_does_not_take_all), cmocka_unit_test(test_keys_are_random_and_whole),
        cmocka_unit_test(test_the_largest_list_fits_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
