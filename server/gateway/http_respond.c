// An answer's way out: its headers, which keep a page to itself, and its bytes in pieces as the socket takes them.
// Start at respond.
#include "server/common/clock.h"
#include "server/gateway/http_inside.h"
#include "server/gateway/scene_pages.h"
#include "server/gateway/upload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <zlib.h>

tarn_session_answer tarn_http_answer;

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

/// Lets a page that may connect from elsewhere read scenes, which it draws what stands in a tank from.
static void add_sharing(header_writer *writer, const char *origin)
{
    if (origin != NULL) {
        add_header(writer, "access-control-allow-origin:", origin);
    }
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

/// Sends status and headers; the body follows from tarn_http_go_on.
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
    if (response->is_scene) {
        add_sharing(&writer, response->shared_with);
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

/// Where the connection ends, it does a little later (gate.h): at once, with bytes that nobody has read, it might
/// overtake the answer.
static int complete(tarn_http_response *response, struct lws *wsi)
{
    tarn_gate *gate = &tarn_http_connection(wsi)->gate;
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

int tarn_http_go_on(tarn_http_response *response, struct lws *wsi)
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
    tarn_gate_answers(&tarn_http_connection(wsi)->gate, response->byte_count, tarn_clock_monotonic_ns());
    if (begin(response, wsi, status, type, etag, cache)) {
        return -1;
    }
    if (is_head || response->byte_count == 0) {
        return complete(response, wsi);
    }
    response->sent = 0;
    if (response->byte_count <= TARN_GATEWAY_HTTP_SMALL_BYTES) {
        return tarn_http_go_on(response, wsi);
    }
    lws_callback_on_writable(wsi);
    return 0;
}

/// Responds with a text that is made for this response.
int tarn_http_respond_made(tarn_http_response *response, struct lws *wsi, unsigned status, const char *type,
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

int tarn_http_respond_text(tarn_http_response *response, struct lws *wsi, unsigned status, const char *text)
{
    char line[1024];
    const int length = snprintf(line, sizeof line, "%s\n", text);
    const size_t bytes = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
    return tarn_http_respond_made(response, wsi, status, "text/plain; charset=utf-8", line, bytes);
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

int tarn_http_respond_page(tarn_http_response *response, struct lws *wsi, const tarn_page *page)
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
    const tarn_coding coding = tarn_http_head_coding(&tarn_http_connection(wsi)->gate.head, has);
    if (coding == TARN_CODING_COUNT) {
        return tarn_http_respond_text(response, wsi, 406,
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

int tarn_http_respond_gzipped(tarn_http_response *response, struct lws *wsi, const char *type, const char *text,
                              size_t text_bytes)
{
    const bool has[TARN_CODING_COUNT] = {[TARN_CODING_GZIP] = true, [TARN_CODING_IDENTITY] = true};
    response->varies = is_gzipped(type, text_bytes);
    if (response->varies && tarn_http_head_coding(&tarn_http_connection(wsi)->gate.head, has) == TARN_CODING_GZIP &&
        gzip(response, (const uint8_t *)text, text_bytes)) {
        response->encoding = "gzip";
        return respond(response, wsi, 200, type, NULL, "no-store");
    }
    return tarn_http_respond_made(response, wsi, 200, type, text, text_bytes);
}

int tarn_http_respond_answer(tarn_http_response *response, struct lws *wsi, int ends)
{
    response->ends |= ends != 0;
    return tarn_http_respond_made(response, wsi, tarn_http_answer.status, "application/json", tarn_http_answer.text,
                                  tarn_http_answer.byte_count);
}

int tarn_http_refuse_json(tarn_http_response *response, struct lws *wsi, unsigned status, const char *sentence)
{
    tarn_session_pages_refuse(&tarn_http_answer, status, sentence);
    return tarn_http_respond_answer(response, wsi, 1);
}

int tarn_http_refuse_method(tarn_http_response *response, struct lws *wsi, const char *allows)
{
    char text[64];
    response->allows = allows;
    snprintf(text, sizeof text, "allowed here: %s", allows);
    return tarn_http_respond_text(response, wsi, 405, text);
}
