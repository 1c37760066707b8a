/// A tank's frames are a stream. SPEC.md, sections 5 and 9, is the authority on the bytes; this is the C interface to
/// it.
///
/// A *key* frame holds particles as sets and needs no other frame. The others move the particles of an earlier one,
/// their *reference*, by a coarse grid of the flow and correct them: *base* frames are references in turn, *extra* ones
/// are not and may be left out. Particles come in layers, which decode independently and add up; a frame may be cut
/// behind any of them.
///
///     | header, bodies | inputs | layer table | flow | layer 0 | layer 1 | ... |
///
/// A decoder keeps the particles in slots: a layer's particles in the order of its last key frame, then those born
/// since. Nothing allocates, and it is the same code natively and as WebAssembly. Nothing in a frame is trusted.
#ifndef TARN_PROTOCOL_STREAM_H
#define TARN_PROTOCOL_STREAM_H

#include "protocol/field_grid.h"
#include "protocol/flow_code.h"
#include "protocol/frame.h"

enum {
    TARN_STREAM_LAYER_BYTES = 16, ///< one entry of the layer table
    TARN_STREAM_FIELD_BYTES = 28, ///< what is said of a field, behind that table
    TARN_STREAM_LAYERS_MAX = 8,
    TARN_STREAM_GROUP = 1024,       ///< slots whose residuals, or levels, are one stream
    TARN_STREAM_STEP_MAX = 1 << 14, ///< largest residual_step
};

typedef enum tarn_stream_kind {
    TARN_STREAM_KEY = 0,   ///< needs no other frame
    TARN_STREAM_BASE = 1,  ///< moves its reference, and is one for those that follow
    TARN_STREAM_EXTRA = 2, ///< moves its reference; nothing refers to it
} tarn_stream_kind;

typedef struct tarn_stream_layer {
    uint32_t bytes;     ///< of its section; 0 in a key frame: none, slots are 0
    uint32_t slots;     ///< after the frame
    uint32_t particles; ///< of these, alive
    uint32_t slots_max; ///< that there will be at most before the next key frame
} tarn_stream_layer;

/// A scalar field that a frame carries: a level for each cell of some tiles, in two parts, the coarse one first.
typedef struct tarn_stream_field {
    uint8_t number;        ///< 1..TARN_FRAME_FIELD_MAX: 1 more than its place among the tank's; 0: none, and nothing of
                           ///< it takes a byte
    uint8_t rest;          ///< level of the cells of all other tiles
    uint8_t is_kinds;      ///< 1: levels are kinds, between which there is nothing; 0: evenly from low to high
    float low, high;       ///< what the levels 0 and 255 stand for, finite, low <= high
    uint32_t tiles;        ///< that it has
    uint32_t tiles_max;    ///< that there will be at most before the next key frame
    uint32_t coarse_bytes; ///< of the section behind the flow
    uint32_t fine_bytes;   ///< of that behind the last layer
} tarn_stream_field;

/// What a frame says of the tank as a whole.
typedef struct tarn_stream_head {
    uint8_t kind;            ///< tarn_stream_kind
    uint8_t place_bits;      ///< 0..TARN_SET_BITS_MAX: a quantum is 1/2^place_bits of a cell
    uint8_t layer_count;     ///< 1..TARN_STREAM_LAYERS_MAX
    uint32_t flags;          ///< TARN_FRAME_FLAG_PAUSED, TARN_FRAME_FLAG_COLOURS
    uint32_t frame_bytes;    ///< with all layers
    uint32_t epoch;          ///< changes whenever the tank starts afresh (reset, scene, worker) or is set back
    uint64_t step;           ///< steps since the tank started afresh, <= TARN_FRAME_INTEGER_MAX
    double sim_time_s;       ///< simulated seconds since the tank started afresh, >= 0
    uint64_t server_time_us; ///< Unix time at which the step finished, <= TARN_FRAME_INTEGER_MAX
    float realtime_factor;   ///< simulated seconds per second, over the last second or so, >= 0; 1 keeps up
    uint32_t number;         ///< counts the frames of an epoch
    uint32_t reference;      ///< number of the frame that this one moves; of a key frame its own
    uint32_t interval_steps; ///< that the flow takes
    float interval_s;        ///< the same in simulated seconds, >= 0
    uint16_t cells[3];       ///< of the tank, 1..TARN_FRAME_CELLS_MAX
    uint16_t input_count;    ///< 0..TARN_FRAME_INPUTS_MAX
    float cell_m;            ///< edge of a cell, metres, > 0
    float orientation[4];    ///< unit quaternion x y z w (to 1 %): turns tank axes into the room's
    float gravity_m_s2[3];   ///< in tank axes, finite
    uint32_t flow_tiles;     ///< of the grid
    uint32_t flow_bytes;     ///< of its section
    uint32_t flow_tiles_max; ///< that there will be at most before the next key frame
    uint32_t body_count;     ///< 0..TARN_FRAME_BODIES_MAX
    uint16_t residual_step;  ///< what a particle's residual of 1 stands for, 1/1024 cell, 0..TARN_STREAM_STEP_MAX;
                             ///< 0: a quantum
    uint8_t flow_step;       ///< what a node's residual of 1 stands for, quanta; 0: one
    uint8_t channel;         ///< that particles have levels of, 1..TARN_FRAME_CHANNEL_MAX: 1 more than its place among
                             ///< the tank's; 0: none, and nothing of it takes a byte
    float channel_low;       ///< what the levels 0 and 255 stand for, finite, channel_low <= channel_high
    float channel_high;
    tarn_frame_body bodies[TARN_FRAME_BODIES_MAX];
    tarn_stream_layer layers[TARN_STREAM_LAYERS_MAX];
    tarn_stream_field field;
} tarn_stream_head;

/// An opened frame. Points into the caller's buffer, which must outlive it.
typedef struct tarn_stream_frame {
    tarn_stream_head head;
    const uint8_t *inputs; ///< the input table's bytes
    const uint8_t *flow;
    const uint8_t *coarse, *fine;                  ///< of the field; fine: NULL where it isn't there
    const uint8_t *layers[TARN_STREAM_LAYERS_MAX]; ///< of the layers that are there
    uint32_t layers_present;
} tarn_stream_frame;

/// The steps of a frame's residuals, 1 or more.
static inline int32_t tarn_stream_residual_step(const tarn_stream_head *head)
{
    return head->residual_step > 0 ? head->residual_step : 1 << (TARN_PLACE_BITS - head->place_bits);
}
static inline int32_t tarn_stream_flow_step(const tarn_stream_head *head)
{
    return head->flow_step > 0 ? head->flow_step : 1;
}

/// What a decoder has room for.
typedef struct tarn_stream_size {
    uint32_t slots, tiles, flow_tiles;  ///< particles, tiles of the tank, tiles of a grid
    uint32_t field_tiles, field_levels; ///< tiles of a field, levels of them all
} tarn_stream_size;

/// Particles as a decoder hands them out.
typedef struct tarn_stream_particles {
    uint16_t *positions;    ///< 4 per particle: x, y, z in 1/2^unit_bits cell (a particle sits in the middle of its
                            ///< unit), then the colour as red << 5 | green << 2 | blue, 0 where there are none, and
                            ///< above its 8 bits the level of the frame's channel, 0 where it carries none
    int8_t *velocities;     ///< 4 per particle: x, y, z in velocity_scale_m_s, then the layer
    uint32_t particles_max; ///< what both have room for
    uint32_t count;         ///< of the layers that were decoded
    uint32_t unit_bits;
    float velocity_scale_m_s;
} tarn_stream_particles;

typedef struct tarn_stream tarn_stream;

#ifdef __cplusplus
extern "C" {
#endif

/// Opens a frame that may be cut behind the field's coarse part and any layer: checks the header and the tables.
/// @return TARN_OK, TARN_E_TRUNCATED, TARN_E_MALFORMED, TARN_E_VERSION or TARN_E_LIMIT; *frame is set only on TARN_OK
tarn_status tarn_stream_open(const uint8_t *bytes, size_t byte_count, tarn_stream_frame *frame);

/// Entry `index` of the input table, index < head.input_count.
tarn_frame_input tarn_stream_input_at(const tarn_stream_frame *frame, uint32_t index);

/// Bytes of the head: header, bodies, input table, layer table.
size_t tarn_stream_head_bytes(const tarn_stream_head *head);

/// Writes the head, frame_bytes included; the sections follow it.
/// @param inputs  head->input_count entries; may be NULL when that is 0
/// @return TARN_OK, TARN_E_SPACE or TARN_E_ARGUMENT (tarn_stream_open would refuse it)
tarn_status tarn_stream_write_head(const tarn_stream_head *head, const tarn_frame_input *inputs, uint8_t *bytes,
                                   size_t bytes_max);

/// Bytes up to the end of layer `layers` - 1, where a frame may be cut: all that a viewer of so many layers is sent,
/// who doesn't look at the field's details; with one layer more than there are, all of the frame.
size_t tarn_stream_cut_bytes(const tarn_stream_head *head, uint32_t layers);

/// What decoding takes from a key frame on until the next one.
tarn_stream_size tarn_stream_size_of(const tarn_stream_frame *key);

/// Bytes of a decoder; SIZE_MAX where that is more than there can be.
size_t tarn_stream_bytes(const tarn_stream_size *size);

/// Makes a decoder in so many bytes, aligned to 16; it knows no frame yet.
tarn_stream *tarn_stream_make(void *memory, const tarn_stream_size *size);

/// Decodes a frame and hands out all particles of the layers that are there and were in the last key frame.
/// @return TARN_OK; TARN_E_STATE: its reference isn't the last key or base frame, the next key frame will do;
///         TARN_E_SPACE: more than there is room for, nothing has changed; TARN_E_MALFORMED: the decoder waits for the
///         next key frame
tarn_status tarn_stream_decode(tarn_stream *stream, const tarn_stream_frame *frame, tarn_stream_particles *particles);

/// The grid of the last decoded frame, for extrapolation. Valid until the next decode.
void tarn_stream_flow(const tarn_stream *stream, tarn_flow *flow);

/// Puts how fast that grid turns at each particle into the high byte of its position's fourth number, 255 at most,
/// whatever channel the frame carries.
/// @param particles  as tarn_stream_decode has filled them in
/// @param levels     of a curl of one per interval; finite, >= 0
void tarn_stream_show_curl(const tarn_stream *stream, float levels, tarn_stream_particles *particles);

/// The field of the last decoded frame in one plane of cells, as fine as it is there; without a field all zeros.
/// @param z       below cells[2]
/// @param levels  [cells[1]][cells[0]]
void tarn_stream_field_plane(const tarn_stream *stream, uint32_t z, uint8_t *levels);

#ifdef __cplusplus
}
#endif
#endif
