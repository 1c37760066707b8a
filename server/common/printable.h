/// Text that goes to a terminal, a log or over the wire.
#ifndef TARN_SERVER_COMMON_PRINTABLE_H
#define TARN_SERVER_COMMON_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/// The bytes that the UTF-8 character at the beginning of a text takes; 0: there is none, or the text ends.
/// @param steers  whether it could steer a terminal or change what a reader takes a line for
size_t tarn_character_bytes(const char *text, bool *steers);

/// Puts a '?' for everything that could steer a terminal or change what a reader takes a line for: control characters,
/// marks of line and direction, and bytes that aren't UTF-8.
void tarn_make_printable(char *text);

/// Whether tarn_make_printable would leave the text as it is.
bool tarn_is_printable(const char *text);

#endif
