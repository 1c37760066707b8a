/// How a processor adds to nodes and mean values: in registers. Part of flow.tile.c.
#ifndef TARN_KERNELS_STREAM_FLOW_CPU_H
#define TARN_KERNELS_STREAM_FLOW_CPU_H

/// Adds a particle to the nodes around it, by their trilinear weights: the eight in one register, nodes in pairs along
/// x.
/// @param node  the lowest of them @param w  its place between them, 0..32 per axis @param d  its displacement, and 1
TILE_FN void fit_add(int32_t (*node)[4], tarn_four w, tarn_four d)
{
    typedef uint16_t eight_u16 __attribute__((vector_size(16)));
    typedef int32_t eight_i32 __attribute__((vector_size(32)));
    const eight_u16 in = (eight_u16)w, one = {32, 32, 32, 32, 32, 32, 32, 32};
    const eight_u16 is_x = {0, 65535, 0, 65535, 0, 65535, 0, 65535}, is_y = {0, 0, 65535, 65535, 0, 0, 65535, 65535},
                    is_z = {0, 0, 0, 0, 65535, 65535, 65535, 65535};
    const eight_u16 wx = __builtin_shufflevector(in, in, 0, 0, 0, 0, 0, 0, 0, 0),
                    wy = __builtin_shufflevector(in, in, 2, 2, 2, 2, 2, 2, 2, 2),
                    wz = __builtin_shufflevector(in, in, 4, 4, 4, 4, 4, 4, 4, 4);
    const eight_u16 x = (wx & is_x) | ((one - wx) & ~is_x), y = (wy & is_y) | ((one - wy) & ~is_y),
                    z = (wz & is_z) | ((one - wz) & ~is_z), weight = x * y * z >> FIT_WEIGHT_SHIFT;
    const eight_i32 twice = __builtin_shufflevector(d, d, 0, 1, 2, 3, 0, 1, 2, 3);
#define FIT_ADD_PAIR(r)                                                                                                \
    {                                                                                                                  \
        int32_t *to = node[tarn_flow_node_at(0, (r)&1, (r) >> 1)];                                                     \
        const eight_u16 share = __builtin_shufflevector(weight, weight, 2 * (r), 2 * (r), 2 * (r), 2 * (r),            \
                                                        2 * (r) + 1, 2 * (r) + 1, 2 * (r) + 1, 2 * (r) + 1);           \
        eight_i32 sum;                                                                                                 \
        memcpy(&sum, to, sizeof sum);                                                                                  \
        sum += twice * __builtin_convertvector(share, eight_i32);                                                      \
        memcpy(to, &sum, sizeof sum);                                                                                  \
    }
    FIT_ADD_PAIR(0)
    FIT_ADD_PAIR(1)
    FIT_ADD_PAIR(2)
    FIT_ADD_PAIR(3)
#undef FIT_ADD_PAIR
}

TILE_FN void store_four(float *to, tile_f32x4 from)
{
    memcpy(to, &from, sizeof from);
}

/// Adds four whole numbers to four others.
TILE_FN void add_four(float *to, const int32_t *from)
{
    typedef int32_t four __attribute__((vector_size(16)));
    four sum;
    memcpy(&sum, from, sizeof sum);
    store_four(to, tile_load_f32x4(to) + __builtin_convertvector(sum, tile_f32x4));
}

#endif
