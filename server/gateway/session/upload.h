/// A scene on its way: the body of a request goes, piece by piece as it comes, to a process that reads it, checks it
/// and keeps what is right (server/worker/scenes.h). Nothing of it is looked at here, and of all that a hostile
/// one can do the end of that process is the worst.
///
///     web --pieces--> socket --> tarn-worker --take-scene --> file
///                       ^  +--one line of JSON-- +
///                       at most TARN_GATEWAY_UPLOAD_QUEUE_BYTES wait for it; beyond, the client has to
#ifndef TARN_SERVER_GATEWAY_SESSION_UPLOAD_H
#define TARN_SERVER_GATEWAY_SESSION_UPLOAD_H

#include "server/gateway/session/uploads.h"

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
