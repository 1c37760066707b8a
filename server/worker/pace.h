/// The clock of one tank: when its next step is due, and how much slower than real time it runs. Pure; the caller
/// brings the monotonic time.
///
/// Steps are due every dt, or at another speed every dt through it. A tank that is late by no more than
/// TARN_WORKER_LAG_MS_MAX catches up; one that is later lets go of the difference, which slows its clock. It never
/// takes a larger step.
#ifndef TARN_SERVER_WORKER_PACE_H
#define TARN_SERVER_WORKER_PACE_H

#include <stdint.h>

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

#endif
