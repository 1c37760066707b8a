/// Origins whose pages were refused: a page tries again and again, and each is told once a minute.
#ifndef TARN_SERVER_GATEWAY_REFUSED_ORIGINS_H
#define TARN_SERVER_GATEWAY_REFUSED_ORIGINS_H

#include <stdint.h>

enum {
    TARN_REFUSED_ORIGINS_MAX = 16, ///< told in a minute; whoever comes with more isn't told
    TARN_REFUSED_ORIGIN_S = 60,
    TARN_REFUSED_ORIGIN_BYTES = 256, ///< with the end
};

typedef struct tarn_refused_origins {
    struct {
        char origin[TARN_REFUSED_ORIGIN_BYTES]; ///< empty: free
        uint64_t told_ns;
    } places[TARN_REFUSED_ORIGINS_MAX];
} tarn_refused_origins;

/// Whether the refusal of an origin's page is to be told now; it counts as told then. Zeroed origins are none.
int tarn_refused_origins_tell(tarn_refused_origins *origins, const char *origin, uint64_t now_ns);

#endif
