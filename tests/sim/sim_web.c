// libwebsockets, as far as the gateway uses it: requests and frames by the same callbacks, in the same order. It reads
// through the gate, as the real one does, and so parses what the gate lets through, which is plain. Begin at service.
#include "tests/sim/sim_entry.h"
#include "tests/sim/sim_net.h"

#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool sim_socket_close(int fd);

enum {
    READ_BYTES = 8192,
    WRITE_CLOSE = 4,
    TURN_NS = 30000,
    OP_CONTINUES = 0,
    OP_BINARY = 2,
    OP_CLOSE = 8,
    OP_PING = 9,
};

struct lws {
    struct lws *next;
    sim_socket *socket;
    int fd;
    uint64_t of_run;
    void *opaque;
    void *user;
    bool is_ws, wants_writable, is_due, is_gone, is_killed, closes, was_upgraded, reads_no_more;
    uint64_t valid_ns, pinged_ns;
    char head[READ_BYTES + 1]; ///< of the request
    // the frame that comes
    uint8_t begun[14];
    uint32_t begun_count;
    bool in_payload, is_final, is_first, is_binary, message_is_open;
    uint8_t op, mask[4], control[128];
    uint32_t control_count;
    uint64_t payload_at, payload_bytes;
};

struct lws_vhost {
    int nothing;
};

struct lws_context {
    void *user;
    struct lws_context **pointer;
    const struct lws_protocols *protocols;
    uint64_t ping_ns, hangup_ns;
};

static struct lws_context context;
static struct lws_vhost vhost;
static struct lws *all;
static uint64_t run_now = 1;

void sim_web_drop(void)
{
    all = NULL;
    run_now++;
}

static int call(struct lws *wsi, int protocol, enum lws_callback_reasons reason, void *in, size_t length)
{
    return context.protocols[protocol].callback(wsi, reason, wsi->user, in, length);
}

static void end(struct lws *wsi)
{
    if (wsi->is_gone) {
        return;
    }
    wsi->is_gone = true;
    for (struct lws **link = &all; *link != NULL; link = &(*link)->next) {
        if (*link == wsi) {
            *link = wsi->next;
            break;
        }
    }
    if (wsi->was_upgraded) {
        (void)call(wsi, 1, LWS_CALLBACK_CLOSED, NULL, 0);
    } else {
        (void)call(wsi, 0, LWS_CALLBACK_CLOSED_HTTP, NULL, 0);
    }
    (void)call(wsi, 0, LWS_CALLBACK_WSI_DESTROY, NULL, 0);
    wsi->socket->wsi = NULL;
    sim_socket_close(wsi->fd);
    free(wsi->user);
    wsi->user = NULL;
}

// -------------------------------------------------------------------------------------------------------------- frames

/// @return whether the connection ends
static bool frame_ends(struct lws *wsi)
{
    if (wsi->op == OP_CLOSE) {
        if (call(wsi, 1, LWS_CALLBACK_WS_PEER_INITIATED_CLOSE, wsi->control, wsi->control_count) == 0) {
            sim_net_send(wsi->socket->client, SIM_NET_CLOSE, wsi->control, wsi->control_count);
        }
        return true;
    }
    return false; // a ping's answer interests nobody here
}

/// Hands over a part of a frame's payload. @return whether the connection ends
static bool take_payload(struct lws *wsi, uint8_t *bytes, size_t byte_count)
{
    for (size_t i = 0; i < byte_count; i++) {
        bytes[i] ^= wsi->mask[(wsi->payload_at + i) & 3];
    }
    wsi->payload_at += byte_count;
    if (wsi->op < OP_CLOSE) {
        const int result = call(wsi, 1, LWS_CALLBACK_RECEIVE, bytes, byte_count);
        wsi->is_first = false;
        return result != 0;
    }
    const size_t room = sizeof wsi->control - wsi->control_count, kept = byte_count < room ? byte_count : room;
    memcpy(wsi->control + wsi->control_count, bytes, kept);
    wsi->control_count += (uint32_t)kept;
    return false;
}

static uint32_t head_bytes(const struct lws *wsi)
{
    if (wsi->begun_count < 2) {
        return 2;
    }
    const uint32_t length = wsi->begun[1] & 0x7f;
    return 2 + 4 + (length == 126 ? 2 : length == 127 ? 8 : 0);
}

static void read_head(struct lws *wsi)
{
    const uint8_t *begun = wsi->begun;
    const uint32_t length = begun[1] & 0x7f, wide = length == 126 ? 2 : length == 127 ? 8 : 0;
    wsi->payload_bytes = wide == 0 ? length : 0;
    for (uint32_t i = 0; i < wide; i++) {
        wsi->payload_bytes = wsi->payload_bytes << 8 | begun[2 + i];
    }
    memcpy(wsi->mask, begun + 2 + wide, 4);
    wsi->op = begun[0] & 0x0f;
    wsi->is_final = (begun[0] & 0x80) != 0;
    if (wsi->op < OP_CLOSE) {
        wsi->is_first = wsi->op != OP_CONTINUES;
        wsi->is_binary = wsi->op == OP_CONTINUES ? wsi->is_binary : wsi->op == OP_BINARY;
    }
    wsi->payload_at = 0;
    wsi->control_count = 0;
    wsi->begun_count = 0;
    wsi->in_payload = true;
}

/// @return whether the connection ends
static bool take_frames(struct lws *wsi, uint8_t *bytes, size_t byte_count)
{
    size_t at = 0;
    while (at < byte_count || (wsi->in_payload && wsi->payload_at == wsi->payload_bytes)) {
        if (!wsi->in_payload) {
            wsi->begun[wsi->begun_count++] = bytes[at++];
            if (wsi->begun_count >= 2 && wsi->begun_count == head_bytes(wsi)) {
                read_head(wsi);
            }
            continue;
        }
        const uint64_t left = wsi->payload_bytes - wsi->payload_at, here = byte_count - at;
        const size_t now = (size_t)(left < here ? left : here);
        if (take_payload(wsi, bytes + at, now)) {
            return true;
        }
        at += now;
        if (wsi->payload_at == wsi->payload_bytes) {
            wsi->in_payload = false;
            if (frame_ends(wsi)) {
                return true;
            }
        } else if (at == byte_count) {
            break;
        }
    }
    return false;
}

// ------------------------------------------------------------------------------------------------------------ requests

/// Where a field of the head begins, and how long it is. @return NULL: there is none
static const char *field(const struct lws *wsi, const char *name, size_t *byte_count)
{
    const size_t name_bytes = strlen(name);
    for (const char *line = strstr(wsi->head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, name_bytes) == 0 && line[2 + name_bytes] == ':') {
            const char *value = line + 2 + name_bytes + 1;
            value += strspn(value, " ");
            *byte_count = strcspn(value, "\r");
            return value;
        }
    }
    return NULL;
}

static const char *token(const struct lws *wsi, enum lws_token_indexes which, size_t *byte_count)
{
    const char *method = which == WSI_TOKEN_GET_URI      ? "GET "
                         : which == WSI_TOKEN_HEAD_URI   ? "HEAD "
                         : which == WSI_TOKEN_POST_URI   ? "POST "
                         : which == WSI_TOKEN_DELETE_URI ? "DELETE "
                                                         : NULL;
    if (method != NULL) {
        *byte_count = strcspn(wsi->head + strlen(method), " ");
        return strncmp(wsi->head, method, strlen(method)) == 0 ? wsi->head + strlen(method) : NULL;
    }
    const char *name = which == WSI_TOKEN_HOST                  ? "host"
                       : which == WSI_TOKEN_ORIGIN              ? "origin"
                       : which == WSI_TOKEN_HTTP_CONTENT_TYPE   ? "content-type"
                       : which == WSI_TOKEN_HTTP_CONTENT_LENGTH ? "content-length"
                       : which == WSI_TOKEN_HTTP_AUTHORIZATION  ? "authorization"
                       : which == WSI_TOKEN_HTTP_IF_NONE_MATCH  ? "if-none-match"
                                                                : NULL;
    SIM_NEED(name != NULL);
    return field(wsi, name, byte_count);
}

/// @return whether the connection ends
static bool upgrade(struct lws *wsi)
{
    const int refused = call(wsi, 0, LWS_CALLBACK_HTTP_CONFIRM_UPGRADE, (void *)"websocket", 9);
    if (refused != 0) {
        return refused < 0;
    }
    (void)call(wsi, 0, LWS_CALLBACK_HTTP_DROP_PROTOCOL, NULL, 0);
    free(wsi->user);
    wsi->user = sim_make(context.protocols[1].per_session_data_size);
    wsi->is_ws = wsi->was_upgraded = true;
    wsi->valid_ns = sim_now();
    static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
    sim_net_send(wsi->socket->client, SIM_NET_RAW, answer, sizeof answer - 1);
    return call(wsi, 1, LWS_CALLBACK_ESTABLISHED, NULL, 0) != 0;
}

/// @return whether the connection ends
static bool take_request(struct lws *wsi, const char *bytes, size_t byte_count)
{
    size_t target_bytes = 0, value_bytes = 0;
    memcpy(wsi->head, bytes, byte_count);
    wsi->head[byte_count] = 0;
    char *end_of_head = strstr(wsi->head, "\r\n\r\n");
    SIM_NEED(end_of_head != NULL);
    const char *body = bytes + (end_of_head + 4 - wsi->head);
    const size_t body_bytes = byte_count - (size_t)(end_of_head + 4 - wsi->head);
    end_of_head[2] = 0;
    const char *target = strchr(wsi->head, ' ') + 1;
    target_bytes = strcspn(target, " ?");
    char path[2048];
    snprintf(path, sizeof path, "%.*s", (int)target_bytes, target);
    const char *connection = field(wsi, "connection", &value_bytes);
    wsi->closes = connection != NULL && strncasecmp(connection, "close", 5) == 0;
    if (connection != NULL && strncasecmp(connection, "upgrade", 7) == 0) {
        return upgrade(wsi);
    }
    if (call(wsi, 0, LWS_CALLBACK_HTTP, path, target_bytes) != 0) {
        return true;
    }
    if (body_bytes > 0 && call(wsi, 0, LWS_CALLBACK_HTTP_BODY, (void *)(uintptr_t)body, body_bytes) != 0) {
        return true;
    }
    return body_bytes > 0 && call(wsi, 0, LWS_CALLBACK_HTTP_BODY_COMPLETION, NULL, 0) != 0;
}

// ------------------------------------------------------------------------------------------------------------- service

static void again(struct lws *wsi);

static bool has_come(const struct lws *wsi)
{
    return !wsi->reads_no_more && sim_socket_is_readable(wsi->socket);
}

static void service(void *of, uint64_t number)
{
    struct lws *wsi = of;
    uint8_t bytes[READ_BYTES];
    (void)number;
    if (wsi->of_run == run_now && sim_loop_stands_until() > sim_now()) {
        sim_at(sim_loop_stands_until(), service, wsi, 0);
        return;
    }
    wsi->is_due = false;
    if (wsi->of_run != run_now || wsi->is_gone) {
        return;
    }
    bool ends = wsi->is_killed;
    if (!ends && has_come(wsi)) {
        const ssize_t got = sim_entry_now->recv(wsi->fd, bytes, sizeof bytes, 0);
        if (got > 0) {
            wsi->valid_ns = sim_now();
            ends = wsi->is_ws ? take_frames(wsi, bytes, (size_t)got) : take_request(wsi, (char *)bytes, (size_t)got);
        } else {
            ends = got == 0 || wsi->socket->is_reset;
        }
    }
    if (!ends && !sim_gateway_is_dead() && wsi->wants_writable && sim_socket_is_writable(wsi->socket)) {
        wsi->wants_writable = false;
        ends = call(wsi, wsi->is_ws, wsi->is_ws ? LWS_CALLBACK_SERVER_WRITEABLE : LWS_CALLBACK_HTTP_WRITEABLE, NULL,
                    0) != 0;
    }
    if (ends) {
        end(wsi);
    } else {
        again(wsi);
    }
}

static void schedule(struct lws *wsi)
{
    if (!wsi->is_due && !wsi->is_gone) {
        wsi->is_due = true;
        sim_at(sim_now() + TURN_NS, service, wsi, 0);
    }
}

static void again(struct lws *wsi)
{
    if (wsi->is_killed || has_come(wsi) || (wsi->wants_writable && sim_socket_is_writable(wsi->socket))) {
        schedule(wsi);
    }
}

void sim_web_socket_changed(sim_socket *of)
{
    again(of->wsi);
}

static void look_for_life(void *of, uint64_t run)
{
    (void)of;
    if (run != run_now || context.protocols == NULL) {
        return;
    }
    if (sim_loop_stands_until() > sim_now()) {
        sim_at(sim_loop_stands_until() + 2, look_for_life, NULL, run);
        return;
    }
    for (struct lws *wsi = all; wsi != NULL; wsi = wsi->next) {
        const uint64_t quiet_ns = sim_now() - wsi->valid_ns;
        if (wsi->is_ws && quiet_ns >= context.hangup_ns) {
            // One that was pinged since has had its time to answer.
            SIM_CHECK(ALIVE,
                      !sim_loop_has_stood(context.hangup_ns) || sim_loop_stood_from() < wsi->pinged_ns + 2 * SIM_S,
                      "a connection is ended for its silence just after the gateway stood");
            wsi->is_killed = true;
            schedule(wsi);
        } else if (wsi->is_ws && quiet_ns >= context.ping_ns && wsi->pinged_ns < wsi->valid_ns) {
            wsi->pinged_ns = sim_now();
            sim_net_send(wsi->socket->client, SIM_NET_PING, NULL, 0);
        }
    }
    sim_at(sim_now() + SIM_S, look_for_life, NULL, run);
}

// ----------------------------------------------------------------------------------------------------- what is called

struct lws_context *lws_create_context(const struct lws_context_creation_info *info)
{
    context = (struct lws_context){.user = info->user,
                                   .pointer = info->pcontext,
                                   .protocols = info->protocols,
                                   .ping_ns = info->retry_and_idle_policy->secs_since_valid_ping * SIM_S,
                                   .hangup_ns = info->retry_and_idle_policy->secs_since_valid_hangup * SIM_S};
    sim_gateway_is(info->user);
    sim_at(sim_now() + SIM_S, look_for_life, NULL, run_now);
    return &context;
}

struct lws_vhost *lws_create_vhost(struct lws_context *of, const struct lws_context_creation_info *info)
{
    (void)of;
    (void)info;
    return &vhost;
}

void lws_context_destroy(struct lws_context *of)
{
    while (all != NULL) {
        end(all);
    }
    run_now++;
    if (of->pointer != NULL) {
        *of->pointer = NULL;
    }
}

struct lws *lws_adopt_descriptor_vhost_via_info(const lws_adopt_desc_t *info)
{
    struct lws *wsi = sim_make(sizeof *wsi);
    wsi->of_run = run_now;
    wsi->fd = info->fd.sockfd;
    wsi->socket = sim_socket_of(wsi->fd);
    wsi->socket->wsi = wsi;
    wsi->opaque = info->opaque;
    wsi->user = sim_make(context.protocols[0].per_session_data_size);
    wsi->valid_ns = sim_now();
    wsi->next = all;
    all = wsi;
    again(wsi);
    return wsi;
}

int lws_callback_http_dummy(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
    (void)wsi;
    (void)reason;
    (void)user;
    (void)in;
    (void)length;
    return 0;
}

int lws_callback_on_writable(struct lws *wsi)
{
    wsi->wants_writable = true;
    again(wsi);
    return 1;
}

int lws_write(struct lws *wsi, unsigned char *bytes, size_t byte_count, enum lws_write_protocol kind)
{
    const sim_net_kind as = (int)kind == WRITE_CLOSE   ? SIM_NET_CLOSE
                            : kind == LWS_WRITE_BINARY ? SIM_NET_BINARY
                                                       : SIM_NET_RAW;
    if (wsi->socket->is_reset) {
        return -1;
    }
    sim_net_send(wsi->socket->client, as, bytes, byte_count);
    return (int)byte_count;
}

/// The real one keeps what the kernel didn't take.
int lws_partial_buffered(struct lws *wsi)
{
    return !sim_net_has_room(wsi->socket->client);
}

void lws_set_timeout(struct lws *wsi, enum pending_timeout reason, int seconds)
{
    (void)reason;
    SIM_NEED(seconds == LWS_TO_KILL_ASYNC);
    wsi->is_killed = true;
    schedule(wsi);
}

int lws_rx_flow_control(struct lws *wsi, int enable)
{
    wsi->reads_no_more = enable == 0;
    again(wsi);
    return 0;
}

void lws_validity_confirmed(struct lws *wsi)
{
    wsi->valid_ns = sim_now();
}

void lws_cancel_service(struct lws_context *of)
{
    (void)of;
}

struct lws_context *lws_get_context(const struct lws *wsi)
{
    (void)wsi;
    return &context;
}

void *lws_context_user(struct lws_context *of)
{
    return of->user;
}

void *lws_get_opaque_user_data(const struct lws *wsi)
{
    return wsi->opaque;
}

lws_sockfd_type lws_get_socket_fd(struct lws *wsi)
{
    return wsi->fd;
}

void *lws_wsi_user(struct lws *wsi)
{
    return wsi->user;
}

int lws_is_ssl(struct lws *wsi)
{
    (void)wsi;
    return 0;
}

SSL *lws_get_ssl(struct lws *wsi)
{
    (void)wsi;
    return NULL;
}

int lws_is_first_fragment(struct lws *wsi)
{
    return wsi->is_first;
}

int lws_is_final_fragment(struct lws *wsi)
{
    return wsi->is_final && wsi->payload_at == wsi->payload_bytes;
}

int lws_frame_is_binary(struct lws *wsi)
{
    return wsi->is_binary;
}

size_t lws_remaining_packet_payload(struct lws *wsi)
{
    return (size_t)(wsi->payload_bytes - wsi->payload_at);
}

void lws_set_log_level(int level, void (*emit)(int level, const char *line))
{
    (void)level;
    (void)emit;
}

// ------------------------------------------------------------------------------------------------------- HTTP answers

static int add(unsigned char **at, const unsigned char *until, const char *text, size_t byte_count)
{
    if ((size_t)(until - *at) < byte_count) {
        return 1;
    }
    memcpy(*at, text, byte_count);
    *at += byte_count;
    return 0;
}

int lws_add_http_common_headers(struct lws *wsi, unsigned int code, const char *type, lws_filepos_t length,
                                unsigned char **at, unsigned char *until)
{
    char text[256];
    (void)wsi;
    const int bytes = snprintf(text, sizeof text, "HTTP/1.1 %u \r\ncontent-type:%s\r\ncontent-length:%llu\r\n", code,
                               type, (unsigned long long)length);
    return add(at, until, text, (size_t)bytes);
}

int lws_add_http_header_by_name(struct lws *wsi, const unsigned char *name, const unsigned char *value, int length,
                                unsigned char **at, unsigned char *until)
{
    (void)wsi;
    return add(at, until, (const char *)name, strlen((const char *)name)) ||
           add(at, until, (const char *)value, (size_t)length) || add(at, until, "\r\n", 2);
}

int lws_finalize_write_http_header(struct lws *wsi, unsigned char *start, unsigned char **at, unsigned char *until)
{
    if (add(at, until, "\r\n", 2) != 0) {
        return 1;
    }
    return lws_write(wsi, start, (size_t)(*at - start), LWS_WRITE_HTTP_HEADERS) < 0;
}

int lws_hdr_total_length(struct lws *wsi, enum lws_token_indexes which)
{
    size_t byte_count = 0;
    return token(wsi, which, &byte_count) != NULL ? (int)byte_count : 0;
}

int lws_hdr_copy(struct lws *wsi, char *to, int room, enum lws_token_indexes which)
{
    size_t byte_count = 0;
    const char *from = token(wsi, which, &byte_count);
    to[0] = 0;
    if (from == NULL) {
        return 0;
    }
    if (byte_count >= (size_t)room) {
        return -1;
    }
    memcpy(to, from, byte_count);
    to[byte_count] = 0;
    return (int)byte_count;
}

int lws_http_transaction_completed(struct lws *wsi)
{
    (void)call(wsi, 0, LWS_CALLBACK_HTTP_DROP_PROTOCOL, NULL, 0);
    memset(wsi->user, 0, context.protocols[0].per_session_data_size);
    return wsi->closes;
}
