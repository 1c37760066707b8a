// States that are saved, restored, damaged and hashed, of a tank in which everything happens at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "tests/tank/busy_tank.h"
#include "tests/tank/plain_tank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void turn(tarn_tank *tank, int step)
{
    const float angle = 0.02f * (float)(step % 40), c = 1.0f / sqrtf(1.0f + angle * angle);
    const tarn_pose pose = {{0.001f * (float)(step % 7), 0, 0}, {angle * c, 0, 0, c}};
    assert_int_equal(tarn_tank_set_pose(tank, &pose), TARN_OK);
    busy_tank_steps(tank, 1);
}

/// A reset tank is one that was just made, whatever happened in it.
static void reset_leaves_nothing_behind(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(2, NULL);
    tarn_tank_desc desc;
    busy_tank_desc(&desc);
    tarn_tank_hash hash[2];
    tarn_tank *tank = plain_tank_open(device, &desc);
    for (int i = 0; i < 2; i++) {
        for (int step = 0; step < 15; step++) {
            turn(tank, step);
        }
        assert_int_equal(tarn_tank_hash_get(tank, &hash[i]), TARN_OK);
        assert_int_equal(tarn_tank_reset(tank), TARN_OK);
    }
    assert_memory_equal(&hash[0], &hash[1], sizeof hash[0]);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void busy_tank_has_the_same_bits_everywhere(void **state)
{
    (void)state;
    tarn_tank_hash hash[3];
    const uint32_t threads[3] = {1, 2, 8};
    for (int i = 0; i < 3; i++) {
        tarn_device *device = plain_tank_device(threads[i], NULL);
        tarn_tank_desc desc;
        busy_tank_desc(&desc);
        tarn_tank *tank = plain_tank_open(device, &desc);
        for (int step = 0; step < 24; step++) {
            turn(tank, step);
        }
        assert_int_equal(tarn_tank_hash_get(tank, &hash[i]), TARN_OK);
        tarn_tank_destroy(tank);
        tarn_device_destroy(device);
    }
    assert_memory_equal(&hash[0], &hash[1], sizeof hash[0]);
    assert_memory_equal(&hash[0], &hash[2], sizeof hash[0]);
}

static void restored_state_continues_bit_for_bit(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(2, NULL);
    tarn_tank_desc desc;
    busy_tank_desc(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    for (int step = 0; step < 18; step++) {
        turn(tank, step);
    }
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most);
    size_t count = 0;
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    tarn_tank_hash saved, wanted, found;
    assert_int_equal(tarn_tank_hash_get(tank, &saved), TARN_OK);
    for (int step = 18; step < 30; step++) {
        turn(tank, step);
    }
    assert_int_equal(tarn_tank_hash_get(tank, &wanted), TARN_OK);
    tarn_tank *other = plain_tank_open(device, &desc);
    tarn_tank *const into[2] = {tank, other};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tarn_tank_load(into[i], bytes, count), TARN_OK);
        assert_int_equal(tarn_tank_hash_get(into[i], &found), TARN_OK);
        assert_memory_equal(&found, &saved, sizeof found);
        for (int step = 18; step < 30; step++) {
            turn(into[i], step);
        }
        assert_int_equal(tarn_tank_hash_get(into[i], &found), TARN_OK);
        assert_memory_equal(&found, &wanted, sizeof found);
    }
    free(bytes);
    tarn_tank_destroy(other);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A damaged state is refused or, where the damage cannot be told from a state, leaves a tank that still works.
static void damaged_states_do_no_harm(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    busy_tank_desc(&desc);
    desc.blocks[0].max_m[0] = 0.1f;
    tarn_tank *tank = plain_tank_open(device, &desc);
    busy_tank_steps(tank, 5);
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most), *damaged = malloc(most);
    size_t count = 0;
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    assert_int_equal(tarn_tank_save(tank, bytes, count - 1, &(size_t){0}), TARN_E_SPACE);
    for (size_t cut = 0; cut < count; cut += 1 + cut / 3) {
        assert_int_equal(tarn_tank_load(tank, bytes, cut), TARN_E_MALFORMED);
    }
    uint32_t random = 12345, refused = 0;
    for (int i = 0; i < 400; i++) {
        random = random * 1664525u + 1013904223u;
        const size_t at = i < 200 ? random % 500 : random % count;
        memcpy(damaged, bytes, count);
        damaged[at] ^= (uint8_t)(1u << (random >> 28 & 7));
        const tarn_status status = tarn_tank_load(tank, damaged, count);
        assert_true(status == TARN_OK || status == TARN_E_MALFORMED);
        refused += status != TARN_OK;
        if (i % 20 == 0) {
            busy_tank_steps(tank, 1);
        }
    }
    assert_true(refused > 20);
    assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_OK);
    free(bytes);
    free(damaged);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Steps that no frame could tell, and places beyond all poses that may be set.
static void states_out_of_all_bounds_are_refused(void **state)
{
    (void)state;
    enum { STEP_AT = 0, POSITION_AT = 24, TARGET_AT = 80 }; // as state.c lays them out
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    busy_tank_tap(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_pose far_away = {.position_m = {1e4f, -1e4f, 1e4f}, .rotation = {0, 0, 0, 1}};
    assert_int_equal(tarn_tank_set_pose(tank, &far_away), TARN_OK);
    busy_tank_steps(tank, 2);
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most);
    size_t count = 0;
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_OK);
    const uint64_t step = 1ull << 53;
    const double place_m = 1e300;
    const struct {
        size_t at;
        const void *value;
    } damages[] = {{STEP_AT, &step}, {POSITION_AT + 8, &place_m}, {TARGET_AT + 16, &place_m}};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        uint8_t good[8];
        memcpy(good, bytes + damages[i].at, sizeof good);
        memcpy(bytes + damages[i].at, damages[i].value, sizeof good);
        assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_E_MALFORMED);
        memcpy(bytes + damages[i].at, good, sizeof good);
    }
    assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_OK);
    free(bytes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reset_leaves_nothing_behind),
        cmocka_unit_test(busy_tank_has_the_same_bits_everywhere),
        cmocka_unit_test(restored_state_continues_bit_for_bit),
        cmocka_unit_test(damaged_states_do_no_harm),
        cmocka_unit_test(states_out_of_all_bounds_are_refused),
    };
    return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
