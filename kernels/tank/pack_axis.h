/// Nodes and weights of a pack of particles along one axis: particle_axis for packs. Private to the liquid's kernels.
#ifndef TARN_KERNELS_TANK_PACK_AXIS_H
#define TARN_KERNELS_TANK_PACK_AXIS_H

#include "kernels/device/pack.h"
#include "kernels/tank/store.h"

enum {
    NEAR_EDGE = 10, ///< a component's nodes around the particles of a tile, from -1
    NEAR_NODES = NEAR_EDGE * NEAR_EDGE * NEAR_EDGE,
};

/// A position's two nodes along an axis; see particle_axis.
typedef struct pack_node {
    pack_i32 at;
    pack_f32 w[2];
} pack_node;

typedef struct pack_axis {
    pack_node face, center;
} pack_axis;

TILE_FN pack_node pack_node_of(pack_i32 local)
{
    pack_node n;
    n.at = local >> POSITION_BITS;
    n.w[1] = (pack_to_f32(local & ((1 << POSITION_BITS) - 1)) + 0.5f) * (1.0f / (1 << POSITION_BITS));
    n.w[0] = 1.0f - n.w[1];
    return n;
}

TILE_FN pack_axis pack_axis_of(pack_i32 local)
{
    pack_axis a;
    a.face = pack_node_of(local);
    a.center = pack_node_of(local - (1 << (POSITION_BITS - 1)));
    return a;
}

/// Where particles are in their tile, fixed-point cells.
TILE_FN void load_places(const store_memory *store, uint32_t particle, uint32_t n, pack_i32 *at)
{
    TILE_UNROLL for (int c = 0; c < 3; c++) at[c] =
        pack_load_i32(store->position[c] + particle, n) & ((1 << TILE_POSITION_BITS) - 1);
}

/// Marks the tank broken where a value of some particle is larger than any can be, or no number.
/// @return the values, within bounds: sums of what is beyond would overflow
TILE_FN pack_f32 mark_beyond(const tank_args *args, pack_f32 value, float most)
{
    const int32_t most_bits = (int32_t)tile_bits_f32(most); // magnitudes order as integers, what is no number last
    if (pack_any(pack_bits_f32(pack_abs_f32(value)) > most_bits)) {
        global_or_u32(&args->grid.m.counters->broken, 1);
        value = pack_clamp_f32(value, -most, most);
    }
    return value;
}

/// Weights of the eight nodes of a component around each particle of a pack.
typedef struct pack_corners {
    pack_f32 x[2];
    pack_f32 w[4]; ///< of the four rows along x, [2 z + y]
} pack_corners;

/// @param node, row, plane  numbers of the scratch from one node to the next along x, along y and along z
/// @param first             index of the first of the eight; apart from `n`, which would have to be memory with it
TILE_FN void find_corners(int c, const pack_axis *axes, int border, int node, int row, int plane, pack_places *first,
                          pack_corners *n)
{
    const pack_node x = c == 0 ? axes[0].face : axes[0].center, y = c == 1 ? axes[1].face : axes[1].center,
                    z = c == 2 ? axes[2].face : axes[2].center;
    pack_set_places(first, (z.at + border) * plane + (y.at + border) * row + (x.at + border) * node);
    n->x[0] = x.w[0];
    n->x[1] = x.w[1];
    TILE_UNROLL for (int i = 0; i < 4; i++) n->w[i] = y.w[i % 2] * z.w[i / 2];
}

/// Trilinear interpolation of pairs at NEAR_NODES nodes of component c: symmetric under reflection.
TILE_FN void interpolate_pairs(const float *pairs, int c, const pack_axis *axes, pack_f32 *first_of,
                               pack_f32 *second_of)
{
    enum { ROW = 2 * NEAR_EDGE, PLANE = ROW * NEAR_EDGE };
    pack_f32 sum[4];
    pack_places first;
    pack_corners n;
    find_corners(c, axes, 1, 2, ROW, PLANE, &first, &n);
    pack_weigh_rows(pairs, &first, ROW, PLANE, n.w, sum);
    *first_of = n.x[0] * sum[0] + n.x[1] * sum[2];
    *second_of = n.x[0] * sum[1] + n.x[1] * sum[3];
}

#endif
