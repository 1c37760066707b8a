/// What the protocol's tests share.
#ifndef TARN_TESTS_PROTOCOL_TEST_SUPPORT_H
#define TARN_TESTS_PROTOCOL_TEST_SUPPORT_H

#include "protocol/frame.h"

// cmocka.h needs these four before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/// Opens a frame and decodes it into arrays of exactly its size.
tarn_status test_decode_frame(const uint8_t *bytes, size_t byte_count);

#endif
