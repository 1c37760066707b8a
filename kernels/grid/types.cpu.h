/// How a processor makes bits of the types of a tile's cells: it takes the signs of a plane of 64. Part of halo.h.
#ifndef TARN_KERNELS_GRID_TYPES_CPU_H
#define TARN_KERNELS_GRID_TYPES_CPU_H

typedef uint8_t types_u8x8 __attribute__((vector_size(8)));
typedef uint16_t types_u16x8 __attribute__((vector_size(16)));

/// A bit of each of a plane's cells, a byte for a row.
TILE_FN types_u16x8 types_of_plane(const uint8_t *cells, int bit)
{
    uint64_t bits = 0;
#if defined(__AVX512BW__)
    bits = _mm512_test_epi8_mask(_mm512_loadu_si512(cells), _mm512_set1_epi8((char)(1 << bit)));
#elif defined(__AVX2__)
    for (int i = 0; i < 2; i++) {
        const __m256i types = _mm256_loadu_si256((const __m256i *)(cells + 32 * i));
        bits |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(types, 7 - bit)) << 32 * i;
    }
#elif defined(__SSE2__)
    for (int i = 0; i < 4; i++) {
        const __m128i types = _mm_loadu_si128((const __m128i *)(cells + 16 * i));
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_slli_epi16(types, 7 - bit)) << 16 * i;
    }
#else
    for (int y = 0; y < TILE_EDGE; y++) {
        bits |= (uint64_t)row_bits(cells + y * TILE_EDGE, bit) << TILE_EDGE * y;
    }
#endif
    types_u8x8 rows;
    memcpy(&rows, &bits, sizeof rows);
    return __builtin_convertvector(rows, types_u16x8);
}

/// The rows of the tile itself. `from`: types of the tiles on its sides, `missing` where that is NULL.
TILE_FN void type_rows_inside(const uint8_t *own, const uint8_t *const *from, const uint32_t *missing, type_rows *to)
{
    for (int bit = 0; bit < 2; bit++) {
        const types_u16x8 none = {0};
        for (int z = 0; z < TILE_EDGE; z++) {
            const int plane = z * TILE_EDGE * TILE_EDGE;
            const types_u16x8 low =
                from[0] != NULL ? types_of_plane(from[0] + plane, bit) >> 7 : none + (uint16_t)(missing[0] >> bit & 1);
            const types_u16x8 high =
                from[1] != NULL ? types_of_plane(from[1] + plane, bit) & 1 : none + (uint16_t)(missing[1] >> bit & 1);
            const types_u16x8 all = low | types_of_plane(own + plane, bit) << 1 | high << 9;
            memcpy((bit == 0 ? to->liquid : to->solid) + rim_row(0, z), &all, sizeof all);
        }
    }
}

TILE_FN void load_type_rows(const grid_args *args, tile_place place, uint32_t slot, type_rows *to)
{
    const uint8_t *from[6], *own = args->m.cell_type + (uint64_t)slot * TILE_CELLS;
    uint32_t missing[6];
    for (int side = 0; side < 6; side++) {
        const uint32_t dense = side_tile(args, 0, place, side);
        const uint32_t other = dense != TILE_NONE ? args->m.slot[dense] : TILE_NONE;
        from[side] = other != TILE_NONE ? args->m.cell_type + (uint64_t)other * TILE_CELLS : NULL;
        missing[side] = dense == TILE_NONE ? CELL_SOLID : CELL_AIR;
    }
    type_rows_inside(own, from, missing, to);
    for (int side = 2; side < 6; side++) {
        const int out = side % 2 == 0 ? -1 : TILE_EDGE, in = side % 2 == 0 ? TILE_EDGE - 1 : 0;
        for (uint32_t i = 0; i < TILE_EDGE; i++) {
            const int at = side < 4 ? rim_row(out, (int)i) : rim_row((int)i, out);
            const uint32_t row = side < 4 ? i * TILE_EDGE + (uint32_t)in : (uint32_t)in * TILE_EDGE + i;
            const uint8_t *cells = from[side] != NULL ? from[side] + row * TILE_EDGE : NULL;
            to->liquid[at] = (uint16_t)((cells != NULL ? row_bits(cells, 0) : (missing[side] & 1) * 0xffu) << 1);
            to->solid[at] = (uint16_t)((cells != NULL ? row_bits(cells, 1) : (missing[side] >> 1) * 0xffu) << 1);
        }
    }
}

#endif
