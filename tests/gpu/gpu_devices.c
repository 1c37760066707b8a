#include "tests/gpu/gpu_devices.h"

#include "server/base/device.h"
#include "tests/gpu/gpu_watch.h"

#include <stdarg.h>
#include <stdio.h>

static uint32_t failures;

void gpu_failure(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("    FAILED: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    failures++;
}

uint32_t gpu_failures(void)
{
    return failures;
}

static void add(gpu_devices *list, tarn_device_desc desc)
{
    tarn_device *device = NULL;
    const bool is_cuda = desc.kind == TARN_DEVICE_CUDA;
    const tarn_status status = list->count < GPU_DEVICES_MAX ? tarn_device_create(&desc, &device) : TARN_E_LIMIT;
    if (status == TARN_OK) {
        list->is_cuda[list->count] = is_cuda;
        list->desc[list->count] = desc;
        list->of[list->count++] = device;
        list->cuda_count += is_cuda;
    } else if (is_cuda) {
        char problem[TARN_DEVICE_ERROR_BYTES];
        tarn_device_cuda_problem(desc.index, problem);
        gpu_failure("GPU %d can't be used: %s: %s", desc.index, tarn_status_text(status), problem);
    }
}

void gpu_devices_open(gpu_devices *list, uint32_t gpus_max, uint32_t without, bool is_gpu_alone)
{
    char seen[TARN_GPU_SEEN_BYTES], problem[TARN_DEVICE_ERROR_BYTES];
    gpu_watch_note("opening devices");
    const int gpus = tarn_device_count(TARN_DEVICE_CUDA);
    *list = (gpu_devices){.count = 0};
    if (!is_gpu_alone || gpus <= 0) {
        add(list, (tarn_device_desc){.kind = TARN_DEVICE_CPU});
    }
    if (gpus <= 0) {
        add(list, (tarn_device_desc){.kind = TARN_DEVICE_CPU, .threads = 1});
        add(list, (tarn_device_desc){.kind = TARN_DEVICE_CPU, .threads = 2, .isa = "v2"});
    }
    for (int i = 0; i < gpus && (uint32_t)i < gpus_max; i++) {
        gpu_watch_note("opening GPU %d", i);
        add(list, (tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = i, .without = without});
    }
    printf("Devices\n");
    for (uint32_t d = 0; d < list->count; d++) {
        printf("    %c  %s\n", 'A' + (int)d, tarn_device_name(list->of[d]));
    }
    if (gpus <= 0 && tarn_gpu_seen("", seen)) {
        tarn_device_cuda_problem(0, problem);
        gpu_failure("there is a GPU (%s), and it can't be used: %s", seen, problem);
    }
}

void gpu_devices_close(gpu_devices *list)
{
    for (uint32_t d = 0; d < list->count; d++) {
        gpu_watch_note("closing %s", tarn_device_name(list->of[d]));
        tarn_device_destroy(list->of[d]);
    }
    list->count = 0;
}

void gpu_print_columns(const char *title, const gpu_devices *list)
{
    printf("\n%-40s", title);
    for (uint32_t d = 0; d < list->count; d++) {
        printf("%22c", 'A' + (int)d);
    }
    printf("\n");
}
