/// Sections of frames out of their symbols, written as text: what no encoder writes can be written, too.
#ifndef TARN_TESTS_PROTOCOL_STREAM_TEXT_H
#define TARN_TESTS_PROTOCOL_STREAM_TEXT_H

#include "protocol/code_tables.h"

#include <stddef.h>

enum { STREAM_TEXT_BYTES_MAX = 1 << 16 };

/// Writes the streams of a text, one after another. Its words are in the order in which a decoder reads them:
///
///     c5 g5 d5    the number 5: of particles and tiles, of tiles left out, of deaths
///     b10:3       10 whole bits, of the value 3
///     n4:2        symbol 2 of context 4 of a cell's count
///     h5:2        of the 5 of a region 2 lie in the lower half
///     s4:1 m3:1   symbols of contexts of a row of nodes, of a node of a row
///     r3:1 e3:4   symbols of context 3 of residuals, of what is beyond 2
///     w0:1        symbol 1 of a colour after no change
///     ;           ends a stream
///     *511        behind a word: so many of it
///     x2 y2       2 bytes of no stream; takes the last 2 bytes away
///
/// @return bytes; ends the program at a word that isn't one, or beyond STREAM_TEXT_BYTES_MAX
size_t stream_text_write(const tarn_code_tables *tables, const char *text, uint8_t bytes[STREAM_TEXT_BYTES_MAX]);

#endif
