// The sequence of a frame; stream_memory.h shows it. Begin at tarn_encoder_begin and tarn_encoder_finish, which are at
// the end; before them is what they are made up of.
#include "kernels/stream/encoder.h"
#include "protocol/assert.h"
#include "protocol/channel.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// ---- memory ----
// On the device and beside it.

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
static uint64_t largest_frame_bytes(const tarn_encoder *encoder)
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
    room->frame = lists + largest_frame_bytes(encoder);
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

/// Takes the encoder's memory. @return TARN_OK or TARN_E_MEMORY; encoder_give_memory follows
static tarn_status encoder_carve_memory(tarn_encoder *encoder)
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

/// What takes a channel, where it isn't there yet. @return TARN_OK or TARN_E_MEMORY
static tarn_status encoder_carve_levels(tarn_encoder *encoder)
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

/// What takes a field, where it isn't there yet. @return TARN_OK or TARN_E_MEMORY
static tarn_status encoder_carve_field(tarn_encoder *encoder)
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

/// Gives it back, also what was taken by a call that failed.
static void encoder_give_memory(tarn_encoder *encoder)
{
    tarn_arena_give(&encoder->arena);
    tarn_arena_give(&encoder->levels_arena);
    tarn_arena_give(&encoder->field_arena);
    tarn_arena_give(&encoder->frame_arena);
    free(encoder->field_tile_list);
    free(encoder->lists);
}

// ---- a frame, put together ----
// Lists that the host codes, each a chain of numbers that nothing else waits for, and the device's streams.

/// Where the next list will end: they are written backwards, from the end of their room on.
typedef struct list_writer {
    tarn_encoder *encoder;
    uint32_t end;
} list_writer;

static void begin_list(list_writer *lists, tarn_ans_writer *writer)
{
    tarn_ans_begin(writer, lists->encoder->lists + lists->end);
}

static void end_list(list_writer *lists, tarn_ans_writer *writer, uint32_t which)
{
    tarn_encoder *e = lists->encoder;
    e->list_at[which] = (uint32_t)(tarn_ans_end(writer) - e->lists);
    TARN_ASSERT(e->list_at[which] < lists->end); // all lists together fit their room
    e->list_bytes[which] = lists->end - e->list_at[which];
    lists->end = e->list_at[which];
}

/// The frame as the device leaves it in the memory that both see: what is read of it in this order.
typedef struct device_frame {
    const stream_plan *plan;
    const uint32_t *flow_list;
    const stream_tile *tiles;    // of a key frame
    const uint32_t *counts;      // of these, [tile][layer]
    const uint32_t *group_bytes; // of another one
    const uint32_t *field_list;
    const uint8_t *streams;
} device_frame;

static device_frame open_frame(const tarn_encoder *e)
{
    const uint8_t *at = e->frame;
    device_frame frame = {.plan = encoder_plan(e)};
    at += sizeof *frame.plan;
    frame.flow_list = (const uint32_t *)at;
    at += 4 * (size_t)frame.plan->flow[e->args.flow_now];
    if (e->args.is_key) {
        frame.tiles = (const stream_tile *)at;
        at += e->now.occupied * sizeof *frame.tiles;
        frame.counts = (const uint32_t *)at;
        at += 4 * (size_t)e->now.occupied * e->desc.layers;
    } else {
        frame.group_bytes = (const uint32_t *)at;
        at += 4 * (size_t)frame.plan->groups;
    }
    frame.field_list = (const uint32_t *)at;
    at += 4 * (size_t)e->args.field_tiles;
    frame.streams = at;
    TARN_ASSERT((uint64_t)(at - e->frame) == frame.plan->lists_bytes); // stream_offsets
    return frame;
}

/// The gaps in an ascending list, from the last on.
static void put_gaps(tarn_encoder *e, tarn_ans_writer *writer, const uint32_t *list, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) {
        TARN_ASSERT(i == 0 || list[i - 1] < list[i]);
        tarn_code_put_number(writer, &e->tables, TARN_NUMBER_GAP, list[i] - (i > 0 ? list[i - 1] + 1 : 0));
    }
}

static void list_flow(list_writer *lists, const device_frame *frame)
{
    tarn_ans_writer writer;
    begin_list(lists, &writer);
    put_gaps(lists->encoder, &writer, frame->flow_list, frame->plan->flow[lists->encoder->args.flow_now]);
    end_list(lists, &writer, 0);
}

/// A key frame's layer: its tiles and how many particles each has.
static void list_tiles(list_writer *lists, const device_frame *frame, uint32_t layer)
{
    const tarn_encoder *e = lists->encoder;
    uint32_t count = 0, later = 0, later_count = 0;
    tarn_ans_writer writer;
    begin_list(lists, &writer);
    for (uint32_t t = e->now.occupied; t-- > 0;) {
        const uint32_t particles = frame->counts[(size_t)t * e->desc.layers + layer];
        if (particles == 0) {
            continue;
        }
        TARN_ASSERT(count == 0 || frame->tiles[t].dense < later);
        if (count++ > 0) { // what follows this tile is known now
            tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_COUNT, later_count);
            tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_GAP, later - frame->tiles[t].dense - 1);
        }
        later = frame->tiles[t].dense;
        later_count = particles;
    }
    if (count > 0) {
        tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_COUNT, later_count);
        tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_GAP, later);
    }
    tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_COUNT, count);
    end_list(lists, &writer, 1 + layer);
}

/// A moved layer: which of its groups are coded, without those of the newborn, which lie behind them.
static void list_groups(list_writer *lists, const device_frame *frame, uint32_t layer)
{
    const stream_plan *plan = frame->plan;
    const uint32_t first = layer > 0 ? plan->group_end[layer - 1] : 0,
                   count = (plan->layer[layer].slots + TARN_STREAM_GROUP - 1) / TARN_STREAM_GROUP;
    tarn_ans_writer writer;
    TARN_ASSERT(first + count <= plan->group_end[layer]);
    begin_list(lists, &writer);
    for (uint32_t g = first + count; g-- > first;) {
        tarn_ans_put_bits(&writer, (frame->group_bytes[g] & 0xffff) > 0, 1);
    }
    end_list(lists, &writer, 1 + layer);
}

static void write_lists(tarn_encoder *e, const device_frame *frame)
{
    list_writer lists = {e, ENCODER_LIST_BYTES(&e->room, e->desc.layers)};
    list_flow(&lists, frame);
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        if (e->args.is_key) {
            list_tiles(&lists, frame, l);
        } else {
            list_groups(&lists, frame, l);
        }
    }
}

/// The tiles of the field, in a room of its own. @return bytes
static uint32_t list_field(tarn_encoder *e, const device_frame *frame, const uint8_t **list)
{
    uint8_t *end = e->field_tile_list + ENCODER_FIELD_LIST_BYTES(e->view.field_tiles_max);
    tarn_ans_writer writer;
    tarn_ans_begin(&writer, end);
    put_gaps(e, &writer, frame->field_list, e->field.tiles);
    *list = tarn_ans_end(&writer);
    return (uint32_t)(end - *list);
}

/// Says where the coded streams go and brings them there.
static void encoder_pack(tarn_encoder *e)
{
    encoder_launch(e, stream_offsets_id, 1);
    encoder_launch_counted(e, stream_pack_id, &e->args.w.plan->chunks, e->room.chunks);
}

/// The sections of a frame one behind the other, each a list that the host has coded and the device's streams.
typedef struct frame_writer {
    uint8_t *at;
    const uint8_t *streams; // that follow
} frame_writer;

/// @return its bytes
static uint32_t put_section(frame_writer *writer, const uint8_t *list, uint32_t list_bytes, uint64_t stream_bytes)
{
    memcpy(writer->at, list, list_bytes);
    memcpy(writer->at + list_bytes, writer->streams, stream_bytes);
    writer->at += list_bytes + stream_bytes;
    writer->streams += stream_bytes;
    return (uint32_t)(list_bytes + stream_bytes);
}

static uint64_t frame_bytes(const tarn_encoder *e, const tarn_stream_head *head, const stream_plan *plan,
                            uint32_t field_list_bytes)
{
    uint64_t bytes = tarn_stream_head_bytes(head) + e->list_bytes[0] + plan->flow_bytes + field_list_bytes +
                     plan->coarse_bytes + plan->fine_bytes;
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        bytes += e->list_bytes[1 + l] + plan->layer_bytes[l];
    }
    return bytes;
}

/// Codes the lists and puts them and the streams together.
/// @param head  all but the sections' sizes
static tarn_status encoder_assemble(tarn_encoder *e, tarn_stream_head *head, const tarn_frame_input *inputs,
                                    uint8_t *bytes, size_t bytes_max)
{
    const device_frame frame = open_frame(e);
    const stream_plan *plan = frame.plan;
    const uint8_t *field_list = e->lists;
    write_lists(e, &frame);
    const uint32_t field_list_bytes = head->field.number > 0 ? list_field(e, &frame, &field_list) : 0;
    const uint64_t all = frame_bytes(e, head, plan, field_list_bytes);
    if (all > bytes_max || all > UINT32_MAX) {
        return TARN_E_SPACE;
    }
    frame_writer writer = {bytes + tarn_stream_head_bytes(head), frame.streams};
    head->flow_tiles = plan->flow[e->args.flow_now];
    head->flow_bytes = put_section(&writer, e->lists + e->list_at[0], e->list_bytes[0], plan->flow_bytes);
    head->field.coarse_bytes = put_section(&writer, field_list, field_list_bytes, plan->coarse_bytes);
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        head->layers[l].bytes =
            put_section(&writer, e->lists + e->list_at[1 + l], e->list_bytes[1 + l], plan->layer_bytes[l]);
    }
    head->field.fine_bytes = put_section(&writer, field_list, 0, plan->fine_bytes);
    head->frame_bytes = (uint32_t)all;
    TARN_ASSERT((uint64_t)(writer.at - bytes) == all);
    return tarn_stream_write_head(head, inputs, bytes, bytes_max);
}

// ---- the grid of the flow ----
// The host's part of it: what is launched.

/// Sets or clears entries of a table of the tank's tiles: every `stride`th number of a list on the device.
/// @param copy  device: receives what is listed; NULL: nothing does
static void encoder_index(tarn_encoder *e, const uint32_t *list, uint32_t stride, uint32_t count, uint32_t *table,
                          bool is_set, uint32_t *copy)
{
    TARN_ASSERT(table != NULL && stride > 0);
    e->args.list = list;
    e->args.list_counter = NULL;
    e->args.stride = stride;
    e->args.list_count = count;
    e->args.table = table;
    e->args.is_set = (uint32_t)is_set;
    e->args.list_copy = copy;
    encoder_launch(e, stream_index_id, (count + STREAM_LANES - 1) / STREAM_LANES);
}

/// What a grid's table knows is forgotten, as long as the list is there that says what that is.
static void forget_flow(tarn_encoder *e, uint32_t which)
{
    e->args.list = e->args.w.flow_dense[which];
    e->args.list_counter = &e->args.w.plan->flow[which];
    e->args.stride = 1;
    e->args.table = e->args.w.flow_index[which];
    e->args.is_set = 0;
    e->args.list_copy = NULL;
    encoder_launch(e, stream_index_id, (e->room.flow + STREAM_LANES - 1) / STREAM_LANES);
}

/// The tiles of the grids for the frames that refer to a reference.
/// @param reference  device: its tiles
/// @param made       a bit for each of the two grids that is to have them
static void encoder_list_flow(tarn_encoder *e, const stream_tile *reference, uint32_t tiles, uint32_t made)
{
    TARN_ASSERT(tiles <= e->room.occupied);
    for (uint32_t i = 0; i < 2; i++) {
        if (made >> i & 1) {
            forget_flow(e, i);
        }
    }
    e->args.reference = reference;
    e->args.reference_count = tiles;
    e->args.flow_made = made;
    encoder_launch(e, stream_reach_id, (tiles + STREAM_LANES - 1) / STREAM_LANES);
    encoder_launch(e, stream_list_flow_id, 1);
}

/// Whether the last base frame has left so little unsaid that a better fit wouldn't pay for its time.
static bool is_calm(const tarn_encoder *e)
{
    return e->base_bits > 0.0f && e->base_bits < 1.0f;
}

static void launch_flow(tarn_encoder *e, stream_kernel_id kernel)
{
    TARN_ASSERT(e->args.flow_now < 2);
    encoder_launch_counted(e, kernel, &e->args.w.plan->flow[e->args.flow_now], e->room.flow);
}

/// Fits the frame's grid to where the reference's particles have gone. Of a key frame the fit looks at the tank's
/// particles.
static void encoder_fit_flow(tarn_encoder *e)
{
    e->args.reference_kept = tile_min_u32(e->reference_tiles, e->room.flow);
    e->args.is_guessed = 0;
    encoder_launch(e, stream_fit_id, e->args.reference_kept);
    if (!e->args.is_key && !is_calm(e)) {
        launch_flow(e, stream_guess_id);
        launch_flow(e, stream_borders_id);
        e->args.is_guessed = 1;
        encoder_launch(e, stream_fit_id, e->args.reference_kept);
    }
}

/// Codes the grid, once it is fitted.
static void encoder_code_flow(tarn_encoder *e)
{
    launch_flow(e, stream_nodes_id);
    launch_flow(e, stream_borders_id);
}

// ---- the field of cells ----
// The field that frames carry: from the tank's model, as two parts of tiles in groups.

tarn_status tarn_encoder_carry_field(tarn_encoder *e, uint32_t field)
{
    TARN_ASSERT(!e->is_begun);
    if (field > tarn_tank_model(e->tank)->field_count) {
        return TARN_E_ARGUMENT;
    }
    const tarn_status status = field == 0 ? TARN_OK : e->lacks_field ? TARN_E_MEMORY : encoder_carve_field(e);
    e->lacks_field = status != TARN_OK;
    if (status == TARN_OK && field != e->field.number) {
        e->field = (tarn_stream_field){.number = (uint8_t)field};
    }
    return status;
}

/// Whether the frame's field isn't the reference's: only a key frame will do.
static bool encoder_has_other_field(const tarn_encoder *e)
{
    return e->field.number != e->reference_field;
}

/// The tiles that the frame's field has.
static void list_field_tiles(tarn_encoder *e, const tank_field *field)
{
    const uint32_t now = !e->field_reference;
    TARN_ASSERT(field->count <= e->view.field_tiles_max);
    e->args.field_now = now;
    encoder_index(e, e->field_dense[now], 1, e->field_listed[now], e->args.w.field_index[now], false, NULL);
    e->field_listed[now] = field->count;
    encoder_index(e, field->tile, 1, field->count, e->args.w.field_index[now], true, e->field_dense[now]);
}

static uint32_t groups_of(const tarn_encoder *e, uint32_t part)
{
    const uint32_t step = tarn_field_group_tiles(e->view.cells[2], part);
    return (e->field.tiles + step - 1) / step;
}

static void launch_part(tarn_encoder *e, uint32_t part)
{
    e->args.field_part = part;
    e->args.field_group = part == TARN_FIELD_COARSE ? 0 : groups_of(e, TARN_FIELD_COARSE);
    encoder_launch(e, stream_field_groups_id, groups_of(e, part));
}

/// Finds the field's values, if any, in the tank's queue.
static void encoder_begin_field(tarn_encoder *e)
{
    e->args.field_tiles = e->args.field_groups[TARN_FIELD_COARSE] = e->args.field_groups[TARN_FIELD_FINE] = 0;
    if (e->field.number == 0) {
        return;
    }
    tank_field field;
    tank_view_field(e->tank, e->field.number - 1u, e->args.w.field_room, &field);
    const float range = field.high - field.low, scale = range > 0.0f ? (float)TARN_LEVEL_MAX / range : 0.0f;
    list_field_tiles(e, &field);
    e->field.low = field.low;
    e->field.high = field.high;
    e->field.is_kinds = field.is_kinds;
    e->field.rest = stream_level_at(0.0f, field.low, scale);
    e->field.tiles = e->args.field_tiles = e->field_listed[e->args.field_now];
    e->field.tiles_max = e->view.field_tiles_max;
    e->args.field_value = field.value;
    e->args.field_tile = e->field_dense[e->args.field_now];
    e->args.field_low = field.low;
    e->args.field_scale = scale;
    e->args.field_rest = e->field.rest;
    e->args.field_is_kinds = field.is_kinds;
    for (uint32_t part = 0; part < TARN_FIELD_PARTS; part++) {
        e->args.field_groups[part] = groups_of(e, part);
    }
    encoder_launch(e, stream_field_levels_id, e->field.tiles);
}

/// Codes them, when the frame's grid is coded.
static void encoder_code_field(tarn_encoder *e)
{
    if (e->field.number > 0) {
        launch_part(e, TARN_FIELD_COARSE);
        launch_part(e, TARN_FIELD_FINE);
    }
}

/// The frame becomes the reference.
static void encoder_keep_field(tarn_encoder *e)
{
    e->reference_field = e->field.number;
    e->field_reference = e->field.number > 0 ? e->args.field_now : e->field_reference;
}

// ---- the levels of a channel ----
// The channel that frames carry: its values from the tank's model, as levels of the particles' slots.

tarn_status tarn_encoder_carry(tarn_encoder *e, uint32_t channel)
{
    const tarn_model *model = tarn_tank_model(e->tank);
    TARN_ASSERT(!e->is_begun);
    if (channel > 0 &&
        (channel > model->channel_count || !tarn_channel_is_carried(model->channels[channel - 1].name))) {
        return TARN_E_ARGUMENT;
    }
    const tarn_status status = channel == 0 ? TARN_OK : e->lacks_levels ? TARN_E_MEMORY : encoder_carve_levels(e);
    e->lacks_levels = status != TARN_OK;
    e->channel = status == TARN_OK ? channel : e->channel;
    return status;
}

/// Finds the values of the channel that the frame carries, if any, in the tank's queue.
static void encoder_begin_levels(tarn_encoder *e)
{
    e->args.has_channel = e->channel > 0;
    if (e->channel == 0) {
        return;
    }
    tank_channel channel;
    tank_view_channel(e->tank, e->channel - 1, e->args.w.value, &channel);
    const float range = channel.high - channel.low;
    e->args.value = channel.value;
    e->args.level_low = channel.low;
    e->args.level_scale = range > 0.0f ? (float)TARN_LEVEL_MAX / range : 0.0f;
    e->channel_low = channel.low;
    e->channel_high = channel.high;
    encoder_launch(e, stream_values_id, e->now.occupied);
}

/// Codes them, when all else of the frame is coded.
static void encoder_code_levels(tarn_encoder *e)
{
    if (e->channel == 0) {
        return;
    }
    e->args.has_levels = !e->args.is_key && e->reference_channel == e->channel;
    encoder_launch(e, stream_levels_id, e->now.occupied);
    encoder_launch_counted(e, stream_level_groups_id, &e->args.w.plan->level_groups, encoder_level_groups_max(e));
}

// ---- checks of validating builds ----
// The encoder's invariants, one by one, for validating builds: begin at encoder_validate. What both ends of a stream
// rely on: every particle's seat names a place of its own in the reference, every place a slot of its own in its layer.

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

/// The same of a frame's levels, when they are coded: each particle that viewers have gets one.
static void encoder_validate_levels(const tarn_encoder *e)
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

// ---- an encoder, made and ended ----

void tarn_encoder_desc_default(tarn_encoder_desc *desc)
{
    *desc = (tarn_encoder_desc){.place_bits = 4, .layers = 4, .base_slack = 0.75f, .extra_slack = 1.5f};
}

static bool is_slack(float quanta)
{
    return quanta >= 0.5f && quanta <= 8.0f;
}

/// Particles get colours with their first dye, and lose them when the tank starts afresh. @return whether that happened
static bool fill_colours(tarn_encoder *e)
{
    const bool changed = e->args.attribute != e->now.attribute;
    e->args.attribute = e->now.attribute;
    e->args.has_colours = e->args.attribute != NULL;
    return changed;
}

/// What never changes of the kernels' arguments, and colours.
static void fill_args(tarn_encoder *e)
{
    TARN_ASSERT(e->desc.layers >= 1 && e->desc.layers <= TARN_STREAM_LAYERS_MAX);
    const tank_view *view = &e->view;
    stream_args *args = &e->args;
    for (int a = 0; a < 3; a++) {
        args->position[a] = view->position[a];
        args->velocity[a] = view->velocity[a];
        args->tiles[a] = view->tiles[a];
        args->end[a] = ((int32_t)view->cells[a] << TARN_PLACE_BITS) - 1;
    }
    args->end[3] = INT32_MAX;
    args->tile_total = view->tile_total;
    args->id = view->id;
    args->tank_tile = view->tile;
    args->tank_index = view->tile_index;
    args->tile_first = view->tile_first;
    args->tile_count = view->tile_count;
    args->bits = e->desc.place_bits;
    args->layers = e->desc.layers;
    fill_colours(e);
}

tarn_status tarn_encoder_create(tarn_tank *tank, const tarn_encoder_desc *desc, tarn_encoder **encoder)
{
    if (desc->place_bits > TARN_SET_BITS_MAX || desc->layers == 0 || desc->layers > TARN_STREAM_LAYERS_MAX ||
        !is_slack(desc->base_slack) || !is_slack(desc->extra_slack)) {
        return TARN_E_ARGUMENT;
    }
    tarn_encoder *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return TARN_E_MEMORY;
    }
    e->tank = tank;
    e->desc = *desc;
    e->points_max = TARN_SET_POINTS_MAX;
    tank_view_open(tank, &e->view);
    tank_view_now(tank, &e->now);
    fill_args(e);
    tarn_code_tables_make(&e->tables);
    tarn_status status = tarn_queue_create(e->view.device, &e->queue);
    if (status == TARN_OK) {
        status = encoder_carve_memory(e);
    }
    e->args.flow_room = e->room.flow;
    if (status == TARN_OK) {
        status = tarn_queue_upload(e->view.queue, e->args.w.tables, &e->tables, sizeof e->tables);
    }
    if (status == TARN_OK) {
        status = tank_view_seat(tank, e->args.seat, e->moved_seat);
        e->is_seated = status == TARN_OK;
    }
    if (status != TARN_OK) {
        tarn_encoder_destroy(e);
        return status;
    }
    *encoder = e;
    return TARN_OK;
}

void tarn_encoder_destroy(tarn_encoder *encoder)
{
    if (encoder == NULL) {
        return;
    }
    if (encoder->is_seated) {
        (void)tank_view_seat(encoder->tank, NULL, NULL);
    }
    (void)tarn_queue_wait(encoder->view.queue); // steps carry the seats
    tarn_queue_destroy(encoder->queue);         // waits for a frame that nobody has finished
    encoder_give_memory(encoder);
    free(encoder);
}

uint32_t tarn_encoder_number(const tarn_encoder *encoder)
{
    return encoder->number;
}

void tarn_encoder_go_on(tarn_encoder *encoder, uint32_t number)
{
    TARN_ASSERT(!encoder->has_reference && !encoder->is_begun);
    encoder->number = number;
}

// ---- key frames ----

/// What residuals are counted in.
/// @param slack  quanta that may be left unsaid
static void choose_steps(tarn_encoder *e, float slack, float residual_quanta, int32_t flow_shift)
{
    const float quantum = (float)(1 << (TARN_PLACE_BITS - e->desc.place_bits));
    const uint32_t step = (uint32_t)(residual_quanta * quantum);
    TARN_ASSERT(step > 0 && step <= TARN_STREAM_STEP_MAX);
    e->args.dead_zone = (int32_t)(slack * quantum);
    e->args.residual_step = step;
    e->args.residual_inverse = ((UINT32_C(1) << 31) + step - 1) / step;
    e->args.flow_shift = flow_shift;
}

/// A key frame's sets, out of the tank's memory; the reference becomes what viewers have after it. Its flow is as fine
/// as can be: it moves no particle, but viewers have their velocities from it. What follows is taken for calm until a
/// base frame says.
static void begin_key(tarn_encoder *e)
{
    stream_memory *w = &e->args.w;
    const uint32_t occupied = e->now.occupied, stride = sizeof(stream_tile) / 4;
    e->args.is_key = e->args.is_base = 1;
    e->args.has_births = 0;
    e->args.ratio = 0;
    e->args.steps = (float)ENCODER_FLOW_STEPS;
    e->args.points_max = e->points_max;
    e->args.tile_now = w->tile;
    e->base_bits = 0.0f;
    choose_steps(e, 0.5f, 1.0f, 0);
    encoder_launch(e, stream_see_id, occupied);
    encoder_launch(e, stream_layers_id, occupied);
    encoder_launch(e, stream_lay_out_id, 1);
    encoder_index(e, &w->tile->dense, stride, e->reference_tiles, w->tile_index, false, NULL);
    encoder_launch_counted(e, stream_sets_id, &w->plan->tiles, occupied);
    encoder_index(e, &w->tile->dense, stride, occupied, w->tile_index, true, NULL);
    e->reference_tiles = occupied;
    encoder_fit_flow(e);
}

/// The rest of it. There is one list of tiles for its grid and for that of the frames that refer to it.
static void code_key(tarn_encoder *e)
{
    encoder_list_flow(e, e->args.w.tile, e->reference_tiles, 3);
    encoder_code_flow(e);
    encoder_launch_counted(e, stream_code_sets_id, &e->args.w.plan->set_streams, 2 * e->now.occupied * e->desc.layers);
    encoder_launch(e, stream_lay_groups_id, 1); // of levels
}

// ---- base and extra frames ----

/// Where residuals are large anyway coarser steps cost less than they leave; in calm water what is left over would ask
/// for a correction again in the next base frame. Coarser steps take fewer bits themselves: what is wild is calm again
/// only well below. Nothing builds upon an extra frame.
static void choose_moved_steps(tarn_encoder *e, bool is_base)
{
    const float bits = e->base_bits;
    const int32_t flow_shift = bits < 6.0f ? 0 : bits < 8.5f ? 1 : 2;
    e->is_wild = bits > (e->is_wild ? 2.0f : 3.5f);
    if (is_base) {
        choose_steps(e, e->desc.base_slack, e->is_wild ? 2.0f * e->desc.base_slack : 1.0f, flow_shift);
    } else {
        choose_steps(e, e->desc.extra_slack, 2.0f * e->desc.extra_slack, tile_clamp_i32(flow_shift, 1, 2));
    }
}

/// Takes what the frame wants of the tank. Where there are births the host has to know whether they fit: nobody but it
/// can make another frame of this one.
/// @return TARN_E_LIMIT where only a key frame will do
static tarn_status begin_moved(tarn_encoder *e, bool is_base)
{
    TARN_ASSERT(e->now.step >= e->reference_step); // can_refer
    TARN_ASSERT(e->reference_tiles <= e->room.occupied);
    const uint64_t steps = e->now.step - e->reference_step;
    stream_plan plan;
    e->args.is_key = 0;
    e->args.is_base = (uint32_t)is_base;
    e->args.has_births = is_base && e->now.had_births;
    e->args.ratio = tarn_flow_ratio(steps, e->reference_flow_steps);
    e->args.tile_now = e->args.w.tile_next;
    memcpy(e->args.layer, e->layers, sizeof e->args.layer);
    choose_moved_steps(e, is_base);
    encoder_launch(e, stream_arrive_id, e->now.occupied);
    if (!e->args.has_births) {
        return TARN_OK;
    }
    encoder_launch(e, stream_lay_births_id, 1);
    const tarn_status status = tarn_queue_download(e->line, &plan, e->args.w.plan, sizeof plan);
    return status == TARN_OK && plan.is_full ? TARN_E_LIMIT : status;
}

/// The rest of it.
static void code_moved(tarn_encoder *e)
{
    if (e->args.has_births) {
        encoder_launch(e, stream_births_id, e->now.occupied);
    }
    encoder_fit_flow(e);
    encoder_code_flow(e);
    encoder_launch(e, stream_lay_groups_id, 1);
    encoder_launch(e, stream_move_id, e->reference_tiles);
    encoder_launch_counted(e, stream_groups_id, &e->args.w.plan->groups, e->room.groups);
}

static void swap_places(stream_memory *w)
{
    stream_pair *const pair = w->pair;
    uint32_t *const place_slot = w->place_slot;
    stream_tile *const tile = w->tile;
    w->pair = w->pair_next;
    w->place_slot = w->place_slot_next;
    w->tile = w->tile_next;
    w->pair_next = pair;
    w->place_slot_next = place_slot;
    w->tile_next = tile;
}

/// Behind a base frame: the order that the tank had when it began becomes that of the reference.
static void reseat(tarn_encoder *e)
{
    const uint32_t occupied = e->now.occupied, stride = sizeof(stream_tile) / 4;
    encoder_launch(e, stream_reseat_id, occupied);
    encoder_index(e, &e->args.w.tile->dense, stride, e->reference_tiles, e->args.w.tile_index, false, NULL);
    swap_places(&e->args.w);
    encoder_index(e, &e->args.w.tile->dense, stride, occupied, e->args.w.tile_index, true, NULL);
    e->reference_tiles = occupied;
    encoder_list_flow(e, e->args.w.tile, occupied, 2u >> e->args.flow_now); // the grid that isn't the frame's
}

// ---- frames of any kind ----

static void fill_head(const tarn_encoder *e, tarn_stream_kind kind, const tarn_tank_frame_info *info,
                      tarn_stream_head *head)
{
    const tank_moment *now = &e->now;
    const uint64_t steps = kind == TARN_STREAM_KEY ? ENCODER_FLOW_STEPS : now->step - e->reference_step;
    memset(head, 0, sizeof *head);
    head->kind = (uint8_t)kind;
    head->place_bits = (uint8_t)e->desc.place_bits;
    head->layer_count = (uint8_t)e->desc.layers;
    if (e->channel > 0) {
        head->channel = (uint8_t)e->channel;
        head->channel_low = e->channel_low;
        head->channel_high = e->channel_high;
    }
    head->field = e->field;
    head->flags = info->flags | (e->args.has_colours ? TARN_FRAME_FLAG_COLOURS : 0);
    head->epoch = info->epoch;
    head->step = now->step;
    head->sim_time_s = now->sim_time_s;
    head->server_time_us = info->server_time_us;
    head->realtime_factor = info->realtime_factor;
    head->number = e->number;
    head->reference = kind == TARN_STREAM_KEY ? e->number : e->reference;
    head->interval_steps = (uint32_t)(steps < UINT32_MAX ? steps : UINT32_MAX);
    head->interval_s = (float)steps * e->view.dt_s;
    head->input_count = (uint16_t)info->input_count;
    head->cell_m = e->view.cell_m;
    head->flow_tiles_max = e->room.flow;
    for (int a = 0; a < 3; a++) {
        head->cells[a] = e->view.cells[a];
        head->gravity_m_s2[a] = now->gravity_m_s2[a];
    }
    for (int i = 0; i < 4; i++) {
        head->orientation[i] = now->orientation[i];
    }
    head->body_count = now->body_count;
    head->residual_step = (uint16_t)e->args.residual_step;
    head->flow_step = (uint8_t)(1 << e->args.flow_shift);
    TARN_ASSERT(now->body_count <= TARN_FRAME_BODIES_MAX);
    memcpy(head->bodies, now->bodies, now->body_count * sizeof *now->bodies);
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        TARN_ASSERT(e->layers[l].particles <= e->layers[l].slots);
        TARN_ASSERT(e->layers[l].slots <= e->layers[l].slots_max);
        head->layers[l].slots = e->layers[l].slots;
        head->layers[l].particles = e->layers[l].particles;
        head->layers[l].slots_max = e->layers[l].slots_max;
    }
}

static bool can_refer(const tarn_encoder *e, const tarn_tank_frame_info *info)
{
    return e->has_reference && e->generation == e->now.generation && e->epoch == info->epoch &&
           e->now.step >= e->reference_step && e->now.step - e->reference_step < UINT32_MAX;
}

/// What a particle takes in a frame, the flow and levels apart.
static float bits_of(const tarn_encoder *e, const tarn_stream_head *head)
{
    float bytes = -(float)encoder_plan(e)->levels_bytes, particles = 1.0f;
    for (uint32_t l = 0; l < head->layer_count; l++) {
        bytes += (float)head->layers[l].bytes;
        particles += (float)head->layers[l].particles;
    }
    return 8.0f * bytes / particles;
}

/// Sends to the tank's queue what reads the tank. @param kind  what was asked for; then what it is
static tarn_status begin(tarn_encoder *e, tarn_stream_kind *kind)
{
    e->line = e->view.queue;
    tarn_status status = tarn_queue_zero(e->line, e->args.w.plan, offsetof(stream_plan, tiles));
    encoder_begin_levels(e);
    encoder_begin_field(e);
    if (status == TARN_OK && *kind != TARN_STREAM_KEY) {
        status = begin_moved(e, *kind == TARN_STREAM_BASE);
        if (status == TARN_E_LIMIT) {
            status = tarn_queue_zero(e->line, e->args.w.plan, offsetof(stream_plan, tiles));
            *kind = TARN_STREAM_KEY;
        }
        if (*kind != TARN_STREAM_KEY) {
            return status;
        }
    }
    if (status == TARN_OK) {
        begin_key(e);
    }
    return status;
}

/// Sends to the encoder's own queue what reads its own memory.
static void code(tarn_encoder *e)
{
    tarn_queue_follow(e->queue, e->view.queue);
    e->line = e->queue;
    if (e->kind == TARN_STREAM_KEY) {
        code_key(e);
    } else {
        code_moved(e);
    }
    encoder_code_levels(e);
    encoder_code_field(e);
    encoder_pack(e);
    if (e->kind == TARN_STREAM_BASE) {
        reseat(e);
    }
}

tarn_status tarn_encoder_begin(tarn_encoder *e, tarn_stream_kind kind, const tarn_tank_frame_info *info)
{
    TARN_ASSERT(!e->is_begun);
    if (info->input_count > TARN_FRAME_INPUTS_MAX || kind > TARN_STREAM_EXTRA) {
        return TARN_E_ARGUMENT;
    }
    tank_view_encode_begins(e->tank);
    tank_view_now(e->tank, &e->now);
    TARN_ASSERT(e->now.occupied <= e->room.occupied);
    if (fill_colours(e) || !can_refer(e, info) || encoder_has_other_field(e)) {
        kind = TARN_STREAM_KEY;
    } else if (TARN_VALIDATE) {
        encoder_validate(e); // as the steps since the last frame have left the seats
    }
    e->number++;
    e->was_whole = e->has_reference;
    e->has_reference = false; // until all of it has gone well
    e->info = *info;
    if (info->input_count > 0) {
        memcpy(e->inputs, info->inputs, info->input_count * sizeof *e->inputs);
    }
    e->args.occupied = e->now.occupied;
    e->args.had_births = e->now.had_births;
    const tarn_status status = begin(e, &kind);
    if (status == TARN_OK) {
        e->kind = kind;
        e->is_begun = true;
        code(e);
    }
    tank_view_encode_ends(e->tank);
    return status;
}

bool tarn_encoder_is_done(tarn_encoder *e)
{
    TARN_ASSERT(e->is_begun);
    return tarn_queue_is_done(e->queue);
}

/// The layers as they are after the frame.
static void take_layers(tarn_encoder *e)
{
    const stream_plan *plan = encoder_plan(e);
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        stream_layer *layer = &e->layers[l];
        *layer = plan->layer[l];
        if (e->kind != TARN_STREAM_KEY) {
            TARN_ASSERT(plan->deaths[l] <= layer->particles);
            layer->particles += layer->born - plan->deaths[l];
            layer->slots += layer->born;
        }
    }
    TARN_ASSERT(e->layers[e->desc.layers - 1].first + e->layers[e->desc.layers - 1].slots_max <= e->room.slots);
}

/// The frame becomes the reference, unless nothing may refer to it.
static void keep(tarn_encoder *e, const tarn_stream_head *head)
{
    if (e->kind != TARN_STREAM_EXTRA) {
        e->reference = e->number;
        e->reference_step = e->now.step;
        e->reference_flow_steps = head->interval_steps;
        e->epoch = e->info.epoch;
        e->generation = e->now.generation;
        e->reference_channel = e->channel;
        encoder_keep_field(e);
        e->args.flow_now = !e->args.flow_now;
    }
    if (e->kind == TARN_STREAM_BASE) {
        e->base_bits = bits_of(e, head);
    }
    e->has_reference = e->kind == TARN_STREAM_KEY || e->was_whole;
}

/// Puts the frame together that the device has coded.
static tarn_status put_together(tarn_encoder *e, uint8_t *bytes, size_t bytes_max, tarn_stream_head *head)
{
    const stream_plan *plan = encoder_plan(e);
    if (plan->is_crowded || plan->is_large) {
        return TARN_E_SPACE;
    }
    take_layers(e);
    if (TARN_VALIDATE && e->channel > 0) {
        encoder_validate_levels(e);
    }
    fill_head(e, e->kind, &e->info, head);
    const tarn_status status = encoder_assemble(e, head, e->inputs, bytes, bytes_max);
    if (status == TARN_OK) {
        keep(e, head);
    }
    return status;
}

tarn_status tarn_encoder_finish(tarn_encoder *e, uint8_t *bytes, size_t bytes_max, tarn_stream_head *head)
{
    TARN_ASSERT(e->is_begun);
    tank_view_encode_begins(e->tank);
    tarn_status status = tarn_queue_wait(e->queue);
    e->is_begun = false;
    if (status == TARN_OK) {
        status = put_together(e, bytes, bytes_max, head);
    }
    tank_view_encode_ends(e->tank);
    return status;
}

tarn_status tarn_encoder_encode(tarn_encoder *e, tarn_stream_kind kind, const tarn_tank_frame_info *info,
                                uint8_t *bytes, size_t bytes_max, tarn_stream_head *head)
{
    const tarn_status status = tarn_encoder_begin(e, kind, info);
    return status == TARN_OK ? tarn_encoder_finish(e, bytes, bytes_max, head) : status;
}

bool tarn_encoder_is_begun(const tarn_encoder *e)
{
    return e->is_begun;
}

void tarn_encoder_drop(tarn_encoder *e)
{
    if (e != NULL && e->is_begun) {
        (void)tarn_queue_wait(e->queue);
        e->is_begun = false;
    }
}
