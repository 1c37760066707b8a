/// Tokens: a role in a session, for a time, signed; and the files around them. A token is a JSON Web Token (RFC 7515,
/// 7519) of one kind alone, so that nothing in it says how it is to be checked: HMAC-SHA-256, a header of alg, typ and
/// perhaps kid, no padding.
///
///     base64url({"alg":"HS256","typ":"JWT","kid":"0"}) . base64url({"jti":...,"session":...,"role":...}) .
///     base64url(MAC)
///
/// Own code, since the library in Debian 12 compares signatures in a time that tells of them (CVE-2024-25189) and lets
/// a token choose its algorithm.
#ifndef TARN_SERVER_BASE_TOKEN_H
#define TARN_SERVER_BASE_TOKEN_H

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

// ---- the files around tokens ----
// One line each:
//
//     --token-keys FILE   NAME SECRET   32 to 64 bytes in base64url; '#' begins a comment. Or 32 bytes as they are, as
//                                       in DIR/secret: the key "0"
//     DIR/revoked         ID            tokens that count no more
//     DIR/tokens          ID ROLE SESSION ISSUED EXPIRES NOTE, with tabs between them: what was issued, without its
//                                       signature
//
// Those of a store's folder get its owner, so that root may revoke what another user serves.

enum {
    TARN_TOKENS_REVOKED_MAX = 4096,
    TARN_TOKENS_ISSUED_MAX = 4096, ///< that are listed
    TARN_TOKEN_NOTE_BYTES_MAX = 100,
};

typedef struct tarn_tokens_revoked {
    uint32_t count;
    tarn_token_id ids[TARN_TOKENS_REVOKED_MAX]; ///< ascending, each once
} tarn_tokens_revoked;

typedef struct tarn_token_issued {
    tarn_token token;
    char note[TARN_TOKEN_NOTE_BYTES_MAX + 1]; ///< printable
} tarn_token_issued;

/// Reads keys from a file that nobody but its owner may read.
/// @return TARN_OK, TARN_E_IO or TARN_E_MALFORMED, with a sentence in why that has no secret in it
tarn_status tarn_token_keys_read(tarn_token_keys *keys, const char *path, tarn_text why);

/// Reads what is revoked. @return TARN_OK, also where there is no such file; TARN_E_IO: the list is as it was;
/// TARN_E_MALFORMED or TARN_E_LIMIT: it has what could be read. With a sentence in why
tarn_status tarn_tokens_revoked_read(tarn_tokens_revoked *revoked, const char *path, tarn_text why);

bool tarn_tokens_revoked_has(const tarn_tokens_revoked *revoked, const char *id);

/// Adds an id, unless it is there. @return TARN_OK, TARN_E_IO or TARN_E_LIMIT (the file is full), with a sentence in
/// why
tarn_status tarn_tokens_revoke(const char *path, const char *id, tarn_text why);

/// Notes a token that was issued. @return as tarn_tokens_revoke
tarn_status tarn_tokens_note(const char *path, const tarn_token_issued *issued, tarn_text why);

/// Hands over what was issued, line by line. @return TARN_OK, also where there is no such file; TARN_E_MALFORMED or
/// TARN_E_LIMIT: lines that are none, or too many, were left out; or TARN_E_IO; with a sentence in why
tarn_status tarn_tokens_issued_read(const char *path, void (*found)(void *user, const tarn_token_issued *issued),
                                    void *user, tarn_text why);

// ---- words for roles ----
// On command lines and in tokens.

/// "watch", "play" or "own".
const char *tarn_role_word(tarn_role role);

/// The role of a word. @return -1 for a word that is none
int tarn_role_find(const char *word);

#endif
