/// How a processor makes coefficients of faces: axis by axis, rows of the finest level with what touches liquid alone.
/// Part of matrix.tile.c.
#ifndef TARN_KERNELS_GRID_FACES_CPU_H
#define TARN_KERNELS_GRID_FACES_CPU_H

/// Steepness of an axis' faces, of so many planes of cells.
TILE_FN void find_faces(const face_plan *plan, int axis, int planes, float *face)
{
    const int nz = planes + (axis == 2 && planes > 1);
    FOR_RANGE (i, 0, face_count(axis, planes)) {
        face[i] = 0.0f;
    }
    FOR_SET_ROWS (x, r, 0, nz * ROW_WORDS, plan->touching[axis], 0x1ff) {
        const int y = r % ROW_WORDS, z = r / ROW_WORDS;
        row_store(face + face_index(axis, x, y, z), row_steepness(plan, axis, x, y, z));
    }
    if (axis == 0) { // the ninth, and again the seven before it
        FOR_SET_ROWS (x, r, 0, nz * ROW_WORDS, plan->touching[0], 0x100) {
            const int y = r % ROW_WORDS, z = r / ROW_WORDS;
            row_store(face + face_index(0, x + 1, y, z), row_steepness(plan, 0, x + 1, y, z));
        }
    }
}

/// Multiplies faces by a field that the active tiles have for their lower faces; the last plane is the next tile's.
#define SCALE_FACES(name, type)                                                                                        \
    TILE_FN void name(const type *field, float unit, int axis, int planes, uint32_t slot, uint32_t upper, float *face) \
    {                                                                                                                  \
        const type *own = field + (uint64_t)slot * TILE_CELLS;                                                         \
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, planes)                                                                \
            face[face_index(axis, x, y, z)] *= (float)own[cell_index(x, y, z)] * unit;                                 \
        if (upper != TILE_NONE) {                                                                                      \
            const type *next = field + (uint64_t)upper * TILE_CELLS;                                                   \
            FOR_BOX (i, j, once, TILE_EDGE, axis == 2 ? TILE_EDGE : planes, 1) {                                       \
                const int x = axis == 0 ? 0 : i, y = axis == 0 ? i : axis == 1 ? 0 : j, z = axis == 2 ? once : j;      \
                face[face_index(axis, axis == 0 ? 8 : x, axis == 1 ? 8 : y, axis == 2 ? 8 : z)] *=                     \
                    (float)next[cell_index(x, y, z)] * unit;                                                           \
            }                                                                                                          \
        }                                                                                                              \
        TILE_BARRIER();                                                                                                \
    }

SCALE_FACES(scale_faces_u8, uint8_t)
SCALE_FACES(scale_faces_f32, float)

/// The off-diagonal coefficients: those of the faces with liquid on both sides.
TILE_FN void store_faces(const face_plan *plan, int axis, int planes, const float *face, float *to)
{
    const int nx = axis == 0 ? 9 : 8, ny = axis == 1 ? 9 : 8, nz = planes + (axis == 2);
    FOR_BOX (x, y, z, nx, ny, nz) {
        const int i = face_index(axis, x, y, z);
        to[i] = tile_select_f32(plan->inside[axis][face_row(y, z)] >> x & 1, face[i], 0.0f);
    }
}

TILE_FN void make_faces(const grid_args *args, tile_place place, uint32_t slot, matrix_scratch *s, matrix_store to)
{
    const grid_memory *m = &args->m;
    const int planes = tile_planes(&args->shape);
    TILE_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        float *face = axis == 0 ? s->x : axis == 1 ? s->y : s->z;
        find_faces(&s->plan, axis, planes, face);
        const uint32_t upper = upper_slot(args, place, axis);
        if (m->open[axis] != NULL) {
            scale_faces_u8(m->open[axis], 1.0f / 255.0f, axis, planes, slot, upper, face);
        }
        if (m->beta[axis] != NULL) {
            scale_faces_f32(m->beta[axis], 1.0f, axis, planes, slot, upper, face);
        }
        store_faces(&s->plan, axis, planes, face, axis == 0 ? to.ax : axis == 1 ? to.ay : to.az);
    }
}

/// Sum of the four fine coefficients that make up one coarse face; plane 0..8 along the axis.
TILE_FN float coarse_face(const grid_args *args, const grid_level *fine, const uint32_t *children, int axis, int plane,
                          int i, int j)
{
    const int inside = plane < TILE_EDGE ? plane : TILE_EDGE - 1; // the coarse cell that has the face
    const int x = axis == 0 ? inside : i, y = axis == 1 ? inside : axis == 0 ? i : j, z = axis == 2 ? inside : j;
    const uint32_t child = children[child_of(x, y, z)];
    if (child == TILE_NONE) {
        return 0.0f;
    }
    const int p = (inside & 3) * 2 + (plane - inside) * 2;
    const int a = (i & 3) * 2, b = (j & 3) * 2;
    float sum[2] = {0.0f, 0.0f};
    for (int k = 0; k < (tile_planes(&args->shape) > 1 ? 2 : 1); k++) {
        if (axis == 0) {
            const float *ax = fine->ax + (uint64_t)child * TILE_FACES;
            sum[k] = ax[((b + k) * 8 + a) * 9 + p] + ax[((b + k) * 8 + a + 1) * 9 + p];
        } else if (axis == 1) {
            const float *ay = fine->ay + (uint64_t)child * TILE_FACES;
            sum[k] = ay[((b + k) * 9 + p) * 8 + a] + ay[((b + k) * 9 + p) * 8 + a + 1];
        } else {
            const float *az = fine->az + (uint64_t)child * TILE_FACES;
            sum[k] = az[(p * 8 + b + k) * 8 + a] + az[(p * 8 + b + k) * 8 + a + 1];
        }
    }
    return sum[0] + sum[1];
}

TILE_FN void coarse_faces(const grid_args *args, uint32_t level, const uint32_t *children, matrix_store to)
{
    const grid_level *fine = &args->m.level[level];
    const int planes = tile_planes(&args->shape);
    FOR_BOX (x, y, z, 9, 8, planes) {
        to.ax[(z * 8 + y) * 9 + x] = coarse_face(args, fine, children, 0, x, y, z);
    }
    FOR_BOX (x, y, z, 8, 9, planes) {
        to.ay[(z * 9 + y) * 8 + x] = coarse_face(args, fine, children, 1, y, x, z);
    }
    FOR_BOX (x, y, z, 8, 8, planes + 1) {
        to.az[(z * 8 + y) * 8 + x] = planes > 1 ? coarse_face(args, fine, children, 2, z, x, y) : 0.0f;
    }
}

#endif
