// Which answer a path gets, and its way out in pieces as the socket takes them: start at tarn_http_request.
#include "server/gateway/http.h"
#include "server/common/clock.h"
#include "server/common/log.h"
#include "server/common/scene.h"
#include "server/gateway/http_inside.h"
#include "server/gateway/scene_pages.h"
#include "server/gateway/status_pages.h"
#include "server/gateway/upload.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

// Where answers are put together; one thread makes one at a time.
static char scratch[TARN_GATEWAY_HTTP_TEXT_BYTES_MAX];

static int respond_health(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    const unsigned status =
        tarn_status_health(&gateway->workers, &gateway->sessions, gateway->ending, scratch, sizeof scratch);
    return tarn_http_respond_made(response, wsi, status, "text/plain; charset=utf-8", scratch, strlen(scratch));
}

static int respond_ready(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    const bool is_leaving = gateway->draining || gateway->ending;
    const unsigned status = tarn_status_ready(&gateway->workers, is_leaving, scratch, sizeof scratch);
    return tarn_http_respond_made(response, wsi, status, "text/plain; charset=utf-8", scratch, strlen(scratch));
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
    const tarn_connection *connection = tarn_http_connection(wsi);
    char host[256];
    return tarn_listener_is_loopback(&connection->address) && !connection->gate.head.is_proxied &&
           lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 && host_is_plain(host);
}

static int respond_metrics(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    static const char LOCAL_ONLY[] = "only this machine may read this; the server was started so (--metrics)";
    tarn_metrics *metrics = &gateway->metrics;
    const tarn_metrics_readers readers = gateway->options.metrics_readers;
    tarn_http_read_pass(wsi, response->pass);
    if (readers != TARN_METRICS_EVERYONE && !is_operator(wsi) &&
        (readers == TARN_METRICS_LOCAL ||
         !tarn_session_pages_may_by_some(&gateway->sessions, response->pass, TARN_ACT_HTTP_METRICS))) {
        return tarn_http_respond_text(
            response, wsi, 403, readers == TARN_METRICS_LOCAL ? LOCAL_ONLY : tarn_role_refusal(TARN_ACT_HTTP_METRICS));
    }
    metrics->connections_total = gateway->listener.accepted_total;
    metrics->connections_refused_total = gateway->listener.refused_total;
    metrics->connections_dropped_total = gateway->listener.dropped_total;
    metrics->inputs_coalesced_total = tarn_workers_coalesced(&gateway->workers);
    const size_t bytes = tarn_status_metrics(metrics, &gateway->workers, &gateway->sessions, scratch, sizeof scratch);
    return tarn_http_respond_gzipped(response, wsi, "text/plain; version=0.0.4; charset=utf-8", scratch, bytes);
}

static const char WRONG_HOST[] = "this server goes by another name; its operator may add this one with --name";

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

_Static_assert(TARN_GATEWAY_BODY_BYTES_MAX == 1024, "a sentence states this limit");

/// The head of a request to make or move a session. A body that can be read is read even if the request is refused:
/// else the connection's end might overtake the answer.
static int begin_session(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi)
{
    const long declared = declared_bytes(wsi);
    if (!tarn_http_connection(wsi)->gate.head.has_length) { // libwebsockets is told of none as of one of 0
        return tarn_http_refuse_json(response, wsi, 411, "the body's length is not declared");
    }
    if (declared < 1) {
        return tarn_http_refuse_json(response, wsi, 400,
                                     "the body is empty; allowed is JSON such as {\"scene\": \"maze\"}");
    }
    if (declared > TARN_GATEWAY_BODY_BYTES_MAX) {
        return tarn_http_refuse_json(response, wsi, 413, "the body is too large; allowed are 1024 bytes");
    }
    response->refusal = 0;
    tarn_http_read_pass(wsi, response->pass);
    if (!tarn_http_origin_is_allowed(gateway, wsi)) {
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
    tarn_http_read_pass(wsi, response->pass);
    snprintf(response->moved, sizeof response->moved, "%.*s", (int)name_bytes, name);
    if (declared_bytes(wsi) > 0 || response->ends) {
        return begin_session(gateway, response, wsi);
    }
    if (!tarn_http_origin_is_allowed(gateway, wsi)) {
        return tarn_http_refuse_json(response, wsi, 403, "pages of this origin may make and move no tanks");
    }
    tarn_session_pages_move(&gateway->sessions, &gateway->move, response->moved, response->pass, response->is_operator,
                            "", 0, &tarn_http_answer);
    return tarn_http_respond_answer(response, wsi, 1); // libwebsockets would wait for a body
}

int tarn_http_body(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const void *bytes,
                   size_t byte_count)
{
    (void)gateway;
    if (tarn_http_connection(wsi)->gate.phase == TARN_GATE_OVER) {
        return 0; // it was refused
    }
    if (response->upload != NULL) {
        return tarn_http_upload_body(response, wsi, bytes, byte_count);
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
    const tarn_connection *connection = tarn_http_connection(wsi);
    if (connection->gate.phase == TARN_GATE_OVER) {
        return 0;
    }
    if (response->upload != NULL) {
        return tarn_http_upload_body_end(response, wsi);
    }
    if (!response->expects) {
        return -1;
    }
    response->expects = false;
    if (response->refusal) {
        tarn_session_pages_refuse(&tarn_http_answer, response->refusal, response->refusal_sentence);
    } else if (response->time != TARN_TIME_PAGE_NONE) {
        tarn_time_page_answer(&gateway->sessions, &gateway->makers, response->time, response->moved, response->pass,
                              response->body, response->body_bytes, &connection->client, &tarn_http_answer);
    } else if (response->is_move) {
        tarn_session_pages_move(&gateway->sessions, &gateway->move, response->moved, response->pass,
                                response->is_operator, response->body, response->body_bytes, &tarn_http_answer);
    } else {
        tarn_session_pages_make(&gateway->sessions, &gateway->makers, response->body, response->body_bytes,
                                response->pass, &connection->client, &tarn_http_answer);
    }
    return tarn_http_respond_answer(response, wsi, 0);
}

static int end_session(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *name)
{
    tarn_pass pass;
    if (!tarn_http_origin_is_allowed(gateway, wsi)) {
        return tarn_http_refuse_json(response, wsi, 403, "pages of this origin may end no tanks");
    }
    tarn_http_read_pass(wsi, pass);
    tarn_session_pages_end(&gateway->sessions, name, pass, &tarn_http_answer);
    return tarn_http_respond_answer(response, wsi, 0);
}

/// A request about a session's time: with a body, or none to look at it.
static int respond_time(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *name,
                        const char *verb)
{
    const bool is_look = tarn_time_page_find(verb) == TARN_TIME_PAGE_HISTORY;
    response->time = tarn_time_page_find(verb);
    snprintf(response->moved, sizeof response->moved, "%.*s", (int)(verb - name), name);
    if (is_look ? !tarn_http_is_get(wsi) : lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) <= 0) {
        return tarn_http_refuse_method(response, wsi, tarn_time_page_methods(response->time));
    }
    if (!is_look) {
        return begin_session(gateway, response, wsi);
    }
    tarn_http_read_pass(wsi, response->pass);
    tarn_time_page_answer(&gateway->sessions, &gateway->makers, response->time, response->moved, response->pass, "", 0,
                          &tarn_http_connection(wsi)->client, &tarn_http_answer);
    return tarn_http_respond_answer(response, wsi, 0);
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
                   : tarn_http_refuse_method(response, wsi, "POST");
    }
    if (tarn_time_page_find(verb) != TARN_TIME_PAGE_NONE) {
        return respond_time(gateway, response, wsi, name, verb);
    }
    const int about_scenes = tarn_http_respond_session_scenes(gateway, response, wsi, name, verb);
    if (about_scenes != -2) {
        return about_scenes;
    }
    if (path[root] == '/' && lws_hdr_total_length(wsi, WSI_TOKEN_DELETE_URI) > 0) {
        return end_session(gateway, response, wsi, name);
    }
    if (path[root]) {
        return tarn_http_refuse_method(response, wsi, "DELETE");
    }
    if (!tarn_http_is_get(wsi)) {
        return tarn_http_refuse_method(response, wsi, "GET, HEAD, POST");
    }
    tarn_http_read_pass(wsi, response->pass);
    tarn_session_pages_list(&gateway->sessions, response->pass, &tarn_http_answer);
    return tarn_http_respond_answer(response, wsi, 0);
}

/// Answers a request that the gate refuses.
static int refuse_request(tarn_http_response *response, struct lws *wsi, const char *path, const tarn_http_head *head)
{
    const size_t root = strlen(TARN_SESSION_PAGES_PATH);
    const bool is_sessions = strncmp(path, TARN_SESSION_PAGES_PATH, root) == 0 && (!path[root] || path[root] == '/');
    response->ends = true;
    if (head->status == 405) {
        const char *verb = is_sessions && path[root] ? strchr(path + root + 1, '/') : NULL;
        return tarn_http_refuse_method(response, wsi,
                                       tarn_time_page_find(verb) != TARN_TIME_PAGE_NONE
                                           ? tarn_time_page_methods(tarn_time_page_find(verb))
                                       : verb != NULL && strcmp(verb, "/move") == 0 ? "POST"
                                       : tarn_http_scenes_methods(verb) != NULL     ? tarn_http_scenes_methods(verb)
                                       : is_sessions && path[root]                  ? "DELETE"
                                       : is_sessions                                ? "GET, HEAD, POST"
                                                                                    : "GET, HEAD");
    }
    return is_sessions ? tarn_http_refuse_json(response, wsi, head->status, head->why)
                       : tarn_http_respond_text(response, wsi, head->status, head->why);
}

/// As begin_session, a body is read before the answer.
static int refuse_host(tarn_http_response *response, struct lws *wsi)
{
    const long declared = declared_bytes(wsi);
    if (declared < 1 || declared > TARN_GATEWAY_BODY_BYTES_MAX || response->ends) {
        response->ends = true;
        return tarn_http_respond_text(response, wsi, 421, WRONG_HOST);
    }
    response->refusal = 421;
    response->refusal_sentence = WRONG_HOST;
    response->expects = true;
    response->body_bytes = 0;
    return 0;
}

int tarn_http_request(tarn_gateway *gateway, tarn_http_response *response, struct lws *wsi, const char *path)
{
    tarn_connection *connection = tarn_http_connection(wsi);
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
    if (!tarn_http_host_is_own(gateway, wsi)) {
        return refuse_host(response, wsi);
    }
    const int about_sessions = respond_sessions(gateway, response, wsi, path);
    if (about_sessions != -2) {
        return about_sessions;
    }
    if (!tarn_http_is_get(wsi)) {
        return tarn_http_refuse_method(response, wsi, "GET, HEAD");
    }
    if (strcmp(path, "/healthz") == 0) {
        return respond_health(gateway, response, wsi);
    }
    if (strcmp(path, "/readyz") == 0) {
        return respond_ready(gateway, response, wsi);
    }
    if (strcmp(path, "/certificate") == 0) {
        tarn_tls_write_json(&gateway->tls, scratch, sizeof scratch);
        return tarn_http_respond_made(response, wsi, 200, "application/json", scratch, strlen(scratch));
    }
    if (strcmp(path, "/metrics") == 0) {
        return respond_metrics(gateway, response, wsi);
    }
    if (strncmp(path, TARN_SCENE_PAGES_PREFIX, strlen(TARN_SCENE_PAGES_PREFIX)) == 0) {
        return tarn_http_respond_scene(gateway, response, wsi, path);
    }
    const tarn_page *page = tarn_pages_find(&gateway->pages, path);
    if (page != NULL) {
        return tarn_http_respond_page(response, wsi, page);
    }
    if (gateway->pages.page_count == 0 && strcmp(path, "/") == 0) {
        return tarn_http_respond_text(response, wsi, 404,
                                      "The server runs, but its page is not there: build web-client, or name "
                                      "its directory with --client.");
    }
    return tarn_http_respond_text(response, wsi, 404, "not found");
}

int tarn_http_writable(tarn_http_response *response, struct lws *wsi)
{
    if (response != NULL && response->upload != NULL) {
        const int answered = tarn_http_upload_writable(response, wsi);
        return answered == 1 ? 0 : answered;
    }
    if (response != NULL && (response->telling.is_told || response->telling.session != NULL)) {
        return tarn_http_telling_writable(response, wsi);
    }
    return response != NULL ? tarn_http_go_on(response, wsi) : 0;
}

/// Small answers are written at once.
static int refuse_upgrade(struct lws *wsi, unsigned status, const char *text)
{
    tarn_http_response response = {.ends = true};
    return tarn_http_respond_text(&response, wsi, status, text) < 0 ? -1 : 1;
}

int tarn_http_upgrade(tarn_gateway *gateway, struct lws *wsi)
{
    tarn_connection *connection = tarn_http_connection(wsi);
    if (!tarn_http_host_is_own(gateway, wsi)) {
        return refuse_upgrade(wsi, 421, WRONG_HOST);
    }
    if (!tarn_http_origin_is_allowed(gateway, wsi)) {
        return refuse_upgrade(wsi, 403, "pages of this origin may not connect");
    }
    connection->is_proxied = connection->gate.head.is_proxied;
    connection->client = tarn_proxies_client(&gateway->options.proxies, &connection->address, &connection->gate.head);
    return 0;
}
