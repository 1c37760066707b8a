// Start at tarn_viewer_room_make.
#include "server/gateway/viewer/room.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/gateway/listener.h"
#include "server/gateway/session/session.h"
#include "server/gateway/viewer/viewer.h"
#include "server/net/addresses.h"

#include <libwebsockets.h>

static const char hidden_sentence[] =
    "there was no place left, and this page was hidden; it comes back when it is seen",
                  silent_sentence[] = "there was no place left, and nothing had come from this viewer for a minute";

_Static_assert(TARN_GATEWAY_AWAY_SILENT_MS == 60000, "a sentence says a minute");

/// For how long nobody has looked by a viewer. @return 0: somebody does, or it is too short a time
static uint64_t away_ns(const tarn_viewer *viewer, uint64_t now_ns)
{
    const uint64_t since_ns = viewer->view.hidden ? viewer->hidden_since_ns : viewer->spoke_ns;
    const uint64_t least_ms = viewer->view.hidden ? TARN_GATEWAY_AWAY_HIDDEN_MS : TARN_GATEWAY_AWAY_SILENT_MS;
    return now_ns - since_ns >= least_ms * 1000000 ? now_ns - since_ns : 0;
}

static bool goes_before(const tarn_viewer *a, const tarn_viewer *b, uint64_t now_ns)
{
    if (b == NULL || a->view.hidden != b->view.hidden) {
        return b == NULL || a->view.hidden;
    }
    return away_ns(a, now_ns) > away_ns(b, now_ns);
}

static tarn_viewer *find(const tarn_viewer_list *all, const tarn_session *session, const struct in6_addr *client)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    tarn_viewer *found = NULL;
    for (tarn_viewer *viewer = all->first; viewer != NULL; viewer = viewer->next) {
        if (viewer->phase != TARN_VIEWER_JOINED || (session != NULL && viewer->session != session) ||
            away_ns(viewer, now_ns) == 0) {
            continue;
        }
        const tarn_connection *connection = lws_get_opaque_user_data(viewer->wsi);
        if ((client == NULL || tarn_client_is_one(&connection->client, client)) && goes_before(viewer, found, now_ns)) {
            found = viewer;
        }
    }
    return found;
}

/// It is no one's viewer from now on; the connection ends when the peer has heard why.
static void let_go(tarn_viewer *viewer)
{
    tarn_viewer_fail(viewer, TARN_ERROR_AWAY, viewer->view.hidden ? hidden_sentence : silent_sentence);
    tarn_session_leave(viewer->session, viewer);
    TARN_ASSERT(viewer->session == NULL);
}

bool tarn_viewer_room_make(const tarn_viewer *newcomer, const tarn_session *session, const struct in6_addr *client)
{
    TARN_ASSERT(newcomer->phase == TARN_VIEWER_GREETED);
    tarn_viewer *goes = newcomer->is_preview || newcomer->view.hidden ? NULL : find(newcomer->all, session, client);
    if (goes == NULL) {
        return false;
    }
    let_go(goes);
    return true;
}

void tarn_viewer_room_make_soon(tarn_viewer_list *all, uint32_t wanted)
{
    uint32_t leaving = 0;
    for (const tarn_viewer *viewer = all->first; viewer != NULL; viewer = viewer->next) {
        leaving += viewer->phase == TARN_VIEWER_CLOSING;
    }
    tarn_viewer *goes;
    while (leaving < wanted && (goes = find(all, NULL, NULL)) != NULL) {
        let_go(goes);
        leaving++;
    }
}
