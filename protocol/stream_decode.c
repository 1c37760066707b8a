// Decoding a stream. What a frame may make the decoder do is bounded by its own room: streams are read to their end or
// to the first thing that can't be.
//
//     decoder | tables | keys | places | colours | two grids: index, tiles, blocks |
#include "protocol/stream.h"

#include <float.h>

enum {
    ALIGN = 16,
    AXIS_BITS = 21, ///< of a packed place
    VELOCITY_BITS = 7,
    SUM_BITS = 3 * TARN_FLOW_WEIGHT_BITS,
};

#define PLACE_DEAD ((uint64_t)1 << 63)

typedef struct layer_slots {
    uint32_t first, slots, slots_max;
    int is_held; ///< the layer's chain of frames is whole
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
    uint32_t *keys;    ///< [TARN_SET_POINTS_MAX]
    uint64_t *places;  ///< [slot] x | y << 21 | z << 42 in 1/1024 cell, or with PLACE_DEAD
    uint8_t *colours;  ///< [slot]
    flow_room flow[2]; ///< [reference]: of the last key or base frame; the other: of the frame in hand
    int reference;
    int has_reference;
    int has_colours;
    uint32_t epoch, number, bits;
    uint16_t cells[3];
    int32_t end[4]; ///< last place inside the tank
    layer_slots layers[TARN_STREAM_LAYERS_MAX];
    uint32_t layer_count;
    uint32_t flow_tiles_max; ///< that the last key frame promised
    tarn_flow_past past;
    int32_t residual[TARN_STREAM_GROUP][4];
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
    s->colours = piece(memory, &used, size->slots);
    for (int i = 0; i < 2; i++) {
        s->flow[i].index = piece(memory, &used, sizeof(uint32_t) * (uint64_t)size->tiles);
        s->flow[i].tile = piece(memory, &used, sizeof(uint32_t) * (uint64_t)size->flow_tiles);
        s->flow[i].nodes = piece(memory, &used, sizeof(tarn_flow_node) * (uint64_t)TARN_FLOW_BLOCK * size->flow_tiles);
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
        for (uint32_t t = 0; t < size->tiles; t++)
            s->flow[i].index[t] = 0;
    }
    s->has_reference = s->reference = 0;
    s->moving = (tarn_flow){0};
    s->end[3] = 0;
    for (uint32_t i = 0; i < TARN_STREAM_GROUP; i++) { // the fourths are moved along, and mean nothing
        for (int k = 0; k < 4; k++)
            s->residual[i][k] = 0;
    }
    return s;
}

static uint32_t tiles_along(const tarn_stream_head *head, int axis)
{
    return ((uint32_t)head->cells[axis] + 7) >> 3;
}

tarn_stream_size tarn_stream_size_of(const tarn_stream_frame *key)
{
    tarn_stream_size size = {0, tiles_along(&key->head, 0) * tiles_along(&key->head, 1) * tiles_along(&key->head, 2),
                             key->head.flow_tiles_max};
    for (uint32_t i = 0; i < key->head.layer_count; i++)
        size.slots += key->head.layers[i].slots_max;
    return size;
}

static int has_room(const tarn_stream *s, const tarn_stream_frame *key)
{
    const tarn_stream_size size = tarn_stream_size_of(key);
    return size.slots <= s->size.slots && size.tiles <= s->size.tiles && size.flow_tiles <= s->size.flow_tiles;
}

// -------------------------------------------------------------------------------------------------------------- places

static uint64_t pack(const int32_t place[3])
{
    return (uint64_t)(uint32_t)place[0] | (uint64_t)(uint32_t)place[1] << AXIS_BITS |
           (uint64_t)(uint32_t)place[2] << 2 * AXIS_BITS;
}

static void unpack(uint64_t packed, int32_t place[3])
{
    for (int a = 0; a < 3; a++)
        place[a] = (int32_t)(packed >> a * AXIS_BITS & ((1u << AXIS_BITS) - 1));
}

static uint32_t colour_of(const tarn_stream *s, uint32_t slot)
{
    return s->has_colours ? s->colours[slot] : 0;
}

/// Numbers of a particle that lie in one register: x, y, z and something.
typedef int32_t four __attribute__((vector_size(16)));
typedef uint16_t four_u16 __attribute__((vector_size(8)));
typedef int8_t four_i8 __attribute__((vector_size(4)));

static inline four four_of(const int32_t *from)
{
    four to;
    __builtin_memcpy(&to, from, sizeof to);
    return to;
}

static inline four clamp_four(four x, four low, four high)
{
    const four under = x<low, over = x> high;
    return (low & under) | (high & over) | (x & ~(under | over));
}

/// Hands out a particle. @param sum  the flow there, times 2^15
static void show(tarn_stream *s, uint32_t layer, uint32_t slot, four place, four sum)
{
    tarn_stream_particles *out = s->out;
    const four limit = {127, 127, 127, 127};
    const int shift = SUM_BITS + (int)s->velocity_shift;
    const four units = clamp_four((sum + (1 << (shift - 1))) >> shift, -limit, limit);
    four_u16 position = __builtin_convertvector(place >> (int)s->unit_shift, four_u16);
    four_i8 velocity = __builtin_convertvector(units, four_i8);
    position[3] = (uint16_t)colour_of(s, slot);
    velocity[3] = (int8_t)layer;
    __builtin_memcpy(out->positions + 4 * (size_t)out->count, &position, sizeof position);
    __builtin_memcpy(out->velocities + 4 * (size_t)out->count, &velocity, sizeof velocity);
    out->count++;
}

/// The flow at a place, times 2^15; none where the frame has none.
static inline four flow_at(const tarn_stream *s, const int32_t place[4])
{
    const tarn_flow_node *block = tarn_flow_block(&s->moving, place);
    int32_t sum[4] = {0, 0, 0, 0};
    if (block != NULL)
        tarn_flow_sum(block, place, sum);
    return four_of(sum);
}

/// A particle that is where it was said to be, and not moved.
static void put(tarn_stream *s, uint32_t layer, uint32_t slot, const int32_t place[4])
{
    s->places[slot] = pack(place);
    show(s, layer, slot, four_of(place), flow_at(s, place));
}

// ---------------------------------------------------------------------------------------------------------------- flow

static void forget_flow(flow_room *flow)
{
    for (uint32_t i = 0; i < flow->count; i++)
        flow->index[flow->tile[i]] = 0;
    flow->count = 0;
}

static void view_flow(const flow_room *room, const tarn_stream_head *head, tarn_flow *flow)
{
    flow->index = room->index;
    flow->nodes = room->nodes;
    flow->bits = head->place_bits;
    for (int a = 0; a < 3; a++)
        flow->tiles[a] = tiles_along(head, a);
}

/// Reads the list of a grid's tiles.
static tarn_status read_tiles(const tarn_stream *s, tarn_ans_reader *reader, uint32_t tiles, uint32_t count,
                              flow_room *flow)
{
    uint32_t next = 0;
    tarn_ans_open(reader, reader->at, reader->end);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t gap = tarn_code_read_number(reader, s->tables, TARN_NUMBER_GAP);
        if (gap >= tiles - next || next >= tiles)
            return TARN_E_MALFORMED;
        flow->tile[i] = next + gap;
        next += gap + 1;
    }
    return tarn_ans_is_whole(reader) ? TARN_OK : TARN_E_MALFORMED;
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
    const int32_t from[3] = {(int32_t)tile[0] * TARN_PLACE_TILE, (int32_t)tile[1] * TARN_PLACE_TILE,
                             (int32_t)tile[2] * TARN_PLACE_TILE};
    const tarn_flow_node *before = ratio > 0 ? tarn_flow_block(reference, from) : NULL;
    tarn_flow_mask mask, was;
    tarn_flow_mask_of(before, &was);
    tarn_ans_open(reader, reader->at, reader->end);
    tarn_flow_read_mask(reader, s->tables, &was, before != NULL, &mask);
    for (uint32_t n = 0; n < TARN_FLOW_NODES; n++) {
        const uint32_t x = n & 7, y = n >> 3 & 7, z = n >> 6;
        if ((mask.row[n >> 3] >> x & 1) == 0)
            continue;
        const int32_t node[3] = {from[0] + (int32_t)(x << TARN_PLACE_BITS), from[1] + (int32_t)(y << TARN_PLACE_BITS),
                                 from[2] + (int32_t)(z << TARN_PLACE_BITS)};
        int32_t first[3], value[3], residual[3];
        tarn_flow_expect(reference, node, s->end, ratio, first);
        for (int a = 0; a < 3; a++)
            value[a] = first[a];
        const uint32_t context = tarn_flow_correct(&s->past, &mask, n, value);
        tarn_residual_read(reader, &s->tables->residual, context, residual);
        tarn_flow_node *to = &block[tarn_flow_node_at(x, y, z)];
        for (int a = 0; a < 3; a++) {
            value[a] = tarn_flow_clamp(value[a] + residual[a]);
            to->d[a] = (int16_t)value[a];
            s->largest |= (uint32_t)(value[a] < 0 ? -value[a] : value[a]);
        }
        to->d[3] = 1;
        tarn_flow_note(&s->past, n, value, first, residual);
    }
    tarn_flow_fill(&mask, block);
    return tarn_ans_is_whole(reader) ? TARN_OK : TARN_E_MALFORMED;
}

/// Completes a block: its nodes beyond the tile's own.
static void fill_border(const tarn_flow *flow, const uint32_t tile[3], tarn_flow_node *block)
{
    for (uint32_t z = 0; z < TARN_FLOW_EDGE; z++) {
        for (uint32_t y = 0; y < TARN_FLOW_EDGE; y++) {
            for (uint32_t x = z == 8 || y == 8 ? 0 : 8; x < TARN_FLOW_EDGE; x++)
                block[tarn_flow_node_at(x, y, z)] = tarn_flow_border(flow, tile, block, (const uint32_t[3]){x, y, z});
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
    forget_flow(flow);
    view_flow(before, head, &reference);
    view_flow(flow, head, &s->moving);
    if (head->flow_tiles > s->flow_tiles_max)
        return TARN_E_MALFORMED; // more than the key frame promised
    tarn_status status =
        read_tiles(s, &reader, s->moving.tiles[0] * s->moving.tiles[1] * s->moving.tiles[2], head->flow_tiles, flow);
    for (uint32_t i = 0; status == TARN_OK && i < head->flow_tiles; i++) {
        uint32_t tile[3];
        place_of_tile(&s->moving, flow->tile[i], tile);
        status = read_nodes(s, &reader, &reference, ratio, tile, flow->nodes + (size_t)i * TARN_FLOW_BLOCK);
        flow->index[flow->tile[i]] = i + 1;
        flow->count = i + 1;
    }
    if (status != TARN_OK || reader.at != reader.end)
        return TARN_E_MALFORMED;
    for (uint32_t i = 0; i < flow->count; i++) {
        uint32_t tile[3];
        place_of_tile(&s->moving, flow->tile[i], tile);
        fill_border(&s->moving, tile, flow->nodes + (size_t)i * TARN_FLOW_BLOCK);
    }
    flow->steps = head->interval_steps;
    return TARN_OK;
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
    tarn_ans_open(reader, reader->at, reader->end);
    if (tarn_set_read(reader, &s->tables->set, s->bits, tile->count, s->keys) != TARN_OK || !tarn_ans_is_whole(reader))
        return TARN_E_MALFORMED;
    for (uint32_t i = 0; i < tile->count; i++) {
        int32_t place[4] = {0, 0, 0, 0};
        for (int a = 0; a < 3; a++) {
            const uint32_t in = tarn_set_place(s->keys[i], s->bits, a) << to_place | middle;
            place[a] = (int32_t)(tile->at[a] * TARN_PLACE_TILE + in);
            place[a] = place[a] > s->end[a] ? s->end[a] : place[a];
        }
        put(s, layer, slot + i, place);
    }
    return TARN_OK;
}

/// Colours come behind all of a layer's sets, when its particles have been handed out.
static tarn_status read_colours(tarn_stream *s, tarn_ans_reader *reader, uint32_t slot, uint32_t count,
                                uint16_t *positions)
{
    tarn_ans_open(reader, reader->at, reader->end);
    tarn_code_read_colours(reader, s->tables, count, s->colours + slot);
    for (uint32_t i = 0; i < count; i++)
        positions[4 * (size_t)i + 3] = s->colours[slot + i];
    return tarn_ans_is_whole(reader) ? TARN_OK : TARN_E_MALFORMED;
}

/// A layer of a key frame: the list of its tiles, their sets, their colours.
static tarn_status read_key_layer(tarn_stream *s, const tarn_stream_frame *frame, uint32_t l)
{
    const layer_slots *layer = &s->layers[l];
    const uint32_t tiles = s->moving.tiles[0] * s->moving.tiles[1] * s->moving.tiles[2];
    const uint8_t *end = frame->layers[l] + frame->head.layers[l].bytes;
    tarn_ans_reader list, sets;
    if (frame->layers[l] == end && layer->slots == 0)
        return TARN_OK;
    tarn_ans_open(&list, frame->layers[l], end);
    // The list is read twice: once to find where the sets begin.
    const uint32_t count = tarn_code_read_number(&list, s->tables, TARN_NUMBER_COUNT);
    if (count > layer->slots || count > tiles)
        return TARN_E_MALFORMED;
    for (uint32_t i = 0; i < count; i++) {
        tarn_code_read_number(&list, s->tables, TARN_NUMBER_GAP);
        tarn_code_read_number(&list, s->tables, TARN_NUMBER_COUNT);
    }
    if (!tarn_ans_is_whole(&list))
        return TARN_E_MALFORMED;
    sets = list;
    for (int colours = 0; colours <= s->has_colours; colours++) {
        const uint32_t shown = s->out->count - (colours ? layer->slots : 0);
        uint32_t next = 0, left = layer->slots;
        tarn_ans_open(&list, frame->layers[l], end);
        tarn_code_read_number(&list, s->tables, TARN_NUMBER_COUNT);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t gap = tarn_code_read_number(&list, s->tables, TARN_NUMBER_GAP);
            key_tile tile = {.count = tarn_code_read_number(&list, s->tables, TARN_NUMBER_COUNT)};
            if (next >= tiles || gap >= tiles - next || tile.count > left || tile.count > TARN_SET_POINTS_MAX)
                return TARN_E_MALFORMED;
            place_of_tile(&s->moving, next + gap, tile.at);
            const uint32_t done = layer->slots - left, slot = layer->first + done;
            const tarn_status status =
                colours ? read_colours(s, &sets, slot, tile.count, s->out->positions + 4 * (size_t)(shown + done))
                        : read_set(s, &sets, l, &tile, slot);
            if (status != TARN_OK)
                return status;
            next += gap + 1;
            left -= tile.count;
        }
        if (left > 0)
            return TARN_E_MALFORMED;
    }
    return sets.at == end ? TARN_OK : TARN_E_MALFORMED;
}

/// Begins a chain: what the frames to come refer to.
static void begin_chain(tarn_stream *s, const tarn_stream_frame *frame)
{
    const tarn_stream_head *head = &frame->head;
    uint32_t first = 0;
    for (int i = 0; i < 2; i++)
        forget_flow(&s->flow[i]);
    s->epoch = head->epoch;
    s->bits = head->place_bits;
    s->has_colours = (head->flags & TARN_FRAME_FLAG_COLOURS) != 0;
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

/// Reads what is left of a group's particles, and which of them have died.
static tarn_status read_group(tarn_stream *s, tarn_ans_reader *reader, uint64_t *places, uint32_t count, int is_base)
{
    tarn_ans_open(reader, reader->at, reader->end);
    const uint32_t deaths = tarn_code_read_number(reader, s->tables, TARN_NUMBER_DEATHS);
    if (deaths > (is_base ? count : 0))
        return TARN_E_MALFORMED;
    for (uint32_t i = 0; i < deaths; i++) {
        const uint32_t slot = tarn_ans_bits(reader, 10);
        if (slot >= count)
            return TARN_E_MALFORMED;
        places[slot] |= PLACE_DEAD;
    }
    uint32_t activity = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (places[i] & PLACE_DEAD)
            continue;
        tarn_residual_read(reader, &s->tables->residual, tarn_residual_context(activity), s->residual[i]);
        activity = tarn_residual_follow(activity, s->residual[i]);
    }
    return tarn_ans_is_whole(reader) ? TARN_OK : TARN_E_MALFORMED;
}

/// Moves a group's particles: by the flow, and by what is left, where that is said.
static void move_group(tarn_stream *s, uint32_t layer, uint32_t slot, uint32_t count, int has_residual, int is_base)
{
    const int shift = SUM_BITS - TARN_PLACE_BITS + (int)s->bits, to_place = TARN_PLACE_BITS - (int)s->bits;
    const four end = four_of(s->end), said = (four){0, 0, 0, 0} - has_residual;
    for (uint32_t i = 0; i < count; i++) {
        int32_t place[4] = {0, 0, 0, 0};
        if (s->places[slot + i] & PLACE_DEAD)
            continue;
        unpack(s->places[slot + i], place);
        const four sum = flow_at(s, place), residual = (four_of(s->residual[i]) & said) << to_place;
        const four moved = four_of(place) + ((sum + (1 << (shift - 1))) >> shift) + residual;
        const four there = clamp_four(moved, (four){0, 0, 0, 0}, end);
        if (is_base) {
            __builtin_memcpy(place, &there, sizeof there);
            s->places[slot + i] = pack(place);
        }
        show(s, layer, slot + i, there, sum);
    }
}

/// Particles that have come into being, one by one.
static tarn_status read_births(tarn_stream *s, tarn_ans_reader *reader, uint32_t layer, uint32_t slot, uint32_t count)
{
    const uint32_t to_place = TARN_PLACE_BITS - s->bits, middle = 1u << to_place >> 1;
    tarn_ans_open(reader, reader->at, reader->end);
    for (uint32_t i = 0; i < count; i++) {
        int32_t place[4] = {0, 0, 0, 0};
        for (int a = 0; a < 3; a++) {
            const uint32_t most = ((uint32_t)s->cells[a] << s->bits) - 1;
            const uint32_t at = tarn_code_read_bits(reader, tarn_bits_of(most));
            if (at > most)
                return TARN_E_MALFORMED;
            place[a] = (int32_t)(at << to_place | middle);
        }
        if (s->has_colours)
            s->colours[slot + i] = (uint8_t)tarn_ans_bits(reader, TARN_COLOUR_BITS);
        put(s, layer, slot + i, place);
    }
    return tarn_ans_is_whole(reader) ? TARN_OK : TARN_E_MALFORMED;
}

static uint32_t group_count(uint32_t slots, uint32_t group)
{
    const uint32_t left = slots - group * TARN_STREAM_GROUP;
    return left < TARN_STREAM_GROUP ? left : TARN_STREAM_GROUP;
}

/// A layer of a base or extra frame: which groups are coded, these, and the births.
static tarn_status read_moved_layer(tarn_stream *s, const tarn_stream_frame *frame, uint32_t l)
{
    layer_slots *layer = &s->layers[l];
    const tarn_stream_layer *said = &frame->head.layers[l];
    const int is_base = frame->head.kind == TARN_STREAM_BASE;
    const uint32_t groups = (layer->slots + TARN_STREAM_GROUP - 1) / TARN_STREAM_GROUP, shown = s->out->count;
    tarn_ans_reader flags, reader;
    if (said->slots < layer->slots || said->slots > layer->slots_max || (!is_base && said->slots != layer->slots))
        return TARN_E_MALFORMED;
    // The flags are read twice: once to find where the groups begin.
    tarn_ans_open(&flags, frame->layers[l], frame->layers[l] + said->bytes);
    for (uint32_t g = 0; g < groups; g++)
        tarn_ans_bits(&flags, 1);
    if (!tarn_ans_is_whole(&flags))
        return TARN_E_MALFORMED;
    reader = flags;
    tarn_ans_open(&flags, frame->layers[l], frame->layers[l] + said->bytes);
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t slot = layer->first + g * TARN_STREAM_GROUP, count = group_count(layer->slots, g);
        const int is_coded = tarn_ans_bits(&flags, 1) != 0;
        if (is_coded && read_group(s, &reader, s->places + slot, count, is_base) != TARN_OK)
            return TARN_E_MALFORMED;
        move_group(s, l, slot, count, is_coded, is_base);
    }
    const uint32_t births = said->slots - layer->slots;
    for (uint32_t g = 0; g * TARN_STREAM_GROUP < births; g++) {
        const uint32_t slot = layer->first + layer->slots + g * TARN_STREAM_GROUP;
        if (read_births(s, &reader, l, slot, group_count(births, g)) != TARN_OK)
            return TARN_E_MALFORMED;
    }
    layer->slots = said->slots;
    return reader.at == reader.end && s->out->count - shown == said->particles ? TARN_OK : TARN_E_MALFORMED;
}

// -------------------------------------------------------------------------------------------------------------- frames

static int continues(const tarn_stream *s, const tarn_stream_head *head)
{
    int same = s->has_reference && head->epoch == s->epoch && head->reference == s->number &&
               head->place_bits == s->bits && head->layer_count == s->layer_count &&
               ((head->flags & TARN_FRAME_FLAG_COLOURS) != 0) == s->has_colours;
    for (int a = 0; a < 3; a++)
        same = same && head->cells[a] == s->cells[a];
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
    const int is_key = frame->head.kind == TARN_STREAM_KEY, is_base = frame->head.kind == TARN_STREAM_BASE;
    for (uint32_t l = 0; l < s->layer_count; l++) {
        const int is_there = l < frame->layers_present;
        if (is_there && s->layers[l].is_held) {
            const tarn_status status = is_key ? read_key_layer(s, frame, l) : read_moved_layer(s, frame, l);
            if (status != TARN_OK)
                return status;
        }
        if (is_base && !is_there)
            s->layers[l].is_held = 0;
    }
    return TARN_OK;
}

static int fits(const tarn_stream_frame *frame, const tarn_stream_particles *particles)
{
    uint64_t count = 0;
    for (uint32_t l = 0; l < frame->layers_present; l++)
        count += frame->head.layers[l].slots;
    return count <= particles->particles_max;
}

tarn_status tarn_stream_decode(tarn_stream *s, const tarn_stream_frame *frame, tarn_stream_particles *particles)
{
    const int is_key = frame->head.kind == TARN_STREAM_KEY;
    if (!is_key && !continues(s, &frame->head))
        return TARN_E_STATE;
    if (!fits(frame, particles) || (is_key && !has_room(s, frame)))
        return TARN_E_SPACE;
    particles->count = 0;
    s->out = particles;
    if (is_key)
        begin_chain(s, frame);
    s->has_reference = 0; // until the frame has been read to its end
    tarn_status status = read_flow(s, frame);
    if (status != TARN_OK)
        return status;
    choose_units(s, &frame->head);
    status = read_layers(s, frame);
    if (status != TARN_OK)
        return status;
    if (frame->head.kind != TARN_STREAM_EXTRA) {
        s->reference = !s->reference;
        s->number = frame->head.number;
    }
    s->has_reference = 1;
    return TARN_OK;
}

void tarn_stream_flow(const tarn_stream *stream, tarn_flow *flow)
{
    *flow = stream->moving;
}
