// Kernels of the dialect that do next to nothing, many of them in one replay: what remains is the waiting.
#include "tests/gpu/gpu_costs.h"
#include "tests/kernels/dialect_kernels.h"

enum { TIMES = 1000, TIMES_QUICK = 10, ROUNDS = 5, TILES_MAX = 1024 };

const char *const gpu_cost_names[GPU_COSTS] = {
    "a launch behind another one",        "a round of a loop, with a launch", "in a chain: over one tile",
    "in a chain: over 64 tiles",          "in a chain: over 1024 tiles",      "a round, with a chain of one launch",
    "a round, with a chain of 8 launches"};

typedef struct costs {
    tarn_queue *queue;
    dialect_args there, back, rounds;
    uint32_t tiles, times, in_chain; ///< in_chain: launches
} costs;

static void many_launches(void *context)
{
    const costs *c = context;
    for (uint32_t i = 0; i < c->times; i++) {
        tarn_queue_launch(c->queue, &kernel_dialect_round, &c->rounds, NULL, 1);
    }
}

static void one_launch(void *context)
{
    const costs *c = context;
    tarn_queue_launch(c->queue, &kernel_dialect_round, &c->rounds, NULL, 1);
}

static void loop(void *context)
{
    const costs *c = context;
    tarn_queue_launch(c->queue, &kernel_dialect_rewind, &c->rounds, NULL, 1);
    tarn_queue_repeat(c->queue, c->rounds.u, c->times, one_launch, context);
}

static void there_and_back(void *context)
{
    const costs *c = context;
    tarn_queue_launch(c->queue, &kernel_dialect_mix, &c->there, NULL, c->tiles);
    tarn_queue_launch(c->queue, &kernel_dialect_mix, &c->back, NULL, c->tiles);
}

static void mix(void *context)
{
    const costs *c = context;
    tarn_queue_launch(c->queue, &kernel_dialect_rewind, &c->rounds, NULL, 1);
    tarn_queue_repeat(c->queue, c->rounds.u, c->times / 2, there_and_back, context);
}

static void chain(void *context)
{
    tarn_queue_chain(((const costs *)context)->queue, &dialect_mixing_chain, TILES_MAX, mix, context);
}

static void in_turn(void *context)
{
    const costs *c = context;
    for (uint32_t i = 0; i < c->in_chain; i++) {
        tarn_queue_launch(c->queue, &kernel_dialect_mix, i % 2 == 0 ? &c->there : &c->back, NULL, c->tiles);
    }
}

static void chain_in_round(void *context)
{
    tarn_queue_chain(((const costs *)context)->queue, &dialect_mixing_chain, TILES_MAX, in_turn, context);
}

/// As the coarse levels of a tank that has too many tiles for one chain.
static void loop_of_chains(void *context)
{
    const costs *c = context;
    tarn_queue_launch(c->queue, &kernel_dialect_rewind, &c->rounds, NULL, 1);
    tarn_queue_repeat(c->queue, c->rounds.u, c->times, chain_in_round, context);
}

/// Seconds of the quickest of a few replays behind the first.
static double least_s(costs *c, void (*body)(void *))
{
    tarn_replay *replay = NULL;
    double least = 1e9;
    for (int round = 0; round <= ROUNDS; round++) {
        const double begin_s = tarn_queue_clock_s(c->queue);
        tarn_queue_run(c->queue, &replay, body, c);
        const double took_s = tarn_queue_clock_s(c->queue) - begin_s;
        least = round > 0 && took_s < least ? took_s : least;
    }
    tarn_queue_replay_destroy(c->queue, replay);
    return least;
}

static bool measure(costs *c, uint32_t *memory, double us[GPU_COSTS])
{
    static const uint32_t tiles[] = {1, 64, TILES_MAX};
    const uint32_t count = TILES_MAX * DIALECT_LANES;
    const uint32_t rounds[8] = {1, 0, UINT32_MAX, UINT32_MAX / 2}; // more than ever are done
    c->rounds.u = memory;
    c->there = (dialect_args){.key = memory + 8, .u = memory + 8 + count, .n = DIALECT_LANES};
    c->back = (dialect_args){.key = c->there.u, .u = memory + 8, .n = DIALECT_LANES};
    if (tarn_queue_upload(c->queue, memory, rounds, sizeof rounds) != TARN_OK) {
        return false;
    }
    us[0] = least_s(c, many_launches) * 1e6 / c->times;
    us[1] = least_s(c, loop) * 1e6 / c->times;
    for (uint32_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        c->tiles = tiles[i];
        us[2 + i] = least_s(c, chain) * 1e6 / c->times;
    }
    c->tiles = 64;
    for (uint32_t i = 0; i < 2; i++) {
        c->in_chain = i == 0 ? 1 : 8;
        us[5 + i] = least_s(c, loop_of_chains) * 1e6 / c->times;
    }
    return tarn_queue_wait(c->queue) == TARN_OK;
}

bool gpu_costs(tarn_device *device, double us[GPU_COSTS], bool is_quick)
{
    const size_t words = 8 + 2 * (size_t)TILES_MAX * DIALECT_LANES;
    costs c = {.times = is_quick ? TIMES_QUICK : TIMES};
    bool is_done = false;
    if (tarn_queue_create(device, &c.queue) == TARN_OK) {
        uint32_t *memory = tarn_device_alloc(device, words * sizeof *memory);
        is_done = memory != NULL && measure(&c, memory, us);
        tarn_device_free(device, memory);
        tarn_queue_destroy(c.queue);
    }
    return is_done;
}
