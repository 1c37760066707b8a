/// Whose turn it is, when a step is due, and which kind of frame comes with it. Pure; the caller brings the time, of a
/// monotonic clock.
#ifndef TARN_SERVER_WORKER_TURNS_H
#define TARN_SERVER_WORKER_TURNS_H

#include "protocol/stream.h"
#include "server/worker/limits.h"

#include <stdbool.h>
#include <stdint.h>

// ---- turns ----
// Whose turn it is among the tanks of a worker: deadlines first, then shares.
//
// A tank's job (a step and its frame, or making, resetting the tank) is due at some time and takes the device for some
// time, all at once or in pieces. Each of the n tanks that have work owns the n-th part of the worker: time that a
// tank uses counts n times on its own clock, which never shows less than when its job was due. The deadline of a job
// is what that clock will show when the job has had the time that it is expected to take, or, as it goes on, the next
// TARN_WORKER_SLICE_MS of it; the earliest deadline is next. So a tank that stays within its share is done in time
// whatever the others do, a tank that takes more pushes its own deadlines back and slows itself alone, and what one
// doesn't use goes to whoever has work. This is the total bandwidth server (Spuri & Buttazzo 1996) with the budgets of
// the constant bandwidth server (Abeni & Buttazzo 1998), so that nothing depends on the estimate being right.
//
// What a tank has had beyond its share, because others left it, is held against it up to TARN_WORKER_DEBT_SLICES.

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

// ---- pace ----
// The clock of one tank: when its next step is due, and how much slower than real time it runs.
//
// Steps are due every dt, or at another speed every dt through it. A tank that is late by no more than
// TARN_WORKER_LAG_MS_MAX catches up; one that is later lets go of the difference, which slows its clock. It never
// takes a larger step.

typedef struct tarn_pace {
    uint64_t dt_ns, due_ns;
    uint64_t period_ns;    ///< between steps: dt, through the speed
    uint64_t stepped_ns;   ///< when the newest step was finished, or the clock began to go as it does
    uint64_t window_ns[2]; ///< when the previous and the present window of the measurement began
    uint32_t window_steps[2];
} tarn_pace;

/// Begins, or goes on after a pause: the first step is due now, nothing is owed.
/// @param speed  seconds of the tank's time in one, 0.01..100
void tarn_pace_start(tarn_pace *pace, float dt_s, float speed, uint64_t now_ns);

/// Goes on at another speed: what is left until the next step becomes as much longer or shorter as steps do.
void tarn_pace_set_speed(tarn_pace *pace, float speed, uint64_t now_ns);

/// Notes that a step was finished.
void tarn_pace_stepped(tarn_pace *pace, uint64_t now_ns);

/// Simulated seconds per second, over the last half to one second since the start or the last change of the speed, or,
/// where steps are farther apart, over the last step or two; what it is to be before the first step.
float tarn_pace_factor(const tarn_pace *pace, uint64_t now_ns);

// ---- frames ----
// Which frame of a tank's stream comes when.
//
//     a tank that runs    key .. extra base extra base ...           at the frames' rate
//     somebody acts       key .. base extra extra extra base ...     with every step
//     a paused tank       key                                        then nothing; single steps as key or base frames
//
// The rate is TARN_WORKER_FPS. While somebody acts, and for TARN_WORKER_ACTS_MS after, every step has a frame, up to
// TARN_WORKER_ACTS_FPS: who acts sees it a step earlier. Frames in between cost nobody a step: one is only made where
// it will be done, by the time that the last ones took, before the next step is due, and no other tank of the worker
// is late. Where the operator has set a rate, that is the rate at all times.
//
// Whoever needs a key frame asks for it; without that they are rare, at least TARN_WORKER_KEY_MS and
// TARN_WORKER_KEY_FRAMES base frames apart. One that was asked for comes with the next step, or at once where none is
// coming; but no two within TARN_WORKER_KEY_SPACING_MS, and after TARN_WORKER_KEY_ASKED_BURST in a row one every
// TARN_WORKER_KEY_ASKED_MS: whoever asks, everybody gets them.

typedef struct tarn_frame_plan {
    uint64_t period_ns; ///< between frames, by the rate
    uint64_t step_ns;   ///< between steps
    bool keeps_rate;    ///< also while somebody acts
    uint64_t due_ns;    ///< when the rate asks for a frame
    uint64_t acts_ns;   ///< until when somebody counts as acting
    uint64_t made_ns;   ///< when the last frame was made
    uint64_t takes_ns;  ///< that a frame takes, on average of late
    uint64_t key_ns;    ///< when the last key frame was made
    uint64_t base_ns;   ///< the same of key and base frames
    uint64_t base_step; ///< of that one
    uint32_t bases;     ///< base frames since the last key frame
    uint64_t hold_ns;   ///< nothing is made before
    uint64_t asked_ns;  ///< when the ones that were asked for are worked off (the generic cell rate algorithm)
    bool has_key;       ///< since the tank started afresh
    bool is_key_asked;  ///< and none was made since
} tarn_frame_plan;

/// What a plan goes by.
typedef struct tarn_frame_rates {
    uint64_t period_ns, step_ns;
    bool keeps_rate;
} tarn_frame_rates;

/// What the tank is at.
typedef struct tarn_frame_moment {
    uint64_t now_ns;
    uint64_t step;
    bool has_stepped; ///< just now
    bool is_wanted;   ///< a frame, although no step is made
    uint64_t room_ns; ///< until the next step is due; 0: that, or another tank's, is late
    bool is_paused;   ///< no steps but single ones
    bool awaits;      ///< a step is about to be made: what is asked for is to contain it
} tarn_frame_moment;

/// Begins, or goes on after the tank started afresh: the first frame is a key frame, and due.
void tarn_frame_plan_start(tarn_frame_plan *plan, const tarn_frame_rates *rates, uint64_t now_ns);

/// The rate asks for a frame now: somebody has just begun to look.
void tarn_frame_plan_hurry(tarn_frame_plan *plan, uint64_t now_ns);

/// Somebody acts on the tank.
void tarn_frame_plan_acted(tarn_frame_plan *plan, uint64_t now_ns);

/// Somebody needs a key frame.
void tarn_frame_plan_ask(tarn_frame_plan *plan);

/// @return whether a frame is to be made now; then *kind is which
bool tarn_frame_plan_next(const tarn_frame_plan *plan, const tarn_frame_moment *moment, tarn_stream_kind *kind);

/// Notes what was made: not always what was planned.
/// @param now_ns    when it was planned
/// @param takes_ns  that making it took
void tarn_frame_plan_made(tarn_frame_plan *plan, tarn_stream_kind kind, uint64_t step, uint64_t now_ns,
                          uint64_t takes_ns);

/// Nothing is made for a while: there is no room for it.
void tarn_frame_plan_hold(tarn_frame_plan *plan, uint64_t until_ns);

/// When a tank that makes no steps has a frame to make.
/// @param is_wanted  as there
/// @return UINT64_MAX: not before a step or somebody asks
uint64_t tarn_frame_plan_due_ns(const tarn_frame_plan *plan, uint64_t step, bool is_wanted);

#endif
