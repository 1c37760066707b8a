/// How blocks find a tile's fringe: all that may be needed is fetched before it shows whether some cell is thin. Part
/// of matrix.tile.c.
#ifndef TARN_KERNELS_GRID_FRINGE_CUDA_H
#define TARN_KERNELS_GRID_FRINGE_CUDA_H

/// Particles and room of a row's cells, a byte each.
typedef struct air_row {
    uint64_t count, room;
} air_row;

/// In an active and an occupied tile, if there are any; else the row of `slot` is read in their place.
TILE_FN air_row fetch_air(const grid_memory *m, uint32_t slot, uint32_t active, uint32_t occupied, uint32_t row)
{
    const uint64_t in = (uint64_t)row * TILE_EDGE;
    const int has_count = occupied != TILE_NONE, has_room = m->room != NULL && active < RIM_OUTSIDE;
    const uint8_t *count = m->cell_count + (uint64_t)(has_count ? occupied : 0) * TILE_CELLS + in;
    air_row of;
    memcpy(&of.count, __builtin_assume_aligned(count, TILE_EDGE), sizeof of.count);
    of.room = ~0ull;
    if (m->room != NULL) {
        const uint8_t *room = m->room + (uint64_t)(has_room ? active : slot) * TILE_CELLS + in;
        memcpy(&of.room, __builtin_assume_aligned(room, TILE_EDGE), sizeof of.room);
    }
    of.count = has_count ? of.count : 0;
    of.room = has_room ? of.room : ~0ull;
    return of;
}

/// Bits of its cells that are roomy and empty.
TILE_FN uint32_t air_of(air_row of)
{
    return row_bits_from((const uint8_t *)&of.room, FRINGE_ROOM) & ~row_bits_from((const uint8_t *)&of.count, 1);
}

/// A lane for each of the tile's rows, and for those beside it across y and z. Ends without a barrier.
TILE_FN void put_air(const grid_args *args, tile_place place, uint32_t slot, uint32_t occupied, fringe_scratch *s)
{
    const grid_memory *m = &args->m;
    const int ex = tile_extent(&args->shape, 0, place.x), ey = tile_extent(&args->shape, 1, place.y),
              ez = tile_extent(&args->shape, 2, place.z);
    FOR_RANGE (r, 0, TILE_ROWS + 4 * TILE_EDGE) {
        if (r < TILE_ROWS) {
            const int y = (int)r % TILE_EDGE, z = (int)r / TILE_EDGE;
            const air_row here = fetch_air(m, slot, slot, occupied, r),
                          left = fetch_air(m, slot, s->beside[0], s->occupied[0], r),
                          right = fetch_air(m, slot, s->beside[1], s->occupied[1], r);
            const uint32_t own = y < ey && z < ez ? air_of(here) & ((1u << ex) - 1) : 0;
            const uint32_t low = s->beside[0] != RIM_OUTSIDE ? air_of(left) >> 7 : 0,
                           high = s->beside[1] != RIM_OUTSIDE ? air_of(right) & 1 : 0;
            s->air[rim_row(y, z)] = (uint16_t)(low | own << 1 | high << 9);
        } else {
            const uint32_t side = 2 + (r - TILE_ROWS) / TILE_EDGE, i = r % TILE_EDGE;
            const int out = side % 2 == 0 ? -1 : TILE_EDGE;
            const uint32_t in = side % 2 == 0 ? TILE_EDGE - 1 : 0,
                           row = side < 4 ? i * TILE_EDGE + in : in * TILE_EDGE + i;
            const air_row of = fetch_air(m, slot, s->beside[side], s->occupied[side], row);
            const uint32_t bits = s->beside[side] != RIM_OUTSIDE ? air_of(of) : 0;
            s->air[side < 4 ? rim_row(out, (int)i) : rim_row((int)i, out)] = (uint16_t)(bits << 1);
        }
    }
}

TILE_FN void fringe_tile(const grid_args *args, tile_place place, uint32_t slot, uint32_t occupied, fringe_scratch *s)
{
    const grid_memory *m = &args->m;
    const uint64_t own = (uint64_t)slot * TILE_CELLS;
    find_beside(args, place, s->beside);
    FOR_RANGE (side, 0, 6) {
        const uint32_t dense = side_tile(args, 0, place, (int)side);
        s->occupied[side] = dense != TILE_NONE ? m->level[0].index[dense] : TILE_NONE;
    }
    TILE_BARRIER();
    const uint32_t x = threadIdx.x % TILE_EDGE, row = threadIdx.x / TILE_EDGE; // a lane for each cell
    uint8_t *const type = m->cell_type + own + threadIdx.x;
    const int is_liquid = *type == CELL_LIQUID;
    put_densities(args, slot, s->beside, 1, s->density);
    put_air(args, place, slot, occupied, s);
    TILE_BARRIER();
    const float density = s->density[rim_index((int)x, (int)row % TILE_EDGE, (int)row / TILE_EDGE)];
    if (is_liquid && density < SURFACE_DENSITY && fringe_of(m, s, own, row, x, 1)) {
        *type = CELL_FRINGE;
    }
}

#endif
