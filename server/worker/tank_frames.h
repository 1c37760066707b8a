/// The frames of one tank: which come when, and how they are encoded. Of two versions, chosen when the worker starts:
///
///     2    a stream (protocol/stream.h) by the plan of frame_plan.h; viewers hold what earlier frames told
///     1    whole frames (protocol/frame.h), each for itself; all of it is in tank_frames_whole.c
#ifndef TARN_SERVER_WORKER_TANK_FRAMES_H
#define TARN_SERVER_WORKER_TANK_FRAMES_H

#include "kernels/encoder.h"
#include "server/worker/frame_plan.h"

typedef struct tarn_tank_frames {
    uint32_t version;
    tarn_encoder *encoder; ///< of the stream
    tarn_frame_plan plan;
} tarn_tank_frames;

/// Makes what encodes a tank's frames. @return TARN_OK, TARN_E_MEMORY or TARN_E_DEVICE; then there is nothing to free
tarn_status tarn_tank_frames_init(tarn_tank_frames *frames, tarn_tank *tank, uint32_t version);

/// Before the tank is destroyed. Takes one that is all zeros.
void tarn_tank_frames_free(tarn_tank_frames *frames);

/// The tank starts afresh, or was set back.
void tarn_tank_frames_start(tarn_tank_frames *frames, uint64_t period_ns);

/// Somebody needs a frame that he can decode by itself.
void tarn_tank_frames_ask(tarn_tank_frames *frames);

/// As tarn_frame_plan_next.
int tarn_tank_frames_next(const tarn_tank_frames *frames, const tarn_frame_moment *moment, tarn_stream_kind *kind);

/// As tarn_frame_plan_due_ns.
uint64_t tarn_tank_frames_due_ns(const tarn_tank_frames *frames, uint64_t step, uint64_t wanted_ns);

/// Encodes the tank's present state.
/// @param kind  what was planned; then what it is
/// @return TARN_OK or what the encoder returned
tarn_status tarn_tank_frames_encode(tarn_tank_frames *frames, tarn_tank *tank, const tarn_tank_frame_info *info,
                                    tarn_stream_kind *kind, uint8_t *bytes, size_t bytes_max, size_t *byte_count);

/// Bytes of device memory that it takes.
uint64_t tarn_tank_frames_bytes(const tarn_tank_frames *frames);

// Version 1: every frame comes when the rate asks for it, and may be left out.
tarn_status tarn_tank_frames_whole_encode(tarn_tank *tank, const tarn_tank_frame_info *info, tarn_stream_kind *kind,
                                          uint8_t *bytes, size_t bytes_max, size_t *byte_count);
int tarn_tank_frames_whole_next(const tarn_frame_moment *moment, tarn_stream_kind *kind);

#endif
