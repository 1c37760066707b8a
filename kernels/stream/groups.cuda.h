/// How a block codes a group of slots: all lanes look at them, one has the state (steps.h). Part of move.tile.c.
#ifndef TARN_KERNELS_STREAM_GROUPS_CUDA_H
#define TARN_KERNELS_STREAM_GROUPS_CUDA_H

#include "kernels/stream/steps.h"

typedef struct groups_scratch {
    uint32_t deaths, any;
    uint16_t run[TARN_STREAM_GROUP + 1]; ///< sums of sizes, then the activities
    stream_step step[TARN_STREAM_GROUP];
} groups_scratch;

/// Looks at what is left of a group's places. Ends with a barrier.
/// @return how many have died, with SEEN_ANY where anything is left
TILE_FN uint32_t look_through(const stream_args *args, const stream_group *group, groups_scratch *s)
{
    const stream_slot *slot = args->w.slot + group->slot;
    const tarn_residual_tables *tables = &args->w.tables->residual;
    if (TILE_SINGLE()) {
        s->deaths = s->any = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (k, 0, group->count) {
        const uint32_t is_alive = slot[k].old.state == SLOT_ALIVE, size = is_alive ? slot_size(&slot[k]) : 0;
        s->run[k] = (uint16_t)(is_alive ? tile_min_u32(size, STEP_NONE - 1) : (uint32_t)STEP_NONE);
        tile_or_u32(&s->any, size);
        if (slot[k].old.state == SLOT_DIED) {
            tile_add_u32(&s->deaths, 1);
        }
    }
    TILE_BARRIER();
    if ((s->any | s->deaths) == 0) {
        return 0;
    }
    if (TILE_SINGLE()) {
        follow_activity(s->run, group->count);
    }
    TILE_BARRIER();
    FOR_RANGE (k, 0, group->count) {
        const int32_t residual[3] = {slot[k].old.residual[0], slot[k].old.residual[1], slot[k].old.residual[2]};
        s->step[k] = s->run[k] == STEP_NONE ? step_of_nothing()
                                            : step_of_residual(tables, tarn_residual_context(s->run[k]), residual);
    }
    TILE_BARRIER();
    return s->deaths | SEEN_ANY;
}

/// Writes that, from the last one on.
TILE_FN void write_old(const stream_args *args, const stream_group *group, const groups_scratch *s,
                       tarn_ans_writer *writer)
{
    put_steps(writer, &args->w.tables->residual, s->step, group->count, args->w.coded);
}

#endif
