#include "tests/protocol/stream_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 1024, ROOM = 1 << 15 };

typedef struct text_word {
    char kind;
    uint32_t first, second, times;
} text_word;

static void refuse(const char *at)
{
    fprintf(stderr, "stream_text: \"%.20s\" is no word of a stream\n", at);
    abort();
}

/// Reads a word. @return where the next one begins
static const char *read_word(const char *at, text_word *word)
{
    char *end;
    *word = (text_word){.kind = *at, .times = 1};
    if (*at == ';') {
        return at + 1;
    }
    if (strchr("cgdbnhsmrewxy", *at) == NULL) {
        refuse(at);
    }
    word->first = (uint32_t)strtoul(at + 1, &end, 10);
    if (end == at + 1 || (*end == ':') != (strchr("bnhsmrew", *at) != NULL)) {
        refuse(at);
    }
    if (*end == ':') {
        word->second = (uint32_t)strtoul(end + 1, &end, 10);
    }
    if (*end == '*') {
        word->times = (uint32_t)strtoul(end + 1, &end, 10);
    }
    return end;
}

static void put_word(tarn_ans_writer *writer, const tarn_code_tables *t, const text_word *word)
{
    const uint32_t first = word->first, second = word->second;
    switch (word->kind) {
    case 'c':
        tarn_code_put_number(writer, t, TARN_NUMBER_COUNT, first);
        break;
    case 'g':
        tarn_code_put_number(writer, t, TARN_NUMBER_GAP, first);
        break;
    case 'd':
        tarn_code_put_number(writer, t, TARN_NUMBER_DEATHS, first);
        break;
    case 'b':
        tarn_code_put_bits(writer, second, first);
        break;
    default: {
        const tarn_ans_table *table = word->kind == 'n'   ? &t->set.count[first]
                                      : word->kind == 'h' ? &t->set.half[first]
                                      : word->kind == 's' ? &t->row[first]
                                      : word->kind == 'm' ? &t->bit[first]
                                      : word->kind == 'r' ? &t->residual.symbol[first]
                                      : word->kind == 'e' ? &t->residual.excess[first]
                                                          : &t->colour[first];
        tarn_ans_put(writer, table, second);
    }
    }
}

size_t stream_text_write(const tarn_code_tables *tables, const char *text, uint8_t bytes[STREAM_TEXT_BYTES_MAX])
{
    text_word words[WORDS_MAX];
    uint8_t room[ROOM];
    size_t used = 0;
    uint32_t count = 0;
    while (*(text += strspn(text, " \n")) != 0) {
        const char *at = text;
        if (count == WORDS_MAX) {
            refuse(at);
        }
        text = read_word(text, &words[count]);
        if (words[count].kind == 'x') {
            memset(bytes + used, 0, words[count].first);
            used += words[count].first;
        } else if (words[count].kind == 'y') {
            used -= words[count].first;
        } else if (words[count].kind != ';') {
            count++;
        } else {
            tarn_ans_writer writer;
            tarn_ans_begin(&writer, room + ROOM);
            for (; count > 0; count--) {
                for (uint32_t i = 0; i < words[count - 1].times; i++) {
                    put_word(&writer, tables, &words[count - 1]);
                }
            }
            const uint8_t *first = tarn_ans_end(&writer);
            const size_t stream = (size_t)(room + ROOM - first);
            if (used + stream > STREAM_TEXT_BYTES_MAX) {
                refuse(at);
            }
            memcpy(bytes + used, first, stream);
            used += stream;
        }
    }
    if (count > 0) {
        refuse("(no ; at the end)");
    }
    return used;
}
