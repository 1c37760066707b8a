/// Where the steps of `tarn run` come from, and what `tarn replay` writes instead of comparing.
#ifndef TARN_SERVER_TOOL_RUN_REPLAY_H
#define TARN_SERVER_TOOL_RUN_REPLAY_H

#include "server/log/inputs.h"
#include "server/tool/film/export.h"
#include "server/tool/run/export.h"
#include "server/tool/run/run.h"
#include "server/tool/run/tank.h"
#include "server/tool/tool.h"

// ---- a kept session's steps, written (export.c) ----

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

// ---- the inputs of a run ----
// Where its steps come from, and the log that is kept of them: the scene's own drive, or a file of inputs.

typedef struct tool_inputs {
    const char *command;
    bool replays, records;
    bool failed;  ///< the log wasn't written; a sentence said so
    bool is_same; ///< the replay ended with the hash that was recorded
    tarn_input_replay replay;
    tarn_input_log log;
    part_file file; ///< of the log
} tool_inputs;

/// Opens what is replayed or recorded; NULL: nothing is.
/// @return false: a sentence went to stderr, and nothing needs closing
bool tool_inputs_open(tool_inputs *inputs, const char *command, const char *replay, const char *record,
                      tool_tank *tank);

/// Passes over the steps that a tank which was resumed has behind it.
/// @param steps  at most as many as the log has  @return false: a sentence went to stderr
bool tool_inputs_skip(tool_inputs *inputs, uint32_t steps);

/// Steps the tank once, not beyond the end of what is replayed. @return false: a sentence went to stderr
bool tool_inputs_step(tool_inputs *inputs, tool_tank *tank, uint32_t step, progress *bar);

/// Ends what is recorded, and looks whether a replay that is over came to the end it should.
/// @param stepped  no step failed
/// @return false: a sentence went to stderr
bool tool_inputs_close(tool_inputs *inputs, tool_tank *tank, bool stepped);

/// Says, after closing, what came of it.
void tool_inputs_print(const tool_inputs *inputs, FILE *file);

/// Instead of closing: nothing was stepped, and nothing stays.
void tool_inputs_drop(tool_inputs *inputs);

#endif
