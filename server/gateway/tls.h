/// TLS on the server's port: which certificate is shown, and what else is agreed on with a browser. The connections
/// themselves are libwebsockets'.
///
/// Each handshake gets the newest pair, so another one takes over without ending a connection.
#ifndef TARN_SERVER_GATEWAY_TLS_H
#define TARN_SERVER_GATEWAY_TLS_H

#include "protocol/message.h"
#include "protocol/status.h"
#include "server/gateway/options.h"
#include "server/net/proxies.h"

#include <libwebsockets.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdint.h>

// ---- a pair ----
// A certificate, those that it was issued by, and its key: read from PEM files and checked before anything of it is
// used, so that a bad pair can be refused while another is being served.

enum {
    TARN_TLS_FINGERPRINT_BYTES = 96, ///< 32 times two digits, with colons between them, and a zero
    TARN_TLS_WARNINGS_MAX = 3,
};

typedef struct tarn_tls_pair {
    X509 *certificate;      ///< NULL: there is none
    STACK_OF(X509) * chain; ///< may be empty
    EVP_PKEY *key;
    bool is_self_signed;                          ///< or issued by nobody else: a browser asks before it goes on
    char fingerprint[TARN_TLS_FINGERPRINT_BYTES]; ///< SHA-256 of the certificate, as browsers show it
    uint32_t warning_count;
    tarn_text warnings[TARN_TLS_WARNINGS_MAX]; ///< sentences about what is odd and yet served
} tarn_tls_pair;

/// Reads a pair and checks that OpenSSL would serve it. Passwords are asked for by nobody: an encrypted key is refused.
/// @param certificate_file  PEM: the certificate first, then those that it was issued by
/// @param key_file          PEM; may be the same file
/// @param pair              made on success only; tarn_tls_pair_free gives it back
/// @param why               on failure a sentence with the file's name
/// @return TARN_OK, TARN_E_NOT_FOUND, TARN_E_IO, TARN_E_LIMIT, TARN_E_MALFORMED or TARN_E_MEMORY
tarn_status tarn_tls_pair_read(const char *certificate_file, const char *key_file, tarn_tls_pair *pair, tarn_text why);

/// Gives back what a pair holds. Takes one that holds nothing.
void tarn_tls_pair_free(tarn_tls_pair *pair);

/// Seconds until the certificate ends; negative: since then.
int64_t tarn_tls_pair_left_s(const tarn_tls_pair *pair);

// ---- what the server shows ----

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

// ---- one's own certificate ----
// A certificate that the server makes for itself, for a network where nobody issues one. It is kept in a folder: as
// long as it is the same, a browser that was told to go on remembers it.

/// Reads the pair that is kept in a folder, and makes another where there is none, it can't be read, it is about to end
/// or a name or an address isn't in it. ECDSA on P-256; the key's file is its owner's alone (0600).
/// @param folder  made where it is missing (0700), with those above it
/// @param names   that it must be good for
/// @param pair    made on success only; tarn_tls_pair_free gives it back
/// @param made    whether it is a new one
/// @param why     on failure a sentence
/// @return TARN_OK, TARN_E_IO, TARN_E_MEMORY or what tarn_tls_pair_read returns
tarn_status tarn_self_signed_open(const char *folder, const tarn_own_names *names, tarn_tls_pair *pair, bool *made,
                                  tarn_text why);

#endif
