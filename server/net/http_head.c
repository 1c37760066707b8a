// Line by line: the request line, then fields, each given to the one place that knows it; what they say together is
// checked at the end. Start at tarn_http_head_read.
//
//     bytes --find_end--> whole head --read--> views into it, or a refusal --write--> a head that has one reading
#include "server/net/http_head.h"
#include "protocol/assert.h"
#include "protocol/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { KEY_BYTES = 24, METHOD_BYTES_MAX = 20, TEXT_SHOWN_MAX = 40 };

/// What is gathered of fields that only count together.
typedef struct fields {
    tarn_http_value length, version;
    uint32_t count;
    bool has_coding, is_chunked, has_upgrade, wants_websocket, says_upgrade, offers_subprotocol, expects;
    bool extensions_long;
    bool names_coding[TARN_CODING_COUNT];
    int32_t other_codings; ///< what "*" says; -1: it isn't there
} fields;

static bool is_token_char(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_token(tarn_http_value text)
{
    for (uint32_t i = 0; i < text.bytes; i++) {
        if (!is_token_char((unsigned char)text.at[i])) {
            return false;
        }
    }
    return text.bytes > 0;
}

static bool equals(tarn_http_value text, const char *word)
{
    return text.bytes == strlen(word) && strncasecmp(text.at, word, text.bytes) == 0;
}

static tarn_http_value trim(tarn_http_value text)
{
    while (text.bytes > 0 && (text.at[0] == ' ' || text.at[0] == '\t')) {
        text.at++;
        text.bytes--;
    }
    while (text.bytes > 0 && (text.at[text.bytes - 1] == ' ' || text.at[text.bytes - 1] == '\t')) {
        text.bytes--;
    }
    return text;
}

/// The next element of a list with commas. @return false: there is none
static bool next_element(tarn_http_value *list, tarn_http_value *element)
{
    if (list->at == NULL) {
        return false;
    }
    const char *comma = memchr(list->at, ',', list->bytes);
    const uint32_t bytes = comma != NULL ? (uint32_t)(comma - list->at) : list->bytes;
    *element = trim((tarn_http_value){list->at, bytes});
    *list = comma != NULL ? (tarn_http_value){comma + 1, list->bytes - bytes - 1} : (tarn_http_value){NULL, 0};
    return true;
}

static bool has_element(tarn_http_value list, const char *word)
{
    tarn_http_value element;
    while (next_element(&list, &element)) {
        if (equals(element, word)) {
            return true;
        }
    }
    return false;
}

void tarn_http_head_refuse(tarn_http_head *head, unsigned status, const char *sentence)
{
    TARN_ASSERT(status >= 400 && status < 600);
    if (head->status == 0) { // the first fault counts
        head->status = status;
        snprintf(head->why, sizeof head->why, "%s", sentence);
    }
}

__attribute__((format(printf, 3, 4))) static void refuse(tarn_http_head *head, unsigned status, const char *format, ...)
{
    tarn_text why;
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    tarn_http_head_refuse(head, status, why);
}

/// What of a text may stand in a sentence: bytes to print with %.*s.
static int shown(tarn_http_value text)
{
    uint32_t bytes = 0;
    while (bytes < text.bytes && bytes < TEXT_SHOWN_MAX && text.at[bytes] > ' ' && text.at[bytes] < 0x7f) {
        bytes++;
    }
    return (int)bytes;
}

tarn_http_progress tarn_http_head_find_end(const char *bytes, size_t byte_count, size_t *looked, tarn_text why)
{
    if (byte_count > 0 && bytes[0] != '\r' && !is_token_char((unsigned char)bytes[0])) {
        snprintf(why, sizeof(tarn_text), "this is no HTTP; a request begins with its method");
        return TARN_HTTP_WRONG;
    }
    for (size_t i = *looked; i < byte_count; i++) {
        const char before = i > 0 ? bytes[i - 1] : 0;
        if ((bytes[i] == '\n') != (before == '\r')) {
            snprintf(why, sizeof(tarn_text), "a line ends with CR or LF alone; allowed is CR LF");
            return TARN_HTTP_WRONG;
        }
        if (bytes[i] == 0) {
            snprintf(why, sizeof(tarn_text), "the head has a zero byte");
            return TARN_HTTP_WRONG;
        }
        // One empty line in front of a request is let pass (RFC 9112, 2.2).
        if (i == 3 && memcmp(bytes, "\r\n\r\n", 4) == 0) {
            snprintf(why, sizeof(tarn_text), "the request line is missing");
            return TARN_HTTP_WRONG;
        }
        if (bytes[i] == '\n' && i > 3 && bytes[i - 2] == '\n') {
            *looked = i + 1;
            return TARN_HTTP_WHOLE;
        }
    }
    *looked = byte_count;
    return TARN_HTTP_MORE;
}

// ---- the request line ----

static void read_method(tarn_http_head *head, tarn_http_value method)
{
    static const char *const known[] = {"", "GET", "HEAD", "POST", "DELETE"};
    if (!is_token(method) || method.bytes > METHOD_BYTES_MAX) {
        refuse(head, 400, "the request line does not begin with a method");
        return;
    }
    for (int i = TARN_HTTP_GET; i <= TARN_HTTP_DELETE; i++) {
        if (method.bytes == strlen(known[i]) && memcmp(method.at, known[i], method.bytes) == 0) {
            head->method = (tarn_http_method)i;
            return;
        }
    }
    refuse(head, 405, "the method %.*s is not served", shown(method), method.at);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/// A path that reads the same however often somebody decodes or shortens it. @return NULL or what is wrong
static const char *path_fault(tarn_http_value path)
{
    uint32_t segment = 0, dots = 0; // letters of the segment so far, and how many of them are dots
    for (uint32_t i = 0; i < path.bytes; i++) {
        int c = (unsigned char)path.at[i];
        if (c == '%') {
            if (path.bytes - i < 3 || hex_digit(path.at[i + 1]) < 0 || hex_digit(path.at[i + 2]) < 0) {
                return "the path has a '%' without two hexadecimal digits";
            }
            c = hex_digit(path.at[i + 1]) * 16 + hex_digit(path.at[i + 2]);
            i += 2;
            if (c < 0x20 || c == 0x7f) {
                return "the path has a control character";
            }
        }
        if (c != '/') {
            segment++;
            dots += c == '.';
        }
        if ((c == '/' || i + 1 == path.bytes) && segment > 0 && segment <= 2 && dots == segment) {
            return "the path has a segment '.' or '..'";
        }
        if (c == '/') {
            segment = dots = 0;
        }
    }
    return NULL;
}

static void read_target(tarn_http_head *head, tarn_http_value target)
{
    tarn_http_value path = target;
    if (target.bytes > TARN_GATEWAY_TARGET_BYTES_MAX) {
        refuse(head, 414, "the target has %u bytes, allowed are %d", target.bytes, TARN_GATEWAY_TARGET_BYTES_MAX);
        return;
    }
    for (uint32_t i = 0; i < target.bytes; i++) {
        const unsigned char c = (unsigned char)target.at[i];
        if (c <= ' ' || c >= 0x7f || c == '#') {
            refuse(head, 400, "the target has a character that must be written as %%XX");
            return;
        }
    }
    // With the host in front, as proxies are asked (RFC 9112, 3.2.2).
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const uint32_t bytes = (uint32_t)strlen(schemes[i]);
        if (target.bytes > bytes && strncasecmp(target.at, schemes[i], bytes) == 0) {
            const char *slash = memchr(target.at + bytes, '/', target.bytes - bytes);
            head->host = (tarn_http_value){target.at + bytes, target.bytes - bytes};
            path = (tarn_http_value){"/", 1};
            if (slash != NULL) {
                head->host.bytes = (uint32_t)(slash - head->host.at);
                path = (tarn_http_value){slash, target.bytes - (uint32_t)(slash - target.at)};
            }
        }
    }
    const char *query = path.bytes > 0 ? memchr(path.at, '?', path.bytes) : NULL;
    if (query != NULL) {
        head->query = (tarn_http_value){query, path.bytes - (uint32_t)(query - path.at)};
        path.bytes = (uint32_t)(query - path.at);
    }
    if (path.bytes == 0 || path.at[0] != '/') {
        refuse(head, 400, "the target is no path; allowed is one that begins with '/'");
        return;
    }
    const char *fault = path_fault(path);
    if (fault != NULL) {
        refuse(head, 400, "%s", fault);
        return;
    }
    head->path = path;
}

static void read_version(tarn_http_head *head, tarn_http_value version)
{
    const char *at = version.at;
    if (version.bytes != 8 || memcmp(at, "HTTP/", 5) != 0 || at[5] < '0' || at[5] > '9' || at[6] != '.' ||
        at[7] < '0' || at[7] > '9') {
        refuse(head, 400, "the request line does not end with the version; allowed are HTTP/1.0 and HTTP/1.1");
    } else if (at[5] != '1') {
        refuse(head, 505, "found HTTP/%c.%c, allowed are HTTP/1.0 and HTTP/1.1", at[5], at[7]);
    }
    head->is_1_0 = version.bytes == 8 && at[7] == '0';
}

static void read_request_line(tarn_http_head *head, tarn_http_value line)
{
    const char *first = memchr(line.at, ' ', line.bytes);
    const char *last = first != NULL ? memrchr(first + 1, ' ', (size_t)(line.at + line.bytes - first - 1)) : NULL;
    if (first == NULL || last == NULL) {
        refuse(head, 400, "the request line is not METHOD PATH HTTP/1.1, with one space between them");
        return;
    }
    // The version first: what another one means by the rest isn't known.
    read_version(head, (tarn_http_value){last + 1, (uint32_t)(line.at + line.bytes - last - 1)});
    read_method(head, (tarn_http_value){line.at, (uint32_t)(first - line.at)});
    read_target(head, (tarn_http_value){first + 1, (uint32_t)(last - first - 1)});
}

// ---- fields ----

/// Keeps a field that may come once and have so many bytes.
static void keep_within(tarn_http_head *head, tarn_http_value *place, const char *name, tarn_http_value value,
                        uint32_t bytes_max)
{
    if (place->at != NULL) {
        refuse(head, 400, "%s comes twice, allowed is one", name);
    } else if (value.bytes > bytes_max) {
        refuse(head, 431, "%s has %u bytes, allowed are %u", name, value.bytes, bytes_max);
    } else {
        *place = value;
    }
}

static void keep(tarn_http_head *head, tarn_http_value *place, const char *name, tarn_http_value value)
{
    keep_within(head, place, name, value, TARN_GATEWAY_FIELD_BYTES_MAX);
}

static void keep_forwarded_for(tarn_http_head *head, tarn_http_value value)
{
    if (head->forwarded_for_count == TARN_GATEWAY_FORWARDED_MAX) {
        refuse(head, 431, "X-Forwarded-For comes more than %d times", TARN_GATEWAY_FORWARDED_MAX);
    } else {
        head->forwarded_for[head->forwarded_for_count++] = value;
    }
}

/// Fields that choose how the rest is understood.
static bool take_framing(tarn_http_head *head, fields *found, tarn_http_value name, tarn_http_value value)
{
    if (equals(name, "content-length")) {
        keep(head, &found->length, "Content-Length", value);
    } else if (equals(name, "transfer-encoding")) {
        found->has_coding = true;
        found->is_chunked = equals(value, "chunked");
    } else if (equals(name, "connection")) {
        head->closes |= has_element(value, "close");
        found->says_upgrade |= has_element(value, "upgrade");
    } else if (equals(name, "upgrade")) {
        found->has_upgrade = true;
        found->wants_websocket |= has_element(value, "websocket");
    } else if (equals(name, "expect")) {
        found->expects = true;
    } else {
        return false;
    }
    return true;
}

static bool take_websocket(tarn_http_head *head, fields *found, tarn_http_value name, tarn_http_value value)
{
    if (equals(name, "sec-websocket-key")) {
        keep(head, &head->key, "Sec-WebSocket-Key", value);
    } else if (equals(name, "sec-websocket-version")) {
        keep(head, &found->version, "Sec-WebSocket-Version", value);
    } else if (equals(name, "sec-websocket-protocol")) {
        found->offers_subprotocol |= has_element(value, TARN_PROTOCOL_SUBPROTOCOL);
    } else if (equals(name, "sec-websocket-extensions")) {
        found->extensions_long |= value.bytes > TARN_GATEWAY_FIELD_BYTES_MAX;
    } else {
        return false;
    }
    return true;
}

/// A weight (RFC 9110, 12.4.2) in thousandths. @return -1: it is none
static int read_weight(tarn_http_value text)
{
    if (text.bytes < 1 || text.bytes > 5 || (text.at[0] != '0' && text.at[0] != '1') ||
        (text.bytes > 1 && text.at[1] != '.')) {
        return -1;
    }
    int weight = (text.at[0] - '0') * 1000;
    for (uint32_t i = 2, unit = 100; i < text.bytes; i++, unit /= 10) {
        if (text.at[i] < '0' || text.at[i] > '9') {
            return -1;
        }
        weight += (text.at[i] - '0') * (int)unit;
    }
    return weight <= 1000 ? weight : -1;
}

/// Accept-Encoding. What is no coding with its weight is passed over: at worst a file comes as it is.
static void take_codings(tarn_http_head *head, fields *found, tarn_http_value list)
{
    static const char *const names[TARN_CODING_COUNT] = {"br", "gzip", "identity"};
    tarn_http_value element;
    while (next_element(&list, &element)) {
        tarn_http_value name = element;
        int weight = 1000;
        const char *semicolon = memchr(element.at, ';', element.bytes);
        if (semicolon != NULL) {
            name = trim((tarn_http_value){element.at, (uint32_t)(semicolon - element.at)});
            const tarn_http_value parameter =
                trim((tarn_http_value){semicolon + 1, (uint32_t)(element.at + element.bytes - semicolon - 1)});
            weight = parameter.bytes > 2 && strncasecmp(parameter.at, "q=", 2) == 0
                         ? read_weight((tarn_http_value){parameter.at + 2, parameter.bytes - 2})
                         : -1;
        }
        if (weight < 0) {
            continue;
        }
        if (equals(name, "*")) {
            found->other_codings = weight;
        }
        for (int i = 0; i < TARN_CODING_COUNT; i++) {
            if (equals(name, names[i]) || (i == TARN_CODING_GZIP && equals(name, "x-gzip"))) {
                head->codings[i] = (uint16_t)weight;
                found->names_coding[i] = true;
            }
        }
    }
}

/// What isn't named goes by "*"; without one, what is uncoded is taken where there is nothing better.
static void weigh_codings(tarn_http_head *head, const fields *found)
{
    for (int i = 0; i < TARN_CODING_COUNT; i++) {
        if (!found->names_coding[i]) {
            head->codings[i] = (uint16_t)(found->other_codings >= 0 ? found->other_codings : i == TARN_CODING_IDENTITY);
        }
    }
}

tarn_coding tarn_http_head_coding(const tarn_http_head *head, const bool has[TARN_CODING_COUNT])
{
    tarn_coding best = TARN_CODING_COUNT;
    for (int i = 0; i < TARN_CODING_COUNT; i++) {
        if (has[i] && head->codings[i] > 0 && (best == TARN_CODING_COUNT || head->codings[i] > head->codings[best])) {
            best = (tarn_coding)i;
        }
    }
    return best;
}

/// Whether only who passes on somebody else's request writes such a field: not all write the same ones.
static bool is_of_proxies(tarn_http_value name)
{
    static const char start[] = "x-forwarded-";
    static const char *const names[] = {"forwarded",      "via", "x-real-ip", "x-client-ip", "true-client-ip",
                                        "x-original-host"};
    bool is_one = name.bytes >= sizeof start - 1 && strncasecmp(name.at, start, sizeof start - 1) == 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_one; i++) {
        is_one = equals(name, names[i]);
    }
    return is_one;
}

static void take_other(tarn_http_head *head, tarn_http_value *host, tarn_http_value name, tarn_http_value value)
{
    if (equals(name, "host")) {
        keep(head, host, "Host", value);
    } else if (equals(name, "origin")) {
        keep(head, &head->origin, "Origin", value);
    } else if (equals(name, "content-type")) {
        keep(head, &head->content_type, "Content-Type", value);
    } else if (equals(name, "authorization")) {
        keep_within(head, &head->authorization, "Authorization", value, TARN_GATEWAY_AUTHORIZATION_BYTES_MAX);
    } else if (equals(name, "if-none-match")) {
        if (head->if_none_match.at == NULL && value.bytes <= TARN_GATEWAY_FIELD_BYTES_MAX) {
            head->if_none_match = value; // without it the page is sent once more
        }
    } else if (equals(name, "x-forwarded-for")) {
        keep_forwarded_for(head, value);
    } else if (equals(name, "x-forwarded-proto")) {
        keep(head, &head->forwarded_proto, "X-Forwarded-Proto", value);
    }
    head->is_proxied |= is_of_proxies(name);
}

static void read_field(tarn_http_head *head, fields *found, tarn_http_value *host, tarn_http_value line)
{
    const char *colon = memchr(line.at, ':', line.bytes);
    const tarn_http_value name = {line.at, colon != NULL ? (uint32_t)(colon - line.at) : line.bytes};
    const char *fault =
        line.at[0] == ' ' || line.at[0] == '\t' ? "a field goes on in a second line, which is not allowed"
        : colon == NULL                         ? "a line of the head has no colon"
        : !is_token(name) ? "a field's name has a space or another character that is not allowed in front of its colon"
                          : NULL;
    if (fault != NULL) {
        refuse(head, 400, "%s", fault);
        return;
    }
    if (++found->count > TARN_GATEWAY_FIELDS_MAX) {
        refuse(head, 431, "the head has more than %d fields", TARN_GATEWAY_FIELDS_MAX);
        return;
    }
    const tarn_http_value value = trim((tarn_http_value){colon + 1, line.bytes - name.bytes - 1});
    for (uint32_t i = 0; i < value.bytes; i++) {
        const unsigned char c = (unsigned char)value.at[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            refuse(head, 400, "%.*s has a control character", shown(name), name.at);
            return;
        }
    }
    if (equals(name, "accept-encoding")) {
        take_codings(head, found, value);
    } else if (!take_framing(head, found, name, value) && !take_websocket(head, found, name, value)) {
        take_other(head, host, name, value);
    }
}

// ---- what they say together ----

/// A name or an address, with or without a port, by its letters.
static bool is_host(tarn_http_value host)
{
    for (uint32_t i = 0; i < host.bytes; i++) {
        const char c = host.at[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') &&
            (c == 0 || strchr(".-_:[]", c) == NULL)) {
            return false;
        }
    }
    return host.bytes > 0 && host.bytes <= TARN_GATEWAY_FIELD_BYTES_MAX;
}

static void check_host(tarn_http_head *head, tarn_http_value field)
{
    if (field.at == NULL && !head->is_1_0) {
        refuse(head, 400, "Host is missing");
    } else if (field.at != NULL && !is_host(field)) {
        refuse(head, 400, "Host: allowed is a name or an address, with or without a port");
    }
    if (head->host.at == NULL) {
        head->host = field;
    } else if (!is_host(head->host)) {
        refuse(head, 400, "the target's host is neither a name nor an address, with or without a port");
    }
    if (head->host.at != NULL && !is_host(head->host)) {
        head->host = (tarn_http_value){NULL, 0};
    }
}

/// Whether a scene comes: POST /sessions/NAME/scenes.
static bool is_upload(const tarn_http_head *head)
{
    static const char root[] = "/sessions/", verb[] = "/scenes";
    const tarn_http_value path = head->path;
    const size_t around = sizeof root - 1 + sizeof verb - 1;
    return head->method == TARN_HTTP_POST && path.at != NULL && path.bytes > around &&
           memcmp(path.at, root, sizeof root - 1) == 0 &&
           memcmp(path.at + path.bytes - (sizeof verb - 1), verb, sizeof verb - 1) == 0 &&
           memchr(path.at + sizeof root - 1, '/', path.bytes - around) == NULL;
}

static void read_length(tarn_http_head *head, tarn_http_value text)
{
    uint64_t bytes = 0;
    const int most = is_upload(head) ? TARN_GATEWAY_UPLOAD_BYTES_MAX : TARN_GATEWAY_BODY_BYTES_MAX;
    for (uint32_t i = 0; i < text.bytes; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') {
            bytes = 0;
            text.bytes = 0;
            break;
        }
        bytes = bytes > (uint64_t)most ? bytes : bytes * 10 + (uint64_t)(text.at[i] - '0');
    }
    if (text.bytes == 0) {
        refuse(head, 400, "Content-Length: allowed are digits alone");
    } else if (bytes > (uint64_t)most) {
        refuse(head, 413, "the body is too large; allowed are %d bytes", most);
    } else {
        head->is_upload = is_upload(head) && bytes > 0;
        head->body_bytes = (uint32_t)bytes;
        head->has_length = true;
    }
}

static void check_body(tarn_http_head *head, const fields *found)
{
    if (found->has_coding && found->length.at != NULL) {
        refuse(head, 400, "the body has a Content-Length and a Transfer-Encoding, allowed is a Content-Length");
    } else if (found->has_coding && head->is_1_0) {
        refuse(head, 400, "HTTP/1.0 has no Transfer-Encoding, allowed is a Content-Length");
    } else if (found->has_coding && found->is_chunked) {
        refuse(head, 411, "the body's length is not declared; allowed is a Content-Length, and no chunks");
    } else if (found->has_coding) {
        refuse(head, 501, "this Transfer-Encoding is not known; allowed is a Content-Length");
    } else if (found->length.at != NULL) {
        read_length(head, found->length);
    }
    if (found->expects) {
        refuse(head, 417, "Expect is not served; send the body at once");
    }
}

/// 16 bytes in base64 (RFC 6455, 4.1).
static bool is_key(tarn_http_value key)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (key.bytes != KEY_BYTES || memcmp(key.at + KEY_BYTES - 2, "==", 2) != 0) {
        return false;
    }
    for (int i = 0; i < KEY_BYTES - 2; i++) {
        if (memchr(letters, key.at[i], sizeof letters - 1) == NULL) {
            return false;
        }
    }
    return strchr("AQgw", key.at[KEY_BYTES - 3]) != NULL; // the last four bits are none of the 16 bytes
}

static void check_upgrade(tarn_http_head *head, const fields *found)
{
    if (!found->has_upgrade) {
        // Who asks for the socket's page alone has a proxy on the way that takes the upgrade out, or looks for one.
        if (equals(head->path, "/ws") && (head->method == TARN_HTTP_GET || head->method == TARN_HTTP_HEAD)) {
            refuse(head, 426,
                   "the WebSocket is here, and this request has no upgrade; a proxy on the way has to pass "
                   "the fields Upgrade and Connection on, over HTTP/1.1");
        }
        return;
    }
    if (!found->wants_websocket) {
        refuse(head, 400, "only an upgrade to a WebSocket is possible");
    } else if (head->is_1_0) {
        refuse(head, 400, "HTTP/1.0 has no upgrade; allowed is HTTP/1.1");
    } else if (!equals(head->path, "/ws") || head->method != TARN_HTTP_GET) {
        refuse(head, 404, "the WebSocket is at /ws, for GET");
    } else if (!found->says_upgrade) {
        refuse(head, 400, "Connection: Upgrade is missing");
    } else if (!equals(found->version, "13")) {
        refuse(head, 426, "Sec-WebSocket-Version: 13 is required");
    } else if (!is_key(head->key)) {
        refuse(head, 400, "Sec-WebSocket-Key: allowed are 16 bytes in base64");
    } else if (found->extensions_long) {
        refuse(head, 400, "Sec-WebSocket-Extensions: it is too long");
    } else if (!found->offers_subprotocol) {
        refuse(head, 400, "the subprotocol " TARN_PROTOCOL_SUBPROTOCOL " is required");
    } else if (head->body_bytes > 0) {
        refuse(head, 400, "an upgrade has no body");
    }
    head->is_upgrade = head->status == 0;
}

void tarn_http_head_read(const char *bytes, size_t byte_count, tarn_http_head *head)
{
    fields found = {.other_codings = -1};
    tarn_http_value host = {NULL, 0};
    memset(head, 0, sizeof *head);
    size_t at = byte_count >= 2 && bytes[0] == '\r' ? 2 : 0;
    for (bool is_first = true; at < byte_count; is_first = false) {
        const char *end = memchr(bytes + at, '\r', byte_count - at);
        TARN_ASSERT(end != NULL); // or it weren't whole
        const tarn_http_value line = {bytes + at, (uint32_t)(end - bytes - at)};
        at += line.bytes + 2;
        if (is_first) {
            read_request_line(head, line);
        } else if (line.bytes > 0) {
            read_field(head, &found, &host, line);
        }
    }
    weigh_codings(head, &found);
    check_host(head, host);
    check_body(head, &found);
    check_upgrade(head, &found);
    head->closes |= head->status != 0 || head->is_1_0;
}

// ---- writing ----

static size_t put(char *out, size_t used, const char *name, tarn_http_value value)
{
    if (value.at == NULL) {
        return used;
    }
    const int bytes =
        snprintf(out + used, TARN_GATEWAY_HEADER_BYTES_MAX - used, "%s%.*s\r\n", name, (int)value.bytes, value.at);
    return used + (size_t)bytes;
}

_Static_assert(TARN_GATEWAY_TARGET_BYTES_MAX + 5 * TARN_GATEWAY_FIELD_BYTES_MAX + TARN_GATEWAY_AUTHORIZATION_BYTES_MAX +
                       400 <
                   TARN_GATEWAY_HEADER_BYTES_MAX,
               "what may be long fits together");

size_t tarn_http_head_write(const tarn_http_head *head, char *out)
{
    static const char *const methods[] = {"GET", "GET", "HEAD", "POST", "DELETE"};
    const tarn_http_value root = {"/", 1}, path = head->path.at != NULL ? head->path : root;
    const bool is_refused = head->status != 0;
    const char *method = is_refused && head->method != TARN_HTTP_HEAD ? "GET" : methods[head->method];
    int start = snprintf(out, TARN_GATEWAY_HEADER_BYTES_MAX, "%s %.*s HTTP/1.%d\r\n", method, (int)path.bytes, path.at,
                         head->is_1_0 && !is_refused ? 0 : 1);
    size_t used = put(out, (size_t)start, "Host: ", head->host);
    if (!is_refused) {
        used = put(out, used, "Origin: ", head->origin);
        used = put(out, used, "Content-Type: ", head->content_type);
        used = put(out, used, "Authorization: ", head->authorization);
        used = put(out, used, "If-None-Match: ", head->if_none_match);
    }
    if (head->is_upgrade) {
        used = put(out, used, "Sec-WebSocket-Key: ", head->key);
        used += (size_t)snprintf(out + used, TARN_GATEWAY_HEADER_BYTES_MAX - used,
                                 "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                 "Sec-WebSocket-Protocol: " TARN_PROTOCOL_SUBPROTOCOL "\r\n");
    } else if (head->closes) {
        used += (size_t)snprintf(out + used, TARN_GATEWAY_HEADER_BYTES_MAX - used, "Connection: close\r\n");
    }
    if (head->method == TARN_HTTP_POST && !is_refused) {
        used += (size_t)snprintf(out + used, TARN_GATEWAY_HEADER_BYTES_MAX - used, "Content-Length: %u\r\n",
                                 head->body_bytes);
    }
    used += (size_t)snprintf(out + used, TARN_GATEWAY_HEADER_BYTES_MAX - used, "\r\n");
    TARN_ASSERT(used < TARN_GATEWAY_HEADER_BYTES_MAX);
    return used;
}
