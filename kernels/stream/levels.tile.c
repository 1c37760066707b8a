// A channel's values as levels, and these as streams.
#include "kernels/stream/stream_memory.h"

/// The particles' values as levels. One tile per occupied tile.
TILE_KERNEL(stream_values, STREAM_LANES, stream_args, tile_no_scratch)
{
    const uint32_t dense = args->tank_tile[tile], first = args->tile_first[dense];
    FOR_RANGE (i, first, first + args->tile_count[dense]) {
        args->w.level_seen[i] = stream_level_at(args->value[i], args->level_low, args->level_scale);
    }
}

/// Puts them where the particles' slots are. One tile per tile that held particles.
TILE_KERNEL(stream_levels, STREAM_LANES, stream_args, tile_no_scratch)
{
    const stream_memory *w = &args->w;
    const uint32_t first = args->tile_now[tile].first;
    FOR_RANGE (i, first, first + args->tile_now[tile].count) {
        const uint32_t seat = w->seat_was[i];
        if (seat != TILE_NONE) { // born since, and no base frame has told of it
            w->level_now[seat & STREAM_BORN ? seat & ~STREAM_BORN : w->place_slot[seat]] = w->level_seen[i];
        }
    }
}

typedef struct level_scratch {
    uint8_t level[TARN_STREAM_GROUP], context[TARN_STREAM_GROUP / 3 + 1];
    int16_t steps[TARN_STREAM_GROUP];
} level_scratch;

/// A slot's level in the reference, or -1: it has none.
TILE_FN int32_t last_level(const stream_args *args, const stream_level_group *group, uint32_t k)
{
    return args->has_levels && k < group->old ? (int32_t)args->w.level[group->slot + k] : -1;
}

TILE_FN int is_alive(const stream_args *args, const stream_level_group *group, uint32_t k)
{
    return k >= group->old || args->w.slot[group->slot + k].old.state == SLOT_ALIVE;
}

/// The form of a group: the wilder it is the coarser its steps.
TILE_FN uint32_t choose_form(const stream_args *args, const stream_level_group *group)
{
    uint32_t alive = 0, off = 0, form = 1;
    tarn_level_guess guess = {0, 0};
    for (uint32_t k = 0; k < group->count; k++) {
        if (is_alive(args, group, k)) {
            const int32_t last = last_level(args, group, k), now = args->w.level_now[group->slot + k];
            const int32_t less = now - tarn_level_expect(&guess, last);
            off += (uint32_t)(less < 0 ? -less : less);
            tarn_level_follow(&guess, last, now);
            alive++;
        }
    }
    while (form < STREAM_LEVEL_FORM && STREAM_LEVEL_WILD * off > alive << form) {
        form++;
    }
    return form;
}

/// What is told of a group in steps of its form. @return how many are alive
TILE_FN uint32_t choose_levels(const stream_args *args, const stream_level_group *group, uint32_t form,
                               level_scratch *s)
{
    uint32_t alive = 0;
    tarn_level_guess guess = {0, 0};
    for (uint32_t k = 0; k < group->count; k++) {
        if (!is_alive(args, group, k)) {
            continue;
        }
        const int32_t last = last_level(args, group, k), expected = tarn_level_expect(&guess, last);
        const int32_t steps = tarn_level_steps((int32_t)args->w.level_now[group->slot + k] - expected, form);
        const int32_t level = tarn_level_of(expected, steps, form);
        tarn_level_follow(&guess, last, level);
        s->level[alive] = (uint8_t)level;
        s->steps[alive++] = (int16_t)steps;
    }
    return alive;
}

/// Viewers have these after the frame, if it becomes the reference.
TILE_FN void keep_levels(const stream_args *args, const stream_level_group *group, const level_scratch *s)
{
    for (uint32_t k = 0, at = 0; k < group->count && args->is_base; k++) {
        if (is_alive(args, group, k)) {
            args->w.level[group->slot + k] = s->level[at++];
        }
    }
}

/// A group's levels as a stream; none where nothing is alive. One tile per group.
TILE_KERNEL(stream_level_groups, 32, stream_args, level_scratch)
{
    if (TILE_SINGLE()) {
        const stream_memory *w = &args->w;
        const stream_level_group *group = &w->level_group[tile];
        const uint32_t form = choose_form(args, group), alive = choose_levels(args, group, form, s);
        uint8_t *end = w->level_coded + (uint64_t)(tile + 1) * STREAM_LEVEL_BYTES, *at = end;
        keep_levels(args, group, s);
        if (alive > 0) {
            at = tarn_level_write(end, &w->tables->residual, s->level, s->steps, form, alive, s->context);
            at =
                at != NULL ? at : tarn_level_write(end, &w->tables->residual, s->level, s->steps, 0, alive, s->context);
        }
        w->level_bytes[tile] = (uint32_t)(end - at);
    }
}
