// Kernels with one mistake each. Begin at racy_test.c, which says what is to be found.
#include "tests/kernels/racy.h"
#include "kernels/device/tile.h"

typedef struct racy_scratch {
    uint32_t a[RACY_LANES], b[RACY_LANES];
    uint8_t bytes[RACY_LANES];
    uint32_t sum;
} racy_scratch;

/// A neighbour's value without a barrier.
TILE_KERNEL(racy_barrier, RACY_LANES, racy_args, racy_scratch)
{
    FOR_LANES (i) {
        s->a[i] = args->from[tile * RACY_LANES + i];
    }
    if (!args->is_wrong) {
        TILE_BARRIER();
    }
    FOR_LANES (i) {
        args->to[tile * RACY_LANES + i] = s->a[(i + 32) % RACY_LANES];
    }
}

/// Writes into what another lane may still read.
TILE_KERNEL(racy_reuse, RACY_LANES, racy_args, racy_scratch)
{
    for (uint32_t round = 0; round < 2; round++) {
        FOR_LANES (i) {
            s->a[i] = args->from[tile * RACY_LANES + i] + round;
        }
        TILE_BARRIER();
        FOR_LANES (i) {
            args->to[tile * RACY_LANES + i] = s->a[RACY_LANES - 1 - i];
        }
        if (!args->is_wrong) {
            TILE_BARRIER();
        }
    }
}

/// Lanes of the same warp aren't in step either.
TILE_KERNEL(racy_warp, RACY_LANES, racy_args, racy_scratch)
{
    FOR_LANES (i) {
        s->a[i] = i;
    }
    if (!args->is_wrong) {
        TILE_BARRIER();
    }
    FOR_LANES (i) {
        args->to[tile * RACY_LANES + i] = s->a[i ^ 1];
    }
}

/// Reads what another tile of the launch writes.
TILE_KERNEL(racy_tiles, RACY_LANES, racy_args, racy_scratch)
{
    (void)s;
    FOR_LANES (i) {
        const uint32_t at = args->is_wrong ? i : tile * RACY_LANES + i;
        args->to[tile * RACY_LANES + i] = args->to[at] + 1;
    }
}

/// Adds where others add; atomically, or not.
TILE_KERNEL(racy_atomics, RACY_LANES, racy_args, racy_scratch)
{
    if (TILE_SINGLE()) {
        s->sum = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, 0, RACY_LANES) {
        if (args->is_wrong && i == 40) {
            s->sum = s->sum + i;
        } else {
            tile_add_u32(&s->sum, i);
        }
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        (void)global_add_u32(args->to, s->sum);
    }
}

/// Bytes of a word are places of their own.
TILE_KERNEL(racy_bytes, RACY_LANES, racy_args, racy_scratch)
{
    FOR_LANES (i) {
        s->bytes[args->is_wrong ? i / 2 : i] = (uint8_t)i;
    }
    TILE_BARRIER();
    FOR_LANES (i) {
        args->bytes[tile * RACY_LANES + i] = s->bytes[args->is_wrong ? i / 2 : i];
    }
}

/// Half of the scratch isn't written.
TILE_KERNEL(racy_unwritten, RACY_LANES, racy_args, racy_scratch)
{
    FOR_LANES (i) {
        if (!args->is_wrong || i < RACY_LANES / 2) {
            s->b[i] = i;
        }
    }
    TILE_BARRIER();
    FOR_LANES (i) {
        args->to[tile * RACY_LANES + i] = s->b[RACY_LANES - 1 - i];
    }
}

/// One beyond the last.
TILE_KERNEL(racy_bounds, RACY_LANES, racy_args, racy_scratch)
{
    (void)s;
    FOR_LANES (i) {
        args->to[tile * RACY_LANES + i] = args->from[tile * RACY_LANES + i + (args->is_wrong ? 1 : 0)];
    }
}

/// Two barriers, of which one would do, and one that is needed.
TILE_KERNEL(racy_twice, RACY_LANES, racy_args, racy_scratch)
{
    FOR_LANES (i) {
        s->a[i] = i;
    }
    TILE_BARRIER();
    TILE_BARRIER();
    FOR_LANES (i) {
        s->b[i] = s->a[RACY_LANES - 1 - i];
    }
    TILE_BARRIER();
    FOR_LANES (i) {
        args->to[tile * RACY_LANES + i] = s->b[(i + 1) % RACY_LANES];
    }
}
