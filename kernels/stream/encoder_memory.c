// The encoder's memory, on the device and beside it.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"

#include <stdlib.h>

enum { FRAME_BYTES_LEAST = 4 << 20, FRAME_POINT_BYTES = 8 };

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

/// Pieces are NULL before the arena is taken.
static void carve_device(tarn_encoder *e)
{
    tarn_arena *t = &e->arena;
    const encoder_room *room = &e->room;
    stream_memory *w = &e->args.w;
    const uint64_t particles = room->particles, parts = (uint64_t)room->occupied * e->desc.layers;
    w->plan = tarn_arena_piece(t, sizeof *w->plan);
    w->pair = tarn_arena_piece(t, particles * sizeof *w->pair);
    w->pair_next = tarn_arena_piece(t, particles * sizeof *w->pair);
    w->place_slot = tarn_arena_piece(t, particles * 4);
    w->place_slot_next = tarn_arena_piece(t, particles * 4);
    w->slot = tarn_arena_piece(t, room->slots * sizeof *w->slot);
    w->key = tarn_arena_piece(t, particles * 4);
    w->key_order = tarn_arena_piece(t, particles * 4);
    w->tile = tarn_arena_piece(t, room->occupied * sizeof *w->tile);
    w->tile_next = tarn_arena_piece(t, room->occupied * sizeof *w->tile);
    w->tile_index = tarn_arena_piece(t, room->tiles * (uint64_t)4);
    w->sum = tarn_arena_piece(t, room->flow * (uint64_t)STREAM_FIT_NODES * 16);
    w->filled = tarn_arena_piece(t, room->occupied * (uint64_t)STREAM_FILLED * 4);
    w->layer = tarn_arena_piece(t, particles);
    w->layer_count = tarn_arena_piece(t, parts * 4);
    w->part = tarn_arena_piece(t, parts * sizeof *w->part);
    for (int i = 0; i < 2; i++) {
        w->flow_dense[i] = tarn_arena_piece(t, room->flow * (uint64_t)4);
        w->flow_index[i] = tarn_arena_piece(t, room->tiles * (uint64_t)4);
        w->node[i] = tarn_arena_piece(t, room->flow * (uint64_t)TARN_FLOW_BLOCK * sizeof(tarn_flow_node));
    }
    w->group = tarn_arena_piece(t, room->groups * sizeof *w->group);
    w->flow_bytes = tarn_arena_piece(t, room->flow * (uint64_t)4);
    w->bytes = tarn_arena_piece(t, (2 * parts > room->groups ? 2 * parts : room->groups) * 4);
    w->coded = tarn_arena_piece(t, room->coded);
    w->chunk = tarn_arena_piece(t, room->chunks * sizeof *w->chunk);
    w->reached = tarn_arena_piece(t, ((uint64_t)room->tiles + 31) / 32 * 4);
    w->seat_was = tarn_arena_piece(t, particles * 4);
    w->tables = tarn_arena_piece(t, sizeof *w->tables);
    e->args.seat = tarn_arena_piece(t, particles * 4);
    e->moved_seat = tarn_arena_piece(t, particles * 4);
}

/// Takes an arena and gives its pieces to whom they are for.
static tarn_status take(tarn_encoder *encoder, tarn_arena *arena, void (*pieces)(tarn_encoder *encoder))
{
    pieces(encoder);
    const tarn_status status = tarn_arena_take(arena, encoder->view.device, TARN_ARENA_DEVICE);
    if (status == TARN_OK) {
        pieces(encoder);
    }
    return status;
}

/// What the device writes and the host reads, of so many bytes.
static tarn_status take_frame(const tarn_encoder *encoder, uint64_t bytes, tarn_arena *arena, uint8_t **frame)
{
    (void)tarn_arena_piece(arena, bytes);
    const tarn_status status = tarn_arena_take(arena, encoder->view.device, TARN_ARENA_SHARED);
    if (status == TARN_OK) {
        *frame = tarn_arena_piece(arena, bytes);
    }
    return status;
}

tarn_status encoder_carve_memory(tarn_encoder *encoder)
{
    choose_room(encoder);
    tarn_status status = take(encoder, &encoder->arena, carve_device);
    if (status == TARN_OK) {
        status = take_frame(encoder, encoder->room.frame, &encoder->frame_arena, &encoder->frame);
    }
    encoder->args.groups_at = (uint64_t)encoder->room.flow * TARN_FLOW_BYTES_MAX;
    encoder->args.frame_room = encoder->room.frame;
    encoder->args.to = encoder->frame;
    encoder->lists = malloc(ENCODER_LIST_BYTES(&encoder->room, encoder->desc.layers));
    return status == TARN_OK && encoder->lists == NULL ? TARN_E_MEMORY : status;
}

static void carve_levels(tarn_encoder *e)
{
    tarn_arena *t = &e->levels_arena;
    const encoder_room *room = &e->room;
    const uint64_t groups = encoder_level_groups_max(e);
    stream_memory *w = &e->args.w;
    w->value = tarn_arena_piece(t, (uint64_t)room->particles * sizeof *w->value);
    w->level_seen = tarn_arena_piece(t, room->particles);
    w->level = tarn_arena_piece(t, room->slots);
    w->level_now = tarn_arena_piece(t, room->slots);
    w->level_group = tarn_arena_piece(t, groups * sizeof *w->level_group);
    w->level_bytes = tarn_arena_piece(t, groups * sizeof *w->level_bytes);
    w->level_coded = tarn_arena_piece(t, groups * STREAM_LEVEL_BYTES);
}

tarn_status encoder_carve_levels(tarn_encoder *encoder)
{
    return encoder->args.w.value != NULL ? TARN_OK : take(encoder, &encoder->levels_arena, carve_levels);
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

/// Chunks and bytes of a frame that a field takes besides all else.
static uint32_t field_chunks(const tarn_encoder *e)
{
    return field_groups_max(e) + e->view.field_tiles_max / (STREAM_LIST_BYTES / 4) + 1;
}

static uint64_t field_frame_bytes(const tarn_encoder *e)
{
    return (uint64_t)field_groups_max(e) * STREAM_LEVEL_BYTES + 4 * (uint64_t)e->view.field_tiles_max;
}

/// The list of chunks is a longer one from then on.
static void carve_field(tarn_encoder *e)
{
    tarn_arena *t = &e->field_arena;
    stream_memory *w = &e->args.w;
    const uint64_t tiles = e->view.field_tiles_max, groups = field_groups_max(e);
    w->field_room = tarn_arena_piece(t, tiles * TILE_CELLS * sizeof *w->field_room);
    for (uint32_t part = 0; part < TARN_FIELD_PARTS; part++) {
        const uint64_t levels = tiles * tarn_field_tile_levels(e->view.cells[2], part);
        w->field_true[part] = tarn_arena_piece(t, levels);
        for (int i = 0; i < 2; i++) {
            w->field_level[i][part] = tarn_arena_piece(t, levels);
        }
    }
    for (int i = 0; i < 2; i++) {
        w->field_index[i] = tarn_arena_piece(t, e->room.tiles * (uint64_t)4);
        e->field_dense[i] = tarn_arena_piece(t, tiles * 4);
    }
    w->field_bytes = tarn_arena_piece(t, groups * 4);
    w->field_coded = tarn_arena_piece(t, groups * STREAM_LEVEL_BYTES);
    e->field_chunk = tarn_arena_piece(t, (e->room.chunks + (uint64_t)field_chunks(e)) * sizeof *e->field_chunk);
}

/// The frame's memory has to hold a field, too.
static void grow_frame(tarn_encoder *e, const tarn_arena *arena, uint8_t *frame)
{
    (void)tarn_queue_wait(e->queue);
    tarn_arena_give(&e->frame_arena);
    e->frame_arena = *arena;
    e->args.to = e->frame = frame;
    e->args.w.chunk = e->field_chunk;
    e->room.chunks += field_chunks(e);
    e->room.frame += field_frame_bytes(e);
    e->args.frame_room = e->room.frame;
}

tarn_status encoder_carve_field(tarn_encoder *encoder)
{
    if (encoder->field_tile_list != NULL) {
        return TARN_OK;
    }
    const uint32_t tiles = encoder->view.field_tiles_max;
    if (tiles > TARN_FRAME_FIELD_TILES_MAX) {
        return TARN_E_MEMORY;
    }
    tarn_arena arena = {0};
    uint8_t *frame = NULL, *list = malloc(ENCODER_FIELD_LIST_BYTES(tiles));
    tarn_status status = list == NULL ? TARN_E_MEMORY : take(encoder, &encoder->field_arena, carve_field);
    if (status == TARN_OK) {
        status = take_frame(encoder, encoder->room.frame + field_frame_bytes(encoder), &arena, &frame);
    }
    if (status != TARN_OK) {
        tarn_arena_give(&encoder->field_arena);
        free(list);
        return status;
    }
    encoder->field_tile_list = list;
    grow_frame(encoder, &arena, frame);
    return TARN_OK;
}

uint64_t tarn_encoder_bytes(const tarn_encoder *encoder)
{
    return encoder->arena.bytes + encoder->levels_arena.bytes + encoder->field_arena.bytes;
}

void encoder_give_memory(tarn_encoder *encoder)
{
    tarn_arena_give(&encoder->arena);
    tarn_arena_give(&encoder->levels_arena);
    tarn_arena_give(&encoder->field_arena);
    tarn_arena_give(&encoder->frame_arena);
    free(encoder->field_tile_list);
    free(encoder->lists);
}
