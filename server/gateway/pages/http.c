// Which answer a path gets, and its way out in pieces as the socket takes them: start at tarn_http_request.
#include "server/gateway/pages/http.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/gateway.h"
#include "server/gateway/pages/scenes.h"
#include "server/gateway/pages/status.h"
#include "server/gateway/pages/uploads.h"
#include "server/gateway/session/uploads.h"
#include "server/net/addresses.h"
#include "server/scene/scene.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <zlib.h>

// ---- what a request says of itself ----
// What a request says of where it comes from, and by which name it asks.

static tarn_connection *connection_of(struct lws *wsi)
{
    return lws_get_opaque_user_data(wsi);
}

/// The allowed origin that a request names; NULL: none.
static const char *named_origin(const tarn_gateway *gateway, struct lws *wsi)
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
static bool host_is_own(tarn_gateway *gateway, struct lws *wsi)
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
    const tarn_connection *connection = connection_of(wsi);
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
static bool origin_is_allowed(tarn_gateway *gateway, struct lws *wsi)
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
    if (named_origin(gateway, wsi) != NULL) {
        return true;
    }
    if (tarn_refused_origins_tell(&gateway->refused_origins, origin, tarn_clock_monotonic_ns())) {
        tarn_log_warn("a page of %s was refused; --origin would allow it", origin);
    }
    return false;
}

/// The key or the token that a request has; empty: none.
static void read_pass(struct lws *wsi, tarn_pass pass)
{
    static const char bearer[] = "Bearer ";
    char text[sizeof bearer - 1 + sizeof(tarn_pass)] = "";
    pass[0] = 0;
    if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_HTTP_AUTHORIZATION) > 0 &&
        strncasecmp(text, bearer, sizeof bearer - 1) == 0) { // RFC 9110, 11.1
        snprintf(pass, sizeof(tarn_pass), "%s", text + sizeof bearer - 1 + strspn(text + sizeof bearer - 1, " "));
    }
}

static bool is_get(struct lws *wsi)
{
    return lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0 || lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0;
}

/// Whether a Host header names an address or this machine itself, rather than a name that somebody's DNS made up.
static bool host_is_plain(const char *host)
{
    char name[256];
    snprintf(name, sizeof name, "%s", host[0] == '[' ? host + 1 : host);
    char *end = host[0] == '[' ? strchr(name, ']') : strrchr(name, ':');
    if (end != NULL) {
        *end = '\0';
    }
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1 ||
           strcasecmp(name, "localhost") == 0;
}

/// Whether a request comes from a program on this machine, for nobody elsewhere.
static bool is_operator(struct lws *wsi)
{
    const tarn_connection *connection = connection_of(wsi);
    char host[256];
    return tarn_address_is_loopback(&connection->address) && !connection->gate.head.is_proxied &&
           lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 && host_is_plain(host);
}

/// The bytes of the body as declared; -1: they aren't.
static long declared_bytes(struct lws *wsi)
{
    char text[16], *end;
    if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0) {
        return -1;
    }
    const long count = strtol(text, &end, 10);
    return *end || end == text ? -1 : count;
}

static bool is_json(struct lws *wsi)
{
    static const char json[] = "application/json";
    char type[64];
    return lws_hdr_copy(wsi, type, sizeof type, WSI_TOKEN_HTTP_CONTENT_TYPE) > 0 &&
           strncasecmp(type, json, sizeof json - 1) == 0 && strchr("; ", type[sizeof json - 1]) != NULL;
}

// ---- the way out of an answer ----
// Its headers, which keep a page to itself, and its bytes in pieces as the socket takes them. Start at respond. What
// returns int returns what the libwebsockets callback is to return, here and below.

// Where answers are put together: one thread makes one at a time.
static tarn_session_answer json_answer;
static char scratch[TARN_GATEWAY_HTTP_TEXT_BYTES_MAX];

typedef struct header_writer {
    struct lws *wsi;
    uint8_t *start, *at, *end;
    int failed;
} header_writer;

// A page may load and connect to nothing but this server. 'wasm-unsafe-eval' lets it compile the codec; styles may
// be set from scripts.
#define POLICY                                                                                                         \
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "                     \
    "img-src 'self' data: blob:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; "    \
    "frame-ancestors 'none'; connect-src 'self'"

static const char *const page_headers[][2] = {
    {"cross-origin-opener-policy:", "same-origin"},
    {"cross-origin-embedder-policy:", "require-corp"},
    {"cross-origin-resource-policy:", "same-origin"},
    {"x-content-type-options:", "nosniff"},
    {"referrer-policy:", "no-referrer"},
};

static void add_header(header_writer *writer, const char *name, const char *value)
{
    writer->failed |=
        lws_add_http_header_by_name(writer->wsi, (const unsigned char *)name, (const unsigned char *)value,
                                    (int)strlen(value), &writer->at, writer->end);
}

/// Adds the policy. Not every browser takes 'self' to mean WebSockets too, so the host is named for them, unless it is
/// an address in brackets: a policy can't name one, and browsers complain of each.
static void add_policy(header_writer *writer)
{
    char host[128], policy[sizeof POLICY + 2 * sizeof host + 32];
    int length = lws_hdr_copy(writer->wsi, host, sizeof host, WSI_TOKEN_HOST);
    size_t plain = length > 0 ? strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-") : 0;
    if (plain > 0 && host[plain] == 0) {
        snprintf(policy, sizeof policy, "%s ws://%s wss://%s", POLICY, host, host);
    } else {
        snprintf(policy, sizeof policy, "%s", POLICY);
    }
    add_header(writer, "content-security-policy:", policy);
}

/// Puts the reason into the status line where libwebsockets knows none and leaves it empty.
static void add_reason(header_writer *writer, unsigned status)
{
    const char *reason = status == 201   ? "Created"
                         : status == 202 ? "Accepted"
                         : status == 411 ? "Length Required"
                         : status == 413 ? "Content Too Large"
                         : status == 414 ? "URI Too Long"
                         : status == 415 ? "Unsupported Media Type"
                         : status == 417 ? "Expectation Failed"
                         : status == 421 ? "Misdirected Request"
                         : status == 426 ? "Upgrade Required"
                         : status == 429 ? "Too Many Requests"
                         : status == 431 ? "Request Header Fields Too Large"
                         : status == 505 ? "HTTP Version Not Supported"
                                         : "";
    const size_t bytes = strlen(reason);
    uint8_t *end = memchr(writer->start, '\r', (size_t)(writer->at - writer->start));
    if (end == NULL || end[-1] != ' ' || (size_t)(writer->end - writer->at) < bytes) {
        return;
    }
    memmove(end + bytes, end, (size_t)(writer->at - end));
    for (size_t i = 0; i < bytes; i++) {
        end[i] = (uint8_t)reason[i];
    }
    writer->at += bytes;
}

/// Sends status and headers; the body follows from go_on.
static int begin(const tarn_http_response *response, struct lws *wsi, unsigned status, const char *type,
                 const char *etag, const char *cache)
{
    uint8_t bytes[LWS_PRE + 2048];
    header_writer writer = {wsi, bytes + LWS_PRE, bytes + LWS_PRE, bytes + sizeof bytes - 1, 0};
    writer.failed = lws_add_http_common_headers(wsi, status, type, response->byte_count, &writer.at, writer.end);
    add_reason(&writer, status);
    add_policy(&writer);
    for (size_t i = 0; i < sizeof page_headers / sizeof page_headers[0]; i++) {
        add_header(&writer, page_headers[i][0], page_headers[i][1]);
    }
    add_header(&writer, "cache-control:", cache);
    if (response->is_scene || response->varies) {
        add_header(&writer, "vary:",
                   !response->varies    ? "origin"
                   : response->is_scene ? "origin, accept-encoding"
                                        : "accept-encoding");
    }
    if (response->encoding != NULL && status == 200) {
        add_header(&writer, "content-encoding:", response->encoding);
    }
    if (response->is_scene && response->shared_with != NULL) { // a page that may connect from elsewhere draws them, too
        add_header(&writer, "access-control-allow-origin:", response->shared_with);
    }
    if (etag != NULL) {
        add_header(&writer, "etag:", etag);
    }
    if (status == 405) {
        add_header(&writer, "allow:", response->allows);
    }
    if (status == 503) {
        add_header(&writer, "retry-after:", "5");
    }
    if (status == 426) {
        add_header(&writer, "upgrade:", "websocket");
        add_header(&writer, "sec-websocket-version:", "13");
    }
    return writer.failed || lws_finalize_write_http_header(wsi, writer.start, &writer.at, writer.end) ? -1 : 0;
}

void tarn_http_release(tarn_http_response *response)
{
    if (response == NULL) {
        return;
    }
    tarn_scene_page_close(response->scene_page);
    response->scene_page = NULL;
    tarn_upload_close(response->upload);
    response->upload = NULL;
    tarn_session_telling_leave(&response->telling);
    free(response->made);
    response->made = NULL;
    response->byte_count = 0;
}

/// Where the connection ends, it does a little later (net/gate.h): at once, with bytes that nobody has read, it might
/// overtake the answer.
static int complete(tarn_http_response *response, struct lws *wsi)
{
    tarn_gate *gate = &connection_of(wsi)->gate;
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const bool ends = response->ends || gate->is_overrun;
    tarn_http_release(response);
    if (!ends) {
        tarn_gate_answered(gate, now_ns);
        return lws_http_transaction_completed(wsi) ? -1 : 0;
    }
    tarn_gate_linger(gate, now_ns);
    lws_rx_flow_control(wsi, 0); // it doesn't read behind an answer, and would be woken by what comes again and again
    if (!lws_partial_buffered(wsi)) {
        if (tarn_tls_covers(wsi)) {
            tarn_tls_end(wsi);
        }
        shutdown(gate->fd, SHUT_WR);
    }
    return 0;
}

/// Goes on with an answer that is on its way.
static int go_on(tarn_http_response *response, struct lws *wsi)
{
    static uint8_t chunk[LWS_PRE + TARN_GATEWAY_HTTP_CHUNK_BYTES];
    if (response->byte_count == 0) {
        return 0;
    }
    if (response->scene_page != NULL && response->scene_page->is_gone) {
        return -1;
    }
    size_t left = response->byte_count - response->sent;
    size_t count = left < TARN_GATEWAY_HTTP_CHUNK_BYTES ? left : TARN_GATEWAY_HTTP_CHUNK_BYTES;
    memcpy(chunk + LWS_PRE, response->bytes + response->sent, count);
    enum lws_write_protocol kind = count == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP;
    if (lws_write(wsi, chunk + LWS_PRE, count, kind) != (int)count) {
        return -1;
    }
    response->sent += count;
    if (count == left) {
        return complete(response, wsi);
    }
    lws_callback_on_writable(wsi);
    return 0;
}

static int respond(tarn_http_response *response, struct lws *wsi, unsigned status, const char *type, const char *etag,
                   const char *cache)
{
    bool is_head = lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0;
    response->ends |= status == 405;
    tarn_gate_answers(&connection_of(wsi)->gate, response->byte_count, tarn_clock_monotonic_ns());
    if (begin(response, wsi, status, type, etag, cache)) {
        return -1;
    }
    if (is_head || response->byte_count == 0) {
        return complete(response, wsi);
    }
    response->sent = 0;
    if (response->byte_count <= TARN_GATEWAY_HTTP_SMALL_BYTES) {
        return go_on(response, wsi);
    }
    lws_callback_on_writable(wsi);
    return 0;
}

/// Responds with a copy of a text.
static int respond_made(tarn_http_response *response, struct lws *wsi, unsigned status, const char *type,
                        const char *text, size_t text_bytes)
{
    response->made = malloc(text_bytes);
    if (response->made == NULL) {
        return -1;
    }
    memcpy(response->made, text, text_bytes);
    response->bytes = response->made;
    response->byte_count = text_bytes;
    return respond(response, wsi, status, type, NULL, "no-store");
}

static int respond_text(tarn_http_response *response, struct lws *wsi, unsigned status, const char *text)
{
    char line[1024];
    const int length = snprintf(line, sizeof line, "%s\n", text);
    const size_t bytes = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
    return respond_made(response, wsi, status, "text/plain; charset=utf-8", line, bytes);
}

static bool client_has(struct lws *wsi, const char *etag)
{
    char found[256];
    return lws_hdr_copy(wsi, found, sizeof found, WSI_TOKEN_HTTP_IF_NONE_MATCH) > 0 &&
           (strcmp(found, "*") == 0 || strstr(found, etag) != NULL);
}

/// Puts bytes, compressed, in the place of those that are sent. @return false: they stay as they are
static bool gzip(tarn_http_response *response, const uint8_t *bytes, size_t byte_count)
{
    z_stream stream = {0};
    const int gzip_window_bits = 15 + 16;
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return false;
    }
    const size_t room = deflateBound(&stream, (uLong)byte_count);
    uint8_t *made = malloc(room);
    stream.next_in = (uint8_t *)(uintptr_t)bytes; // of which zlib changes none
    stream.avail_in = (uInt)byte_count;
    stream.next_out = made;
    stream.avail_out = (uInt)room;
    const bool is_done = made != NULL && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    deflateEnd(&stream);
    if (!is_done) {
        free(made);
        return false;
    }
    free(response->made);
    response->made = made;
    response->bytes = made;
    response->byte_count = stream.total_out;
    return true;
}

/// Whether something of this type and size is compressed when it is asked for.
static bool is_gzipped(const char *type, size_t byte_count)
{
    return byte_count >= TARN_GATEWAY_GZIP_BYTES_MIN && byte_count <= TARN_GATEWAY_GZIP_BYTES_MAX &&
           (strncmp(type, "text/", 5) == 0 || strcmp(type, "application/json") == 0);
}

static int respond_page(tarn_http_response *response, struct lws *wsi, const tarn_page *page)
{
    static const char *const encodings[TARN_CODING_COUNT] = {"br", "gzip", NULL};
    const char *cache = page->immutable ? "public, max-age=31536000, immutable" : "no-cache";
    // What was made beforehand is the best there is; scenes are read anew each time.
    const bool gzips = page->path == NULL && is_gzipped(page->type, page->byte_count);
    bool has[TARN_CODING_COUNT] = {[TARN_CODING_GZIP] = gzips, [TARN_CODING_IDENTITY] = true};
    for (int i = 0; i < TARN_CODING_IDENTITY; i++) {
        has[i] |= page->compressed[i].bytes != NULL;
    }
    response->varies = has[TARN_CODING_BROTLI] || has[TARN_CODING_GZIP];
    const tarn_coding coding = tarn_http_head_coding(&connection_of(wsi)->gate.head, has);
    if (coding == TARN_CODING_COUNT) {
        return respond_text(response, wsi, 406,
                            response->varies ? "this file comes as br, gzip or identity"
                                             : "this file comes as identity alone");
    }
    const tarn_page_form *form = coding == TARN_CODING_IDENTITY || gzips ? NULL : &page->compressed[coding];
    tarn_page_etag etag;
    memcpy(etag, form != NULL ? form->etag : page->etag, sizeof etag);
    if (gzips && coding == TARN_CODING_GZIP) {
        snprintf(etag + strlen(etag) - 1, 5, "-gz\"");
    }
    if (client_has(wsi, etag)) {
        response->byte_count = 0;
        return respond(response, wsi, 304, page->type, etag, cache);
    }
    response->bytes = form != NULL ? form->bytes : page->bytes;
    response->byte_count = form != NULL ? form->byte_count : page->byte_count;
    response->encoding = encodings[coding];
    if (gzips && coding == TARN_CODING_GZIP && !gzip(response, page->bytes, page->byte_count)) {
        return -1;
    }
    return respond(response, wsi, 200, page->type, etag, cache);
}

/// Responds with a text and status 200, compressed for whoever takes that. For what has no secrets in it: how far a
/// text shrinks tells of it.
static int respond_gzipped(tarn_http_response *response, struct lws *wsi, const char *type, const char *text,
                           size_t text_bytes)
{
    const bool has[TARN_CODING_COUNT] = {[TARN_CODING_GZIP] = true, [TARN_CODING_IDENTITY] = true};
    response->varies = is_gzipped(type, text_bytes);
    if (response->varies && tarn_http_head_coding(&connection_of(wsi)->gate.head, has) == TARN_CODING_GZIP &&
        gzip(response, (const uint8_t *)text, text_bytes)) {
        response->encoding = "gzip";
        return respond(response, wsi, 200, type, NULL, "no-store");
    }
    return respond_made(response, wsi, 200, type, text, text_bytes);
}

/// Responds with json_answer.
/// @param ends  not 0: the connection ends after it, since a body may come that nobody reads
static int respond_answer(tarn_http_response *response, struct lws *wsi, int ends)
{
    response->ends |= ends != 0;
    return respond_made(response, wsi, json_answer.status, "application/json", json_answer.text,
                        json_answer.byte_count);
}

/// Responds with {"error": sentence}, and the connection ends.
static int refuse_json(tarn_http_response *response, struct lws *wsi, unsigned status, const char *sentence)
{
    tarn_session_pages_refuse(&json_answer, status, sentence);
    return respond_answer(response, wsi, 1);
}

/// Responds with 405.
static int refuse_method(tarn_http_response *response, struct lws *wsi, const char *allows)
{
    char text[64];
    response->allows = allows;
    snprintf(text, sizeof text, "allowed here: %s", allows);
    return respond_text(response, wsi, 405, text);
}

// ---- scenes ----
// Their files, one by one or as one archive, tanks as they stand, and scenes that owners upload. Which of these a
// request about a session means is looked at in respond_session_scenes.

/// The scene that the server was started with by its file comes before one of the directory that has the same name,
/// and can be had whatever the tanks were made from since: it stays in the list of what may be loaded.
static tarn_status open_scene(tarn_gateway *gateway, const char *path, tarn_scene_page **page)
{
    tarn_status status = TARN_E_NOT_FOUND;
    if (!tarn_scene_name_valid(gateway->options.scene)) {
        status = tarn_scene_page_open_own(&gateway->scene_pages, gateway->options.scene, path, page);
    }
    if (status == TARN_E_NOT_FOUND) {
        status = tarn_scene_page_open(&gateway->scene_pages, gateway->scenes_dir, path, page);
    }
    return status;
}

static const char READS_TOO_MUCH[] = "too much of scenes was read for this address just now; try again in a moment";

/// A file is read whole, by the one thread that there is, before it is known how much of it is sent.
static bool may_read(tarn_gateway *gateway, struct lws *wsi)
{
    const struct in6_addr *client = &connection_of(wsi)->client;
    return tarn_address_is_loopback(client) ||
           tarn_client_turn_allow(&gateway->readers, client, TARN_GATEWAY_SCENE_PIECE_MS,
                                  TARN_GATEWAY_SCENE_PIECES_BURST);
}

/// Counts what was read, beyond the piece that may_read has counted.
static void count_read(tarn_gateway *gateway, struct lws *wsi, size_t byte_count)
{
    for (size_t at = TARN_GATEWAY_SCENE_PIECE_BYTES; at < byte_count; at += TARN_GATEWAY_SCENE_PIECE_BYTES) {
        (void)may_read(gateway, wsi);
    }
}

/// Answers a request for a file of the scenes' folder.
static int respond_scene(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *path)
{
    response->is_scene = true;
    response->shared_with = named_origin(gateway, wsi);
    if (!may_read(gateway, wsi)) {
        return respond_text(response, wsi, 429, READS_TOO_MUCH);
    }
    tarn_scene_page *page = NULL;
    tarn_status status = open_scene(gateway, path, &page);
    if (status != TARN_OK) {
        return respond_text(response, wsi, status == TARN_E_NOT_FOUND ? 404 : 500,
                            status == TARN_E_NOT_FOUND ? "not found" : "the file cannot be read, or is too large");
    }
    count_read(gateway, wsi, page->page.byte_count);
    response->scene_page = page;
    return respond_page(response, wsi, &page->page);
}

/// There is one, or it is known why there is none.
static void on_told(void *user)
{
    struct lws *wsi = user;
    lws_callback_on_writable(wsi);
    lws_cancel_service(lws_get_context(wsi));
}

/// Answers with the tank as it stands once that is known. @return 1: it waits for nothing
static int telling_writable(tarn_http_response *response, struct lws *wsi)
{
    tarn_telling_wait *told = &response->telling;
    if (!told->is_told) {
        return told->session != NULL ? 0 : 1; // it waits, or for nothing
    }
    tarn_scene_page *page = told->page;
    told->is_told = false;
    told->page = NULL;
    if (page != NULL && page->is_gone) { // it couldn't be sent for so long
        tarn_scene_page_close(page);
        return -1;
    }
    if (page == NULL) {
        return refuse_json(response, wsi, told->status, told->why);
    }
    response->scene_page = page;
    return respond_page(response, wsi, &page->page);
}

/// The tank as it stands, once its worker has told it.
static int respond_standing(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, tarn_session *session)
{
    response->is_scene = true;
    response->shared_with = named_origin(gateway, wsi);
    response->telling = (tarn_telling_wait){.is_done = on_told, .user = wsi};
    tarn_session_telling_want(session, &gateway->scene_pages, &response->telling);
    return telling_writable(response, wsi);
}

/// A tank as it stands, or the scene that it was made from: one of its files, or all of them.
/// @param file  NULL: the tank as it stands
static int respond_own_scene(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *file)
{
    if (!is_get(wsi)) {
        return refuse_method(response, wsi, "GET, HEAD");
    }
    tarn_session *session =
        tarn_session_pages_seen_by(&gateway->sessions, response->session, response->pass, &json_answer);
    if (session == NULL) {
        return respond_answer(response, wsi, 0);
    }
    if (file == NULL) {
        return respond_standing(gateway, response, wsi, session);
    }
    const bool is_all = strcmp(file, TARN_UPLOAD_PAGES_MADE) == 0;
    if (is_all && !tarn_turn_allow(&session->made_due_ns, 60000 / TARN_GATEWAY_MADE_PER_MINUTE,
                                   TARN_GATEWAY_MADE_PER_MINUTE)) { // each is put together anew
        return refuse_json(response, wsi, 429, "this scene was taken too often just now; try again in a moment");
    }
    if (!may_read(gateway, wsi)) {
        return refuse_json(response, wsi, 429, READS_TOO_MUCH);
    }
    tarn_scene_page *page = NULL;
    const tarn_status status = is_all ? tarn_scene_page_open_archive(&gateway->scene_pages, session->box_fd, &page)
                                      : tarn_scene_page_open_kept(&gateway->scene_pages, session->box_fd, file, &page);
    if (status != TARN_OK) {
        return refuse_json(response, wsi, status == TARN_E_NOT_FOUND ? 404 : 503,
                           status == TARN_E_NOT_FOUND ? "this tank's scene has no such file"
                           : status == TARN_E_LIMIT   ? "this tank's scene is too large for one archive"
                                                      : "the file cannot be read now");
    }
    count_read(gateway, wsi, page->page.byte_count);
    response->is_scene = true;
    response->shared_with = named_origin(gateway, wsi);
    response->scene_page = page;
    return respond_page(response, wsi, &page->page);
}

/// The upload's socket takes more.
static void on_may_go_on(void *user)
{
    struct lws *wsi = user;
    lws_rx_flow_control(wsi, 1);
    lws_cancel_service(lws_get_context(wsi)); // of what it has decrypted already, no socket tells it
}

static void on_done(void *user)
{
    struct lws *wsi = user;
    lws_rx_flow_control(wsi, 1); // what still comes is thrown away
    lws_callback_on_writable(wsi);
    lws_cancel_service(lws_get_context(wsi));
}

static int begin_upload(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    const tarn_http_head *head = &connection_of(wsi)->gate.head;
    tarn_upload_plan plan = {
        .byte_count = head->body_bytes, .user = wsi, .may_go_on = on_may_go_on, .is_done = on_done};
    if (!head->has_length) {
        return refuse_json(response, wsi, 411, "the body's length is not declared");
    }
    if (!head->is_upload) {
        return refuse_json(response, wsi, 400, "the body is empty; allowed is a tar archive of a scene and its meshes");
    }
    if (!origin_is_allowed(gateway, wsi)) {
        return refuse_json(response, wsi, 403, "pages of this origin may upload no scenes");
    }
    if (gateway->draining) {
        return refuse_json(response, wsi, 503, "the server is ending; try again in a moment");
    }
    response->upload =
        tarn_upload_pages_begin(&gateway->sessions, response->session, response->pass, &plan, &json_answer);
    return response->upload != NULL ? 0 : respond_answer(response, wsi, 1);
}

/// A piece of an upload.
static int upload_body(tarn_http_response *response, struct lws *wsi, const void *bytes, size_t byte_count)
{
    if (!tarn_upload_take(response->upload, bytes, byte_count)) {
        lws_rx_flow_control(wsi, 0);
    }
    return 0;
}

/// Answers an upload of which something has come that nobody has been told. @return 1: there is nothing to be told
static int upload_writable(tarn_http_response *response, struct lws *wsi)
{
    const tarn_upload_result *result = response->upload != NULL ? tarn_upload_done(response->upload) : NULL;
    if (result == NULL || !response->upload_is_whole) {
        return 1;
    }
    tarn_upload_pages_answer(result, &json_answer);
    tarn_upload_close(response->upload);
    response->upload = NULL;
    return respond_answer(response, wsi, 0);
}

/// All of an upload has come.
static int upload_body_end(tarn_http_response *response, struct lws *wsi)
{
    tarn_upload_end(response->upload);
    response->upload_is_whole = true;
    return tarn_upload_done(response->upload) != NULL ? upload_writable(response, wsi) : 0;
}

static bool is_scenes(const char *verb)
{
    const size_t bytes = sizeof TARN_UPLOAD_PAGES_VERB - 1;
    return strncmp(verb, TARN_UPLOAD_PAGES_VERB, bytes) == 0 && (verb[bytes] == 0 || verb[bytes] == '/');
}

/// The methods that a request about a session's scenes may have; NULL: it is about something else.
/// @param verb  as below
static const char *scenes_methods(const char *verb)
{
    if (verb == NULL) {
        return NULL;
    }
    if (is_scenes(verb)) {
        return verb[sizeof TARN_UPLOAD_PAGES_VERB - 1] == 0 ? "GET, HEAD, POST" : "DELETE";
    }
    return strcmp(verb, TARN_UPLOAD_PAGES_SCENE) == 0 ||
                   strncmp(verb, TARN_SESSION_PAGES_SCENE, strlen(TARN_SESSION_PAGES_SCENE)) == 0
               ? "GET, HEAD"
               : NULL;
}

static int respond_uploads(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *id)
{
    const bool is_list = id[0] == 0;
    if (is_list && lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0) {
        return begin_upload(gateway, response, wsi);
    }
    if (!is_list && lws_hdr_total_length(wsi, WSI_TOKEN_DELETE_URI) > 0) {
        if (!origin_is_allowed(gateway, wsi)) {
            return refuse_json(response, wsi, 403, "pages of this origin may remove no scenes");
        }
        tarn_upload_pages_remove(&gateway->sessions, response->session, id + 1, response->pass, &json_answer);
    } else if (is_list && is_get(wsi)) {
        tarn_upload_pages_list(&gateway->sessions, response->session, response->pass, &json_answer);
    } else {
        return refuse_method(response, wsi, is_list ? "GET, HEAD, POST" : "DELETE");
    }
    return respond_answer(response, wsi, 0);
}

/// Answers a request about a session's scenes: "/scene", "/scene/FILE", "/scenes" or "/scenes/ID".
/// @param verb  behind the session's name, with its '/'; NULL is fine  @return -2: it is about something else
static int respond_session_scenes(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi,
                                  const char *name, const char *verb)
{
    if (scenes_methods(verb) == NULL) {
        return -2;
    }
    snprintf(response->session, sizeof response->session, "%.*s", (int)(verb - name), name);
    read_pass(wsi, response->pass);
    if (is_scenes(verb)) {
        return respond_uploads(gateway, response, wsi, verb + sizeof TARN_UPLOAD_PAGES_VERB - 1);
    }
    return respond_own_scene(gateway, response, wsi,
                             strcmp(verb, TARN_UPLOAD_PAGES_SCENE) == 0 ? NULL
                                                                        : verb + strlen(TARN_SESSION_PAGES_SCENE));
}

// ---- health and metrics ----

static int respond_health(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    const unsigned status =
        tarn_status_health(&gateway->workers, &gateway->sessions, gateway->ending, scratch, sizeof scratch);
    return respond_made(response, wsi, status, "text/plain; charset=utf-8", scratch, strlen(scratch));
}

static int respond_ready(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    const bool is_leaving = gateway->draining || gateway->ending;
    const unsigned status = tarn_status_ready(&gateway->workers, is_leaving, scratch, sizeof scratch);
    return respond_made(response, wsi, status, "text/plain; charset=utf-8", scratch, strlen(scratch));
}

static int respond_metrics(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    static const char LOCAL_ONLY[] = "only this machine may read this; the server was started so (--metrics)";
    tarn_metrics *metrics = &gateway->metrics;
    const tarn_metrics_readers readers = gateway->options.metrics_readers;
    read_pass(wsi, response->pass);
    if (readers != TARN_METRICS_EVERYONE && !is_operator(wsi) &&
        (readers == TARN_METRICS_LOCAL ||
         !tarn_session_pages_may_by_some(&gateway->sessions, response->pass, TARN_ACT_HTTP_METRICS))) {
        return respond_text(response, wsi, 403,
                            readers == TARN_METRICS_LOCAL ? LOCAL_ONLY : tarn_role_refusal(TARN_ACT_HTTP_METRICS));
    }
    metrics->connections_total = gateway->listener.accepted_total;
    metrics->connections_refused_total = gateway->listener.refused_total;
    metrics->connections_dropped_total = gateway->listener.dropped_total;
    const size_t bytes = tarn_status_metrics(metrics, &gateway->workers, &gateway->sessions, scratch, sizeof scratch);
    return respond_gzipped(response, wsi, "text/plain; version=0.0.4; charset=utf-8", scratch, bytes);
}

// ---- sessions ----

_Static_assert(TARN_GATEWAY_BODY_BYTES_MAX == 1024, "a sentence states this limit");

/// The head of a request to make or move a session. A body that can be read is read even if the request is refused:
/// else the connection's end might overtake the answer.
static int begin_session(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    const long declared = declared_bytes(wsi);
    if (!connection_of(wsi)->gate.head.has_length) { // libwebsockets is told of none as of one of 0
        return refuse_json(response, wsi, 411, "the body's length is not declared");
    }
    if (declared < 1) {
        return refuse_json(response, wsi, 400, "the body is empty; allowed is JSON such as {\"scene\": \"maze\"}");
    }
    if (declared > TARN_GATEWAY_BODY_BYTES_MAX) {
        return refuse_json(response, wsi, 413, "the body is too large; allowed are 1024 bytes");
    }
    response->refusal = 0;
    read_pass(wsi, response->pass);
    if (!origin_is_allowed(gateway, wsi)) {
        response->refusal = 403;
        response->refusal_sentence = "pages of this origin may make and move no tanks";
    } else if (gateway->draining) {
        response->refusal = 503;
        response->refusal_sentence = "the server is ending; try again in a moment";
    } else if (!is_json(wsi)) {
        response->refusal = 415;
        response->refusal_sentence = "the body's type is not application/json";
    }
    response->expects = true;
    response->body_bytes = 0;
    return 0;
}

/// The same to move a session's tank, for which a body isn't needed.
static int begin_move(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *name,
                      size_t name_bytes)
{
    response->is_move = true;
    response->is_operator = is_operator(wsi);
    read_pass(wsi, response->pass);
    snprintf(response->session, sizeof response->session, "%.*s", (int)name_bytes, name);
    if (declared_bytes(wsi) > 0 || response->ends) {
        return begin_session(gateway, response, wsi);
    }
    if (!origin_is_allowed(gateway, wsi)) {
        return refuse_json(response, wsi, 403, "pages of this origin may make and move no tanks");
    }
    tarn_session_pages_move(&gateway->sessions, &gateway->move, response->session, response->pass,
                            response->is_operator, "", 0, &json_answer);
    return respond_answer(response, wsi, 1); // libwebsockets would wait for a body
}

int tarn_http_body(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const void *bytes,
                   size_t byte_count)
{
    (void)gateway;
    if (connection_of(wsi)->gate.phase == TARN_GATE_OVER) {
        return 0; // it was refused
    }
    if (response->upload != NULL) {
        return upload_body(response, wsi, bytes, byte_count);
    }
    if (!response->expects || byte_count > sizeof response->body - response->body_bytes) {
        return -1;
    }
    memcpy(response->body + response->body_bytes, bytes, byte_count);
    response->body_bytes += (uint32_t)byte_count;
    return 0;
}

int tarn_http_body_end(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    const tarn_connection *connection = connection_of(wsi);
    if (connection->gate.phase == TARN_GATE_OVER) {
        return 0;
    }
    if (response->upload != NULL) {
        return upload_body_end(response, wsi);
    }
    if (!response->expects) {
        return -1;
    }
    response->expects = false;
    if (response->refusal) {
        tarn_session_pages_refuse(&json_answer, response->refusal, response->refusal_sentence);
    } else if (response->time != TARN_TIME_PAGE_NONE) {
        tarn_time_page_answer(&gateway->sessions, &gateway->makers, response->time, response->session, response->pass,
                              response->body, response->body_bytes, &connection->client, &json_answer);
    } else if (response->is_move) {
        tarn_session_pages_move(&gateway->sessions, &gateway->move, response->session, response->pass,
                                response->is_operator, response->body, response->body_bytes, &json_answer);
    } else {
        tarn_session_pages_make(&gateway->sessions, &gateway->makers, response->body, response->body_bytes,
                                response->pass, &connection->client, &json_answer);
    }
    return respond_answer(response, wsi, 0);
}

static int end_session(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *name)
{
    tarn_pass pass;
    if (!origin_is_allowed(gateway, wsi)) {
        return refuse_json(response, wsi, 403, "pages of this origin may end no tanks");
    }
    read_pass(wsi, pass);
    tarn_session_pages_end(&gateway->sessions, name, pass, &json_answer);
    return respond_answer(response, wsi, 0);
}

/// A request about a session's time: with a body, or none to look at it.
static int respond_time(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *name,
                        const char *verb)
{
    const bool is_look = tarn_time_page_find(verb) == TARN_TIME_PAGE_HISTORY;
    response->time = tarn_time_page_find(verb);
    snprintf(response->session, sizeof response->session, "%.*s", (int)(verb - name), name);
    if (is_look ? !is_get(wsi) : lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) <= 0) {
        return refuse_method(response, wsi, tarn_time_page_methods(response->time));
    }
    if (!is_look) {
        return begin_session(gateway, response, wsi);
    }
    read_pass(wsi, response->pass);
    tarn_time_page_answer(&gateway->sessions, &gateway->makers, response->time, response->session, response->pass, "",
                          0, &connection_of(wsi)->client, &json_answer);
    return respond_answer(response, wsi, 0);
}

/// @return -2: the request is about something else
static int respond_sessions(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *path)
{
    const size_t root = strlen(TARN_SESSION_PAGES_PATH);
    if (strncmp(path, TARN_SESSION_PAGES_PATH, root) != 0 || (path[root] && path[root] != '/')) {
        return -2;
    }
    if (path[root] == 0 && lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0) {
        return begin_session(gateway, response, wsi);
    }
    const char *name = path[root] == '/' ? path + root + 1 : "", *verb = strchr(name, '/');
    if (verb != NULL && strcmp(verb, "/move") == 0) {
        return lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0
                   ? begin_move(gateway, response, wsi, name, (size_t)(verb - name))
                   : refuse_method(response, wsi, "POST");
    }
    if (tarn_time_page_find(verb) != TARN_TIME_PAGE_NONE) {
        return respond_time(gateway, response, wsi, name, verb);
    }
    const int about_scenes = respond_session_scenes(gateway, response, wsi, name, verb);
    if (about_scenes != -2) {
        return about_scenes;
    }
    if (path[root] == '/' && lws_hdr_total_length(wsi, WSI_TOKEN_DELETE_URI) > 0) {
        return end_session(gateway, response, wsi, name);
    }
    if (path[root]) {
        return refuse_method(response, wsi, "DELETE");
    }
    if (!is_get(wsi)) {
        return refuse_method(response, wsi, "GET, HEAD, POST");
    }
    read_pass(wsi, response->pass);
    tarn_session_pages_list(&gateway->sessions, response->pass, &json_answer);
    return respond_answer(response, wsi, 0);
}

// ---- which answer a request gets ----

/// Answers a request that the gate refuses.
static int refuse_request(tarn_http_response *response, struct lws *wsi, const char *path, const tarn_http_head *head)
{
    const size_t root = strlen(TARN_SESSION_PAGES_PATH);
    const bool is_sessions = strncmp(path, TARN_SESSION_PAGES_PATH, root) == 0 && (!path[root] || path[root] == '/');
    response->ends = true;
    if (head->status == 405) {
        const char *verb = is_sessions && path[root] ? strchr(path + root + 1, '/') : NULL;
        return refuse_method(response, wsi,
                             tarn_time_page_find(verb) != TARN_TIME_PAGE_NONE
                                 ? tarn_time_page_methods(tarn_time_page_find(verb))
                             : verb != NULL && strcmp(verb, "/move") == 0 ? "POST"
                             : scenes_methods(verb) != NULL               ? scenes_methods(verb)
                             : is_sessions && path[root]                  ? "DELETE"
                             : is_sessions                                ? "GET, HEAD, POST"
                                                                          : "GET, HEAD");
    }
    return is_sessions ? refuse_json(response, wsi, head->status, head->why)
                       : respond_text(response, wsi, head->status, head->why);
}

static const char WRONG_HOST[] = "this server goes by another name; its operator may add this one with --name";

/// As begin_session, a body is read before the answer.
static int refuse_host(tarn_http_response *response, struct lws *wsi)
{
    const long declared = declared_bytes(wsi);
    if (declared < 1 || declared > TARN_GATEWAY_BODY_BYTES_MAX || response->ends) {
        response->ends = true;
        return respond_text(response, wsi, 421, WRONG_HOST);
    }
    response->refusal = 421;
    response->refusal_sentence = WRONG_HOST;
    response->expects = true;
    response->body_bytes = 0;
    return 0;
}

int tarn_http_request(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *path)
{
    tarn_connection *connection = connection_of(wsi);
    const tarn_http_head *head = &connection->gate.head;
    connection->client = tarn_proxies_client(&gateway->options.proxies, &connection->address, head);
    tarn_http_release(response);
    response->ends = response->expects = response->is_move = response->is_scene = response->upload_is_whole = false;
    response->varies = false;
    response->encoding = NULL;
    response->time = TARN_TIME_PAGE_NONE;
    if (head->status != 0) {
        return refuse_request(response, wsi, path, head);
    }
    if (!host_is_own(gateway, wsi)) {
        return refuse_host(response, wsi);
    }
    const int about_sessions = respond_sessions(gateway, response, wsi, path);
    if (about_sessions != -2) {
        return about_sessions;
    }
    if (!is_get(wsi)) {
        return refuse_method(response, wsi, "GET, HEAD");
    }
    if (strcmp(path, "/healthz") == 0) {
        return respond_health(gateway, response, wsi);
    }
    if (strcmp(path, "/readyz") == 0) {
        return respond_ready(gateway, response, wsi);
    }
    if (strcmp(path, "/certificate") == 0) {
        tarn_tls_write_json(&gateway->tls, scratch, sizeof scratch);
        return respond_made(response, wsi, 200, "application/json", scratch, strlen(scratch));
    }
    if (strcmp(path, "/metrics") == 0) {
        return respond_metrics(gateway, response, wsi);
    }
    if (strncmp(path, TARN_SCENE_PAGES_PREFIX, strlen(TARN_SCENE_PAGES_PREFIX)) == 0) {
        return respond_scene(gateway, response, wsi, path);
    }
    const tarn_page *page = tarn_pages_find(&gateway->pages, path);
    if (page != NULL) {
        return respond_page(response, wsi, page);
    }
    if (gateway->pages.page_count == 0 && strcmp(path, "/") == 0) {
        return respond_text(response, wsi, 404,
                            "The server runs, but its page is not there: build web-client, or name "
                            "its directory with --client.");
    }
    return respond_text(response, wsi, 404, "not found");
}

int tarn_http_writable(tarn_http_response *response, struct lws *wsi)
{
    if (response != NULL && response->upload != NULL) {
        const int answered = upload_writable(response, wsi);
        return answered == 1 ? 0 : answered;
    }
    if (response != NULL && (response->telling.is_told || response->telling.session != NULL)) {
        return telling_writable(response, wsi);
    }
    return response != NULL ? go_on(response, wsi) : 0;
}

/// Such a small answer is written at once.
static int refuse_upgrade(struct lws *wsi, unsigned status, const char *text)
{
    tarn_http_response response = {.ends = true};
    return respond_text(&response, wsi, status, text) < 0 ? -1 : 1;
}

int tarn_http_upgrade(tarn_gateway *gateway, struct lws *wsi)
{
    tarn_connection *connection = connection_of(wsi);
    if (!host_is_own(gateway, wsi)) {
        return refuse_upgrade(wsi, 421, WRONG_HOST);
    }
    if (!origin_is_allowed(gateway, wsi)) {
        return refuse_upgrade(wsi, 403, "pages of this origin may not connect");
    }
    connection->is_proxied = connection->gate.head.is_proxied;
    connection->client = tarn_proxies_client(&gateway->options.proxies, &connection->address, &connection->gate.head);
    return 0;
}
