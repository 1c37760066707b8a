/// A session's tank as it stands, as an archive of a scene: its worker is asked for it and puts it into memory that
/// both have; whoever asks meanwhile, or in the next moments, gets the same.
///
///     request ─▶ wait ─▶ SCENE_WANTED, memory ─▶ worker ─▶ SCENE_TOLD ─▶ page ─▶ everybody who waits
///
/// A tank is asked for it at most once in TARN_GATEWAY_TELLING_KEEP_MS, however many want it.
#ifndef TARN_SERVER_GATEWAY_SESSION_TELLING_H
#define TARN_SERVER_GATEWAY_SESSION_TELLING_H

#include "server/base/ipc.h"
#include "server/gateway/pages/scenes.h"

#include <stdbool.h>
#include <stdint.h>

struct tarn_session;

/// One that waits; its memory is whoever's asks.
typedef struct tarn_telling_wait {
    struct tarn_session *session; ///< NULL: it waits for nothing
    struct tarn_telling_wait *next;
    void (*is_done)(void *user);
    void *user;
    bool is_told;
    unsigned status;       ///< as in HTTP: 200, 409 (no scene can tell this tank), 503
    tarn_text why;         ///< where it isn't 200
    tarn_scene_page *page; ///< where it is: for tarn_scene_page_close
} tarn_telling_wait;

/// Zero at first.
typedef struct tarn_session_telling {
    uint32_t asks; ///< so far; the newest is the one that counts
    int fd;        ///< of the memory of one that is on its way; 0: none is
    tarn_scene_pages *pages;
    uint64_t asked_ns;
    tarn_scene_page *page; ///< the newest; NULL: it is forgotten
    uint64_t told_ns;
    tarn_telling_wait *waiting;
} tarn_session_telling;

/// Asks for it. `is_done` is called once wait->is_told, which it may be at once, without a call.
/// @param wait  zero but for is_done and user  @param pages  that it will be one of
void tarn_session_telling_want(struct tarn_session *session, tarn_scene_pages *pages, tarn_telling_wait *wait);

/// Whoever asked is gone, or has what it wanted. Takes one that waits for nothing.
void tarn_session_telling_leave(tarn_telling_wait *wait);

/// What its worker says.
void tarn_session_telling_told(struct tarn_session *session, const tarn_ipc_scene_told *told);

/// Gives up what takes too long, and forgets what is old.
void tarn_session_telling_tick(struct tarn_session *session, uint64_t now_ns);

/// The session is over: whoever waits is told.
void tarn_session_telling_end(struct tarn_session *session);

#endif
