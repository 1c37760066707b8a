// The array of workers. What happens to one is in worker_process.c.
#include "server/gateway/workers.h"
#include "protocol/assert.h"

#include <stdio.h>
#include <string.h>

tarn_status tarn_workers_start(tarn_workers *workers, uv_loop_t *loop, const tarn_device_list *devices,
                               const tarn_worker_config *config, const tarn_worker_events *events, tarn_text why)
{
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < devices->count && status == TARN_OK; i++) {
        tarn_worker_config own = *config;
        TARN_ASSERT(workers->count == i && i < TARN_GATEWAY_WORKERS_MAX);
        own.device = devices->devices[i];
        status = tarn_worker_process_start(&workers->workers[i], i, loop, &own, events, why);
        workers->count += status == TARN_OK;
    }
    return status;
}

void tarn_workers_configure(tarn_workers *workers, uint32_t timeout_s, const char *log_level)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        workers->workers[i].config.timeout_s = timeout_s;
        workers->workers[i].config.log_level = log_level;
    }
}

void tarn_workers_tick(tarn_workers *workers, uint64_t now_ns)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        tarn_worker_process_tick(&workers->workers[i], now_ns);
    }
}

void tarn_workers_stood(tarn_workers *workers, const tarn_standstill *stood)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        tarn_worker_process_stood(&workers->workers[i], stood);
    }
}

uint32_t tarn_workers_ready(const tarn_workers *workers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < workers->count; i++) {
        count += tarn_worker_process_is_ready(&workers->workers[i]);
    }
    return count;
}

uint32_t tarn_workers_given_up(const tarn_workers *workers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < workers->count; i++) {
        count += workers->workers[i].phase == TARN_WORKER_GIVEN_UP;
    }
    return count;
}

void tarn_workers_end(tarn_workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        tarn_worker_process_end(&workers->workers[i]);
    }
}

bool tarn_workers_are_gone(const tarn_workers *workers)
{
    bool are_gone = true;
    for (uint32_t i = 0; i < workers->count; i++) {
        are_gone &= tarn_worker_process_is_gone(&workers->workers[i]);
    }
    return are_gone;
}

void tarn_workers_device(const tarn_workers *workers, tarn_name device)
{
    const char *first = workers->workers[0].hello.device;
    const int length = workers->count > 1 ? snprintf(device, sizeof(tarn_name), "%s; %u devices", first, workers->count)
                                          : TARN_NAME_BYTES_MAX + 1;
    if (length > TARN_NAME_BYTES_MAX) { // half a character is none
        memcpy(device, first, sizeof(tarn_name));
    }
}

uint64_t tarn_workers_coalesced(const tarn_workers *workers)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < workers->count; i++) {
        count += workers->workers[i].queue.coalesced;
    }
    return count;
}
