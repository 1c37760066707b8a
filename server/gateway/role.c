// Keys from a secret, compared in constant time, and which message asks for which role.
#include "server/gateway/role.h"
#include "server/common/role_word.h"

void tarn_role_keys_make(tarn_role_keys *keys, const tarn_secret *secret, const uint8_t *salt, size_t salt_bytes)
{
    for (int role = 0; role < TARN_ROLE_COUNT; role++) {
        tarn_secret_key(secret, salt, salt_bytes, tarn_role_word((tarn_role)role), keys->keys[role]);
    }
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

static tarn_role needed(const tarn_message *message)
{
    if (message->kind == TARN_MESSAGE_CONTROL) {
        return TARN_ROLE_OWN;
    }
    if (message->kind != TARN_MESSAGE_INPUT) {
        return TARN_ROLE_WATCH;
    }
    return message->input.kind == TARN_INPUT_PARAMETER ? TARN_ROLE_OWN : TARN_ROLE_PLAY;
}

bool tarn_role_may(tarn_role role, const tarn_message *message)
{
    return role >= needed(message);
}

const char *tarn_role_refusal(const tarn_message *message)
{
    return needed(message) == TARN_ROLE_OWN
               ? "only its owners may pause, step, reset or change this tank; ask one of them for a link to own it"
               : "whoever just watches may not touch the water; ask somebody here for a link to play";
}
