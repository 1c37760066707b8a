/// How blocks load the fields around a tile: a node for each lane. Part of advect.tile.c.
#ifndef TARN_KERNELS_TANK_ADVECT_CUDA_H
#define TARN_KERNELS_TANK_ADVECT_CUDA_H

/// Place of a node in the active fields, UINT64_MAX where nothing flows; and by how much it counts: [0] times [1] times
/// what lies there, in this order, as rows have it, also of zeros.
TILE_FN uint64_t carrier_place(const tank_args *args, const advect_scratch *s, tile_place place, int c, int x, int y,
                               int z, float slip[2])
{
    const axis_place in = axis_place_of(&args->grid, place, c, 0, x);
    const row_place row =
        row_place_of(axis_place_of(&args->grid, place, c, 1, y), axis_place_of(&args->grid, place, c, 2, z));
    slip[0] = in.slip;
    slip[1] = in.is_wall ? 1.0f : row.slip;
    const uint32_t slot = s->neighbour[row.neighbour + in.neighbour];
    return in.is_wall || slot == TILE_NONE ? UINT64_MAX : (uint64_t)slot * TILE_CELLS + row.cell + in.cell;
}

/// The density correction's displacement is that of the place where a particle starts, on whose density it rests: the
/// first stage has all of it. What is added to the velocity, besides flip times what it was, is the rest of the blend
/// v + flip (old + change - v).
TILE_FN void load_near(const tank_args *args, advect_scratch *s, tile_place place, cell_box box, int c,
                       float shift_scale)
{
    const float *fresh = args->grid.m.u_ext[c], *old = args->grid.m.u_old[c], *shift = args->grid.m.shift[c];
    const float flip = args->store.control->flip;
    FOR_BOX (x, y, z, NEAR_EDGE, box.y[1] - box.y[0] + 3, box.z[1] - box.z[0] + 3) {
        const int at_y = box.y[0] + y, at_z = box.z[0] + z;
        float slip[2];
        const uint64_t from = carrier_place(args, s, place, c, x - 1, at_y - 1, at_z - 1, slip);
        float *to = s->of.near.field[c][(at_z * NEAR_EDGE + at_y) * NEAR_EDGE + x];
        float stage = 0.0f, added = 0.0f;
        if (from != UINT64_MAX) {
            stage = fresh[from] + shift_scale * shift[from];
            added = (1.0f - flip) * fresh[from] + flip * change_of(fresh[from], old[from]);
        }
        to[0] = slip[0] * (slip[1] * stage);
        to[1] = slip[0] * (slip[1] * added);
    }
}

/// What carries particles, with a border that reaches as far as they go.
TILE_FN void load_far(const tank_args *args, advect_scratch *s, tile_place place, cell_box box, int c,
                      float shift_scale)
{
    const float *u = args->grid.m.u_ext[c], *shift = args->grid.m.shift[c];
    FOR_BOX (x, y, z, FAR_EDGE, box.y[1] - box.y[0] + 5, box.z[1] - box.z[0] + 1 + 2 * box.far_z) {
        const int at_y = box.y[0] + y, at_z = box.z[0] + FAR_BORDER - box.far_z + z;
        float slip[2];
        const uint64_t from =
            carrier_place(args, s, place, c, x - FAR_BORDER, at_y - FAR_BORDER, at_z - FAR_BORDER, slip);
        float carrier = 0.0f;
        if (from != UINT64_MAX) {
            carrier = shift_scale > 0.0f ? u[from] + shift_scale * shift[from] : u[from];
        }
        s->of.far.carrier[c][(at_z * FAR_EDGE + at_y) * FAR_EDGE + x][0] = slip[0] * (slip[1] * carrier);
    }
}

#endif
