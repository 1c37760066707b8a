/// A device on which a queue does nothing before somebody waits for it: as late as a GPU may be with what was sent
/// there, while other queues go on.
#ifndef TARN_TESTS_STREAM_LATE_QUEUE_H
#define TARN_TESTS_STREAM_LATE_QUEUE_H

#include "kernels/device/device_work.h"

#include <stdbool.h>

/// The next queue of the device that is made will be late. One at a time, in the program; only the encoder's kernels
/// may be launched in it.
void late_queue_next(tarn_device *device);

/// Launches that have not been done yet.
uint32_t late_queue_waiting(void);

/// The device is as before. Its late queue must be gone.
void late_queue_end(tarn_device *device);

#endif
