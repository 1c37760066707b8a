/// A group's levels on their way into a stream: of particles (levels.tile.c) or of a field's cells (field.tile.c).
#ifndef TARN_KERNELS_STREAM_LEVEL_RUN_H
#define TARN_KERNELS_STREAM_LEVEL_RUN_H

#include "kernels/stream/stream_memory.h"

enum { LEVEL_NONE = -2 };
TILE_ASSERT((int)TARN_FIELD_GROUP == (int)TARN_STREAM_GROUP, "groups of levels");

/// @param keeps_change  of a level nothing is expected of the change of the one before it without
TILE_FN void follow_level(tarn_level_guess *guess, int32_t last, int32_t level, int keeps_change)
{
    tarn_level_follow(guess, last, level);
    guess->change = keeps_change ? guess->change : 0;
}

/// The form of levels that are off by so much, all together: the wilder they are the coarser their steps.
TILE_FN uint32_t level_form(uint32_t off, uint32_t count)
{
    uint32_t form = 1;
    while (form < STREAM_LEVEL_FORM && STREAM_LEVEL_WILD * off > count << form) {
        form++;
    }
    return form;
}

TILE_FN uint32_t level_distance(const tarn_level_guess *guess, int32_t last, int32_t level)
{
    const int32_t less = level - tarn_level_expect(guess, last);
    return (uint32_t)(less < 0 ? -less : less);
}

#include TILE_FORM(level_run)

/// What is told in steps of the run's form, and what viewers then have. One lane.
TILE_FN void choose_levels(level_run *run, uint32_t count, int keeps_change)
{
    const uint32_t form = run->form;
    uint32_t there = 0;
    tarn_level_guess guess = {0, 0};
    run->last[count] = LEVEL_NONE;
    run->level[count] = 0;
    int32_t next_last = run->last[0], next_level = run->level[0]; // each is there before the one before it is written
    for (uint32_t k = 0; k < count; k++) {
        const int32_t last = next_last, truth = next_level;
        next_last = run->last[k + 1];
        next_level = run->level[k + 1];
        if (last == LEVEL_NONE) {
            continue;
        }
        const int32_t expected = tarn_level_expect(&guess, last), steps = tarn_level_steps(truth - expected, form),
                      level = tarn_level_of(expected, steps, form);
        follow_level(&guess, last, level, keeps_change);
        run->level[k] = run->told[there] = (uint8_t)level;
        run->steps[there++] = (int16_t)steps;
    }
    run->count = there;
}

#endif
