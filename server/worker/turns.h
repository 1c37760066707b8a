/// Whose turn it is among the tanks of a worker: deadlines first, then shares. Pure; the caller brings the time.
///
/// A tank's job (a step and its frame, or making, resetting the tank) is due at some time and takes the device for some
/// time, all at once or in pieces. Each of the n tanks that have work owns the n-th part of the worker: time that a
/// tank uses counts n times on its own clock, which never shows less than when its job was due. The deadline of a job
/// is what that clock will show when the job has had the time that it is expected to take, or, as it goes on, the next
/// TARN_WORKER_SLICE_MS of it; the earliest deadline is next. So a tank that stays within its share is done in time
/// whatever the others do, a tank that takes more pushes its own deadlines back and slows itself alone, and what one
/// doesn't use goes to whoever has work. This is the total bandwidth server (Spuri & Buttazzo 1996) with the budgets of
/// the constant bandwidth server (Abeni & Buttazzo 1998), so that nothing depends on the estimate being right.
///
/// What a tank has had beyond its share, because others left it, is held against it up to TARN_WORKER_DEBT_SLICES.
#ifndef TARN_SERVER_WORKER_TURNS_H
#define TARN_SERVER_WORKER_TURNS_H

#include "server/worker/worker_limits.h"

#include <stdbool.h>
#include <stdint.h>

/// Of one tank.
typedef struct tarn_turn {
    bool has_work;        ///< now or at a time that is known: it counts for the shares
    bool is_begun;        ///< a job is due or in progress
    bool is_waiting;      ///< the device works for it; it needs no turn for the moment
    bool is_alone;        ///< it runs by itself, and needs no turn
    uint64_t clock_ns;    ///< its own clock: grows by n times what it uses
    uint64_t deadline_ns; ///< of the job
    uint64_t used_ns;     ///< by the job so far
    uint64_t expected_ns; ///< that a job takes: the most of late; 0: not known yet
} tarn_turn;

typedef struct tarn_turns {
    uint32_t count; ///< places up to the last that anybody has
    tarn_turn of[TARN_WORKER_PLACES_MAX];
} tarn_turns;

/// Says who has work. What it changes concerns later deadlines.
void tarn_turns_set_work(tarn_turns *turns, int place, bool has_work);

/// A job of a tank that has none is to be done. It has work.
/// @param due_ns  since when, <= now_ns
/// @param is_step  its time is like that of the last ones; otherwise nothing is known about it
void tarn_turns_begin(tarn_turns *turns, int place, uint64_t due_ns, bool is_step, uint64_t now_ns);

/// The place whose turn it is; those that wait for the device have none. @return -1: nobody's
int tarn_turns_pick(const tarn_turns *turns);

/// Whether more than one have work.
bool tarn_turns_is_shared(const tarn_turns *turns);

/// How long those that are due wait for others, where they are to begin together.
uint64_t tarn_turns_together_ns(const tarn_turns *turns);

/// How long the one whose turn it is may go on before it has to be asked again, if no other job begins meanwhile;
/// UINT64_MAX: nobody else has a job.
uint64_t tarn_turns_slice_ns(const tarn_turns *turns, int place);

/// Notes what a job used, and whether it only waits for the device now.
void tarn_turns_use(tarn_turns *turns, int place, uint64_t used_ns, bool is_waiting, uint64_t now_ns);

/// It runs by itself from now on, until it used what it needed or has ended.
void tarn_turns_leave_alone(tarn_turns *turns, int place);

/// All that wait may be asked again.
void tarn_turns_wake(tarn_turns *turns);

/// The job is done.
/// @param is_step  as it began
void tarn_turns_end(tarn_turns *turns, int place, bool is_step);

/// What its steps are expected to take, of a tank that has made none.
void tarn_turns_expect(tarn_turns *turns, int place, uint64_t expected_ns);

/// The tank is gone.
void tarn_turns_forget(tarn_turns *turns, int place);

#endif
