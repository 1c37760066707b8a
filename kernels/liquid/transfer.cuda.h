/// How blocks sum what particles bring: sums lie by node, the weights behind the momenta, and what fell beyond walls is
/// folded back before they go to device memory. Part of transfer.tile.c.
#ifndef TARN_KERNELS_LIQUID_TRANSFER_CUDA_H
#define TARN_KERNELS_LIQUID_TRANSFER_CUDA_H

/// Counts particles in their cells. Those of a cell mostly lie side by side, and would wait for each other. Ends
/// without a barrier: a cell's count is its lane's, as its scale is.
TILE_FN void count_range(const store_memory *store, p2g_scratch *s, uint32_t first, uint32_t end)
{
    FOR_RANGE (i, 0, LANE_SUMS) {
        s->sum[i] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        tile_add_i32(&s->sum[i % COUNTS * COUNTS_STRIDE + particle_cell(store, i)], 1);
    }
    TILE_BARRIER();
    FOR_RANGE (cell, 0, TILE_CELLS) {
        uint32_t count = 0;
        TILE_UNROLL for (uint32_t k = 0; k < COUNTS; k++) count += (uint32_t)s->sum[k * COUNTS_STRIDE + cell];
        s->count[cell] = count;
    }
}

/// Clears all sums.
TILE_FN void clear_sums(p2g_scratch *s, int pass)
{
    FOR_RANGE (i, 0, NODE_COUNT * (uint32_t)values_of(pass)) {
        s->sum[i] = 0;
    }
    TILE_BARRIER();
}

/// Adds what a pass wants of a particle to the eight nodes around it. Particles side by side mostly have nodes in
/// common, for which they would wait in turn: each of eight begins at another corner.
TILE_FN void deposit_pack(const liquid_args *args, p2g_scratch *s, int pass, int mixed, uint32_t particle, uint32_t n)
{
    const pack_parts p = parts_of_pack(args, s, pass, mixed, particle, n);
    const int stride[3] = {1, NODE_EDGE, NODE_EDGE * NODE_EDGE};
    int32_t *first = s->sum;
    float w[3][2];
    int step[3];
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        const int turned = (int)(3 * particle >> a & 1);
        const float low = p.node[a].w[0], high = p.node[a].w[1];
        w[a][0] = turned ? high : low;
        w[a][1] = turned ? low : high;
        first += (p.node[a].at + 1 + turned) * stride[a];
        step[a] = turned ? -stride[a] : stride[a];
    }
    TILE_UNROLL for (int row = 0; row < 4; row++)
    {
        const float across = w[1][row % 2] * w[2][row / 2];
        TILE_UNROLL for (int i = 0; i < 2; i++)
        {
            const float share = w[0][i] * (pass == DENSITY ? across * p.weight : across);
            int32_t *node = first + (i * step[0] + row % 2 * step[1] + row / 2 * step[2]);
            if (pass == DENSITY) {
                tile_add_i32(node, tile_round_i32(share));
            } else if (values_of(pass) == 1) {
                tile_add_i32(node, tile_round_i32(share * p.mass));
            } else {
                tile_add_i32(node, tile_round_i32(share * p.momentum));
                tile_add_i32(node + NODE_COUNT, tile_round_i32(share * p.weight));
            }
        }
    }
}

/// What fell beyond a wall, across the flow, belongs to the cell before it: free slip, and no loss of density.
TILE_FN void fold_plane(p2g_scratch *s, int pass, int axis, int from, int to)
{
    const int plane = NODE_EDGE * NODE_EDGE;
    const int stride = axis == 0 ? 1 : axis == 1 ? NODE_EDGE : plane;
    const int along = axis == 0 ? NODE_EDGE : 1, next = axis == 2 ? NODE_EDGE : plane;
    FOR_BOX (i, j, value, NODE_EDGE, NODE_EDGE, values_of(pass)) {
        int32_t *line = s->sum + (value * NODE_COUNT + j * next + i * along);
        line[(to + 1) * stride] += line[(from + 1) * stride];
    }
    TILE_BARRIER();
}

/// Folds the sums of a pass and brings them to device memory. Ends without a barrier.
TILE_FN void finish_sums(const liquid_args *args, p2g_scratch *s, int pass, uint32_t tile, tile_place place)
{
    const uint64_t base = (uint64_t)tile * NODE_COUNT;
    const int at[3] = {place.x, place.y, place.z};
    int32_t *to = sums_of(&args->m, pass) + base, *weight = pass < DENSITY ? args->m.weight[pass] + base : to;
    TILE_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        const int extent = tile_extent(&args->tank.grid.shape, axis, at[axis]);
        if (axis != axis_of(pass) && at[axis] == 0) {
            fold_plane(s, pass, axis, -1, 0);
        }
        if (axis != axis_of(pass) && at[axis] == args->tank.grid.shape.tiles[0][axis] - 1) {
            fold_plane(s, pass, axis, extent, extent - 1);
        }
    }
    FOR_RANGE (i, 0, NODE_COUNT) {
        to[i] = s->sum[i];
        if (pass < DENSITY) {
            weight[i] = s->sum[NODE_COUNT + i];
        }
    }
}

#endif
