/// Texts: what may go to a terminal, a log or over the wire; the words of a text file; what was meant by a word that
/// isn't there.
#ifndef TARN_SERVER_BASE_TEXT_H
#define TARN_SERVER_BASE_TEXT_H

#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- text that steers nothing ----

/// The bytes that the UTF-8 character at the beginning of a text takes; 0: there is none, or the text ends.
/// @param steers  whether it could steer a terminal or change what a reader takes a line for
size_t tarn_character_bytes(const char *text, bool *steers);

/// Puts a '?' for everything that could steer a terminal or change what a reader takes a line for: control characters,
/// marks of line and direction, and bytes that aren't UTF-8.
void tarn_make_printable(char *text);

/// Whether tarn_make_printable would leave the text as it is.
bool tarn_is_printable(const char *text);

// ---- words of a text file ----
// A cursor walks through them and says what is wrong where. Knows no locale and needs no zero at the end.

enum { TARN_TEXT_WORD_SHOWN = 24 }; ///< characters of a word that a sentence quotes

typedef struct tarn_text_cursor {
    const char *at, *end;
    const char *origin; ///< the file's name in sentences
    uint32_t line;      ///< from 1; 0: the sentence names no line
    char comment;       ///< starts what is skipped to the end of the line; 0: nothing does
    char *why;          ///< may be NULL
    size_t why_bytes;
} tarn_text_cursor;

typedef struct tarn_text_word {
    const char *text;
    size_t bytes; ///< 0: there is no further word
} tarn_text_word;

/// A word with its quotation marks as a sentence shows it: printable and cut.
typedef struct tarn_text_shown {
    char text[TARN_TEXT_WORD_SHOWN + 8];
} tarn_text_shown;

/// At the beginning of a text: past the byte-order mark of UTF-8, which editors on Windows write.
/// @return TARN_OK, or TARN_E_MALFORMED: it is UTF-16 or UTF-32, with the sentence
tarn_status tarn_text_begin(tarn_text_cursor *cursor);

/// The same for a text that another reader goes on with. @return NULL: TARN_TEXT_WIDE
const char *tarn_text_begin_at(const char *text, size_t *bytes);
#define TARN_TEXT_WIDE "found text in UTF-16 or UTF-32, allowed is UTF-8: save it as that" ///< for sentences

/// The next word of this line. A backslash at the end of a line joins it to the next one.
tarn_text_word tarn_text_next(tarn_text_cursor *cursor);

/// The next word, on whatever line.
tarn_text_word tarn_text_next_of_all(tarn_text_cursor *cursor);

/// To the beginning of the next line. @return false at the end of the text
bool tarn_text_next_line(tarn_text_cursor *cursor);

bool tarn_text_is(tarn_text_word word, const char *text);
bool tarn_text_is_in_any_case(tarn_text_word word, const char *text); ///< text in small letters

/// "..." as found, or "the end of the line" for no word.
tarn_text_shown tarn_text_show(tarn_text_word word);

/// A decimal number; "nan" and "inf" are none. Computed with operations of IEEE 754 alone: the same bits everywhere,
/// and at most one unit in the last place of a float from the true value.
/// @return false where the word is something else; the number may be infinite where it's too large for a double
bool tarn_text_number(tarn_text_word word, double *number);

/// A whole number from the beginning of a word. @param rest  what follows it
/// @return false where there is none, or one beyond 2^31 either side
bool tarn_text_integer(tarn_text_word word, int64_t *number, tarn_text_word *rest);

/// Writes "origin: line N: " and the sentence, without control characters. @return status
__attribute__((format(printf, 3, 4))) tarn_status tarn_text_refuse(const tarn_text_cursor *cursor, tarn_status status,
                                                                   const char *format, ...);

// ---- what was meant ----
// By a word that isn't there: one way for options, variables, fields and scenes.

/// The name that a word comes nearest to, by letters put in, taken out, changed or swapped with their neighbour: two at
/// most, and no more than a third of the longer of both. Of several the one that begins and ends most like it.
/// @param names  so many of them, each `name_bytes` behind the one before; terminated  @return NULL: none is near
const char *tarn_near_name(const char *word, const char *names, uint32_t count, size_t name_bytes);

/// The same of names that lie anywhere.
const char *tarn_nearest_name(const char *word, const char *const *names, uint32_t count);

#endif
