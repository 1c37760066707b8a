// Texts for terminals and logs, words of text files, and words that were meant: begin at tarn_make_printable,
// tarn_text_next and tarn_nearest_name.
#include "server/base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// ---- text that steers nothing ----
// UTF-8 walked code by code; what a terminal would obey or hide becomes a question mark.

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

// ---- words of a text file ----
// Lines, words and numbers without locale, and the one sentence about what is wrong in them.

enum {
    ORIGIN_SHOWN = 160, // bytes of a file's name in a sentence
    DIGITS_KEPT = 18,   // as many as fit 64 bits
    EXPONENT_MAX = 400, // beyond it a number is 0 or infinite, whatever its digits
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static bool is_line_end(const tarn_text_cursor *cursor)
{
    return *cursor->at == '\n' || *cursor->at == '\r';
}

/// Past a line's end, which is "\n", "\r\n" or "\r".
static void skip_line_end(tarn_text_cursor *cursor)
{
    const bool two = *cursor->at == '\r' && cursor->end - cursor->at > 1 && cursor->at[1] == '\n';
    cursor->at += two ? 2 : 1;
    cursor->line++;
}

/// Where the line is joined to the next one: a backslash and, behind it, blanks at most. @return its end; NULL: it
/// isn't
static const char *joint_at(const tarn_text_cursor *cursor)
{
    const char *end = cursor->at + 1;
    if (*cursor->at != '\\') {
        return NULL;
    }
    while (end < cursor->end && is_blank(*end)) {
        end++;
    }
    return end < cursor->end && (*end == '\n' || *end == '\r') ? end : NULL;
}

/// Past blanks, comments and joined line ends. @return false at the end of the line or of the text
static bool skip_blanks(tarn_text_cursor *cursor)
{
    while (cursor->at < cursor->end) {
        const char c = *cursor->at, *joint = joint_at(cursor);
        if (is_line_end(cursor)) {
            return false;
        }
        if (joint != NULL) {
            cursor->at = joint;
            skip_line_end(cursor);
        } else if (is_blank(c)) {
            cursor->at++;
        } else if (cursor->comment != 0 && c == cursor->comment) {
            while (cursor->at < cursor->end && !is_line_end(cursor)) {
                cursor->at++;
            }
        } else {
            return true;
        }
    }
    return false;
}

tarn_text_word tarn_text_next(tarn_text_cursor *cursor)
{
    tarn_text_word word = {cursor->at, 0};
    if (!skip_blanks(cursor)) {
        return word;
    }
    word.text = cursor->at;
    while (cursor->at < cursor->end && !is_blank(*cursor->at) && !is_line_end(cursor) && joint_at(cursor) == NULL &&
           (cursor->comment == 0 || *cursor->at != cursor->comment)) {
        cursor->at++;
    }
    word.bytes = (size_t)(cursor->at - word.text);
    return word;
}

bool tarn_text_next_line(tarn_text_cursor *cursor)
{
    while (cursor->at < cursor->end && !is_line_end(cursor)) {
        cursor->at++;
    }
    if (cursor->at == cursor->end) {
        return false;
    }
    skip_line_end(cursor);
    return true;
}

tarn_text_word tarn_text_next_of_all(tarn_text_cursor *cursor)
{
    tarn_text_word word = tarn_text_next(cursor);
    while (word.bytes == 0 && cursor->at < cursor->end) {
        skip_line_end(cursor);
        word = tarn_text_next(cursor);
    }
    return word;
}

bool tarn_text_is(tarn_text_word word, const char *text)
{
    return word.bytes == strlen(text) && memcmp(word.text, text, word.bytes) == 0;
}

bool tarn_text_is_in_any_case(tarn_text_word word, const char *text)
{
    bool is_same = word.bytes == strlen(text);
    for (size_t i = 0; i < word.bytes && is_same; i++) {
        const char c = word.text[i];
        is_same = (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == text[i];
    }
    return is_same;
}

// ---- the beginning of a text file ----

/// Whether every other byte is zero at least: no character that a text begins with has one in UTF-8.
static bool is_wide(const uint8_t *text, size_t bytes)
{
    const uint8_t first = bytes > 1 ? text[0] : 1, second = bytes > 1 ? text[1] : 1;
    const bool has_mark = (first == 0xff && second == 0xfe) || (first == 0xfe && second == 0xff);
    return has_mark || (first == 0) != (second == 0) ||
           (bytes > 3 && first == 0 && second == 0 && (text[2] != 0 || text[3] != 0));
}

const char *tarn_text_begin_at(const char *text, size_t *bytes)
{
    if (is_wide((const uint8_t *)text, *bytes)) {
        return NULL;
    }
    const size_t mark = *bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    *bytes -= mark;
    return text + mark;
}

tarn_status tarn_text_begin(tarn_text_cursor *cursor)
{
    size_t bytes = (size_t)(cursor->end - cursor->at);
    const char *at = tarn_text_begin_at(cursor->at, &bytes);
    if (at == NULL) {
        return tarn_text_refuse(cursor, TARN_E_MALFORMED, TARN_TEXT_WIDE);
    }
    cursor->at = at;
    return TARN_OK;
}

// ---- numbers of a text file ----

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { POWER_MAX = sizeof powers_of_ten / sizeof powers_of_ten[0] - 1 }; // all of them exact

static double scale_by_ten(double number, int exponent)
{
    const bool down = exponent < 0;
    for (int left = down ? -exponent : exponent; left > 0; left -= POWER_MAX) {
        const double power = powers_of_ten[left < POWER_MAX ? left : POWER_MAX];
        number = down ? number / power : number * power;
    }
    return number;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/// Takes the sign off a word. @return whether it was a minus
static bool read_sign(tarn_text_word *word)
{
    const bool minus = word->bytes > 0 && word->text[0] == '-';
    if (minus || (word->bytes > 0 && word->text[0] == '+')) {
        word->text++;
        word->bytes--;
    }
    return minus;
}

bool tarn_text_integer(tarn_text_word word, int64_t *number, tarn_text_word *rest)
{
    const bool minus = read_sign(&word);
    int64_t value = 0;
    size_t digits = 0;
    for (; digits < word.bytes && is_digit(word.text[digits]); digits++) {
        value = 10 * value + (word.text[digits] - '0');
        if (value > INT32_MAX) {
            return false;
        }
    }
    *number = minus ? -value : value;
    *rest = (tarn_text_word){word.text + digits, word.bytes - digits};
    return digits > 0;
}

/// The digits of a number with at most one point among them: mantissa * 10^exponent. @return how many bytes
static size_t read_digits(tarn_text_word word, uint64_t *mantissa, int *exponent, bool *any)
{
    size_t i = 0;
    int kept = 0;
    bool point = false;
    for (; i < word.bytes; i++) {
        const char c = word.text[i];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(c)) {
            break;
        }
        *any = true;
        if (kept < DIGITS_KEPT) {
            *mantissa = 10 * *mantissa + (uint64_t)(c - '0');
            kept += *mantissa > 0;
            *exponent -= point;
        } else if (!point && *exponent < EXPONENT_MAX) {
            ++*exponent;
        }
        if (*exponent < -EXPONENT_MAX) {
            *exponent = -EXPONENT_MAX;
        }
    }
    return i;
}

bool tarn_text_number(tarn_text_word word, double *number)
{
    const bool minus = read_sign(&word);
    uint64_t mantissa = 0;
    int64_t power = 0;
    int exponent = 0;
    bool any = false;
    const size_t taken = read_digits(word, &mantissa, &exponent, &any);
    tarn_text_word rest = {word.text + taken, word.bytes - taken};
    if (!any) {
        return false;
    }
    if (rest.bytes > 0 && (*rest.text == 'e' || *rest.text == 'E')) {
        const tarn_text_word digits = {rest.text + 1, rest.bytes - 1};
        if (!tarn_text_integer(digits, &power, &rest)) {
            return false;
        }
    }
    if (rest.bytes > 0) {
        return false;
    }
    power += exponent;
    power = power < -EXPONENT_MAX ? -EXPONENT_MAX : power > EXPONENT_MAX ? EXPONENT_MAX : power;
    const double size = mantissa == 0 ? 0.0 : scale_by_ten((double)mantissa, (int)power);
    *number = minus ? -size : size;
    return true;
}

// ---- what is wrong in a text file ----

tarn_text_shown tarn_text_show(tarn_text_word word)
{
    tarn_text_shown shown;
    if (word.bytes == 0) {
        snprintf(shown.text, sizeof shown.text, "the end of the line");
        return shown;
    }
    const bool cut = word.bytes > TARN_TEXT_WORD_SHOWN;
    snprintf(shown.text, sizeof shown.text, "\"%.*s%s\"", (int)(cut ? TARN_TEXT_WORD_SHOWN : word.bytes), word.text,
             cut ? "..." : "");
    for (char *c = shown.text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~') {
            *c = '?';
        }
    }
    return shown;
}

tarn_status tarn_text_refuse(const tarn_text_cursor *cursor, tarn_status status, const char *format, ...)
{
    if (cursor->why == NULL || cursor->why_bytes == 0) {
        return status;
    }
    // The end of a long name says more than its beginning.
    const size_t origin_bytes = strlen(cursor->origin);
    const bool cut = origin_bytes > ORIGIN_SHOWN;
    char line[24] = "";
    if (cursor->line > 0) {
        snprintf(line, sizeof line, "line %u: ", cursor->line);
    }
    const int bytes = snprintf(cursor->why, cursor->why_bytes, "%s%s: %s", cut ? "..." : "",
                               cut ? cursor->origin + origin_bytes - ORIGIN_SHOWN : cursor->origin, line);
    if (bytes >= 0 && (size_t)bytes < cursor->why_bytes) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(cursor->why + bytes, cursor->why_bytes - (size_t)bytes, format, arguments);
        va_end(arguments);
    }
    for (char *c = cursor->why; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = '?';
        }
    }
    return status;
}

// ---- what was meant ----
// Distances by Damerau and Levenshtein, where swapped neighbours count once: start at tarn_nearest_name.

enum { WORD_BYTES = 32, DISTANCE_MAX = 2 };

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t distance(const char *from, const char *to)
{
    uint32_t rows[3][WORD_BYTES + 1] = {{0}};
    const size_t from_bytes = strlen(from), to_bytes = strlen(to);
    if (from_bytes > WORD_BYTES || to_bytes > WORD_BYTES) {
        return WORD_BYTES;
    }
    for (size_t f = 0; f <= from_bytes; f++) {
        uint32_t *row = rows[f % 3];
        const uint32_t *above = rows[(f + 2) % 3], *before = rows[(f + 1) % 3];
        for (size_t t = 0; t <= to_bytes; t++) {
            if (f == 0 || t == 0) {
                row[t] = (uint32_t)(f + t);
                continue;
            }
            row[t] = least(least(above[t], row[t - 1]) + 1, above[t - 1] + (from[f - 1] != to[t - 1]));
            if (f > 1 && t > 1 && from[f - 1] == to[t - 2] && from[f - 2] == to[t - 1]) {
                row[t] = least(row[t], before[t - 2] + 1);
            }
        }
    }
    return rows[from_bytes % 3][to_bytes];
}

/// How many letters two words have in common at both ends.
static size_t common(const char *a, const char *b)
{
    const size_t a_bytes = strlen(a), b_bytes = strlen(b), shorter = a_bytes < b_bytes ? a_bytes : b_bytes;
    size_t first = 0, last = 0;
    while (first < shorter && a[first] == b[first]) {
        first++;
    }
    while (first + last < shorter && a[a_bytes - 1 - last] == b[b_bytes - 1 - last]) {
        last++;
    }
    return first + last;
}

/// The nearer of two names. @param near  so far; NULL: none
static const char *nearer(const char *word, const char *near, const char *name)
{
    const size_t word_bytes = strlen(word), name_bytes = strlen(name);
    const uint32_t found = distance(word, name);
    if (found > DISTANCE_MAX || found > (word_bytes > name_bytes ? word_bytes : name_bytes) / 3) {
        return near;
    }
    const uint32_t best = near != NULL ? distance(word, near) : WORD_BYTES;
    return found < best || (found == best && common(word, name) > common(word, near)) ? name : near;
}

const char *tarn_near_name(const char *word, const char *names, uint32_t count, size_t name_bytes)
{
    const char *near = NULL;
    for (uint32_t i = 0; i < count; i++) {
        near = nearer(word, near, names + i * name_bytes);
    }
    return near;
}

const char *tarn_nearest_name(const char *word, const char *const *names, uint32_t count)
{
    const char *near = NULL;
    for (uint32_t i = 0; i < count; i++) {
        near = nearer(word, near, names[i]);
    }
    return near;
}
