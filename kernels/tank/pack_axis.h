/// Nodes and weights of a pack of particles along one axis: particle_axis for packs. Private to the liquid's kernels.
#ifndef TARN_KERNELS_TANK_PACK_AXIS_H
#define TARN_KERNELS_TANK_PACK_AXIS_H

#include "kernels/device/pack.h"
#include "kernels/tank/store.h"

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

#endif
