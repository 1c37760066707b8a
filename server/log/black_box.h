/// A tank's black box: what is left of a tank when its process dies. Memory that outlives it, since the gateway holds a
/// descriptor of it, and from which the next worker goes on at the very step. First how it lies there, which the
/// gateway follows (follow.h); then how the worker writes it.
#ifndef TARN_SERVER_LOG_BLACK_BOX_H
#define TARN_SERVER_LOG_BLACK_BOX_H

#include "kernels/step_input.h"
#include "kernels/tank.h"
#include "protocol/status.h"
#include "server/base/ipc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// ---- how it lies in memory ----
//
//     head | log 0 | log 1 | state 0 | state 1 | ... | scene (scene/archive.h), at a place of its own
//
// Of two halves, each a saved state and what was done to the tank since, one counts. One number says which, and in
// which turn. Each state that is kept begins a turn, one more than the last where it is what the log leads to, two
// where it isn't: the tank was made anew or set back.

enum {
    TARN_BLACK_BOX_MAGIC = 0x42425254,
    TARN_BLACK_BOX_VERSION = 9,
    TARN_BLACK_BOX_RECORDS = 5,     ///< version of what lies in a log, and so in sessions' files
    TARN_BLACK_BOX_RECORDS_OLD = 4, ///< of one without hashes, which is read too
    TARN_BLACK_BOX_PAGE_BYTES = 4096,
    TARN_BLACK_BOX_LOG_BYTES = 8 << 20, ///< of one half; where it is full a state is due
    TARN_BLACK_BOX_RECORD_ALIGN = 8,
    TARN_BLACK_BOX_HASH_STEPS = 512, ///< between two hashes in a log: one takes a quarter of a step, so 0.05 % of all
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
    TARN_BLACK_BOX_KILLS_MAX = 12,     ///< SIGKILLs at the very same place, the same: tarn_black_box_blame_of
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

// ---- how the worker writes it ----
// A new state is put into the half that doesn't count, which counts from one store on; a record counts with the log's
// length, which is stored behind it. So whenever the process ends, what counts is whole. Of the machine's end the box
// knows nothing.
//
// Written by one worker at a time; what a dead one left is checked before it is believed. A log's record is the input
// of a step, or of none where the input holds, and what viewers hold from then on (worker/presses.h); every step has
// one. Now and then one is the tank's hash instead.

struct tarn_scene_pack;

typedef struct tarn_black_box {
    tarn_black_box_head *head; ///< mapped; NULL: there is none
    size_t bytes;              ///< of the mapping
    uint64_t state_bytes_max;
    size_t presses_at;      ///< in the mapping: the newest of what viewers hold
    uint32_t presses_bytes; ///< 0: nothing
    bool is_busy;           ///< being worked on, were it not that it stands
} tarn_black_box;

/// What there is to go on from.
typedef struct tarn_black_box_rest {
    const uint8_t *state; ///< in the box
    uint64_t state_bytes;
    uint64_t step;        ///< of the state
    uint32_t epoch;       ///< of the tank
    uint32_t number;      ///< of its newest frame
    bool is_log_left_out; ///< the newest steps are said to kill
    bool is_old;          ///< and the newest state as well
} tarn_black_box_rest;

/// Descriptor of memory for a box, closed in children; the caller's. @return -1: there is none to be had
int tarn_black_box_make(void);

/// Maps a box for a tank whose states take at most so many bytes. What is in it stays until tarn_black_box_begin.
/// @param fd  of tarn_black_box_make, here or in another process; stays the caller's
/// @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_black_box_open(tarn_black_box *box, int fd, uint64_t state_bytes_max);
void tarn_black_box_close(tarn_black_box *box);

/// Lays the box out for a tank of a scene. Nothing counts.
/// @param scene  what it is made from, at most TARN_IPC_SCENE_BYTES_MAX bytes
void tarn_black_box_begin(tarn_black_box *box, const char *scene);

/// Puts the scene itself into the box. A state that is kept anew next has whoever follows the box look at it. Where
/// there is no memory for it none is in it. @param fd  of the box  @param pack  scene/archive.h
void tarn_black_box_put_scene(tarn_black_box *box, int fd, const struct tarn_scene_pack *pack);

/// The scene itself as it lies in a box that need not be open. @param scene  that it must be
/// @param pack  zero; receives it, for tarn_scene_pack_free  @return false: it isn't there
bool tarn_black_box_scene(int fd, const char *scene, struct tarn_scene_pack *pack);

/// Where the next state is to be put: state_bytes_max bytes, which don't count.
uint8_t *tarn_black_box_space(const tarn_black_box *box);

/// What was put there counts, with an empty log but for what viewers hold, which stays.
/// @param step     that it was saved behind
/// @param is_anew  what counted before doesn't lead to it
void tarn_black_box_keep(tarn_black_box *box, uint64_t state_bytes, uint64_t step, bool is_anew);

/// What its tank is made from; in the box.
const char *tarn_black_box_scene_name(const tarn_black_box *box);

/// The state that counts. @return NULL: none does
const uint8_t *tarn_black_box_state(const tarn_black_box *box, uint64_t *state_bytes, uint64_t *step);

/// The log is empty: the tank was set back to the state that counts, and nobody holds anything.
void tarn_black_box_back(tarn_black_box *box);

/// Whether one more record finds room, whatever is in it.
bool tarn_black_box_has_room(const tarn_black_box *box);

/// Appends what is done to the tank in its next step, before that is made. There must be room.
/// @param presses  what viewers hold then, at most TARN_IPC_PRESSES_BYTES_MAX; 0 bytes: nothing
void tarn_black_box_log(tarn_black_box *box, const tarn_step_input *input, const uint8_t *presses,
                        uint32_t presses_bytes);

/// Appends what viewers hold alone, behind no step. There must be room.
void tarn_black_box_log_presses(tarn_black_box *box, const uint8_t *presses, uint32_t presses_bytes);

/// Whether a hash is due behind a step. @param step  that was made, from 1
bool tarn_black_box_hash_due(uint64_t step);

/// Appends what the tank comes to behind so many steps, which all are in the box. There must be room.
void tarn_black_box_log_hash(tarn_black_box *box, uint64_t step, const tarn_tank_hash *hash);

void tarn_black_box_set_epoch(tarn_black_box *box, uint32_t epoch);
void tarn_black_box_set_number(tarn_black_box *box, uint32_t number);

/// How long a step is in the tank's time, and of late in the world's; 0: not known.
void tarn_black_box_set_pace(tarn_black_box *box, uint32_t dt_ns, uint32_t step_ns);

/// What was done to the tank once is done again, up to a step; 0: no more. Before it is told what isn't that.
void tarn_black_box_set_replay(tarn_black_box *box, uint64_t until);
uint64_t tarn_black_box_replay(const tarn_black_box *box);

/// The tank is being worked on, or isn't: an end of the process amid that may be its fault.
void tarn_black_box_set_busy(tarn_black_box *box, bool is_busy);

/// The work stands, since it is another tank's turn, or goes on: an end of the process meanwhile is none of this one's
/// fault. Takes a box that isn't open.
void tarn_black_box_stand(tarn_black_box *box, bool stands);

/// What is worked on: a record of the log that is taken again, by where it ends, 0: the state; or, behind the newest
/// record, what is shown of it. A record that is appended is what is worked on from then on.
void tarn_black_box_set_replayed(tarn_black_box *box, size_t log_at);
void tarn_black_box_set_showing(tarn_black_box *box);

/// The tank has made its way past all that is in the log, and was shown: whatever ended processes there is over.
void tarn_black_box_passed(tarn_black_box *box);

/// What a process that is no more has left, and counts that process' end, where it came amid work: at one and the same
/// place again and again it is the tank's fault (tarn_black_box_blame_of).
/// @return false: nothing of this scene that may be gone on from
bool tarn_black_box_find(tarn_black_box *box, const char *scene, tarn_black_box_rest *rest);

/// Makes what was found be what counts, without what was left out of it. Where that is the whole log it changes
/// nothing.
void tarn_black_box_settle(tarn_black_box *box, const tarn_black_box_rest *rest);

/// What viewers held when the last record of the log that counts was made.
/// @return in the box, receives how many bytes; 0: nothing
const uint8_t *tarn_black_box_presses(tarn_black_box *box, uint32_t *byte_count);

/// Nobody holds anything, in what is kept next either.
void tarn_black_box_let_go(tarn_black_box *box);

/// Reads the next input in the log that counts. @param at  0 at first; goes on
/// @return TARN_OK; TARN_E_NOT_FOUND: there is none; TARN_E_MALFORMED or TARN_E_VERSION of a record
tarn_status tarn_black_box_read(const tarn_black_box *box, size_t *at, tarn_step_input *input);

#endif
