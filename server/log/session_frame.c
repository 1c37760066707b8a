// Fields in one walk for both directions, and zstd around them. Begin at about_fields and head_fields, then
// tarn_session_unpack.
#include "server/log/session_frame.h"
#include "protocol/assert.h"
#include "protocol/message_text.h"
#include "server/base/bytes.h"
#include "server/base/ipc.h"
#include "server/log/black_box.h"

#include <string.h>
#include <zstd.h>

// ---- fields ----

/// Whether a name and a title are what a server gives and takes elsewhere: they go into paths, addresses and pages.
static bool are_sound(const tarn_session_about *about)
{
    const size_t length = strlen(about->name);
    return length > 0 && strspn(about->name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length &&
           tarn_text_fault((const uint8_t *)about->title, strlen(about->title)) == NULL && about->begun_as[0] != 0;
}

static void text(byte_codec *codec, char *value, uint32_t room)
{
    uint32_t length = (uint32_t)strnlen(value, room);
    count_up_to(codec, &length, room - 1);
    uint8_t *at = advance(codec, codec->status == TARN_OK ? length : 0);
    if (at != NULL && codec->writing) {
        memcpy(at, value, length);
    } else if (at != NULL) {
        memcpy(value, at, length);
        value[length] = 0;
        refuse_when(codec, strlen(value) != length);
    }
}

static void probe_fields(byte_codec *codec, tarn_session_probe *probe)
{
    probe_shows(codec, &probe->shows);
    u8_up_to(codec, &probe->is_scenes, 1);
    probe_place(codec, probe->at_m, probe->to_m);
    text(codec, probe->label, sizeof probe->label);
    probe_label_check(codec, probe->label);
}

static void about_fields(byte_codec *codec, tarn_session_about *about)
{
    text(codec, about->name, sizeof about->name);
    text(codec, about->title, sizeof about->title);
    text(codec, about->begun_as, sizeof about->begun_as);
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
    count_up_to(codec, &about->locked, (1u << TARN_LOCK_BITS) - 1);
    u8_up_to(codec, &open_parameters, 1);
    about->open_parameters = open_parameters != 0;
    if (!codec->writing && codec->at == codec->end) {
        return; // of a server before the speed was kept
    }
    f32(codec, &about->speed);
    refuse_when(codec, about->speed != 0.0f && !(about->speed >= TARN_SPEED_MIN && about->speed <= TARN_SPEED_MAX));
    if (!codec->writing && codec->at == codec->end) {
        return; // of a server before probes were kept
    }
    text(codec, about->probes_scene, sizeof about->probes_scene);
    count_up_to(codec, &about->probe_count, TARN_LIVE_PROBES_MAX);
    for (uint32_t i = 0; codec->status == TARN_OK && i < about->probe_count; i++) {
        probe_fields(codec, &about->probes[i]);
    }
    if (!codec->writing && codec->at == codec->end) {
        return; // of a server before forces' solids were kept
    }
    for (uint32_t i = 0; codec->status == TARN_OK && i < about->probe_count; i++) {
        probe_solid(codec, &about->probes[i].solid);
    }
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

// ---- frames ----

/// Makes room for what a frame unpacks to. @return TARN_OK, TARN_E_MALFORMED (it says none, or too much) or
/// TARN_E_MEMORY
static tarn_status make_room_for(const void *packed, size_t packed_bytes, tarn_box_bytes *plain,
                                 unsigned long long *bytes)
{
    *bytes = packed != NULL ? ZSTD_getFrameContentSize(packed, packed_bytes) : ZSTD_CONTENTSIZE_ERROR;
    plain->count = 0;
    if (*bytes == ZSTD_CONTENTSIZE_ERROR || *bytes == ZSTD_CONTENTSIZE_UNKNOWN ||
        *bytes > (size_t)TARN_SESSION_FRAME_BYTES_MAX) {
        return TARN_E_MALFORMED;
    }
    return tarn_box_bytes_make_room(plain, (size_t)*bytes);
}

static tarn_status unpack(const void *packed, size_t packed_bytes, tarn_box_bytes *plain)
{
    unsigned long long bytes;
    const tarn_status status = make_room_for(packed, packed_bytes, plain, &bytes);
    if (status != TARN_OK) {
        return status;
    }
    const size_t got = ZSTD_decompress(plain->bytes, plain->room, packed, packed_bytes);
    if (ZSTD_isError(got) || got != bytes) {
        return TARN_E_MALFORMED;
    }
    plain->count = got;
    return TARN_OK;
}

// ---- frames whose bytes are sorted ----

static const uint8_t sorted_mark[TARN_SESSION_SORTED_BYTES] = {'T', 'S', 'o', '1'};

void tarn_session_mark_sorted(uint8_t mark[TARN_SESSION_SORTED_BYTES])
{
    memcpy(mark, sorted_mark, sizeof sorted_mark);
}

enum { PIECE_BYTES = 1 << 16 };

/// What is packed: two pieces of memory as if they were one. Of its words all first bytes come first, then all second
/// ones and so on; the bytes behind the last whole word stay as they are.
typedef struct sorted_walk {
    const uint8_t *head, *behind;
    size_t head_bytes, byte_count; // the latter of both
} sorted_walk;

static uint8_t byte_at(const sorted_walk *walk, size_t at)
{
    return at < walk->head_bytes ? walk->head[at] : walk->behind[at - walk->head_bytes];
}

/// The k-th bytes of some words. @param before  that of the word before; goes on
static void sort_piece(const sorted_walk *walk, size_t k, size_t first, size_t count, uint8_t *before, uint8_t *sorted)
{
    size_t i = 0;
    for (; i < count && 4 * (first + i) < walk->head_bytes; i++) {
        const uint8_t byte = byte_at(walk, 4 * (first + i) + k);
        sorted[i] = byte ^ *before;
        *before = byte;
    }
    if (i == count) {
        return;
    }
    const uint8_t *from = walk->behind + (4 * (first + i) + k - walk->head_bytes);
    uint8_t last = *before;
    for (; i < count; i++, from += 4) {
        sorted[i] = *from ^ last;
        last = *from;
    }
    *before = last;
}

/// @return whether all that was given went into the frame
static bool compress(ZSTD_CCtx *compressor, const uint8_t *bytes, size_t byte_count, ZSTD_EndDirective how,
                     ZSTD_outBuffer *to)
{
    ZSTD_inBuffer from = {bytes, byte_count, 0};
    const size_t left = ZSTD_compressStream2(compressor, to, &from, how);
    return !ZSTD_isError(left) && from.pos == from.size && (how == ZSTD_e_continue || left == 0);
}

static bool pack_all(ZSTD_CCtx *compressor, const sorted_walk *walk, ZSTD_outBuffer *to)
{
    static _Thread_local uint8_t piece[PIECE_BYTES];
    const size_t words = walk->byte_count / 4, rest = walk->byte_count % 4;
    bool goes_on = !ZSTD_isError(ZSTD_CCtx_reset(compressor, ZSTD_reset_session_only)) &&
                   !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(compressor, walk->byte_count));
    for (size_t k = 0; k < 4; k++) {
        uint8_t before = 0;
        for (size_t at = 0; at < words && goes_on; at += PIECE_BYTES) {
            const size_t count = words - at < PIECE_BYTES ? words - at : PIECE_BYTES;
            sort_piece(walk, k, at, count, &before, piece);
            goes_on = compress(compressor, piece, count, ZSTD_e_continue, to);
        }
    }
    for (size_t i = 0; i < rest; i++) {
        piece[i] = byte_at(walk, 4 * words + i);
    }
    return goes_on && compress(compressor, piece, rest, ZSTD_e_end, to);
}

tarn_status tarn_session_pack_sorted(ZSTD_CCtx *compressor, const uint8_t *head, size_t head_bytes,
                                     const tarn_box_bytes *behind, tarn_box_bytes *packed)
{
    const sorted_walk walk = {head, behind->bytes, head_bytes, head_bytes + behind->count};
    // Room that isn't used takes no memory.
    if (tarn_box_bytes_make_room(packed, sizeof sorted_mark + ZSTD_compressBound(walk.byte_count)) != TARN_OK) {
        return TARN_E_MEMORY;
    }
    tarn_session_mark_sorted(packed->bytes);
    ZSTD_outBuffer to = {packed->bytes, packed->room, sizeof sorted_mark};
    packed->count = 0;
    if (!pack_all(compressor, &walk, &to)) {
        return TARN_E_MEMORY;
    }
    packed->count = to.pos;
    return TARN_OK;
}

/// Where bytes that come in the order of their significance belong.
typedef struct sorted_sink {
    uint8_t *plain;
    size_t byte_count, at; // of the former so many have come
    uint8_t before;        // the byte of the same significance of the word before
} sorted_sink;

static void put_in_order(sorted_sink *sink, const uint8_t *sorted, size_t count)
{
    const size_t words = sink->byte_count / 4;
    while (count > 0 && words > 0 && sink->at < 4 * words) {
        const size_t k = sink->at / words, word = sink->at % words, left = words - word,
                     here = count < left ? count : left;
        uint8_t *to = sink->plain + 4 * word + k, last = word == 0 ? 0 : sink->before;
        for (size_t i = 0; i < here; i++, to += 4) {
            *to = last ^= sorted[i];
        }
        sink->before = last;
        sink->at += here;
        sorted += here;
        count -= here;
    }
    if (count > 0) {
        memcpy(sink->plain + sink->at, sorted, count);
    }
    sink->at += count;
}

/// @return whether a whole frame came, of the size that it says
static bool unpack_all(ZSTD_DCtx *unpacker, const uint8_t *packed, size_t packed_bytes, sorted_sink *sink)
{
    static _Thread_local uint8_t piece[PIECE_BYTES];
    ZSTD_inBuffer from = {packed, packed_bytes, 0};
    size_t left = 1;
    while (left != 0) {
        ZSTD_outBuffer to = {piece, sizeof piece, 0};
        const size_t before = from.pos;
        left = ZSTD_decompressStream(unpacker, &to, &from);
        if (ZSTD_isError(left) || to.pos > sink->byte_count - sink->at || (to.pos == 0 && from.pos == before)) {
            return false;
        }
        put_in_order(sink, piece, to.pos);
    }
    return sink->at == sink->byte_count && from.pos == packed_bytes;
}

static tarn_status unpack_sorted(const uint8_t *packed, size_t packed_bytes, tarn_box_bytes *plain)
{
    unsigned long long bytes;
    tarn_status status = make_room_for(packed, packed_bytes, plain, &bytes);
    if (status != TARN_OK) {
        return status;
    }
    ZSTD_DCtx *unpacker = ZSTD_createDCtx();
    sorted_sink sink = {.plain = plain->bytes, .byte_count = (size_t)bytes};
    status = unpacker == NULL                                    ? TARN_E_MEMORY
             : unpack_all(unpacker, packed, packed_bytes, &sink) ? TARN_OK
                                                                 : TARN_E_MALFORMED;
    ZSTD_freeDCtx(unpacker);
    plain->count = status == TARN_OK ? (size_t)bytes : 0;
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
