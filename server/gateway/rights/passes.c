// Keys and tokens, told apart by their dots. A revocation reaches a viewer by a generation: each looks itself up once
// when the list has changed, and not at every tick.
#include "server/gateway/rights/passes.h"
#include "server/base/log.h"
#include "server/gateway/session/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/// Reads the file if it isn't as it was, or couldn't be read then.
/// @return TARN_OK, or TARN_E_IO with a sentence in why: it can't be read, and what is known goes on to count
static tarn_status look(tarn_passes *passes, tarn_text why)
{
    struct stat about;
    const bool is_there = stat(passes->revoked_path, &about) == 0;
    const int64_t bytes = is_there ? (int64_t)about.st_size : -1;
    const struct timespec changed = is_there ? about.st_mtim : (struct timespec){0};
    const bool is_same = bytes == passes->seen_bytes && changed.tv_sec == passes->seen_at.tv_sec &&
                         changed.tv_nsec == passes->seen_at.tv_nsec;
    if (is_same && !passes->is_unread) {
        return TARN_OK;
    }
    passes->seen_bytes = bytes;
    passes->seen_at = changed;
    // Of one that went, too, what is known goes on to count.
    const tarn_status status =
        is_there ? tarn_tokens_revoked_read(&passes->revoked, passes->revoked_path, why) : TARN_OK;
    if (status != TARN_OK && !(is_same && passes->is_unread)) { // said once, however often it is tried
        tarn_log_error("%s", why);
    }
    passes->is_unread = status == TARN_E_IO;
    if (passes->is_unread) {
        return status;
    }
    passes->generation++;
    return TARN_OK;
}

static tarn_status read_keys(const tarn_gateway_options *options, tarn_token_keys *keys, tarn_text why)
{
    char path[4200];
    if (options->token_keys != NULL) {
        return tarn_token_keys_read(keys, options->token_keys, why);
    }
    if (options->store != NULL) {
        snprintf(path, sizeof path, "%s/secret", options->store);
        return tarn_token_keys_read(keys, path, why);
    }
    keys->count = 0;
    return TARN_OK;
}

tarn_status tarn_passes_open(tarn_passes *passes, const tarn_gateway_options *options, tarn_text why)
{
    passes->seen_bytes = -1;
    const tarn_status status = read_keys(options, &passes->keys, why);
    if (status == TARN_OK && options->store != NULL) {
        snprintf(passes->revoked_path, sizeof passes->revoked_path, "%s/revoked", options->store);
        return look(passes, why); // with what is revoked unknown, all of it would be let in
    }
    return status;
}

tarn_status tarn_passes_reload(tarn_passes *passes, const tarn_gateway_options *options, tarn_text why)
{
    tarn_token_keys keys = {0};
    const tarn_status status = read_keys(options, &keys, why);
    if (status == TARN_OK) {
        passes->keys = keys;
        passes->generation++;
    }
    return status;
}

void tarn_passes_tick(tarn_passes *passes, uint64_t now_ns)
{
    tarn_text ignored;
    if (passes->revoked_path[0] && now_ns >= passes->due_ns) {
        passes->due_ns = now_ns + TARN_GATEWAY_REVOKED_LOOK_MS * (uint64_t)1000000;
        (void)look(passes, ignored);
    }
}

bool tarn_pass_is_token(const char *pass)
{
    return strchr(pass, '.') != NULL;
}

tarn_status tarn_passes_token(const tarn_passes *passes, const char *pass, tarn_token *token, tarn_text why)
{
    const tarn_status status = tarn_token_read(pass, strlen(pass), &passes->keys, time(NULL), token, why);
    if (status == TARN_OK && tarn_tokens_revoked_has(&passes->revoked, token->id)) {
        snprintf(why, sizeof(tarn_text), "the token was revoked");
        return TARN_E_STATE;
    }
    return status;
}

static tarn_status admit_token(const tarn_passes *passes, const tarn_session *session, const char *pass,
                               tarn_grant *grant, tarn_text why)
{
    tarn_token token;
    const tarn_status status = tarn_passes_token(passes, pass, &token, why);
    if (status != TARN_OK) {
        return status;
    }
    if (strcmp(token.session, session->name) != 0) {
        snprintf(why, sizeof(tarn_text), "the token is for another session");
        return TARN_E_NOT_FOUND;
    }
    grant->role = token.role;
    grant->until_s = token.until_s;
    grant->checked = passes->generation;
    memcpy(grant->token, token.id, sizeof grant->token);
    snprintf(grant->pass, sizeof grant->pass, "%s", pass);
    return TARN_OK;
}

tarn_status tarn_passes_admit(const tarn_passes *passes, const tarn_session *session, const char *pass,
                              tarn_grant *grant, tarn_text why)
{
    tarn_key key = "";
    memset(grant, 0, sizeof *grant);
    if (tarn_pass_is_token(pass)) {
        return admit_token(passes, session, pass, grant, why);
    }
    if (strlen(pass) < sizeof key) {
        snprintf(key, sizeof key, "%s", pass);
    }
    if (!tarn_role_of_key(&session->keys, key, &grant->role)) {
        snprintf(why, sizeof(tarn_text),
                 "the key of this link opens nothing here; it may be mistyped, or of a tank that is no more");
        return TARN_E_NOT_FOUND;
    }
    return TARN_OK;
}

bool tarn_passes_is_over(const tarn_passes *passes, tarn_grant *grant, tarn_text why)
{
    if (grant->token[0] == 0) {
        return false;
    }
    if (grant->until_s != 0 && time(NULL) >= grant->until_s) {
        snprintf(why, sizeof(tarn_text), "the token of this link has expired");
        return true;
    }
    if (grant->checked != passes->generation) {
        grant->checked = passes->generation;
        if (tarn_tokens_revoked_has(&passes->revoked, grant->token)) {
            snprintf(why, sizeof(tarn_text), "the token of this link was revoked");
            return true;
        }
        tarn_token token;
        return tarn_token_read(grant->pass, strlen(grant->pass), &passes->keys, time(NULL), &token, why) != TARN_OK;
    }
    return false;
}
