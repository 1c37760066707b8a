// The worked example of the kernel dialect, as it stands in kernels/device/tile.h. A test holds the two together.
#include "tests/kernels/saxpy.h"
#include "kernels/device/tile.h"

TILE_KERNEL(saxpy, 128, struct saxpy_args, struct saxpy_scratch)
{
    // in scope: args, tile (this tile's number), s (the scratch)
    FOR_LANES (i) {
        uint32_t at = tile * 128u + i;
        s->part[i] = at < args->count ? args->a * args->x[at] + args->y[at] : 0.0f;
    }
    TILE_BARRIER();
    FOR_LANES (i) {
        uint32_t at = tile * 128u + i;
        if (at < args->count) {
            args->y[at] = s->part[i];
        }
    }
}
