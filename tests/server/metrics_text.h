/// A strict reader of Prometheus' text format: stricter than Prometheus, so that nothing depends on its leniency.
/// Each metric has its HELP, its TYPE and then all its samples; names follow the conventions (counters end in _total,
/// base units); no sample comes twice; histograms are cumulative and end in +Inf, which is their count.
#ifndef TARN_TESTS_SERVER_METRICS_TEXT_H
#define TARN_TESTS_SERVER_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/// @param why  receives what is wrong, and in which line, where the result is false
bool metrics_text_check(const char *text, char *why, size_t why_bytes);

/// Whether there is a sample of this name, whatever its labels.
bool metrics_text_has(const char *text, const char *name);

#endif
