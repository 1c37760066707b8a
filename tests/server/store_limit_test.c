// Which files of a store's folder go, by their size and their age, and how often it looks at its tanks. A store's clock
// is ahead here once it is open.
#include "server/gateway/store_inside.h"
#include "server/gateway/tank_store.h"
#include "tests/server/test_cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NOW_S = 1000000, NAMES_BYTES = 512 };

static char dir[64];

static char *in_dir(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put(const char *name, off_t bytes, int age_s)
{
    const struct timespec times[2] = {{NOW_S - age_s, 0}, {NOW_S - age_s, 0}};
    const int fd = open(in_dir(name), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, bytes), 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

/// What is left, in a line. Empties the folder.
static void take_names(char names[NAMES_BYTES])
{
    struct dirent **entries;
    const int count = scandir(dir, &entries, NULL, alphasort);
    names[0] = 0;
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            strncat(names, entries[i]->d_name, NAMES_BYTES - 2 - strlen(names));
            strncat(names, " ", NAMES_BYTES - 1 - strlen(names));
            (void)remove(in_dir(entries[i]->d_name));
        }
        free(entries[i]);
    }
    free(entries);
}

static bool is_used(void *user, const char *name, size_t name_bytes)
{
    (void)user;
    return name_bytes == strlen("used") && memcmp(name, "used", name_bytes) == 0;
}

static void test_what_no_session_uses_goes_by_age_and_size(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes_max, age_max_s;
        int opened_ago_s;
        const char *left;
        bool is_too_large;
    } cases[] = {
        {9000, 5000, 9000, "a.damaged b.damaged lock other.txt out.tank secret used.damaged used.tank used.tank-wal ",
         false},
        // By age: what was set aside, then also what was left out, if this server has done so for long enough.
        {9000, 350, 200, "b.damaged lock other.txt out.tank secret used.damaged used.tank used.tank-wal ", false},
        {9000, 350, 600, "b.damaged lock other.txt secret used.damaged used.tank used.tank-wal ", false},
        {9000, 10, 5, "lock other.txt out.tank secret used.tank used.tank-wal ", false},
        {9000, 10, 9000, "lock other.txt secret used.tank used.tank-wal ", false},
        // By size: what was set aside alone, the oldest first.
        {6099, 5000, 9000, "b.damaged lock other.txt out.tank secret used.damaged used.tank used.tank-wal ", false},
        {5100, 5000, 9000, "b.damaged lock other.txt out.tank secret used.damaged used.tank used.tank-wal ", false},
        {5099, 5000, 9000, "lock other.txt out.tank secret used.damaged used.tank used.tank-wal ", false},
        {1, 5000, 9000, "lock other.txt out.tank secret used.tank used.tank-wal ", true},
    };
    snprintf(dir, sizeof dir, "/tmp/tarn-limit-XXXXXX");
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char names[NAMES_BYTES];
        tarn_store_use use;
        const tarn_store_limit limit = {cases[i].bytes_max, cases[i].age_max_s};
        put("a.damaged", 1000, 400);
        put("b.damaged", 1000, 300);
        put("used.damaged", 100, 200); // not the session's, which began anew
        put("used.tank", 1000, 400);
        put("used.tank-wal", 2000, 400);
        put("out.tank", 1000, 1000);
        put("lock", 500, 9000);
        put("secret", 500, 9000);
        put("other.txt", 500, 9000);
        assert_true(tarn_store_limit_apply(dir, &limit, NOW_S - cases[i].opened_ago_s, NOW_S, is_used, NULL, &use));
        take_names(names);
        assert_string_equal(names, cases[i].left);
        assert_int_equal(use.is_too_large, cases[i].is_too_large);
    }
    const tarn_store_limit limit = {1, 1};
    tarn_store_use use;
    assert_true(tarn_store_limit_apply(dir, &limit, 0, NOW_S, is_used, NULL, &use));
    assert_int_equal(use.bytes, 0);
    assert_int_equal(rmdir(dir), 0);
    assert_false(tarn_store_limit_apply(dir, &limit, 0, NOW_S, is_used, NULL, &use));
}

enum { AHEAD_S = 7200 };

static bool is_ahead;

time_t __real_time(time_t *when);
time_t __wrap_time(time_t *when); // NOLINT: the linker's name

time_t __wrap_time(time_t *when)
{
    return __real_time(when) + (is_ahead ? AHEAD_S : 0);
}

static bool has_run; // as long as it is ahead

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now); // NOLINT: the linker's name

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    const int result = __real_clock_gettime(clock, now);
    now->tv_sec += has_run ? AHEAD_S : 0;
    return result;
}

/// Hours later: what a session has stays, whatever the limits are; what none has goes.
static void test_a_store_keeps_what_its_sessions_have(void **state)
{
    (void)state;
    static const tarn_session_about about = {.name = "main", .begun_as = "some-scene"};
    static const tarn_store_limit limit = {1, 3600};
    char names[NAMES_BYTES];
    tarn_store *store;
    tarn_text why;
    snprintf(dir, sizeof dir, "/tmp/tarn-limit-XXXXXX");
    assert_non_null(mkdtemp(dir));
    put("out.tank", 1000, 0);
    put("bad.damaged", 1000, 0);
    assert_int_equal(tarn_store_open(&store, dir, 1000, &limit, 60, why), TARN_OK);
    is_ahead = has_run = true;
    tarn_store_keep(store, 0, 1, &about, 0);
    tarn_store_close(store); // the last round is the first
    is_ahead = has_run = false;
    take_names(names);
    assert_string_equal(names, "lock main.tank ");
    assert_int_equal(rmdir(dir), 0);
}

/// A clock that was set wrong, which no time has gone by for.
static void test_a_jump_of_the_time_of_day_costs_nobody_a_tank(void **state)
{
    (void)state;
    static const tarn_store_limit limit = {1 << 20, 3600};
    char names[NAMES_BYTES];
    tarn_store *store;
    tarn_text why;
    snprintf(dir, sizeof dir, "/tmp/tarn-limit-XXXXXX");
    assert_non_null(mkdtemp(dir));
    put("out.tank", 1000, 0);
    assert_int_equal(tarn_store_open(&store, dir, 1000, &limit, 60, why), TARN_OK);
    is_ahead = true;
    tarn_store_close(store);
    is_ahead = false;
    take_names(names);
    assert_string_equal(names, "lock out.tank ");
    assert_int_equal(rmdir(dir), 0);
}

/// Rounds begin as far apart as half of what may be lost, whatever commits take of that; a disk that takes more has
/// some rest.
static void test_rounds_of_many_tanks_come_no_later(void **state)
{
    (void)state;
    static const struct {
        uint32_t commit_ms, round_ms, pause_ms;
    } rounds[] = {{100, 0, 50},  {100, 10, 40},  {100, 39, 11},   {100, 40, 10},
                  {100, 45, 10}, {100, 900, 10}, {1000, 100, 400}};
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        assert_int_equal(tarn_store_pause_ns(rounds[i].commit_ms, rounds[i].round_ms * (uint64_t)1000000),
                         rounds[i].pause_ms * (uint64_t)1000000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_no_session_uses_goes_by_age_and_size),
        cmocka_unit_test(test_a_store_keeps_what_its_sessions_have),
        cmocka_unit_test(test_a_jump_of_the_time_of_day_costs_nobody_a_tank),
        cmocka_unit_test(test_rounds_of_many_tanks_come_no_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
