// Liquids of different density part where they share cells. All particles of a cell move with one grid velocity, so
// what is finer than a cell, an emulsion, would stay one: heavy particles get a velocity of their own along gravity,
// light ones against it, as drops of a size that cells don't show would sink and rise (the algebraic slip of mixture
// models: Manninen, Taivassalo & Kallio 1996; of particles: Ren et al. 2014).
//
//     v_k = w a (h_k - h_f)        h: 1 for the heaviest liquid, 0 for the lightest; of a face, the mean by weights of
//                                  particle to grid; w: the speed of a drop; a: how much of an emulsion there is
//
// At a face the weighted sum of h_k - h_f is zero, so no volume flows through it on the whole, whatever liquids there
// are, and the pressure knows nothing of it. As the density correction, it moves particles and leaves them their
// velocities: momentum stays as it is, and the energy that falling sets free is what drag takes.
//
// A drop's speed is where drag balances buoyancy: w^2 = 2 A g (4/3) d / C_D, A being Atwood's number, of which the last
// factor is taken for one cell: a third of a cell for the diameter. Drops in a thick liquid obey Stokes' law,
// w = 2 A g d^2 / 18 nu; of both the harmonic sum holds, with the thinnest liquid around the drops.
//
// Where liquids lie side by side, no drops are: particles would only be drawn away from their interface. There h
// rises over two cells by D = 1 - (1 - sqrt(2 m))^2 / 2, m being the lesser of h and 1 - h: what a plane through cells
// smoothed by the particles' weights is like, wherever it passes. In an emulsion it rises by less.
#include "kernels/grid/halo.h"
#include "kernels/liquid/liquid.h"
#include "kernels/tank/pack_axis.h"

enum {
    HEAVY_BORDER = 2,
    HEAVY_EDGE = TILE_EDGE + 2 * HEAVY_BORDER,
    HEAVY_NODES = HEAVY_EDGE * HEAVY_EDGE * HEAVY_EDGE,
};

#define PURE 0.004f ///< less of another liquid than a particle among 200 is none
#define DRIFT_CELLS_MAX                                                                                                \
    0.25f ///< in a substep, of a drop's speed: of all particles of a face alike, or volume would flow

typedef struct drift_scratch {
    float heavy[HEAVY_NODES];  ///< h of faces normal to an axis
    float pull[NEAR_NODES][2]; ///< w a, and w a h
    uint8_t open[NEAR_NODES];
    uint32_t neighbour[27];
    uint32_t move_count[27];
    uint32_t is_mixed;
} drift_scratch;

/// Loads h, and finds out whether liquids mix at any face. Beyond walls all goes on as before them. Ends with a
/// barrier.
TILE_FN void load_heavy(const liquid_args *args, drift_scratch *s, tile_place place, int c)
{
    const float light = args->scale.lightest;
    halo_load_f32(s->heavy, HEAVY_BORDER, args->tank.grid.m.beta[c], s->neighbour);
    if (TILE_SINGLE()) {
        s->is_mixed = 0;
    }
    const float scale = light / (1.0f - light);
    FOR_RANGE (i, 0, HEAVY_NODES) {
        s->heavy[i] = scale / tile_max2_f32(s->heavy[i], light) - scale;
    }
    TILE_BARRIER();
    halo_mirror(&args->tank.grid.shape, place, s->heavy, HEAVY_BORDER);
    if ((c == 0 ? place.x : c == 1 ? place.y : place.z) == 0) {
        for (int plane = 0; plane <= HEAVY_BORDER; plane++) { // the wall's face, too, as it does at the far wall
            halo_set_plane(s->heavy, HEAVY_EDGE, c, plane, HEAVY_BORDER + 1, 1.0f);
        }
    }
    FOR_RANGE_ATOMIC (i, 0, HEAVY_NODES) {
        tile_or_u32(&s->is_mixed, s->heavy[i] > PURE && s->heavy[i] < 1.0f - PURE);
    }
    TILE_BARRIER();
}

/// How much of an emulsion there is at a face, 0..1.
TILE_FN float emulsion_at(const float *heavy)
{
    const float dx = heavy[1] - heavy[-1], dy = heavy[HEAVY_EDGE] - heavy[-HEAVY_EDGE],
                dz = heavy[HEAVY_EDGE * HEAVY_EDGE] - heavy[-HEAVY_EDGE * HEAVY_EDGE];
    const float less = tile_min_f32(heavy[0], 1.0f - heavy[0]);
    if (!(less > PURE)) {
        return 0.0f;
    }
    const float past = 1.0f - tile_sqrt_f32(2.0f * less);
    const float rise = tile_sqrt_f32(dx * dx + (dy * dy + dz * dz));
    return tile_max2_f32(1.0f - rise / (1.0f - 0.5f * past * past), 0.0f);
}

/// Fills `pull` for the faces normal to an axis, whose drops move by `speed` cells. Ends with a barrier.
TILE_FN void find_pull(const liquid_args *args, drift_scratch *s, tile_place place, int c, float speed)
{
    const uint8_t *open = args->tank.grid.m.open[c];
    const int first = (c == 0 ? place.x : c == 1 ? place.y : place.z) * TILE_EDGE - 1;
    const int wall = args->tank.grid.shape.cells[c];
    if (open != NULL) {
        halo_load_u8(s->open, 1, open, s->neighbour);
    } else {
        FOR_RANGE (i, 0, NEAR_NODES) {
            s->open[i] = 255;
        }
    }
    FOR_BOX (x, y, z, NEAR_EDGE, NEAR_EDGE, NEAR_EDGE) {
        const int at = (z * NEAR_EDGE + y) * NEAR_EDGE + x, own = first + (c == 0 ? x : c == 1 ? y : z);
        const float *heavy = &s->heavy[((z + 1) * HEAVY_EDGE + y + 1) * HEAVY_EDGE + x + 1];
        const int is_wall = own <= 0 || own >= wall;
        const float pull = is_wall ? 0.0f : speed * (1.0f / 255.0f) * (float)s->open[at] * emulsion_at(heavy);
        s->pull[at][0] = pull;
        s->pull[at][1] = pull * heavy[0];
    }
    TILE_BARRIER();
}

/// Moves a pack of particles along an axis, and from tile to tile.
TILE_FN void drift_pack(const liquid_args *args, drift_scratch *s, int c, uint32_t particle, uint32_t n)
{
    const store_memory *store = &args->tank.store;
    const int32_t last = (args->tank.grid.shape.cells[c] << POSITION_BITS) - 1 - WALL_MARGIN;
    pack_i32 at[3];
    pack_axis axes[3];
    pack_f32 pull, mean, heavy = pack_all_f32(0.0f);
    load_places(store, particle, n, at);
    TILE_UNROLL for (int a = 0; a < 3; a++) axes[a] = pack_axis_of(at[a]);
    interpolate_pairs(s->pull[0], c, axes, &pull, &mean);
    const pack_i32 liquid = pack_load_i32(store->attribute + particle, n) & (LIQUIDS_MAX - 1);
    TILE_UNROLL for (int k = 0; k < LIQUIDS_MAX; k++) heavy =
        heavy + pack_to_f32((liquid == k) & 1) * args->scale.heavy[k];
    const pack_f32 way = heavy * pull - mean;
    const pack_i32 before = pack_load_i32(store->moved_position[c] + particle, n);
    const pack_i32 after =
        pack_clamp_i32(before + pack_round_i32(way * (float)(1 << POSITION_BITS)), WALL_MARGIN, last);
    pack_store_i32(store->moved_position[c] + particle, after, n);
    const pack_i32 crossed = (after >> TILE_POSITION_BITS) - (before >> TILE_POSITION_BITS);
    uint32_t moving = pack_mask_bits(crossed != 0) & ((1u << n) - 1);
    for (; moving != 0; moving &= moving - 1) {
        const uint32_t l = tile_lowest_bit_u32(moving);
        uint8_t *to = store->moved_to + particle + l;
        tile_add_u32(&s->move_count[*to], 0xffffffffu);
        *to = (uint8_t)(*to + pack_get_i32(crossed, (int)l) * (c == 0 ? 1 : c == 1 ? 3 : 9));
        tile_add_u32(&s->move_count[*to], 1);
    }
}

/// Speed of a drop along an axis, cells per step, by the gravity that the tank feels; what a turning one adds isn't in
/// it.
TILE_FN float drop_speed(const liquid_args *args, int c)
{
    const float *g = args->tank.grid.m.control->gravity;
    const float size = tile_sqrt_f32((g[0] * g[0] + g[1] * g[1]) + g[2] * g[2]);
    if (size < 1e-12f) {
        return 0.0f;
    }
    const float newton = tile_sqrt_f32(args->scale.buoyancy * size);
    const float drag = newton * args->scale.drop_viscosity / (args->scale.buoyancy * size);
    return newton / (1.0f + drag) * (g[c] / size);
}

/// One tile per occupied tile, after the advection.
TILE_KERNEL(liquid_drift, PARTICLE_LANES, liquid_args, drift_scratch)
{
    const store_memory *store = &args->tank.store;
    const uint32_t dense = args->tank.grid.m.level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, dense);
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    FOR_RANGE (n, 0, 27) {
        s->move_count[n] = store->move_count[tile * 27 + n];
    }
    TILE_BARRIER();
    for (int c = 0; c < 3; c++) {
        const float frac = args->tank.grid.m.control->frac;
        const float speed = tile_clamp_f32(frac * drop_speed(args, c), -DRIFT_CELLS_MAX, DRIFT_CELLS_MAX);
        if (speed == 0.0f) {
            continue;
        }
        load_heavy(args, s, place, c);
        if (s->is_mixed) {
            find_pull(args, s, place, c, speed);
            EACH_PACK(i, n, first, end, drift_pack(args, s, c, i, n));
        }
        TILE_BARRIER();
    }
    FOR_RANGE (n, 0, 27) {
        store->move_count[tile * 27 + n] = s->move_count[n];
    }
}
