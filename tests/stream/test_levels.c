// The levels of a channel in a tank's frames: what the model says of the particles, within the steps that groups
// choose, and nothing else of the frames is another.
#include "tests/kernels/tank_acts.h"
#include "tests/sanitized.h"
#include "tests/stream/encoder_stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t level_of(const tarn_encoder *e, float value)
{
    const float range = e->channel_high - e->channel_low, share = range > 0 ? (value - e->channel_low) / range : 0;
    return (uint32_t)(255.0f * fmaxf(0.0f, fminf(share, 1.0f)) + 0.5f);
}

/// Compares the levels that the decoder has handed out with what the model says of the particles.
static void expect_levels(const stage *s, int32_t slack)
{
    const tarn_encoder *e = s->encoder;
    uint32_t *particle = particles_of_slots(s), at = 0;
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        for (uint32_t slot = e->layers[l].first; slot < e->layers[l].first + e->layers[l].slots; slot++) {
            if (particle[slot] == TILE_NONE) {
                continue;
            }
            const int32_t level = s->seen.positions[4 * (size_t)at++ + 3] >> 8;
            const int32_t truth = e->channel > 0 ? (int32_t)level_of(e, e->args.value[particle[slot]]) : 0;
            assert_in_range(level - truth + slack, 0, 2 * slack);
        }
    }
    assert_int_equal(at, s->seen.count);
    free(particle);
}

/// A channel begins in any frame, gives way to another one and ends; all else of the frames is as without it.
static void levels_are_what_the_model_says(void **state)
{
    (void)state;
    static const uint32_t channels[] = {0, STAGE_PRESSURE, STAGE_PRESSURE, STAGE_PRESSURE, STAGE_DENSITY, STAGE_DENSITY,
                                        0, STAGE_PRESSURE};
    const uint32_t turn = sizeof channels / sizeof *channels;
    for (int f = 0; f < TANK_FIXTURE_TINY; f++) {
        tarn_tank_desc desc;
        tarn_encoder_desc how;
        tank_fixtures[f].describe(&desc);
        tarn_encoder_desc_default(&how);
        stage s = open_stage(&one_thread, &desc, &how), plain = open_stage(&one_thread, &desc, &how);
        for (uint32_t frame = 0; frame < (TEST_IS_SANITIZED ? turn : 20); frame++) {
            tarn_push push;
            const uint32_t pushes = tank_fixture_push(&tank_fixtures[f], &desc, frame, &push);
            const uint32_t wanted = channels[frame % turn], most = tarn_tank_model(s.tank)->channel_count;
            const uint32_t channel = wanted < most ? wanted : most;
            assert_int_equal(act_step(s.tank, &push, pushes), TARN_OK);
            assert_int_equal(act_step(plain.tank, &push, pushes), TARN_OK);
            assert_int_equal(tarn_encoder_carry(s.encoder, channel), TARN_OK);
            const tarn_stream_kind kind = encode(&s, kind_at(frame));
            assert_int_equal(encode(&plain, kind_at(frame)), kind);
            assert_int_equal(s.head.channel, channel);
            assert_int_equal(show(&s, how.layers), TARN_OK);
            if (kind != TARN_STREAM_EXTRA || is_closed(&tank_fixtures[f])) {
                expect_levels(&s, 1 << STREAM_LEVEL_FORM >> 2);
            }
            if (channel == 0) {
                assert_int_equal(s.head.frame_bytes, plain.head.frame_bytes);
                assert_memory_equal(s.bytes, plain.bytes, plain.head.frame_bytes);
            }
        }
        close_stage(&plain);
        close_stage(&s);
    }
}

/// What frames say of the pressure is what the solver found in the particles' cells.
static void pressure_is_that_of_the_cell(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    fixture_named("dam break 32")->describe(&desc);
    tarn_encoder_desc_default(&how);
    stage s = open_stage(&one_thread, &desc, &how);
    const size_t cells = (size_t)desc.cells[0] * desc.cells[1] * desc.cells[2];
    float *pressure = malloc(cells * sizeof *pressure);
    for (uint32_t frame = 0; frame < 20; frame++) {
        assert_int_equal(act_step(s.tank, NULL, 0), TARN_OK);
    }
    assert_int_equal(tarn_encoder_carry(s.encoder, STAGE_PRESSURE), TARN_OK);
    encode(&s, TARN_STREAM_KEY);
    assert_int_equal(show(&s, how.layers), TARN_OK);
    assert_int_equal(tarn_tank_pressure(s.tank, pressure, cells), TARN_OK);
    assert_true(s.head.channel_low == 0.0f);
    const double depth_m = (double)desc.cells[1] * (double)desc.cell_m, top = (double)s.head.channel_high;
    assert_true(fabs(top / ((double)desc.liquids[0].density_kg_m3 * 9.81 * depth_m) - 1) < 0.01);
    uint32_t pressed = 0;
    for (uint32_t i = 0; i < s.seen.count; i++) {
        const uint16_t *at = &s.seen.positions[4 * (size_t)i];
        const uint32_t x = at[0] >> s.seen.unit_bits, y = at[1] >> s.seen.unit_bits, z = at[2] >> s.seen.unit_bits;
        const double pa = (double)pressure[((size_t)z * desc.cells[1] + y) * desc.cells[0] + x] *
                          (double)desc.liquids[0].density_kg_m3;
        const double level = fmax(0, fmin(255, 255 * pa / top));
        assert_true(fabs((double)(at[3] >> 8) - level) <= 4.6);
        pressed += level > 20;
    }
    assert_true(pressed > s.seen.count / 3);
    free(pressure);
    close_stage(&s);
}

/// The share of a particle's bits that the pressure takes, at its wildest.
static void levels_cost_little(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    fixture_named("dam break 32")->describe(&desc);
    tarn_encoder_desc_default(&how);
    stage s = open_stage(&one_thread, &desc, &how), plain = open_stage(&one_thread, &desc, &how);
    double bits[3] = {0}, frames[3] = {0};
    assert_int_equal(tarn_encoder_carry(s.encoder, STAGE_PRESSURE), TARN_OK);
    for (uint32_t frame = 0; frame < 120; frame++) {
        assert_int_equal(act_step(s.tank, NULL, 0), TARN_OK);
        assert_int_equal(act_step(plain.tank, NULL, 0), TARN_OK);
        const tarn_stream_kind kind = encode(&s, frame % 60 == 0 ? TARN_STREAM_KEY : kind_at(frame % 12 + 1));
        assert_int_equal(encode(&plain, frame % 60 == 0 ? TARN_STREAM_KEY : kind_at(frame % 12 + 1)), kind);
        const double more = 8.0 * ((double)s.head.frame_bytes - (double)plain.head.frame_bytes);
        bits[kind] += more / particle_count(&s);
        frames[kind]++;
    }
    printf("levels of the pressure, bits a particle: key %.2f, base %.2f, extra %.2f\n", bits[0] / frames[0],
           bits[1] / frames[1], bits[2] / frames[2]);
    assert_true(bits[0] / frames[0] < 4.0);
    assert_true(bits[1] / frames[1] < 2.5);
    close_stage(&plain);
    close_stage(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_what_the_model_says),
        cmocka_unit_test(pressure_is_that_of_the_cell),
        cmocka_unit_test(levels_cost_little),
    };
    return cmocka_run_group_tests_name("levels", tests, NULL, NULL);
}
