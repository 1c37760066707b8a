/// The encoder's host side, shared by the files of kernels/stream.
#ifndef TARN_KERNELS_STREAM_ENCODER_INTERNAL_H
#define TARN_KERNELS_STREAM_ENCODER_INTERNAL_H

#include "kernels/encoder.h"
#include "kernels/stream/stream_kernels.h"
#include "kernels/tank/view.h"

#include <stdbool.h>

enum { ENCODER_FLOW_STEPS = 4 }; ///< that a key frame's flow spans

/// A layer's slots.
typedef struct encoder_layer {
    uint32_t first, slots, slots_max, particles;
    uint32_t born; ///< the last so many of the slots, in the frame in hand
} encoder_layer;

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
    uint64_t bytes_taken;
    stream_args args;
    tarn_code_tables tables;
    uint8_t *frame;          ///< device; NULL where the device writes into host memory
    uint32_t *flow_dense[2]; ///< device: tiles of the two grids
    uint32_t flow_listed[2];
    uint32_t *moved_seat;

    // the reference
    bool has_reference;
    uint32_t generation; ///< of the tank's particles
    uint32_t epoch, number, reference;
    uint64_t reference_step, reference_flow_steps;
    uint32_t reference_tiles;
    float base_bits; ///< that a particle took in the last base frame, the flow apart; 0: there is none in this chain
    bool is_wild;    ///< base frames have coarse steps
    encoder_layer layers[TARN_STREAM_LAYERS_MAX];
    uint32_t points_max; ///< particles of a tile and a layer that a key frame may have
    uint32_t *flow_list; ///< tiles that its particles lie between, ascending
    uint32_t flow_count;
    bool flow_is_indexed; ///< the frame's grid has that list already

    // what frames carry
    uint32_t channel;           ///< 1 more than its number; 0: none
    uint32_t reference_channel; ///< the same of the reference
    float channel_low, channel_high;
    stream_level_group *level_groups; ///< NULL until one was asked for
    uint32_t *level_bytes;
    uint32_t level_group_count;
    uint64_t levels_bytes; ///< of the frame in hand

    tarn_stream_field field;  ///< that frames carry, as the newest has it; number 0: none
    uint8_t reference_field;  ///< the number in the reference
    uint32_t field_reference; ///< which of the two levels of a field are the reference's
    uint32_t *field_dense[2]; ///< device: tiles of these
    uint32_t field_listed[2];
    uint32_t *field_list, *field_bytes; ///< of the frame in hand; NULL until one was asked for
    bool lacks_levels, lacks_field;     ///< there was no memory: it isn't tried again until nobody asks for it
    uint8_t *field_tile_list;

    // host copies and scratch
    uint64_t *reached; ///< bit per tile of the tank
    stream_tile *tiles;
    uint32_t *counts; ///< [occupied][layers]
    stream_part *parts;
    stream_group *groups;
    uint32_t group_count;
    uint32_t *flow_bytes, *bytes;
    stream_chunk *chunks;
    uint32_t chunk_count;
    uint8_t *lists; ///< lists of tiles and flags of groups, coded: the grid's and each layer's
    uint32_t list_at[TARN_STREAM_LAYERS_MAX + 1], list_bytes[TARN_STREAM_LAYERS_MAX + 1];
};

/// Takes the encoder's memory; gives it back, also what was taken by a call that failed.
tarn_status encoder_carve_memory(tarn_encoder *encoder);
void encoder_give_memory(tarn_encoder *encoder);

/// What takes a channel, for so many groups, where it isn't there yet. @return TARN_OK or TARN_E_MEMORY
tarn_status encoder_carve_levels(tarn_encoder *encoder, uint32_t groups);

/// Finds the values of the channel that the frame carries, if any; then, when all else of the frame is coded, codes
/// them.
void encoder_begin_levels(tarn_encoder *encoder);
tarn_status encoder_code_levels(tarn_encoder *encoder);

/// What takes a field, where it isn't there yet. @return TARN_OK or TARN_E_MEMORY
tarn_status encoder_carve_field(tarn_encoder *encoder);

/// Whether the frame's field isn't the reference's: only a key frame will do.
bool encoder_has_other_field(const tarn_encoder *encoder);

/// Codes the field, if any, when the frame's grid is coded.
tarn_status encoder_code_field(tarn_encoder *encoder);

/// The groups of a part of it, from *first on.
uint32_t encoder_field_groups(const tarn_encoder *encoder, uint32_t part, uint32_t *first);

/// The frame becomes the reference.
void encoder_keep_field(tarn_encoder *encoder);

/// Room for the list of a field's tiles.
#define ENCODER_FIELD_LIST_BYTES(tiles) ((size_t)(tiles)*5 + 64)

/// Room for the lists: gaps and counts of tiles, a bit per group.
#define ENCODER_LIST_BYTES(room, layers)                                                                               \
    ((room)->flow * 5 + (layers) * ((room)->occupied * 10 + 16) + (room)->groups + 64)

static inline void encoder_launch(tarn_encoder *encoder, stream_kernel_id kernel, uint32_t tiles)
{
    if (tiles > 0) {
        tarn_queue_launch(encoder->view.queue, &tarn_stream_kernels[kernel], &encoder->args, NULL, tiles);
    }
}

/// The tiles of the grid for the frames that refer to the tiles which the device has last made a reference of.
tarn_status encoder_list_flow(tarn_encoder *encoder, uint32_t tiles);

/// Sets or clears entries of a table of the tank's tiles: every `stride`th number of a list on the device.
void encoder_index(tarn_encoder *encoder, const uint32_t *list, uint32_t stride, uint32_t count, uint32_t *table,
                   bool is_set);

/// Fits and codes the frame's grid; the device knows the reference and where its particles have gone.
tarn_status encoder_code_flow(tarn_encoder *encoder);

/// For validating builds (protocol/assert.h): asserts that seats, places, slots and the reference's tiles fit together.
/// There is a reference to the tank's present particles.
void encoder_validate(const tarn_encoder *encoder);

/// The same of a frame's levels, when they are coded: each particle that viewers have gets one.
void encoder_validate_levels(const tarn_encoder *encoder);

/// Puts the coded streams together.
/// @param head  all but the sections' sizes
tarn_status encoder_assemble(tarn_encoder *encoder, tarn_stream_head *head, const tarn_frame_input *inputs,
                             uint8_t *bytes, size_t bytes_max);

#endif
