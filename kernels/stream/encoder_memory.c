// The encoder's memory, on the device and beside it.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"

#include <stdlib.h>

enum { FRAME_BYTES_LEAST = 4 << 20, FRAME_POINT_BYTES = 8 };

/// A piece of device memory; remembers failure, so that callers need not check each.
typedef struct room_carver {
    tarn_encoder *encoder;
    bool failed, giving;
} room_carver;

/// The same of memory that the device writes and the host reads.
static uint8_t *carve_shared(room_carver *t, uint8_t *piece, uint64_t bytes)
{
    if (t->giving) {
        tarn_device_free_shared(t->encoder->view.device, piece);
        return NULL;
    }
    uint8_t *memory = t->failed ? NULL : tarn_device_alloc_shared(t->encoder->view.device, (size_t)bytes);
    t->failed |= memory == NULL;
    return memory;
}

static void *carve(room_carver *t, void *piece, uint64_t bytes)
{
    if (t->giving) {
        tarn_device_free(t->encoder->view.device, piece);
        return NULL;
    }
    void *memory = t->failed ? NULL : tarn_device_alloc(t->encoder->view.device, (size_t)(bytes > 0 ? bytes : 1));
    t->failed |= memory == NULL;
    t->encoder->bytes_taken += bytes;
    return memory;
}

/// Where the parts of a key frame and the groups of the others end at most.
static uint64_t coded_bytes(const tarn_encoder *encoder)
{
    const encoder_room *room = &encoder->room;
    const uint64_t parts = (uint64_t)room->occupied * encoder->desc.layers;
    const uint64_t sets =
        parts * STREAM_PART_BYTES + room->particles * (uint64_t)STREAM_POINT_BYTES(encoder->desc.place_bits);
    const uint64_t groups = (uint64_t)room->groups * STREAM_GROUP_BYTES;
    return (uint64_t)room->flow * TARN_FLOW_BYTES_MAX + (sets > groups ? sets : groups);
}

/// What all streams of a frame may take: less than each at its worst, which no water is everywhere, because it is
/// pinned.
static uint64_t frame_bytes(const tarn_encoder *encoder)
{
    const encoder_room *room = &encoder->room;
    const uint64_t most = room->coded + room->slots + 8 * (uint64_t)room->groups; // with levels
    const uint64_t enough = FRAME_BYTES_LEAST + (uint64_t)room->particles * FRAME_POINT_BYTES;
    return most < enough ? most : enough;
}

static void choose_room(tarn_encoder *encoder)
{
    const tank_view *view = &encoder->view;
    encoder_room *room = &encoder->room;
    const uint32_t layers = encoder->desc.layers;
    room->particles = view->particles_max;
    room->tiles = view->tile_total;
    room->occupied = view->occupied_max;
    // Slots of the dead stay until the next key frame.
    room->slots = room->particles + room->particles / 4 + 1024 * layers;
    room->groups = 2 * (room->slots / TARN_STREAM_GROUP + layers + 1);
    // A tile of the grid for every 64 particles: beyond that residuals say where particles go.
    room->flow = tile_min_u32(room->tiles, 256 + room->particles / 64);
    const uint32_t parts = 2 * room->occupied * layers;
    const uint64_t lists = sizeof(stream_plan) + 4 * (uint64_t)room->flow + 4 * (uint64_t)room->groups +
                           (uint64_t)room->occupied * (sizeof(stream_tile) + 4 * (uint64_t)layers);
    room->chunks = room->flow + (parts > room->groups ? parts : room->groups) + room->groups +
                   (uint32_t)(lists / STREAM_LIST_BYTES) + 8; // of each list the last piece isn't full
    room->coded = coded_bytes(encoder);
    room->frame = lists + frame_bytes(encoder);
    TARN_ASSERT(room->occupied <= room->tiles && room->flow <= room->tiles);
    TARN_ASSERT(room->slots < STREAM_BORN); // a seat says either
}

static void carve_device(room_carver *t)
{
    tarn_encoder *e = t->encoder;
    const encoder_room *room = &e->room;
    stream_memory *w = &e->args.w;
    const uint64_t particles = room->particles, parts = (uint64_t)room->occupied * e->desc.layers;
    w->plan = carve(t, w->plan, sizeof *w->plan);
    w->pair = carve(t, w->pair, particles * sizeof *w->pair);
    w->pair_next = carve(t, w->pair_next, particles * sizeof *w->pair);
    w->place_slot = carve(t, w->place_slot, particles * 4);
    w->place_slot_next = carve(t, w->place_slot_next, particles * 4);
    w->slot = carve(t, w->slot, room->slots * sizeof *w->slot);
    w->key = carve(t, w->key, particles * 4);
    w->key_order = carve(t, w->key_order, particles * 4);
    w->tile = carve(t, w->tile, room->occupied * sizeof *w->tile);
    w->tile_next = carve(t, w->tile_next, room->occupied * sizeof *w->tile);
    w->tile_index = carve(t, w->tile_index, room->tiles * (uint64_t)4);
    w->sum = carve(t, w->sum, room->flow * (uint64_t)STREAM_FIT_NODES * 16);
    w->filled = carve(t, w->filled, room->occupied * (uint64_t)STREAM_FILLED * 4);
    w->layer = carve(t, w->layer, particles);
    w->layer_count = carve(t, w->layer_count, parts * 4);
    w->part = carve(t, w->part, parts * sizeof *w->part);
    for (int i = 0; i < 2; i++) {
        w->flow_dense[i] = carve(t, w->flow_dense[i], room->flow * (uint64_t)4);
        w->flow_index[i] = carve(t, w->flow_index[i], room->tiles * (uint64_t)4);
        w->node[i] = carve(t, w->node[i], room->flow * (uint64_t)TARN_FLOW_BLOCK * sizeof(tarn_flow_node));
    }
    w->group = carve(t, w->group, room->groups * sizeof *w->group);
    w->flow_bytes = carve(t, w->flow_bytes, room->flow * (uint64_t)4);
    w->bytes = carve(t, w->bytes, (2 * parts > room->groups ? 2 * parts : room->groups) * 4);
    w->coded = carve(t, w->coded, room->coded);
    w->chunk = carve(t, w->chunk, room->chunks * sizeof *w->chunk);
    w->reached = carve(t, w->reached, ((uint64_t)room->tiles + 31) / 32 * 4);
    w->seat_was = carve(t, w->seat_was, particles * 4);
    w->tables = carve(t, w->tables, sizeof *w->tables);
    e->args.seat = carve(t, e->args.seat, particles * 4);
    e->moved_seat = carve(t, e->moved_seat, particles * 4);
    e->frame = carve_shared(t, e->frame, room->frame);
}

tarn_status encoder_carve_memory(tarn_encoder *encoder)
{
    room_carver t = {.encoder = encoder};
    choose_room(encoder);
    carve_device(&t);
    encoder->args.groups_at = (uint64_t)encoder->room.flow * TARN_FLOW_BYTES_MAX;
    encoder->args.frame_room = encoder->room.frame;
    encoder->args.to = encoder->frame;
    encoder->lists = malloc(ENCODER_LIST_BYTES(&encoder->room, encoder->desc.layers));
    return encoder->lists != NULL && !t.failed ? TARN_OK : TARN_E_MEMORY;
}

static void carve_levels(room_carver *t, uint64_t groups)
{
    const encoder_room *room = &t->encoder->room;
    stream_memory *w = &t->encoder->args.w;
    w->value = carve(t, w->value, (uint64_t)room->particles * sizeof *w->value);
    w->level_seen = carve(t, w->level_seen, room->particles);
    w->level = carve(t, w->level, room->slots);
    w->level_now = carve(t, w->level_now, room->slots);
    w->level_group = carve(t, w->level_group, groups * sizeof *w->level_group);
    w->level_bytes = carve(t, w->level_bytes, groups * sizeof *w->level_bytes);
    w->level_coded = carve(t, w->level_coded, groups * STREAM_LEVEL_BYTES);
}

static void give_levels(tarn_encoder *encoder)
{
    room_carver t = {.encoder = encoder, .giving = true};
    carve_levels(&t, 0);
}

tarn_status encoder_carve_levels(tarn_encoder *encoder, uint32_t groups)
{
    if (encoder->args.w.value != NULL) {
        return TARN_OK;
    }
    room_carver t = {.encoder = encoder};
    const uint64_t before = encoder->bytes_taken;
    carve_levels(&t, groups);
    if (!t.failed && tarn_queue_zero(encoder->view.queue, encoder->args.w.level_now, encoder->room.slots) == TARN_OK) {
        return TARN_OK;
    }
    give_levels(encoder);
    encoder->bytes_taken = before;
    return TARN_E_MEMORY;
}

static uint32_t field_groups_max(const tarn_encoder *e)
{
    uint32_t groups = 0;
    for (uint32_t part = 0; part < TARN_FIELD_PARTS; part++) {
        const uint32_t step = tarn_field_group_tiles(e->view.cells[2], part);
        groups += (e->view.field_tiles_max + step - 1) / step;
    }
    return groups;
}

static void carve_field(room_carver *t)
{
    tarn_encoder *e = t->encoder;
    stream_memory *w = &e->args.w;
    const uint64_t tiles = e->view.field_tiles_max, groups = field_groups_max(e);
    w->field_room = carve(t, w->field_room, tiles * TILE_CELLS * sizeof *w->field_room);
    for (uint32_t part = 0; part < TARN_FIELD_PARTS; part++) {
        const uint64_t levels = tiles * tarn_field_tile_levels(e->view.cells[2], part);
        w->field_true[part] = carve(t, w->field_true[part], levels);
        for (int i = 0; i < 2; i++) {
            w->field_level[i][part] = carve(t, w->field_level[i][part], levels);
        }
    }
    for (int i = 0; i < 2; i++) {
        w->field_index[i] = carve(t, w->field_index[i], e->room.tiles * (uint64_t)4);
        e->field_dense[i] = carve(t, e->field_dense[i], tiles * 4);
    }
    w->field_bytes = carve(t, w->field_bytes, groups * 4);
    w->field_coded = carve(t, w->field_coded, groups * STREAM_LEVEL_BYTES);
}

static void give_field(tarn_encoder *e)
{
    room_carver t = {.encoder = e, .giving = true};
    carve_field(&t);
    free(e->field_tile_list);
    e->field_tile_list = NULL;
}

/// What all of a frame takes has to hold a field, too.
static bool grow_frame(room_carver *t)
{
    tarn_encoder *e = t->encoder;
    const uint32_t groups = field_groups_max(e),
                   chunks = groups + e->view.field_tiles_max / (STREAM_LIST_BYTES / 4) + 1;
    const uint64_t more = (uint64_t)groups * STREAM_LEVEL_BYTES + 4 * (uint64_t)e->view.field_tiles_max;
    stream_chunk *chunk = carve(t, NULL, (uint64_t)(e->room.chunks + chunks) * sizeof *chunk);
    uint8_t *frame = carve_shared(t, NULL, e->room.frame + more);
    if (t->failed) {
        tarn_device_free(e->view.device, chunk);
        tarn_device_free_shared(e->view.device, frame);
        return false;
    }
    tarn_device_free(e->view.device, e->args.w.chunk);
    tarn_device_free_shared(e->view.device, e->frame);
    e->bytes_taken -= e->room.chunks * sizeof *chunk;
    e->args.w.chunk = chunk;
    e->args.to = e->frame = frame;
    e->room.chunks += chunks;
    e->room.frame += more;
    e->args.frame_room = e->room.frame;
    return true;
}

tarn_status encoder_carve_field(tarn_encoder *encoder)
{
    if (encoder->field_tile_list != NULL) {
        return TARN_OK;
    }
    const uint32_t tiles = encoder->view.field_tiles_max;
    room_carver t = {.encoder = encoder};
    const uint64_t before = encoder->bytes_taken;
    if (tiles > TARN_FRAME_FIELD_TILES_MAX) {
        return TARN_E_MEMORY;
    }
    carve_field(&t);
    encoder->field_tile_list = malloc(ENCODER_FIELD_LIST_BYTES(tiles));
    bool is_there = !t.failed && encoder->field_tile_list != NULL;
    for (int i = 0; i < 2; i++) {
        is_there = is_there && tarn_queue_zero(encoder->view.queue, encoder->args.w.field_index[i],
                                               encoder->room.tiles * (size_t)4) == TARN_OK;
        encoder->field_listed[i] = 0;
    }
    if (is_there && grow_frame(&t)) {
        return TARN_OK;
    }
    give_field(encoder);
    encoder->bytes_taken = before;
    return TARN_E_MEMORY;
}

void encoder_give_memory(tarn_encoder *encoder)
{
    room_carver t = {.encoder = encoder, .giving = true};
    carve_device(&t);
    give_levels(encoder);
    give_field(encoder);
    free(encoder->lists);
}
