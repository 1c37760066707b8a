/// How blocks add to nodes and mean values: number by number, particles of a tile at once. Part of flow.tile.c.
#ifndef TARN_KERNELS_STREAM_FLOW_CUDA_H
#define TARN_KERNELS_STREAM_FLOW_CUDA_H

/// Adds a particle to the nodes around it, by their trilinear weights.
/// @param node  the lowest of them @param w  its place between them, 0..32 per axis @param d  its displacement, and 1
TILE_FN void fit_add(int32_t (*node)[4], tarn_four w, tarn_four d)
{
    const int32_t one = 1 << TARN_FLOW_WEIGHT_BITS;
    for (uint32_t corner = 0; corner < 8; corner++) {
        const uint32_t x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
        const int32_t weight = (x ? w.v[0] : one - w.v[0]) * (y ? w.v[1] : one - w.v[1]) * (z ? w.v[2] : one - w.v[2]);
        for (int k = 0; k < 4; k++) {
            tile_add_i32(&node[tarn_flow_node_at(x, y, z)][k], d.v[k] * (weight >> FIT_WEIGHT_SHIFT));
        }
    }
}

TILE_FN void store_four(float *to, tile_f32x4 from)
{
    for (int k = 0; k < 4; k++) {
        to[k] = tile_get_f32x4(from, k);
    }
}

/// Adds four whole numbers to four others.
TILE_FN void add_four(float *to, const int32_t *from)
{
    for (int k = 0; k < 4; k++) {
        to[k] += (float)from[k];
    }
}

#endif
