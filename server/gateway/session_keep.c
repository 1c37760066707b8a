// What outlives a session's tank, as the store has it.
#include "server/gateway/session_keep.h"
#include "protocol/assert.h"
#include "server/gateway/session_box.h"
#include "server/gateway/session_place.h"
#include "server/gateway/tank_store.h"

#include <string.h>

static void put_probes(const tarn_session *session, tarn_session_about *about)
{
    const tarn_session_probes *probes = &session->probes;
    memcpy(about->probes_scene, probes->scene, sizeof about->probes_scene);
    about->probe_count = probes->wanted.count;
    for (uint32_t i = 0; i < about->probe_count; i++) {
        const tarn_probe_wanted *from = &probes->wanted.of[i];
        tarn_session_probe *probe = &about->probes[i];
        probe->shows = (uint32_t)from->shows;
        probe->is_scenes = from->is_scenes;
        probe->solid = from->solid;
        memcpy(probe->at_m, from->at_m, sizeof probe->at_m);
        memcpy(probe->to_m, from->to_m, sizeof probe->to_m);
        memcpy(probe->label, from->label, sizeof probe->label);
    }
}

static tarn_session_about about_of(const tarn_session *session)
{
    tarn_session_about about = {.guests = (uint32_t)session->guests,
                                .is_kept = session->is_kept,
                                .is_listed = session->is_listed,
                                .locked = session->state.lock.locked,
                                .open_parameters = session->state.lock.open_parameters != 0,
                                .speed = session->past.speed};
    memcpy(about.name, session->name, sizeof about.name);
    memcpy(about.title, session->title, sizeof about.title);
    memcpy(about.begun_as, session->begun_as, sizeof about.begun_as);
    memcpy(about.salt, session->salt, sizeof about.salt);
    put_probes(session, &about);
    return about;
}

void tarn_session_keep_filled(tarn_session *session)
{
    const int box_fd = session->box_fd > 0 ? session->box_fd : TARN_SESSION_NO_BOX;
    if (session->all->store == NULL || session->kept_fd == box_fd) {
        return;
    }
    const tarn_session_about about = about_of(session);
    const uint32_t place = session->id & TARN_SESSION_PLACE_MASK;
    if (tarn_store_keep(session->all->store, place, session->id, &about, session->box_fd)) {
        session->kept_fd = box_fd;
    }
}

void tarn_session_keep(tarn_session *session)
{
    if (!session->past.is_filled) {
        tarn_session_keep_filled(session);
    }
}

void tarn_session_forget_box(tarn_session *session)
{
    tarn_session_box_close(&session->box_fd);
    session->kept_fd = 0;
}

void tarn_session_keep_anew(tarn_session *session)
{
    if (session->all->store != NULL && session->kept_fd != 0) {
        const tarn_session_about about = about_of(session);
        tarn_store_tell(session->all->store, session->id & TARN_SESSION_PLACE_MASK, session->id, &about);
    }
}

void tarn_session_keep_speed(tarn_session *session, float speed)
{
    TARN_ASSERT(speed >= TARN_SPEED_MIN && speed <= TARN_SPEED_MAX);
    session->past.speed = speed == 1.0f ? 0.0f : speed;
    session->past.speed_due_ns = 0;
    tarn_session_keep_anew(session);
}
