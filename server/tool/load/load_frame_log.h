/// Numbers the frames that anybody was sent, so that a viewer's gaps can be counted: steps alone don't tell a frame
/// that was dropped from one that the server never made.
#ifndef TARN_SERVER_TOOL_LOAD_FRAME_LOG_H
#define TARN_SERVER_TOOL_LOAD_FRAME_LOG_H

#include <stdint.h>

enum { LOAD_FRAME_LOG_ENTRIES = 1024 };

/// All zero: empty.
typedef struct load_frame_log {
    uint64_t count; ///< different frames so far: the serial of the newest
    struct {
        uint32_t epoch;
        uint64_t step;
    } entries[LOAD_FRAME_LOG_ENTRIES];
} load_frame_log;

/// The serial of a frame, 1 and up; a new one where it is newer than all before. One that is older than the log
/// reaches, or that was overtaken by newer ones before anybody had it, gets the nearest there is.
uint64_t load_frame_log_note(load_frame_log *log, uint32_t epoch, uint64_t step);

#endif
