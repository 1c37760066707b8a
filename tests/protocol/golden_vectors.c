#include "tests/protocol/golden_vectors.h"

#include "tests/protocol/golden_frames.h"
#include "tests/protocol/golden_messages.h"
#include "tests/protocol/golden_streams.h"

#include <string.h>

int golden_count(void)
{
    return golden_frame_count + golden_stream_count() + golden_message_count();
}

int golden_make(int index, golden_vector *vector)
{
    memset(vector, 0, sizeof *vector);
    if (index < golden_frame_count) {
        vector->kind = GOLDEN_FRAME;
        vector->name = golden_frames[index].name;
        vector->byte_count = golden_frame_encode(&golden_frames[index], vector->bytes, GOLDEN_BYTES_MAX);
        return vector->byte_count > 0;
    }
    index -= golden_frame_count;
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
