/// How blocks load the fields around a tile, a node for each lane, and move particles: in one round, from two fields
/// side by side. Part of advect.tile.c.
#ifndef TARN_KERNELS_TANK_ADVECT_CUDA_H
#define TARN_KERNELS_TANK_ADVECT_CUDA_H

/// Where nodes lie along an axis, as words that are added up over the axes: a cell of its tile, a neighbour's number,
/// and a bit for each axis.
enum {
    WORD_NEIGHBOUR = 9, ///< lowest bit of the neighbour's number
    WORD_BEYOND = 16,   ///< and of those behind the tank's walls, where wall_slip counts
    WORD_WALL = 20,     ///< and of those at and behind walls, where nothing flows along the axis
};

typedef struct advect_scratch {
    union {
        near_scratch near;
        far_scratch far; ///< of particles that have their velocities
    } start;
    far_scratch way;
    uint32_t axis[3][FAR_EDGE]; ///< from -FAR_BORDER
    advect_common common;
} advect_scratch;

TILE_FN void find_axes(const tank_args *args, advect_scratch *s, tile_place place)
{
    const int tiles[3] = {place.x, place.y, place.z};
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        const int last = args->grid.shape.cells[a] - 1 - tiles[a] * TILE_EDGE, first = tiles[a] == 0 ? 0 : -TILE_EDGE;
        FOR_RANGE (i, 0, FAR_EDGE) {
            const axis_place p = axis_place_of(&args->grid, place, a, a, (int)i - FAR_BORDER);
            const int at = (int)i - FAR_BORDER, is_beyond = at < first || at > last;
            s->axis[a][i] = p.cell | p.neighbour << WORD_NEIGHBOUR | (uint32_t)is_beyond << (WORD_BEYOND + a) |
                            (uint32_t)p.is_wall << (WORD_WALL + a);
        }
    }
}

/// A node's place in the active fields; UINT64_MAX where there is no tile.
TILE_FN uint64_t word_place(const advect_common *s, uint32_t word)
{
    const uint32_t slot = s->neighbour[word >> WORD_NEIGHBOUR & 31];
    return slot == TILE_NONE ? UINT64_MAX : (uint64_t)slot * TILE_CELLS + (word & (TILE_CELLS - 1));
}

/// What a node of component c holds beside and behind walls. In the order in which rows have it, also of zeros.
TILE_FN float word_slip(const tank_args *args, uint32_t word, int c, float there)
{
    float slip[3];
    if (word >> WORD_BEYOND == 0) {
        return there;
    }
    TILE_UNROLL for (int a = 0; a < 3; a++) slip[a] =
        a != c && (word >> (WORD_BEYOND + a) & 1) != 0 ? wall_slip(&args->grid, a) : 1.0f;
    const int is_wall = (word >> (WORD_WALL + c) & 1) != 0;
    if (is_wall && c == 0) {
        return 0.0f;
    }
    return slip[0] * (slip[1] * slip[2] * (is_wall ? 0.0f : there));
}

/// Nodes that a lane asks for at once, so that it doesn't wait for one after the other.
typedef struct node_batch {
    uint32_t node[4]; ///< in the scratch; NOT_WANTED
    uint32_t word[4];
    uint64_t from[4]; ///< UINT64_MAX: there is nothing
} node_batch;

enum { NOT_WANTED = FAR_NODES };

/// Nodes `at`, `at` + share ... up to `end`, numbered [y][z][x], of a field with a border.
/// @param far_z  how far before and behind the box's layers they are wanted
TILE_FN node_batch batch_of(const advect_scratch *s, cell_box box, int border, int far_z, int count, uint32_t at,
                            uint32_t share, uint32_t end)
{
    const uint32_t edge = (uint32_t)(TILE_EDGE + 2 * border), skip = (uint32_t)(FAR_BORDER - border);
    const uint32_t first_z = (uint32_t)(box.z[0] + border - far_z);
    const uint32_t layers = (uint32_t)(box.z[1] - box.z[0] + 1 + 2 * far_z);
    node_batch b;
    TILE_UNROLL for (int k = 0; k < count; k++)
    {
        const uint32_t n = at + (uint32_t)k * share, x = n % edge, z = n / edge % edge, y = n / (edge * edge);
        const int is_wanted = n < end && z - first_z < layers;
        b.node[k] = is_wanted ? (z * edge + y) * edge + x : (uint32_t)NOT_WANTED;
        b.word[k] = is_wanted ? s->axis[0][x + skip] + s->axis[1][y + skip] + s->axis[2][z + skip]
                              : (uint32_t)IN_WALLS << WORD_NEIGHBOUR;
        b.from[k] = word_place(&s->common, b.word[k]);
    }
    return b;
}

/// The density correction's displacement is that of the place where a particle starts, on whose density it rests: the
/// first stage has all of it. What is added to the velocity, besides flip times what it was, is the rest of the blend
/// v + flip (old + change - v).
TILE_FN void load_near(const tank_args *args, advect_scratch *s, cell_box box)
{
    enum { ROWS = NEAR_EDGE * NEAR_EDGE, AT_ONCE = 2 };
    const grid_memory *grid = &args->grid.m;
    const float flip = args->store.control->flip, shift_scale = shift_scale_of(args);
    const uint32_t first = (uint32_t)(box.y[0] * ROWS), end = (uint32_t)((box.y[1] + 3) * ROWS);
    const uint32_t share = (end - first + AT_ONCE - 1) / AT_ONCE;
    FOR_RANGE (i, first, first + share) {
        const node_batch b = batch_of(s, box, 1, 1, AT_ONCE, i, share, end);
        float fresh[AT_ONCE][3], old[AT_ONCE][3], shift[AT_ONCE][3]; // where there is nothing all is zero, then, too
        TILE_UNROLL for (int k = 0; k < AT_ONCE; k++)
        {
            TILE_UNROLL for (int c = 0; c < 3; c++)
            {
                const int is_there = c < box.components && b.from[k] != UINT64_MAX;
                fresh[k][c] = is_there ? grid->u_ext[c][b.from[k]] : 0.0f;
                old[k][c] = is_there ? grid->u_old[c][b.from[k]] : 0.0f;
                shift[k][c] = is_there ? grid->shift[c][b.from[k]] : 0.0f;
            }
        }
        TILE_UNROLL for (int k = 0; k < AT_ONCE; k++)
        {
            TILE_UNROLL for (int c = 0; c < 3; c++)
            {
                const float stage = fresh[k][c] + shift_scale * shift[k][c];
                const float added = (1.0f - flip) * fresh[k][c] + flip * change_of(fresh[k][c], old[k][c]);
                if (b.node[k] != NOT_WANTED) {
                    float *to = s->start.near.field[c][b.node[k]];
                    to[0] = word_slip(args, b.word[k], c, stage);
                    to[1] = word_slip(args, b.word[k], c, added);
                }
            }
        }
    }
}

/// What carries particles, with a border that reaches as far as they go.
TILE_FN void load_far(const tank_args *args, const advect_scratch *s, far_scratch *to, cell_box box, float shift_scale)
{
    enum { ROWS = FAR_EDGE * FAR_EDGE, AT_ONCE = 4 };
    const grid_memory *grid = &args->grid.m;
    const uint32_t first = (uint32_t)(box.y[0] * ROWS), end = (uint32_t)((box.y[1] + 2 * FAR_BORDER + 1) * ROWS);
    const uint32_t share = (end - first + AT_ONCE - 1) / AT_ONCE;
    FOR_RANGE (i, first, first + share) {
        const node_batch b = batch_of(s, box, FAR_BORDER, box.far_z, AT_ONCE, i, share, end);
        float carrier[AT_ONCE][3];
        TILE_UNROLL for (int k = 0; k < AT_ONCE; k++)
        {
            TILE_UNROLL for (int c = 0; c < 3; c++)
            {
                carrier[k][c] = 0.0f;
                if (c < box.components && b.from[k] != UINT64_MAX) {
                    carrier[k][c] = grid->u_ext[c][b.from[k]];
                    if (shift_scale > 0.0f) {
                        carrier[k][c] += shift_scale * grid->shift[c][b.from[k]];
                    }
                }
            }
        }
        TILE_UNROLL for (int k = 0; k < AT_ONCE; k++)
        {
            TILE_UNROLL for (int c = 0; c < 3; c++)
            {
                if (b.node[k] != NOT_WANTED) {
                    to->carrier[c][b.node[k]][0] = word_slip(args, b.word[k], c, carrier[k][c]);
                }
            }
        }
    }
}

/// Moves a particle. All that it has is read before anything is written, which for all that a compiler knows is read
/// later.
TILE_FN void advect_pack(const tank_args *args, advect_scratch *s, tile_place place, cell_box box, uint32_t particle,
                         uint32_t n, int gathered)
{
    const store_memory *store = &args->store;
    const float flip = store->control->flip, limit = args->grid.m.control->speed_max;
    pack_i32 at[3];
    pack_axis axes[3];
    pack_f32 stage[3], kept[3];
    load_places(store, particle, n, at);
    TILE_UNROLL for (int c = 0; c < 3; c++) kept[c] = gathered ? 0.0f : pack_load_f32(store->velocity[c] + particle, n);
    copy_pack(args, particle, n);
    TILE_UNROLL for (int c = 0; c < 3; c++) axes[c] = pack_axis_of(at[c]);
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        pack_f32 added = 0.0f;
        stage[c] = 0.0f;
        if (c < box.components && gathered) {
            stage[c] = interpolate_far(&s->start.far, c, axes);
        } else if (c < box.components) {
            interpolate_pairs(s->start.near.field[c][0], c, axes, &stage[c], &added);
        }
        if (!gathered) {
            const pack_f32 velocity = pack_clamp_f32(flip * kept[c] + added, -limit, limit);
            pack_store_f32(store->moved_velocity[c] + particle, velocity, n);
        }
    }
    move_pack(args, &s->common, &s->way, place, box, at, stage, particle, n);
}

TILE_FN void advect_range(const tank_args *args, advect_scratch *s, tile_place place, cell_box box, uint32_t first,
                          uint32_t end, int gathered)
{
    if (gathered) {
        load_far(args, s, &s->start.far, box, shift_scale_of(args));
    } else {
        load_near(args, s, box);
    }
    load_far(args, s, &s->way, box, 0.0f);
    TILE_BARRIER();
    EACH_PACK(i, n, first, end, advect_pack(args, s, place, box, i, n, gathered));
    TILE_BARRIER();
}

#endif
