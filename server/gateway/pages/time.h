/// The time machine over HTTP, for whoever has an owners' key:
///
///     GET  /sessions/NAME/history  {"from": s, "until": s, "step_s": s, "speed": 1, "marks": [{"id", "t", "name"}],
///                                  "minutes": 60}: what is kept, in seconds of the tank's time
///     POST /sessions/NAME/rewind   {"t": s, "replay": false}: 202, its tank is about to be as it was; replay: and what
///                                  was done to it then is done to it again
///     POST /sessions/NAME/fork     {"t": s, "name": "...", "listed": false}: 201 as for a session that is made, whose
///                                  tank goes on from there; within the same limits
///     POST /sessions/NAME/marks    {"t": s, "name": "..."} names a moment, {"remove": id} forgets it: 202
///     POST /sessions/NAME/speed    {"speed": 0.05 to 4}: seconds of the tank's time in a second
///
/// Refusals are as those of sessions.h: 400 (t isn't kept, a field is wrong), 403, 404, 409 (not now, or nothing
/// is kept), 429, 503. What fails behind a 202 leaves the tank as it is, and its owners are told.
#ifndef TARN_SERVER_GATEWAY_PAGES_TIME_H
#define TARN_SERVER_GATEWAY_PAGES_TIME_H

#include "server/gateway/pages/sessions.h"

typedef enum tarn_time_page {
    TARN_TIME_PAGE_NONE = 0,
    TARN_TIME_PAGE_HISTORY,
    TARN_TIME_PAGE_REWIND,
    TARN_TIME_PAGE_FORK,
    TARN_TIME_PAGE_MARKS,
    TARN_TIME_PAGE_SPEED,
} tarn_time_page;

/// @param verb  behind the session's name, with its '/'; NULL is fine
tarn_time_page tarn_time_page_find(const char *verb);

/// The methods of a page.
const char *tarn_time_page_methods(tarn_time_page page);

/// Answers. @param body  of the request; of TARN_TIME_PAGE_HISTORY none
void tarn_time_page_answer(tarn_sessions *all, tarn_client_turns *makers, tarn_time_page page, const char *name,
                           const char *pass, const char *body, size_t body_bytes, const struct in6_addr *address,
                           tarn_session_answer *answer);

#endif
