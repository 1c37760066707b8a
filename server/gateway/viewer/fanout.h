/// A session's newest frames, shared by all its viewers: what any of them may be sent next.
///
///     chain   key <- base <- base <- base     the newest TARN_FANOUT_CHAIN_MAX, since the last key frame
///     extra                          extra    the newest, if nothing came after it
///     still   key                             the last key frame, once the chain has left it behind
///
/// A viewer that has a frame of the chain goes on with the one behind it; who has none begins with the key frame, or
/// waits for the next one where it isn't kept any more. A key frame ends what came before. So a viewer may be late by
/// as many base frames as the chain is long, a quarter of a second, before it costs a key frame.
///
/// Key frames are rare: whoever comes to a tank of which a frame takes long looks at the still until there is another.
///
/// Buffers are not counted: a viewer is handed a frame when its socket takes it, in one write, and libwebsockets keeps
/// what the socket did not take. The bytes are the same for everybody; only the LWS_PRE bytes in front of them, where
/// each write puts its own WebSocket header, change.
#ifndef TARN_SERVER_GATEWAY_VIEWER_FANOUT_H
#define TARN_SERVER_GATEWAY_VIEWER_FANOUT_H

#include "protocol/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TARN_FANOUT_CHAIN_MAX = 8,
    TARN_FANOUT_BUFFERS = TARN_FANOUT_CHAIN_MAX + 3, ///< the extra frame's, the still, the one that is being received
    TARN_FANOUT_STILL_MS = 200,                      ///< between a chain's frames, from which on a still is shown
};

typedef struct tarn_fanout_frame {
    uint64_t serial; ///< counts what was received; 0: no frame
    uint64_t refers; ///< serial of the frame that it moves; 0: it needs no other
    tarn_stream_kind kind;
    uint32_t number; ///< the worker's
    uint32_t epoch;
    uint64_t step;
    uint64_t server_time_us; ///< the worker's
    uint32_t layer_count;
    uint32_t cut_bytes[TARN_STREAM_LAYERS_MAX]; ///< with so many layers and one more; with all of them all of it
    uint32_t plain_bytes;                       ///< with all of them, but without a field's details
    uint32_t particles[TARN_STREAM_LAYERS_MAX]; ///< the same
    int buffer;
} tarn_fanout_frame;

typedef struct tarn_fanout {
    uint8_t *buffers[TARN_FANOUT_BUFFERS];
    size_t rooms[TARN_FANOUT_BUFFERS]; ///< bytes of each
    int receiving;                     ///< the buffer that a frame is on its way to; -1: none is
    uint64_t serial;
    uint32_t chain_count;
    tarn_fanout_frame chain[TARN_FANOUT_CHAIN_MAX]; ///< oldest first
    tarn_fanout_frame extra;
    tarn_fanout_frame still;
} tarn_fanout;

/// What a frame says of its viewers' inputs.
typedef struct tarn_fanout_inputs {
    uint32_t count;
    tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX];
} tarn_fanout_inputs;

void tarn_fanout_init(tarn_fanout *fanout);
void tarn_fanout_free(tarn_fanout *fanout);

/// Forgets all frames and gives their memory back, but not the addresses.
void tarn_fanout_rest(tarn_fanout *fanout);

/// Where to receive a frame of so many bytes, 1..TARN_IPC_FRAME_BYTES_MAX.
/// @return NULL: there is no memory; the frame is to be received elsewhere and is left out
uint8_t *tarn_fanout_space(tarn_fanout *fanout, uint32_t frame_bytes);

/// Who was to fill what was handed out last no more does, since the tank has another worker: one that had begun a frame
/// of this tank before it was its own may yet end it, elsewhere.
void tarn_fanout_forget_begun(tarn_fanout *fanout);

/// Validates what was received there and makes it the newest frame.
/// @return TARN_OK; TARN_E_STATE: nothing was handed out for it, it is of another epoch than this, or moves a frame
/// that
///         isn't the newest of the chain, after which only a key frame goes on; or what opening it returned
tarn_status tarn_fanout_put(tarn_fanout *fanout, uint32_t frame_bytes, uint32_t epoch, tarn_fanout_inputs *inputs);

/// Forgets all frames: the tank starts afresh.
void tarn_fanout_clear(tarn_fanout *fanout);

/// The frame that a viewer is to be sent next: the newest that it can decode, but no frame of the chain is left out
/// that later ones refer to. None is older than what it was sent last; only the newest of all, where that is a key
/// frame, may be sent again.
/// @param reference    serial of the last key or base frame that it was sent; 0: none
/// @param sent         serial of the last frame that it was sent
/// @param skip_extras  without extra frames
/// @return NULL: there is none now
const tarn_fanout_frame *tarn_fanout_next(const tarn_fanout *fanout, uint64_t reference, uint64_t sent,
                                          bool skip_extras);

/// A key frame to look at for whoever has nothing and for whom there is nothing else.
/// @return NULL: there is none, or another will come soon enough
const tarn_fanout_frame *tarn_fanout_still(const tarn_fanout *fanout);

/// The frame that was taken last; there must be one.
const tarn_fanout_frame *tarn_fanout_newest(const tarn_fanout *fanout);

/// Whether the newest frame is a key frame.
bool tarn_fanout_newest_is_key(const tarn_fanout *fanout);

/// Whether nothing but a frame that is still to come can go on from a reference.
/// @param sent  as there
bool tarn_fanout_is_lost(const tarn_fanout *fanout, uint64_t reference, uint64_t sent);

/// A frame's bytes, with LWS_PRE writable bytes in front.
uint8_t *tarn_fanout_bytes(const tarn_fanout *fanout, const tarn_fanout_frame *frame);

#endif
