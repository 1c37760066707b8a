// Keys of connections, looked for among those who are in a session: how long that takes doesn't depend on how much of a
// key is right.
#include "server/gateway/rights/visits.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void tarn_visit_draw(tarn_viewer *viewer)
{
    uint8_t drawn[TARN_KEY_BYTES / 2];
    if (viewer->visit_key[0] != 0 || getrandom(drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
        return;
    }
    for (size_t i = 0; i < sizeof drawn; i++) {
        snprintf(viewer->visit_key + 2 * i, 3, "%02x", drawn[i]);
    }
}

static bool is_same(const tarn_key one, const tarn_key other)
{
    uint8_t difference = 0;
    for (size_t i = 0; i <= TARN_KEY_BYTES; i++) {
        difference |= (uint8_t)(one[i] ^ other[i]);
    }
    return difference == 0;
}

bool tarn_visit_may(const tarn_session *session, const char *key, tarn_act act)
{
    tarn_key asked = "";
    bool may = false;
    if (act < TARN_ACT_HTTP_HISTORY || act > TARN_ACT_HTTP_SCENES || strlen(key) != TARN_KEY_BYTES) {
        return false;
    }
    snprintf(asked, sizeof asked, "%s", key);
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        const tarn_viewer *viewer = session->viewers[i];
        // One that was closed is there until its socket is, as after its token's end.
        const bool counts = viewer->phase == TARN_VIEWER_JOINED && !viewer->is_muted;
        may |= is_same(viewer->visit_key, asked) && counts && tarn_role_may(viewer->role, act);
    }
    return may;
}

_Static_assert(TARN_ACT_HTTP_SCENES - TARN_ACT_HTTP_HISTORY == 5,
               "the calls about the past and about scenes stand together");
