/// From a session's file to a box that a worker goes on from.
#ifndef TARN_SERVER_GATEWAY_STORE_READ_H
#define TARN_SERVER_GATEWAY_STORE_READ_H

#include "server/common/session_file.h"

#include <stdbool.h>
#include <stdint.h>

/// A session that was found.
typedef struct tarn_store_found {
    tarn_session_about about;
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1]; ///< that its tank was made from
    uint32_t epoch;                           ///< under which that goes on
    int box_fd;                               ///< the callee's: its black box; 0: the tank was never made
    tarn_box_bytes pack;                      ///< the callee's: the scene itself (scene_pack.h); empty: it isn't known
} tarn_store_found;

/// An older state of a tank, since the newest one kills its workers.
typedef struct tarn_store_older {
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1]; ///< that its tank was made from
    uint32_t epoch;
    int box_fd;          ///< the callee's: its black box; 0: there is no older state, or it can't be read
    uint64_t aside_step; ///< of the state that was set aside
    uint64_t step;       ///< of the older one
    bool is_aside;       ///< else the file could not be written, and has it as it was
    tarn_text why;       ///< where it is so, or where there is no older state
} tarn_store_older;

/// What a session is, and its newest state. @param name  that it must have, so many bytes of it
/// @param is_first  the session's name may be said
/// @return TARN_OK; TARN_E_MALFORMED: the file is of no use, TARN_E_IO or TARN_E_MEMORY, with a sentence
tarn_status tarn_store_read(tarn_session_file *file, const char *name, size_t name_bytes, bool is_first,
                            tarn_store_found *found, tarn_text why);

/// Sets the newest state aside, and reads the one before it. @param label  of the session  @param epoch_min  of the box
void tarn_store_read_older(tarn_session_file *file, const char *label, const char *reason, uint32_t epoch_min,
                           tarn_store_older *older);

#endif
