// Why it is set up so: HTTP/1.1 only (over HTTP/2 large messages fail in libwebsockets 4.1); whole frames in one send;
// a sign of life every few seconds instead of minutes; no extensions, since frames do not compress.
#include "server/gateway/web.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/gateway.h"
#include "server/gateway/pages/http.h"
#include "server/gateway/reach.h"
#include "server/gateway/viewer/viewer.h"
#include "server/net/socket_reads.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static tarn_gateway *gateway_of(struct lws *wsi)
{
    return lws_context_user(lws_get_context(wsi));
}

/// Whether a request came through its gate, which a libwebsockets that is linked otherwise would bypass.
static bool came_through(struct lws *wsi, tarn_gate_phase phase)
{
    static bool said;
    const tarn_connection *connection = lws_get_opaque_user_data(wsi);
    if (connection != NULL && connection->gate.phase == phase) {
        return true;
    }
    if (!said) {
        tarn_log_error("web: a request bypasses the gate in front of libwebsockets, which is linked in a way that this "
                       "program was not made for; such ones aren't served");
    }
    said = true;
    return false;
}

/// Whether more of a scene's upload is to come.
static bool is_upload(struct lws *wsi)
{
    const tarn_connection *connection = lws_get_opaque_user_data(wsi);
    return connection != NULL && connection->gate.head.is_upload && connection->gate.phase == TARN_GATE_UPLOAD;
}

static void let_go(tarn_connection *connection)
{
    tarn_socket_reads_end(&connection->gate);
    tarn_gate_close(&connection->gate);
    tarn_listener_release(connection);
}

/// Whether a place is this connection's still. One that could not be adopted has been let go of when libwebsockets
/// comes to destroy it, and its place may be another's by then.
static bool is_of(const tarn_connection *connection, const struct lws *wsi)
{
    return connection->used && (connection->wsi == wsi || connection->wsi == NULL); // NULL: it is just being adopted
}

static void note_move(struct lws *wsi)
{
    tarn_connection *connection = lws_get_opaque_user_data(wsi);
    if (connection != NULL) {
        connection->moved_ns = tarn_clock_monotonic_ns();
    }
}

/// Whether a request came without TLS although the server has it, and could be answered.
static bool is_unencrypted(struct lws *wsi)
{
    const tarn_connection *connection = lws_get_opaque_user_data(wsi);
    const tarn_http_head *head = &connection->gate.head;
    return tarn_tls_is_on(&gateway_of(wsi)->tls) && !tarn_tls_covers(wsi) && head->status != 400 &&
           head->path.at != NULL;
}

/// Whoever asks for https' own port without TLS knows it; whoever comes by the other port is told.
static int redirect(struct lws *wsi)
{
    const tarn_connection *connection = lws_get_opaque_user_data(wsi);
    return tarn_redirect_answer(wsi, connection->is_plain ? gateway_of(wsi)->listener.port : 0, &connection->gate.head,
                                &gateway_of(wsi)->reach);
}

static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        if (!came_through(wsi, is_upload(wsi) ? TARN_GATE_UPLOAD : TARN_GATE_ANSWERING)) {
            return -1;
        }
        note_move(wsi);
        if (is_unencrypted(wsi)) {
            return redirect(wsi);
        }
        // A NUL in a path, which may come as %00, would hide what follows it.
        return tarn_http_request(gateway_of(wsi), user, wsi, strlen(in) == length ? in : "");
    case LWS_CALLBACK_HTTP_WRITEABLE:
        note_move(wsi);
        return tarn_http_writable(user, wsi);
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
        tarn_tls_set_up(&gateway_of(wsi)->tls, user);
        return 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        if (!came_through(wsi, TARN_GATE_FRAMES)) {
            return -1;
        }
        if (is_unencrypted(wsi)) {
            return redirect(wsi);
        }
        return tarn_http_upgrade(gateway_of(wsi), wsi);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return 1; // a WebSocket without the subprotocol
    case LWS_CALLBACK_WSI_DESTROY: {
        tarn_connection *connection = lws_get_opaque_user_data(wsi);
        if (connection != NULL && is_of(connection, wsi)) {
            let_go(connection);
        }
        return 0;
    }
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL: // before the response's memory goes
        tarn_http_release(user);
        return 0;
    case LWS_CALLBACK_HTTP_BODY:
        note_move(wsi);
        return tarn_http_body(gateway_of(wsi), user, wsi, in, length);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return tarn_http_body_end(gateway_of(wsi), user, wsi);
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, length);
    }
}

static void receive(tarn_viewer *viewer, struct lws *wsi, const void *bytes, size_t length)
{
    tarn_viewer_piece piece = {
        .bytes = bytes,
        .byte_count = length,
        .bytes_to_come = lws_remaining_packet_payload(wsi),
        .first = lws_is_first_fragment(wsi),
        .last = lws_is_final_fragment(wsi),
        .binary = lws_frame_is_binary(wsi),
    };
    tarn_viewer_receive(viewer, &piece);
}

static int on_viewer(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED:
        tarn_viewer_open(&gateway_of(wsi)->viewers, user, wsi);
        return 0;
    case LWS_CALLBACK_CLOSED:
        if (((tarn_viewer *)user)->all != NULL) { // else it never was opened
            tarn_viewer_closed(user);
        }
        return 0;
    case LWS_CALLBACK_RECEIVE_PONG:
        tarn_viewer_is_valid(user, tarn_clock_monotonic_ns());
        return 0;
    case LWS_CALLBACK_RECEIVE:
        receive(user, wsi, in, length);
        return 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        // The answer to our close ends the connection; one that the peer began is answered by libwebsockets.
        ((tarn_viewer *)user)->peer_closes = true;
        return ((tarn_viewer *)user)->close_sent ? -1 : 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return tarn_viewer_writable(user);
    default:
        return lws_callback_http_dummy(wsi, reason, NULL, in, length);
    }
}

static const struct lws_protocols protocols[] = {
    {"http", on_http, sizeof(tarn_http_response), 0, 0, NULL, TARN_GATEWAY_HTTP_CHUNK_BYTES},
    {TARN_PROTOCOL_SUBPROTOCOL, on_viewer, sizeof(tarn_viewer), TARN_MESSAGE_BYTES_MAX, 0, NULL, TARN_GATEWAY_TX_BYTES},
    {0},
};

static const lws_retry_bo_t signs_of_life = {
    .secs_since_valid_ping = TARN_GATEWAY_VALID_PING_S,
    .secs_since_valid_hangup = TARN_GATEWAY_VALID_HANGUP_S,
};

static void on_log(int level, const char *line)
{
    tarn_log(level & LLL_ERR ? TARN_LOG_WARN : TARN_LOG_DEBUG, "web: %.*s", (int)strcspn(line, "\n"), line);
}

tarn_status tarn_web_open(tarn_gateway *gateway, tarn_text why)
{
    void *loops[] = {&gateway->loop};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = protocols,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                   LWS_SERVER_OPTION_UV_NO_SIGSEGV_SIGFPE_SPIN | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS,
        .foreign_loops = loops,
        .pcontext = &gateway->web, // NULL again once all of it is freed
        .user = gateway,
        .gid = -1,
        .uid = -1,
        .alpn = "http/1.1",
        .server_string = "tarnd",
        .timeout_secs = TARN_GATEWAY_LIBRARY_TIMEOUT_S,
        .timeout_secs_ah_idle = TARN_GATEWAY_LIBRARY_TIMEOUT_S,
        .keepalive_timeout = TARN_GATEWAY_LIBRARY_TIMEOUT_S,
        .pt_serv_buf_size = TARN_GATEWAY_READ_BYTES + 2 * LWS_PRE, // it keeps some for itself
        .max_http_header_data2 = TARN_GATEWAY_HEADER_BYTES_MAX,
        .max_http_header_pool2 = TARN_GATEWAY_CONNECTIONS_MAX + TARN_GATEWAY_REDIRECTS_MAX,
        .retry_and_idle_policy = &signs_of_life,
        .vhost_name = "tarn",
    };
    tarn_tls_describe(&gateway->tls, &info);
    lws_set_log_level(LLL_ERR | LLL_WARN | (gateway->options.log_level >= TARN_LOG_DEBUG ? LLL_NOTICE : 0), on_log);
    gateway->web = lws_create_context(&info);
    if (gateway->web != NULL) {
        gateway->vhost = lws_create_vhost(gateway->web, &info);
    }
    if (gateway->vhost != NULL) {
        return TARN_OK;
    }
    snprintf(why, sizeof(tarn_text),
             "libwebsockets cannot be set up; its libuv plugin (libwebsockets-evlib-uv) may be "
             "missing");
    return TARN_E_UNAVAILABLE;
}

/// A client sent a frame that it may not. What is too large for a message is an error of tarn.v1.
static void on_faulty_frame(void *user, const tarn_ws_fault *fault)
{
    const tarn_connection *connection = user;
    tarn_viewer *viewer = lws_wsi_user(connection->wsi);
    if (fault->close_code == TARN_WS_CLOSE_SIZE) {
        tarn_viewer_fail(viewer, TARN_ERROR_LIMIT, fault->why);
    } else {
        tarn_viewer_close(viewer, fault->close_code, fault->why);
    }
}

static void adopt(tarn_gateway *gateway, int fd, tarn_connection *connection, lws_adoption_type encrypted)
{
    tarn_gate_open(&connection->gate, fd, connection->moved_ns, on_faulty_frame, connection);
    if (!tarn_socket_reads_begin(&connection->gate)) {
        close(fd);
        tarn_listener_release(connection);
        return;
    }
    lws_adopt_desc_t desc = {
        .vh = gateway->vhost,
        .type = LWS_ADOPT_HTTP | LWS_ADOPT_SOCKET | encrypted,
        .fd.sockfd = fd,
        .opaque = connection,
    };
    // What is adopted may be gone again, and with it the connection's place. What isn't may have got as far as that
    // libwebsockets destroys it later, or not.
    struct lws *wsi = lws_adopt_descriptor_vhost_via_info(&desc);
    if (wsi == NULL && connection->used) {
        let_go(connection);
    } else if (wsi != NULL && connection->used) {
        connection->wsi = wsi;
    }
}

void tarn_web_adopt(void *user, int fd, tarn_connection *connection)
{
    adopt(user, fd, connection, LWS_ADOPT_ALLOW_SSL);
}

void tarn_web_adopt_plain(void *user, int fd, tarn_connection *connection)
{
    connection->is_plain = true;
    adopt(user, fd, connection, 0);
}

/// Ends a connection from outside of its callbacks.
static void end_soon(struct lws *wsi, enum pending_timeout why)
{
    lws_set_timeout(wsi, why, LWS_TO_KILL_ASYNC);
    // It looks at its timeouts when a socket moves, which on a quiet server may be much later.
    lws_cancel_service(lws_get_context(wsi));
}

void tarn_web_drop(tarn_connection *connection)
{
    end_soon(connection->wsi, PENDING_TIMEOUT_USER_OK);
}

/// Writes as the writable callback would, for which these are the conditions: the socket takes bytes, and libwebsockets
/// holds none that must go first.
static void write_now(tarn_viewer *viewer)
{
    if (lws_partial_buffered(viewer->wsi)) {
        lws_callback_on_writable(viewer->wsi);
    } else if (tarn_viewer_writable(viewer) != 0) {
        end_soon(viewer->wsi, PENDING_TIMEOUT_CLOSE_SEND);
    }
}

// Asking libwebsockets for each viewer's callback costs four changes of the epoll set a frame, which for a frame of
// 50 kB is a third of all work; one poll() for all viewers asks the same question.
void tarn_web_show(tarn_viewer *const *viewers, uint32_t viewer_count)
{
    struct pollfd sockets[TARN_VIEWERS_MAX];
    for (uint32_t i = 0; i < viewer_count; i++) {
        sockets[i] = (struct pollfd){.fd = lws_get_socket_fd(viewers[i]->wsi), .events = POLLOUT};
    }
    bool known = viewer_count > 0 && poll(sockets, viewer_count, 0) >= 0;
    for (uint32_t i = 0; i < viewer_count; i++) {
        if (known && sockets[i].revents == POLLOUT) {
            write_now(viewers[i]);
        } else {
            lws_callback_on_writable(viewers[i]->wsi);
        }
    }
}

void tarn_web_close(tarn_gateway *gateway)
{
    if (gateway->web != NULL) {
        lws_context_destroy(gateway->web);
    }
    gateway->vhost = NULL;
}
