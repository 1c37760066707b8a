// A small table of refused origins by when each was told; a place is free again after a minute.
#include "server/gateway/refused_origins.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int tarn_refused_origins_tell(tarn_refused_origins *origins, const char *origin, uint64_t now_ns)
{
    int place = -1;
    for (int i = 0; i < TARN_REFUSED_ORIGINS_MAX; i++) {
        const char *known = origins->places[i].origin;
        const bool is_over = !known[0] || now_ns - origins->places[i].told_ns >= TARN_REFUSED_ORIGIN_S * 1000000000ull;
        if (!is_over && strncmp(known, origin, TARN_REFUSED_ORIGIN_BYTES - 1) == 0) {
            return 0;
        }
        if (is_over) {
            place = i;
        }
    }
    if (place < 0) {
        return 0;
    }
    snprintf(origins->places[place].origin, TARN_REFUSED_ORIGIN_BYTES, "%s", origin);
    origins->places[place].told_ns = now_ns;
    return 1;
}
