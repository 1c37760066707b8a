/// Particles that move for the stream's tests: a swirl with some noise, in whole numbers, seeded.
#ifndef TARN_TESTS_PROTOCOL_STREAM_SWARM_H
#define TARN_TESTS_PROTOCOL_STREAM_SWARM_H

#include "tests/protocol/stream_model.h"

typedef struct stream_swarm {
    uint16_t cells[3];
    uint32_t count;
    model_particle *particles;
    uint64_t seed;
    int32_t noise; ///< of a step, along each axis, up to so many 1/1024 cell
} stream_swarm;

/// Particles anywhere in the tank, in layers and colours by chance. Never fails: ends the program when memory is out.
void stream_swarm_make(stream_swarm *swarm, const tarn_stream_head *head, uint32_t count, uint64_t seed);

void stream_swarm_free(stream_swarm *swarm);

/// Moves them all by some steps: they turn around the tank's middle, and stay inside.
void stream_swarm_step(stream_swarm *swarm, uint32_t steps);

/// Lets so many of the particles, picked by chance, die, and as many others come into being, some with another colour.
void stream_swarm_renew(stream_swarm *swarm, uint32_t count);

#endif
