/// What `tarn run` writes: the options, the writers that they ask for, and which steps each of them gets.
#ifndef TARN_SERVER_TOOL_RUN_EXPORT_H
#define TARN_SERVER_TOOL_RUN_EXPORT_H

#include "server/tool/film/export.h"
#include "server/tool/run/run.h"
#include "server/tool/tool.h"

#include <stdio.h>

enum { TOOL_EXPORTS_MAX = 8 };

/// --export, --render, --surface, --ply and how often; the input of tool_export_argp.
typedef struct tool_export_options {
    struct {
        const char *path;
        const export_format *format;
    } files[TOOL_EXPORTS_MAX];
    uint32_t file_count;
    uint32_t ply_every, every; ///< 0: not given
    double fps;                ///< 0: not given
    uint32_t width, height;    ///< 0: not given
    uint32_t surface_detail;   ///< 0: not given
    const char *channel;       ///< by name; NULL: not given
    bool uses_standard_output; ///< for a video, so nothing else may go there
} tool_export_options;

extern const struct argp tool_export_argp;

typedef struct tool_exports tool_exports;

/// Makes the folders that are missing and opens the writers. Options without files make one that does nothing.
/// @param options  lives as long as the exports
/// @param threads  for pictures and surfaces; 0: one per processor
/// @return NULL: a sentence went to stderr
tool_exports *tool_exports_open(const char *command, const tool_export_options *options, const tool_tank *tank,
                                uint32_t threads);

/// After a step, and before the first one as step 0: writes the frames that are due. A file that can't be written is
/// given up with a sentence, and the others go on.
/// @return false: a sentence went to stderr, and there is nothing left to go on for
bool tool_exports_step(tool_exports *exports, uint32_t step, progress *bar);

/// Makes the files whole; where something failed, removes what isn't. Once, before the two below, which leave out the
/// files that were given up.
/// @return false: some file is missing, and sentences on stderr say which
bool tool_exports_finish(tool_exports *exports, bool failed);

/// What all frames, and making the files whole, took until now.
double tool_exports_took_s(const tool_exports *exports);

/// ", 31 pictures in 29.812 s", and the same of particles where that took a notable time.
void tool_exports_print_time(const tool_exports *exports, FILE *file);

/// "3 PLY files in out", a line for each.
void tool_exports_print(const tool_exports *exports, FILE *file);

/// "; the 3 PLY files in out are complete, the rest is missing", without an end of line.
void tool_exports_print_cut(const tool_exports *exports, FILE *file);

/// Takes NULL. What was not finished is dropped.
void tool_exports_free(tool_exports *exports);

#endif
