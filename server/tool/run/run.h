/// The progress of a run on standard error: a bar on a terminal, plain lines elsewhere, nothing when quiet.
#ifndef TARN_SERVER_TOOL_RUN_RUN_H
#define TARN_SERVER_TOOL_RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    uint32_t first; ///< the step that it begins behind
    uint32_t steps; ///< the one that it ends with
    double dt_s;    ///< of one step
    double start_s;
    double aside_s;       ///< of the time since then, what wasn't simulation
    double shown_s;       ///< when the bar was drawn last
    uint32_t shown_tenth; ///< tenths of the steps that plain lines have told
    bool quiet, terminal;
} progress;

/// @param first  0, or the step that a run goes on from
void progress_start(progress *p, uint32_t first, uint32_t steps, double dt_s, bool quiet);

/// After each step; cheap when there is nothing new to show.
void progress_show(progress *p, uint32_t step);

/// Takes the bar away.
void progress_end(progress *p);

#endif
