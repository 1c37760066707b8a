/// A file that is written under a name of its own and renamed when it is whole: who finds the name finds all of it.
#ifndef TARN_SERVER_TOOL_EXPORT_PART_FILE_H
#define TARN_SERVER_TOOL_EXPORT_PART_FILE_H

#include "protocol/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct part_file {
    FILE *file; ///< to write to; NULL when closed
    char path[PATH_MAX];
    char part[PATH_MAX]; ///< empty: written in place, because it is a pipe or a device
} part_file;

/// Makes the folder that a path lies in, or is, unless it is there; not those above it. @return false: errno says why
bool part_file_make_folder(const char *path, bool is_folder);

/// Opens PATH.PID.part, or where that is taken PATH.PID-1.part and so on, for reading and writing. What exists and is
/// no regular file, such as a named pipe, is opened itself, for writing only; "-" is standard output.
/// @param why  EXPORT_WHY_BYTES; on failure the file's name and what went wrong
/// @return TARN_OK or TARN_E_IO; after a failure nothing needs closing
tarn_status part_file_open(part_file *file, const char *path, char *why);

/// The same for a format that goes back in its file: a pipe or a device is refused, and not waited for.
tarn_status part_file_open_whole(part_file *file, const char *path, char *why);

/// Whether part_file_open would have a file there, and its disk has room for a byte of it. To be asked before a long
/// way to what is written. Leaves nothing, and of a pipe knows nothing: its other end may come later. @param why,
/// @return as above
tarn_status part_file_try(const char *path, char *why);

/// Closes and renames. Closed in any case; on failure the part is gone.
tarn_status part_file_close(part_file *file, char *why);

/// Closes and removes the part. Does nothing to a closed file.
void part_file_drop(part_file *file);

/// Drops the file and says why, from errno. @return TARN_E_IO
tarn_status part_file_fail(part_file *file, char *why);

#endif
