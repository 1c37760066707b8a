/// What the checks of the dialect stand on: arrays on host and device, comparisons that say what was wrong, numbers.
#ifndef TARN_TESTS_DIALECT_ARRAYS_H
#define TARN_TESTS_DIALECT_ARRAYS_H

#include "tests/kernels/dialect.h"
#include "tests/kernels/dialect_kernels.h"

#include <stdbool.h>

enum { DIALECT_ARRAYS_MAX = 8 };

/// Device memory of a check, with a copy on the host. Everything goes at once at the end.
typedef struct dialect_arrays {
    tarn_queue *queue;
    uint32_t count;
    struct {
        void *host, *device;
        size_t bytes;
    } of[DIALECT_ARRAYS_MAX];
    bool failed;
} dialect_arrays;

void *dialect_array_add(dialect_arrays *all, size_t bytes);
void *dialect_array_device(const dialect_arrays *all, const void *host);
void dialect_arrays_upload(dialect_arrays *all);
void dialect_arrays_download(dialect_arrays *all);
/// Frees everything. @return what the check returns
bool dialect_arrays_end(dialect_arrays *all, bool result);
/// The arguments with host arrays replaced by their device memory.
dialect_args dialect_to_device(const dialect_arrays *all, dialect_args args);
/// Uploads, launches once, downloads.
void dialect_launch(dialect_arrays *all, const tarn_kernel *kernel, dialect_args args, uint32_t tiles);
bool dialect_same_u32(const char *what, uint32_t at, uint32_t found, uint32_t wanted);
bool dialect_same_f32(const char *what, uint32_t at, float found, float wanted);
bool dialect_same_f64(const char *what, uint32_t at, double found, double wanted);
uint32_t dialect_random_u32(uint64_t *seed);
/// Floats of all signs and many sizes.
float dialect_random_f32(uint64_t *seed);
__attribute__((format(printf, 1, 2))) bool dialect_wrong(const char *format, ...);

#endif
