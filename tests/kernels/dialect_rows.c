#include "tests/kernels/dialect_rows.h"

#include "tests/kernels/dialect_arrays.h"

#include <math.h>

enum { ROW_TILES = 5, ROW_N = 13, ROW_COUNT = ROW_TILES * ROW_N, ROW_CELLS = ROW_COUNT * 8 };

static bool compare_row_cell(const dialect_args *args, uint32_t i)
{
    const float a = args->x[i], b = (float)((const uint8_t *)args->key)[i];
    const volatile float product = a * b;
    const float low = a < 2.0f ? a : 2.0f, clamped = low > -1.0f ? low : -1.0f;
    const volatile float mixed = a < b ? clamped : product > 0.5f ? product : 0.5f, twice = 2.0f * b;
    return dialect_same_f32("cell", i, args->y[i], mixed + twice) ||
           dialect_same_f32("magnitude", i, args->y[ROW_CELLS + i], isnan(a) ? INFINITY : fabsf(a));
}

int dialect_check_rows(tarn_queue *queue)
{
    dialect_arrays all = {.queue = queue};
    float *x = dialect_array_add(&all, ROW_CELLS * sizeof *x);
    uint8_t *bytes = dialect_array_add(&all, ROW_CELLS);
    dialect_args args = {.x = x, .key = (const uint32_t *)(const void *)bytes, .n = ROW_N, .limit = ROW_CELLS};
    args.y = dialect_array_add(&all, 2 * (size_t)ROW_CELLS * sizeof *args.y);
    args.u = dialect_array_add(&all, ROW_COUNT * sizeof *args.u);
    uint64_t seed = 13;
    for (uint32_t i = 0; i < ROW_CELLS && !all.failed; i++) {
        x[i] = i % 29 == 7 ? NAN : i % 31 == 7 ? -INFINITY : dialect_random_f32(&seed);
        bytes[i] = (uint8_t)dialect_random_u32(&seed);
    }
    dialect_launch(&all, &kernel_dialect_row, args, ROW_TILES);
    bool result = false;
    for (uint32_t i = 0; i < ROW_CELLS && !result && !all.failed; i++) {
        result = compare_row_cell(&args, i);
    }
    for (uint32_t row = 0; row < ROW_COUNT && !result && !all.failed; row++) {
        result = dialect_same_u32("row", row, args.u[row], row + 1);
    }
    return dialect_arrays_end(&all, result);
}

enum {
    BIT_TILES = 3,
    BIT_ROWS = BIT_TILES * DIALECT_BIT_ROWS,
    BIT_CELLS = BIT_ROWS * 8,
};

/// Whether a row's word has bits of the mask.
static bool row_is_in(const uint16_t *words, uint32_t row)
{
    return (words[row] & (row % DIALECT_BIT_ROWS < DIALECT_BIT_LATE ? 0x1ff : 0x8100)) != 0;
}

/// What became of a cell's integer and byte.
static bool compare_bit_integer(const dialect_args *args, bool in, bool set, uint32_t i)
{
    const uint32_t *whole = (const uint32_t *)(const void *)args->w;
    const uint32_t one = i % 8 == 5 ? whole[i / 8 * 8 + 2] & 0xff : 0;
    const uint8_t byte = ((const uint8_t *)(const void *)args->yd)[i];
    return dialect_same_u32("sum", i, args->u[3 * BIT_ROWS + i], in ? (whole[i] & 0xffff) + one : 0) ||
           dialect_same_u32("byte", i, byte, set ? 9 : 0);
}

/// What a cell keeps, puts and counts, by the definition of the row functions.
static bool compare_bit_cell(const dialect_args *args, const uint16_t *words, uint32_t i)
{
    const uint32_t row = i / 8, x = i % 8, word = words[row], *count = (const uint32_t *)(const void *)args->w + i;
    const bool in = row_is_in(words, row), set = in && (word >> x & 1) != 0;
    const float a = args->x[i], size = isnan(a) ? INFINITY : fabsf(a);
    const uint32_t masks = (word >> x & 1) + (word >> (x + 1) & 1) + (word >> (x + 4) & 1);
    return dialect_same_f32("kept root", i, args->y[i], set ? sqrtf(size) : 0.0f) ||
           dialect_same_f32("put", i, args->y[BIT_CELLS + i], set ? size : 5.0f) ||
           dialect_same_f32("count", i, args->y[2 * BIT_CELLS + i], in ? (float)masks : 0.0f) ||
           dialect_same_f32("integer", i, args->y[3 * BIT_CELLS + i], in ? (float)(int32_t)*count : 0.0f) ||
           compare_bit_integer(args, in, set, i);
}

static bool compare_bit_row(const dialect_args *args, const uint16_t *words, uint32_t row)
{
    const uint32_t *count = (const uint32_t *)(const void *)args->w + (size_t)row * 8;
    uint32_t bits = 0;
    for (uint32_t x = 0; x < 8; x++) {
        bits |= (uint32_t)((int32_t)count[x] >= -7) << x;
    }
    const bool in = row_is_in(words, row);
    return dialect_same_u32("visits", row, args->u[row], in ? row + 1 : 0) ||
           dialect_same_u32("any", row, args->u[2 * BIT_ROWS + row], in && (words[row] & 0xff) != 0) ||
           dialect_same_u32("at least", row, args->u[BIT_ROWS + row], bits);
}

/// Words of all kinds: empty, of one bit, of bits that no mask asks for, full ones.
static uint16_t bit_word(uint64_t *seed, uint32_t row)
{
    const uint32_t any = dialect_random_u32(seed);
    const uint16_t kinds[] = {0, (uint16_t)(1u << any % 16), (uint16_t)(any & 0x7e00), 0xffff, (uint16_t)any};
    return kinds[row % 5];
}

int dialect_check_bit_rows(tarn_queue *queue)
{
    dialect_arrays all = {.queue = queue};
    float *x = dialect_array_add(&all, BIT_CELLS * sizeof *x);
    uint16_t *words = dialect_array_add(&all, BIT_ROWS * sizeof *words);
    int32_t *count = dialect_array_add(&all, BIT_CELLS * sizeof *count);
    dialect_args args = {.x = x, .key = (const uint32_t *)(const void *)words, .w = (uint64_t *)(void *)count};
    args.limit = BIT_CELLS;
    args.n = BIT_ROWS;
    args.y = dialect_array_add(&all, 4 * (size_t)BIT_CELLS * sizeof *args.y);
    args.yd = dialect_array_add(&all, BIT_CELLS);
    args.u = dialect_array_add(&all, (3 * (size_t)BIT_ROWS + BIT_CELLS) * sizeof *args.u);
    uint64_t seed = 14;
    for (uint32_t i = 0; i < BIT_CELLS && !all.failed; i++) {
        x[i] = i % 29 == 7 ? NAN : i % 31 == 7 ? -INFINITY : dialect_random_f32(&seed);
        count[i] = i % 3 == 0 ? (int32_t)(i % 17) - 12 : (int32_t)dialect_random_u32(&seed); // floats round the latter
        args.y[BIT_CELLS + i] = 5.0f;
    }
    for (uint32_t row = 0; row < BIT_ROWS && !all.failed; row++) {
        words[row] = bit_word(&seed, row);
    }
    dialect_launch(&all, &kernel_dialect_bit_row, args, BIT_TILES);
    bool result = false;
    for (uint32_t i = 0; i < BIT_CELLS && !result && !all.failed; i++) {
        result = compare_bit_cell(&args, words, i);
    }
    for (uint32_t row = 0; row < BIT_ROWS && !result && !all.failed; row++) {
        result = compare_bit_row(&args, words, row);
    }
    return dialect_arrays_end(&all, result);
}
