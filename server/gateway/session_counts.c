// Counting what isn't counted where it happens.
#include "server/gateway/session_counts.h"

void tarn_session_counts_report(tarn_session_counts *counts, const tarn_ipc_report *before, const tarn_ipc_report *now)
{
    const double step_s = (double)now->step_s;
    if (now->step <= before->step || !(step_s >= 0 && step_s <= TARN_STAGE_S_MAX)) {
        return;
    }
    counts->steps += now->step - before->step;
    counts->steps_s += step_s * (double)(now->step - before->step);
}

void tarn_session_counts_return(tarn_session_counts *counts, bool is_as_it_was)
{
    counts->resumes += is_as_it_was;
    counts->restarts += !is_as_it_was;
}
