#include "tests/kernels/dialect_checks.h"

#include "tests/kernels/dialect_arrays.h"
#include "tests/kernels/dialect_chains.h"
#include "tests/kernels/dialect_rows.h"
#include "tests/kernels/dialect_transfers.h"
#include "tests/kernels/saxpy.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_saxpy(tarn_queue *queue)
{
    enum { COUNT = 128 * 37 + 5 };
    dialect_arrays all = {.queue = queue};
    float *x = dialect_array_add(&all, COUNT * sizeof *x), *y = dialect_array_add(&all, COUNT * sizeof *y);
    float *before = dialect_array_add(&all, COUNT * sizeof *y);
    uint64_t seed = 1;
    for (uint32_t i = 0; i < COUNT && !all.failed; i++) {
        x[i] = dialect_random_f32(&seed);
        y[i] = before[i] = dialect_random_f32(&seed);
    }
    if (!all.failed) {
        dialect_arrays_upload(&all);
        const struct saxpy_args args = {dialect_array_device(&all, x), dialect_array_device(&all, y), 1.7f, COUNT};
        tarn_queue_launch(queue, &kernel_saxpy, &args, NULL, (COUNT + 127) / 128);
        dialect_arrays_download(&all);
    }
    bool result = false;
    for (uint32_t i = 0; i < COUNT && !result && !all.failed; i++) {
        const volatile float product = 1.7f * x[i];
        result = dialect_same_f32("y", i, y[i], product + before[i]);
    }
    return dialect_arrays_end(&all, result);
}

static int check_lanes(tarn_queue *queue)
{
    enum { TILES = 29, COUNT = TILES * DIALECT_LANES };
    dialect_arrays all = {.queue = queue};
    uint32_t *u = dialect_array_add(&all, COUNT * sizeof *u);
    for (uint32_t i = 0; i < COUNT && !all.failed; i++) {
        u[i] = i;
    }
    dialect_launch(&all, &kernel_dialect_reverse, (dialect_args){.u = u}, TILES);
    bool result = false;
    for (uint32_t i = 0; i < COUNT && !result && !all.failed; i++) {
        result =
            dialect_same_u32("u", i, u[i], i / DIALECT_LANES * DIALECT_LANES + DIALECT_LANES - 1 - i % DIALECT_LANES);
    }
    return dialect_arrays_end(&all, result);
}

static bool check_range_of(tarn_queue *queue, uint32_t n)
{
    enum { TILES = 13 };
    dialect_arrays all = {.queue = queue};
    uint32_t *u = dialect_array_add(&all, (TILES * n + 1) * sizeof *u);
    for (uint32_t i = 0; i < TILES * n && !all.failed; i++) {
        u[i] = 7 * i + 1;
    }
    dialect_launch(&all, &kernel_dialect_range, (dialect_args){.u = u, .n = n}, TILES);
    bool result = false;
    for (uint32_t i = 0; i < TILES * n && !result && !all.failed; i++) {
        result = dialect_same_u32("u", i, u[i], i % 5 == 3 ? 7 * i + 1 : 3 * (7 * i + 1) + i);
    }
    return dialect_arrays_end(&all, result);
}

static int check_ranges(tarn_queue *queue)
{
    const uint32_t sizes[] = {0, 1, 31, DIALECT_LANES - 1, DIALECT_LANES, DIALECT_LANES + 1, 1000};
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (check_range_of(queue, sizes[i])) {
            return 1;
        }
    }
    return 0;
}

static int check_boxes(tarn_queue *queue)
{
    enum { TILES = 11, COUNT = TILES * DIALECT_BOX_CELLS };
    dialect_arrays all = {.queue = queue};
    uint32_t *u = dialect_array_add(&all, COUNT * sizeof *u);
    dialect_launch(&all, &kernel_dialect_box, (dialect_args){.u = u}, TILES);
    bool result = false;
    for (uint32_t i = 0; i < COUNT && !result && !all.failed; i++) {
        const uint32_t at = i % DIALECT_BOX_CELLS;
        const uint32_t x = at % DIALECT_BOX_X, y = at / DIALECT_BOX_X % DIALECT_BOX_Y,
                       z = at / (DIALECT_BOX_X * DIALECT_BOX_Y);
        result = dialect_same_u32("u", i, u[i], at % 11 == 4 ? 0 : 10000 * z + 100 * y + x + 1);
    }
    return dialect_arrays_end(&all, result);
}

/// The tree of tile_sum_f32, computed plainly.
static float tree_f32(const float *x, uint32_t n, uint32_t stride)
{
    return n == 1 ? x[0] : tree_f32(x, n / 2, stride * 2) + tree_f32(x + stride, n / 2, stride * 2);
}

static bool check_sum_of(tarn_queue *queue, uint32_t n, bool ascending)
{
    enum { TILES = 5 };
    dialect_arrays all = {.queue = queue};
    float *x = dialect_array_add(&all, TILES * n * sizeof *x), *y = dialect_array_add(&all, 2 * TILES * sizeof *y);
    uint64_t seed = n;
    for (uint32_t i = 0; i < TILES * n && !all.failed; i++) {
        x[i] = ascending ? (float)(i % n + 1) : dialect_random_f32(&seed);
    }
    dialect_launch(&all, &kernel_dialect_sum, (dialect_args){.x = x, .y = y, .n = n}, TILES);
    bool result = false;
    for (uint32_t t = 0; t < TILES && !result && !all.failed; t++) {
        float most = x[t * n];
        for (uint32_t i = 1; i < n; i++) {
            most = x[t * n + i] > most ? x[t * n + i] : most;
        }
        const float gauss = (float)(n * (n + 1) / 2);
        result = dialect_same_f32("sum", t, y[2 * t], ascending ? gauss : tree_f32(x + t * n, n, 1)) ||
                 dialect_same_f32("max", t, y[2 * t + 1], most);
    }
    return dialect_arrays_end(&all, result);
}

static int check_sums(tarn_queue *queue)
{
    for (uint32_t n = 1; n <= DIALECT_SUM_MAX; n *= 2) {
        if (check_sum_of(queue, n, false) || check_sum_of(queue, n, true)) {
            return 1;
        }
    }
    return 0;
}

static bool check_scan_of(tarn_queue *queue, uint32_t n)
{
    enum { TILES = 4 };
    dialect_arrays all = {.queue = queue};
    uint32_t *key = dialect_array_add(&all, (n + 1) * sizeof *key),
             *u = dialect_array_add(&all, TILES * (n + 1) * sizeof *u);
    uint64_t seed = n;
    for (uint32_t i = 0; i < n && !all.failed; i++) {
        key[i] = dialect_random_u32(&seed) % 1000;
    }
    dialect_launch(&all, &kernel_dialect_scan, (dialect_args){.key = key, .u = u, .n = n}, TILES);
    bool result = false;
    for (uint32_t t = 0; t < TILES && !result && !all.failed; t++) {
        uint32_t once = 0, twice = 0;
        for (uint32_t i = 0; i < n && !result; i++) {
            result = dialect_same_u32("scan", t * (n + 1) + i, u[t * (n + 1) + i], twice);
            twice += once;
            once += key[i] + t;
        }
        result |= !result && dialect_same_u32("total", t, u[t * (n + 1) + n], twice);
    }
    return dialect_arrays_end(&all, result);
}

static int check_scans(tarn_queue *queue)
{
    const uint32_t sizes[] = {0, 1, 2, 31, 32, 33, 95, 96, 97, 256, 1000, 1024};
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (check_scan_of(queue, sizes[i])) {
            return 1;
        }
    }
    return 0;
}

static bool check_rank_of(tarn_queue *queue, uint32_t n, uint32_t keys)
{
    enum { TILES = 6 };
    dialect_arrays all = {.queue = queue};
    const uint32_t stride = n + DIALECT_KEYS;
    uint32_t *key = dialect_array_add(&all, (TILES * n + 1) * sizeof *key),
             *u = dialect_array_add(&all, TILES * stride * sizeof *u);
    uint64_t seed = n + keys;
    for (uint32_t i = 0; i < TILES * n && !all.failed; i++) {
        key[i] = dialect_random_u32(&seed) % 9 == 0 ? DIALECT_NO_KEY : dialect_random_u32(&seed) % keys;
    }
    dialect_launch(&all, &kernel_dialect_rank, (dialect_args){.key = key, .u = u, .n = n}, TILES);
    bool result = false;
    for (uint32_t t = 0; t < TILES && !result && !all.failed; t++) {
        uint32_t first[DIALECT_KEYS];
        for (uint32_t k = 0; k < DIALECT_KEYS; k++) {
            first[k] = k * 1000;
        }
        for (uint32_t i = 0; i < n && !result; i++) {
            const uint32_t k = key[t * n + i];
            result = dialect_same_u32("rank", t * n + i, u[t * stride + i], k == DIALECT_NO_KEY ? 0 : first[k]++);
        }
        for (uint32_t k = 0; k < DIALECT_KEYS && !result; k++) {
            result = dialect_same_u32("first", k, u[t * stride + n + k], first[k]);
        }
    }
    return dialect_arrays_end(&all, result);
}

static int check_ranks(tarn_queue *queue)
{
    const uint32_t sizes[] = {0, 1, 20, 32, 64, 95, 96, 97, 500, DIALECT_RANK_MAX};
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (check_rank_of(queue, sizes[i], DIALECT_KEYS) || check_rank_of(queue, sizes[i], 1)) {
            return 1;
        }
    }
    return 0;
}

/// A stable counting sort of one tile's numbers, of which the first `limit` are kept.
static bool check_moved(const uint8_t *key, const uint32_t *from, const float *from_x, uint32_t n, const uint32_t *to,
                        const float *to_x, uint32_t limit)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < DIALECT_KEYS; k++) {
        for (uint32_t i = 0; i < n; i++) {
            if (key[i] != k || at >= limit) {
                continue;
            }
            if (dialect_same_u32("to", at, to[at], from[i]) || dialect_same_f32("to_x", at, to_x[at], from_x[i])) {
                return true;
            }
            at++;
        }
    }
    return false;
}

/// @param rare  one in so many keys is another than the frequent one
static bool check_move_of(tarn_queue *queue, uint32_t n, uint32_t limit, uint32_t rare)
{
    enum { TILES = 5, UNTOUCHED = 77 };
    dialect_arrays all = {.queue = queue};
    uint8_t *key = dialect_array_add(&all, TILES * n + 1);
    uint32_t *from = dialect_array_add(&all, (TILES * n + 1) * sizeof *from);
    float *from_x = dialect_array_add(&all, (TILES * n + 1) * sizeof *from_x);
    uint32_t *to = dialect_array_add(&all, (TILES * limit + UNTOUCHED) * sizeof *to);
    float *to_x = dialect_array_add(&all, (TILES * limit + UNTOUCHED) * sizeof *to_x);
    uint64_t seed = n + rare;
    for (uint32_t i = 0; i < TILES * n && !all.failed; i++) {
        key[i] =
            (uint8_t)(dialect_random_u32(&seed) % rare == 0 ? dialect_random_u32(&seed) % DIALECT_KEYS : DIALECT_OFTEN);
        from[i] = dialect_random_u32(&seed);
        from_x[i] = dialect_random_f32(&seed);
    }
    dialect_launch(
        &all, &kernel_dialect_move,
        (dialect_args){
            .w = (uint64_t *)(void *)key, .key = from, .x = from_x, .u = to, .y = to_x, .n = n, .limit = limit},
        TILES);
    bool result = false;
    for (uint32_t t = 0; t < TILES && !result && !all.failed; t++) {
        result = check_moved(key + t * n, from + t * n, from_x + t * n, n, to + t * limit, to_x + t * limit, limit);
    }
    for (uint32_t i = 0; i < UNTOUCHED && !result && !all.failed; i++) {
        result = dialect_same_u32("behind the end", i, to[TILES * limit + i], 0);
    }
    return dialect_arrays_end(&all, result);
}

static int check_moves(tarn_queue *queue)
{
    const uint32_t sizes[] = {0, 1, 15, 16, 17, 100, 256, 257, DIALECT_RANK_MAX};
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (uint32_t rare = 1; rare < 100; rare = 4 * rare + 1) {
            if (check_move_of(queue, sizes[i], sizes[i], rare) || check_move_of(queue, sizes[i], sizes[i] / 2, rare)) {
                return 1;
            }
        }
    }
    return 0;
}

static int check_atomics(tarn_queue *queue)
{
    enum { TILES = 40, N = 333, COUNT = TILES * N };
    dialect_arrays all = {.queue = queue};
    uint32_t *key = dialect_array_add(&all, COUNT * sizeof *key),
             *u = dialect_array_add(&all, (DIALECT_KEYS + 3) * sizeof *u);
    uint64_t *w = dialect_array_add(&all, sizeof *w);
    uint32_t wanted[DIALECT_KEYS + 3] = {0};
    uint64_t seed = 5;
    for (uint32_t i = 0; i < COUNT && !all.failed; i++) {
        key[i] = dialect_random_u32(&seed) % DIALECT_KEYS;
        wanted[key[i]]++;
        wanted[DIALECT_KEYS] += 8 - key[i];
        const uint32_t value = key[i] * 977 + i;
        wanted[DIALECT_KEYS + 1] = value > wanted[DIALECT_KEYS + 1] ? value : wanted[DIALECT_KEYS + 1];
    }
    wanted[DIALECT_KEYS + 2] = ~wanted[DIALECT_KEYS + 1]; // the least complement
    if (!all.failed) {
        u[DIALECT_KEYS + 2] = UINT32_MAX;
    }
    dialect_launch(&all, &kernel_dialect_atomics, (dialect_args){.key = key, .u = u, .w = w, .n = N}, TILES);
    bool result = false;
    for (uint32_t k = 0; k < DIALECT_KEYS + 3 && !result && !all.failed; k++) {
        result = dialect_same_u32("u", k, u[k], wanted[k]);
    }
    if (!result && !all.failed && *w != (uint64_t)COUNT << 33) {
        result = dialect_wrong("w is %llu, not %llu", (unsigned long long)*w, (unsigned long long)COUNT << 33);
    }
    return dialect_arrays_end(&all, result);
}

static const float edges[] = {0.0f,   -0.0f,   0.5f,    -0.5f,    1.5f,     -1.5f,      2.5f,       -2.5f,  3.5f,
                              1e-40f, -1e-45f, 8388609, -0.4999f, 0.50001f, 1048576.5f, -999999.5f, 1e-20f, 3e18f};

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/// What dialect_arithmetic must give at `at`, one operation at a time.
static bool compare_arithmetic(const dialect_args *k, uint32_t at)
{
    const float a = k->x[at], b = k->x[(at + 1) % k->n], c = k->x[(at + 2) % k->n];
    const double da = k->xd[at], db = k->xd[(at + 1) % k->n], dc = k->xd[(at + 2) % k->n];
    const volatile float product = a * b, third = 1.0f / 3.0f;
    const volatile double product_d = da * db, ratio_d = dc / da;
    const float held = a < -1e6f ? -1e6f : a > 1e6f ? 1e6f : a;
    uint32_t bits;
    memcpy(&bits, &c, sizeof bits);
    return dialect_same_f32("a * b + c", at, k->y[6 * at], product + c) ||
           dialect_same_f32("a / b", at, k->y[6 * at + 1], a / b) ||
           dialect_same_f32("sqrt", at, k->y[6 * at + 2], sqrtf(a < 0.0f ? -a : a)) ||
           dialect_same_f32("floor", at, k->y[6 * at + 3], floorf(a)) ||
           dialect_same_f32("min - max", at, k->y[6 * at + 4], (a < b ? a : b) - (b > c ? b : c)) ||
           dialect_same_f32("-a / 3", at, k->y[6 * at + 5], -a * third) ||
           dialect_same_f64("da * db + dc / da", at, k->yd[at], product_d + ratio_d) ||
           dialect_same_u32("round", at, k->u[at], (uint32_t)lrint((double)held)) ||
           dialect_same_u32("mix", at, (uint32_t)(k->w[at] ^ k->w[at] >> 32),
                            (uint32_t)(mixed((uint64_t)at << 32 | bits) ^ mixed((uint64_t)at << 32 | bits) >> 32));
}

static int check_arithmetic(tarn_queue *queue)
{
    enum { COUNT = 20 * DIALECT_LANES + 17, EDGES = sizeof edges / sizeof edges[0] };
    dialect_arrays all = {.queue = queue};
    dialect_args args = {.n = COUNT};
    float *x = dialect_array_add(&all, COUNT * sizeof *x);
    double *xd = dialect_array_add(&all, COUNT * sizeof *xd);
    args.y = dialect_array_add(&all, 6 * COUNT * sizeof *args.y);
    args.yd = dialect_array_add(&all, COUNT * sizeof *args.yd);
    args.u = dialect_array_add(&all, COUNT * sizeof *args.u);
    args.w = dialect_array_add(&all, COUNT * sizeof *args.w);
    uint64_t seed = 9;
    for (uint32_t i = 0; i < COUNT && !all.failed; i++) {
        // Zeros stand where nothing divides by them: a NaN's sign and payload are nobody's promise.
        const float edge = edges[i % EDGES];
        x[i] = i >= 7 * EDGES ? dialect_random_f32(&seed) : edge != 0.0f ? edge : 0.25f;
        xd[i] = (double)dialect_random_f32(&seed) * (1.0 + 1e-9 * i) + 1e-30;
    }
    args.x = x;
    args.xd = xd;
    dialect_launch(&all, &kernel_dialect_arithmetic, args, (COUNT + DIALECT_LANES - 1) / DIALECT_LANES);
    bool result = false;
    for (uint32_t i = 0; i < COUNT && !result && !all.failed; i++) {
        result = compare_arithmetic(&args, i);
    }
    return dialect_arrays_end(&all, result);
}

/// @param y  the helpers' values of x[at + 1]
static bool compare_helpers(const float *x, const float *y, uint32_t at)
{
    for (uint32_t k = 0; k < 4; k++) {
        const volatile float product = x[at + 1] * x[at + k];
        if (dialect_same_f32("x * four + four", at, y[k], product + x[at + 3 + k])) {
            return true;
        }
    }
    // Of a zero, +0 comes out of bounds at zero, and what it was out of the others.
    const float own = x[at + 1], low = own < 3.0f ? own : 3.0f;
    return dialect_same_f32("select", at, y[4], at % 3 == 0 ? own : -own) ||
           dialect_same_f32("clamp", at, y[5], low > -2.0f ? low : -2.0f) ||
           dialect_same_f32("below zero", at, y[6], own < 0.0f ? own : 0.0f) ||
           dialect_same_f32("above zero", at, y[7], own > 0.0f ? own : 0.0f) ||
           dialect_same_f32("clamp from zero", at, y[8], low > 0.0f ? low : 0.0f) ||
           dialect_same_f32("magnitude", at, y[9], own < 0.0f ? -own : own);
}

static int check_helpers(tarn_queue *queue)
{
    enum { COUNT = 5 * DIALECT_LANES + 1, NAN_AT = COUNT + 1 };
    dialect_arrays all = {.queue = queue};
    float *x = dialect_array_add(&all, (COUNT + 8) * sizeof *x),
          *y = dialect_array_add(&all, DIALECT_HELPERS * (COUNT + 1) * sizeof *y);
    uint64_t seed = 3;
    for (uint32_t i = 0; i < COUNT + 8 && !all.failed; i++) {
        x[i] = i % 13 == 4 ? -0.0f : i % 13 == 9 ? 0.0f : dialect_random_f32(&seed);
    }
    if (!all.failed) {
        x[NAN_AT] = NAN;
    }
    dialect_launch(&all, &kernel_dialect_helpers, (dialect_args){.x = x, .y = y, .n = COUNT + 1},
                   COUNT / DIALECT_LANES + 1);
    bool result = false;
    for (uint32_t i = 0; i + 6 < COUNT && !result && !all.failed; i++) {
        result = compare_helpers(x, y + DIALECT_HELPERS * (size_t)i, i);
    }
    if (!result && !all.failed) {
        const float *of_nan = y + DIALECT_HELPERS * (size_t)COUNT;
        result = dialect_same_f32("clamp of not a number", COUNT, of_nan[5], 3.0f) ||
                 dialect_same_f32("below zero of not a number", COUNT, of_nan[6], 0.0f) ||
                 dialect_same_f32("above zero of not a number", COUNT, of_nan[7], 0.0f);
    }
    return dialect_arrays_end(&all, result);
}

enum { PACK_TILES = 9, PACK_N = 37, PACK_COUNT = PACK_TILES * PACK_N, PACK_SUMS = DIALECT_KEYS * DIALECT_PACK_PARTS };

/// One tile's sums, maximum and bits.
static bool compare_pack_tile(const float *x, const uint32_t *key, uint32_t tile, const uint32_t *out)
{
    uint32_t sum[PACK_SUMS] = {0}, bits = 0, places = 0;
    float largest = 0.0f;
    for (uint32_t i = tile * PACK_N; i < (tile + 1) * PACK_N; i++) {
        uint32_t *own = sum + (size_t)key[i] * DIALECT_PACK_PARTS;
        for (uint32_t k = 0; k < DIALECT_PACK_PARTS; k++) {
            own[k] += (uint32_t)lrintf(x[i] * ((float)k + 0.5f));
        }
        for (uint32_t k = 0; k < DIALECT_PACK_PARTS / 2; k++) {
            own[k] += (uint32_t)lrintf(x[i] * ((float)(k + 4) + 0.5f));
        }
        largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
        bits |= key[i] == DIALECT_KEYS - 1;
        places += key[i] == DIALECT_KEYS - 1 ? 2 * (i - tile * PACK_N + 1) : 0;
    }
    bool result = false;
    for (uint32_t i = 0; i < PACK_SUMS && !result; i++) {
        result = dialect_same_u32("sum", i, out[i], sum[i]);
    }
    float found;
    memcpy(&found, out + PACK_SUMS, sizeof found);
    return result || dialect_same_f32("largest of tile", tile, found, largest) ||
           dialect_same_u32("bits of tile", tile, out[PACK_SUMS + 1], places + bits);
}

static bool compare_pack_value(const float *x, const uint32_t *key, const dialect_args *args, uint32_t i)
{
    const float *from = x + key[i], w[4] = {x[i], 1.0f - x[i], (float)key[i], 0.5f * x[i]};
    float rows[4], pairs[4];
    for (int k = 0; k < 4; k++) {
        const float *pair = w + k % 2 * 2;
        const volatile float row[4] = {w[0] * from[k], w[1] * from[k + 4], w[2] * from[k + 7], w[3] * from[k + 11]};
        const volatile float low = row[0] + row[1], high = row[2] + row[3];
        const volatile float near = pair[0] * from[k], far = pair[1] * from[k + 5];
        rows[k] = low + high;
        pairs[k] = near + far;
    }
    const volatile float a = x[i] * rows[1], b = (float)key[i] * rows[3], c = x[i] * pairs[1];
    const volatile float low = rows[0] + a, high = rows[2] + b, first = pairs[0] - c;
    const volatile float product = first * (pairs[2] - pairs[3]);
    const volatile float difference = low - high;
    const float value = difference + product;
    int32_t whole;
    memcpy(&whole, &x[i], sizeof whole);
    whole = whole >> 3 < -5 ? -5 : whole >> 3 > 1 << 24 ? 1 << 24 : whole >> 3;
    return dialect_same_f32("value", i, args->y[i], value > -1.0f ? (value < 100.0f ? value : 100.0f) : -1.0f) ||
           dialect_same_u32("whole", i, args->u[i], (uint32_t)whole) ||
           dialect_same_u32("byte", i, ((const uint8_t *)args->w)[i], key[i] + 3);
}

static int check_packs(tarn_queue *queue)
{
    dialect_arrays all = {.queue = queue};
    float *x = dialect_array_add(&all, PACK_COUNT * sizeof *x);
    uint32_t *key = dialect_array_add(&all, PACK_COUNT * sizeof *key);
    dialect_args args = {.x = x, .key = key, .n = PACK_N, .limit = PACK_COUNT + 1};
    args.y = dialect_array_add(&all, (PACK_COUNT + 1) * sizeof *args.y);
    args.u = dialect_array_add(&all, (args.limit + PACK_TILES * (PACK_SUMS + 2)) * sizeof *args.u);
    args.w = dialect_array_add(&all, PACK_COUNT + 1);
    uint64_t seed = 12;
    for (uint32_t i = 0; i < PACK_COUNT && !all.failed; i++) {
        x[i] = dialect_random_f32(&seed);
        key[i] = dialect_random_u32(&seed) % (i / PACK_N % 2 == 0 ? DIALECT_KEYS : DIALECT_KEYS - 1);
    }
    dialect_launch(&all, &kernel_dialect_pack, args, PACK_TILES);
    bool result = false;
    for (uint32_t i = 0; i < PACK_COUNT && !result && !all.failed; i++) {
        result = compare_pack_value(x, key, &args, i);
    }
    for (uint32_t tile = 0; tile < PACK_TILES && !result && !all.failed; tile++) {
        result = compare_pack_tile(x, key, tile, args.u + args.limit + (size_t)tile * (PACK_SUMS + 2));
    }
    if (!result && !all.failed) {
        result = dialect_same_f32("behind the last value", PACK_COUNT, args.y[PACK_COUNT], 0.0f) ||
                 dialect_same_u32("behind the last whole", PACK_COUNT, args.u[PACK_COUNT], 0) ||
                 dialect_same_u32("behind the last byte", PACK_COUNT, ((const uint8_t *)args.w)[PACK_COUNT], 0);
    }
    return dialect_arrays_end(&all, result);
}

static bool check_count_of(tarn_queue *queue, uint32_t count, uint32_t max, uint32_t wanted)
{
    enum { TILES_MAX = 20000 };
    dialect_arrays all = {.queue = queue};
    uint32_t *u = dialect_array_add(&all, TILES_MAX * sizeof *u), *given = dialect_array_add(&all, sizeof *given);
    if (!all.failed) {
        *given = count;
        dialect_arrays_upload(&all);
        const dialect_args args = dialect_to_device(&all, (dialect_args){.u = u});
        const uint32_t *on_device = count == UINT32_MAX ? NULL : dialect_array_device(&all, given);
        tarn_queue_launch(queue, &kernel_dialect_count, &args, on_device, max);
        dialect_arrays_download(&all);
    }
    bool result = false;
    for (uint32_t i = 0; i < TILES_MAX && !result && !all.failed; i++) {
        result = dialect_same_u32("runs", i, u[i], i < wanted);
    }
    return dialect_arrays_end(&all, result);
}

static int check_counts(tarn_queue *queue)
{
    const uint32_t none = UINT32_MAX; // no count is given
    const uint32_t cases[][3] = {{none, 0, 0}, {none, 1, 1}, {none, 20000, 20000},  {0, 77, 0}, {5, 77, 5},
                                 {77, 77, 77}, {78, 77, 77}, {4000000000u, 12, 12}, {3, 0, 0},  {19999, 20000, 19999}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (check_count_of(queue, cases[i][0], cases[i][1], cases[i][2])) {
            return 1;
        }
    }
    return 0;
}

/// Many tiny launches, the values of each made from those of the one before.
static int check_order(tarn_queue *queue)
{
    enum { TILES = 3, COUNT = TILES * 64, LAUNCHES = 2000 };
    dialect_arrays all = {.queue = queue};
    uint32_t *u = dialect_array_add(&all, COUNT * sizeof *u);
    for (uint32_t i = 0; i < COUNT && !all.failed; i++) {
        u[i] = i;
    }
    if (!all.failed) {
        dialect_arrays_upload(&all);
        for (uint32_t n = 0; n < LAUNCHES; n++) {
            const dialect_args args = dialect_to_device(&all, (dialect_args){.u = u, .n = n});
            tarn_queue_launch(queue, &kernel_dialect_chain, &args, NULL, TILES);
        }
        dialect_arrays_download(&all);
    }
    bool result = false;
    for (uint32_t i = 0; i < COUNT && !result && !all.failed; i++) {
        uint32_t value = i;
        for (uint32_t n = 0; n < LAUNCHES; n++) {
            value = value * 1664525u + n;
        }
        result = dialect_same_u32("chain", i, u[i], value);
    }
    return dialect_arrays_end(&all, result);
}

// ------------------------------------------------------------------------------------------------------ repeats and
// replays

enum { ROUNDS_MAX = 12 };

typedef struct repeat_context {
    tarn_queue *queue;
    dialect_args args; // u: go, rounds done, rounds wanted
    const uint32_t *go;
    uint32_t times;
} repeat_context;

static void one_round(void *context)
{
    const repeat_context *c = context;
    tarn_queue_launch(c->queue, &kernel_dialect_round, &c->args, NULL, 1);
}

static void simple_repeat(void *context)
{
    const repeat_context *c = context;
    tarn_queue_launch(c->queue, &kernel_dialect_rewind, &c->args, NULL, 1);
    tarn_queue_repeat(c->queue, c->go, c->times, one_round, context);
}

static repeat_context repeat_context_of(const dialect_arrays *all, const uint32_t *u, uint32_t times)
{
    repeat_context c = {.queue = all->queue, .times = times};
    c.args.u = dialect_array_device(all, u);
    c.go = c.args.u;
    return c;
}

/// The rounds wanted grow by one with every repeat; `times` caps them.
static bool check_repeat_of(tarn_queue *queue, uint32_t times, bool as_replay)
{
    dialect_arrays all = {.queue = queue};
    uint32_t *u = dialect_array_add(&all, 8 * sizeof *u);
    tarn_replay *replay = NULL;
    bool result = false;
    if (!all.failed) {
        u[3] = 1;
        dialect_arrays_upload(&all);
    }
    repeat_context c = repeat_context_of(&all, u, times);
    for (uint32_t wanted = 1; wanted <= ROUNDS_MAX && !result && !all.failed; wanted++) {
        if (as_replay) {
            tarn_queue_run(queue, &replay, simple_repeat, &c);
        } else {
            simple_repeat(&c);
        }
        dialect_arrays_download(&all);
        result = all.failed ? false
                            : dialect_same_u32("rounds", wanted, u[1], wanted < times ? wanted : times) ||
                                  dialect_same_u32("go", wanted, u[0], wanted > times);
    }
    tarn_queue_replay_destroy(queue, replay);
    return dialect_arrays_end(&all, result);
}

/// Replays of two queues, one started before the other is done: each has its own loops and counts.
static int check_two_queues(tarn_queue *queue)
{
    tarn_queue *other;
    if (tarn_queue_create(tarn_queue_device(queue), &other) != TARN_OK) {
        return dialect_wrong("there is no second queue");
    }
    dialect_arrays all[2] = {{.queue = queue}, {.queue = other}};
    tarn_replay *replays[2] = {NULL, NULL};
    repeat_context c[2];
    uint32_t *u[2];
    bool result = false;
    for (uint32_t q = 0; q < 2; q++) {
        u[q] = dialect_array_add(&all[q], 8 * sizeof *u[q]);
        if (!all[q].failed) {
            u[q][3] = 1 + 3 * q;
            dialect_arrays_upload(&all[q]);
        }
        c[q] = repeat_context_of(&all[q], u[q], ROUNDS_MAX);
    }
    for (uint32_t again = 0; again < 5 && !result && !all[0].failed && !all[1].failed; again++) {
        for (uint32_t q = 0; q < 2; q++) {
            tarn_queue_run(c[q].queue, &replays[q], simple_repeat, &c[q]);
        }
        for (uint32_t q = 0; q < 2 && !result; q++) {
            dialect_arrays_download(&all[q]);
            result = all[q].failed ? false : dialect_same_u32("rounds", q, u[q][1], 1 + 3 * q + again);
        }
    }
    for (uint32_t q = 0; q < 2; q++) {
        tarn_queue_replay_destroy(c[q].queue, replays[q]);
        result = dialect_arrays_end(&all[q], result);
    }
    tarn_queue_destroy(other);
    return result;
}

static int check_repeats(tarn_queue *queue)
{
    const uint32_t times[] = {0, 1, 5, ROUNDS_MAX};
    for (uint32_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (check_repeat_of(queue, times[i], false) || check_repeat_of(queue, times[i], true)) {
            return 1;
        }
    }
    return 0;
}

static int check_repeat_without_go(tarn_queue *queue)
{
    dialect_arrays all = {.queue = queue};
    uint32_t *u = dialect_array_add(&all, 8 * sizeof *u);
    repeat_context c = repeat_context_of(&all, u, 5);
    if (!all.failed) {
        tarn_queue_repeat(queue, c.go, 5, one_round, &c);
        dialect_arrays_download(&all);
    }
    return dialect_arrays_end(&all, all.failed ? false : dialect_same_u32("rounds", 1, u[1], 0));
}

static int check_too_much_memory(tarn_queue *queue)
{
    void *memory = tarn_device_alloc(tarn_queue_device(queue), SIZE_MAX / 2);
    if (memory != NULL) {
        tarn_device_free(tarn_queue_device(queue), memory);
        return dialect_wrong("half the address space was given out");
    }
    if (tarn_queue_wait(queue) != TARN_OK) {
        return dialect_wrong("the device didn't survive running out of memory: %s",
                             tarn_device_error(tarn_queue_device(queue)));
    }
    return check_lanes(queue);
}

const dialect_check dialect_checks[] = {
    {"the worked example", check_saxpy},
    {"lanes and barriers", check_lanes},
    {"ranges", check_ranges},
    {"boxes", check_boxes},
    {"sums and maxima in the fixed tree", check_sums},
    {"prefix sums", check_scans},
    {"stable ranks", check_ranks},
    {"stable moves", check_moves},
    {"atomics", check_atomics},
    {"arithmetic, one rounding each", check_arithmetic},
    {"helpers", check_helpers},
    {"packs", check_packs},
    {"rows", dialect_check_rows},
    {"rows of bits", dialect_check_bit_rows},
    {"launches limited by a count", check_counts},
    {"order of many tiny launches", check_order},
    {"repeats and replays", check_repeats},
    {"chains", dialect_check_chains},
    {"two queues side by side", check_two_queues},
    {"a repeat without go", check_repeat_without_go},
    {"transfers", dialect_check_transfers},
    {"running out of memory", check_too_much_memory},
};
const uint32_t dialect_check_count = sizeof dialect_checks / sizeof dialect_checks[0];

int dialect_check_run(const dialect_check *check, tarn_device *device)
{
    tarn_queue *queue;
    if (tarn_queue_create(device, &queue) != TARN_OK) {
        return dialect_wrong("the device gives no queue: %s", tarn_device_error(device));
    }
    const int result = check->run(queue);
    tarn_queue_destroy(queue);
    return result;
}
