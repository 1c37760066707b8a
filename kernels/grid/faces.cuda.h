/// How blocks make coefficients of faces: one loop over those of all axes, several of a lane's on their way at a time.
/// Part of matrix.tile.c.
#ifndef TARN_KERNELS_GRID_FACES_CUDA_H
#define TARN_KERNELS_GRID_FACES_CUDA_H

enum { FACES_AT_ONCE = 4 };

typedef struct tile_face {
    int axis, x, y, z;
    uint32_t index; ///< face_index
} tile_face;

/// Face number n of all that a tile of so many planes has.
TILE_FN tile_face tile_face_of(uint32_t n, int planes)
{
    const uint32_t across = face_count(0, planes);
    tile_face f;
    f.axis = n < across ? 0 : n < 2 * across ? 1 : 2;
    f.index = n - (uint32_t)f.axis * across;
    const int i = (int)f.index;
    f.x = f.axis == 0 ? i % 9 : i & 7;
    f.y = f.axis == 0 ? i / 9 & 7 : f.axis == 1 ? (i >> 3) % 9 : i >> 3 & 7;
    f.z = f.axis == 2 ? i >> 6 : i / 72;
    return f;
}

TILE_FN int plane_along(int axis, int x, int y, int z)
{
    return axis == 0 ? x : axis == 1 ? y : z;
}

/// By what a face's steepness is to be multiplied for its open share, then for its beta; the last plane is the next
/// tile's.
TILE_FN void face_factors(const grid_args *args, tile_place place, uint32_t slot, tile_face f, float *open, float *beta)
{
    const grid_memory *m = &args->m;
    const uint8_t *share = m->open[f.axis];
    const float *weight = m->beta[f.axis];
    *open = *beta = 1.0f;
    if (share == NULL && weight == NULL) {
        return;
    }
    const uint32_t of = plane_along(f.axis, f.x, f.y, f.z) < TILE_EDGE ? slot : upper_slot(args, place, f.axis);
    const uint64_t at = (uint64_t)of * TILE_CELLS + cell_index(f.x & 7, f.y & 7, f.z & 7);
    if (share != NULL && of != TILE_NONE) {
        *open = (float)share[at] * (1.0f / 255.0f);
    }
    if (weight != NULL && of != TILE_NONE) {
        *beta = weight[at];
    }
}

TILE_FN void make_faces(const grid_args *args, tile_place place, uint32_t slot, matrix_scratch *s, matrix_store to)
{
    const int planes = tile_planes(&args->shape), lanes = (int)blockDim.x;
    const int count = (int)(2 * face_count(0, planes) + face_count(2, planes));
    for (int first = (int)threadIdx.x; first < count; first += FACES_AT_ONCE * lanes) {
        float open[FACES_AT_ONCE], beta[FACES_AT_ONCE];
        TILE_UNROLL for (int k = 0; k < FACES_AT_ONCE; k++)
        {
            const int n = tile_min_i32(first + k * lanes, count - 1);
            face_factors(args, place, slot, tile_face_of((uint32_t)n, planes), open + k, beta + k);
        }
        TILE_UNROLL for (int k = 0; k < FACES_AT_ONCE; k++) if (first + k * lanes < count)
        {
            const tile_face f = tile_face_of((uint32_t)(first + k * lanes), planes);
            const int is_there = f.z < planes || planes > 1;
            const float value = is_there ? row_steepness(&s->plan, f.axis, f.x, f.y, f.z) * open[k] * beta[k] : 0.0f;
            const int inside = s->plan.inside[f.axis][face_row(f.y, f.z)] >> f.x & 1;
            (f.axis == 0 ? s->x : f.axis == 1 ? s->y : s->z)[f.index] = value;
            (f.axis == 0 ? to.ax : f.axis == 1 ? to.ay : to.az)[f.index] = tile_select_f32(inside, value, 0.0f);
        }
    }
    TILE_BARRIER();
}

/// The four fine faces of a coarse one: from `first` on, one step apart and the other; NULL where there are none.
typedef struct fine_faces {
    const float *first;
    int a, b;
} fine_faces;

TILE_FN fine_faces fine_faces_of(const grid_level *fine, const uint32_t *children, tile_face f)
{
    const int plane = plane_along(f.axis, f.x, f.y, f.z), last = plane == TILE_EDGE; // of the cell before it
    const int x = f.x - (f.axis == 0 && last), y = f.y - (f.axis == 1 && last), z = f.z - (f.axis == 2 && last);
    const int at_x = 2 * (x & 3) + 2 * (f.x - x), at_y = 2 * (y & 3) + 2 * (f.y - y),
              at_z = 2 * (z & 3) + 2 * (f.z - z);
    const uint32_t child = children[child_of(x, y, z)];
    const float *of = f.axis == 0 ? fine->ax : f.axis == 1 ? fine->ay : fine->az;
    fine_faces from;
    from.first = child != TILE_NONE ? of + ((uint64_t)child * TILE_FACES + face_index(f.axis, at_x, at_y, at_z)) : NULL;
    from.a = f.axis == 0 ? 9 : 1;
    from.b = f.axis == 2 ? 8 : 72;
    return from;
}

TILE_FN void coarse_faces(const grid_args *args, uint32_t level, const uint32_t *children, matrix_store to)
{
    const grid_level *fine = &args->m.level[level];
    const int planes = tile_planes(&args->shape), is_deep = planes > 1, lanes = (int)blockDim.x;
    const int count = (int)(2 * face_count(0, planes) + face_count(2, planes));
    for (int first = (int)threadIdx.x; first < count; first += FACES_AT_ONCE * lanes) {
        float value[FACES_AT_ONCE][4];
        TILE_UNROLL for (int k = 0; k < FACES_AT_ONCE; k++)
        {
            const int n = tile_min_i32(first + k * lanes, count - 1);
            const tile_face f = tile_face_of((uint32_t)n, planes);
            const fine_faces from = fine_faces_of(fine, children, f);
            const int is_there = from.first != NULL && (is_deep || f.axis < 2);
            TILE_UNROLL for (int i = 0; i < 4; i++) value[k][i] = 0.0f;
            if (is_there) {
                value[k][0] = from.first[0];
                value[k][1] = from.first[from.a];
            }
            if (is_there && is_deep) {
                value[k][2] = from.first[from.b];
                value[k][3] = from.first[from.a + from.b];
            }
        }
        TILE_UNROLL for (int k = 0; k < FACES_AT_ONCE; k++) if (first + k * lanes < count)
        {
            const tile_face f = tile_face_of((uint32_t)(first + k * lanes), planes);
            (f.axis == 0   ? to.ax
             : f.axis == 1 ? to.ay
                           : to.az)[f.index] = (value[k][0] + value[k][1]) + (value[k][2] + value[k][3]);
        }
    }
}

#endif
