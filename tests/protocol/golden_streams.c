#include "tests/protocol/golden_streams.h"

#include "protocol/bytes.h"
#include "tests/protocol/model_bytes.h"
#include "tests/protocol/stream_receiver.h"
#include "tests/protocol/stream_swarm.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED_MAX = 12 }; ///< particles of a frame that are described one by one

typedef struct golden_stream {
    const char *name;
    uint16_t cells[3];
    uint8_t place_bits, layer_count;
    uint32_t flags, particles;
    const char *frames; ///< kinds: k, b, e, capital where it carries a channel; a digit behind one: cut behind so many
                        ///< layers
    model_flow_tiles flow;
    uint32_t flow_tiles_max, renewed;
    uint16_t residual_step;
    uint8_t flow_step;
    int32_t noise; ///< 0: as it is
    uint16_t input_count;
    uint32_t body_count;
    uint32_t extra_header_bytes; ///< as a newer sender may append
    bool has_wild_levels;
    uint8_t field; ///< that all frames carry; 0: none
    bool field_is_kinds;
} golden_stream;

static const golden_stream streams[] = {
    {"stream-key", {20, 17, 33}, 5, 1, 0, 90, "k", .flow_tiles_max = 45},
    {"stream-base", {20, 17, 12}, 5, 1, 0, 90, "kbb", .flow_tiles_max = 18},
    {"stream-extra", {20, 17, 12}, 5, 1, 0, 90, "keebe", .flow_tiles_max = 18},
    {"stream-steps", {20, 17, 12}, 5, 1, 0, 90, "kebeb", .residual_step = 49, .flow_step = 3, .flow_tiles_max = 18},
    {"stream-largest-steps",
     {20, 17, 12},
     7,
     1,
     0,
     90,
     "kbe",
     .residual_step = TARN_STREAM_STEP_MAX,
     .flow_step = 255,
     .flow_tiles_max = 18,
     .noise = 90000},
    {"stream-births-deaths", {9, 8, 8}, 4, 1, 0, 60, "kbbek", .flow_tiles_max = 2, .renewed = 8},
    {"stream-colours", {9, 8, 8}, 4, 1, TARN_FRAME_FLAG_COLOURS, 60, "kbeb", .flow_tiles_max = 2, .renewed = 6},
    {"stream-layers", {9, 8, 8}, 5, 8, TARN_FRAME_FLAG_COLOURS, 80, "kbeb", .flow_tiles_max = 2, .renewed = 9},
    {"stream-cut", {9, 8, 8}, 5, 3, 0, 60, "k2b3e1b1e3k3b3", .flow_tiles_max = 2, .renewed = 9},
    {"stream-groups", {8, 8, 8}, 3, 1, 0, 2100, "kbe", .flow_tiles_max = 1, .renewed = 30},
    {"stream-empty", {64, 32, 64}, 5, 2, TARN_FRAME_FLAG_PAUSED, 0, "kbe", .flow_tiles_max = 4},
    {"stream-one-particle", {1, 1, 1}, 5, 1, 0, 1, "kbe", .flow_tiles_max = 1},
    {"stream-long-tank", {2048, 9, 1}, 6, 1, 0, 24, "kbe", .flow_tiles_max = 24},
    {"stream-coarse", {20, 17, 12}, 0, 1, 0, 90, "kbe", .flow_tiles_max = 18, .noise = 900},
    {"stream-fine", {20, 17, 12}, 7, 1, 0, 90, "kbe", .flow_tiles_max = 18},
    {"stream-far", {200, 9, 9}, 7, 1, 0, 60, "kbbe", .flow_tiles_max = 40, .noise = 190000},
    {"stream-flow-everywhere", {20, 9, 9}, 5, 1, 0, 9, "kbe", .flow = MODEL_FLOW_ALL, .flow_tiles_max = 12},
    {"stream-flow-nowhere", {20, 9, 9}, 5, 1, 0, 90, "kbe", .flow = MODEL_FLOW_NONE},
    {"stream-bodies", {8, 8, 8}, 5, 1, 0, 20, "kb", .flow_tiles_max = 1, .input_count = 3, .body_count = 2},
    {"stream-longer-header",
     {8, 8, 8},
     5,
     1,
     0,
     20,
     "kb",
     .flow_tiles_max = 1,
     .input_count = 2,
     .body_count = TARN_FRAME_BODIES_MAX,
     .extra_header_bytes = 24},
    {"stream-levels",
     {20, 17, 12},
     5,
     2,
     TARN_FRAME_FLAG_COLOURS,
     90,
     "kBbEBKBEebBEKB",
     .flow_tiles_max = 18,
     .renewed = 6,
     .body_count = 1},
    {"stream-levels-plain",
     {8, 8, 8},
     3,
     1,
     0,
     1300,
     "KBE",
     .flow_tiles_max = 1,
     .renewed = 30,
     .has_wild_levels = true},
    {"stream-field",
     {12, 9, 17},
     5,
     2,
     TARN_FRAME_FLAG_COLOURS,
     50,
     "kbEb2bk2bKB",
     .flow_tiles_max = 18,
     .field = 3,
     .body_count = 1},
    {"stream-field-flat", {70, 33, 1}, 5, 1, 0, 24, "kbeb", .flow_tiles_max = 80, .field = 1},
    {"stream-field-kinds",
     {9, 8, 17},
     4,
     1,
     0,
     60,
     "kbebe",
     .flow_tiles_max = 6,
     .renewed = 8,
     .field = 8,
     .field_is_kinds = true},
};

int golden_stream_count(void)
{
    return (int)(sizeof streams / sizeof *streams);
}

const char *golden_stream_name(int index)
{
    return streams[index].name;
}

// -------------------------------------------------------------------------------------------------------------
// encoding

static stream_model *make_model(const golden_stream *g, tarn_frame_input *inputs)
{
    const uint32_t slots_max = g->particles + 2 * g->renewed * (uint32_t)strlen(g->frames);
    stream_model_setup setup = {
        .head = stream_model_head(g->cells[0], g->cells[1], g->cells[2], g->place_bits, g->layer_count, slots_max,
                                  g->flow_tiles_max),
        .inputs = inputs,
        .flow = g->flow,
        .dead_zone = 10,
    };
    setup.head.flags = g->flags;
    setup.head.residual_step = g->residual_step;
    setup.head.flow_step = g->flow_step;
    setup.head.input_count = g->input_count;
    setup.head.body_count = g->body_count;
    for (uint32_t i = 0; i < g->input_count; i++) {
        inputs[i] = (tarn_frame_input){1000 + i, UINT32_MAX - i};
    }
    for (uint32_t i = 0; i < g->body_count; i++) { // 9^2 + 12^2 + 20^2 = 25^2
        setup.head.bodies[i] = (tarn_frame_body){(uint16_t)(3 * i),
                                                 {0.25f * (float)i, -1.5f, 3.40282347e38f},
                                                 {9 * 32767 / 25, -12 * 32767 / 25, 20 * 32767 / 25, 0}};
    }
    return stream_model_make(&setup);
}

/// Makes room for header fields that this version does not know.
static size_t lengthen_header(uint8_t *bytes, size_t byte_count, uint32_t extra)
{
    const size_t header_bytes = get_u16(bytes + 6);
    memmove(bytes + header_bytes + extra, bytes + header_bytes, byte_count - header_bytes);
    memset(bytes + header_bytes, 0xa5, extra);
    put_u16(bytes + 6, (uint16_t)(header_bytes + extra));
    put_u32(bytes + 8, (uint32_t)(byte_count + extra));
    return byte_count + extra;
}

size_t golden_stream_encode(int index, uint8_t *bytes, size_t bytes_max)
{
    const golden_stream *g = &streams[index];
    tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX];
    stream_model *model = make_model(g, inputs);
    stream_swarm swarm;
    size_t used = 0;
    bool is_good = true;
    stream_swarm_make(&swarm, stream_model_last(model), g->particles, 300 + (uint64_t)index);
    swarm.noise = g->noise > 0 ? g->noise : swarm.noise;
    for (const char *at = g->frames; *at != 0 && is_good; at++) {
        const int letter = tolower(*at);
        const tarn_stream_kind kind = letter == 'k'   ? TARN_STREAM_KEY
                                      : letter == 'b' ? TARN_STREAM_BASE
                                                      : TARN_STREAM_EXTRA;
        uint8_t *frame;
        stream_swarm_step(&swarm, 1);
        stream_swarm_renew(&swarm, g->renewed);
        stream_swarm_level(&swarm, g->has_wild_levels);
        stream_model_carry(model, *at != letter ? 5 : 0);
        stream_model_carry_field(model, g->field, g->field_is_kinds);
        size_t frame_bytes =
            stream_model_write(model, kind, swarm.particles, swarm.count, kind == TARN_STREAM_BASE ? 2 : 1, &frame);
        if (at[1] >= '0' && at[1] <= '9') {
            frame_bytes = tarn_stream_cut_bytes(stream_model_last(model), (uint32_t)(*++at - '0'));
        }
        is_good = frame_bytes > 0 && bytes_max - used >= 4 + frame_bytes + g->extra_header_bytes;
        if (is_good) {
            memcpy(bytes + used + 4, frame, frame_bytes);
            if (g->extra_header_bytes > 0) {
                frame_bytes = lengthen_header(bytes + used + 4, frame_bytes, g->extra_header_bytes);
            }
            put_u32(bytes + used, (uint32_t)frame_bytes);
            used += 4 + frame_bytes;
        }
        free(frame);
    }
    stream_swarm_free(&swarm);
    stream_model_destroy(model);
    return is_good ? used : 0;
}

const uint8_t *golden_stream_next(const uint8_t *bytes, size_t byte_count, size_t *used, size_t *frame_bytes)
{
    if (byte_count - *used < 4) {
        return NULL;
    }
    const uint8_t *frame = bytes + *used + 4;
    *frame_bytes = get_u32(bytes + *used);
    if (byte_count - *used - 4 < *frame_bytes) {
        return NULL;
    }
    *used += 4 + *frame_bytes;
    return frame;
}

// -----------------------------------------------------------------------------------------------------------
// describing

static void describe_head(FILE *out, const tarn_stream_head *h)
{
    fprintf(out, "      \"kind\": %d,\n      \"place_bits\": %d,\n      \"flags\": %" PRIu32 ",\n", h->kind,
            h->place_bits, h->flags);
    fprintf(out, "      \"frame_bytes\": %" PRIu32 ",\n      \"epoch\": %" PRIu32 ",\n      \"step\": %" PRIu64 ",\n",
            h->frame_bytes, h->epoch, h->step);
    fprintf(out, "      \"sim_time_s\": %.17g,\n      \"server_time_us\": %" PRIu64 ",\n", h->sim_time_s,
            h->server_time_us);
    fprintf(out,
            "      \"realtime_factor\": %.17g,\n      \"number\": %" PRIu32 ",\n      \"reference\": %" PRIu32 ",\n",
            (double)h->realtime_factor, h->number, h->reference);
    fprintf(out, "      \"interval_steps\": %" PRIu32 ",\n      \"interval_s\": %.17g,\n", h->interval_steps,
            (double)h->interval_s);
    fprintf(out, "      \"cells\": [%d, %d, %d],\n      \"cell_m\": %.17g,\n", h->cells[0], h->cells[1], h->cells[2],
            (double)h->cell_m);
    fprintf(out, "      \"orientation\": [%.17g, %.17g, %.17g, %.17g],\n", (double)h->orientation[0],
            (double)h->orientation[1], (double)h->orientation[2], (double)h->orientation[3]);
    fprintf(out, "      \"gravity_m_s2\": [%.17g, %.17g, %.17g],\n", (double)h->gravity_m_s2[0],
            (double)h->gravity_m_s2[1], (double)h->gravity_m_s2[2]);
    fprintf(out, "      \"flow_tiles\": %" PRIu32 ",\n      \"flow_bytes\": %" PRIu32 ",\n", h->flow_tiles,
            h->flow_bytes);
    fprintf(out, "      \"flow_tiles_max\": %" PRIu32 ",\n", h->flow_tiles_max);
    fprintf(out, "      \"residual_step\": %d,\n      \"flow_step\": %d,\n", h->residual_step, h->flow_step);
    if (h->channel != 0) {
        fprintf(out, "      \"channel\": %d,\n      \"channel_low\": %.17g,\n      \"channel_high\": %.17g,\n",
                h->channel, (double)h->channel_low, (double)h->channel_high);
    }
    if (h->field.number != 0) {
        const tarn_stream_field *f = &h->field;
        fprintf(out,
                "      \"field\": [%d, %d, %d, %.17g, %.17g, %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 "],\n",
                f->number, f->rest, f->is_kinds, (double)f->low, (double)f->high, f->tiles, f->tiles_max,
                f->coarse_bytes, f->fine_bytes);
    }
}

static void describe_tables(FILE *out, const tarn_stream_frame *frame, const uint8_t *bytes)
{
    const tarn_stream_head *h = &frame->head;
    fprintf(out, "      \"bodies_solid_x_y_z_rotation\": [");
    for (uint32_t i = 0; i < h->body_count; i++) {
        const tarn_frame_body *b = &h->bodies[i];
        fprintf(out, "%s\n        [%d, %.17g, %.17g, %.17g, %d, %d, %d, %d]", i > 0 ? "," : "", b->solid,
                (double)b->position_m[0], (double)b->position_m[1], (double)b->position_m[2], b->rotation[0],
                b->rotation[1], b->rotation[2], b->rotation[3]);
    }
    fprintf(out, "],\n      \"inputs\": [");
    const uint8_t *input = bytes + get_u16(bytes + 6);
    for (uint32_t i = 0; i < h->input_count; i++, input += TARN_FRAME_INPUT_BYTES) {
        fprintf(out, "%s[%" PRIu32 ", %" PRIu32 "]", i > 0 ? ", " : "", get_u32(input), get_u32(input + 4));
    }
    fprintf(out, "],\n      \"layers_bytes_slots_particles_slots_max\": [");
    for (uint32_t l = 0; l < h->layer_count; l++) {
        fprintf(out, "%s[%" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 "]", l > 0 ? ", " : "", h->layers[l].bytes,
                h->layers[l].slots, h->layers[l].particles, h->layers[l].slots_max);
    }
    fprintf(out, "],\n      \"layers_present\": %" PRIu32 ",\n", frame->layers_present);
}

static void describe_field(FILE *out, const stream_receiver *receiver)
{
    const tarn_stream_head *h = &receiver->frame.head;
    if (h->field.number == 0) {
        return;
    }
    const size_t count = (size_t)h->cells[0] * h->cells[1];
    uint8_t *levels = model_need(malloc(count));
    uint64_t hash = STREAM_RECEIVER_HASH;
    for (uint32_t z = 0; z < h->cells[2]; z++) {
        tarn_stream_field_plane(receiver->stream, z, levels);
        hash = stream_receiver_add(hash, levels, count);
    }
    fprintf(out, "      \"field_fnv1a64\": \"%016" PRIx64 "\",\n", hash);
    free(levels);
}

static void describe_particles(FILE *out, const stream_receiver *receiver)
{
    describe_field(out, receiver);
    const tarn_stream_particles *p = &receiver->particles;
    fprintf(out, "      \"unit_bits\": %" PRIu32 ",\n      \"velocity_scale_m_s\": %.17g,\n", p->unit_bits,
            (double)p->velocity_scale_m_s);
    fprintf(out, "      \"count\": %" PRIu32 ",\n      \"fnv1a64\": \"%016" PRIx64 "\",\n", p->count,
            stream_receiver_hash(receiver));
    fprintf(out, "      \"first_x_y_z_colour_u_v_w_layer\": [");
    for (uint32_t i = 0; i < p->count && i < LISTED_MAX; i++) {
        const uint16_t *at = p->positions + 4 * (size_t)i;
        const int8_t *v = p->velocities + 4 * (size_t)i;
        fprintf(out, "%s\n        [%d, %d, %d, %d, %d, %d, %d, %d]", i > 0 ? "," : "", at[0], at[1], at[2], at[3], v[0],
                v[1], v[2], v[3]);
    }
    fprintf(out, "]\n");
}

bool golden_stream_describe(FILE *out, const uint8_t *bytes, size_t byte_count)
{
    stream_receiver receiver = {0};
    size_t used = 0, frame_bytes;
    const uint8_t *frame;
    bool is_good = true;
    fprintf(out, "{\n  \"frames\": [");
    while (is_good && (frame = golden_stream_next(bytes, byte_count, &used, &frame_bytes)) != NULL) {
        if (receiver.memory == NULL && !stream_receiver_make_for(&receiver, frame, frame_bytes)) {
            return false;
        }
        is_good = stream_receiver_take(&receiver, frame, frame_bytes) == TARN_OK;
        fprintf(out, "%s\n    {\n      \"bytes\": %zu,\n", frame == bytes + 4 ? "" : ",", frame_bytes);
        describe_head(out, &receiver.frame.head);
        describe_tables(out, &receiver.frame, frame);
        describe_particles(out, &receiver);
        fprintf(out, "    }");
    }
    fprintf(out, "\n  ]\n}\n");
    stream_receiver_free(&receiver);
    return is_good && used == byte_count;
}
