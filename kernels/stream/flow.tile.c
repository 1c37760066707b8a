// The grid of the flow: what moves most particles nearly right, fitted to where they went, coded against what viewers
// expect.
#include "kernels/stream/stream_memory.h"

typedef struct fit_scratch {
    int32_t sum[STREAM_FIT_NODES][4];
} fit_scratch;

/// How a displacement is shifted so that it fits STREAM_FIT_BITS.
TILE_FN uint32_t fit_shift(const stream_args *args)
{
    const uint32_t bits = tarn_bits_of(*args->w.farthest);
    return bits > STREAM_FIT_BITS ? bits - STREAM_FIT_BITS : 0;
}

/// How far a particle of the reference has gone, 1/1024 cell; in a key frame how far it goes. @return 0: it is gone
TILE_FN int fit_displacement(const stream_args *args, uint32_t i, const int32_t *kept, int32_t *d)
{
    if (args->is_key) {
        for (int a = 0; a < 3; a++)
            d[a] = tile_round_i32(tile_clamp_f32(args->velocity[a][i] * args->steps * (float)(1 << TARN_PLACE_BITS),
                                                 -4194304.0f, 4194304.0f));
        return 1;
    }
    if (args->w.pair[i].true_place == STREAM_NOWHERE)
        return 0;
    stream_unpack_place(args->w.pair[i].true_place, d);
    for (int a = 0; a < 3; a++)
        d[a] -= kept[a];
    return 1;
}

/// Adds four products to four numbers side by side.
TILE_FN void fit_add_four(int32_t *to, const int32_t *d, int32_t weight)
{
#ifdef __CUDACC__
    for (int k = 0; k < 4; k++)
        tile_add_i32(&to[k], d[k] * weight);
#else
    typedef int32_t four __attribute__((vector_size(16)));
    four sum, part;
    memcpy(&sum, to, sizeof sum);
    memcpy(&part, d, sizeof part);
    sum += part * weight;
    memcpy(to, &sum, sizeof sum);
#endif
}

/// Adds a particle to the nodes around it, by their trilinear weights.
/// @param d  its displacement, and 1
TILE_FN void fit_add(fit_scratch *s, const int32_t *local, const int32_t *d)
{
    const int shift = TARN_PLACE_BITS - TARN_FLOW_WEIGHT_BITS, one = 1 << TARN_FLOW_WEIGHT_BITS;
    int32_t w[3][2];
    uint32_t cell[3];
    for (int a = 0; a < 3; a++) {
        cell[a] = (uint32_t)local[a] >> TARN_PLACE_BITS;
        w[a][1] = ((local[a] & ((1 << TARN_PLACE_BITS) - 1)) + (1 << (shift - 1))) >> shift;
        w[a][0] = one - w[a][1];
    }
    for (uint32_t corner = 0; corner < 8; corner++) {
        const uint32_t x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
        const int32_t weight = w[0][x] * w[1][y] * w[2][z] >> (3 * TARN_FLOW_WEIGHT_BITS - STREAM_WEIGHT_BITS);
        fit_add_four(s->sum[tarn_flow_node_at(cell[0] + x, cell[1] + y, cell[2] + z)], d, weight);
    }
}

/// Sums of displacements at the nodes of a tile of the reference, its upper borders included. One tile per tile of the
/// reference that there is room for.
TILE_KERNEL(stream_fit, STREAM_LANES, stream_args, fit_scratch)
{
    const stream_tile *from = &args->w.tile[tile];
    const uint32_t shift = fit_shift(args);
    uint32_t tile_at[3];
    stream_tile_at(args, from->dense, tile_at);
    FOR_RANGE (n, 0, STREAM_FIT_NODES) {
        for (int k = 0; k < 4; k++)
            s->sum[n][k] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, from->first, from->first + from->count) {
        int32_t kept[3], d[4], local[3];
        stream_unpack_place(args->w.pair[i].kept, kept);
        if (!fit_displacement(args, i, kept, d))
            continue;
        for (int a = 0; a < 3; a++) {
            local[a] = tile_clamp_i32(kept[a] - (int32_t)tile_at[a] * TARN_PLACE_TILE, 0, TARN_PLACE_TILE - 1);
            d[a] >>= shift;
        }
        d[3] = 1;
        fit_add(s, local, d);
    }
    TILE_BARRIER();
    int32_t *to = args->w.sum + (uint64_t)tile * STREAM_FIT_NODES * 4;
    FOR_RANGE (n, 0, STREAM_FIT_NODES) {
        for (int k = 0; k < 4; k++)
            to[4 * n + k] = s->sum[n][k];
    }
}

/// Sets or clears entries of a table of the tank's tiles. One tile per STREAM_LANES entries of a list.
TILE_KERNEL(stream_index, STREAM_LANES, stream_args, tile_no_scratch)
{
    FOR_LANES (lane) {
        const uint32_t i = tile * STREAM_LANES + lane;
        if (i < args->list_count)
            args->table[args->list[(uint64_t)i * args->stride]] = args->is_set ? i + 1 : 0;
    }
}

enum { HALO_EDGE = 10, HALO_NODES = HALO_EDGE * HALO_EDGE * HALO_EDGE, HALO_ROWS = 8 * HALO_EDGE * HALO_EDGE };

typedef struct nodes_scratch {
    uint32_t source[27];                ///< 1 + t of the tile's neighbours in the reference, or 0
    float mean[HALO_NODES][4];          ///< displacement in quanta; [3]: 1 where particles have said something
    float smooth[HALO_ROWS][4];         ///< the same smoothed along x
    int32_t number[TARN_FLOW_NODES][3]; ///< what a node should be, then its residual
    int16_t first[TARN_FLOW_NODES][3];
    uint8_t context[TARN_FLOW_NODES];
    tarn_flow_mask mask;
    tarn_flow_past past;
} nodes_scratch;

TILE_FN void store_four(float *to, tile_f32x4 from)
{
#ifdef __CUDACC__
    for (int k = 0; k < 4; k++)
        to[k] = tile_get_f32x4(from, k);
#else
    memcpy(to, &from, sizeof from);
#endif
}

/// Adds four whole numbers to four others.
TILE_FN void add_four(float *to, const int32_t *from)
{
#ifdef __CUDACC__
    for (int k = 0; k < 4; k++)
        to[k] += (float)from[k];
#else
    typedef int32_t four __attribute__((vector_size(16)));
    four sum;
    memcpy(&sum, from, sizeof sum);
    store_four(to, tile_load_f32x4(to) + __builtin_convertvector(sum, tile_f32x4));
#endif
}

/// Adds up what the reference's tiles say of the tile's nodes and of those around them; a border is in both tiles'
/// sums. Ends with a barrier.
TILE_FN void gather_means(const stream_args *args, nodes_scratch *s, const uint32_t *tile_at, float unit)
{
    FOR_RANGE (n, 0, 27) {
        const uint32_t at[3] = {tile_at[0] + n % 3 - 1, tile_at[1] + n / 3 % 3 - 1, tile_at[2] + n / 9 - 1};
        const int is_inside = at[0] < args->tiles[0] && at[1] < args->tiles[1] && at[2] < args->tiles[2];
        const uint32_t t =
            is_inside ? args->w.tile_index[(at[2] * args->tiles[1] + at[1]) * args->tiles[0] + at[0]] : 0;
        s->source[n] = t <= args->reference_kept ? t : 0;
    }
    FOR_RANGE (n, 0, HALO_NODES) {
        for (int k = 0; k < 4; k++)
            s->mean[n][k] = 0.0f;
    }
    TILE_BARRIER();
    for (int n = 0; n < 27; n++) {
        // Of the tile before an axis's last two nodes, of the tile itself all nine, of the next one the first.
        const int side[3] = {n % 3, n / 3 % 3, n / 9}, count[3] = {2, 9, 1}, local[3] = {7, 0, 0}, halo[3] = {0, 1, 9};
        if (s->source[n] == 0)
            continue;
        const int32_t *from = args->w.sum + (uint64_t)(s->source[n] - 1) * STREAM_FIT_NODES * 4;
        FOR_BOX (x, y, z, count[side[0]], count[side[1]], count[side[2]]) {
            const int32_t *sum =
                from + 4 * tarn_flow_node_at((uint32_t)(local[side[0]] + x), (uint32_t)(local[side[1]] + y),
                                             (uint32_t)(local[side[2]] + z));
            if (sum[3] == 0)
                continue;
            float *to = s->mean[((halo[side[2]] + z) * HALO_EDGE + halo[side[1]] + y) * HALO_EDGE + halo[side[0]] + x];
            add_four(to, sum);
        }
        TILE_BARRIER();
    }
    FOR_RANGE (n, 0, HALO_NODES) {
        float *mean = s->mean[n];
        if (mean[3] == 0.0f)
            continue;
        const float share = unit / mean[3];
        for (int k = 0; k < 3; k++)
            mean[k] *= share;
        mean[3] = 1.0f;
    }
    TILE_BARRIER();
}

/// A sixth of the neighbours and two thirds of what is between them.
TILE_FN tile_f32x4 smooth_three(tile_f32x4 before, tile_f32x4 here, tile_f32x4 behind)
{
    return tile_add_f32x4(tile_scale_f32x4(1.0f / 6.0f, tile_add_f32x4(before, behind)),
                          tile_scale_f32x4(2.0f / 3.0f, here));
}

/// Smooths along x what will be taken away from the means to sharpen them. Ends with a barrier.
TILE_FN void smooth_rows(nodes_scratch *s)
{
    FOR_BOX (x, y, z, 8, HALO_EDGE, HALO_EDGE) {
        const float *from = s->mean[(z * HALO_EDGE + y) * HALO_EDGE + x];
        store_four(s->smooth[(z * HALO_EDGE + y) * 8 + x],
                   smooth_three(tile_load_f32x4(from), tile_load_f32x4(from + 4), tile_load_f32x4(from + 8)));
    }
    TILE_BARRIER();
}

/// A known node, sharpened: means over a trilinear neighbourhood have lost what smoothing them again would take.
TILE_FN void sharpen(nodes_scratch *s, uint32_t n)
{
    const uint32_t x = n & 7, y = n >> 3 & 7, z = n >> 6;
    const float *here = s->mean[((z + 1) * HALO_EDGE + y + 1) * HALO_EDGE + x + 1];
    tile_f32x4 row[3];
    TILE_UNROLL for (uint32_t k = 0; k < 3; k++)
    {
        const float *from = s->smooth[((z + k) * HALO_EDGE + y) * 8 + x];
        row[k] = smooth_three(tile_load_f32x4(from), tile_load_f32x4(from + 32), tile_load_f32x4(from + 64));
    }
    const tile_f32x4 sum = smooth_three(row[0], row[1], row[2]);
    const float share = 1.0f / tile_get_f32x4(sum, 3);
    for (int a = 0; a < 3; a++)
        s->number[n][a] = tile_round_i32(tile_clamp_f32(here[a] + (here[a] - tile_get_f32x4(sum, a) * share),
                                                        (float)-TARN_FLOW_MAX, (float)TARN_FLOW_MAX));
}

TILE_FN int is_known(const tarn_flow_mask *mask, uint32_t n)
{
    return mask->row[n >> 3] >> (n & 7) & 1;
}

/// Goes through the nodes as decoders will: what each is expected to be, what is left, and what it then is.
TILE_FN void settle_nodes(nodes_scratch *s, tarn_flow_node *block)
{
    for (uint32_t n = 0; n < TARN_FLOW_NODES; n++) {
        int32_t first[3], value[3], residual[3];
        if (!is_known(&s->mask, n))
            continue;
        for (int a = 0; a < 3; a++)
            value[a] = first[a] = s->first[n][a];
        s->context[n] = (uint8_t)tarn_flow_correct(&s->past, &s->mask, n, value);
        tarn_flow_node *to = &block[tarn_flow_node_at(n & 7, n >> 3 & 7, n >> 6)];
        for (int a = 0; a < 3; a++) {
            residual[a] = s->number[n][a] - value[a];
            to->d[a] = (int16_t)s->number[n][a];
            value[a] = s->number[n][a];
            s->number[n][a] = residual[a];
        }
        to->d[3] = 1;
        tarn_flow_note(&s->past, n, value, first, residual);
    }
    tarn_flow_fill(&s->mask, block);
}

/// @return the stream's bytes before `end`
TILE_FN uint32_t write_nodes(const stream_args *args, const nodes_scratch *s, const tarn_flow_node *before,
                             uint8_t *end)
{
    tarn_ans_writer writer;
    tarn_flow_mask was;
    tarn_ans_begin(&writer, end);
    for (uint32_t n = TARN_FLOW_NODES; n-- > 0;) {
        if (is_known(&s->mask, n))
            tarn_residual_write(&writer, &args->w.tables->residual, s->context[n], s->number[n]);
    }
    tarn_flow_mask_of(before, &was);
    tarn_flow_put_mask(&writer, args->w.tables, &was, before != NULL, &s->mask);
    return (uint32_t)(end - tarn_ans_end(&writer));
}

/// A tile of the frame's grid. One tile per tile of it.
TILE_KERNEL(stream_nodes, STREAM_LANES, stream_args, nodes_scratch)
{
    const stream_memory *w = &args->w;
    const float unit = (float)(1u << fit_shift(args)) / (float)(1u << (TARN_PLACE_BITS - args->bits));
    uint32_t tile_at[3];
    tarn_flow reference;
    stream_tile_at(args, w->flow_dense[tile], tile_at);
    stream_flow_of(args, !args->flow_now, &reference);
    gather_means(args, s, tile_at, unit);
    smooth_rows(s);
    FOR_RANGE (r, 0, TARN_FLOW_ROWS) {
        uint32_t row = 0;
        for (uint32_t x = 0; x < 8; x++)
            row |= (uint32_t)(s->mean[((r / 8 + 1) * HALO_EDGE + r % 8 + 1) * HALO_EDGE + x + 1][3] > 0.0f) << x;
        s->mask.row[r] = (uint8_t)row;
    }
    TILE_BARRIER();
    const int32_t from[3] = {(int32_t)tile_at[0] * TARN_PLACE_TILE, (int32_t)tile_at[1] * TARN_PLACE_TILE,
                             (int32_t)tile_at[2] * TARN_PLACE_TILE};
    FOR_RANGE (n, 0, TARN_FLOW_NODES) {
        const int32_t node[3] = {from[0] + (int32_t)((n & 7) << TARN_PLACE_BITS),
                                 from[1] + (int32_t)((n >> 3 & 7) << TARN_PLACE_BITS),
                                 from[2] + (int32_t)((n >> 6) << TARN_PLACE_BITS)};
        int32_t expected[3];
        if (!is_known(&s->mask, n))
            continue;
        sharpen(s, n);
        tarn_flow_expect(&reference, node, args->end, args->ratio, expected);
        for (int a = 0; a < 3; a++)
            s->first[n][a] = (int16_t)expected[a];
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        settle_nodes(s, w->node[args->flow_now] + (uint64_t)tile * TARN_FLOW_BLOCK);
        w->flow_bytes[tile] = write_nodes(args, s, args->ratio > 0 ? tarn_flow_block(&reference, from) : NULL,
                                          w->coded + (uint64_t)(tile + 1) * TARN_FLOW_BYTES_MAX);
    }
}

/// Completes a tile's block with its neighbours' nodes, when all tiles have their own. One tile per tile of the grid.
TILE_KERNEL(stream_borders, STREAM_LANES, stream_args, tile_no_scratch)
{
    uint32_t tile_at[3];
    tarn_flow flow;
    tarn_flow_node *block = args->w.node[args->flow_now] + (uint64_t)tile * TARN_FLOW_BLOCK;
    stream_tile_at(args, args->w.flow_dense[tile], tile_at);
    stream_flow_of(args, args->flow_now, &flow);
    FOR_RANGE (n, 0, TARN_FLOW_BLOCK) {
        const uint32_t at[3] = {n % TARN_FLOW_EDGE, n / TARN_FLOW_EDGE % TARN_FLOW_EDGE,
                                n / (TARN_FLOW_EDGE * TARN_FLOW_EDGE)};
        if (at[0] == 8 || at[1] == 8 || at[2] == 8)
            block[n] = tarn_flow_border(&flow, tile_at, block, at);
    }
}
