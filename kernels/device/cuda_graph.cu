// Replays of the CUDA device: a sequence of launches is captured into a graph once and launched as one from then on.
//
// A repeat becomes a loop inside the graph, a conditional node that the device itself decides about:
//
//     ... ── loop_begin ──▶ WHILE { body's launches ── loop_next } ──▶ ...
//
// loop_begin and loop_next set the node's condition: *go is not zero and rounds are left. The body is captured from a
// second stream into the node's own graph. Where the driver cannot do that, the repeat is unrolled: kernels of a body
// do nothing when *go is zero (device_work.h).
//
// Where there is no memory for a graph, its launches are launches that time, and the next run tries again.
//
// Before a capture the sequence is walked once in CUDA_MODE_LOAD: code is loaded lazily, and loading may need to
// synchronise, which a capture forbids.
#include "kernels/device/cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HAVE_LOOPS (CUDART_VERSION >= 12040)

enum { LOOP_DRIVER_VERSION_MIN = 12040 };

struct tarn_replay {
    cudaGraphExec_t graph;
    cuda_chain *chains; // in the order of the sequence
};

static bool note(cuda_queue *queue, cudaError_t error)
{
    return cuda_device_note(cuda_queue_device(queue), error);
}

#if HAVE_LOOPS
static __global__ void loop_begin(cudaGraphConditionalHandle condition, const uint32_t *go, uint32_t *rounds,
                                  uint32_t times)
{
    *rounds = times;
    cudaGraphSetConditional(condition, times > 0 && *go != 0 ? 1 : 0);
}

static __global__ void loop_next(cudaGraphConditionalHandle condition, const uint32_t *go, uint32_t *rounds)
{
    uint32_t left = *rounds - 1;
    *rounds = left;
    cudaGraphSetConditional(condition, left > 0 && *go != 0 ? 1 : 0);
}

static cudaError_t load_loop_kernels(void)
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)loop_begin);
    return error == cudaSuccess ? cudaFuncGetAttributes(&attributes, (const void *)loop_next) : error;
}

/// Appends a node to what `stream` captures.
static cudaError_t append_node(cudaStream_t stream, cudaGraphNodeParams *parameters)
{
    cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    const cudaGraphNode_t *after;
    size_t after_count;
    cudaGraphNode_t node;
#if CUDART_VERSION >= 13000
    const cudaGraphEdgeData *edges;
    cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &after, &edges, &after_count);
    if (error == cudaSuccess) {
        error = cudaGraphAddNode(&node, graph, after, edges, after_count, parameters);
    }
    if (error == cudaSuccess) {
        error = cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, cudaStreamSetCaptureDependencies);
    }
#else
    cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &after, &after_count);
    if (error == cudaSuccess) {
        error = cudaGraphAddNode(&node, graph, after, after_count, parameters);
    }
    if (error == cudaSuccess) {
        error = cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamSetCaptureDependencies);
    }
#endif
    return error;
}

static cudaError_t create_condition(cudaStream_t stream, cudaGraphConditionalHandle *condition)
{
    cudaStreamCaptureStatus status;
    cudaGraph_t graph;
#if CUDART_VERSION >= 13000
    cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, NULL, NULL, NULL);
#else
    cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, NULL, NULL);
#endif
    return error == cudaSuccess ? cudaGraphConditionalHandleCreate(condition, graph, 0, 0) : error;
}

/// Captures a repeat as a loop of the graph.
static void capture_loop(cuda_queue *queue, const uint32_t *go, uint32_t times, void (*body)(void *), void *context)
{
    cudaStream_t outer = queue->target, inner = queue->loop_stream;
    uint32_t *rounds = queue->rounds + queue->loop_count++;
    cudaGraphConditionalHandle condition;
    if (!note(queue, create_condition(outer, &condition))) {
        return;
    }
    loop_begin<<<1, 1, 0, outer>>>(condition, go, rounds, times);
    cudaGraphNodeParams node = {};
    node.type = cudaGraphNodeTypeConditional;
    node.conditional.handle = condition;
    node.conditional.type = cudaGraphCondTypeWhile;
    node.conditional.size = 1;
    if (!note(queue, cudaGetLastError()) || !note(queue, append_node(outer, &node))) {
        return;
    }
    if (!note(queue, cudaStreamBeginCaptureToGraph(inner, node.conditional.phGraph_out[0], NULL, NULL, 0,
                                                   cudaStreamCaptureModeThreadLocal))) {
        return;
    }
    queue->target = inner;
    body(context);
    loop_next<<<1, 1, 0, inner>>>(condition, go, rounds);
    note(queue, cudaGetLastError());
    queue->target = outer;
    cudaGraph_t ended; // the node's own
    note(queue, cudaStreamEndCapture(inner, &ended));
}
#else
static cudaError_t load_loop_kernels(void)
{
    return cudaSuccess;
}

static void capture_loop(cuda_queue *, const uint32_t *, uint32_t, void (*)(void *), void *)
{
}
#endif

cudaError_t cuda_graph_setup(cuda_device *device)
{
    int driver = 0;
    cudaError_t error = cudaDriverGetVersion(&driver);
    device->loops_possible = HAVE_LOOPS && driver >= LOOP_DRIVER_VERSION_MIN;
    return error == cudaSuccess ? load_loop_kernels() : error;
}

cudaError_t cuda_graph_queue_setup(cuda_queue *queue)
{
    cudaError_t error =
        cuda_memory_take(cuda_queue_device(queue), (void **)&queue->rounds, CUDA_LOOPS_MAX * sizeof *queue->rounds);
    return error == cudaSuccess ? cudaStreamCreateWithFlags(&queue->loop_stream, cudaStreamNonBlocking) : error;
}

void cuda_graph_queue_teardown(cuda_queue *queue)
{
    cuda_memory_give(cuda_queue_device(queue), queue->rounds);
    if (queue->loop_stream != NULL) {
        (void)cudaStreamDestroy(queue->loop_stream);
    }
}

/// Outside a graph the host looks at *go before each round.
static void repeat_directly(cuda_queue *queue, const uint32_t *go, uint32_t times, void (*body)(void *), void *context)
{
    for (uint32_t round = 0; round < times; round++) {
        uint32_t going = 0;
        if (tarn_queue_download(&queue->base, &going, go, sizeof going) != TARN_OK || going == 0) {
            return;
        }
        body(context);
    }
}

void cuda_graph_repeat(tarn_queue *base, const uint32_t *go, uint32_t times, void (*body)(void *), void *context)
{
    cuda_queue *queue = (cuda_queue *)base;
    cuda_device *device = (cuda_device *)base->device;
    if (times == 0 || !cuda_device_ready(device)) {
        return;
    }
    if (queue->recording != NULL) {
        chain_record_loop(queue->recording, go, times);
        body(context);
        chain_record_loop_end(queue->recording);
    } else if (queue->mode == CUDA_MODE_LOAD) {
        body(context);
    } else if (queue->mode == CUDA_MODE_DIRECT) {
        repeat_directly(queue, go, times, body, context);
    } else if (device->loops_possible && queue->loop_count < CUDA_LOOPS_MAX) {
        capture_loop(queue, go, times, body, context);
    } else {
        cuda_chain **const first = queue->chain_at; // each round has the same chains
        for (uint32_t round = 0; round < times; round++) {
            queue->chain_at = first;
            body(context);
        }
    }
}

static void capture(cuda_queue *queue, tarn_replay *replay, void (*body)(void *), void *context)
{
    if (!note(queue, cudaStreamBeginCapture(queue->stream, cudaStreamCaptureModeThreadLocal))) {
        return;
    }
    queue->mode = CUDA_MODE_CAPTURE;
    queue->loop_count = 0;
    queue->chain_at = &replay->chains;
    body(context);
    queue->mode = CUDA_MODE_DIRECT;
    cudaGraph_t graph = NULL;
    if (note(queue, cudaStreamEndCapture(queue->stream, &graph))) {
        note(queue, cudaGraphInstantiate(&replay->graph, graph, 0));
    }
    if (graph != NULL) {
        (void)cudaGraphDestroy(graph);
    }
}

/// The device is well again: what went wrong was one call's alone.
static void forget_failure(cuda_device *device)
{
    (void)cudaGetLastError();
    device->failure = cudaSuccess;
    device->base.error[0] = 0;
}

static bool lacks_memory(const cuda_device *device)
{
    return device->failure == cudaErrorMemoryAllocation;
}

/// Adds to what people are told that the device goes without, once.
static void say_refused(cuda_device *device, const char *what)
{
    char *text = device->base.refused, part[TARN_DEVICE_ERROR_BYTES];
    const size_t used = strlen(text);
    snprintf(part, sizeof part, "%s (%s)", what, cudaGetErrorName(device->failure));
    if (strstr(text, part) == NULL) {
        snprintf(text + used, sizeof device->base.refused - used, "%s%s", used > 0 ? ", " : "", part);
    }
}

/// Captures without what this driver may refuse. If something else was wrong, it is so again; but for a lack of memory,
/// of which nobody is to do without anything for good.
static void capture_without(cuda_queue *queue, int *possible, const char *what, tarn_replay *replay,
                            void (*body)(void *), void *context)
{
    cuda_device *device = cuda_queue_device(queue);
    if (device->failure == cudaSuccess || lacks_memory(device) || !*possible) {
        return;
    }
    say_refused(device, what);
    forget_failure(device);
    *possible = 0;
    capture(queue, replay, body, context);
}

static void destroy_replay(cuda_queue *queue, tarn_replay *replay)
{
    if (replay->graph != NULL) {
        (void)cudaGraphExecDestroy(replay->graph);
    }
    cuda_chain_destroy(queue, replay->chains);
    free(replay);
}

/// @return NULL: the device's failure says why
static tarn_replay *make_replay(cuda_queue *queue, void (*body)(void *), void *context)
{
    cuda_device *device = cuda_queue_device(queue);
    tarn_replay *replay = (tarn_replay *)calloc(1, sizeof *replay);
    if (replay == NULL) {
        note(queue, cudaErrorMemoryAllocation);
        return NULL;
    }
    queue->mode = CUDA_MODE_LOAD;
    queue->chain_at = &replay->chains;
    body(context);
    queue->mode = CUDA_MODE_DIRECT;
    if (device->failure == cudaSuccess) {
        capture(queue, replay, body, context);
        capture_without(queue, &device->chains_in_loops, "chains in loops", replay, body, context);
        capture_without(queue, &device->marks_possible, "events in graphs", replay, body, context);
        capture_without(queue, &device->chains_possible, "chains", replay, body, context);
        capture_without(queue, &device->loops_possible, "loops in graphs", replay, body, context);
    }
    if (device->failure != cudaSuccess) {
        destroy_replay(queue, replay);
        return NULL;
    }
    return replay;
}

void cuda_graph_run(tarn_queue *base, tarn_replay **replay, void (*body)(void *), void *context)
{
    cuda_queue *queue = (cuda_queue *)base;
    cuda_device *device = (cuda_device *)base->device;
    if (queue->mode != CUDA_MODE_DIRECT || cuda_queue_device(queue)->has_no_replays) { // or part of a larger sequence
        body(context);
        return;
    }
    if (!cuda_device_ready(device)) {
        return;
    }
    if (*replay == NULL) {
        *replay = make_replay(queue, body, context);
    }
    if (*replay != NULL && !note(queue, cudaGraphLaunch((*replay)->graph, queue->stream)) && lacks_memory(device)) {
        cuda_graph_replay_destroy(base, *replay);
        *replay = NULL;
    }
    if (lacks_memory(device)) { // for a graph, whose launches need none: the next one is tried again
        say_refused(device, "memory for a graph");
        forget_failure(device);
        body(context);
    }
}

void cuda_graph_replay_destroy(tarn_queue *base, tarn_replay *replay)
{
    cuda_queue *queue = (cuda_queue *)base;
    (void)cudaSetDevice(cuda_queue_device(queue)->index);
    (void)cudaStreamSynchronize(queue->stream);
    destroy_replay(queue, replay);
}
