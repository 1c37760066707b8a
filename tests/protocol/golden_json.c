// What a vector holds, as JSON: frames as the C decoders see them, a message as it stands on the wire.
#include "protocol/message_scan.h"
#include "tests/protocol/golden_streams.h"
#include "tests/protocol/golden_vectors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void describe_header(FILE *out, const tarn_frame_header *h)
{
    fprintf(out, "  \"kind\": %d,\n  \"flags\": %" PRIu32 ",\n  \"frame_bytes\": %" PRIu32 ",\n", h->kind, h->flags,
            h->frame_bytes);
    fprintf(out, "  \"epoch\": %" PRIu32 ",\n  \"step\": %" PRIu64 ",\n  \"sim_time_s\": %.17g,\n", h->epoch, h->step,
            h->sim_time_s);
    fprintf(out, "  \"server_time_us\": %" PRIu64 ",\n  \"realtime_factor\": %.17g,\n", h->server_time_us,
            (double)h->realtime_factor);
    fprintf(out,
            "  \"particle_count\": %" PRIu32 ",\n  \"tile_count\": %" PRIu32 ",\n  \"input_count\": %" PRIu32 ",\n",
            h->particle_count, h->tile_count, h->input_count);
    fprintf(out, "  \"cells\": [%d, %d, %d],\n", h->cells[0], h->cells[1], h->cells[2]);
    fprintf(out, "  \"position_bits\": %d,\n  \"layer_count\": %d,\n  \"cell_m\": %.17g,\n", h->position_bits,
            h->layer_count, (double)h->cell_m);
    fprintf(out, "  \"orientation\": [%.17g, %.17g, %.17g, %.17g],\n", (double)h->orientation[0],
            (double)h->orientation[1], (double)h->orientation[2], (double)h->orientation[3]);
    fprintf(out, "  \"gravity_m_s2\": [%.17g, %.17g, %.17g],\n", (double)h->gravity_m_s2[0], (double)h->gravity_m_s2[1],
            (double)h->gravity_m_s2[2]);
    fprintf(out, "  \"velocity_scale_m_s\": %.17g,\n", (double)h->velocity_scale_m_s);
}

static void describe_bodies(FILE *out, const tarn_frame_header *h)
{
    fprintf(out, "  \"bodies_solid_x_y_z_rotation\": [");
    for (uint32_t i = 0; i < h->body_count; i++) {
        const tarn_frame_body *b = &h->bodies[i];
        fprintf(out, "%s\n    [%d, %.17g, %.17g, %.17g, %d, %d, %d, %d]", i ? "," : "", b->solid,
                (double)b->position_m[0], (double)b->position_m[1], (double)b->position_m[2], b->rotation[0],
                b->rotation[1], b->rotation[2], b->rotation[3]);
    }
    fprintf(out, "\n  ],\n");
}

/// Particles with their colour only where the frame has colours, bodies only where it has any.
static int describe_frame(FILE *out, const golden_vector *vector)
{
    tarn_frame frame;
    if (tarn_frame_open(vector->bytes, vector->byte_count, &frame)) {
        return 0;
    }
    uint32_t count = frame.header.particle_count;
    uint16_t *positions = calloc(count + 1, 4 * sizeof *positions);
    int8_t *velocities = calloc(count + 1, 4 * sizeof *velocities);
    tarn_status status = tarn_frame_decode(&frame, positions, velocities, count);
    fprintf(out, "{\n");
    describe_header(out, &frame.header);
    if (frame.header.body_count > 0) {
        describe_bodies(out, &frame.header);
    }
    fprintf(out, "  \"inputs\": [");
    for (uint32_t i = 0; i < frame.header.input_count; i++) {
        tarn_frame_input input = tarn_frame_input_at(&frame, i);
        fprintf(out, "%s[%" PRIu32 ", %" PRIu32 "]", i ? ", " : "", input.viewer_id, input.sequence);
    }
    fprintf(out, "],\n  \"particles_x_y_z_u_v_w_layer%s\": [", frame.has_colours ? "_colour" : "");
    for (uint32_t i = 0; i < count; i++) {
        const uint16_t *p = positions + 4 * (size_t)i;
        const int8_t *v = velocities + 4 * (size_t)i;
        fprintf(out, "%s\n    [%d, %d, %d, %d, %d, %d, %d", i ? "," : "", p[0], p[1], p[2], v[0], v[1], v[2], v[3]);
        if (frame.has_colours) {
            fprintf(out, ", %d", p[3]);
        }
        fprintf(out, "]");
    }
    fprintf(out, "%s]\n}\n", count ? "\n  " : "");
    free(positions);
    free(velocities);
    return status == TARN_OK;
}

static void describe_item(FILE *out, tarn_cursor *cursor)
{
    tarn_item item;
    tarn_cursor_next(cursor, &item);
    switch (item.type) {
    case TARN_ITEM_UINT:
        fprintf(out, "%" PRIu64, item.uint_value);
        break;
    case TARN_ITEM_BOOL:
        fprintf(out, item.uint_value ? "true" : "false");
        break;
    case TARN_ITEM_FLOAT:
        fprintf(out, "%.17g", item.float_value);
        break;
    case TARN_ITEM_STRING:
        fprintf(out, "\"%.*s\"", (int)item.count, (const char *)item.data);
        break;
    case TARN_ITEM_ARRAY:
    case TARN_ITEM_MAP:
        fprintf(out, item.type == TARN_ITEM_MAP ? "{" : "[");
        for (uint32_t i = 0; i < item.count; i++) {
            fprintf(out, i ? ", " : "");
            describe_item(out, cursor);
            if (item.type == TARN_ITEM_MAP) {
                fprintf(out, ": ");
                describe_item(out, cursor);
            }
        }
        fprintf(out, item.type == TARN_ITEM_MAP ? "}" : "]");
        break;
    default:
        fprintf(out, "null");
        break;
    }
}

static int describe_message(FILE *out, const golden_vector *vector)
{
    tarn_cursor cursor = {vector->bytes, vector->bytes + vector->byte_count};
    if (tarn_scan_message(vector->bytes, vector->byte_count, NULL)) {
        return 0;
    }
    describe_item(out, &cursor);
    fprintf(out, "\n");
    return 1;
}

char *golden_describe(const golden_vector *vector)
{
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *out = open_memstream(&text, &text_bytes);
    if (!out) {
        return NULL;
    }
    int good = vector->kind == GOLDEN_FRAME    ? describe_frame(out, vector)
               : vector->kind == GOLDEN_STREAM ? golden_stream_describe(out, vector->bytes, vector->byte_count)
                                               : describe_message(out, vector);
    if (fclose(out) || !good) {
        free(text);
        return NULL;
    }
    return text;
}
