/// Entropy coding of frames: a range asymmetric numeral system (J. Duda, "Asymmetric numeral systems", 2013) with one
/// state of 32 bits, words of 16 bits and probabilities in 1/4096. Encoders of every device and the decoder share it.
///
/// A stream is the state, 4 bytes, and the words in the order in which the reader takes them, all little-endian. It is
/// written from its last symbol to its first. Whole bits go through the same state and cost exactly their number. A
/// stream ends where the reader has it: streams follow one another without their sizes being said.
///
/// Nothing allocates, and no input makes the reader read outside its bytes or run on: once the words are used up it
/// gives some symbols, and tarn_ans_is_whole says that the stream was none.
#ifndef TARN_PROTOCOL_ANS_H
#define TARN_PROTOCOL_ANS_H

#include <stdint.h>

#ifdef __CUDACC__
#define TARN_CODE_FN static inline __host__ __device__
#else
#define TARN_CODE_FN static inline
#endif

enum {
    TARN_ANS_PROBABILITY_BITS = 12,
    TARN_ANS_ONE = 1 << TARN_ANS_PROBABILITY_BITS, ///< the frequencies of a table add up to it
    TARN_ANS_SYMBOLS_MAX = 64,
    TARN_ANS_LOW = 1 << 16, ///< least state between two symbols; the first one when writing, the last when reading
    TARN_ANS_BITS_MAX = 16, ///< whole bits in one piece
    TARN_ANS_STATE_BYTES = 4,
    TARN_ANS_GUESSES = 256,
    TARN_ANS_RECIPROCAL_BITS = 44,
};

/// How many bits a number has: 0 for 0.
TARN_CODE_FN uint32_t tarn_bits_of(uint32_t value)
{
#ifdef __CUDA_ARCH__
    return 32 - (uint32_t)__clz((int)value);
#else
    return value == 0 ? 0 : 32 - (uint32_t)__builtin_clz(value);
#endif
}

/// The number of the lowest bit that is set; of 0 none is.
TARN_CODE_FN uint32_t tarn_lowest_bit(uint32_t value)
{
#ifdef __CUDA_ARCH__
    return (uint32_t)__ffs((int)value) - 1;
#else
    return (uint32_t)__builtin_ctz(value);
#endif
}

/// Symbols 0 .. count - 1 of a source, each with a frequency of 1 or more.
typedef struct tarn_ans_table {
    uint16_t from[TARN_ANS_SYMBOLS_MAX + 1];   ///< sums of the frequencies before a symbol; [count] is TARN_ANS_ONE
    uint8_t guess[TARN_ANS_GUESSES];           ///< first symbol that a sixteenth-aligned place may belong to
    uint64_t reciprocal[TARN_ANS_SYMBOLS_MAX]; ///< of the frequencies, times 2^TARN_ANS_RECIPROCAL_BITS, rounded up
} tarn_ans_table;

/// Makes a table.
/// @param frequency  of each symbol, 1..TARN_ANS_ONE; their sum is TARN_ANS_ONE
/// @param count      1..TARN_ANS_SYMBOLS_MAX
TARN_CODE_FN void tarn_ans_table_make(tarn_ans_table *table, const uint16_t *frequency, uint32_t count)
{
    uint32_t sum = 0, symbol = 0;
    for (uint32_t i = 0; i <= TARN_ANS_SYMBOLS_MAX; i++) {
        table->from[i] = (uint16_t)sum;
        sum += i < count ? frequency[i] : 0u;
    }
    for (uint32_t i = 0; i < TARN_ANS_SYMBOLS_MAX; i++) {
        const uint64_t one = (uint64_t)1 << TARN_ANS_RECIPROCAL_BITS;
        table->reciprocal[i] = i < count ? (one + frequency[i] - 1) / frequency[i] : 0;
    }
    for (uint32_t i = 0; i < TARN_ANS_GUESSES; i++) {
        while (table->from[symbol + 1] <= i * (TARN_ANS_ONE / TARN_ANS_GUESSES)) {
            symbol++;
        }
        table->guess[i] = (uint8_t)symbol;
    }
}

// ------------------------------------------------------------------------------------------------------------- reading

typedef struct tarn_ans_reader {
    const uint8_t *at, *end; ///< words that are left
    uint32_t state;
    uint32_t missed; ///< words that were wanted beyond the end
} tarn_ans_reader;

/// Begins the stream at `at`, which ends before `end`; with fewer than 4 bytes there it has missed some.
TARN_CODE_FN void tarn_ans_open(tarn_ans_reader *reader, const uint8_t *at, const uint8_t *end)
{
    const int is_stream = end - at >= TARN_ANS_STATE_BYTES;
    reader->at = is_stream ? at + TARN_ANS_STATE_BYTES : end;
    reader->end = end;
    reader->state = is_stream ? at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24
                              : (uint32_t)TARN_ANS_LOW;
    reader->missed = !is_stream;
}

/// Takes a word where the state asks for one: which can't be foreseen, so that nothing branches on it.
TARN_CODE_FN void tarn_ans_refill(tarn_ans_reader *reader)
{
    const uint32_t is_low = reader->state < TARN_ANS_LOW;
    uint32_t word = 0;
    if (reader->end - reader->at >= 2) {
        word = reader->at[0] | (uint32_t)reader->at[1] << 8;
        reader->at += 2 * is_low;
    } else {
        reader->missed += is_low;
    }
    const uint32_t filled = reader->state << 16 | word;
    reader->state = is_low ? filled : reader->state;
}

/// Goes on behind a symbol that begins at `from` and has this frequency.
TARN_CODE_FN void tarn_ans_get(tarn_ans_reader *reader, uint32_t from, uint32_t frequency)
{
    const uint32_t place = reader->state & (TARN_ANS_ONE - 1);
    reader->state = frequency * (reader->state >> TARN_ANS_PROBABILITY_BITS) + place - from;
    tarn_ans_refill(reader);
}

/// The next symbol of a source.
TARN_CODE_FN uint32_t tarn_ans_symbol(tarn_ans_reader *reader, const tarn_ans_table *table)
{
    const uint32_t place = reader->state & (TARN_ANS_ONE - 1);
    uint32_t symbol = table->guess[place / (TARN_ANS_ONE / TARN_ANS_GUESSES)];
    while (table->from[symbol + 1] <= place) {
        symbol++;
    }
    tarn_ans_get(reader, table->from[symbol], table->from[symbol + 1] - (uint32_t)table->from[symbol]);
    return symbol;
}

/// The next whole bits. @param bits  0..TARN_ANS_BITS_MAX
TARN_CODE_FN uint32_t tarn_ans_bits(tarn_ans_reader *reader, uint32_t bits)
{
    const uint32_t value = reader->state & ((1u << bits) - 1);
    reader->state >>= bits;
    tarn_ans_refill(reader);
    return value;
}

/// Whether what was read was a stream, to its last bit: checked after the last symbol. What follows begins at
/// reader->at.
TARN_CODE_FN int tarn_ans_is_whole(const tarn_ans_reader *reader)
{
    return reader->missed == 0 && reader->state == TARN_ANS_LOW;
}

// ------------------------------------------------------------------------------------------------------------- writing

/// Writes a stream backwards: what the reader takes last comes first.
typedef struct tarn_ans_writer {
    uint8_t *at; ///< first byte that is written; those before are free
    uint32_t state;
} tarn_ans_writer;

/// Begins a stream whose bytes will end before `end`.
TARN_CODE_FN void tarn_ans_begin(tarn_ans_writer *writer, uint8_t *end)
{
    writer->at = end;
    writer->state = TARN_ANS_LOW;
}

/// Makes room in the state, where it is more than `most`, for a symbol that would take it beyond 32 bits.
TARN_CODE_FN void tarn_ans_spill(tarn_ans_writer *writer, uint32_t most)
{
    if (writer->state > most) {
        writer->at -= 2;
        writer->at[0] = (uint8_t)writer->state;
        writer->at[1] = (uint8_t)(writer->state >> 8);
        writer->state >>= 16;
    }
}

/// Goes on before a symbol that begins at `from` and has this frequency; at most 2 bytes.
///
/// x / f by a product with f's reciprocal r = ceil(2^44 / f): x < 2^20 f, so that x (r f - 2^44) < x f < 2^44 keeps the
/// quotient from being rounded up, and x r < 2^64.
TARN_CODE_FN void tarn_ans_put_known(tarn_ans_writer *writer, uint32_t from, uint32_t frequency, uint64_t reciprocal)
{
    tarn_ans_spill(writer, (frequency << (32 - TARN_ANS_PROBABILITY_BITS)) - 1); // of all places: never
    const uint32_t quotient = (uint32_t)(writer->state * reciprocal >> TARN_ANS_RECIPROCAL_BITS);
    writer->state += quotient * (TARN_ANS_ONE - frequency) + from;
}

/// A symbol of a source; at most 2 bytes.
TARN_CODE_FN void tarn_ans_put(tarn_ans_writer *writer, const tarn_ans_table *table, uint32_t symbol)
{
    const uint32_t from = table->from[symbol];
    tarn_ans_put_known(writer, from, table->from[symbol + 1] - from, table->reciprocal[symbol]);
}

/// Whole bits; at most 2 bytes. @param bits  0..TARN_ANS_BITS_MAX @param value  below 2^bits
TARN_CODE_FN void tarn_ans_put_bits(tarn_ans_writer *writer, uint32_t value, uint32_t bits)
{
    tarn_ans_spill(writer, UINT32_MAX >> bits);
    writer->state = writer->state << bits | value;
}

/// Ends the stream. @return its first byte
TARN_CODE_FN uint8_t *tarn_ans_end(tarn_ans_writer *writer)
{
    writer->at -= TARN_ANS_STATE_BYTES;
    for (int i = 0; i < TARN_ANS_STATE_BYTES; i++) {
        writer->at[i] = (uint8_t)(writer->state >> 8 * i);
    }
    return writer->at;
}

#endif
