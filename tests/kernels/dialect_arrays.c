#include "tests/kernels/dialect_arrays.h"

#include "tests/kernels/dialect_checks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[256];

const char *dialect_check_message(void)
{
    return message;
}

__attribute__((format(printf, 1, 2))) bool dialect_wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return true;
}

uint32_t dialect_random_u32(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) * 2654435761u;
}

float dialect_random_f32(uint64_t *seed)
{
    const float unit = (float)(dialect_random_u32(seed) >> 8) / 8388608.0f - 1.0f;
    return ldexpf(unit, (int)(dialect_random_u32(seed) % 24) - 8);
}

void *dialect_array_add(dialect_arrays *all, size_t bytes)
{
    void *host = calloc(bytes, 1), *device = tarn_device_alloc(tarn_queue_device(all->queue), bytes);
    all->failed |= host == NULL || device == NULL;
    all->of[all->count].host = host;
    all->of[all->count].device = device;
    all->of[all->count++].bytes = bytes;
    return host;
}

void *dialect_array_device(const dialect_arrays *all, const void *host)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->of[i].host == host) {
            return all->of[i].device;
        }
    }
    return NULL;
}

void dialect_arrays_upload(dialect_arrays *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        all->failed |= tarn_queue_upload(all->queue, all->of[i].device, all->of[i].host, all->of[i].bytes) != TARN_OK;
    }
}

void dialect_arrays_download(dialect_arrays *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        all->failed |= tarn_queue_download(all->queue, all->of[i].host, all->of[i].device, all->of[i].bytes) != TARN_OK;
    }
}

bool dialect_arrays_end(dialect_arrays *all, bool result)
{
    (void)tarn_queue_wait(all->queue); // for uploads, where a check has ended early
    for (uint32_t i = 0; i < all->count; i++) {
        tarn_device_free(tarn_queue_device(all->queue), all->of[i].device);
        free(all->of[i].host);
    }
    return !result && all->failed
               ? dialect_wrong("memory or a transfer failed: %s", tarn_device_error(tarn_queue_device(all->queue)))
               : result;
}

dialect_args dialect_to_device(const dialect_arrays *all, dialect_args args)
{
    args.x = dialect_array_device(all, args.x);
    args.xd = dialect_array_device(all, args.xd);
    args.key = dialect_array_device(all, args.key);
    args.y = dialect_array_device(all, args.y);
    args.yd = dialect_array_device(all, args.yd);
    args.u = dialect_array_device(all, args.u);
    args.w = dialect_array_device(all, args.w);
    args.go = dialect_array_device(all, args.go);
    return args;
}

void dialect_launch(dialect_arrays *all, const tarn_kernel *kernel, dialect_args args, uint32_t tiles)
{
    if (all->failed) {
        return;
    }
    dialect_arrays_upload(all);
    const dialect_args on_device = dialect_to_device(all, args);
    tarn_queue_launch(all->queue, kernel, &on_device, NULL, tiles);
    dialect_arrays_download(all);
}

bool dialect_same_u32(const char *what, uint32_t at, uint32_t found, uint32_t wanted)
{
    return found == wanted ? false : dialect_wrong("%s[%u] is %u, not %u", what, at, found, wanted);
}

bool dialect_same_f32(const char *what, uint32_t at, float found, float wanted)
{
    return memcmp(&found, &wanted, sizeof found) == 0
               ? false
               : dialect_wrong("%s[%u] is %a, not %a", what, at, (double)found, (double)wanted);
}

bool dialect_same_f64(const char *what, uint32_t at, double found, double wanted)
{
    return memcmp(&found, &wanted, sizeof found) == 0 ? false
                                                      : dialect_wrong("%s[%u] is %a, not %a", what, at, found, wanted);
}
