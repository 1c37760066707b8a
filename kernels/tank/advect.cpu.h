/// How a processor loads the fields around a tile: row by row, in registers. Part of advect.tile.c.
#ifndef TARN_KERNELS_TANK_ADVECT_CPU_H
#define TARN_KERNELS_TANK_ADVECT_CPU_H

typedef struct advect_scratch {
    union {
        near_scratch near; ///< first
        far_scratch far;   ///< then
    } of;
    advect_common common;
} advect_scratch;

TILE_FN void find_axes(const tank_args *args, const advect_scratch *s, tile_place place)
{
    (void)args, (void)s, (void)place; // found with the rows
}

typedef float row_f32x8 __attribute__((vector_size(32)));
typedef float row_f32x2 __attribute__((vector_size(8)));

/// A field's cells in each of s->neighbour.
typedef struct field_tiles {
    const float *of[NEIGHBOURS];
} field_tiles;

TILE_FN void find_tiles(const advect_common *s, const float *field, field_tiles *tiles)
{
    static const float nothing[TILE_CELLS] = {0};
    for (int n = 0; n < NEIGHBOURS; n++) {
        tiles->of[n] = s->neighbour[n] != TILE_NONE ? field + (uint64_t)s->neighbour[n] * TILE_CELLS : nothing;
    }
}

/// Pieces of a row of nodes: in the tile before, in the one of 0..7, and in the one after.
typedef struct row_pieces {
    const float *of[3];
} row_pieces;

TILE_FN row_pieces pieces_of(const field_tiles *tiles, row_place row, int border)
{
    const float *const *of = tiles->of + row.neighbour;
    const row_pieces pieces = {{of[0] + row.cell + TILE_EDGE - border, of[1] + row.cell, of[2] + row.cell}};
    return pieces;
}

/// Where the nodes along an axis lie, from `border` before the tile to as many behind it.
TILE_FN void find_places(const grid_args *args, tile_place place, int c, int axis, int border, axis_place *to)
{
    for (int i = 0; i < TILE_EDGE + 2 * border; i++) {
        to[i] = axis_place_of(args, place, c, axis, i - border);
    }
}

/// Stores a[0] b[0] a[1] b[1] ...
TILE_FN void store_pairs8(float *to, const row_f32x8 *a, const row_f32x8 *b)
{
    const row_f32x8 low = __builtin_shufflevector(*a, *b, 0, 8, 1, 9, 2, 10, 3, 11),
                    high = __builtin_shufflevector(*a, *b, 4, 12, 5, 13, 6, 14, 7, 15);
    memcpy(to, &low, sizeof low);
    memcpy(to + TILE_EDGE, &high, sizeof high);
}

TILE_FN void store_pairs2(float *to, const row_f32x2 *a, const row_f32x2 *b)
{
    const tile_f32x4 pairs = __builtin_shufflevector(*a, *b, 0, 2, 1, 3);
    memcpy(to, &pairs, sizeof pairs);
}

/// Whether some nodes of the rows lie at or beyond the walls across x.
TILE_FN int rows_meet_walls(const grid_shape *shape, tile_place place, int border)
{
    return place.x == 0 || shape->cells[0] - place.x * TILE_EDGE < TILE_EDGE + border;
}

/// Gives the nodes of a row of pairs that lie at and beyond the walls across x what they hold there.
TILE_FN void wall_off_row(const grid_args *args, tile_place place, int c, int border, float *pairs)
{
    const float slip = wall_slip(args, 0);
    const int extent = args->shape.cells[0] - place.x * TILE_EDGE;
    if (place.x == 0) {
        for (int i = 0; i < (c == 0 ? border + 1 : border); i++) {
            for (int k = 0; k < 2; k++) {
                pairs[2 * i + k] = c == 0 ? 0.0f : slip * pairs[2 * border + k];
            }
        }
    }
    for (int i = border + extent; i < TILE_EDGE + 2 * border; i++) {
        for (int k = 0; k < 2; k++) {
            pairs[2 * i + k] = c == 0 ? 0.0f : slip * pairs[2 * (border + extent - 1) + k];
        }
    }
}

/// A row of what is looked up where particles are, times `slip`, without branches on what is unknown.
TILE_FN void load_near_row(const row_pieces *rows, float flip, float shift_scale, float slip, float *to)
{
    typedef int32_t row_i32x8 __attribute__((vector_size(32)));
    typedef int32_t row_i32x2 __attribute__((vector_size(8)));
    const float *const *fresh = rows[0].of, *const *old = rows[1].of, *const *shift = rows[2].of;
    const float pic = 1.0f - flip;
    const row_f32x2 ends = {fresh[0][0], fresh[2][0]}, ends_old = {old[0][0], old[2][0]},
                    ends_shift = {shift[0][0], shift[2][0]};
    row_f32x8 own, own_old, own_shift;
    memcpy(&own, fresh[1], sizeof own);
    memcpy(&own_old, old[1], sizeof own_old);
    memcpy(&own_shift, shift[1], sizeof own_shift);
    const row_i32x8 known = own_old < SPEED_UNKNOWN;
    const row_i32x2 ends_known = ends_old < SPEED_UNKNOWN;
    const row_f32x8 stage = slip * (own + shift_scale * own_shift),
                    added = slip * (pic * own + flip * (row_f32x8)((row_i32x8)(own - own_old) & known));
    const row_f32x2 ends_stage = slip * (ends + shift_scale * ends_shift),
                    ends_added = slip * (pic * ends + flip * (row_f32x2)((row_i32x2)(ends - ends_old) & ends_known));
    const row_f32x2 first = __builtin_shufflevector(ends_stage, ends_added, 0, 2),
                    last = __builtin_shufflevector(ends_stage, ends_added, 1, 3);
    memcpy(to, &first, sizeof first);
    store_pairs8(to + 2, &stage, &added);
    memcpy(to + 2 + 2 * TILE_EDGE, &last, sizeof last);
}

/// A row of what carries particles.
typedef struct carrier_row {
    row_f32x8 own;
    row_f32x2 before, after;
} carrier_row;

TILE_FN void load_carrier_row(const row_pieces *rows, float shift_scale, float slip, carrier_row *row)
{
    carrier_row shift;
    memcpy(&row->before, rows[0].of[0], sizeof row->before);
    memcpy(&row->own, rows[0].of[1], sizeof row->own);
    memcpy(&row->after, rows[0].of[2], sizeof row->after);
    if (shift_scale > 0.0f) {
        memcpy(&shift.before, rows[1].of[0], sizeof shift.before);
        memcpy(&shift.own, rows[1].of[1], sizeof shift.own);
        memcpy(&shift.after, rows[1].of[2], sizeof shift.after);
        row->before += shift_scale * shift.before;
        row->own += shift_scale * shift.own;
        row->after += shift_scale * shift.after;
    }
    row->before *= slip;
    row->own *= slip;
    row->after *= slip;
}

/// The density correction's displacement is that of the place where a particle starts, on whose density it rests: the
/// first stage has all of it. What is added to the velocity, besides flip times what it was, is the rest of the blend
/// v + flip (old + change - v).
TILE_FN void load_near(const tank_args *args, advect_scratch *s, tile_place place, cell_box box, int c,
                       float shift_scale)
{
    const float *fresh = args->grid.m.u_ext[c], *old = args->grid.m.u_old[c], *shift = args->grid.m.shift[c];
    const float flip = args->store.control->flip;
    const int has_walls = rows_meet_walls(&args->grid.shape, place, 1);
    axis_place ys[NEAR_EDGE], zs[NEAR_EDGE];
    field_tiles tiles[3];
    find_places(&args->grid, place, c, 1, 1, ys);
    find_places(&args->grid, place, c, 2, 1, zs);
    find_tiles(&s->common, fresh, &tiles[0]);
    find_tiles(&s->common, old, &tiles[1]);
    find_tiles(&s->common, shift, &tiles[2]);
    for (int z = box.z[0]; z <= box.z[1] + 2; z++) {
        for (int y = box.y[0]; y <= box.y[1] + 2; y++) {
            const row_place row = row_place_of(ys[y], zs[z]);
            const row_pieces pieces[3] = {pieces_of(&tiles[0], row, 1), pieces_of(&tiles[1], row, 1),
                                          pieces_of(&tiles[2], row, 1)};
            float *to = s->of.near.field[c][(z * NEAR_EDGE + y) * NEAR_EDGE];
            load_near_row(pieces, flip, shift_scale, row.slip, to);
            if (has_walls) {
                wall_off_row(&args->grid, place, c, 1, to);
            }
        }
    }
}

/// What carries particles, with a border that reaches as far as they go.
TILE_FN void load_far(const tank_args *args, advect_scratch *s, tile_place place, cell_box box, int c,
                      float shift_scale)
{
    const float *u = args->grid.m.u_ext[c], *shift = args->grid.m.shift[c];
    const int has_walls = rows_meet_walls(&args->grid.shape, place, FAR_BORDER);
    const int first_z = box.z[0] + FAR_BORDER - box.far_z;
    axis_place ys[FAR_EDGE], zs[FAR_EDGE];
    field_tiles tiles[2];
    find_places(&args->grid, place, c, 1, FAR_BORDER, ys);
    find_places(&args->grid, place, c, 2, FAR_BORDER, zs);
    find_tiles(&s->common, u, &tiles[0]);
    find_tiles(&s->common, shift, &tiles[1]);
    for (int y = box.y[0]; y <= box.y[1] + 2 * FAR_BORDER; y++) {
        carrier_row low = {{0}, {0}, {0}};
        for (int z = first_z; z <= box.z[1] + FAR_BORDER + box.far_z; z++) {
            const row_place row = row_place_of(ys[y], zs[z]);
            const row_pieces pieces[2] = {pieces_of(&tiles[0], row, FAR_BORDER), pieces_of(&tiles[1], row, FAR_BORDER)};
            carrier_row high;
            load_carrier_row(pieces, shift_scale, row.slip, &high);
            if (z > first_z) {
                float *to = s->of.far.carrier[c][((z - 1) * FAR_EDGE + y) * FAR_EDGE];
                store_pairs2(to, &low.before, &high.before);
                store_pairs8(to + 2 * FAR_BORDER, &low.own, &high.own);
                store_pairs2(to + 2 * (FAR_BORDER + TILE_EDGE), &low.after, &high.after);
                if (has_walls) {
                    wall_off_row(&args->grid, place, c, FAR_BORDER, to);
                }
            }
            low = high;
        }
    }
}

/// New velocities of a pack of particles. The way's first stage waits in moved_position.
TILE_FN void transfer_pack(const tank_args *args, const near_scratch *s, cell_box box, uint32_t particle, uint32_t n)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const float flip = store->control->flip, limit = grid->control->speed_max;
    pack_i32 at[3];
    pack_axis axes[3];
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        pack_prefetch(store->position[c] + particle);
        pack_prefetch(store->velocity[c] + particle);
        pack_prefetch(store->moved_velocity[c] + particle);
        pack_prefetch(store->moved_position[c] + particle);
    }
    load_places(store, particle, n, at);
    TILE_UNROLL for (int c = 0; c < 3; c++) axes[c] = pack_axis_of(at[c]);
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        pack_f32 stage = pack_all_f32(0.0f), added = stage;
        if (c < box.components) {
            interpolate_pairs(s->field[c][0], c, axes, &stage, &added);
        }
        const pack_f32 kept = flip * pack_load_f32(store->velocity[c] + particle, n);
        pack_store_f32(store->moved_velocity[c] + particle, pack_clamp_f32(kept + added, -limit, limit), n);
        pack_store_i32(store->moved_position[c] + particle, pack_bits_f32(stage), n);
    }
}

/// The first stage of particles that have their new velocities already (gather.tile.c): likewise in moved_position.
TILE_FN void start_pack(const tank_args *args, const far_scratch *s, cell_box box, uint32_t particle, uint32_t n)
{
    pack_i32 at[3];
    pack_axis axes[3];
    load_places(&args->store, particle, n, at);
    TILE_UNROLL for (int c = 0; c < 3; c++) axes[c] = pack_axis_of(at[c]);
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const pack_f32 stage = c < box.components ? interpolate_far(s, c, axes) : pack_all_f32(0.0f);
        pack_store_i32(args->store.moved_position[c] + particle, pack_bits_f32(stage), n);
    }
}

/// The rest of the way.
TILE_FN void finish_pack(const tank_args *args, advect_scratch *s, tile_place place, cell_box box, uint32_t particle,
                         uint32_t n)
{
    const store_memory *store = &args->store;
    pack_i32 at[3];
    pack_f32 velocity[3];
    pack_prefetch(store->id + particle);
    pack_prefetch(store->moved_id + particle);
    load_places(store, particle, n, at);
    TILE_UNROLL for (int c = 0; c < 3; c++) velocity[c] =
        pack_f32_bits(pack_load_i32(store->moved_position[c] + particle, n));
    move_pack(args, &s->common, &s->of.far, place, box, at, velocity, particle, n);
    copy_pack(args, particle, n);
}

/// Moves a tile's particles, in two rounds: what both look up is larger than a processor's nearest cache.
TILE_FN void advect_range(const tank_args *args, advect_scratch *s, tile_place place, cell_box box, uint32_t first,
                          uint32_t end, int gathered)
{
    const float shift_scale = shift_scale_of(args);
    if (gathered) {
        for (int c = 0; c < box.components; c++) {
            load_far(args, s, place, box, c, shift_scale);
        }
        EACH_PACK(i, n, first, end, start_pack(args, &s->of.far, box, i, n));
    } else {
        for (int c = 0; c < box.components; c++) {
            load_near(args, s, place, box, c, shift_scale);
        }
        EACH_PACK(i, n, first, end, transfer_pack(args, &s->of.near, box, i, n));
    }
    for (int c = 0; c < box.components; c++) {
        load_far(args, s, place, box, c, 0.0f);
    }
    EACH_PACK(i, n, first, end, finish_pack(args, s, place, box, i, n));
}

#endif
