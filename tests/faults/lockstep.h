/// Two servers whose tanks are stepped by the same inputs, one step at a time: to one of them something happens, and
/// afterwards the water must be the same, bit for bit.
#ifndef TARN_TESTS_FAULTS_LOCKSTEP_H
#define TARN_TESTS_FAULTS_LOCKSTEP_H

#include "tests/faults/strikes.h"

#include <stdint.h>

enum { LOCKSTEP_TANKS = 3 };

typedef struct lockstep_result {
    int moments;           ///< at which it happened
    double *back_s;        ///< of each, until every tank has shown a frame again; lockstep_free
    uint64_t inputs;       ///< sent to the tanks that were hurt
    uint32_t inputs_lost;  ///< steps that were asked for and not made, or made twice
    uint32_t viewers_gone; ///< whose connection ended
    uint32_t workers_lost; ///< that ended
    uint32_t tanks_differ; ///< whose water, bodies, walls or parameters differ from the other server's in the end
} lockstep_result;

void lockstep_run(const server_fault *fault, int moments, unsigned seed, lockstep_result *result);

void lockstep_free(lockstep_result *result);

#endif
