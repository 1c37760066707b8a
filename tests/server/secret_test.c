// What a start finds and makes of a store's secret where random numbers are lacking: getrandom() is this file's. And
// what is left of a file that doesn't fit on the disk.
#include "server/common/file_bytes.h"
#include "server/gateway/secret.h"
#include "tests/server/test_cmocka.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_lacking;

ssize_t getrandom(void *bytes, size_t byte_count, unsigned flags)
{
    if (is_lacking) {
        errno = ENOSYS;
        return -1;
    }
    return syscall(SYS_getrandom, bytes, byte_count, flags);
}

static void test_no_secret_is_made_without_random_numbers(void **state)
{
    (void)state;
    char folder[] = "/tmp/tarn-secret-XXXXXX", path[64], made[80];
    tarn_secret secret = {0}, again = {0};
    tarn_text why = "";
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/secret", folder);
    snprintf(made, sizeof made, "%s.new", path);
    is_lacking = true;
    const tarn_status status = tarn_secret_keep(&secret, path, why);
    is_lacking = false;
    const bool is_there = access(path, F_OK) == 0 || access(made, F_OK) == 0;
    const bool is_said = strstr(why, path) != NULL && strstr(why, strerror(ENOSYS)) != NULL;
    const tarn_status later = tarn_secret_keep(&secret, path, why), kept = tarn_secret_keep(&again, path, why);
    (void)unlink(path);
    (void)rmdir(folder);
    assert_int_equal(status, TARN_E_IO);
    assert_false(is_there);
    assert_true(is_said);
    assert_int_equal(later, TARN_OK);
    assert_int_equal(kept, TARN_OK);
    assert_memory_equal(secret.bytes, again.bytes, sizeof secret.bytes);
}

/// A disk that takes the first bytes alone: what was there stays, and nothing lies beside it.
static void test_a_full_disk_leaves_nothing_behind(void **state)
{
    (void)state;
    char folder[] = "/tmp/tarn-secret-XXXXXX", path[64], made[80], *found = NULL;
    size_t found_bytes = 0;
    struct rlimit before;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/owner-link", folder);
    snprintf(made, sizeof made, "%s.new", path);
    assert_int_equal(tarn_file_bytes_put(path, 0640, "first", 5), TARN_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4, before.rlim_max}), 0);
    const tarn_status status = tarn_file_bytes_put(path, 0600, "second", 6);
    const int error = errno;
    (void)setrlimit(RLIMIT_FSIZE, &before);
    const bool is_left = access(made, F_OK) == 0;
    const tarn_status kept = tarn_file_bytes_read(path, 100, "a link", &found, &found_bytes, NULL, 0);
    struct stat about;
    const bool is_there = stat(path, &about) == 0;
    // What a program that was killed has left is no obstacle, nor is a link there.
    assert_int_equal(symlink("/etc/passwd", made), 0);
    const tarn_status again = tarn_file_bytes_put(path, 0600, "third", 5);
    const bool is_linked = access(made, F_OK) == 0;
    (void)unlink(path);
    (void)rmdir(folder);
    assert_int_equal(status, TARN_E_IO);
    assert_int_equal(error, EFBIG);
    assert_false(is_left);
    assert_int_equal(kept, TARN_OK);
    assert_int_equal(found_bytes, 5);
    assert_memory_equal(found, "first", 5);
    free(found);
    assert_true(is_there);
    assert_int_equal(about.st_mode & 0777, 0640);
    assert_int_equal(again, TARN_OK);
    assert_false(is_linked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_secret_is_made_without_random_numbers),
                                       cmocka_unit_test(test_a_full_disk_leaves_nothing_behind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
