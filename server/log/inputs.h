/// A log of what was done to a tank: it replays to the same bits on every device.
///
/// The file, little-endian: a head, and records up to the end's.
///
///     head    u32 magic "TRNI" - u16 version = 1 - u16 cells[3] - f32 cell_m, dt_s - u64 lo, hi: hash of the tank
///             before the first record - u8 bytes of the scene's name - the name
///     record  u32 kind - u32 bytes - u64 step - so many bytes
///
///     0 input  tarn_step_input_write's, which the tank took when it had made `step` steps since its start or the last
///              reset. Inputs that hold stand before the one that steps. A step that nothing is done in has no record
///     1 reset  none; `step` is how far the tank came
///     2 end    u64 steps in all - u64 lo, hi: hash of the tank then, 0: not taken. Nothing comes after it
///
/// What a saved state would undo is taken out of the log (tarn_input_log_back). Stepping with a log allocates nothing.
#ifndef TARN_SERVER_LOG_INPUTS_H
#define TARN_SERVER_LOG_INPUTS_H

#include "kernels/step_input.h"
#include "protocol/message.h"

#include <stdio.h>

enum {
    TARN_INPUT_LOG_RECORD_HEAD_BYTES = 16,
    TARN_INPUT_LOG_RECORD_BYTES_MAX = TARN_INPUT_LOG_RECORD_HEAD_BYTES + TARN_STEP_INPUT_BYTES_MAX,
    TARN_INPUT_LOG_STEPS_MAX = 100000000, ///< in all
};
#define TARN_INPUT_LOG_BYTES_MAX (INT64_C(1) << 34) ///< of a file

/// What the log of a run belongs to.
typedef struct tarn_input_log_head {
    tarn_name scene; ///< for people
    uint16_t cells[3];
    float cell_m, dt_s;
    tarn_tank_hash start;
} tarn_input_log_head;

/// How far a log is.
typedef struct tarn_input_log_mark {
    int64_t bytes;
    uint64_t steps; ///< in all
    uint64_t step;  ///< since the start or the last reset
} tarn_input_log_mark;

/// A log that is being written. After a failure it is no longer written, and every call fails.
typedef struct tarn_input_log {
    FILE *file;
    tarn_input_log_mark at;
    tarn_status status;
    uint8_t record[TARN_INPUT_LOG_RECORD_BYTES_MAX];
} tarn_input_log;

/// A log that is being replayed.
typedef struct tarn_input_replay {
    FILE *file;
    const char *path;         ///< for sentences; borrowed
    tarn_input_log_head head; ///< of the file
    uint64_t steps;           ///< in all
    tarn_tank_hash end;       ///< 0: not taken
    int64_t bytes;            ///< of the file
    tarn_input_log_mark at;
    uint32_t kind, record_bytes; ///< of the record that is due, whose content begins at `at.bytes`
    uint64_t due_step;
    tarn_step_input input;
    uint8_t record[TARN_STEP_INPUT_BYTES_MAX];
    char why[512]; ///< after a failure: the file, what was found where, and what is allowed
} tarn_input_replay;

#ifdef __cplusplus
extern "C" {
#endif

/// What the log of a tank's inputs from now on begins with.
tarn_status tarn_input_log_head_of(tarn_tank *tank, const tarn_tank_desc *desc, const char *scene,
                                   tarn_input_log_head *head);

/// Begins a log at the beginning of an empty file, which stays the caller's. The functions that write return TARN_OK,
/// TARN_E_IO (with errno) or TARN_E_LIMIT.
tarn_status tarn_input_log_begin(tarn_input_log *log, FILE *file, const tarn_input_log_head *head);
/// What tarn_tank_admit left of an input; call it before the step, so that one that fails is in the log.
tarn_status tarn_input_log_step(tarn_input_log *log, const tarn_step_input *input);
tarn_status tarn_input_log_reset(tarn_input_log *log);
/// Takes out everything since the log was so far: log->at. Needs a file that can go back.
tarn_status tarn_input_log_back(tarn_input_log *log, const tarn_input_log_mark *mark);
/// Writes the end, and what the file keeps in memory. @param hash  of the tank now; NULL: not taken
tarn_status tarn_input_log_end(tarn_input_log *log, const tarn_tank_hash *hash);

/// Reads the head and the end of a log, whose records are looked at as they come.
/// @param path  stays the caller's until the replay is closed
/// @param file  to read from, which the replay closes; NULL: the file at `path`, which is a regular one
/// @return TARN_OK; TARN_E_NOT_FOUND, TARN_E_IO, TARN_E_VERSION, TARN_E_MALFORMED or TARN_E_LIMIT: `why` is set, and
///         nothing needs closing
tarn_status tarn_input_replay_open(tarn_input_replay *replay, const char *path, FILE *file);

/// Whether a tank is what the log begins with. @return TARN_OK, or TARN_E_ARGUMENT with `why`
tarn_status tarn_input_replay_fits(tarn_input_replay *replay, const tarn_input_log_head *tank);

/// Makes the next step of the log, with all that was done to the tank before it. Not after the last one.
/// @param tank  as the log has it
/// @return TARN_OK, or with `why`: TARN_E_MALFORMED or TARN_E_IO of the file, or what the tank answered
tarn_status tarn_input_replay_step(tarn_input_replay *replay, tarn_tank *tank);

/// Passes over the first steps of the log instead, as a tank that goes on from its state behind them has them in it.
/// @param steps  at most replay->steps
/// @return as above; TARN_E_LIMIT: the tank was reset among them, and its own step then doesn't tell how far it is
tarn_status tarn_input_replay_skip(tarn_input_replay *replay, uint64_t steps);

/// Does what follows the last step, when that was made. @return as above
tarn_status tarn_input_replay_finish(tarn_input_replay *replay, tarn_tank *tank);

/// Takes a replay that was opened.
void tarn_input_replay_close(tarn_input_replay *replay);

#ifdef __cplusplus
}
#endif

#endif
