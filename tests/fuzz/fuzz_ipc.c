// The socketpair's reader on any bytes, in pieces of any size: the first byte says how large. What it accepts must be
// writable again.
#include "server/base/ipc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

enum { FRAME_BYTES_MAX = 1 << 16 };

static uint8_t frame_space[FRAME_BYTES_MAX];

static tarn_status on_message(void *user, const tarn_ipc_message *message)
{
    static uint8_t again[TARN_IPC_HEADER_BYTES + TARN_IPC_PAYLOAD_BYTES_MAX];
    size_t count;
    (void)user;
    if (tarn_ipc_write(message, again, sizeof again, &count) != TARN_OK) {
        abort();
    }
    return TARN_OK;
}

static uint8_t *on_frame_space(void *user, uint32_t tank, uint32_t frame_bytes)
{
    (void)user;
    (void)tank;
    return frame_bytes <= FRAME_BYTES_MAX ? frame_space : NULL;
}

static tarn_status on_frame(void *user, uint32_t tank, uint32_t frame_bytes)
{
    (void)user;
    (void)tank;
    return frame_bytes <= FRAME_BYTES_MAX ? TARN_OK : TARN_E_LIMIT;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    static tarn_ipc_reader reader;
    const tarn_ipc_sink sink = {NULL, on_message, on_frame_space, on_frame};
    if (byte_count == 0) {
        return 0;
    }
    size_t piece = (size_t)bytes[0] * 16 + 1;
    bytes++;
    byte_count--;
    tarn_ipc_reader_init(&reader, &sink);
    while (byte_count > 0) {
        size_t room;
        uint8_t *space = tarn_ipc_reader_space(&reader, &room);
        size_t count = byte_count < piece ? byte_count : piece;
        if (count > room) {
            count = room;
        }
        memcpy(space, bytes, count);
        if (tarn_ipc_reader_commit(&reader, count) != TARN_OK) {
            return 0;
        }
        bytes += count;
        byte_count -= count;
    }
    return 0;
}
