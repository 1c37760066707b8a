/// Uploaded scenes over HTTP, for whoever has an owners' key, and scenes as archives:
///
///     GET    /sessions/NAME/scenes     those that were uploaded to it, and what may be
///     POST   /sessions/NAME/scenes     the body is an archive (server/scene/archive.h), of at most
///                                      TARN_GATEWAY_UPLOAD_BYTES_MAX bytes: 201 with the scene's id, once it has been
///                                      found right and is kept
///     DELETE /sessions/NAME/scenes/ID  removes one
///     GET    /sessions/NAME/scene      the tank as it stands, told as a scene, as such an archive (session/telling.h);
///                                      for whoever may join
///     GET    /sessions/NAME/scene/made.tar  the scene that it was made from; the same
///
/// Refusals are as those of sessions.h: 400 (what is wrong with the scene), 403, 404, 409 (no more may be kept, or
/// none are taken), 413, 429 (too often), 503 (too many at once).
#ifndef TARN_SERVER_GATEWAY_PAGES_UPLOADS_H
#define TARN_SERVER_GATEWAY_PAGES_UPLOADS_H

#include "server/gateway/pages/sessions.h"
#include "server/gateway/session/uploads.h"

#define TARN_UPLOAD_PAGES_VERB "/scenes"  ///< behind a session's name
#define TARN_UPLOAD_PAGES_SCENE "/scene"  ///< the same, of the archive
#define TARN_UPLOAD_PAGES_MADE "made.tar" ///< behind that and a slash

/// Lists those of a session; where none are taken it says that of none any bytes may come.
void tarn_upload_pages_list(tarn_sessions *all, const char *name, const char *pass, tarn_session_answer *answer);

/// Removes one. @param id  of a scene
void tarn_upload_pages_remove(tarn_sessions *all, const char *name, const char *id, const char *pass,
                              tarn_session_answer *answer);

/// Looks whether somebody may upload a scene, and starts that.
/// @param plan  its session and by are set here
/// @return NULL: not, which is the answer
tarn_upload *tarn_upload_pages_begin(tarn_sessions *all, const char *name, const char *pass, tarn_upload_plan *plan,
                                     tarn_session_answer *answer);

/// Ends what takes too long, and removes scenes of which no session has been there for --store-age. Every
/// TARN_GATEWAY_TICK_MS.
void tarn_upload_pages_tick(tarn_sessions *all);

/// What came of it.
void tarn_upload_pages_answer(const tarn_upload_result *result, tarn_session_answer *answer);

#endif
