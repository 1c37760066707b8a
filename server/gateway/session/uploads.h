/// Scenes that owners uploaded, each kept as one file (scene/archive.h) in a folder: with --store its `uploads`, else
/// one that ends with the program. A scene belongs to the session that it was uploaded to, goes with it, and is known
/// by an id that nobody guesses: whoever has the id and may load a scene, or make a tank, may take this one.
///
///     SESSION.BY.ID.scene-pack        BY: the id of the token that it came by; empty: a key, or a guest
///
/// No part of a name on the disk comes from outside. Tanks that were made from a scene have their own copy of it.
#ifndef TARN_SERVER_GATEWAY_SESSION_UPLOADS_H
#define TARN_SERVER_GATEWAY_SESSION_UPLOADS_H

#include "server/base/ipc.h"
#include "server/base/limits.h"
#include "server/base/token.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#define TARN_UPLOADS_ID_PREFIX "upload-" ///< of an id

/// One that is kept.
typedef struct tarn_uploads_scene {
    tarn_name id;
    tarn_name session;
    tarn_token_id by;
    tarn_name name; ///< the scene's own, for people
    uint64_t bytes;
    int64_t at_s; ///< since 1970
} tarn_uploads_scene;

/// Room for one that is on its way.
typedef struct tarn_uploads_place {
    bool is_taken;
    bool is_over; ///< the session has ended: nobody is to wait for it any more
    tarn_name session;
    tarn_token_id by;
    uint64_t bytes; ///< that were declared
} tarn_uploads_place;

typedef struct tarn_uploads {
    char folder[TARN_GATEWAY_UPLOADS_FOLDER_BYTES]; ///< empty: none are taken
    bool is_temporary;                              ///< the folder goes with the program
    uint64_t bytes_max;                             ///< of all, --uploads
    uint64_t bytes;                                 ///< of those that are kept
    uint32_t count;
    tarn_uploads_scene scenes[TARN_GATEWAY_UPLOADS_MAX]; ///< the oldest first
    uv_loop_t *loop;
    const char *program; ///< that checks them: the worker's
    tarn_uploads_place places[TARN_GATEWAY_UPLOADING_MAX];
    struct tarn_upload *running; ///< those on their way; the first of a list
    struct {
        uv_work_t work;
        bool is_running;
        uint64_t asked, running_for, done; ///< changes of the folder: all, those that are being settled, and were
        char path[TARN_GATEWAY_UPLOADS_FOLDER_BYTES + 2]; ///< of something in the folder, for the thread
    } settling;
    int64_t look_s; ///< when it is looked again for those whose session is gone
} tarn_uploads;

/// Opens the folder and finds what is in it.
/// @param store      --store's folder, or NULL  @param bytes_max  0: none are taken, and nothing is opened
/// @return TARN_OK or TARN_E_IO, with a sentence in why
tarn_status tarn_uploads_open(tarn_uploads *uploads, const char *store, uint64_t bytes_max, tarn_text why);

/// Whether any are taken. @param uploads  may be NULL
static inline bool tarn_uploads_are_taken(const tarn_uploads *uploads)
{
    return uploads != NULL && uploads->folder[0] != 0;
}

/// Removes a folder that goes with the program. Takes one that was never opened.
void tarn_uploads_close(tarn_uploads *uploads);

/// Whether one more may come: within what all may take, and of who asks a quarter of that.
/// @param byte_count  of its archive, which the file isn't larger than
/// @return TARN_OK, or TARN_E_LIMIT with a sentence in why
tarn_status tarn_uploads_have_room(const tarn_uploads *uploads, const char *session, const char *by,
                                   uint64_t byte_count, tarn_text why);

/// Opens a file for one that comes, by a name that is none yet. @return a descriptor, or -1 with a sentence in why
int tarn_uploads_file_open(const tarn_uploads *uploads, const char *session, const char *by, tarn_name id,
                           tarn_text why);

/// The names in the folder, as they are now, are to outlast the machine's end. A thread sees to that: a disk may take
/// seconds. @return what settling.done comes to once they do
uint64_t tarn_uploads_settle(tarn_uploads *uploads);

/// What was put there is right: it is kept from now on, and for good once the folder is settled.
/// @param bytes_max  that came, for which there was room: a check that a scene has taken over may have written more
/// @return the scene, or NULL with a sentence in why: it is gone
const tarn_uploads_scene *tarn_uploads_file_keep(tarn_uploads *uploads, const char *session, const char *by,
                                                 const char *id, uint64_t bytes_max, tarn_text why);

/// @return false: the session has none of this id
bool tarn_uploads_remove(tarn_uploads *uploads, const char *session, const char *id);

/// The session has ended, and its scenes go. @param uploads  may be NULL
void tarn_uploads_end_session(tarn_uploads *uploads, const char *session);

/// What a worker is told for the scene that somebody asks for: an uploaded one's file, the file of the scene that the
/// server was started with (pages/scenes.h), or a name of the list. @param uploads  may be NULL
/// @return NULL: there is none of this name. Else it holds until the next call
const char *tarn_uploads_choose(const tarn_uploads *uploads, const tarn_ipc_scenes *listed, const char *own,
                                const char *name);

// ---- one on its way ----
// The body of a request goes, piece by piece as it comes, to a process that reads it, checks it and keeps what is right
// (server/worker/scenes.h). Nothing of it is looked at here, and of all that a hostile one can do the end of that
// process is the worst.
//
//     web --pieces--> socket --> tarn-worker --take-scene --> file
//                       ^  +--one line of JSON-- +
//                       at most TARN_GATEWAY_UPLOAD_QUEUE_BYTES wait for it; beyond, the client has to

typedef struct tarn_upload tarn_upload;

/// Whose it is and who wants to know of it.
typedef struct tarn_upload_plan {
    const char *session; ///< its name, which the upload outlives
    const char *by;      ///< a token's id, or empty
    uint64_t byte_count; ///< of the body
    void *user;
    void (*may_go_on)(void *user); ///< more pieces are welcome again
    void (*is_done)(void *user);
} tarn_upload_plan;

/// What came of it.
typedef struct tarn_upload_result {
    unsigned status; ///< as in HTTP: 201, 400, 503
    tarn_text why;   ///< where it isn't 201
    tarn_uploads_scene scene;
    tarn_text title;
    uint64_t files, particles;
    uint32_t remark_count;
    char remarks[TARN_REMARKS_MAX][TARN_REMARK_BYTES_MAX + 1]; ///< printable, on what acts otherwise than asked for
} tarn_upload_result;

/// Starts the process. @return TARN_OK, TARN_E_LIMIT (too many are on their way), TARN_E_IO or TARN_E_MEMORY, with a
/// sentence in why
tarn_status tarn_upload_begin(tarn_uploads *uploads, const tarn_upload_plan *plan, tarn_upload **upload, tarn_text why);

/// Takes a piece. @return false: it is the last that finds room; wait for may_go_on before the next
bool tarn_upload_take(tarn_upload *upload, const void *bytes, size_t byte_count);

/// All of it has come.
void tarn_upload_end(tarn_upload *upload);

/// @return NULL: nothing has come of it yet. What comes of it before all of it has come is a fault
const tarn_upload_result *tarn_upload_done(const tarn_upload *upload);

/// Nobody wants to know of it any more: what isn't done by now is given up. Takes NULL.
void tarn_upload_close(tarn_upload *upload);

/// Ends those that take too long, or whose session is over. Every TARN_GATEWAY_TICK_MS.
void tarn_upload_tick(tarn_uploads *uploads);

#endif
