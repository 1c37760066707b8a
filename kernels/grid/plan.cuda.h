/// How blocks find which faces touch liquid: rows of all axes in one loop. Most tiles need their densities, which are
/// fetched before the types are there that tell. Part of poisson.h.
#ifndef TARN_KERNELS_GRID_PLAN_CUDA_H
#define TARN_KERNELS_GRID_PLAN_CUDA_H

/// plan_faces where to->types.beside is known and to->surface is 0. By SOLVER_LANES lanes.
TILE_FN void plan_faces_beside(const grid_args *args, uint32_t slot, int upper, face_plan *to)
{
    const int planes = tile_planes(&args->shape);
    uint32_t crossed = 0;
    const rim_values densities = fetch_densities(args, slot, to->types.beside, upper, threadIdx.x);
    put_type_rows(args, slot, &to->types);
    TILE_UNROLL for (uint32_t k = 0; k < RIM_TURNS; k++)
    {
        const uint32_t n = threadIdx.x + k * blockDim.x;
        if (n < rim_cells(upper)) {
            to->density[rim_cell_of(n, upper ? 1 : 2).rim] = row_distance(fetched_density(&args->m, &densities, k));
        }
    }
    TILE_BARRIER();
    FOR_RANGE (n, 0, 3 * FACE_ROWS) {
        const int axis = (int)n / FACE_ROWS, r = (int)n % FACE_ROWS, y = r % ROW_WORDS, z = r / ROW_WORDS;
        const int ny = TILE_EDGE + (axis == 1 && upper), nz = planes + (axis == 2 && upper && planes > 1);
        row_faces faces = {0, 0, 0};
        if (y < ny && z < nz) {
            faces = row_faces_of(&to->types, axis, y, z);
            faces.touching &= axis == 0 && upper ? 0x1ffu : 0xffu;
        }
        to->touching[axis][r] = (uint16_t)faces.touching;
        to->inside[axis][r] = (uint16_t)faces.inside;
        crossed |= faces.touching & ~faces.inside;
    }
    crossed = __reduce_max_sync(0xffffffffu, crossed);
    if (threadIdx.x % 32 == 0) {
        tile_or_u32(&to->surface, crossed);
    }
}

TILE_FN void plan_faces(const grid_args *args, tile_place place, uint32_t slot, int upper, face_plan *to)
{
    if (TILE_SINGLE()) {
        to->surface = 0;
    }
    find_beside(args, place, to->types.beside);
    TILE_BARRIER();
    plan_faces_beside(args, slot, upper, to);
}

TILE_FN row_f32 plan_distance(const face_plan *plan, int at)
{
    return plan->density[at];
}

#endif
