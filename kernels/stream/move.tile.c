// Base and extra frames: where the reference's particles have gone, what the flow leaves of it, who came and went.
#include "kernels/stream/stream_memory.h"

typedef struct arrive_scratch {
    uint32_t born[TARN_STREAM_LAYERS_MAX];
    uint32_t far;
} arrive_scratch;

/// A particle that the reference doesn't know: what is told of it.
TILE_FN void note_born(const stream_args *args, uint32_t i, uint32_t layer)
{
    args->w.pair_next[i].kept = stream_pack_place(stream_place_of(args, i));
    args->w.key[i] = args->has_colours ? stream_colour_of(args, i) : 0;
    args->w.layer[i] = (uint8_t)layer;
}

/// Puts where particles are into the order of the reference; counts those that have none there. All that the frame
/// wants of the tank, whose particles have their seats in the next reference from then on. One tile per occupied tile.
TILE_KERNEL(stream_arrive, STREAM_LANES, stream_args, arrive_scratch)
{
    const uint32_t dense = args->tank_tile[tile], first = args->tile_first[dense],
                   end = first + args->tile_count[dense];
    uint32_t far = 0;
    FOR_RANGE (l, 0, args->layers) {
        s->born[l] = 0;
    }
    if (TILE_SINGLE()) {
        s->far = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t seat = args->seat[i];
        args->w.seat_was[i] = seat;
        if (args->is_base) {
            args->seat[i] = i;
        }
        if (seat == TILE_NONE) {
            const uint32_t layer = stream_layer_of(args, args->id[i], 1);
            note_born(args, i, layer);
            tile_add_u32(&s->born[layer], 1);
            continue;
        }
        const tarn_four place = stream_place_of(args, i);
        args->w.pair[seat].true_place = stream_pack_place(place);
        far |= stream_farthest(tarn_four_sub(place, stream_unpack_place(args->w.pair[seat].kept)));
    }
    tile_or_u32(&s->far, far);
    TILE_BARRIER();
    FOR_RANGE (l, 0, args->layers) {
        args->w.layer_count[tile * args->layers + l] = s->born[l];
    }
    if (TILE_SINGLE()) {
        args->w.tile_next[tile].dense = dense;
        args->w.tile_next[tile].first = first;
        args->w.tile_next[tile].count = end - first;
        global_or_u32(&args->w.plan->farthest, s->far);
    }
}

/// Gives the newborn their slots. One tile per occupied tile.
TILE_KERNEL(stream_births, 32, stream_args, tile_no_scratch)
{
    const stream_memory *w = &args->w;
    const uint32_t first = w->tile_next[tile].first, end = first + w->tile_next[tile].count;
    uint32_t any = 0;
    for (uint32_t l = 0; l < args->layers; l++) {
        any |= w->part[tile * args->layers + l].count;
    }
    if (any == 0) {
        return;
    }
    if (TILE_SINGLE()) {
        uint32_t next[TARN_STREAM_LAYERS_MAX];
        for (uint32_t l = 0; l < args->layers; l++) {
            next[l] = w->part[tile * args->layers + l].slot;
        }
        for (uint32_t i = first; i < end; i++) {
            int32_t place[4];
            if (w->seat_was[i] != TILE_NONE) {
                continue;
            }
            const uint32_t slot = next[w->layer[i]]++;
            tarn_four_store(place, stream_unpack_place(w->pair_next[i].kept));
            uint64_t born = (uint64_t)w->key[i] << 54;
            for (int a = 0; a < 3; a++) {
                born |= (uint64_t)((uint32_t)place[a] >> (TARN_PLACE_BITS - args->bits)) << 18 * a;
            }
            w->slot[slot].born.low = (uint32_t)born;
            w->slot[slot].born.high = (uint32_t)(born >> 32);
            w->seat_was[i] = STREAM_BORN | slot;
        }
    }
}

/// What is left of places when the flow has moved them, in steps; nothing where that is little enough.
TILE_FN tarn_four residual_of(const stream_args *args, tarn_four error)
{
    const tarn_four sign = tarn_four_right(error, 31), size = tarn_four_sub(tarn_four_xor(error, sign), sign);
    const tarn_four rounded = tarn_four_scale(tarn_four_add(size, tarn_four_all((int32_t)args->residual_step >> 1)),
                                              args->residual_inverse, 0);
    const tarn_four is_said = tarn_four_right(tarn_four_sub(tarn_four_all(args->dead_zone), size), 31);
    const tarn_four steps = tarn_four_and(tarn_four_min(rounded, tarn_four_all(32767)), is_said);
    return tarn_four_sub(tarn_four_xor(steps, sign), sign);
}

/// Moves the reference's particles as viewers will, and puts what is left into their slots. One tile per tile of the
/// reference.
TILE_KERNEL(stream_move, STREAM_LANES, stream_args, tile_no_scratch)
{
    const stream_memory *w = &args->w;
    const stream_tile *from = &w->tile[tile];
    tarn_flow flow;
    stream_flow_of(args, args->flow_now, &flow);
    FOR_RANGE (i, from->first, from->first + from->count) {
        stream_slot *slot = &w->slot[w->place_slot[i]];
        const uint64_t truth = w->pair[i].true_place;
        const int is_gone = truth == STREAM_NOWHERE;
        const tarn_four kept = stream_unpack_place(w->pair[i].kept);
        int32_t at[4];
        tarn_four_store(at, kept);
        const tarn_flow_node *block = tarn_flow_block(&flow, at);
        const tarn_four sum = block != NULL ? tarn_flow_sum(block, kept) : tarn_four_all(0);
        const tarn_four moved = tarn_four_add(kept, tarn_flow_distance(sum, args->bits));
        const tarn_four error = tarn_four_sub(stream_unpack_place(truth), moved);
        const tarn_four residual = tarn_four_and(residual_of(args, error), tarn_four_all(is_gone ? 0 : -1));
        tarn_four_store_i16(slot->old.residual, residual, is_gone && args->is_base ? SLOT_DIED : SLOT_ALIVE);
        if (args->is_base) {
            const tarn_four there = tarn_four_add(moved, tarn_four_times(residual, (int32_t)args->residual_step));
            w->pair[i].kept =
                stream_pack_place(tarn_four_min(tarn_four_max(there, tarn_four_all(0)), tarn_four_load(args->end)));
        }
        w->pair[i].true_place = STREAM_NOWHERE;
    }
}

enum { GROUP_LANES = 128 };

#define SEEN_ANY (1u << 31)
#define SLOT_CALM ((uint64_t)SLOT_ALIVE << 48)

/// A slot as one number: most have nothing left, and are told from the others at once.
TILE_FN uint64_t slot_as_one(const stream_slot *slot)
{
    return slot->born.low | (uint64_t)slot->born.high << 32;
}

TILE_FN uint32_t slot_size(const stream_slot *slot)
{
    uint32_t sum = 0;
    for (int a = 0; a < 3; a++) {
        sum += (uint32_t)(slot->old.residual[a] < 0 ? -slot->old.residual[a] : slot->old.residual[a]);
    }
    return sum;
}

#include TILE_FORM(groups)

/// The newborn of a group, from the last one on.
TILE_FN void write_born(const stream_args *args, const stream_group *group, tarn_ans_writer *writer)
{
    for (uint32_t k = group->count; k-- > 0;) {
        const stream_slot *slot = &args->w.slot[group->slot + k];
        const uint64_t born = slot_as_one(slot);
        if (args->has_colours) {
            tarn_ans_put_bits(writer, (uint32_t)(born >> 54), TARN_COLOUR_BITS);
        }
        for (int a = 2; a >= 0; a--) {
            const uint32_t most = ((uint32_t)(args->end[a] + 1) >> (TARN_PLACE_BITS - args->bits)) - 1;
            tarn_code_put_bits(writer, (uint32_t)(born >> 18 * a) & 0x3ffffu, tarn_bits_of(most));
        }
    }
}

/// Who has died of a group, from the last one on.
TILE_FN void write_deaths(const stream_args *args, const stream_group *group, uint32_t deaths, tarn_ans_writer *writer)
{
    for (uint32_t k = group->count; deaths > 0 && k-- > 0;) {
        stream_slot *slot = &args->w.slot[group->slot + k];
        if (slot->old.state == SLOT_DIED) {
            tarn_ans_put_bits(writer, k, 10);
            slot->old.state = SLOT_EMPTY;
        }
    }
    tarn_code_put_number(writer, args->w.tables, TARN_NUMBER_DEATHS, deaths);
}

/// A group of slots as a stream; none where nothing is left. One tile per group.
TILE_KERNEL(stream_groups, GROUP_LANES, stream_args, groups_scratch)
{
    const stream_group *group = &args->w.group[tile];
    const uint32_t seen = group->is_born ? SEEN_ANY : look_through(args, group, s);
    if (TILE_SINGLE()) {
        uint8_t *end = args->w.coded + args->groups_at + (uint64_t)(tile + 1) * STREAM_GROUP_BYTES;
        tarn_ans_writer writer;
        tarn_ans_begin(&writer, end);
        if (group->is_born) {
            write_born(args, group, &writer);
        } else if (seen != 0) {
            write_old(args, group, s, &writer);
            write_deaths(args, group, seen & ~SEEN_ANY, &writer);
        }
        args->w.bytes[tile] = seen != 0 ? (uint32_t)(end - tarn_ans_end(&writer)) | (seen & ~SEEN_ANY) << 16 : 0;
    }
}

typedef struct reseat_scratch {
    uint32_t reach;
} reseat_scratch;

/// The base frame becomes the reference: the order that the tank had then is that of the places. One tile per occupied
/// tile.
TILE_KERNEL(stream_reseat, STREAM_LANES, stream_args, reseat_scratch)
{
    const stream_memory *w = &args->w;
    const uint32_t dense = w->tile_next[tile].dense, first = w->tile_next[tile].first,
                   end = first + w->tile_next[tile].count;
    uint32_t tile_at[3], reach = 0;
    stream_tile_at(args, dense, tile_at);
    if (TILE_SINGLE()) {
        s->reach = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t seat = w->seat_was[i];
        if (seat & STREAM_BORN) {
            const tarn_four place = stream_unpack_place(w->pair_next[i].kept);
            stream_slot *slot = &w->slot[seat & ~STREAM_BORN];
            tarn_four_store_i16(slot->old.residual, tarn_four_all(0), SLOT_ALIVE);
            w->pair_next[i].kept = stream_pack_place(stream_keep_place(args, place));
            w->place_slot_next[i] = seat & ~STREAM_BORN;
        } else {
            w->pair_next[i].kept = w->pair[seat].kept;
            w->place_slot_next[i] = w->place_slot[seat];
        }
        w->pair_next[i].true_place = STREAM_NOWHERE;
        reach |= stream_reach_of(tile_at, stream_unpack_place(w->pair_next[i].kept));
    }
    tile_or_u32(&s->reach, reach);
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        w->tile_next[tile].reach = s->reach;
    }
}
