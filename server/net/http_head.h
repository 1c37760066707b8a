/// The head of an HTTP/1.1 request, read strictly (RFC 9112, RFC 6455): what two programs could understand differently
/// is refused, and what is taken is written anew for libwebsockets, which is laxer than the standards. Pure: no I/O, no
/// memory of its own.
#ifndef TARN_SERVER_NET_HTTP_HEAD_H
#define TARN_SERVER_NET_HTTP_HEAD_H

#include "protocol/message.h"
#include "server/base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tarn_http_method {
    TARN_HTTP_OTHER = 0,
    TARN_HTTP_GET,
    TARN_HTTP_HEAD,
    TARN_HTTP_POST,
    TARN_HTTP_DELETE,
} tarn_http_method;

/// How the bytes of an answer may be coded: what is preferred where a client likes two as much comes first.
typedef enum tarn_coding {
    TARN_CODING_BROTLI = 0,
    TARN_CODING_GZIP,
    TARN_CODING_IDENTITY, ///< not at all
    TARN_CODING_COUNT,
} tarn_coding;

/// Bytes of the head that was read, without end; at NULL: there are none.
typedef struct tarn_http_value {
    const char *at;
    uint32_t bytes;
} tarn_http_value;

typedef struct tarn_http_head {
    unsigned status; ///< what the request is refused with; 0: it may be served
    tarn_text why;   ///< the same as a sentence
    tarn_http_method method;
    bool is_1_0;
    bool closes;     ///< the connection is to end after the answer
    bool is_upgrade; ///< to a WebSocket that speaks tarn.v1
    bool is_proxied; ///< it says that it comes for somebody else
    bool has_length; ///< of the body
    bool is_upload;  ///< of a scene: the body may be large, and is passed on as it comes
    uint32_t body_bytes;
    tarn_http_value path;  ///< without what follows a '?'; at NULL: it can't be used
    tarn_http_value query; ///< that and what follows, as it came
    tarn_http_value host, origin, content_type, authorization, if_none_match, key;
    tarn_http_value forwarded_proto;
    uint16_t codings[TARN_CODING_COUNT]; ///< of Accept-Encoding, how much each is liked: thousandths, 0: not taken
    tarn_http_value forwarded_for[TARN_GATEWAY_FORWARDED_MAX]; ///< as they came
    uint32_t forwarded_for_count;
} tarn_http_head;

typedef enum tarn_http_progress {
    TARN_HTTP_MORE = 0, ///< the head has no end yet
    TARN_HTTP_WHOLE,
    TARN_HTTP_WRONG, ///< it never will be one
} tarn_http_progress;

/// Looks for the empty line that ends a head.
/// @param looked  bytes that earlier calls have looked at, 0 at first; where the head is whole its bytes
/// @param why  where it is wrong, a sentence
tarn_http_progress tarn_http_head_find_end(const char *bytes, size_t byte_count, size_t *looked, tarn_text why);

/// Reads a whole head. @param head  refers to `bytes`; head->status says whether it is to be served
void tarn_http_head_read(const char *bytes, size_t byte_count, tarn_http_head *head);

/// Which of several codings an answer gets. @param has  those that there are of it
/// @return TARN_CODING_COUNT: the client takes none of them
tarn_coding tarn_http_head_coding(const tarn_http_head *head, const bool has[TARN_CODING_COUNT]);

/// Refuses. Takes a head of zeros.
void tarn_http_head_refuse(tarn_http_head *head, unsigned status, const char *sentence);

/// Writes what is to be passed on: of the fields those that tarnd uses; for a refused one, a request for the same path
/// that is answered with the refusal. @param out  TARN_GATEWAY_HEADER_BYTES_MAX bytes  @return bytes written
size_t tarn_http_head_write(const tarn_http_head *head, char *out);

#endif
