/// The environment that the programs read: TARN_NAME for each of tarnd's options, TARN_SCENES by all of them. A name
/// that none of them knows would act on nothing without a word. tarnd and tarn look when they start; tarn-worker has
/// tarnd's environment.
#ifndef TARN_SERVER_COMMON_ENVIRONMENT_H
#define TARN_SERVER_COMMON_ENVIRONMENT_H

/// Calls for each variable TARN_... that no program knows, a few at most, with a sentence that names it and the one
/// that was perhaps meant. Those that begin with TARN_TEST_ are the tests' own.
void tarn_environment_check(void (*say)(const char *sentence));

#endif
