// The store's rounds, with boxes that no worker has: what one tank costs isn't the others' time, and what isn't kept is
// said.
#include "server/base/clock.h"
#include "server/gateway/store/store.h"
#include "tests/server/test_cmocka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COMMIT_MS = 100, TRIES = 4000, LARGE_BYTES = 28000000, SMALL_BYTES = 1000, ANY_PUTS = 1 << 30 };

static char dir[64];
static tarn_store *store;
static const tarn_store_limit limit = {1 << 30, 3600};

static atomic_bool holds_large, has_begun; // whether a large state waits before it is put; whether one does
static atomic_int puts_left = ANY_PUTS;    // until the disk hangs
static atomic_int damaged_puts;            // of a file of a place's own that is found damaged when something is put

tarn_status __real_tarn_session_file_put(tarn_session_file *file, const tarn_box_news *news, uint64_t *state_bytes,
                                         tarn_text why);
tarn_status __wrap_tarn_session_file_put(tarn_session_file *file, const tarn_box_news *news, uint64_t *state_bytes,
                                         tarn_text why); // NOLINT: the linker's name

tarn_status __wrap_tarn_session_file_put(tarn_session_file *file, const tarn_box_news *news, uint64_t *state_bytes,
                                         tarn_text why)
{
    if (news->has_state && news->state.bytes.count == LARGE_BYTES) {
        atomic_store(&has_begun, true);
        for (int i = 0; i < TRIES && atomic_load(&holds_large); i++) {
            usleep(10000);
        }
    }
    while (atomic_load(&puts_left) == 0) {
        usleep(1000);
    }
    if (atomic_load(&puts_left) != ANY_PUTS) {
        atomic_fetch_sub(&puts_left, 1);
    }
    if (atomic_load(&damaged_puts) > 0) {
        atomic_fetch_sub(&damaged_puts, 1);
        snprintf(why, sizeof(tarn_text), "database disk image is malformed");
        return TARN_E_MALFORMED;
    }
    return __real_tarn_session_file_put(file, news, state_bytes, why);
}

static int open_store(void **state)
{
    tarn_text why;
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/tarn-rounds-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(tarn_store_open(&store, dir, COMMIT_MS, &limit, 60, why), TARN_OK);
    return 0;
}

static int remove_dir(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command);
}

static tarn_session_about about_of(uint32_t place)
{
    tarn_session_about about = {.begun_as = "some-scene", .is_listed = true};
    snprintf(about.name, sizeof about.name, "tank-%u", place);
    return about;
}

/// A box with a tank of so many bytes at a step. @return to be closed
static int make_box(size_t state_bytes, uint64_t step)
{
    tarn_box_state state = {.step = step, .state_bytes_max = state_bytes};
    uint32_t random = (uint32_t)step + 1;
    assert_int_equal(tarn_box_bytes_make_room(&state.bytes, state_bytes), TARN_OK);
    for (size_t i = 0; i < state_bytes; i++) {
        random = random * 1664525 + 1013904223;
        state.bytes.bytes[i] = (uint8_t)(random >> 24);
    }
    state.bytes.count = state_bytes;
    snprintf(state.scene, sizeof state.scene, "some-scene");
    const int fd = memfd_create("box", 0);
    assert_int_equal(tarn_box_fill(fd, &state, 1, 1, NULL, 0, false), TARN_OK);
    tarn_box_bytes_free(&state.bytes);
    return fd;
}

/// A tank begins anew in a place.
static void keep(uint32_t place, size_t state_bytes, uint64_t step)
{
    const tarn_session_about about = about_of(place);
    const int fd = make_box(state_bytes, step);
    assert_true(tarn_store_keep(store, place, 1000 + place, &about, fd));
    close(fd);
}

static uint64_t commits(void)
{
    tarn_store_counts counts;
    tarn_store_count(store, &counts);
    return counts.commits;
}

/// @return whether there were as many in time
static bool wait_for_commits(uint64_t count)
{
    for (int i = 0; i < TRIES && commits() < count; i++) {
        usleep(5000);
    }
    return commits() >= count;
}

/// The step of the newest state of a place's file.
static uint64_t newest_step(uint32_t place)
{
    static tarn_session_rest rest;
    char path[128];
    tarn_session_file *file;
    tarn_text why;
    snprintf(path, sizeof path, "%s/tank-%u.tank", dir, place);
    assert_int_equal(tarn_session_file_open_to_read(path, &file, why), TARN_OK);
    assert_int_equal(tarn_session_file_rest(file, &rest, why), TARN_OK);
    const uint64_t step = rest.state.step;
    tarn_session_rest_free(&rest);
    tarn_session_file_close(file);
    return step;
}

/// Waits until so many files were set aside, and a place is kept again: a put that failed is noted a moment later.
static void expect_kept_after(uint32_t set_aside, uint32_t place, uint64_t step)
{
    tarn_store_counts counts;
    for (int i = 0; i < TRIES; i++) {
        tarn_store_count(store, &counts);
        if (counts.set_aside >= set_aside && counts.failing == 0 && !tarn_store_fails(store, place)) {
            break;
        }
        usleep(20000);
    }
    assert_int_equal(counts.failing, 0);
    assert_int_equal(counts.set_aside, set_aside);
    assert_int_equal(newest_step(place), step);
}

static void test_a_file_that_is_found_damaged_makes_way_for_a_new_one(void **state)
{
    (void)state;
    char aside[128];
    atomic_store(&damaged_puts, 0);
    keep(0, SMALL_BYTES, 3);
    assert_true(wait_for_commits(1));
    snprintf(aside, sizeof aside, "%s/tank-0.damaged", dir);
    assert_int_equal(access(aside, F_OK), -1);
    atomic_store(&damaged_puts, 1);
    keep(0, SMALL_BYTES, 4);
    expect_kept_after(1, 0, 4);
    assert_int_equal(access(aside, F_OK), 0);
    // A disk of which each file is damaged isn't filled with them.
    atomic_store(&damaged_puts, 2);
    keep(0, SMALL_BYTES, 5);
    expect_kept_after(2, 0, 5);
    tarn_store_close(store);
}

static void test_others_are_kept_while_a_large_state_is_put(void **state)
{
    (void)state;
    enum { OTHERS = 8 };
    atomic_store(&holds_large, true);
    atomic_store(&has_begun, false);
    keep(0, LARGE_BYTES, 1);
    for (int i = 0; i < TRIES && !atomic_load(&has_begun); i++) {
        usleep(5000);
    }
    assert_true(atomic_load(&has_begun));
    for (uint32_t place = 1; place <= OTHERS; place++) {
        keep(place, SMALL_BYTES, 10 + place);
    }
    assert_true(wait_for_commits(OTHERS));
    assert_int_equal(commits(), OTHERS);
    // A second large one waits for the first; the tank of the first may end, or be another by then.
    keep(9, LARGE_BYTES, 5);
    keep(0, SMALL_BYTES, 2);
    usleep(4 * COMMIT_MS * 1000);
    assert_int_equal(commits(), OTHERS);
    atomic_store(&holds_large, false);
    assert_true(wait_for_commits(OTHERS + 3));
    tarn_store_close(store);
    assert_int_equal(newest_step(0), 2);
    assert_int_equal(newest_step(9), 5);
    for (uint32_t place = 1; place <= OTHERS; place++) {
        assert_int_equal(newest_step(place), 10 + place);
    }
}

static void test_a_large_state_is_put_whatever_ends(void **state)
{
    (void)state;
    atomic_store(&holds_large, false);
    keep(0, LARGE_BYTES, 3);
    keep(1, LARGE_BYTES, 4); // at once, and the end comes amid it
    usleep(COMMIT_MS * 1000);
    tarn_store_drop(store, 2, "tank-2"); // which there never was
    tarn_store_close(store);
    assert_int_equal(newest_step(0), 3);
    assert_int_equal(newest_step(1), 4);
}

/// What others wait for their commits while large states are put one after the other.
static void test_others_wait_little(void **state)
{
    (void)state;
    enum { ROUNDS = 40 };
    double most_s = 0, large_s = 0;
    atomic_store(&holds_large, false);
    atomic_store(&has_begun, false);
    keep(0, LARGE_BYTES, 1);
    const uint64_t large_ns = tarn_clock_monotonic_ns();
    while (!atomic_load(&has_begun)) {
        usleep(1000);
    }
    for (uint32_t i = 1; i <= ROUNDS && large_s == 0; i++) {
        const uint64_t before = commits(), begun_ns = tarn_clock_monotonic_ns();
        keep(i, SMALL_BYTES, i);
        assert_true(wait_for_commits(before + 1));
        const double took_s = 1e-9 * (double)(tarn_clock_monotonic_ns() - begun_ns);
        most_s = took_s > most_s ? took_s : most_s;
        tarn_store_counts counts;
        tarn_store_count(store, &counts);
        large_s = counts.state_bytes > LARGE_BYTES / 2 ? 1e-9 * (double)(tarn_clock_monotonic_ns() - large_ns) : 0;
    }
    print_message("a state of %.0f MB was put within %.3f s; another tank waited %.3f s at most\n", 1e-6 * LARGE_BYTES,
                  large_s, most_s);
    tarn_store_close(store);
}

/// Begins a tank anew until that is held back, however slow the disk is. @return how often
static uint32_t begin_until_held(uint32_t place)
{
    enum { AT_ONCE = 6 }; // what it may use later, and TARN_GATEWAY_STORE_ANEW_MAX
    const uint64_t before = commits();
    double left_s = 0;
    uint32_t count = 0;
    assert_false(tarn_store_holds_back(store, place, &left_s));
    for (bool is_held = false; !is_held && count < TRIES;) {
        keep(place, SMALL_BYTES, ++count);
        while (!is_held && commits() < before + count) {
            usleep(5000);
            is_held = tarn_store_holds_back(store, place, &left_s);
        }
    }
    assert_true(count > AT_ONCE);
    assert_true(left_s > 0 && left_s <= 2);
    assert_int_equal(commits(), before + count - 1);
    return count;
}

/// A tank that begins anew too often isn't kept for a while, which is said; what was kept stays, and the end keeps the
/// newest.
static void test_what_is_held_back_is_said(void **state)
{
    (void)state;
    double left_s;
    tarn_store_counts counts;
    const uint32_t count = begin_until_held(0);
    tarn_store_count(store, &counts);
    assert_int_equal(counts.held, 1);
    // Others are kept.
    keep(1, SMALL_BYTES, 7);
    assert_true(wait_for_commits(count));
    // In time it is kept again.
    assert_true(wait_for_commits(count + 1));
    assert_false(tarn_store_holds_back(store, 0, &left_s));
    tarn_store_count(store, &counts);
    assert_int_equal(counts.held, 0);
    // The server's end doesn't wait.
    keep(0, SMALL_BYTES, count + 1);
    while (!tarn_store_holds_back(store, 0, &left_s) && commits() < count + 2) {
        usleep(5000);
    }
    tarn_store_close(store);
    assert_int_equal(newest_step(0), count + 1);
    assert_int_equal(newest_step(1), 7);
}

/// One that ends meanwhile isn't held any more.
static void test_a_tank_that_ends_is_not_held_back(void **state)
{
    (void)state;
    double left_s = 0;
    tarn_store_counts counts;
    (void)begin_until_held(0);
    tarn_store_drop(store, 0, "tank-0");
    assert_false(tarn_store_holds_back(store, 0, &left_s));
    usleep(2 * COMMIT_MS * 1000);
    tarn_store_count(store, &counts);
    assert_int_equal(counts.held, 0);
    tarn_store_close(store);
}

/// Waits while nothing is put. @return whether what a power cut would cost is what came since, at least
static bool is_told_since(uint64_t since_ns)
{
    tarn_store_counts counts;
    usleep(3 * COMMIT_MS * 1000);
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    tarn_store_count(store, &counts);
    return counts.unkept_s >= 1e-9 * (double)(now_ns - since_ns) && counts.age_s >= counts.unkept_s;
}

/// What a power cut would cost is known while a commit is on its way, and said before it has ended.
static void test_a_commit_that_is_late_is_said(void **state)
{
    (void)state;
    tarn_store_counts counts;
    keep(0, SMALL_BYTES, 1);
    assert_true(wait_for_commits(1));
    atomic_store(&puts_left, 0);
    keep(0, SMALL_BYTES, 2);
    assert_true(is_told_since(tarn_clock_monotonic_ns()));
    // What comes while that is put isn't kept by it.
    keep(0, SMALL_BYTES, 3);
    const uint64_t third_ns = tarn_clock_monotonic_ns();
    assert_int_equal(commits(), 1);
    atomic_store(&puts_left, 1);
    assert_true(wait_for_commits(2));
    assert_true(is_told_since(third_ns));
    // Another tank waits for the first.
    keep(1, SMALL_BYTES, 7);
    for (int i = 0; i < TRIES && !tarn_store_fails(store, 1); i++) {
        usleep(20000);
    }
    assert_true(tarn_store_fails(store, 0) && tarn_store_fails(store, 1));
    assert_true(is_told_since(third_ns));
    tarn_store_count(store, &counts);
    assert_int_equal(counts.commits, 2);
    const uint64_t late_before = counts.late;
    atomic_store(&puts_left, ANY_PUTS);
    assert_true(wait_for_commits(4));
    tarn_store_count(store, &counts);
    assert_int_equal(counts.late, late_before + 2);
    for (int i = 0; i < TRIES && tarn_store_fails(store, 0); i++) {
        usleep(5000);
    }
    assert_false(tarn_store_fails(store, 0));
    tarn_store_close(store);
    assert_int_equal(newest_step(0), 3);
    assert_int_equal(newest_step(1), 7);
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_others_are_kept_while_a_large_state_is_put, open_store, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_large_state_is_put_whatever_ends, open_store, remove_dir),
        cmocka_unit_test_setup_teardown(test_others_wait_little, open_store, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_found_damaged_makes_way_for_a_new_one, open_store,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(test_what_is_held_back_is_said, open_store, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_tank_that_ends_is_not_held_back, open_store, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_commit_that_is_late_is_said, open_store, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
