// What a start finds and makes of a store's secret where random numbers are lacking: getrandom() is this file's.
#include "server/gateway/secret.h"
#include "tests/server/test_cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_secret_is_made_without_random_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
