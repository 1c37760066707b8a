/// How blocks extend velocities: all three components at once, so that latencies and barriers are paid once. A lane has
/// a column of cells along z in each of them, and does those of its cells that are to be done. Which faces become known
/// in which layer follows from bits, a word for a row of cells; the columns' rows lie beside each other, and a lane
/// looks at all of its column with a few loads. Part of extrapolate.tile.c.
#ifndef TARN_KERNELS_GRID_EXTRAPOLATE_CUDA_H
#define TARN_KERNELS_GRID_EXTRAPOLATE_CUDA_H

#define EXTEND_ONCE _Pragma("unroll 1") ///< in front of a loop: its code is there once, and so are its registers

enum {
    EXTEND_BORDER = EXTRAPOLATION_LAYERS,
    EXTEND_EDGE = TILE_EDGE + 2 * EXTEND_BORDER,
    EXTEND_WIDTH = 16,                     ///< of a row, whose cells -4..11 are 0..15; and so many are there along z
    EXTEND_FIRST = 4,                      ///< bit of the tile's first cell
    EXTEND_Y = 3 * EXTEND_WIDTH,           ///< rows from one y to the next
    EXTEND_WORDS = EXTEND_EDGE * EXTEND_Y, ///< [y][axis][z] from -3 on; of the last two along z all bits are zero
    EXTEND_TURNS = (EXTEND_WORDS + CELL_LANES - 1) / CELL_LANES,
    EXTEND_OWN = 3 * TILE_CELLS / CELL_LANES, ///< cells of the tile that a lane has, of all components
    // Values lie as [axis][z][y][x] from cell -3 on. Cells that no three steps lead to have none, so that in their
    // places are the next plane's first ones, and the next axis'.
    EXTEND_PLANE = (EXTEND_EDGE - 1) * EXTEND_EDGE + TILE_EDGE,
    EXTEND_VALUE_FIRST = EXTEND_BORDER * (EXTEND_EDGE + 1),
    EXTEND_PLANE_VALUES = (TILE_EDGE - 1) * (EXTEND_EDGE + 1) + 1, ///< of the first and the last plane
    EXTEND_AXIS = (EXTEND_EDGE - 1) * EXTEND_PLANE + EXTEND_PLANE_VALUES,
};
TILE_ASSERT((int)EXTEND_OWN == 6, "a component's cells are two turns of the lanes");

typedef struct extend_scratch {
    alignas(16) float value[3 * EXTEND_AXIS];
    uint16_t known[EXTRAPOLATION_LAYERS - 1][EXTEND_WORDS]; ///< after no layer, and after one
    uint16_t read[EXTEND_WORDS];                            ///< known ones that the first layer looks at
    /// After two layers; before that, which may become known. With zeros around.
    uint16_t last[EXTEND_Y + EXTEND_WORDS + EXTEND_Y];
    uint32_t neighbour[27];
    uint32_t unknown, near, carried; ///< axes: some face of the tile is unknown, some known that may reach it, carried
} extend_scratch;

/// Rows of faces that are known after so many layers.
TILE_FN uint16_t *rows_after(extend_scratch *s, int layers)
{
    return layers < EXTRAPOLATION_LAYERS - 1 ? s->known[layers] : s->last + EXTEND_Y;
}

TILE_FN int extend_row(int axis, int y, int z)
{
    return (y + EXTEND_BORDER) * EXTEND_Y + axis * EXTEND_WIDTH + z + EXTEND_BORDER;
}

TILE_FN int extend_place(int axis, int x, int y, int z)
{
    return axis * EXTEND_AXIS + (z + EXTEND_BORDER) * EXTEND_PLANE + (y + EXTEND_BORDER) * EXTEND_EDGE + x +
           EXTEND_BORDER - EXTEND_VALUE_FIRST;
}

/// Cells of a row within so many steps of the tile.
TILE_FN uint32_t extend_reach(int steps, int y, int z)
{
    const int off_y = tile_max_i32(tile_max_i32(-y, y - (TILE_EDGE - 1)), 0),
              off_z = tile_max_i32(tile_max_i32(-z, z - (TILE_EDGE - 1)), 0), rest = steps - off_y - off_z;
    return rest >= 0 ? ((1u << (TILE_EDGE + 2 * rest)) - 1) << (EXTEND_FIRST - rest) : 0;
}

/// Bits of a row's cells around which there is one of those of `row`.
TILE_FN uint32_t spread_bits(const uint16_t *row)
{
    const uint32_t own = row[0], y = row[-EXTEND_Y] | row[EXTEND_Y], z = row[-1] | row[1];
    return own << 1 | own >> 1 | y | z;
}

/// Which of the axes have unknown faces in the tile.
TILE_FN void find_unknown(const grid_args *args, extend_scratch *s, tile_place place, uint64_t known)
{
    const int lane = (int)threadIdx.x;
    if (lane < 3 * TILE_EDGE && lane % TILE_EDGE < tile_planes(&args->shape)) {
        const uint64_t all =
            args->walls_known && known != UINT64_MAX ? open_plane(args, place, (uint32_t)lane) : UINT64_MAX;
        tile_or_u32(&s->unknown, (uint32_t)(known != all) << (lane / TILE_EDGE));
    }
}

/// The bits of the known faces of those axes, and of the others as far as layers reach. Ends with a barrier.
TILE_FN void load_known(const grid_args *args, extend_scratch *s, uint32_t axes)
{
    const uint8_t *rows = args->m.face_rows;
    uint32_t bits[EXTEND_TURNS], near = 0;
    TILE_UNROLL for (int k = 0; k < EXTEND_TURNS; k++)
    {
        const int at = k * CELL_LANES + (int)threadIdx.x, axis = at % EXTEND_Y / EXTEND_WIDTH;
        const int y = at / EXTEND_Y - EXTEND_BORDER, z = at % EXTEND_WIDTH - EXTEND_BORDER;
        bits[k] = 0;
        if ((axes >> axis & 1) != 0 && at < EXTEND_WORDS && z < TILE_EDGE + EXTEND_BORDER) {
            const uint32_t *in = s->neighbour + halo_tile(0, y, z), row = (uint32_t)((z & 7) * TILE_EDGE + (y & 7));
            const uint32_t low = in[-1] != TILE_NONE ? rows[face_rows_of(in[-1], axis) + row] : 0u,
                           own = in[0] != TILE_NONE ? rows[face_rows_of(in[0], axis) + row] : 0u,
                           high = in[1] != TILE_NONE ? rows[face_rows_of(in[1], axis) + row] : 0u;
            bits[k] = low >> (TILE_EDGE - EXTEND_BORDER) << (EXTEND_FIRST - EXTEND_BORDER) | own << EXTEND_FIRST |
                      (high & ((1u << EXTEND_BORDER) - 1)) << (EXTEND_FIRST + TILE_EDGE);
        }
    }
    TILE_UNROLL for (int k = 0; k < EXTEND_TURNS; k++)
    {
        const int at = k * CELL_LANES + (int)threadIdx.x, axis = at % EXTEND_Y / EXTEND_WIDTH;
        const int y = at / EXTEND_Y - EXTEND_BORDER, z = at % EXTEND_WIDTH - EXTEND_BORDER;
        if (at < EXTEND_WORDS) {
            const uint32_t may = (axes >> axis & 1) != 0 ? extend_reach(EXTRAPOLATION_LAYERS - 1, y, z) : 0;
            s->known[0][at] = (uint16_t)bits[k];
            s->last[EXTEND_Y + at] = (uint16_t)(may & ~bits[k]);
            near |= (uint32_t)(bits[k] != 0) << axis;
        }
    }
    EXTEND_ONCE FOR_RANGE (i, 0, EXTEND_Y)
    {
        s->last[i] = s->last[EXTEND_Y + EXTEND_WORDS + i] = 0;
    }
    tile_or_u32(&s->near, near);
    TILE_BARRIER();
}

/// What the first layer adds, and what it looks at. Ends with a barrier.
TILE_FN void plan_first(extend_scratch *s)
{
    const uint16_t *known = rows_after(s, 0), *may = s->last + EXTEND_Y;
    EXTEND_ONCE FOR_RANGE (i, 0, EXTEND_WORDS)
    {
        s->known[1][i] = (uint16_t)(known[i] | (may[i] != 0 ? may[i] & spread_bits(known + i) : 0));
        s->read[i] = (uint16_t)(known[i] != 0 ? known[i] & spread_bits(may + i) : 0);
    }
    TILE_BARRIER();
}

/// What the second layer adds. The third one's are found where they are computed. Ends without a barrier.
TILE_FN void plan_second(extend_scratch *s)
{
    const uint16_t *known = rows_after(s, 1);
    uint16_t *last = rows_after(s, 2);
    EXTEND_ONCE FOR_RANGE (i, 0, EXTEND_WORDS)
    {
        const int y = (int)i / EXTEND_Y - EXTEND_BORDER, z = (int)i % EXTEND_WIDTH - EXTEND_BORDER;
        const uint32_t may = extend_reach(EXTRAPOLATION_LAYERS - 2, y, z);
        last[i] = (uint16_t)(known[i] | (may != 0 ? may & spread_bits(known + i) : 0));
    }
}

/// The cells of a column that have a bit in `words` but not in `less`, which may be NULL: bits from z = -3 on.
TILE_FN uint32_t find_in_column(const uint16_t *words, const uint16_t *less, int axis, int x, int y)
{
    enum { PAIRS = EXTEND_WIDTH / 2 };
    const int first = extend_row(axis, y, -EXTEND_BORDER);
    uint32_t rows[PAIRS], other[PAIRS] = {0}, cells = 0;
    memcpy(rows, __builtin_assume_aligned(words + first, 16), sizeof rows);
    if (less != NULL) {
        memcpy(other, __builtin_assume_aligned(less + first, 16), sizeof other);
    }
    TILE_UNROLL for (int i = 0; i < PAIRS; i++)
    {
        const uint32_t two = (rows[i] & ~other[i]) >> (x + EXTEND_FIRST) & 0x10001u;
        cells |= ((two | two >> 15) & 3u) << 2 * i;
    }
    return cells;
}

/// Loads the values that the first layer looks at; or has in place of them by what they changed since before the
/// forces; of the axes given. Ends with a barrier.
TILE_FN void load_values(const grid_args *args, extend_scratch *s, int is_change, uint32_t axes)
{
    enum { AT_ONCE = 4 }; // that are on their way: more than most columns have
    const int x = (int)threadIdx.x % EXTEND_WIDTH - EXTEND_FIRST, y = (int)threadIdx.x / EXTEND_WIDTH - EXTEND_BORDER;
    if (y < TILE_EDGE + EXTEND_BORDER) {
        const uint32_t *in = s->neighbour + halo_tile(x, y, -1), cell = cell_index(x & 7, y & 7, 0);
        const int is_own = x >= 0 && x < TILE_EDGE && y >= 0 && y < TILE_EDGE; // the tile's values are there
        const uint32_t wanted = is_own && !is_change ? ~(0xffu << EXTEND_BORDER) : UINT32_MAX;
        EXTEND_ONCE for (int axis = 0; axis < 3; axis++)
        {
            const float *field = is_change ? args->m.u_old[axis] : args->m.u[axis];
            float *to = s->value + extend_place(axis, x, y, 0);
            uint32_t cells = (axes >> axis & 1) != 0 ? wanted & find_in_column(s->read, NULL, axis, x, y) : 0;
            EXTEND_ONCE while (cells != 0)
            {
                float value[AT_ONCE];
                int z[AT_ONCE];
                TILE_UNROLL for (int i = 0; i < AT_ONCE; i++)
                {
                    z[i] = cells != 0 ? (int)tile_lowest_bit_u32(cells) - EXTEND_BORDER : TILE_CELLS;
                    value[i] = 0.0f;
                    if (cells != 0) {
                        const uint32_t slot = in[((z[i] + TILE_EDGE) >> TILE_LOG2) * 9];
                        value[i] = field[(uint64_t)slot * TILE_CELLS + cell + cell_index(0, 0, z[i] & 7)];
                    }
                    cells &= cells - 1;
                }
                TILE_UNROLL for (int i = 0; i < AT_ONCE; i++)
                {
                    if (z[i] < TILE_CELLS) {
                        float *at = to + z[i] * EXTEND_PLANE;
                        *at = !is_change ? value[i] : value[i] < SPEED_UNKNOWN ? *at - value[i] : 0.0f;
                    }
                }
            }
        }
    }
    TILE_BARRIER();
}

/// The mean of the known faces around one, or 0 where there are none.
/// @param known  its row's
TILE_FN float mean_around(const uint16_t *known, int x, const float *value)
{
    enum { Y = EXTEND_EDGE, Z = EXTEND_PLANE };
    const int bit = x + EXTEND_FIRST;
    const row_i32 is[6] = {
        row_bits_mask((uint32_t)known[0] >> (bit - 1)),   row_bits_mask((uint32_t)known[0] >> (bit + 1)),
        row_bits_mask((uint32_t)known[-EXTEND_Y] >> bit), row_bits_mask((uint32_t)known[EXTEND_Y] >> bit),
        row_bits_mask((uint32_t)known[-1] >> bit),        row_bits_mask((uint32_t)known[1] >> bit)};
    const float along_x = row_load_kept(is[0], value - 1) + row_load_kept(is[1], value + 1);
    const float along_y = row_load_kept(is[2], value - Y) + row_load_kept(is[3], value + Y);
    const float along_z = row_load_kept(is[4], value - Z) + row_load_kept(is[5], value + Z);
    const float count = row_count(is, 6);
    return count > 0.0f ? ((along_x + along_y) + along_z) / count : 0.0f;
}

/// Gives the faces of a layer the mean of the known ones around them, of the axes given. Ends without a barrier.
TILE_FN void extend_layer(extend_scratch *s, int layer, uint32_t axes)
{
    const int x = (int)threadIdx.x % EXTEND_WIDTH - EXTEND_FIRST, y = (int)threadIdx.x / EXTEND_WIDTH - EXTEND_BORDER;
    if (y >= TILE_EDGE + EXTEND_BORDER) {
        return;
    }
    const uint16_t *before = rows_after(s, layer - 1), *after = rows_after(s, layer);
    EXTEND_ONCE for (int axis = 0; axis < 3; axis++)
    {
        uint32_t fresh = (axes >> axis & 1) != 0 ? find_in_column(after, before, axis, x, y) : 0;
        for (; fresh != 0; fresh &= fresh - 1) {
            const int z = (int)tile_lowest_bit_u32(fresh) - EXTEND_BORDER;
            float *to = s->value + extend_place(axis, x, y, z);
            *to = mean_around(before + extend_row(axis, y, z), x, to);
        }
    }
}

/// Which of the lane's cells particles brought a velocity to that no solid shuts out.
TILE_FN uint32_t find_brought(const grid_args *args, uint64_t first, uint32_t axes)
{
    const uint32_t cells = tile_rows(&args->shape) * TILE_EDGE;
    uint32_t brought = 0;
    TILE_UNROLL for (int k = 0; k < EXTEND_OWN; k++)
    {
        const uint32_t cell = (uint32_t)(k % 2 * CELL_LANES) + threadIdx.x;
        const uint8_t *open = args->m.open[k / 2];
        if ((axes >> k / 2 & 1) != 0 && cell < cells) {
            const float was = args->m.u_old[k / 2][first + cell];
            brought |= (uint32_t)(was < SPEED_UNKNOWN && (open == NULL || open[first + cell] != 0)) << k;
        }
    }
    return brought;
}

/// Adds the last layer and stores the lane's cells, of the axes given: those that aren't carried; or, once there are
/// changes in place of velocities, those that are. To what a carried face has only the change comes from inside. With
/// the velocity from there, too, particles at the surface would be braked to that of the liquid below them: a block
/// that turns would lose its spin there. Carried are faces of no liquid that layers and particles reach. Ends with a
/// barrier.
TILE_FN void store_extended(const grid_args *args, extend_scratch *s, uint64_t first, int is_change, uint32_t axes,
                            uint32_t brought)
{
    uint32_t carried = 0;
    EXTEND_ONCE for (int axis = 0; axis < 3; axis++)
    {
        TILE_UNROLL for (int half = 0; half < 2 && (axes >> axis & 1) != 0; half++)
        {
            const uint32_t cell = (uint32_t)(half * CELL_LANES) + threadIdx.x;
            const int x = (int)cell & 7, y = (int)cell >> 3 & 7, z = (int)cell >> 6;
            const int row = extend_row(axis, y, z), bit = x + EXTEND_FIRST;
            const float *value = s->value + extend_place(axis, x, y, z);
            const uint16_t *known = rows_after(s, 2) + row;
            const int was_known = s->known[0][row] >> bit & 1, is_before = *known >> bit & 1;
            const int is_carried = !was_known && (is_before || (spread_bits(known) >> bit & 1) != 0) &&
                                   (brought >> (2 * axis + half) & 1) != 0;
            if (is_carried == is_change) {
                const float extended = is_before ? *value : mean_around(known, x, value);
                args->m.u_ext[axis][first + cell] = is_change ? args->m.u_old[axis][first + cell] + extended : extended;
            }
            carried |= (uint32_t)is_carried << axis;
        }
    }
    tile_or_u32(&s->carried, carried);
    TILE_BARRIER();
}

TILE_FN void extend_tile(const grid_args *args, uint32_t tile, extend_scratch *s)
{
    const grid_memory *m = &args->m;
    const uint32_t lane = threadIdx.x, cells = tile_rows(&args->shape) * TILE_EDGE;
    const uint64_t first = (uint64_t)tile * TILE_CELLS;
    // What needs no neighbours is on its way while these are looked up.
    const uint64_t valid = lane < 3 * TILE_EDGE ? face_plane(m->face_rows + face_rows_of(tile, 0), lane) : UINT64_MAX;
    float own[EXTEND_OWN];
    TILE_UNROLL for (int k = 0; k < EXTEND_OWN; k++) own[k] =
        m->u[k / 2][first + (uint32_t)(k % 2 * CELL_LANES) + lane];
    const uint32_t carries = m->control->faces_carry;
    const tile_place place = tile_place_of(&args->shape, 0, m->active_tile[tile]);
    if (TILE_SINGLE()) {
        s->unknown = s->near = s->carried = 0;
    }
    halo_neighbours(args, place, s->neighbour);
    TILE_BARRIER();
    find_unknown(args, s, place, valid);
    TILE_BARRIER();
    const uint32_t unknown = s->unknown;
    if (unknown != 0) {
        load_known(args, s, unknown);
    }
    const uint32_t extends = unknown != 0 ? s->near : 0;
    TILE_UNROLL for (int k = 0; k < EXTEND_OWN; k++)
    {
        const uint32_t cell = (uint32_t)(k % 2 * CELL_LANES) + lane;
        if ((extends >> k / 2 & 1) != 0) {
            s->value[extend_place(k / 2, (int)cell & 7, (int)cell >> 3 & 7, (int)cell >> 6)] = own[k];
        } else if (cell < cells) {
            m->u_ext[k / 2][first + cell] = (unknown >> k / 2 & 1) != 0 ? 0.0f : own[k];
        }
    }
    if (extends == 0) {
        return;
    }
    const uint32_t brought = find_brought(args, first, carries ? extends : 0);
    plan_first(s);
    EXTEND_ONCE for (int is_change = 0; is_change < 2; is_change++)
    {
        const uint32_t axes = is_change ? s->carried : extends;
        if (axes == 0) {
            return;
        }
        load_values(args, s, is_change, axes);
        EXTEND_ONCE for (int layer = 1; layer < EXTRAPOLATION_LAYERS; layer++)
        {
            extend_layer(s, layer, axes);
            if (layer == 1 && !is_change) {
                plan_second(s);
            }
            TILE_BARRIER();
        }
        store_extended(args, s, first, is_change, axes, brought);
    }
}

#endif
