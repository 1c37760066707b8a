/// Kernels that test the dialect by itself, with what they share with the host.
#ifndef TARN_TESTS_DIALECT_H
#define TARN_TESTS_DIALECT_H

#include <stdint.h>

#define DIALECT_NO_KEY 0xffffffffu

enum {
    DIALECT_LANES = 96, ///< no power of two, three warps
    DIALECT_SUM_MAX = 1024,
    DIALECT_HELPERS = 10, ///< values of each
    DIALECT_RANK_MAX = 700,
    DIALECT_KEYS = 17,
    DIALECT_OFTEN = 5, ///< the most frequent key of moves
    DIALECT_PACK_PARTS = 16,
    DIALECT_BIT_ROWS = 64,  ///< of a tile, for rows as bits
    DIALECT_BIT_LATE = 48,  ///< from here on other bits are asked for
    DIALECT_MIX_STRIDE = 7, ///< from where each value comes
    DIALECT_BOX_X = 5,
    DIALECT_BOX_Y = 3,
    DIALECT_BOX_Z = 7,
    DIALECT_BOX_CELLS = DIALECT_BOX_X * DIALECT_BOX_Y * DIALECT_BOX_Z,
};

/// Those of a chain.
#define DIALECT_CHAIN_LIST(K)                                                                                          \
    K(dialect_rewind)                                                                                                  \
    K(dialect_mix)                                                                                                     \
    K(dialect_follow)                                                                                                  \
    K(dialect_round)

/// What all test kernels take; each uses some of it.
typedef struct dialect_args {
    const float *x;
    const double *xd;
    const uint32_t *key;
    float *y;
    double *yd;
    uint32_t *u;
    uint64_t *w;
    const uint32_t *go; ///< NULL: whoever looks goes on
    uint32_t n, limit;
} dialect_args;

#endif
