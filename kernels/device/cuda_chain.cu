// Chains of the CUDA device: when a replay is made each becomes a program in device memory (chain_record.h), which one
// cooperative launch goes through (tile_chain.h): all its blocks run at the same time, or CUDA refuses it.
//
// A chain has no more blocks than its tank had tiles when the replay was made, so that it waits for no more of the
// device than it uses: none of them begins before there is room for all.
#include "kernels/device/cuda_device.h"

#include <stdlib.h>
#include <string.h>

struct cuda_chain {
    cuda_chain *next;
    unsigned char *memory; // of the program; NULL: its launches are launches
    tile_chain_program program;
    const void *function;
    uint32_t lanes, blocks;
};

cudaError_t cuda_chain_setup(cuda_device *device)
{
    const cudaError_t error =
        cudaDeviceGetAttribute(&device->chains_possible, cudaDevAttrCooperativeLaunch, device->index);
    device->chains_in_loops = device->chains_possible; // until a driver refuses them
    return error;
}

void cuda_chain_destroy(cuda_queue *queue, cuda_chain *chain)
{
    while (chain != NULL) {
        cuda_chain *const next = chain->next;
        if (chain->memory != NULL) {
            (void)cudaFreeAsync(chain->memory, queue->stream); // cudaFree would wait for all of the device
        }
        free(chain);
        chain = next;
    }
}

/// How many blocks all run at the same time, and no more than there are tiles; 0: none.
static uint32_t blocks_of(cuda_device *device, const void *function, uint32_t lanes, uint32_t most)
{
    int each = 0;
    if (!cuda_device_note(device, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, function, (int)lanes, 0))) {
        return 0;
    }
    const uint32_t resident = (uint32_t)each * device->multiprocessors;
    return resident < most ? resident : most;
}

uint32_t cuda_chain_tiles(tarn_queue *base, const tarn_chain *chain)
{
    cuda_device *device = (cuda_device *)base->device;
    uint32_t lanes, args_bytes;
    if (!device->chains_possible || chain->cuda == NULL || !cuda_device_ready(device)) {
        return 0;
    }
    const void *function = chain->cuda(&lanes, &args_bytes);
    return blocks_of(device, function, lanes, UINT32_MAX);
}

static size_t rounded(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/// Writes the program into device memory. Where there is none left, or none in the order of a stream, there is no
/// chain.
static void upload(cuda_queue *queue, cuda_chain *chain, const chain_record *record)
{
    cuda_device *device = cuda_queue_device(queue);
    const size_t ops_bytes = rounded(record->op_count * sizeof record->op[0]),
                 sets_bytes = rounded((size_t)record->set_count * record->word_count * sizeof record->set[0]),
                 args_bytes = rounded(record->args_bytes), all = ops_bytes + sets_bytes + args_bytes + 16;
    unsigned char *memory = NULL, *bytes = (unsigned char *)calloc(1, all);
    const cudaError_t error =
        bytes != NULL ? cudaMallocAsync((void **)&memory, all, queue->stream) : cudaErrorMemoryAllocation;
    if (error == cudaErrorMemoryAllocation || error == cudaErrorNotSupported) {
        (void)cudaGetLastError();
    } else if (cuda_device_note(device, error)) {
        memcpy(bytes, record->op, record->op_count * sizeof record->op[0]);
        memcpy(bytes + ops_bytes, record->set, (size_t)record->set_count * record->word_count * sizeof record->set[0]);
        memcpy(bytes + ops_bytes + sets_bytes, record->args, record->args_bytes);
        cuda_device_note(device, cudaMemcpyAsync(memory, bytes, all, cudaMemcpyHostToDevice, queue->stream));
        cuda_device_note(device, cudaStreamSynchronize(queue->stream));
        chain->memory = memory;
        chain->program = chain_record_program(record, memory, memory + ops_bytes, memory + ops_bytes + sets_bytes,
                                              memory + ops_bytes + sets_bytes + args_bytes);
    }
    free(bytes);
}

/// Loads the code of what the body launches, and makes the program.
static void load(cuda_queue *queue, const tarn_chain *chain, uint32_t blocks_max, void (*body)(void *), void *context)
{
    cuda_device *device = cuda_queue_device(queue);
    cuda_chain *made = (cuda_chain *)calloc(1, sizeof *made);
    chain_record *record = (chain_record *)malloc(sizeof *record);
    if (made == NULL || record == NULL) {
        free(made);
        free(record);
        cuda_device_note(device, cudaErrorMemoryAllocation);
        return;
    }
    *queue->chain_at = made;
    queue->chain_at = &made->next;
    queue->recording = device->chains_possible && chain_record_begin(record, chain) ? record : NULL;
    const bool is_recorded = queue->recording != NULL;
    body(context);
    queue->recording = NULL;
    if (is_recorded && chain_record_end(record)) {
        uint32_t args_bytes;
        made->function = chain->cuda(&made->lanes, &args_bytes);
        made->blocks =
            blocks_of(device, made->function, made->lanes, record->most < blocks_max ? record->most : blocks_max);
        if (made->blocks > 0) {
            upload(queue, made, record);
        }
    }
    if (is_recorded) {
        chain_record_free(record);
    }
    free(record);
}

static void capture(cuda_queue *queue, void (*body)(void *), void *context)
{
    cuda_device *device = cuda_queue_device(queue);
    cuda_chain *chain = *queue->chain_at;
    queue->chain_at = &chain->next;
    const bool is_in_loop = queue->target != queue->stream;
    if (chain->memory == NULL || !device->chains_possible || (is_in_loop && !device->chains_in_loops)) {
        body(context);
        return;
    }
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(chain->blocks);
    config.blockDim = dim3(chain->lanes);
    config.stream = queue->target;
    config.attrs = &attribute;
    config.numAttrs = 1;
    void *parameters[] = {&chain->program};
    cuda_device_note(device, cudaLaunchKernelExC(&config, chain->function, parameters));
}

void cuda_chain_run(tarn_queue *base, const tarn_chain *chain, uint32_t blocks_max, void (*body)(void *), void *context)
{
    cuda_queue *queue = (cuda_queue *)base;
    if (!cuda_device_ready(cuda_queue_device(queue))) {
        return;
    }
    switch (queue->mode) {
    case CUDA_MODE_DIRECT:
        body(context);
        break;
    case CUDA_MODE_LOAD:
        load(queue, chain, blocks_max, body, context);
        break;
    case CUDA_MODE_CAPTURE:
        capture(queue, body, context);
        break;
    }
}
