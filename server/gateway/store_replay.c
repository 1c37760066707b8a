// Begin at tarn_store_replay_want, then tarn_store_replay_serve.
#include "server/gateway/store_replay.h"
#include "protocol/assert.h"
#include "server/gateway/gateway_limits.h"
#include "server/gateway/store_inside.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

void tarn_store_replay_forget(tarn_replay_mail *mail)
{
    if (mail->has_piece && mail->piece.fd > 0) {
        close(mail->piece.fd);
    }
    mail->has_piece = mail->is_wanted = false;
}

bool tarn_store_replay_want(tarn_store *store, uint32_t place, uint32_t id, const tarn_session_stretch *stretch,
                            const tarn_ipc_replay_wanted *at)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX && stretch->state > 0);
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[place];
    const bool is_kept = asked->id == id;
    if (is_kept) {
        tarn_store_replay_forget(&asked->replay);
        asked->replay.is_wanted = store->is_wished = true;
        asked->replay.stretch = *stretch;
        asked->replay.at = *at;
        pthread_cond_signal(&store->wake);
    }
    pthread_mutex_unlock(&store->mutex);
    return is_kept;
}

bool tarn_store_replay_take(tarn_store *store, uint32_t place, tarn_replay_piece *piece)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    tarn_replay_mail *mail = &store->asked[place].replay;
    const bool has_piece = mail->has_piece;
    if (has_piece) {
        *piece = mail->piece;
        mail->has_piece = false;
    }
    pthread_mutex_unlock(&store->mutex);
    return has_piece;
}

/// Puts the records into memory of their own.
static void wrap(const tarn_box_bytes *records, tarn_replay_piece *piece)
{
    const int fd = records->count > 0 ? memfd_create("tarn-replay", MFD_CLOEXEC) : 0;
    piece->byte_count = (uint32_t)records->count;
    if (fd > 0 && pwrite(fd, records->bytes, records->count, 0) == (ssize_t)records->count) {
        piece->fd = fd;
    } else if (records->count > 0) {
        piece->status = TARN_E_MEMORY;
        snprintf(piece->why, sizeof piece->why, "there is no memory for what was done to the tank then");
        if (fd > 0) {
            close(fd);
        }
    }
}

static void read_piece(store_slot *slot, const tarn_session_stretch *stretch, tarn_replay_piece *piece)
{
    tarn_box_bytes records = {0};
    if (piece->at.from < stretch->step || piece->at.from > stretch->until) { // a worker isn't believed
        piece->is_last = true;
        return;
    }
    piece->status = tarn_session_stretch_read(slot->file, &slot->replay, stretch, piece->at.from, piece->at.held,
                                              &records, &piece->is_last, piece->why);
    if (piece->status == TARN_OK) {
        wrap(&records, piece);
    }
    tarn_box_bytes_free(&records);
}

void tarn_store_replay_serve(tarn_store *store, uint32_t place, bool is_well)
{
    store_slot *slot = &store->slots[place];
    store_asked *asked = &store->asked[place];
    tarn_replay_piece piece = {0};
    pthread_mutex_lock(&store->mutex);
    const bool is_wanted = asked->replay.is_wanted && asked->id == slot->id;
    const tarn_session_stretch stretch = asked->replay.stretch;
    piece.at = asked->replay.at;
    pthread_mutex_unlock(&store->mutex);
    if (!is_wanted) {
        return;
    }
    if (is_well) {
        read_piece(slot, &stretch, &piece);
    } else {
        piece.status = TARN_E_STATE;
        snprintf(piece.why, sizeof piece.why, "this tank isn't kept just now, so that its past can't be read");
    }
    pthread_mutex_lock(&store->mutex);
    tarn_replay_mail *mail = &asked->replay;
    const bool is_its = mail->is_wanted && asked->id == slot->id && mail->at.epoch == piece.at.epoch &&
                        mail->at.from == piece.at.from && mail->at.held == piece.at.held;
    if (is_its) {
        mail->is_wanted = false;
        mail->piece = piece;
        mail->has_piece = true;
    }
    pthread_mutex_unlock(&store->mutex);
    if (!is_its && piece.fd > 0) { // something else is wanted by now
        close(piece.fd);
    }
}
