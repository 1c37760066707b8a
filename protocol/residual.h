/// What is left of a particle's motion when the streamed flow has moved it: three small whole numbers, mostly zeros.
/// The three are one symbol of 64, each 0, 1, -1 or larger, out of a source that follows how large those of the
/// particles before were: still water costs next to nothing, a breaking wave a few bits a particle.
///
/// Nothing allocates; reading is bounded.
#ifndef TARN_PROTOCOL_RESIDUAL_H
#define TARN_PROTOCOL_RESIDUAL_H

#include "protocol/lanes.h"

enum {
    TARN_RESIDUAL_NODES = 24, ///< first source of the flow's nodes; those before are of particles
    TARN_RESIDUAL_CONTEXTS = 36,
    TARN_RESIDUAL_SYMBOLS = 64,
    TARN_RESIDUAL_ONE =
        64, ///< what a known node counts, beside its activity: the sum of its numbers' sizes, 15 at most
    TARN_RESIDUAL_EXCESSES = 16, ///< symbols of what a number is beyond 2; the last one: so much or more
    TARN_RESIDUAL_MAX = TARN_RESIDUAL_EXCESSES + 1 + 0xffff, ///< largest number, up or down
    TARN_RESIDUAL_BYTES_MAX = 14,                            ///< of one particle: 12 bits, and thrice 12, 16 and 1
};

/// The sources' tables; 66 kB. The same on every machine.
typedef struct tarn_residual_tables {
    tarn_ans_table symbol[TARN_RESIDUAL_CONTEXTS];
    tarn_ans_table excess[TARN_RESIDUAL_CONTEXTS];
    int32_t digit[TARN_RESIDUAL_SYMBOLS][4]; ///< a symbol's numbers, and the sum of their sizes or -1: there is more
    uint8_t node_context[4 * TARN_RESIDUAL_ONE]; ///< of a node, by what its neighbours that are known count
} tarn_residual_tables;

#ifdef __cplusplus
extern "C" {
#endif

void tarn_residual_tables_make(tarn_residual_tables *tables);

#ifdef __cplusplus
}
#endif

/// Which source codes the next particle, two per octave of the activity: 0..4095, and 0 at the beginning of a stream.
TARN_CODE_FN uint32_t tarn_residual_context(uint32_t activity)
{
    const uint32_t bits = tarn_bits_of(activity), octave = bits > 2 ? bits - 2 : 0;
    return activity < 2 ? activity : 2 * octave + (activity >> octave);
}

/// The activity after a particle: 256 times a mean of the sums of the numbers, of which a particle makes an eighth.
/// @param sum  of the three numbers' sizes
TARN_CODE_FN uint32_t tarn_residual_follow(uint32_t activity, uint32_t sum)
{
    return activity - ((activity + 7) >> 3) + 32 * (sum < 15 ? sum : 15);
}

/// The sum of three numbers' sizes.
TARN_CODE_FN uint32_t tarn_residual_sum(const int32_t residual[3])
{
    uint32_t sum = 0;
    for (int a = 0; a < 3; a++) {
        sum += (uint32_t)(residual[a] < 0 ? -residual[a] : residual[a]);
    }
    return sum;
}

/// Reads a number that is larger than the symbol can say.
TARN_CODE_FN int32_t tarn_residual_read_large(tarn_ans_reader *reader, const tarn_ans_table *excess)
{
    uint32_t size = 2 + tarn_ans_symbol(reader, excess);
    size += size > TARN_RESIDUAL_EXCESSES ? tarn_ans_bits(reader, 16) : 0;
    return tarn_ans_bits(reader, 1) != 0 ? -(int32_t)size : (int32_t)size;
}

/// Reads three numbers, and the sum of their sizes behind them.
/// @param context  0..TARN_RESIDUAL_CONTEXTS - 1
TARN_CODE_FN void tarn_residual_read(tarn_ans_reader *reader, const tarn_residual_tables *tables, uint32_t context,
                                     int32_t residual[4])
{
    const uint32_t symbol = tarn_ans_symbol(reader, &tables->symbol[context]);
    tarn_four_store(residual, tarn_four_load(tables->digit[symbol]));
    if (tables->digit[symbol][3] >= 0) {
        return;
    }
    for (int a = 0; a < 3; a++) {
        if ((symbol >> 2 * a & 3) == 3) {
            residual[a] = tarn_residual_read_large(reader, &tables->excess[context]);
        }
    }
    residual[3] = (int32_t)tarn_residual_sum(residual);
}

/// The same where zeros can be foreseen most often: they are told from others before anything is looked up.
TARN_CODE_FN void tarn_residual_read_calm(tarn_ans_reader *reader, const tarn_residual_tables *tables, uint32_t context,
                                          int32_t residual[4])
{
    const uint32_t zeros = tables->symbol[context].from[1];
    if ((reader->state & (TARN_ANS_ONE - 1)) < zeros) {
        tarn_ans_get(reader, 0, zeros);
        tarn_four_store(residual, tarn_four_all(0));
    } else {
        tarn_residual_read(reader, tables, context, residual);
    }
}

/// What a symbol says of a number: 3 where it is larger than that.
TARN_CODE_FN uint32_t tarn_residual_digit(int32_t number)
{
    return number == 0 ? 0 : number == 1 ? 1 : number == -1 ? 2 : 3;
}

/// The symbol of three numbers.
TARN_CODE_FN uint32_t tarn_residual_symbol(const int32_t residual[3])
{
    uint32_t symbol = 0;
    for (int a = 0; a < 3; a++) {
        symbol |= tarn_residual_digit(residual[a]) << 2 * a;
    }
    return symbol;
}

/// Whether a symbol says all of its numbers.
TARN_CODE_FN int tarn_residual_is_small(uint32_t symbol)
{
    return (symbol & symbol >> 1 & 0x15u) == 0;
}

/// Writes three numbers. @param residual  -TARN_RESIDUAL_MAX..TARN_RESIDUAL_MAX
TARN_CODE_FN void tarn_residual_write(tarn_ans_writer *writer, const tarn_residual_tables *tables, uint32_t context,
                                      const int32_t residual[3])
{
    const uint32_t last = TARN_RESIDUAL_EXCESSES - 1;
    uint32_t symbol = 0;
    for (int a = 2; a >= 0; a--) {
        const int32_t number = residual[a];
        const uint32_t digit = tarn_residual_digit(number);
        symbol |= digit << 2 * a;
        if (digit != 3) {
            continue;
        }
        const uint32_t excess = (uint32_t)(number < 0 ? -number : number) - 2;
        tarn_ans_put_bits(writer, number < 0, 1);
        if (excess >= last) {
            tarn_ans_put_bits(writer, excess - last, 16);
        }
        tarn_ans_put(writer, &tables->excess[context], excess < last ? excess : last);
    }
    tarn_ans_put(writer, &tables->symbol[context], symbol);
}

#endif
