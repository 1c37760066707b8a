// A ring in the order of epochs and steps; what is late is looked for backwards.
#include "server/tool/load/load_frame_log.h"

/// How a frame stands to an entry: above 0 where the entry is newer, 0 where it is the same frame.
static int compare(const load_frame_log *log, uint64_t serial, uint32_t epoch, uint64_t step)
{
    uint32_t known_epoch = log->entries[serial % LOAD_FRAME_LOG_ENTRIES].epoch;
    uint64_t known_step = log->entries[serial % LOAD_FRAME_LOG_ENTRIES].step;
    if (known_epoch != epoch) {
        return (int32_t)(known_epoch - epoch) > 0 ? 1 : -1; // epochs wrap around
    }
    return known_step > step ? 1 : known_step < step ? -1 : 0;
}

uint64_t load_frame_log_note(load_frame_log *log, uint32_t epoch, uint64_t step)
{
    uint64_t oldest = log->count > LOAD_FRAME_LOG_ENTRIES ? log->count - LOAD_FRAME_LOG_ENTRIES : 0;
    uint64_t serial = log->count;
    while (serial > oldest && compare(log, serial, epoch, step) > 0) {
        serial--;
    }
    if (serial > oldest && compare(log, serial, epoch, step) == 0) {
        return serial;
    }
    if (serial < log->count) {
        return serial + 1;
    }
    log->count++;
    log->entries[log->count % LOAD_FRAME_LOG_ENTRIES].epoch = epoch;
    log->entries[log->count % LOAD_FRAME_LOG_ENTRIES].step = step;
    return log->count;
}
