/// Which frame of a tank's stream comes when. Pure; the caller brings the monotonic time.
///
///     a tank that runs    key .. extra base extra base ...           at the frames' rate
///     somebody acts       key .. base extra extra extra base ...     with every step
///     a paused tank       key                                        then nothing; single steps as key or base frames
///
/// The rate is TARN_WORKER_FPS. While somebody acts, and for TARN_WORKER_ACTS_MS after, every step has a frame, up to
/// TARN_WORKER_ACTS_FPS: who acts sees it a step earlier. Frames in between cost nobody a step: one is only made where
/// it will be done, by the time that the last ones took, before the next step is due, and no other tank of the worker
/// is late. Where the operator has set a rate, that is the rate at all times.
///
/// Whoever needs a key frame asks for it; without that they are rare, at least TARN_WORKER_KEY_MS and
/// TARN_WORKER_KEY_FRAMES base frames apart. One that was asked for comes with the next step, or at once where none is
/// coming; but no two within TARN_WORKER_KEY_SPACING_MS, and after TARN_WORKER_KEY_ASKED_BURST in a row one every
/// TARN_WORKER_KEY_ASKED_MS: whoever asks, everybody gets them.
#ifndef TARN_SERVER_WORKER_FRAME_PLAN_H
#define TARN_SERVER_WORKER_FRAME_PLAN_H

#include "protocol/stream.h"

#include <stdbool.h>

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
