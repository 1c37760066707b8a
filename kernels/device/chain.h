/// What a chain's program looks like in device memory: the launches that one kernel does one after the other
/// (tile_chain.h), as chain_record.h writes them.
#ifndef TARN_KERNELS_CHAIN_H
#define TARN_KERNELS_CHAIN_H

#include <stdint.h>

enum {
    TILE_CHAIN_OPS_MAX = 128,
    TILE_CHAIN_SETS_MAX = 64,  ///< of arguments that differ from each other
    TILE_CHAIN_WORDS_MAX = 24, ///< of 32 bits in which they differ
    TILE_CHAIN_NO_WORD = 0xffff,
};

/// What an operation is, besides a kernel's number in the chain's list.
enum {
    TILE_CHAIN_LOOP = 1 << 16, ///< goes to `to` where no round is left to do
    TILE_CHAIN_NEXT,           ///< goes back to `to` where one is
};

typedef struct tile_chain_op {
    const uint32_t *count; ///< device memory; of a launch: tiles, or NULL; of both ends of a loop: go
    uint32_t what;
    uint32_t most;  ///< tiles; of a loop's begin: rounds
    uint32_t set;   ///< of argument words
    uint32_t to;    ///< of both ends of a loop
    uint32_t times; ///< a launch is done so often, one behind the other;
    uint32_t word;  ///< of its arguments this one is one more each time; once: it is none
} tile_chain_op;

/// A kernel takes it by value; what it points to is device memory.
typedef struct tile_chain_program {
    const tile_chain_op *ops;
    const uint32_t *sets; ///< [set_count][word_count]
    const uint32_t *args; ///< all of one launch's argument words
    uint32_t *meeting; ///< [2], zero before and after: how often blocks have come to meetings, and how many have left
    uint32_t op_count, set_count, word_count;
    uint32_t word[TILE_CHAIN_WORDS_MAX]; ///< which words of the arguments are a set's
} tile_chain_program;

#endif
