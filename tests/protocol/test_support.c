#include "tests/protocol/test_support.h"

#include <stdlib.h>

tarn_status test_decode_frame(const uint8_t *bytes, size_t byte_count)
{
    tarn_frame frame;
    tarn_status status = tarn_frame_open(bytes, byte_count, &frame);
    if (status) {
        return status;
    }
    uint32_t count = frame.header.particle_count;
    uint16_t *positions = malloc(count ? count * 4 * sizeof *positions : 1);
    int8_t *velocities = malloc(count ? count * 4 * sizeof *velocities : 1);
    status = tarn_frame_decode(&frame, positions, velocities, count);
    for (uint32_t i = 0; i < frame.header.input_count; i++) {
        (void)tarn_frame_input_at(&frame, i);
    }
    free(positions);
    free(velocities);
    return status;
}
