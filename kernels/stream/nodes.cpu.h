/// How a processor settles and codes a tile's nodes: one after the other. Part of flow.tile.c.
#ifndef TARN_KERNELS_STREAM_NODES_CPU_H
#define TARN_KERNELS_STREAM_NODES_CPU_H

/// Settles the nodes that are told, and fills in the others.
TILE_FN void settle_nodes(const stream_args *args, nodes_scratch *s, uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t left = s->mask.row[r]; left != 0; left &= left - 1) {
            settle_node(args, s, 8 * r + tarn_lowest_bit(left));
        }
    }
    tarn_flow_fill(&s->work, &s->mask, rows);
}

/// Writes a tile's stream before `end`. @param before  the reference's block; NULL: there is none
TILE_FN void write_nodes(const stream_args *args, const nodes_scratch *s, const tarn_flow_node *before, uint32_t rows,
                         uint8_t *end, uint32_t *bytes)
{
    tarn_ans_writer writer;
    tarn_flow_mask was;
    tarn_ans_begin(&writer, end);
    for (uint32_t r = rows; r-- > 0;) {
        for (uint32_t left = s->mask.row[r], x; left != 0; left ^= 1u << x) {
            x = tarn_bits_of(left) - 1;
            tarn_residual_write(&writer, &args->w.tables->residual, s->context[8 * r + x], s->number[8 * r + x]);
        }
    }
    tarn_flow_mask_of(before, rows, &was);
    tarn_flow_put_mask(&writer, args->w.tables, &was, before != NULL, &s->mask);
    *bytes = (uint32_t)(end - tarn_ans_end(&writer));
}

#endif
