// Keeps where each viewer is, and writes it for all of them at a beat: start at tarn_presence_beat.
#include "server/gateway/session/presence.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/gateway/session/session.h"
#include "server/gateway/viewer/viewer.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const tarn_presence *a, const tarn_presence *b)
{
    return a->point_count == b->point_count && memcmp(a->points, b->points, a->point_count * sizeof a->points[0]) == 0;
}

void tarn_presence_put(tarn_session *session, tarn_viewer *viewer, const tarn_presence *presence)
{
    if (is_same(&viewer->presence, presence)) {
        return;
    }
    viewer->presence = *presence;
    for (uint32_t i = 0; i < presence->point_count; i++) {
        viewer->presence.points[i].viewer_id = 0;
    }
    TARN_ASSERT(presence->point_count <= sizeof presence->points / sizeof presence->points[0]);
    viewer->presence_ns = tarn_clock_monotonic_ns();
    session->board.changed = true;
}

void tarn_presence_forget(tarn_session *session, tarn_viewer *viewer)
{
    static const tarn_presence none;
    tarn_presence_put(session, viewer, &none);
}

static int newest_first(const void *a, const void *b)
{
    const uint64_t first = (*(tarn_viewer *const *)a)->presence_ns, second = (*(tarn_viewer *const *)b)->presence_ns;
    return first < second ? 1 : first > second ? -1 : 0;
}

/// All points, those that moved last first. @return how many
static uint32_t gather(const tarn_session *session, tarn_presence_point points[TARN_PRESENCES_MAX])
{
    tarn_viewer *shown[TARN_VIEWERS_MAX];
    uint32_t shown_count = 0, count = 0;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (session->viewers[i]->presence.point_count > 0) {
            shown[shown_count++] = session->viewers[i];
        }
    }
    TARN_ASSERT(shown_count <= TARN_VIEWERS_MAX);
    qsort(shown, shown_count, sizeof shown[0], newest_first);
    for (uint32_t i = 0; i < shown_count; i++) {
        for (uint32_t p = 0; p < shown[i]->presence.point_count && count < TARN_PRESENCES_MAX; p++) {
            points[count] = shown[i]->presence.points[p];
            points[count++].viewer_id = shown[i]->id;
        }
    }
    return count;
}

void tarn_presence_beat(tarn_session *session, uint64_t now_ns)
{
    static tarn_presence_point points[TARN_PRESENCES_MAX];
    static tarn_message message;
    tarn_presence_board *board = &session->board;
    if (!board->changed || now_ns < board->due_ns || session->viewer_count < 2) {
        return;
    }
    message.kind = TARN_MESSAGE_PRESENCES;
    message.presences = (tarn_presences){.point_count = gather(session, points), .points = points};
    if (tarn_message_write(&message, board->bytes + LWS_PRE, TARN_MESSAGE_SERVER_BYTES_MAX, &board->byte_count)) {
        return; // everything in it was checked when it came
    }
    board->changed = false;
    TARN_ASSERT(message.presences.point_count <= TARN_PRESENCES_MAX);
    uint64_t wait_ms = (uint64_t)TARN_GATEWAY_PRESENCE_POINT_MS * message.presences.point_count;
    if (wait_ms < TARN_GATEWAY_PRESENCE_MS) {
        wait_ms = TARN_GATEWAY_PRESENCE_MS;
    }
    board->due_ns = now_ns + wait_ms * 1000000;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (!session->viewers[i]->view.hidden && !session->viewers[i]->is_preview) {
            tarn_viewer_presence_ready(session->viewers[i]);
        }
    }
}
