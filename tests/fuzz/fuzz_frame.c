// Any bytes as a frame: opening and decoding stay inside their buffers, and what opens can be written again to the same
// bytes (as far as this version knows them).
#include "protocol/frame_layout.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

static void check_positions(const tarn_frame *frame, const uint16_t *positions)
{
    for (uint32_t i = 0; i < frame->header.tile_count; i++) {
        tarn_frame_tile tile = tarn_frame_tile_at(frame, i);
        for (uint32_t k = 0; k < tile.particle_count; k++, positions += 4) {
            for (int axis = 0; axis < 3; axis++) {
                require(positions[axis] >> 8 == tile.tile[axis]);
            }
            require(positions[3] <= (frame->has_colours ? 0xff : 0));
        }
    }
}

/// A head that the reader takes is one that the writer takes, and it gives the same bytes.
static void check_rewrite(const tarn_frame *frame, const uint8_t *bytes)
{
    uint32_t input_count = frame->header.input_count, tile_count = frame->header.tile_count;
    size_t head_bytes = tarn_frame_head_bytes(frame->header.body_count, input_count, tile_count);
    tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX];
    tarn_frame_tile *tiles = malloc((tile_count + 1) * sizeof *tiles);
    uint8_t *again = malloc(head_bytes);
    for (uint32_t i = 0; i < input_count; i++) {
        inputs[i] = tarn_frame_input_at(frame, i);
    }
    for (uint32_t i = 0; i < tile_count; i++) {
        tiles[i] = tarn_frame_tile_at(frame, i);
    }
    require(tarn_frame_write_head(&frame->header, inputs, tiles, again, head_bytes) == TARN_OK);
    require(memcmp(again, bytes, FRAME_AT_UNUSED) == 0);
    require(memcmp(again + TARN_FRAME_HEADER_BYTES, bytes + TARN_FRAME_HEADER_BYTES,
                   head_bytes - TARN_FRAME_HEADER_BYTES) == 0);
    free(tiles);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    tarn_frame frame;
    if (tarn_frame_open(bytes, byte_count, &frame)) {
        return 0;
    }
    uint32_t count = frame.header.particle_count;
    uint16_t *positions = malloc(8 * (size_t)count + 1);
    int8_t *velocities = malloc(4 * (size_t)count + 1);
    require(tarn_frame_decode(&frame, positions, velocities, count) == TARN_OK);
    require(count == 0 || tarn_frame_decode(&frame, positions, velocities, count - 1) == TARN_E_SPACE);
    check_positions(&frame, positions);
    if (get_u16(bytes + FRAME_AT_HEADER_BYTES) == tarn_frame_head_bytes(frame.header.body_count, 0, 0)) {
        check_rewrite(&frame, bytes);
    }
    free(positions);
    free(velocities);
    return 0;
}
