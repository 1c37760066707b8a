// Any bytes as the archive of a scene; the first says in what pieces they come. What is taken is a sound pack, and
// written as an archive it is read again.
#include "server/scene/archive.h"
#include "tests/fuzz/fuzz_parts.h"

#include <stdlib.h>
#include <string.h>

static tarn_status read_archive(const uint8_t *bytes, size_t byte_count, size_t piece, tarn_scene_pack *pack)
{
    char why[TARN_SCENE_ARCHIVE_WHY_BYTES] = "";
    byte_source source = {bytes, byte_count, piece};
    const tarn_status status = tarn_scene_archive_read(byte_source_read, &source, pack, why, sizeof why);
    require(status == TARN_OK ? why[0] == 0 : why[0] != 0 && strpbrk(why, "\n\r\x1b") == NULL);
    return status;
}

/// Heads with a right sum get further than the fuzzer would.
static void mend(uint8_t *bytes, size_t byte_count)
{
    enum { BLOCK = TARN_SCENE_ARCHIVE_BLOCK_BYTES, SUM_AT = 148 };
    for (size_t at = 0; byte_count - at >= BLOCK; at += BLOCK) {
        uint8_t *block = bytes + at;
        unsigned sum = 0;
        if (memcmp(block + 257, "ustar", 5) != 0) {
            continue;
        }
        memset(block + SUM_AT, ' ', 8);
        for (int i = 0; i < BLOCK; i++) {
            sum += block[i];
        }
        for (int digit = 5; digit >= 0; digit--, sum >>= 3) {
            block[SUM_AT + digit] = (uint8_t)('0' + (sum & 7));
        }
        block[SUM_AT + 6] = 0;
    }
}

static void check(const uint8_t *bytes, size_t byte_count, size_t piece)
{
    tarn_scene_pack pack = {0}, again = {0};
    uint8_t *written = NULL;
    size_t written_bytes = 0;
    if (read_archive(bytes, byte_count, piece, &pack) == TARN_OK) {
        require(tarn_scene_pack_sound(pack.bytes, pack.byte_count));
        const tarn_status status =
            tarn_scene_archive_write(pack.bytes, pack.byte_count, SIZE_MAX, &written, &written_bytes);
        require(status == TARN_OK || status == TARN_E_LIMIT);
        if (status == TARN_OK) {
            require(read_archive(written, written_bytes, SIZE_MAX, &again) == TARN_OK);
            require(again.byte_count == pack.byte_count && memcmp(again.bytes, pack.bytes, pack.byte_count) == 0);
        }
        free(written);
    }
    tarn_scene_pack_free(&pack);
    tarn_scene_pack_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    if (byte_count < 1) {
        return 0;
    }
    const size_t piece = (size_t)bytes[0] + 1, count = byte_count - 1;
    check(bytes + 1, count, piece);
    uint8_t *mended = malloc(count + 1);
    require(mended != NULL);
    memcpy(mended, bytes + 1, count);
    mend(mended, count);
    check(mended, count, piece);
    free(mended);
    return 0;
}
