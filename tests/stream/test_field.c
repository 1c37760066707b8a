// A field in a tank's frames: what the model says of cells, within the steps that groups choose, for whole and for cut
// frames; all else of the frames is as without it.
#include "tests/kernels/tank_acts.h"
#include "tests/sanitized.h"
#include "tests/stream/encoder_stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What the tank has in one plane of cells, as levels.
static void true_plane(const stage *s, uint32_t z, uint8_t *levels)
{
    const tarn_encoder *e = s->encoder;
    const uint32_t *tiles = e->args.tiles;
    memset(levels, e->field.rest, (size_t)e->view.cells[0] * e->view.cells[1]);
    for (uint32_t i = 0; i < e->field.tiles; i++) {
        const uint32_t dense = e->args.field_tile[i], k = dense / tiles[0] / tiles[1];
        for (uint32_t cell = 0; cell < TILE_CELLS && k == z / 8; cell++) {
            const uint32_t x = dense % tiles[0] * 8 + (cell & 7), y = dense / tiles[0] % tiles[1] * 8 + (cell >> 3 & 7);
            if (cell >> 6 == z % 8 && x < e->view.cells[0] && y < e->view.cells[1]) {
                const float value = e->args.field_value[(size_t)i * TILE_CELLS + cell];
                levels[(size_t)y * e->view.cells[0] + x] = stream_level_at(value, e->field.low, e->args.field_scale);
            }
        }
    }
}

typedef struct differences {
    double mean, planes;
    int largest;
} differences;

/// Compares the field that the decoder has with the tank's.
static void compare(const stage *s, differences *d)
{
    const uint16_t *cells = s->encoder->view.cells;
    const size_t count = (size_t)cells[0] * cells[1];
    uint8_t *seen = malloc(count), *truth = malloc(count);
    for (uint32_t z = 0; z < cells[2]; z++) {
        tarn_stream_field_plane(s->decoder, z, seen);
        true_plane(s, z, truth);
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            const int off = abs((int)seen[i] - (int)truth[i]);
            d->largest = off > d->largest ? off : d->largest;
            sum += off;
        }
        d->mean += sum / (double)count;
        d->planes++;
    }
    free(seen);
    free(truth);
}

/// Every field of every kind of tank, in key, base and extra frames.
static void fields_are_what_the_model_says(void **state)
{
    (void)state;
    for (int f = 0; f < TANK_FIXTURE_TINY; f++) {
        tarn_tank_desc desc;
        tarn_encoder_desc how;
        tank_fixtures[f].describe(&desc);
        tarn_encoder_desc_default(&how);
        stage s = open_stage(&one_thread, &desc, &how);
        const uint32_t fields = tarn_tank_model(s.tank)->field_count, turn = TEST_IS_SANITIZED ? 2 : 6;
        for (uint32_t frame = 0; frame < 5 * turn; frame++) {
            tarn_push push;
            const uint32_t pushes = tank_fixture_push(&tank_fixtures[f], &desc, frame, &push);
            const uint32_t field = frame / turn % (fields + 1);
            assert_int_equal(act_step(s.tank, &push, pushes), TARN_OK);
            assert_int_equal(tarn_encoder_carry_field(s.encoder, field), TARN_OK);
            encode(&s, kind_at(frame));
            assert_int_equal(s.head.field.number, field);
            assert_int_equal(show(&s, how.layers + 1), TARN_OK);
            if (field > 0) {
                differences d = {0};
                compare(&s, &d);
                assert_in_range(d.largest, 0, s.head.field.is_kinds ? 0 : 1 << STREAM_LEVEL_FORM >> 2);
            }
        }
        assert_int_equal(tarn_encoder_carry_field(s.encoder, fields + 1), TARN_E_ARGUMENT);
        close_stage(&s);
    }
}

/// Nothing else of a frame is another one, and nobody asks for nothing.
static void frames_are_else_as_without(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    fixture_named("dam break 32")->describe(&desc);
    tarn_encoder_desc_default(&how);
    stage s = open_stage(&one_thread, &desc, &how), plain = open_stage(&one_thread, &desc, &how);
    const uint64_t before = tarn_encoder_bytes(s.encoder);
    for (uint32_t frame = 0; frame < 8; frame++) {
        assert_int_equal(act_step(s.tank, NULL, 0), TARN_OK);
        assert_int_equal(act_step(plain.tank, NULL, 0), TARN_OK);
        assert_int_equal(tarn_encoder_carry_field(s.encoder, frame < 6 ? 1 : 0), TARN_OK);
        const tarn_stream_kind kind = frame == 0 || frame == 6 ? TARN_STREAM_KEY : kind_at(frame + 1);
        assert_int_equal(encode(&s, kind), kind);
        encode(&plain, kind);
        const size_t head = tarn_stream_head_bytes(&s.head), flow = s.head.flow_bytes;
        const size_t layers =
            tarn_stream_cut_bytes(&plain.head, how.layers) - tarn_stream_head_bytes(&plain.head) - flow;
        const uint8_t *at = plain.bytes + tarn_stream_head_bytes(&plain.head);
        assert_int_equal(s.head.flow_bytes, plain.head.flow_bytes);
        assert_memory_equal(s.bytes + head, at, flow);
        assert_memory_equal(s.bytes + head + flow + s.head.field.coarse_bytes, at + flow, layers);
        assert_true(frame < 6 || s.head.frame_bytes == plain.head.frame_bytes);
    }
    assert_true(tarn_encoder_bytes(s.encoder) > before);
    assert_int_equal(tarn_encoder_bytes(plain.encoder), before);
    close_stage(&plain);
    close_stage(&s);
}

/// Cut before the details a frame still has the field, coarsely; they come back with the next key frame.
static void cut_frames_have_blocks(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    fixture_named("dam break 32")->describe(&desc);
    tarn_encoder_desc_default(&how);
    stage s = open_stage(&one_thread, &desc, &how);
    assert_int_equal(tarn_encoder_carry_field(s.encoder, 1), TARN_OK);
    for (uint32_t frame = 0; frame < 40; frame++) {
        assert_int_equal(act_step(s.tank, NULL, 0), TARN_OK);
        encode(&s, kind_at(frame));
        const uint32_t in_chain = frame % 12;
        assert_int_equal(show(&s, in_chain < 4   ? how.layers + 1
                                  : in_chain < 8 ? in_chain % 4
                                                 : how.layers + 1),
                         TARN_OK);
        differences d = {0};
        compare(&s, &d);
        assert_true(d.mean / d.planes < (in_chain < 4 ? 2 : 12));
        assert_true(in_chain >= 4 || d.largest <= 1 << STREAM_LEVEL_FORM >> 2);
    }
    close_stage(&s);
}

static void fields_cost_little(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    tarn_encoder_desc how;
    fixture_named("dam break 32")->describe(&desc);
    tarn_encoder_desc_default(&how);
    for (uint32_t field = 1; field <= 3; field++) {
        stage s = open_stage(&one_thread, &desc, &how);
        double bits[3][2] = {{0}}, frames[3] = {0};
        assert_int_equal(tarn_encoder_carry_field(s.encoder, field), TARN_OK);
        for (uint32_t frame = 0; frame < (TEST_IS_SANITIZED ? 24 : 120); frame++) {
            assert_int_equal(act_step(s.tank, NULL, 0), TARN_OK);
            const tarn_stream_kind kind = encode(&s, frame % 60 == 0 ? TARN_STREAM_KEY : kind_at(frame % 12 + 1));
            const double cells = 512.0 * s.head.field.tiles;
            bits[kind][0] += 8.0 * s.head.field.coarse_bytes / cells;
            bits[kind][1] += 8.0 * s.head.field.fine_bytes / cells;
            frames[kind]++;
        }
        printf("field %u, bits a cell, blocks + cells: key %.3f + %.3f, base %.3f + %.3f, extra %.3f + %.3f\n", field,
               bits[0][0] / frames[0], bits[0][1] / frames[0], bits[1][0] / frames[1], bits[1][1] / frames[1],
               bits[2][0] / frames[2], bits[2][1] / frames[2]);
        assert_true((bits[1][0] + bits[1][1]) / frames[1] < 2.5);
        close_stage(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_what_the_model_says),
        cmocka_unit_test(frames_are_else_as_without),
        cmocka_unit_test(cut_frames_have_blocks),
        cmocka_unit_test(fields_cost_little),
    };
    return cmocka_run_group_tests_name("field", tests, NULL, NULL);
}
