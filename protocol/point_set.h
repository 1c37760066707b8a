/// The particles of a tile as what they are, a set: how many there are in each cell, and how those of a cell divide
/// into halves, quarters, eighths, until each is alone; what is left of its place then are whole bits. A cell's count
/// is expected from the counts of the cells before it; how many of n lie in one half is binomial. That comes within a
/// percent of log2 C(places, particles), what a set of particles without any order is worth.
///
/// A particle's key is its cell in the tile, 9 bits (z y x), and behind them its place in the cell as `bits` bits per
/// axis, taken in turns from the highest on (x y z x y z ...). Sets are coded in ascending order of the keys, which is
/// the order in which they are read; equal keys are allowed.
///
/// Nothing allocates. Reading is bounded by the number of particles, whatever the bytes hold.
#ifndef TARN_PROTOCOL_POINT_SET_H
#define TARN_PROTOCOL_POINT_SET_H

#include "protocol/ans.h"
#include "protocol/status.h"

enum {
    TARN_SET_CELLS = 512,
    TARN_SET_CELL_BITS = 9,
    TARN_SET_BITS_MAX = 7, ///< per axis inside a cell, so that a key fits 32 bits
    TARN_SET_POINTS_MAX = 1 << 16,
    TARN_SET_CONTEXTS = 17,   ///< of a cell's count
    TARN_SET_COUNTS = 16,     ///< symbols of a cell's count; the last one: so many or more
    TARN_SET_HALVES = 32,     ///< up to so many particles divide by a table
    TARN_SET_ESCAPE_BITS = 5, ///< whole bits that say how many bits the rest of a large count has
};

/// The sources' tables; 45 kB. The same on every machine.
typedef struct tarn_set_tables {
    tarn_ans_table count[TARN_SET_CONTEXTS];
    tarn_ans_table half[TARN_SET_HALVES + 1]; ///< of n particles; [0] and [1] are empty
} tarn_set_tables;

#ifdef __cplusplus
extern "C" {
#endif

void tarn_set_tables_make(tarn_set_tables *tables);

/// Reads a set.
/// @param bits   0..TARN_SET_BITS_MAX
/// @param count  of particles, 0..TARN_SET_POINTS_MAX
/// @param keys   where they go, in ascending order
/// @return TARN_OK or TARN_E_MALFORMED: they are no such set. The reader may have missed words all the same
tarn_status tarn_set_read(tarn_ans_reader *reader, const tarn_set_tables *tables, uint32_t bits, uint32_t count,
                          uint32_t *keys);

#ifdef __cplusplus
}
#endif

/// Where the particle of a key is along an axis, 0 .. 8 * 2^bits - 1, in 1/2^bits of a cell of the tile.
TARN_CODE_FN uint32_t tarn_set_place(uint32_t key, uint32_t bits, int axis)
{
    uint32_t sub = key >> (2 - axis) & 0x49249 & ((1u << 3 * bits) - 1); // each third bit
    sub = (sub | sub >> 2) & 0x430c3;
    sub = (sub | sub >> 4) & 0x0700f;
    sub = (sub | sub >> 8) & 0x0007f;
    return (key >> (3 * bits + 3 * (uint32_t)axis) & 7) << bits | sub;
}

/// The key of a place; the other way round.
TARN_CODE_FN uint32_t tarn_set_key(const uint32_t place[3], uint32_t bits)
{
    uint32_t key = 0;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t sub = place[axis] & ((1u << bits) - 1);
        sub = (sub | sub << 8) & 0x0700f;
        sub = (sub | sub << 4) & 0x430c3;
        sub = (sub | sub << 2) & 0x49249;
        key |= sub << (2 - axis) | (place[axis] >> bits) << (3 * bits + 3 * (uint32_t)axis);
    }
    return key;
}

/// What is known of a cell's count: the mean of the cells before it along each axis, as far as the tile has them.
/// @param count  of the tile's cells
TARN_CODE_FN uint32_t tarn_set_context(const uint32_t *count, uint32_t cell)
{
    const uint32_t known = (uint32_t)((cell & 7) != 0) + ((cell & 56) != 0) + ((cell & 448) != 0);
    const uint32_t sum = ((cell & 7) != 0 ? count[cell - 1] : 0) + ((cell & 56) != 0 ? count[cell - 8] : 0) +
                         ((cell & 448) != 0 ? count[cell - 64] : 0);
    if (known == 0) {
        return 0;
    }
    const uint32_t twice = (2 * sum + known / 2) / known;
    const uint32_t level = twice < 8 ? twice : 4 + twice / 2;
    return 1 + (level < TARN_SET_CONTEXTS - 2 ? level : TARN_SET_CONTEXTS - 2);
}

/// Most bytes of a set as a stream: no half of n particles takes more than n bits, so that no particle takes more than
/// those of its place; a cell's count takes 12 bits, and 5 and as many as it has where it is 15 or more.
TARN_CODE_FN uint32_t tarn_set_bytes_max(uint32_t bits, uint32_t count)
{
    return TARN_ANS_STATE_BYTES + 2 + TARN_SET_CELLS * 12 / 8 + (count * (3 * bits + 2) + 7) / 8;
}

TARN_CODE_FN void tarn_set_put_lone(tarn_ans_writer *writer, uint32_t value, uint32_t bits)
{
    tarn_ans_put_bits(writer, value & ((1u << TARN_ANS_BITS_MAX) - 1),
                      bits < TARN_ANS_BITS_MAX ? bits : (uint32_t)TARN_ANS_BITS_MAX);
    if (bits > TARN_ANS_BITS_MAX) {
        tarn_ans_put_bits(writer, value >> TARN_ANS_BITS_MAX, bits - TARN_ANS_BITS_MAX);
    }
}

/// A part of a cell that is still to be written, or, where it has been looked at, how it divides.
typedef struct tarn_set_region {
    uint32_t first, count, bits, low; ///< `low` of `count` lie in the lower half; TARN_SET_UNSEEN: not looked at
} tarn_set_region;

enum { TARN_SET_UNSEEN = TARN_SET_POINTS_MAX + 1, TARN_SET_DEPTH = 2 * (3 * TARN_SET_BITS_MAX + 1) };

/// The particles of a cell, from the last one on.
/// @param keys  ascending; they differ in their last `bits` at most
TARN_CODE_FN void tarn_set_write_cell(tarn_ans_writer *writer, const tarn_set_tables *tables, const uint32_t *keys,
                                      uint32_t count, uint32_t bits)
{
    tarn_set_region stack[TARN_SET_DEPTH];
    uint32_t depth = 1;
    stack[0].first = 0;
    stack[0].count = count;
    stack[0].bits = bits;
    stack[0].low = TARN_SET_UNSEEN;
    while (depth > 0) {
        tarn_set_region *r = &stack[depth - 1];
        const uint32_t first = r->first, n = r->count, left = r->bits;
        if (n <= 1 || left == 0 || r->low != TARN_SET_UNSEEN) {
            depth--;
            if (n == 1) {
                tarn_set_put_lone(writer, keys[first] & ((1u << left) - 1), left);
            } else if (n > TARN_SET_HALVES && left > 0) {
                tarn_set_put_lone(writer, r->low, tarn_bits_of(n));
            } else if (n > 1 && left > 0) {
                tarn_ans_put(writer, &tables->half[n], r->low);
            }
            continue;
        }
        uint32_t low = 0;
        while (low < n && (keys[first + low] >> (left - 1) & 1) == 0) {
            low++;
        }
        r->low = low;
        for (int side = 0; side < 2; side++) { // the upper half comes off the stack first
            tarn_set_region *half = &stack[depth++];
            half->first = side == 0 ? first : first + low;
            half->count = side == 0 ? low : n - low;
            half->bits = left - 1;
            half->low = TARN_SET_UNSEEN;
        }
    }
}

TARN_CODE_FN void tarn_set_write_count(tarn_ans_writer *writer, const tarn_ans_table *table, uint32_t count)
{
    const uint32_t last = TARN_SET_COUNTS - 1;
    if (count >= last) {
        const uint32_t rest = count - last + 1, bits = tarn_bits_of(rest) - 1;
        tarn_ans_put_bits(writer, rest - (1u << bits), bits);
        tarn_ans_put_bits(writer, bits, TARN_SET_ESCAPE_BITS);
    }
    tarn_ans_put(writer, table, count < last ? count : last);
}

/// Writes a set.
/// @param keys   ascending
/// @param cells  TARN_SET_CELLS counts: how many of them lie in each cell
TARN_CODE_FN void tarn_set_write(tarn_ans_writer *writer, const tarn_set_tables *tables, const uint32_t *keys,
                                 uint32_t count, uint32_t bits, const uint32_t *cells)
{
    uint32_t end = count, cell = TARN_SET_CELLS;
    while (cell > 0 && cells[cell - 1] == 0) { // nothing is said of the cells behind the last particle
        cell--;
    }
    while (cell-- > 0) {
        const uint32_t n = cells[cell];
        end -= n;
        tarn_set_write_cell(writer, tables, keys + end, n, 3 * bits);
        tarn_set_write_count(writer, &tables->count[tarn_set_context(cells, cell)], n);
    }
}

#endif
