// What a start finds and makes of a store's secret, also where random numbers are lacking: getrandom() is this file's.
// Keys made of it, and what they open. And what is left of a file that doesn't fit on the disk.
#include "server/base/files.h"
#include "server/gateway/rights/role.h"
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

/// Puts a secret's file there. @return what a start says to it
static tarn_status keep_file(size_t byte_count, mode_t mode, uid_t owner, bool is_link)
{
    char folder[] = "/tmp/tarn-secret-XXXXXX", path[64], target[64];
    uint8_t bytes[TARN_SECRET_BYTES + 8] = {1, 2, 3};
    tarn_secret secret = {0};
    tarn_text why = "";
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/secret", folder);
    snprintf(target, sizeof target, "%s/other", folder);
    assert_int_equal(tarn_file_bytes_put(is_link ? target : path, mode, bytes, byte_count), TARN_OK);
    assert_true(!is_link || symlink(target, path) == 0);
    assert_int_equal(chown(is_link ? target : path, owner, (gid_t)-1), 0);
    const tarn_status status = tarn_secret_keep(&secret, path, why);
    assert_true(status == TARN_OK || strstr(why, path) != NULL);
    assert_int_equal(secret.bytes[0], status == TARN_OK); // what is refused is not taken
    (void)unlink(path);
    (void)unlink(target);
    (void)rmdir(folder);
    return status;
}

static void test_a_secret_is_a_whole_file_of_ones_own(void **state)
{
    (void)state;
    const uid_t own = geteuid();
    assert_int_equal(keep_file(TARN_SECRET_BYTES, 0600, own, false), TARN_OK);
    assert_int_equal(keep_file(TARN_SECRET_BYTES - 1, 0600, own, false), TARN_E_MALFORMED);
    assert_int_equal(keep_file(TARN_SECRET_BYTES + 1, 0600, own, false), TARN_E_MALFORMED);
    assert_int_equal(keep_file(0, 0600, own, false), TARN_E_MALFORMED);
    assert_int_equal(keep_file(TARN_SECRET_BYTES, 0640, own, false), TARN_E_MALFORMED);
    assert_int_equal(keep_file(TARN_SECRET_BYTES, 0604, own, false), TARN_E_MALFORMED);
    assert_int_equal(keep_file(TARN_SECRET_BYTES, 0600, own, true), TARN_E_IO);
    if (own == 0) { // nobody else may give files away
        assert_int_equal(keep_file(TARN_SECRET_BYTES, 0600, 65534, false), TARN_E_MALFORMED);
    }
}

enum { SALT_BYTES = 16 };

static void make_keys(uint8_t first_of_secret, uint8_t first_of_salt, tarn_role_keys *keys)
{
    tarn_secret secret;
    uint8_t salt[SALT_BYTES];
    for (int i = 0; i < TARN_SECRET_BYTES; i++) {
        secret.bytes[i] = (uint8_t)(i == 0 ? first_of_secret : i);
    }
    for (int i = 0; i < SALT_BYTES; i++) {
        salt[i] = (uint8_t)(i == 0 ? first_of_salt : 100 + i);
    }
    memset(keys, 0, sizeof *keys);
    assert_int_equal(tarn_role_keys_make(keys, &secret, salt, sizeof salt), TARN_OK);
}

/// The first 16 bytes of HMAC-SHA-256 over salt and role, as Python's hmac has them.
static void test_keys_are_what_the_secret_makes_of_tank_and_role(void **state)
{
    (void)state;
    tarn_role_keys keys, others[2];
    make_keys(0, 100, &keys);
    assert_string_equal(keys.keys[TARN_ROLE_WATCH], "291cd95e9cb9095c98724f8f2f4e264b");
    assert_string_equal(keys.keys[TARN_ROLE_PLAY], "aed655aa78a21b16476e73b53526e0d8");
    assert_string_equal(keys.keys[TARN_ROLE_OWN], "87176770975435ce58452011b0c7460e");
    make_keys(1, 100, &others[0]);
    make_keys(0, 101, &others[1]);
    for (int i = 0; i < 2; i++) {
        for (int role = 0; role < TARN_ROLE_COUNT; role++) {
            tarn_role found;
            assert_false(tarn_role_of_key(&keys, others[i].keys[role], &found));
        }
    }
}

static void test_a_key_opens_by_all_of_its_digits(void **state)
{
    (void)state;
    tarn_role_keys keys;
    make_keys(0, 100, &keys);
    for (int role = 0; role < TARN_ROLE_COUNT; role++) {
        tarn_key key;
        tarn_role found = TARN_ROLE_COUNT;
        memcpy(key, keys.keys[role], sizeof key);
        assert_true(tarn_role_of_key(&keys, key, &found));
        assert_int_equal(found, role);
        for (int digit = 0; digit < TARN_KEY_BYTES; digit++) {
            const char was = key[digit];
            key[digit] = was == '0' ? '1' : '0';
            assert_false(tarn_role_of_key(&keys, key, &found));
            key[digit] = '\0'; // and what follows, of a shorter one
            assert_false(tarn_role_of_key(&keys, key, &found));
            key[digit] = was;
        }
        key[TARN_KEY_BYTES] = '0';
        assert_false(tarn_role_of_key(&keys, key, &found));
    }
    const tarn_key none = "";
    tarn_role found;
    assert_false(tarn_role_of_key(&keys, none, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_secret_is_made_without_random_numbers),
                                       cmocka_unit_test(test_a_full_disk_leaves_nothing_behind),
                                       cmocka_unit_test(test_a_secret_is_a_whole_file_of_ones_own),
                                       cmocka_unit_test(test_keys_are_what_the_secret_makes_of_tank_and_role),
                                       cmocka_unit_test(test_a_key_opens_by_all_of_its_digits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
