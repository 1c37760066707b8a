/// How a processor finds which faces touch liquid: densities are of interest only where the surface crosses some. Part
/// of poisson.h.
#ifndef TARN_KERNELS_GRID_PLAN_CPU_H
#define TARN_KERNELS_GRID_PLAN_CPU_H

TILE_FN void plan_faces(const grid_args *args, tile_place place, uint32_t slot, int upper, face_plan *to)
{
    to->surface = 0;
    for (int axis = 0; axis < 3; axis++) {
        uint16_t *touching = to->touching[axis], *inside = to->inside[axis];
        FOR_RANGE (r, 0, FACE_ROWS) {
            touching[r] = inside[r] = 0;
        }
    }
    load_type_rows(args, place, slot, &to->types);
    for (int axis = 0; axis < 3; axis++) {
        const int planes = tile_planes(&args->shape);
        const int ny = TILE_EDGE + (axis == 1 && upper), nz = planes + (axis == 2 && upper && planes > 1);
        FOR_BOX (y, z, once, ny, nz, 1) {
            const row_faces faces = row_faces_of(&to->types, axis, y, z);
            const int r = face_row(y, z) + once;
            to->touching[axis][r] = (uint16_t)(faces.touching & (axis == 0 && upper ? 0x1ffu : 0xffu));
            to->inside[axis][r] = (uint16_t)faces.inside;
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        const uint16_t *touching = to->touching[axis], *inside = to->inside[axis];
        FOR_RANGE_ATOMIC (r, 0, FACE_ROWS) {
            tile_or_u32(&to->surface, (uint32_t)(touching[r] & ~inside[r]));
        }
    }
    if (to->surface != 0) {
        load_densities(args, place, slot, upper, to->density);
    }
}

#endif
