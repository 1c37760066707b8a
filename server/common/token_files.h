/// The files around tokens, one line each:
///
///     --token-keys FILE   NAME SECRET             32 to 64 bytes in base64url; '#' begins a comment. Or 32 bytes as
///     they
///                                                 are, as in DIR/secret: the key "0"
///     DIR/revoked         ID                      tokens that count no more
///     DIR/tokens          ID ROLE SESSION ISSUED EXPIRES NOTE, with tabs between them: what was issued, without
///     signatures
///
/// Those of a store's folder get its owner, so that root may revoke what another user serves.
#ifndef TARN_SERVER_COMMON_TOKEN_FILES_H
#define TARN_SERVER_COMMON_TOKEN_FILES_H

#include "server/common/token.h"

#include <stdbool.h>

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

#endif
