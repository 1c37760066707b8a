// UTF-8 walked code by code; what a terminal would obey or hide becomes a question mark. Start at printable_bytes.
#include "server/common/printable.h"

/// Bytes of the UTF-8 character at `text`, 0 where there is none.
static size_t utf8_bytes(const unsigned char *text)
{
    size_t bytes = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    // Neither longer than need be, nor half of a pair, nor beyond U+10FFFF.
    const bool is_code = (text[0] != 0xe0 || text[1] >= 0xa0) && (text[0] != 0xed || text[1] < 0xa0) &&
                         (text[0] != 0xf0 || text[1] >= 0x90) && (text[0] != 0xf4 || text[1] < 0x90);
    return is_code && text[0] < 0xf5 ? bytes : 0;
}

/// Besides the controls of ASCII: those of Latin-1 (U+0080 to U+009F), marks of line and direction, and what isn't seen
/// (U+00AD, U+061C, U+200B, U+200E, U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF).
static bool is_control(const unsigned char *c)
{
    if (c[0] != 0xe2) {
        return c[0] < 0x20 || c[0] == 0x7f || (c[0] == 0xc2 && (c[1] < 0xa0 || c[1] == 0xad)) ||
               (c[0] == 0xd8 && c[1] == 0x9c) || (c[0] == 0xef && c[1] == 0xbb && c[2] == 0xbf);
    }
    return (c[1] == 0x80 && (c[2] == 0x8b || c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae))) ||
           (c[1] == 0x81 && c[2] >= 0xa0 && c[2] <= 0xaf);
}

size_t tarn_character_bytes(const char *text, bool *steers)
{
    const unsigned char *c = (const unsigned char *)text;
    const size_t bytes = c[0] != 0 ? utf8_bytes(c) : 0;
    *steers = bytes > 0 && is_control(c);
    return bytes;
}

/// The bytes that the text's first character takes, 0 where it is none or steers something.
static size_t printable_bytes(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    const size_t bytes = utf8_bytes(c);
    return bytes > 0 && !is_control(c) ? bytes : 0;
}

void tarn_make_printable(char *text)
{
    while (*text != '\0') {
        size_t bytes = printable_bytes(text);
        if (bytes == 0) {
            *text = '?';
            bytes = 1;
        }
        text += bytes;
    }
}

bool tarn_is_printable(const char *text)
{
    size_t bytes = 1;
    for (; *text != '\0' && bytes > 0; text += bytes) {
        bytes = printable_bytes(text);
    }
    return bytes > 0;
}
