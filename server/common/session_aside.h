/// States that killed the workers that went on from them: they stay in the file, with the log behind them and the
/// reason, and no tank goes on from them. The newest few of them are kept.
#ifndef TARN_SERVER_COMMON_SESSION_ASIDE_H
#define TARN_SERVER_COMMON_SESSION_ASIDE_H

#include "server/common/session_file.h"

enum { TARN_SESSION_ASIDE_MAX = 2 }; ///< states

typedef struct tarn_session_aside {
    int64_t state;
    uint64_t step;
    bool is_whole;        ///< else it is damaged, and `step` is zero
    uint32_t batch_count; ///< of its log
    tarn_text reason;
} tarn_session_aside;

/// Sets the newest states aside, down to one, with their logs. What is put next must be anew.
/// @return TARN_OK, TARN_E_IO or TARN_E_MEMORY: nothing changed
tarn_status tarn_session_aside_put(tarn_session_file *file, int64_t down_to, const char *reason, tarn_text why);

/// The one behind aside->state, which is 0 at first. @return TARN_OK, TARN_E_NOT_FOUND, TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_session_aside_next(tarn_session_file *file, tarn_session_aside *aside, tarn_text why);

/// Whether all states or batches of these numbers were set aside.
bool tarn_session_aside_has(tarn_session_file *file, bool are_batches, int64_t first, int64_t last);

#endif
