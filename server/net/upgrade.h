/// What libwebsockets doesn't look at before it begins a WebSocket, and gives up amid, when it tells a protocol that a
/// connection is closed which it never opened.
#ifndef TARN_SERVER_NET_UPGRADE_H
#define TARN_SERVER_NET_UPGRADE_H

#include <libwebsockets.h>
#include <string.h>

enum {
    TARN_WS_KEY_BYTES = 24,             ///< 16 bytes in base64 (RFC 6455, 4.1)
    TARN_WS_EXTENSIONS_BYTES_MAX = 200, ///< browsers offer 42
};

/// @return NULL, or a sentence for a request to upgrade that is answered with 400
static inline const char *tarn_ws_upgrade_fault(struct lws *wsi)
{
    char key[TARN_WS_KEY_BYTES + 1];
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HOST) <= 0) {
        return "Host is missing";
    }
    if (lws_hdr_total_length(wsi, WSI_TOKEN_KEY) != TARN_WS_KEY_BYTES ||
        lws_hdr_copy(wsi, key, sizeof key, WSI_TOKEN_KEY) != TARN_WS_KEY_BYTES ||
        strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") != TARN_WS_KEY_BYTES - 2 ||
        strcmp(key + TARN_WS_KEY_BYTES - 2, "==") != 0) {
        return "Sec-WebSocket-Key: allowed are 16 bytes in base64";
    }
    if (lws_hdr_total_length(wsi, WSI_TOKEN_EXTENSIONS) > TARN_WS_EXTENSIONS_BYTES_MAX) {
        return "Sec-WebSocket-Extensions: allowed are at most 200 bytes";
    }
    return NULL;
}

#endif
