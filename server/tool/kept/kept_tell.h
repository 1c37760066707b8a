/// What people are told of kept sessions: a table, one of them part by part, what is damaged.
#ifndef TARN_SERVER_TOOL_KEPT_TELL_H
#define TARN_SERVER_TOOL_KEPT_TELL_H

#include <stdbool.h>

// All of these print to standard output, and what can't be read to standard error after the command's name.

/// A table of a folder's sessions. @param scenes_dir  where scenes are, for their seconds; NULL: where Tarn's are
/// @return false: the folder, or a file in it, can't be read
bool kept_list(const char *command, const char *dir, const char *scenes_dir);

/// All that is in a file but secrets.
bool kept_show(const char *command, const char *path, const char *scenes_dir);

/// Copies a session out of a folder into a file that isn't there yet, also while a tarnd writes it, and looks through
/// the copy. @param name  of the session, or of its file  @return false: it couldn't be copied, or the copy is damaged
bool kept_backup(const char *command, const char *dir, const char *name, const char *to);

/// Looks through a file, or all files of a folder. @return false: something is damaged, or can't be read
bool kept_verify(const char *command, const char *path);

/// Sessions' files of a folder, by name. @return how many; -1: a sentence went to stderr. Free each, and the list
int kept_find(const char *command, const char *dir, char ***names);

#endif
