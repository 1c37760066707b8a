// What leaves the device: tile payloads of frames (protocol/SPEC.md), and totals for reports and hashes.
#include "kernels/liquid/liquid.h"

enum {
    GRID_EDGE = 4, ///< velocity nodes of a tile, per axis
    GRID_NODES = 64,
    GRID_BYTES = 3 * GRID_NODES,
    FRAME_BITS = 8, ///< of a position inside a tile
    SUM_BITS = 10,  ///< fraction bits of the velocity sums: 2^15 * 2^16 particles fit
};

typedef struct encode_scratch {
    int32_t sum[3][GRID_NODES];
    uint32_t count[GRID_NODES];
    float value[2][3][GRID_NODES], known[2][GRID_NODES];
} encode_scratch;

TILE_FN uint32_t position_byte(uint32_t position)
{
    return position >> (TILE_POSITION_BITS - FRAME_BITS) & 0xffu;
}

/// Nearest of `steps` + 1 levels to one of 256.
TILE_FN uint32_t level_of(uint32_t component, uint32_t steps)
{
    return ((component & 0xffu) * steps + 127) / 255;
}

/// A particle's dye as red << 5 | green << 2 | blue.
TILE_FN uint32_t colour_byte(uint32_t attribute)
{
    return level_of(attribute >> 8, 7) << 5 | level_of(attribute >> 16, 7) << 2 | level_of(attribute >> 24, 3);
}

TILE_FN uint32_t grid_node(const liquid_memory *m, uint32_t particle)
{
    const int shift = TILE_POSITION_BITS - 2;
    return (m->position[2][particle] >> shift & 3u) * 16 + (m->position[1][particle] >> shift & 3u) * 4 +
           (m->position[0][particle] >> shift & 3u);
}

/// Nodes without particles take the mean of their known neighbours, so that interpolation stays smooth at the surface.
TILE_FN void spread(encode_scratch *s, int from, int to)
{
    FOR_RANGE (n, 0, GRID_NODES) {
        const int x = (int)n & 3, y = (int)n >> 2 & 3, z = (int)n >> 4;
        float weight = 0.0f, total[3] = {0.0f, 0.0f, 0.0f};
        for (int side = 0; side < 6; side++) {
            const int d = side % 2 == 0 ? -1 : 1;
            const int ox = x + (side / 2 == 0 ? d : 0), oy = y + (side / 2 == 1 ? d : 0),
                      oz = z + (side / 2 == 2 ? d : 0);
            if (ox >= 0 && oy >= 0 && oz >= 0 && ox < GRID_EDGE && oy < GRID_EDGE && oz < GRID_EDGE) {
                const int other = (oz * GRID_EDGE + oy) * GRID_EDGE + ox;
                const float w = s->known[from][other];
                weight += w;
                for (int c = 0; c < 3; c++)
                    total[c] += w * s->value[from][c][other];
            }
        }
        const int fill = s->known[from][n] == 0.0f && weight > 0.0f;
        for (int c = 0; c < 3; c++)
            s->value[to][c][n] = fill ? total[c] / weight : s->value[from][c][n];
        s->known[to][n] = fill ? 1.0f : s->known[from][n];
    }
    TILE_BARRIER();
}

/// One tile's payload: mean velocities of 2^3 cells, then x, y and z of its particles, and their colours where they
/// have any. One tile per occupied tile.
TILE_KERNEL(liquid_encode, PARTICLE_LANES, liquid_args, encode_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->level[0].tile[tile];
    const uint32_t first = m->tile_first[dense], count = m->tile_count[dense];
    const uint32_t columns = m->attribute != NULL ? 4 : 3;
    uint8_t *to = args->bytes + (uint64_t)tile * GRID_BYTES + columns * (uint64_t)first;
    FOR_RANGE (n, 0, GRID_NODES) {
        s->count[n] = 0;
        for (int c = 0; c < 3; c++)
            s->sum[c][n] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, first + count) {
        const uint32_t node = grid_node(m, i);
        tile_add_u32(&s->count[node], 1);
        for (int c = 0; c < 3; c++)
            tile_add_i32(&s->sum[c][node], tile_round_i32(m->velocity[c][i] * (1 << SUM_BITS)));
    }
    TILE_BARRIER();
    FOR_RANGE (n, 0, GRID_NODES) {
        const float unit = s->count[n] > 0 ? args->velocity_scale / ((float)s->count[n] * (1 << SUM_BITS)) : 0.0f;
        for (int c = 0; c < 3; c++)
            s->value[0][c][n] = (float)s->sum[c][n] * unit;
        s->known[0][n] = s->count[n] > 0 ? 1.0f : 0.0f;
    }
    TILE_BARRIER();
    for (int round = 0; round < 4; round++)
        spread(s, round & 1, ~round & 1);
    FOR_RANGE (n, 0, GRID_NODES) {
        for (int c = 0; c < 3; c++)
            to[c * GRID_NODES + n] =
                (uint8_t)(int8_t)tile_round_i32(tile_clamp_f32(s->value[0][c][n], -127.0f, 127.0f));
    }
    for (uint32_t c = 0; c < 3; c++) {
        uint8_t *axis = to + GRID_BYTES + (uint64_t)c * count;
        const uint32_t *position = m->position[c] + first;
        FOR_RANGE (i, 0, count)
            axis[i] = (uint8_t)position_byte(position[i]);
    }
    if (m->attribute != NULL) {
        uint8_t *colour = to + GRID_BYTES + (uint64_t)3 * count;
        FOR_RANGE (i, 0, count)
            colour[i] = (uint8_t)colour_byte(m->attribute[first + i]);
    }
    if (TILE_SINGLE()) {
        args->tile_info[2 * tile] = dense;
        args->tile_info[2 * tile + 1] = count;
    }
}

typedef struct volume_scratch {
    uint64_t sum[PARTICLE_LANES];
} volume_scratch;

/// Adds up the liquid's volume as the last substep's grid saw it. One tile per tile that was active then.
TILE_KERNEL(liquid_volume, PARTICLE_LANES, liquid_args, volume_scratch)
{
    const liquid_memory *m = &args->m;
    const float *error = m->density_error + (uint64_t)tile * TILE_CELLS;
    FOR_LANES (lane) {
        uint64_t sum = 0;
        for (uint32_t i = lane; i < TILE_CELLS; i += PARTICLE_LANES)
            sum += (uint64_t)tile_round_i32(tile_clamp_f32(error[i] + 1.0f, 0.0f, 1.0f) * (float)(1 << 20));
        s->sum[lane] = sum;
    }
    TILE_BARRIER();
    tile_sum_u64(s->sum, PARTICLE_LANES);
    if (TILE_SINGLE())
        global_add_u64(&m->totals->sum[TOTAL_VOLUME], s->sum[0]);
}

typedef struct totals_scratch {
    uint64_t sum[TOTAL_VOLUME][PARTICLE_LANES];
} totals_scratch;

/// Adds up what reports and hashes need; integers, so that the order doesn't matter. One tile per 256 particles;
/// args->level holds the number of particles.
TILE_KERNEL(liquid_totals_sum, PARTICLE_LANES, liquid_args, totals_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t first = tile * PARTICLE_LANES;
    const uint32_t count = args->level - first < PARTICLE_LANES ? args->level - first : PARTICLE_LANES;
    FOR_LANES (lane) {
        const uint32_t i = first + (lane < count ? lane : 0);
        const uint64_t counts = lane < count;
        const float mass = args->shape.liquid_density[m->attribute != NULL ? m->attribute[i] & (LIQUIDS_MAX - 1) : 0];
        uint64_t hash = tile_mix_u64(m->id[i] + 0x9e3779b97f4a7c15ull);
        float energy = 0.0f;
        for (int c = 0; c < 3; c++) {
            const float v = m->velocity[c][i];
            hash = tile_mix_u64(hash ^ ((uint64_t)m->position[c][i] << 32 | tile_bits_f32(v)));
            energy += v * v;
            s->sum[TOTAL_POSITION + c][lane] = counts * (uint64_t)((double)mass * (double)m->position[c][i]);
            s->sum[TOTAL_VELOCITY + c][lane] = counts * (uint64_t)(int64_t)tile_round_i32(mass * v * (float)(1 << 20));
        }
        for (int c = 0; m->affine[0] != NULL && c < 9; c++)
            hash = tile_mix_u64(hash ^ tile_bits_f32(m->affine[c][i]));
        if (m->attribute != NULL)
            hash = tile_mix_u64(hash ^ m->attribute[i]);
        s->sum[TOTAL_ENERGY][lane] = counts * (uint64_t)(mass * energy * (float)(1 << 20));
        s->sum[TOTAL_MASS][lane] = counts * (uint64_t)(mass * (float)(1ull << TOTAL_MASS_BITS));
        s->sum[TOTAL_HASH][lane] = counts * hash;
        s->sum[TOTAL_HASH + 1][lane] = counts * tile_mix_u64(hash ^ 0xd1b54a32d192ed03ull);
    }
    TILE_BARRIER();
    for (int k = 0; k < TOTAL_VOLUME; k++)
        tile_sum_u64(s->sum[k], PARTICLE_LANES);
    FOR_RANGE_ATOMIC (k, 0, TOTAL_VOLUME)
        global_add_u64(&m->totals->sum[k], s->sum[k][0]);
}
