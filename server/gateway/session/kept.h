/// Sessions that come back: after the program's end, as the store has them (store/store.h), and when there is room
/// again.
#ifndef TARN_SERVER_GATEWAY_SESSION_KEPT_H
#define TARN_SERVER_GATEWAY_SESSION_KEPT_H

#include "server/gateway/session/session.h"

/// Opens what the store has, the first session in the first place: as it is kept, or by its plan where it isn't, or was
/// begun with another scene. Their tanks are made when there are workers.
/// @param why  on failure a sentence  @return TARN_OK, or why the first one can't be opened
tarn_status tarn_session_open_all(tarn_sessions *all, const tarn_session_plan *first, tarn_text why);

/// The first tank can't be made of what was kept, such as when its scene is no more: it is made of what the server was
/// started with, in a file of its own. @return false: it was made of that
bool tarn_session_begin_anew(tarn_sessions *all);

/// Whether the first tank, which nobody has seen yet, may have ended a worker that went on from what was kept of it: it
/// is tried again, and then from something older.
bool tarn_session_begins_again(const tarn_sessions *all);

/// Tells owners when nothing can be kept, and when it can again. Has tanks made for which there is an older state.
void tarn_session_store_tick(tarn_sessions *all, uint64_t now_ns);

// ---- tried again ----
// Tanks that found no room when they were to come back: their boxes have them, and room may come.

/// Has those made for which it is time. To be called every tick.
void tarn_session_retry_tick(tarn_sessions *all, uint64_t now_ns);

#endif
