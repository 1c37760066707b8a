// How fast frames are opened and decoded natively: bench_decode [SECONDS]. A table, not a test.
#include "tests/protocol/golden_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int measure(uint16_t tiles_per_axis, uint32_t particles_per_tile, double seconds)
{
    uint8_t *bytes = NULL;
    size_t byte_count = golden_frame_dense(tiles_per_axis, particles_per_tile, &bytes);
    tarn_frame frame;
    if (!byte_count || tarn_frame_open(bytes, byte_count, &frame)) {
        free(bytes);
        return 0;
    }
    uint32_t count = frame.header.particle_count, rounds = 0;
    uint16_t *positions = malloc(8 * (size_t)count);
    int8_t *velocities = malloc(4 * (size_t)count);
    double start_s = now_s(), elapsed_s = 0.0;
    while (positions && velocities && elapsed_s < seconds) {
        if (tarn_frame_open(bytes, byte_count, &frame) || tarn_frame_decode(&frame, positions, velocities, count)) {
            break;
        }
        rounds++;
        elapsed_s = now_s() - start_s;
    }
    printf("%10u %10u %12zu %14.3f %14.1f\n", count, particles_per_tile, byte_count, 1e3 * elapsed_s / rounds,
           1e-6 * count * rounds / elapsed_s);
    free(bytes);
    free(positions);
    free(velocities);
    return rounds > 0;
}

int main(int argument_count, char **arguments)
{
    double seconds = argument_count > 1 ? atof(arguments[1]) : 1.0;
    printf("%10s %10s %12s %14s %14s\n", "particles", "per tile", "bytes", "ms per frame", "M particles/s");
    int good =
        measure(4, 4096, seconds) && measure(6, 500, seconds) && measure(10, 100, seconds) && measure(12, 10, seconds);
    return good ? 0 : 1;
}
