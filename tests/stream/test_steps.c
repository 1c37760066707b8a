// Symbols that are looked up before their turn comes (kernels/stream/steps.h) make the bytes that they make one by one:
// residuals of all sizes, and parts of key frames whose cells hold anything from nothing to a crowd. It is CUDA's form
// of them, with lanes that are a loop; tests/kernels runs it lane by lane, with what tanks have.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/stream/stream_memory.h"

#include "kernels/stream/sets.cuda.h"

#include <stdlib.h>

enum { POINTS_MAX = 4096, BYTES_MAX = 1 << 16, ROUNDS = 200, RUN = 300 };

static tarn_code_tables tables;
static uint8_t coded[2][BYTES_MAX];
static uint32_t keys[POINTS_MAX];
static uint8_t colours[POINTS_MAX];
static code_sets_scratch scratch;

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = tile_mix_u64(*seed + 0x9e3779b97f4a7c15ull);
    return (uint32_t)(*seed >> 33) % below;
}

static int by_key(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void assert_same_stream(const uint8_t *at, uint32_t bytes)
{
    assert_int_equal(bytes, (uint32_t)(coded[0] + BYTES_MAX - at));
    assert_memory_equal(at, coded[1] + BYTES_MAX - bytes, bytes);
}

static void residuals_of_all_sizes(void **state)
{
    static const int32_t most[] = {1, 3, 40, TARN_RESIDUAL_MAX};
    stream_step step[RUN];
    uint64_t seed = 1;
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        tarn_ans_writer one, steps;
        tarn_ans_begin(&one, coded[0] + BYTES_MAX);
        tarn_ans_begin(&steps, coded[1] + BYTES_MAX);
        for (uint32_t k = RUN; k-- > 0;) {
            const uint32_t context = draw(&seed, TARN_RESIDUAL_CONTEXTS);
            int32_t residual[3];
            for (int a = 0; a < 3; a++) {
                const int32_t size = most[draw(&seed, 4)];
                residual[a] = draw(&seed, 8) == 0 ? size : (int32_t)draw(&seed, 2 * (uint32_t)size + 1) - size;
            }
            step[k] = k % 5 == 0 ? step_of_nothing() : step_of_residual(&tables.residual, context, residual);
            if (k % 5 != 0) {
                tarn_residual_write(&one, &tables.residual, context, residual);
            }
        }
        assert_true(put_steps(&steps, &tables.residual, step, RUN, coded[1]));
        assert_same_stream(tarn_ans_end(&one), (uint32_t)(coded[1] + BYTES_MAX - tarn_ans_end(&steps)));
    }
}

/// In some of the cells, of which some are crowded, some of the particles at one place.
static uint32_t draw_part(uint64_t *seed, uint32_t bits)
{
    const uint32_t cells = 1 + draw(seed, TARN_SET_CELLS), crowd = 1 + draw(seed, 60),
                   spread = draw(seed, 3 * bits + 1);
    uint32_t count = 1 + draw(seed, draw(seed, 4) == 0 ? POINTS_MAX : 300);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t cell = draw(seed, crowd) == 0 ? draw(seed, TARN_SET_CELLS) : draw(seed, cells);
        keys[k] = cell << 3 * bits | draw(seed, 1u << spread);
        colours[k] = (uint8_t)draw(seed, crowd < 30 ? 2 : 256);
    }
    qsort(keys, count, sizeof *keys, by_key);
    for (uint32_t c = 0; c < TARN_SET_CELLS; c++) {
        scratch.count[c] = 0;
    }
    for (uint32_t k = 0; k < count; k++) {
        scratch.count[keys[k] >> 3 * bits]++;
    }
    return count;
}

static void parts_of_all_kinds(void **state)
{
    uint64_t seed = 2;
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        static stream_args args;
        const uint32_t bits = round % (TARN_SET_BITS_MAX + 1), count = draw_part(&seed, bits);
        const stream_part part = {0, count, 0};
        tarn_ans_writer writer;
        uint32_t bytes = 0;
        args.w.tables = &tables;
        args.w.key = keys;
        args.w.layer = colours;
        args.w.coded = coded[1];
        args.bits = bits;
        tarn_ans_begin(&writer, coded[0] + BYTES_MAX);
        tarn_set_write(&writer, &tables.set, keys, count, bits, scratch.count);
        write_part(&args, &scratch, &part, 0, coded[1] + BYTES_MAX, &bytes);
        assert_same_stream(tarn_ans_end(&writer), bytes);
        tarn_ans_begin(&writer, coded[0] + BYTES_MAX);
        tarn_code_put_colours(&writer, &tables, count, colours);
        write_part(&args, &scratch, &part, 1, coded[1] + BYTES_MAX, &bytes);
        assert_same_stream(tarn_ans_end(&writer), bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_of_all_sizes),
        cmocka_unit_test(parts_of_all_kinds),
    };
    tarn_code_tables_make(&tables);
    return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
