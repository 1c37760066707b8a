/// Text that goes to a terminal, a log or over the wire.
#ifndef TARN_SERVER_COMMON_PRINTABLE_H
#define TARN_SERVER_COMMON_PRINTABLE_H

#include <stdbool.h>

/// Puts a '?' for everything that could steer a terminal or change what a reader takes a line for: control characters,
/// marks of line and direction, and bytes that aren't UTF-8.
void tarn_make_printable(char *text);

/// Whether tarn_make_printable would leave the text as it is.
bool tarn_is_printable(const char *text);

#endif
