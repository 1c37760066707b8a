/// What the keys of sessions are made from: with it and a session's salt they come out the same after a restart, and
/// nothing that is stored of a session gives them away.
#ifndef TARN_SERVER_GATEWAY_SECRET_H
#define TARN_SERVER_GATEWAY_SECRET_H

#include "protocol/message.h"

#include <stddef.h>
#include <stdint.h>

enum { TARN_SECRET_BYTES = 32 };

typedef struct tarn_secret {
    uint8_t bytes[TARN_SECRET_BYTES];
} tarn_secret;

/// Draws one for as long as the program runs. @return TARN_OK or TARN_E_IO
tarn_status tarn_secret_draw(tarn_secret *secret);

/// Reads one from a file that nobody but its owner may read; makes both where there is none.
/// @return TARN_OK, or TARN_E_IO or TARN_E_MALFORMED with a sentence in why
tarn_status tarn_secret_keep(tarn_secret *secret, const char *path, tarn_text why);

/// A key: HMAC-SHA-256 of a text and a salt, as hexadecimal digits. @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_secret_key(const tarn_secret *secret, const uint8_t *salt, size_t salt_bytes, const char *text,
                            tarn_key key);

#endif
