/// How a tile of the flow's grid is coded: which nodes the frame says anything of, row by row, and these nodes, each
/// against what the reference and the nodes before it let expect. The others are filled in. Encoders share all of it.
#ifndef TARN_PROTOCOL_FLOW_CODE_H
#define TARN_PROTOCOL_FLOW_CODE_H

#include "protocol/code_tables.h"
#include "protocol/flow_grid.h"

enum {
    TARN_FLOW_ROWS = 64,      ///< of 8 nodes along x: row 8 z + y
    TARN_FLOW_ROWS_PLANE = 8, ///< of them
    /// Of a tile as a stream: 12 bits a row, 12 a node, and the nodes.
    TARN_FLOW_BYTES_MAX = TARN_ANS_STATE_BYTES + 2 + TARN_FLOW_ROWS * 12 / 8 + TARN_FLOW_NODES * 12 / 8 +
                          TARN_FLOW_NODES * TARN_RESIDUAL_BYTES_MAX,
};

// ---------------------------------------------------------------------------------------------------------------- mask

/// Which of a tile's own nodes are known: a bit each, node x of row 8 z + y is bit x of it.
typedef struct tarn_flow_mask {
    uint8_t row[TARN_FLOW_ROWS];
} tarn_flow_mask;

/// What the reference's block says of a row of its own; all unknown without one, and outside the tank.
/// @param rows  of the tile that are in the tank
TARN_CODE_FN uint8_t tarn_flow_mask_row(const tarn_flow_node *block, uint32_t rows, uint32_t row)
{
    const uint32_t end = block != (const tarn_flow_node *)0 ? rows : 0;
    return (uint8_t)(row < end ? block[tarn_flow_node_at(0, row & 7, row >> 3)].d[3] : 0);
}

/// And of all.
TARN_CODE_FN void tarn_flow_mask_of(const tarn_flow_node *block, uint32_t rows, tarn_flow_mask *mask)
{
    for (uint32_t r = 0; r < TARN_FLOW_ROWS; r++) {
        mask->row[r] = tarn_flow_mask_row(block, rows, r);
    }
}

/// How many of a tile's rows are in the tank. @param planes  as tarn_flow_planes
TARN_CODE_FN uint32_t tarn_flow_rows(uint32_t planes)
{
    return TARN_FLOW_ROWS_PLANE * (planes < 8 ? planes : 8);
}

TARN_CODE_FN uint32_t tarn_flow_row_state(uint32_t row)
{
    return row == 0 ? TARN_FLOW_ROW_NONE : row == 0xff ? TARN_FLOW_ROW_ALL : TARN_FLOW_ROW_SOME;
}

/// The context of a row's state: that of the reference's row, 3 without a reference, and what the rows before it along
/// y and z agree on, 3 where there are none.
TARN_CODE_FN uint32_t tarn_flow_row_context(const tarn_flow_mask *mask, const tarn_flow_mask *reference,
                                            int has_reference, uint32_t r)
{
    uint32_t near = 3;
    if ((r & 7) != 0) {
        near = tarn_flow_row_state(mask->row[r - 1]);
    }
    if (r >= 8) {
        const uint32_t other = tarn_flow_row_state(mask->row[r - 8]);
        near = near == 3 || near == other ? other : (uint32_t)TARN_FLOW_ROW_SOME;
    }
    return 4 * (has_reference ? tarn_flow_row_state(reference->row[r]) : 3u) + near;
}

/// The context of a node of a row that is known in part: the reference's node, 2 without one; the node before it in the
/// row, 2 for the first; how many of the nodes before it along y and z are known, 3 where there are none.
TARN_CODE_FN uint32_t tarn_flow_bit_context(const tarn_flow_mask *mask, const tarn_flow_mask *reference,
                                            int has_reference, uint32_t r, uint32_t x, uint32_t row)
{
    const uint32_t before = x == 0 ? 2 : row >> (x - 1) & 1;
    const uint32_t was = has_reference ? (uint32_t)reference->row[r] >> x & 1 : 2;
    uint32_t near = (r & 7) == 0 && r < 8 ? 3 : 0;
    near += (r & 7) != 0 ? (uint32_t)mask->row[r - 1] >> x & 1 : 0;
    near += r >= 8 ? (uint32_t)mask->row[r - 8] >> x & 1 : 0;
    return 12 * was + 4 * before + near;
}

TARN_CODE_FN void tarn_flow_read_mask(tarn_ans_reader *reader, const tarn_code_tables *tables,
                                      const tarn_flow_mask *reference, int has_reference, tarn_flow_mask *mask)
{
    for (uint32_t r = 0; r < TARN_FLOW_ROWS; r++) {
        const uint32_t context = tarn_flow_row_context(mask, reference, has_reference, r);
        const uint32_t state = tarn_ans_symbol(reader, &tables->row[context]);
        uint32_t row = state == TARN_FLOW_ROW_ALL ? 0xff : 0;
        for (uint32_t x = 0; x < 8 && state == TARN_FLOW_ROW_SOME; x++) {
            row |=
                tarn_ans_symbol(reader, &tables->bit[tarn_flow_bit_context(mask, reference, has_reference, r, x, row)])
                << x;
        }
        mask->row[r] = (uint8_t)row;
    }
}

TARN_CODE_FN void tarn_flow_put_mask(tarn_ans_writer *writer, const tarn_code_tables *tables,
                                     const tarn_flow_mask *reference, int has_reference, const tarn_flow_mask *mask)
{
    for (uint32_t r = TARN_FLOW_ROWS; r-- > 0;) {
        const uint32_t row = mask->row[r], state = tarn_flow_row_state(row);
        for (uint32_t x = 8; x-- > 0 && state == TARN_FLOW_ROW_SOME;) {
            tarn_ans_put(writer, &tables->bit[tarn_flow_bit_context(mask, reference, has_reference, r, x, row)],
                         row >> x & 1);
        }
        tarn_ans_put(writer, &tables->row[tarn_flow_row_context(mask, reference, has_reference, r)], state);
    }
}

// --------------------------------------------------------------------------------------------------------------- nodes

enum {
    /// Nodes with 0 between rows, between planes and at both ends: none has to ask whether there is another beside it.
    TARN_FLOW_PADDED = 10 * TARN_FLOW_EDGE * TARN_FLOW_EDGE,
    TARN_FLOW_PADDED_FIRST = (TARN_FLOW_EDGE + 1) * TARN_FLOW_EDGE + 1,
};

/// What is known of a tile's nodes: of each x, y and z, and how much it counts.
typedef struct tarn_flow_padded {
    int16_t d[TARN_FLOW_PADDED][4];
} tarn_flow_padded;

TARN_CODE_FN uint32_t tarn_flow_padded_at(uint32_t node)
{
    return TARN_FLOW_PADDED_FIRST + tarn_flow_node_at(node & 7, node >> 3 & 7, node >> 6);
}

/// The sum over the nodes beside one, of those before it (-1) or behind it (1).
TARN_CODE_FN tarn_four tarn_flow_beside(const int16_t (*at)[4], int sign)
{
    const int y = TARN_FLOW_EDGE, z = TARN_FLOW_EDGE * TARN_FLOW_EDGE;
    return tarn_four_add_three_i16(at[sign], at[sign * y], at[sign * z]);
}

/// The nearest whole numbers to a mean, halves up. @param count  of what is added up in the sum, 0..3; 0 gives 0
TARN_CODE_FN tarn_four tarn_flow_mean(tarn_four sum, uint32_t count)
{
    // A multiple of the count makes them positive. 2^31 / 3, rounded up, divides what has less than 31 bits exactly.
    const int32_t bias = 1 << 16;
    const uint32_t most = count == 3 ? 0x2aaaaaabu : count == 2 ? 1u << 30 : 1u << 31;
    const int32_t add = (int32_t)(count > 0 ? count : 1) * bias + (count > 1);
    return tarn_four_sub(tarn_four_scale(tarn_four_add(sum, tarn_four_all(add)), most, 0), tarn_four_all(bias));
}

/// A tile's nodes while they are coded, and then filled in.
typedef struct tarn_flow_work {
    tarn_flow_padded past;  ///< errors of what the reference let expect; of nodes not known 0
    tarn_flow_padded value; ///< and 1 where a node has one
} tarn_flow_work;

/// How much of a tile there is to forget: its rows in the tank, and what lies beside them.
TARN_CODE_FN uint32_t tarn_flow_padded_end(uint32_t rows)
{
    return (rows / TARN_FLOW_ROWS_PLANE + 2) * TARN_FLOW_EDGE * TARN_FLOW_EDGE;
}

/// Begins a tile: nothing is known of a node, nor of what is beside the tile. @param i  0..tarn_flow_padded_end - 1
TARN_CODE_FN void tarn_flow_forget(tarn_flow_work *work, uint32_t i)
{
    tarn_four_store_i16(work->past.d[i], tarn_four_all(0), 0);
    tarn_four_store_i16(work->value.d[i], tarn_four_all(0), 0);
}

/// Adds to what is expected of a node the mean error of its known neighbours before it.
/// @return the context of its residual
TARN_CODE_FN uint32_t tarn_flow_correct(const tarn_flow_work *work, const tarn_residual_tables *tables, uint32_t node,
                                        tarn_four *expected)
{
    const tarn_four sum = tarn_flow_beside(&work->past.d[tarn_flow_padded_at(node)], -1);
    const uint32_t counted = (uint32_t)tarn_four_last(sum);
    *expected = tarn_four_clamp_i16(tarn_four_add(*expected, tarn_flow_mean(sum, counted / TARN_RESIDUAL_ONE)));
    return tables->node_context[counted];
}

/// Notes what became of a node.
/// @param first  what the reference alone let expect @param sum  of the residual's sizes
TARN_CODE_FN void tarn_flow_note(tarn_flow_work *work, uint32_t node, tarn_four value, tarn_four first, uint32_t sum)
{
    const uint32_t at = tarn_flow_padded_at(node);
    tarn_four_store_i16(work->past.d[at], tarn_four_clamp_i16(tarn_four_sub(value, first)),
                        (int32_t)(TARN_RESIDUAL_ONE + (sum < 15 ? sum : 15)));
    tarn_four_store_i16(work->value.d[at], value, 1);
}

/// Fills in a node without a value, where those beside it have one. @return whether it has one then
TARN_CODE_FN int tarn_flow_fill_node(tarn_flow_padded *value, uint32_t node, int sign)
{
    int16_t *to = value->d[tarn_flow_padded_at(node)];
    const tarn_four sum = tarn_flow_beside((const int16_t(*)[4])(void *)to, sign);
    const uint32_t count = (uint32_t)tarn_four_last(sum);
    if (count > 0) {
        tarn_four_store_i16(to, tarn_flow_mean(sum, count), 1);
    }
    return count > 0;
}

/// Fills in a row's. @return which have a value then
TARN_CODE_FN uint32_t tarn_flow_fill_row(tarn_flow_padded *value, uint32_t row, uint32_t filled, int sign)
{
    for (uint32_t left = ~filled & 0xffu; left != 0;) {
        const uint32_t x = sign < 0 ? tarn_lowest_bit(left) : tarn_bits_of(left) - 1;
        filled |= (uint32_t)tarn_flow_fill_node(value, 8 * row + x, sign) << x;
        left &= ~(1u << x);
    }
    return filled;
}

/// Fills in rows from those before them. @return whether all their nodes have a value then
TARN_CODE_FN int tarn_flow_fill_forward(tarn_flow_work *work, const tarn_flow_mask *mask, uint32_t first,
                                        uint32_t count, uint8_t *filled)
{
    uint32_t all = 0xff;
    for (uint32_t r = first; r < first + count; r++) {
        const uint32_t near = mask->row[r] | ((r & 7) > 0 ? filled[r - 1] : 0u) | (r >= 8 ? filled[r - 8] : 0u);
        filled[r] = (uint8_t)(near != 0 ? tarn_flow_fill_row(&work->value, r, mask->row[r], -1) : 0);
        all &= filled[r];
    }
    return all == 0xff;
}

/// Fills in nodes that aren't known, from those beside them that are known or filled in: in the order of the nodes from
/// those before them, then backwards from those behind them. Of a tile without any known node all are 0. Rows outside
/// the tank are filled in only where the way back to the others needs them.
/// @param rows  of the tile that are in the tank
TARN_CODE_FN void tarn_flow_fill(tarn_flow_work *work, const tarn_flow_mask *mask, uint32_t rows)
{
    uint8_t filled[TARN_FLOW_ROWS];
    if (tarn_flow_fill_forward(work, mask, 0, rows, filled)) {
        return;
    }
    for (uint32_t i = tarn_flow_padded_end(rows); i < TARN_FLOW_PADDED; i++) {
        tarn_flow_forget(work, i);
    }
    tarn_flow_fill_forward(work, mask, rows, TARN_FLOW_ROWS - rows, filled);
    for (uint32_t r = TARN_FLOW_ROWS; r-- > 0;) {
        tarn_flow_fill_row(&work->value, r, filled[r], 1);
    }
}

/// Hands out a row of a tile that has been filled in: of those in the tank.
TARN_CODE_FN void tarn_flow_finish(const tarn_flow_work *work, const tarn_flow_mask *mask, uint32_t row,
                                   tarn_flow_node *block)
{
    const int16_t(*from)[4] = &work->value.d[tarn_flow_padded_at(8 * row)];
    tarn_flow_node *to = &block[tarn_flow_node_at(0, row & 7, row >> 3)];
    for (uint32_t x = 0; x < 8; x++) {
        tarn_four_copy_i16(to[x].d, from[x]);
    }
    to->d[3] = mask->row[row];
}

#endif
