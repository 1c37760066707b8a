/// A solver in the benchmark: Tarn or one of the textbook's, stepped from one start and timed step by step. All of them
/// do the same in every round, so the least time of each step over the rounds is what the step costs without the
/// machine's noise.
#ifndef TARN_TESTS_CONTESTANT_H
#define TARN_TESTS_CONTESTANT_H

#include "tests/bench/textbook_flip.h"

#include <stdbool.h>

typedef enum contestant_kind {
    CONTESTANT_TARN,
    CONTESTANT_TARN_BARE,     ///< without the correction of the volume
    CONTESTANT_TEXTBOOK,      ///< the plain one: less accurate than Tarn, bare or not
    CONTESTANT_TEXTBOOK_FULL, ///< with Tarn's accuracy
} contestant_kind;

enum { CONTESTANT_STAGES_MAX = TARN_TANK_STAGES_MAX };

typedef struct contestant {
    contestant_kind kind;
    uint32_t threads, steps, particle_count;
    // one of the two
    tarn_device *device;
    tarn_tank *tank;
    textbook_flip *flip;

    uint32_t step;               ///< of the round
    double *step_s, *step_cpu_s; ///< least time of each step: elapsed, and of all processors
    uint64_t substeps;           ///< of the last round's steps
    uint64_t iterations;         ///< sum over the last round's steps, each of its last substep
    uint64_t volume_iterations;  ///< the same of the correction of the volume; only the textbook tells
    float residual_max;

    // the round in which the stages took least
    double round_stage_s[CONTESTANT_STAGES_MAX], stage_s[CONTESTANT_STAGES_MAX];
    double stages_s;
} contestant;

/// @param desc  a dam break; its volume correction is set by the kind
/// @param isa   of Tarn's kernels, as in tarn_device_desc
/// @param why   what was wrong
/// @return false on failure; then there is nothing to close
bool contestant_open(contestant *c, contestant_kind kind, const tarn_tank_desc *desc, uint32_t threads, const char *isa,
                     uint32_t steps, char *why, size_t why_bytes);
void contestant_close(contestant *c);

/// Back to the start, for the next round.
tarn_status contestant_begin(contestant *c);

/// Takes and times up to `count` steps of the round.
tarn_status contestant_steps(contestant *c, uint32_t count);

/// After the round's last step: keeps the stages' times where they are the least so far.
void contestant_end(contestant *c);

/// Seconds of all steps together, each at its least.
double contestant_seconds(const contestant *c);

/// The same in time of the processors, which other programs on the machine disturb less; with one thread, of that one.
double contestant_cpu_seconds(const contestant *c);

uint32_t contestant_stages(const contestant *c, const char **names);

/// Where the liquid is.
typedef struct contestant_place {
    double front_m;     ///< 99.5th percentile of x among the particles lower than a tenth of the column's width
    double center_m[3]; ///< of mass
} contestant_place;

/// @param low_m  height under which particles count for the front
/// @return TARN_OK, TARN_E_MEMORY or TARN_E_DEVICE
tarn_status contestant_where(contestant *c, float low_m, contestant_place *place);

#endif
