/// Writes the program of a chain (chain.h) from its launches. Private to kernels/device and its emulation.
#ifndef TARN_KERNELS_CHAIN_RECORD_H
#define TARN_KERNELS_CHAIN_RECORD_H

#include "kernels/device/chain.h"
#include "kernels/device/device_work.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct chain_record {
    const tarn_chain *chain;
    const char *why;                  ///< it can't be one launch; NULL: it can
    uint32_t lanes, args_bytes, most; ///< most: tiles of the largest launch, as far as the host knows
    uint32_t op_count, set_count, word_count;
    int loop; ///< the op that the present loop begins with, or -1
    tile_chain_op op[TILE_CHAIN_OPS_MAX];
    uint32_t word[TILE_CHAIN_WORDS_MAX];
    uint32_t set[TILE_CHAIN_SETS_MAX * TILE_CHAIN_WORDS_MAX];
    unsigned char *args; ///< [op_count][args_bytes], until the end
} chain_record;

/// Begins; the record's memory is the caller's, 40 kB. Nothing but chain_record_free may follow if it gives false.
/// @return false: there is no memory, or the chain has no form for CUDA
bool chain_record_begin(chain_record *record, const tarn_chain *chain);

void chain_record_launch(chain_record *record, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                         uint32_t count_max);
void chain_record_loop(chain_record *record, const uint32_t *go, uint32_t times);
void chain_record_loop_end(chain_record *record);

/// Where something else than a launch or a repeat came.
void chain_record_refuse(chain_record *record, const char *why);

/// @return whether it can be one launch: then op, set and word are the program's, and the first args_bytes of args
bool chain_record_end(chain_record *record);

/// The program once its parts lie in device memory: ops, sets, args as in the record, and two words that are 0.
tile_chain_program chain_record_program(const chain_record *record, const void *ops, const void *sets, const void *args,
                                        void *meeting);

void chain_record_free(chain_record *record);

#ifdef __cplusplus
}
#endif
#endif
