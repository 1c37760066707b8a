/// How blocks load a tile's cells with those around it: in one go over the cells of the tile and of its sides, several
/// of a lane's on their way at a time. Part of poisson.h.
#ifndef TARN_KERNELS_GRID_RIM_CUDA_H
#define TARN_KERNELS_GRID_RIM_CUDA_H

TILE_ASSERT((int)RIM_TURNS *(int)SOLVER_LANES >= (int)TILE_CELLS + 6 * (int)RIM_SIDE, "a tile and its sides");

/// Cells of a tile and of its six sides, or of the lower three.
TILE_FN uint32_t rim_cells(int upper)
{
    return TILE_CELLS + (uint32_t)(upper ? 6 : 3) * RIM_SIDE;
}

/// What a lane fetches of them, to make densities of.
typedef struct rim_values {
    float error[RIM_TURNS];
    uint8_t room[RIM_TURNS];
    uint8_t is_there[RIM_TURNS];
} rim_values;

/// Cells first, first + lanes and so on, of which none waits for another: what isn't there is read from the tile
/// itself. `beside`: find_beside.
TILE_FN rim_values fetch_densities(const grid_args *args, uint32_t slot, const uint32_t *beside, int upper,
                                   uint32_t first)
{
    const grid_memory *m = &args->m;
    uint64_t at[RIM_TURNS];
    rim_values value;
    TILE_UNROLL for (uint32_t k = 0; k < RIM_TURNS; k++)
    {
        const rim_cell c = rim_cell_of(tile_min_u32(first + k * blockDim.x, rim_cells(upper) - 1), upper ? 1 : 2);
        const uint32_t from = c.side < 0 ? slot : beside[tile_max_i32(c.side, 0)];
        value.is_there[k] = from < RIM_OUTSIDE;
        at[k] = (uint64_t)(from < RIM_OUTSIDE ? from : slot) * TILE_CELLS + c.cell;
    }
    TILE_UNROLL for (uint32_t k = 0; k < RIM_TURNS; k++) value.error[k] = m->density_error[at[k]];
    if (m->room != NULL) {
        TILE_UNROLL for (uint32_t k = 0; k < RIM_TURNS; k++) value.room[k] = m->room[at[k]];
    }
    return value;
}

/// As density_of; zero where there is no tile.
TILE_FN float fetched_density(const grid_memory *m, const rim_values *value, uint32_t k)
{
    const float density = value->error[k] + 1.0f;
    const float of_room = m->room != NULL ? density * 255.0f / (float)tile_max_i32(value->room[k], ROOM_MIN) : density;
    return value->is_there[k] ? of_room : 0.0f;
}

/// Ends without a barrier.
TILE_FN void put_densities(const grid_args *args, uint32_t slot, const uint32_t *beside, int upper, float *density)
{
    for (uint32_t first = threadIdx.x; first < rim_cells(upper); first += RIM_TURNS * blockDim.x) {
        const rim_values value = fetch_densities(args, slot, beside, upper, first);
        TILE_UNROLL for (uint32_t k = 0; k < RIM_TURNS; k++)
        {
            const uint32_t n = first + k * blockDim.x;
            if (n < rim_cells(upper)) {
                density[rim_cell_of(n, upper ? 1 : 2).rim] = fetched_density(&args->m, &value, k);
            }
        }
    }
}

TILE_FN void load_densities(const grid_args *args, tile_place place, uint32_t slot, int upper, float *density,
                            uint32_t *beside)
{
    find_beside(args, place, beside);
    TILE_BARRIER();
    put_densities(args, slot, beside, upper, density);
}

TILE_FN void load_cells(const grid_args *args, tile_place place, uint32_t slot, cell_rim *to)
{
    const uint8_t *const types = args->m.cell_type;
    find_beside(args, place, to->beside);
    TILE_BARRIER();
    for (uint32_t first = threadIdx.x; first < rim_cells(1); first += RIM_TURNS * blockDim.x) {
        const rim_values value = fetch_densities(args, slot, to->beside, 1, first);
        uint8_t type[RIM_TURNS];
        TILE_UNROLL for (uint32_t k = 0; k < RIM_TURNS; k++)
        {
            const rim_cell c = rim_cell_of(tile_min_u32(first + k * blockDim.x, rim_cells(1) - 1), 1);
            const uint32_t from = c.side < 0 ? slot : to->beside[tile_max_i32(c.side, 0)];
            type[k] = types[(uint64_t)(from < RIM_OUTSIDE ? from : slot) * TILE_CELLS + c.cell];
        }
        TILE_UNROLL for (uint32_t k = 0; k < RIM_TURNS; k++) if (first + k * blockDim.x < rim_cells(1))
        {
            const rim_cell c = rim_cell_of(first + k * blockDim.x, 1);
            const uint32_t from = c.side < 0 ? slot : to->beside[tile_max_i32(c.side, 0)];
            const float missing = from == RIM_OUTSIDE ? KIND_SOLID : KIND_AIR;
            to->kind[c.rim] = from < RIM_OUTSIDE ? kind_of(type[k]) : missing;
            to->distance[c.rim] = surface_distance(fetched_density(&args->m, &value, k));
        }
    }
    TILE_BARRIER();
}

#endif
