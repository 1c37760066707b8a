/// File descriptors: how many connections there is room for, with enough kept back that a worker can be started again
/// and a tank be moved while all places are taken.
#ifndef TARN_SERVER_GATEWAY_DESCRIPTORS_H
#define TARN_SERVER_GATEWAY_DESCRIPTORS_H

#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>

/// Raises the process's soft limit as far as it is needed and allowed. To be called once, before workers are spawned.
/// @param are_kept  the tanks, in files
/// @param connections_max  on success 1..TARN_GATEWAY_CONNECTIONS_MAX
/// @param why  on failure a sentence  @return TARN_OK, or TARN_E_LIMIT: there are too few to serve anybody
tarn_status tarn_descriptors_plan(uint32_t worker_count, uint32_t sessions_max, bool are_kept,
                                  uint32_t *connections_max, tarn_text why);

#endif
