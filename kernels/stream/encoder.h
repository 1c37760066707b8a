/// The encoder's host side: its memory by name, and its launches. For encoder.c, and for tests that look inside.
#ifndef TARN_KERNELS_STREAM_ENCODER_H
#define TARN_KERNELS_STREAM_ENCODER_H

#include "kernels/device/arena.h"
#include "kernels/encoder.h"
#include "kernels/stream/stream_kernels.h"
#include "kernels/tank/view.h"

#include <stdbool.h>

enum { ENCODER_FLOW_STEPS = 4 }; ///< that a key frame's flow spans

/// What there is room for.
typedef struct encoder_room {
    uint32_t particles, slots, tiles, occupied, flow, groups, chunks;
    uint64_t coded, frame;
} encoder_room;

struct tarn_encoder {
    tarn_tank *tank;
    tank_view view;
    tank_moment now; ///< of the frame in hand
    bool is_seated;
    tarn_encoder_desc desc;
    encoder_room room;
    tarn_arena arena, levels_arena, field_arena; ///< device memory: the last two when they are first asked for
    tarn_arena frame_arena;                      ///< of `frame`
    stream_args args;
    tarn_code_tables tables;
    tarn_queue *queue; ///< its own: what doesn't read the tank's memory
    tarn_queue *line;  ///< that launches go to at present: the tank's, or its own
    uint8_t *frame;    ///< that the device writes and the host reads: the plan, lists, streams
    uint32_t *moved_seat;

    // the frame in hand, from its beginning until it is finished
    bool is_begun;
    tarn_stream_kind kind;
    tarn_tank_frame_info info;
    tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX];
    bool was_whole; ///< there was a reference when it began

    // the reference
    bool has_reference;
    uint32_t generation; ///< of the tank's particles
    uint32_t epoch, number, reference;
    uint64_t reference_step, reference_flow_steps;
    uint32_t reference_tiles;
    float base_bits; ///< that a particle took in the last base frame, the flow apart; 0: there is none in this chain
    bool is_wild;    ///< base frames have coarse steps
    stream_layer layers[TARN_STREAM_LAYERS_MAX]; ///< born: the last so many of the slots, in the newest frame
    uint32_t points_max;                         ///< particles of a tile and a layer that a key frame may have

    // what frames carry
    uint32_t channel;           ///< 1 more than its number; 0: none
    uint32_t reference_channel; ///< the same of the reference
    float channel_low, channel_high;

    tarn_stream_field field;  ///< that frames carry, as the newest has it; number 0: none
    uint8_t reference_field;  ///< the number in the reference
    uint32_t field_reference; ///< which of the two levels of a field are the reference's
    uint32_t *field_dense[2]; ///< device: tiles of these
    uint32_t field_listed[2];
    bool lacks_levels, lacks_field; ///< there was no memory: it isn't tried again until nobody asks for it
    uint8_t *field_tile_list;       ///< of the frame in hand, coded; NULL until a field was asked for
    stream_chunk *field_chunk;      ///< device: chunks of a frame with a field

    uint8_t *lists; ///< lists of tiles and flags of groups, coded: the grid's and each layer's
    uint32_t list_at[TARN_STREAM_LAYERS_MAX + 1], list_bytes[TARN_STREAM_LAYERS_MAX + 1];
};

/// Groups of slots that have levels, at most.
static inline uint32_t encoder_level_groups_max(const tarn_encoder *encoder)
{
    return encoder->room.slots / TARN_STREAM_GROUP + encoder->desc.layers + 1;
}

/// Room for the list of a field's tiles.
#define ENCODER_FIELD_LIST_BYTES(tiles) ((size_t)(tiles)*5 + 64)

/// Room for the lists: gaps and counts of tiles, a bit per group.
#define ENCODER_LIST_BYTES(room, layers)                                                                               \
    ((room)->flow * 5 + (layers) * ((room)->occupied * 10 + 16) + (room)->groups + 64)

static inline void encoder_launch(tarn_encoder *encoder, stream_kernel_id kernel, uint32_t tiles)
{
    if (tiles > 0) {
        tarn_queue_launch(encoder->line, &tarn_stream_kernels[kernel], &encoder->args, NULL, tiles);
    }
}

/// As many tiles as the device has counted.
static inline void encoder_launch_counted(tarn_encoder *encoder, stream_kernel_id kernel, const uint32_t *count,
                                          uint32_t most)
{
    tarn_queue_launch(encoder->line, &tarn_stream_kernels[kernel], &encoder->args, count, most);
}

/// For validating builds (protocol/assert.h): asserts that seats, places, slots and the reference's tiles fit together.
/// There is a reference to the tank's present particles.
void encoder_validate(const tarn_encoder *encoder);

/// What the device has found out about the frame, when it is done.
static inline const stream_plan *encoder_plan(const tarn_encoder *encoder)
{
    return (const stream_plan *)encoder->frame;
}

#endif
