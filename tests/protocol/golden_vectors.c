#include "tests/protocol/golden_vectors.h"

#include "tests/protocol/golden_messages.h"
#include "tests/protocol/golden_streams.h"

#include <string.h>

int golden_count(void)
{
    return golden_stream_count() + golden_message_count();
}

bool golden_make(int index, golden_vector *vector)
{
    memset(vector, 0, sizeof *vector);
    if (index < golden_stream_count()) {
        vector->kind = GOLDEN_STREAM;
        vector->name = golden_stream_name(index);
        vector->byte_count = golden_stream_encode(index, vector->bytes, GOLDEN_BYTES_MAX);
        return vector->byte_count > 0;
    }
    tarn_message message;
    vector->kind = GOLDEN_MESSAGE;
    vector->name = golden_message(index - golden_stream_count(), &message);
    return tarn_message_write(&message, vector->bytes, GOLDEN_BYTES_MAX, &vector->byte_count) == TARN_OK;
}
