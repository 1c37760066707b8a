/// What the benchmarks of the stream share: a shipped scene's tank, and a decoder that is made by the first frame.
#ifndef TARN_TESTS_BENCH_STREAM_BENCH_H
#define TARN_TESTS_BENCH_STREAM_BENCH_H

#include "kernels/encoder.h"
#include "server/scene/scene.h"

#include <stdbool.h>

enum { BENCH_FRAME_BYTES_MAX = 64 << 20, BENCH_STEPS_FIRST = 30 }; ///< a lattice that has hardly moved isn't a liquid

typedef struct bench_tank {
    tarn_scene scene;
    tarn_device *device;
    tarn_tank *tank;
} bench_tank;

/// A scene on one thread of the CPU. @return false: it says why on standard error, and there is nothing to close
bool bench_tank_open(bench_tank *bench, const char *scene);
void bench_tank_close(bench_tank *bench);

typedef struct bench_decoder {
    void *memory;
    tarn_stream *stream;
    tarn_stream_particles out;
} bench_decoder;

/// @param seconds  that decoding took of this thread; may be NULL
/// @return false: it says why on standard error
bool bench_decode(bench_decoder *decoder, const uint8_t *bytes, size_t byte_count, double *seconds);
void bench_decoder_free(bench_decoder *decoder);

/// Time that this thread has worked: it does it all, and others may be busy.
double bench_thread_s(void);

#endif
