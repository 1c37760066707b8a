/// The sending half of a viewer: which message is due next, and writing it.
#ifndef TARN_SERVER_GATEWAY_VIEWER_SEND_H
#define TARN_SERVER_GATEWAY_VIEWER_SEND_H

#include "server/gateway/viewer/viewer.h"

/// Writes one message or frame. @return 0, or -1: the connection ends now
int tarn_viewer_writable(tarn_viewer *viewer);

#endif
