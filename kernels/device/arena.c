// Pieces lie behind each other with a gap after each that is nobody's: where somebody looks at bounds, what goes beyond
// a piece is seen as it is beyond an allocation.
#include "kernels/device/arena.h"
#include "protocol/assert.h"

/// With the gap behind it.
static uint64_t room_of(uint64_t bytes)
{
    return (bytes + 2 * (uint64_t)TARN_ARENA_GAP_BYTES - 1) / TARN_ARENA_GAP_BYTES * TARN_ARENA_GAP_BYTES;
}

void *tarn_arena_piece(tarn_arena *arena, uint64_t bytes)
{
    const uint64_t room = room_of(bytes);
    if (arena->memory == NULL) {
        arena->bytes += room;
        return NULL;
    }
    TARN_ASSERT(room <= arena->bytes - arena->used); // it was measured with the same pieces
    unsigned char *piece = arena->memory + arena->used;
    arena->used += room;
    tarn_device_bar(arena->device, piece + bytes, (size_t)(room - bytes));
    return piece;
}

tarn_status tarn_arena_take(tarn_arena *arena, tarn_device *device, tarn_arena_kind kind)
{
    TARN_ASSERT(arena->memory == NULL && arena->bytes <= SIZE_MAX);
    const size_t bytes = (size_t)arena->bytes;
    void *memory =
        kind == TARN_ARENA_SHARED ? tarn_device_alloc_shared(device, bytes) : tarn_device_alloc(device, bytes);
    if (memory == NULL) {
        *arena = (tarn_arena){0};
        return TARN_E_MEMORY;
    }
    *arena = (tarn_arena){.device = device, .memory = memory, .bytes = bytes, .kind = kind};
    return TARN_OK;
}

void tarn_arena_give(tarn_arena *arena)
{
    if (arena->memory != NULL && arena->kind == TARN_ARENA_SHARED) {
        tarn_device_free_shared(arena->device, arena->memory);
    } else if (arena->memory != NULL) {
        tarn_device_free(arena->device, arena->memory);
    }
    *arena = (tarn_arena){0};
}
