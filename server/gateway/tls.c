// The pair isn't given to the context of the connections but to each connection when its client says hello: OpenSSL
// keeps a pair for each kind of key, so that after a change from RSA to ECDSA a context would go on showing the old
// one, too.
#include "server/gateway/tls.h"
#include "server/common/log.h"
#include "server/gateway/self_signed.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

static void tell_warnings(const tarn_tls_pair *pair)
{
    for (uint32_t i = 0; i < pair->warning_count; i++) {
        tarn_log_warn("%s", pair->warnings[i]);
    }
}

static tarn_status read_pair(const tarn_gateway_options *options, tarn_tls_pair *pair, tarn_text why)
{
    if (!options->tls_self_signed) {
        return tarn_tls_pair_read(options->tls_certificate, options->tls_key, pair, why);
    }
    tarn_own_names names;
    bool made;
    tarn_own_names_find(options->host, &names);
    for (uint32_t i = 0; i < options->names.count; i++) {
        tarn_own_names_add(options->names.texts[i], &names);
    }
    const tarn_status status = tarn_self_signed_open(options->tls_dir, &names, pair, &made, why);
    if (status == TARN_OK && made) {
        tarn_log_info("a self-signed certificate was made in %s, for %u names and %u addresses", options->tls_dir,
                      names.name_count, names.address_count);
    }
    return status;
}

/// HTTP Strict Transport Security (RFC 6797), but not with a self-signed certificate: a browser that knows this header
/// lets nobody go on past a certificate that it doesn't trust. Whoever trusted this one by import would be locked out
/// when it is made anew. 0 takes back what another certificate promised.
static void set_hsts(tarn_tls *tls)
{
    snprintf(tls->hsts_value, sizeof tls->hsts_value, "max-age=%d",
             tls->pair.is_self_signed ? 0 : TARN_GATEWAY_TLS_HSTS_S);
}

tarn_status tarn_tls_open(tarn_tls *tls, const tarn_gateway_options *options, tarn_text why)
{
    if (options->tls_certificate == NULL && !options->tls_self_signed) {
        return TARN_OK;
    }
    const tarn_status status = read_pair(options, &tls->pair, why);
    if (status == TARN_OK) {
        tls->options = options;
        tell_warnings(&tls->pair);
        set_hsts(tls);
    }
    return status;
}

void tarn_tls_reload(tarn_tls *tls)
{
    tarn_tls_pair pair;
    tarn_text why;
    if (read_pair(tls->options, &pair, why) != TARN_OK) {
        tarn_log_error("the certificate stays as it was: %s", why);
        return;
    }
    tell_warnings(&pair);
    tarn_log_info("the certificate was read again, new connections get it; SHA-256 %s", pair.fingerprint);
    tarn_tls_pair_free(&tls->pair);
    tls->pair = pair;
    set_hsts(tls);
}

void tarn_tls_close(tarn_tls *tls)
{
    tarn_tls_pair_free(&tls->pair);
    tls->options = NULL;
}

bool tarn_tls_is_on(const tarn_tls *tls)
{
    return tls->options != NULL;
}

void tarn_tls_describe(tarn_tls *tls, struct lws_context_creation_info *info)
{
    if (!tarn_tls_is_on(tls)) {
        return;
    }
    info->options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    info->options |= LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX;
    // Requests without TLS are let through to be answered with where to go (redirect.h).
    info->options |= LWS_SERVER_OPTION_ALLOW_NON_SSL_ON_SSL_PORT;
    info->options |= LWS_SERVER_OPTION_ALLOW_HTTP_ON_HTTPS_LISTENER;
    if (!tls->options->tls_self_signed) {
        tls->hsts.name = "strict-transport-security:";
        tls->hsts.value = tls->hsts_value;
        info->headers = &tls->hsts;
    }
}

static int on_client_hello(SSL *connection, int *alert, void *user)
{
    const tarn_tls_pair *pair = &((tarn_tls *)user)->pair;
    // Else each call would send one record of 16 KiB of a frame, and libwebsockets copy the rest.
    SSL_clear_mode(connection, SSL_MODE_ENABLE_PARTIAL_WRITE);
    if (SSL_use_cert_and_key(connection, pair->certificate, pair->key, pair->chain, 1) == 1) {
        return SSL_CLIENT_HELLO_SUCCESS;
    }
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_CLIENT_HELLO_ERROR;
}

void tarn_tls_set_up(tarn_tls *tls, SSL_CTX *context)
{
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    // No session is resumed: each connection shows the certificate that is served, and none is kept in memory.
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_client_hello_cb(context, on_client_hello, tls);
}

bool tarn_tls_covers(struct lws *wsi)
{
    return lws_get_ssl(wsi) != NULL;
}

void tarn_tls_end(struct lws *wsi)
{
    const int ended = SSL_shutdown(lws_get_ssl(wsi));
    (void)ended; // 0 as long as the peer hasn't said the same; a peer that is gone learns nothing either
}

void tarn_tls_write_json(const tarn_tls *tls, char *text, size_t text_bytes)
{
    if (tarn_tls_is_on(tls)) {
        snprintf(text, text_bytes, "{\"self_signed\": %s, \"sha256\": \"%s\"}\n",
                 tls->pair.is_self_signed ? "true" : "false", tls->pair.fingerprint);
    } else {
        snprintf(text, text_bytes, "{\"self_signed\": false, \"sha256\": null}\n");
    }
}
