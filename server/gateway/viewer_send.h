/// The sending half of a viewer: which message is due next, and writing it.
#ifndef TARN_SERVER_GATEWAY_VIEWER_SEND_H
#define TARN_SERVER_GATEWAY_VIEWER_SEND_H

#include "server/gateway/viewer.h"

/// Whether there is a frame that this viewer has not got and may get now.
int tarn_viewer_frame_is_due(const tarn_viewer *viewer);

// The socketpair lets a worker say more than the protocol has words for. What viewers could not be told about the
// worker or about a tank is refused when it comes.
int tarn_viewer_can_tell_hello(const struct tarn_gateway *gateway);
int tarn_viewer_can_tell_state(const tarn_session_state *state);

#endif
