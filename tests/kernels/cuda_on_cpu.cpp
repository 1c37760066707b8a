// The CUDA device's part of the device library, emulated on the CPU for tests of what only shows on a GPU: missing
// barriers, barriers that not all lanes reach, scratch that is read before it is written, tiles that depend on each
// other, warp collectives, arguments that change although a replay keeps those of its first run.
//
// `index` of the description chooses the order: even ascending, odd descending, for lanes and for blocks.
#include "tests/kernels/cuda_on_cpu.h"

#include "kernels/device/device_internal.h"
#include "kernels/device/tile.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

// All kernels' shared memory, as the linker gathers it.
extern "C" unsigned char __start_emulated_shared[], __stop_emulated_shared[];

namespace {

constexpr size_t STACK_BYTES = 64 * 1024;
constexpr uint32_t BLOCKS_MAX = 3; // few, so that blocks stride over tiles
constexpr uint32_t WARPS_MAX = TARN_TILE_LANES_MAX / 32;

enum class waits { nothing, warp, block, ended };

struct fibre {
    jmp_buf place;
    std::unique_ptr<char[]> stack;
    waits state;
    uint32_t shares; // collectives so far
};

struct warp {
    uint32_t waiting;
    uint64_t shared[2][32]; // by turns: a lane may be one collective ahead of another
};

using kernel_function = void (*)(const void *, const uint32_t *, uint32_t);

struct block_run {
    kernel_function function;
    const void *args;
    const uint32_t *count;
    uint32_t count_max;
};

fibre lanes[TARN_TILE_LANES_MAX];
warp warps[WARPS_MAX];
jmp_buf scheduler;
uint32_t block_waiting;
block_run running;
std::set<std::string> have_run;

// A lane is made as a context and goes on by jumps: changing contexts costs a call of the system each, for the signals'
// mask, which a jump leaves alone.
void to_scheduler(uint32_t self)
{
    if (_setjmp(lanes[self].place) == 0) {
        _longjmp(scheduler, 1);
    }
}

void to_lane(uint32_t i)
{
    threadIdx.x = i;
    if (_setjmp(scheduler) == 0) {
        _longjmp(lanes[i].place, 1);
    }
}

/// A lane's whole life: it runs one block after the other.
void lane_main()
{
    const uint32_t self = threadIdx.x;
    for (;;) {
        to_scheduler(self);
        running.function(running.args, running.count, running.count_max);
        lanes[self].state = waits::ended;
    }
}

void start_lane(uint32_t i)
{
    ucontext_t context;
    lanes[i].stack.reset(new char[STACK_BYTES]);
    getcontext(&context);
    context.uc_stack.ss_sp = lanes[i].stack.get();
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = nullptr;
    makecontext(&context, lane_main, 0);
    threadIdx.x = i;
    if (_setjmp(scheduler) == 0) {
        setcontext(&context);
    }
}

void prepare_lane(uint32_t i)
{
    if (!lanes[i].stack) {
        start_lane(i);
    }
    lanes[i].state = waits::nothing;
    lanes[i].shares = 0;
}

void wait_here(waits what)
{
    const uint32_t self = threadIdx.x;
    lanes[self].state = what;
    to_scheduler(self);
}

void release(waits what, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++) {
        if (lanes[i].state == what) {
            lanes[i].state = waits::nothing;
        }
    }
}

/// Runs each lane that can go on. @return how many have ended
uint32_t turn(bool descending)
{
    uint32_t ended = 0, ran = 0;
    for (uint32_t n = 0; n < blockDim.x; n++) {
        const uint32_t i = descending ? blockDim.x - 1 - n : n;
        if (lanes[i].state == waits::nothing) {
            to_lane(i);
            ran++;
        }
        ended += lanes[i].state == waits::ended;
    }
    if (ran == 0 && ended < blockDim.x) {
        fprintf(stderr, "a barrier was reached by %u of %u lanes; %u lanes ended without it\n", block_waiting,
                blockDim.x, ended);
        abort();
    }
    return ended;
}

void run_block(bool descending)
{
    memset(__start_emulated_shared, 0xa5, (size_t)(__stop_emulated_shared - __start_emulated_shared));
    block_waiting = 0;
    for (warp &w : warps) {
        w.waiting = 0;
    }
    for (uint32_t i = 0; i < blockDim.x; i++) {
        prepare_lane(i);
    }
    while (turn(descending) < blockDim.x) {
    }
}

// -------------------------------------------------------------------------------------------------------------- the
// device

/// What a replay keeps: launches with their arguments as they were, fills, and repeats of further ones.
struct operation {
    const tarn_kernel *kernel;
    std::vector<unsigned char> args;
    const uint32_t *count; // of a launch; `go` of a repeat
    uint32_t count_max;    // of a launch; rounds of a repeat
    void *to;
    size_t bytes;
    std::vector<operation> body;
};

struct emulated_device {
    tarn_device base;
    bool descending;
};

struct emulated_queue {
    tarn_queue base;
    std::vector<operation> *recording;
};

} // namespace

struct tarn_replay {
    std::vector<operation> operations;
};

emulated_index threadIdx, blockIdx, blockDim, gridDim;

void emulated_block_barrier(void)
{
    if (++block_waiting == blockDim.x) {
        block_waiting = 0;
        release(waits::block, 0, blockDim.x);
    } else {
        wait_here(waits::block);
    }
}

void emulated_warp_barrier(void)
{
    const uint32_t first = threadIdx.x / 32 * 32;
    if (++warps[first / 32].waiting == 32) {
        warps[first / 32].waiting = 0;
        release(waits::warp, first, first + 32);
    } else {
        wait_here(waits::warp);
    }
}

const uint64_t *emulated_warp_share(uint64_t value)
{
    uint64_t *shared = warps[threadIdx.x / 32].shared[lanes[threadIdx.x].shares++ % 2];
    shared[threadIdx.x % 32] = value;
    emulated_warp_barrier();
    return shared;
}

namespace {

emulated_queue *of(tarn_queue *base)
{
    return reinterpret_cast<emulated_queue *>(base);
}

emulated_device *device_of(tarn_queue *base)
{
    return reinterpret_cast<emulated_device *>(base->device);
}

void launch_now(emulated_device *device, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                uint32_t count_max)
{
    if (count_max == 0) {
        return;
    }
    if (count == nullptr || *count > 0) {
        have_run.insert(kernel->name);
    }
    uint32_t args_bytes;
    const void *function = kernel->cuda(&blockDim.x, &args_bytes);
    running = {reinterpret_cast<kernel_function>(const_cast<void *>(function)), args, count, count_max};
    gridDim.x = count_max < BLOCKS_MAX ? count_max : BLOCKS_MAX;
    for (uint32_t n = 0; n < gridDim.x; n++) {
        blockIdx.x = device->descending ? gridDim.x - 1 - n : n;
        run_block(device->descending);
    }
}

void execute(emulated_device *device, const std::vector<operation> &operations)
{
    for (const operation &o : operations) {
        if (o.kernel != nullptr) {
            launch_now(device, o.kernel, o.args.data(), o.count, o.count_max);
        } else if (o.to != nullptr) {
            memset(o.to, 0, o.bytes);
        } else {
            for (uint32_t round = 0; round < o.count_max && *o.count != 0; round++) {
                execute(device, o.body);
            }
        }
    }
}

void destroy(tarn_device *base)
{
    delete reinterpret_cast<emulated_device *>(base);
}

uint64_t memory_bytes(tarn_device *)
{
    return UINT64_MAX;
}

void *take(tarn_device *, size_t bytes)
{
    if (bytes > SIZE_MAX / 4) {
        return nullptr;
    }
    const size_t rounded = (bytes + 255) / 256 * 256 + 256;
    void *memory = aligned_alloc(256, rounded);
    if (memory != nullptr) {
        memset(memory, 0, rounded);
    }
    return memory;
}

void give(tarn_device *, void *memory)
{
    free(memory);
}

tarn_status queue_create(tarn_device *device, tarn_queue **out)
{
    emulated_queue *queue = new emulated_queue();
    queue->base.device = device;
    *out = &queue->base;
    return TARN_OK;
}

void queue_destroy(tarn_queue *base)
{
    delete of(base);
}

tarn_status copy(tarn_queue *base, void *to, const void *from, size_t bytes)
{
    if (of(base)->recording != nullptr) {
        return TARN_E_STATE;
    }
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
    return TARN_OK;
}

tarn_status zero(tarn_queue *base, void *to, size_t bytes)
{
    if (of(base)->recording != nullptr) {
        of(base)->recording->push_back({nullptr, {}, nullptr, 0, to, bytes, {}});
    } else if (bytes > 0) {
        memset(to, 0, bytes);
    }
    return TARN_OK;
}

tarn_status wait(tarn_queue *base)
{
    return of(base)->recording != nullptr ? TARN_E_STATE : TARN_OK;
}

void launch(tarn_queue *base, const tarn_kernel *kernel, const void *args, const uint32_t *count, uint32_t count_max)
{
    if (of(base)->recording == nullptr) {
        launch_now(device_of(base), kernel, args, count, count_max);
        return;
    }
    uint32_t lanes_unused, args_bytes;
    (void)kernel->cuda(&lanes_unused, &args_bytes);
    const unsigned char *bytes = static_cast<const unsigned char *>(args);
    of(base)->recording->push_back({kernel, {bytes, bytes + args_bytes}, count, count_max, nullptr, 0, {}});
}

void repeat(tarn_queue *base, const uint32_t *go, uint32_t times, void (*body)(void *), void *context)
{
    std::vector<operation> *outer = of(base)->recording;
    if (outer == nullptr) {
        for (uint32_t round = 0; round < times && *go != 0; round++) {
            body(context);
        }
        return;
    }
    operation loop = {nullptr, {}, go, times, nullptr, 0, {}};
    of(base)->recording = &loop.body;
    body(context);
    of(base)->recording = outer;
    outer->push_back(loop);
}

void run(tarn_queue *base, tarn_replay **replay, void (*body)(void *), void *context)
{
    if (of(base)->recording != nullptr) {
        body(context);
        return;
    }
    if (*replay == nullptr) {
        *replay = new tarn_replay;
        of(base)->recording = &(*replay)->operations;
        body(context);
        of(base)->recording = nullptr;
    }
    execute(device_of(base), (*replay)->operations);
}

void replay_destroy(tarn_queue *, tarn_replay *replay)
{
    delete replay;
}

const tarn_device_ops operations = {destroy, memory_bytes, take, give,   queue_create, queue_destroy, copy,
                                    copy,    zero,         wait, launch, repeat,       run,           replay_destroy};

} // namespace

extern "C" int emulated_has_run(const char *kernel)
{
    return have_run.count(kernel) > 0;
}

extern "C" int tarn_cuda_device_count(void)
{
    return 2;
}

extern "C" void tarn_cuda_device_problem(int, char why[TARN_DEVICE_ERROR_BYTES])
{
    why[0] = '\0';
}

extern "C" tarn_status tarn_cuda_device_create(const tarn_device_desc *desc, tarn_device **out)
{
    if (desc->index < 0 || desc->index >= tarn_cuda_device_count()) {
        return TARN_E_ARGUMENT;
    }
    emulated_device *device = new emulated_device();
    device->base.ops = &operations;
    device->descending = desc->index == 1;
    snprintf(device->base.name, sizeof device->base.name, "CUDA emulated, %s",
             device->descending ? "descending" : "ascending");
    *out = &device->base;
    return TARN_OK;
}
