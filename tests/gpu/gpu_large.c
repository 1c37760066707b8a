#include "tests/gpu/gpu_large.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/// A block of water at one end of a cube of 1 m, eight particles to a cell.
static void describe(tarn_tank_desc *desc, double particles)
{
    const float share[3] = {0.4f, 0.8f, 1.0f};
    const double n = round(cbrt(particles / (8.0 * 0.4 * 0.8)));
    tarn_tank_desc_default(desc);
    desc->cell_m = 1.0f / (float)n;
    desc->block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc->cells[a] = (uint16_t)n;
        desc->blocks[0].max_m[a] = share[a] * (float)n * desc->cell_m;
    }
}

static void describe_100k(tarn_tank_desc *desc)
{
    describe(desc, 102400.0);
}

static void describe_2m(tarn_tank_desc *desc)
{
    describe(desc, 2073600.0);
}

static void describe_quick(tarn_tank_desc *desc)
{
    describe(desc, 3000.0);
}

const tank_fixture gpu_large[GPU_LARGE_COUNT + 1] = {
    {"dam break of 100 k", describe_100k, 20, 0.0f, 0},
    {"dam break of 2 M", describe_2m, 8, 0.0f, 0},
    {"dam break of 3 k", describe_quick, 5, 0.0f, 0},
};

/// By `bench_bytes --per-particle` (tests/bench), of the first one.
static const gpu_kernel_bytes bytes_of[] = {
#include "tests/gpu/gpu_bytes.inc"
};

const gpu_kernel_bytes *gpu_kernel_bytes_of(const char *kernel)
{
    for (size_t i = 0; i < sizeof bytes_of / sizeof bytes_of[0]; i++) {
        if (strcmp(bytes_of[i].kernel, kernel) == 0) {
            return &bytes_of[i];
        }
    }
    return NULL;
}
