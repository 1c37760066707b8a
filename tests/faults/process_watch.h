/// What a process holds at a moment, and whether that grows.
#ifndef TARN_TESTS_FAULTS_PROCESS_WATCH_H
#define TARN_TESTS_FAULTS_PROCESS_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct process_look {
    uint64_t rss_bytes;    ///< all of its pages in memory
    uint64_t anon_bytes;   ///< of them its own: heap and stacks
    uint64_t shared_bytes; ///< of them memory that it shares, such as black boxes
    unsigned descriptors;
    double cpu_s; ///< of all its threads
} process_look;

/// @return whether the process is there
bool process_look_at(pid_t pid, process_look *look);

/// The straight line through points in time, by least squares. @return its slope, value per unit of `times`; 0 for
/// fewer than two points
double slope_of(const double *times, const double *values, unsigned count);

#endif
