/// A session's newest frame, shared by all its viewers. Frames are received into one of two buffers while the other one
/// is served; a finished frame takes the other's place at once.
///
/// Two buffers suffice: a viewer is handed the newest frame when its socket takes it, in one write, and libwebsockets
/// keeps what the socket did not take. The bytes are the same for everybody; only the LWS_PRE bytes in front of them,
/// where each write puts its own WebSocket header, change.
#ifndef TARN_SERVER_GATEWAY_FANOUT_H
#define TARN_SERVER_GATEWAY_FANOUT_H

#include "protocol/frame.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tarn_fanout {
    uint8_t *buffers[2];
    int newest;      ///< index of the newest frame's buffer, or -1
    uint64_t serial; ///< of the newest frame; 0: none yet
    uint32_t epoch;
    uint64_t step;
    uint32_t frame_bytes;
} tarn_fanout;

void tarn_fanout_init(tarn_fanout *fanout);
void tarn_fanout_free(tarn_fanout *fanout);

/// Where to receive a frame of at most TARN_IPC_FRAME_BYTES_MAX; NULL without memory.
uint8_t *tarn_fanout_space(tarn_fanout *fanout);

/// Validates what was received there and makes it the newest frame.
/// @param frame  the opened frame, valid until the next but one
/// @return TARN_OK, TARN_E_STATE (it is of another epoch than this) or what tarn_frame_open returned; then the newest
///         frame stays
tarn_status tarn_fanout_take(tarn_fanout *fanout, uint32_t frame_bytes, uint32_t epoch, tarn_frame *frame);

/// Forgets the newest frame: the tank starts afresh.
void tarn_fanout_clear(tarn_fanout *fanout);

/// The newest frame's bytes, with LWS_PRE writable bytes in front; NULL where there is none.
uint8_t *tarn_fanout_newest(const tarn_fanout *fanout);

#endif
