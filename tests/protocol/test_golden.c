// The golden vectors: today's writers write the committed bytes, today's readers read them as described. No truncation
// of a message is accepted, and no changed byte makes its reader read or write where it must not (ASan watches); what
// becomes of damaged frames is in test_stream_refuse.c.
#include "tests/protocol/golden_vectors.h"
#include "tests/protocol/test_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A file of the golden directory, NUL-terminated. The caller frees it.
static char *read_golden(const char *name, const char *suffix, size_t *byte_count)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", TARN_GOLDEN_DIRECTORY, name, suffix);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s cannot be opened", path);
        return NULL;
    }
    char *bytes = malloc(1 << 20);
    *byte_count = fread(bytes, 1, (1 << 20) - 1, file);
    bytes[*byte_count] = 0;
    fclose(file);
    return bytes;
}

static tarn_status take_in_place(const uint8_t *bytes, size_t byte_count)
{
    tarn_message message;
    tarn_text why = "";
    tarn_status status = tarn_message_read(bytes, byte_count, &message, &why);
    assert_true(status == TARN_OK || why[0] != 0);
    return status;
}

/// The bytes alone in a heap block, so that one byte too far is seen. The caller frees it.
static uint8_t *copy_alone(const uint8_t *bytes, size_t byte_count)
{
    uint8_t *alone = malloc(byte_count ? byte_count : 1);
    memcpy(alone, bytes, byte_count);
    return alone;
}

static tarn_status take(const uint8_t *bytes, size_t byte_count)
{
    uint8_t *alone = copy_alone(bytes, byte_count);
    tarn_status status = take_in_place(alone, byte_count);
    free(alone);
    return status;
}

static void encoders_write_the_committed_bytes(void **context)
{
    (void)context;
    static golden_vector vector;
    for (int i = 0; i < golden_count(); i++) {
        size_t byte_count;
        assert_true(golden_make(i, &vector));
        char *bytes = read_golden(vector.name, ".bin", &byte_count);
        if (byte_count != vector.byte_count || memcmp(bytes, vector.bytes, byte_count) != 0) {
            fail_msg("%s.bin is not what the encoder writes", vector.name);
        }
        free(bytes);
    }
}

/// @param vector  its kind and its name, for the bytes that are committed
static void expect_described(golden_vector *vector)
{
    size_t byte_count, text_bytes;
    char *bytes = read_golden(vector->name, ".bin", &byte_count);
    char *text = read_golden(vector->name, ".json", &text_bytes);
    assert_true(byte_count <= GOLDEN_BYTES_MAX);
    memcpy(vector->bytes, bytes, byte_count);
    vector->byte_count = byte_count;
    char *described = golden_describe(vector);
    assert_non_null(described);
    if (strcmp(described, text) != 0) {
        fail_msg("%s.bin decodes to something else than %s.json", vector->name, vector->name);
    }
    free(bytes);
    free(text);
    free(described);
}

static void decoders_read_the_committed_bytes_as_described(void **context)
{
    (void)context;
    static golden_vector vector;
    for (int i = 0; i < golden_count(); i++) {
        assert_true(golden_make(i, &vector));
        expect_described(&vector);
    }
}

static void decoders_read_frames_of_version_2_as_described(void **context)
{
    (void)context;
    static const char *const names[] = {"version-2/stream-key", "version-2/stream-extra", "version-2/stream-far",
                                        "version-2/stream-colours"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static golden_vector vector;
        vector.kind = GOLDEN_STREAM;
        vector.name = names[i];
        expect_described(&vector);
        assert_int_equal(vector.bytes[4 + 4], 2); // behind the frame's size and magic
    }
}

static void messages_survive_reading_and_writing(void **context)
{
    (void)context;
    static golden_vector vector;
    for (int i = 0; i < golden_count(); i++) {
        assert_true(golden_make(i, &vector));
        if (vector.kind != GOLDEN_MESSAGE) {
            continue;
        }
        tarn_message message;
        tarn_viewer_info viewers[TARN_VIEWERS_MAX];
        tarn_presence_point points[TARN_PRESENCES_MAX];
        tarn_text why;
        uint8_t again[GOLDEN_BYTES_MAX];
        size_t byte_count;
        assert_int_equal(tarn_message_read(vector.bytes, vector.byte_count, &message, &why), TARN_OK);
        if (message.kind == TARN_MESSAGE_VIEWERS) {
            uint32_t count;
            assert_int_equal(
                tarn_message_read_viewers(vector.bytes, vector.byte_count, viewers, TARN_VIEWERS_MAX, &count, &why),
                TARN_OK);
            assert_int_equal(count, message.viewers.viewer_count);
            message.viewers.viewers = viewers;
        }
        if (message.kind == TARN_MESSAGE_PRESENCES) {
            uint32_t count;
            assert_int_equal(
                tarn_message_read_presences(vector.bytes, vector.byte_count, points, TARN_PRESENCES_MAX, &count, &why),
                TARN_OK);
            assert_int_equal(count, message.presences.point_count);
            message.presences.points = points;
        }
        assert_int_equal(tarn_message_write(&message, again, sizeof again, &byte_count), TARN_OK);
        assert_int_equal(byte_count, vector.byte_count);
        assert_memory_equal(again, vector.bytes, byte_count);
    }
}

static void every_truncated_message_is_refused(void **context)
{
    (void)context;
    static golden_vector vector;
    for (int i = 0; i < golden_count(); i++) {
        assert_true(golden_make(i, &vector));
        if (vector.kind != GOLDEN_MESSAGE) {
            continue;
        }
        assert_int_equal(take(vector.bytes, vector.byte_count), TARN_OK);
        for (size_t cut = 0; cut < vector.byte_count; cut++) {
            if (take(vector.bytes, cut) != TARN_E_TRUNCATED) {
                fail_msg("%s cut to %zu bytes is not TARN_E_TRUNCATED", vector.name, cut);
            }
        }
    }
}

static void a_byte_behind_a_message_is_refused(void **context)
{
    (void)context;
    static golden_vector vector;
    for (int i = 0; i < golden_count(); i++) {
        assert_true(golden_make(i, &vector));
        if (vector.kind != GOLDEN_MESSAGE) {
            continue;
        }
        assert_int_equal(take(vector.bytes, vector.byte_count + 1), TARN_E_MALFORMED);
    }
}

static void every_changed_byte_of_a_message_is_harmless(void **context)
{
    (void)context;
    static golden_vector vector;
    uint64_t refused = 0;
    for (int i = 0; i < golden_count(); i++) {
        assert_true(golden_make(i, &vector));
        if (vector.kind != GOLDEN_MESSAGE) {
            continue;
        }
        uint8_t *alone = copy_alone(vector.bytes, vector.byte_count);
        for (size_t at = 0; at < vector.byte_count; at++) {
            for (int change = 1; change < 256; change++) {
                alone[at] = (uint8_t)(vector.bytes[at] ^ change);
                refused += take_in_place(alone, vector.byte_count) != TARN_OK;
            }
            alone[at] = vector.bytes[at];
        }
        free(alone);
    }
    assert_true(refused > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoders_write_the_committed_bytes),
        cmocka_unit_test(decoders_read_the_committed_bytes_as_described),
        cmocka_unit_test(decoders_read_frames_of_version_2_as_described),
        cmocka_unit_test(messages_survive_reading_and_writing),
        cmocka_unit_test(every_truncated_message_is_refused),
        cmocka_unit_test(a_byte_behind_a_message_is_refused),
        cmocka_unit_test(every_changed_byte_of_a_message_is_harmless),
    };
    return cmocka_run_group_tests_name("protocol golden vectors", tests, NULL, NULL);
}
