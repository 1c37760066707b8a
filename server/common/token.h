/// Tokens: a role in a session, for a time, signed. A token is a JSON Web Token (RFC 7515, 7519) of one kind alone, so
/// that nothing in it says how it is to be checked: HMAC-SHA-256, a header of alg, typ and perhaps kid, no padding.
///
///     base64url({"alg":"HS256","typ":"JWT","kid":"0"}) . base64url({"jti":...,"session":...,"role":...}) .
///     base64url(MAC)
///
/// Own code, since the library in Debian 12 compares signatures in a time that tells of them (CVE-2024-25189) and lets
/// a token choose its algorithm.
#ifndef TARN_SERVER_COMMON_TOKEN_H
#define TARN_SERVER_COMMON_TOKEN_H

#include "protocol/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TARN_TOKEN_ID_BYTES_MAX = 32,
    TARN_TOKEN_KEY_NAME_BYTES_MAX = 16,
    TARN_TOKEN_SECRET_BYTES_MIN = 32, ///< as many as a MAC has
    TARN_TOKEN_SECRET_BYTES_MAX = 64,
    TARN_TOKEN_KEYS_MAX = 16,
};

/// What an issuer of tokens and the server share.
typedef struct tarn_token_key {
    char name[TARN_TOKEN_KEY_NAME_BYTES_MAX + 1]; ///< `kid`: letters, digits, '-', '_'
    uint32_t secret_bytes;
    uint8_t secret[TARN_TOKEN_SECRET_BYTES_MAX];
} tarn_token_key;

typedef struct tarn_token_keys {
    uint32_t count;                           ///< 0: no token is taken
    tarn_token_key keys[TARN_TOKEN_KEYS_MAX]; ///< new tokens get the first; tokens without `kid` are checked with it
} tarn_token_keys;

typedef char tarn_token_id[TARN_TOKEN_ID_BYTES_MAX + 1]; ///< letters, digits, '-', '_'; empty: none

typedef struct tarn_token {
    tarn_token_id id; ///< `jti`
    tarn_name session;
    tarn_role role;
    int64_t issued_s, from_s, until_s; ///< since 1970: `iat`, `nbf`, `exp`; 0: not said
} tarn_token;

/// Whether an id or a key's name has 1 to so many letters, digits, '-' and '_', and nothing else.
bool tarn_token_word_valid(const char *word, size_t bytes_max);

/// Writes a token. @return TARN_OK, TARN_E_MEMORY, or TARN_E_LIMIT: it would be longer than TARN_PASS_BYTES_MAX
tarn_status tarn_token_write(const tarn_token *token, const tarn_token_key *key, tarn_pass text);

/// Reads a token and checks that it is signed with one of the keys and valid now. Whether it is revoked is another
/// question.
/// @param text   any bytes
/// @param now_s  since 1970
/// @return TARN_OK, or TARN_E_LIMIT (too long), TARN_E_MALFORMED (no such token), TARN_E_NOT_FOUND (no key, or another)
/// or TARN_E_STATE (not valid now), with a sentence in why
tarn_status tarn_token_read(const char *text, size_t text_bytes, const tarn_token_keys *keys, int64_t now_s,
                            tarn_token *token, tarn_text why);

/// base64url without padding. @return bytes written to text, without the end
size_t tarn_base64url_write(const uint8_t *bytes, size_t byte_count, char *text);

/// @param bytes  room for 3 bytes of each 4 of the text
/// @return TARN_OK, or TARN_E_MALFORMED: another letter, padding, bits that are left over, or an impossible length
tarn_status tarn_base64url_read(const char *text, size_t text_bytes, uint8_t *bytes, size_t *byte_count);

#endif
