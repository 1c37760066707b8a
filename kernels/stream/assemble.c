// Puts a frame together: lists that the host codes, each a chain of numbers that nothing else waits for, and the
// device's streams.
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

void encoder_pack(tarn_encoder *e)
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

tarn_status encoder_assemble(tarn_encoder *e, tarn_stream_head *head, const tarn_frame_input *inputs, uint8_t *bytes,
                             size_t bytes_max)
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
