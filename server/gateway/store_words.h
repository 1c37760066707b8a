/// What the log says of sessions' files: the name of a session that isn't listed opens it, and stands in its file's.
#ifndef TARN_SERVER_GATEWAY_STORE_WORDS_H
#define TARN_SERVER_GATEWAY_STORE_WORDS_H

#include "server/common/log.h"
#include "server/common/session_file.h"

/// What stands for a session's name in the log: the name where everybody may find it, "unlisted-7" as elsewhere, or its
/// first two letters, "ab...", by which whoever has the folder finds the file.
/// @param name_bytes  of the name, behind which more may follow
/// @param is_listed   false also where nobody knows
/// @param number      of a session that isn't listed; 0: it has none
void tarn_store_label(const char *name, size_t name_bytes, bool is_listed, uint32_t number, tarn_name label);

/// Puts the label in the place of each file name that begins with the name. @param name_bytes  as above
void tarn_store_hide(tarn_text sentence, const char *name, size_t name_bytes, const char *label);

/// A line in the log, with the label in the place of the name.
__attribute__((format(printf, 5, 6))) void tarn_store_log(tarn_log_level level, const char *name, size_t name_bytes,
                                                          const char *label, const char *format, ...);

#endif
