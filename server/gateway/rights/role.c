// Keys from a secret, compared in constant time, and which act asks for which role: begin at tarn_role_keys_make and
// tarn_act_of.
#include "server/gateway/rights/role.h"
#include "protocol/assert.h"
#include "server/base/files.h"
#include "server/base/token.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- what nobody guesses ----
// 32 random bytes in a file.

bool tarn_draw_letters(char *letters, size_t count)
{
    static const char all[] = "abcdefghijkmnpqrstuvwxyz23456789"; // 32: five bits of a byte pick one evenly
    uint8_t bytes[32];
    TARN_ASSERT(count <= sizeof bytes);
    if (getrandom(bytes, count, 0) != (ssize_t)count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        letters[i] = all[bytes[i] % (sizeof all - 1)];
    }
    return true;
}

tarn_status tarn_secret_draw(tarn_secret *secret)
{
    return getrandom(secret->bytes, sizeof secret->bytes, 0) == (ssize_t)sizeof secret->bytes ? TARN_OK : TARN_E_IO;
}

/// Half a secret would shut everybody out.
static tarn_status make(tarn_secret *secret, const char *path, tarn_text why)
{
    if (tarn_secret_draw(secret) != TARN_OK ||
        tarn_file_bytes_put(path, 0600, secret->bytes, sizeof secret->bytes) != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "%.300s: it can't be made: %s", path, strerror(errno));
        return TARN_E_IO;
    }
    return TARN_OK;
}

tarn_status tarn_secret_keep(tarn_secret *secret, const char *path, tarn_text why)
{
    uint8_t found[TARN_SECRET_BYTES + 1];
    struct stat file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        return make(secret, path, why);
    }
    const ssize_t got = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) ? read(fd, found, sizeof found) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (got < 0) {
        snprintf(why, sizeof(tarn_text), "%.300s: %s", path,
                 fd < 0 ? strerror(errno) : "it is no file that can be read");
        return TARN_E_IO;
    }
    if (got != TARN_SECRET_BYTES) {
        snprintf(why, sizeof(tarn_text),
                 "%.300s: found %zd bytes, allowed are %d; without the file a new secret is made, and all links end",
                 path, got, TARN_SECRET_BYTES);
        return TARN_E_MALFORMED;
    }
    if (file.st_uid != geteuid()) {
        snprintf(why, sizeof(tarn_text), "%.300s: it is user %u's, allowed is one's own", path, (unsigned)file.st_uid);
        return TARN_E_MALFORMED;
    }
    if ((file.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        snprintf(why, sizeof(tarn_text), "%.300s: others may read it (mode %03o), allowed is 600", path,
                 (unsigned)file.st_mode & 0777);
        return TARN_E_MALFORMED;
    }
    memcpy(secret->bytes, found, sizeof secret->bytes);
    return TARN_OK;
}

// ---- keys of roles ----

/// A key: HMAC-SHA-256 of a text and a salt, as hexadecimal digits. @return TARN_OK or TARN_E_MEMORY
static tarn_status make_key(const tarn_secret *secret, const uint8_t *salt, size_t salt_bytes, const char *text,
                            tarn_key key)
{
    uint8_t message[256], code[EVP_MAX_MD_SIZE];
    unsigned code_bytes = 0;
    const size_t text_bytes = strlen(text);
    TARN_ASSERT(salt_bytes + text_bytes <= sizeof message);
    memcpy(message, salt, salt_bytes);
    memcpy(message + salt_bytes, text, text_bytes); // NOLINT(bugprone-not-null-terminated-result): bytes
    const uint8_t *made =
        HMAC(EVP_sha256(), secret->bytes, TARN_SECRET_BYTES, message, salt_bytes + text_bytes, code, &code_bytes);
    if (made == NULL) {
        return TARN_E_MEMORY;
    }
    TARN_ASSERT(code_bytes >= TARN_KEY_BYTES / 2);
    for (size_t i = 0; i < TARN_KEY_BYTES / 2; i++) {
        snprintf(key + 2 * i, 3, "%02x", code[i]);
    }
    return TARN_OK;
}

tarn_status tarn_role_keys_make(tarn_role_keys *keys, const tarn_secret *secret, const uint8_t *salt, size_t salt_bytes)
{
    tarn_status status = TARN_OK;
    for (int role = 0; role < TARN_ROLE_COUNT && status == TARN_OK; role++) {
        status = make_key(secret, salt, salt_bytes, tarn_role_word((tarn_role)role), keys->keys[role]);
    }
    return status;
}

bool tarn_role_of_key(const tarn_role_keys *keys, const tarn_key key, tarn_role *role)
{
    bool found = false;
    for (int r = 0; r < TARN_ROLE_COUNT; r++) {
        uint8_t difference = 0;
        for (size_t i = 0; i <= TARN_KEY_BYTES; i++) {
            difference |= (uint8_t)(keys->keys[r][i] ^ key[i]);
        }
        if (difference == 0) {
            *role = (tarn_role)r;
            found = true;
        }
    }
    return found;
}

// ---- what a role may ----

static const tarn_role needed[TARN_ACT_COUNT] = {
#define X(act, role) [TARN_ACT_##act] = TARN_ROLE_##role,
    TARN_ACTS(X)
#undef X
};

static tarn_act act_of_input(tarn_input_kind kind)
{
    static const tarn_act acts[TARN_INPUT_COUNT] = {
        [TARN_INPUT_POINTER] = TARN_ACT_POINTER,     [TARN_INPUT_CONTROLLER] = TARN_ACT_CONTROLLER,
        [TARN_INPUT_HAND] = TARN_ACT_HAND,           [TARN_INPUT_ORIENTATION] = TARN_ACT_ORIENTATION,
        [TARN_INPUT_PARAMETER] = TARN_ACT_PARAMETER, [TARN_INPUT_MOTION] = TARN_ACT_MOTION,
    };
    TARN_ASSERT(kind < TARN_INPUT_COUNT);
    return acts[kind];
}

static tarn_act act_of_control(tarn_control_action action)
{
    static const tarn_act acts[TARN_CONTROL_COUNT] = {
        [TARN_CONTROL_PAUSE] = TARN_ACT_PAUSE, [TARN_CONTROL_RESUME] = TARN_ACT_RESUME,
        [TARN_CONTROL_STEP] = TARN_ACT_STEP,   [TARN_CONTROL_RESET] = TARN_ACT_RESET,
        [TARN_CONTROL_LOAD] = TARN_ACT_LOAD,   [TARN_CONTROL_SPEED] = TARN_ACT_SPEED,
    };
    TARN_ASSERT(action < TARN_CONTROL_COUNT);
    return acts[action];
}

tarn_act tarn_act_of(const tarn_message *message)
{
    switch (message->kind) {
    case TARN_MESSAGE_HELLO:
        return TARN_ACT_HELLO;
    case TARN_MESSAGE_JOIN:
        return TARN_ACT_JOIN;
    case TARN_MESSAGE_ACK:
        return TARN_ACT_ACK;
    case TARN_MESSAGE_PING:
        return TARN_ACT_PING;
    case TARN_MESSAGE_VIEW:
        return TARN_ACT_VIEW;
    case TARN_MESSAGE_PRESENCE:
        return TARN_ACT_PRESENCE;
    case TARN_MESSAGE_PROFILE:
        return TARN_ACT_PROFILE;
    case TARN_MESSAGE_MODERATE:
        return TARN_ACT_MODERATE;
    case TARN_MESSAGE_LOCK:
        return TARN_ACT_LOCK;
    case TARN_MESSAGE_PROBE:
        return TARN_ACT_PROBE;
    case TARN_MESSAGE_INPUT:
        return act_of_input(message->input.kind);
    default:
        TARN_ASSERT(message->kind == TARN_MESSAGE_CONTROL);
        return act_of_control(message->control.action);
    }
}

bool tarn_role_may(tarn_role role, tarn_act act)
{
    return role >= needed[act];
}

const char *tarn_role_refusal(tarn_act act)
{
    switch (act) {
    case TARN_ACT_HTTP_MAKE:
        return "only who owns a tank here makes another one; an owners' link leads to this page with its key";
    case TARN_ACT_HTTP_METRICS:
        return "only this machine, and who owns a tank here, may read this: with Authorization: Bearer KEY";
    case TARN_ACT_HTTP_END:
        return "only with the owners' key may this tank be ended";
    case TARN_ACT_HTTP_MOVE:
        return "only with the owners' key may this tank be moved";
    case TARN_ACT_HTTP_HISTORY:
    case TARN_ACT_HTTP_REWIND:
    case TARN_ACT_HTTP_FORK:
    case TARN_ACT_HTTP_MARKS:
        return "only with the owners' key may this tank's past be seen or gone back to";
    case TARN_ACT_HTTP_SPEED:
        return "only with the owners' key may this tank's clock be set";
    case TARN_ACT_HTTP_SCENES:
        return "only with the owners' key may this tank's scenes be seen or uploaded";
    case TARN_ACT_MODERATE:
    case TARN_ACT_LOCK:
        return "only its owners may mute, remove or make owners, and lock what the others use";
    default:
        return needed[act] == TARN_ROLE_OWN
                   ? "only its owners may pause, step, reset or change this tank; ask one of them for a link to own it"
                   : "whoever just watches may not touch the water; ask somebody here for a link to play";
    }
}
