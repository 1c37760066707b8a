/// Assertions: what our own code guarantees. On in release builds, too: a broken invariant stops the program where it
/// broke, and not as a wrong hash or a torn frame later. Programming errors assert; operating errors are returned, and
/// nothing that comes from the network or a file reaches an assertion before it was checked.
///
/// For host code in C17. The bodies of kernels keep out of it: they are vector code, and nvcc's.
#ifndef TARN_PROTOCOL_ASSERT_H
#define TARN_PROTOCOL_ASSERT_H

#include <stdbool.h>

/// Stops the program where `condition` is false: file, line and the condition go to stderr. Evaluates it once; cheap
/// enough for everything but inner loops.
#define TARN_ASSERT(condition) ((condition) ? (void)0 : tarn_assert_failed(__FILE__, __LINE__, #condition))

/// 1 in a build whose stages check at their end what they have made, element by element (CMake: -DTARN_VALIDATE=ON):
/// `if (TARN_VALIDATE) { stage_validate(...); }`, so that every build compiles these checks.
#ifndef TARN_VALIDATE
#define TARN_VALIDATE 0
#endif

#ifdef __wasm__ // in a page there is nobody to tell
#define tarn_assert_failed(file, line, condition) __builtin_trap()
#else
__attribute__((cold, noreturn)) void tarn_assert_failed(const char *file, int line, const char *condition);
#endif

#endif
