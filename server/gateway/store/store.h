/// Keeps sessions in files, one each (server/log/session_file.h), on a thread of its own that nobody waits for: it
/// reads tanks' black boxes while the workers go on (server/log/follow.h). What a power cut may cost is the time
/// from a look at a box until what came behind it is committed (tarn_store_counts.unkept_s): commit_ms where that goes
/// as quickly as it must, which is looked at with every commit, and said where it doesn't. A disk that fails costs no
/// frame: the newest good states stay, and it is tried again. Files, or the whole folder, that somebody removes or
/// moves meanwhile are noticed within 2 s, and written anew where there is a folder; never into one that another tarnd
/// has taken.
///
///     DIR/lock          held by the one tarnd that uses DIR
///     DIR/secret        what keys are made from (rights/role.h)
///     DIR/owner-link    the link by which the first tank is owned (gateway/main.c)
///     DIR/tokens, DIR/revoked  (server/base/token.h)
///     DIR/NAME.tank     a session
///     DIR/NAME.damaged  one that could not be read, set aside with what SQLite keeps beside it
#ifndef TARN_SERVER_GATEWAY_STORE_STORE_H
#define TARN_SERVER_GATEWAY_STORE_STORE_H

#include "server/base/ipc.h"
#include "server/gateway/service_manager.h"
#include "server/gateway/store/files.h"
#include "server/gateway/store/history.h"
#include "server/log/session_file.h"
#include "server/log/session_history.h"

#include <stdbool.h>
#include <stdint.h>

/// A session that was found.
typedef struct tarn_store_found {
    tarn_session_about about;
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1]; ///< that its tank was made from
    uint32_t epoch;                           ///< under which that goes on
    int box_fd;                               ///< the callee's: its black box; 0: the tank was never made
    tarn_box_bytes pack; ///< the callee's: the scene itself (scene/archive.h); empty: it isn't known
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

typedef struct tarn_store tarn_store;

/// What it came to so far.
typedef struct tarn_store_counts {
    uint64_t commits, state_bytes; ///< bytes: of states, compressed
    uint64_t failures;             ///< commits that failed
    uint32_t failing;              ///< sessions whose newest commit failed
    uint64_t vanished;             ///< files that somebody removed or moved while they were written
    uint32_t held;                 ///< sessions that began anew too often to be kept just now
    uint64_t states_aside;         ///< states that killed their workers
    uint32_t set_aside;            ///< files that could not be read when it was opened
    double commit_s;               ///< that the slowest commit took
    double age_s;                  ///< the most that a tank had to wait for its next commit
    uint64_t late;      ///< commits that came later than commit_ms, of tanks that weren't said not to be kept
    double unkept_s;    ///< what happened longer ago is in every session's file
    tarn_text sentence; ///< the newest failure's; empty: there was none
} tarn_store_counts;

/// Takes a folder, which is made where there is none.
/// @param commit_ms  that a power cut may cost, 10..10000
/// @param limit      on what the folder takes; is copied
/// @param history_minutes  of tanks' pasts that are kept, 0..TARN_GATEWAY_HISTORY_MINUTES_MAX
/// @return TARN_OK, TARN_E_IO, TARN_E_STATE (another tarnd uses it) or TARN_E_MEMORY, with a sentence in why
tarn_status tarn_store_open(tarn_store **store, const char *dir, uint32_t commit_ms, const tarn_store_limit *limit,
                            uint32_t history_minutes, tarn_text why);

/// The same two for what happens from now on.
void tarn_store_set(tarn_store *store, uint32_t commit_ms, const tarn_store_limit *limit);

/// Looks for one session. @return TARN_OK; TARN_E_NOT_FOUND: there is none that can be read; or why it could not be
/// looked at, which leaves its file as it is, with a sentence
tarn_status tarn_store_find_first(tarn_store *store, const char *name, tarn_store_found *found, tarn_text why);

/// Hands over all others that are there, at most so many, in the order of their names. Before anything is kept.
void tarn_store_find(tarn_store *store, const char *first, uint32_t sessions_max,
                     void (*found)(void *user, const tarn_store_found *found), void *user);

/// Keeps a session from now on, or as it is from now on. Never waits.
/// @param place   0..TARN_GATEWAY_SESSIONS_MAX - 1
/// @param id      no other session's
/// @param box_fd  its tank's black box; stays the caller's; 0: it has none yet
/// @return false: there is no descriptor for it just now
bool tarn_store_keep(tarn_store *store, uint32_t place, uint32_t id, const tarn_session_about *about, int box_fd);

/// What a session that is kept is besides its tank has changed.
void tarn_store_tell(tarn_store *store, uint32_t place, uint32_t id, const tarn_session_about *about);

/// The session of a place has ended: its file goes.
void tarn_store_drop(tarn_store *store, uint32_t place, const char *name);

/// The same, and its file stays under another name.
void tarn_store_set_aside(tarn_store *store, uint32_t place, const char *name);

/// The newest state of a session kills the workers that go on from it: it is set aside in the file, and the one before
/// it is read. Never waits. @param id  of the session  @param epoch_min  of the box that is made
/// @param reason  for the file  @return false: this session isn't kept
bool tarn_store_ask_older(tarn_store *store, uint32_t place, uint32_t id, uint32_t epoch_min, const char *reason);

/// @return false: it isn't read yet
bool tarn_store_take_older(tarn_store *store, uint32_t place, tarn_store_older *older);

/// A small file that lies in the folder is to be there for the next start: where it vanishes it is written anew.
/// @param name  the same again: other bytes. At most TARN_GATEWAY_STORE_FILES_MAX  @param byte_count
/// 1..TARN_GATEWAY_STORE_FILE_BYTES_MAX
void tarn_store_hold(tarn_store *store, const char *name, const void *bytes, size_t byte_count);

/// Whether the file of a place's session vanished, once for each time.
bool tarn_store_take_vanished(tarn_store *store, uint32_t place);

/// Whether the session of a place can't be kept just now: putting it failed, or the disk hangs.
bool tarn_store_fails(tarn_store *store, uint32_t place);

/// The program stood: the disk doesn't hang for that. NULL is fine.
void tarn_store_stood(tarn_store *store, const tarn_standstill *stood);

/// Whether the session of a place isn't kept since its tank began anew more often than states are put, which lasts for
/// as long as one of its states lasts at most. @param left_s  receives how long, where it is
bool tarn_store_holds_back(tarn_store *store, uint32_t place, double *left_s);

/// What of a session's past is there, as it was committed last. @return false: nothing is yet
bool tarn_store_past(tarn_store *store, uint32_t place, tarn_session_span *span);

/// Has the thread do what is wished of a session's past, one wish at a time. @return false: one is being done already
bool tarn_store_wish_for(tarn_store *store, uint32_t place, const tarn_store_wish *wish);

/// Takes what came of the newest wish. @return false: nothing has yet
bool tarn_store_take_reply(tarn_store *store, uint32_t place, tarn_store_reply *reply);

void tarn_store_count(tarn_store *store, tarn_store_counts *counts);

/// Has what is there committed, and the thread end.
void tarn_store_end(tarn_store *store);
bool tarn_store_has_ended(tarn_store *store);

/// The same, and waits for it. NULL is fine.
void tarn_store_close(tarn_store *store);

// ---- what is played back ----
// Of a kept session's past, from its file in pieces (log/session_history.h). A piece lies in memory of its own, with a
// descriptor that the worker gets.

/// A piece that was read.
typedef struct tarn_replay_piece {
    tarn_status status; ///< TARN_OK, or why there is none
    tarn_text why;
    tarn_ipc_replay_wanted at;
    uint32_t byte_count;
    bool is_last;
    int fd; ///< the taker's; 0: none, or there are no bytes
} tarn_replay_piece;

/// Asks for a piece of what a place's session is played back from; one that was asked for before and hasn't been taken
/// is forgotten. Never waits. @return false: this session isn't kept
bool tarn_store_replay_want(tarn_store *store, uint32_t place, uint32_t id, const tarn_session_stretch *stretch,
                            const tarn_ipc_replay_wanted *at);

/// @return false: it isn't read yet
bool tarn_store_replay_take(tarn_store *store, uint32_t place, tarn_replay_piece *piece);

#endif
