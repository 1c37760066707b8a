// Run lengths as in Apple's PackBits: a head of 0..127 means that so many bytes and one more follow as they are; one of
// 129..255 that the next byte comes 257 - head times.
#include "protocol/motion_code.h"
#include "protocol/assert.h"

#include <string.h>

enum { HEAD_NONE = 128, RUN_BASE = 257, RUN_MAX = 128, PLAIN_MAX = 128, RUN_WORTH = 3 };

static size_t run_at(const uint8_t *at, size_t left)
{
    const size_t most = left < RUN_MAX ? left : RUN_MAX;
    size_t run = 1;
    while (run < most && at[run] == at[0]) {
        run++;
    }
    return run;
}

/// Bytes from here on that no run is worth leaving out.
static size_t plain_at(const uint8_t *at, size_t left)
{
    const size_t most = left < PLAIN_MAX ? left : PLAIN_MAX;
    size_t plain = 0;
    while (plain < most && run_at(at + plain, left - plain) < RUN_WORTH) {
        plain++;
    }
    return plain;
}

size_t tarn_motion_encode(const uint8_t *planes, size_t count, uint8_t *bytes, size_t bytes_max)
{
    TARN_ASSERT(count > 0 && count <= TARN_MOTION_BYTES_MAX);
    size_t used = 0;
    for (size_t at = 0; at < count;) {
        const size_t plain = plain_at(planes + at, count - at);
        const size_t taken = plain > 0 ? plain : run_at(planes + at, count - at), stored = plain > 0 ? plain : 1;
        if (used + 1 + stored > bytes_max) {
            return 0;
        }
        bytes[used++] = (uint8_t)(plain > 0 ? plain - 1 : RUN_BASE - taken);
        memcpy(bytes + used, planes + at, stored);
        used += stored;
        at += taken;
    }
    return used;
}

tarn_status tarn_motion_decode(const uint8_t *bytes, size_t byte_count, uint8_t *planes, size_t count)
{
    size_t at = 0, made = 0;
    while (at < byte_count) {
        const size_t head = bytes[at++];
        const size_t stored = head < HEAD_NONE ? head + 1 : 1, given = head < HEAD_NONE ? head + 1 : RUN_BASE - head;
        if (head == HEAD_NONE || given > count - made) {
            return TARN_E_MALFORMED;
        }
        if (stored > byte_count - at) {
            return TARN_E_TRUNCATED;
        }
        if (planes != NULL && head < HEAD_NONE) {
            memcpy(planes + made, bytes + at, given);
        } else if (planes != NULL) {
            memset(planes + made, bytes[at], given);
        }
        at += stored;
        made += given;
    }
    return made == count ? TARN_OK : TARN_E_TRUNCATED;
}

bool tarn_motion_has(const uint8_t *bytes, size_t byte_count, size_t from)
{
    size_t at = 0, made = 0;
    while (at < byte_count) {
        const size_t head = bytes[at++];
        const size_t stored = head < HEAD_NONE ? head + 1 : 1, given = head < HEAD_NONE ? head + 1 : RUN_BASE - head;
        TARN_ASSERT(head != HEAD_NONE && stored <= byte_count - at);
        for (size_t i = 0; i < stored; i++) {
            const size_t end = head < HEAD_NONE ? made + i + 1 : made + given;
            if (bytes[at + i] != 0 && end > from) {
                return true;
            }
        }
        at += stored;
        made += given;
    }
    return false;
}
