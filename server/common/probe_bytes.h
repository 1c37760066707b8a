/// What of a probe goes over a socket and into a session's file alike. Included where byte_codec.h is used.
#ifndef TARN_SERVER_COMMON_PROBE_BYTES_H
#define TARN_SERVER_COMMON_PROBE_BYTES_H

#include "protocol/message.h"
#include "protocol/message_text.h"
#include "server/common/byte_codec.h"

/// What a probe shows, a tarn_probe_shows.
static inline void probe_shows(byte_codec *codec, uint32_t *shows)
{
    count_up_to(codec, shows, TARN_SHOWS_COUNT - 1);
}

static inline void probe_place(byte_codec *codec, float at_m[3], float to_m[3])
{
    for (int axis = 0; axis < 3; axis++) {
        f32(codec, &at_m[axis]);
    }
    for (int axis = 0; axis < 3; axis++) {
        f32(codec, &to_m[axis]);
    }
}

/// A scene's solid, by its number.
static inline void probe_solid(byte_codec *codec, uint32_t *solid)
{
    count_up_to(codec, solid, TARN_ADDED_NUMBER_MIN - 1);
}

/// Refuses a label that people couldn't be shown.
static inline void probe_label_check(byte_codec *codec, const char *label)
{
    refuse_when(codec, tarn_text_fault((const uint8_t *)label, strlen(label)) != NULL);
}

#endif
