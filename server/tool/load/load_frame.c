// Heads for the chain of references, whole frames for the decoder: start at load_decoder_decode.
#include "server/tool/load/load_frame.h"
#include "protocol/stream_layout.h"

#include <stdlib.h>

bool load_frame_begins(const uint8_t *bytes)
{
    return get_u32(bytes) == TARN_FRAME_MAGIC;
}

/// How many layers a frame has kept that was cut to so many bytes; -1 where it was cut elsewhere than behind one.
static int count_layers(const uint8_t *table, uint32_t layer_count, uint64_t whole_bytes, uint64_t sent_bytes)
{
    uint32_t layers = layer_count;
    while (whole_bytes > sent_bytes && layers > 0) {
        const uint32_t bytes = get_u32(table + (size_t)--layers * TARN_STREAM_LAYER_BYTES + LAYER_AT_BYTES);
        if (bytes > whole_bytes - sent_bytes) {
            return -1;
        }
        whole_bytes -= bytes;
    }
    return whole_bytes == sent_bytes ? (int)layers : -1;
}

tarn_status load_frame_head_read(const uint8_t *bytes, size_t byte_count, uint64_t frame_bytes, load_frame_head *head)
{
    if (byte_count < TARN_FRAME_HEADER_BYTES) {
        return TARN_E_TRUNCATED;
    }
    const uint16_t version = get_u16(bytes + STREAM_AT_VERSION);
    if (version < TARN_FRAME_VERSION_MIN || version > TARN_FRAME_VERSION || bytes[STREAM_AT_KIND] > TARN_STREAM_EXTRA) {
        return TARN_E_VERSION;
    }
    const size_t header_bytes = get_u16(bytes + STREAM_AT_HEADER_BYTES);
    const uint32_t layer_count = bytes[STREAM_AT_LAYER_COUNT];
    head->input_count = get_u16(bytes + STREAM_AT_INPUT_COUNT);
    if (header_bytes < TARN_FRAME_HEADER_BYTES) {
        return TARN_E_MALFORMED;
    }
    if (header_bytes > TARN_FRAME_HEADER_BYTES_MAX || head->input_count > TARN_FRAME_INPUTS_MAX ||
        layer_count > TARN_STREAM_LAYERS_MAX) {
        return TARN_E_LIMIT;
    }
    const size_t inputs_bytes = (size_t)head->input_count * TARN_FRAME_INPUT_BYTES;
    const size_t layers_bytes = (size_t)layer_count * TARN_STREAM_LAYER_BYTES;
    const size_t field_bytes = version > TARN_FRAME_VERSION_CHANNEL ? TARN_STREAM_FIELD_BYTES : 0;
    if (byte_count < header_bytes + inputs_bytes + layers_bytes + field_bytes) {
        return TARN_E_TRUNCATED;
    }
    head->inputs = bytes + header_bytes;
    const uint8_t *table = head->inputs + inputs_bytes;
    uint64_t whole_bytes = get_u32(bytes + STREAM_AT_FRAME_BYTES);
    if (field_bytes > 0 && frame_bytes < whole_bytes) { // a field's cells are cut before all layers
        const uint32_t fine_bytes = get_u32(table + layers_bytes + FIELD_AT_FINE_BYTES);
        if (fine_bytes > whole_bytes) {
            return TARN_E_MALFORMED;
        }
        whole_bytes -= fine_bytes;
    }
    const int layers = count_layers(table, layer_count, whole_bytes, frame_bytes);
    if (layers < 0) {
        return TARN_E_MALFORMED;
    }
    head->layers = (uint32_t)layers;
    head->kind = (tarn_stream_kind)bytes[STREAM_AT_KIND];
    head->epoch = get_u32(bytes + STREAM_AT_EPOCH);
    head->step = get_u64(bytes + STREAM_AT_STEP);
    head->number = get_u32(bytes + STREAM_AT_NUMBER);
    head->reference = get_u32(bytes + STREAM_AT_REFERENCE);
    return TARN_OK;
}

uint32_t load_frame_input_of(const load_frame_head *head, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < head->input_count; i++) {
        const uint8_t *entry = head->inputs + (size_t)i * TARN_FRAME_INPUT_BYTES;
        if (get_u32(entry + INPUT_AT_VIEWER_ID) == viewer_id) {
            return get_u32(entry + INPUT_AT_SEQUENCE);
        }
    }
    return 0;
}

const char *load_chain_follow(load_chain *chain, const load_frame_head *head)
{
    const bool is_key = head->kind == TARN_STREAM_KEY, continues = chain->begun && chain->epoch == head->epoch;
    const bool repeats = is_key && head->number == chain->number; // with more layers, while the tank is paused
    const char *wrong = NULL;
    if (!is_key && (!continues || head->reference != chain->reference)) {
        wrong = "a viewer was sent a frame whose reference it doesn't have";
    } else if (continues && (int32_t)(head->number - chain->number) <= 0 && !repeats) {
        wrong = "a viewer was sent a frame behind a newer one";
    } else if (continues && head->step < chain->step) {
        wrong = "a viewer was sent a frame of an earlier step than the one before";
    }
    // What cannot be decoded is no reference either.
    chain->begun = is_key || (chain->begun && wrong == NULL);
    chain->epoch = head->epoch;
    chain->number = head->number;
    chain->step = head->step;
    chain->reference = head->kind == TARN_STREAM_EXTRA ? chain->reference : head->number;
    return wrong;
}

void load_decoder_free(load_decoder *decoder)
{
    free(decoder->memory);
    free(decoder->particles.positions);
    free(decoder->particles.velocities);
    *decoder = (load_decoder){0};
}

/// Makes a decoder for what a key frame promises.
static tarn_status make_room(load_decoder *decoder, const tarn_stream_frame *key)
{
    const tarn_stream_size size = tarn_stream_size_of(key);
    const size_t bytes = tarn_stream_bytes(&size), slots = size.slots > 0 ? size.slots : 1;
    tarn_stream_particles *particles = &decoder->particles;
    load_decoder_free(decoder);
    if (bytes > LOAD_DECODER_BYTES_MAX) {
        return TARN_E_LIMIT;
    }
    decoder->memory = malloc(bytes);
    particles->positions = malloc(slots * 4 * sizeof *particles->positions);
    particles->velocities = malloc(slots * 4 * sizeof *particles->velocities);
    if (decoder->memory == NULL || particles->positions == NULL || particles->velocities == NULL) {
        load_decoder_free(decoder);
        return TARN_E_MEMORY;
    }
    decoder->stream = tarn_stream_make(decoder->memory, &size);
    particles->particles_max = size.slots;
    return TARN_OK;
}

static tarn_status decode(load_decoder *decoder, const tarn_stream_frame *frame)
{
    const bool is_key = frame->head.kind == TARN_STREAM_KEY;
    if (decoder->stream == NULL && !is_key) {
        return TARN_E_STATE;
    }
    tarn_status status =
        decoder->stream != NULL ? tarn_stream_decode(decoder->stream, frame, &decoder->particles) : TARN_E_SPACE;
    if (status == TARN_E_SPACE && is_key) {
        status = make_room(decoder, frame);
        if (status == TARN_OK) {
            status = tarn_stream_decode(decoder->stream, frame, &decoder->particles);
        }
    }
    return status;
}

/// Whether the layers that are there could all be decoded: none may be sent whose chain the viewer has lost.
static bool all_there(const tarn_stream_frame *frame, const tarn_stream_particles *particles)
{
    uint64_t count = 0;
    for (uint32_t layer = 0; layer < frame->layers_present; layer++) {
        count += frame->head.layers[layer].particles;
    }
    return count == particles->count;
}

static bool all_inside(const tarn_stream_head *head, const tarn_stream_particles *particles)
{
    for (size_t i = 0; i < particles->count; i++) {
        for (size_t axis = 0; axis < 3; axis++) {
            if (particles->positions[4 * i + axis] >= (uint32_t)head->cells[axis] << particles->unit_bits) {
                return false;
            }
        }
    }
    return true;
}

tarn_status load_decoder_decode(load_decoder *decoder, const uint8_t *bytes, size_t byte_count)
{
    tarn_stream_frame frame;
    tarn_status status = tarn_stream_open(bytes, byte_count, &frame);
    if (status == TARN_OK) {
        status = decode(decoder, &frame);
    }
    if (status == TARN_OK &&
        !(all_there(&frame, &decoder->particles) && all_inside(&frame.head, &decoder->particles))) {
        status = TARN_E_MALFORMED;
    }
    return status;
}
