/// What the protocol's tests share.
#ifndef TARN_TESTS_PROTOCOL_TEST_SUPPORT_H
#define TARN_TESTS_PROTOCOL_TEST_SUPPORT_H

// cmocka.h needs these four before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
