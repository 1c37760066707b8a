#include "tests/protocol/msgpack_text.h"

#include "tests/protocol/test_support.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Written by hand and not with msgpack-c, so that the reader is not tested with the library that the writer uses.
typedef struct text_reader {
    const char *text;
    uint8_t *bytes;
    size_t byte_count, bytes_max;
} text_reader;

static void emit(text_reader *r, uint64_t value, size_t bytes)
{
    assert_true(bytes <= r->bytes_max - r->byte_count);
    for (size_t i = 0; i < bytes; i++) {
        r->bytes[r->byte_count++] = (uint8_t)(value >> 8 * (bytes - 1 - i));
    }
}

static void space(text_reader *r)
{
    while (*r->text == ' ' || *r->text == ',' || *r->text == ':') {
        r->text++;
    }
}

static void emit_string(text_reader *r)
{
    const char *end = strchr(++r->text, '\'');
    assert_non_null(end);
    size_t count = (size_t)(end - r->text);
    if (count < 32) {
        emit(r, 0xa0 | count, 1);
    } else {
        emit(r, 0xda, 1);
        emit(r, count, 2);
    }
    for (; r->text < end; r->text++) {
        emit(r, (uint8_t)*r->text, 1);
    }
    r->text++;
}

static void emit_float(text_reader *r, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    emit(r, 0xcb, 1);
    emit(r, bits, 8);
}

static void emit_integer(text_reader *r, const char *text)
{
    if (*text == '-') {
        int64_t value = strtoll(text, NULL, 10);
        emit(r, value >= -32 ? (uint8_t)value : 0xd3, 1);
        emit(r, (uint64_t)value, value >= -32 ? 0 : 8);
        return;
    }
    uint64_t value = strtoull(text, NULL, 10);
    bool wide = value >= 128;
    size_t bytes = value < 256 ? 1 : value < 65536 ? 2 : value <= UINT32_MAX ? 4 : 8;
    if (wide) {
        emit(r, bytes == 1 ? 0xcc : bytes == 2 ? 0xcd : bytes == 4 ? 0xce : 0xcf, 1);
    }
    emit(r, value, bytes);
}

static void emit_word(text_reader *r)
{
    size_t count = strcspn(r->text, " ,:}]");
    assert_true(count > 0);
    if (strncmp(r->text, "true", count) == 0) {
        emit(r, 0xc3, 1);
    } else if (strncmp(r->text, "false", count) == 0) {
        emit(r, 0xc2, 1);
    } else if (strncmp(r->text, "nil", count) == 0) {
        emit(r, 0xc0, 1);
    } else if (strncmp(r->text, "nan", count) == 0) {
        emit_float(r, (double)NAN);
    } else if (strncmp(r->text, "inf", count) == 0) {
        emit_float(r, (double)INFINITY);
    } else if (memchr(r->text, '.', count) != NULL || memchr(r->text, 'e', count) != NULL) {
        emit_float(r, strtod(r->text, NULL));
    } else {
        emit_integer(r, r->text);
    }
    r->text += count;
}

static void emit_hex(text_reader *r)
{
    for (r->text++; *r->text != '>'; r->text += 2) {
        char digits[3] = {r->text[0], r->text[1], 0};
        emit(r, strtoul(digits, NULL, 16), 1);
    }
    r->text++;
}

static void emit_value(text_reader *r);

static void emit_container(text_reader *r)
{
    bool is_map = *r->text == '{';
    char close = is_map ? '}' : ']';
    size_t head = r->byte_count;
    uint32_t count = 0;
    emit(r, 0, 3);
    r->text++;
    for (space(r); *r->text != close; space(r)) {
        assert_true(*r->text != 0);
        emit_value(r);
        count++;
    }
    r->text++;
    count = is_map ? count / 2 : count;
    r->bytes[head] = is_map ? 0xde : 0xdc;
    r->bytes[head + 1] = (uint8_t)(count >> 8);
    r->bytes[head + 2] = (uint8_t)count;
}

static void emit_value(text_reader *r)
{
    space(r);
    switch (*r->text) {
    case '{':
    case '[':
        emit_container(r);
        break;
    case '\'':
        emit_string(r);
        break;
    case '<':
        emit_hex(r);
        break;
    default:
        emit_word(r);
        break;
    }
}

size_t msgpack_from_text(const char *text, uint8_t *bytes, size_t bytes_max)
{
    text_reader r = {.text = text, .bytes = bytes, .bytes_max = bytes_max};
    for (space(&r); *r.text; space(&r)) {
        emit_value(&r);
    }
    return r.byte_count;
}
