// Names and colours that a session's viewers don't share: start at tarn_viewer_profile_join.
#include "server/gateway/viewer_profile.h"
#include "server/gateway/session.h"
#include "server/gateway/turn_taking.h"
#include "server/gateway/viewer.h"

#include <stdio.h>
#include <string.h>

// Told apart on dark water and on a light page, also by those who see red and green alike (after Okabe and Ito's set).
static const uint32_t palette[] = {0xe69f00, 0x56b4e9, 0x00b386, 0xf0e442, 0x4d8fe0,
                                   0xe8743b, 0xd98cb3, 0x9ad14b, 0xb39ddb, 0xf28e9a};
enum { PALETTE_COUNT = sizeof palette / sizeof palette[0] };

static uint32_t pick_colour(const tarn_session *session, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < PALETTE_COUNT; i++) {
        bool is_taken = false;
        for (uint32_t v = 0; v < session->viewer_count; v++) {
            is_taken |= session->viewers[v]->colour == palette[i];
        }
        if (!is_taken) {
            return palette[i];
        }
    }
    return palette[viewer_id % PALETTE_COUNT];
}

/// A name without spaces at its ends. @return false where nothing is left
static bool trim(const char *text, tarn_name name)
{
    const char *begin = text + strspn(text, " ");
    size_t length = strlen(begin);
    while (length > 0 && begin[length - 1] == ' ') {
        length--;
    }
    if (length == 0) {
        return false;
    }
    snprintf(name, sizeof(tarn_name), "%.*s", (int)length, begin);
    return true;
}

void tarn_viewer_profile_join(const tarn_session *session, tarn_viewer *viewer, const tarn_join *join)
{
    if (!trim(join->viewer, viewer->name)) {
        snprintf(viewer->name, sizeof viewer->name, "viewer %u", viewer->id);
    }
    viewer->colour = join->colour ? join->colour : pick_colour(session, viewer->id);
}

void tarn_viewer_profile_set(tarn_session *session, tarn_viewer *viewer, const tarn_profile *profile)
{
    if (!tarn_turn_allow(&viewer->profile_due_ns, TARN_GATEWAY_PROFILE_MS, TARN_GATEWAY_PROFILE_BURST)) {
        tarn_viewer_error(viewer, TARN_ERROR_INPUT, "the name or colour changed too often; try again in a moment");
        return;
    }
    trim(profile->name, viewer->name);
    if (profile->colour) {
        viewer->colour = profile->colour;
    }
    session->viewers_changed = true;
}
