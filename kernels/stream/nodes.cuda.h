/// How a block settles and codes a tile's nodes: those at once that don't look at each other, and one lane has the
/// state (steps.h). Part of flow.tile.c.
#ifndef TARN_KERNELS_STREAM_NODES_CUDA_H
#define TARN_KERNELS_STREAM_NODES_CUDA_H

enum { NODES_FRONTS = 22 }; ///< nodes of one have the same x + y + z; each looks at those of the one before, or behind

/// The x of a row's node in a front; 8 or more: it has none.
TILE_FN uint32_t front_x(uint32_t front, uint32_t row)
{
    return front - (row & 7) - (row >> 3);
}

/// Fills in nodes without a value, from those before them (-1) or behind them (1). Ends with a barrier.
TILE_FN void fill_fronts(nodes_scratch *s, uint32_t first, uint32_t end, int sign)
{
    for (uint32_t i = 0; i < NODES_FRONTS && first < end; i++) {
        FOR_RANGE (r, first, end) {
            const uint32_t x = front_x(sign < 0 ? i : NODES_FRONTS - 1 - i, r);
            if (x < 8 && s->work.value.d[tarn_flow_padded_at(8 * r + x)][3] == 0) {
                tarn_flow_fill_node(&s->work.value, 8 * r + x, sign);
            }
        }
        TILE_BARRIER();
    }
}

/// As tarn_flow_fill. Ends with a barrier.
TILE_FN void fill_nodes(nodes_scratch *s, uint32_t rows)
{
    if (TILE_SINGLE()) {
        s->is_open = 0;
    }
    fill_fronts(s, 0, rows, -1);
    FOR_RANGE_ATOMIC (n, 0, 8 * rows) {
        tile_or_u32(&s->is_open, s->work.value.d[tarn_flow_padded_at(n)][3] == 0);
    }
    TILE_BARRIER();
    if (!s->is_open) {
        return;
    }
    FOR_RANGE (i, tarn_flow_padded_end(rows), TARN_FLOW_PADDED) {
        tarn_flow_forget(&s->work, i); // the first front has none of these
    }
    fill_fronts(s, rows, TARN_FLOW_ROWS, -1);
    fill_fronts(s, 0, TARN_FLOW_ROWS, 1);
}

/// Settles the nodes that are told, and fills in the others. Ends with a barrier.
TILE_FN void settle_nodes(const stream_args *args, nodes_scratch *s, uint32_t rows)
{
    for (uint32_t front = 0; front < NODES_FRONTS; front++) {
        FOR_RANGE (r, 0, rows) {
            const uint32_t x = front_x(front, r);
            if (x < 8 && s->mask.row[r] >> x & 1) {
                settle_node(args, s, 8 * r + x);
            }
        }
        TILE_BARRIER();
    }
    fill_nodes(s, rows);
}

/// What the mask's row and its nodes will do to the state: as tarn_flow_put_mask.
TILE_FN void look_up_row(const stream_args *args, nodes_scratch *s, int has_reference, uint32_t r)
{
    const tarn_code_tables *tables = args->w.tables;
    const uint32_t row = s->mask.row[r], state = tarn_flow_row_state(row);
    s->mask_step[r][0] = step_of(&tables->row[tarn_flow_row_context(&s->mask, &s->mask_was, has_reference, r)], state);
    for (uint32_t x = 0; x < 8 && state == TARN_FLOW_ROW_SOME; x++) {
        const uint32_t context = tarn_flow_bit_context(&s->mask, &s->mask_was, has_reference, r, x, row);
        s->mask_step[r][1 + x] = step_of(&tables->bit[context], row >> x & 1);
    }
}

/// Writes a tile's stream before `end`. @param before  the reference's block; NULL: there is none
TILE_FN void write_nodes(const stream_args *args, nodes_scratch *s, const tarn_flow_node *before, uint32_t rows,
                         uint8_t *end, uint32_t *bytes)
{
    const tarn_residual_tables *tables = &args->w.tables->residual;
    FOR_RANGE (n, 0, 8 * rows) {
        const int is_told = is_known(&s->mask, n);
        s->step[n] = is_told ? step_of_residual(tables, s->context[n], s->number[n]) : step_of_nothing();
    }
    FOR_RANGE (r, 0, TARN_FLOW_ROWS) {
        s->mask_was.row[r] = tarn_flow_mask_row(before, rows, r); // of the reference's a row asks for nothing else
        look_up_row(args, s, before != NULL, r);
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        tarn_ans_writer writer;
        tarn_ans_begin(&writer, end);
        for (uint32_t r = rows; r-- > 0;) {
            if (s->mask.row[r] != 0) {
                put_steps(&writer, tables, s->step + 8 * r, 8, args->w.coded);
            }
        }
        for (uint32_t r = TARN_FLOW_ROWS; r-- > 0;) {
            const uint32_t is_some = tarn_flow_row_state(s->mask.row[r]) == TARN_FLOW_ROW_SOME;
            put_steps(&writer, tables, s->mask_step[r], is_some ? 9 : 1, args->w.coded);
        }
        *bytes = (uint32_t)(end - tarn_ans_end(&writer));
    }
}

#endif
