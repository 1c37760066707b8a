/// Who may do what, and by which key. A session's keys are made with it and last as long as it does.
#ifndef TARN_SERVER_GATEWAY_RIGHTS_ROLE_H
#define TARN_SERVER_GATEWAY_RIGHTS_ROLE_H

#include "protocol/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- what nobody guesses ----

/// Draws so many letters and digits, at most 32, which are hard to mistake for each other: five bits each.
/// @return false: there are no random numbers
bool tarn_draw_letters(char *letters, size_t count);

// What the keys of sessions are made from: with it and a session's salt they come out the same after a restart, and
// nothing that is stored of a session gives them away.

enum { TARN_SECRET_BYTES = 32 };

typedef struct tarn_secret {
    uint8_t bytes[TARN_SECRET_BYTES];
} tarn_secret;

/// Draws one for as long as the program runs. @return TARN_OK or TARN_E_IO
tarn_status tarn_secret_draw(tarn_secret *secret);

/// Reads one from a file that nobody but its owner may read; makes both where there is none.
/// @return TARN_OK, or TARN_E_IO or TARN_E_MALFORMED with a sentence in why
tarn_status tarn_secret_keep(tarn_secret *secret, const char *path, tarn_text why);

// ---- keys of roles ----

typedef struct tarn_role_keys {
    tarn_key keys[TARN_ROLE_COUNT]; ///< by role; hexadecimal digits
} tarn_role_keys;

/// The keys of a session, by its salt. @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_role_keys_make(tarn_role_keys *keys, const tarn_secret *secret, const uint8_t *salt,
                                size_t salt_bytes);

/// The role that a key gives. How long it takes doesn't depend on how much of a key is right.
/// @param key  with zeros behind its end  @return false: it is none of these
bool tarn_role_of_key(const tarn_role_keys *keys, const tarn_key key, tarn_role *role);

// ---- what a role may ----

/// Everything that somebody may ask of a session: X(act, the least role that may).
///
/// | | watch | play | own |
/// |---|---|---|---|
/// | hello, join, ack, ping, view, presence, profile; GET and HEAD | yes | yes | yes |
/// | inputs but parameters, probe; parameters where owners have opened them (moderation.h) | | yes | yes |
/// | parameters, controls, moderate, lock; POST /sessions where owners make tanks, DELETE, POST move | | | yes |
/// | GET /metrics where owners alone may read it | | | yes |
/// | GET history, POST rewind, fork, marks, speed; GET, POST and DELETE scenes | | | yes |
#define TARN_ACTS(X)                                                                                                   \
    X(HELLO, WATCH)                                                                                                    \
    X(JOIN, WATCH)                                                                                                     \
    X(ACK, WATCH)                                                                                                      \
    X(PING, WATCH)                                                                                                     \
    X(VIEW, WATCH)                                                                                                     \
    X(PRESENCE, WATCH)                                                                                                 \
    X(PROFILE, WATCH)                                                                                                  \
    X(POINTER, PLAY)                                                                                                   \
    X(CONTROLLER, PLAY)                                                                                                \
    X(HAND, PLAY)                                                                                                      \
    X(ORIENTATION, PLAY)                                                                                               \
    X(MOTION, PLAY)                                                                                                    \
    X(PROBE, PLAY)                                                                                                     \
    X(PARAMETER, OWN)                                                                                                  \
    X(PAUSE, OWN)                                                                                                      \
    X(RESUME, OWN)                                                                                                     \
    X(STEP, OWN)                                                                                                       \
    X(RESET, OWN)                                                                                                      \
    X(LOAD, OWN)                                                                                                       \
    X(SPEED, OWN)                                                                                                      \
    X(MODERATE, OWN)                                                                                                   \
    X(LOCK, OWN)                                                                                                       \
    X(HTTP_READ, WATCH)  /* GET, HEAD */                                                                               \
    X(HTTP_MAKE, OWN)    /* POST /sessions, of some session */                                                         \
    X(HTTP_METRICS, OWN) /* GET /metrics, of some session */                                                           \
    X(HTTP_END, OWN)     /* DELETE /sessions/NAME */                                                                   \
    X(HTTP_MOVE, OWN)    /* POST /sessions/NAME/move */                                                                \
    X(HTTP_HISTORY, OWN) /* GET /sessions/NAME/history */                                                              \
    X(HTTP_REWIND, OWN)  /* POST /sessions/NAME/rewind, and so on */                                                   \
    X(HTTP_FORK, OWN)                                                                                                  \
    X(HTTP_MARKS, OWN)                                                                                                 \
    X(HTTP_SPEED, OWN)                                                                                                 \
    X(HTTP_SCENES, OWN) /* GET, POST /sessions/NAME/scenes; DELETE .../scenes/ID */

typedef enum tarn_act {
#define X(act, role) TARN_ACT_##act,
    TARN_ACTS(X)
#undef X
        TARN_ACT_COUNT
} tarn_act;

/// What a message asks for. @param message  that clients send (tarn_message_from_client)
tarn_act tarn_act_of(const tarn_message *message);

/// Whether a role may.
bool tarn_role_may(tarn_role role, tarn_act act);

/// What whoever may not is told.
const char *tarn_role_refusal(tarn_act act);

#endif
