/// Symbols that are coded one behind the other, as a block does it: all lanes look up what each will do to the state,
/// so that the one lane that has the state goes through a chain of numbers and waits for no memory. Part of CUDA's
/// forms; a processor, which looks ahead by itself, codes each as it comes.
#ifndef TARN_KERNELS_STREAM_STEPS_H
#define TARN_KERNELS_STREAM_STEPS_H

#include "kernels/stream/stream_memory.h"

/// A symbol, looked up; or whole bits; or a residual that its symbol doesn't say all of, as three numbers of 18 bits.
typedef struct stream_step {
    uint64_t reciprocal; ///< or the bits, or the residual
    uint16_t from;
    uint16_t frequency; ///< 0: no symbol; TARN_ANS_ONE: nothing
    uint32_t context;   ///< of the residual; or how many bits, with STEP_BITS
} stream_step;

enum {
    STEP_NUMBER_BITS = 18,
    STEP_BITS = 0x100,
    STEP_NONE = 0xffff, ///< no sum: more than any
};

TILE_FN stream_step step_of_nothing(void)
{
    const stream_step step = {(uint64_t)1 << (TARN_ANS_RECIPROCAL_BITS - TARN_ANS_PROBABILITY_BITS), 0, TARN_ANS_ONE,
                              0};
    return step;
}

TILE_FN stream_step step_of(const tarn_ans_table *table, uint32_t symbol)
{
    const uint16_t from = table->from[symbol];
    const stream_step step = {table->reciprocal[symbol], from, (uint16_t)(table->from[symbol + 1] - from), 0};
    return step;
}

/// @param bits  0..TARN_ANS_BITS_MAX
TILE_FN stream_step step_of_bits(uint32_t value, uint32_t bits)
{
    const stream_step step = {value, 0, 0, STEP_BITS | bits};
    return step;
}

TILE_FN stream_step step_of_residual(const tarn_residual_tables *tables, uint32_t context, const int32_t residual[3])
{
    const uint32_t symbol = tarn_residual_symbol(residual), mask = (1u << STEP_NUMBER_BITS) - 1;
    if (tarn_residual_is_small(symbol)) {
        return step_of(&tables->symbol[context], symbol);
    }
    stream_step step = {0, 0, 0, context};
    for (int a = 0; a < 3; a++) {
        step.reciprocal |= (uint64_t)((uint32_t)residual[a] & mask) << STEP_NUMBER_BITS * a;
    }
    return step;
}

TILE_FN void put_step(tarn_ans_writer *writer, const tarn_residual_tables *tables, stream_step step)
{
    if (step.frequency > 0) {
        tarn_ans_put_known(writer, step.from, step.frequency, step.reciprocal);
        return;
    }
    if (step.context >= STEP_BITS) {
        tarn_ans_put_bits(writer, (uint32_t)step.reciprocal, step.context - STEP_BITS);
        return;
    }
    int32_t residual[3];
    for (int a = 0; a < 3; a++) {
        const uint32_t number = (uint32_t)(step.reciprocal >> STEP_NUMBER_BITS * a);
        residual[a] = (int32_t)(number << (32 - STEP_NUMBER_BITS)) >> (32 - STEP_NUMBER_BITS);
    }
    tarn_residual_write(writer, tables, step.context, residual);
}

/// From the last one on. Each is there before the one behind it is written: writing could change any memory, for all
/// that a compiler knows.
/// @param least  where bytes may begin at the earliest; args->w.coded where they can't come to that
/// @return whether they don't begin before
TILE_FN int put_steps(tarn_ans_writer *writer, const tarn_residual_tables *tables, const stream_step *step,
                      uint32_t count, const uint8_t *least)
{
    if (count == 0) {
        return 1;
    }
    stream_step next = step[count - 1];
    while (count-- > 0 && writer->at >= least) {
        const stream_step here = next;
        next = step[count > 0 ? count - 1 : 0];
        put_step(writer, tables, here);
    }
    return writer->at >= least;
}

/// The activity before each of a run of residuals, in place of the sum of its numbers' sizes; STEP_NONE is none, and
/// stays. @param run  count + 1 of them, of which the last one is nothing
TILE_FN void follow_activity(uint16_t *run, uint32_t count)
{
    run[count] = STEP_NONE;
    uint32_t activity = 0, next = run[0];
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t sum = next;
        next = run[k + 1];
        if (sum != STEP_NONE) {
            run[k] = (uint16_t)activity;
            activity = tarn_residual_follow(activity, sum);
        }
    }
}

#endif
