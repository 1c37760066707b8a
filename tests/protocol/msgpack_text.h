/// Messages for tests from readable text: JSON with single quotes, to which msgpack's own are added. A number with a
/// point or an exponent becomes a float64, others the shortest integer; nan, inf; <c1ff> for raw bytes in hex.
#ifndef TARN_TESTS_PROTOCOL_MSGPACK_TEXT_H
#define TARN_TESTS_PROTOCOL_MSGPACK_TEXT_H

#include <stddef.h>
#include <stdint.h>

/// @return the bytes written; the test fails on text that cannot be read
size_t msgpack_from_text(const char *text, uint8_t *bytes, size_t bytes_max);

#endif
