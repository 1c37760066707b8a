/// Everything that frames are coded with: the sources of sets, residuals, numbers and colours. The same on every
/// machine; encoders take a copy of it to their device.
#ifndef TARN_PROTOCOL_CODE_TABLES_H
#define TARN_PROTOCOL_CODE_TABLES_H

#include "protocol/point_set.h"
#include "protocol/residual.h"

enum {
    TARN_NUMBER_BITS_MAX = 24, ///< of a number
    TARN_COLOUR_BITS = 8,
    TARN_FLOW_ROW_CONTEXTS = 16, ///< flow_code.h
    TARN_FLOW_BIT_CONTEXTS = 36,
};

/// What a frame knows of a row of the flow's nodes.
typedef enum tarn_flow_row {
    TARN_FLOW_ROW_NONE,
    TARN_FLOW_ROW_ALL,
    TARN_FLOW_ROW_SOME,
    TARN_FLOW_ROW_STATES
} tarn_flow_row;

/// What a number is of: how many bits it has is expected accordingly.
typedef enum tarn_number_kind {
    TARN_NUMBER_GAP,    ///< tiles left out between two in a list
    TARN_NUMBER_COUNT,  ///< of particles, tiles
    TARN_NUMBER_DEATHS, ///< of a group of particles
    TARN_NUMBER_KINDS
} tarn_number_kind;

/// 160 kB.
typedef struct tarn_code_tables {
    tarn_set_tables set;
    tarn_residual_tables residual;
    tarn_ans_table number[TARN_NUMBER_KINDS];
    tarn_ans_table colour[2]; ///< 0: the same as the particle's before, 1: another; [whether that one's was the same]
    tarn_ans_table row[TARN_FLOW_ROW_CONTEXTS];
    tarn_ans_table bit[TARN_FLOW_BIT_CONTEXTS];
} tarn_code_tables;

#ifdef __cplusplus
extern "C" {
#endif

void tarn_code_tables_make(tarn_code_tables *tables);

#ifdef __cplusplus
}
#endif

/// Whole bits, the highest first, of which there may be more than the coder takes at a time: 0..32.
TARN_CODE_FN uint32_t tarn_code_read_bits(tarn_ans_reader *reader, uint32_t bits)
{
    if (bits <= TARN_ANS_BITS_MAX) {
        return tarn_ans_bits(reader, bits);
    }
    const uint32_t high = tarn_ans_bits(reader, bits - TARN_ANS_BITS_MAX);
    return high << TARN_ANS_BITS_MAX | tarn_ans_bits(reader, TARN_ANS_BITS_MAX);
}

TARN_CODE_FN void tarn_code_put_bits(tarn_ans_writer *writer, uint32_t value, uint32_t bits)
{
    const uint32_t low = bits < TARN_ANS_BITS_MAX ? bits : (uint32_t)TARN_ANS_BITS_MAX;
    tarn_ans_put_bits(writer, value & ((1u << low) - 1), low);
    if (bits > low) {
        tarn_ans_put_bits(writer, value >> low, bits - low);
    }
}

/// A number: how many bits it has as a symbol, then those behind its highest one.
TARN_CODE_FN uint32_t tarn_code_read_number(tarn_ans_reader *reader, const tarn_code_tables *tables,
                                            tarn_number_kind kind)
{
    const uint32_t bits = tarn_ans_symbol(reader, &tables->number[kind]);
    return bits == 0 ? 0 : 1u << (bits - 1) | tarn_code_read_bits(reader, bits - 1);
}

/// @param number  below 2^TARN_NUMBER_BITS_MAX
TARN_CODE_FN void tarn_code_put_number(tarn_ans_writer *writer, const tarn_code_tables *tables, tarn_number_kind kind,
                                       uint32_t number)
{
    const uint32_t bits = tarn_bits_of(number);
    if (bits > 0) {
        tarn_code_put_bits(writer, number & ((1u << (bits - 1)) - 1), bits - 1);
    }
    tarn_ans_put(writer, &tables->number[kind], bits);
}

/// The colours of particles, each like the one before or its own.
TARN_CODE_FN void tarn_code_read_colours(tarn_ans_reader *reader, const tarn_code_tables *tables, uint32_t count,
                                         uint8_t *colours)
{
    uint32_t last = 0, same = 0;
    for (uint32_t i = 0; i < count; i++) {
        same = tarn_ans_symbol(reader, &tables->colour[same]) == 0;
        last = same ? last : tarn_ans_bits(reader, TARN_COLOUR_BITS);
        colours[i] = (uint8_t)last;
    }
}

TARN_CODE_FN void tarn_code_put_colours(tarn_ans_writer *writer, const tarn_code_tables *tables, uint32_t count,
                                        const uint8_t *colours)
{
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t before = i > 0 ? colours[i - 1] : 0, same = colours[i] == before;
        const uint32_t was_same = i > 0 && before == (i > 1 ? colours[i - 2] : 0u);
        if (!same) {
            tarn_ans_put_bits(writer, colours[i], TARN_COLOUR_BITS);
        }
        tarn_ans_put(writer, &tables->colour[was_same], !same);
    }
}

#endif
