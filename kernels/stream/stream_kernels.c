// The table of the encoder's kernels, by the list in stream_kernels.h.
#include "kernels/stream/stream_kernels.h"

STREAM_KERNEL_LIST(TARN_KERNEL_DECLARE)

const tarn_kernel tarn_stream_kernels[STREAM_KERNEL_COUNT] = {
#define STREAM_KERNEL_ENTRY(name) TARN_KERNEL_DEFINE(name),
    STREAM_KERNEL_LIST(STREAM_KERNEL_ENTRY)
#undef STREAM_KERNEL_ENTRY
};
