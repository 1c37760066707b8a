/// How a processor clears sums and brings them to memory: they lie by block of cells, so that a particle adds to whole
/// registers, and are added up at the nodes row by row, where particles reach. Part of transfer.tile.c.
#ifndef TARN_KERNELS_LIQUID_TRANSFER_CPU_H
#define TARN_KERNELS_LIQUID_TRANSFER_CPU_H

/// Clears the sums that particles reach.
TILE_FN void clear_sums(p2g_scratch *s, int pass)
{
    const int ny = blocks_of(pass, 1), nz = blocks_of(pass, 2);
    const uint32_t row_sums = (uint32_t)(blocks_of(pass, 0) * CORNERS * values_of(pass));
    for (int z = 0; z < nz; z++) {
        const uint32_t rows = block_rows(s, pass, z);
        if (rows == 0) {
            continue;
        }
        const uint32_t first = tile_lowest_bit_u32(rows), end = 32 - tile_leading_zeros_u32(rows);
        memset(s->sum + ((uint32_t)(z * ny) + first) * row_sums, 0, (end - first) * row_sums * sizeof s->sum[0]);
    }
    TILE_BARRIER();
}

/// Sums of a row of nodes along x, of the rows of blocks on its four sides.
TILE_FN void add_up_row(const int32_t *const *from, int c, int32_t *momentum, int32_t *weight)
{
    const int first = c == 0, nx = blocks_of(c, 0);
    pack_i32x4 before = {0}, node[NODE_EDGE + 2] = {{0}}; // momentum and weight at a block's lower and its upper node
    TILE_UNROLL for (int b = 0; b < nx; b++)
    {
        pack_i32x4 at[4];
        TILE_UNROLL for (int side = 0; side < 4; side++)
            memcpy(&at[side], from[side] + b * 2 * CORNERS, sizeof at[side]);
        const pack_i32x4 total = (at[0] + at[1]) + (at[2] + at[3]);
        node[first + b] = total + __builtin_shufflevector(before, before, 2, 3, 2, 3);
        before = total;
    }
    node[first + nx] = __builtin_shufflevector(before, before, 2, 3, 2, 3);
    TILE_UNROLL for (int i = 0; i < NODE_EDGE; i += 4)
    {
        const pack_i32x4 low = __builtin_shufflevector(node[i], node[i + 1], 0, 4, 1, 5),
                         high = __builtin_shufflevector(node[i + 2], node[i + 3], 0, 4, 1, 5);
        const pack_i32x4 m = __builtin_shufflevector(low, high, 0, 1, 4, 5),
                         w = __builtin_shufflevector(low, high, 2, 3, 6, 7);
        const size_t bytes = sizeof *momentum * (i + 4 <= NODE_EDGE ? 4 : NODE_EDGE - i);
        memcpy(momentum + i, &m, bytes);
        memcpy(weight + i, &w, bytes);
    }
}

/// The same for one number a node.
TILE_FN void add_up_single(const int32_t *const *from, int c, int32_t *sum)
{
    const int first = c == 0, nx = blocks_of(c, 0);
    int32_t before = 0;
    sum[0] = 0;
    TILE_UNROLL for (int b = 0; b < nx; b++)
    {
        int32_t total[2];
        TILE_UNROLL for (int i = 0; i < 2; i++) total[i] = (from[0][b * CORNERS + i] + from[1][b * CORNERS + i]) +
                                                           (from[2][b * CORNERS + i] + from[3][b * CORNERS + i]);
        sum[first + b] = total[0] + before;
        before = total[1];
    }
    sum[first + nx] = before;
}

/// Sums of a layer of nodes, [y][x] from -1.
TILE_FN void add_up_layer(const p2g_scratch *s, int pass, int z, int32_t *to, int32_t *weight)
{
    static const int32_t zeros[BLOCK_EDGE * 2 * CORNERS] = {0};
    const int c = axis_of(pass), nx = blocks_of(pass, 0), ny = blocks_of(pass, 1), values = values_of(pass);
    const uint32_t rows[2] = {block_rows(s, pass, z - (c == 2)), block_rows(s, pass, z - (c == 2) - 1)};
    for (int y = 0; y < NODE_EDGE; y++) {
        const int32_t *from[4];
        uint32_t reached = 0;
        TILE_UNROLL for (int side = 0; side < 4; side++)
        {
            const int by = y - (c == 1) - side % 2, bz = z - (c == 2) - side / 2;
            const uint32_t is_there = rows[side / 2] << 2 >> (by + 2) & 1;
            from[side] = is_there ? s->sum + ((bz * ny + by) * nx * CORNERS + 2 * side) * values : zeros;
            reached |= is_there;
        }
        if (!reached) {
            memset(to + y * NODE_EDGE, 0, NODE_EDGE * sizeof *to);
            memset(weight + y * NODE_EDGE, 0, NODE_EDGE * sizeof *weight);
        } else if (values == 1) {
            add_up_single(from, c, to + y * NODE_EDGE);
        } else {
            add_up_row(from, c, to + y * NODE_EDGE, weight + y * NODE_EDGE);
        }
    }
}

/// Brings the sums of a pass to device memory.
TILE_FN void write_sums(const liquid_args *args, const p2g_scratch *s, int pass, uint32_t tile)
{
    const uint64_t base = (uint64_t)tile * NODE_COUNT;
    int32_t *to = sums_of(&args->m, pass) + base, *weight = pass < DENSITY ? args->m.weight[pass] + base : to;
    for (int z = 0; z < NODE_EDGE; z++) {
        add_up_layer(s, pass, z, to + z * NODE_EDGE * NODE_EDGE, weight + z * NODE_EDGE * NODE_EDGE);
    }
    TILE_BARRIER();
}

#endif
