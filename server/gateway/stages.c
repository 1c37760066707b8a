// Recent times of the stages between an input and its picture, as running means and sums for /metrics.
#include "server/gateway/stages.h"

const char *tarn_stage_name(tarn_stage stage)
{
    static const char *const names[TARN_STAGE_COUNT] = {"wait", "step", "encode", "pass", "write"};
    return names[stage];
}

void tarn_stages_note(tarn_stages *stages, tarn_stage stage, double seconds)
{
    if (!(seconds >= 0 && seconds <= TARN_STAGE_S_MAX)) {
        return;
    }
    const uint64_t count = ++stages->count[stage];
    stages->recent_s[stage] += (seconds - stages->recent_s[stage]) / (double)(count < 16 ? count : 16);
    stages->sum_s[stage] += seconds;
}

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
    return 1e-9 * (double)(int64_t)(to_ns - from_ns);
}

void tarn_stages_frame(tarn_stages *stages, const tarn_ipc_stamps *stamps, uint64_t now_ns)
{
    if (stamps->latched_ns > stamps->stepped_ns || stamps->stepped_ns > stamps->encoded_ns ||
        stamps->encoded_ns > now_ns) {
        return;
    }
    tarn_stages_note(stages, TARN_STAGE_STEP, seconds_between(stamps->latched_ns, stamps->stepped_ns));
    tarn_stages_note(stages, TARN_STAGE_ENCODE, seconds_between(stamps->stepped_ns, stamps->encoded_ns));
    tarn_stages_note(stages, TARN_STAGE_PASS, seconds_between(stamps->encoded_ns, now_ns));
}
