/// Allocations that fail: one thing is done again and again, and each time another call of those that it takes fails,
/// from the first to the last. Others look on meanwhile.
#ifndef TARN_TESTS_FAULTS_STARVED_H
#define TARN_TESTS_FAULTS_STARVED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct starved_result {
    uint32_t calls;         ///< that failed
    uint32_t refused;       ///< times that what was done didn't come to be; else the program did without
    uint32_t unserved;      ///< times that it couldn't be done right after, with all calls at work
    bool takes_none;        ///< nothing is asked for in what was done, nor may be
    uint32_t crashes;       ///< of a program
    uint32_t others_hurt;   ///< times that somebody else's connection ended, or frames stayed away
    int64_t pieces_left;    ///< of memory, in the end
    int64_t libraries_left; ///< the same of libraries that are known for it
} starved_result;

/// What can be done.
typedef struct starved_act {
    const char *name, *what;
    void (*run)(const struct starved_act *act, uint32_t stride, unsigned seed, starved_result *result);
    uint32_t stride, stride_short; ///< every so manieth call fails in the long run, and in a short one
} starved_act;

extern const starved_act starved_acts[];
extern const uint32_t starved_act_count;

/// @param stride  every so manieth call fails, 1: each  @param result  zeros before
void starved_run(const starved_act *act, uint32_t stride, unsigned seed, starved_result *result);

/// Whether it holds: nothing crashed or is left, nobody else noticed, and it can be done again.
bool starved_holds(const starved_result *result);

#endif
