/// What the tests' encoder keeps. Private to it.
#ifndef TARN_TESTS_PROTOCOL_STREAM_MODEL_MEMORY_H
#define TARN_TESTS_PROTOCOL_STREAM_MODEL_MEMORY_H

#include "tests/protocol/model_field.h"
#include "tests/protocol/stream_model.h"

typedef struct model_slot {
    uint32_t particle;
    int32_t place[3]; ///< that a decoder has
    uint8_t colour, is_dead;
    bool is_new;   ///< born in the frame in hand
    int16_t level; ///< that a decoder has; -1: none
} model_slot;

typedef struct model_layer {
    model_slot *slots;
    uint32_t count;
} model_layer;

typedef struct model_grid {
    uint32_t *index;       ///< [tile of the tank] 1 + block, or 0
    uint32_t *tile;        ///< [block]
    tarn_flow_node *nodes; ///< [block][TARN_FLOW_BLOCK]
    uint32_t count;
    uint32_t steps;
} model_grid;

/// How far something at a place has gone.
typedef struct model_sample {
    int32_t place[3], moved[3];
    bool has_moved;
} model_sample;

struct stream_model {
    stream_model_setup setup;
    tarn_code_tables tables;
    tarn_stream_head head; ///< of the last frame
    tarn_stream_head from; ///< of the last key or base frame
    uint32_t tiles[3], tile_count;
    int32_t end[4], quantum;
    model_layer layers[TARN_STREAM_LAYERS_MAX];
    model_grid grids[2];
    int reference;        ///< which grid is the last key or base frame's
    int32_t (*before)[3]; ///< [particle] place at the last frame
    uint8_t *was_alive;   ///< [particle] at the last frame
    uint8_t *has_slot;    ///< [particle]
    uint32_t known;       ///< particles of these three
    model_shown *shown;
    uint32_t shown_count;
    model_field field;
    uint8_t field_number; ///< of frames to come
    bool field_is_kinds;
    tarn_flow_work work;
    uint8_t *scratch;
};

#endif
