/// A group's levels as the tests' encoder writes them.
#ifndef TARN_TESTS_PROTOCOL_MODEL_LEVELS_H
#define TARN_TESTS_PROTOCOL_MODEL_LEVELS_H

#include "protocol/stream.h"
#include "tests/protocol/model_bytes.h"

#include <stdbool.h>

typedef struct model_levels {
    uint32_t count, form;                                      ///< of the group: 1..7
    bool forgets;                                              ///< what is expected doesn't go by the level before
    int32_t truth[TARN_STREAM_GROUP], last[TARN_STREAM_GROUP]; ///< last: -1: it has none
    uint8_t levels[TARN_STREAM_GROUP];                         ///< that a decoder has then
} model_levels;

/// Appends the group's stream, as it is where that takes less; nothing for none.
void model_levels_write(model_levels *group, const tarn_code_tables *tables, model_bytes *bytes);

#endif
