// A model that the tree doesn't know lives like any other: its scene is read, and its tank is stepped, told, saved,
// restored and encoded.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/encoder.h"
#include "kernels/step_input.h"
#include "kernels/tank/tank_internal.h"
#include "server/scene/scene.h"
#include "server/scene/tell.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCENE(more) "{\"model\": \"whirl\", \"size_m\": [1, 0.5, 1], \"cell_m\": 0.03125, \"rate_rad_s\": 2, " more "}"
#define BLOCK                                                                                                          \
    "\"blocks\": [{\"min_m\": [0.7, 0.1, 0.45], \"max_m\": [0.8, 0.3, 0.55], \"carries\": {\"warmth_k\": 30}}]"

static tarn_status read_scene(const char *text, tarn_scene *scene, char *why)
{
    why[0] = 0;
    return tarn_scene_read_text("toy", NULL, "toy", text, strlen(text), scene, why, TARN_SCENE_WHY_BYTES);
}

static float warmth_of(const tarn_tank *tank, uint32_t id)
{
    const store_memory *store = &tank->args->store;
    uint32_t i = 0;
    while (i < tank->particle_count && store->id[i] != id) {
        i++;
    }
    assert_true(i < tank->particle_count);
    return store->carried[0][i];
}

static void angle_of(tarn_tank *tank, double *angle, double *radius)
{
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    const double x = report.center_m[0] - 0.5, z = report.center_m[2] - 0.5;
    *angle = atan2(-z, x);
    *radius = sqrt(x * x + z * z);
}

static void a_toy_goes_round(void **state)
{
    (void)state;
    char why[TARN_SCENE_WHY_BYTES];
    tarn_scene scene;
    tarn_device *device;
    tarn_tank *tank;
    assert_int_equal(read_scene(SCENE(BLOCK), &scene, why), TARN_OK);
    assert_true(scene.tank.blocks[0].carried[0] == 30.0f);
    assert_int_equal(tarn_device_create(&(tarn_device_desc){.threads = 2}, &device), TARN_OK);
    assert_int_equal(tarn_tank_create(device, &scene.tank, &tank, why, sizeof why), TARN_OK);
    assert_string_equal(tarn_tank_model(tank)->name, "whirl");
    double before, radius_before, after, radius;
    angle_of(tank, &before, &radius_before);
    tarn_step_input input = {.parameter_count = 1, .parameters = {{0, 4.0f}}};
    for (int step = 0; step < 30; step++) { // at 2 rad/s, then at 4
        assert_int_equal(tarn_tank_step(tank, step == 15 ? &input : NULL), TARN_OK);
    }
    angle_of(tank, &after, &radius);
    assert_true(fabs(after - before - (15 * 2.0 + 15 * 4.0) / 60.0) < 0.02);
    assert_true(fabs(radius / radius_before - 1.0) < 0.02);

    assert_int_equal(tank->counters.grid.occupied,
                     tank->args->grid.shape.tile_total[0]); // filled, and particles in few
    for (uint32_t id = 0; id < tank->particle_count; id += 97) {
        assert_true(warmth_of(tank, id) == 30.0f);
    }
    const size_t most = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(most);
    size_t count = 0;
    tarn_tank_hash saved, loaded;
    assert_int_equal(tarn_tank_hash_get(tank, &saved), TARN_OK);
    assert_int_equal(tarn_tank_save(tank, bytes, most, &count), TARN_OK);
    assert_int_equal(tarn_tank_reset(tank), TARN_OK);
    assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_OK);
    assert_int_equal(tarn_tank_hash_get(tank, &loaded), TARN_OK);
    assert_memory_equal(&loaded, &saved, sizeof saved);
    tank->args->store.kept[1][TILE_CELLS + 5] += 0.25f; // it is state
    assert_int_equal(tarn_tank_hash_get(tank, &loaded), TARN_OK);
    assert_memory_not_equal(&loaded, &saved, sizeof saved);
    assert_int_equal(tarn_tank_load(tank, bytes, count), TARN_OK);
    assert_int_equal(tarn_tank_hash_get(tank, &loaded), TARN_OK);
    assert_memory_equal(&loaded, &saved, sizeof saved);

    tarn_encoder *encoder;
    tarn_encoder_desc desc;
    tarn_stream_head head;
    const tarn_tank_frame_info info = {.epoch = 1};
    tarn_encoder_desc_default(&desc);
    assert_int_equal(tarn_encoder_create(tank, &desc, &encoder), TARN_OK);
    assert_int_equal(tarn_encoder_encode(encoder, TARN_STREAM_KEY, &info, bytes, most, &head), TARN_OK);
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    assert_int_equal(tarn_encoder_encode(encoder, TARN_STREAM_BASE, &info, bytes, most, &head), TARN_OK);
    assert_int_equal(head.kind, TARN_STREAM_BASE);
    tarn_encoder_destroy(encoder);
    free(bytes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    tarn_scene_free(&scene);
}

static void a_scene_may_say_what_its_model_knows(void **state)
{
    (void)state;
    char why[TARN_SCENE_WHY_BYTES];
    tarn_scene scene;
    assert_int_equal(read_scene(SCENE(BLOCK ", \"gravity_m_s2\": 3"), &scene, why), TARN_E_MALFORMED);
    assert_non_null(strstr(why, "found the field \"gravity_m_s2\", which the model \"whirl\" doesn't have"));
    assert_int_equal(read_scene(SCENE(BLOCK ", \"solids\": []"), &scene, why), TARN_E_MALFORMED);
    assert_non_null(strstr(why, "found the field \"solids\", which the model \"whirl\" doesn't have"));
    assert_int_equal(read_scene("{\"rate_rad_s\": 2}", &scene, why), TARN_E_MALFORMED);
    assert_non_null(strstr(why, "found the field \"rate_rad_s\", which the model \"liquid\" doesn't have"));
    const char *fast = "{\"model\": \"whirl\", \"size_m\": [1, 0.5, 1], \"cell_m\": 0.03125, \"rate_rad_s\": 21}";
    assert_int_equal(read_scene(fast, &scene, why), TARN_E_MALFORMED);
    assert_non_null(strstr(why, "rate_rad_s: found 21, allowed is a number from -20 to 20 rad/s"));
    const char *cold =
        SCENE("\"blocks\": [{\"min_m\": [0, 0, 0], \"max_m\": [1, 0.5, 1], \"carries\": {\"warmth_k\": -51}}]");
    assert_int_equal(read_scene(cold, &scene, why), TARN_E_MALFORMED);
    assert_non_null(strstr(why, "blocks[0].carries.warmth_k: found -51, allowed is a number from -50 to 50 K"));
    assert_int_equal(read_scene("{\"model\": \"whirr\"}", &scene, why), TARN_E_MALFORMED);
    assert_non_null(strstr(why, "\"liquid\", \"whirl\""));
    assert_int_equal(read_scene(SCENE(BLOCK ", \"seed\": 5"), &scene, why), TARN_OK);
    tarn_scene_free(&scene);
}

static void viewers_are_told_what_its_table_says(void **state)
{
    (void)state;
    tarn_message message = {.kind = TARN_MESSAGE_STATE}, read;
    uint8_t bytes[TARN_MESSAGE_SERVER_BYTES_MAX];
    size_t byte_count;
    tarn_model_describe(tarn_model_find("whirl"), &message.state);
    assert_int_equal(tarn_message_write(&message, bytes, sizeof bytes, &byte_count), TARN_OK);
    assert_int_equal(tarn_message_read(bytes, byte_count, &read, NULL), TARN_OK);
    assert_string_equal(read.state.model, "whirl");
    assert_int_equal(read.state.tools, TARN_TOOL_BIT(DYE) | TARN_TOOL_BIT(DRAIN));
    assert_int_equal(read.state.parameter_count, 1);
    assert_string_equal(read.state.parameters[0].name, "rate_rad_s");
    assert_string_equal(read.state.parameters[0].unit, "rad/s");
    assert_true(read.state.parameters[0].max == 20.0f);
    assert_int_equal(read.state.channel_count, 1);
    assert_string_equal(read.state.channels[0].name, "colour");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_toy_goes_round),
        cmocka_unit_test(a_scene_may_say_what_its_model_knows),
        cmocka_unit_test(viewers_are_told_what_its_table_says),
    };
    return cmocka_run_group_tests_name("toy", tests, NULL, NULL);
}
