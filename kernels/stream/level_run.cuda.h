/// How a block codes levels: all lanes look at them, one has what each expects of the next, and the state (steps.h).
/// Part of level_run.h.
#ifndef TARN_KERNELS_STREAM_LEVEL_RUN_CUDA_H
#define TARN_KERNELS_STREAM_LEVEL_RUN_CUDA_H

#include "kernels/stream/steps.h"

typedef struct level_run {
    int16_t
        last[TARN_STREAM_GROUP + 1]; ///< in the reference, or expected; -1: not known; LEVEL_NONE: there is no level
    uint8_t level[TARN_STREAM_GROUP + 1]; ///< in the tank; then what viewers have
    uint32_t form, count;                 ///< count: of those that there are
    uint8_t told[TARN_STREAM_GROUP];      ///< these
    int16_t steps[TARN_STREAM_GROUP];     ///< and what leads to them
    uint32_t off, there;
    uint16_t run[TARN_STREAM_GROUP / 3 + 2]; ///< of each three: the sum of sizes, then the activity
    stream_step step[TARN_STREAM_GROUP / 3 + 1];
} level_run;

/// The form of a run whose levels are known behind a barrier, with which it begins.
TILE_FN void choose_form(level_run *run, uint32_t count, int keeps_change)
{
    if (TILE_SINGLE()) {
        run->off = run->there = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (k, 0, count) {
        uint32_t before = k;
        tarn_level_guess guess = {0, 0};
        if (run->last[k] == LEVEL_NONE) {
            continue;
        }
        while (before > 0 && run->last[before - 1] == LEVEL_NONE) {
            before--;
        }
        if (before > 0) {
            follow_level(&guess, run->last[before - 1], run->level[before - 1], keeps_change);
        }
        tile_add_u32(&run->off, level_distance(&guess, run->last[k], run->level[k]));
        tile_add_u32(&run->there, 1);
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        run->form = level_form(run->off, run->there);
    }
}

/// The steps of three levels that are told together.
TILE_FN void three_of(const level_run *run, uint32_t t, int32_t residual[3])
{
    for (uint32_t i = 0; i < 3; i++) {
        residual[i] = 3 * t + i < run->count ? run->steps[3 * t + i] : 0;
    }
}

/// Writes what choose_levels has chosen, behind a barrier, before `end`.
TILE_FN void write_levels(const stream_args *args, level_run *run, uint8_t *end, uint32_t *bytes)
{
    const tarn_residual_tables *tables = &args->w.tables->residual;
    const uint32_t count = (run->count + 2) / 3;
    FOR_RANGE (t, 0, count) {
        int32_t residual[3];
        three_of(run, t, residual);
        run->run[t] = (uint16_t)tarn_residual_sum(residual);
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        follow_activity(run->run, count);
    }
    TILE_BARRIER();
    FOR_RANGE (t, 0, count) {
        int32_t residual[3];
        three_of(run, t, residual);
        run->step[t] = step_of_residual(tables, tarn_residual_context(run->run[t]), residual);
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        const uint8_t *at = end, *least = end - (tarn_level_bytes_plain(run->count) - TARN_ANS_STATE_BYTES - 2);
        tarn_ans_writer writer;
        tarn_ans_begin(&writer, end);
        if (put_steps(&writer, tables, run->step, count, least)) {
            tarn_ans_put_bits(&writer, run->form, TARN_LEVEL_FORM_BITS);
            at = tarn_ans_end(&writer);
        } else {
            at = tarn_level_write(end, tables, run->told, run->steps, 0, run->count, (uint8_t *)0);
        }
        *bytes = (uint32_t)(end - at);
    }
}

#endif
