/// How a processor codes levels: one after the other. Part of level_run.h.
#ifndef TARN_KERNELS_STREAM_LEVEL_RUN_CPU_H
#define TARN_KERNELS_STREAM_LEVEL_RUN_CPU_H

typedef struct level_run {
    int16_t
        last[TARN_STREAM_GROUP + 1]; ///< in the reference, or expected; -1: not known; LEVEL_NONE: there is no level
    uint8_t level[TARN_STREAM_GROUP + 1]; ///< in the tank; then what viewers have
    uint32_t form, count;                 ///< count: of those that there are
    uint8_t told[TARN_STREAM_GROUP];      ///< these
    int16_t steps[TARN_STREAM_GROUP];     ///< and what leads to them
    uint8_t context[TARN_STREAM_GROUP / 3 + 1];
} level_run;

/// The form of a run whose levels are known.
TILE_FN void choose_form(level_run *run, uint32_t count, int keeps_change)
{
    uint32_t there = 0, off = 0;
    tarn_level_guess guess = {0, 0};
    for (uint32_t k = 0; k < count; k++) {
        if (run->last[k] != LEVEL_NONE) {
            off += level_distance(&guess, run->last[k], run->level[k]);
            follow_level(&guess, run->last[k], run->level[k], keeps_change);
            there++;
        }
    }
    run->form = level_form(off, there);
}

/// Writes what choose_levels has chosen before `end`.
TILE_FN void write_levels(const stream_args *args, level_run *run, uint8_t *end, uint32_t *bytes)
{
    const tarn_residual_tables *tables = &args->w.tables->residual;
    const uint8_t *at = tarn_level_write(end, tables, run->told, run->steps, run->form, run->count, run->context);
    at = at != NULL ? at : tarn_level_write(end, tables, run->told, run->steps, 0, run->count, run->context);
    *bytes = (uint32_t)(end - at);
}

#endif
