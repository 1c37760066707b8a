/// The encoder of a tank's frames as a stream (protocol/stream.h): it runs on the tank's device, keeps there what
/// viewers have, and encodes each frame once however many watch. The same bytes come from every device and for any
/// number of threads.
///
/// An encoder belongs to its tank's thread and is destroyed before the tank. A tank has at most one.
#ifndef TARN_KERNELS_ENCODER_H
#define TARN_KERNELS_ENCODER_H

#include "kernels/tank.h"
#include "protocol/stream.h"

/// Frame values that the tank doesn't know.
typedef struct tarn_tank_frame_info {
    uint32_t epoch;
    uint32_t flags;
    uint64_t server_time_us;
    float realtime_factor;
    uint32_t input_count;
    const tarn_frame_input *inputs;
} tarn_tank_frame_info;

typedef struct tarn_encoder_desc {
    uint32_t place_bits; ///< 0..TARN_SET_BITS_MAX: a quantum is 1/2^place_bits of a cell
    uint32_t layers;     ///< 1..TARN_STREAM_LAYERS_MAX
    float base_slack;    ///< quanta that a base frame may leave a particle from its place, 0.5..8
    float extra_slack;   ///< the same of an extra frame
} tarn_encoder_desc;

typedef struct tarn_encoder tarn_encoder;

#ifdef __cplusplus
extern "C" {
#endif

/// Documented defaults: quanta of 1/16 cell, 4 layers, slacks of 0.75 and 1.5.
void tarn_encoder_desc_default(tarn_encoder_desc *desc);

/// @return TARN_OK, TARN_E_ARGUMENT, TARN_E_STATE (the tank has an encoder), TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tarn_encoder_create(tarn_tank *tank, const tarn_encoder_desc *desc, tarn_encoder **encoder);

/// Takes NULL.
void tarn_encoder_destroy(tarn_encoder *encoder);

/// Begins a frame of the tank's present state: what it wants of the tank is read before anything that is sent to the
/// tank from then on, and on a GPU all else is done beside the tank's next steps. The bytes are those of
/// tarn_encoder_encode, whatever the tank does meanwhile. Nothing else may be asked of the encoder until the frame is
/// finished or dropped, besides its number and bytes. Doesn't wait for the device, save where particles have come into
/// being in the tank.
/// @param info  need not outlive the call
/// @return TARN_OK, TARN_E_ARGUMENT or TARN_E_DEVICE: no frame has begun
tarn_status tarn_encoder_begin(tarn_encoder *encoder, tarn_stream_kind kind, const tarn_tank_frame_info *info);

/// Whether one has begun and is neither finished nor dropped.
bool tarn_encoder_is_begun(const tarn_encoder *encoder);

/// Whether what has begun can be finished without a wait.
bool tarn_encoder_is_done(tarn_encoder *encoder);

/// Waits for the frame and puts it together. @return as tarn_encoder_encode
tarn_status tarn_encoder_finish(tarn_encoder *encoder, uint8_t *bytes, size_t bytes_max, tarn_stream_head *head);

/// Nobody wants the frame that has begun, if any has: the next one is a key frame. Waits for it. Takes NULL.
void tarn_encoder_drop(tarn_encoder *encoder);

/// Begins a frame and finishes it. Where there is nothing to refer to (the tank was reset or loaded, or more came
/// into being than the last key frame promised) it is a key frame, whatever was asked for.
/// @param head  of the frame; where it may be cut is tarn_stream_cut_bytes
/// @return TARN_OK, TARN_E_ARGUMENT, TARN_E_SPACE (too few bytes, or more than TARN_SET_POINTS_MAX particles of a
///         layer in a tile; the next frame is a key frame) or TARN_E_DEVICE
tarn_status tarn_encoder_encode(tarn_encoder *encoder, tarn_stream_kind kind, const tarn_tank_frame_info *info,
                                uint8_t *bytes, size_t bytes_max, tarn_stream_head *head);

/// Frames to come carry a channel of the tank's model for all particles; until then, and without one, it takes neither
/// memory nor bytes. Its first call takes memory that stays as long as the encoder.
/// @param channel  1 more than its number; 0: none
/// @return TARN_OK, TARN_E_ARGUMENT (the model has no such channel that is carried) or TARN_E_MEMORY: nothing changes
tarn_status tarn_encoder_carry(tarn_encoder *encoder, uint32_t channel);

/// The same of a field of the tank's model, 1 more than its number; the next frame is a key frame where it is another
/// one than before.
tarn_status tarn_encoder_carry_field(tarn_encoder *encoder, uint32_t field);

/// The number of its newest frame; 0 before the first. Each frame's is one more than that of the one before.
uint32_t tarn_encoder_number(const tarn_encoder *encoder);

/// Goes on from the frame of another encoder that had this number: that of the tank that this one's state was saved
/// from. Before its first frame, which is a key frame.
void tarn_encoder_go_on(tarn_encoder *encoder, uint32_t number);

/// Bytes of device memory that it has taken at most.
uint64_t tarn_encoder_bytes(const tarn_encoder *encoder);

#ifdef __cplusplus
}
#endif
#endif
