/// Sessions over HTTP:
///
///     GET    /sessions          those that are listed, and whether who asks may make one
///     POST   /sessions          makes one: 201 with its name and its keys. Where only owners make tanks, with the key
///                               by which some session is owned
///     DELETE /sessions/NAME     ends one, with "Authorization: Bearer" and its owners' key
///     POST   /sessions/NAME/move
///                               moves its tank to another worker: 202 with that one's number. With the owners' key, or
///                               from this machine, where no proxy says that it comes for somebody else
///
/// Everything is JSON. A refusal is {"error": a sentence}, with 400 (the request is wrong), 403 (not allowed), 404
/// (there is none), 409 (it can't be ended, or not be moved now), 413 (too large), 415 (not JSON), 429 (too often) or
/// 503 (no room, or no worker that is up). What changes something is taken from pages of this server only, as
/// WebSockets are.
#ifndef TARN_SERVER_GATEWAY_PAGES_SESSIONS_H
#define TARN_SERVER_GATEWAY_PAGES_SESSIONS_H

#include "server/base/limits.h"
#include "server/gateway/session/session.h"
#include "server/gateway/worker/move.h"
#include "server/net/addresses.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define TARN_SESSION_PAGES_PATH "/sessions"
#define TARN_SESSION_PAGES_SCENE "/scene/" ///< behind a session's name, in front of a file's

/// An answer.
typedef struct tarn_session_answer {
    unsigned status;
    size_t byte_count;
    char text[TARN_GATEWAY_HTTP_TEXT_BYTES_MAX];
} tarn_session_answer;

// The pass is the key or the token that came with a request; empty: none came.

/// Whether it lets do something that is about no session, by the role that it has in some.
bool tarn_session_pages_may_by_some(const tarn_sessions *all, const char *pass, tarn_act act);

void tarn_session_pages_list(const tarn_sessions *all, const char *pass, tarn_session_answer *answer);

/// @param makers  who made tanks of late  @param body  of the request  @param address  whose it is
void tarn_session_pages_make(tarn_sessions *all, tarn_client_turns *makers, const char *body, size_t body_bytes,
                             const char *pass, const struct in6_addr *address, tarn_session_answer *answer);

void tarn_session_pages_end(tarn_sessions *all, const char *name, const char *pass, tarn_session_answer *answer);

/// @param is_operator  the request comes from this machine
void tarn_session_pages_move(tarn_sessions *all, tarn_move *move, const char *name, const char *pass, bool is_operator,
                             const char *body, size_t body_bytes, tarn_session_answer *answer);

// ---- for the other pages of a session ----

/// The session that a pass lets do something over HTTP. @return NULL: there is none or it may not, which is the answer
tarn_session *tarn_session_pages_open_to(tarn_sessions *all, const char *name, const char *pass, tarn_act act,
                                         tarn_session_answer *answer);

/// A session for whoever may join it: with a pass that is good there, or as a guest. @return NULL: the answer is why
/// not
tarn_session *tarn_session_pages_seen_by(tarn_sessions *all, const char *name, const char *pass,
                                         tarn_session_answer *answer);

/// Whether whoever asks may make one more tank now, which is counted. @return false: not, which is the answer
bool tarn_session_pages_may_make(tarn_sessions *all, tarn_client_turns *makers, const char *pass,
                                 const struct in6_addr *address, tarn_session_answer *answer);

/// Refuses with a status and a sentence.
void tarn_session_pages_refuse(tarn_session_answer *answer, unsigned status, const char *sentence);

#endif
