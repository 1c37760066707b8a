/// What the sources of http.h share: how an answer begins on its way, and what a request says of itself.
#ifndef TARN_SERVER_GATEWAY_HTTP_INSIDE_H
#define TARN_SERVER_GATEWAY_HTTP_INSIDE_H

#include "server/gateway/gateway.h"
#include "server/gateway/http.h"

// Of http_respond.c. Those that return int return what the libwebsockets callback is to return.

int tarn_http_respond_page(tarn_http_response *response, struct lws *wsi, const tarn_page *page);
int tarn_http_respond_text(tarn_http_response *response, struct lws *wsi, unsigned status, const char *text);

/// Responds with what is made for this response, of which a copy is sent.
int tarn_http_respond_made(tarn_http_response *response, struct lws *wsi, unsigned status, const char *type,
                           const char *text, size_t text_bytes);

/// The same with status 200, compressed for whoever takes that. For what has no secrets in it: how far a text shrinks
/// tells of it.
int tarn_http_respond_gzipped(tarn_http_response *response, struct lws *wsi, const char *type, const char *text,
                              size_t text_bytes);

/// Goes on with an answer that is on its way.
int tarn_http_go_on(tarn_http_response *response, struct lws *wsi);

/// Responds with tarn_http_answer.
/// @param ends  not 0: the connection ends after it, since a body may come that nobody reads
int tarn_http_respond_answer(tarn_http_response *response, struct lws *wsi, int ends);

/// Responds with {"error": sentence}, and the connection ends.
int tarn_http_refuse_json(tarn_http_response *response, struct lws *wsi, unsigned status, const char *sentence);

/// Responds with 405.
int tarn_http_refuse_method(tarn_http_response *response, struct lws *wsi, const char *allows);

/// Where answers in JSON are put together: one thread makes one at a time.
extern tarn_session_answer tarn_http_answer;

// Of http_request.c.

tarn_connection *tarn_http_connection(struct lws *wsi);

/// The key or the token that a request has; empty: none.
void tarn_http_read_pass(struct lws *wsi, tarn_pass pass);

bool tarn_http_is_get(struct lws *wsi);

/// Whether a request names this server as its host. Programs that speak HTTP/1.0 may name none; browsers always do.
bool tarn_http_host_is_own(tarn_gateway *gateway, struct lws *wsi);

/// The allowed origin that a request names; NULL: none.
const char *tarn_http_named_origin(const tarn_gateway *gateway, struct lws *wsi);

/// Whether a page of this origin may connect, and change something. Says so in the log where not.
bool tarn_http_origin_is_allowed(tarn_gateway *gateway, struct lws *wsi);

// Of http_scenes.c.

/// Answers a request for a file of the scenes' folder.
int tarn_http_respond_scene(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *path);

/// Answers a request about a session's scenes: "/scene", "/scene/FILE", "/scenes" or "/scenes/ID".
/// @param verb  behind the session's name, with its '/'; NULL is fine  @return -2: it is about something else
int tarn_http_respond_session_scenes(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi,
                                     const char *name, const char *verb);

/// The methods that such a request may have; NULL: it is about something else. @param verb  the same
const char *tarn_http_scenes_methods(const char *verb);

/// A piece of an upload, and its end.
int tarn_http_upload_body(tarn_http_response *response, struct lws *wsi, const void *bytes, size_t byte_count);
int tarn_http_upload_body_end(tarn_http_response *response, struct lws *wsi);

/// Whether something has come of an upload that nobody has been told: then it is answered. @return as the others, or 1
/// where there is nothing to be told
int tarn_http_upload_writable(tarn_http_response *response, struct lws *wsi);

/// Answers with the tank as it stands once that is known. @return as tarn_http_writable
int tarn_http_telling_writable(tarn_http_response *response, struct lws *wsi);

#endif
