/// How a tile of the flow's grid is coded: which nodes the frame says anything of, row by row, and these nodes, each
/// against what the reference and the nodes before it let expect. The others are filled in. Encoders share all of it.
#ifndef TARN_PROTOCOL_FLOW_CODE_H
#define TARN_PROTOCOL_FLOW_CODE_H

#include "protocol/code_tables.h"
#include "protocol/flow_grid.h"

enum {
    TARN_FLOW_ROWS = 64, ///< of 8 nodes along x: row 8 z + y
    /// Of a tile as a stream: 12 bits a row, 12 a node, and the nodes.
    TARN_FLOW_BYTES_MAX = TARN_ANS_STATE_BYTES + 2 + TARN_FLOW_ROWS * 12 / 8 + TARN_FLOW_NODES * 12 / 8 +
                          TARN_FLOW_NODES * TARN_RESIDUAL_BYTES_MAX,
};

// ---------------------------------------------------------------------------------------------------------------- mask

/// Which of a tile's own nodes are known: a bit each, node x of row 8 z + y is bit x of it.
typedef struct tarn_flow_mask {
    uint8_t row[TARN_FLOW_ROWS];
} tarn_flow_mask;

/// What the reference's block says of its own; all unknown without one.
TARN_CODE_FN void tarn_flow_mask_of(const tarn_flow_node *block, tarn_flow_mask *mask)
{
    for (uint32_t r = 0; r < TARN_FLOW_ROWS; r++) {
        uint32_t row = 0;
        for (uint32_t x = 0; x < 8 && block != (const tarn_flow_node *)0; x++)
            row |= (uint32_t)(block[tarn_flow_node_at(x, r & 7, r >> 3)].d[3] != 0) << x;
        mask->row[r] = (uint8_t)row;
    }
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
    if ((r & 7) != 0)
        near = tarn_flow_row_state(mask->row[r - 1]);
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
        for (uint32_t x = 0; x < 8 && state == TARN_FLOW_ROW_SOME; x++)
            row |=
                tarn_ans_symbol(reader, &tables->bit[tarn_flow_bit_context(mask, reference, has_reference, r, x, row)])
                << x;
        mask->row[r] = (uint8_t)row;
    }
}

TARN_CODE_FN void tarn_flow_put_mask(tarn_ans_writer *writer, const tarn_code_tables *tables,
                                     const tarn_flow_mask *reference, int has_reference, const tarn_flow_mask *mask)
{
    for (uint32_t r = TARN_FLOW_ROWS; r-- > 0;) {
        const uint32_t row = mask->row[r], state = tarn_flow_row_state(row);
        for (uint32_t x = 8; x-- > 0 && state == TARN_FLOW_ROW_SOME;)
            tarn_ans_put(writer, &tables->bit[tarn_flow_bit_context(mask, reference, has_reference, r, x, row)],
                         row >> x & 1);
        tarn_ans_put(writer, &tables->row[tarn_flow_row_context(mask, reference, has_reference, r)], state);
    }
}

// --------------------------------------------------------------------------------------------------------------- nodes

/// What the known nodes of a tile that were coded before say of the next one.
typedef struct tarn_flow_past {
    int16_t error[TARN_FLOW_NODES][3]; ///< of the reference's expectation
    uint8_t activity[TARN_FLOW_NODES]; ///< sum of the residual's sizes, 15 at most
} tarn_flow_past;

/// The nearest whole number to a mean of 1..3, halves up.
TARN_CODE_FN int32_t tarn_flow_mean(int32_t sum, uint32_t count)
{
    const uint32_t bias = 1 << 20; // so that a division by a constant rounds down below 0, too
    return count == 1   ? sum
           : count == 2 ? (sum + 1) >> 1
                        : (int32_t)((uint32_t)(2 * sum + 3 + (int32_t)(6 * bias)) / 6) - (int32_t)bias;
}

/// The source of a node's residual, two per octave of its neighbours' mean activity.
/// @param activity  sum over the `known` neighbours
TARN_CODE_FN uint32_t tarn_flow_context(uint32_t activity, uint32_t known)
{
    if (known == 0)
        return TARN_RESIDUAL_NODES;
    const uint32_t quarters = 4 * activity / known, bits = tarn_bits_of(quarters);
    return TARN_RESIDUAL_NODES + (bits < 3 ? 1 + bits : 2 * bits - 2 + (quarters >> (bits - 2) & 1));
}

/// Adds to what is expected of a node the mean error of its known neighbours before it.
/// @param node  0..511, as coded: x fastest @return the context of its residual
TARN_CODE_FN uint32_t tarn_flow_correct(const tarn_flow_past *past, const tarn_flow_mask *mask, uint32_t node,
                                        int32_t expected[3])
{
    int32_t sum[3] = {0, 0, 0};
    uint32_t activity = 0, known = 0;
    for (uint32_t axis = 0; axis < 3; axis++) {
        const uint32_t other = node - (1u << 3 * axis);
        if ((node >> 3 * axis & 7) == 0 || (mask->row[other >> 3] >> (other & 7) & 1) == 0)
            continue;
        for (int a = 0; a < 3; a++)
            sum[a] += past->error[other][a];
        activity += past->activity[other];
        known++;
    }
    if (known == 0)
        return tarn_flow_context(0, 0);
    for (int a = 0; a < 3; a++)
        expected[a] = tarn_flow_clamp(expected[a] + tarn_flow_mean(sum[a], known));
    return tarn_flow_context(activity, known);
}

/// Notes what became of a node. @param first  what the reference alone let expect
TARN_CODE_FN void tarn_flow_note(tarn_flow_past *past, uint32_t node, const int32_t value[3], const int32_t first[3],
                                 const int32_t residual[3])
{
    uint32_t sum = 0;
    for (int a = 0; a < 3; a++) {
        past->error[node][a] = (int16_t)tarn_flow_clamp(value[a] - first[a]);
        sum += (uint32_t)(residual[a] < 0 ? -residual[a] : residual[a]);
    }
    past->activity[node] = (uint8_t)(sum < 15 ? sum : 15);
}

/// Fills in a node from those beside it that are known or filled in, on one side along each axis.
/// @param sign  -1: those before it, 1: those behind it
TARN_CODE_FN void tarn_flow_fill_node(uint8_t *filled, tarn_flow_node *block, uint32_t n, int sign)
{
    const int stride[3] = {1, TARN_FLOW_EDGE, TARN_FLOW_EDGE * TARN_FLOW_EDGE};
    tarn_flow_node *to = &block[tarn_flow_node_at(n & 7, n >> 3 & 7, n >> 6)];
    int32_t sum[3] = {0, 0, 0};
    uint32_t count = 0;
    for (uint32_t axis = 0; axis < 3; axis++) {
        const uint32_t other = sign < 0 ? n - (1u << 3 * axis) : n + (1u << 3 * axis);
        if ((n >> 3 * axis & 7) == (sign < 0 ? 0u : 7u) || (filled[other >> 3] >> (other & 7) & 1) == 0)
            continue;
        for (int a = 0; a < 3; a++)
            sum[a] += to[sign * stride[axis]].d[a];
        count++;
    }
    for (int a = 0; a < 3; a++)
        to->d[a] = (int16_t)(count > 0 ? tarn_flow_mean(sum[a], count) : 0);
    to->d[3] = 0;
    filled[n >> 3] = (uint8_t)(filled[n >> 3] | (uint32_t)(count > 0) << (n & 7));
}

/// Fills in a block's unknown nodes, from those beside them that are known or filled in: in the order of the nodes from
/// those before them, then backwards from those behind them. Of a tile without any known node all are 0.
TARN_CODE_FN void tarn_flow_fill(const tarn_flow_mask *mask, tarn_flow_node *block)
{
    uint8_t filled[TARN_FLOW_ROWS];
    for (uint32_t r = 0; r < TARN_FLOW_ROWS; r++)
        filled[r] = mask->row[r];
    for (uint32_t r = 0; r < TARN_FLOW_ROWS; r++) {
        const uint32_t near = filled[r] | ((r & 7) > 0 ? filled[r - 1] : 0u) | (r >= 8 ? filled[r - 8] : 0u);
        for (uint32_t x = 0; x < 8 && near != 0; x++) {
            if ((filled[r] >> x & 1) == 0)
                tarn_flow_fill_node(filled, block, 8 * r + x, -1);
        }
    }
    for (uint32_t r = TARN_FLOW_ROWS; r-- > 0;) {
        for (uint32_t x = 8; x-- > 0 && filled[r] != 0xff;) {
            if ((filled[r] >> x & 1) == 0)
                tarn_flow_fill_node(filled, block, 8 * r + x, 1);
        }
    }
}

#endif
