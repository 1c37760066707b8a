// Launches that read what other tiles wrote in the one before them come to the same as a chain and one by one: all of
// them, with a loop in the chain, or part of a round of a loop.
#include "tests/kernels/dialect_chains.h"

#include "tests/kernels/dialect_arrays.h"
#include "tests/kernels/dialect_kernels.h"

enum { ROUNDS_MAX = 9, RUNS = 3 };
enum { ROW = 4, LONG_ROW = 150 }; ///< launches; the latter: more than a chain has operations

typedef enum chained {
    CHAINED_ALL,
    CHAINED_ENDS_EARLY, ///< the same; whether rounds go on is said by the second of a round's launches, before most
                        ///< blocks have come to one
    CHAINED_IN_ROUNDS,
    CHAINED_COUNT
} chained;

typedef struct mixing {
    tarn_queue *queue;
    chained part;
    dialect_args there, back, rounds, few;
    const uint32_t *tiles; ///< device memory
    uint32_t tiles_max, blocks_max, times, row;
    bool fills; ///< what no chain can
} mixing;

static dialect_args while_going(const mixing *m, dialect_args args)
{
    args.go = m->rounds.u;
    return args;
}

static void few_and_there(void *context)
{
    const mixing *m = context;
    const dialect_args few = while_going(m, m->few), there = while_going(m, m->there);
    tarn_queue_launch(m->queue, &kernel_dialect_follow, &few, NULL, 1); // most blocks have nothing to do
    tarn_queue_launch(m->queue, &kernel_dialect_mix, &there, m->tiles, m->tiles_max);
}

static void back_again(void *context)
{
    const mixing *m = context;
    const dialect_args back = while_going(m, m->back);
    tarn_queue_launch(m->queue, &kernel_dialect_mix, &back, m->tiles, m->tiles_max);
    tarn_queue_launch(m->queue, &kernel_dialect_round, &m->rounds, NULL, 1);
}

static void end_early(const mixing *m)
{
    const dialect_args few = while_going(m, m->few), there = while_going(m, m->there), back = while_going(m, m->back);
    tarn_queue_launch(m->queue, &kernel_dialect_follow, &few, NULL, 1);
    tarn_queue_launch(m->queue, &kernel_dialect_round, &m->rounds, NULL, 1);
    tarn_queue_launch(m->queue, &kernel_dialect_mix, &there, m->tiles, m->tiles_max);
    tarn_queue_launch(m->queue, &kernel_dialect_mix, &back, m->tiles, m->tiles_max);
}

static void one_round(void *context)
{
    const mixing *m = context;
    if (m->part == CHAINED_ENDS_EARLY) {
        end_early(m);
    } else if (m->part == CHAINED_IN_ROUNDS) {
        tarn_queue_chain(m->queue, &dialect_mixing_chain, m->blocks_max, few_and_there, context);
        tarn_queue_chain(m->queue, &dialect_mixing_chain, m->blocks_max, back_again, context);
    } else {
        few_and_there(context);
        back_again(context);
    }
}

static void mix(void *context)
{
    const mixing *m = context;
    tarn_queue_launch(m->queue, &kernel_dialect_rewind, &m->rounds, NULL, 1);
    if (m->fills) {
        tarn_queue_zero(m->queue, m->rounds.u + 5, sizeof(uint32_t));
    }
    tarn_queue_repeat(m->queue, m->rounds.u, m->times, one_round, context);
    tarn_queue_launch(m->queue, &kernel_dialect_mix, &m->there, m->tiles, m->tiles_max);
    dialect_args follow = m->there;
    for (uint32_t i = 0; i < m->row; i++, follow.limit++) {
        tarn_queue_launch(m->queue, &kernel_dialect_follow, &follow, m->tiles, m->tiles_max);
    }
    tarn_queue_launch(m->queue, &kernel_dialect_follow, &m->there, m->tiles, m->tiles_max);
}

static void mix_in_chain(void *context)
{
    const mixing *m = context;
    if (m->part != CHAINED_IN_ROUNDS) {
        tarn_queue_chain(m->queue, &dialect_mixing_chain, m->blocks_max, mix, context);
    } else {
        mix(context);
    }
}

/// What dialect_mix does, on the host.
static void mix_here(const uint32_t *from, uint32_t *to, uint32_t count, uint32_t add)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = from[(i * DIALECT_MIX_STRIDE + 1) % count] * 1664525u + add;
    }
}

/// What dialect_follow does.
static void follow_here(uint32_t *values, uint32_t count, uint32_t add)
{
    for (uint32_t i = 0; i < count; i++) {
        values[i] = values[i] * 1664525u + add;
    }
}

/// The rounds that are done grow by one with each run, as dialect_rewind says; `times` caps them.
static bool check_chain_of(tarn_queue *queue, uint32_t tiles, uint32_t times, bool as_replay, bool fills, chained part)
{
    const uint32_t count = tiles * DIALECT_LANES;
    dialect_arrays all = {.queue = queue};
    uint32_t *a = dialect_array_add(&all, count * sizeof *a), *b = dialect_array_add(&all, count * sizeof *b),
             *x = dialect_array_add(&all, count * sizeof *x), *y = dialect_array_add(&all, count * sizeof *y);
    uint32_t *few = dialect_array_add(&all, DIALECT_LANES * sizeof *few), few_here[DIALECT_LANES] = {0};
    uint32_t *go = dialect_array_add(&all, 8 * sizeof *go), *given = dialect_array_add(&all, sizeof *given);
    tarn_replay *replay = NULL;
    bool result = false;
    if (!all.failed) {
        for (uint32_t i = 0; i < count; i++) {
            x[i] = a[i] = i;
        }
        go[3] = 1;
        *given = tiles;
        dialect_arrays_upload(&all);
    }
    mixing m = {.queue = queue, .part = part, .tiles_max = tiles + 7, .times = times, .fills = fills};
    m.blocks_max = times == 2 ? 1 : 2 + tiles / 2; // fewer than there are tiles, of many
    m.row = tiles > 2 ? ROW : LONG_ROW;
    m.there = dialect_to_device(&all, (dialect_args){.key = a, .u = b, .n = count, .limit = 3});
    m.back = dialect_to_device(&all, (dialect_args){.key = b, .u = a, .n = count, .limit = 5});
    m.rounds = dialect_to_device(&all, (dialect_args){.u = go});
    m.few = dialect_to_device(&all, (dialect_args){.u = few, .n = DIALECT_LANES, .limit = 7});
    m.tiles = dialect_array_device(&all, given);
    for (uint32_t run = 0; run < RUNS && !all.failed && !result; run++) {
        if (as_replay) {
            tarn_queue_run(queue, &replay, mix_in_chain, &m);
        } else {
            mix_in_chain(&m);
        }
        for (uint32_t round = 0; round < run + 1 && round < times; round++) {
            follow_here(few_here, DIALECT_LANES, 7);
            if (part != CHAINED_ENDS_EARLY || round < run) { // in the last one nobody goes any more
                mix_here(x, y, count, 3);
                mix_here(y, x, count, 5);
            }
        }
        mix_here(x, y, count, 3);
        for (uint32_t i = 0; i < m.row; i++) {
            follow_here(y, count, 3 + i);
        }
        follow_here(y, count, 3);
        all.failed |= tarn_queue_download(queue, b, dialect_array_device(&all, b), count * sizeof *b) != TARN_OK;
        for (uint32_t i = 0; i < count && !result && !all.failed; i++) {
            result = dialect_same_u32("mixed", i, b[i], y[i]);
        }
        all.failed |= tarn_queue_download(queue, few, dialect_array_device(&all, few), sizeof few_here) != TARN_OK;
        for (uint32_t i = 0; i < DIALECT_LANES && !result && !all.failed; i++) {
            result = dialect_same_u32("by one tile", i, few[i], few_here[i]);
        }
    }
    tarn_queue_replay_destroy(queue, replay);
    return dialect_arrays_end(&all, result);
}

int dialect_check_chains(tarn_queue *queue)
{
    const uint32_t tiles[] = {1, 2, 300}, times[] = {0, 2, ROUNDS_MAX};
    for (uint32_t t = 0; t < sizeof tiles / sizeof tiles[0]; t++) {
        for (uint32_t i = 0; i < sizeof times / sizeof times[0]; i++) {
            for (int part = 0; part < CHAINED_COUNT; part++) {
                if (check_chain_of(queue, tiles[t], times[i], false, false, (chained)part) ||
                    check_chain_of(queue, tiles[t], times[i], true, false, (chained)part)) {
                    return 1;
                }
            }
        }
    }
    return check_chain_of(queue, 3, ROUNDS_MAX, true, true, CHAINED_ALL);
}
