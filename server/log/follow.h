/// Reads what a worker puts into a tank's black box (black_box.h) while it goes on: the log as it grows, and
/// states where they are wanted. Also fills a box from what was read so. The worker isn't trusted and never waits.
#ifndef TARN_SERVER_LOG_FOLLOW_H
#define TARN_SERVER_LOG_FOLLOW_H

#include "protocol/status.h"
#include "server/base/ipc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Bytes that grow; zero at first.
typedef struct tarn_box_bytes {
    uint8_t *bytes; ///< owned
    size_t count, room;
} tarn_box_bytes;

/// A tank's state and what is around it.
typedef struct tarn_box_state {
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1]; ///< what the tank is made from
    tarn_box_bytes pack;                      ///< the scene itself (scene/archive.h); empty: it isn't known
    uint64_t state_bytes_max;                 ///< of any state of this tank
    uint64_t step;
    tarn_box_bytes bytes;
} tarn_box_state;

/// What came since it was looked at last, in this order.
typedef struct tarn_box_news {
    bool is_anew;          ///< what was read before doesn't lead here; there is a state
    tarn_box_bytes before; ///< records up to the state
    bool has_state;
    tarn_box_state state;   ///< its scene's pack only where it is anew
    tarn_box_bytes log;     ///< records since, or of all where there is no state
    uint32_t epoch, number; ///< of the tank and of its newest frame, by the end
    uint32_t dt_ns;         ///< of the tank's time, in a step; 0: not known
    uint32_t step_ns;       ///< that a step took of late; 0: not known
    uint64_t at_ns;         ///< the state's moment (session_history.h); whoever puts it says so
} tarn_box_news;

typedef struct tarn_box_follower {
    int fd;          ///< of the box; the caller's
    uint32_t counts; ///< as the layout has it; 0: nothing was read yet
    uint64_t log_bytes;
} tarn_box_follower;

/// What is read next is anew.
void tarn_box_follower_forget(tarn_box_follower *follower);

/// Of a box that was filled with the newest of a file: what is read next is what came behind that.
/// @param epoch, number  receive those that it was filled with, or newer ones  @return false: it is no such box
bool tarn_box_follower_go_on(tarn_box_follower *follower, uint32_t *epoch, uint32_t *number);

/// Whether what is read next may be anew: nothing was read yet, or the box has gone another way.
bool tarn_box_is_anew(const tarn_box_follower *follower);

/// Whether a worker is on its way from a state that ended another one: nobody knows yet that it gets anywhere.
bool tarn_box_is_unproven(int fd);

/// The end of the worker that had the box, which is no more, was none of its tank's doing.
void tarn_box_excuse(int fd);

/// The same of one that was killed: it counts all the same once the very same place has had TARN_BLACK_BOX_KILLS_MAX
/// kills in a row. @param weight  how many this one is: TARN_BLACK_BOX_KILL_BY_KERNEL where the kernel says why
void tarn_box_killed(int fd, uint32_t weight);

/// Whether so many processes in a row ended amid the tank's work that it may be what they ended by.
bool tarn_box_is_suspect(int fd);

/// @param wants_state  where one begins, which is once in a second of simulated time
/// @return TARN_OK; TARN_E_NOT_FOUND: there is nothing new; TARN_E_STATE: it changed meanwhile, look again soon;
///         TARN_E_MALFORMED, TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_box_follow(tarn_box_follower *follower, bool wants_state, tarn_box_news *news);

void tarn_box_bytes_free(tarn_box_bytes *bytes);
void tarn_box_news_free(tarn_box_news *news);

/// @return TARN_OK, or TARN_E_MEMORY: then nothing changes
tarn_status tarn_box_bytes_make_room(tarn_box_bytes *bytes, size_t room);

/// How many bytes of whole records a log begins with.
size_t tarn_box_log_whole(const uint8_t *log, size_t byte_count);

/// How many steps the whole records of a log make.
uint64_t tarn_box_log_steps(const uint8_t *log, size_t byte_count);

/// How many bytes of a log lead to its `steps`th step. @param steps  receives how many these make, where there are
/// fewer
size_t tarn_box_log_up_to(const uint8_t *log, size_t byte_count, uint64_t *steps);

/// Takes out of whole records what viewers hold. @return how many bytes are left
size_t tarn_box_log_let_go(uint8_t *log, size_t byte_count);

/// The tank of a filled box goes on under another epoch. @return TARN_OK or TARN_E_IO
tarn_status tarn_box_set_epoch(int fd, uint32_t epoch);

/// The tank of a filled box goes on with what was done to it then, up to a step. @return TARN_OK or TARN_E_IO
tarn_status tarn_box_set_replay(int fd, uint64_t until);

/// Whether a worker can go on from a box no more: it has killed too many, or nothing is in it.
/// @param reason  receives what it has done, in words
bool tarn_box_is_spent(int fd, tarn_text reason);

/// Reads one file of the scene itself out of a box, as it was when the tank was made from it.
/// @param fd       of the box; 0: there is none
/// @param content  is overwritten  @return TARN_OK, TARN_E_NOT_FOUND: it isn't there, TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_box_scene_file(int fd, const char *name, tarn_box_bytes *content);

/// Reads all of them. @param pack  is overwritten; sound (tarn_scene_pack_sound)  @return as tarn_box_scene_file
tarn_status tarn_box_scene(int fd, tarn_box_bytes *pack);

/// Copies the scene of a box into another one, of which nothing is used yet. What can't be copied is left out.
void tarn_box_copy_scene(int from_fd, int to_fd);

/// Lays out an empty box so that a worker goes on from a state and its log (tarn_ipc_load's `resumes`).
/// @param log        whole records, at most TARN_BLACK_BOX_LOG_BYTES
/// @param is_newest  of the file that it comes from, which need be given only what is done to the tank from now on
/// @return TARN_OK or TARN_E_IO
tarn_status tarn_box_fill(int fd, const tarn_box_state *state, uint32_t epoch, uint32_t number, const uint8_t *log,
                          size_t log_bytes, bool is_newest);

#endif
