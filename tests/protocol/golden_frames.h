/// Frames for the golden vectors and the tests.
#ifndef TARN_TESTS_PROTOCOL_GOLDEN_FRAMES_H
#define TARN_TESTS_PROTOCOL_GOLDEN_FRAMES_H

#include "protocol/frame.h"

/// splitmix64: small, seeded, the same everywhere.
uint64_t golden_random(uint64_t *state);

typedef struct golden_frame {
    const char *name;
    uint16_t cells[3];
    uint32_t flags;
    uint32_t input_count;
    uint32_t tile_count;
    uint32_t extra_header_bytes; ///< as a newer sender may append
    uint32_t body_count;
    int has_colours;
    struct {
        uint16_t tile[3];
        uint32_t particle_count;
    } tiles[6];
} golden_frame;

extern const golden_frame golden_frames[];
extern const int golden_frame_count;

/// Encodes a frame. @return its bytes, 0 on failure
size_t golden_frame_encode(const golden_frame *frame, uint8_t *bytes, size_t bytes_max);

/// A frame of a full grid of tiles; for the benchmark. The caller frees *bytes.
size_t golden_frame_dense(uint16_t tiles_per_axis, uint32_t particles_per_tile, uint8_t **bytes);

#endif
