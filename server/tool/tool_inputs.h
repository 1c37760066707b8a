/// Where the steps of `tarn run` come from, and the log that is kept of them: the scene's own drive, or a file of
/// inputs.
#ifndef TARN_SERVER_TOOL_TOOL_INPUTS_H
#define TARN_SERVER_TOOL_TOOL_INPUTS_H

#include "server/common/input_log.h"
#include "server/tool/export/part_file.h"
#include "server/tool/progress.h"
#include "server/tool/tool.h"

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
