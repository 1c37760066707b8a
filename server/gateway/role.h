/// Roles and the keys that give them. A session's keys are made with it and last as long as it does.
#ifndef TARN_SERVER_GATEWAY_ROLE_H
#define TARN_SERVER_GATEWAY_ROLE_H

#include "server/gateway/secret.h"

#include <stdbool.h>

typedef struct tarn_role_keys {
    tarn_key keys[TARN_ROLE_COUNT]; ///< by role; hexadecimal digits
} tarn_role_keys;

/// The keys of a session, by its salt.
void tarn_role_keys_make(tarn_role_keys *keys, const tarn_secret *secret, const uint8_t *salt, size_t salt_bytes);

/// The role that a key gives. How long it takes doesn't depend on how much of a key is right.
/// @param key  with zeros behind its end  @return false: it is none of these
bool tarn_role_of_key(const tarn_role_keys *keys, const tarn_key key, tarn_role *role);

/// Whether a role may send a message.
bool tarn_role_may(tarn_role role, const tarn_message *message);

/// What whoever may not is told.
const char *tarn_role_refusal(const tarn_message *message);

#endif
