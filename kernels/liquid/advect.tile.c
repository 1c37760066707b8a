// From the solved pressure back to the particles: projection, extrapolation into the air, grid to particles and their
// advection (RK3).
#include "kernels/device/row.h"
#include "kernels/liquid/pack_axis.h"
#include "kernels/liquid/poisson.h"

// ---------------------------------------------------------------------------------------------------------- projection

typedef struct project_scratch {
    face_plan plan;
    float pressure[RIM_CELLS];
} project_scratch;

TILE_FN void project_axis(const liquid_args *args, const project_scratch *s, int axis, uint64_t own)
{
    const liquid_memory *m = &args->m;
    const int stride = axis == 0 ? 1 : axis == 1 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
    const uint16_t *touching = s->plan.touching[axis];
    float *u = m->u[axis] + own, *shift = m->shift[axis] + own;
    if (args->is_density) {
        FOR_RANGE (i, 0, TILE_CELLS)
            shift[i] = 0.0f;
        TILE_BARRIER();
    }
    FOR_SET_ROWS (x, r, 0, TILE_EDGE * ROW_WORDS, touching, 0xff) {
        const int y = r % ROW_WORDS, z = r / ROW_WORDS;
        const uint32_t cell = cell_index(x, y, z);
        const float *p = s->pressure + rim_index(x, y, z);
        row_f32 change = row_steepness(&s->plan, axis, x, y, z) * (row_load(p - stride) - row_load(p));
        if (m->beta[axis] != NULL)
            change *= row_load(m->beta[axis] + own + cell);
        if (args->is_density)
            row_store(shift + cell, row_clamp(change, -0.5f * DENSITY_STEP_MAX, 0.5f * DENSITY_STEP_MAX));
        else
            row_store(u + cell, row_load(u + cell) + change);
    }
}

/// The faces that touch liquid and are not shut by a solid, which pressure gives a velocity.
TILE_FN void mark_valid(const liquid_memory *m, const face_plan *plan, uint32_t tile)
{
    for (int axis = 0; axis < 3; axis++) {
        const uint8_t *open = m->open[axis];
        uint8_t *valid = m->face_rows + face_rows_of(tile, axis);
        FOR_BOX (y, z, once, TILE_EDGE, TILE_EDGE, 1) {
            const int row = z * TILE_EDGE + y + once;
            uint32_t bits = plan->touching[axis][face_row(y, z)];
            for (int x = 0; open != NULL && x < TILE_EDGE; x++)
                bits &= ~((uint32_t)(open[(uint64_t)tile * TILE_CELLS + (uint32_t)(row * TILE_EDGE + x)] == 0) << x);
            valid[row] = (uint8_t)bits;
        }
    }
}

/// u -= grad p on the faces that touch liquid, which become the valid ones; or, for the density correction, the
/// displacement -grad q. What failed is not applied. One tile per active tile.
TILE_KERNEL(liquid_project, CELL_LANES, liquid_args, project_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->active_tile[tile];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    if (!is_near_liquid(args, place, dense)) {
        if (!args->is_density) {
            FOR_RANGE (r, 0, 3 * TILE_ROWS)
                m->face_rows[face_rows_of(tile, 0) + r] = 0;
        }
        for (int axis = 0; axis < 3 && args->is_density; axis++) {
            FOR_RANGE (i, 0, TILE_CELLS)
                m->shift[axis][own + i] = 0.0f;
        }
        return;
    }
    plan_faces(args, place, tile, 0, &s->plan);
    load_rim(args, 0, place, m->level[0].index[dense], args->solution, s->pressure);
    if (m->counters->failed != 0) {
        FOR_RANGE (i, 0, RIM_CELLS)
            s->pressure[i] = 0.0f;
        TILE_BARRIER();
    }
    for (int axis = 0; axis < 3; axis++)
        project_axis(args, s, axis, own);
    if (!args->is_density)
        mark_valid(m, &s->plan, tile);
}

// ------------------------------------------------------------------------------------------------------- extrapolation

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

/// No bits. Ends without a barrier.
TILE_FN void clear_bits(extend_scratch *s)
{
    for (int layer = 0; layer <= EXTRAPOLATION_LAYERS; layer++) {
        uint16_t *known = s->known[layer].word, *wanted = s->wanted[layer].word;
        FOR_RANGE (i, 0, EXTEND_ROWS + 2 * EXTEND_PLANE)
            known[i] = wanted[i] = 0;
    }
    FOR_RANGE (i, 0, TILE_ROWS)
        s->nothing[i] = 0;
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
TILE_FN void load_known(const liquid_args *args, extend_scratch *s, int axis)
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
        if (sy == 0)
            join_rows(to, from, TILE_EDGE, nz);
        else
            join_rows(to, from, EXTEND_BORDER, nz);
    }
    if (TILE_SINGLE())
        s->known_near = 0;
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (r, 0, EXTEND_ROWS)
        tile_or_u32(&s->known_near, rows_in(&s->known[0])[r]);
    TILE_BARRIER();
}

/// Which faces each layer adds, which of those are wanted, and which they come from.
TILE_FN void plan_layers(extend_scratch *s)
{
    for (int layer = 1; layer <= EXTRAPOLATION_LAYERS; layer++) {
        const uint16_t *known = rows_in(&s->known[layer - 1]);
        FOR_RANGE (r, 0, EXTEND_ROWS)
            rows_in(&s->known[layer])[r] = (uint16_t)spread_bits(known + r);
        TILE_BARRIER();
    }
    uint16_t *all = rows_in(&s->wanted[0]);
    for (int layer = EXTRAPOLATION_LAYERS; layer > 0; layer--) {
        const uint16_t *known = rows_in(&s->known[layer]), *before = rows_in(&s->known[layer - 1]);
        const uint16_t *after = rows_in(&s->wanted[(layer + 1) % (EXTRAPOLATION_LAYERS + 1)]);
        uint16_t *wanted = rows_in(&s->wanted[layer]);
        FOR_RANGE (r, 0, EXTEND_ROWS)
            wanted[r] = layer < EXTRAPOLATION_LAYERS ? (uint16_t)(spread_bits(after + r) & known[r] & ~before[r]) : 0;
        TILE_BARRIER();
        FOR_BOX (y, z, once, TILE_EDGE, TILE_EDGE, 1) {
            const int r = extend_row(y, z) + once;
            wanted[r] |= (uint16_t)(known[r] & ~before[r] & EXTEND_OWN);
        }
        TILE_BARRIER();
    }
    FOR_RANGE (r, 0, EXTEND_ROWS)
        all[r] = rows_in(&s->wanted[1])[r] | rows_in(&s->wanted[2])[r] | rows_in(&s->wanted[3])[r];
    TILE_BARRIER();
    FOR_RANGE (r, 0, EXTEND_ROWS)
        s->read[r] = (uint16_t)spread_bits(all + r);
    TILE_BARRIER();
}

/// Loads the rows that are looked at. Of what is unknown it doesn't matter what there is.
TILE_FN void load_values(const liquid_args *args, extend_scratch *s, int axis)
{
    const float *field = args->m.u[axis];
    FOR_SET_ROWS (x, r, 0, EXTEND_ROWS, s->read, EXTEND_LOW | EXTEND_OWN | EXTEND_HIGH) {
        const int y = r % EXTEND_PLANE - EXTEND_BORDER, z = r / EXTEND_PLANE - EXTEND_BORDER;
        const uint32_t *in = s->neighbour + halo_tile(0, y, z), cell = cell_index(0, y & 7, z & 7);
        if (in[0] != TILE_NONE)
            row_store(&s->value[r][EXTEND_FIRST + x], row_load(field + (uint64_t)in[0] * TILE_CELLS + cell + x));
    }
    FOR_SET_ROWS (x, r, 0, EXTEND_ROWS, s->read, EXTEND_LOW | EXTEND_HIGH) {
        const int y = r % EXTEND_PLANE - EXTEND_BORDER, z = r / EXTEND_PLANE - EXTEND_BORDER;
        const uint32_t *in = s->neighbour + halo_tile(0, y, z), cell = cell_index(0, y & 7, z & 7);
        for (int i = 1; i < EXTEND_FIRST && x == 0; i++) {
            if (in[-1] != TILE_NONE)
                s->value[r][i] = field[(uint64_t)in[-1] * TILE_CELLS + cell + TILE_EDGE - EXTEND_FIRST + i];
            if (in[1] != TILE_NONE)
                s->value[r][EXTEND_WIDTH - 1 - i] = field[(uint64_t)in[1] * TILE_CELLS + cell + EXTEND_FIRST - 1 - i];
        }
    }
    TILE_BARRIER();
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
        const row_i32 is[6] = {row_bits_mask((uint32_t)known[r] << 1 >> i), row_bits_mask((uint32_t)known[r] >> 1 >> i),
                               row_bits_mask((uint32_t)known[r - Y] >> i),  row_bits_mask((uint32_t)known[r + Y] >> i),
                               row_bits_mask((uint32_t)known[r - Z] >> i),  row_bits_mask((uint32_t)known[r + Z] >> i)};
        const row_f32 along_x = row_keep(is[0], row_load(v - 1)) + row_keep(is[1], row_load(v + 1));
        const row_f32 along_y =
            row_keep(is[2], row_load(v - Y * EXTEND_WIDTH)) + row_keep(is[3], row_load(v + Y * EXTEND_WIDTH));
        const row_f32 along_z =
            row_keep(is[4], row_load(v - Z * EXTEND_WIDTH)) + row_keep(is[5], row_load(v + Z * EXTEND_WIDTH));
        const row_f32 mean = ((along_x + along_y) + along_z) / row_count(is, 6);
        row_put(&s->value[r][i], row_bits_mask((wanted[r] & of) >> i), mean);
    }
}

/// One component of a tile that has unknown faces and known ones near.
TILE_FN void extend_component(const liquid_args *args, extend_scratch *s, int axis, const float *own, float *to)
{
    const uint16_t *known = rows_in(&s->known[EXTRAPOLATION_LAYERS]), *fresh = rows_in(&s->wanted[0]);
    plan_layers(s);
    load_values(args, s, axis);
    for (int layer = 1; layer <= EXTRAPOLATION_LAYERS; layer++) {
        // A layer's faces don't count in their own layer: what is written here is masked where it is read here.
        extend_rows(s, layer, EXTEND_OWN, EXTEND_FIRST);
        extend_rows(s, layer, EXTEND_LOW, 0);
        extend_rows(s, layer, EXTEND_HIGH, EXTEND_WIDTH - TILE_EDGE);
        TILE_BARRIER();
    }
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        const int r = extend_row((int)row % TILE_EDGE, (int)row / TILE_EDGE);
        const uint32_t cell = row * TILE_EDGE + x;
        const float *from = fresh[r] != 0 ? &s->value[r][EXTEND_FIRST + x] : own + cell;
        row_store(to + cell, row_keep(row_bits_mask((uint32_t)known[r] >> (EXTEND_FIRST + x)), row_load(from)));
    }
    TILE_BARRIER();
}

/// Velocities of the faces that touch no liquid, up to EXTRAPOLATION_LAYERS away. One tile per active tile.
TILE_KERNEL(liquid_extrapolate, CELL_LANES, liquid_args, extend_scratch)
{
    const liquid_memory *m = &args->m;
    const uint64_t first = (uint64_t)tile * TILE_CELLS;
    const uint8_t *valid = m->face_rows + face_rows_of(tile, 0);
    halo_neighbours(args, tile_place_of(&args->shape, 0, m->active_tile[tile]), s->neighbour);
    if (TILE_SINGLE())
        s->unknown = 0;
    clear_bits(s);
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (r, 0, 3 * TILE_ROWS)
        tile_or_u32(&s->unknown, (uint32_t)(valid[r] != 0xff) << (r / TILE_ROWS));
    TILE_BARRIER();
    for (int axis = 0; axis < 3; axis++) {
        const float *from = m->u[axis] + first;
        float *to = m->u_ext[axis] + first;
        const int known = (s->unknown >> axis & 1) == 0;
        if (!known)
            load_known(args, s, axis);
        if (!known && s->known_near != 0) {
            extend_component(args, s, axis, from, to);
        } else {
            FOR_RANGE (i, 0, TILE_CELLS)
                to[i] = known ? from[i] : 0.0f;
        }
        TILE_BARRIER();
    }
}

// ----------------------------------------------------------------------------------------- grid to particles,
// advection

enum {
    NEAR_EDGE = 10, ///< velocities at the particles
    NEAR_NODES = NEAR_EDGE * NEAR_EDGE * NEAR_EDGE,
    FAR_BORDER = 2,
    FAR_EDGE = 12, ///< velocities on the way
    FAR_NODES = FAR_EDGE * FAR_EDGE * FAR_EDGE,
    FAR_SQUARES = FAR_EDGE * (FAR_EDGE - 1) * FAR_EDGE,
    FAR_COPIES = PACK_WIDTH > 1 ? 2 : 1, ///< a CPU looks a node and the next along y up at once
};

/// What is looked up where particles are: the first stage of their way, and what the grid adds to their velocity, both
/// with one set of weights.
typedef struct near_scratch {
    float field[3][NEAR_NODES][2];
    float fresh[NEAR_NODES], old[NEAR_NODES], shift[NEAR_NODES];
} near_scratch;

/// What the way looks up: the grid's velocity.
typedef struct far_scratch {
    float carrier[3][FAR_COPIES > 1 ? FAR_SQUARES : FAR_NODES][FAR_COPIES];
    float plain[FAR_COPIES > 1 ? FAR_NODES : 1];
} far_scratch;

typedef struct advect_scratch {
    union {
        near_scratch near; ///< first
        far_scratch far;   ///< then
    } of;
    uint32_t neighbour[27];
    uint32_t move_count[27];
    float way[PARTICLE_LANES]; ///< cells along an axis
} advect_scratch;

typedef struct node_weights {
    int at;
    float w[2];
} node_weights;

/// Nodes and weights of one component: on faces along its own axis, at centres along the others.
typedef struct component_weights {
    node_weights x, y, z;
} component_weights;

TILE_FN component_weights weights_at(int c, const int *point)
{
    node_weights n[3];
    for (int a = 0; a < 3; a++) {
        const particle_axis axis = axis_weights_local(point[a]);
        n[a].at = a == c ? axis.face : axis.center;
        for (int i = 0; i < 2; i++)
            n[a].w[i] = a == c ? axis.face_weight[i] : axis.center_weight[i];
    }
    component_weights w = {n[0], n[1], n[2]};
    return w;
}

/// The eight nodes of a component around each particle of a pack: the first one's index, and weights.
typedef struct pack_corners {
    pack_places first;
    pack_f32 x[2];
    pack_f32 w00, w10, w01, w11; ///< of the four rows along x
} pack_corners;

/// @param node, row  numbers of the scratch from one node to the next along x, and along y; edge: rows of a plane
TILE_FN void find_corners(int c, const pack_axis *axes, int border, int node, int row, int edge, pack_corners *n)
{
    const pack_node x = c == 0 ? axes[0].face : axes[0].center, y = c == 1 ? axes[1].face : axes[1].center,
                    z = c == 2 ? axes[2].face : axes[2].center;
    pack_set_places(&n->first, (z.at + border) * (edge * row) + (y.at + border) * row + (x.at + border) * node);
    n->x[0] = x.w[0];
    n->x[1] = x.w[1];
    n->w00 = y.w[0] * z.w[0];
    n->w10 = y.w[1] * z.w[0];
    n->w01 = y.w[0] * z.w[1];
    n->w11 = y.w[1] * z.w[1];
}

/// Trilinear interpolation of the pairs of near.field[c]: symmetric under reflection.
TILE_FN void interpolate_near(const near_scratch *s, int c, const pack_axis *axes, pack_f32 *stage, pack_f32 *added)
{
    enum { ROW = 2 * NEAR_EDGE, PLANE = ROW * NEAR_EDGE };
    const float *field = s->field[c][0];
    pack_f32 a[4], b[4], sum[4];
    pack_corners n;
    find_corners(c, axes, 1, 2, ROW, NEAR_EDGE, &n);
    pack_fetch4(field, &n.first, a);
    pack_fetch4(field + ROW, &n.first, b);
    TILE_UNROLL for (int k = 0; k < 4; k++) sum[k] = n.w00 * a[k] + n.w10 * b[k];
    pack_fetch4(field + PLANE, &n.first, a);
    pack_fetch4(field + PLANE + ROW, &n.first, b);
    TILE_UNROLL for (int k = 0; k < 4; k++) sum[k] = sum[k] + (n.w01 * a[k] + n.w11 * b[k]);
    *stage = n.x[0] * sum[0] + n.x[1] * sum[2];
    *added = n.x[0] * sum[1] + n.x[1] * sum[3];
}

/// Four nodes of a plane of far.carrier[c]: [2 x + y].
TILE_FN void fetch_square(const float *field, const pack_places *first, pack_f32 *square)
{
    if (FAR_COPIES > 1) {
        pack_fetch4(field, first, square);
    } else {
        pack_f32 row[4];
        pack_fetch4(field, first, row);
        square[0] = row[0];
        square[2] = row[1];
        pack_fetch4(field + FAR_EDGE, first, row);
        square[1] = row[0];
        square[3] = row[1];
    }
}

/// The same for far.carrier[c].
TILE_FN pack_f32 interpolate_far(const far_scratch *s, int c, const pack_axis *axes)
{
    enum { ROW = FAR_COPIES * FAR_EDGE, ROWS = FAR_COPIES > 1 ? FAR_EDGE - 1 : FAR_EDGE };
    const float *field = s->carrier[c][0];
    pack_f32 low[4], high[4], sum[2];
    pack_corners n;
    find_corners(c, axes, FAR_BORDER, FAR_COPIES, ROW, ROWS, &n);
    fetch_square(field, &n.first, low);
    fetch_square(field + ROW * ROWS, &n.first, high);
    TILE_UNROLL for (int i = 0; i < 2; i++) sum[i] =
        (n.w00 * low[2 * i] + n.w10 * low[2 * i + 1]) + (n.w01 * high[2 * i] + n.w11 * high[2 * i + 1]);
    return n.x[0] * sum[0] + n.x[1] * sum[1];
}

/// One face value of the velocity that carries particles, anywhere in the tank.
TILE_FN float carrier_anywhere(const liquid_args *args, int c, int x, int y, int z)
{
    int at[3] = {x, y, z};
    for (int a = 0; a < 3; a++) {
        const int cells = args->shape.cells[a];
        if (a == c && (at[a] <= 0 || at[a] >= cells))
            return 0.0f;
        at[a] = tile_clamp_i32(at[a], 0, cells - 1);
    }
    const uint32_t dense = tile_dense_of(&args->shape, 0, at[0] >> TILE_LOG2, at[1] >> TILE_LOG2, at[2] >> TILE_LOG2);
    const uint32_t slot = args->m.slot[dense];
    if (slot == TILE_NONE)
        return 0.0f;
    return args->m.u_ext[c][(uint64_t)slot * TILE_CELLS + cell_index(at[0] & 7, at[1] & 7, at[2] & 7)];
}

/// The slow path of a fast particle, whose midpoint lies beyond what the scratch holds: the same sum.
TILE_FN float interpolate_anywhere(const liquid_args *args, tile_place place, int c, component_weights w)
{
    const int x = place.x * TILE_EDGE + w.x.at, y = place.y * TILE_EDGE + w.y.at, z = place.z * TILE_EDGE + w.z.at;
    float row[2];
    for (int i = 0; i < 2; i++)
        row[i] = (w.y.w[0] * w.z.w[0] * carrier_anywhere(args, c, x + i, y, z) +
                  w.y.w[1] * w.z.w[0] * carrier_anywhere(args, c, x + i, y + 1, z)) +
                 (w.y.w[0] * w.z.w[1] * carrier_anywhere(args, c, x + i, y, z + 1) +
                  w.y.w[1] * w.z.w[1] * carrier_anywhere(args, c, x + i, y + 1, z + 1));
    return w.x.w[0] * row[0] + w.x.w[1] * row[1];
}

/// The density correction's displacement is that of the place where a particle starts, on whose density it rests: the
/// first stage has all of it. What is added to the velocity, besides flip times what it was, is the rest of the blend
/// v + flip (old + change - v).
TILE_FN void load_near(const liquid_args *args, advect_scratch *s, tile_place place, float shift_scale)
{
    const liquid_memory *m = &args->m;
    const float flip = m->control->flip, pic = 1.0f - flip;
    near_scratch *near = &s->of.near;
    for (int c = 0; c < 3; c++) {
        halo_load_f32(near->fresh, 1, m->u_ext[c], s->neighbour);
        halo_load_f32(near->old, 1, m->u_old[c], s->neighbour);
        halo_load_f32(near->shift, 1, m->shift[c], s->neighbour);
        TILE_BARRIER();
        halo_walls(&args->shape, place, near->fresh, 1, c);
        halo_walls(&args->shape, place, near->old, 1, c);
        halo_walls(&args->shape, place, near->shift, 1, c);
        FOR_RANGE (i, 0, NEAR_NODES) {
            near->field[c][i][0] = near->fresh[i] + shift_scale * near->shift[i];
            near->field[c][i][1] = pic * near->fresh[i] + flip * change_of(near->fresh[i], near->old[i]);
        }
        TILE_BARRIER();
    }
}

TILE_FN void load_far(const liquid_args *args, advect_scratch *s, tile_place place, float shift_scale)
{
    const liquid_memory *m = &args->m;
    far_scratch *far = &s->of.far;
    for (int c = 0; c < 3; c++) {
        float *plain = FAR_COPIES > 1 ? far->plain : far->carrier[c][0];
        halo_load_f32(plain, FAR_BORDER, m->u_ext[c], s->neighbour);
        TILE_BARRIER();
        if (shift_scale > 0.0f) {
            halo_add_f32(plain, FAR_BORDER, m->shift[c], s->neighbour, shift_scale);
            TILE_BARRIER();
        }
        halo_walls(&args->shape, place, plain, FAR_BORDER, c);
        if (FAR_COPIES > 1) {
            for (int z = 0; z < FAR_EDGE; z++) {
                const float *plane = plain + z * FAR_EDGE * FAR_EDGE;
                float *squares = far->carrier[c][z * FAR_EDGE * (FAR_EDGE - 1)];
                FOR_RANGE (i, 0, FAR_EDGE * (FAR_EDGE - 1)) {
                    squares[2 * i] = plane[i];
                    squares[2 * i + 1] = plane[i + FAR_EDGE];
                }
            }
        }
        TILE_BARRIER();
    }
}

/// The velocity that carries particles at points, fixed-point cells of the tile; from the scratch or, beyond it, from
/// anywhere.
TILE_FN void carrier_at(const liquid_args *args, const far_scratch *s, tile_place place, const pack_i32 *point,
                        pack_f32 *carrier)
{
    pack_axis axes[3];
    pack_i32 beyond = pack_all_i32(0);
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        const pack_i32 near = pack_clamp_i32(point[a], -3 * (1 << (POSITION_BITS - 1)), 9 * (1 << POSITION_BITS) - 1);
        beyond |= near != point[a];
        axes[a] = pack_axis_of(near);
    }
    TILE_UNROLL for (int c = 0; c < 3; c++) carrier[c] = interpolate_far(s, c, axes);
    if (pack_any(beyond)) {
        for (int l = 0; l < PACK_WIDTH; l++) {
            if (pack_get_i32(beyond, l) == 0)
                continue;
            const int at[3] = {pack_get_i32(point[0], l), pack_get_i32(point[1], l), pack_get_i32(point[2], l)};
            for (int c = 0; c < 3; c++)
                pack_set_f32(&carrier[c], l, interpolate_anywhere(args, place, c, weights_at(c, at)));
        }
    }
}

/// Where a stage of the integration looks: `at` moved by `share` of the step with `velocity`.
TILE_FN void stage_point(const pack_i32 *at, const pack_f32 *velocity, float share, pack_i32 *point)
{
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const pack_f32 way = pack_clamp_f32(share * velocity[c], -MOVE_CELLS_MAX, MOVE_CELLS_MAX);
        point[c] = at[c] + pack_round_i32(way * (float)(1 << POSITION_BITS));
    }
}

/// Displacement over the substep, cells, by Ralston's third-order Runge-Kutta method.
/// @param velocity  the first stage's
TILE_FN void displacement(const liquid_args *args, const far_scratch *s, tile_place place, const pack_i32 *at,
                          const pack_f32 *velocity, pack_f32 *moved)
{
    const float frac = args->m.control->frac;
    pack_i32 point[3];
    pack_f32 second[3], third[3];
    stage_point(at, velocity, 0.5f * frac, point);
    carrier_at(args, s, place, point, second);
    stage_point(at, second, 0.75f * frac, point);
    carrier_at(args, s, place, point, third);
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const pack_f32 sum = 2.0f * velocity[c] + 3.0f * second[c] + 4.0f * third[c];
        moved[c] = pack_clamp_f32(frac * (1.0f / 9.0f) * sum, -MOVE_CELLS_MAX, MOVE_CELLS_MAX);
    }
}

/// Where particles are in their tile, fixed-point cells.
TILE_FN void load_places(const liquid_memory *m, uint32_t particle, uint32_t n, pack_i32 *at)
{
    TILE_UNROLL for (int c = 0; c < 3; c++) at[c] =
        pack_load_i32(m->position[c] + particle, n) & ((1 << TILE_POSITION_BITS) - 1);
}

/// New velocities of a pack of particles. The way's first stage waits in moved_position.
TILE_FN void transfer_pack(const liquid_args *args, const near_scratch *s, uint32_t particle, uint32_t n)
{
    const liquid_memory *m = &args->m;
    const float flip = m->control->flip, limit = m->control->speed_max;
    pack_i32 at[3];
    pack_axis axes[3];
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        pack_prefetch(m->position[c] + particle);
        pack_prefetch(m->velocity[c] + particle);
        pack_prefetch(m->moved_velocity[c] + particle);
        pack_prefetch(m->moved_position[c] + particle);
    }
    load_places(m, particle, n, at);
    TILE_UNROLL for (int c = 0; c < 3; c++) axes[c] = pack_axis_of(at[c]);
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        pack_f32 stage, added;
        interpolate_near(s, c, axes, &stage, &added);
        const pack_f32 kept = flip * pack_load_f32(m->velocity[c] + particle, n);
        pack_store_f32(m->moved_velocity[c] + particle, pack_clamp_f32(kept + added, -limit, limit), n);
        pack_store_i32(m->moved_position[c] + particle, pack_bits_f32(stage), n);
    }
}

/// The first stage of particles that have their new velocities already (gather.tile.c): likewise in moved_position.
TILE_FN void start_pack(const liquid_args *args, const far_scratch *s, uint32_t particle, uint32_t n)
{
    pack_i32 at[3];
    pack_axis axes[3];
    load_places(&args->m, particle, n, at);
    TILE_UNROLL for (int c = 0; c < 3; c++) axes[c] = pack_axis_of(at[c]);
    TILE_UNROLL for (int c = 0; c < 3; c++)
        pack_store_i32(args->m.moved_position[c] + particle, pack_bits_f32(interpolate_far(s, c, axes)), n);
}

enum { STAYS = 13 };

/// Counts the particles that leave their tile; most don't, and all would count in one place.
TILE_FN void count_moves(advect_scratch *s, pack_i32 to, uint32_t n)
{
    if (pack_any(to != MOVED_STAYS)) {
        for (uint32_t l = 0; l < n; l++)
            if (pack_get_i32(to, (int)l) != MOVED_STAYS)
                tile_add_u32(&s->move_count[pack_get_i32(to, (int)l)], 1);
    }
}

/// New positions and tiles of a pack of particles.
TILE_FN void move_pack(const liquid_args *args, advect_scratch *s, tile_place place, uint32_t particle, uint32_t n)
{
    const liquid_memory *m = &args->m;
    const int tile_at[3] = {place.x, place.y, place.z};
    pack_f32 velocity[3], moved[3], farthest = pack_all_f32(0.0f);
    pack_i32 at[3], to = pack_all_i32(0);
    pack_prefetch(m->id + particle);
    pack_prefetch(m->moved_id + particle);
    load_places(m, particle, n, at);
    TILE_UNROLL for (int c = 0; c < 3; c++) velocity[c] =
        pack_f32_bits(pack_load_i32(m->moved_position[c] + particle, n));
    displacement(args, &s->of.far, place, at, velocity, moved);
    TILE_UNROLL for (int c = 2; c >= 0; c--)
    {
        const int32_t last = (args->shape.cells[c] << POSITION_BITS) - 1 - WALL_MARGIN;
        const pack_i32 wanted =
            pack_load_i32(m->position[c] + particle, n) + pack_round_i32(moved[c] * (float)(1 << POSITION_BITS));
        const pack_i32 position = pack_clamp_i32(wanted, WALL_MARGIN, last);
        pack_store_i32(m->moved_position[c] + particle, position, n);
        to = to * 3 + ((position >> TILE_POSITION_BITS) - (tile_at[c] - 1));
        farthest = pack_max_f32(farthest, pack_abs_f32(moved[c]));
    }
    count_moves(s, to, n);
    pack_keep_max_f32(s->way, farthest * pack_first_f32(1.0f, n));
    pack_store_i32(m->moved_id + particle, pack_load_i32(m->id + particle, n), n);
    pack_store_u8(m->moved_to + particle, to, n);
    if (m->attribute != NULL)
        pack_store_i32(m->moved_attribute + particle, pack_load_i32(m->attribute + particle, n), n);
}

TILE_FN void advect_tile(const liquid_args *args, uint32_t tile, advect_scratch *s, int gathered)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->level[0].tile[tile];
    const uint32_t first = m->tile_first[dense], end = first + m->tile_count[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const float shift_scale = 4.5f / m->control->frac; // the first stage carries 2/9 of the step
    halo_neighbours(args, place, s->neighbour);
    FOR_RANGE (n, 0, 27)
        s->move_count[n] = 0;
    FOR_RANGE (lane, 0, PARTICLE_LANES)
        s->way[lane] = 0.0f;
    TILE_BARRIER();
    if (gathered) {
        load_far(args, s, place, shift_scale);
        FOR_PACKS(i, n, first, end)
        start_pack(args, &s->of.far, i, n);
    } else {
        load_near(args, s, place, shift_scale);
        FOR_PACKS(i, n, first, end)
        transfer_pack(args, &s->of.near, i, n);
    }
    TILE_BARRIER();
    load_far(args, s, place, 0.0f);
    FOR_PACKS(i, n, first, end)
    move_pack(args, s, place, i, n);
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        uint32_t gone = 0;
        for (uint32_t n = 0; n < 27; n++)
            gone += s->move_count[n];
        s->move_count[MOVED_STAYS] = end - first - gone;
    }
    TILE_BARRIER();
    tile_max_f32(s->way, PARTICLE_LANES);
    FOR_RANGE (n, 0, 27)
        m->move_count[tile * 27 + n] = s->move_count[n];
    if (TILE_SINGLE()) {
        const float speed = tile_min_f32(s->way[0] / m->control->frac, m->control->speed_max);
        global_max_u32(&m->counters->speed_max_bits, tile_bits_f32(speed));
    }
}

/// Moves a tile's particles. One tile per occupied tile.
TILE_KERNEL(liquid_advect, PARTICLE_LANES, liquid_args, advect_scratch)
{
    advect_tile(args, tile, s, 0);
}

/// The same after one of the gathering kernels.
TILE_KERNEL(liquid_advect_gathered, PARTICLE_LANES, liquid_args, advect_scratch)
{
    advect_tile(args, tile, s, 1);
}
