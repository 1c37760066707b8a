// Which files of a store's folder go, by their size and their age, and how often it looks at its tanks. A store's clock
// is ahead here once it is open.
#include "server/gateway/store/rounds.h"
#include "server/gateway/store/store.h"
#include "tests/server/test_cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static off_t bytes_of(const char *name)
{
    struct stat found;
    assert_int_equal(stat(in_dir(name), &found), 0);
    return found.st_size;
}

/// A past that was kept while there was room for it. @return a box as its tank then is, to be closed
static int make_past(const tarn_session_about *about, size_t state_bytes, uint32_t states)
{
    tarn_session_file *file;
    tarn_text why;
    uint64_t put_bytes;
    unsigned seed = 1;
    tarn_box_news news = {.is_anew = true, .has_state = true, .dt_ns = 1000000};
    assert_int_equal(tarn_session_file_open(in_dir("main.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_file_put_about(file, about, why), TARN_OK);
    tarn_session_file_keep_from(file, 1);
    assert_int_equal(tarn_box_bytes_make_room(&news.state.bytes, state_bytes), TARN_OK);
    news.state.bytes.count = news.state.state_bytes_max = state_bytes;
    snprintf(news.state.scene, sizeof news.state.scene, "some-scene");
    for (uint32_t i = 0; i < states; i++) {
        for (size_t k = 0; k < state_bytes; k++) {
            news.state.bytes.bytes[k] = (uint8_t)(rand_r(&seed) >> 8);
        }
        news.state.step = i;
        news.at_ns = i * (uint64_t)1000000;
        assert_int_equal(tarn_session_file_put(file, &news, &put_bytes, why), TARN_OK);
        news.is_anew = false;
    }
    tarn_session_file_close(file);
    const int fd = memfd_create("box", 0);
    assert_int_equal(tarn_box_fill(fd, &news.state, 1, 1, NULL, 0, true), TARN_OK);
    tarn_box_news_free(&news);
    return fd;
}

/// What is kept of a tank that rests shrinks too, when there is less room for it.
static void test_a_tank_that_rests_leaves_room_for_others(void **state)
{
    (void)state;
    enum { STATE_BYTES = 200000, STATES = 30, TRIES = 400 };
    static const tarn_session_about about = {.name = "main", .begun_as = "some-scene"};
    static const tarn_store_limit limit = {2 << 20, 3600};
    char names[NAMES_BYTES];
    tarn_store *store;
    tarn_text why;
    static tarn_session_span span;
    snprintf(dir, sizeof dir, "/tmp/tarn-limit-XXXXXX");
    assert_non_null(mkdtemp(dir));
    const int box_fd = make_past(&about, STATE_BYTES, STATES);
    assert_true(bytes_of("main.tank") > STATES * STATE_BYTES);
    assert_int_equal(tarn_store_open(&store, dir, 100, &limit, 60, why), TARN_OK);
    assert_true(tarn_store_keep(store, 0, 1, &about, box_fd));
    for (int i = 0; i < TRIES && (!tarn_store_past(store, 0, &span) || span.state_count > 5); i++) {
        usleep(50000);
    }
    assert_int_equal(span.state_count, 5); // the one by which it is too much still is
    assert_int_equal(span.until_ns, (STATES - 1) * 1000000);
    sleep(2); // pages go in parts of their own
    tarn_store_close(store);
    assert_in_range(bytes_of("main.tank"), 0, 16 * STATE_BYTES);
    close(box_fd);
    take_names(names);
    assert_string_equal(names, "lock main.tank ");
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
        cmocka_unit_test(test_a_tank_that_rests_leaves_room_for_others),
        cmocka_unit_test(test_rounds_of_many_tanks_come_no_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
