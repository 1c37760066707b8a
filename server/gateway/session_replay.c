// Begin at tarn_session_replay_wanted, then tarn_session_replay_tick.
#include "server/gateway/session_replay.h"
#include "server/common/log.h"
#include "server/gateway/session_box.h"
#include "server/gateway/session_place.h"
#include "server/gateway/store_replay.h"
#include "server/gateway/viewer.h"

void tarn_session_replay_wanted(tarn_session *session, const tarn_ipc_replay_wanted *at)
{
    session->past.replay.at = *at;
    session->past.replay.is_wanted = true;
    session->past.replay.is_asked = false;
}

static void tell_owners(const tarn_session *session, const char *sentence)
{
    for (uint32_t v = 0; v < session->viewer_count; v++) {
        if (session->viewers[v]->role == TARN_ROLE_OWN) {
            tarn_viewer_error(session->viewers[v], TARN_ERROR_INPUT, sentence);
        }
    }
}

/// @param piece  its descriptor stays the caller's  @return whether the worker has it
static bool hand_over(const tarn_session *session, const tarn_replay_piece *piece)
{
    const tarn_worker_queue_key key = {.kind = TARN_IPC_REPLAY, .index = session->id & TARN_SESSION_PLACE_MASK};
    tarn_ipc_message message = {.kind = TARN_IPC_REPLAY, .tank = session->id};
    message.replay = (tarn_ipc_replay){
        .at = piece->at, .byte_count = piece->byte_count, .is_last = piece->is_last, .box = piece->fd};
    return (piece->fd <= 0 || tarn_session_box_can_go(piece->fd)) &&
           tarn_worker_process_send(session->worker, &message, key, false) == TARN_OK;
}

/// Without any further piece the worker goes on live.
static void give(tarn_session *session, tarn_replay_piece *piece)
{
    tarn_session_replay *replay = &session->past.replay;
    if (piece->status != TARN_OK) {
        tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.session = session->label, .tank = session->id}, "%s",
                    piece->why);
        tell_owners(session, piece->status == TARN_E_NOT_FOUND
                                 ? "what was done to the tank then isn't kept any more; it goes on live"
                                 : "what was done to the tank then can't be read just now; it goes on live");
        piece->byte_count = 0;
        piece->is_last = true;
    }
    replay->is_wanted = !hand_over(session, piece);
    replay->is_asked = false;
    tarn_session_box_close(&piece->fd);
}

void tarn_session_replay_tick(tarn_session *session)
{
    tarn_session_replay *replay = &session->past.replay;
    const uint32_t place = session->id & TARN_SESSION_PLACE_MASK;
    tarn_replay_piece piece = {.at = replay->at, .is_last = true};
    if (!replay->is_wanted || session->worker == NULL || !tarn_worker_process_is_ready(session->worker)) {
        return;
    }
    if (session->all->store == NULL || replay->stretch.state == 0) { // it isn't of a tank that was gone back with
        give(session, &piece);
    } else if (!replay->is_asked) {
        replay->is_asked =
            tarn_store_replay_want(session->all->store, place, session->id, &replay->stretch, &replay->at);
    } else if (tarn_store_replay_take(session->all->store, place, &piece)) {
        give(session, &piece);
    }
}
