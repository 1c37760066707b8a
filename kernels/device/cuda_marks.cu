// Marks of the CUDA device: events with times. In a capture an event becomes a node of the graph, which each launch of
// it records anew, so that the stages of a replay are timed as it is, as a whole. Bodies of loops take no such nodes,
// and a chain is one launch.
#include "kernels/device/cuda_device.h"

static bool make_event(cuda_device *device, cudaEvent_t *event)
{
    if (*event == NULL && cudaEventCreate(event) != cudaSuccess) {
        (void)cudaGetLastError();
        device->marks_possible = 0;
        *event = NULL;
    }
    return *event != NULL;
}

bool cuda_mark(tarn_queue *base, uint32_t mark)
{
    cuda_queue *queue = (cuda_queue *)base;
    cuda_device *device = (cuda_device *)base->device;
    if (!device->marks_possible || !cuda_device_ready(device)) {
        return false;
    }
    if (queue->mode == CUDA_MODE_LOAD) {
        return make_event(device, &queue->marks[mark]); // as the capture will: whoever counts marks comes to the same
    }
    if (queue->target != queue->stream ||
        (queue->mode == CUDA_MODE_DIRECT && !make_event(device, &queue->marks[mark])) || queue->marks[mark] == NULL) {
        return false;
    }
    const unsigned int how = queue->mode == CUDA_MODE_CAPTURE ? cudaEventRecordExternal : cudaEventRecordDefault;
    return cuda_device_note(device, cudaEventRecordWithFlags(queue->marks[mark], queue->target, how));
}

double cuda_between_s(tarn_queue *base, uint32_t from, uint32_t to)
{
    cuda_queue *queue = (cuda_queue *)base;
    float ms = -1.0f;
    if (queue->marks[from] == NULL || queue->marks[to] == NULL || !cuda_device_ready((cuda_device *)base->device) ||
        cudaEventElapsedTime(&ms, queue->marks[from], queue->marks[to]) != cudaSuccess) {
        (void)cudaGetLastError(); // a figure that is missing
        return -1.0;
    }
    return 1e-3 * (double)ms;
}

void cuda_marks_teardown(cuda_queue *queue)
{
    for (int i = 0; i < TARN_QUEUE_MARKS_MAX; i++) {
        if (queue->marks[i] != NULL) {
            (void)cudaEventDestroy(queue->marks[i]);
        }
    }
}
