/// TLS on the server's port: which certificate is shown, and what else is agreed on with a browser. The connections
/// themselves are libwebsockets'.
///
/// Each handshake gets the newest pair, so another one takes over without ending a connection.
#ifndef TARN_SERVER_GATEWAY_TLS_H
#define TARN_SERVER_GATEWAY_TLS_H

#include "server/gateway/gateway_options.h"
#include "server/gateway/tls_pair.h"

#include <libwebsockets.h>

typedef struct tarn_tls {
    const tarn_gateway_options *options; ///< NULL: the server speaks no TLS
    tarn_tls_pair pair;
    struct lws_protocol_vhost_options hsts;
    char hsts_value[32];
} tarn_tls;

/// Reads the pair that the options name, or the server's own; does nothing where they name none.
/// @param tls  zeroed; keeps the options
/// @param why  on failure a sentence
tarn_status tarn_tls_open(tarn_tls *tls, const tarn_gateway_options *options, tarn_text why);

/// Reads the pair again. One that can't be served changes nothing; the log says why.
void tarn_tls_reload(tarn_tls *tls);

/// Gives back what it holds; connections go on. Takes one that was never opened.
void tarn_tls_close(tarn_tls *tls);

bool tarn_tls_is_on(const tarn_tls *tls);

/// What libwebsockets needs to know of it to make a host. Call it before the host is made.
void tarn_tls_describe(tarn_tls *tls, struct lws_context_creation_info *info);

/// Sets up the context of a host's connections. For LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS.
void tarn_tls_set_up(tarn_tls *tls, SSL_CTX *context);

/// Whether a connection is encrypted.
bool tarn_tls_covers(struct lws *wsi);

/// Tells the peer of an encrypted connection that nothing more will be sent. What it sends can still be read.
void tarn_tls_end(struct lws *wsi);

/// What pages are told of the certificate, as JSON. @param text_bytes  at least 160
void tarn_tls_write_json(const tarn_tls *tls, char *text, size_t text_bytes);

#endif
