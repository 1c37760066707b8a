/// The levels of a channel: a number of 8 bits for each particle of a group, told from what is expected of it, in steps
/// that the group says. Three at a time are a residual (residual.h): where little changes they cost next to nothing.
/// Where they would cost more, a group has them as they are: 8 bits a particle, and 3, at most.
#ifndef TARN_PROTOCOL_LEVEL_CODE_H
#define TARN_PROTOCOL_LEVEL_CODE_H

#include "protocol/residual.h"

enum {
    TARN_LEVEL_BITS = 8,
    TARN_LEVEL_MAX = 255,
    TARN_LEVEL_FORM_BITS = 3, ///< of a group's form: 0: as they are, else 1 + log2 of the step
};

/// What is expected of a group's levels: of one that is known from before that it changes as the one before it does, of
/// another one that it is as the one before it.
typedef struct tarn_level_guess {
    int32_t before, change;
} tarn_level_guess;

/// @param last  the particle's level in the reference; -1: it has none
TARN_CODE_FN int32_t tarn_level_expect(const tarn_level_guess *guess, int32_t last)
{
    const int32_t level = last < 0 ? guess->before : last + guess->change;
    return level < 0 ? 0 : level > TARN_LEVEL_MAX ? (int32_t)TARN_LEVEL_MAX : level;
}

TARN_CODE_FN void tarn_level_follow(tarn_level_guess *guess, int32_t last, int32_t level)
{
    guess->before = level;
    guess->change = last < 0 ? 0 : level - last;
}

/// The level that a number of steps leads to.
TARN_CODE_FN int32_t tarn_level_of(int32_t expected, int32_t steps, uint32_t form)
{
    const int32_t level = expected + steps * (1 << (form - 1));
    return level < 0 ? 0 : level > TARN_LEVEL_MAX ? (int32_t)TARN_LEVEL_MAX : level;
}

/// The steps of a form that come nearest to a difference.
TARN_CODE_FN int32_t tarn_level_steps(int32_t difference, uint32_t form)
{
    const int32_t sign = difference < 0 ? -1 : 1;
    return sign * ((sign * difference + (1 << form >> 2)) >> (form - 1));
}

/// Most bytes of a group of so many particles, and of one that is given up for that.
TARN_CODE_FN uint32_t tarn_level_bytes_plain(uint32_t count)
{
    return TARN_ANS_STATE_BYTES + 2 + count;
}
TARN_CODE_FN uint32_t tarn_level_bytes_max(uint32_t count)
{
    return tarn_level_bytes_plain(count) + TARN_RESIDUAL_BYTES_MAX;
}

/// A reader of a group's levels.
typedef struct tarn_level_reader {
    tarn_ans_reader from;
    tarn_level_guess guess;
    uint32_t form, used, activity;
    int32_t residual[4];
} tarn_level_reader;

TARN_CODE_FN void tarn_level_open(tarn_level_reader *reader, const uint8_t *at, const uint8_t *end)
{
    tarn_ans_open(&reader->from, at, end);
    reader->form = tarn_ans_bits(&reader->from, TARN_LEVEL_FORM_BITS);
    reader->used = 3;
    reader->activity = 0;
    reader->guess.before = reader->guess.change = 0;
}

/// The next particle's level. @param last  as above
TARN_CODE_FN int32_t tarn_level_read(tarn_level_reader *reader, const tarn_residual_tables *tables, int32_t last)
{
    int32_t level;
    if (reader->form == 0) {
        level = (int32_t)tarn_ans_bits(&reader->from, TARN_LEVEL_BITS);
    } else {
        if (reader->used == 3) {
            tarn_residual_read_calm(&reader->from, tables, tarn_residual_context(reader->activity), reader->residual);
            reader->activity = tarn_residual_follow(reader->activity, (uint32_t)reader->residual[3]);
            reader->used = 0;
        }
        level = tarn_level_of(tarn_level_expect(&reader->guess, last), reader->residual[reader->used++], reader->form);
    }
    tarn_level_follow(&reader->guess, last, level);
    return level;
}

/// Whether what was read was a group, to its last bit.
TARN_CODE_FN int tarn_level_is_whole(const tarn_level_reader *reader)
{
    return tarn_ans_is_whole(&reader->from);
}

/// Writes a group's levels, which lie before `end`; those before are free, tarn_level_bytes_max of them.
/// @param steps    from what is expected to each level; not looked at for form 0
/// @param context  room for a third of count, rounded up
/// @return its first byte; NULL: it would take more than as they are
TARN_CODE_FN uint8_t *tarn_level_write(uint8_t *end, const tarn_residual_tables *tables, const uint8_t *levels,
                                       const int16_t *steps, uint32_t form, uint32_t count, uint8_t *context)
{
    const uint32_t most = tarn_level_bytes_plain(count) - TARN_ANS_STATE_BYTES - 2, triples = (count + 2) / 3;
    uint32_t activity = 0;
    tarn_ans_writer writer;
    tarn_ans_begin(&writer, end);
    for (uint32_t i = count; form == 0 && i-- > 0;) {
        tarn_ans_put_bits(&writer, levels[i], TARN_LEVEL_BITS);
    }
    for (uint32_t t = 0; form > 0 && t < triples; t++) {
        uint32_t sum = 0;
        context[t] = (uint8_t)tarn_residual_context(activity);
        for (uint32_t i = 3 * t; i < count && i < 3 * t + 3; i++) {
            sum += (uint32_t)(steps[i] < 0 ? -steps[i] : steps[i]);
        }
        activity = tarn_residual_follow(activity, sum);
    }
    for (uint32_t t = triples; form > 0 && t-- > 0;) {
        int32_t residual[3];
        for (uint32_t i = 0; i < 3; i++) {
            residual[i] = 3 * t + i < count ? steps[3 * t + i] : 0;
        }
        tarn_residual_write(&writer, tables, context[t], residual);
        if (end - writer.at > (int64_t)most) {
            return (uint8_t *)0;
        }
    }
    tarn_ans_put_bits(&writer, form, TARN_LEVEL_FORM_BITS);
    return tarn_ans_end(&writer);
}

#endif
