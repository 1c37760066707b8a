// Sets of particles. The cells of a tile are gone through in the order of the keys, each with its particles behind it,
// until all particles are there: what follows is empty.
#include "protocol/point_set.h"

/// Frequencies of a cell's count, measured in the shipped scenes, from whole tanks down to every fourth particle.
static const uint16_t count_frequency[TARN_SET_CONTEXTS][TARN_SET_COUNTS] = {
    {2765, 147, 224, 186, 170, 119, 102, 92, 121, 85, 52, 21, 8, 2, 1, 1},
    {4073, 7, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    {3070, 450, 290, 171, 73, 25, 7, 2, 1, 1, 1, 1, 1, 1, 1, 1},
    {1628, 799, 806, 515, 231, 74, 25, 8, 3, 1, 1, 1, 1, 1, 1, 1},
    {985, 938, 1079, 687, 274, 84, 29, 10, 3, 1, 1, 1, 1, 1, 1, 1},
    {641, 944, 1240, 736, 314, 123, 57, 24, 8, 3, 1, 1, 1, 1, 1, 1},
    {584, 896, 1091, 721, 394, 214, 114, 53, 17, 5, 2, 1, 1, 1, 1, 1},
    {424, 637, 835, 744, 626, 423, 248, 104, 36, 11, 3, 1, 1, 1, 1, 1},
    {251, 385, 639, 790, 848, 605, 355, 150, 49, 15, 4, 1, 1, 1, 1, 1},
    {134, 258, 560, 813, 1001, 692, 384, 158, 57, 21, 9, 4, 2, 1, 1, 1},
    {101, 234, 524, 763, 858, 631, 403, 211, 142, 100, 68, 37, 16, 5, 2, 1},
    {41, 87, 192, 271, 339, 352, 438, 540, 627, 551, 382, 183, 67, 20, 5, 1},
    {8, 12, 26, 42, 96, 209, 455, 753, 973, 772, 464, 197, 68, 16, 4, 1},
    {3, 4, 9, 21, 72, 208, 494, 822, 1095, 737, 405, 159, 52, 12, 2, 1},
    {4, 3, 9, 25, 97, 281, 585, 870, 955, 670, 382, 150, 52, 10, 2, 1},
    {6, 5, 15, 34, 124, 332, 636, 841, 886, 608, 394, 151, 49, 11, 3, 1},
    {16, 11, 27, 61, 138, 393, 664, 819, 841, 562, 336, 153, 58, 13, 2, 2},
};

// ----------------------------------------------------------------------------------------------------------- sources

/// How many of n particles lie in the lower half: C(n, k) / 2^n, at least 1, the middle taking what rounding leaves.
static void make_half(tarn_ans_table *table, uint32_t n)
{
    uint16_t frequency[TARN_SET_HALVES + 1];
    uint64_t choose = 1;
    int32_t left = TARN_ANS_ONE;
    for (uint32_t k = 0; k <= n; k++) {
        const uint32_t share = (uint32_t)(choose * TARN_ANS_ONE >> n);
        frequency[k] = (uint16_t)(share > 0 ? share : 1);
        left -= frequency[k];
        choose = choose * (n - k) / (k + 1);
    }
    frequency[n / 2] = (uint16_t)(frequency[n / 2] + left);
    tarn_ans_table_make(table, frequency, n + 1);
}

void tarn_set_tables_make(tarn_set_tables *tables)
{
    for (uint32_t i = 0; i < TARN_SET_CONTEXTS; i++) {
        tarn_ans_table_make(&tables->count[i], count_frequency[i], TARN_SET_COUNTS);
    }
    for (uint32_t n = 2; n <= TARN_SET_HALVES; n++) {
        make_half(&tables->half[n], n);
    }
    tables->half[0] = tables->half[1] = tables->half[2];
}

// ------------------------------------------------------------------------------------------------------------ reading

typedef struct set_reader {
    tarn_ans_reader *from;
    const tarn_set_tables *tables;
    uint32_t *keys; ///< next one
    uint32_t wrong;
} set_reader;

static uint32_t read_count(set_reader *s, uint32_t context)
{
    const uint32_t symbol = tarn_ans_symbol(s->from, &s->tables->count[context]);
    if (symbol < TARN_SET_COUNTS - 1) {
        return symbol;
    }
    const uint32_t bits = tarn_ans_bits(s->from, TARN_SET_ESCAPE_BITS);
    if (bits > TARN_ANS_BITS_MAX) {
        s->wrong = 1;
        return 0;
    }
    return TARN_SET_COUNTS - 2 + (1u << bits | tarn_ans_bits(s->from, bits));
}

static uint32_t read_lone_bits(tarn_ans_reader *from, uint32_t bits)
{
    if (bits <= TARN_ANS_BITS_MAX) {
        return tarn_ans_bits(from, bits);
    }
    const uint32_t high = tarn_ans_bits(from, bits - TARN_ANS_BITS_MAX);
    return high << TARN_ANS_BITS_MAX | tarn_ans_bits(from, TARN_ANS_BITS_MAX);
}

static uint32_t read_half(set_reader *s, uint32_t n)
{
    if (n <= TARN_SET_HALVES) {
        return tarn_ans_symbol(s->from, &s->tables->half[n]);
    }
    const uint32_t low = read_lone_bits(s->from, tarn_bits_of(n));
    s->wrong |= low > n;
    return low > n ? n : low;
}

/// The keys of n particles of a region, whose keys begin with `prefix` and have `bits` more.
static void read_region(set_reader *s, uint32_t n, uint32_t prefix, uint32_t bits)
{
    if (n == 0) {
        return;
    }
    if (n == 1) {
        *s->keys++ = prefix << bits | read_lone_bits(s->from, bits);
        return;
    }
    if (bits == 0) {
        for (uint32_t i = 0; i < n; i++) {
            *s->keys++ = prefix;
        }
        return;
    }
    const uint32_t low = read_half(s, n);
    read_region(s, low, prefix << 1, bits - 1);
    read_region(s, n - low, prefix << 1 | 1, bits - 1);
}

tarn_status tarn_set_read(tarn_ans_reader *reader, const tarn_set_tables *tables, uint32_t bits, uint32_t count,
                          uint32_t *keys)
{
    uint32_t counts[TARN_SET_CELLS], left = count;
    set_reader s = {.from = reader, .tables = tables, .keys = keys};
    if (bits > TARN_SET_BITS_MAX || count > TARN_SET_POINTS_MAX) {
        return TARN_E_MALFORMED;
    }
    for (uint32_t cell = 0; cell < TARN_SET_CELLS && left > 0; cell++) {
        const uint32_t n = read_count(&s, tarn_set_context(counts, cell));
        if (n > left || s.wrong != 0) {
            return TARN_E_MALFORMED;
        }
        counts[cell] = n;
        left -= n;
        read_region(&s, n, cell, 3 * bits);
    }
    return left == 0 && s.wrong == 0 ? TARN_OK : TARN_E_MALFORMED;
}
