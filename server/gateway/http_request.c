// What a request says of where it comes from, and by which name it asks.
#include "server/common/clock.h"
#include "server/common/log.h"
#include "server/gateway/http_inside.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

tarn_connection *tarn_http_connection(struct lws *wsi)
{
    return lws_get_opaque_user_data(wsi);
}

/// The allowed origin that a request names; NULL: none.
const char *tarn_http_named_origin(const tarn_gateway *gateway, struct lws *wsi)
{
    char origin[256];
    if (lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN) <= 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < gateway->options.origins.count; i++) {
        if (strcasecmp(origin, gateway->options.origins.texts[i]) == 0) {
            return gateway->options.origins.texts[i];
        }
    }
    return NULL;
}

/// Whether a request names this server as its host. Programs that speak HTTP/1.0 may name none; browsers always do.
bool tarn_http_host_is_own(tarn_gateway *gateway, struct lws *wsi)
{
    char host[TARN_REFUSED_ORIGIN_BYTES] = "(too long)";
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HOST) <= 0) {
        return true;
    }
    if (lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 &&
        tarn_reach_takes(&gateway->reach, host, lws_get_socket_fd(wsi))) {
        return true;
    }
    if (tarn_refused_origins_tell(&gateway->refused_hosts, host, tarn_clock_monotonic_ns())) {
        tarn_log_warn("a request for the host %s was refused; --name would allow it", host);
    }
    return false;
}

/// Whether an origin is this host's, with the scheme that a trusted proxy says the client used.
static bool is_own_origin(const tarn_gateway *gateway, struct lws *wsi, const char *origin, const char *host)
{
    static const char *const schemes[] = {"", "http://", "https://"};
    const tarn_connection *connection = tarn_http_connection(wsi);
    // Where TLS is the server's own, the same name without it may be anybody's on the way.
    const char *scheme =
        tarn_tls_covers(wsi)
            ? "https://"
            : schemes[tarn_proxies_scheme(&gateway->options.proxies, &connection->address, &connection->gate.head)];
    const char *origin_host = strstr(origin, "://");
    return origin_host != NULL && strcasecmp(origin_host + 3, host) == 0 &&
           strncasecmp(origin, scheme, strlen(scheme)) == 0;
}

/// Whether a page of this origin may connect: one of this server's, whose host was looked at before (host_is_own), or
/// of an --origin. Programs that are no browsers send no origin.
bool tarn_http_origin_is_allowed(tarn_gateway *gateway, struct lws *wsi)
{
    char origin[TARN_REFUSED_ORIGIN_BYTES], host[256];
    if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) <= 0) {
        return true;
    }
    if (lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN) <= 0) {
        return false;
    }
    if (lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 && is_own_origin(gateway, wsi, origin, host)) {
        return true;
    }
    if (tarn_http_named_origin(gateway, wsi) != NULL) {
        return true;
    }
    if (tarn_refused_origins_tell(&gateway->refused_origins, origin, tarn_clock_monotonic_ns())) {
        tarn_log_warn("a page of %s was refused; --origin would allow it", origin);
    }
    return false;
}

/// The key or the token that a request has; empty: none.
void tarn_http_read_pass(struct lws *wsi, tarn_pass pass)
{
    static const char bearer[] = "Bearer ";
    char text[sizeof bearer - 1 + sizeof(tarn_pass)] = "";
    pass[0] = 0;
    if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_HTTP_AUTHORIZATION) > 0 &&
        strncasecmp(text, bearer, sizeof bearer - 1) == 0) { // RFC 9110, 11.1
        snprintf(pass, sizeof(tarn_pass), "%s", text + sizeof bearer - 1 + strspn(text + sizeof bearer - 1, " "));
    }
}

bool tarn_http_is_get(struct lws *wsi)
{
    return lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0 || lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0;
}
