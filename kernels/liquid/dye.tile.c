// Dye that mixes: a particle's colour goes some way towards the mean of its liquid's particles in the same cell.
// Colours are bytes, so the new value is rounded up or down by chance, with odds such that on average nothing is lost:
// rounding to nearest would stop mixing at small differences, rounding down would end in black.
#include "kernels/liquid/spline.h"

typedef struct dye_scratch {
    uint32_t count[LIQUIDS_MAX][TILE_CELLS];
    uint32_t sum[3][LIQUIDS_MAX][TILE_CELLS]; ///< at most 255 * 2^24 particles
} dye_scratch;

/// 24 random bits for a particle's colour in a step, as a number of 0..1.
TILE_FN float chance(uint32_t id, uint32_t step, int c)
{
    return (float)(tile_mix_u64(((uint64_t)id << 32 | step) * 4u + (uint64_t)c) >> 40) * (1.0f / (1 << 24));
}

/// One tile per occupied tile, after the particles have moved.
TILE_KERNEL(liquid_dye, PARTICLE_LANES, liquid_args, dye_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->level[0].tile[tile];
    const uint32_t first = m->tile_first[dense], end = first + m->tile_count[dense];
    const float share = m->control->dye_share;
    FOR_RANGE (i, 0, LIQUIDS_MAX * TILE_CELLS) {
        (&s->count[0][0])[i] = 0;
        for (int c = 0; c < 3; c++)
            (&s->sum[c][0][0])[i] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t attribute = m->attribute[i], liquid = attribute & (LIQUIDS_MAX - 1), cell = particle_cell(m, i);
        tile_add_u32(&s->count[liquid][cell], 1);
        for (int c = 0; c < 3; c++)
            tile_add_u32(&s->sum[c][liquid][cell], attribute >> (8 * c + 8) & 0xffu);
    }
    TILE_BARRIER();
    FOR_RANGE (i, first, end) {
        const uint32_t attribute = m->attribute[i], liquid = attribute & (LIQUIDS_MAX - 1), cell = particle_cell(m, i);
        uint32_t mixed = attribute & 0xffu;
        for (int c = 0; c < 3; c++) {
            const float colour = (float)(attribute >> (8 * c + 8) & 0xffu);
            const float mean = (float)s->sum[c][liquid][cell] / (float)s->count[liquid][cell];
            const float wanted = tile_clamp_f32(colour + share * (mean - colour), 0.0f, 255.0f);
            const float lower = tile_floor_f32(wanted);
            const uint32_t up = wanted - lower > chance(m->id[i], m->control->dye_step, c);
            mixed |= ((uint32_t)lower + up) << (8 * c + 8);
        }
        m->attribute[i] = mixed;
    }
}
