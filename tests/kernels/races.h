/// Looks at every access that an emulated kernel makes to device and shared memory, in the order that CUDA promises:
/// lanes of a warp, barriers of a warp and of a block, launches; nothing between the tiles of a launch.
///
/// Reported: two accesses of a place that nothing orders, one of them a write and not both atomic, of two lanes or of
/// two tiles; shared memory that is read before its tile has written it; device memory beyond an allocation or a piece
/// of an arena, or freed. Every tile is a block of its own then, as on a device that has room for all.
///
/// The kernels are compiled with clang's -fsanitize=thread, whose calls come here instead of to its own library. What a
/// lane keeps in registers or on its stack isn't looked at.
#ifndef TARN_TESTS_RACES_H
#define TARN_TESTS_RACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RACES_TEXT_BYTES = 1024, RACES_KINDS_MAX = 64, RACES_BARRIERS_MAX = 512 };

typedef enum race_kind {
    RACE_LANES,     ///< of one tile, without a barrier between them
    RACE_TILES,     ///< of one launch
    RACE_UNWRITTEN, ///< shared memory that its tile has not written
    RACE_BOUNDS,    ///< no device memory, or no longer
} race_kind;

/// A barrier in the source.
typedef struct race_barrier {
    const char *file;
    int line;
    uint64_t crossed; ///< how often a block has
    bool is_needed;   ///< accesses that nothing but it parts would race without it
} race_barrier;

#ifdef __cplusplus
extern "C" {
#endif

/// How many different ones have been found since the last call of races_forget: pairs of places in the source. At most
/// RACES_KINDS_MAX are kept.
uint32_t races_count(void);
race_kind races_kind(uint32_t i);

/// Says which and where, for people.
void races_text(uint32_t i, char text[RACES_TEXT_BYTES]);
void races_forget(void);

/// Bytes of device memory that a kernel's launches have touched since the last call of races_count_bytes_anew: each
/// counts once in a launch as read, if it wasn't written there before, and once as written.
void races_bytes(const char *kernel, uint64_t *read, uint64_t *written);
void races_count_bytes_anew(void);

/// Of all barriers that a block has come to since the program's start.
uint32_t races_barrier_count(void);
const race_barrier *races_barrier(uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
