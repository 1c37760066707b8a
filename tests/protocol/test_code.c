// Entropy coding: what is written is read again, at the cost that information theory gives, and nothing else is whole.
#include "protocol/point_set.h"
#include "protocol/residual.h"
#include "tests/protocol/test_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;

/// 0..2^32 - 1, splitmix64.
static uint32_t any(void)
{
    uint64_t x = seed += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)(x >> 32);
}

/// A stream that is written, and room for it.
typedef struct stream {
    uint8_t *room, *end;
    tarn_ans_writer writer;
} stream;

static stream begin(uint32_t bytes_max)
{
    stream s = {.room = malloc(bytes_max)};
    s.end = s.room + bytes_max;
    tarn_ans_begin(&s.writer, s.end);
    return s;
}

/// @return its bytes' number
static uint32_t finish(stream *s)
{
    const uint8_t *first = tarn_ans_end(&s->writer);
    assert_true(first >= s->room);
    return (uint32_t)(s->end - first);
}

// -------------------------------------------------------------------------------------------------------------- coder

/// A table of random frequencies, some of them 1, some large.
static uint32_t random_table(tarn_ans_table *table, uint16_t *frequency)
{
    const uint32_t count = 1 + any() % TARN_ANS_SYMBOLS_MAX;
    uint32_t left = TARN_ANS_ONE - count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t share = i + 1 == count ? left : any() % 4 == 0 ? any() % (left + 1) : any() % (left / count + 1);
        frequency[i] = (uint16_t)(1 + share);
        left -= share;
    }
    tarn_ans_table_make(table, frequency, count);
    return count;
}

static void symbols_and_bits_come_back(void **state)
{
    (void)state;
    enum { COUNT = 20000, TABLES = 8 };
    tarn_ans_table table[TABLES];
    uint16_t frequency[TABLES][TARN_ANS_SYMBOLS_MAX];
    uint32_t symbols[TABLES], *value = malloc(COUNT * sizeof *value);
    for (int round = 0; round < 20; round++) {
        double information = 0.0;
        for (int t = 0; t < TABLES; t++) {
            symbols[t] = random_table(&table[t], frequency[t]);
        }
        stream s = begin(TARN_ANS_STATE_BYTES + 2 * COUNT);
        for (uint32_t i = COUNT; i-- > 0;) {
            const uint32_t t = i % (TABLES + 1), bits = i / 7 % (TARN_ANS_BITS_MAX + 1);
            if (t == TABLES) {
                value[i] = any() & ((1u << bits) - 1);
                tarn_ans_put_bits(&s.writer, value[i], bits);
                information += bits;
            } else {
                value[i] = any() % symbols[t];
                tarn_ans_put(&s.writer, &table[t], value[i]);
                information += TARN_ANS_PROBABILITY_BITS - log2(frequency[t][value[i]]);
            }
        }
        const uint32_t byte_count = finish(&s);
        tarn_ans_reader reader;
        tarn_ans_open(&reader, s.writer.at, s.end);
        for (uint32_t i = 0; i < COUNT; i++) {
            const uint32_t t = i % (TABLES + 1), bits = i / 7 % (TARN_ANS_BITS_MAX + 1);
            assert_int_equal(t == TABLES ? tarn_ans_bits(&reader, bits) : tarn_ans_symbol(&reader, &table[t]),
                             value[i]);
        }
        assert_true(tarn_ans_is_whole(&reader) && reader.at == s.end);
        assert_true(8.0 * byte_count < information * 1.0005 + 32.0);
        free(s.room);
    }
    free(value);
}

static void what_is_cut_or_changed_is_not_whole(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    stream s = begin(TARN_ANS_STATE_BYTES + 2 * COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        tarn_ans_put_bits(&s.writer, any() & 0x1fff, 13);
    }
    const uint32_t byte_count = finish(&s);
    for (uint32_t cut = 0; cut < byte_count; cut++) {
        tarn_ans_reader reader;
        tarn_ans_open(&reader, s.writer.at, s.writer.at + cut);
        for (uint32_t i = 0; i < COUNT; i++) {
            tarn_ans_bits(&reader, 13);
        }
        assert_false(tarn_ans_is_whole(&reader));
    }
    free(s.room);
}

// --------------------------------------------------------------------------------------------------------------- sets

static int by_key(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/// Writes and reads a set of unordered keys. @return bytes that it took
static uint32_t comes_back(uint32_t *keys, uint32_t count, uint32_t bits)
{
    static tarn_set_tables tables;
    uint32_t cells[TARN_SET_CELLS] = {0};
    tarn_set_tables_make(&tables);
    qsort(keys, count, sizeof *keys, by_key);
    for (uint32_t i = 0; i < count; i++) {
        cells[keys[i] >> 3 * bits]++;
    }
    uint32_t *read = malloc(((size_t)count + 1) * sizeof *read);
    stream s = begin(tarn_set_bytes_max(bits, count));
    tarn_set_write(&s.writer, &tables, keys, count, bits, cells);
    const uint32_t byte_count = finish(&s);
    tarn_ans_reader reader;
    tarn_ans_open(&reader, s.writer.at, s.end);
    assert_int_equal(tarn_set_read(&reader, &tables, bits, count, read), TARN_OK);
    assert_true(tarn_ans_is_whole(&reader) && reader.at == s.end);
    assert_memory_equal(read, keys, count * sizeof *read);
    // Any other number of particles is another set: refused, or read from a stream that isn't used up.
    for (uint32_t other = count > 0 ? count - 1 : 1; other <= count + 1; other += 2) {
        uint32_t *more = malloc(((size_t)other + 1) * sizeof *more);
        tarn_ans_open(&reader, s.writer.at, s.end);
        assert_true(tarn_set_read(&reader, &tables, bits, other, more) != TARN_OK || !tarn_ans_is_whole(&reader) ||
                    bits == 0 || count <= 1);
        free(more);
    }
    free(s.room);
    free(read);
    return byte_count;
}

static void sets_come_back(void **state)
{
    (void)state;
    uint32_t *keys = malloc(TARN_SET_POINTS_MAX * sizeof *keys);
    const uint32_t counts[] = {0, 1, 2, 15, 33, 512, 4096, TARN_SET_POINTS_MAX};
    for (uint32_t bits = 0; bits <= TARN_SET_BITS_MAX; bits++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            for (int crowd = 0; crowd < 3; crowd++) { // everywhere, in one cell, in one place
                const uint32_t in = any() % TARN_SET_CELLS << 3 * bits;
                const uint32_t mask = crowd == 0   ? (1u << (TARN_SET_CELL_BITS + 3 * bits)) - 1
                                      : crowd == 1 ? (1u << 3 * bits) - 1
                                                   : 0;
                for (uint32_t i = 0; i < counts[c]; i++) {
                    keys[i] = crowd == 0 ? any() & mask : in | (any() & mask);
                }
                comes_back(keys, counts[c], bits);
            }
        }
    }
    free(keys);
}

static void keys_are_places(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits <= TARN_SET_BITS_MAX; bits++) {
        for (int i = 0; i < 1000; i++) {
            const uint32_t mask = (8u << bits) - 1, place[3] = {any() & mask, any() & mask, any() & mask};
            const uint32_t key = tarn_set_key(place, bits);
            assert_int_equal(key >> 3 * bits, (place[2] >> bits) * 64 + (place[1] >> bits) * 8 + (place[0] >> bits));
            for (int axis = 0; axis < 3; axis++) {
                assert_int_equal(tarn_set_place(key, bits, axis), place[axis]);
            }
            for (uint32_t bit = 0; bit < 3 * bits; bit++) { // x y z x y z from the highest on
                assert_int_equal(key >> (3 * bits - 1 - bit) & 1, place[bit % 3] >> (bits - 1 - bit / 3) & 1);
            }
        }
    }
}

/// A set of particles that lie anywhere is worth log2 C(places, particles).
static void a_set_costs_what_it_is_worth(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    for (uint32_t bits = 3; bits <= 6; bits++) {
        uint32_t keys[COUNT];
        const uint32_t mask = (1u << (TARN_SET_CELL_BITS + 3 * bits)) - 1;
        for (uint32_t i = 0; i < COUNT; i++) {
            keys[i] = any() & mask;
        }
        const double places = (double)mask + 1.0;
        const double worth = (lgamma(places + 1.0) - lgamma(COUNT + 1.0) - lgamma(places - COUNT + 1.0)) / log(2.0);
        const double ratio = 8.0 * comes_back(keys, COUNT, bits) / worth;
        print_message("%u bits: %.3f bits a particle, %.4f of their worth\n", bits, worth / COUNT * ratio, ratio);
        assert_true(ratio < 1.03);
    }
}

static void rubbish_is_refused_or_bounded(void **state)
{
    (void)state;
    static tarn_set_tables tables;
    tarn_set_tables_make(&tables);
    uint32_t refused = 0;
    for (int round = 0; round < 4000; round++) {
        const uint32_t byte_count = any() % 200, count = any() % 300, bits = any() % (TARN_SET_BITS_MAX + 1);
        uint8_t *bytes = malloc(byte_count + 1);
        uint32_t *keys = malloc((count + 1) * sizeof *keys);
        for (uint32_t i = 0; i < byte_count; i++) {
            bytes[i] = (uint8_t)any();
        }
        tarn_ans_reader reader;
        tarn_ans_open(&reader, bytes, bytes + byte_count);
        refused += tarn_set_read(&reader, &tables, bits, count, keys) != TARN_OK || !tarn_ans_is_whole(&reader);
        free(keys);
        free(bytes);
    }
    assert_true(refused > 3900);
    tarn_ans_reader reader;
    const uint8_t nothing = 0;
    tarn_ans_open(&reader, &nothing, &nothing);
    assert_int_equal(tarn_set_read(&reader, &tables, TARN_SET_BITS_MAX + 1, 0, NULL), TARN_E_MALFORMED);
    assert_int_equal(tarn_set_read(&reader, &tables, 0, TARN_SET_POINTS_MAX + 1, NULL), TARN_E_MALFORMED);
}

// ---------------------------------------------------------------------------------------------------------- residuals

/// A number out of a two-sided geometric distribution, zeros included.
static int32_t geometric(double decay)
{
    const double u = (any() + 0.5) / 4294967296.0, sides = 2.0 * decay / (1.0 + decay);
    if (u >= sides) {
        return 0;
    }
    const int32_t size = 1 + (int32_t)(log((any() + 0.5) / 4294967296.0) / log(decay));
    return any() % 2 == 0 ? size : -size;
}

/// Bits of a number out of it.
static double geometric_bits(double decay)
{
    const double zero = (1.0 - decay) / (1.0 + decay), mean = decay / (1.0 - decay);
    const double one = -log2(zero) - log2(decay); // of 1 or -1; each further one costs -log2(decay)
    return -zero * log2(zero) + (1.0 - zero) * (one - mean * log2(decay));
}

static void residuals_come_back_at_their_worth(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static tarn_residual_tables tables;
    tarn_residual_tables_make(&tables);
    int32_t(*residual)[3] = malloc(COUNT * sizeof *residual);
    uint8_t *context = malloc(COUNT);
    const double decays[] = {0.002, 0.02, 0.08, 0.2, 0.4, 0.6, 0.75};
    for (size_t d = 0; d < sizeof decays / sizeof *decays; d++) {
        uint32_t activity = 0;
        for (int i = 0; i < COUNT; i++) {
            for (int a = 0; a < 3; a++) {
                residual[i][a] = geometric(decays[d]);
            }
            context[i] = (uint8_t)tarn_residual_context(activity);
            activity = tarn_residual_follow(activity, tarn_residual_sum(residual[i]));
        }
        stream s = begin(TARN_ANS_STATE_BYTES + COUNT * TARN_RESIDUAL_BYTES_MAX);
        for (int i = COUNT; i-- > 0;) {
            tarn_residual_write(&s.writer, &tables, context[i], residual[i]);
        }
        const uint32_t byte_count = finish(&s);
        tarn_ans_reader reader;
        tarn_ans_open(&reader, s.writer.at, s.end);
        activity = 0;
        for (int i = 0; i < COUNT; i++) {
            int32_t read[4];
            const uint32_t source = tarn_residual_context(activity);
            if (i % 2 == 0) {
                tarn_residual_read(&reader, &tables, source, read);
            } else {
                tarn_residual_read_calm(&reader, &tables, source, read);
            }
            activity = tarn_residual_follow(activity, (uint32_t)read[3]);
            assert_memory_equal(read, residual[i], sizeof residual[i]);
            assert_int_equal(read[3], tarn_residual_sum(residual[i]));
        }
        assert_true(tarn_ans_is_whole(&reader));
        const double bits = 8.0 * byte_count / COUNT, worth = 3.0 * geometric_bits(decays[d]);
        print_message("decay %.3f: %.4f bits a particle, worth %.4f\n", decays[d], bits, worth);
        // 63 symbols that hardly come have 1/4096 each, and a source that follows is late: 0.08 bits at most.
        assert_true(bits < 1.08 * worth + 0.08);
        free(s.room);
    }
    free(context);
    free(residual);
}

static void the_largest_residuals_come_back(void **state)
{
    (void)state;
    static tarn_residual_tables tables;
    tarn_residual_tables_make(&tables);
    const int32_t sizes[] = {0, 1, 2, 3, 16, 17, 18, 1000, TARN_RESIDUAL_MAX};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (uint32_t context = 0; context < TARN_RESIDUAL_CONTEXTS; context++) {
        stream s = begin(TARN_ANS_STATE_BYTES + 2 + 2 * SIZES * TARN_RESIDUAL_BYTES_MAX);
        for (int i = 2 * SIZES; i-- > 0;) {
            const int32_t at = i < SIZES ? sizes[i] : -sizes[i - SIZES];
            tarn_residual_write(&s.writer, &tables, context, (const int32_t[3]){at, -at, at});
        }
        finish(&s);
        tarn_ans_reader reader;
        tarn_ans_open(&reader, s.writer.at, s.end);
        uint32_t activity = 0;
        for (int i = 0; i < 2 * SIZES; i++) {
            const int32_t at = i < SIZES ? sizes[i] : -sizes[i - SIZES];
            int32_t read[4];
            tarn_residual_read(&reader, &tables, context, read);
            assert_true(read[0] == at && read[1] == -at && read[2] == at);
            activity = tarn_residual_follow(activity, (uint32_t)read[3]);
            assert_true(tarn_residual_context(activity) < TARN_RESIDUAL_CONTEXTS);
        }
        assert_true(tarn_ans_is_whole(&reader));
        free(s.room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_and_bits_come_back),
        cmocka_unit_test(what_is_cut_or_changed_is_not_whole),
        cmocka_unit_test(keys_are_places),
        cmocka_unit_test(sets_come_back),
        cmocka_unit_test(a_set_costs_what_it_is_worth),
        cmocka_unit_test(rubbish_is_refused_or_bounded),
        cmocka_unit_test(residuals_come_back_at_their_worth),
        cmocka_unit_test(the_largest_residuals_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
