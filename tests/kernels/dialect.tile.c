// Kernels that test the dialect by itself: each uses one thing in all the ways that kernels may use it.
#include "tests/kernels/dialect.h"
#include "kernels/device/pack.h"
#include "kernels/device/pack_move.h"
#include "kernels/device/row.h"
#include "kernels/device/tile.h"
#include "kernels/device/tile_chain.h"

typedef struct lanes_scratch {
    uint32_t value[DIALECT_LANES];
} lanes_scratch;

/// Lanes and barriers: reverses u inside each tile, three times over, with reads and writes kept apart by barriers.
TILE_KERNEL(dialect_reverse, DIALECT_LANES, dialect_args, lanes_scratch)
{
    uint32_t *u = args->u + (uint64_t)tile * DIALECT_LANES;
    for (int round = 0; round < 3; round++) {
        FOR_LANES (i) {
            s->value[i] = u[i];
        }
        TILE_BARRIER();
        FOR_LANES (i) {
            u[i] = s->value[DIALECT_LANES - 1 - i];
        }
        TILE_BARRIER();
    }
}

/// Ranges that are longer, shorter and as long as the lanes; `continue` skips a round.
TILE_KERNEL(dialect_range, DIALECT_LANES, dialect_args, tile_no_scratch)
{
    const uint32_t begin = tile * args->n, end = begin + args->n;
    FOR_RANGE (i, begin, end) {
        if (i % 5 == 3) {
            continue;
        }
        args->u[i] = args->u[i] * 3 + i;
    }
}

/// Boxes: every cell once, x fastest; `continue` skips a round.
TILE_KERNEL(dialect_box, DIALECT_LANES, dialect_args, tile_no_scratch)
{
    uint32_t *u = args->u + (uint64_t)tile * DIALECT_BOX_CELLS;
    FOR_BOX (x, y, z, DIALECT_BOX_X, DIALECT_BOX_Y, DIALECT_BOX_Z) {
        const int at = (z * DIALECT_BOX_Y + y) * DIALECT_BOX_X + x;
        if (at % 11 == 4) {
            continue;
        }
        u[at] += (uint32_t)(10000 * z + 100 * y + x + 1);
    }
}

typedef struct sum_scratch {
    float f[DIALECT_SUM_MAX];
    float m[DIALECT_SUM_MAX];
} sum_scratch;

/// Sums in the fixed tree and the maximum, over n values.
TILE_KERNEL(dialect_sum, 256, dialect_args, sum_scratch)
{
    const uint64_t first = (uint64_t)tile * args->n;
    FOR_RANGE (i, 0, args->n) {
        s->f[i] = args->x[first + i];
        s->m[i] = args->x[first + i];
    }
    TILE_BARRIER();
    tile_sum_f32(s->f, args->n);
    tile_max_f32(s->m, args->n);
    if (TILE_SINGLE()) {
        args->y[2 * tile] = s->f[0];
        args->y[2 * tile + 1] = s->m[0];
    }
}

typedef struct scan_scratch {
    uint32_t value[DIALECT_SUM_MAX];
    uint32_t total;
} scan_scratch;

/// Prefix sums of n values, twice in a row.
TILE_KERNEL(dialect_scan, DIALECT_LANES, dialect_args, scan_scratch)
{
    uint32_t *out = args->u + (uint64_t)tile * (args->n + 1);
    FOR_RANGE (i, 0, args->n) {
        s->value[i] = args->key[i] + tile;
    }
    TILE_BARRIER();
    tile_scan_u32(s->value, args->n, &s->total);
    tile_scan_u32(s->value, args->n, &s->total);
    FOR_RANGE (i, 0, args->n) {
        out[i] = s->value[i];
    }
    if (TILE_SINGLE()) {
        out[args->n] = s->total;
    }
}

typedef struct rank_scratch {
    uint32_t key[DIALECT_RANK_MAX], rank[DIALECT_RANK_MAX];
    uint32_t first[DIALECT_KEYS];
} rank_scratch;

/// Stable ranks of n keys: a counting sort's positions.
TILE_KERNEL(dialect_rank, DIALECT_LANES, dialect_args, rank_scratch)
{
    const uint32_t *key = args->key + (uint64_t)tile * args->n;
    uint32_t *out = args->u + (uint64_t)tile * (args->n + DIALECT_KEYS);
    FOR_RANGE (i, 0, args->n) {
        s->key[i] = key[i];
        s->rank[i] = 0;
    }
    FOR_RANGE (k, 0, DIALECT_KEYS) {
        s->first[k] = k * 1000;
    }
    TILE_BARRIER();
    tile_rank_u32(s->key, s->rank, args->n, s->first);
    FOR_RANGE (i, 0, args->n) {
        out[i] = s->rank[i];
    }
    FOR_RANGE (k, 0, DIALECT_KEYS) {
        out[args->n + k] = s->first[k];
    }
}

typedef struct move_scratch {
    uint32_t first[DIALECT_KEYS], total;
    pack_move move;
} move_scratch;

/// Moves: a counting sort of n numbers by the bytes in w, of which the first `limit` are kept.
TILE_KERNEL(dialect_move, DIALECT_LANES, dialect_args, move_scratch)
{
    const uint32_t first = tile * args->n, end = first + args->n;
    const uint8_t *key = (const uint8_t *)args->w;
    FOR_RANGE (k, 0, DIALECT_KEYS) {
        s->first[k] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        tile_add_u32(&s->first[key[i]], 1);
    }
    TILE_BARRIER();
    tile_scan_u32(s->first, DIALECT_KEYS, &s->total);
    for (uint32_t from = first; from < end; from += PACK_MOVE_MAX) {
        const uint32_t n = tile_min_u32(end - from, PACK_MOVE_MAX);
        pack_move_rank(&s->move, key + from, n, DIALECT_OFTEN, args->limit, s->first);
        pack_move_u32(&s->move, args->u + tile * args->limit, args->key + from, n);
        pack_move_f32(&s->move, args->y + tile * args->limit, args->x + from, n);
    }
}

typedef struct histogram_scratch {
    uint32_t count[DIALECT_KEYS];
    int32_t balance;
} histogram_scratch;

/// Atomics in the scratch and in device memory.
TILE_KERNEL(dialect_atomics, DIALECT_LANES, dialect_args, histogram_scratch)
{
    FOR_RANGE (k, 0, DIALECT_KEYS) {
        s->count[k] = 0;
    }
    if (TILE_SINGLE()) {
        s->balance = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, tile * args->n, (tile + 1) * args->n) {
        tile_add_u32(&s->count[args->key[i]], 1);
        tile_add_i32(&s->balance, 8 - (int32_t)args->key[i]);
        global_max_u32(&args->u[DIALECT_KEYS + 1], args->key[i] * 977 + i);
        global_min_u32(&args->u[DIALECT_KEYS + 2], ~(args->key[i] * 977 + i));
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (k, 0, DIALECT_KEYS) {
        global_add_u32(&args->u[k], s->count[k]);
        global_add_u64(&args->w[0], (uint64_t)s->count[k] << 33);
    }
    if (TILE_SINGLE()) {
        global_add_u32(&args->u[DIALECT_KEYS], (uint32_t)s->balance);
    }
}

/// Arithmetic whose bits must be those of plain IEEE operations, one rounding each.
TILE_KERNEL(dialect_arithmetic, DIALECT_LANES, dialect_args, tile_no_scratch)
{
    FOR_LANES (i) {
        const uint32_t at = tile * DIALECT_LANES + i;
        if (at < args->n) {
            const float a = args->x[at], b = args->x[(at + 1) % args->n], c = args->x[(at + 2) % args->n];
            const double da = args->xd[at], db = args->xd[(at + 1) % args->n], dc = args->xd[(at + 2) % args->n];
            args->y[6 * at] = a * b + c; // two roundings
            args->y[6 * at + 1] = a / b;
            args->y[6 * at + 2] = tile_sqrt_f32(tile_abs_f32(a));
            args->y[6 * at + 3] = tile_floor_f32(a);
            args->y[6 * at + 4] = tile_min_f32(a, b) - tile_max2_f32(b, c);
            args->y[6 * at + 5] = tile_f32_bits(tile_bits_f32(a) ^ 0x80000000u) * (1.0f / 3.0f);
            args->yd[at] = da * db + dc / da;
            args->u[at] = (uint32_t)tile_round_i32(tile_clamp_f32(a, -1e6f, 1e6f));
            args->w[at] = tile_mix_u64((uint64_t)at << 32 | tile_bits_f32(c));
        }
    }
}

/// Helpers that are written differently for the two devices, or for the sake of the vectoriser.
TILE_KERNEL(dialect_helpers, DIALECT_LANES, dialect_args, tile_no_scratch)
{
    FOR_LANES (i) {
        const uint32_t at = tile * DIALECT_LANES + i;
        if (at < args->n) {
            const float x = args->x[at + 1];
            const tile_f32x4 four = tile_load_f32x4(args->x + at), scaled = tile_scale_f32x4(x, four);
            const tile_f32x4 sum = tile_add_f32x4(scaled, tile_load_f32x4(args->x + at + 3));
            float *y = args->y + (uint64_t)at * DIALECT_HELPERS;
            for (int k = 0; k < 4; k++) {
                y[k] = tile_get_f32x4(sum, k);
            }
            y[4] = tile_select_f32(at % 3 == 0, x, -x);
            y[5] = tile_clamp_f32(x, -2.0f, 3.0f);
            y[6] = tile_below_zero_f32(x);
            y[7] = tile_max2_f32(x, 0.0f);
            y[8] = tile_clamp_f32(x, 0.0f, 3.0f);
            y[9] = tile_abs_f32(x);
        }
    }
}

typedef struct pack_scratch {
    int32_t sum[DIALECT_KEYS * DIALECT_PACK_PARTS];
    float largest[DIALECT_LANES];
    uint32_t bits;
} pack_scratch;

/// What packs do, for a number of values that fills none of the last pack's widths: look-ups, sums side by side,
/// arithmetic, and stores that leave what lies behind them alone.
TILE_KERNEL(dialect_pack, DIALECT_LANES, dialect_args, pack_scratch)
{
    const uint32_t first = tile * args->n, end = first + args->n;
    uint32_t *out = args->u + args->limit + (uint64_t)tile * (DIALECT_KEYS * DIALECT_PACK_PARTS + 2);
    FOR_RANGE (i, 0, DIALECT_KEYS * DIALECT_PACK_PARTS) {
        s->sum[i] = 0;
    }
    FOR_RANGE (i, 0, DIALECT_LANES) {
        s->largest[i] = 0.0f;
    }
    if (TILE_SINGLE()) {
        s->bits = 0;
    }
    TILE_BARRIER();
    FOR_PACKS(i, n, first, end)
    {
        const pack_i32 key = pack_load_i32(args->key + i, n);
        const pack_f32 x = pack_load_f32(args->x + i, n);
        pack_places at;
        pack_f32 four[4];
        pack_i32 parts[DIALECT_PACK_PARTS];
        pack_set_places(&at, key);
        const pack_f32 w[4] = {x, 1.0f - x, pack_to_f32(key), 0.5f * x};
        pack_weigh_rows(args->x, &at, 4, 7, w, four);
        pack_f32 value = (four[0] + x * four[1]) - (four[2] + pack_to_f32(key) * four[3]);
        pack_weigh_pairs(args->x, &at, 5, w, four);
        value += (four[0] - x * four[1]) * (four[2] - four[3]);
        pack_store_f32(args->y + i, pack_clamp_f32(value, -1.0f, 100.0f), n);
        pack_store_i32(args->u + i, pack_clamp_i32(pack_bits_f32(x) >> 3, -5, 1 << 24), n);
        pack_keep_max_f32(s->largest, pack_abs_f32(x));
        for (int k = 0; k < DIALECT_PACK_PARTS; k++) {
            parts[k] = pack_round_i32(x * ((float)k + 0.5f));
        }
        pack_set_places(&at, key * DIALECT_PACK_PARTS);
        pack_add_i32(s->sum, &at, parts, DIALECT_PACK_PARTS);
        pack_add_i32(s->sum, &at, parts + 4, DIALECT_PACK_PARTS / 2);
        if (pack_any(key == DIALECT_KEYS - 1)) {
            tile_or_u32(&s->bits, 1u);
        }
        for (uint32_t last = pack_mask_bits(key == DIALECT_KEYS - 1); last != 0; last &= last - 1) {
            tile_add_u32(&s->bits, 2 * (i - first + tile_lowest_bit_u32(last) + 1));
        }
    }
    EACH_PACK(i, n, first, end, pack_store_u8((uint8_t *)args->w + i, pack_load_i32(args->key + i, n) + 3, n));
    TILE_BARRIER();
    FOR_RANGE (i, 0, DIALECT_KEYS * DIALECT_PACK_PARTS) {
        out[i] = (uint32_t)s->sum[i];
    }
    if (TILE_SINGLE()) {
        float largest = 0.0f;
        for (int i = 0; i < DIALECT_LANES; i++) {
            largest = tile_max2_f32(largest, s->largest[i]);
        }
        out[DIALECT_KEYS * DIALECT_PACK_PARTS] = tile_bits_f32(largest);
        out[DIALECT_KEYS * DIALECT_PACK_PARTS + 1] = s->bits;
    }
}

/// Counts the times that each tile ran.
TILE_KERNEL(dialect_count, 32, dialect_args, tile_no_scratch)
{
    if (TILE_SINGLE()) {
        args->u[tile] += 1;
    }
}

/// One link of a chain: the order of launches shows in the values.
TILE_KERNEL(dialect_chain, 64, dialect_args, tile_no_scratch)
{
    FOR_LANES (i) {
        args->u[tile * 64 + i] = args->u[tile * 64 + i] * 1664525u + args->n;
    }
}

/// Rows: n of them a tile, from x and the bytes at key. y: a mixture of everything, then magnitudes; u: rounds of rows.
TILE_KERNEL(dialect_row, DIALECT_LANES, dialect_args, tile_no_scratch)
{
    const uint8_t *bytes = (const uint8_t *)args->key;
    FOR_ROWS (x, row, tile * args->n, (tile + 1) * args->n) {
        const uint32_t at = row * 8 + x;
        const row_f32 a = row_load(args->x + at), b = row_load_u8(bytes + at);
        const row_f32 mixed = row_select(a < b, row_clamp(a, -1.0f, 2.0f), row_max(a * b, row_all(0.5f)));
        row_store(args->y + at, mixed + 2.0f * b);
        row_store(args->y + args->limit + at, row_magnitude(a));
        if (row_begins(x)) {
            args->u[row] += row + 1;
        }
    }
}

/// Puts a row's cells, counts and roots where its word has bits. `word`: from cell x on.
TILE_FN void bit_row(const dialect_args *args, uint32_t at, uint32_t word)
{
    const row_i32 mask = row_bits_mask(word), masks[3] = {mask, row_bits_mask(word >> 1), row_bits_mask(word >> 4)};
    const row_f32 size = row_magnitude(row_load(args->x + at));
    row_store(args->y + at, row_keep(mask, row_sqrt(size)));
    row_put(args->y + args->limit + at, mask, size);
    row_store(args->y + 2 * args->limit + at, row_count(masks, 3));
    row_store(args->y + 3 * args->limit + at, row_load_i32((const int32_t *)args->w + at));
    const int32_t *whole = (const int32_t *)args->w;
    const row_i32 low = row_load_whole(whole + at) & row_whole(0xffff);
    row_store_whole((int32_t *)args->u + 3 * args->n + at,
                    low + (row_load_one(whole + at / 8 * 8 + 2, at % 8, 5) & row_whole(0xff)));
    row_put_u8((uint8_t *)args->yd + at, mask, 9);
    tile_or_u32(&args->u[2 * args->n + at / 8], (uint32_t)row_any(mask));
}

/// Rows as bits, of the words at key and the integers at w. y: kept roots, put cells, counts, the integers; yd: bytes
/// that are put; u: rounds of rows, which integers are at least -7, whether a mask has cells, then sums of integers.
TILE_KERNEL(dialect_bit_row, DIALECT_LANES, dialect_args, tile_no_scratch)
{
    const uint32_t first = tile * DIALECT_BIT_ROWS;
    const uint16_t *words = (const uint16_t *)args->key + first;
    FOR_SET_ROWS (x, row, 0, DIALECT_BIT_LATE, words, 0x1ff) {
        const uint32_t at = first + (uint32_t)row;
        bit_row(args, at * 8 + (uint32_t)x, (uint32_t)words[row] >> x);
        if (row_begins((uint32_t)x)) {
            args->u[at] += at + 1;
        }
    }
    FOR_SET_ROWS (x, row, DIALECT_BIT_LATE, DIALECT_BIT_ROWS, words, 0x8100) {
        const uint32_t at = first + (uint32_t)row;
        bit_row(args, at * 8 + (uint32_t)x, (uint32_t)words[row] >> x);
        if (row_begins((uint32_t)x)) {
            args->u[at] += at + 1;
        }
    }
    FOR_RANGE (row, first, first + DIALECT_BIT_ROWS) {
        args->u[args->n + row] = row_at_least((const int32_t *)args->w + row * 8, -7);
    }
}

/// For repeats: u[0] is `go`, u[1] counts rounds, and `go` falls when the count reaches u[2]. Does nothing without go.
TILE_KERNEL(dialect_round, 32, dialect_args, tile_no_scratch)
{
    if (TILE_SINGLE() && args->u[0] != 0) {
        args->u[1] += 1;
        if (args->u[1] >= args->u[2]) {
            args->u[0] = 0;
        }
    }
}

/// Sets up u for dialect_round: u[3] holds what u[2] becomes, and counts up.
TILE_KERNEL(dialect_rewind, 32, dialect_args, tile_no_scratch)
{
    if (TILE_SINGLE()) {
        args->u[0] = 1;
        args->u[1] = 0;
        args->u[2] = args->u[3];
        args->u[3] += 1;
    }
}

/// Each value from one that another tile has: u from key, n of both. Does nothing without go.
TILE_KERNEL(dialect_mix, DIALECT_LANES, dialect_args, tile_no_scratch)
{
    if (args->go != NULL && *args->go == 0) {
        return;
    }
    FOR_RANGE (i, 0, DIALECT_LANES) {
        const uint32_t at = tile * DIALECT_LANES + i;
        args->u[at] = args->key[(at * DIALECT_MIX_STRIDE + 1) % args->n] * 1664525u + args->limit;
    }
}

/// The order of launches shows in the values, and what each was given as `limit`. Does nothing without go.
TILE_KERNEL(dialect_follow, DIALECT_LANES, dialect_args, tile_no_scratch)
{
    if (args->go != NULL && *args->go == 0) {
        return;
    }
    FOR_RANGE (i, 0, DIALECT_LANES) {
        const uint32_t at = tile * DIALECT_LANES + i;
        args->u[at] = args->u[at] * 1664525u + args->limit;
    }
}

TILE_CHAIN(dialect_mixing, DIALECT_LANES, dialect_args, DIALECT_CHAIN_LIST)
