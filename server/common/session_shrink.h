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

#endif
