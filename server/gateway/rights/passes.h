/// What somebody may do who comes with a pass: a session's key, or a token (server/base/token.h). Keys last as long
/// as their session; tokens until they expire or stand in the store's `revoked`, which is looked at twice a second.
#ifndef TARN_SERVER_GATEWAY_RIGHTS_PASSES_H
#define TARN_SERVER_GATEWAY_RIGHTS_PASSES_H

#include "server/base/token.h"
#include "server/gateway/options.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct tarn_session;

typedef struct tarn_passes {
    tarn_token_keys keys;
    tarn_tokens_revoked revoked;
    uint32_t generation;     ///< changes with them
    char revoked_path[4200]; ///< empty: tokens can't be revoked
    struct timespec seen_at; ///< of the file as it was read
    int64_t seen_bytes;      ///< -1: there was none
    bool is_unread;          ///< it couldn't be read: it is tried again
    uint64_t due_ns;         ///< when it is looked at again
} tarn_passes;

/// What a pass gives.
typedef struct tarn_grant {
    tarn_role role;
    tarn_token_id token; ///< empty: it was a key
    int64_t until_s;     ///< since 1970, of a token; 0: for ever
    uint32_t checked;    ///< the generation that it was looked at in
    tarn_pass pass;      ///< a token, to be looked at again
} tarn_grant;

/// Reads the keys of tokens, and what is revoked. After the store was opened, whose secret is a key.
/// @return TARN_OK, TARN_E_IO or TARN_E_MALFORMED, with a sentence in why
tarn_status tarn_passes_open(tarn_passes *passes, const tarn_gateway_options *options, tarn_text why);

/// Reads the keys again; viewers whose token none of them signed are out at the next tick.
/// @return as tarn_passes_open; on failure the keys are as they were
tarn_status tarn_passes_reload(tarn_passes *passes, const tarn_gateway_options *options, tarn_text why);

/// Reads again what is revoked, where it has changed or couldn't be read.
void tarn_passes_tick(tarn_passes *passes, uint64_t now_ns);

/// Whether a pass is meant for a token: keys have no dots.
bool tarn_pass_is_token(const char *pass);

/// Reads a token of any session that is valid now. @return TARN_OK, or another with a sentence in why
tarn_status tarn_passes_token(const tarn_passes *passes, const char *pass, tarn_token *token, tarn_text why);

/// What a pass gives in a session. @param pass  not empty
/// @return TARN_OK, or another with a sentence in why for whoever has it
tarn_status tarn_passes_admit(const tarn_passes *passes, const struct tarn_session *session, const char *pass,
                              tarn_grant *grant, tarn_text why);

/// Whether what was granted is over, with a sentence in why.
bool tarn_passes_is_over(const tarn_passes *passes, tarn_grant *grant, tarn_text why);

#endif
