/// Sessions over HTTP as JSON: reading a request for a new one, writing what there is. Pure.
#ifndef TARN_SERVER_GATEWAY_PAGES_SESSION_JSON_H
#define TARN_SERVER_GATEWAY_PAGES_SESSION_JSON_H

#include "server/gateway/rights/role.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/// A tank that somebody wants.
typedef struct tarn_session_request {
    tarn_name scene; ///< not empty
    tarn_name name;  ///< for people; empty: none
    bool listed;
} tarn_session_request;

/// What everybody may know of a session.
typedef struct tarn_session_info {
    const char *session, *title, *scene;
    bool scene_is_own; ///< it was uploaded, or is a file that the server was started with: the folder may have another
                       ///< one of its name
    uint32_t viewers, particles;
    double realtime_factor;
    double load;          ///< share of the time that its steps take of what there is; above 1 it can't keep up
    uint64_t unconverged; ///< substeps since its start whose pressure ended short of its tolerance
    int worker;           ///< that simulates it; -1: none
    const char *device;
    const tarn_session_state *state; ///< of which its remarks are told; NULL: none is known
} tarn_session_info;

/// The object that a body is, without a field twice.
/// @param allowed  behind "allowed is"  @param why  on failure where the body is wrong, and what is allowed
/// @return NULL: the body is none
json_t *tarn_session_body_load(const char *bytes, size_t byte_count, const char *allowed, tarn_text why);

/// Says that a field isn't known. @param allowed  "is worker" or "are t and name" @return TARN_E_MALFORMED
tarn_status tarn_session_field_refuse(const char *field, const char *allowed, tarn_text why);

/// Reads {"scene": "...", "name": "...", "listed": true}, of which only the scene must be there. Names are clean UTF-8
/// of at most TARN_NAME_BYTES_MAX bytes.
/// @param why  on failure a sentence that names the field, what was found and what is allowed
/// @return TARN_OK or TARN_E_MALFORMED
tarn_status tarn_session_request_read(const char *bytes, size_t byte_count, tarn_session_request *request,
                                      tarn_text why);

/// Reads {"worker": 1}, or nothing, or {}: then *worker is -1.
/// @param worker_count  how many there are  @param why  as above
/// @return TARN_OK or TARN_E_MALFORMED
tarn_status tarn_session_move_read(const char *bytes, size_t byte_count, uint32_t worker_count, int *worker,
                                   tarn_text why);

// The writers return how many bytes the text has, or 0: it doesn't fit, or there is no memory.

/// {"sessions": [...], "scenes": [...], "create": true}
/// @param scenes      that a new one can be made from, of scene_count
/// @param may_create  whether a new one may be asked for
size_t tarn_session_list_write(const tarn_session_info *infos, uint32_t count, const tarn_name *scenes,
                               uint32_t scene_count, bool may_create, char *text, size_t text_bytes);

/// {"session": "...", "keys": {"watch": "...", "play": "...", "own": "..."}}
size_t tarn_session_made_write(const char *session, const tarn_role_keys *keys, char *text, size_t text_bytes);

/// {"session": "...", "worker": 1}
size_t tarn_session_move_write(const char *session, uint32_t worker, char *text, size_t text_bytes);

/// {"error": "..."}
size_t tarn_session_error_write(const char *sentence, char *text, size_t text_bytes);

#endif
