/// What `tarn replay` is made of: its act that writes instead of comparing.
#ifndef TARN_SERVER_TOOL_TOOL_REPLAY_H
#define TARN_SERVER_TOOL_TOOL_REPLAY_H

#include "server/tool/tool_export.h"
#include "server/tool/tool_probe.h"

typedef struct tool_replay_span {
    const char *command, *file, *scenes_dir; ///< the last NULL: those that came with the program
    double from_s, to_s;                     ///< of the session's time; below 0: its oldest state, the end of its log
    bool hash, quiet;
    const tool_device *device;
    const tool_export_options *exports;
    const tool_probe_options *probes;
} tool_replay_span;

/// Makes the steps of a kept session between two moments, and what `tarn run` makes of steps. The first moment is step
/// 0 of what is written; time goes on over what the tank was set back to.
/// @return the exit status; sentences went to stderr
int tool_replay_export(const tool_replay_span *span);

#endif
