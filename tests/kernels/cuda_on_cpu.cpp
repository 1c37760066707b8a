// The CUDA device's part of the device library, emulated on the CPU for tests of what only shows on a GPU: missing
// barriers, barriers that not all lanes reach, scratch that is read before it is written, tiles that depend on each
// other, warp collectives, arguments that change although a replay keeps those of its first run.
//
// Blocks of a launch run one after the other, those of a chain side by side.
//
// `index` of the description chooses the order of lanes and of blocks: 0 ascending, 1 descending, above that a shuffle
// of its own at every turn. What shared memory holds before a block differs as well: numbers, or what isn't one.
#include "tests/kernels/cuda_on_cpu.h"

#include "kernels/device/chain_record.h"
#include "kernels/device/device_internal.h"
#include "kernels/device/tile.h"
#include "tests/kernels/emulated_watch.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

// All kernels' shared memory, as the linker gathers it.
extern "C" unsigned char __start_emulated_shared[], __stop_emulated_shared[];

namespace {

constexpr size_t STACK_BYTES = 64 * 1024;
constexpr uint32_t BLOCKS_MAX = 3;       // of a launch: few, so that blocks stride over tiles
constexpr uint32_t CHAIN_BLOCKS_MAX = 8; // side by side: so many that launches leave some of them out
constexpr uint32_t CHAIN_BLOCKS[] = {CHAIN_BLOCKS_MAX, 3, 5}; // by the order of lanes
constexpr uint32_t CHAIN_LANES_MAX = CHAIN_BLOCKS_MAX * 512;
constexpr uint32_t IDLE_TURNS_MAX = 1000; // in which blocks do nothing but wait for each other
constexpr uint32_t WARPS_MAX = CHAIN_LANES_MAX / 32;
constexpr int ORDERS = 8;

enum class waits : uint8_t { nothing, warp, block, ended };

struct fibre {
    jmp_buf place;
    std::unique_ptr<char[]> stack;
    uint32_t shares; // collectives so far
};

struct warp {
    uint32_t waiting;
    uint64_t shared[2][32]; // by turns: a lane may be one collective ahead of another
};

using kernel_function = void (*)(const void *, const uint32_t *, uint32_t);
using chain_function = void (*)(const tile_chain_program *);

/// A launch of a kernel or, with a program, of a chain.
struct block_run {
    const void *function;
    const void *args;
    const uint32_t *count;
    uint32_t count_max;
    const tile_chain_program *program;
    uint32_t blocks; // that run side by side
};

fibre lanes[CHAIN_LANES_MAX];
waits states[CHAIN_LANES_MAX]; // of these: together, since every turn looks at all of them
warp warps[WARPS_MAX];
jmp_buf scheduler;
uint32_t current; // of `lanes`: those of blocks side by side lie one block after the other
uint32_t paused;  // lanes of this turn
uint32_t block_waiting[CHAIN_BLOCKS_MAX];
std::unique_ptr<char[]> shared_of[CHAIN_BLOCKS_MAX]; // but the first one's, which lies where the linker has put it
block_run running;
std::set<std::string> have_run;
const char *refused;
uint32_t tiles_at_once = UINT32_MAX; // of chains, as tanks are told
uint32_t chains_in_loops;            // that have run

// A lane is made as a context and goes on by jumps: changing contexts costs a call of the system each, for the signals'
// mask, which a jump leaves alone.
void to_scheduler(uint32_t self)
{
    if (_setjmp(lanes[self].place) == 0) {
        _longjmp(scheduler, 1);
    }
}

void turn_to(uint32_t i)
{
    current = i;
    threadIdx.x = i % blockDim.x;
    if (running.blocks > 1) {
        blockIdx.x = i / blockDim.x;
    }
}

void to_lane(uint32_t i)
{
    turn_to(i);
    if (_setjmp(scheduler) == 0) {
        _longjmp(lanes[i].place, 1);
    }
}

/// A lane's whole life: it runs one block after the other.
void lane_main()
{
    const uint32_t self = current;
    for (;;) {
        to_scheduler(self);
        if (running.program != nullptr) {
            reinterpret_cast<chain_function>(const_cast<void *>(running.function))(running.program);
        } else {
            reinterpret_cast<kernel_function>(const_cast<void *>(running.function))(running.args, running.count,
                                                                                    running.count_max);
        }
        states[self] = waits::ended;
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
    turn_to(i);
    if (_setjmp(scheduler) == 0) {
        setcontext(&context);
    }
}

void prepare_lane(uint32_t i)
{
    if (!lanes[i].stack) {
        start_lane(i);
    }
    states[i] = waits::nothing;
    lanes[i].shares = 0;
}

void wait_here(waits what)
{
    states[current] = what;
    to_scheduler(current);
}

void release(waits what, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++) {
        if (states[i] == what) {
            states[i] = waits::nothing;
        }
    }
}

/// In which order lanes and blocks take their turns.
class turn_order {
  public:
    explicit turn_order(int index) : index_(index), chance_(static_cast<uint32_t>(index))
    {
    }
    const std::vector<uint32_t> &next(uint32_t count)
    {
        if (order_.size() != count) {
            order_.resize(count);
            std::iota(order_.begin(), order_.end(), 0u);
            if (index_ == 1) {
                std::reverse(order_.begin(), order_.end());
            }
        }
        if (index_ > 1) {
            std::shuffle(order_.begin(), order_.end(), chance_);
        }
        return order_;
    }
    /// Where lanes are shuffled, a block that falls behind, as far as the others of a chain can do without it.
    /// @param is_awaited  whether they do nothing but wait
    uint32_t laggard(uint32_t blocks, bool is_awaited)
    {
        if (index_ < 2 || blocks < 2) {
            return UINT32_MAX;
        }
        if (is_awaited) {
            laggard_ = static_cast<uint32_t>(chance_()) % blocks;
            return UINT32_MAX;
        }
        return laggard_;
    }
    int rubbish() const
    {
        return index_ % 2 == 0 ? 0xa5 : 0xff;
    }

  private:
    int index_;
    std::minstd_rand chance_;
    uint32_t laggard_ = 0;
    std::vector<uint32_t> order_;
};

/// Runs each lane that can go on. @return how many have ended
uint32_t turn(turn_order &order)
{
    const uint32_t count = blockDim.x * running.blocks;
    static uint32_t idle_turns;
    static bool is_awaited;
    const uint32_t laggard = order.laggard(running.blocks, is_awaited);
    uint32_t ended = 0, ran = 0;
    paused = 0;
    for (const uint32_t i : order.next(count)) {
        if (states[i] == waits::nothing && i / blockDim.x != laggard) {
            to_lane(i);
            ran++;
        }
        ended += states[i] == waits::ended;
    }
    is_awaited = ran == paused;
    idle_turns = ran > 0 && is_awaited ? idle_turns + 1 : 0;
    if ((ran == 0 && ended < count && laggard == UINT32_MAX) || idle_turns > IDLE_TURNS_MAX) {
        for (uint32_t b = 0; b < running.blocks; b++) {
            fprintf(stderr, "a barrier was reached by %u of %u lanes\n", block_waiting[b], blockDim.x);
        }
        fprintf(stderr, "%u lanes ended without one, %u wait for other blocks\n", ended, paused);
        abort();
    }
    return ended;
}

/// A block's shared memory, as well aligned as the first one's.
char *shared_memory(uint32_t block)
{
    constexpr size_t PAGE = 4096;
    if (block == 0) {
        return reinterpret_cast<char *>(__start_emulated_shared);
    }
    if (!shared_of[block]) {
        shared_of[block].reset(new char[(size_t)(__stop_emulated_shared - __start_emulated_shared) + 2 * PAGE]);
    }
    char *const memory = shared_of[block].get();
    const size_t wanted = reinterpret_cast<uintptr_t>(__start_emulated_shared) % PAGE,
                 is = reinterpret_cast<uintptr_t>(memory) % PAGE;
    return memory + (wanted + PAGE - is) % PAGE;
}

/// Runs as many blocks as run side by side.
void run_blocks(turn_order &order)
{
    const size_t shared_bytes = (size_t)(__stop_emulated_shared - __start_emulated_shared);
    watch_block(__start_emulated_shared, shared_bytes);
    for (uint32_t b = 0; b < running.blocks; b++) {
        memset(shared_memory(b), order.rubbish(), shared_bytes);
        block_waiting[b] = 0;
    }
    for (uint32_t w = 0; w < blockDim.x * running.blocks / 32; w++) {
        warps[w].waiting = 0;
    }
    for (uint32_t i = 0; i < blockDim.x * running.blocks; i++) {
        prepare_lane(i);
    }
    while (turn(order) < blockDim.x * running.blocks) {
    }
}

// -------------------------------------------------------------------------------------------------------------- the
// device

/// A chain as one launch. It stays where it is: the program points into it.
struct chain_launch {
    chain_record record;
    uint32_t meeting[2];
    tile_chain_program program;
    uint32_t blocks_max;
    ~chain_launch()
    {
        chain_record_free(&record);
    }
};

/// What a replay keeps: launches with their arguments as they were, fills, repeats of further ones, and chains.
struct operation {
    const tarn_kernel *kernel;
    std::vector<unsigned char> args;
    const uint32_t *count; // of a launch; `go` of a repeat
    uint32_t count_max;    // of a launch; rounds of a repeat
    void *to;
    size_t bytes;
    std::vector<operation> body;
    bool is_chain;
    std::shared_ptr<chain_launch> chain; // where it can be one launch
    int mark = -1;                       // notes the time under this number, and nothing else
};

struct emulated_device {
    tarn_device base;
    turn_order lanes, blocks;
    uint32_t without, chain_blocks;
};

struct emulated_queue {
    tarn_queue base;
    std::vector<operation> *recording;
    chain_record *chain; // that is being recorded, too
    int depth;           // loops inside which something is being recorded
};

} // namespace

struct tarn_replay {
    std::vector<operation> operations;
};

emulated_index threadIdx, blockIdx, blockDim, gridDim;

// For programs that nobody watches.
__attribute__((weak)) bool watch_is_on()
{
    return false;
}
__attribute__((weak)) void watch_launch(const char *)
{
}
__attribute__((weak)) void watch_block(unsigned char *, size_t)
{
}
__attribute__((weak)) void watch_block_barrier(const char *, int)
{
}
__attribute__((weak)) void watch_warp_barrier(uint32_t)
{
}
__attribute__((weak)) void watch_last_tile()
{
}
__attribute__((weak)) void *watch_take(size_t bytes)
{
    const size_t rounded = (bytes + 255) / 256 * 256 + 256;
    void *memory = aligned_alloc(256, rounded);
    return memory == nullptr ? nullptr : memset(memory, 0, rounded);
}
__attribute__((weak)) void watch_give(void *memory)
{
    free(memory);
}
__attribute__((weak)) void watch_bar(void *, size_t)
{
}

void emulated_pause(void)
{
    paused++;
    wait_here(waits::nothing);
}

void emulated_last_tile(void)
{
    watch_last_tile();
}

void *emulated_own(void *of_first)
{
    const char *const first = static_cast<char *>(of_first);
    return shared_memory(current / blockDim.x) + (first - shared_memory(0));
}

void emulated_block_barrier(const char *file, int line)
{
    const uint32_t own = current / blockDim.x;
    if (++block_waiting[own] == blockDim.x) {
        block_waiting[own] = 0;
        watch_block_barrier(file, line);
        release(waits::block, own * blockDim.x, (own + 1) * blockDim.x);
    } else {
        wait_here(waits::block);
    }
}

/// @param orders_memory  which an exchange of values doesn't
static void meet_warp(bool orders_memory)
{
    const uint32_t first = current / 32 * 32;
    if (++warps[first / 32].waiting == 32) {
        warps[first / 32].waiting = 0;
        if (orders_memory) {
            watch_warp_barrier(first / 32);
        }
        release(waits::warp, first, first + 32);
    } else {
        wait_here(waits::warp);
    }
}

void emulated_warp_barrier(void)
{
    meet_warp(true);
}

const uint64_t *emulated_warp_share(uint64_t value)
{
    uint64_t *shared = warps[current / 32].shared[lanes[current].shares++ % 2];
    shared[threadIdx.x % 32] = value;
    meet_warp(false);
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
    running = {function, args, count, count_max, nullptr, 1};
    const uint32_t tiles = count != nullptr && *count < count_max ? *count : count_max;
    gridDim.x = watch_is_on() ? std::max(tiles, 1u) : std::min(count_max, BLOCKS_MAX);
    watch_launch(kernel->name);
    for (const uint32_t block : device->blocks.next(gridDim.x)) {
        blockIdx.x = block;
        run_blocks(device->lanes);
    }
}

void launch_chain(emulated_device *device, const chain_launch &chain)
{
    for (uint32_t i = 0; i < chain.record.op_count; i++) {
        const tile_chain_op &op = chain.record.op[i];
        if (op.what < TILE_CHAIN_LOOP && (op.count == nullptr || *op.count > 0)) {
            have_run.insert(chain.record.chain->kernels[op.what]->name);
        }
    }
    uint32_t args_bytes;
    const void *function = chain.record.chain->cuda(&blockDim.x, &args_bytes);
    gridDim.x = std::min({chain.record.most, chain.blocks_max, device->chain_blocks, CHAIN_LANES_MAX / blockDim.x});
    blockIdx.x = 0;
    running = {function, nullptr, nullptr, 0, &chain.program, gridDim.x};
    watch_launch(chain.record.chain->name);
    run_blocks(device->lanes);
    if (chain.meeting[0] != 0) {
        fprintf(stderr, "%u blocks have come to a meeting that has ended\n", chain.meeting[0]);
        abort();
    }
}

void note_time(tarn_queue *queue, int mark)
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    queue->mark_s[mark] = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void execute(tarn_queue *queue, const std::vector<operation> &operations, bool is_in_loop = false)
{
    emulated_device *device = device_of(queue);
    for (const operation &o : operations) {
        if (o.mark >= 0) {
            note_time(queue, o.mark);
        } else if (o.chain != nullptr && !watch_is_on()) { // who watches has to see which tiles are of one launch
            launch_chain(device, *o.chain);
            chains_in_loops += is_in_loop;
        } else if (o.is_chain) {
            execute(queue, o.body);
        } else if (o.kernel != nullptr) {
            launch_now(device, o.kernel, o.args.data(), o.count, o.count_max);
        } else if (o.to != nullptr) {
            memset(o.to, 0, o.bytes);
        } else {
            const bool is_unrolled = (device->without & TARN_DEVICE_WITHOUT_LOOPS) != 0;
            for (uint32_t round = 0; round < o.count_max && (is_unrolled || *o.count != 0); round++) {
                execute(queue, o.body, true);
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
    return watch_take(bytes);
}

void give(tarn_device *, void *memory)
{
    watch_give(memory);
}

void bar(tarn_device *, void *memory, size_t bytes)
{
    watch_bar(memory, bytes);
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
        if (of(base)->chain != nullptr) {
            chain_record_refuse(of(base)->chain, "it fills memory");
        }
        of(base)->recording->push_back({nullptr, {}, nullptr, 0, to, bytes, {}, false, nullptr});
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
    of(base)->recording->push_back(
        {kernel, {bytes, bytes + args_bytes}, count, count_max, nullptr, 0, {}, false, nullptr});
    if (of(base)->chain != nullptr) {
        chain_record_launch(of(base)->chain, kernel, args, count, count_max);
    }
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
    operation loop = {nullptr, {}, go, times, nullptr, 0, {}, false, nullptr};
    of(base)->recording = &loop.body;
    if (of(base)->chain != nullptr) {
        chain_record_loop(of(base)->chain, go, times);
    }
    of(base)->depth++;
    body(context);
    of(base)->depth--;
    if (of(base)->chain != nullptr) {
        chain_record_loop_end(of(base)->chain);
    }
    of(base)->recording = outer;
    outer->push_back(loop);
}

void run_chain(tarn_queue *base, const tarn_chain *chain, uint32_t blocks_max, void (*body)(void *), void *context)
{
    std::vector<operation> *outer = of(base)->recording;
    if (outer == nullptr || (device_of(base)->without & TARN_DEVICE_WITHOUT_CHAINS) != 0) {
        body(context);
        return;
    }
    operation made = {nullptr, {}, nullptr, 0, nullptr, 0, {}, true, std::make_shared<chain_launch>()};
    chain_launch &launch = *made.chain;
    launch.blocks_max = blocks_max;
    if (!chain_record_begin(&launch.record, chain)) {
        abort();
    }
    of(base)->recording = &made.body;
    of(base)->chain = &launch.record;
    body(context);
    of(base)->chain = nullptr;
    of(base)->recording = outer;
    if (chain_record_end(&launch.record)) {
        const chain_record &r = launch.record;
        launch.program = chain_record_program(&r, r.op, r.set, r.args, launch.meeting);
    } else {
        refused = launch.record.why;
        made.chain.reset();
    }
    outer->push_back(made);
}

void run(tarn_queue *base, tarn_replay **replay, void (*body)(void *), void *context)
{
    if (of(base)->recording != nullptr || (device_of(base)->without & TARN_DEVICE_WITHOUT_REPLAYS) != 0) {
        body(context);
        return;
    }
    if (*replay == nullptr) {
        *replay = new tarn_replay;
        of(base)->recording = &(*replay)->operations;
        body(context);
        of(base)->recording = nullptr;
    }
    execute(base, (*replay)->operations);
}

void replay_destroy(tarn_queue *, tarn_replay *replay)
{
    delete replay;
}

/// As on a GPU: a launch that is a chain has no places inside, and a loop's body takes no events.
bool mark(tarn_queue *base, uint32_t number)
{
    if (of(base)->chain != nullptr || of(base)->depth > 0) {
        return false;
    }
    if (of(base)->recording != nullptr) {
        of(base)->recording->push_back({nullptr, {}, nullptr, 0, nullptr, 0, {}, false, nullptr, (int)number});
    } else {
        note_time(base, (int)number);
    }
    return true;
}

double between_s(tarn_queue *base, uint32_t from, uint32_t to)
{
    return base->mark_s[to] - base->mark_s[from];
}

/// A made-up one, so that there are figures to reckon with.
double memory_rate(tarn_device *)
{
    return 1e9;
}

uint32_t chain_tiles(tarn_queue *, const tarn_chain *)
{
    return tiles_at_once;
}

const tarn_device_ops operations = {destroy, memory_bytes, take, give, queue_create, queue_destroy, copy, copy, zero,
                                    wait, launch, repeat, run_chain, run, replay_destroy, nullptr, nullptr, // lanes
                                    nullptr, nullptr, nullptr, nullptr, // shared memory, and order of queues: all is
                                                                        // done when a call returns
                                    memory_rate, mark, between_s, bar, chain_tiles};

} // namespace

extern "C" int emulated_has_run(const char *kernel)
{
    return have_run.count(kernel) > 0;
}

extern "C" void emulated_set_chain_tiles(uint32_t tiles)
{
    tiles_at_once = tiles;
}

extern "C" uint32_t emulated_chains_in_loops(void)
{
    return chains_in_loops;
}

extern "C" const char *emulated_refused(void)
{
    return refused;
}

extern "C" int tarn_cuda_device_count(void)
{
    return ORDERS;
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
    static const char *const orders[] = {"ascending", "descending", "shuffled"};
    emulated_device *device = new emulated_device{
        {}, turn_order(desc->index), turn_order(desc->index), desc->without, CHAIN_BLOCKS[std::min(desc->index, 2)]};
    device->base.ops = &operations;
    snprintf(device->base.name, sizeof device->base.name, "CUDA emulated, %s", orders[std::min(desc->index, 2)]);
    *out = &device->base;
    return TARN_OK;
}
