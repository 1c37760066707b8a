/// How a processor clears sums and brings them to memory: they lie by block of cells, so that a particle adds to whole
/// registers, and are added up at the nodes row by row, where particles reach. Part of transfer.tile.c.
#ifndef TARN_KERNELS_LIQUID_TRANSFER_CPU_H
#define TARN_KERNELS_LIQUID_TRANSFER_CPU_H

/// Counts a pack of particles in their cells.
TILE_FN void count_pack(const store_memory *store, p2g_scratch *s, uint32_t particle, uint32_t n)
{
    pack_i32 at[3];
    pack_places cell;
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        pack_prefetch(store->position[a] + particle);
        pack_prefetch(store->velocity[a] + particle);
        at[a] = pack_load_i32(store->position[a] + particle, n) >> POSITION_BITS & (TILE_EDGE - 1);
    }
    pack_set_places(&cell, (at[2] * TILE_EDGE + at[1]) * TILE_EDGE + at[0]);
    for (uint32_t l = 0; l < n; l++) {
        tile_add_u32(&s->count[cell.of[l]], 1);
    }
}

/// Counts particles in their cells. Ends with a barrier.
TILE_FN void count_range(const store_memory *store, p2g_scratch *s, uint32_t first, uint32_t end)
{
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->count[i] = 0;
    }
    EACH_PACK(i, n, first, end, count_pack(store, s, i, n));
    TILE_BARRIER();
}

/// Where a pack's sums begin.
TILE_FN pack_i32 deposit_places(int pass, pack_node x, pack_node y, pack_node z)
{
    const int c = axis_of(pass);
    const pack_i32 bx = x.at + (c != 0), by = y.at + (c != 1), bz = z.at + (c != 2);
    return ((bz * blocks_of(pass, 1) + by) * blocks_of(pass, 0) + bx) * (CORNERS * values_of(pass));
}

/// Adds what a pass wants of a pack to the eight nodes around each particle.
TILE_FN void deposit_pack(const liquid_args *args, p2g_scratch *s, int pass, int mixed, uint32_t particle, uint32_t n)
{
    const pack_parts p = parts_of_pack(args, s, pass, mixed, particle, n);
    pack_i32 parts[2 * CORNERS]; // [corner][value], x fastest
    TILE_UNROLL for (int row = 0; row < 4; row++)
    {
        const pack_f32 across = p.node[1].w[row % 2] * p.node[2].w[row / 2];
        TILE_UNROLL for (int i = 0; i < 2; i++)
        {
            const pack_f32 share = p.node[0].w[i] * (pass == DENSITY ? across * p.weight : across);
            if (pass == DENSITY) {
                parts[2 * row + i] = pack_round_i32(share);
            } else if (values_of(pass) == 1) {
                parts[2 * row + i] = pack_round_i32(share * p.mass);
            } else {
                parts[4 * row + 2 * i] = pack_round_i32(share * p.momentum);
                parts[4 * row + 2 * i + 1] = pack_round_i32(share * p.weight);
            }
        }
    }
    pack_places places;
    pack_set_places(&places, deposit_places(pass, p.node[0], p.node[1], p.node[2]));
    pack_add_i32(s->sum, &places, parts, CORNERS * values_of(pass));
}

/// Rows of blocks along x that particles reach, a bit for each y.
TILE_FN uint32_t block_rows(const p2g_scratch *s, int pass, int z)
{
    const int c = axis_of(pass), below = z - (c != 2); // the cells of this layer and of z reach it
    const uint32_t rows =
        (z >= 0 && z < TILE_EDGE ? s->rows[z] : 0) | (below >= 0 && below < TILE_EDGE ? s->rows[below] : 0);
    return c == 1 ? rows : rows | rows << 1;
}

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

/// What fell beyond a wall, across the flow, belongs to the cell before it: free slip, and no loss of density.
TILE_FN void fold_plane(int32_t *sum, int axis, int from, int to)
{
    const int stride = axis == 0 ? 1 : axis == 1 ? NODE_EDGE : NODE_EDGE * NODE_EDGE;
    const int32_t *source = sum + (from + 1) * stride;
    int32_t *target = sum + (to + 1) * stride;
    if (axis == 0) {
        FOR_RANGE_ATOMIC (i, 0, NODE_EDGE * NODE_EDGE) { // one by one: vectors of what lies apart are slower
            target[i * NODE_EDGE] += source[i * NODE_EDGE];
        }
    } else {
        const int row = axis == 1 ? NODE_EDGE * NODE_EDGE : NODE_EDGE;
        FOR_BOX (x, i, once, NODE_EDGE, NODE_EDGE, 1) {
            target[i * row + x + once] += source[i * row + x];
        }
    }
    TILE_BARRIER();
}

TILE_FN void fold_walls(const liquid_args *args, int32_t *sum, int c, tile_place place)
{
    const int at[3] = {place.x, place.y, place.z};
    for (int axis = 0; axis < 3; axis++) {
        const int extent = tile_extent(&args->tank.grid.shape, axis, at[axis]);
        if (axis == c) {
            continue;
        }
        if (at[axis] == 0) {
            fold_plane(sum, axis, -1, 0);
        }
        if (at[axis] == args->tank.grid.shape.tiles[0][axis] - 1) {
            fold_plane(sum, axis, extent, extent - 1);
        }
    }
}

/// Brings the sums of a pass to device memory, where what fell beyond walls is folded back.
TILE_FN void finish_sums(const liquid_args *args, const p2g_scratch *s, int pass, uint32_t tile, tile_place place)
{
    const uint64_t base = (uint64_t)tile * NODE_COUNT;
    write_sums(args, s, pass, tile);
    fold_walls(args, sums_of(&args->m, pass) + base, axis_of(pass), place);
    if (pass < DENSITY) {
        fold_walls(args, args->m.weight[pass] + base, pass, place);
    }
}

#endif
