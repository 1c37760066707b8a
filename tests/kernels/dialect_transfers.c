// What is brought to a device and back is the same, in all sizes.
#include "tests/kernels/dialect_transfers.h"

#include "tests/kernels/dialect_arrays.h"

#include <string.h>

static bool check_transfer_of(tarn_queue *queue, size_t bytes)
{
    dialect_arrays all = {.queue = queue};
    uint8_t *data = dialect_array_add(&all, bytes + 1), *back = dialect_array_add(&all, bytes + 1);
    bool result = false;
    if (!all.failed) {
        uint64_t seed = bytes;
        uint8_t *there = dialect_array_device(&all, data);
        dialect_arrays_download(&all);
        for (size_t i = 0; i <= bytes && !result; i++) {
            result = data[i] == 0 ? false : dialect_wrong("new memory isn't zero at %zu of %zu", i, bytes);
        }
        for (size_t i = 0; i <= bytes; i++) {
            data[i] = (uint8_t)dialect_random_u32(&seed);
        }
        memcpy(back, data, bytes + 1);
        all.failed |= tarn_queue_upload(queue, there, data, bytes + 1) != TARN_OK;
        memset(data, 0, bytes + 1); // it may be reused when the call returns
        all.failed |= tarn_queue_zero(queue, there, bytes / 3) != TARN_OK;
        memset(back, 0, bytes / 3);
        all.failed |= tarn_queue_download(queue, data, there, bytes + 1) != TARN_OK;
        if (!result && memcmp(data, back, bytes + 1) != 0) {
            result = dialect_wrong("%zu bytes came back different", bytes + 1);
        }
    }
    return dialect_arrays_end(&all, result);
}

int dialect_check_transfers(tarn_queue *queue)
{
    const size_t sizes[] = {0, 1, 63, 4096, (1 << 18) - 1, 1 << 18, (1 << 20) + 1, 5000003};
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (check_transfer_of(queue, sizes[i])) {
            return 1;
        }
    }
    return 0;
}
