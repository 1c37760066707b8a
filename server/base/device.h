/// Opens the device that a word of a command line names, and says in a sentence why a GPU isn't used.
#ifndef TARN_SERVER_BASE_DEVICE_H
#define TARN_SERVER_BASE_DEVICE_H

#include "kernels/device/device.h"
#include "server/base/devices.h"

#include <stdbool.h>

enum { TARN_GPU_SEEN_BYTES = 64 };

/// Whether a GPU of NVIDIA's is there, without asking CUDA: its driver's file, or on the PCI bus where it has no
/// driver.
/// @param root  "", or a folder that stands for the top one
/// @param what  how it was seen
bool tarn_gpu_seen(const char *root, char what[TARN_GPU_SEEN_BYTES]);

/// @param cpu  threads and instruction set, where it is the CPU that is opened
/// @param root  as above
/// @param why  on failure what is wrong; else empty, or why `auto` took the CPU or another GPU although one is there
/// @return what tarn_device_create returns
tarn_status tarn_device_open(const tarn_device_word *word, const tarn_device_desc *cpu, const char *root,
                             tarn_device **device, char why[TARN_DEVICE_WHY_BYTES]);

#endif
