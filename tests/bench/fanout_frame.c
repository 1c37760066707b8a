#include "protocol/stream_layout.h"
#include "tests/bench/fanout_pair.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/// Reads the next frame of a file. @return false where there is none
static bool read_frame(FILE *file, size_t room_bytes, fanout_frame *frame)
{
    uint8_t size[FANOUT_SIZE_BYTES];
    if (fread(size, sizeof size, 1, file) != 1) {
        return false;
    }
    frame->byte_count = get_u32(size);
    uint8_t *memory = frame->byte_count <= FANOUT_FRAME_BYTES_MAX ? malloc(room_bytes + frame->byte_count) : NULL;
    if (memory == NULL) {
        return false;
    }
    frame->bytes = memory + room_bytes;
    return fread(frame->bytes, 1, frame->byte_count, file) == frame->byte_count;
}

void fanout_read(const char *path, size_t room_bytes, fanout_player *player)
{
    FILE *file = path != NULL ? fopen(path, "rb") : NULL;
    *player = (fanout_player){0};
    for (int i = 0; i < FANOUT_FRAMES; i++) {
        if (file == NULL || !read_frame(file, room_bytes, &player->frames[i])) {
            fprintf(stderr, "bench_fanout: the frames of %s cannot be read\n", path != NULL ? path : "no file");
            exit(1);
        }
    }
    fclose(file);
}

const fanout_frame *fanout_next(fanout_player *player, uint32_t epoch)
{
    const fanout_frame *frame = &player->frames[player->next];
    const uint8_t kind = frame->bytes[STREAM_AT_KIND];
    player->next = (player->next + 1) % FANOUT_FRAMES;
    player->number++;
    put_u32(frame->bytes + STREAM_AT_EPOCH, epoch);
    put_u64(frame->bytes + STREAM_AT_STEP, player->number);
    put_u32(frame->bytes + STREAM_AT_NUMBER, player->number);
    put_u32(frame->bytes + STREAM_AT_REFERENCE, kind == TARN_STREAM_KEY ? player->number : player->reference);
    if (kind != TARN_STREAM_EXTRA) {
        player->reference = player->number;
    }
    return frame;
}
