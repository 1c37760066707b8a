/// Lets go of what a session's file keeps no longer, and gives its pages back to the disk: a part at a time, so that
/// what other tanks commit meanwhile isn't late. For the files that it is made up of.
#ifndef TARN_SERVER_COMMON_SESSION_SHRINK_H
#define TARN_SERVER_COMMON_SESSION_SHRINK_H

#include "server/common/session_file.h"

/// Run on a file that is new: its pages can be given back.
#define TARN_SESSION_SHRINKS "PRAGMA auto_vacuum = INCREMENTAL"

/// Within a transaction. States behind which others are kept go, with their logs, moments, marks and scenes.
/// @param is_done  receives whether nothing is left to let go of or give back
tarn_status tarn_session_shrink(tarn_session_file *file, bool *is_done, tarn_text why);

/// Whether a file's pages can be given back: those that an earlier version made keep all that they ever had.
tarn_status tarn_session_shrink_can(tarn_session_file *file, bool *can, tarn_text why);

/// Writes a file anew, so that it has no free page, and its pages can be given back from then on. Takes as long as to
/// copy it, and as much of the disk twice over, which nobody else may be using it for. For files that are opened to be
/// written. @return TARN_OK, or what SQLite said, and then the file is what it was
tarn_status tarn_session_shrink_enable(tarn_session_file *file, tarn_text why);

#endif
