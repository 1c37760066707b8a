/// What `tarn run` measures: the options, and the table with a row for each step.
#ifndef TARN_SERVER_TOOL_TOOL_PROBE_H
#define TARN_SERVER_TOOL_TOOL_PROBE_H

#include "server/tool/progress.h"
#include "server/tool/tool.h"

/// --probe and --probes; the input of tool_probe_argp.
typedef struct tool_probe_options {
    const char *path; ///< NULL: not given
    uint32_t count;
    tarn_probe_spec spec[TARN_PROBES_MAX]; ///< those without a name get one beside the scene's
} tool_probe_options;

extern const struct argp tool_probe_argp;

typedef struct tool_probes tool_probes;

/// Puts the scene's probes and those of the options into the tank and begins the table. Without --probes it makes one
/// that does nothing.
/// @return NULL: a sentence went to stderr
tool_probes *tool_probes_open(const char *command, const tool_probe_options *options, const tool_tank *tank);

/// After a step: writes its row. @return false: a sentence went to stderr, and the table is given up
bool tool_probes_step(tool_probes *probes, progress *bar);

/// Makes the table whole, or removes it where something failed. Once. @return false: a sentence went to stderr
bool tool_probes_finish(tool_probes *probes, bool failed);

/// "5 columns of 300 steps in probes.csv"
void tool_probes_print(const tool_probes *probes, FILE *file);

/// Takes NULL.
void tool_probes_free(tool_probes *probes);

#endif
