// The parts that several people and several tanks need, by themselves.
#include "server/base/limits.h"
#include "server/gateway/pages/session_json.h"
#include "server/gateway/rights/role.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <string.h>

static void test_keys_are_random_and_whole(void **state)
{
    (void)state;
    tarn_role_keys first, second;
    tarn_role role = TARN_ROLE_WATCH;
    tarn_key cut;
    static const uint8_t salts[2][4] = {"one", "two"};
    tarn_secret secret;
    tarn_role_keys again;
    assert_int_equal(tarn_secret_draw(&secret), TARN_OK);
    assert_int_equal(tarn_role_keys_make(&first, &secret, salts[0], sizeof salts[0]), TARN_OK);
    assert_int_equal(tarn_role_keys_make(&second, &secret, salts[1], sizeof salts[1]), TARN_OK);
    assert_int_equal(tarn_role_keys_make(&again, &secret, salts[0], sizeof salts[0]), TARN_OK);
    assert_memory_equal(&again, &first, sizeof first);
    assert_int_equal(tarn_secret_draw(&secret), TARN_OK);
    assert_int_equal(tarn_role_keys_make(&again, &secret, salts[0], sizeof salts[0]), TARN_OK);
    assert_string_not_equal(again.keys[TARN_ROLE_OWN], first.keys[TARN_ROLE_OWN]);
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
    static tarn_session_state told = {.remark_count = TARN_REMARKS_MAX};
    for (int i = 0; i < TARN_REMARKS_MAX; i++) {
        memset(told.remarks[i], '"', TARN_REMARK_BYTES_MAX);
    }
    tarn_name name;
    memset(name, '"', sizeof name); // each takes two bytes
    name[sizeof name - 1] = 0;
    for (int i = 0; i < TARN_SCENES_MAX; i++) {
        memset(scenes[i], 's', TARN_NAME_BYTES_MAX);
    }
    for (int i = 0; i < TARN_GATEWAY_SESSIONS_MAX; i++) {
        infos[i] = (tarn_session_info){.session = name,
                                       .title = name,
                                       .scene = scenes[0],
                                       .viewers = UINT16_MAX,
                                       .particles = INT32_MAX,
                                       .realtime_factor = 0.123456789,
                                       .load = 1234.56789,
                                       .unconverged = UINT32_MAX,
                                       .worker = 15,
                                       .device = name,
                                       .state = &told};
    }
    const size_t bytes = tarn_session_list_write(infos, TARN_GATEWAY_SESSIONS_MAX, (const tarn_name *)scenes,
                                                 TARN_SCENES_MAX, true, text, sizeof text);
    assert_true(bytes > 8000 && bytes < sizeof text);
    text[bytes] = 0;
    assert_non_null(strstr(text, "\"unconverged\":4294967295,"));
    assert_int_equal(tarn_session_list_write(infos, 1, (const tarn_name *)scenes, 1, true, text, 20), 0);
}

/// What each role may, act by act, in the order of roles.
static const char *const may[TARN_ACT_COUNT] = {
    [TARN_ACT_HELLO] = "yyy",       [TARN_ACT_JOIN] = "yyy",        [TARN_ACT_ACK] = "yyy",
    [TARN_ACT_PING] = "yyy",        [TARN_ACT_VIEW] = "yyy",        [TARN_ACT_PRESENCE] = "yyy",
    [TARN_ACT_PROFILE] = "yyy",     [TARN_ACT_POINTER] = "nyy",     [TARN_ACT_CONTROLLER] = "nyy",
    [TARN_ACT_HAND] = "nyy",        [TARN_ACT_ORIENTATION] = "nyy", [TARN_ACT_MOTION] = "nyy",
    [TARN_ACT_PROBE] = "nyy",       [TARN_ACT_PARAMETER] = "nny",   [TARN_ACT_PAUSE] = "nny",
    [TARN_ACT_RESUME] = "nny",      [TARN_ACT_STEP] = "nny",        [TARN_ACT_RESET] = "nny",
    [TARN_ACT_LOAD] = "nny",        [TARN_ACT_SPEED] = "nny",       [TARN_ACT_MODERATE] = "nny",
    [TARN_ACT_LOCK] = "nny",        [TARN_ACT_HTTP_READ] = "yyy",   [TARN_ACT_HTTP_MAKE] = "nny",
    [TARN_ACT_HTTP_END] = "nny",    [TARN_ACT_HTTP_MOVE] = "nny",   [TARN_ACT_HTTP_HISTORY] = "nny",
    [TARN_ACT_HTTP_REWIND] = "nny", [TARN_ACT_HTTP_FORK] = "nny",   [TARN_ACT_HTTP_MARKS] = "nny",
    [TARN_ACT_HTTP_SPEED] = "nny",  [TARN_ACT_HTTP_SCENES] = "nny", [TARN_ACT_HTTP_METRICS] = "nny",
};

static void test_each_role_may_what_the_table_says(void **state)
{
    (void)state;
    for (int act = 0; act < TARN_ACT_COUNT; act++) {
        assert_non_null(may[act]);
        for (int role = 0; role < TARN_ROLE_COUNT; role++) {
            if (tarn_role_may((tarn_role)role, (tarn_act)act) != (may[act][role] == 'y')) {
                fail_msg("act %d, role %d: expected %c", act, role, may[act][role]);
            }
        }
        assert_true(strlen(tarn_role_refusal((tarn_act)act)) > 20);
    }
}

static void test_each_message_is_an_act_of_its_own(void **state)
{
    (void)state;
    bool seen[TARN_ACT_COUNT] = {false};
    int count = 0;
    for (int kind = TARN_MESSAGE_HELLO; kind <= TARN_MESSAGE_LOCK; kind++) {
        if (kind > TARN_MESSAGE_PROBE && kind < TARN_MESSAGE_MODERATE) {
            continue; // there are none of these numbers
        }
        assert_true(tarn_message_from_client((tarn_message_kind)kind));
        const int kinds = kind == TARN_MESSAGE_INPUT     ? (int)TARN_INPUT_COUNT
                          : kind == TARN_MESSAGE_CONTROL ? (int)TARN_CONTROL_COUNT
                                                         : 1;
        for (int k = 0; k < kinds; k++, count++) {
            tarn_message message = {.kind = (tarn_message_kind)kind};
            if (kind == TARN_MESSAGE_INPUT) {
                message.input.kind = (tarn_input_kind)k;
            } else if (kind == TARN_MESSAGE_CONTROL) {
                message.control.action = (tarn_control_action)k;
            }
            const tarn_act act = tarn_act_of(&message);
            assert_false(seen[act]);
            seen[act] = true;
        }
    }
    for (int act = 0; act < TARN_ACT_HTTP_READ; act++) {
        assert_true(seen[act]);
    }
    assert_int_equal(count, TARN_ACT_HTTP_READ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_random_and_whole),
        cmocka_unit_test(test_the_largest_list_fits_an_answer),
        cmocka_unit_test(test_each_role_may_what_the_table_says),
        cmocka_unit_test(test_each_message_is_an_act_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
