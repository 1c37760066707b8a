/// A chain: kernels of one argument type that a GPU does one after the other within one launch, with a barrier of all
/// its blocks in between, which takes less than half of what a launch takes that waits for another one.
///
///     #define SOLVER_KERNELS(K) K(smooth) K(restrict) ...
///     TILE_CHAIN(solver, 256, solver_args, SOLVER_KERNELS)
///
/// stands in a .tile.c behind the files with its kernels. The host says which launches are one (tarn_queue_chain in
/// device_work.h); chain_record.h makes them the program that the chain's blocks go through, each by itself. A row of
/// launches that differ in one word, which counts up, is one operation of it, however long. Besides the dialect's
/// rules:
/// - its kernels run with the chain's lanes, whatever their own are: none of them uses FOR_LANES;
/// - no kernel writes what another launch of the chain counts its tiles by;
/// - a loop's `go` is written by the launches in it, but not by the one that comes next behind the loop's begin or end:
///   blocks that are ahead do it while others still look. One that turns out to have no tiles is none. Loops are not
///   nested.
/// A block comes to the meeting behind an operation if it has tiles of it, and waits for those of all before where it
/// has tiles again: coarse levels are few blocks' business. All come behind the operation that follows a loop's begin
/// or end, so that nobody still looks whether to go on when that changes.
///
/// That no block waits for ever, however many tanks' chains a device has, hangs on this:
/// - all of a chain's blocks are resident at the same time, whatever else runs: the launch is a cooperative one, which
///   CUDA promises that of, or refuses. It begins when there is room for all of its blocks and not for some, so that
///   two chains don't each hold what the other one waits for.
/// - a block waits for nothing but meetings of its own launch, and what is done between them doesn't wait.
/// - how many come to a meeting, and so how many are waited for, follows from counts of tiles and the number of blocks,
///   which nothing in the chain changes, and from where loops went, which is the same for all: a block reads `go`
///   behind a meeting of all before it and in front of the next one of all, and nobody writes it in between.
/// - blocks beyond those that take part return before the first meeting, and nobody counts them.
/// - the counter of meetings is 0 again when the last block leaves, and launches of one program follow each other in
///   their queue. It counts less than 2^32: that is 10^7 meetings of 400 blocks in one launch.
/// A chain of many blocks may have to wait for room while smaller ones beside it come and go. Hence tarn_queue_chain's
/// blocks_max, and no more blocks than tiles.
///
/// On the CPU a chain is nothing: its launches are launches.
#ifndef TARN_KERNELS_TILE_CHAIN_H
#define TARN_KERNELS_TILE_CHAIN_H

#include "kernels/device/chain.h"
#include "kernels/device/tile.h"

#ifdef __CUDACC__

#ifndef TILE_CHAIN_PAUSE
#define TILE_CHAIN_PAUSE() ((void)0) // of a block that waits for others
#endif

/// What a block keeps of the program. Counts are those of before the chain, which nothing in it changes.
typedef struct tile_chain_book {
    tile_chain_op op[TILE_CHAIN_OPS_MAX];
    uint32_t set[TILE_CHAIN_SETS_MAX * TILE_CHAIN_WORDS_MAX];
} tile_chain_book;

/// @return how many blocks take part: no more than have a tile in loops, which is nearly all that there is to do. The
/// others leave their place to other tanks.
TILE_FN uint32_t tile_chain_open(const tile_chain_program *program, tile_chain_book *book, uint32_t *args,
                                 uint32_t args_words)
{
    FOR_RANGE (i, 0, program->op_count) {
        tile_chain_op op = program->ops[i];
        if (op.what < TILE_CHAIN_LOOP && op.count != nullptr) {
            op.most = tile_min_u32(*op.count, op.most);
        }
        book->op[i] = op;
    }
    FOR_RANGE (i, 0, program->set_count * program->word_count) {
        book->set[i] = program->sets[i];
    }
    FOR_RANGE (i, 0, args_words) {
        args[i] = program->args[i];
    }
    TILE_BARRIER();
    uint32_t most = 0, in_loops = 0, is_in_loop = 0;
    for (uint32_t i = 0; i < program->op_count; i++) {
        const tile_chain_op *op = book->op + i;
        if (op->what >= TILE_CHAIN_LOOP) {
            is_in_loop = op->what == TILE_CHAIN_LOOP;
        } else {
            most = tile_max_u32(most, op->most);
            in_loops = is_in_loop ? tile_max_u32(in_loops, op->most) : in_loops;
        }
    }
    return tile_min_u32(in_loops > 0 ? in_loops : most, gridDim.x);
}

/// Waits until so many have come to meetings, and sees what they had written.
TILE_FN void tile_chain_wait(const uint32_t *meeting, uint32_t come)
{
    if (TILE_SINGLE()) {
        while (tile_glance_u32(meeting) < come) {
            TILE_CHAIN_PAUSE();
        }
        (void)tile_look_u32(meeting);
    }
    TILE_BARRIER();
}

/// Puts an operation's words into the arguments, while what it needs is made elsewhere.
/// @param time  how often it has been done
TILE_FN void tile_chain_turn_to(const tile_chain_program *program, const tile_chain_book *book, const tile_chain_op *op,
                                uint32_t time, uint32_t *args, uint32_t come)
{
    FOR_RANGE (i, 0, program->word_count) {
        const uint32_t word = program->word[i];
        args[word] = book->set[op->set * program->word_count + i] + (word == op->word ? time : 0);
    }
    tile_chain_wait(program->meeting, come);
}

/// The last block to leave makes the meetings what they were.
TILE_FN void tile_chain_leave(uint32_t *meeting, uint32_t blocks)
{
    if (TILE_SINGLE() && tile_come_u32(meeting + 1) == blocks - 1) {
        meeting[0] = meeting[1] = 0;
    }
}

/// Where a loop's end goes. @param left  rounds
TILE_FN uint32_t tile_chain_jump(const tile_chain_op *op, uint32_t at, uint32_t *left)
{
    const uint32_t goes = *static_cast<const volatile uint32_t *>(op->count);
    *left = op->what == TILE_CHAIN_LOOP ? op->most : *left - 1;
    return (goes != 0 && *left > 0) == (op->what == TILE_CHAIN_NEXT) ? op->to : at + 1;
}

#define TILE_CHAIN_SCRATCH(name) tile_scratch_of_##name name##_;
#define TILE_CHAIN_NUMBER(name) chain_##name##_number,
#define TILE_CHAIN_CASE(name)                                                                                          \
    case chain_##name##_number:                                                                                        \
        name##_body(args, tile, &own->scratch.name##_);                                                                \
        break;

#define TILE_CHAIN(name, lanes, args_type, LIST)                                                                       \
    enum chain_##name##_numbers{LIST(TILE_CHAIN_NUMBER)};                                                              \
    union chain_##name##_scratch {                                                                                     \
        LIST(TILE_CHAIN_SCRATCH)                                                                                       \
    };                                                                                                                 \
    struct chain_##name##_shared {                                                                                     \
        chain_##name##_scratch scratch;                                                                                \
        args_type args;                                                                                                \
        tile_chain_book book;                                                                                          \
    };                                                                                                                 \
    TILE_ASSERT(sizeof(chain_##name##_shared) <= (size_t)TARN_TILE_SCRATCH_BYTES_MAX, "shared memory of " #name);      \
    static __global__ void __launch_bounds__(lanes) tarn_cuda_chain_##name(TILE_ARGUMENT(tile_chain_program) program)  \
    {                                                                                                                  \
        TILE_SHARED(chain_##name##_shared, own, 1);                                                                    \
        const args_type *const args = &own->args;                                                                      \
        uint32_t *const words = reinterpret_cast<uint32_t *>(&own->args);                                              \
        const uint32_t blocks = tile_chain_open(&program, &own->book, words, sizeof(args_type) / 4);                   \
        if (blockIdx.x >= blocks) {                                                                                    \
            return;                                                                                                    \
        }                                                                                                              \
        uint32_t left = 0, come = 0, at = 0;                                                                           \
        bool all_come = false;                                                                                         \
        while (at < program.op_count) {                                                                                \
            const tile_chain_op *const op = own->book.op + at;                                                         \
            if (op->what >= TILE_CHAIN_LOOP) {                                                                         \
                tile_chain_wait(program.meeting, come);                                                                \
                at = tile_chain_jump(op, at, &left);                                                                   \
                all_come = true;                                                                                       \
                continue;                                                                                              \
            }                                                                                                          \
            at++;                                                                                                      \
            if (op->most == 0) {                                                                                       \
                continue;                                                                                              \
            }                                                                                                          \
            for (uint32_t time = 0; time < op->times; time++) {                                                        \
                const uint32_t comes = all_come ? blocks : tile_min_u32(op->most, blocks);                             \
                all_come = false;                                                                                      \
                if (blockIdx.x < op->most) {                                                                           \
                    tile_chain_turn_to(&program, &own->book, op, time, words, come);                                   \
                    for (uint32_t tile = blockIdx.x; tile < op->most; tile += blocks) {                                \
                        switch (op->what) {                                                                            \
                            LIST(TILE_CHAIN_CASE)                                                                      \
                        }                                                                                              \
                        TILE_END();                                                                                    \
                    }                                                                                                  \
                } else {                                                                                               \
                    TILE_BARRIER(); /* all its lanes have seen whether the loop goes on */                             \
                }                                                                                                      \
                if (blockIdx.x < comes && TILE_SINGLE()) {                                                             \
                    tile_arrive_u32(program.meeting);                                                                  \
                }                                                                                                      \
                come += comes;                                                                                         \
            }                                                                                                          \
        }                                                                                                              \
        tile_chain_leave(program.meeting, blocks);                                                                     \
    }                                                                                                                  \
    extern "C" const void *tarn_cuda_chain_entry_##name(uint32_t *block_lanes, uint32_t *args_bytes)                   \
    {                                                                                                                  \
        *block_lanes = lanes;                                                                                          \
        *args_bytes = sizeof(args_type);                                                                               \
        return reinterpret_cast<const void *>(&tarn_cuda_chain_##name);                                                \
    }

#else
#define TILE_CHAIN(name, lanes, args_type, LIST)                                                                       \
    TILE_ASSERT((lanes) % 32 == 0 && (lanes) <= (int)TARN_TILE_LANES_MAX, "lanes of " #name);
#endif
#endif
