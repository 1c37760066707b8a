/// How a processor adds up what probes see. Few of a tile's particles are in a probe's box, at places that no branch
/// can foresee: their numbers are written side by side, and what follows is packs of them. Part of probe.tile.c.
#ifndef TARN_KERNELS_TANK_SEEN_CPU_H
#define TARN_KERNELS_TANK_SEEN_CPU_H

#include "kernels/device/pack_move.h"

enum {
    PROBE_SEEN_MAX = 4096,   ///< particles that are looked at at a time: those of a full tile
    PROBE_WEIGHED_MAX = 512, ///< of them, that a gauge weighs at a time
};

typedef uint32_t probe_u32s __attribute__((vector_size(4 * PACK_WIDTH)));

typedef struct probe_seen {
    uint32_t at[PROBE_SEEN_MAX + PACK_WIDTH];
    float place[3][PROBE_WEIGHED_MAX], across[PROBE_WEIGHED_MAX]; ///< of a gauge's
} probe_seen;

// Who is in the box, axis by axis.
#if PACK_WIDTH == 16
typedef __mmask16 probe_mask;
#define PROBE_MASK(n) (probe_mask)(0xffffu >> (16 - (n)))
#define PROBE_MASK_BITS(mask) (uint32_t)(mask)
TILE_FN probe_mask probe_within(probe_mask mask, probe_u32s off, probe_u32s extent)
{
    return _mm512_mask_cmple_epu32_mask(mask, (__m512i)off, (__m512i)extent);
}
#else
typedef pack_i32 probe_mask;
#define PROBE_MASK(n) (pack_count_i32(0) < (int32_t)(n))
#define PROBE_MASK_BITS(mask) pack_mask_bits(mask)
TILE_FN probe_mask probe_within(probe_mask mask, probe_u32s off, probe_u32s extent)
{
    return mask & (pack_i32)(off <= extent);
}
#endif

/// What a pass needs, so that it stays in registers.
typedef struct probe_pass {
    const uint32_t *position[3];
    probe_u32s less_low[3], extent[3];
    uint32_t *to; ///< where the next numbers go
} probe_pass;

/// Writes down who of n particles from i on is in the box.
/// @param axes  a constant: only the first ones need a look
TILE_FN void probe_list_pack(probe_pass *pass, int axes, uint32_t i, uint32_t n)
{
    probe_mask is_in = PROBE_MASK(n);
    TILE_UNROLL for (int k = 0; k < axes; k++)
    {
        const probe_u32s place = (probe_u32s)pack_load_i32(pass->position[k] + i, n);
        is_in = probe_within(is_in, place + pass->less_low[k], pass->extent[k]);
    }
    const uint32_t bits = PROBE_MASK_BITS(is_in);
#if PACK_WIDTH >= 8
    pack_store_i32(pass->to, pack_squeeze(pack_count_i32(i), bits), PACK_WIDTH);
    pass->to += tile_popcount_u32(bits);
#else
    for (uint32_t l = 0; l < PACK_WIDTH; l++) {
        *pass->to = i + l;
        pass->to += bits >> l & 1;
    }
#endif
}

/// Those of a tile's particles from first to end, at most PROBE_SEEN_MAX, that are in the box, and behind them one of
/// the tile's again up to a full pack. @return how many
TILE_FN uint32_t probe_list(const store_memory *store, const tank_probe *probe, tile_place place, uint32_t first,
                            uint32_t end, probe_seen *seen)
{
    const uint32_t tile[3] = {(uint32_t)place.x << TILE_POSITION_BITS, (uint32_t)place.y << TILE_POSITION_BITS,
                              (uint32_t)place.z << TILE_POSITION_BITS};
    const uint32_t last = (1u << TILE_POSITION_BITS) - 1;
    probe_pass pass;
    int axes = 0;
    pass.to = seen->at;
    for (int a = 0; a < 3; a++) {
        const int is_cut = tile[a] < probe->low[a] || tile[a] + last - probe->low[a] > probe->extent[a];
        if (is_cut || (a == 2 && axes == 0)) {
            pass.position[axes] = store->position[a];
            pass.less_low[axes] = (probe_u32s)pack_all_i32(-(int32_t)probe->low[a]);
            pass.extent[axes++] = (probe_u32s)pack_all_i32((int32_t)probe->extent[a]);
        }
    }
    if (axes == 3) {
        EACH_PACK(i, n, first, end, probe_list_pack(&pass, 3, i, n));
    } else if (axes == 2) {
        EACH_PACK(i, n, first, end, probe_list_pack(&pass, 2, i, n));
    } else {
        EACH_PACK(i, n, first, end, probe_list_pack(&pass, 1, i, n));
    }
    pack_store_i32(pass.to, pack_all_i32((int32_t)first), PACK_WIDTH);
    return (uint32_t)(pass.to - seen->at);
}

/// Of a pack of particles, what they have in an array.
TILE_FN pack_i32 probe_pick_i32(const uint32_t *from, const uint32_t *at)
{
#if PACK_WIDTH == 16
    return (pack_i32)_mm512_i32gather_epi32(_mm512_loadu_si512(at), from, 4);
#elif PACK_WIDTH == 8
    return (pack_i32)_mm256_i32gather_epi32((const int *)from, _mm256_loadu_si256((const __m256i *)(const void *)at),
                                            4);
#else
    pack_i32 picked;
    for (int l = 0; l < PACK_WIDTH; l++) {
        picked[l] = (int32_t)from[at[l]];
    }
    return picked;
#endif
}

TILE_FN pack_f32 probe_pick_f32(const float *from, const uint32_t *at)
{
    return (pack_f32)probe_pick_i32((const uint32_t *)(const void *)from, at);
}

TILE_FN pack_f32 probe_pick_place(const uint32_t *from, const uint32_t *at)
{
    return (pack_to_f32(probe_pick_i32(from, at)) + 0.5f) * (1.0f / (1 << POSITION_BITS));
}

/// As probe_hat.
TILE_FN pack_f32 probe_hats(float x, pack_f32 particle, int32_t cells)
{
    const pack_f32 none = pack_all_f32(0.0f), own = pack_max_f32(1.0f - pack_abs_f32(x - particle), none);
    if (cells == 1) {
        return pack_all_f32(1.0f);
    }
    if (x >= 1.0f && x <= (float)cells - 1.0f) { // no image is near
        return own;
    }
    const pack_f32 low = 1.0f - (x + particle), high = 1.0f - (2.0f * (float)cells - (x + particle));
    return own + (pack_max_f32(low, none) + pack_max_f32(high, none));
}

/// As probe_fixed.
TILE_FN void probe_add_fixed(uint64_t *sum, pack_f32 value)
{
    const pack_f32 kept = pack_clamp_f32(value, -CARRIED_LIMIT, CARRIED_LIMIT);
#if PACK_WIDTH == 16
    for (int half = 0; half < 2; half++) {
        const __m256 part = half == 0 ? _mm512_castps512_ps256((__m512)kept) : _mm512_extractf32x8_ps((__m512)kept, 1);
        const __m512d scaled = _mm512_mul_pd(_mm512_cvtps_pd(part), _mm512_set1_pd((double)(1 << PROBE_UNIT_BITS)));
        const __m512i old = _mm512_loadu_si512(sum + 8 * half);
        _mm512_storeu_si512(sum + 8 * half, _mm512_add_epi64(old, _mm512_cvttpd_epi64(scaled)));
    }
#else
    for (int l = 0; l < PACK_WIDTH; l++) {
        sum[l] += probe_fixed(pack_get_f32(kept, l));
    }
#endif
}

TILE_FN void probe_add_points(const tank_probe_args *args, const tank_probe *probe, const uint32_t *at, uint32_t n,
                              uint64_t (*sum)[PROBE_OWN])
{
    const store_memory *store = &args->tank.store;
    pack_f32 weight = pack_first_f32(1.0f, n);
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        weight =
            weight * probe_hats(probe->at[a], probe_pick_place(store->position[a], at), args->tank.grid.shape.cells[a]);
    }
    pack_f32 density = pack_all_f32(args->tank.scale.liquid_density[0]);
    if (store->attribute != NULL) {
        for (int l = 0; l < PACK_WIDTH; l++) {
            pack_set_f32(&density, l, args->tank.scale.liquid_density[store->attribute[at[l]] & (LIQUIDS_MAX - 1)]);
        }
    }
    probe_add_fixed(sum[PROBE_WEIGHT], weight);
    probe_add_fixed(sum[PROBE_MASS], weight * density);
    for (int c = 0; c < 3; c++) {
        probe_add_fixed(sum[PROBE_MOMENTUM + c], weight * probe_pick_f32(store->velocity[c], at));
    }
    for (uint32_t k = 0; k < args->carried_count; k++) {
        probe_add_fixed(sum[PROBE_CARRIED + k], weight * probe_pick_f32(store->carried[k], at));
    }
}

TILE_FN void probe_see_point(const tank_probe_args *args, const tank_probe *probe, tile_place place, uint32_t first,
                             uint32_t end, probe_seen *seen, uint64_t (*sum)[PROBE_OWN], uint32_t *some)
{
    for (uint32_t from = first; from < end; from += PROBE_SEEN_MAX) {
        const uint32_t count =
            probe_list(&args->tank.store, probe, place, from, from + tile_min_u32(end - from, PROBE_SEEN_MAX), seen);
        *some |= count;
        FOR_PACKS(i, n, 0u, count)
        {
            probe_add_points(args, probe, seen->at + i, n, sum);
        }
    }
}

// -------------------------------------------------------------------------------------------------------------- gauges

/// Of a pack of a gauge's particles, the i-th ones: where they are and their weights along the axes that it lies
/// across; widens the part of its length that they reach.
TILE_FN void probe_find_reach(const tank_probe_args *args, const tank_probe *probe, const uint32_t *at,
                              probe_seen *seen, uint32_t i, uint32_t n, pack_f32 *least, pack_f32 *most)
{
    const int32_t *cells = args->tank.grid.shape.cells;
    pack_f32 across = pack_first_f32(1.0f, n), first = pack_all_f32(0.0f), last = pack_all_f32(probe->length[0]);
    for (int a = 0; a < 3; a++) {
        const pack_f32 place = probe_pick_place(args->tank.store.position[a], at + i);
        pack_store_f32(seen->place[a] + i, place, PACK_WIDTH);
        if (probe->per_along[a] == 0.0f) {
            across = across * probe_hats(probe->at[a], place, cells[a]);
        } else if (cells[a] > 1) {
            const pack_f32 middle = (place - probe->at[a]) * probe->per_along[a];
            const float reach = tile_abs_f32(probe->per_along[a]);
            first = pack_max_f32(first, middle - reach);
            last = pack_min_f32(last, middle + reach);
        }
    }
    pack_store_f32(seen->across + i, across, PACK_WIDTH);
    *least = pack_min_f32(*least, first);
    *most = pack_max_f32(*most, last);
}

TILE_FN uint32_t probe_sum_i32(pack_i32 a)
{
#if PACK_WIDTH == 16
    return (uint32_t)_mm512_reduce_add_epi32((__m512i)a);
#else
    uint32_t sum = 0;
    for (int l = 0; l < PACK_WIDTH; l++) {
        sum += (uint32_t)pack_get_i32(a, l);
    }
    return sum;
#endif
}

/// What a list's particles are to a sample: those that don't reach it have no weight there.
/// @param axis  a constant: the one that the gauge lies along, or 3
TILE_FN uint32_t probe_weigh_sample(const tank_probe_args *args, const tank_probe *probe, const probe_seen *seen,
                                    uint32_t count, int axis, int k)
{
    const int32_t *cells = args->tank.grid.shape.cells;
    const float along = ((float)k + 0.5f) * probe->part;
    const float x[3] = {probe->at[0] + along * probe->along[0], probe->at[1] + along * probe->along[1],
                        probe->at[2] + along * probe->along[2]};
    pack_i32 parts = pack_all_i32(0);
    for (uint32_t i = 0; i < count; i += PACK_WIDTH) {
        pack_f32 weight = pack_load_f32(seen->across + i, PACK_WIDTH);
        TILE_UNROLL for (int a = 0; a < 3; a++)
        {
            if (axis == 3 ? probe->per_along[a] != 0.0f : a == axis) {
                weight = weight * probe_hats(x[a], pack_load_f32(seen->place[a] + i, PACK_WIDTH), cells[a]);
            }
        }
        parts += __builtin_convertvector(weight * (float)(1 << PROBE_SAMPLE_BITS), pack_i32);
    }
    return probe_sum_i32(parts);
}

TILE_FN int probe_sample_at(const tank_probe *probe, float along)
{
    return (int)tile_floor_f32(tile_clamp_f32(along, 0.0f, probe->length[0]) * probe->per_part - 0.5f);
}

/// @param at  up to PROBE_WEIGHED_MAX particles' numbers
TILE_FN void probe_weigh(const tank_probe_args *args, const tank_probe *probe, int tile_first, const uint32_t *at,
                         uint32_t count, probe_seen *seen, uint32_t *sample)
{
    const int tile_end = tile_min_i32((int)probe->samples, tile_first + PROBE_TILE_SAMPLES);
    pack_f32 leasts = pack_all_f32(probe->length[0]), mosts = pack_all_f32(0.0f);
    FOR_PACKS(i, n, 0u, count)
    {
        probe_find_reach(args, probe, at, seen, i, n, &leasts, &mosts);
    }
    float least = probe->length[0], most = 0.0f;
    for (int l = 0; l < PACK_WIDTH; l++) {
        least = tile_min_f32(least, pack_get_f32(leasts, l));
        most = tile_max2_f32(most, pack_get_f32(mosts, l));
    }
    const int hi = tile_min_i32(probe_sample_at(probe, most) + 2, tile_end);
    const int is_upright = probe->per_along[0] == 0.0f && probe->per_along[2] == 0.0f;
    for (int k = tile_max_i32(probe_sample_at(probe, least), tile_first); k < hi; k++) {
        sample[k - tile_first] += is_upright ? probe_weigh_sample(args, probe, seen, count, 1, k)
                                             : probe_weigh_sample(args, probe, seen, count, 3, k);
    }
}

TILE_FN void probe_see_gauge(const tank_probe_args *args, const tank_probe *probe, tile_place place, int tile_first,
                             uint32_t first, uint32_t end, probe_seen *seen, uint32_t *sample)
{
    for (uint32_t from = first; from < end; from += PROBE_SEEN_MAX) {
        const uint32_t count =
            probe_list(&args->tank.store, probe, place, from, from + tile_min_u32(end - from, PROBE_SEEN_MAX), seen);
        for (uint32_t i = 0; i < count; i += PROBE_WEIGHED_MAX) {
            probe_weigh(args, probe, tile_first, seen->at + i, tile_min_u32(count - i, PROBE_WEIGHED_MAX), seen,
                        sample);
        }
    }
}

// -------------------------------------------------------------------------------------------------------------- fluxes

TILE_FN void probe_see_flux(const tank_probe_args *args, const tank_probe *probe, uint32_t first, uint32_t end,
                            uint64_t *sum)
{
    for (uint32_t from = first; from < end; from += PROBE_OWN << PROBE_FLUX_BITS) { // once, but for crowds
        const uint32_t to = from + tile_min_u32(PROBE_OWN << PROBE_FLUX_BITS, end - from);
        pack_i32 all = pack_all_i32(0);
        if (probe->is_along_axes) {
            EACH_PACK(i, n, from, to, all += probe_brings(args, probe, 1, i, n));
        } else {
            EACH_PACK(i, n, from, to, all += probe_brings(args, probe, 0, i, n));
        }
        for (int l = 0; l < PACK_WIDTH; l++) {
            sum[l] += probe_fixed_flux(pack_get_i32(all, l));
        }
    }
}

#endif
