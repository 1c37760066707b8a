// The grid of the flow: what moves most particles nearly right, fitted to where they went, coded against what viewers
// expect.
#include "kernels/stream/steps.h"

/// Sums of displacements, and of weights. Those of cells with odd x come on their own: what is added to a pair of nodes
/// is then read again as the same pair.
typedef struct fit_scratch {
    int32_t sum[2][STREAM_FIT_NODES][4];
} fit_scratch;

enum { FIT_WEIGHT_SHIFT = 3 * TARN_FLOW_WEIGHT_BITS - STREAM_WEIGHT_BITS };

/// How a displacement is shifted so that it fits STREAM_FIT_BITS.
TILE_FN uint32_t fit_shift(const stream_args *args)
{
    const uint32_t bits = tarn_bits_of(args->w.plan->farthest);
    return bits > STREAM_FIT_BITS ? bits - STREAM_FIT_BITS : 0;
}

/// How far a particle of the reference has gone, 1/1024 cell; in a key frame how far it goes. It isn't gone.
TILE_FN tarn_four fit_displacement(const stream_args *args, uint32_t i, tarn_four kept)
{
    int32_t d[3];
    if (!args->is_key) {
        return tarn_four_sub(stream_unpack_place(args->w.pair[i].true_place), kept);
    }
    for (int a = 0; a < 3; a++) {
        d[a] = tile_round_i32(tile_clamp_f32(args->velocity[a][i] * args->steps * (float)(1 << TARN_PLACE_BITS),
                                             -4194304.0f, 4194304.0f));
    }
    return tarn_four_of(d[0], d[1], d[2], 0);
}

/// Quanta of a shifted displacement of 1.
TILE_FN float fit_unit(const stream_args *args)
{
    return (float)(1u << fit_shift(args)) / (float)(1u << (TARN_PLACE_BITS - args->bits));
}

/// 1 + t of a tile of the reference whose sums there are, or 0.
TILE_FN uint32_t source_at(const stream_args *args, uint32_t x, uint32_t y, uint32_t z)
{
    const int is_inside = x < args->tiles[0] && y < args->tiles[1] && z < args->tiles[2];
    const uint32_t t = is_inside ? args->w.tile_index[(z * args->tiles[1] + y) * args->tiles[0] + x] : 0;
    return t <= args->reference_kept ? t : 0;
}

/// Planes of a tile's nodes that the tank has, 2..9.
TILE_FN uint32_t planes_of(const stream_args *args, const uint32_t *tile_at)
{
    return tarn_flow_planes(args->end[2], tile_at[2]);
}

#include TILE_FORM(flow)

/// Sums of displacements at the nodes of a tile of the reference, its upper borders included; of what the guess leaves
/// of them where there is one. One tile per tile of the reference that there is room for.
TILE_KERNEL(stream_fit, STREAM_LANES, stream_args, fit_scratch)
{
    const stream_tile *from = &args->w.tile[tile];
    const uint32_t shift = fit_shift(args);
    const uint32_t grid = args->is_guessed ? args->w.flow_index[args->flow_now][from->dense] : 0;
    const tarn_flow_node *guess =
        grid > 0 ? args->w.node[args->flow_now] + (uint64_t)(grid - 1) * TARN_FLOW_BLOCK : NULL;
    uint32_t tile_at[3];
    stream_tile_at(args, from->dense, tile_at);
    const uint32_t nodes = planes_of(args, tile_at) * TARN_FLOW_EDGE * TARN_FLOW_EDGE;
    FOR_RANGE (n, 0, nodes) {
        for (int k = 0; k < 4; k++) {
            s->sum[0][n][k] = s->sum[1][n][k] = 0;
        }
    }
    TILE_BARRIER();
    const int32_t edge = TARN_PLACE_TILE;
    const int less = TARN_PLACE_BITS - TARN_FLOW_WEIGHT_BITS;
    const int32_t most = (1 << STREAM_FIT_BITS) - 1; // what the guess leaves may be larger
    const tarn_four corner =
        tarn_four_of((int32_t)tile_at[0] * edge, (int32_t)tile_at[1] * edge, (int32_t)tile_at[2] * edge, 0);
    FOR_RANGE_ATOMIC (i, from->first, from->first + from->count) {
        const tarn_four kept = stream_unpack_place(args->w.pair[i].kept);
        if (!args->is_key && args->w.pair[i].true_place == STREAM_NOWHERE) {
            continue;
        }
        const tarn_four local =
            tarn_four_min(tarn_four_max(tarn_four_sub(kept, corner), tarn_four_all(0)), tarn_four_all(edge - 1));
        tarn_four d = fit_displacement(args, i, kept);
        if (guess != NULL) {
            d = tarn_four_sub(d, tarn_flow_distance(tarn_flow_sum(guess, local), args->bits));
        }
        d = tarn_four_min(tarn_four_max(tarn_four_right(d, (int)shift), tarn_four_all(-most)), tarn_four_all(most));
        const tarn_four in_cell = tarn_four_and(local, tarn_four_all((1 << TARN_PLACE_BITS) - 1));
        int32_t cell[4];
        tarn_four_store(cell, tarn_four_right(local, TARN_PLACE_BITS));
        fit_add(&s->sum[cell[0] & 1][tarn_flow_node_at((uint32_t)cell[0], (uint32_t)cell[1], (uint32_t)cell[2])],
                tarn_four_right(tarn_four_add(in_cell, tarn_four_all(1 << (less - 1))), less),
                tarn_four_add(tarn_four_and(d, tarn_four_of(-1, -1, -1, 0)), tarn_four_of(0, 0, 0, 1)));
    }
    TILE_BARRIER();
    int32_t *to = args->w.sum + (uint64_t)tile * STREAM_FIT_NODES * 4;
    FOR_RANGE (n, 0, nodes) {
        for (int k = 0; k < 4; k++) {
            to[4 * n + k] = s->sum[0][n][k] + s->sum[1][n][k];
        }
    }
}

typedef struct guess_scratch {
    float mean[TARN_FLOW_NODES][4];
} guess_scratch;

/// A grid's first guess: the means of displacements. One tile per tile of the frame's grid.
TILE_KERNEL(stream_guess, STREAM_LANES, stream_args, guess_scratch)
{
    const float unit = fit_unit(args);
    uint32_t tile_at[3];
    stream_tile_at(args, args->w.flow_dense[args->flow_now][tile], tile_at);
    const uint32_t nodes = 8 * tarn_flow_rows(planes_of(args, tile_at));
    FOR_RANGE (n, 0, nodes) {
        for (int k = 0; k < 4; k++) {
            s->mean[n][k] = 0.0f;
        }
    }
    TILE_BARRIER();
    for (uint32_t c = 0; c < 8; c++) {
        // The tile before along an axis has the lowest nodes as its upper border.
        const uint32_t side[3] = {c & 1, c >> 1 & 1, c >> 2};
        const int count[3] = {side[0] ? 1 : 8, side[1] ? 1 : 8, side[2] ? 1 : (int)nodes / 64};
        const uint32_t t = source_at(args, tile_at[0] - side[0], tile_at[1] - side[1], tile_at[2] - side[2]);
        if (t == 0) {
            continue;
        }
        const int32_t *from = args->w.sum + (uint64_t)(t - 1) * STREAM_FIT_NODES * 4;
        FOR_BOX (x, y, z, count[0], count[1], count[2]) {
            add_four(s->mean[(z << 3 | y) << 3 | x],
                     from + 4 * tarn_flow_node_at((uint32_t)x + 8 * side[0], (uint32_t)y + 8 * side[1],
                                                  (uint32_t)z + 8 * side[2]));
        }
        TILE_BARRIER();
    }
    tarn_flow_node *block = args->w.node[args->flow_now] + (uint64_t)tile * TARN_FLOW_BLOCK;
    FOR_RANGE (n, 0, nodes) {
        const float *mean = s->mean[n], share = mean[3] > 0.0f ? unit / mean[3] : 0.0f;
        int32_t value[4] = {0, 0, 0, 0};
        for (int a = 0; a < 3; a++) {
            value[a] = tile_round_i32(tile_clamp_f32(mean[a] * share, (float)-TARN_FLOW_MAX, (float)TARN_FLOW_MAX));
        }
        tarn_four_store_i16(block[tarn_flow_node_at(n & 7, n >> 3 & 7, n >> 6)].d, tarn_four_load(value), 0);
    }
}

/// Sets or clears entries of a table of the tank's tiles. One tile per STREAM_LANES entries of a list.
TILE_KERNEL(stream_index, STREAM_LANES, stream_args, tile_no_scratch)
{
    const uint32_t count = args->list_counter != (const uint32_t *)0 ? *args->list_counter : args->list_count;
    FOR_LANES (lane) {
        const uint32_t i = tile * STREAM_LANES + lane;
        if (i < count) {
            const uint32_t dense = args->list[(uint64_t)i * args->stride];
            args->table[dense] = args->is_set ? i + 1 : 0;
            if (args->list_copy != (uint32_t *)0) {
                args->list_copy[i] = dense;
            }
        }
    }
}

/// Marks the neighbours that the particles of the reference's tiles reach. One tile per STREAM_LANES of these.
TILE_KERNEL(stream_reach, STREAM_LANES, stream_args, tile_no_scratch)
{
    const uint32_t first = tile * STREAM_LANES;
    FOR_RANGE_ATOMIC (t, first, tile_min_u32(first + STREAM_LANES, args->reference_count)) {
        uint32_t tile_at[3];
        stream_tile_at(args, args->reference[t].dense, tile_at);
        for (uint32_t left = args->reference[t].reach, n; left != 0; left &= left - 1) {
            n = tarn_lowest_bit(left);
            // One less where a coordinate is 0 wraps around and lies outside.
            const uint32_t x = tile_at[0] + n % 3 - 1, y = tile_at[1] + n / 3 % 3 - 1, z = tile_at[2] + n / 9 - 1;
            if (x < args->tiles[0] && y < args->tiles[1] && z < args->tiles[2]) {
                const uint32_t dense = (z * args->tiles[1] + y) * args->tiles[0] + x;
                global_or_u32(&args->w.reached[dense / 32], 1u << dense % 32);
            }
        }
    }
}

typedef struct list_flow_scratch {
    uint32_t at[STREAM_LANES], total;
} list_flow_scratch;

/// The tiles of the next grid, as many as there is room for: those that are marked, whose marks go. One tile.
TILE_KERNEL(stream_list_flow, STREAM_LANES, stream_args, list_flow_scratch)
{
    const stream_memory *w = &args->w;
    const uint32_t words = (args->tile_total + 31) / 32;
    uint32_t listed = 0;
    for (uint32_t from = 0; from < words; from += STREAM_LANES) {
        const uint32_t n = tile_min_u32(words - from, STREAM_LANES);
        FOR_RANGE (j, 0, n) {
            s->at[j] = tile_popcount_u32(w->reached[from + j]);
        }
        tile_scan_u32(s->at, n, &s->total);
        FOR_RANGE (j, 0, n) {
            uint32_t at = listed + s->at[j];
            for (uint32_t left = w->reached[from + j]; left != 0 && at < args->flow_room; left &= left - 1) {
                const uint32_t dense = 32 * (from + j) + tarn_lowest_bit(left);
                for (uint32_t i = 0; i < 2; i++) {
                    if (args->flow_made >> i & 1) {
                        w->flow_dense[i][at] = dense;
                        w->flow_index[i][dense] = at + 1;
                    }
                }
                at++;
            }
            w->reached[from + j] = 0;
        }
        listed += s->total;
    }
    if (TILE_SINGLE()) {
        for (uint32_t i = 0; i < 2; i++) {
            if (args->flow_made >> i & 1) {
                w->plan->flow[i] = tile_min_u32(listed, args->flow_room);
            }
        }
    }
}

#define STREAM_SHARPEN 1.75f ///< length of the last step towards least squares

enum {
    HALO_EDGE = 10,
    HALO_PLANE = HALO_EDGE * HALO_EDGE,
    HALO_NODES = HALO_EDGE * HALO_PLANE,
    HALO_ROWS = 8 * HALO_PLANE,
};

typedef struct nodes_scratch {
    uint32_t source[27]; ///< 1 + t of the tile's neighbours in the reference, or 0
    union {
        float mean[HALO_NODES][4]; ///< displacement in quanta; [3]: 1 where particles have said something
        stream_step mask_step[TARN_FLOW_ROWS][9]; ///< later, of a block: of a row its state, and its nodes
    };
    union {
        float smooth[HALO_ROWS][4]; ///< the same smoothed along x
        tarn_flow_work work;        ///< later
    };
    union {
        int32_t number[TARN_FLOW_NODES][4]; ///< what a node should be, then its residual
        stream_step step[TARN_FLOW_NODES];  ///< later, of a block
    };
    int16_t first[TARN_FLOW_NODES][4];
    uint8_t context[TARN_FLOW_NODES];
    tarn_flow_mask mask, mask_was; ///< the frame's; the reference's, of a block
    uint32_t is_open;              ///< of a block
} nodes_scratch;

/// With a plane before the tile's own nodes and one behind.
TILE_FN uint32_t halo_planes(uint32_t planes)
{
    return planes < 8 ? planes + 2 : (uint32_t)HALO_EDGE;
}

/// Adds up what the reference's tiles say of the tile's nodes and of those around them; a border is in both tiles'
/// sums. Ends with a barrier. @param planes  of the tile's nodes that the tank has
TILE_FN void gather_means(const stream_args *args, nodes_scratch *s, const uint32_t *tile_at, uint32_t planes,
                          float unit)
{
    const float lightest = args->is_key ? 1.0f : (float)STREAM_WEIGHT_LEAST;
    const uint32_t nodes = halo_planes(planes) * HALO_PLANE;
    FOR_RANGE (n, 0, 27) {
        s->source[n] = source_at(args, tile_at[0] + n % 3 - 1, tile_at[1] + n / 3 % 3 - 1, tile_at[2] + n / 9 - 1);
    }
    FOR_RANGE (n, 0, nodes) {
        for (int k = 0; k < 4; k++) {
            s->mean[n][k] = 0.0f;
        }
    }
    TILE_BARRIER();
    for (int n = 0; n < 27; n++) {
        // Of the tile before an axis's last two nodes, of the tile itself all nine, of the next one the first.
        const int side[3] = {n % 3, n / 3 % 3, n / 9}, count[3] = {2, 9, 1}, local[3] = {7, 0, 0}, halo[3] = {0, 1, 9};
        const int depth = side[2] == 1 ? (int)planes : count[side[2]];
        if (s->source[n] == 0) {
            continue;
        }
        const int32_t *from = args->w.sum + (uint64_t)(s->source[n] - 1) * STREAM_FIT_NODES * 4;
        FOR_BOX (x, y, z, count[side[0]], count[side[1]], depth) {
            const int32_t *sum =
                from + 4 * tarn_flow_node_at((uint32_t)(local[side[0]] + x), (uint32_t)(local[side[1]] + y),
                                             (uint32_t)(local[side[2]] + z));
            if (sum[3] == 0) {
                continue;
            }
            float *to = s->mean[((halo[side[2]] + z) * HALO_EDGE + halo[side[1]] + y) * HALO_EDGE + halo[side[0]] + x];
            add_four(to, sum);
        }
        TILE_BARRIER();
    }
    FOR_RANGE (n, 0, nodes) {
        float *mean = s->mean[n];
        if (mean[3] < lightest) {
            for (int k = 0; k < 4; k++) {
                mean[k] = 0.0f;
            }
            continue;
        }
        const float share = unit / mean[3];
        for (int k = 0; k < 3; k++) {
            mean[k] *= share;
        }
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

/// Smooths along x what will be taken away from the means to sharpen them.
TILE_FN void smooth_rows(nodes_scratch *s, uint32_t planes)
{
    FOR_BOX (x, y, z, 8, HALO_EDGE, (int)halo_planes(planes)) {
        const float *from = s->mean[(z * HALO_EDGE + y) * HALO_EDGE + x];
        store_four(s->smooth[(z * HALO_EDGE + y) * 8 + x],
                   smooth_three(tile_load_f32x4(from), tile_load_f32x4(from + 4), tile_load_f32x4(from + 8)));
    }
}

/// A known node: the guess, and the means of what it leaves, sharpened: means over a trilinear neighbourhood have lost
/// what smoothing them again would take. With a guess that is close to least squares: a step of Landweber's iteration
/// by the particles as they lie, then one, longer, as if they lay evenly.
TILE_FN void sharpen(nodes_scratch *s, uint32_t n, tarn_four guess, float strength)
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
    int32_t known[4];
    tarn_four_store(known, guess);
    for (int a = 0; a < 3; a++) {
        const float more = here[a] + strength * (here[a] - tile_get_f32x4(sum, a) * share);
        s->number[n][a] =
            tile_round_i32(tile_clamp_f32((float)known[a] + more, (float)-TARN_FLOW_MAX, (float)TARN_FLOW_MAX));
    }
    s->number[n][3] = 0; // subtracted with the others
}

TILE_FN int is_known(const tarn_flow_mask *mask, uint32_t n)
{
    return mask->row[n >> 3] >> (n & 7) & 1;
}

/// A difference in steps of 2^shift, the nearest number of them; of a half the smaller one.
TILE_FN tarn_four node_steps(tarn_four difference, int32_t shift)
{
    const int32_t half = 1 << shift >> 1, less = half > 0;
    const tarn_four below = tarn_four_and(tarn_four_right(difference, 31), tarn_four_all(less));
    return tarn_four_right(tarn_four_add(tarn_four_add(difference, tarn_four_all(half - less)), below), shift);
}

/// Does with a node as decoders will, when those before it are done: what it is expected to be, what is left, and what
/// it then is.
TILE_FN void settle_node(const stream_args *args, nodes_scratch *s, uint32_t n)
{
    const tarn_four first = tarn_four_load_i16(s->first[n]);
    tarn_four value = tarn_four_load(s->number[n]), expected = first;
    int32_t residual[4];
    s->context[n] = (uint8_t)tarn_flow_correct(&s->work, &args->w.tables->residual, n, &expected);
    const tarn_four steps = node_steps(tarn_four_sub(value, expected), args->flow_shift);
    value = tarn_four_clamp_i16(tarn_four_add(expected, tarn_four_left(steps, args->flow_shift)));
    tarn_four_store(residual, steps);
    tarn_flow_note(&s->work, n, value, first, tarn_residual_sum(residual));
    tarn_four_store(s->number[n], tarn_four_load(residual));
}

#include TILE_FORM(nodes)

/// A tile of the frame's grid. One tile per tile of it.
TILE_KERNEL(stream_nodes, STREAM_LANES, stream_args, nodes_scratch)
{
    const stream_memory *w = &args->w;
    const float unit = fit_unit(args);
    uint32_t tile_at[3];
    tarn_flow reference;
    stream_tile_at(args, w->flow_dense[args->flow_now][tile], tile_at);
    stream_flow_of(args, !args->flow_now, &reference);
    const uint32_t planes = planes_of(args, tile_at), rows = tarn_flow_rows(planes);
    gather_means(args, s, tile_at, planes, unit);
    smooth_rows(s, planes);
    const uint32_t told = stream_is_flat(args) ? TARN_FLOW_ROWS_PLANE : rows;
    FOR_RANGE (r, 0, TARN_FLOW_ROWS) {
        uint32_t row = 0;
        for (uint32_t x = 0; x < 8 && r < told; x++) {
            row |= (uint32_t)(s->mean[((r / 8 + 1) * HALO_EDGE + r % 8 + 1) * HALO_EDGE + x + 1][3] > 0.0f) << x;
        }
        s->mask.row[r] = (uint8_t)row;
    }
    TILE_BARRIER();
    const int32_t from[3] = {(int32_t)tile_at[0] * TARN_PLACE_TILE, (int32_t)tile_at[1] * TARN_PLACE_TILE,
                             (int32_t)tile_at[2] * TARN_PLACE_TILE};
    const tarn_flow_node *before = args->ratio > 0 ? tarn_flow_block(&reference, from) : NULL;
    tarn_flow_node *block = w->node[args->flow_now] + (uint64_t)tile * TARN_FLOW_BLOCK;
    FOR_RANGE (n, 0, 8 * rows) {
        const tarn_four node = tarn_four_of(from[0] + (int32_t)((n & 7) << TARN_PLACE_BITS),
                                            from[1] + (int32_t)((n >> 3 & 7) << TARN_PLACE_BITS),
                                            from[2] + (int32_t)((n >> 6) << TARN_PLACE_BITS), 0);
        const uint32_t at = tarn_flow_node_at(n & 7, n >> 3 & 7, n >> 6);
        if (!is_known(&s->mask, n)) {
            continue;
        }
        sharpen(s, n, args->is_guessed ? tarn_four_load_i16(block[at].d) : tarn_four_all(0),
                args->is_guessed ? STREAM_SHARPEN : 1.0f);
        tarn_four_store_i16(s->first[n], tarn_flow_expect(&reference, before, node, at, args->end, args->ratio), 0);
    }
    TILE_BARRIER();
    FOR_RANGE (i, 0, tarn_flow_padded_end(rows)) {
        tarn_flow_forget(&s->work, i);
    }
    TILE_BARRIER();
    settle_nodes(args, s, rows);
    write_nodes(args, s, before, rows, w->coded + (uint64_t)(tile + 1) * TARN_FLOW_BYTES_MAX, &w->flow_bytes[tile]);
    FOR_RANGE (r, 0, rows) {
        tarn_flow_finish(&s->work, &s->mask, r, block);
    }
}

/// Completes a tile's block with its neighbours' nodes, when all tiles have their own. One tile per tile of the grid.
TILE_KERNEL(stream_borders, STREAM_LANES, stream_args, tile_no_scratch)
{
    uint32_t tile_at[3];
    tarn_flow flow;
    tarn_flow_node *block = args->w.node[args->flow_now] + (uint64_t)tile * TARN_FLOW_BLOCK;
    stream_tile_at(args, args->w.flow_dense[args->flow_now][tile], tile_at);
    stream_flow_of(args, args->flow_now, &flow);
    const uint32_t planes = planes_of(args, tile_at), side = TARN_FLOW_EDGE + 8;
    const uint32_t sides = side * (planes < 8 ? planes : 8);
    const uint32_t tops = planes < TARN_FLOW_EDGE ? 0 : TARN_FLOW_EDGE * TARN_FLOW_EDGE;
    FOR_RANGE (n, 0, sides) { // of each of the tile's own planes the last column, then the last row
        const uint32_t i = n % side;
        const uint32_t at[3] = {i < TARN_FLOW_EDGE ? 8 : i - TARN_FLOW_EDGE, i < TARN_FLOW_EDGE ? i : 8, n / side};
        block[tarn_flow_node_at(at[0], at[1], at[2])] = tarn_flow_border(&flow, tile_at, block, at);
    }
    FOR_RANGE (n, 0, tops) {
        const uint32_t at[3] = {n % TARN_FLOW_EDGE, n / TARN_FLOW_EDGE, 8};
        block[tarn_flow_node_at(at[0], at[1], 8)] = tarn_flow_border(&flow, tile_at, block, at);
    }
}
