/// How a processor codes a group of slots: one after the other. Part of move.tile.c.
#ifndef TARN_KERNELS_STREAM_GROUPS_CPU_H
#define TARN_KERNELS_STREAM_GROUPS_CPU_H

typedef struct groups_scratch {
    uint8_t context[TARN_STREAM_GROUP];
} groups_scratch;

/// Looks at what is left of a group's places. @return how many have died, with SEEN_ANY where anything is left
TILE_FN uint32_t look_through(const stream_args *args, const stream_group *group, groups_scratch *s)
{
    uint32_t activity = 0, deaths = 0, any = 0;
    for (uint32_t k = 0; k < group->count; k++) {
        const stream_slot *slot = &args->w.slot[group->slot + k];
        uint32_t size = 0;
        if (slot_as_one(slot) != SLOT_CALM) {
            deaths += slot->old.state == SLOT_DIED;
            if (slot->old.state != SLOT_ALIVE) {
                continue;
            }
            size = slot_size(slot);
        }
        s->context[k] = (uint8_t)tarn_residual_context(activity);
        activity = tarn_residual_follow(activity, size);
        any |= size;
    }
    return deaths | (any != 0 || deaths > 0 ? SEEN_ANY : 0);
}

/// Writes that, from the last one on.
TILE_FN void write_old(const stream_args *args, const stream_group *group, const groups_scratch *s,
                       tarn_ans_writer *writer)
{
    for (uint32_t k = group->count; k-- > 0;) {
        const stream_slot *slot = &args->w.slot[group->slot + k];
        const int32_t residual[3] = {slot->old.residual[0], slot->old.residual[1], slot->old.residual[2]};
        if (slot_as_one(slot) == SLOT_CALM) {
            tarn_ans_put(writer, &args->w.tables->residual.symbol[s->context[k]], 0);
        } else if (slot->old.state == SLOT_ALIVE) {
            tarn_residual_write(writer, &args->w.tables->residual, s->context[k], residual);
        }
    }
}

#endif
