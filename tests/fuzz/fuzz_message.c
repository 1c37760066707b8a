// Any bytes as a message: reading stays inside the buffer, a refusal says why, and what is taken can be written, read
// again and written to the same bytes.
#include "protocol/message.h"
#include "tests/fuzz/fuzz_parts.h"

#include <stdlib.h>
#include <string.h>

static tarn_viewer_info viewers[TARN_VIEWERS_MAX];
static tarn_presence_point points[TARN_PRESENCES_MAX];

static tarn_status read_all(const uint8_t *bytes, size_t byte_count, tarn_message *message)
{
    tarn_text why = "";
    tarn_status status = tarn_message_read(bytes, byte_count, message, &why);
    require(status == TARN_OK || (why[0] != 0 && memchr(why, 0, sizeof why) != NULL));
    require(tarn_message_read(bytes, byte_count, message, NULL) == status);
    if (status == TARN_OK && message->kind == TARN_MESSAGE_VIEWERS) {
        uint32_t count;
        require(tarn_message_read_viewers(bytes, byte_count, viewers, TARN_VIEWERS_MAX, &count, &why) == TARN_OK);
        require(count == message->viewers.viewer_count);
        message->viewers.viewers = viewers;
    }
    if (status == TARN_OK && message->kind == TARN_MESSAGE_PRESENCES) {
        uint32_t count;
        require(tarn_message_read_presences(bytes, byte_count, points, TARN_PRESENCES_MAX, &count, &why) == TARN_OK);
        require(count == message->presences.point_count);
        message->presences.points = points;
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    static uint8_t first[TARN_MESSAGE_SERVER_BYTES_MAX], second[TARN_MESSAGE_SERVER_BYTES_MAX];
    tarn_message message;
    size_t first_bytes = 0, second_bytes = 0;
    if (read_all(bytes, byte_count, &message)) {
        return 0;
    }
    require(tarn_message_write(&message, first, sizeof first, &first_bytes) == TARN_OK);
    require(read_all(first, first_bytes, &message) == TARN_OK);
    require(tarn_message_write(&message, second, sizeof second, &second_bytes) == TARN_OK);
    require(first_bytes == second_bytes && memcmp(first, second, first_bytes) == 0);
    return 0;
}
