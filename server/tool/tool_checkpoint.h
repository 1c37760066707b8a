/// A tank's whole state in a file, from which a later run of the same scene goes on to the same bits.
#ifndef TARN_SERVER_TOOL_TOOL_CHECKPOINT_H
#define TARN_SERVER_TOOL_TOOL_CHECKPOINT_H

#include "server/tool/tool.h"

/// What the command line says of it.
typedef struct tool_checkpoint_options {
    const char *write; ///< file; NULL: none
    const char *read;  ///< the same
    uint32_t every;    ///< steps between two; 0: at the end alone
} tool_checkpoint_options;

/// --checkpoint, --checkpoint-every, --resume: a child parser whose input is these, zero at first.
extern const struct argp tool_checkpoint_argp;

/// Makes the folder of a file to write to where it is missing, so that a long run doesn't fail at its end.
/// @return false: a sentence went to stderr
bool tool_checkpoint_prepare(const char *command, const char *path);

/// Writes the state; the file that was there before goes when the new one is whole.
/// @return false: a sentence went to stderr
bool tool_checkpoint_write(const char *command, const char *path, tool_tank *tank);

/// Loads such a state, unless it is of another scene. @param step  receives the step that it is of  @return false: a
/// sentence went to stderr
bool tool_checkpoint_read(const char *command, const char *path, tool_tank *tank, uint32_t *step);

#endif
