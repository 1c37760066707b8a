// What a tank and its encoder take of a device: few allocations, as many bytes as was reckoned, and nothing where one
// of them can't be had.
#include "kernels/device/device_internal.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/channel.h"
#include "tests/stream/encoder_stage.h"

#include <string.h>

enum { HEAD_BYTES = 64 };

/// A device's allocations, of which one may fail.
typedef struct watched_memory {
    uint32_t taken, shared, live; ///< `taken` counts both
    uint32_t fails_at;            ///< which of those to come; 0: none
    uint64_t bytes;               ///< of device memory that isn't freed
    uint64_t most;                ///< that there is
} watched_memory;

static watched_memory watched;
static const tarn_device_ops *real;

static void *take(tarn_device *device, size_t bytes)
{
    watched.taken++;
    if (watched.fails_at > 0 && --watched.fails_at == 0) {
        return NULL;
    }
    unsigned char *memory = real->alloc(device, bytes + HEAD_BYTES);
    assert_non_null(memory);
    watched.live++;
    watched.bytes += bytes;
    memcpy(memory, &bytes, sizeof bytes);
    return memory + HEAD_BYTES;
}

static void give(tarn_device *device, void *memory)
{
    size_t bytes;
    memcpy(&bytes, (unsigned char *)memory - HEAD_BYTES, sizeof bytes);
    watched.live--;
    watched.bytes -= bytes;
    real->release(device, (unsigned char *)memory - HEAD_BYTES);
}

static void *take_shared(tarn_device *device, size_t bytes)
{
    void *memory = take(device, bytes);
    watched.shared++;
    watched.bytes -= memory != NULL ? bytes : 0;
    return memory;
}

static void give_shared(tarn_device *device, void *memory)
{
    size_t bytes;
    memcpy(&bytes, (unsigned char *)memory - HEAD_BYTES, sizeof bytes);
    watched.bytes += bytes;
    give(device, memory);
}

static uint64_t memory_bytes(tarn_device *device)
{
    (void)device;
    return watched.most;
}

static tarn_device *open_device(void)
{
    static tarn_device_ops watching;
    tarn_device *device;
    assert_int_equal(tarn_device_create(&one_thread, &device), TARN_OK);
    real = device->ops;
    watching = *real;
    watching.alloc = take;
    watching.release = give;
    watching.alloc_shared = take_shared;
    watching.release_shared = give_shared;
    watching.memory_bytes = memory_bytes;
    device->ops = &watching;
    watched = (watched_memory){.most = UINT64_MAX};
    return device;
}

static void close_device(tarn_device *device)
{
    assert_int_equal(watched.live, 0);
    assert_int_equal(watched.bytes, 0);
    device->ops = real;
    tarn_device_destroy(device);
}

static tarn_status open_tank(tarn_device *device, const tarn_tank_desc *desc, tarn_tank **tank)
{
    char why[256];
    return tarn_tank_create(device, desc, tank, why, sizeof why);
}

static void step(tarn_tank *tank, const tank_fixture *fixture, uint32_t number)
{
    static tarn_step_input input;
    static tarn_step_refusals refusals;
    tank_fixture_input(fixture, tarn_tank_desc_of(tank), number, &input);
    assert_int_equal(tarn_tank_admit(tank, &input, &refusals), TARN_OK);
    assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
}

/// A channel that frames may carry, 1 more than its number; 0: there is none.
static uint32_t some_channel(const tarn_model *model)
{
    for (uint32_t c = 0; c < model->channel_count; c++) {
        if (tarn_channel_is_carried(model->channels[c].name)) {
            return c + 1;
        }
    }
    return 0;
}

/// All that a fixture does may take two allocations more: for walls, and for bodies that are thrown.
static void a_tank_takes_one_allocation_and_its_encoder_two(void **state)
{
    (void)state;
    for (int f = 0; f < TANK_FIXTURE_HUGE; f++) {
        tarn_device *device = open_device();
        tarn_tank *tank;
        tarn_encoder *encoder;
        tarn_tank_desc desc;
        tarn_encoder_desc how;
        tank_fixtures[f].describe(&desc);
        tarn_encoder_desc_default(&how);
        assert_int_equal(open_tank(device, &desc, &tank), TARN_OK);
        assert_true(watched.taken == 1 && watched.shared == 0);
        const uint64_t own = watched.bytes;
        assert_int_equal(tarn_encoder_create(tank, &how, &encoder), TARN_OK);
        assert_true(watched.taken == 3 && watched.shared == 1);
        assert_int_equal(watched.bytes, own + tarn_encoder_bytes(encoder));
        for (uint32_t i = 0; i < 12; i++) {
            step(tank, &tank_fixtures[f], i);
        }
        assert_true(watched.taken <= 5);
        const uint32_t before = watched.taken;
        const tarn_model *model = tarn_tank_model(tank);
        const uint32_t wanted = some_channel(model);
        assert_int_equal(tarn_encoder_carry(encoder, wanted), TARN_OK);
        assert_int_equal(watched.taken, before + (wanted > 0));
        assert_int_equal(tarn_encoder_carry_field(encoder, model->field_count > 0), TARN_OK);
        assert_int_equal(watched.taken, before + (wanted > 0) + 2 * (model->field_count > 0));
        tarn_encoder_destroy(encoder);
        tarn_tank_destroy(tank);
        close_device(device);
    }
}

/// Whichever it is, what asked for it isn't there, all that was is, and nothing is left of it.
static void an_allocation_that_fails_is_said_and_leaves_nothing(void **state)
{
    (void)state;
    tarn_device *device = open_device();
    tarn_tank *tank;
    tarn_encoder *encoder;
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    fixture_named("tiny, smoke")->describe(&desc);
    tarn_encoder_desc_default(&how);
    watched.fails_at = 1;
    assert_int_equal(open_tank(device, &desc, &tank), TARN_E_MEMORY);
    assert_true(tank == NULL && watched.live == 0);
    assert_int_equal(open_tank(device, &desc, &tank), TARN_OK);
    const uint64_t own = watched.bytes;
    for (uint32_t at = 1; at <= 2; at++) {
        watched.fails_at = at;
        assert_int_equal(tarn_encoder_create(tank, &how, &encoder), TARN_E_MEMORY);
        assert_true(watched.live == 1 && watched.bytes == own);
    }
    assert_int_equal(tarn_encoder_create(tank, &how, &encoder), TARN_OK);
    const uint64_t all = watched.bytes;
    for (uint32_t at = 1; at <= 2; at++) {
        watched.fails_at = at;
        assert_int_equal(tarn_encoder_carry_field(encoder, 1), TARN_E_MEMORY);
        assert_true(watched.live == 3 && watched.bytes == all && tarn_encoder_bytes(encoder) == all - own);
        assert_int_equal(tarn_encoder_carry_field(encoder, 0), TARN_OK); // nobody asks for it
    }
    watched.fails_at = 1;
    assert_int_equal(tarn_encoder_carry(encoder, some_channel(tarn_tank_model(tank))), TARN_E_MEMORY);
    assert_int_equal(watched.bytes, all);
    tarn_encoder_destroy(encoder);
    tarn_tank_destroy(tank);
    close_device(device);
}

/// A tank takes what it was measured to take: as many tiles as there is memory for, and not one more.
static void a_tank_takes_what_there_is(void **state)
{
    (void)state;
    tarn_device *device = open_device();
    tarn_tank *tank;
    tarn_tank_desc desc;
    fixture_named("dam break 32")->describe(&desc);
    desc.cells[0] *= 5;
    assert_int_equal(open_tank(device, &desc, &tank), TARN_OK);
    const uint64_t all = watched.bytes, *each = tank->grid.group_bytes;
    const uint64_t tile = each[GROUP_ACTIVE] + each[GROUP_OCCUPIED] +
                          each[GROUP_COARSE] * (tank->args->grid.shape.level_count - 1) + 200 * TARN_ARENA_GAP_BYTES;
    const uint32_t tiles = tank->args->grid.shape.active_max;
    tarn_tank_destroy(tank);
    watched.most = all;
    assert_int_equal(open_tank(device, &desc, &tank), TARN_OK);
    assert_int_equal(tank->args->grid.shape.active_max, tiles);
    tarn_tank_destroy(tank);
    for (watched.most = all - 1; watched.most > tile; watched.most = watched.most / 8 * 7) {
        const tarn_status status = open_tank(device, &desc, &tank);
        if (status != TARN_OK) {
            assert_int_equal(status, TARN_E_MEMORY);
            assert_int_equal(watched.live, 0);
            break;
        }
        assert_true(tank->args->grid.shape.active_max < tiles);
        assert_true(watched.bytes <= watched.most && watched.bytes + tile > watched.most);
        tarn_tank_destroy(tank);
    }
    assert_true(watched.most > tile && watched.most < all / 2);
    close_device(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tank_takes_one_allocation_and_its_encoder_two),
        cmocka_unit_test(an_allocation_that_fails_is_said_and_leaves_nothing),
        cmocka_unit_test(a_tank_takes_what_there_is),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
