/// A WebSocket client for tests, on a raw socket: it can be as wrong as a test needs it to be. Every call waits at most
/// WS_CLIENT_WAIT_MS and never blocks for ever.
#ifndef TARN_TESTS_SERVER_WS_CLIENT_H
#define TARN_TESTS_SERVER_WS_CLIENT_H

#include "protocol/message.h"
#include "protocol/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_CLIENT_WAIT_MS = 60000, ///< generous: sanitizers and busy machines
    WS_CLIENT_BUFFER_BYTES = 8 << 20,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10,
    WS_CLOSE_ABNORMAL = 1006,
};

/// What tests look at of a frame.
typedef struct ws_frame {
    tarn_stream_kind kind;
    uint32_t epoch, flags, layers;
    uint64_t step, server_time_us;
    float realtime_factor;
    uint16_t cells[3];
    float orientation[4];
    uint32_t particle_count;
    uint32_t body_count;
    tarn_frame_body bodies[TARN_FRAME_BODIES_MAX];
    uint32_t input_count;
    tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX];
} ws_frame;

/// What decodes frames: it sees all that come.
typedef struct ws_decoder {
    void *memory;
    tarn_stream *stream;
    tarn_stream_particles particles; ///< of the newest frame
    tarn_status status;              ///< of decoding it
} ws_decoder;

typedef struct ws_client {
    int fd;
    uint8_t *buffer; ///< received and not yet taken
    size_t have;
    size_t taken;             ///< of the buffer, by the newest ws_client_next
    bool auto_ack;            ///< acknowledge frames as they come (default)
    bool is_blind;            ///< frames aren't decoded
    uint32_t sequence;        ///< of the newest input sent by the helpers
    uint32_t viewer_id;       ///< from joined
    tarn_session_state state; ///< the newest seen
    tarn_text told;           ///< the newest error that came, whatever was waited for
    ws_decoder decoder;
    uint16_t close_code; ///< once the server has closed; WS_CLOSE_ABNORMAL: the connection just ended
    char close_reason[128];
} ws_client;

/// Header lines that every request has besides, each with its end; "" unless a test names some.
extern const char *ws_client_headers;

/// One WebSocket message. Valid until the next call.
typedef struct ws_message {
    int opcode;
    const uint8_t *bytes;
    size_t byte_count;
} ws_message;

/// What makes connections, such as tls_connect; NULL: they are plain.
extern int (*ws_connect_by)(uint16_t port);

/// A connection, by ws_connect_by where that is set. @return a socket or -1
int ws_connect(uint16_t port);

/// A plain one in any case.
int ws_connect_plain(uint16_t port);

/// Sends bytes as they are. @return 0 or -1
int ws_send_raw(int fd, const void *bytes, size_t byte_count);

/// Connects and upgrades. NULL leaves a header out. @return the HTTP status; 101 opens the client, 0: no answer
int ws_client_open(ws_client *client, uint16_t port, const char *path, const char *subprotocol, const char *origin);
void ws_client_close(ws_client *client);

/// Sends one WebSocket frame, masked.
int ws_client_send(ws_client *client, int opcode, const void *bytes, size_t byte_count);

/// Sends a header only: what it declares is up to the test.
int ws_client_send_header(ws_client *client, uint8_t first_byte, uint64_t declared_bytes, bool masked);

/// Sends a message of tarn.v1.
int ws_client_tell(ws_client *client, const tarn_message *message);

/// The next WebSocket message. Answers pings; notes close codes and states. @return 1; 0: nothing came; -1: closed
int ws_client_next(ws_client *client, ws_message *message, int wait_ms);

/// Waits for a message of a kind, letting others go by. @return false: none came in time
bool ws_client_wait(ws_client *client, tarn_message_kind kind, tarn_message *message);

/// Waits for a frame, letting messages go by. @return false: none came in time
int ws_client_wait_frame(ws_client *client, ws_frame *frame);

/// Waits until the server closes. @return its close_code; 0: it stayed open
uint16_t ws_client_wait_close(ws_client *client);

// What most tests begin with.
int ws_client_hello(ws_client *client);
int ws_client_join(ws_client *client, const char *session);
int ws_client_join_by(ws_client *client, const char *session, const char *key);
/// open + hello + join; asserts.
void ws_client_enter(ws_client *client, uint16_t port);

int ws_client_control(ws_client *client, tarn_control_action action, const char *scene);
/// Sets the speed of the tank's clock.
int ws_client_speed(ws_client *client, float speed);
int ws_client_pointer(ws_client *client, tarn_phase phase, const float origin_m[3], const float direction[3],
                      float radius_m);
/// A pointer from above. @param at_m  x and z
int ws_client_point(ws_client *client, uint32_t pointer, tarn_tool tool, tarn_phase phase, const float at_m[2],
                    float radius_m);
int ws_client_parameter(ws_client *client, const char *name, float value);

/// Opens a frame. @return TARN_OK or why it isn't one
tarn_status ws_frame_open(const uint8_t *bytes, size_t byte_count, ws_frame *frame);

/// Mean velocity of the particles of the client's newest frame, metres per second; asserts that it was decoded.
void ws_client_velocity(const ws_client *client, double velocity_m_s[3]);

#endif
