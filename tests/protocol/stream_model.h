/// A plain encoder of frames on the host, for the tests: written to be read, not to be fast. It keeps what a
/// decoder has, bit for bit, and codes what is missing to where the particles are.
#ifndef TARN_TESTS_PROTOCOL_STREAM_MODEL_H
#define TARN_TESTS_PROTOCOL_STREAM_MODEL_H

#include "protocol/stream.h"

#include <stdbool.h>

/// A particle as it is. It is known by its index, and may die and come into being again.
typedef struct model_particle {
    int32_t place[3]; ///< in 1/1024 cell, inside the tank
    uint8_t colour;
    uint8_t layer; ///< below the setup's layer_count; the same in all frames
    bool is_alive;
    uint8_t level; ///< of the channel, where frames carry one
} model_particle;

/// Which tiles a frame's grid has; never more than the setup's flow_tiles_max.
typedef enum model_flow_tiles {
    MODEL_FLOW_PARTICLES, ///< those with particles
    MODEL_FLOW_ALL,       ///< all of the tank
    MODEL_FLOW_NONE,
} model_flow_tiles;

typedef struct stream_model_setup {
    tarn_stream_head
        head; ///< cells, place_bits, layer_count, flags, epoch, cell_m, orientation, gravity, bodies,
              ///< the steps of residuals, input_count, flow_tiles_max and the layers' slots_max are as in every frame
    const tarn_frame_input *inputs; ///< head.input_count entries
    model_flow_tiles flow;
    uint32_t dead_zone; ///< differences up to so many sixteenths of a step are left as they are; 8: none but rounding
} stream_model_setup;

/// What a decoder hands out of a particle, in full.
typedef struct model_shown {
    int32_t place[3]; ///< in 1/1024 cell
    int32_t flow[3];  ///< in 2^-15 quanta; 0 where the grid has no tile
    uint32_t particle;
    uint8_t colour, layer;
    uint8_t level; ///< 0 where the frame carries no channel
} model_shown;

typedef struct stream_model stream_model;

/// Never NULL: ends the program when memory is out.
stream_model *stream_model_make(const stream_model_setup *setup);

void stream_model_destroy(stream_model *model);

/// Writes a frame. The first one must be a key frame; births beyond a layer's slots_max wait for the next one.
/// @param count           of particles, never less than before; of a tile and a layer TARN_SET_POINTS_MAX at most
/// @param interval_steps  since the frame that is moved
/// @param bytes           the frame; the caller frees it
/// @return its bytes; 0 where a layer of a key frame has more particles than its slots_max
size_t stream_model_write(stream_model *model, tarn_stream_kind kind, const model_particle *particles, uint32_t count,
                          uint32_t interval_steps, uint8_t **bytes);

/// Frames to come carry a channel; 0: none.
void stream_model_carry(stream_model *model, uint8_t channel);

/// Frames to come carry a field; 0: none. It changes with key frames alone.
void stream_model_carry_field(stream_model *model, uint8_t number, bool is_kinds);

/// A plane of the last frame's field: as tarn_stream_field_plane.
void stream_model_field_plane(const stream_model *model, uint32_t z, uint8_t *levels);

/// What decoding the last frame with all its layers hands out, in its order.
const model_shown *stream_model_shown(const stream_model *model, uint32_t *count);

/// The last frame's head.
const tarn_stream_head *stream_model_last(const stream_model *model);

#endif
