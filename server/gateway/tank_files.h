/// The files of one kept tank: a database and what SQLite keeps beside it, which says nothing without it.
#ifndef TARN_SERVER_GATEWAY_TANK_FILES_H
#define TARN_SERVER_GATEWAY_TANK_FILES_H

#include <stdbool.h>

#define TARN_TANK_FILES_SUFFIX ".tank"

/// Takes them away; what can't be is logged.
/// @param path   of the database; ends with the suffix
/// @param label  what stands for the session's name in the log (store_words.h)
void tarn_tank_files_remove(const char *path, const char *label);

/// Gives them a name that is free, NAME.damaged or NAME-1.damaged and so on, with all that SQLite needs to find more in
/// it, and logs that. @param why  a sentence
/// @return false: they stay where they are
bool tarn_tank_files_set_aside(const char *path, const char *label, const char *why);

#endif
