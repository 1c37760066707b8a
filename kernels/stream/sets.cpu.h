/// How a processor codes a part of a key frame: one particle after the other. Part of key.tile.c.
#ifndef TARN_KERNELS_STREAM_SETS_CPU_H
#define TARN_KERNELS_STREAM_SETS_CPU_H

typedef struct code_sets_scratch {
    uint32_t count[TARN_SET_CELLS]; ///< particles of each cell
} code_sets_scratch;

/// Writes a part's set, or its colours, before `end`.
TILE_FN void write_part(const stream_args *args, code_sets_scratch *s, const stream_part *part, uint32_t is_colours,
                        uint8_t *end, uint32_t *bytes)
{
    const stream_memory *w = &args->w;
    tarn_ans_writer writer;
    tarn_ans_begin(&writer, end);
    if (is_colours) {
        tarn_code_put_colours(&writer, w->tables, part->count, w->layer + part->first);
    } else {
        tarn_set_write(&writer, &w->tables->set, w->key + part->first, part->count, args->bits, s->count);
    }
    *bytes = (uint32_t)(end - tarn_ans_end(&writer));
}

#endif
