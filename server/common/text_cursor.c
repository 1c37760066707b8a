// Lines, words and numbers of a text file without locale, and the one sentence about what is wrong in them.
#include "server/common/text_cursor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    ORIGIN_SHOWN = 160, // bytes of a file's name in a sentence
    DIGITS_KEPT = 18,   // as many as fit 64 bits
    EXPONENT_MAX = 400, // beyond it a number is 0 or infinite, whatever its digits
};

// ---- words ----

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

// ---- the beginning ----

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

// ---- numbers ----

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

// ---- sentences ----

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
