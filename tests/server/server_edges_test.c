// The edges of HTTP and of WebSockets, byte by byte on raw sockets: each case is what is sent, and what the server must
// say to it. Cases name the paragraph that they are about: 9110 and 9112 are HTTP, 6455 is WebSocket.
#include "server/base/clock.h"
#include "tests/server/pool_server.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char answer[1 << 16];

#define TEXT(string) string, sizeof(string) - 1
#define GET_LINE "GET /healthz HTTP/1.1\r\n"
#define HOST "Host: a\r\n"
#define POST_HEAD "POST /sessions HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define PROTOCOL "Sec-WebSocket-Protocol: tarn.v1\r\n"
#define UPGRADE "Connection: Upgrade\r\nUpgrade: websocket\r\n"
#define WS_LINE "GET /ws HTTP/1.1\r\n"

typedef struct http_case {
    const char *name, *bytes;
    size_t byte_count;
    int status;
    const char *says; ///< somewhere in the answer; NULL: anything
} http_case;

static const http_case http_cases[] = {
    // What is right.
    {"9112 3: plain", TEXT(GET_LINE HOST "\r\n"), 200, "ok"},
    {"9112 2.2: an empty line in front", TEXT("\r\n" GET_LINE HOST "\r\n"), 200, "ok"},
    {"9112 5: no space behind the colon", TEXT(GET_LINE "Host:a\r\n\r\n"), 200, NULL},
    {"9112 5: tabs around a value", TEXT(GET_LINE "Host:\ta \t\r\n\r\n"), 200, NULL},
    {"9112 5: an empty value", TEXT(GET_LINE HOST "Cookie:\r\n\r\n"), 200, NULL},
    {"9112 5: names in any case", TEXT(GET_LINE "hOsT: a\r\n\r\n"), 200, NULL},
    {"9112 5.5: bytes above 127 in a value", TEXT(GET_LINE HOST "User-Agent: \xc3\xa4\xff\r\n\r\n"), 200, NULL},
    {"9112 3.2.2: the host in the target", TEXT("GET http://b/healthz HTTP/1.1\r\n" HOST "\r\n"), 200, "ws://b "},
    {"9112 3.2: a query", TEXT("GET /healthz?a=1&b=%00 HTTP/1.1\r\n" HOST "\r\n"), 200, NULL},
    {"9112 2.3: HTTP/1.0 without a host", TEXT("GET /healthz HTTP/1.0\r\n\r\n"), 200, NULL},
    {"9110 2.5: HTTP/1.7", TEXT("GET /healthz HTTP/1.7\r\n" HOST "\r\n"), 200, NULL},
    {"9110 9.3.1: a body of GET", TEXT(GET_LINE HOST "Content-Length: 3\r\n\r\nabc"), 200, NULL},
    {"9110 8.6: zeros in front of a length", TEXT(GET_LINE HOST "Content-Length: 0003\r\n\r\nabc"), 200, NULL},
    {"9110 5.3: Connection in two lines", TEXT(GET_LINE HOST "Connection: keep-alive\r\nConnection: close\r\n\r\n"),
     200, NULL},

    // The request line.
    {"9112 3: no method", TEXT(" /healthz HTTP/1.1\r\n" HOST "\r\n"), 400, "no HTTP"},
    {"TLS instead of HTTP", TEXT("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), 400, "no HTTP"},
    {"9112 3: a method that is no token", TEXT("G(T /healthz HTTP/1.1\r\n" HOST "\r\n"), 400, "method"},
    {"9110 9.1: methods have cases", TEXT("get /healthz HTTP/1.1\r\n" HOST "\r\n"), 405, "allowed here: GET, HEAD"},
    {"9110 9.1: an unknown method", TEXT("BREW /healthz HTTP/1.1\r\n" HOST "\r\n"), 405, "allow: GET, HEAD\r\n"},
    {"9110 9.3.6: CONNECT", TEXT("CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n"), 405, "allowed here"},
    {"9110 9.3.7: OPTIONS *", TEXT("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), 405, "allowed here"},
    {"9110 9.3.4: PUT of a session", TEXT("PUT /sessions/a HTTP/1.1\r\n" HOST "\r\n"), 405, "allow: DELETE\r\n"},
    {"9110 9.3.8: TRACE of sessions", TEXT("TRACE /sessions HTTP/1.1\r\n" HOST "\r\n"), 405, "GET, HEAD, POST"},
    {"9112 3: no version", TEXT("GET /healthz\r\n" HOST "\r\n"), 400, "request line"},
    {"9112 3: two spaces", TEXT("GET  /healthz HTTP/1.1\r\n" HOST "\r\n"), 400, "%XX"},
    {"9112 3: a space in the target", TEXT("GET /health z HTTP/1.1\r\n" HOST "\r\n"), 400, "%XX"},
    {"9112 3: a tab between", TEXT("GET\t/healthz HTTP/1.1\r\n" HOST "\r\n"), 400, "request line"},
    {"9112 3.2: a fragment", TEXT("GET /healthz#a HTTP/1.1\r\n" HOST "\r\n"), 400, "%XX"},
    {"9112 3.2: a target that is no path", TEXT("GET healthz HTTP/1.1\r\n" HOST "\r\n"), 400, "begins with '/'"},
    {"9112 3.2: a byte above 127", TEXT("GET /\xff HTTP/1.1\r\n" HOST "\r\n"), 400, "%XX"},
    {"3986 2.1: % without digits", TEXT("GET /%zz HTTP/1.1\r\n" HOST "\r\n"), 400, "hexadecimal"},
    {"3986 2.1: % at the end", TEXT("GET /%4 HTTP/1.1\r\n" HOST "\r\n"), 400, "hexadecimal"},
    {"a zero byte as %00", TEXT("GET /healthz%00 HTTP/1.1\r\n" HOST "\r\n"), 400, "control character"},
    {"a path that goes up", TEXT("GET /a/../healthz HTTP/1.1\r\n" HOST "\r\n"), 400, "'..'"},
    {"the same, hidden", TEXT("GET /a/%2e%2E/healthz HTTP/1.1\r\n" HOST "\r\n"), 400, "'..'"},
    {"9112 2.3: HTTP/2.0", TEXT("GET /healthz HTTP/2.0\r\n" HOST "\r\n"), 505, "HTTP/1.1"},
    {"9113 3.4: HTTP/2's preface", TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505, "HTTP/2.0"},
    {"9112 2.3: HTTP/0.9", TEXT("GET /healthz HTTP/0.9\r\n" HOST "\r\n"), 505, "HTTP/0.9"},
    {"9112 2.3: HTTP/1.", TEXT("GET /healthz HTTP/1.\r\n" HOST "\r\n"), 400, "version"},
    {"9112 2.3: http/1.1", TEXT("GET /healthz http/1.1\r\n" HOST "\r\n"), 400, "version"},
    {"9112 2.2: nothing but empty lines", TEXT("\r\n\r\n"), 400, "missing"},

    // Lines and fields.
    {"9112 2.2: LF alone", TEXT("GET /healthz HTTP/1.1\n" HOST "\n"), 400, "CR LF"},
    {"9112 2.2: LF alone at the end", TEXT(GET_LINE HOST "\n"), 400, "CR LF"},
    {"9112 2.2: CR alone", TEXT(GET_LINE "Host: a\rX: b\r\n\r\n"), 400, "CR LF"},
    {"9112 5: a zero byte", TEXT(GET_LINE "Host: a\r\nX: b\0c\r\n\r\n"), 400, "zero byte"},
    {"9112 5.1: a space in front of the colon", TEXT(GET_LINE "Host : a\r\n\r\n"), 400, "in front of its colon"},
    {"9112 5.1: the same of Content-Length", TEXT(POST_HEAD "Content-Length : 2\r\n\r\n{}"), 400, "colon"},
    {"9112 5.1: and Transfer-Encoding", TEXT(POST_HEAD "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"), 400, "colon"},
    {"9112 5.1: a tab in front of the colon", TEXT(POST_HEAD "Content-Length\t: 2\r\n\r\n{}"), 400, "colon"},
    {"9112 5.2: a field in two lines", TEXT(GET_LINE HOST "X: a\r\n b\r\n\r\n"), 400, "second line"},
    {"9112 2.2: a space in front of the first field", TEXT(GET_LINE " Host: a\r\n\r\n"), 400, "second line"},
    {"9112 5: no colon", TEXT(GET_LINE HOST "abc\r\n\r\n"), 400, "no colon"},
    {"9112 5: no name", TEXT(GET_LINE HOST ": abc\r\n\r\n"), 400, "name"},
    {"9110 5.5: a control character", TEXT(GET_LINE HOST "X: a\x01\r\n\r\n"), 400, "control character"},

    // The host.
    {"9112 3.2: none", TEXT(GET_LINE "\r\n"), 400, "Host is missing"},
    {"9112 3.2: two", TEXT(GET_LINE HOST "Host: b\r\n\r\n"), 400, "Host comes twice"},
    {"9112 3.2: twice the same", TEXT(GET_LINE HOST HOST "\r\n"), 400, "Host comes twice"},
    {"9112 3.2: an empty one", TEXT(GET_LINE "Host:\r\n\r\n"), 400, "Host: allowed"},
    {"9112 3.2: one that is none", TEXT(GET_LINE "Host: a b\r\n\r\n"), 400, "Host: allowed"},
    {"9112 3.2: a policy in it", TEXT(GET_LINE "Host: a; script-src *\r\n\r\n"), 400, "Host: allowed"},
    {"9112 3.2: a user in the target", TEXT("GET http://u@a/ HTTP/1.1\r\n" HOST "\r\n"), 400, "target's host"},
    {"6454: two origins", TEXT(GET_LINE HOST "Origin: http://a\r\nOrigin: http://b\r\n\r\n"), 400,
     "Origin comes twice"},

    // Bodies.
    {"9110 8.6: a sign", TEXT(POST_HEAD "Content-Length: +2\r\n\r\n{}"), 400, "digits"},
    {"9110 8.6: less than nothing", TEXT(POST_HEAD "Content-Length: -2\r\n\r\n{}"), 400, "digits"},
    {"9110 8.6: hexadecimal", TEXT(POST_HEAD "Content-Length: 0x2\r\n\r\n{}"), 400, "digits"},
    {"9110 8.6: empty", TEXT(POST_HEAD "Content-Length:\r\n\r\n{}"), 400, "digits"},
    {"9110 8.6: a list", TEXT(POST_HEAD "Content-Length: 2, 2\r\n\r\n{}"), 400, "digits"},
    {"9112 6.3: two", TEXT(POST_HEAD "Content-Length: 2\r\nContent-Length: 20\r\n\r\n{}"), 400, "twice"},
    {"9112 6.3: twice the same", TEXT(POST_HEAD "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), 400, "twice"},
    {"9110 8.6: more than 64 bits", TEXT(POST_HEAD "Content-Length: 99999999999999999999999\r\n\r\n{}"), 413, "1024"},
    {"9110 15.5.14: too large", TEXT(POST_HEAD "Content-Length: 1025\r\n\r\n{}"), 413, "{\"error\":"},
    {"9110 8.6: an empty body", TEXT(POST_HEAD "Content-Length: 0\r\n\r\n"), 400, "the body is empty"},
    {"9110 15.5.12: no length", TEXT(POST_HEAD "\r\n{}"), 411, "length"},
    {"9112 6.1: chunks", TEXT(POST_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), 411, "chunks"},
    {"9112 6.1: both", TEXT(POST_HEAD "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400,
     "and a"},
    {"9112 6.1: an unknown coding", TEXT(POST_HEAD "Transfer-Encoding: gzip\r\n\r\n{}"), 501, "Transfer-Encoding"},
    {"9112 6.1: chunked, hidden", TEXT(POST_HEAD "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 501, "not known"},
    {"9112 6.1: in HTTP/1.0", TEXT("POST /sessions HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"), 400,
     "1.0"},
    {"9110 10.1.1: Expect", TEXT(POST_HEAD "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"), 417, "at once"},
    {"a body of another type", TEXT("POST /sessions HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}"), 415, "json"},
    {"a field that isn't known", TEXT(POST_HEAD "Content-Length: 13\r\n\r\n{\"\\u001b[\":1}"), 400,
     "field \\\"\\\\u001B[\\\", allowed are scene"},
    {"a field that comes twice", TEXT(POST_HEAD "Content-Length: 25\r\n\r\n{\"scene\":\"a\",\"scene\":\"b\"}"), 400,
     "a field twice, the second time up to its byte"},
    {"a body that is no JSON", TEXT(POST_HEAD "Content-Length: 2\r\n\r\n{["), 400, "{\"error\":"},

    // Upgrades.
    {"a proxy takes it out", TEXT(WS_LINE HOST "\r\n"), 426, "pass the fields Upgrade and Connection on"},
    {"a proxy that speaks HTTP/1.0", TEXT("GET /ws HTTP/1.0\r\n" HOST "Connection: close\r\n\r\n"), 426,
     "over HTTP/1.1"},
    {"6455 4.2: plain", TEXT(WS_LINE HOST UPGRADE KEY VERSION PROTOCOL "\r\n"), 101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="},
    {"6455 4.2.1: lists",
     TEXT(WS_LINE HOST "Connection: keep-alive, upgrade\r\nUpgrade: WebSocket\r\n" KEY VERSION
                       "Sec-WebSocket-Protocol: a, tarn.v1\r\n\r\n"),
     101, NULL},
    {"6455 4.2.1: HTTP/1.0", TEXT("GET /ws HTTP/1.0\r\n" HOST UPGRADE KEY VERSION PROTOCOL "\r\n"), 400, "HTTP/1.0"},
    {"6455 4.2.1: POST", TEXT("POST /ws HTTP/1.1\r\n" HOST UPGRADE KEY VERSION PROTOCOL "\r\n"), 404, "for GET"},
    {"6455 4.2.1: elsewhere", TEXT("GET / HTTP/1.1\r\n" HOST UPGRADE KEY VERSION PROTOCOL "\r\n"), 404, "/ws"},
    {"6455 4.2.1: no host", TEXT(WS_LINE UPGRADE KEY VERSION PROTOCOL "\r\n"), 400, "Host"},
    {"6455 4.2.1: no Connection", TEXT(WS_LINE HOST "Upgrade: websocket\r\n" KEY VERSION PROTOCOL "\r\n"), 400,
     "Connection: Upgrade"},
    {"6455 4.2.1: no key", TEXT(WS_LINE HOST UPGRADE VERSION PROTOCOL "\r\n"), 400, "16 bytes"},
    {"6455 4.2.1: a key of 3 bytes", TEXT(WS_LINE HOST UPGRADE "Sec-WebSocket-Key: YWJj\r\n" VERSION PROTOCOL "\r\n"),
     400, "16 bytes"},
    {"6455 4.2.1: a key of 17 bytes",
     TEXT(WS_LINE HOST UPGRADE "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZWE=\r\n" VERSION PROTOCOL "\r\n"), 400, "16"},
    {"4648 3.5: bits behind the end",
     TEXT(WS_LINE HOST UPGRADE "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n" VERSION PROTOCOL "\r\n"), 400, "16"},
    {"6455 11.3.1: two keys", TEXT(WS_LINE HOST UPGRADE KEY KEY VERSION PROTOCOL "\r\n"), 400, "Key comes twice"},
    {"6455 4.4: no version", TEXT(WS_LINE HOST UPGRADE KEY PROTOCOL "\r\n"), 426, "sec-websocket-version: 13\r\n"},
    {"6455 4.4: another", TEXT(WS_LINE HOST UPGRADE KEY "Sec-WebSocket-Version: 8\r\n" PROTOCOL "\r\n"), 426, "13"},
    {"no subprotocol", TEXT(WS_LINE HOST UPGRADE KEY VERSION "\r\n"), 400, "tarn.v1"},
    {"another subprotocol", TEXT(WS_LINE HOST UPGRADE KEY VERSION "Sec-WebSocket-Protocol: tarn.v10\r\n\r\n"), 400,
     "tarn.v1"},
    {"another upgrade", TEXT(GET_LINE HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n"), 400, "WebSocket"},
    {"another origin", TEXT(WS_LINE HOST UPGRADE KEY VERSION PROTOCOL "Origin: http://b\r\n\r\n"), 403, "origin"},
    {"6455 4.1: frames before the answer", TEXT(WS_LINE HOST UPGRADE KEY VERSION PROTOCOL "\r\n\x89\x80\1\2\3\4"), 400,
     "before it was answered"},
};

enum { HTTP_CASES = sizeof http_cases / sizeof http_cases[0] };

/// Reads what comes until the connection ends or a whole answer is there and nothing follows.
static size_t read_answer(int fd)
{
    size_t have = 0;
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    answer[0] = 0;
    for (int wait_ms = WS_CLIENT_WAIT_MS; have < sizeof answer - 1 && poll(&pollfd, 1, wait_ms) > 0;) {
        const ssize_t got = recv(fd, answer + have, sizeof answer - 1 - have, 0);
        if (got <= 0) {
            break;
        }
        have += (size_t)got;
        answer[have] = 0;
        const char *end = strstr(answer, "\r\n\r\n"), *length = strstr(answer, "content-length: ");
        const size_t body = length != NULL && length < end ? strtoul(length + 16, NULL, 10) : 0;
        if (end != NULL && (size_t)(answer + have - end - 4) >= body) {
            wait_ms = 20; // a second answer would be one too many
        }
    }
    return have;
}

static void check_headers(const char *name)
{
    static const char *const always[] = {"content-security-policy: ", "x-content-type-options: nosniff\r\n",
                                         "cross-origin-opener-policy: same-origin\r\n",
                                         "referrer-policy: no-referrer\r\n"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        if (strstr(answer, always[i]) == NULL) {
            fail_msg("%s: the answer does not have \"%s\":\n%s", name, always[i], answer);
        }
    }
}

/// Answers by their status lines.
static int count_answers(void)
{
    int count = 0, status;
    for (const char *at = answer; (at = strstr(at, "HTTP/1.")) != NULL; at++) {
        count += sscanf(at, "HTTP/1.%*1d %3d", &status) == 1;
    }
    return count;
}

/// @param piece  bytes sent at once
static void try_http(const http_case *one, size_t piece)
{
    int status = 0;
    const int fd = ws_connect(pool_server.port);
    assert_true(fd >= 0);
    for (size_t at = 0; at < one->byte_count; at += piece) {
        ws_send_raw(fd, one->bytes + at, one->byte_count - at < piece ? one->byte_count - at : piece);
    }
    read_answer(fd);
    close(fd);
    sscanf(answer, "HTTP/1.%*d %d", &status);
    if (status != one->status || (one->says != NULL && strstr(answer, one->says) == NULL) || count_answers() != 1) {
        fail_msg("%s: expected is one answer %d with \"%s\", found is:\n%s", one->name, one->status,
                 one->says != NULL ? one->says : "", answer);
    }
    if (status != 101) {
        check_headers(one->name);
    }
}

static void test_http(void **state)
{
    (void)state;
    for (int i = 0; i < HTTP_CASES; i++) {
        try_http(&http_cases[i], SIZE_MAX / 2);
    }
}

static void test_http_byte_by_byte(void **state)
{
    (void)state;
    for (int i = 0; i < HTTP_CASES; i++) {
        if (strstr(http_cases[i].name, "before the answer") == NULL) { // which then has come
            try_http(&http_cases[i], 1);
        }
    }
}

static void test_large_heads(void **state)
{
    (void)state;
    static char request[64 << 10];
    const struct {
        const char *beginning;
        size_t filled;
        int status;
        const char *says;
    } cases[] = {
        {GET_LINE HOST "Cookie: ", 15000, 200, "ok"},
        {GET_LINE HOST "Cookie: ", 16400, 431, "cookies"},
        {GET_LINE HOST "Cookie: ", 60000, 431, "cookies"},
        {"GET /", 2000, 404, "not found"},
        {"GET /", 2048, 414, "2048"},
        {"", 20000, 431, "16384"},
        {GET_LINE HOST "Origin: ", 300, 431, "Origin has 300 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t used = strlen(cases[i].beginning);
        memcpy(request, cases[i].beginning, used);
        memset(request + used, 'a', cases[i].filled);
        used += cases[i].filled;
        const char *end = cases[i].beginning[0] == 0                 ? ""
                          : strstr(cases[i].beginning, "\r") == NULL ? " HTTP/1.1\r\n" HOST "\r\n"
                                                                     : "\r\n\r\n";
        strcpy(request + used, end);
        try_http(&(http_case){"a large head", request, used + strlen(end), cases[i].status, cases[i].says}, 5000);
    }
    size_t used = (size_t)sprintf(request, GET_LINE HOST);
    for (int i = 0; i < 100; i++) {
        used += (size_t)sprintf(request + used, "X: a\r\n");
    }
    used += (size_t)sprintf(request + used, "\r\n");
    try_http(&(http_case){"101 fields", request, used, 431, "more than 100 fields"}, used);
}

static void test_a_connection_serves_one_request_after_the_other(void **state)
{
    (void)state;
    static const char request[] = GET_LINE HOST "\r\n", two[] = GET_LINE HOST "\r\n" GET_LINE HOST "\r\n";
    int fd = ws_connect(pool_server.port);
    for (int i = 0; i < 20; i++) {
        ws_send_raw(fd, request, sizeof request - 1);
        read_answer(fd);
        assert_non_null(strstr(answer, " 200 "));
    }
    close(fd);
    // What comes before the answer is no request.
    fd = ws_connect(pool_server.port);
    ws_send_raw(fd, two, sizeof two - 1);
    read_answer(fd);
    assert_non_null(strstr(answer, " 200 "));
    assert_int_equal(count_answers(), 1);
    ws_send_raw(fd, request, sizeof request - 1);
    assert_int_equal(read_answer(fd), 0);
    close(fd);
}

// ---- WebSocket ----

typedef struct ws_case {
    const char *name, *bytes;
    size_t byte_count;
    int code; ///< 0: the connection stays
    const char *says;
} ws_case;

// A mask of zeros leaves a payload as it is.
#define NO_MASK "\0\0\0\0"

static const ws_case ws_cases[] = {
    {"6455 5.5.2: a ping", TEXT("\x89\x80" NO_MASK), 0, NULL},
    {"6455 5.5.2: a ping of 125 bytes",
     TEXT("\x89\xfd" NO_MASK "0123456789012345678901234567890123456789012345678901234"
          "56789012345678901234567890123456789012345678901234567890123456789abcde"),
     0, NULL},
    {"6455 5.5.3: a pong that nobody asked for", TEXT("\x8a\x81" NO_MASK "a"), 0, NULL},
    {"6455 5.4: a ping amid a message", TEXT("\x02\x80" NO_MASK "\x89\x80" NO_MASK), 0, NULL},
    {"6455 5.5.1: a close without a code", TEXT("\x88\x80" NO_MASK), 1005, NULL},
    {"6455 7.4.1: 1000", TEXT("\x88\x82" NO_MASK "\x03\xe8"), 1000, NULL},
    {"6455 7.4.1: 1001 with a reason", TEXT("\x88\x85" NO_MASK "\x03\xe9\xe2\x82\xac"), 1001, NULL},
    {"6455 7.4.2: 3000", TEXT("\x88\x82" NO_MASK "\x0b\xb8"), 3000, NULL},
    {"6455 7.4.2: 4999", TEXT("\x88\x82" NO_MASK "\x13\x87"), 4999, NULL},

    {"6455 5.1: no mask", TEXT("\x89\x00"), 1002, "no mask"},
    {"6455 5.1: no mask of a message",
     TEXT("\x82\x05"
          "hello"),
     1002, "no mask"},
    {"6455 5.2: the first reserved bit", TEXT("\xc2\x80" NO_MASK), 1002, "reserved bits"},
    {"6455 5.2: the second", TEXT("\xa2\x80" NO_MASK), 1002, "reserved bits"},
    {"6455 5.2: the third", TEXT("\x92\x80" NO_MASK), 1002, "reserved bits"},
    {"6455 5.2: reserved bits of a ping", TEXT("\xc9\x80" NO_MASK), 1002, "reserved bits"},
    {"6455 5.2: opcode 3", TEXT("\x83\x80" NO_MASK), 1002, "reserved opcode"},
    {"6455 5.2: opcode 7", TEXT("\x87\x80" NO_MASK), 1002, "reserved opcode"},
    {"6455 5.2: opcode 11", TEXT("\x8b\x80" NO_MASK), 1002, "reserved opcode"},
    {"6455 5.2: opcode 15", TEXT("\x8f\x80" NO_MASK), 1002, "reserved opcode"},
    {"6455 5.2: 16 bits for 125", TEXT("\x82\xfe\x00\x7d" NO_MASK), 1002, "more bytes than it needs"},
    {"6455 5.2: 64 bits for 125", TEXT("\x82\xff\0\0\0\0\0\0\0\x7d" NO_MASK), 1002, "more bytes than it needs"},
    {"6455 5.2: 64 bits for 65535", TEXT("\x82\xff\0\0\0\0\0\0\xff\xff" NO_MASK), 1002, "more bytes than it needs"},
    {"6455 5.2: the highest bit", TEXT("\x82\xff\x80\0\0\0\0\0\0\0" NO_MASK), 1002, "highest bit"},
    {"6455 10.4: 2^62 bytes", TEXT("\x82\xff\x40\0\0\0\0\0\0\0" NO_MASK), 4003, "16384"},
    {"6455 10.4: 2^62 bytes of a fragment", TEXT("\x02\xff\x40\0\0\0\0\0\0\0" NO_MASK), 4003, "16384"},
    {"6455 10.4: 16385 bytes", TEXT("\x82\xfe\x40\x01" NO_MASK), 4003, "16384"},
    {"6455 5.5: a ping of 126 bytes", TEXT("\x89\xfe\x00\x7e" NO_MASK), 1002, "125"},
    {"6455 5.5: a ping of 2^62", TEXT("\x89\xff\x40\0\0\0\0\0\0\0" NO_MASK), 1002, "125"},
    {"6455 5.5: a close of 126 bytes", TEXT("\x88\xfe\x00\x7e" NO_MASK), 1002, "125"},
    {"6455 5.5: a ping in fragments", TEXT("\x09\x80" NO_MASK), 1002, "fragment"},
    {"6455 5.5: a close in fragments", TEXT("\x08\x80" NO_MASK), 1002, "fragment"},
    {"6455 5.4: a continuation of nothing", TEXT("\x80\x80" NO_MASK), 1002, "without the beginning"},
    {"6455 5.4: and of what has ended", TEXT("\x02\x80" NO_MASK "\x80\x80" NO_MASK "\x80\x80" NO_MASK), -1, NULL},
    {"6455 5.4: a message amid another", TEXT("\x02\x80" NO_MASK "\x82\x80" NO_MASK), 1002, "amid"},
    {"6455 5.4: a text amid a message", TEXT("\x02\x80" NO_MASK "\x81\x80" NO_MASK), 1002, "amid"},
    {"6455 5.5.1: half a code", TEXT("\x88\x81" NO_MASK "\x03"), 1002, "half a code"},
    {"6455 7.4.2: 0", TEXT("\x88\x82" NO_MASK "\0\0"), 1002, "none may have"},
    {"6455 7.4.2: 999", TEXT("\x88\x82" NO_MASK "\x03\xe7"), 1002, "none may have"},
    {"6455 7.4.1: 1004", TEXT("\x88\x82" NO_MASK "\x03\xec"), 1002, "none may have"},
    {"6455 7.4.1: 1005", TEXT("\x88\x82" NO_MASK "\x03\xed"), 1002, "none may have"},
    {"6455 7.4.1: 1006", TEXT("\x88\x82" NO_MASK "\x03\xee"), 1002, "none may have"},
    {"6455 7.4.1: 1015", TEXT("\x88\x82" NO_MASK "\x03\xf7"), 1002, "none may have"},
    {"6455 7.4.2: 2999", TEXT("\x88\x82" NO_MASK "\x0b\xb7"), 1002, "none may have"},
    {"6455 7.4.2: 5000", TEXT("\x88\x82" NO_MASK "\x13\x88"), 1002, "none may have"},
    {"6455 7.4.2: 65535", TEXT("\x88\x82" NO_MASK "\xff\xff"), 1002, "none may have"},
    {"6455 5.5.1: a reason that is no UTF-8", TEXT("\x88\x83" NO_MASK "\x03\xe8\xff"), 1007, "UTF-8"},
    {"3629 3: a reason with a surrogate", TEXT("\x88\x85" NO_MASK "\x03\xe8\xed\xa0\x80"), 1007, "UTF-8"},
    {"3629 3: a reason longer than needed", TEXT("\x88\x84" NO_MASK "\x03\xe8\xc0\xaf"), 1007, "UTF-8"},
    {"3629 3: a reason cut amid a character", TEXT("\x88\x84" NO_MASK "\x03\xe8\xe2\x82"), 1007, "UTF-8"},
    {"3629 3: a reason above U+10FFFF", TEXT("\x88\x86" NO_MASK "\x03\xe8\xf4\x90\x80\x80"), 1007, "UTF-8"},
    {"5.6: a text message", TEXT("\x81\x82" NO_MASK "hi"), 1003, "binary"},
    {"a close behind a ping in one segment", TEXT("\x89\x80" NO_MASK "\x88\x82" NO_MASK "\x13\x88"), 1002, "none may"},
    {"a masked reason", TEXT("\x88\x83\x11\x22\x33\x44\x12\xca\xcc"), 1007, "UTF-8"},
};

enum { WS_CASES = sizeof ws_cases / sizeof ws_cases[0] };

static void open_socket(ws_client *client)
{
    assert_int_equal(ws_client_open(client, pool_server.port, "/ws", "tarn.v1", NULL), 101);
}

static void try_ws(const ws_case *one, size_t piece)
{
    ws_client client;
    tarn_message message;
    open_socket(&client);
    for (size_t at = 0; at < one->byte_count; at += piece) {
        ws_send_raw(client.fd, one->bytes + at, one->byte_count - at < piece ? one->byte_count - at : piece);
    }
    if (one->code == 0) {
        const bool in_message = strstr(one->name, "amid a message") != NULL;
        if (in_message) {
            static const char rest[] = "\x80\x80" NO_MASK; // an empty message, which is malformed
            ws_send_raw(client.fd, rest, sizeof rest - 1);
            assert_int_equal(ws_client_wait_close(&client), 4001);
        } else {
            ws_client_hello(&client);
            assert_true(ws_client_wait(&client, TARN_MESSAGE_WELCOME, &message));
        }
    } else if (one->code > 0) {
        const uint16_t code = ws_client_wait_close(&client);
        if (code != one->code || (one->says != NULL && strstr(client.close_reason, one->says) == NULL)) {
            fail_msg("%s: expected is %d with \"%s\", found is %d with \"%s\"", one->name, one->code,
                     one->says != NULL ? one->says : "", code, client.close_reason);
        }
    } else {
        assert_true(ws_client_wait_close(&client) > 0);
    }
    ws_client_close(&client);
}

static void test_websocket(void **state)
{
    (void)state;
    for (int i = 0; i < WS_CASES; i++) {
        try_ws(&ws_cases[i], SIZE_MAX / 2);
    }
}

static void test_websocket_byte_by_byte(void **state)
{
    (void)state;
    for (int i = 0; i < WS_CASES; i++) {
        try_ws(&ws_cases[i], 1);
    }
}

/// 6455 5.5.1, although others come and go.
static void test_nothing_follows_a_close(void **state)
{
    (void)state;
    static const char wrong[] = "\x82\x00";
    ws_client closed, other;
    ws_message message;
    ws_client_enter(&closed, pool_server.port);
    ws_send_raw(closed.fd, wrong, sizeof wrong - 1);
    for (int i = 0; i < 3; i++) {
        ws_client_enter(&other, pool_server.port);
        ws_client_close(&other);
    }
    assert_int_equal(ws_client_wait_close(&closed), 1002);
    assert_int_equal(ws_client_next(&closed, &message, WS_CLIENT_WAIT_MS), -1);
    ws_client_close(&closed);
}

// ---- too much, and too slow ----

static void test_pings_are_metered(void **state)
{
    (void)state;
    static const char ping[] = "\x89\x80" NO_MASK;
    static const int opcodes[] = {WS_PING, WS_PONG};
    for (int i = 0; i < 2; i++) {
        ws_client client;
        open_socket(&client);
        for (int k = 0; k < 45; k++) {
            assert_int_equal(ws_client_send(&client, opcodes[i], ping, 1), 0);
        }
        tarn_message message;
        ws_client_hello(&client);
        assert_true(ws_client_wait(&client, TARN_MESSAGE_WELCOME, &message));
        for (int k = 0; k < 100 && ws_client_send(&client, opcodes[i], ping, 1) == 0; k++) {
        }
        assert_int_equal(ws_client_wait_close(&client), 1008);
        assert_non_null(strstr(client.close_reason, "10 a second"));
        ws_client_close(&client);
    }
}

/// Requests that stop on their way are answered when their time is over.
static void test_slow_requests_are_cut(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int status; ///< 0: the connection just ends
    } cases[] = {
        {"GET /healthz HT", 408},
        {POST_HEAD "Content-Length: 2\r\n\r\n{", 408},
        {WS_LINE HOST UPGRADE KEY, 408},
        {"", 0},
    };
    int fds[sizeof cases / sizeof cases[0]];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fds[i] = ws_connect(pool_server.port);
        ws_send_raw(fds[i], cases[i].bytes, strlen(cases[i].bytes));
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = 0;
        read_answer(fds[i]);
        close(fds[i]);
        sscanf(answer, "HTTP/1.%*d %d", &status);
        if (status != cases[i].status || (status != 0 && strstr(answer, "in time") == NULL)) {
            fail_msg("case %zu: expected is %d, found is:\n%s", i, cases[i].status, answer);
        }
    }
}

/// Of too many at once the oldest are cut, long before their time is over.
static void test_requests_on_their_way_are_bounded(void **state)
{
    (void)state;
    enum { MANY = 150, BOUND = 128 };
    int fds[MANY], cut = 0;
    for (int i = 0; i < MANY; i++) {
        static const char half[] = POST_HEAD "Content-Length: 2\r\n\r\n{";
        fds[i] = ws_connect(pool_server.port);
        ws_send_raw(fds[i], half, sizeof half - 1);
    }
    read_answer(fds[0]);
    assert_non_null(strstr(answer, " 408 "));
    for (int i = 0; i < MANY; i++) { // the oldest first
        struct pollfd pollfd = {.fd = fds[i], .events = POLLIN};
        cut += poll(&pollfd, 1, i < MANY - BOUND ? WS_CLIENT_WAIT_MS : 0);
        close(fds[i]);
    }
    assert_in_range(cut, MANY - BOUND, MANY - 1);
}

enum { SLOW_HEADS = 500, SLOW_BODIES = 30, FLOODS = 8 };

static void open_crowd(int *fds)
{
    static const char *const beginnings[] = {GET_LINE "X: ", POST_HEAD "Content-Length: 1000\r\n\r\n"};
    for (int i = 0; i < SLOW_HEADS + SLOW_BODIES; i++) {
        const char *bytes = beginnings[i >= SLOW_HEADS];
        fds[i] = ws_connect(pool_server.port);
        if (fds[i] >= 0) {
            ws_send_raw(fds[i], bytes, strlen(bytes));
        }
    }
}

/// Sends what each of the crowd may still say without waiting for it.
static void feed_crowd(const int *fds, ws_client *floods)
{
    static uint8_t pings[6000];
    for (size_t i = 0; i < sizeof pings; i += 6) {
        pings[i] = 0x80 | WS_PING;
        pings[i + 1] = 0x80;
    }
    for (int i = 0; i < SLOW_HEADS + SLOW_BODIES; i++) {
        if (fds[i] >= 0) {
            send(fds[i], "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }
    for (int i = 0; i < FLOODS; i++) {
        if (floods[i].fd >= 0) {
            send(floods[i].fd, pings, sizeof pings, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }
}

static void test_a_viewer_joins_amid_a_crowd(void **state)
{
    (void)state;
    static int fds[SLOW_HEADS + SLOW_BODIES];
    static ws_client floods[FLOODS];
    double longest_s = 0;
    for (int i = 0; i < FLOODS; i++) {
        open_socket(&floods[i]);
        if (i % 2) {
            ws_client_send_header(&floods[i], 0x82, (uint64_t)1 << 62, true);
        }
    }
    open_crowd(fds);
    for (int round = 0; round < 10; round++) {
        ws_client viewer;
        ws_frame frame;
        feed_crowd(fds, floods);
        const uint64_t since_ns = tarn_clock_monotonic_ns();
        int status = 0; // places may be taken until those in which nothing happens are given up
        for (int i = 0; i < WS_CLIENT_WAIT_MS / 10 && status != 101; i++) {
            status = ws_client_open(&viewer, pool_server.port, "/ws", "tarn.v1", NULL);
            usleep(status == 101 ? 0 : 10000);
        }
        assert_int_equal(status, 101);
        ws_client_hello(&viewer);
        ws_client_join(&viewer, "");
        assert_true(ws_client_wait_frame(&viewer, &frame));
        const double s = (double)(tarn_clock_monotonic_ns() - since_ns) * 1e-9;
        longest_s = s > longest_s ? s : longest_s;
        ws_client_close(&viewer);
    }
    printf("amid %d slow heads, %d slow bodies and %d floods of pings a viewer sees a frame after %.3f s at most\n",
           SLOW_HEADS, SLOW_BODIES, FLOODS, longest_s);
    for (int i = 0; i < SLOW_HEADS + SLOW_BODIES; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    for (int i = 0; i < FLOODS; i++) {
        ws_client_close(&floods[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http),
        cmocka_unit_test(test_http_byte_by_byte),
        cmocka_unit_test(test_large_heads),
        cmocka_unit_test(test_a_connection_serves_one_request_after_the_other),
        cmocka_unit_test(test_websocket),
        cmocka_unit_test(test_websocket_byte_by_byte),
        cmocka_unit_test(test_nothing_follows_a_close),
        cmocka_unit_test(test_pings_are_metered),
        cmocka_unit_test(test_requests_on_their_way_are_bounded),
        cmocka_unit_test(test_slow_requests_are_cut),
        cmocka_unit_test(test_a_viewer_joins_amid_a_crowd),
    };
    printf("%d cases of HTTP and %d of WebSocket, each at once and byte by byte\n", HTTP_CASES, WS_CASES);
    return cmocka_run_group_tests(tests, pool_server_start, pool_server_stop);
}
