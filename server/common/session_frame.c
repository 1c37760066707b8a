// Fields in one walk for both directions, and zstd around them. Begin at tarn_session_unpack.
#include "server/common/session_frame.h"
#include "protocol/assert.h"
#include "protocol/message_text.h"
#include "server/common/black_box_layout.h"
#include "server/common/byte_codec.h"

#include <string.h>
#include <zstd.h>

/// Whether a name and a title are what a server gives and takes elsewhere: they go into paths, addresses and pages.
static bool are_sound(const tarn_session_about *about)
{
    const size_t length = strlen(about->name);
    return length > 0 && strspn(about->name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length &&
           tarn_text_fault((const uint8_t *)about->title, strlen(about->title)) == NULL && about->begun_as[0] != 0;
}

static void about_fields(byte_codec *codec, tarn_session_about *about)
{
    char *const texts[] = {about->name, about->title, about->begun_as};
    const uint32_t rooms[] = {sizeof about->name, sizeof about->title, sizeof about->begun_as};
    for (int i = 0; i < 3; i++) {
        uint32_t length = (uint32_t)strnlen(texts[i], rooms[i]);
        count_up_to(codec, &length, rooms[i] - 1);
        uint8_t *at = advance(codec, codec->status == TARN_OK ? length : 0);
        if (at != NULL && codec->writing) {
            memcpy(at, texts[i], length);
        } else if (at != NULL) {
            memcpy(texts[i], at, length);
            texts[i][length] = 0;
            refuse_when(codec, strlen(texts[i]) != length);
        }
    }
    for (int i = 0; i < TARN_SESSION_SALT_BYTES; i++) {
        u8_up_to(codec, &about->salt[i], 255);
    }
    count_up_to(codec, &about->guests, TARN_ROLE_COUNT - 1);
    uint8_t is_kept = about->is_kept, is_listed = about->is_listed;
    u8_up_to(codec, &is_kept, 1);
    u8_up_to(codec, &is_listed, 1);
    about->is_kept = is_kept != 0;
    about->is_listed = is_listed != 0;
    if (!codec->writing && codec->at == codec->end) {
        return; // of a server before there were locks
    }
    uint8_t open_parameters = about->open_parameters;
    count_up_to(codec, &about->locked, (1u << TARN_LOCKS_MAX) - 1);
    u8_up_to(codec, &open_parameters, 1);
    about->open_parameters = open_parameters != 0;
    if (!codec->writing && codec->at == codec->end) {
        return; // of a server before the speed was kept
    }
    f32(codec, &about->speed);
    refuse_when(codec, about->speed != 0.0f && !(about->speed >= TARN_SPEED_MIN && about->speed <= TARN_SPEED_MAX));
}

size_t tarn_session_about_write(const tarn_session_about *about, uint8_t *bytes)
{
    tarn_session_about copy = *about;
    byte_codec codec = {.at = bytes, .end = bytes + TARN_SESSION_ABOUT_BYTES_MAX, .writing = true};
    about_fields(&codec, &copy);
    TARN_ASSERT(codec.status == TARN_OK);
    return (size_t)(codec.at - bytes);
}

tarn_status tarn_session_about_read(const uint8_t *bytes, size_t byte_count, tarn_session_about *about)
{
    byte_codec codec = {.at = (uint8_t *)bytes, .end = (uint8_t *)bytes + byte_count}; // which are only read
    memset(about, 0, sizeof *about);
    about_fields(&codec, about);
    refuse_when(&codec, codec.at != codec.end || (codec.status == TARN_OK && !are_sound(about)));
    return codec.status;
}

static void head_fields(byte_codec *codec, tarn_session_head *head, bool is_state)
{
    uint32_t layout = TARN_BLACK_BOX_RECORDS;
    uint64_t state = (uint64_t)head->state;
    u32(codec, &layout);
    refuse_when(codec, layout != TARN_BLACK_BOX_RECORDS && layout != TARN_BLACK_BOX_RECORDS_OLD);
    u64(codec, &state);
    head->state = (int64_t)state;
    u32(codec, &head->epoch);
    u32(codec, &head->number);
    if (!is_state) {
        return;
    }
    u64(codec, &head->step);
    u64(codec, &head->state_bytes_max);
    refuse_when(codec, head->state_bytes_max == 0 || head->state_bytes_max > TARN_IPC_STATE_BYTES_MAX);
    uint32_t length = (uint32_t)strnlen(head->scene, TARN_IPC_SCENE_BYTES_MAX);
    count_up_to(codec, &length, TARN_IPC_SCENE_BYTES_MAX);
    uint8_t *at = advance(codec, codec->status == TARN_OK ? length : 0);
    if (at != NULL && codec->writing) {
        memcpy(at, head->scene, length);
    } else if (at != NULL) {
        memcpy(head->scene, at, length);
        head->scene[length] = 0;
        refuse_when(codec, strlen(head->scene) != length);
    }
}

size_t tarn_session_head_write(const tarn_session_head *head, bool is_state, uint8_t *bytes)
{
    tarn_session_head copy = *head;
    byte_codec codec = {.at = bytes, .end = bytes + TARN_SESSION_HEAD_BYTES_MAX, .writing = true};
    head_fields(&codec, &copy, is_state);
    TARN_ASSERT(codec.status == TARN_OK);
    return (size_t)(codec.at - bytes);
}

/// @return whether the head is one of that row
static bool read_head(const uint8_t *bytes, size_t byte_count, int64_t row, bool is_state, tarn_session_head *head,
                      const uint8_t **content, size_t *content_bytes)
{
    byte_codec codec = {.at = (uint8_t *)bytes, .end = (uint8_t *)bytes + byte_count}; // which are only read
    memset(head, 0, sizeof *head);
    head_fields(&codec, head, is_state);
    *content = codec.at;
    *content_bytes = (size_t)(codec.end - codec.at);
    return codec.status == TARN_OK && head->state == row;
}

tarn_status tarn_session_state_read(const uint8_t *bytes, size_t byte_count, int64_t row, tarn_session_head *head,
                                    const uint8_t **content, size_t *content_bytes)
{
    const bool is_state = read_head(bytes, byte_count, row, true, head, content, content_bytes) && *content_bytes > 0 &&
                          *content_bytes <= head->state_bytes_max && head->scene[0] != 0;
    return is_state ? TARN_OK : TARN_E_MALFORMED;
}

tarn_status tarn_session_batch_read(const uint8_t *bytes, size_t byte_count, int64_t row, tarn_session_head *head,
                                    const uint8_t **content, size_t *content_bytes)
{
    const bool is_batch = read_head(bytes, byte_count, row, false, head, content, content_bytes) &&
                          tarn_box_log_whole(*content, *content_bytes) == *content_bytes;
    return is_batch ? TARN_OK : TARN_E_MALFORMED;
}

static tarn_status unpack(const void *packed, size_t packed_bytes, tarn_box_bytes *plain)
{
    const unsigned long long bytes =
        packed != NULL ? ZSTD_getFrameContentSize(packed, packed_bytes) : ZSTD_CONTENTSIZE_ERROR;
    plain->count = 0;
    if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN ||
        bytes > (size_t)TARN_SESSION_FRAME_BYTES_MAX) {
        return TARN_E_MALFORMED;
    }
    if (tarn_box_bytes_make_room(plain, (size_t)bytes) != TARN_OK) {
        return TARN_E_MEMORY;
    }
    const size_t got = ZSTD_decompress(plain->bytes, plain->room, packed, packed_bytes);
    if (ZSTD_isError(got) || got != bytes) {
        return TARN_E_MALFORMED;
    }
    plain->count = got;
    return TARN_OK;
}

static const uint8_t sorted_mark[TARN_SESSION_SORTED_BYTES] = {'T', 'S', 'o', '1'};

void tarn_session_mark_sorted(uint8_t mark[TARN_SESSION_SORTED_BYTES])
{
    memcpy(mark, sorted_mark, sizeof sorted_mark);
}

// The bytes behind the last whole word stay as they are.
void tarn_session_sort(const uint8_t *plain, size_t byte_count, uint8_t *sorted)
{
    const size_t words = byte_count / 4;
    uint8_t before[4] = {0};
    for (size_t i = 0; i < words; i++) {
        for (size_t k = 0; k < 4; k++) {
            sorted[k * words + i] = plain[4 * i + k] ^ before[k];
            before[k] = plain[4 * i + k];
        }
    }
    memcpy(sorted + 4 * words, plain + 4 * words, byte_count - 4 * words);
}

static void put_in_order(const uint8_t *sorted, size_t byte_count, uint8_t *plain)
{
    const size_t words = byte_count / 4;
    uint8_t before[4] = {0};
    for (size_t i = 0; i < words; i++) {
        for (size_t k = 0; k < 4; k++) {
            before[k] ^= sorted[k * words + i];
            plain[4 * i + k] = before[k];
        }
    }
    memcpy(plain + 4 * words, sorted + 4 * words, byte_count - 4 * words);
}

static tarn_status unpack_sorted(const uint8_t *packed, size_t packed_bytes, tarn_box_bytes *plain)
{
    tarn_box_bytes sorted = {0};
    tarn_status status = unpack(packed, packed_bytes, &sorted);
    if (status == TARN_OK) {
        status = tarn_box_bytes_make_room(plain, sorted.count);
    }
    if (status == TARN_OK) {
        put_in_order(sorted.bytes, sorted.count, plain->bytes);
        plain->count = sorted.count;
    }
    tarn_box_bytes_free(&sorted);
    return status;
}

tarn_status tarn_session_unpack(const void *packed, size_t packed_bytes, tarn_box_bytes *plain)
{
    plain->count = 0;
    const bool is_sorted = packed_bytes > sizeof sorted_mark && memcmp(packed, sorted_mark, sizeof sorted_mark) == 0;
    return is_sorted
               ? unpack_sorted((const uint8_t *)packed + sizeof sorted_mark, packed_bytes - sizeof sorted_mark, plain)
               : unpack(packed, packed_bytes, plain);
}
