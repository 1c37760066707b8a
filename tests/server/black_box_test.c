// What a dead worker leaves: a box is written, let go of without a word, and opened by the next one.
#include "server/log/black_box.h"
#include "server/log/follow.h"
#include "tests/server/test_cmocka.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STATE_BYTES_MAX = 10000, HEAD_BYTES = 4096 };

static const char scene[] = "some-scene";

typedef struct two_workers {
    int fd;
    tarn_black_box box;
} two_workers;

static int begin(void **state)
{
    two_workers *two = calloc(1, sizeof *two);
    assert_non_null(two);
    two->fd = tarn_black_box_make();
    assert_true(two->fd > 0);
    assert_int_equal(tarn_black_box_open(&two->box, two->fd, STATE_BYTES_MAX), TARN_OK);
    *state = two;
    return 0;
}

static int end(void **state)
{
    two_workers *two = *state;
    tarn_black_box_close(&two->box);
    close(two->fd);
    free(two);
    return 0;
}

/// The worker ends, and the next one looks. @return whether there is something
static bool next_worker(two_workers *two, tarn_black_box_rest *rest)
{
    tarn_black_box_close(&two->box);
    assert_int_equal(tarn_black_box_open(&two->box, two->fd, STATE_BYTES_MAX), TARN_OK);
    return tarn_black_box_find(&two->box, scene, rest);
}

/// The bound on a tank's states counts every array that any tank may have: the largest scene's is beyond what a box
/// has.
static void test_the_largest_tanks_have_a_box(void **state)
{
    tarn_black_box box = {0};
    const int fd = tarn_black_box_make();
    (void)state;
    assert_int_equal(tarn_black_box_state_room(100), 100);
    assert_int_equal(tarn_black_box_state_room(UINT64_C(1) << 40), TARN_IPC_STATE_BYTES_MAX);
    assert_int_equal(tarn_black_box_open(&box, fd, tarn_black_box_state_room(UINT64_C(1) << 40)), TARN_OK);
    tarn_black_box_close(&box);
    close(fd);
}

static void keep(two_workers *two, uint8_t value, uint64_t bytes, uint64_t step)
{
    memset(tarn_black_box_space(&two->box), value, bytes);
    tarn_black_box_keep(&two->box, bytes, step, false);
}

static void log_parameter(two_workers *two, float value)
{
    const tarn_step_input input = {.parameter_count = 1, .parameters[0] = {.id = 3, .value = value}};
    assert_true(tarn_black_box_has_room(&two->box));
    tarn_black_box_log(&two->box, &input, (const uint8_t *)&value, sizeof value);
}

/// What viewers held last; 0: nothing.
static float presses_of(two_workers *two)
{
    uint32_t byte_count;
    float value = 0;
    const uint8_t *presses = tarn_black_box_presses(&two->box, &byte_count);
    assert_true(byte_count == 0 || byte_count == sizeof value);
    memcpy(&value, presses, byte_count);
    return value;
}

/// @return how many records there are; they tell `first`, `first` + 1 ...
static uint32_t count_records(const two_workers *two, float first)
{
    static tarn_step_input input;
    size_t at = 0;
    uint32_t count = 0;
    tarn_status status;
    while ((status = tarn_black_box_read(&two->box, &at, &input)) == TARN_OK) {
        assert_int_equal(input.parameter_count, 1);
        assert_true(input.parameters[0].value == first + (float)count);
        count++;
    }
    assert_int_equal(status, TARN_E_NOT_FOUND);
    return count;
}

static void test_an_empty_box_has_nothing(void **state)
{
    tarn_black_box_rest rest;
    assert_false(next_worker(*state, &rest));
    tarn_black_box_begin(&((two_workers *)*state)->box, scene);
    assert_false(next_worker(*state, &rest));
}

static void test_a_state_and_what_was_done_since_are_found(void **state)
{
    two_workers *two = *state;
    tarn_black_box_rest rest;
    tarn_black_box_begin(&two->box, scene);
    keep(two, 1, 1, 0);
    tarn_black_box_set_epoch(&two->box, 7);
    tarn_black_box_set_number(&two->box, 9);
    log_parameter(two, 1);
    log_parameter(two, 2);
    assert_true(next_worker(two, &rest));
    assert_int_equal(rest.state[0], 1);
    assert_int_equal(rest.state_bytes, 1);
    assert_int_equal(rest.step, 0);
    assert_int_equal(rest.epoch, 7);
    assert_int_equal(rest.number, 9);
    assert_false(rest.is_log_left_out);
    assert_int_equal(count_records(two, 1), 2);
    assert_true(presses_of(two) == 2);
}

/// They stay with the states that come, until they are let go of.
static void test_presses_outlive_the_log(void **state)
{
    two_workers *two = *state;
    tarn_black_box_rest rest;
    tarn_black_box_begin(&two->box, scene);
    keep(two, 1, 1, 0);
    assert_true(presses_of(two) == 0);
    log_parameter(two, 3);
    for (uint32_t k = 1; k <= 3; k++) {
        keep(two, 1, 1, k);
        assert_true(next_worker(two, &rest));
        assert_int_equal(count_records(two, 0), 0);
        assert_true(presses_of(two) == 3);
    }
    log_parameter(two, 4);
    keep(two, 1, 1, 4);
    assert_true(next_worker(two, &rest));
    assert_true(presses_of(two) == 4);
    tarn_black_box_let_go(&two->box);
    keep(two, 1, 1, 5);
    assert_true(next_worker(two, &rest));
    assert_true(presses_of(two) == 0);
}

/// States take turns; each begins its own log, and one that was not finished means nothing.
/// It is neither a step nor what viewers hold, and whoever follows the box gets it.
static void test_a_hash_lies_between_the_steps(void **state)
{
    two_workers *two = *state;
    tarn_box_follower follower = {.fd = two->fd};
    tarn_box_news news = {0};
    tarn_black_box_record record;
    const tarn_tank_hash hash = {.lo = UINT64_MAX, .hi = 5};
    size_t at = 0;
    uint64_t steps = 2;
    tarn_black_box_begin(&two->box, scene);
    keep(two, 1, 1, 0);
    log_parameter(two, 1);
    tarn_black_box_log_hash(&two->box, 256, &hash);
    log_parameter(two, 2);
    tarn_black_box_log_hash(&two->box, 512, &hash);
    assert_int_equal(count_records(two, 1), 2);
    assert_true(presses_of(two) == 2);
    assert_int_equal(tarn_box_follow(&follower, true, &news), TARN_OK);
    assert_int_equal(tarn_box_log_steps(news.log.bytes, news.log.count), 2);
    assert_true(tarn_black_box_record_next(news.log.bytes, news.log.count, &at, &record));
    assert_false(record.is_hash);
    assert_true(tarn_black_box_record_next(news.log.bytes, news.log.count, &at, &record));
    assert_true(record.is_hash && record.input_bytes == 0 && record.presses_bytes == 0);
    assert_true(record.hash.step == 256 && record.hash.lo == hash.lo && record.hash.hi == hash.hi);
    assert_true(tarn_box_log_up_to(news.log.bytes, news.log.count, &steps) < news.log.count);
    assert_int_equal(steps, 2);
    // Cut anywhere in it, it isn't there.
    for (size_t cut = 1; cut < sizeof(tarn_black_box_record_head) + sizeof(tarn_black_box_hash); cut++) {
        assert_true(tarn_box_log_whole(news.log.bytes, at - cut) < at - cut);
    }
    assert_int_equal(tarn_box_log_whole(news.log.bytes, at), at);
    tarn_box_news_free(&news);
    assert_true(tarn_black_box_hash_due(512) && !tarn_black_box_hash_due(513) && tarn_black_box_hash_due(1024));
}

static void test_the_newest_whole_state_counts(void **state)
{
    two_workers *two = *state;
    tarn_black_box_rest rest;
    tarn_black_box_begin(&two->box, scene);
    keep(two, 9, 9, 0);
    for (uint8_t k = 1; k <= 5; k++) {
        log_parameter(two, 100);
        keep(two, k, STATE_BYTES_MAX - k, 60u * k);
        log_parameter(two, k);
        memset(tarn_black_box_space(&two->box), 0xee, STATE_BYTES_MAX); // of the next one, when the worker ends
        assert_true(next_worker(two, &rest));
        assert_int_equal(rest.state_bytes, STATE_BYTES_MAX - k);
        assert_int_equal(rest.step, 60u * k);
        for (uint64_t i = 0; i < rest.state_bytes; i++) {
            assert_int_equal(rest.state[i], k);
        }
        assert_int_equal(count_records(two, k), 1);
    }
    tarn_black_box_back(&two->box);
    assert_true(next_worker(two, &rest));
    assert_int_equal(rest.step, 300);
    assert_int_equal(count_records(two, 0), 0);
}

static void test_a_box_of_another_tank_is_none(void **state)
{
    two_workers *two = *state;
    tarn_black_box_rest rest;
    tarn_black_box_begin(&two->box, "another-scene");
    keep(two, 9, 9, 0);
    assert_false(next_worker(two, &rest));
    tarn_black_box_begin(&two->box, scene);
    keep(two, 9, 9, 0);
    assert_true(next_worker(two, &rest));
    tarn_black_box_close(&two->box);
    assert_int_equal(tarn_black_box_open(&two->box, two->fd, STATE_BYTES_MAX + 1), TARN_OK);
    assert_false(tarn_black_box_find(&two->box, scene, &rest));
}

static void test_a_full_log_says_so_before_it_is(void **state)
{
    two_workers *two = *state;
    tarn_black_box_rest rest;
    uint32_t count = 0;
    tarn_black_box_begin(&two->box, scene);
    keep(two, 9, 9, 0);
    while (tarn_black_box_has_room(&two->box)) {
        log_parameter(two, (float)count++);
    }
    assert_true(count > 10000);
    assert_true(next_worker(two, &rest));
    assert_int_equal(count_records(two, 0), count);
    keep(two, 1, 10, count);
    assert_true(tarn_black_box_has_room(&two->box));
    assert_int_equal(count_records(two, 0), 0);
}

/// The worker ends amid the replay, at the record that ends there; 0: amid the load.
static bool die_at(two_workers *two, size_t log_at, tarn_black_box_rest *rest)
{
    tarn_black_box_set_busy(&two->box, true);
    tarn_black_box_set_replayed(&two->box, log_at);
    return next_worker(two, rest);
}

/// Where the log's first records end.
static void find_ends(const two_workers *two, size_t *ends, int count)
{
    static tarn_step_input input;
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        assert_int_equal(tarn_black_box_read(&two->box, &at, &input), TARN_OK);
        ends[i] = at;
    }
}

/// A process that ends at one place of a tank's way, again and again before the tank gets past it, may be ended by it.
static void test_what_kills_is_left_out(void **state)
{
    two_workers *two = *state;
    tarn_black_box_rest rest;
    size_t at;
    tarn_black_box_begin(&two->box, scene);
    keep(two, 9, 9, 0);
    keep(two, 1, 10, 60);
    log_parameter(two, 0);
    keep(two, 2, 20, 120);
    log_parameter(two, 0);
    find_ends(two, &at, 1);
    for (int idle = 0; idle < 10; idle++) { // no fault of the tank's
        assert_true(next_worker(two, &rest));
        assert_false(rest.is_log_left_out);
    }
    for (int death = 1; death <= TARN_BLACK_BOX_DEATHS_FULL; death++) {
        assert_true(die_at(two, at, &rest));
        assert_false(rest.is_log_left_out || rest.is_old);
        tarn_black_box_settle(&two->box, &rest);
        assert_int_equal(count_records(two, 0), 1);
    }
    assert_true(die_at(two, at, &rest));
    assert_true(rest.is_log_left_out && !rest.is_old);
    assert_int_equal(rest.step, 120);
    tarn_black_box_settle(&two->box, &rest);
    assert_int_equal(count_records(two, 0), 0);

    assert_true(die_at(two, 0, &rest)); // wherever it dies now
    assert_true(rest.is_log_left_out && rest.is_old);
    assert_int_equal(rest.step, 60);
    assert_int_equal(rest.state[0], 1);
    tarn_black_box_settle(&two->box, &rest);
    assert_int_equal(count_records(two, 0), 0);

    assert_false(die_at(two, 8, &rest));

    tarn_black_box_begin(&two->box, scene); // it starts afresh, and gets farther
    keep(two, 9, 9, 0);
    tarn_black_box_set_busy(&two->box, true);
    keep(two, 3, 30, 60);
    assert_true(next_worker(two, &rest));
    assert_false(rest.is_log_left_out);
}

/// A replay comes to the same each time: workers that end elsewhere each time end by something else, but for a tank
/// that never gets anywhere.
static void test_other_places_are_no_proof(void **state)
{
    enum { RECORDS = 40 };
    two_workers *two = *state;
    tarn_black_box_rest rest;
    size_t ends[RECORDS];
    tarn_black_box_begin(&two->box, scene);
    keep(two, 1, 10, 60);
    for (int i = 0; i < RECORDS; i++) {
        log_parameter(two, (float)i);
    }
    find_ends(two, ends, RECORDS);
    for (int i = 1; i < TARN_BLACK_BOX_TRIES_MAX; i++) {
        assert_true(die_at(two, ends[(i * 7) % RECORDS], &rest));
        assert_false(rest.is_log_left_out);
        assert_false(tarn_box_is_suspect(two->fd));
    }
    assert_true(die_at(two, ends[0], &rest));
    assert_true(rest.is_log_left_out);
}

/// Once it has got past the place and was shown, what happened there is over.
static void test_getting_past_the_place_clears_the_tank(void **state)
{
    two_workers *two = *state;
    tarn_black_box_rest rest;
    size_t at;
    tarn_black_box_begin(&two->box, scene);
    keep(two, 1, 10, 60);
    log_parameter(two, 0);
    find_ends(two, &at, 1);
    for (int round = 0; round < 3 * TARN_BLACK_BOX_DEATHS_MAX; round++) {
        assert_true(die_at(two, at, &rest));
        assert_false(rest.is_log_left_out);
        if (round % TARN_BLACK_BOX_DEATHS_FULL == TARN_BLACK_BOX_DEATHS_FULL - 1) {
            tarn_black_box_passed(&two->box);
        }
    }
}

/// Frames aren't replayed: the tank goes on from behind the step, and dies of being shown at the next one.
static void test_a_tank_that_dies_of_being_shown_is_to_blame(void **state)
{
    two_workers *two = *state;
    tarn_black_box_rest rest;
    tarn_black_box_begin(&two->box, scene);
    keep(two, 1, 10, 60);
    for (int death = 1; death <= TARN_BLACK_BOX_DEATHS_FULL + 1; death++) {
        tarn_black_box_set_busy(&two->box, true);
        log_parameter(two, 0);
        tarn_black_box_set_showing(&two->box);
        assert_true(next_worker(two, &rest));
        assert_true(rest.is_log_left_out == (death > TARN_BLACK_BOX_DEATHS_FULL));
    }
}

/// A tank that wasn't being worked on isn't what its workers ended by; one that was, at the same place again and again,
/// may be; and one whose workers were ended from outside isn't.
static void test_who_may_have_killed_its_workers_is_told(void **state)
{
    two_workers *two = *state;
    tarn_black_box_rest rest;
    assert_true(tarn_box_is_suspect(-1));
    tarn_black_box_begin(&two->box, scene);
    keep(two, 1, 100, 60);
    for (int ends = 0; ends < 8; ends++) {
        assert_false(tarn_box_is_suspect(two->fd));
        assert_true(next_worker(two, &rest));
    }
    for (int ends = 0; ends < 3 * TARN_BLACK_BOX_DEATHS_MAX; ends++) {
        tarn_black_box_set_busy(&two->box, true);
        tarn_box_excuse(two->fd);
        assert_false(tarn_box_is_suspect(two->fd));
        assert_true(next_worker(two, &rest));
        assert_false(rest.is_log_left_out);
    }
    for (int ends = 1; ends <= TARN_BLACK_BOX_DEATHS_FULL; ends++) {
        tarn_black_box_set_busy(&two->box, true);
        assert_true(tarn_box_is_suspect(two->fd) == (ends == TARN_BLACK_BOX_DEATHS_FULL));
        assert_true(next_worker(two, &rest));
    }
    keep(two, 2, 100, 120); // it got farther
    assert_false(tarn_box_is_suspect(two->fd));
}

/// The worker is killed from outside amid the replay, at the record that ends there. @return whether it is left out
static bool is_left_out_once_killed(two_workers *two, size_t log_at, uint32_t weight)
{
    tarn_black_box_rest rest;
    tarn_black_box_set_busy(&two->box, true);
    tarn_black_box_set_replayed(&two->box, log_at);
    tarn_box_killed(two->fd, weight);
    assert_true(next_worker(two, &rest));
    assert_false(rest.is_old);
    tarn_black_box_settle(&two->box, &rest);
    return rest.is_log_left_out;
}

/// A step that takes all memory is killed from outside, too: at one place each time. Anybody else kills anywhere.
static void test_who_is_killed_at_one_place_again_and_again_is_to_blame(void **state)
{
    enum { RECORDS = 3 };
    two_workers *two = *state;
    tarn_black_box_rest rest;
    size_t ends[RECORDS];
    for (int round = 0; round < 2; round++) {
        const uint32_t weight = round == 0 ? 1 : TARN_BLACK_BOX_KILL_BY_KERNEL,
                       kills = TARN_BLACK_BOX_KILLS_MAX / weight;
        tarn_black_box_begin(&two->box, scene);
        keep(two, 1, 10, 60);
        for (int i = 0; i < RECORDS; i++) {
            log_parameter(two, (float)i);
        }
        find_ends(two, ends, RECORDS);
        for (int i = 0; i < 66 * RECORDS; i++) { // here and there
            assert_false(is_left_out_once_killed(two, ends[i % RECORDS], weight));
            assert_false(is_left_out_once_killed(two, 0, weight)); // where the state is loaded it proves nothing
        }
        for (uint32_t i = 1; i < kills; i++) {
            assert_false(is_left_out_once_killed(two, ends[1], weight));
        }
        tarn_black_box_passed(&two->box); // it got past it
        for (uint32_t i = 1; i < kills; i++) {
            assert_false(is_left_out_once_killed(two, ends[1], weight));
            assert_true(next_worker(two, &rest)); // that had it stand is no proof of anything
        }
        assert_true(is_left_out_once_killed(two, ends[1], weight));
        assert_int_equal(count_records(two, 0), 0);
    }
}

/// A worker may have gone wild before it ended: whatever its box says, reading it does no harm.
static void test_damage_is_harmless(void **state)
{
    two_workers *two = *state;
    static uint8_t whole[HEAD_BYTES + 256];
    static tarn_step_input input;
    tarn_black_box_begin(&two->box, scene);
    keep(two, 9, 9, 0);
    keep(two, 1, 10, 60);
    log_parameter(two, 0);
    uint8_t *bytes = (uint8_t *)two->box.head;
    memcpy(whole, bytes, sizeof whole);
    srand(1);
    for (int round = 0; round < 20000; round++) {
        const size_t second_log = HEAD_BYTES + TARN_BLACK_BOX_LOG_BYTES;
        const size_t at = (size_t)rand() % sizeof whole;
        bytes[at < HEAD_BYTES || round % 2 ? at : second_log + at - HEAD_BYTES] ^= (uint8_t)(1 + rand() % 255);
        tarn_black_box_rest rest;
        if (next_worker(two, &rest)) {
            size_t read = 0;
            assert_true(rest.state_bytes <= STATE_BYTES_MAX);
            tarn_black_box_settle(&two->box, &rest);
            while (tarn_black_box_read(&two->box, &read, &input) == TARN_OK) {
            }
            uint32_t presses_bytes;
            const uint8_t *presses = tarn_black_box_presses(&two->box, &presses_bytes);
            assert_true(presses_bytes == 0 || presses + presses_bytes <= (uint8_t *)two->box.head + two->box.bytes);
        }
        bytes = (uint8_t *)two->box.head;
        memcpy(bytes, whole, sizeof whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_largest_tanks_have_a_box),
        cmocka_unit_test_setup_teardown(test_an_empty_box_has_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_a_state_and_what_was_done_since_are_found, begin, end),
        cmocka_unit_test_setup_teardown(test_presses_outlive_the_log, begin, end),
        cmocka_unit_test_setup_teardown(test_a_hash_lies_between_the_steps, begin, end),
        cmocka_unit_test_setup_teardown(test_the_newest_whole_state_counts, begin, end),
        cmocka_unit_test_setup_teardown(test_a_box_of_another_tank_is_none, begin, end),
        cmocka_unit_test_setup_teardown(test_a_full_log_says_so_before_it_is, begin, end),
        cmocka_unit_test_setup_teardown(test_what_kills_is_left_out, begin, end),
        cmocka_unit_test_setup_teardown(test_other_places_are_no_proof, begin, end),
        cmocka_unit_test_setup_teardown(test_getting_past_the_place_clears_the_tank, begin, end),
        cmocka_unit_test_setup_teardown(test_a_tank_that_dies_of_being_shown_is_to_blame, begin, end),
        cmocka_unit_test_setup_teardown(test_who_may_have_killed_its_workers_is_told, begin, end),
        cmocka_unit_test_setup_teardown(test_who_is_killed_at_one_place_again_and_again_is_to_blame, begin, end),
        cmocka_unit_test_setup_teardown(test_damage_is_harmless, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
