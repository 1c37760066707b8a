// One box takes the other's place.
#include "server/gateway/session_past.h"
#include "server/gateway/session.h"
#include "server/gateway/session_box.h"
#include "server/gateway/session_keep.h"

void tarn_session_past_arrives(tarn_session *session)
{
    tarn_session_past *past = &session->past;
    if (past->box_fd > 0) {
        tarn_session_box_close(&session->box_fd);
        session->box_fd = past->box_fd;
        session->kept_fd = 0; // its number may be the old one's
        past->box_fd = 0;
        past->replay = (tarn_session_replay){.stretch = past->replay.next};
    }
    past->is_filled = false;
    tarn_session_keep(session);
}

void tarn_session_past_stays(tarn_session *session)
{
    tarn_session_box_close(&session->past.box_fd);
}
