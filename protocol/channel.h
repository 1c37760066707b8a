/// Channels by name: those that every viewer has from frames as they are, and the others, which frames carry for who
/// asks. SPEC.md, section 5.5.
#ifndef TARN_PROTOCOL_CHANNEL_H
#define TARN_PROTOCOL_CHANNEL_H

#include <stdbool.h>
#include <string.h>

/// Whether frames carry the channel of this name, where a tank has it and somebody asks.
static inline bool tarn_channel_is_carried(const char *name)
{
    static const char *const seen[] = {"colour", "speed", "height", "vorticity"};
    for (unsigned i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        if (strcmp(name, seen[i]) == 0) {
            return false;
        }
    }
    return name[0] != '\0';
}

#endif
