// What outlives a session's tank, as the store has it.
#include "server/gateway/session_keep.h"
#include "server/gateway/session_place.h"
#include "server/gateway/tank_store.h"

#include <string.h>

void tarn_session_keep(tarn_session *session)
{
    tarn_session_about about = {
        .guests = (uint32_t)session->guests, .is_kept = session->is_kept, .is_listed = session->is_listed};
    const int box_fd = session->box_fd > 0 ? session->box_fd : TARN_SESSION_NO_BOX;
    if (session->all->store == NULL || session->kept_fd == box_fd) {
        return;
    }
    memcpy(about.name, session->name, sizeof about.name);
    memcpy(about.title, session->title, sizeof about.title);
    memcpy(about.begun_as, session->begun_as, sizeof about.begun_as);
    memcpy(about.salt, session->salt, sizeof about.salt);
    const uint32_t place = session->id & TARN_SESSION_PLACE_MASK;
    if (tarn_store_keep(session->all->store, place, session->id, &about, session->box_fd)) {
        session->kept_fd = box_fd;
    }
}
