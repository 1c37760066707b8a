#include "tests/bench/fanout_pair.h"

#include <stdio.h>
#include <stdlib.h>

void fanout_stamp(uint8_t *frame, uint32_t epoch, uint64_t step)
{
    for (int i = 0; i < 4; i++)
        frame[FANOUT_EPOCH_AT + i] = (uint8_t)(epoch >> 8 * i);
    for (int i = 0; i < 8; i++)
        frame[FANOUT_STEP_AT + i] = (uint8_t)(step >> 8 * i);
}

void fanout_frame_read(const char *path, size_t room_bytes, fanout_frame *frame)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    uint8_t *memory = malloc(room_bytes + FANOUT_FRAME_BYTES_MAX);
    if (!file || !memory) {
        fprintf(stderr, "bench_fanout: the frame %s cannot be read\n", path ? path : "");
        exit(1);
    }
    frame->bytes = memory + room_bytes;
    frame->byte_count = fread(frame->bytes, 1, FANOUT_FRAME_BYTES_MAX, file);
    fclose(file);
}
