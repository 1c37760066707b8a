#include "tests/protocol/stream_receiver.h"

#include <stdlib.h>
#include <string.h>

static void *need(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

void stream_receiver_make(stream_receiver *r, const tarn_stream_size *size)
{
    *r = (stream_receiver){.size = *size, .memory = need(tarn_stream_bytes(size))};
    r->stream = tarn_stream_make(r->memory, size);
    r->particles.particles_max = size->slots;
    r->particles.positions = need(4 * sizeof(uint16_t) * (size_t)size->slots);
    r->particles.velocities = need((size_t)4 * size->slots);
}

void stream_receiver_free(stream_receiver *r)
{
    free(r->memory);
    free(r->particles.positions);
    free(r->particles.velocities);
    *r = (stream_receiver){0};
}

tarn_status stream_receiver_take(stream_receiver *r, const uint8_t *bytes, size_t byte_count)
{
    uint8_t *alone = need(byte_count);
    memcpy(alone, bytes, byte_count);
    tarn_status status = tarn_stream_open(alone, byte_count, &r->frame);
    if (status == TARN_OK) {
        status = tarn_stream_decode(r->stream, &r->frame, &r->particles);
    }
    free(alone);
    return status;
}

bool stream_receiver_make_for(stream_receiver *r, const uint8_t *key, size_t byte_count)
{
    tarn_stream_frame frame;
    if (tarn_stream_open(key, byte_count, &frame) != TARN_OK) {
        return false;
    }
    const tarn_stream_size size = tarn_stream_size_of(&frame);
    stream_receiver_make(r, &size);
    return true;
}

uint64_t stream_receiver_add(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    }
    return hash;
}

uint64_t stream_receiver_hash(const stream_receiver *r)
{
    uint64_t hash = STREAM_RECEIVER_HASH;
    for (size_t i = 0; i < 4 * (size_t)r->particles.count; i += 4) {
        for (size_t k = i; k < i + 4; k++) {
            const uint8_t bytes[2] = {(uint8_t)r->particles.positions[k], (uint8_t)(r->particles.positions[k] >> 8)};
            hash = stream_receiver_add(hash, bytes, 2);
        }
        hash = stream_receiver_add(hash, r->particles.velocities + i, 4);
    }
    return hash;
}
