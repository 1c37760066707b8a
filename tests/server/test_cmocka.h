/// cmocka with what it must be preceded by.
#ifndef TARN_TESTS_SERVER_TEST_CMOCKA_H
#define TARN_TESTS_SERVER_TEST_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
