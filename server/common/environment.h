/// The environment that the programs read: TARN_NAME for each of tarnd's options, TARN_SCENES by all of them. A name
/// that none of them knows would act on nothing without a word. tarnd and tarn look when they start; tarn-worker has
/// tarnd's environment.
#ifndef TARN_SERVER_COMMON_ENVIRONMENT_H
#define TARN_SERVER_COMMON_ENVIRONMENT_H

#include <stdint.h>

/// Calls for each variable TARN_... that no program knows, a few at most, with a sentence that names it and the one
/// that was perhaps meant. Those that begin with TARN_TEST_ are the tests' own.
void tarn_environment_check(void (*say)(const char *sentence));

/// The name that a word comes nearest to. @return NULL: none is within two letters put in, taken out or changed
const char *tarn_nearest_name(const char *word, const char *const *names, uint32_t count);

#endif
