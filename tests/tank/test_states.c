// States that are saved, restored, damaged and hashed, of a tank in which everything happens at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/liquid_parameters.h"
#include "tests/kernels/tank_acts.h"
#include "tests/tank/busy_tank.h"
#include "tests/tank/plain_tank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void turn(tarn_tank *tank, int step)
{
    const float angle = 0.02f * (float)(step % 40), c = 1.0f / sqrtf(1.0f + angle * angle);
    const tarn_pose pose = {{0.001f * (float)(step % 7), 0, 0}, {angle * c, 0, 0, c}};
    assert_int_equal(act_set_pose(tank, &pose), TARN_OK);
    busy_tank_steps(tank, 1);
}

/// A reset tank is one that was just made, whatever happened in it.
static void reset_leaves_nothing_behind(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
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
    tarn_device *device = plain_tank_device(1, NULL);
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
    // As tank/state.c lays them out: TANK begins behind the file's head and its own.
    enum { STEP_AT = 8 + 16 + 16 + 12, MOTION_BYTES_AT = 16, POSITION = 0, TARGET = 56 };
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    busy_tank_tap(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_pose far_away = {.position_m = {1e4f, -1e4f, 1e4f}, .rotation = {0, 0, 0, 1}};
    assert_int_equal(act_set_pose(tank, &far_away), TARN_OK);
    busy_tank_steps(tank, 2);
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most);
    size_t count = 0;
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_OK);
    size_t motion_at = 0;
    while (motion_at < count && memcmp(bytes + motion_at, "MOTN", 4) != 0) {
        motion_at++;
    }
    motion_at += MOTION_BYTES_AT;
    const uint64_t step = 1ull << 53;
    const double place_m = 1e300;
    const struct {
        size_t at;
        const void *value;
    } damages[] = {{STEP_AT, &step}, {motion_at + POSITION + 8, &place_m}, {motion_at + TARGET + 16, &place_m}};
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

// ------------------------------------------------------------------------------------------------------------ sections

/// A small pool with a ball in it that floats, a wall, a dye, and a hand that has turned it.
static tarn_tank *open_small(tarn_device *device)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[1] = desc.cells[2] = 8;
    desc.particles_per_axis = 1;
    desc.transfer = TARN_TRANSFER_APIC;
    const float c = desc.cell_m;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {8 * c, 3 * c, 8 * c}};
    desc.solid_count = 1;
    desc.solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {2 * c}},
                                  .pose = {{4 * c, 4 * c, 4 * c}, {0, 0, 0, 1}},
                                  .motion = TARN_MOTION_FREE,
                                  .density_kg_m3 = 400.0f};
    return plain_tank_open(device, &desc);
}

static void live(tarn_tank *tank, int steps)
{
    const float c = tarn_tank_desc_of(tank)->cell_m;
    tarn_step_input input = {.poser = TARN_STEP_POSER_HAND, .pose = {{0, 0, 0}, {0.1f, 0, 0, 0.995f}}};
    input.parameter_count = 1;
    input.parameters[0] = (tarn_parameter_change){TARN_PARAMETER_GRAVITY, 7.5f};
    input.wall_count = 1;
    input.walls[0] =
        (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {c, c, c}}, .pose = {{c, c, c}, {0, 0, 0, 1}}};
    input.throw_count = 1;
    input.throws[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {c, c, c}},
                                   .pose = {{6 * c, 6 * c, 6 * c}, {0, 0, 0, 1}},
                                   .motion = TARN_MOTION_FREE,
                                   .density_kg_m3 = 700.0f};
    input.tools.dye_count = 1;
    input.tools.dyes[0] = (tarn_dye){{4 * c, c, 4 * c}, 3 * c, {250, 20, 20}, 0.7f};
    assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
    for (int step = 1; step < steps; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
}

/// Where a section's head begins.
static size_t section_at(const uint8_t *bytes, size_t count, const char *tag)
{
    size_t at = 8, size = 0;
    while (at < count && memcmp(bytes + at, tag, 4) != 0) {
        memcpy(&size, bytes + at + 8, sizeof size);
        at += 16 + size;
    }
    assert_true(at < count);
    return at;
}

/// The state with another section in front of one of its own.
static size_t put_in(const uint8_t *bytes, size_t count, size_t at, const uint8_t *section, size_t size, uint8_t *to)
{
    memcpy(to, bytes, at);
    memcpy(to + at, section, size);
    memcpy(to + at + size, bytes + at, count - at);
    return count + size;
}

static void sections_may_come_and_go(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = open_small(device);
    live(tank, 4);
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most), *other = malloc(most + 64);
    size_t count = 0;
    tarn_tank_hash wanted, found;
    assert_int_equal(tarn_tank_hash_get(tank, &wanted), TARN_OK);
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    uint8_t unknown[20] = {'N', 'E', 'W', '!', 1, 0, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};
    const size_t motion = section_at(bytes, count, "MOTN"), particles = section_at(bytes, count, "PART");
    size_t size = put_in(bytes, count, motion, unknown, sizeof unknown, other);
    assert_int_equal(tarn_tank_load(tank, other, size), TARN_OK); // an optional one is skipped
    assert_int_equal(tarn_tank_hash_get(tank, &found), TARN_OK);
    assert_memory_equal(&found, &wanted, sizeof found);
    unknown[6] = 0; // one that is needed is not
    size = put_in(bytes, count, motion, unknown, sizeof unknown, other);
    assert_int_equal(tarn_tank_load(tank, other, size), TARN_E_MALFORMED);
    unknown[6] = 1;
    size = put_in(bytes, count, count, unknown, sizeof unknown, other); // nothing comes behind the particles
    assert_int_equal(tarn_tank_load(tank, other, size), TARN_E_MALFORMED);
    size = put_in(bytes, count, particles, bytes + motion, particles - motion, other); // twice the same
    assert_int_equal(tarn_tank_load(tank, other, size), TARN_E_MALFORMED);
    memcpy(other, bytes, motion); // one that is needed is missing
    const size_t counters = section_at(bytes, count, "CNTR");
    memcpy(other + motion, bytes + counters, count - counters);
    assert_int_equal(tarn_tank_load(tank, other, count - (counters - motion)), TARN_E_MALFORMED);
    const size_t parameters = section_at(bytes, count, "PARA"); // without parameters they are the description's
    memcpy(other, bytes, parameters);
    memcpy(other + parameters, bytes + motion, count - motion);
    assert_int_equal(tarn_tank_load(tank, other, count - (motion - parameters)), TARN_OK);
    assert_true(tarn_tank_parameter(tank, TARN_PARAMETER_GRAVITY) == 9.81f);
    assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_OK);
    assert_int_equal(tarn_tank_hash_get(tank, &found), TARN_OK);
    assert_memory_equal(&found, &wanted, sizeof found);
    free(bytes);
    free(other);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// What balanced bodies where there was viscosity drives none where there isn't.
static void a_balance_is_of_tanks_that_keep_one(void **state)
{
    (void)state;
    enum { BODIES = 2, SIZE = 16 + 2 + BODIES * 6 * 4 };
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = open_small(device);
    live(tank, 4);
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most), *other = malloc(most + SIZE);
    size_t count = 0;
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    uint8_t section[SIZE] = {'B', 'A', 'L', 'N', 1, 0, 0, 0, SIZE - 16, 0, 0, 0, 0, 0, 0, 0, BODIES};
    for (int i = 0; i < BODIES * 6; i++) {
        const float push = 0.1f;
        memcpy(section + 18 + 4 * i, &push, sizeof push);
    }
    const size_t size = put_in(bytes, count, section_at(bytes, count, "ADDD"), section, SIZE, other);
    tarn_tank_hash hash[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tarn_tank_load(tank, i == 0 ? bytes : other, i == 0 ? count : size), TARN_OK);
        for (int step = 0; step < 3; step++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        }
        assert_int_equal(tarn_tank_hash_get(tank, &hash[i]), TARN_OK);
    }
    assert_memory_equal(&hash[0], &hash[1], sizeof hash[0]);
    free(bytes);
    free(other);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Loads a stored state; what is saved of it then is in `again`. @return how many bytes
static size_t save_again(tarn_tank *tank, const char *path, uint8_t *bytes, size_t most, size_t *count, uint8_t *again)
{
    size_t saved = 0;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    *count = fread(bytes, 1, most, file);
    fclose(file);
    assert_int_equal(tarn_tank_load(tank, bytes, *count), TARN_OK);
    assert_int_equal(tarn_tank_save(tank, again, most, &saved), TARN_OK);
    for (int step = 0; step < 5; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
    return saved;
}

/// golden/state-N.bin are tanks of open_small after live(6), and stay as they are: states outlive builds. Of the newest
/// version what is saved again is the same. With TARN_PIN_STATE=FILE the test writes such a file.
static void old_states_are_read(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = open_small(device);
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most), *again = malloc(most);
    size_t saved = 0, count = 0;
    const char *pin = getenv("TARN_PIN_STATE");
    if (pin != NULL) {
        live(tank, 6);
        assert_int_equal(tarn_tank_save(tank, bytes, most, &saved), TARN_OK);
        FILE *file = fopen(pin, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, saved, file), saved);
        assert_int_equal(fclose(file), 0);
    }
    saved = save_again(tank, TARN_TEST_STATES "/state-1.bin", bytes, most, &count, again);
    assert_true(saved > count); // it had no STEP yet
    saved = save_again(tank, TARN_TEST_STATES "/state-2.bin", bytes, most, &count, again);
    assert_int_equal(saved, count);
    assert_memory_equal(again, bytes, count);
    free(bytes);
    free(again);
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
        cmocka_unit_test(sections_may_come_and_go),
        cmocka_unit_test(a_balance_is_of_tanks_that_keep_one),
        cmocka_unit_test(old_states_are_read),
    };
    return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
