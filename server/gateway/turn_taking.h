/// Bounding how often something may be done (the generic cell rate algorithm).
#ifndef TARN_SERVER_GATEWAY_TURN_TAKING_H
#define TARN_SERVER_GATEWAY_TURN_TAKING_H

#include <stdbool.h>
#include <stdint.h>

/// Takes one of what comes every `every_ms` in the long run, and `burst` at once.
/// @param due_ns  up to when they are used up; starts as 0  @return false: not now
bool tarn_turn_allow(uint64_t *due_ns, uint32_t every_ms, uint32_t burst);

#endif
