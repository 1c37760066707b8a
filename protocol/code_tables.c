// Frequencies of symbols as sources for the coder, from a few shape parameters each: start at tarn_code_tables_make.
#include "protocol/code_tables.h"

enum { NUMBER_SYMBOLS = TARN_NUMBER_BITS_MAX + 1 };

/// How many bits numbers have; what is missing to 4096 is added to the first.
static const uint16_t number_frequency[TARN_NUMBER_KINDS][NUMBER_SYMBOLS] = {
    {0, 560, 330, 250, 180, 130, 90, 60, 40, 24, 16, 12, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 2, 2, 2},
    {0, 200, 240, 270, 300, 330, 360, 390, 400, 400, 380, 300, 180, 90, 50, 30, 16, 8, 8, 4, 4, 4, 2, 2, 2},
    {0, 120, 80, 50, 30, 20, 12, 8, 4, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
};
/// That a particle's colour is another one, after a change and after none.
static const uint16_t colour_change[2] = {2048, 96};

/// States of rows; what is missing to 4096 are the rows that are known in part.
static const uint16_t row_frequency[TARN_FLOW_ROW_CONTEXTS][2] = {
    {4047, 4}, {2328, 1027}, {2642, 14}, {3493, 18}, {1869, 359}, {4, 4069},  {442, 1086}, {12, 3950},
    {2767, 5}, {148, 2718},  {338, 82},  {444, 377}, {4033, 4},   {16, 4011}, {1233, 46},  {1898, 1165},
};
/// That a node of such a row is known.
static const uint16_t bit_frequency[TARN_FLOW_BIT_CONTEXTS] = {
    69,   997,  3533, 440,  962,  2667, 3815, 2807, 88,   1362, 3590, 431,  416,  1783, 3720, 1874, 1471, 3503,
    4025, 3714, 1004, 3110, 3971, 3380, 87,   1586, 3759, 491,  1237, 3130, 3941, 2992, 67,   2862, 3936, 1459,
};

static void make_numbers(tarn_ans_table *table, const uint16_t *rest)
{
    uint16_t frequency[NUMBER_SYMBOLS];
    uint32_t left = TARN_ANS_ONE;
    for (uint32_t i = 1; i < NUMBER_SYMBOLS; i++) {
        frequency[i] = rest[i];
        left -= rest[i];
    }
    frequency[0] = (uint16_t)left;
    tarn_ans_table_make(table, frequency, NUMBER_SYMBOLS);
}

void tarn_code_tables_make(tarn_code_tables *tables)
{
    tarn_set_tables_make(&tables->set);
    tarn_residual_tables_make(&tables->residual);
    for (uint32_t i = 0; i < TARN_NUMBER_KINDS; i++) {
        make_numbers(&tables->number[i], number_frequency[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        const uint16_t frequency[2] = {(uint16_t)(TARN_ANS_ONE - colour_change[i]), colour_change[i]};
        tarn_ans_table_make(&tables->colour[i], frequency, 2);
    }
    for (uint32_t i = 0; i < TARN_FLOW_ROW_CONTEXTS; i++) {
        const uint16_t none = row_frequency[i][0], all = row_frequency[i][1];
        const uint16_t frequency[TARN_FLOW_ROW_STATES] = {none, all, (uint16_t)(TARN_ANS_ONE - none - all)};
        tarn_ans_table_make(&tables->row[i], frequency, TARN_FLOW_ROW_STATES);
    }
    for (uint32_t i = 0; i < TARN_FLOW_BIT_CONTEXTS; i++) {
        const uint16_t frequency[2] = {(uint16_t)(TARN_ANS_ONE - bit_frequency[i]), bit_frequency[i]};
        tarn_ans_table_make(&tables->bit[i], frequency, 2);
    }
}
