/// How a tank's black box lies in memory (server/worker/black_box.h): what the worker writes and the gateway follows.
///
///     head | log 0 | log 1 | state 0 | state 1 | ... | scene (scene_pack.h), at a place of its own
///
/// One number says what counts: which half, and in which turn. Each state that is kept begins a turn, one more than the
/// last where it is what the log leads to, two where it isn't: the tank was made anew or set back.
#ifndef TARN_SERVER_COMMON_BLACK_BOX_LAYOUT_H
#define TARN_SERVER_COMMON_BLACK_BOX_LAYOUT_H

#include "server/common/ipc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    TARN_BLACK_BOX_MAGIC = 0x42425254,
    TARN_BLACK_BOX_VERSION = 9,
    TARN_BLACK_BOX_RECORDS = 5,     ///< version of what lies in a log, and so in sessions' files
    TARN_BLACK_BOX_RECORDS_OLD = 4, ///< of one without hashes, which is read too
    TARN_BLACK_BOX_PAGE_BYTES = 4096,
    TARN_BLACK_BOX_LOG_BYTES = 8 << 20, ///< of one half; where it is full a state is due
    TARN_BLACK_BOX_RECORD_ALIGN = 8,
    TARN_BLACK_BOX_HASH_STEPS =
        512, ///< between two hashes in a log: one takes a quarter of a step, so this 0.05 % of all
};

/// In front of an input's bytes and, behind them, those of presses; or of a tarn_black_box_hash.
typedef struct tarn_black_box_record_head {
    uint32_t input_bytes;   ///< 0: none
    uint32_t presses_bytes; ///< TARN_BLACK_BOX_IS_HASH: it is a hash, and neither of both
} tarn_black_box_record_head;
#define TARN_BLACK_BOX_IS_HASH UINT32_MAX

/// What the tank comes to where the records before it lead, so that who makes the steps again sees where they part.
typedef struct tarn_black_box_hash {
    uint64_t step, lo, hi;
} tarn_black_box_hash;

typedef struct tarn_black_box_half {
    uint64_t step, state_bytes;
    atomic_uint_fast64_t log_bytes;
} tarn_black_box_half;

enum {
    TARN_BLACK_BOX_DEATHS_FULL = 3,    ///< at one place, after which the log is left out
    TARN_BLACK_BOX_DEATHS_OLD = 4,     ///< and then, wherever it dies, the newest state
    TARN_BLACK_BOX_DEATHS_MAX = 5,     ///< and then all of it
    TARN_BLACK_BOX_TRIES_MAX = 12,     ///< deaths at any places, without getting past them, after which it is the same
    TARN_BLACK_BOX_KILLS_MAX = 12,     ///< SIGKILLs at the very same place, with which it is the same: see blame_of
    TARN_BLACK_BOX_KILL_BY_KERNEL = 3, ///< as many of these is one of which the kernel says that memory ran out
    TARN_BLACK_BOX_FILLED_TURN = 1,    ///< of a box that no worker has put a state into yet
};

/// Where the scene lies, which isn't mapped and takes no memory but its own.
#define TARN_BLACK_BOX_SCENE_AT ((uint64_t)1 << 32)

typedef struct tarn_black_box_head {
    uint32_t magic, version;
    uint64_t state_bytes_max;
    uint64_t scene_bytes;  ///< 0: none is in it
    uint64_t filled_bytes; ///< of the log that a session's file has, and one; 0: it hasn't what the box began with
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1];
    uint32_t turn;      ///< the newest
    atomic_uint counts; ///< 0: nothing; else the half in the lowest bit, the turn above
    atomic_uint epoch, number;
    atomic_uint deaths;             ///< amid work and at one place, since the tank got past it
    atomic_uint tries;              ///< the same at any
    atomic_uint kills;              ///< from outside, amid work and at one place
    atomic_uint is_busy;            ///< an end now is the tank's, unless whoever saw it knows better
    atomic_uint_fast64_t place;     ///< what is worked on (tarn_black_box_place)
    atomic_uint_fast64_t died_at;   ///< the place of the newest death that counts
    atomic_uint_fast64_t killed_at; ///< and of the newest kill
    tarn_black_box_half halves[2];
    atomic_uint dt_ns;                 ///< of the tank's time, in a step; 0: not known
    atomic_uint step_ns;               ///< that a step took of late; 0: not known
    atomic_uint_fast64_t replay_until; ///< the last step of what is played back; 0: viewers act
} tarn_black_box_head;

_Static_assert(sizeof(tarn_black_box_head) <= TARN_BLACK_BOX_PAGE_BYTES, "the head has a page");
_Static_assert(TARN_BLACK_BOX_LOG_BYTES % TARN_BLACK_BOX_PAGE_BYTES == 0, "states begin with pages");

/// A place in a tank's way from the state that counts: where in the log the record ends that is being taken, 0 before
/// there is any; and whether it is taken already, and what is worked on is what is shown of it.
static inline uint64_t tarn_black_box_place(uint64_t log_at, bool is_showing)
{
    return log_at << 1 | is_showing;
}

/// How often a worker has died of a tank's way, as far as anybody knows.
typedef struct tarn_black_box_blame {
    uint32_t deaths, tries;
    uint64_t died_at;
} tarn_black_box_blame;

/// The same with the newest end, where it came amid work. A replay comes to the same each time: what kills it does so
/// at the same step again. Frames and readings aren't replayed: of those that are never done each end counts. Once a
/// tank was set back, so does any. A kill from outside is nobody's fault and isn't counted here, until the same place
/// has had TARN_BLACK_BOX_KILLS_MAX of them in a row (tarn_box_killed): whoever kills workers at will doesn't meet
/// one place so often, a step that takes all memory does.
static inline tarn_black_box_blame tarn_black_box_blame_of(const tarn_black_box_head *head)
{
    tarn_black_box_blame blame = {head->deaths, head->tries, head->died_at};
    if (head->is_busy == 0) {
        return blame;
    }
    const uint64_t place = head->place;
    const bool is_again =
        blame.deaths >= TARN_BLACK_BOX_DEATHS_FULL || place == blame.died_at || (place & blame.died_at & 1) != 0;
    blame.deaths = is_again ? blame.deaths + 1 : 1;
    blame.tries++;
    blame.died_at = place;
    if (blame.tries >= TARN_BLACK_BOX_TRIES_MAX && blame.deaths <= TARN_BLACK_BOX_DEATHS_FULL) {
        blame.deaths = TARN_BLACK_BOX_DEATHS_FULL + 1;
    }
    return blame;
}

static inline uint64_t tarn_black_box_whole_pages(uint64_t bytes)
{
    return (bytes + TARN_BLACK_BOX_PAGE_BYTES - 1) / TARN_BLACK_BOX_PAGE_BYTES * TARN_BLACK_BOX_PAGE_BYTES;
}

static inline uint64_t tarn_black_box_log_at(uint32_t half)
{
    return TARN_BLACK_BOX_PAGE_BYTES + (uint64_t)half * TARN_BLACK_BOX_LOG_BYTES;
}

static inline uint64_t tarn_black_box_state_at(uint32_t half, uint64_t state_bytes_max)
{
    return tarn_black_box_log_at(2) + (uint64_t)half * tarn_black_box_whole_pages(state_bytes_max);
}

/// What a box has room for of a tank whose states take at most so many bytes: those of the largest tanks take less than
/// that, and one that doesn't fit then is not kept.
static inline uint64_t tarn_black_box_state_room(uint64_t save_bytes_max)
{
    return save_bytes_max < TARN_IPC_STATE_BYTES_MAX ? save_bytes_max : TARN_IPC_STATE_BYTES_MAX;
}

/// Of the whole.
static inline uint64_t tarn_black_box_bytes(uint64_t state_bytes_max)
{
    return tarn_black_box_state_at(2, state_bytes_max);
}

_Static_assert(2 * ((uint64_t)TARN_IPC_STATE_BYTES_MAX + TARN_BLACK_BOX_LOG_BYTES + TARN_BLACK_BOX_PAGE_BYTES) <
                   TARN_BLACK_BOX_SCENE_AT,
               "the scene lies behind the largest states");

/// @return where the record behind one at `at` begins
static inline uint64_t tarn_black_box_record_end(uint64_t at, const tarn_black_box_record_head *head)
{
    const uint64_t end = head->presses_bytes == TARN_BLACK_BOX_IS_HASH
                             ? at + sizeof *head + sizeof(tarn_black_box_hash)
                             : at + sizeof *head + head->input_bytes + (uint64_t)head->presses_bytes;
    return (end + TARN_BLACK_BOX_RECORD_ALIGN - 1) / TARN_BLACK_BOX_RECORD_ALIGN * TARN_BLACK_BOX_RECORD_ALIGN;
}

/// A record as it lies in a log.
typedef struct tarn_black_box_record {
    const uint8_t *input, *presses;
    uint32_t input_bytes, presses_bytes; ///< 0: none
    bool is_hash;                        ///< it is `hash` alone
    tarn_black_box_hash hash;
} tarn_black_box_record;

/// Whether a record makes a step: an input's second byte are its flags, the lowest of which says that no time passes
/// (tarn_step_input_write).
static inline bool tarn_black_box_record_steps(const tarn_black_box_record *record)
{
    return record->input_bytes >= 2 && (record->input[1] & 1) == 0;
}

/// The record at `at`, which goes on. @return false: no whole one is there
static inline bool tarn_black_box_record_next(const uint8_t *log, size_t byte_count, size_t *at,
                                              tarn_black_box_record *record)
{
    tarn_black_box_record_head head;
    if (byte_count - *at < sizeof head) {
        return false;
    }
    memcpy(&head, log + *at, sizeof head);
    const uint64_t end = tarn_black_box_record_end(*at, &head);
    record->is_hash = head.presses_bytes == TARN_BLACK_BOX_IS_HASH;
    if (end > byte_count ||
        (record->is_hash ? head.input_bytes > 0 : head.presses_bytes > TARN_IPC_PRESSES_BYTES_MAX)) {
        return false;
    }
    if (record->is_hash) {
        memcpy(&record->hash, log + *at + sizeof head, sizeof record->hash);
        head.presses_bytes = 0;
    }
    record->input = log + *at + sizeof head;
    record->presses = record->input + head.input_bytes;
    record->input_bytes = head.input_bytes;
    record->presses_bytes = head.presses_bytes;
    *at = (size_t)end;
    return true;
}

#endif
