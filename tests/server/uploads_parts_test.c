// The folder of uploaded scenes: what is said to be kept is there after the machine's end.
#include "server/gateway/session/uploads.h"
#include "tests/server/test_cmocka.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    struct stat folder;
    char kept[TARN_GATEWAY_UPLOADS_FOLDER_BYTES + 256]; // the path that is to last
    int count;                                          // syncs of the folder that had it
} synced;

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    struct stat file;
    if (fstat(fd, &file) == 0 && file.st_ino == synced.folder.st_ino && file.st_dev == synced.folder.st_dev) {
        synced.count += access(synced.kept, F_OK) == 0;
    }
    return __real_fsync(fd);
}

static void test_a_scene_is_kept_once_its_folder_is_synced(void **state)
{
    static tarn_uploads uploads;
    static const uint8_t pack[] = {9, 0, 0, 0, 2, 0, 0, 0, 'p', 'o', 'o', 'l', '.', 'j', 's', 'o', 'n', '{', '}'};
    char store[] = "/tmp/tarn-uploads-parts-XXXXXX";
    uv_loop_t loop;
    tarn_name id;
    tarn_text why;
    (void)state;
    assert_non_null(mkdtemp(store));
    assert_int_equal(uv_loop_init(&loop), 0);
    uploads.loop = &loop;
    assert_int_equal(tarn_uploads_open(&uploads, store, 1 << 20, why), TARN_OK);
    assert_int_equal(stat(uploads.folder, &synced.folder), 0);
    const int fd = tarn_uploads_file_open(&uploads, "main", "", id, why);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, pack, sizeof pack), sizeof pack);
    close(fd);
    snprintf(synced.kept, sizeof synced.kept, "%s/main..%s.scene-pack", uploads.folder, id);
    const tarn_uploads_scene *scene = tarn_uploads_file_keep(&uploads, "main", "", id, sizeof pack, why);
    assert_non_null(scene);
    const uint64_t ticket = tarn_uploads_settle(&uploads);
    assert_true(uploads.settling.done < ticket);         // a thread does it: a disk may take seconds
    const uint64_t next = tarn_uploads_settle(&uploads); // what changes meanwhile isn't done with it
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(uploads.settling.done >= ticket && uploads.settling.done >= next);
    assert_int_equal(synced.count, 2);

    assert_true(tarn_uploads_remove(&uploads, "main", id));
    assert_int_equal(access(synced.kept, F_OK), -1);
    const uint64_t removed = uploads.settling.asked;
    assert_true(removed > next);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uploads.settling.done, removed);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(rmdir(uploads.folder), 0);
    assert_int_equal(rmdir(store), 0);
}

/// Room was kept for what came: a check that the scene has taken over gets no more of the disk by writing more.
static void test_a_file_with_more_bytes_than_came_is_not_kept(void **state)
{
    static tarn_uploads uploads;
    static const uint8_t pack[] = {9, 0, 0, 0, 2, 0, 0, 0, 'p', 'o', 'o', 'l', '.', 'j', 's', 'o', 'n', '{', '}'};
    char store[] = "/tmp/tarn-uploads-parts-XXXXXX";
    tarn_name id;
    tarn_text why = "";
    (void)state;
    assert_non_null(mkdtemp(store));
    assert_int_equal(tarn_uploads_open(&uploads, store, 1 << 20, why), TARN_OK);
    const int fd = tarn_uploads_file_open(&uploads, "main", "", id, why);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, pack, sizeof pack), sizeof pack);
    close(fd);
    assert_null(tarn_uploads_file_keep(&uploads, "main", "", id, sizeof pack - 1, why));
    assert_string_equal(why, "the scene's check wrote more than came");
    assert_int_equal(uploads.count, 0);
    assert_int_equal(uploads.bytes, 0);
    assert_int_equal(rmdir(uploads.folder), 0); // nothing is left in it
    assert_int_equal(rmdir(store), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_scene_is_kept_once_its_folder_is_synced),
                                       cmocka_unit_test(test_a_file_with_more_bytes_than_came_is_not_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
