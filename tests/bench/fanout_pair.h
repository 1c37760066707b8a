/// One frame, pushed again and again to many viewers in two ways: through tarnd, and by a bare loop over epoll and
/// send(). Private to bench_fanout.
#ifndef TARN_TESTS_BENCH_FANOUT_PAIR_H
#define TARN_TESTS_BENCH_FANOUT_PAIR_H

#include <stddef.h>
#include <stdint.h>

enum {
    FANOUT_FRAME_BYTES_MAX = 64 << 20,
    FANOUT_EPOCH_AT = 20, ///< in a frame's header: u32, little-endian
    FANOUT_STEP_AT = 24,  ///< u64
};

/// Names the file with the frame to the worker that tarnd starts.
#define FANOUT_FRAME_VARIABLE "TARN_BENCH_FRAME"

/// A frame that can be stamped.
typedef struct fanout_frame {
    uint8_t *bytes; ///< with room for a header in front
    size_t byte_count;
} fanout_frame;

/// The yardstick: accepts on a listening socket, speaks just enough WebSocket and tarn.v1, and sends the frame `fps`
/// times a second to whoever has taken the one before. Never returns.
void fanout_bare_serve(int listen_fd, fanout_frame *frame, uint32_t fps);

/// Gives a frame the next epoch and step.
void fanout_stamp(uint8_t *frame, uint32_t epoch, uint64_t step);

/// Reads the frame of a file, with so many bytes of room in front. Ends the program where it can't.
void fanout_frame_read(const char *path, size_t room_bytes, fanout_frame *frame);

#endif
