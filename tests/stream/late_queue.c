// Launches of one queue, kept until somebody waits for it.
#include "tests/stream/late_queue.h"
#include "kernels/device/device_internal.h"
#include "kernels/stream/stream_kernels.h"
#include "protocol/assert.h"

enum { LAUNCHES_MAX = 64 };

typedef struct late_launch {
    const tarn_kernel *kernel;
    stream_args args;
    const uint32_t *count;
    uint32_t count_max;
} late_launch;

static const tarn_device_ops *real;
static tarn_device_ops late_ops;
static tarn_queue *late;
static bool is_next;
static late_launch launches[LAUNCHES_MAX];
static uint32_t launch_count;

static void catch_up(const tarn_queue *queue)
{
    for (uint32_t i = 0; queue == late && i < launch_count; i++) {
        const late_launch *l = &launches[i];
        real->launch(late, l->kernel, &l->args, l->count, l->count_max);
    }
    launch_count = queue == late ? 0 : launch_count;
}

static tarn_status create(tarn_device *device, tarn_queue **queue)
{
    const tarn_status status = real->queue_create(device, queue);
    if (status == TARN_OK && is_next) {
        late = *queue;
        is_next = false;
    }
    return status;
}

static void destroy(tarn_queue *queue)
{
    catch_up(queue);
    late = queue == late ? NULL : late;
    real->queue_destroy(queue);
}

static void launch(tarn_queue *queue, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                   uint32_t count_max)
{
    if (queue != late) {
        real->launch(queue, kernel, args, count, count_max);
        return;
    }
    TARN_ASSERT(launch_count < LAUNCHES_MAX);
    launches[launch_count++] = (late_launch){kernel, *(const stream_args *)args, count, count_max};
}

static tarn_status upload(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    catch_up(queue);
    return real->upload(queue, to, from, bytes);
}

static tarn_status download(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    catch_up(queue);
    return real->download(queue, to, from, bytes);
}

static tarn_status zero(tarn_queue *queue, void *to, size_t bytes)
{
    catch_up(queue);
    return real->zero(queue, to, bytes);
}

static tarn_status wait(tarn_queue *queue)
{
    catch_up(queue);
    return real->wait(queue);
}

static bool is_done(tarn_queue *queue)
{
    return queue != late || launch_count == 0;
}

void late_queue_next(tarn_device *device)
{
    TARN_ASSERT(real == NULL && launch_count == 0);
    real = device->ops;
    late_ops = *real;
    late_ops.queue_create = create;
    late_ops.queue_destroy = destroy;
    late_ops.launch = launch;
    late_ops.upload = upload;
    late_ops.download = download;
    late_ops.zero = zero;
    late_ops.wait = wait;
    late_ops.is_done = is_done;
    device->ops = &late_ops;
    is_next = true;
}

uint32_t late_queue_waiting(void)
{
    return launch_count;
}

void late_queue_end(tarn_device *device)
{
    TARN_ASSERT(real != NULL && late == NULL && launch_count == 0);
    device->ops = real;
    real = NULL;
}
