// Buckets by power of two and equal parts of it: start at bucket_of.
#include "server/tool/load/load_histogram.h"

#include <math.h>

enum { PARTS = 1 << LOAD_HISTOGRAM_PARTS_LOG2 };

/// Times below PARTS have a bucket each; above, each power of two has PARTS.
static uint32_t bucket_of(uint64_t ns)
{
    if (ns < PARTS) {
        return (uint32_t)ns;
    }
    uint32_t power = 63 - (uint32_t)__builtin_clzll(ns), shift = power - LOAD_HISTOGRAM_PARTS_LOG2;
    return ((shift + 1) << LOAD_HISTOGRAM_PARTS_LOG2) + (uint32_t)((ns >> shift) - PARTS);
}

static uint64_t middle_of(uint32_t bucket)
{
    if (bucket < PARTS) {
        return bucket;
    }
    uint32_t shift = (bucket >> LOAD_HISTOGRAM_PARTS_LOG2) - 1;
    uint64_t first = (uint64_t)(PARTS + (bucket & (PARTS - 1))) << shift;
    return first + (((uint64_t)1 << shift) >> 1);
}

void load_histogram_add(load_histogram *histogram, uint64_t ns)
{
    histogram->count++;
    histogram->sum_ns += ns;
    if (ns > histogram->max_ns) {
        histogram->max_ns = ns;
    }
    histogram->buckets[bucket_of(ns)]++;
}

uint64_t load_histogram_at(const load_histogram *histogram, double share)
{
    uint64_t rank = (uint64_t)ceil(share * (double)histogram->count), seen = 0;
    for (uint32_t i = 0; i < LOAD_HISTOGRAM_BUCKETS && histogram->count > 0; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank && seen > 0) {
            uint64_t ns = middle_of(i);
            return ns < histogram->max_ns ? ns : histogram->max_ns;
        }
    }
    return histogram->max_ns;
}
