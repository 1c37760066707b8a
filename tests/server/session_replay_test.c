// What was done to a tank, from its session's file in pieces and out of the feed again: all of it, in order, from any
// step on; and what is left of it when some of the file is gone or damaged.
#include "server/log/black_box.h"
#include "server/log/session_history.h"
#include "server/worker/snapshot.h"
#include "tests/server/test_cmocka.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 700, STATE_EVERY = 90, BATCH_STEPS = 7, FIRST_STEP = 31, STATE_BYTES = 64, PRESSES_BYTES = 20 };

static char dir[] = "/tmp/tarn-stretch-XXXXXX";
static char path[64];
static tarn_session_file *file;
static tarn_box_news news;
static tarn_text why;

static void add(tarn_box_bytes *log, const void *bytes, size_t byte_count)
{
    const size_t end = (log->count + byte_count + 7) / 8 * 8;
    assert_int_equal(tarn_box_bytes_make_room(log, end), TARN_OK);
    memset(log->bytes + log->count, 0, end - log->count);
    memcpy(log->bytes + log->count, bytes, byte_count);
    log->count = end;
}

/// The input that leads to a step, or, where it holds, comes before that: most are large.
static void make_input(uint64_t step, bool holds, tarn_step_input *input)
{
    memset(input, 0, sizeof *input);
    input->holds = holds;
    input->parameter_count = 1;
    input->parameters[0].id = 3;
    input->parameters[0].value = (float)step + (holds ? 0.5f : 0.0f);
    input->push_count = !holds && step % 3 != 0 ? TARN_TANK_PUSHES_MAX : 0;
}

static void put_input(uint64_t step, bool holds)
{
    static tarn_step_input input;
    static uint8_t record[sizeof(tarn_black_box_record_head) + TARN_STEP_INPUT_BYTES_MAX + PRESSES_BYTES];
    uint8_t *content = record + sizeof(tarn_black_box_record_head);
    make_input(step, holds, &input);
    const size_t input_bytes = tarn_step_input_write(&input, content, TARN_STEP_INPUT_BYTES_MAX);
    const tarn_black_box_record_head head = {(uint32_t)input_bytes, PRESSES_BYTES};
    memcpy(record, &head, sizeof head);
    memset(content + input_bytes, 0x5a, PRESSES_BYTES);
    add(&news.log, record, sizeof head + input_bytes + PRESSES_BYTES);
}

static void put_hash(uint64_t step)
{
    struct {
        tarn_black_box_record_head head;
        tarn_black_box_hash hash;
    } record = {{0, TARN_BLACK_BOX_IS_HASH}, {step, step * 3, step * 5}};
    add(&news.log, &record, sizeof record);
}

static bool holds_before(uint64_t step)
{
    return step % 5 == 0;
}

static bool has_hash(uint64_t step)
{
    return step % 64 == 0;
}

static void commit(bool has_state, bool is_anew, uint64_t step)
{
    uint64_t state_bytes;
    news.has_state = has_state;
    news.is_anew = is_anew;
    news.epoch = 5;
    news.dt_ns = 16666667;
    if (has_state) {
        static const uint8_t state[STATE_BYTES];
        snprintf(news.state.scene, sizeof news.state.scene, "toy");
        news.state.step = step;
        news.state.state_bytes_max = STATE_BYTES;
        news.state.bytes.count = 0;
        assert_int_equal(tarn_box_bytes_make_room(&news.state.bytes, STATE_BYTES), TARN_OK);
        memcpy(news.state.bytes.bytes, state, sizeof state);
        news.state.bytes.count = STATE_BYTES;
        news.before = news.log;
        news.log = (tarn_box_bytes){0};
    }
    assert_int_equal(tarn_session_file_put(file, &news, &state_bytes, why), TARN_OK);
    tarn_box_bytes_free(&news.before);
    news.log.count = 0;
}

/// Steps from a state that is there on.
static void live(uint64_t from, uint64_t until)
{
    for (uint64_t step = from + 1; step <= until; step++) {
        if (holds_before(step)) {
            put_input(step, true);
        }
        put_input(step, false);
        if (has_hash(step)) {
            put_hash(step);
        }
        if (step % STATE_EVERY == 0) {
            commit(true, false, step);
        } else if (step % BATCH_STEPS == 0) {
            commit(false, false, step);
        }
    }
    commit(false, false, until);
}

static int begin(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/tarn-stretch-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a.tank", dir);
    assert_int_equal(tarn_session_file_open(path, &file, why), TARN_OK);
    tarn_session_file_keep_from(file, 1);
    commit(true, true, FIRST_STEP);
    live(FIRST_STEP, STEPS);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tarn_session_file_close(file);
    tarn_box_news_free(&news);
    memset(&news, 0, sizeof news);
    (void)unlink(path);
    char beside[80];
    snprintf(beside, sizeof beside, "%s-wal", path);
    (void)unlink(beside);
    snprintf(beside, sizeof beside, "%s-shm", path);
    (void)unlink(beside);
    return rmdir(dir);
}

/// Asks for one piece and puts it into the feed.
static tarn_status feed_on(tarn_session_stretch_reader *reader, const tarn_session_stretch *stretch,
                           tarn_replay_feed *feed)
{
    tarn_box_bytes records = {0};
    bool is_last = false;
    const tarn_status status =
        tarn_session_stretch_read(file, reader, stretch, feed->from, feed->held, &records, &is_last, why);
    if (status == TARN_OK) {
        assert_true(records.count <= TARN_IPC_REPLAY_BYTES_MAX);
        uint8_t *space = tarn_replay_feed_space(feed);
        if (records.count > 0) {
            memcpy(space, records.bytes, records.count);
        }
        assert_int_equal(tarn_replay_feed_put(feed, records.count, is_last), TARN_OK);
    }
    tarn_box_bytes_free(&records);
    return status;
}

/// Reads records up to a step. @param step  that the tank is at; goes on  @return pieces that it took
static int play(tarn_session_stretch_reader *reader, const tarn_session_stretch *stretch, tarn_replay_feed *feed,
                uint64_t *step, uint64_t until)
{
    static tarn_replay_record record;
    static tarn_step_input expected;
    int pieces = 0;
    bool has_held = false;
    while (*step < until) {
        if (tarn_replay_feed_wants(feed)) {
            assert_int_equal(feed_on(reader, stretch, feed), TARN_OK);
            pieces++;
        }
        assert_true(feed->ready > 0);
        assert_int_equal(tarn_replay_feed_read(feed, &record), TARN_OK);
        if (record.is_hash) {
            assert_true(has_hash(*step));
            assert_int_equal(record.step, *step);
            assert_int_equal(record.hash.lo, *step * 3);
            assert_int_equal(record.hash.hi, *step * 5);
            continue;
        }
        make_input(*step + 1, record.input.holds, &expected);
        assert_int_equal(record.input.parameters[0].value == expected.parameters[0].value, 1);
        assert_int_equal(record.input.push_count, expected.push_count);
        assert_true(!record.input.holds || (holds_before(*step + 1) && !has_held));
        if (!record.input.holds) {
            assert_int_equal(has_held, holds_before(*step + 1));
            ++*step;
        }
        has_held = record.input.holds;
    }
    return pieces;
}

static tarn_session_stretch find(void)
{
    tarn_session_stretch stretch;
    assert_int_equal(tarn_session_stretch_find(file, 1, FIRST_STEP, &stretch, why), TARN_OK);
    return stretch;
}

static void test_all_of_it_comes_in_order(void **state)
{
    (void)state;
    static tarn_session_stretch_reader reader;
    const tarn_session_stretch stretch = find();
    tarn_replay_feed feed = {0};
    uint64_t step = FIRST_STEP;
    assert_int_equal(stretch.until, STEPS);
    memset(&reader, 0, sizeof reader);
    assert_int_equal(tarn_replay_feed_begin(&feed, step, stretch.until), TARN_OK);
    const int pieces = play(&reader, &stretch, &feed, &step, STEPS);
    assert_true(pieces > 4); // never all at once
    assert_true(feed.is_last);
    assert_int_equal(feed.ready, 0);
    assert_false(tarn_replay_feed_wants(&feed));
    tarn_replay_feed_end(&feed);
    assert_null(feed.bytes);
}

/// As when workers end: the next begins behind any step, before or behind what was asked for last.
static void test_it_goes_on_from_any_step(void **state)
{
    (void)state;
    static tarn_session_stretch_reader reader;
    const tarn_session_stretch stretch = find();
    unsigned seed = 7;
    memset(&reader, 0, sizeof reader);
    for (int round = 0; round < 60; round++) {
        tarn_replay_feed feed = {0};
        const uint64_t from = FIRST_STEP + (uint64_t)rand_r(&seed) % (STEPS - FIRST_STEP);
        uint64_t step = from, until = from + 1 + (uint64_t)rand_r(&seed) % 60;
        until = until < STEPS ? until : STEPS;
        assert_int_equal(tarn_replay_feed_begin(&feed, from, stretch.until), TARN_OK);
        play(&reader, &stretch, &feed, &step, until);
        tarn_replay_feed_end(&feed);
    }
}

static void test_it_ends_where_the_tank_was_another(void **state)
{
    (void)state;
    static tarn_session_stretch_reader reader;
    const tarn_session_stretch before = find();
    commit(true, true, 12); // gone back with
    live(12, 60);
    const tarn_session_stretch stretch = find();
    assert_int_equal(stretch.until, before.until);
    tarn_session_stretch other;
    const int64_t newest = tarn_session_file_newest(file);
    assert_int_equal(tarn_session_stretch_find(file, newest, 12, &other, why), TARN_OK);
    assert_int_equal(other.until, 60);
    tarn_replay_feed feed = {0};
    uint64_t step = FIRST_STEP;
    memset(&reader, 0, sizeof reader);
    assert_int_equal(tarn_replay_feed_begin(&feed, step, stretch.until), TARN_OK);
    play(&reader, &stretch, &feed, &step, STEPS);
    tarn_replay_feed_end(&feed);
    // One that was found while more came ends where the log does.
    tarn_session_stretch longer = stretch;
    longer.until += 50;
    bool is_last = false;
    tarn_box_bytes records = {0};
    assert_int_equal(tarn_session_stretch_read(file, &reader, &longer, STEPS - 5, 0, &records, &is_last, why), TARN_OK);
    assert_true(is_last);
    assert_int_equal(tarn_box_log_steps(records.bytes, records.count), 5);
    tarn_box_bytes_free(&records);
}

static void change_file(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static tarn_status read_from(tarn_session_stretch_reader *reader, const tarn_session_stretch *stretch, uint64_t from)
{
    tarn_box_bytes records = {0};
    bool is_last;
    why[0] = 0;
    const tarn_status status = tarn_session_stretch_read(file, reader, stretch, from, 0, &records, &is_last, why);
    tarn_box_bytes_free(&records);
    return status;
}

static void test_what_is_gone_or_damaged_is_said(void **state)
{
    (void)state;
    static tarn_session_stretch_reader reader;
    const tarn_session_stretch stretch = find();
    tarn_session_stretch none;
    memset(&reader, 0, sizeof reader);
    assert_int_equal(read_from(&reader, &stretch, 200), TARN_OK);
    // The oldest go: what is behind the newest piece is found all the same, what is before it isn't.
    change_file("DELETE FROM log WHERE state < 2; DELETE FROM states WHERE id < 2");
    assert_int_equal(read_from(&reader, &stretch, 210), TARN_OK);
    assert_int_equal(read_from(&reader, &stretch, FIRST_STEP + 3), TARN_E_NOT_FOUND);
    assert_non_null(strstr(why, "isn't kept any more"));
    change_file("DELETE FROM log WHERE state < 4");
    assert_int_equal(read_from(&reader, &stretch, 210), TARN_E_NOT_FOUND);
    change_file("UPDATE log SET frame = substr(frame, 1, 20)");
    assert_int_equal(tarn_session_stretch_find(file, 4, 270, &none, why), TARN_E_MALFORMED);
    assert_non_null(strstr(why, "damaged"));
    assert_int_equal(tarn_session_stretch_find(file, 1000, 0, &none, why), TARN_E_NOT_FOUND);
}

static void test_a_feed_takes_whole_records_alone(void **state)
{
    (void)state;
    tarn_replay_feed feed = {0};
    static tarn_replay_record record;
    assert_int_equal(tarn_replay_feed_begin(&feed, 0, 10), TARN_OK);
    news.log.count = 0;
    put_input(1, false);
    put_input(2, true);
    memcpy(tarn_replay_feed_space(&feed), news.log.bytes, news.log.count);
    assert_int_equal(tarn_replay_feed_put(&feed, news.log.count - 1, false), TARN_E_MALFORMED);
    assert_int_equal(feed.count, 0);
    assert_int_equal(tarn_replay_feed_put(&feed, news.log.count, false), TARN_OK);
    assert_int_equal(feed.from, 1);
    assert_int_equal(feed.held, 1);
    assert_int_equal(feed.ready, 1);
    assert_int_equal(tarn_replay_feed_read(&feed, &record), TARN_OK);
    assert_int_equal(feed.ready, 0);
    assert_int_equal(tarn_replay_feed_read(&feed, &record), TARN_OK);
    assert_true(record.input.holds);
    assert_int_equal(tarn_replay_feed_read(&feed, &record), TARN_E_NOT_FOUND);
    tarn_replay_feed_end(&feed);
    news.log.count = 0;
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_of_it_comes_in_order, begin, end),
        cmocka_unit_test_setup_teardown(test_it_goes_on_from_any_step, begin, end),
        cmocka_unit_test_setup_teardown(test_it_ends_where_the_tank_was_another, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_gone_or_damaged_is_said, begin, end),
        cmocka_unit_test_setup_teardown(test_a_feed_takes_whole_records_alone, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
