/// What a session's stream takes, and so what of it fits below a viewer's ceilings. Pure; the caller brings the
/// monotonic time. Levels are viewer_rate.h's.
#ifndef TARN_SERVER_GATEWAY_STREAM_TRAFFIC_H
#define TARN_SERVER_GATEWAY_STREAM_TRAFFIC_H

#include "protocol/message.h"
#include "server/gateway/fanout.h"

enum { TARN_STREAM_TRAFFIC_MS = 2000, TARN_STREAM_TRAFFIC_MS_MIN = 500 }; ///< measured over, at most twice as long

#define TARN_STREAM_TRAFFIC_EXTRAS_MIN 0.1 ///< share of the extra frames below which there are none

typedef struct tarn_stream_traffic_span {
    uint64_t start_ns;
    uint32_t chain_frames, extra_frames;                ///< chain: key and base frames
    uint64_t key_bytes[TARN_STREAM_LAYERS_MAX];         ///< with so many layers and one more
    uint64_t chain_bytes[TARN_STREAM_LAYERS_MAX];       ///< the same
    uint64_t extra_bytes;                               ///< with all layers: nobody gets fewer of these
    uint64_t key_details, chain_details, extra_details; ///< of a field, for who asks for one and gets all layers
} tarn_stream_traffic_span;

typedef struct tarn_stream_traffic {
    uint32_t layer_count;                       ///< 0: nothing has come yet
    uint32_t particles[TARN_STREAM_LAYERS_MAX]; ///< of the newest frame, with so many layers and one more
    tarn_stream_traffic_span spans[2];          ///< the one before, and this one
} tarn_stream_traffic;

/// The most that a viewer's ceilings leave it.
typedef struct tarn_stream_share {
    uint32_t level;      ///< of viewer_rate.h; UINT32_MAX: everything
    int keys_only;       ///< even the chain with one layer is too much
    uint64_t spacing_ns; ///< of extra frames to what was sent before; 0: any
} tarn_stream_share;

/// Forgets everything: another stream begins.
void tarn_stream_traffic_init(tarn_stream_traffic *traffic);

/// A frame came.
void tarn_stream_traffic_note(tarn_stream_traffic *traffic, const tarn_fanout_frame *frame, uint64_t now_ns);

/// What fits below ceilings. Where the stream is too young to tell, the ceilings of bytes and frames don't count yet.
tarn_stream_share tarn_stream_traffic_share(const tarn_stream_traffic *traffic, const tarn_view *view, uint64_t now_ns);

#endif
