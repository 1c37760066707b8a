/// Times, counted in buckets whose width is a hundredth of where they lie, so that percentiles of a long run cost no
/// memory.
#ifndef TARN_SERVER_TOOL_LOAD_HISTOGRAM_H
#define TARN_SERVER_TOOL_LOAD_HISTOGRAM_H

#include <stdint.h>

enum {
    LOAD_HISTOGRAM_PARTS_LOG2 = 7, ///< buckets of each power of two
    LOAD_HISTOGRAM_BUCKETS = (64 - LOAD_HISTOGRAM_PARTS_LOG2 + 1) << LOAD_HISTOGRAM_PARTS_LOG2,
};

/// All zero: empty.
typedef struct load_histogram {
    uint64_t count, sum_ns, max_ns;
    uint32_t buckets[LOAD_HISTOGRAM_BUCKETS];
} load_histogram;

void load_histogram_add(load_histogram *histogram, uint64_t ns);

/// The time that a share of what was counted doesn't exceed, 0 < share <= 1: the middle of its bucket, and never more
/// than the largest. @return nanoseconds; 0 where nothing was counted
uint64_t load_histogram_at(const load_histogram *histogram, double share);

#endif
