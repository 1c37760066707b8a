/// libwebsockets on the gateway's loop: its context, its protocols, and from its callbacks to http and viewer.
#ifndef TARN_SERVER_GATEWAY_WEB_H
#define TARN_SERVER_GATEWAY_WEB_H

#include "protocol/message.h"
#include "protocol/status.h"

struct tarn_connection;
struct tarn_gateway;
struct tarn_viewer;

/// @param why  on failure a sentence
tarn_status tarn_web_open(struct tarn_gateway *gateway, tarn_text why);

/// Serves a connection that was accepted. Fits tarn_listener_start.
void tarn_web_adopt(void *gateway, int fd, struct tarn_connection *connection);

/// The same for one that came to a port without TLS beside one that has it: it is only told where to go.
void tarn_web_adopt_plain(void *gateway, int fd, struct tarn_connection *connection);

/// Ends a connection, when libwebsockets gets its turn. Fits tarn_listener_start.
void tarn_web_drop(struct tarn_connection *connection);

/// Closes what is left of all connections. The loop must run on for libwebsockets to let go of its handles; when it has
/// ended, a second call frees what versions from 4.3 on keep until then.
void tarn_web_close(struct tarn_gateway *gateway);

/// Shows a frame to viewers to whom one is due: writes it at once to every one whose socket takes bytes now, and asks
/// for the writable callback of the others. Not from inside a callback of libwebsockets.
/// @param viewer_count  0..TARN_VIEWERS_MAX
void tarn_web_show(struct tarn_viewer *const *viewers, uint32_t viewer_count);

#endif
