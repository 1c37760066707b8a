/// A recorded second of a stream, pushed again and again to many viewers in two ways: through tarnd, and by a bare loop
/// over epoll and send(). Private to bench_fanout.
#ifndef TARN_TESTS_BENCH_FANOUT_PAIR_H
#define TARN_TESTS_BENCH_FANOUT_PAIR_H

#include <stddef.h>
#include <stdint.h>

enum {
    FANOUT_FRAME_BYTES_MAX = 64 << 20,
    FANOUT_FRAMES = 30,    ///< of a recording: a key frame, then extra and base frames in turn
    FANOUT_SIZE_BYTES = 4, ///< in front of each of its frames: u32, little-endian
};

/// Names the recording to the worker that tarnd starts.
#define FANOUT_RECORDING_VARIABLE "TARN_BENCH_RECORDING"

typedef struct fanout_frame {
    uint8_t *bytes; ///< with room for a header in front
    size_t byte_count;
} fanout_frame;

/// A recording that is played over and over, each time as if its frames were new.
typedef struct fanout_player {
    fanout_frame frames[FANOUT_FRAMES];
    uint32_t next;      ///< index of the frame that comes next; 0 begins a chain
    uint32_t number;    ///< of the newest frame
    uint32_t reference; ///< number of the newest key or base frame
} fanout_player;

/// The yardstick: accepts on a listening socket, speaks just enough WebSocket and tarn.v1, and sends frames `fps` times
/// a second to whoever has taken the one before. Never returns.
void fanout_bare_serve(int listen_fd, const char *path, uint32_t fps);

/// Reads a recording, with so many bytes of room in front of each frame. Ends the program where it can't.
void fanout_read(const char *path, size_t room_bytes, fanout_player *player);

/// The next frame, as one of an epoch; where it lies it stays until it comes round again.
const fanout_frame *fanout_next(fanout_player *player, uint32_t epoch);

#endif
