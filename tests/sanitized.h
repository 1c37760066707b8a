/// Whether a sanitizer looks on, which makes a step of a tank twenty times as long. It sees what each kernel and each
/// reader touches in the first steps; many more of them, which show what the liquid does, are left to the build without
/// one.
#ifndef TARN_TESTS_SANITIZED_H
#define TARN_TESTS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_IS_SANITIZED 1
#else
#define TEST_IS_SANITIZED 0
#endif

#endif
