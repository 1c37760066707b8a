// libwebsockets on the bridge's loop, as small as a page for one host may be:
//
//     GET / and its other files -> Host checked -> from memory
//     upgrade of /ws          -> Host, Origin, subprotocol, at most SHOW_VIEWERS_MAX -> viewer
//     writable                -> one message: setup, answer, figures, picture; each is the newest, nothing queues
//
// A viewer asks for each picture once it has drawn the one before: what waits for a slow one, or for a tab that nobody
// sees, is nothing.
#include "server/tool/kinect/show_server.h"
#include "server/base/clock.h"
#include "server/tool/kinect/show_files.h"

#include <arpa/inet.h>
#include <libwebsockets.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CHUNK_BYTES = 16384,
    HEADER_BYTES_MAX = 4096, ///< of a request
    TIMEOUT_S = 10,
    VALID_PING_S = 10, ///< without a sign of life before a ping
    VALID_HANGUP_S = 25,
    COMMANDS_PER_S_MAX = 100,
    CLOSE_REASON_BYTES_MAX = 123, ///< of the WebSocket protocol
    WRITE_CLOSE = 4,              ///< lws_write's kind for a close frame, which lws-write.h leaves out of its list
    CLOSE_UNSUPPORTED = 1003,
    CLOSE_POLICY = 1008,
    CLOSE_TOO_LARGE = 1009,
    CLOSE_LATER = 1013,
    KEY_BYTES = 24,             ///< 16 bytes in base64 (RFC 6455, 4.1)
    EXTENSIONS_BYTES_MAX = 200, ///< browsers offer 42
};

_Static_assert(SHOW_VIEWERS_MAX == 4 && SHOW_COMMAND_BYTES_MAX == 1024 && COMMANDS_PER_S_MAX == 100,
               "sentences state these limits");

/// A text for all viewers, with room in front for the protocol.
typedef struct show_text {
    size_t bytes;
    uint8_t room[LWS_PRE + SHOW_TEXT_BYTES_MAX];
} show_text;

typedef struct show_viewer {
    show_server *server;
    struct lws *wsi;
    bool waits;                               ///< for a picture
    bool setup_due, figures_due, picture_due; ///< to be sent
    uint16_t close_code;                      ///< 0: it stays
    const char *close_reason;
    bool close_sent;
    uint64_t second_ns; ///< in which commands are counted
    uint32_t second_commands;
    size_t command_bytes;
    char command[SHOW_COMMAND_BYTES_MAX];
    show_text answer;
} show_viewer;

typedef struct show_response {
    const show_file *file;
    size_t sent;
} show_response;

struct show_server {
    struct lws_context *context;
    struct lws_vhost *vhost;
    show_owner owner;
    show_viewer *viewers[SHOW_VIEWERS_MAX];
    uint32_t connections;
    show_text setup, figures;
    size_t picture_bytes;
    uint8_t picture[LWS_PRE + SHOW_PICTURE_BYTES_MAX];
};

static show_server *server_of(struct lws *wsi)
{
    return lws_context_user(lws_get_context(wsi));
}

// ---- who may look ----

/// Whether a Host header names an address or this machine itself, rather than a name that somebody's DNS made up.
static bool host_is_plain(struct lws *wsi, char *host, int host_bytes)
{
    char name[256];
    unsigned char address[sizeof(struct in6_addr)];
    if (lws_hdr_copy(wsi, host, host_bytes, WSI_TOKEN_HOST) <= 0) {
        return false;
    }
    snprintf(name, sizeof name, "%s", host[0] == '[' ? host + 1 : host);
    char *end = host[0] == '[' ? strchr(name, ']') : strrchr(name, ':');
    if (end != NULL) {
        *end = '\0';
    }
    return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, address) == 1 ||
           inet_pton(AF_INET6, name, address) == 1;
}

/// Programs that are no browsers send no origin; a browser's page must be ours.
static bool origin_is_ours(struct lws *wsi, const char *host)
{
    char origin[300];
    if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) <= 0) {
        return true;
    }
    return lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN) > 0 && strncasecmp(origin, "http://", 7) == 0 &&
           strcasecmp(origin + 7, host) == 0;
}

static const char host_sentence[] = "found another host, allowed are 127.0.0.1 and localhost";

/// @return for libwebsockets: the connection ends with this answer
static int refuse(struct lws *wsi, unsigned status, const char *sentence)
{
    return lws_return_http_status(wsi, status, sentence) != 0 ? -1 : 1;
}

/// What libwebsockets doesn't look at before it begins a WebSocket, and gives up amid, when it tells a protocol that a
/// connection is closed which it never opened.
/// @return NULL, or a sentence for a request to upgrade that is answered with 400
static const char *upgrade_fault(struct lws *wsi)
{
    char key[KEY_BYTES + 1];
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HOST) <= 0) {
        return "Host is missing";
    }
    if (lws_hdr_total_length(wsi, WSI_TOKEN_KEY) != KEY_BYTES ||
        lws_hdr_copy(wsi, key, sizeof key, WSI_TOKEN_KEY) != KEY_BYTES ||
        strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") != KEY_BYTES - 2 ||
        strcmp(key + KEY_BYTES - 2, "==") != 0) {
        return "Sec-WebSocket-Key: allowed are 16 bytes in base64";
    }
    if (lws_hdr_total_length(wsi, WSI_TOKEN_EXTENSIONS) > EXTENSIONS_BYTES_MAX) {
        return "Sec-WebSocket-Extensions: allowed are at most 200 bytes";
    }
    return NULL;
}

static int upgrade(struct lws *wsi)
{
    char host[256], text[256];
    if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_GET_URI) <= 0 || strcmp(text, "/ws") != 0) {
        return refuse(wsi, 404, "the WebSocket is at /ws, for GET");
    }
    if (!host_is_plain(wsi, host, sizeof host)) {
        return refuse(wsi, 403, host_sentence);
    }
    if (!origin_is_ours(wsi, host)) {
        return refuse(wsi, 403, "found a page of another origin, allowed is the page of this address");
    }
    if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_PROTOCOL) <= 0 || strcmp(text, SHOW_SUBPROTOCOL) != 0) {
        return refuse(wsi, 400, "found another subprotocol, allowed is " SHOW_SUBPROTOCOL);
    }
    const char *fault = upgrade_fault(wsi);
    return fault != NULL ? refuse(wsi, 400, fault) : 0;
}

// ---- files ----

static const show_file *find_file(const char *path)
{
    for (size_t i = 0; i < SHOW_FILE_COUNT; i++) {
        if (strcmp(path, show_files[i].path) == 0) {
            return &show_files[i];
        }
    }
    return NULL;
}

static bool add_header(struct lws *wsi, const char *name, const char *value, uint8_t **at, uint8_t *end)
{
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value,
                                       (int)strlen(value), at, end) == 0;
}

static int begin(struct lws *wsi, const show_file *file, const char *host)
{
    uint8_t bytes[LWS_PRE + 2048], *start = bytes + LWS_PRE, *at = start, *end = bytes + sizeof bytes - 1;
    char policy[512];
    // Not every browser takes 'self' to mean WebSockets too. A policy can't name an address in brackets.
    const bool is_named = host[0] != '[';
    snprintf(policy, sizeof policy,
             "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'%s%.200s; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             is_named ? " ws://" : "", is_named ? host : "");
    const bool whole = lws_add_http_common_headers(wsi, 200, file->type, file->byte_count, &at, end) == 0 &&
                       add_header(wsi, "content-security-policy:", policy, &at, end) &&
                       add_header(wsi, "cross-origin-opener-policy:", "same-origin", &at, end) &&
                       add_header(wsi, "cross-origin-resource-policy:", "same-origin", &at, end) &&
                       add_header(wsi, "x-content-type-options:", "nosniff", &at, end) &&
                       add_header(wsi, "referrer-policy:", "no-referrer", &at, end) &&
                       add_header(wsi, "cache-control:", "no-store", &at, end);
    return whole && lws_finalize_write_http_header(wsi, start, &at, end) == 0 ? 0 : -1;
}

static int request(struct lws *wsi, show_response *response, const char *path)
{
    char host[256];
    if (!host_is_plain(wsi, host, sizeof host)) {
        return refuse(wsi, 403, host_sentence);
    }
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0) {
        return refuse(wsi, 405, "allowed here: GET");
    }
    const show_file *file = find_file(path);
    if (file == NULL) {
        return refuse(wsi, 404, "not found");
    }
    if (begin(wsi, file, host) != 0) {
        return -1;
    }
    *response = (show_response){.file = file};
    lws_callback_on_writable(wsi);
    return 0;
}

static int write_file(struct lws *wsi, show_response *response)
{
    static uint8_t chunk[LWS_PRE + CHUNK_BYTES];
    if (response == NULL || response->file == NULL) {
        return 0;
    }
    const size_t left = response->file->byte_count - response->sent, count = left < CHUNK_BYTES ? left : CHUNK_BYTES;
    memcpy(chunk + LWS_PRE, response->file->bytes + response->sent, count);
    if (lws_write(wsi, chunk + LWS_PRE, count, count == left ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) != (int)count) {
        return -1;
    }
    response->sent += count;
    if (count == left) {
        response->file = NULL;
        return lws_http_transaction_completed(wsi) != 0 ? -1 : 0;
    }
    lws_callback_on_writable(wsi);
    return 0;
}

static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
    switch (reason) {
    case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
        return server_of(wsi)->connections >= SHOW_CONNECTIONS_MAX;
    case LWS_CALLBACK_WSI_CREATE:
        server_of(wsi)->connections++;
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        server_of(wsi)->connections--;
        return 0;
    case LWS_CALLBACK_HTTP:
        // A NUL in a path, which may come as %00, would hide what follows it.
        return request(wsi, user, strlen(in) == length ? in : "");
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return write_file(wsi, user);
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return upgrade(wsi);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return 1; // a WebSocket without the subprotocol
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, length);
    }
}

// ---- viewers ----

static void close_viewer(show_viewer *viewer, uint16_t code, const char *reason)
{
    if (viewer->close_code == 0) {
        viewer->close_code = code;
        viewer->close_reason = reason;
    }
    lws_callback_on_writable(viewer->wsi);
}

static void open_viewer(show_viewer *viewer, struct lws *wsi)
{
    show_server *server = server_of(wsi);
    memset(viewer, 0, sizeof *viewer);
    viewer->server = server;
    viewer->wsi = wsi;
    for (int i = 0; i < SHOW_VIEWERS_MAX; i++) {
        if (server->viewers[i] == NULL) {
            server->viewers[i] = viewer;
            viewer->setup_due = server->setup.bytes > 0;
            viewer->figures_due = server->figures.bytes > 0;
            lws_callback_on_writable(wsi);
            return;
        }
    }
    close_viewer(viewer, CLOSE_LATER, "this page is open 4 times already, allowed are 4: close one of them");
}

static void forget_viewer(show_viewer *viewer)
{
    for (int i = 0; i < SHOW_VIEWERS_MAX; i++) {
        if (viewer->server->viewers[i] == viewer) {
            viewer->server->viewers[i] = NULL;
        }
    }
}

/// Whether one more command is within what a second may have.
static bool count_command(show_viewer *viewer)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (now_ns - viewer->second_ns > 1000000000u) {
        viewer->second_ns = now_ns;
        viewer->second_commands = 0;
    }
    return ++viewer->second_commands <= COMMANDS_PER_S_MAX;
}

static void take_command(show_viewer *viewer)
{
    show_owner *owner = &viewer->server->owner;
    char *answer = (char *)viewer->answer.room + LWS_PRE;
    bool looks = false;
    const size_t bytes = owner->command(owner->user, viewer->command, viewer->command_bytes, answer, &looks);
    viewer->command_bytes = 0;
    viewer->waits |= looks;
    if (bytes > 0) {
        viewer->answer.bytes = bytes;
        lws_callback_on_writable(viewer->wsi);
    }
}

static void receive(show_viewer *viewer, struct lws *wsi, const void *bytes, size_t count)
{
    if (viewer->close_code != 0) {
        return;
    }
    if (lws_frame_is_binary(wsi)) {
        close_viewer(viewer, CLOSE_UNSUPPORTED, "found a binary message, allowed are texts");
        return;
    }
    const size_t more = lws_remaining_packet_payload(wsi), room = sizeof viewer->command - viewer->command_bytes;
    if (count > room || more > room - count) {
        close_viewer(viewer, CLOSE_TOO_LARGE, "found a longer message, allowed are 1024 bytes");
        return;
    }
    memcpy(viewer->command + viewer->command_bytes, bytes, count);
    viewer->command_bytes += count;
    if (more > 0 || !lws_is_final_fragment(wsi)) {
        return;
    }
    if (!count_command(viewer)) {
        close_viewer(viewer, CLOSE_POLICY, "found more messages, allowed are 100 a second");
        return;
    }
    take_command(viewer);
}

static int write_text(show_viewer *viewer, show_text *text)
{
    return lws_write(viewer->wsi, text->room + LWS_PRE, text->bytes, LWS_WRITE_TEXT) < 0 ? -1 : 0;
}

/// The close frame goes out by ourselves: where libwebsockets was built for debugging it forgets the one that it was
/// asked for. The connection ends when the peer answers, or by the time that is set here.
static int write_close(show_viewer *viewer)
{
    uint8_t frame[LWS_PRE + 2 + CLOSE_REASON_BYTES_MAX];
    const size_t bytes = strnlen(viewer->close_reason, CLOSE_REASON_BYTES_MAX);
    frame[LWS_PRE] = (uint8_t)(viewer->close_code >> 8);
    frame[LWS_PRE + 1] = (uint8_t)viewer->close_code;
    memcpy(frame + LWS_PRE + 2, viewer->close_reason, bytes);
    viewer->close_sent = true;
    lws_set_timeout(viewer->wsi, PENDING_TIMEOUT_CLOSE_ACK, 2);
    return lws_write(viewer->wsi, frame + LWS_PRE, 2 + bytes, (enum lws_write_protocol)WRITE_CLOSE) < 0 ? -1 : 0;
}

static int write_next(show_viewer *viewer)
{
    show_server *server = viewer->server;
    int result = 0;
    if (viewer->close_code != 0) {
        return viewer->close_sent ? 0 : write_close(viewer);
    }
    if (viewer->setup_due) { // before the answer to what changed it
        viewer->setup_due = false;
        result = write_text(viewer, &server->setup);
    } else if (viewer->answer.bytes > 0) {
        result = write_text(viewer, &viewer->answer);
        viewer->answer.bytes = 0;
    } else if (viewer->figures_due) {
        viewer->figures_due = false;
        result = write_text(viewer, &server->figures);
    } else if (viewer->picture_due) {
        viewer->picture_due = false;
        result =
            lws_write(viewer->wsi, server->picture + LWS_PRE, server->picture_bytes, LWS_WRITE_BINARY) < 0 ? -1 : 0;
    }
    if (viewer->answer.bytes > 0 || viewer->setup_due || viewer->figures_due || viewer->picture_due) {
        lws_callback_on_writable(viewer->wsi);
    }
    return result;
}

static int on_viewer(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED:
        open_viewer(user, wsi);
        return 0;
    case LWS_CALLBACK_CLOSED:
        if (((show_viewer *)user)->server != NULL) { // else it never was opened
            forget_viewer(user);
        }
        return 0;
    case LWS_CALLBACK_RECEIVE:
        receive(user, wsi, in, length);
        return 0;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        return ((show_viewer *)user)->close_sent ? -1 : 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return write_next(user);
    default:
        return lws_callback_http_dummy(wsi, reason, NULL, in, length);
    }
}

// ---- what the owner asks ----

static const struct lws_protocols protocols[] = {
    {"http", on_http, sizeof(show_response), 0, 0, NULL, CHUNK_BYTES},
    {SHOW_SUBPROTOCOL, on_viewer, sizeof(show_viewer), SHOW_COMMAND_BYTES_MAX, 0, NULL, SHOW_PICTURE_BYTES_MAX + 64},
    {0},
};

static const lws_retry_bo_t signs_of_life = {
    .secs_since_valid_ping = VALID_PING_S,
    .secs_since_valid_hangup = VALID_HANGUP_S,
};

/// What matters comes back as a result.
static void ignore_log(int level, const char *line)
{
    (void)level;
    (void)line;
}

show_server *show_server_open(uv_loop_t *loop, uint16_t port, const show_owner *owner,
                              char why[KINECT_CALIBRATION_WHY_BYTES])
{
    show_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "out of memory");
        return NULL;
    }
    void *loops[] = {loop};
    struct lws_context_creation_info info = {
        .port = port,
        .iface = "127.0.0.1",
        .protocols = protocols,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DISABLE_IPV6 |
                   LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | LWS_SERVER_OPTION_UV_NO_SIGSEGV_SIGFPE_SPIN |
                   LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS,
        .foreign_loops = loops,
        .pcontext = &server->context, // NULL again once all of it is freed
        .user = server,
        .gid = -1,
        .uid = -1,
        .alpn = "http/1.1",
        .server_string = "tarn",
        .timeout_secs = TIMEOUT_S,
        .timeout_secs_ah_idle = TIMEOUT_S,
        .keepalive_timeout = TIMEOUT_S,
        .max_http_header_data2 = HEADER_BYTES_MAX,
        .max_http_header_pool2 = SHOW_CONNECTIONS_MAX,
        .retry_and_idle_policy = &signs_of_life,
        .vhost_name = "tarn",
    };
    server->owner = *owner;
    lws_set_log_level(LLL_ERR, ignore_log);
    server->context = lws_create_context(&info);
    if (server->context == NULL) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES,
                 "libwebsockets can't be set up; its libuv plugin (libwebsockets-evlib-uv) may be missing");
        goto fail;
    }
    server->vhost = lws_create_vhost(server->context, &info);
    if (server->vhost == NULL) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES,
                 "port %u on 127.0.0.1 can't be opened, another program may have it; --show=PORT names another", port);
        goto fail;
    }
    return server;
fail:
    show_server_close(server);
    uv_run(loop, UV_RUN_DEFAULT);
    show_server_free(server);
    return NULL;
}

uint16_t show_server_port(const show_server *server)
{
    return (uint16_t)lws_get_vhost_listen_port(server->vhost);
}

bool show_server_waits(const show_server *server)
{
    bool waits = false;
    for (int i = 0; i < SHOW_VIEWERS_MAX; i++) {
        waits |= server->viewers[i] != NULL && server->viewers[i]->waits;
    }
    return waits;
}

uint8_t *show_server_room(show_server *server)
{
    return server->picture + LWS_PRE;
}

void show_server_picture(show_server *server, size_t bytes)
{
    server->picture_bytes = bytes;
    for (int i = 0; i < SHOW_VIEWERS_MAX; i++) {
        show_viewer *viewer = server->viewers[i];
        if (viewer != NULL && viewer->waits) {
            viewer->waits = false;
            viewer->picture_due = true;
            lws_callback_on_writable(viewer->wsi);
        }
    }
}

static void put_text(show_text *to, const char *text, size_t bytes)
{
    memcpy(to->room + LWS_PRE, text, bytes);
    to->bytes = bytes;
}

void show_server_setup(show_server *server, const char *text, size_t bytes)
{
    put_text(&server->setup, text, bytes);
    for (int i = 0; i < SHOW_VIEWERS_MAX; i++) {
        if (server->viewers[i] != NULL && bytes > 0) {
            server->viewers[i]->setup_due = true;
            lws_callback_on_writable(server->viewers[i]->wsi);
        }
    }
}

void show_server_figures(show_server *server, const char *text, size_t bytes)
{
    put_text(&server->figures, text, bytes);
    for (int i = 0; i < SHOW_VIEWERS_MAX; i++) {
        if (server->viewers[i] != NULL && bytes > 0) {
            server->viewers[i]->figures_due = true;
            lws_callback_on_writable(server->viewers[i]->wsi);
        }
    }
}

void show_server_close(show_server *server)
{
    if (server != NULL && server->context != NULL) {
        lws_context_destroy(server->context);
    }
}

void show_server_free(show_server *server)
{
    if (server != NULL) {
        show_server_close(server); // versions from 4.3 on keep some of it until the loop has ended
        free(server);
    }
}
