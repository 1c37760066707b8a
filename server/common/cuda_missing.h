/// What the programs say of `--device cuda` where it can't be had.
#ifndef TARN_SERVER_COMMON_CUDA_MISSING_H
#define TARN_SERVER_COMMON_CUDA_MISSING_H

#include <stdbool.h>

/// @param is_built_in  tarn_device_has_cuda()
static inline const char *tarn_cuda_missing(bool is_built_in)
{
    return is_built_in ? "--device cuda: this machine has no GPU that can be used, allowed is cpu"
                       : "--device cuda: this build has no CUDA device, allowed is cpu";
}

#endif
