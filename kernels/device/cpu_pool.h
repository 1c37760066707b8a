/// The CPU device's threads: the owner and its helpers take a launch's tiles piece by piece. Private to kernels/device.
///
/// Who works on which tile is left to chance; kernels give the same result whoever runs them (tile.h).
#ifndef TARN_KERNELS_CPU_POOL_H
#define TARN_KERNELS_CPU_POOL_H

#include "kernels/device/device_work.h"

#include <stdbool.h>

typedef struct cpu_pool cpu_pool;

/// @param threads  1..TARN_DEVICE_THREADS_MAX, the owner's own included
/// @param crowded  more threads than processors: waiting threads sleep at once instead of spinning
/// @return TARN_OK or TARN_E_MEMORY (memory or threads)
tarn_status cpu_pool_create(uint32_t threads, bool crowded, cpu_pool **pool);

/// Takes NULL. Between launches.
void cpu_pool_destroy(cpu_pool *pool);

/// Runs the kernel over tiles 0..tile_count-1 and returns when all are done. The caller is the pool's owner until then,
/// except while it yields: then other launches may run.
void cpu_pool_launch(cpu_pool *pool, const tarn_yield *yield, tarn_cpu_entry entry, const void *args,
                     uint32_t tile_count);

/// How many threads it has, the owner included.
uint32_t cpu_pool_threads(const cpu_pool *pool);

/// The scratch of one of its threads, which nobody else works with between launches.
/// @param thread  < cpu_pool_threads; 0: the owner
void *cpu_pool_scratch(cpu_pool *pool, uint32_t thread);

#endif
