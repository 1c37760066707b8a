/// How a processor extends velocities: component by component, the rows that have something to do. Part of
/// extrapolate.tile.c.
#ifndef TARN_KERNELS_GRID_EXTRAPOLATE_CPU_H
#define TARN_KERNELS_GRID_EXTRAPOLATE_CPU_H

// Which faces become known in which layer follows from bits, a word for a row of cells; then values are computed of the
// faces that are wanted: those of the tile itself, and those around it that they come from.

enum {
    EXTEND_BORDER = EXTRAPOLATION_LAYERS,
    EXTEND_EDGE = TILE_EDGE + 2 * EXTEND_BORDER,
    EXTEND_PLANE = ROW_WORDS,                 ///< rows of a plane, of which EXTEND_EDGE are in use
    EXTEND_ROWS = EXTEND_EDGE * EXTEND_PLANE, ///< [z][y]
    EXTEND_WIDTH = 16,                        ///< of a row, whose cells -4..11 are 0..15
    EXTEND_FIRST = 4,
    EXTEND_OWN = 0xff << EXTEND_FIRST, ///< bits of a row in the tile itself, and beside it
    EXTEND_LOW = EXTEND_OWN >> TILE_EDGE,
    EXTEND_HIGH = 0xf << (EXTEND_FIRST + TILE_EDGE),
};

/// Bits of rows, with zeros around them.
typedef struct extend_bits {
    uint16_t word[EXTEND_PLANE + EXTEND_ROWS + EXTEND_PLANE];
} extend_bits;

typedef struct extend_scratch {
    float value[EXTEND_ROWS][EXTEND_WIDTH];
    extend_bits known[EXTRAPOLATION_LAYERS + 1];  ///< after so many layers
    extend_bits wanted[EXTRAPOLATION_LAYERS + 1]; ///< of those that a layer adds; [0]: of all layers
    uint16_t read[EXTEND_ROWS];                   ///< what is looked at for them
    uint16_t carried[EXTEND_ROWS];                ///< of those that no layer knew, what particles brought velocities to
    uint32_t any_carried;
    uint8_t nothing[TILE_ROWS];
    uint32_t neighbour[27];
    uint32_t unknown, known_near; ///< some face of the tile is unknown, some that may reach it known
} extend_scratch;

TILE_FN uint16_t *rows_in(extend_bits *bits)
{
    return bits->word + EXTEND_PLANE;
}

TILE_FN int extend_row(int y, int z)
{
    return (z + EXTEND_BORDER) * EXTEND_PLANE + y + EXTEND_BORDER;
}

/// Bits of a row's cells and of the six around each.
TILE_FN uint32_t spread_bits(const uint16_t *row)
{
    const uint32_t own = row[0], y = row[-1] | row[1], z = row[-EXTEND_PLANE] | row[EXTEND_PLANE];
    return own | own << 1 | own >> 1 | y | z;
}

/// No bits.
TILE_FN void clear_bits(extend_scratch *s)
{
    for (int layer = 0; layer <= EXTRAPOLATION_LAYERS; layer++) {
        uint16_t *known = s->known[layer].word, *wanted = s->wanted[layer].word;
        FOR_RANGE (i, 0, EXTEND_ROWS + 2 * EXTEND_PLANE) {
            known[i] = wanted[i] = 0;
        }
    }
    FOR_RANGE (r, 0, EXTEND_ROWS) {
        s->carried[r] = 0;
    }
    FOR_RANGE (i, 0, TILE_ROWS) {
        s->nothing[i] = 0;
    }
}

/// The bits of rows side by side, from those of three tiles in a row.
TILE_FN void join_rows(uint16_t *to, const uint8_t *const *from, int ny, int nz)
{
    const uint8_t *low = from[0], *own = from[1], *high = from[2];
    FOR_BOX (y, z, once, ny, nz, 1) {
        const int at = z * TILE_EDGE + y + once;
        to[z * EXTEND_PLANE + y] = (uint16_t)((low[at] >> 5) << 1 | own[at] << EXTEND_FIRST | (high[at] & 7) << 12);
    }
}

/// Which faces of the tile and around it are known.
TILE_FN void load_known(const grid_args *args, extend_scratch *s, int axis)
{
    for (int n = 0; n < 9; n++) {
        const int sy = n % 3 - 1, sz = n / 3 - 1, nz = sz == 0 ? (int)TILE_EDGE : (int)EXTEND_BORDER;
        const int y = sy < 0 ? TILE_EDGE - EXTEND_BORDER : 0, z = sz < 0 ? TILE_EDGE - EXTEND_BORDER : 0;
        uint16_t *to = rows_in(&s->known[0]) + extend_row(y + sy * TILE_EDGE, z + sz * TILE_EDGE);
        const uint8_t *from[3];
        for (int i = 0; i < 3; i++) {
            const uint32_t slot = s->neighbour[3 * n + i];
            from[i] = (slot == TILE_NONE ? s->nothing : args->m.face_rows + face_rows_of(slot, axis)) + z * 8 + y;
        }
        if (sy == 0) {
            join_rows(to, from, TILE_EDGE, nz);
        } else {
            join_rows(to, from, EXTEND_BORDER, nz);
        }
    }
    if (TILE_SINGLE()) {
        s->known_near = 0;
    }
    FOR_RANGE_ATOMIC (r, 0, EXTEND_ROWS) {
        tile_or_u32(&s->known_near, rows_in(&s->known[0])[r]);
    }
}

/// Which faces are known after each layer.
TILE_FN void plan_known(extend_scratch *s)
{
    for (int layer = 1; layer <= EXTRAPOLATION_LAYERS; layer++) {
        const uint16_t *known = rows_in(&s->known[layer - 1]);
        FOR_RANGE (r, 0, EXTEND_ROWS) {
            rows_in(&s->known[layer])[r] = (uint16_t)spread_bits(known + r);
        }
    }
}

/// Which faces each layer is to add, of the tile those that are carried or the others, and which they come from.
TILE_FN void plan_wanted(extend_scratch *s, int are_carried)
{
    const uint16_t other = are_carried ? 0 : EXTEND_OWN;
    for (int layer = EXTRAPOLATION_LAYERS; layer > 0; layer--) {
        const uint16_t *known = rows_in(&s->known[layer]), *before = rows_in(&s->known[layer - 1]);
        const uint16_t *after = rows_in(&s->wanted[(layer + 1) % (EXTRAPOLATION_LAYERS + 1)]);
        uint16_t *wanted = rows_in(&s->wanted[layer]);
        FOR_RANGE (r, 0, EXTEND_ROWS) {
            wanted[r] = layer < EXTRAPOLATION_LAYERS ? (uint16_t)(spread_bits(after + r) & known[r] & ~before[r]) : 0;
        }
        FOR_BOX (y, z, once, TILE_EDGE, TILE_EDGE, 1) {
            const int r = extend_row(y, z) + once;
            wanted[r] |= (uint16_t)(known[r] & ~before[r] & (s->carried[r] ^ other));
        }
    }
    uint16_t *all = rows_in(&s->wanted[0]);
    FOR_RANGE (r, 0, EXTEND_ROWS) {
        all[r] = rows_in(&s->wanted[1])[r] | rows_in(&s->wanted[2])[r] | rows_in(&s->wanted[3])[r];
    }
    FOR_RANGE (r, 0, EXTEND_ROWS) {
        s->read[r] = (uint16_t)spread_bits(all + r);
    }
}

/// By what forces and pressure changed a velocity.
TILE_FN float face_gain(float now, float before)
{
    return before < SPEED_UNKNOWN ? now - before : 0.0f;
}

/// Loads the rows that are looked at: velocities, or where `before` isn't NULL by what they changed since. Of what is
/// unknown it doesn't matter what there is.
TILE_FN void load_values(const grid_args *args, extend_scratch *s, int axis, const float *before)
{
    const float *field = args->m.u[axis];
    FOR_SET_ROWS (x, r, 0, EXTEND_ROWS, s->read, EXTEND_LOW | EXTEND_OWN | EXTEND_HIGH) {
        const int y = r % EXTEND_PLANE - EXTEND_BORDER, z = r / EXTEND_PLANE - EXTEND_BORDER;
        const uint32_t *in = s->neighbour + halo_tile(0, y, z), cell = cell_index(0, y & 7, z & 7);
        if (in[0] != TILE_NONE) {
            const uint64_t from = (uint64_t)in[0] * TILE_CELLS + cell + (uint32_t)x;
            const row_f32 now = row_load(field + from), old = before != NULL ? row_load(before + from) : row_all(0.0f);
            row_store(&s->value[r][EXTEND_FIRST + x], row_keep(old < SPEED_UNKNOWN, now - old));
        }
    }
    FOR_SET_ROWS (x, r, 0, EXTEND_ROWS, s->read, EXTEND_LOW | EXTEND_HIGH) {
        const int y = r % EXTEND_PLANE - EXTEND_BORDER, z = r / EXTEND_PLANE - EXTEND_BORDER;
        const uint32_t *in = s->neighbour + halo_tile(0, y, z), cell = cell_index(0, y & 7, z & 7);
        for (int i = 1; i < EXTEND_FIRST && x == 0; i++) {
            if (in[-1] != TILE_NONE) {
                const uint64_t from = (uint64_t)in[-1] * TILE_CELLS + cell + TILE_EDGE - EXTEND_FIRST + (uint32_t)i;
                s->value[r][i] = face_gain(field[from], before != NULL ? before[from] : 0.0f);
            }
            if (in[1] != TILE_NONE) {
                const uint64_t from = (uint64_t)in[1] * TILE_CELLS + cell + EXTEND_FIRST - 1 - (uint32_t)i;
                s->value[r][EXTEND_WIDTH - 1 - i] = face_gain(field[from], before != NULL ? before[from] : 0.0f);
            }
        }
    }
}

/// Gives faces of a layer, of eight places from `at` on the wanted ones of the bits `of`, the mean of the known ones
/// around them.
TILE_FN void extend_rows(extend_scratch *s, int layer, uint32_t of, int at)
{
    enum { Y = 1, Z = EXTEND_PLANE };
    const uint16_t *known = rows_in(&s->known[layer - 1]), *wanted = rows_in(&s->wanted[layer]);
    FOR_SET_ROWS (x, r, EXTEND_PLANE, EXTEND_ROWS - EXTEND_PLANE, wanted, of) {
        const int i = at + x;
        const float *v = &s->value[r][i];
        if (row_idles(row_bits_mask((wanted[r] & of) >> i))) {
            continue;
        }
        const row_i32 is[6] = {row_bits_mask((uint32_t)known[r] << 1 >> i), row_bits_mask((uint32_t)known[r] >> 1 >> i),
                               row_bits_mask((uint32_t)known[r - Y] >> i),  row_bits_mask((uint32_t)known[r + Y] >> i),
                               row_bits_mask((uint32_t)known[r - Z] >> i),  row_bits_mask((uint32_t)known[r + Z] >> i)};
        const row_f32 along_x = row_load_kept(is[0], v - 1) + row_load_kept(is[1], v + 1);
        const row_f32 along_y = row_load_kept(is[2], v - Y * EXTEND_WIDTH) + row_load_kept(is[3], v + Y * EXTEND_WIDTH);
        const row_f32 along_z = row_load_kept(is[4], v - Z * EXTEND_WIDTH) + row_load_kept(is[5], v + Z * EXTEND_WIDTH);
        const row_f32 mean = ((along_x + along_y) + along_z) / row_count(is, 6);
        row_put(&s->value[r][i], row_bits_mask((wanted[r] & of) >> i), mean);
    }
}

TILE_FN void extend_layers(extend_scratch *s)
{
    for (int layer = 1; layer <= EXTRAPOLATION_LAYERS; layer++) {
        // A layer's faces don't count in their own layer: what is written here is masked where it is read here.
        extend_rows(s, layer, EXTEND_OWN, EXTEND_FIRST);
        extend_rows(s, layer, EXTEND_LOW, 0);
        extend_rows(s, layer, EXTEND_HIGH, EXTEND_WIDTH - TILE_EDGE);
    }
}

/// Which faces of no liquid keep what particles brought: those that they reach and that no solid shuts. Ends without a
/// barrier.
TILE_FN void find_carried(const grid_args *args, extend_scratch *s, int axis, uint64_t first)
{
    const uint16_t *known = rows_in(&s->known[EXTRAPOLATION_LAYERS]), *before = rows_in(&s->known[0]);
    const float *brought = args->m.u_old[axis] + first;
    const uint8_t *open = args->m.open[axis];
    if (TILE_SINGLE()) {
        s->any_carried = 0;
    }
    FOR_RANGE_ATOMIC (row, 0, (uint32_t)tile_rows(&args->shape)) {
        const int r = extend_row((int)row % TILE_EDGE, (int)row / TILE_EDGE);
        const uint32_t cell = row * TILE_EDGE;
        uint32_t bits = (uint32_t)(known[r] & ~before[r]) >> EXTEND_FIRST & 0xff;
        if (bits != 0) {
            bits &= row_below(brought + cell, SPEED_UNKNOWN);
            bits &= open != NULL ? row_bits_from(open + first + cell, 1) : bits;
            tile_or_u32(&s->any_carried, bits);
        }
        s->carried[r] = (uint16_t)(bits << EXTEND_FIRST);
    }
}

/// To what a carried face has only the change comes from inside. With the velocity from there, too, particles at the
/// surface would be braked to that of the liquid below them: a block that turns would lose its spin there.
TILE_FN void extend_changes(const grid_args *args, extend_scratch *s, int axis, uint64_t first, float *to)
{
    const float *before = args->m.u_old[axis];
    plan_wanted(s, 1);
    load_values(args, s, axis, before);
    extend_layers(s);
    FOR_SET_ROWS (x, r, 0, EXTEND_ROWS, s->carried, EXTEND_OWN) {
        const uint32_t cell = cell_index(x, r % EXTEND_PLANE - EXTEND_BORDER, r / EXTEND_PLANE - EXTEND_BORDER);
        row_put(to + cell, row_bits_mask((uint32_t)s->carried[r] >> (EXTEND_FIRST + x)),
                row_load(before + first + cell) + row_load(&s->value[r][EXTEND_FIRST + x]));
    }
}

/// One component of a tile that has unknown faces and known ones near.
TILE_FN void extend_component(const grid_args *args, extend_scratch *s, int axis, uint64_t first, float *to)
{
    const uint16_t *known = rows_in(&s->known[EXTRAPOLATION_LAYERS]), *fresh = rows_in(&s->wanted[0]);
    const float *own = args->m.u[axis] + first;
    plan_known(s);
    if (args->m.control->faces_carry) {
        find_carried(args, s, axis, first);
    }
    plan_wanted(s, 0);
    load_values(args, s, axis, NULL);
    extend_layers(s);
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        const int r = extend_row((int)row % TILE_EDGE, (int)row / TILE_EDGE);
        const uint32_t cell = row * TILE_EDGE + x;
        const float *from = fresh[r] != 0 ? &s->value[r][EXTEND_FIRST + x] : own + cell;
        row_store(to + cell, row_keep(row_bits_mask((uint32_t)known[r] >> (EXTEND_FIRST + x)), row_load(from)));
    }
    if (args->m.control->faces_carry && s->any_carried != 0) {
        extend_changes(args, s, axis, first, to);
    }
}

TILE_FN void extend_tile(const grid_args *args, uint32_t tile, extend_scratch *s)
{
    const grid_memory *m = &args->m;
    const uint64_t first = (uint64_t)tile * TILE_CELLS;
    const uint8_t *valid = m->face_rows + face_rows_of(tile, 0);
    const tile_place place = tile_place_of(&args->shape, 0, m->active_tile[tile]);
    halo_neighbours(args, place, s->neighbour);
    if (TILE_SINGLE()) {
        s->unknown = 0;
    }
    const uint32_t planes = (uint32_t)tile_planes(&args->shape);
    FOR_RANGE_ATOMIC (i, 0, 3 * planes) {
        const uint32_t plane = i / planes * TILE_EDGE + i % planes;
        const uint64_t known = face_plane(valid, plane),
                       all = args->walls_known && known != UINT64_MAX ? open_plane(args, place, plane) : UINT64_MAX;
        tile_or_u32(&s->unknown, (uint32_t)(known != all) << (plane / TILE_EDGE));
    }
    if (s->unknown != 0) {
        clear_bits(s);
    }
    for (int axis = 0; axis < 3; axis++) {
        const float *from = m->u[axis] + first;
        float *to = m->u_ext[axis] + first;
        const int known = (s->unknown >> axis & 1) == 0;
        if (!known) {
            load_known(args, s, axis);
        }
        if (!known && s->known_near != 0) {
            extend_component(args, s, axis, first, to);
        } else {
            FOR_RANGE (i, 0, tile_rows(&args->shape) * TILE_EDGE) {
                to[i] = known ? from[i] : 0.0f;
            }
        }
    }
}

#endif
