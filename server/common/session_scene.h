/// The scenes in a session's file: each with its JSON and the files that it names (scene_pack.h), every content once.
/// A scene is that of the states from its own on, up to the next scene's.
#ifndef TARN_SERVER_COMMON_SESSION_SCENE_H
#define TARN_SERVER_COMMON_SESSION_SCENE_H

#include "server/common/session_file.h"

enum { TARN_SESSION_HASH_BYTES = 32 }; ///< of a content: SHA-256

/// A state's scene from now on, within a transaction. One that is the newest already changes nothing.
/// @param pack  sound, or empty: it isn't known
tarn_status tarn_session_scene_put(tarn_session_file *file, int64_t state, const tarn_box_bytes *pack, tarn_text why);

/// @param pack  receives it; empty: it isn't in the file
/// @return TARN_OK, TARN_E_MALFORMED: it is damaged, TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_session_scene_read(tarn_session_file *file, int64_t state, tarn_box_bytes *pack, tarn_text why);

/// Scenes that no state has any more go, and their files, within a transaction. @param oldest  the oldest state
tarn_status tarn_session_scene_drop(tarn_session_file *file, int64_t oldest, tarn_text why);

#endif
