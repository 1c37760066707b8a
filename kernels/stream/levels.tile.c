// A channel's values as levels, and these as streams.
#include "kernels/stream/level_run.h"

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

enum { LEVEL_LANES = 128 };

/// What is known of a group's levels: of the newborn nothing.
TILE_FN void load_levels(const stream_args *args, const stream_level_group *group, level_run *run)
{
    const stream_slot *slot = args->w.slot + group->slot;
    const uint8_t *now = args->w.level_now + group->slot, *last = args->has_levels ? args->w.level + group->slot : now;
    const int32_t unknown = args->has_levels ? 0 : -1;
    FOR_RANGE (k, 0, group->old) {
        run->last[k] = (int16_t)(slot[k].old.state == SLOT_ALIVE ? last[k] | unknown : LEVEL_NONE);
    }
    FOR_RANGE (k, group->old, group->count) {
        run->last[k] = -1;
    }
    FOR_RANGE (k, 0, group->count) {
        run->level[k] = now[k];
    }
}

/// Viewers have these after the frame, if it becomes the reference.
TILE_FN void keep_levels(const stream_args *args, const stream_level_group *group, const level_run *run)
{
    if (!args->is_base) {
        return;
    }
    FOR_RANGE (k, 0, group->count) {
        if (run->last[k] != LEVEL_NONE) {
            args->w.level[group->slot + k] = run->level[k];
        }
    }
}

/// A group's levels as a stream; none where nothing is alive. One tile per group.
TILE_KERNEL(stream_level_groups, LEVEL_LANES, stream_args, level_run)
{
    const stream_memory *w = &args->w;
    const stream_level_group *group = &w->level_group[tile];
    load_levels(args, group, s);
    choose_form(s, group->count, 1);
    if (TILE_SINGLE()) {
        choose_levels(s, group->count, 1);
        w->level_bytes[tile] = 0;
    }
    TILE_BARRIER();
    keep_levels(args, group, s);
    if (s->count > 0) {
        write_levels(args, s, w->level_coded + (uint64_t)(tile + 1) * STREAM_LEVEL_BYTES, &w->level_bytes[tile]);
    }
}
