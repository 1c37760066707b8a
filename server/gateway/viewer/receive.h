/// The receiving half of a viewer: what it may say when, and who is told.
#ifndef TARN_SERVER_GATEWAY_VIEWER_RECEIVE_H
#define TARN_SERVER_GATEWAY_VIEWER_RECEIVE_H

#include "server/gateway/viewer/viewer.h"

/// A piece of a message, as it arrives.
typedef struct tarn_viewer_piece {
    const uint8_t *bytes;
    size_t byte_count;
    uint64_t bytes_to_come; ///< of the same WebSocket frame, as its header declared
    int first, last;        ///< of the message
    int binary;
} tarn_viewer_piece;

void tarn_viewer_receive(tarn_viewer *viewer, const tarn_viewer_piece *piece);

/// The connection is gone.
void tarn_viewer_closed(tarn_viewer *viewer);

#endif
