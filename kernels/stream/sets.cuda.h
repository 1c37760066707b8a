/// How a block codes a part of a key frame: all lanes look at particles, one has the state (steps.h). Part of
/// key.tile.c.
///
/// A reader is told of each cell how many particles it has, then of what it knows of the cell how it divides: of all
/// that has two particles or more, and then the lower half first, how many of them are in that. So each particle comes
/// with what begins with it: the counts of cells since the one before it, the parts of its cell whose first one it is,
/// and the bits of its place that are left where it is alone.
#ifndef TARN_KERNELS_STREAM_SETS_CUDA_H
#define TARN_KERNELS_STREAM_SETS_CUDA_H

#include "kernels/stream/steps.h"

enum {
    SETS_AT_ONCE = 64,                                ///< particles that are looked up
    SETS_PARTICLE_STEPS = 3 * TARN_SET_BITS_MAX + 2,  ///< of a particle at most, without cells' counts
    SETS_COUNT_STEPS = TARN_SET_CELLS + SETS_AT_ONCE, ///< of these; more only where many particles are in a cell
    SETS_STEPS = SETS_AT_ONCE * SETS_PARTICLE_STEPS + SETS_COUNT_STEPS,
};

typedef struct code_sets_scratch {
    uint32_t count[TARN_SET_CELLS]; ///< particles of each cell
    uint32_t at[SETS_AT_ONCE], total;
    uint8_t *coded; ///< the writer between rounds
    uint32_t state;
    stream_step step[SETS_STEPS];
} code_sets_scratch;

/// Where steps go, in the order in which a reader takes them.
typedef struct step_list {
    stream_step *to; ///< NULL: they are only counted
    uint32_t count;
} step_list;

TILE_FN void add_step(step_list *list, stream_step step)
{
    if (list->to != (stream_step *)0) {
        list->to[list->count] = step;
    }
    list->count++;
}

/// Whole bits, as tarn_set_put_lone. @param value  below 2^bits
TILE_FN void add_bits(step_list *list, uint32_t value, uint32_t bits)
{
    const uint32_t low = tile_min_u32(bits, TARN_ANS_BITS_MAX);
    if (bits > low) {
        add_step(list, step_of_bits(value >> low, bits - low));
    }
    add_step(list, step_of_bits(value & ((1u << low) - 1), low));
}

/// As tarn_set_write_count.
TILE_FN void add_count(step_list *list, const tarn_set_tables *tables, const uint32_t *cells, uint32_t cell)
{
    const uint32_t last = TARN_SET_COUNTS - 1, count = cells[cell];
    add_step(list, step_of(&tables->count[tarn_set_context(cells, cell)], tile_min_u32(count, last)));
    if (count >= last) {
        const uint32_t rest = count - last + 1, bits = tarn_bits_of(rest) - 1;
        add_step(list, step_of_bits(bits, TARN_SET_ESCAPE_BITS));
        add_step(list, step_of_bits(rest - (1u << bits), bits));
    }
}

/// How a part of a cell divides whose first particle is `k`. @param left  bits that its particles may differ in
TILE_FN void add_half(step_list *list, const tarn_set_tables *tables, const uint32_t *key, uint32_t count, uint32_t k,
                      uint32_t left)
{
    uint32_t n = 0, low = 0;
    for (; k + n < count && (key[k + n] ^ key[k]) >> left == 0; n++) {
        low += (key[k + n] >> (left - 1) & 1) == 0;
    }
    if (n > TARN_SET_HALVES) {
        add_bits(list, low, tarn_bits_of(n));
    } else {
        add_step(list, step_of(&tables->half[n], low));
    }
}

/// How many bits of its place in the cell a particle shares with another one; -1: that one isn't there, or in another
/// cell.
TILE_FN int32_t bits_shared(const uint32_t *key, uint32_t count, uint32_t k, uint32_t other, uint32_t bits)
{
    const uint32_t differing = other < count ? tarn_bits_of(key[k] ^ key[other]) : 32;
    return differing > bits ? -1 : (int32_t)(bits - differing);
}

/// What comes with a particle of a set. @return steps
TILE_FN uint32_t steps_of_place(const stream_args *args, const code_sets_scratch *s, const stream_part *part,
                                uint32_t k, stream_step *to)
{
    const tarn_set_tables *tables = &args->w.tables->set;
    const uint32_t *key = args->w.key + part->first;
    const uint32_t bits = 3 * args->bits, cell = key[k] >> bits;
    const int32_t before = bits_shared(key, part->count, k, k - 1, bits),
                  behind = bits_shared(key, part->count, k, k + 1, bits);
    const uint32_t left =
        bits - (uint32_t)(tile_max_i32(before, behind) + 1); // wraps around where others are there, too
    step_list list = {to, 0};
    for (uint32_t c = k == 0 ? 0 : (key[k - 1] >> bits) + 1; c <= cell; c++) {
        add_count(&list, tables, s->count, c);
    }
    for (int32_t shared = before + 1; shared <= behind && shared < (int32_t)bits; shared++) {
        add_half(&list, tables, key, part->count, k, bits - (uint32_t)shared);
    }
    if (left <= bits) {
        add_bits(&list, key[k] & ((1u << left) - 1), left);
    }
    return list.count;
}

/// A particle's colour, as tarn_code_put_colours. @return steps
TILE_FN uint32_t steps_of_colour(const stream_args *args, const stream_part *part, uint32_t k, stream_step *to)
{
    const uint8_t *colour = args->w.layer + part->first;
    const uint32_t before = k > 0 ? colour[k - 1] : 0, is_same = colour[k] == before,
                   was_same = k > 0 && before == (k > 1 ? colour[k - 2] : 0u);
    step_list list = {to, 0};
    add_step(&list, step_of(&args->w.tables->colour[was_same], !is_same));
    if (!is_same) {
        add_step(&list, step_of_bits(colour[k], TARN_COLOUR_BITS));
    }
    return list.count;
}

TILE_FN uint32_t steps_of_particle(const stream_args *args, const code_sets_scratch *s, const stream_part *part,
                                   uint32_t is_colours, uint32_t k, stream_step *to)
{
    return is_colours ? steps_of_colour(args, part, k, to) : steps_of_place(args, s, part, k, to);
}

/// One lane.
TILE_FN void put_round(const stream_args *args, code_sets_scratch *s)
{
    tarn_ans_writer writer;
    writer.at = s->coded;
    writer.state = s->state;
    put_steps(&writer, &args->w.tables->residual, s->step, s->total, args->w.coded);
    s->coded = writer.at;
    s->state = writer.state;
}

/// Writes a part's set, or its colours, before `end`.
TILE_FN void write_part(const stream_args *args, code_sets_scratch *s, const stream_part *part, uint32_t is_colours,
                        uint8_t *end, uint32_t *bytes)
{
    if (TILE_SINGLE()) {
        s->coded = end;
        s->state = TARN_ANS_LOW;
    }
    for (uint32_t left = part->count, n; left > 0; left -= n) {
        n = tile_min_u32(left, SETS_AT_ONCE);
        FOR_RANGE (j, 0, n) {
            s->at[j] = steps_of_particle(args, s, part, is_colours, left - n + j, (stream_step *)0);
        }
        tile_scan_u32(s->at, n, &s->total);
        FOR_RANGE (j, 0, n) {
            steps_of_particle(args, s, part, is_colours, left - n + j, s->step + s->at[j]);
        }
        TILE_BARRIER();
        if (TILE_SINGLE()) {
            put_round(args, s);
        }
    }
    if (TILE_SINGLE()) {
        tarn_ans_writer writer;
        writer.at = s->coded;
        writer.state = s->state;
        *bytes = (uint32_t)(end - tarn_ans_end(&writer));
    }
}

#endif
