// Puts a frame together: lists that the host codes, and the device's streams.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"

#include <string.h>

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

static void list_flow(list_writer *lists)
{
    const tarn_encoder *e = lists->encoder;
    tarn_ans_writer writer;
    begin_list(lists, &writer);
    for (uint32_t g = e->flow_count; g-- > 0;) {
        TARN_ASSERT(g == 0 || e->flow_list[g - 1] < e->flow_list[g]);
        tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_GAP,
                             e->flow_list[g] - (g > 0 ? e->flow_list[g - 1] + 1 : 0));
    }
    end_list(lists, &writer, 0);
}

/// A key frame's layer: its tiles and how many particles each has.
static void list_tiles(list_writer *lists, uint32_t layer)
{
    const tarn_encoder *e = lists->encoder;
    const uint32_t layers = e->desc.layers;
    uint32_t count = 0, later = 0, later_count = 0;
    tarn_ans_writer writer;
    begin_list(lists, &writer);
    for (uint32_t t = e->reference_tiles; t-- > 0;) {
        const uint32_t particles = e->parts[t * layers + layer].count;
        if (particles == 0) {
            continue;
        }
        TARN_ASSERT(count == 0 || e->tiles[t].dense < later);
        if (count++ > 0) { // what follows this tile is known now
            tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_COUNT, later_count);
            tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_GAP, later - e->tiles[t].dense - 1);
        }
        later = e->tiles[t].dense;
        later_count = particles;
    }
    if (count > 0) {
        tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_COUNT, later_count);
        tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_GAP, later);
    }
    tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_COUNT, count);
    end_list(lists, &writer, 1 + layer);
}

/// A moved layer: which of its groups are coded.
static void list_groups(list_writer *lists, uint32_t layer, uint32_t first, uint32_t count)
{
    const tarn_encoder *e = lists->encoder;
    tarn_ans_writer writer;
    begin_list(lists, &writer);
    for (uint32_t g = first + count; g-- > first;) {
        if (!e->groups[g].is_born) {
            tarn_ans_put_bits(&writer, (e->bytes[g] & 0xffff) > 0, 1);
        }
    }
    end_list(lists, &writer, 1 + layer);
}

static void add_chunk(tarn_encoder *e, uint64_t end, uint32_t bytes, uint64_t *at)
{
    if (bytes == 0) {
        return;
    }
    TARN_ASSERT(e->chunk_count < e->room.chunks);
    TARN_ASSERT(bytes <= end && end <= e->room.coded);
    TARN_ASSERT(e->chunk_count == 0 || *at >= e->chunks[e->chunk_count - 1].to + e->chunks[e->chunk_count - 1].bytes);
    e->chunks[e->chunk_count++] = (stream_chunk){.from = end - bytes, .to = *at, .bytes = bytes};
    *at += bytes;
}

/// Bytes that lie between the end of what is before a key frame's set, or its colours, and its own.
static uint64_t room_of(const tarn_encoder *e, uint32_t part, uint32_t colours)
{
    const uint64_t before = part > 0 ? e->parts[part - 1].colour_end : e->args.groups_at;
    return colours ? e->parts[part].colour_end - e->parts[part].set_end : e->parts[part].set_end - before;
}

/// A layer's streams behind its list. @return groups that it has
static uint32_t place_layer(tarn_encoder *e, uint32_t layer, uint32_t group, uint64_t *at)
{
    const uint32_t layers = e->desc.layers;
    uint32_t g = group;
    if (!e->args.is_key) {
        for (; g < e->group_count && e->groups[g].slot < e->layers[layer].first + e->layers[layer].slots_max; g++) {
            TARN_ASSERT((e->bytes[g] & 0xffff) <= STREAM_GROUP_BYTES);
            add_chunk(e, e->args.groups_at + (uint64_t)(g + 1) * STREAM_GROUP_BYTES, e->bytes[g] & 0xffff, at);
        }
        return g - group;
    }
    for (uint32_t colours = 0; colours <= e->args.has_colours; colours++) {
        for (uint32_t t = 0; t < e->reference_tiles; t++) {
            const stream_part *part = &e->parts[t * layers + layer];
            TARN_ASSERT(e->bytes[2 * (t * layers + layer) + colours] <= room_of(e, t * layers + layer, colours));
            add_chunk(e, colours ? part->colour_end : part->set_end, e->bytes[2 * (t * layers + layer) + colours], at);
        }
    }
    return 0;
}

/// A layer's levels. @param group  the first of its groups @return the next layer's
static uint32_t place_levels(tarn_encoder *e, uint32_t layer, uint32_t group, uint64_t *at)
{
    const uint32_t end = e->layers[layer].first + e->layers[layer].slots_max;
    for (; group < e->level_group_count && e->level_groups[group].slot < end; group++) {
        const uint32_t bytes = e->level_bytes[group];
        TARN_ASSERT(bytes <= STREAM_LEVEL_BYTES && e->chunk_count < e->room.chunks);
        if (bytes > 0) {
            const uint64_t from = (uint64_t)(group + 1) * STREAM_LEVEL_BYTES - bytes;
            e->chunks[e->chunk_count++] =
                (stream_chunk){.from = from, .to = *at, .bytes = bytes, .source = STREAM_FROM_LEVELS};
            *at += bytes;
        }
    }
    return group;
}

/// The tiles of the field, in a room of its own. @return bytes
static uint32_t list_field(tarn_encoder *e, const uint8_t **list)
{
    uint8_t *end = e->field_tile_list + ENCODER_FIELD_LIST_BYTES(e->view.field_tiles_max);
    tarn_ans_writer writer;
    tarn_ans_begin(&writer, end);
    for (uint32_t i = e->field.tiles; i-- > 0;) {
        TARN_ASSERT(i == 0 || e->field_list[i - 1] < e->field_list[i]);
        tarn_code_put_number(&writer, &e->tables, TARN_NUMBER_GAP,
                             e->field_list[i] - (i > 0 ? e->field_list[i - 1] + 1 : 0));
    }
    *list = tarn_ans_end(&writer);
    return (uint32_t)(end - *list);
}

/// A part of the field. @return bytes
static uint32_t place_field(tarn_encoder *e, uint32_t part, uint64_t *at)
{
    const uint64_t before = *at;
    uint32_t first;
    const uint32_t count = encoder_field_groups(e, part, &first);
    for (uint32_t g = first; g < first + count; g++) {
        const uint32_t bytes = e->field_bytes[g];
        TARN_ASSERT(bytes <= STREAM_LEVEL_BYTES && e->chunk_count < e->room.chunks);
        const uint64_t from = (uint64_t)(g + 1) * STREAM_LEVEL_BYTES - bytes;
        e->chunks[e->chunk_count++] =
            (stream_chunk){.from = from, .to = *at, .bytes = bytes, .source = STREAM_FROM_FIELD};
        *at += bytes;
    }
    return (uint32_t)(*at - before);
}

static uint32_t groups_of(const tarn_encoder *e, uint32_t layer, uint32_t first)
{
    uint32_t g = first;
    while (g < e->group_count && e->groups[g].slot < e->layers[layer].first + e->layers[layer].slots_max) {
        g++;
    }
    return g - first;
}

static void write_lists(tarn_encoder *e)
{
    list_writer lists = {e, ENCODER_LIST_BYTES(&e->room, e->desc.layers)};
    uint32_t group = 0;
    list_flow(&lists);
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        if (e->args.is_key) {
            list_tiles(&lists, l);
        } else {
            const uint32_t count = groups_of(e, l, group);
            list_groups(&lists, l, group, count);
            group += count;
        }
    }
}

tarn_status encoder_assemble(tarn_encoder *e, tarn_stream_head *head, const tarn_frame_input *inputs, uint8_t *bytes,
                             size_t bytes_max)
{
    uint64_t list_to[TARN_STREAM_LAYERS_MAX + 1], at = tarn_stream_head_bytes(head);
    uint32_t group = 0, level_group = 0, field_list_bytes = 0;
    const uint8_t *field_list = NULL;
    write_lists(e);
    e->chunk_count = 0;
    list_to[0] = at;
    at += e->list_bytes[0];
    for (uint32_t g = 0; g < e->flow_count; g++) {
        TARN_ASSERT(e->flow_bytes[g] <= TARN_FLOW_BYTES_MAX);
        add_chunk(e, (uint64_t)(g + 1) * TARN_FLOW_BYTES_MAX, e->flow_bytes[g], &at);
    }
    head->flow_tiles = e->flow_count;
    head->flow_bytes = (uint32_t)(at - list_to[0]);
    const uint64_t field_to = at;
    if (head->field.number > 0) {
        field_list_bytes = list_field(e, &field_list);
        at += field_list_bytes;
        head->field.coarse_bytes = field_list_bytes + place_field(e, TARN_FIELD_COARSE, &at);
    }
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        list_to[1 + l] = at;
        at += e->list_bytes[1 + l];
        group += place_layer(e, l, group, &at);
        level_group = place_levels(e, l, level_group, &at);
        head->layers[l].bytes = (uint32_t)(at - list_to[1 + l]);
    }
    head->field.fine_bytes = place_field(e, TARN_FIELD_FINE, &at);
    TARN_ASSERT(e->args.is_key || group == e->group_count); // every group is in some layer
    TARN_ASSERT(head->flow_bytes <= at - list_to[0]);
    if (at > bytes_max || at > UINT32_MAX || (e->frame != NULL && at > e->room.frame)) {
        return TARN_E_SPACE;
    }
    TARN_ASSERT(e->chunk_count == 0 || e->chunks[e->chunk_count - 1].to + e->chunks[e->chunk_count - 1].bytes <= at);
    head->frame_bytes = (uint32_t)at;
    tarn_queue *queue = e->view.queue;
    e->args.to = e->frame != NULL ? e->frame : bytes;
    tarn_status status = tarn_queue_upload(queue, e->args.w.chunk, e->chunks, e->chunk_count * sizeof *e->chunks);
    encoder_launch(e, stream_pack_id, e->chunk_count);
    if (status == TARN_OK && e->frame != NULL) {
        status = tarn_queue_download(queue, bytes, e->frame, (size_t)at);
    }
    for (uint32_t i = 0; i <= e->desc.layers; i++) {
        TARN_ASSERT(list_to[i] + e->list_bytes[i] <= at);
        memcpy(bytes + list_to[i], e->lists + e->list_at[i], e->list_bytes[i]);
    }
    if (field_list_bytes > 0) {
        memcpy(bytes + field_to, field_list, field_list_bytes);
    }
    return status == TARN_OK ? tarn_stream_write_head(head, inputs, bytes, bytes_max) : status;
}
