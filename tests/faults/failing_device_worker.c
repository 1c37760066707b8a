// tarn-worker whose device fails, for `tarnd --worker`: the linker puts these in front of the kernels' own (--wrap).
//
// SIGUSR1 with a number N: the Nth call of the device from then on fails, and all calls after it, as with CUDA, whose
// errors end the process's use of a device. What a launch does that fails is shown by the next call that can say so.
// TARN_TEST_DEVICE_FAILS: a file with such a number, for the worker that starts next, which removes it.
// TARN_TEST_DEVICE_BYTES: a file that says how much memory the device has.
//
// Its memory isn't the host's: whatever is in it must be copied to be seen.
#include "kernels/device/device_internal.h"
#include "server/worker/confinement.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_BYTES = 64 }; // in front of a piece: its size

static volatile int calls_left; // until one fails; 0: none does
static volatile sig_atomic_t has_failed;
static uint64_t bytes_used;

static void arm(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    calls_left = info->si_value.sival_int;
}

__attribute__((constructor)) static void listen_for_it(void)
{
    const struct sigaction action = {.sa_sigaction = arm, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    const char *path = getenv("TARN_TEST_DEVICE_FAILS");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    char line[16] = "";
    if (file != NULL) {
        if (fgets(line, sizeof line, file) != NULL) {
            calls_left = atoi(line);
        }
        fclose(file);
        unlink(path);
    }
}

/// Counts a call. @return whether it works
static bool works(tarn_device *device)
{
    if (calls_left > 0 && --calls_left == 0) {
        has_failed = 1;
        snprintf(device->error, sizeof device->error, "the test has broken it");
    }
    return !has_failed;
}

bool __wrap_tarn_confinement_end(tarn_confined kind, const char *const *folders);

/// It goes on to read the tests' files.
bool __wrap_tarn_confinement_end(tarn_confined kind, const char *const *folders)
{
    (void)kind;
    (void)folders;
    return true;
}

static uint64_t bytes_max(void)
{
    uint64_t bytes = UINT64_MAX;
    const char *path = getenv("TARN_TEST_DEVICE_BYTES");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    char line[32];
    if (file != NULL) {
        bytes = fgets(line, sizeof line, file) != NULL ? strtoull(line, NULL, 10) : 0;
        fclose(file);
    }
    return bytes;
}

/// Whether there is so much left.
static bool fits(size_t bytes)
{
    const uint64_t most = bytes_max();
    return bytes_used <= most && bytes <= most - bytes_used;
}

// NOLINTBEGIN: the linker's names
void *__real_tarn_device_alloc(tarn_device *device, size_t bytes);
void __real_tarn_device_free(tarn_device *device, void *memory);
void *__real_tarn_device_alloc_shared(tarn_device *device, size_t bytes);
void __real_tarn_device_free_shared(tarn_device *device, void *memory);
tarn_status __real_tarn_queue_upload(tarn_queue *queue, void *to, const void *from, size_t bytes);
tarn_status __real_tarn_queue_download(tarn_queue *queue, void *to, const void *from, size_t bytes);
tarn_status __real_tarn_queue_zero(tarn_queue *queue, void *to, size_t bytes);
tarn_status __real_tarn_queue_wait(tarn_queue *queue);
void __real_tarn_queue_launch(tarn_queue *queue, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                              uint32_t count_max);
bool __wrap_tarn_device_is_host(const tarn_device *device);
void *__wrap_tarn_device_alloc(tarn_device *device, size_t bytes);
void __wrap_tarn_device_free(tarn_device *device, void *memory);
void *__wrap_tarn_device_alloc_shared(tarn_device *device, size_t bytes);
void __wrap_tarn_device_free_shared(tarn_device *device, void *memory);
tarn_status __wrap_tarn_queue_upload(tarn_queue *queue, void *to, const void *from, size_t bytes);
tarn_status __wrap_tarn_queue_download(tarn_queue *queue, void *to, const void *from, size_t bytes);
tarn_status __wrap_tarn_queue_zero(tarn_queue *queue, void *to, size_t bytes);
tarn_status __wrap_tarn_queue_wait(tarn_queue *queue);
void __wrap_tarn_queue_launch(tarn_queue *queue, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                              uint32_t count_max);
// NOLINTEND

bool __wrap_tarn_device_is_host(const tarn_device *device)
{
    (void)device;
    return false;
}

static void *alloc(tarn_device *device, size_t bytes, void *(*by)(tarn_device *, size_t))
{
    uint8_t *memory = works(device) && fits(bytes) ? by(device, bytes + HEAD_BYTES) : NULL;
    if (memory == NULL) {
        return NULL;
    }
    memcpy(memory, &bytes, sizeof bytes);
    bytes_used += bytes;
    return memory + HEAD_BYTES;
}

static void release(tarn_device *device, uint8_t *memory, void (*by)(tarn_device *, void *))
{
    if (memory != NULL) {
        size_t bytes;
        memcpy(&bytes, memory - HEAD_BYTES, sizeof bytes);
        bytes_used -= bytes;
        by(device, memory - HEAD_BYTES);
    }
}

void *__wrap_tarn_device_alloc(tarn_device *device, size_t bytes)
{
    return alloc(device, bytes, __real_tarn_device_alloc);
}

void __wrap_tarn_device_free(tarn_device *device, void *memory)
{
    release(device, memory, __real_tarn_device_free);
}

/// Counted as the device's own: what both see is scarce, too.
void *__wrap_tarn_device_alloc_shared(tarn_device *device, size_t bytes)
{
    return alloc(device, bytes, __real_tarn_device_alloc_shared);
}

void __wrap_tarn_device_free_shared(tarn_device *device, void *memory)
{
    release(device, memory, __real_tarn_device_free_shared);
}

tarn_status __wrap_tarn_queue_upload(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    return works(queue->device) ? __real_tarn_queue_upload(queue, to, from, bytes) : TARN_E_DEVICE;
}

tarn_status __wrap_tarn_queue_download(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    return works(queue->device) ? __real_tarn_queue_download(queue, to, from, bytes) : TARN_E_DEVICE;
}

tarn_status __wrap_tarn_queue_zero(tarn_queue *queue, void *to, size_t bytes)
{
    return works(queue->device) ? __real_tarn_queue_zero(queue, to, bytes) : TARN_E_DEVICE;
}

tarn_status __wrap_tarn_queue_wait(tarn_queue *queue)
{
    return works(queue->device) ? __real_tarn_queue_wait(queue) : TARN_E_DEVICE;
}

void __wrap_tarn_queue_launch(tarn_queue *queue, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                              uint32_t count_max)
{
    if (works(queue->device)) {
        __real_tarn_queue_launch(queue, kernel, args, count, count_max);
    }
}
