/// The inside of the store, for the files that it is made up of: store.c, on the gateway's thread, and rounds.c, on the
/// store's own. Others see store.h.
#ifndef TARN_SERVER_GATEWAY_STORE_ROUNDS_H
#define TARN_SERVER_GATEWAY_STORE_ROUNDS_H

#include "server/base/limits.h"
#include "server/gateway/store/files.h"
#include "server/gateway/store/store.h"
#include "server/log/session_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// ---- large states ----
// Puts a state that is large on a thread of its own, so that other tanks' logs need not wait until it is packed and
// written. One at a time; its own tank waits. For the store's thread (rounds.c).

/// Zero at first.
typedef struct tarn_store_large {
    bool is_there;  ///< one is under way, or wasn't taken yet
    uint32_t place; ///< whose
    uint64_t begun_ns;
    pthread_t thread;
    atomic_bool has_ended; ///< what follows is the thread's until then
    tarn_session_file *file;
    tarn_box_news news; ///< owned
    uint64_t state_bytes;
    tarn_status status;
    tarn_text why;
} tarn_store_large;

/// Waits for the thread, where there is one, and frees what it had.
void tarn_store_large_free(tarn_store_large *large);

// ---- what both threads see ----

/// What is known of a tank's past and wished of it, on its way from one thread to the other; under the lock.
typedef struct tarn_past_mail {
    tarn_session_span past;
    bool has_past, has_reply;
    tarn_store_wish wish; ///< until it is done
    tarn_store_reply reply;
} tarn_past_mail;

/// Pieces of what is played back, on their way from one thread to the other; under the lock.
typedef struct tarn_replay_mail {
    bool is_wanted, has_piece;
    tarn_session_stretch stretch;
    tarn_ipc_replay_wanted at;
    tarn_replay_piece piece;
} tarn_replay_mail;

/// What the gateway asks for; under the lock.
typedef struct store_asked {
    uint32_t id; // of the session; 0: none is there
    bool is_failing;
    bool has_vanished;      // its file, which the gateway hasn't heard of
    uint64_t held_until_ns; // 0: it isn't held back
    uint64_t kept_ns;       // what happened before is in its file; at first since when it is kept
    uint32_t changes;
    tarn_session_about about;
    int box_fd; // a descriptor of its own; 0: the thread has it
    tarn_past_mail mail;
    tarn_replay_mail replay;
    bool wants_older, has_older;
    uint32_t epoch_min;
    tarn_text reason;
    tarn_store_older older; // where it has
} store_asked;

/// What the thread has of a place.
typedef struct store_slot {
    uint32_t id, changes;
    bool is_failing, is_held;
    uint64_t retry_ns;               // not before
    uint64_t state_due_ns, state_ns; // the next one, and how far apart the newest sets them
    uint64_t log_bytes;              // behind the newest
    uint64_t put_ns;                 // when that was
    uint64_t kept_ns;                // what happened before is in the file
    bool is_excused;                 // it was known not to be kept, so that the next commit isn't late
    uint64_t trim_due_ns;            // when less may be kept, though nothing comes
    tarn_tank_history history;
    tarn_session_stretch_reader replay;
    tarn_session_file *file;
    bool goes_on;               // the box may have come out of the file
    tarn_box_follower follower; // fd 0: there is no box
    tarn_name name, label;      // what stands for the name in the log
    char path[4096];
} store_slot;

/// Files of a session that ended.
typedef struct {
    tarn_name name, label;
    bool is_aside; // else they are to go
} store_dropped;

/// A small file of the folder that somebody else made, and that is to be there still when the next one starts.
typedef struct store_file {
    char name[16];
    uint32_t byte_count; // 0: there is none
    uint8_t bytes[TARN_GATEWAY_STORE_FILE_BYTES_MAX];
} store_file;

/// Commits that came later than was promised, since it was told that they do.
typedef struct {
    uint64_t newest_ns; // when the newest one was; 0: nobody was told
    uint64_t age_ns;    // the most that one came after what happened
    uint32_t count;
} store_lateness;

struct tarn_store {
    char dir[2048];
    int lock_fd; // the thread's once that runs
    uint64_t history_ns;
    int64_t opened_s;   // since 1970
    uint64_t opened_ns; // of the monotonic clock
    pthread_t thread;
    pthread_mutex_t mutex; // of what follows
    pthread_cond_t wake;
    uint32_t commit_ms;
    tarn_store_limit limit;
    bool is_ending, has_ended;
    bool is_wished;    // something of some past, since the thread looked
    bool is_hurried;   // somebody waits for an older state
    uint64_t round_ns; // when the round began that goes on; 0: the thread waits for the next one
    store_dropped dropped[TARN_GATEWAY_SESSIONS_MAX];
    uint32_t dropped_count;
    store_asked asked[TARN_GATEWAY_SESSIONS_MAX];
    tarn_store_counts counts;
    store_file files[TARN_GATEWAY_STORE_FILES_MAX];
    // the thread's
    uint64_t there_due_ns; // when it is looked whether everything is there still
    tarn_text why_not;     // the folder isn't this program's to write to; empty: it is
    store_slot slots[TARN_GATEWAY_SESSIONS_MAX];
    tarn_box_news news;
    tarn_store_large large;
    uint64_t limit_due_ns;
    bool is_too_large;
    store_lateness lateness;
};

// ---- what store.c calls ----

/// What its thread does until the store ends: goes round the sessions.
void *tarn_store_rounds(void *store);

/// How long it waits before the next one, so that what a step begins just after a commit is durable when the next one
/// has ended: from beginning to beginning half of what may be lost, as far as the disk lets it.
/// @param commit_ms  that may be lost  @param round_ns  that the last round took
uint64_t tarn_store_pause_ns(uint32_t commit_ms, uint64_t round_ns);

/// Takes the lock of a folder, which must be one's own. @param status  receives TARN_OK, TARN_E_IO or TARN_E_STATE
/// (another tarnd has it) with a sentence in why  @return a descriptor; -1: it isn't taken
int tarn_store_take_lock(const char *dir, tarn_status *status, tarn_text why);

/// Closes what a place has open.
void tarn_store_slot_close(store_slot *slot);

/// The path of a session's file, or of another one in the folder.
void tarn_store_path(const tarn_store *store, const char *name, const char *suffix, char path[4096]);

/// What a session is, and its newest state. @param name  that it must have, so many bytes of it
/// @param is_first  the session's name may be said
/// @return TARN_OK; TARN_E_MALFORMED: the file is of no use, TARN_E_IO or TARN_E_MEMORY, with a sentence
tarn_status tarn_store_read(tarn_session_file *file, const char *name, size_t name_bytes, bool is_first,
                            tarn_store_found *found, tarn_text why);

/// As tarn_tank_files_set_aside, counted.
bool tarn_store_put_aside(tarn_store *store, const char *path, const char *label, const char *why);

#endif
