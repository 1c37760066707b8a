/// A viewer that decodes the stream of frames, on a ws_client.
#ifndef TARN_TESTS_SERVER_STREAM_CLIENT_H
#define TARN_TESTS_SERVER_STREAM_CLIENT_H

#include "protocol/stream.h"
#include "tests/server/ws_client.h"

#include <stdbool.h>

typedef struct stream_client {
    ws_client ws;                    ///< its auto_ack says whether frames are acknowledged as they come
    tarn_stream_particles particles; ///< the decoder's
    tarn_stream_frame frame;         ///< the newest; its bytes are valid until the next
    const uint8_t *bytes;
    size_t byte_count;
    tarn_status status; ///< of decoding it
    bool wants_key;     ///< its acknowledgements say so
} stream_client;

/// Opens, says hello and joins; asserts.
void stream_client_enter(stream_client *client, uint16_t port);
void stream_client_close(stream_client *client);

/// Waits for a frame and decodes it, letting messages go by; asserts that it opens. @return false: none came in time
bool stream_client_next(stream_client *client, int wait_ms);

/// The same; asserts that one comes and decodes.
void stream_client_see(stream_client *client);

/// Acknowledges the newest frame.
void stream_client_ack(stream_client *client);

#endif
