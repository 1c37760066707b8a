/// A fixture played on a device, with all that viewers get of it, in a form that two devices are compared by.
#ifndef TARN_TESTS_GPU_PLAY_H
#define TARN_TESTS_GPU_PLAY_H

#include "protocol/stream.h"
#include "tests/kernels/tank_fixtures.h"

enum { GPU_STEPS_MAX = 64, GPU_WHY_BYTES = 512 };

typedef struct gpu_frame {
    uint8_t kind; ///< tarn_stream_kind, as it was made
    uint32_t bytes;
    uint64_t digest;
} gpu_frame;

typedef struct gpu_outcome {
    bool valid;
    uint32_t steps, frames;
    tarn_tank_hash hashes[GPU_STEPS_MAX]; ///< after each step
    gpu_frame frame[GPU_STEPS_MAX];       ///< one for each step: key, base and extra ones, with all layers
    uint32_t particles;                   ///< in the end
    uint64_t measured;                    ///< digest of what probes say then
    double step_ms, encode_ms;            ///< on average, after a few that warm up
    double step_median_ms;                ///< of the same steps: without those in which launches are recorded
    uint32_t recorded;                    ///< sequences of launches, in these steps
    uint64_t begin_ns, end_ns;            ///< of these
    char why[GPU_WHY_BYTES];              ///< where it isn't valid
} gpu_outcome;

typedef struct gpu_play {
    const tank_fixture *fixture;
    uint32_t steps;     ///< 2..GPU_STEPS_MAX
    tarn_device *first; ///< where it begins
    tarn_device *then;  ///< where its saved state goes on after half of the steps; NULL: it stays. Without frames
    uint32_t again;     ///< how often gpu_play_together ends it and makes it anew: each time it has to go as the first
} gpu_play;

/// How many of so many steps are timed: those after a few that warm up.
uint32_t gpu_play_timed(uint32_t steps);

void gpu_play_run(const gpu_play *play, gpu_outcome *outcome);

/// Says where two outcomes part. @return whether they don't
bool gpu_outcomes_same(const gpu_outcome *a, const gpu_outcome *b, char why[GPU_WHY_BYTES]);

/// Several at once on their devices, taking turns at every place where tanks of a worker do.
/// @param count  at most GPU_TOGETHER_MAX
/// @return whether that could be done
enum { GPU_TOGETHER_MAX = 64 };
bool gpu_play_together(const gpu_play *plays, gpu_outcome *outcomes, uint32_t count);

/// Seconds that each stage takes in a step, or with TARN_PROFILE_MARKS in a step's last substep. With waits between the
/// stages they take more than a step does.
/// @return how many stages there are; 0: it could not be played
uint32_t gpu_play_stages(const gpu_play *play, tarn_tank_profiling how, const char *names[TARN_TANK_STAGES_MAX],
                         double seconds[TARN_TANK_STAGES_MAX]);

#endif
