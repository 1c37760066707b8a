// Scenes as archives, on bytes from memory: what is read of one however it comes, what is refused and why, and that
// what is written is read again.
#include "server/scene/archive.h"
#include "tests/server/archive_maker.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct byte_source {
    const uint8_t *bytes;
    size_t left, piece;
    bool fails; ///< at the end
} byte_source;

static ssize_t read_source(void *from, void *bytes, size_t byte_count)
{
    byte_source *source = from;
    size_t count = source->left < byte_count ? source->left : byte_count;
    count = count < source->piece ? count : source->piece;
    if (count == 0) {
        return source->fails ? -1 : 0;
    }
    memcpy(bytes, source->bytes, count);
    source->bytes += count;
    source->left -= count;
    return (ssize_t)count;
}

static archive made;
static tarn_scene_pack pack;
static char why[TARN_SCENE_ARCHIVE_WHY_BYTES];

static int begin(void **state)
{
    (void)state;
    archive_free(&made);
    tarn_scene_pack_free(&pack);
    return 0;
}

static tarn_status read_piecewise(size_t byte_count, size_t piece)
{
    byte_source source = {made.bytes, byte_count, piece, false};
    tarn_scene_pack_free(&pack);
    why[0] = 0;
    return tarn_scene_archive_read(read_source, &source, &pack, why, sizeof why);
}

static tarn_status read_made(void)
{
    return read_piecewise(made.byte_count, SIZE_MAX);
}

static void expect_entry(const char *name, const char *content)
{
    tarn_scene_entry entry;
    if (!tarn_scene_pack_find(&pack, name, &entry)) {
        fail_msg("there is no %s in it", name);
    }
    assert_int_equal(entry.byte_count, strlen(content));
    assert_memory_equal(entry.bytes, content, entry.byte_count);
}

static uint32_t count_entries(void)
{
    tarn_scene_entry entry;
    uint32_t count = 0;
    for (size_t at = 0; tarn_scene_pack_next(pack.bytes, pack.byte_count, &at, &entry);) {
        count++;
    }
    return count;
}

/// Refused with a status and a sentence that says this.
static void expect_refused(tarn_status status, const char *says)
{
    const tarn_status found = read_made();
    if (found != status || strstr(why, says) == NULL) {
        fail_msg("expected %s \"%s\", got %s \"%s\"", tarn_status_name(status), says, tarn_status_name(found), why);
    }
}

static void make_pool(void)
{
    archive_add(&made, "./", '5', NULL, 0);
    archive_add(&made, "notes", 'x', "30 mtime=1350244992.023960108\n", 30);
    archive_add_text(&made, "./shapes/duck.obj", "v 0 0 0\n");
    archive_add_text(&made, "./pool.json", "{}");
    archive_add_text(&made, "./duck.mtl", "newmtl a\n");
    archive_add_text(&made, "./._pool.json", "what a Mac has to say");
    archive_end(&made);
}

static void test_a_scene_and_its_files_are_read_however_they_come(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 7, 511, 512, 513, 4096, SIZE_MAX};
    make_pool();
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        assert_int_equal(read_piecewise(made.byte_count, pieces[i]), TARN_OK);
        assert_int_equal(count_entries(), 2);
        expect_entry("pool.json", "{}");
        expect_entry("shapes/duck.obj", "v 0 0 0\n");
        assert_true(tarn_scene_pack_sound(pack.bytes, pack.byte_count)); // of which the first is the scene
    }
}

static void test_a_folder_around_a_scene_does_not_count(void **state)
{
    (void)state;
    archive_add_text(&made, "other/cup.obj", "v\n");
    archive_add_text(&made, "mine/pool.json", "{}");
    archive_add_text(&made, "mine/a/duck.obj", "v 1\n");
    archive_end(&made);
    assert_int_equal(read_made(), TARN_OK);
    assert_int_equal(count_entries(), 2);
    expect_entry("pool.json", "{}");
    expect_entry("a/duck.obj", "v 1\n");
}

static void test_what_is_cut_off_is_refused(void **state)
{
    (void)state;
    make_pool();
    for (size_t bytes = 0; bytes <= made.byte_count - 1024; bytes++) { // from there on the end has begun
        if (read_piecewise(bytes, SIZE_MAX) == TARN_OK || why[0] == 0) {
            fail_msg("the first %zu of %zu bytes were taken: \"%s\"", bytes, made.byte_count, why);
        }
    }
    byte_source source = {made.bytes, 600, SIZE_MAX, true};
    assert_int_equal(tarn_scene_archive_read(read_source, &source, &pack, why, sizeof why), TARN_E_IO);
}

static void test_other_files_than_archives_are_told_apart(void **state)
{
    (void)state;
    made.bytes = calloc(1, 2048);
    made.byte_count = 2048;
    memcpy(made.bytes, "\x1f\x8b", 2);
    expect_refused(TARN_E_MALFORMED, "isn't a tar archive");
    memcpy(made.bytes, "{\"size_m\"", 9);
    expect_refused(TARN_E_MALFORMED, "tar cf scene.tar");
    made.byte_count = 166; // less than a block, as small scenes are when they are compressed
    expect_refused(TARN_E_MALFORMED, "tar cf scene.tar");
    made.byte_count = 0;
    expect_refused(TARN_E_MALFORMED, "empty");
}

static void test_names_are_those_that_a_scene_may_give(void **state)
{
    (void)state;
    static const char *const names[] = {"../duck.obj", "/etc/duck.obj", "a//duck.obj", "a b.obj",
                                        "a\nb.obj",    "\xc3\xa4.obj",  "a\\b.obj",    "a/../duck.obj"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        begin(NULL);
        archive_add_text(&made, "pool.json", "{}");
        archive_add_text(&made, names[i], "v\n");
        archive_end(&made);
        const tarn_status status = read_made(); // what begins with a dot is passed over
        assert_true(status == TARN_E_MALFORMED || (status == TARN_OK && count_entries() == 1));
        assert_null(strchr(why, '\n'));
        assert_true(strstr(names[i], "..") != NULL || status == TARN_E_MALFORMED);
    }
}

static void test_only_files_and_folders_may_be_in_it(void **state)
{
    (void)state;
    for (const char *type = "1234678SAX"; *type != 0; type++) {
        begin(NULL);
        archive_add_text(&made, "pool.json", "{}");
        archive_add(&made, "duck.obj", *type, NULL, 0);
        archive_end(&made);
        expect_refused(TARN_E_MALFORMED, "duck.obj: found something that is neither a file nor a folder");
    }
    begin(NULL);
    archive_add(&made, "notes", 'x', "18 path=b/duck.obj\n", 19);
    archive_add_text(&made, "pool.json", "{}");
    archive_end(&made);
    expect_refused(TARN_E_MALFORMED, "--format=ustar");
    begin(NULL);
    archive_add(&made, "notes", 'x', "12 size=1000\n", 13);
    archive_end(&made);
    expect_refused(TARN_E_MALFORMED, "--format=ustar");
    for (const char *type = "KL"; *type != 0; type++) { // GNU's long names
        begin(NULL);
        archive_add(&made, "././@LongLink", *type, "pool.json", 10);
        archive_end(&made);
        expect_refused(TARN_E_MALFORMED, "names of at most 100");
    }
}

static void test_one_scene_and_each_file_once(void **state)
{
    (void)state;
    archive_add_text(&made, "duck.obj", "v\n");
    archive_end(&made);
    expect_refused(TARN_E_MALFORMED, "no .json");
    begin(NULL);
    archive_add_text(&made, "a.json", "{}");
    archive_add_text(&made, "b.json", "{}");
    archive_end(&made);
    expect_refused(TARN_E_MALFORMED, "found a.json and b.json");
    begin(NULL);
    archive_add_text(&made, "a.json", "{}");
    archive_add_text(&made, "duck.obj", "v\n");
    archive_add_text(&made, "./duck.obj", "w\n");
    archive_end(&made);
    expect_refused(TARN_E_MALFORMED, "duck.obj: the archive has it twice");
}

static void test_limits(void **state)
{
    (void)state;
    char name[32];
    archive_add_text(&made, "a.json", "{}");
    for (int i = 0; i < TARN_SCENE_PACK_ENTRIES_MAX; i++) {
        snprintf(name, sizeof name, "m%d.obj", i);
        archive_add_text(&made, name, "v\n");
    }
    archive_end(&made);
    expect_refused(TARN_E_LIMIT, "m20.obj: found one file more than the 21");

    begin(NULL); // the size is looked at before anything is read
    archive_add_text(&made, "a.json", "{}");
    archive_add(&made, "m.obj", '0', NULL, 0);
    memcpy(made.bytes + 1024 + 124, "00040000001", 11); // 8 MiB + 1
    archive_sum(made.bytes + 1024);
    expect_refused(TARN_E_LIMIT, "m.obj: found 8388609 bytes, allowed are 8388608");
    memcpy(made.bytes + 1024 + 124, "77777777777", 11);
    archive_sum(made.bytes + 1024);
    expect_refused(TARN_E_LIMIT, "m.obj: it has more bytes than the 33554432");
    memcpy(made.bytes + 1024 + 124, "\x80\0\0\0\0\0\0\0\0\0\0\1", 12); // GNU's numbers beyond octal
    archive_sum(made.bytes + 1024);
    expect_refused(TARN_E_LIMIT, "m.obj: it has more bytes");
    memcpy(made.bytes + 1024 + 124, "00000000000\0", 12);
    expect_refused(TARN_E_MALFORMED, "a checksum is wrong");

    begin(NULL);
    for (int i = 0; i < TARN_SCENE_ARCHIVE_HEADS_MAX; i++) {
        archive_add(&made, "a/", '5', NULL, 0);
    }
    archive_end(&made);
    expect_refused(TARN_E_LIMIT, "more than 1000 files");
}

static void test_any_byte_of_a_head_may_be_wrong(void **state)
{
    (void)state;
    archive_add_text(&made, "pool.json", "{}");
    archive_add_text(&made, "duck.obj", "v\n");
    archive_end(&made);
    for (size_t at = 0; at < 512; at++) {
        for (int bit = 0; bit < 8; bit++) {
            made.bytes[1024 + at] ^= (uint8_t)(1 << bit);
            if (at < 148 || at >= 156) { // of the sum, a digit may be a space
                assert_int_equal(read_made(), TARN_E_MALFORMED);
            }
            archive_sum(made.bytes + 1024); // with the right sum it may mean something
            (void)read_made();
            made.bytes[1024 + at] ^= (uint8_t)(1 << bit);
            archive_sum(made.bytes + 1024);
        }
    }
    assert_int_equal(read_made(), TARN_OK);
}

static void test_what_is_written_is_read_again(void **state)
{
    (void)state;
    char deep[TARN_SCENE_PACK_NAME_BYTES_MAX + 1], flat[TARN_SCENE_PACK_NAME_BYTES_MAX + 1];
    memset(deep, 'd', sizeof deep - 1);
    memset(flat, 'f', sizeof flat - 1);
    memcpy(deep + sizeof deep - 5, ".obj", 5);
    memcpy(flat + sizeof flat - 5, ".obj", 5);
    deep[60] = '/';
    static uint8_t large[100000];
    memset(large, 7, sizeof large);
    tarn_scene_pack given = {0};
    assert_int_equal(tarn_scene_pack_add(&given, "pool.json", "{}", 2), TARN_OK);
    assert_int_equal(tarn_scene_pack_add(&given, "empty.obj", "", 0), TARN_OK);
    assert_int_equal(tarn_scene_pack_add(&given, "a/b.stl", large, sizeof large), TARN_OK);
    assert_int_equal(tarn_scene_pack_add(&given, deep, large, 512), TARN_OK);
    assert_int_equal(tarn_scene_archive_write(given.bytes, given.byte_count, 1 << 20, &made.bytes, &made.byte_count),
                     TARN_OK);
    assert_int_equal(made.byte_count % 512, 0);
    assert_int_equal(read_made(), TARN_OK);
    assert_int_equal(pack.byte_count, given.byte_count);
    assert_memory_equal(pack.bytes, given.bytes, given.byte_count);

    uint8_t *bytes = NULL;
    size_t byte_count;
    assert_int_equal(tarn_scene_archive_write(given.bytes, given.byte_count, made.byte_count - 1, &bytes, &byte_count),
                     TARN_E_LIMIT);
    assert_int_equal(tarn_scene_pack_add(&given, flat, "v", 1), TARN_OK);
    assert_int_equal(tarn_scene_archive_write(given.bytes, given.byte_count, 1 << 20, &bytes, &byte_count),
                     TARN_E_LIMIT);
    tarn_scene_pack_free(&given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_scene_and_its_files_are_read_however_they_come, begin, begin),
        cmocka_unit_test_setup_teardown(test_a_folder_around_a_scene_does_not_count, begin, begin),
        cmocka_unit_test_setup_teardown(test_what_is_cut_off_is_refused, begin, begin),
        cmocka_unit_test_setup_teardown(test_other_files_than_archives_are_told_apart, begin, begin),
        cmocka_unit_test_setup_teardown(test_names_are_those_that_a_scene_may_give, begin, begin),
        cmocka_unit_test_setup_teardown(test_only_files_and_folders_may_be_in_it, begin, begin),
        cmocka_unit_test_setup_teardown(test_one_scene_and_each_file_once, begin, begin),
        cmocka_unit_test_setup_teardown(test_limits, begin, begin),
        cmocka_unit_test_setup_teardown(test_any_byte_of_a_head_may_be_wrong, begin, begin),
        cmocka_unit_test_setup_teardown(test_what_is_written_is_read_again, begin, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
