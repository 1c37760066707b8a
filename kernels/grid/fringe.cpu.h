/// How a processor finds a tile's fringe: where some cell is thin, row by row. Part of matrix.tile.c.
#ifndef TARN_KERNELS_GRID_FRINGE_CPU_H
#define TARN_KERNELS_GRID_FRINGE_CPU_H

/// Bits of a row's cells that are roomy and empty, in an active and an occupied tile if there are any.
TILE_FN uint32_t air_of_row(const grid_memory *m, uint32_t slot, uint32_t occupied, uint32_t row)
{
    const uint64_t at = (uint64_t)row * TILE_EDGE;
    uint32_t air = 0xff;
    if (occupied != TILE_NONE) {
        air &= ~row_bits_from(m->cell_count + (uint64_t)occupied * TILE_CELLS + at, 1);
    }
    if (m->room != NULL && slot != TILE_NONE) {
        air &= row_bits_from(m->room + (uint64_t)slot * TILE_CELLS + at, FRINGE_ROOM);
    }
    return air;
}

/// Ends without a barrier.
TILE_FN void load_air(const grid_args *args, tile_place place, uint32_t slot, uint32_t occupied, uint16_t *air)
{
    const grid_memory *m = &args->m;
    const int ex = tile_extent(&args->shape, 0, place.x), ey = tile_extent(&args->shape, 1, place.y),
              ez = tile_extent(&args->shape, 2, place.z);
    uint32_t is_there[6], other[6], beside[6];
    for (int side = 0; side < 6; side++) {
        const uint32_t dense = side_tile(args, 0, place, side);
        is_there[side] = dense != TILE_NONE;
        other[side] = dense != TILE_NONE ? m->slot[dense] : TILE_NONE;
        beside[side] = dense != TILE_NONE ? m->level[0].index[dense] : TILE_NONE;
    }
    FOR_RANGE (row, 0, TILE_ROWS) {
        const int y = (int)row % TILE_EDGE, z = (int)row / TILE_EDGE;
        const uint32_t own = y < ey && z < ez ? air_of_row(m, slot, occupied, row) & ((1u << ex) - 1) : 0;
        const uint32_t low = is_there[0] ? air_of_row(m, other[0], beside[0], row) >> 7 : 0,
                       high = is_there[1] ? air_of_row(m, other[1], beside[1], row) & 1 : 0;
        air[rim_row(y, z)] = (uint16_t)(low | own << 1 | high << 9);
    }
    for (int side = 2; side < 6; side++) {
        const int out = side % 2 == 0 ? -1 : TILE_EDGE, in = side % 2 == 0 ? TILE_EDGE - 1 : 0;
        FOR_RANGE (i, 0, TILE_EDGE) {
            const uint32_t row = side < 4 ? i * TILE_EDGE + (uint32_t)in : (uint32_t)in * TILE_EDGE + i;
            const uint32_t bits = is_there[side] ? air_of_row(m, other[side], beside[side], row) : 0;
            air[side < 4 ? rim_row(out, (int)i) : rim_row((int)i, out)] = (uint16_t)(bits << 1);
        }
    }
}

/// Those of a row's cells that have liquid and whose centre is in the air.
TILE_FN row_i32 thin_of_row(const grid_memory *m, uint64_t cell)
{
    return (row_load_u8(m->cell_type + cell) == (float)CELL_LIQUID) & (densities_of(m, cell) < SURFACE_DENSITY);
}

TILE_FN void fringe_tile(const grid_args *args, tile_place place, uint32_t slot, uint32_t occupied, fringe_scratch *s)
{
    const grid_memory *m = &args->m;
    const uint64_t own = (uint64_t)slot * TILE_CELLS;
    s->hollow = 0;
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        s->hollow |= (uint32_t)row_any(thin_of_row(m, own + row * TILE_EDGE + x));
    }
    if (s->hollow == 0) {
        return;
    }
    load_densities(args, place, slot, 1, s->density, s->beside);
    load_air(args, place, slot, occupied, s->air);
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        const row_i32 thin = thin_of_row(m, own + row * TILE_EDGE + x);
        if (row_any(thin)) {
            row_put_u8(m->cell_type + own + row * TILE_EDGE + x, fringe_of(m, s, own, row, x, thin), CELL_FRINGE);
        }
    }
}

#endif
