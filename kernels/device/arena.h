/// Memory that comes and goes at once: one allocation of a device, with many pieces in it one behind the other.
///
///     tarn_arena arena = {0};
///     place(&arena);                                       // tarn_arena_piece for each: measured, nothing is there
///     status = tarn_arena_take(&arena, device, TARN_ARENA_DEVICE);
///     place(&arena);                                       // the same ones again, in the same order
///     ...
///     tarn_arena_give(&arena);
///
/// An allocation is dear on a GPU (kernels/device/README.md). Where pages come when they are first written, as on the
/// CPU, what nobody writes of a piece takes no memory.
#ifndef TARN_KERNELS_ARENA_H
#define TARN_KERNELS_ARENA_H

#include "kernels/device/device_work.h"

/// At least so many bytes between two pieces belong to none, and where each begins is a multiple.
enum { TARN_ARENA_GAP_BYTES = 256 };

typedef enum tarn_arena_kind { TARN_ARENA_DEVICE, TARN_ARENA_SHARED } tarn_arena_kind;

/// All zero: nothing is measured or taken.
typedef struct tarn_arena {
    tarn_device *device;   ///< NULL: it isn't taken
    unsigned char *memory; ///< NULL: the same
    uint64_t bytes;        ///< of device memory; before it is taken: as measured so far
    uint64_t used;         ///< by pieces, once it is taken
    tarn_arena_kind kind;
} tarn_arena;

#ifdef __cplusplus
extern "C" {
#endif

/// A piece, zeroed at first, aligned as the device's memory is, up to 256 bytes. @return NULL: it is being measured
void *tarn_arena_piece(tarn_arena *arena, uint64_t bytes);

/// Takes what has been measured.
/// @param kind  TARN_ARENA_SHARED: the host reads it in place (tarn_device_alloc_shared)
/// @return TARN_OK, or TARN_E_MEMORY: there is nothing to give
tarn_status tarn_arena_take(tarn_arena *arena, tarn_device *device, tarn_arena_kind kind);

/// Gives all of it back, where it was taken; it is all zero then. Whatever used it has ended (tarn_device_free).
void tarn_arena_give(tarn_arena *arena);

#ifdef __cplusplus
}
#endif
#endif
