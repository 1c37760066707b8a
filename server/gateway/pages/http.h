/// A request on its way through: who may ask what, its body, and the answer with the headers that keep a page to
/// itself. GET and HEAD only, but for sessions (sessions.h), their time (time.h) and their scenes (uploads.h).
#ifndef TARN_SERVER_GATEWAY_PAGES_HTTP_H
#define TARN_SERVER_GATEWAY_PAGES_HTTP_H

#include "server/base/limits.h"
#include "server/gateway/pages/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lws;
struct tarn_gateway;

/// One response on its way.
typedef struct tarn_http_response {
    const uint8_t *bytes;               ///< a page's or what was made
    uint8_t *made;                      ///< for this response, of its own memory; NULL: nothing
    struct tarn_scene_page *scene_page; ///< whose bytes these are; NULL: none
    struct tarn_upload *upload;         ///< that the request's body goes to; NULL: none
    bool upload_is_whole;               ///< all of that has come
    tarn_telling_wait telling;          ///< for a tank as it stands
    size_t byte_count, sent;
    bool ends;               ///< the connection ends after it: a request with a body, which nobody reads
    bool expects;            ///< the request has a body of JSON: by default one that makes a session
    bool is_move;            ///< it moves a session's tank instead
    tarn_time_page time;     ///< it is about a session's time instead; TARN_TIME_PAGE_NONE: it isn't
    tarn_name session;       ///< which session the request is about
    bool is_operator;        ///< whoever asks sits at this machine
    tarn_pass pass;          ///< that came with the request; empty: none
    bool is_scene;           ///< it is a scene, or a file that one names
    const char *shared_with; ///< the origin whose pages may read that; NULL: none but this server's
    const char *encoding;    ///< of the bytes; NULL: none
    bool varies;             ///< by Accept-Encoding
    const char *allows;      ///< the methods that an answer of 405 names
    unsigned refusal;        ///< the status that the body is answered with, whatever it is; 0: none
    const char *refusal_sentence;
    uint32_t body_bytes;
    char body[TARN_GATEWAY_BODY_BYTES_MAX];
} tarn_http_response;

/// Answers a request for a path. @return what the libwebsockets callback is to return
int tarn_http_request(struct tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *path);

/// Takes a piece of a request's body.
int tarn_http_body(struct tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const void *bytes,
                   size_t byte_count);

/// The body is complete.
int tarn_http_body_end(struct tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi);

/// Gives back what a response holds, when it is over or its connection ends. Takes NULL and one that holds nothing.
void tarn_http_release(tarn_http_response *response);

/// Goes on with a response.
int tarn_http_writable(tarn_http_response *response, struct lws *wsi);

/// Decides on an upgrade that the gate has let pass (net/http_head.h): only for a page of this host or of an allowed
/// origin.
/// @return 0 to go on, another number when it was refused
int tarn_http_upgrade(struct tarn_gateway *gateway, struct lws *wsi);

#endif
