// Keys from a secret, compared in constant time, and which act asks for which role.
#include "server/gateway/role.h"
#include "protocol/assert.h"
#include "server/common/role_word.h"

tarn_status tarn_role_keys_make(tarn_role_keys *keys, const tarn_secret *secret, const uint8_t *salt, size_t salt_bytes)
{
    tarn_status status = TARN_OK;
    for (int role = 0; role < TARN_ROLE_COUNT && status == TARN_OK; role++) {
        status = tarn_secret_key(secret, salt, salt_bytes, tarn_role_word((tarn_role)role), keys->keys[role]);
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
