// What a string of a message may hold, and how a refused value is shown in the sentence that refuses it.
#include "protocol/message_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { DESCRIBED_BYTES_MAX = 40 };

/// Length of the UTF-8 sequence at p and its code point; 0 where it is not one.
static size_t code_point(const uint8_t *p, size_t left, uint32_t *point)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (bytes == 0 || bytes > left) {
        return 0;
    }
    *point = bytes == 1 ? p[0] : p[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        *point = *point << 6 | (p[i] & 0x3f);
    }
    bool surrogate = *point >= 0xd800 && *point <= 0xdfff;
    return *point < smallest[bytes] || *point > 0x10ffff || surrogate ? 0 : bytes;
}

/// Controls, marks that turn the direction of the text around them, and what isn't seen at all: a name with it passes
/// for another's.
static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0xad || point == 0x61c || point == 0x200b ||
           point == 0x200e || point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
}

const char *tarn_text_fault(const uint8_t *bytes, size_t byte_count)
{
    for (size_t i = 0, used; i < byte_count; i += used) {
        uint32_t point = 0;
        used = code_point(bytes + i, byte_count - i, &point);
        if (used == 0) {
            return "is not UTF-8";
        }
        if (is_control(point)) {
            return "contains a control character";
        }
    }
    return NULL;
}

static void describe_string(const tarn_item *item, char text[TARN_DESCRIPTION_BYTES])
{
    uint32_t count = item->count < DESCRIBED_BYTES_MAX ? item->count : DESCRIBED_BYTES_MAX;
    char *p = text;
    *p++ = '"';
    for (uint32_t i = 0; i < count; i++) {
        uint8_t byte = item->data[i];
        *p++ = (char)(byte >= 0x20 && byte < 0x7f ? byte : '?');
    }
    *p++ = '"';
    const char *tail = count < item->count ? "..." : "";
    while (*tail) {
        *p++ = *tail++;
    }
    *p = 0;
}

void tarn_describe_item(const tarn_item *item, char text[TARN_DESCRIPTION_BYTES])
{
    switch (item->type) {
    case TARN_ITEM_NIL:
        snprintf(text, TARN_DESCRIPTION_BYTES, "nil");
        break;
    case TARN_ITEM_BOOL:
        snprintf(text, TARN_DESCRIPTION_BYTES, item->uint_value ? "true" : "false");
        break;
    case TARN_ITEM_UINT:
        snprintf(text, TARN_DESCRIPTION_BYTES, "%" PRIu64, item->uint_value);
        break;
    case TARN_ITEM_INT:
        snprintf(text, TARN_DESCRIPTION_BYTES, "%" PRId64, item->int_value);
        break;
    case TARN_ITEM_FLOAT:
        snprintf(text, TARN_DESCRIPTION_BYTES, "%.9g", item->float_value);
        break;
    case TARN_ITEM_STRING:
        describe_string(item, text);
        break;
    case TARN_ITEM_BINARY:
        snprintf(text, TARN_DESCRIPTION_BYTES, "binary data of %" PRIu32 " bytes", item->count);
        break;
    case TARN_ITEM_EXTENSION:
        snprintf(text, TARN_DESCRIPTION_BYTES, "an extension type");
        break;
    case TARN_ITEM_ARRAY:
        snprintf(text, TARN_DESCRIPTION_BYTES, "an array of %" PRIu32, item->count);
        break;
    case TARN_ITEM_MAP:
        snprintf(text, TARN_DESCRIPTION_BYTES, "a map of %" PRIu32, item->count);
        break;
    }
}

void tarn_sentence(tarn_text *why, const char *format, ...)
{
    if (why != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(*why, sizeof *why, format, arguments);
        va_end(arguments);
    }
}
