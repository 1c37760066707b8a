// The encoder's invariants, one by one, for validating builds: begin at encoder_validate. What both ends of a stream
// rely on: every particle's seat names a place of its own in the reference, every place a slot of its own in its layer.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"

#include <stdlib.h>

/// A bit per number that has been seen. Only validating builds allocate while they encode.
typedef struct seen {
    uint8_t *bits;
    uint32_t count;
} seen;

static void see(seen *s, uint32_t number)
{
    TARN_ASSERT(number < s->count);
    TARN_ASSERT((s->bits[number / 8] >> number % 8 & 1) == 0);
    s->bits[number / 8] |= (uint8_t)(1u << number % 8);
}

static seen seen_none(uint32_t count)
{
    return (seen){calloc(count / 8 + 1, 1), count};
}

/// @return particles of the reference
static uint32_t validate_reference(const tarn_encoder *e)
{
    const uint32_t *index = e->args.w.tile_index;
    const stream_tile *tiles = e->args.w.tile;
    uint32_t places = 0, indexed = 0;
    for (uint32_t t = 0; t < e->reference_tiles; t++) {
        const stream_tile *tile = &tiles[t];
        TARN_ASSERT(tile->dense < e->room.tiles);
        TARN_ASSERT(t == 0 || tiles[t - 1].dense < tile->dense);
        TARN_ASSERT(tile->first == places);
        TARN_ASSERT(index[tile->dense] == 1 + t);
        TARN_ASSERT(tile->reach >> 27 == 0);
        places += tile->count;
    }
    for (uint32_t dense = 0; dense < e->room.tiles; dense++) {
        indexed += index[dense] != 0;
    }
    TARN_ASSERT(indexed == e->reference_tiles);
    TARN_ASSERT(places <= e->room.particles);
    return places;
}

static void validate_seats(const tarn_encoder *e, uint32_t places)
{
    seen seats = seen_none(places);
    for (uint32_t o = 0; seats.bits != NULL && o < e->now.occupied; o++) {
        const uint32_t dense = e->args.tank_tile[o], first = e->args.tile_first[dense];
        for (uint32_t i = first; i < first + e->args.tile_count[dense]; i++) {
            if (e->args.seat[i] != TILE_NONE) {
                see(&seats, e->args.seat[i]);
            }
        }
    }
    free(seats.bits);
}

static void validate_slots(const tarn_encoder *e, uint32_t places)
{
    seen slots = seen_none(e->room.slots);
    for (uint32_t i = 0; slots.bits != NULL && i < places; i++) {
        const uint32_t slot = e->args.w.place_slot[i];
        uint32_t layer = 0;
        see(&slots, slot);
        while (layer + 1 < e->desc.layers && slot >= e->layers[layer + 1].first) {
            layer++;
        }
        TARN_ASSERT(slot - e->layers[layer].first < e->layers[layer].slots);
    }
    free(slots.bits);
}

/// The grid that frames which refer to this reference have: ascending, a node block for each.
static void validate_flow(const tarn_encoder *e)
{
    const uint32_t now = e->args.flow_now, count = e->args.w.plan->flow[now];
    const uint32_t *list = e->args.w.flow_dense[now];
    TARN_ASSERT(count <= e->room.flow);
    for (uint32_t g = 0; g < count; g++) {
        TARN_ASSERT(list[g] < e->room.tiles);
        TARN_ASSERT(g == 0 || list[g - 1] < list[g]);
        TARN_ASSERT(e->args.w.flow_index[now][list[g]] == 1 + g);
    }
}

void encoder_validate_levels(const tarn_encoder *e)
{
    if (!tarn_device_is_host(e->view.device)) {
        return;
    }
    const stream_slot *slots = e->args.w.slot;
    const uint32_t groups = encoder_plan(e)->level_groups;
    for (uint32_t l = 0, g = 0; l < e->desc.layers && groups > 0; l++) {
        uint32_t alive = 0, count = 0;
        for (; g < groups && count < e->layers[l].slots; g++) {
            const stream_level_group *group = &e->args.w.level_group[g];
            for (uint32_t k = 0; k < group->count; k++) {
                alive += k >= group->old || slots[group->slot + k].old.state == SLOT_ALIVE;
            }
            count += group->count;
        }
        TARN_ASSERT(count == e->layers[l].slots);
        TARN_ASSERT(alive == e->layers[l].particles); // each gets a level
    }
}

void encoder_validate(const tarn_encoder *e)
{
    if (!tarn_device_is_host(e->view.device)) {
        return;
    }
    const uint32_t places = validate_reference(e);
    validate_seats(e, places);
    validate_slots(e, places);
    validate_flow(e);
}
