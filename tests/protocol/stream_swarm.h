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

/// A head with everything that the setup needs and the writer accepts, for a tank of so many cells.
tarn_stream_head stream_model_head(uint16_t x, uint16_t y, uint16_t z, uint8_t place_bits, uint8_t layer_count,
                                   uint32_t slots_max, uint32_t flow_tiles_max);

/// Particles anywhere in the tank, in layers and colours by chance. Never fails: ends the program when memory is out.
void stream_swarm_make(stream_swarm *swarm, const tarn_stream_head *head, uint32_t count, uint64_t seed);

void stream_swarm_free(stream_swarm *swarm);

/// Moves them all by some steps: they turn around the tank's middle, and stay inside.
void stream_swarm_step(stream_swarm *swarm, uint32_t steps);

/// Lets so many of the particles, picked by chance, die, and as many others come into being, some with another colour.
void stream_swarm_renew(stream_swarm *swarm, uint32_t count);

/// Gives particles levels: by how high they are, or all anyhow.
void stream_swarm_level(stream_swarm *swarm, bool wild);

#endif
