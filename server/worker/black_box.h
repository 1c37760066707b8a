/// What is left of a tank when its process dies: memory that outlives it, since the gateway holds a descriptor of it,
/// and from which the next worker goes on at the very step.
///
///     head | log 0 | log 1 | state 0 | state 1
///
/// Of two halves, each a saved state and what was done to the tank since, one counts. A new state is put into the other
/// half, which counts from one store on; a record counts with the log's length, which is stored behind it. So whenever
/// the process ends, what counts is whole. Of the machine's end it knows nothing.
///
/// Written by one worker at a time; what a dead one left is checked before it is believed. A log's record is the input
/// of a step, or of none where the input holds, and what viewers hold from then on (press_bytes.h); every step has one.
/// Now and then one is the tank's hash instead.
#ifndef TARN_SERVER_WORKER_BLACK_BOX_H
#define TARN_SERVER_WORKER_BLACK_BOX_H

#include "kernels/step_input.h"
#include "kernels/tank.h"
#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tarn_scene_pack;

typedef struct tarn_black_box {
    struct tarn_black_box_head *head; ///< mapped; NULL: there is none
    size_t bytes;                     ///< of the mapping
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
/// there is no memory for it none is in it. @param fd  of the box  @param pack  scene_pack.h
void tarn_black_box_put_scene(tarn_black_box *box, int fd, const struct tarn_scene_pack *pack);

/// The scene itself as it lies in a box that need not be open. @param scene  that it must be
/// @param pack  zero; receives it, for tarn_scene_pack_free  @return false: it isn't there
bool tarn_black_box_scene(int fd, const char *scene, struct tarn_scene_pack *pack);

/// Where the next state is to be put: state_bytes_max bytes, which don't count.
uint8_t *tarn_black_box_space(const tarn_black_box *box);

/// What was put there counts, with an empty log but for what viewers hold, which stays. @param step  that it was saved
/// behind
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
