// Dye that mixes: a particle's colour goes some way towards the mean of its liquid's particles in the same cell.
// Colours are bytes, so the new value is rounded up or down by chance, with odds such that on average nothing is lost:
// rounding to nearest would stop mixing at small differences, rounding down would end in black.
//
// Most tiles hold one liquid of one colour, where mixing changes nothing: these are told by a look at the attributes.
//
// And dye that is put in: spheres that colour the particles in them, rounded the same way.
#include "kernels/device/pack.h"
#include "kernels/tank/spline.h"
#include "kernels/tank/store.h"

typedef struct dye_scratch {
    uint32_t count[LIQUIDS_MAX][TILE_CELLS];
    uint32_t sum[3][LIQUIDS_MAX][TILE_CELLS]; ///< at most 255 * 2^24 particles
    uint32_t liquids;                         ///< bit for each that the tile holds
    uint32_t differ;                          ///< some particle's liquid or colour isn't the first one's
} dye_scratch;

/// 24 random bits for a particle's colour in a step, as a number of 0..1.
TILE_FN float chance(uint32_t id, uint32_t step, int c)
{
    return (float)(tile_mix_u64(((uint64_t)id << 32 | step) * 4u + (uint64_t)c) >> 40) * (1.0f / (1 << 24));
}

/// A component between two bytes, rounded by chance.
TILE_FN uint32_t rounded(float wanted, uint32_t id, uint32_t step, int c)
{
    const float within = tile_clamp_f32(wanted, 0.0f, 255.0f), lower = tile_floor_f32(within);
    return (uint32_t)lower + (within - lower > chance(id, step, c));
}

/// Keeps whether some of a pack of particles differ from the tile's first one, and which liquids they are of.
TILE_FN void compare_pack(const store_memory *store, dye_scratch *s, uint32_t attribute, uint32_t particle, uint32_t n)
{
    const pack_i32 there = pack_first_f32(1.0f, n) > 0.0f;
    const pack_i32 own = pack_load_i32(store->attribute + particle, n);
    if (!pack_any((own != (int32_t)attribute) & there)) {
        return;
    }
    uint32_t liquids = 0;
    for (int liquid = 0; liquid < LIQUIDS_MAX; liquid++) {
        const pack_i32 is_of = (own & (LIQUIDS_MAX - 1)) == liquid;
        liquids |= (uint32_t)(pack_any(is_of & there) != 0) << liquid;
    }
    tile_or_u32(&s->liquids, liquids);
    tile_or_u32(&s->differ, 1);
}

/// Finds out which liquids a tile that holds particles has, and whether their colours are one. Ends with a barrier.
TILE_FN void compare_tile(const store_memory *store, dye_scratch *s, uint32_t first, uint32_t end)
{
    const uint32_t attribute = store->attribute[first];
    if (TILE_SINGLE()) {
        s->liquids = 1u << (attribute & (LIQUIDS_MAX - 1));
        s->differ = 0;
    }
    TILE_BARRIER();
    EACH_PACK(i, n, first, end, compare_pack(store, s, attribute, i, n));
    TILE_BARRIER();
}

/// One tile per occupied tile, after the particles have moved.
TILE_KERNEL(tank_dye, PARTICLE_LANES, tank_args, dye_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const uint32_t dense = grid->level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const float share = store->control->dye_share;
    if (first == end) { // awake without particles
        return;
    }
    compare_tile(store, s, first, end);
    if (s->differ == 0) {
        return;
    }
    for (int liquid = 0; liquid < LIQUIDS_MAX; liquid++) {
        if ((s->liquids >> liquid & 1) == 0) {
            continue;
        }
        FOR_RANGE (cell, 0, TILE_CELLS) {
            s->count[liquid][cell] = s->sum[0][liquid][cell] = s->sum[1][liquid][cell] = s->sum[2][liquid][cell] = 0;
        }
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t attribute = store->attribute[i], liquid = attribute & (LIQUIDS_MAX - 1),
                       cell = particle_cell(store, i);
        tile_add_u32(&s->count[liquid][cell], 1);
        for (int c = 0; c < 3; c++) {
            tile_add_u32(&s->sum[c][liquid][cell], attribute >> (8 * c + 8) & 0xffu);
        }
    }
    TILE_BARRIER();
    FOR_RANGE (i, first, end) {
        const uint32_t attribute = store->attribute[i], liquid = attribute & (LIQUIDS_MAX - 1),
                       cell = particle_cell(store, i);
        uint32_t mixed = attribute & 0xffu;
        for (int c = 0; c < 3; c++) {
            const uint32_t byte = attribute >> (8 * c + 8) & 0xffu, sum = s->sum[c][liquid][cell];
            const float colour = (float)byte, mean = (float)sum / (float)s->count[liquid][cell];
            mixed |= (sum == byte * s->count[liquid][cell] // most cells have one colour
                          ? byte
                          : rounded(colour + share * (mean - colour), store->id[i], store->control->dye_step, c))
                     << (8 * c + 8);
        }
        store->attribute[i] = mixed;
    }
}

/// Gives all particles the first liquid's colour, when a tank gets its first dye. One tile per PARTICLE_LANES of the
/// args->grid.level particles.
TILE_KERNEL(tank_undyed, PARTICLE_LANES, tank_args, tile_no_scratch)
{
    FOR_LANES (lane) {
        const uint32_t i = tile * PARTICLE_LANES + lane;
        if (i < args->grid.level) {
            args->store.attribute[i] = args->store.control->undyed;
        }
    }
}

/// Whether a sphere could meet a tile, by its box.
TILE_FN int dye_meets(const tank_dye *dye, tile_place place)
{
    const int at[3] = {place.x, place.y, place.z};
    int meets = 1;
    for (int a = 0; a < 3; a++) {
        const float corner = (float)(at[a] * TILE_EDGE);
        meets &= dye->center[a] + dye->radius >= corner && dye->center[a] - dye->radius <= corner + (float)TILE_EDGE;
    }
    return meets;
}

/// A particle's attribute after a dye.
TILE_FN uint32_t dyed(const tank_args *args, const tank_dye *dye, uint32_t id, uint32_t attribute)
{
    uint32_t result = attribute & 0xffu;
    for (int c = 0; c < 3; c++) {
        const int shift = 8 * c + 8;
        const float colour = (float)(attribute >> shift & 0xffu), wanted = (float)(dye->colour >> shift & 0xffu);
        result |= rounded(colour + dye->share * (wanted - colour), id, args->store.control->dye_step, c) << shift;
    }
    return result;
}

/// Colours what this step's dyes hold. One tile per occupied tile, after the particles have moved.
TILE_KERNEL(tank_tint, PARTICLE_LANES, tank_args, tile_no_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const uint32_t dense = grid->level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const tile_place place = tile_place_of(&args->grid.shape, 0, dense);
    const float unit = 1.0f / (1 << POSITION_BITS);
    for (uint32_t d = 0; d < store->control->dye_count; d++) {
        const tank_dye *dye = &store->control->dyes[d];
        if (!dye_meets(dye, place)) {
            continue;
        }
        FOR_RANGE (i, first, end) {
            float square = 0.0f;
            for (int a = 0; a < 3; a++) {
                const float way = (float)store->position[a][i] * unit - dye->center[a];
                square += way * way;
            }
            if (square < dye->radius * dye->radius) {
                store->attribute[i] = dyed(args, dye, store->id[i], store->attribute[i]);
            }
        }
    }
}
