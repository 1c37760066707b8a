// Decoding a stream. What a frame may make the decoder do is bounded by its own room: streams are read to their end or
// to the first thing that can't be.
//
//     decoder | tables | keys | places | colours | two grids: index, tiles, blocks | two fields: index, tiles, levels |
#include "protocol/field_decode.h"

#include <float.h>

enum {
    ALIGN = 16,
    VELOCITY_BITS = 7, ///< of a velocity as it is handed out, and its sign
    SUM_BITS = 3 * TARN_FLOW_WEIGHT_BITS,
};

/// A particle: x, y, z in 1/1024 cell, and its colour | its level << 8, or SLOT_DEAD.
typedef int32_t slot_place[4];

enum { SLOT_DEAD = -1 };

typedef struct layer_slots {
    uint32_t first, slots, slots_max;
    bool is_held; ///< the layer's chain of frames is whole
} layer_slots;

typedef struct flow_room {
    uint32_t *index;       ///< [tiles of the tank]
    uint32_t *tile;        ///< [count] tiles of the grid, ascending
    tarn_flow_node *nodes; ///< [count][TARN_FLOW_BLOCK]
    uint32_t count;
    uint64_t steps; ///< that it spans
} flow_room;

struct tarn_stream {
    tarn_stream_size size;
    tarn_code_tables *tables;
    uint32_t *keys;     ///< [TARN_SET_POINTS_MAX]
    slot_place *places; ///< [slot]
    flow_room flow[2];  ///< [reference]: of the last key or base frame; the other: of the frame in hand
    int reference;
    int has_reference;
    int has_colours;
    uint32_t channel; ///< that the reference carries; 0: none
    bool has_levels;  ///< places have some, of this channel or of one before
    uint32_t epoch, number, bits;
    uint16_t cells[3];
    int32_t end[4]; ///< last place inside the tank, and the largest number
    layer_slots layers[TARN_STREAM_LAYERS_MAX];
    uint32_t layer_count;
    uint32_t flow_tiles_max;          ///< that the last key frame promised
    int32_t residual_step, flow_step; ///< of the frame in hand, 1/1024 cell and quanta
    field_decoder fields;
    tarn_flow_work work;
    // of the frame in hand
    tarn_flow moving;
    tarn_stream_particles *out;
    uint32_t unit_shift, velocity_shift;
    uint32_t largest; ///< the bits of all numbers of the grid's nodes, or'ed
};

// --------------------------------------------------------------------------------------------------------------- room

static uint64_t align(uint64_t bytes)
{
    return (bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

/// Hands out the next piece of the decoder's memory; with no memory only counts.
static void *piece(uint8_t *memory, uint64_t *used, uint64_t bytes)
{
    void *at = memory != NULL ? memory + *used : NULL;
    *used += align(bytes);
    return at;
}

/// Counts in 64 bits: what a key frame may ask for is more than a small address space has.
static uint64_t lay_out(uint8_t *memory, const tarn_stream_size *size, tarn_stream *s)
{
    uint64_t used = align(sizeof *s);
    s->tables = piece(memory, &used, sizeof *s->tables);
    s->keys = piece(memory, &used, sizeof *s->keys * TARN_SET_POINTS_MAX);
    s->places = piece(memory, &used, sizeof *s->places * (uint64_t)size->slots);
    for (int i = 0; i < 2; i++) {
        s->flow[i].index = piece(memory, &used, sizeof(uint32_t) * (uint64_t)size->tiles);
        s->flow[i].tile = piece(memory, &used, sizeof(uint32_t) * (uint64_t)size->flow_tiles);
        s->flow[i].nodes = piece(memory, &used, sizeof(tarn_flow_node) * (uint64_t)TARN_FLOW_BLOCK * size->flow_tiles);
        const uint64_t tiles = size->field_tiles > 0 ? size->tiles : 0;
        s->fields.tiles[i].index = piece(memory, &used, sizeof(uint32_t) * tiles);
        s->fields.tiles[i].tile = piece(memory, &used, sizeof(uint32_t) * (uint64_t)size->field_tiles);
        s->fields.tiles[i].levels = piece(memory, &used, size->field_levels);
    }
    return used;
}

size_t tarn_stream_bytes(const tarn_stream_size *size)
{
    tarn_stream counted;
    const uint64_t bytes = lay_out(NULL, size, &counted);
    return bytes <= SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

tarn_stream *tarn_stream_make(void *memory, const tarn_stream_size *size)
{
    tarn_stream *s = memory;
    s->size = *size;
    lay_out(memory, size, s);
    tarn_code_tables_make(s->tables);
    for (int i = 0; i < 2; i++) {
        s->flow[i].count = 0;
        for (uint32_t t = 0; t < size->tiles; t++) {
            s->flow[i].index[t] = 0;
        }
        s->fields.tiles[i].count = 0;
        for (uint32_t t = 0; t < size->tiles && size->field_tiles > 0; t++) {
            s->fields.tiles[i].index[t] = 0;
        }
    }
    s->has_reference = s->reference = 0;
    s->fields.reference = 0;
    s->fields.is_shown = false;
    s->fields.chain = (tarn_stream_field){0};
    s->channel = 0;
    s->has_levels = false;
    s->moving = (tarn_flow){0};
    s->end[3] = INT32_MAX;
    return s;
}

static uint32_t tiles_along(const tarn_stream_head *head, int axis)
{
    return ((uint32_t)head->cells[axis] + 7) >> 3;
}

tarn_stream_size tarn_stream_size_of(const tarn_stream_frame *key)
{
    tarn_stream_size size = {0, tiles_along(&key->head, 0) * tiles_along(&key->head, 1) * tiles_along(&key->head, 2),
                             key->head.flow_tiles_max, key->head.field.tiles_max, 0};
    for (uint32_t part = 0; part < TARN_FIELD_PARTS; part++) {
        size.field_levels += size.field_tiles * tarn_field_tile_levels(key->head.cells[2], part);
    }
    for (uint32_t i = 0; i < key->head.layer_count; i++) {
        size.slots += key->head.layers[i].slots_max;
    }
    return size;
}

static bool has_room(const tarn_stream *s, const tarn_stream_frame *key)
{
    const tarn_stream_size size = tarn_stream_size_of(key);
    return size.slots <= s->size.slots && size.tiles <= s->size.tiles && size.flow_tiles <= s->size.flow_tiles &&
           size.field_tiles <= s->size.field_tiles && size.field_levels <= s->size.field_levels;
}

// -------------------------------------------------------------------------------------------------------------- places

/// Where particles go that are handed out, and in which units: what decoding them keeps in registers.
typedef struct show_to {
    uint16_t *position;
    int8_t *velocity;
    int unit_shift, velocity_shift;
    int8_t layer;
} show_to;

static show_to begin_show(const tarn_stream *s, uint32_t layer)
{
    const size_t at = 4 * (size_t)s->out->count;
    return (show_to){s->out->positions + at, s->out->velocities + at, (int)s->unit_shift,
                     SUM_BITS + (int)s->velocity_shift, (int8_t)layer};
}

static void end_show(tarn_stream *s, const show_to *to)
{
    s->out->count = (uint32_t)((to->position - s->out->positions) / 4);
}

/// Hands out a particle. @param sum  the flow there, times 2^15
static inline void show(show_to *to, tarn_four place, tarn_four sum)
{
    const tarn_eight position = tarn_eight_narrow_u16(place >> to->unit_shift);
    const tarn_eight velocity = tarn_eight_narrow_i8((sum + (1 << (to->velocity_shift - 1))) >> to->velocity_shift);
    __builtin_memcpy(to->position, &position, 8);
    __builtin_memcpy(to->velocity, &velocity, 4);
    to->position[3] = (uint16_t)place[3];
    to->velocity[3] = to->layer;
    to->position += 4;
    to->velocity += 4;
}

/// The flow at a place, times 2^15; none where the frame has none.
static inline tarn_four flow_at(const tarn_flow *flow, const int32_t place[4])
{
    const tarn_flow_node *block = tarn_flow_block(flow, place);
    return block != NULL ? tarn_flow_sum(block, tarn_four_load(place)) : (tarn_four){0, 0, 0, 0};
}

/// A particle that is where it was said to be, and not moved.
static void put(tarn_stream *s, show_to *to, uint32_t slot, tarn_four place)
{
    tarn_four_store(s->places[slot], place);
    show(to, place, flow_at(&s->moving, s->places[slot]));
}

// ---------------------------------------------------------------------------------------------------------------- flow

static void forget_flow(flow_room *flow)
{
    for (uint32_t i = 0; i < flow->count; i++) {
        flow->index[flow->tile[i]] = 0;
    }
    flow->count = 0;
}

static void view_flow(const flow_room *room, const tarn_stream_head *head, tarn_flow *flow)
{
    flow->index = room->index;
    flow->nodes = room->nodes;
    flow->bits = head->place_bits;
    for (int a = 0; a < 3; a++) {
        flow->tiles[a] = tiles_along(head, a);
    }
}

static void place_of_tile(const tarn_flow *flow, uint32_t tile, uint32_t at[3])
{
    at[0] = tile % flow->tiles[0];
    at[1] = tile / flow->tiles[0] % flow->tiles[1];
    at[2] = tile / flow->tiles[0] / flow->tiles[1];
}

/// Reads a tile's own nodes.
static tarn_status read_nodes(tarn_stream *s, tarn_ans_reader *reader, const tarn_flow *reference, uint32_t ratio,
                              const uint32_t tile[3], tarn_flow_node *block)
{
    const tarn_residual_tables *tables = &s->tables->residual;
    const int32_t corner[3] = {(int32_t)tile[0] * TARN_PLACE_TILE, (int32_t)tile[1] * TARN_PLACE_TILE,
                               (int32_t)tile[2] * TARN_PLACE_TILE};
    const tarn_flow_node *before = ratio > 0 ? tarn_flow_block(reference, corner) : NULL;
    tarn_flow_work *work = &s->work;
    tarn_four largest = tarn_four_all(0);
    tarn_flow_mask mask, was;
    tarn_ans_reader from; // of its own, so that it stays in registers
    const uint32_t rows = tarn_flow_rows(tarn_flow_planes(s->end[2], tile[2]));
    tarn_flow_mask_of(before, rows, &was);
    tarn_ans_open(&from, reader->at, reader->end);
    tarn_flow_read_mask(&from, s->tables, &was, before != NULL, &mask);
    for (uint32_t r = rows; r < TARN_FLOW_ROWS; r++) {
        if (mask.row[r] != 0) {
            return TARN_E_MALFORMED; // outside the tank
        }
    }
    for (uint32_t i = 0; i < tarn_flow_padded_end(rows); i++) {
        tarn_flow_forget(work, i);
    }
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t left = mask.row[r]; left != 0; left &= left - 1) {
            const uint32_t x = tarn_lowest_bit(left), n = 8 * r + x, at = tarn_flow_node_at(x, r & 7, r >> 3);
            const tarn_four node = tarn_four_of(corner[0] + (int32_t)(x << TARN_PLACE_BITS),
                                                corner[1] + (int32_t)((r & 7) << TARN_PLACE_BITS),
                                                corner[2] + (int32_t)((r >> 3) << TARN_PLACE_BITS), 0);
            const tarn_four first = tarn_flow_expect(reference, before, node, at, s->end, ratio);
            tarn_four value = first;
            int32_t residual[4];
            const uint32_t context = tarn_flow_correct(work, tables, n, &value);
            tarn_residual_read(&from, tables, context, residual);
            value = tarn_four_clamp_i16(value + tarn_four_times(tarn_four_load(residual), s->flow_step));
            largest |= tarn_four_max(value, -value);
            tarn_flow_note(work, n, value, first, (uint32_t)residual[3]);
        }
    }
    s->largest |= (uint32_t)(largest[0] | largest[1] | largest[2]);
    tarn_flow_fill(work, &mask, rows);
    for (uint32_t r = 0; r < rows; r++) {
        tarn_flow_finish(work, &mask, r, block);
    }
    *reader = from;
    return tarn_ans_is_whole(reader) ? TARN_OK : TARN_E_MALFORMED;
}

/// Completes a block: its nodes beyond the tile's own.
static void fill_border(const tarn_flow *flow, const uint32_t tile[3], uint32_t planes, tarn_flow_node *block)
{
    for (uint32_t z = 0; z < planes; z++) {
        for (uint32_t y = 0; y < TARN_FLOW_EDGE; y++) {
            for (uint32_t x = z == 8 || y == 8 ? 0 : 8; x < TARN_FLOW_EDGE; x++) {
                block[tarn_flow_node_at(x, y, z)] = tarn_flow_border(flow, tile, block, (const uint32_t[3]){x, y, z});
            }
        }
    }
}

/// Reads a frame's grid into the room that isn't the reference's.
static tarn_status read_flow(tarn_stream *s, const tarn_stream_frame *frame)
{
    const tarn_stream_head *head = &frame->head;
    flow_room *flow = &s->flow[!s->reference];
    const flow_room *before = &s->flow[s->reference];
    tarn_flow reference;
    tarn_ans_reader reader = {.at = frame->flow, .end = frame->flow + head->flow_bytes};
    const uint32_t ratio = head->kind == TARN_STREAM_KEY ? 0 : tarn_flow_ratio(head->interval_steps, before->steps);
    s->largest = 0;
    s->residual_step = tarn_stream_residual_step(head);
    s->flow_step = tarn_stream_flow_step(head);
    forget_flow(flow);
    view_flow(before, head, &reference);
    view_flow(flow, head, &s->moving);
    if (head->flow_tiles > s->flow_tiles_max) {
        return TARN_E_MALFORMED; // more than the key frame promised
    }
    const uint32_t *tiles = s->moving.tiles;
    tarn_status status =
        tarn_read_tiles(&reader, s->tables, tiles[0] * tiles[1] * tiles[2], head->flow_tiles, flow->tile);
    for (uint32_t i = 0; status == TARN_OK && i < head->flow_tiles; i++) {
        uint32_t tile[3];
        place_of_tile(&s->moving, flow->tile[i], tile);
        status = read_nodes(s, &reader, &reference, ratio, tile, flow->nodes + (size_t)i * TARN_FLOW_BLOCK);
        flow->index[flow->tile[i]] = i + 1;
        flow->count = i + 1;
    }
    if (status != TARN_OK || reader.at != reader.end) {
        return TARN_E_MALFORMED;
    }
    for (uint32_t i = 0; i < flow->count; i++) {
        uint32_t tile[3];
        place_of_tile(&s->moving, flow->tile[i], tile);
        fill_border(&s->moving, tile, tarn_flow_planes(s->end[2], tile[2]), flow->nodes + (size_t)i * TARN_FLOW_BLOCK);
    }
    flow->steps = head->interval_steps;
    return TARN_OK;
}

// -------------------------------------------------------------------------------------------------------------- levels

static uint32_t group_count(uint32_t slots, uint32_t group)
{
    const uint32_t left = slots - group * TARN_STREAM_GROUP;
    return left < TARN_STREAM_GROUP ? left : TARN_STREAM_GROUP;
}

/// The levels of a group's particles. @param known  of the first so many slots the reference has levels
static tarn_status read_level_group(tarn_stream *s, tarn_ans_reader *reader, slot_place *places, uint32_t count,
                                    uint32_t known, bool is_kept, uint16_t **position)
{
    tarn_level_reader levels;
    uint32_t i = 0;
    while (i < count && places[i][3] == SLOT_DEAD) {
        i++;
    }
    if (i == count) {
        return TARN_OK;
    }
    tarn_level_open(&levels, reader->at, reader->end);
    for (; i < count; i++) {
        int32_t *place = places[i];
        if (place[3] == SLOT_DEAD) {
            continue;
        }
        const int32_t last = i < known ? place[3] >> 8 & TARN_LEVEL_MAX : -1;
        const int32_t level = tarn_level_read(&levels, &s->tables->residual, last) << 8;
        (*position)[3] = (uint16_t)(((*position)[3] & 0xff) | level);
        *position += 4;
        place[3] = is_kept ? (place[3] & 0xff) | level : place[3];
    }
    *reader = levels.from;
    return tarn_level_is_whole(&levels) ? TARN_OK : TARN_E_MALFORMED;
}

/// A layer's levels, behind all else that is said of it. They go to the particles that have been handed out last.
/// @param before  slots that the layer had before the frame
static tarn_status read_levels(tarn_stream *s, tarn_ans_reader *reader, const tarn_stream_head *head, uint32_t l,
                               uint32_t before, uint32_t shown)
{
    const layer_slots *layer = &s->layers[l];
    const uint32_t known = head->kind != TARN_STREAM_KEY && head->channel == s->channel ? before : 0;
    uint16_t *position = s->out->positions + 4 * (size_t)shown;
    tarn_status status = TARN_OK;
    for (uint32_t g = 0; g * TARN_STREAM_GROUP < layer->slots && status == TARN_OK && head->channel != 0; g++) {
        const uint32_t first = g * TARN_STREAM_GROUP, count = group_count(layer->slots, g);
        status = read_level_group(s, reader, s->places + layer->first + first, count, known > first ? known - first : 0,
                                  head->kind != TARN_STREAM_EXTRA, &position);
    }
    return status;
}

/// A frame without a channel shows none of the reference's.
static void hide_levels(const tarn_stream_particles *particles)
{
    for (uint32_t i = 0; i < particles->count; i++) {
        particles->positions[4 * (size_t)i + 3] &= 0xff;
    }
}

// ---------------------------------------------------------------------------------------------------------- key frames

typedef struct key_tile {
    uint32_t at[3];
    uint32_t count;
} key_tile;

/// The particles of a tile's set.
static tarn_status read_set(tarn_stream *s, tarn_ans_reader *reader, uint32_t layer, const key_tile *tile,
                            uint32_t slot)
{
    const uint32_t to_place = TARN_PLACE_BITS - s->bits, middle = 1u << to_place >> 1;
    const tarn_four corner =
        tarn_four_of((int32_t)tile->at[0], (int32_t)tile->at[1], (int32_t)tile->at[2], 0) * TARN_PLACE_TILE;
    show_to to = begin_show(s, layer);
    tarn_ans_open(reader, reader->at, reader->end);
    if (tarn_set_read(reader, &s->tables->set, s->bits, tile->count, s->keys) != TARN_OK ||
        !tarn_ans_is_whole(reader)) {
        return TARN_E_MALFORMED;
    }
    for (uint32_t i = 0; i < tile->count; i++) {
        int32_t in[3];
        for (int a = 0; a < 3; a++) {
            in[a] = (int32_t)(tarn_set_place(s->keys[i], s->bits, a) << to_place | middle);
        }
        const tarn_four place = tarn_four_min(corner + tarn_four_of(in[0], in[1], in[2], 0), tarn_four_load(s->end));
        put(s, &to, slot + i, place);
    }
    end_show(s, &to);
    return TARN_OK;
}

/// Colours come behind all of a layer's sets, when its particles have been handed out.
static tarn_status read_colours(tarn_stream *s, tarn_ans_reader *reader, uint32_t slot, uint32_t count,
                                uint16_t *positions)
{
    uint8_t *colours = (uint8_t *)s->keys; // of which nobody knows any more
    tarn_ans_open(reader, reader->at, reader->end);
    tarn_code_read_colours(reader, s->tables, count, colours);
    for (uint32_t i = 0; i < count; i++) {
        positions[4 * (size_t)i + 3] = (uint16_t)(s->places[slot + i][3] = colours[i]);
    }
    return tarn_ans_is_whole(reader) ? TARN_OK : TARN_E_MALFORMED;
}

/// A layer of a key frame: the list of its tiles, their sets, their colours.
static tarn_status read_key_layer(tarn_stream *s, const tarn_stream_frame *frame, uint32_t l)
{
    const layer_slots *layer = &s->layers[l];
    const uint32_t tiles = s->moving.tiles[0] * s->moving.tiles[1] * s->moving.tiles[2];
    const uint8_t *end = frame->layers[l] + frame->head.layers[l].bytes;
    tarn_ans_reader list, sets;
    if (frame->layers[l] == end && layer->slots == 0) {
        return TARN_OK;
    }
    tarn_ans_open(&list, frame->layers[l], end);
    // The list is read twice: once to find where the sets begin.
    const uint32_t count = tarn_code_read_number(&list, s->tables, TARN_NUMBER_COUNT);
    if (count > layer->slots || count > tiles) {
        return TARN_E_MALFORMED;
    }
    for (uint32_t i = 0; i < count; i++) {
        tarn_code_read_number(&list, s->tables, TARN_NUMBER_GAP);
        tarn_code_read_number(&list, s->tables, TARN_NUMBER_COUNT);
    }
    if (!tarn_ans_is_whole(&list)) {
        return TARN_E_MALFORMED;
    }
    sets = list;
    for (int colours = 0; colours <= s->has_colours; colours++) {
        const uint32_t shown = s->out->count - (colours ? layer->slots : 0);
        uint32_t next = 0, left = layer->slots;
        tarn_ans_open(&list, frame->layers[l], end);
        tarn_code_read_number(&list, s->tables, TARN_NUMBER_COUNT);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t gap = tarn_code_read_number(&list, s->tables, TARN_NUMBER_GAP);
            key_tile tile = {.count = tarn_code_read_number(&list, s->tables, TARN_NUMBER_COUNT)};
            if (next >= tiles || gap >= tiles - next || tile.count > left || tile.count > TARN_SET_POINTS_MAX) {
                return TARN_E_MALFORMED;
            }
            place_of_tile(&s->moving, next + gap, tile.at);
            const uint32_t done = layer->slots - left, slot = layer->first + done;
            const tarn_status status =
                colours ? read_colours(s, &sets, slot, tile.count, s->out->positions + 4 * (size_t)(shown + done))
                        : read_set(s, &sets, l, &tile, slot);
            if (status != TARN_OK) {
                return status;
            }
            next += gap + 1;
            left -= tile.count;
        }
        if (left > 0) {
            return TARN_E_MALFORMED;
        }
    }
    const tarn_status status = read_levels(s, &sets, &frame->head, l, 0, s->out->count - layer->slots);
    return status == TARN_OK && sets.at == end ? TARN_OK : TARN_E_MALFORMED;
}

/// Begins a chain: what the frames to come refer to.
static void begin_chain(tarn_stream *s, const tarn_stream_frame *frame)
{
    const tarn_stream_head *head = &frame->head;
    uint32_t first = 0;
    for (int i = 0; i < 2; i++) {
        forget_flow(&s->flow[i]);
    }
    s->epoch = head->epoch;
    s->bits = head->place_bits;
    s->has_colours = (head->flags & TARN_FRAME_FLAG_COLOURS) != 0;
    s->has_levels = false;
    field_begin(&s->fields, head);
    s->layer_count = head->layer_count;
    s->flow_tiles_max = head->flow_tiles_max;
    for (int a = 0; a < 3; a++) {
        s->cells[a] = head->cells[a];
        s->end[a] = ((int32_t)head->cells[a] << TARN_PLACE_BITS) - 1;
    }
    for (uint32_t i = 0; i < head->layer_count; i++) {
        const tarn_stream_layer *layer = &head->layers[i];
        s->layers[i] = (layer_slots){first, layer->slots, layer->slots_max, i < frame->layers_present};
        first += layer->slots_max;
    }
}

// -------------------------------------------------------------------------------------------- base and extra frames

/// Reads which particles of a group have died.
static tarn_status read_deaths(const tarn_stream *s, tarn_ans_reader *reader, slot_place *places, uint32_t count,
                               bool is_base)
{
    const uint32_t deaths = tarn_code_read_number(reader, s->tables, TARN_NUMBER_DEATHS);
    if (deaths > (is_base ? count : 0)) {
        return TARN_E_MALFORMED;
    }
    for (uint32_t i = 0; i < deaths; i++) {
        const uint32_t slot = tarn_ans_bits(reader, 10);
        if (slot >= count) {
            return TARN_E_MALFORMED;
        }
        places[slot][3] = SLOT_DEAD;
    }
    return TARN_OK;
}

/// Moves a group's particles: by the flow, and by what is left, where that is said. What one waits for in reading the
/// next number, processors fill with moving the particles before.
/// @param reader  of what is left; NULL: nothing is
static inline void move_group(tarn_stream *s, tarn_ans_reader *reader, uint32_t layer, uint32_t slot, uint32_t count,
                              bool is_base)
{
    const int32_t step = s->residual_step;
    const tarn_residual_tables *tables = &s->tables->residual;
    const tarn_flow flow = s->moving;
    const tarn_four nil = {0, 0, 0, 0}, end = tarn_four_load(s->end), axes = {-1, -1, -1, 0};
    show_to to = begin_show(s, layer);
    tarn_ans_reader from = reader != NULL ? *reader : (tarn_ans_reader){0}; // of its own: it stays in registers
    uint32_t activity = 0;
    for (uint32_t i = 0; i < count; i++) {
        int32_t *at = s->places[slot + i], residual[4];
        if (at[3] == SLOT_DEAD) {
            continue;
        }
        const tarn_four place = tarn_four_load(at), sum = flow_at(&flow, at);
        tarn_four way = tarn_flow_distance(sum, flow.bits);
        if (reader != NULL) {
            tarn_residual_read_calm(&from, tables, tarn_residual_context(activity), residual);
            activity = tarn_residual_follow(activity, (uint32_t)residual[3]);
            way += tarn_four_times(tarn_four_load(residual) & axes, step); // the fourth is a sum
        }
        const tarn_four there = tarn_four_min(tarn_four_max(place + (way & axes), nil), end);
        if (is_base) {
            tarn_four_store(at, there);
        }
        show(&to, there, sum);
    }
    end_show(s, &to);
    if (reader != NULL) {
        *reader = from;
    }
}

/// Reads a group, or moves one of which nothing is said.
static tarn_status read_group(tarn_stream *s, tarn_ans_reader *reader, bool is_coded, uint32_t layer, uint32_t slot,
                              uint32_t count, bool is_base)
{
    if (!is_coded) {
        move_group(s, NULL, layer, slot, count, is_base);
        return TARN_OK;
    }
    tarn_ans_open(reader, reader->at, reader->end);
    if (read_deaths(s, reader, s->places + slot, count, is_base) != TARN_OK) {
        return TARN_E_MALFORMED;
    }
    move_group(s, reader, layer, slot, count, is_base);
    return tarn_ans_is_whole(reader) ? TARN_OK : TARN_E_MALFORMED;
}

/// Particles that have come into being, one by one.
static tarn_status read_births(tarn_stream *s, tarn_ans_reader *reader, uint32_t layer, uint32_t slot, uint32_t count)
{
    const uint32_t to_place = TARN_PLACE_BITS - s->bits, middle = 1u << to_place >> 1;
    show_to to = begin_show(s, layer);
    tarn_ans_open(reader, reader->at, reader->end);
    for (uint32_t i = 0; i < count; i++) {
        slot_place place = {0, 0, 0, 0};
        for (int a = 0; a < 3; a++) {
            const uint32_t most = ((uint32_t)s->cells[a] << s->bits) - 1;
            const uint32_t at = tarn_code_read_bits(reader, tarn_bits_of(most));
            if (at > most) {
                return TARN_E_MALFORMED;
            }
            place[a] = (int32_t)(at << to_place | middle);
        }
        if (s->has_colours) {
            place[3] = (int32_t)tarn_ans_bits(reader, TARN_COLOUR_BITS);
        }
        put(s, &to, slot + i, tarn_four_load(place));
    }
    end_show(s, &to);
    return tarn_ans_is_whole(reader) ? TARN_OK : TARN_E_MALFORMED;
}

/// A layer of a base or extra frame: which groups are coded, these, and the births.
static tarn_status read_moved_layer(tarn_stream *s, const tarn_stream_frame *frame, uint32_t l)
{
    layer_slots *layer = &s->layers[l];
    const tarn_stream_layer *said = &frame->head.layers[l];
    const bool is_base = frame->head.kind == TARN_STREAM_BASE;
    const uint32_t groups = (layer->slots + TARN_STREAM_GROUP - 1) / TARN_STREAM_GROUP, shown = s->out->count;
    tarn_ans_reader flags, reader;
    if (said->slots < layer->slots || said->slots > layer->slots_max || (!is_base && said->slots != layer->slots)) {
        return TARN_E_MALFORMED;
    }
    // The flags are read twice: once to find where the groups begin.
    tarn_ans_open(&flags, frame->layers[l], frame->layers[l] + said->bytes);
    for (uint32_t g = 0; g < groups; g++) {
        tarn_ans_bits(&flags, 1);
    }
    if (!tarn_ans_is_whole(&flags)) {
        return TARN_E_MALFORMED;
    }
    reader = flags;
    tarn_ans_open(&flags, frame->layers[l], frame->layers[l] + said->bytes);
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t slot = layer->first + g * TARN_STREAM_GROUP, count = group_count(layer->slots, g);
        const bool is_coded = tarn_ans_bits(&flags, 1) != 0;
        if (read_group(s, &reader, is_coded, l, slot, count, is_base) != TARN_OK) {
            return TARN_E_MALFORMED;
        }
    }
    const uint32_t before = layer->slots, births = said->slots - before;
    for (uint32_t g = 0; g * TARN_STREAM_GROUP < births; g++) {
        const uint32_t slot = layer->first + layer->slots + g * TARN_STREAM_GROUP;
        if (read_births(s, &reader, l, slot, group_count(births, g)) != TARN_OK) {
            return TARN_E_MALFORMED;
        }
    }
    layer->slots = said->slots;
    if (s->out->count - shown != said->particles ||
        read_levels(s, &reader, &frame->head, l, before, shown) != TARN_OK) {
        return TARN_E_MALFORMED;
    }
    return reader.at == reader.end ? TARN_OK : TARN_E_MALFORMED;
}

// -------------------------------------------------------------------------------------------------------------- frames

static bool continues(const tarn_stream *s, const tarn_stream_head *head)
{
    bool same = s->has_reference && head->epoch == s->epoch && head->reference == s->number &&
                head->place_bits == s->bits && head->layer_count == s->layer_count &&
                ((head->flags & TARN_FRAME_FLAG_COLOURS) != 0) == s->has_colours && field_continues(&s->fields, head);
    for (int a = 0; a < 3; a++) {
        same = same && head->cells[a] == s->cells[a];
    }
    return same;
}

/// What positions and velocities are handed out in.
static void choose_units(tarn_stream *s, const tarn_stream_head *head)
{
    uint32_t cell_bits = 0;
    for (int a = 0; a < 3; a++) {
        const uint32_t bits = tarn_bits_of((uint32_t)head->cells[a] - 1);
        cell_bits = bits > cell_bits ? bits : cell_bits;
    }
    const uint32_t most = 16 - cell_bits, units = most < TARN_PLACE_BITS ? most : TARN_PLACE_BITS;
    s->out->unit_bits = units;
    s->unit_shift = TARN_PLACE_BITS - units;
    const uint32_t bits = tarn_bits_of(s->largest);
    s->velocity_shift = bits > VELOCITY_BITS ? bits - VELOCITY_BITS : 0;
    const float quanta = (float)(1u << s->velocity_shift) / (float)(1u << s->bits);
    const float scale = head->interval_s > 0.0f ? quanta * head->cell_m / head->interval_s : 0.0f;
    s->out->velocity_scale_m_s = scale <= FLT_MAX ? scale : 0.0f;
}

static tarn_status read_layers(tarn_stream *s, const tarn_stream_frame *frame)
{
    const bool is_key = frame->head.kind == TARN_STREAM_KEY, is_base = frame->head.kind == TARN_STREAM_BASE;
    for (uint32_t l = 0; l < s->layer_count; l++) {
        const bool is_there = l < frame->layers_present;
        if (is_there && s->layers[l].is_held) {
            const tarn_status status = is_key ? read_key_layer(s, frame, l) : read_moved_layer(s, frame, l);
            if (status != TARN_OK) {
                return status;
            }
        }
        if (is_base && !is_there) {
            s->layers[l].is_held = false;
        }
    }
    return TARN_OK;
}

static bool fits(const tarn_stream_frame *frame, const tarn_stream_particles *particles)
{
    uint64_t count = 0;
    for (uint32_t l = 0; l < frame->layers_present; l++) {
        count += frame->head.layers[l].slots;
    }
    return count <= particles->particles_max;
}

tarn_status tarn_stream_decode(tarn_stream *s, const tarn_stream_frame *frame, tarn_stream_particles *particles)
{
    const bool is_key = frame->head.kind == TARN_STREAM_KEY;
    if (!is_key && !continues(s, &frame->head)) {
        return TARN_E_STATE;
    }
    if (!fits(frame, particles) || (is_key && !has_room(s, frame))) {
        return TARN_E_SPACE;
    }
    particles->count = 0;
    s->out = particles;
    if (is_key) {
        begin_chain(s, frame);
    }
    s->has_reference = 0; // until the frame has been read to its end
    tarn_status status = read_flow(s, frame);
    if (status != TARN_OK) {
        return status;
    }
    choose_units(s, &frame->head);
    status = field_read_coarse(&s->fields, s->tables, frame, &s->moving);
    if (status == TARN_OK) {
        status = read_layers(s, frame);
    }
    if (status == TARN_OK) {
        status = field_read_fine(&s->fields, s->tables, frame, &s->moving);
    }
    if (status != TARN_OK) {
        return status;
    }
    field_end(&s->fields, &frame->head);
    if (frame->head.channel == 0 && s->has_levels) {
        hide_levels(particles);
    }
    if (frame->head.kind != TARN_STREAM_EXTRA) {
        s->reference = !s->reference;
        s->number = frame->head.number;
        s->channel = frame->head.channel;
        s->has_levels |= s->channel != 0;
    }
    s->has_reference = 1;
    return TARN_OK;
}

void tarn_stream_flow(const tarn_stream *stream, tarn_flow *flow)
{
    *flow = stream->moving;
}

void tarn_stream_field_plane(const tarn_stream *stream, uint32_t z, uint8_t *levels)
{
    field_plane(&stream->fields, z, levels);
}
