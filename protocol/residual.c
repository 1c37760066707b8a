// The sources of residuals: per context, how often a number is 0 or 1 either way, and how fast larger ones get rare.
#include "protocol/residual.h"

enum { CLASSES = 10 };

/// What of three numbers are 0, 1 or -1, and larger: the shares of the classes 000, 001, 011, 111, 00L, 01L, 11L, 0LL,
/// 1LL, LLL in 1/4096, whatever the order and the signs; and how fast larger numbers get rare. Measured in the shipped
/// scenes with quanta from 1/4 to 1/64 of a cell.
typedef struct residual_source {
    uint16_t share[CLASSES];
    uint16_t decay; ///< of an excess to the next, in 1/256
} residual_source;

static const residual_source sources[TARN_RESIDUAL_CONTEXTS] = {
    {{3987, 83, 12, 8, 21, 12, 12, 3, 6, 1}, 48},
    {{3858, 208, 12, 8, 20, 12, 12, 3, 6, 1}, 49},
    {{3857, 209, 12, 8, 21, 12, 12, 3, 6, 1}, 45},
    {{3849, 216, 12, 8, 21, 12, 12, 3, 6, 1}, 48},
    {{3838, 225, 12, 8, 22, 12, 12, 3, 6, 1}, 48},
    {{3826, 236, 12, 8, 22, 12, 12, 3, 6, 1}, 45},
    {{3811, 248, 12, 8, 23, 12, 12, 3, 6, 1}, 48},
    {{3789, 267, 12, 8, 24, 12, 12, 3, 6, 1}, 48},
    {{3752, 294, 14, 8, 31, 12, 12, 3, 6, 1}, 48},
    {{3702, 338, 18, 8, 32, 12, 12, 3, 6, 1}, 48},
    {{3597, 415, 28, 8, 46, 12, 12, 4, 6, 1}, 45},
    {{3439, 501, 44, 8, 93, 12, 12, 8, 6, 1}, 48},
    {{3194, 630, 72, 8, 163, 15, 12, 15, 6, 1}, 50},
    {{2906, 758, 111, 8, 251, 31, 12, 25, 6, 2}, 54},
    {{2589, 842, 159, 11, 374, 61, 12, 43, 6, 4}, 65},
    {{2216, 879, 213, 17, 543, 115, 16, 79, 9, 8}, 72},
    {{1800, 846, 261, 27, 737, 213, 35, 141, 20, 15}, 86},
    {{1369, 752, 290, 37, 902, 354, 67, 245, 48, 31}, 98},
    {{987, 616, 276, 42, 994, 494, 108, 412, 102, 65}, 117},
    {{698, 446, 223, 37, 1016, 572, 141, 641, 181, 141}, 138},
    {{484, 294, 160, 29, 936, 559, 155, 894, 286, 301}, 162},
    {{291, 188, 104, 21, 741, 508, 156, 1077, 425, 586}, 185},
    {{132, 105, 59, 12, 434, 389, 132, 1119, 579, 1134}, 205},
    {{32, 33, 19, 8, 171, 188, 75, 969, 605, 1999}, 225},
    {{389, 432, 220, 50, 390, 571, 233, 559, 484, 769}, 232},
    {{3007, 878, 147, 13, 26, 16, 12, 3, 6, 1}, 50},
    {{2227, 1494, 311, 26, 23, 12, 12, 3, 6, 1}, 8},
    {{1683, 1734, 515, 56, 54, 41, 12, 3, 6, 1}, 17},
    {{1204, 1705, 808, 129, 88, 107, 33, 11, 9, 2}, 38},
    {{822, 1566, 1006, 208, 141, 219, 79, 29, 22, 3}, 45},
    {{518, 1209, 998, 263, 248, 459, 199, 98, 85, 18}, 77},
    {{220, 677, 730, 258, 367, 812, 406, 284, 270, 71}, 106},
    {{99, 334, 415, 172, 354, 896, 509, 565, 556, 197}, 140},
    {{57, 168, 211, 93, 275, 752, 487, 790, 840, 422}, 172},
    {{33, 84, 103, 48, 177, 519, 361, 849, 1047, 874}, 202},
    {{41, 48, 44, 17, 80, 222, 161, 692, 950, 1842}, 232},
};

/// How many symbols a class has: orders and signs.
static const uint8_t class_size[CLASSES] = {1, 6, 12, 8, 3, 12, 12, 3, 6, 1};

static uint32_t class_of(uint32_t symbol)
{
    static const uint8_t first[4] = {0, 4, 7, 9}; // class of no, one, two, three large ones
    uint32_t ones = 0, large = 0;
    for (int a = 0; a < 3; a++) {
        const uint32_t digit = symbol >> 2 * a & 3;
        ones += digit == 1 || digit == 2;
        large += digit == 3;
    }
    return first[large] + ones;
}

static void make_symbols(tarn_ans_table *table, const residual_source *source)
{
    uint16_t frequency[TARN_RESIDUAL_SYMBOLS];
    uint32_t left = TARN_ANS_ONE;
    for (uint32_t i = 1; i < TARN_RESIDUAL_SYMBOLS; i++) {
        const uint32_t kind = class_of(i), share = source->share[kind] / class_size[kind];
        frequency[i] = (uint16_t)(share > 0 ? share : 1);
        left -= frequency[i];
    }
    frequency[0] = (uint16_t)left;
    tarn_ans_table_make(table, frequency, TARN_RESIDUAL_SYMBOLS);
}

static void make_excesses(tarn_ans_table *table, uint32_t decay)
{
    uint16_t frequency[TARN_RESIDUAL_EXCESSES];
    uint32_t left = TARN_ANS_ONE - TARN_RESIDUAL_EXCESSES;
    for (uint32_t i = 0; i < TARN_RESIDUAL_EXCESSES; i++) {
        const uint32_t share = i + 1 < TARN_RESIDUAL_EXCESSES ? left * (256 - decay) >> 8 : left;
        frequency[i] = (uint16_t)(1 + share);
        left -= share;
    }
    tarn_ans_table_make(table, frequency, TARN_RESIDUAL_EXCESSES);
}

static void make_digits(tarn_residual_tables *tables)
{
    static const int32_t number[4] = {0, 1, -1, 0};
    for (uint32_t symbol = 0; symbol < TARN_RESIDUAL_SYMBOLS; symbol++) {
        int32_t *digit = tables->digit[symbol];
        digit[3] = 0;
        for (int a = 0; a < 3; a++) {
            const uint32_t said = symbol >> 2 * a & 3;
            digit[a] = number[said];
            digit[3] = said == 3 || digit[3] < 0 ? -1 : digit[3] + (said > 0);
        }
    }
}

/// The source of a node's residual, two per octave of its neighbours' mean activity.
static uint32_t node_context(uint32_t known, uint32_t activity)
{
    if (known == 0) {
        return TARN_RESIDUAL_NODES;
    }
    const uint32_t quarters = 4 * activity / known, bits = tarn_bits_of(quarters);
    return TARN_RESIDUAL_NODES + (bits < 3 ? 1 + bits : 2 * bits - 2 + (quarters >> (bits - 2) & 1));
}

void tarn_residual_tables_make(tarn_residual_tables *tables)
{
    make_digits(tables);
    for (uint32_t i = 0; i < 4 * TARN_RESIDUAL_ONE; i++) {
        const uint32_t context = node_context(i / TARN_RESIDUAL_ONE, i % TARN_RESIDUAL_ONE),
                       most = TARN_RESIDUAL_CONTEXTS - 1;
        tables->node_context[i] = (uint8_t)(context < most ? context : most); // more than neighbours can count
    }
    for (uint32_t i = 0; i < TARN_RESIDUAL_CONTEXTS; i++) {
        make_symbols(&tables->symbol[i], &sources[i]);
        make_excesses(&tables->excess[i], sources[i].decay);
    }
}
