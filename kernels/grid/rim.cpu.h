/// How a processor loads a tile's cells with those around it: row by row, then side by side. Part of poisson.h.
#ifndef TARN_KERNELS_GRID_RIM_CPU_H
#define TARN_KERNELS_GRID_RIM_CPU_H

TILE_FN void load_densities(const grid_args *args, tile_place place, uint32_t slot, int upper, float *density,
                            uint32_t *sides)
{
    const grid_memory *m = &args->m;
    (void)sides;
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        row_store(density + rim_index(0, (int)row % TILE_EDGE, (int)row / TILE_EDGE) + x,
                  densities_of(m, (uint64_t)slot * TILE_CELLS + row * TILE_EDGE + x));
    }
    TILE_UNROLL for (int side = 0; side < 6; side += upper ? 1 : 2)
    {
        const side_walk w = side_walk_of(side);
        const uint32_t dense = side_tile(args, 0, place, side);
        const uint32_t other = dense != TILE_NONE ? m->slot[dense] : TILE_NONE;
        const uint64_t from = (uint64_t)other * TILE_CELLS + (uint64_t)w.cell;
        if (side < 2) {
            FOR_RANGE (i, 0, TILE_ROWS) {
                const int at = w.rim + (int)i % TILE_EDGE * w.i_rim + (int)i / TILE_EDGE * w.j_rim;
                density[at] = other != TILE_NONE ? density_of(m, from + i * TILE_EDGE) : 0.0f;
            }
        } else {
            FOR_ROWS (x, j, 0, TILE_EDGE) {
                const row_f32 beside =
                    other != TILE_NONE ? densities_of(m, from + j * (uint32_t)w.j_cell + x) : row_all(0.0f);
                row_store(density + w.rim + (int)j * w.j_rim + x, beside);
            }
        }
    }
}

TILE_FN void load_cells(const grid_args *args, tile_place place, uint32_t slot, cell_rim *to)
{
    const grid_memory *m = &args->m;
    const uint8_t *type = m->cell_type + (uint64_t)slot * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        to->kind[rim_index(x, y, z)] = kind_of(type[cell_index(x, y, z)]);
    }
    for (int side = 0; side < 6; side++) {
        const uint32_t dense = side_tile(args, 0, place, side);
        const uint32_t other = dense != TILE_NONE ? m->slot[dense] : TILE_NONE;
        const float missing = dense == TILE_NONE ? KIND_SOLID : KIND_AIR;
        type = m->cell_type + (uint64_t)(other != TILE_NONE ? other : 0) * TILE_CELLS;
        FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1) {
            to->kind[rim_of_side(side, i, j) + once] =
                other != TILE_NONE ? kind_of(type[cell_of_side(side, i, j)]) : missing;
        }
    }
    load_densities(args, place, slot, 1, to->distance, to->beside);
    TILE_BARRIER();
    FOR_RANGE (i, 0, RIM_CELLS) {
        to->distance[i] = surface_distance(to->distance[i]);
    }
    TILE_BARRIER();
}

#endif
