/// Which frame of a tank's stream comes when. Pure; the caller brings the monotonic time.
///
///     a tank that runs    key .. extra base extra base ... key       at the frames' rate, a key frame every second
///     a paused tank       key                                        then nothing; single steps as key or base frames
///
/// A key frame that was asked for comes with the next step, or at once where none is coming; but no two key frames
/// within TARN_WORKER_KEY_SPACING_MS, and after TARN_WORKER_KEY_ASKED_BURST in a row one every
/// TARN_WORKER_KEY_ASKED_MS: whoever asks,
/// everybody gets them.
#ifndef TARN_SERVER_WORKER_FRAME_PLAN_H
#define TARN_SERVER_WORKER_FRAME_PLAN_H

#include "protocol/stream.h"

#include <stdbool.h>

typedef struct tarn_frame_plan {
    uint64_t period_ns; ///< between frames
    uint64_t key_ns;    ///< when the last key frame was made
    uint64_t base_ns;   ///< the same of key and base frames
    uint64_t base_step; ///< of that one
    uint64_t hold_ns;   ///< nothing is made before
    uint64_t asked_ns;  ///< when the ones that were asked for are worked off (the generic cell rate algorithm)
    bool has_key;       ///< since the tank started afresh
    bool is_key_asked;  ///< and none was made since
} tarn_frame_plan;

/// What the tank is at.
typedef struct tarn_frame_moment {
    uint64_t now_ns;
    uint64_t step;
    bool is_due;    ///< the rate asks for a frame
    bool is_paused; ///< no steps but single ones
    bool awaits;    ///< a step is about to be made: what is asked for is to contain it
} tarn_frame_moment;

/// Begins, or goes on after the tank started afresh: the first frame is a key frame.
void tarn_frame_plan_start(tarn_frame_plan *plan, uint64_t period_ns);

/// Somebody needs a key frame.
void tarn_frame_plan_ask(tarn_frame_plan *plan);

/// @return whether a frame is to be made now; then *kind is which
bool tarn_frame_plan_next(const tarn_frame_plan *plan, const tarn_frame_moment *moment, tarn_stream_kind *kind);

/// Notes what was made: not always what was planned.
void tarn_frame_plan_made(tarn_frame_plan *plan, tarn_stream_kind kind, uint64_t step, uint64_t now_ns);

/// Nothing is made for a while: there is no room for it.
void tarn_frame_plan_hold(tarn_frame_plan *plan, uint64_t until_ns);

/// When a tank that makes no steps has a frame to make.
/// @param wanted_ns  when the rate asks for one; UINT64_MAX: not at all
/// @return UINT64_MAX: not before a step or somebody asks
uint64_t tarn_frame_plan_due_ns(const tarn_frame_plan *plan, uint64_t step, uint64_t wanted_ns);

#endif
