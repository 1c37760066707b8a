/// How blocks find which faces touch liquid: rows of all axes in one loop. Most tiles need their densities, which are
/// fetched before the types are there that tell. Part of poisson.h.
#ifndef TARN_KERNELS_GRID_PLAN_CUDA_H
#define TARN_KERNELS_GRID_PLAN_CUDA_H

TILE_FN void plan_faces(const grid_args *args, tile_place place, uint32_t slot, int upper, face_plan *to)
{
    const int planes = tile_planes(&args->shape);
    uint32_t crossed = 0;
    if (TILE_SINGLE()) {
        to->surface = 0;
    }
    const rim_values densities = fetch_densities(args, place, slot, upper);
    load_type_rows(args, place, slot, &to->types);
    put_densities(densities, upper, to->density);
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

#endif
