// Sessions' files that somebody has made by hand: none is believed, none does harm, none is waited for.
#include "server/log/session_file.h"
#include "server/log/session_history.h"
#include "tests/server/test_cmocka.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static const char *in_dir(const char *name)
{
    static char paths[8][512];
    static int turn;
    char *path = paths[++turn % 8];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/tarn-guard-XXXXXX");
    assert_non_null(mkdtemp(dir));
    alarm(120); // whatever is waited for
    return 0;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"toy.tank",         "toy.tank-wal", "toy.tank-shm",
                                        "toy.tank-journal", "precious",     "good.tank"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(in_dir(names[i]));
    }
    alarm(0);
    return rmdir(dir);
}

static const tarn_session_about about_toy = {
    .name = "toy", .title = "A toy", .begun_as = "some-scene", .salt = {1, 2, 3}, .guests = 1, .is_listed = true};

static void put_bytes(tarn_box_bytes *bytes, const char *text)
{
    assert_int_equal(tarn_box_bytes_make_room(bytes, strlen(text)), TARN_OK);
    memcpy(bytes->bytes, text, strlen(text));
    bytes->count = strlen(text);
}

/// A sound file with a state.
static void make_file(void)
{
    tarn_session_file *file;
    tarn_text why = "";
    uint64_t state_bytes;
    tarn_box_news news = {.is_anew = true, .has_state = true, .state = {.scene = "some-scene", .state_bytes_max = 100}};
    static const char *const names[] = {"toy.tank", "toy.tank-wal", "toy.tank-shm", "toy.tank-journal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(in_dir(names[i]));
    }
    put_bytes(&news.state.bytes, "a state");
    assert_int_equal(tarn_session_file_open(in_dir("toy.tank"), &file, why), TARN_OK);
    assert_int_equal(tarn_session_file_put_about(file, &about_toy, why), TARN_OK);
    assert_int_equal(tarn_session_file_put(file, &news, &state_bytes, why), TARN_OK);
    tarn_session_file_close(file);
    tarn_box_news_free(&news);
}

static void change(const char *sql)
{
    sqlite3 *db;
    char *error = NULL;
    assert_int_equal(sqlite3_open(in_dir("toy.tank"), &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) {
        fail_msg("%s: %s", sql, error);
    }
    sqlite3_close(db);
}

static void on_damage(void *user, const char *sentence)
{
    (void)user;
    assert_non_null(sentence);
}

/// Opens the file in both ways, and reads what it can. @return what opening it to write said
static tarn_status try_file(tarn_text why)
{
    tarn_session_file *file;
    tarn_session_about about;
    tarn_session_rest rest;
    tarn_text ignored;
    if (tarn_session_file_open_to_read(in_dir("toy.tank"), &file, ignored) == TARN_OK) {
        (void)tarn_session_file_check(file, on_damage, NULL, ignored);
        tarn_session_file_close(file);
    }
    const tarn_status status = tarn_session_file_open(in_dir("toy.tank"), &file, why);
    if (status == TARN_OK) {
        (void)tarn_session_file_about(file, &about, ignored);
        if (tarn_session_file_rest(file, &rest, ignored) == TARN_OK) {
            tarn_session_rest_free(&rest);
        }
        tarn_session_file_close(file);
    }
    return status;
}

static void test_a_database_that_is_made_up_otherwise_is_none(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "CREATE TRIGGER fires AFTER INSERT ON log BEGIN DELETE FROM states; END",
        "CREATE TRIGGER fires AFTER INSERT ON states BEGIN INSERT INTO log(state, frame) VALUES(new.id, 'x'); END",
        "CREATE VIEW more AS SELECT * FROM states",
        "CREATE TABLE more(id INTEGER PRIMARY KEY)",
        "CREATE INDEX more ON states(follows)",
        "DROP INDEX log_of_state",
        "DROP TABLE log",
        "DROP TABLE states; CREATE VIEW states AS SELECT 1 AS id, 0 AS follows, x'00' AS frame",
        "DROP TABLE about; CREATE TABLE about(id INTEGER PRIMARY KEY, frame BLOB, more AS (length(frame)) VIRTUAL)",
        "ALTER TABLE states ADD COLUMN more BLOB",
        "CREATE VIRTUAL TABLE more USING fts5(words)",
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        tarn_text why = "";
        make_file();
        assert_int_equal(try_file(why), TARN_OK);
        change(changes[i]);
        if (try_file(why) != TARN_E_MALFORMED || strstr(why, "made up") == NULL) {
            fail_msg("%s: %s", changes[i], why);
        }
    }
}

static void test_numbers_that_are_used_up_are_seen_at_once(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'states'",
        "UPDATE sqlite_sequence SET seq = -5 WHERE name = 'states'",
        "UPDATE sqlite_sequence SET seq = 'many'",
        "INSERT INTO states(id, follows, frame) VALUES(9223372036854775807, 0, x'00')",
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        tarn_text why = "";
        make_file();
        change(changes[i]);
        if (try_file(why) != TARN_E_MALFORMED) {
            fail_msg("%s: %s", changes[i], why);
        }
    }
}

static void write_file(const char *path, const void *bytes, size_t byte_count)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, byte_count), (ssize_t)byte_count);
    close(fd);
}

/// What lies where SQLite looks for its own files.
static void test_what_lies_beside_it_leads_nowhere_else(void **state)
{
    (void)state;
    static const char *const besides[] = {"toy.tank-wal", "toy.tank-shm", "toy.tank-journal"};
    static const char precious[] = "what nobody may touch";
    char kept[sizeof precious];
    struct stat found;
    for (size_t i = 0; i < 3; i++) {
        for (int kind = 0; kind < 4; kind++) {
            tarn_text why = "";
            make_file();
            const char *beside = in_dir(besides[i]), *own = in_dir("precious");
            write_file(own, precious, sizeof precious);
            assert_int_equal(kind == 0   ? symlink(own, beside)
                             : kind == 1 ? mkfifo(beside, 0600)
                             : kind == 2 ? mkdir(beside, 0700)
                                         : link(own, beside),
                             0);
            if (try_file(why) != TARN_E_IO || strstr(why, besides[i]) == NULL) {
                fail_msg("%s, kind %d: %s", besides[i], kind, why);
            }
            assert_int_equal(lstat(beside, &found), 0);
            assert_int_equal(kind == 2 ? rmdir(beside) : unlink(beside), 0);
            const int fd = open(own, O_RDONLY);
            assert_int_equal(read(fd, kept, sizeof kept), sizeof precious);
            assert_memory_equal(kept, precious, sizeof precious);
            close(fd);
            unlink(own);
        }
    }
}

/// SQLite deletes the file that a rollback journal names, if no other database's journal is in that.
static void test_a_journal_that_names_a_file_deletes_none(void **state)
{
    (void)state;
    static const uint8_t head[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    uint8_t journal[1024] = {0};
    tarn_text why = "";
    char name[512];
    snprintf(name, sizeof name, "%s", in_dir("precious"));
    const uint32_t name_bytes = (uint32_t)strlen(name);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < name_bytes; i++) {
        sum += (uint8_t)name[i];
    }
    make_file();
    write_file(name, "abc", 3);
    // A head without records, the lock page's number, the name, its length, its sum and the mark.
    memcpy(journal, head, sizeof head);
    journal[22] = 2;
    journal[26] = 16;
    uint8_t *at = journal + 512;
    at[3] = 0x40;
    at[0] = 0;
    memcpy(at + 4, name, name_bytes);
    at += 4 + name_bytes;
    at[2] = (uint8_t)(name_bytes >> 8);
    at[3] = (uint8_t)name_bytes;
    at[6] = (uint8_t)(sum >> 8);
    at[7] = (uint8_t)sum;
    memcpy(at + 8, head, sizeof head);
    write_file(in_dir("toy.tank-journal"), journal, (size_t)(at + 16 - journal));
    assert_int_equal(try_file(why), TARN_E_IO);
    assert_non_null(strstr(why, "names another file"));
    assert_int_equal(access(name, F_OK), 0);
}

static void test_a_file_that_is_none_is_not_waited_for(void **state)
{
    (void)state;
    tarn_text why = "";
    make_file();
    assert_int_equal(rename(in_dir("toy.tank"), in_dir("good.tank")), 0);
    assert_int_equal(symlink(in_dir("good.tank"), in_dir("toy.tank")), 0);
    assert_int_equal(try_file(why), TARN_E_IO);
    unlink(in_dir("toy.tank"));
    assert_int_equal(mkfifo(in_dir("toy.tank"), 0600), 0);
    assert_int_equal(try_file(why), TARN_E_IO);
    unlink(in_dir("toy.tank"));
    assert_int_equal(symlink("/dev/zero", in_dir("toy.tank")), 0);
    assert_int_equal(try_file(why), TARN_E_IO);
}

static void put_number(uint8_t *bytes, uint32_t number)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(number >> (24 - 8 * i));
    }
}

/// A page of a table's tree, all of whose children are one and the same.
static void fill_page(uint8_t page[4096], uint32_t child)
{
    enum { CELLS = 500, HEAD_BYTES = 12, CELL_BYTES = 5 };
    const uint32_t content = 4096 - CELLS * CELL_BYTES;
    memset(page, 0, 4096);
    page[0] = 5;
    page[3] = CELLS >> 8;
    page[4] = CELLS & 255;
    page[5] = (uint8_t)(content >> 8);
    page[6] = (uint8_t)content;
    put_number(page + 8, child);
    for (uint32_t i = 0; i < CELLS; i++) {
        const uint32_t at = content + i * CELL_BYTES;
        page[HEAD_BYTES + 2 * i] = (uint8_t)(at >> 8);
        page[HEAD_BYTES + 2 * i + 1] = (uint8_t)at;
        put_number(page + at, child);
        page[at + 4] = 1;
    }
}

static uint32_t ask(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_open(in_dir("toy.tank"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    const uint32_t number = (uint32_t)sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(db);
    return number;
}

/// A few pages that stand for more rows than anybody reads.
static void test_no_query_runs_for_ever(void **state)
{
    (void)state;
    enum { DEPTH = 8, PAGE_BYTES = 4096 };
    static const char *const tables[] = {"states", "log", "about"};
    for (int i = 0; i < 3; i++) {
        static uint8_t page[PAGE_BYTES];
        char sql[200];
        tarn_text why = "";
        tarn_session_file *file;
        tarn_session_rest rest;
        tarn_session_row row = {0};
        make_file();
        change("DELETE FROM states; INSERT INTO states(id, follows, frame) VALUES(1, 1, x'00'); "
               "INSERT INTO log(state, frame) VALUES(1, x'00')");
        snprintf(sql, sizeof sql, "SELECT rootpage FROM sqlite_master WHERE name = '%s'", tables[i]);
        const uint32_t root = ask(sql), pages = ask("PRAGMA page_count");
        const int fd = open(in_dir("toy.tank"), O_RDWR);
        assert_int_equal(pread(fd, page, PAGE_BYTES, (off_t)(root - 1) * PAGE_BYTES), PAGE_BYTES);
        assert_int_equal(page[0], 13); // a leaf
        assert_int_equal(pwrite(fd, page, PAGE_BYTES, (off_t)(pages + DEPTH - 1) * PAGE_BYTES), PAGE_BYTES);
        for (uint32_t k = 0; k < DEPTH; k++) {
            fill_page(page, pages + k + 1);
            assert_int_equal(pwrite(fd, page, PAGE_BYTES, (off_t)(k == 0 ? root - 1 : pages + k - 1) * PAGE_BYTES),
                             PAGE_BYTES);
        }
        put_number(page, pages + DEPTH);
        assert_int_equal(pwrite(fd, page, 4, 28), 4);
        close(fd);
        (void)try_file(why);
        if (tarn_session_file_open(in_dir("toy.tank"), &file, why) == TARN_OK) {
            assert_int_not_equal(tarn_session_file_rest(file, &rest, why), TARN_OK);
            while (tarn_session_file_next_state(file, &row, why) == TARN_OK) {
            }
            row = (tarn_session_row){0};
            while (tarn_session_file_next_batch(file, &row, why) == TARN_OK) {
            }
            tarn_session_file_close(file);
        }
    }
}

/// A mark's name that is longer than any isn't read, and so takes no memory; nor is one that is no text.
static void test_names_of_marks_are_read_as_far_as_they_may_go(void **state)
{
    (void)state;
    tarn_session_file *file;
    tarn_text why = "";
    static tarn_session_span span;
    make_file();
    change("INSERT INTO marks(at_ns, name) VALUES(0, printf('%.*c', 30000000, 'a')), (0, printf('%.41c', 'b')), "
           "(1, printf('%.40c', 'c')), (2, ''), (3, x'ff'), (4, 'the last')");
    assert_int_equal(tarn_session_file_open(in_dir("toy.tank"), &file, why), TARN_OK);
    (void)sqlite3_memory_highwater(1);
    assert_int_equal(tarn_session_history_span(file, &span, why), TARN_OK);
    assert_in_range(sqlite3_memory_highwater(0), 0, 4 << 20);
    assert_int_equal(span.mark_count, 2);
    assert_string_equal(span.marks[0].name, "cccccccccccccccccccccccccccccccccccccccc");
    assert_int_equal(span.marks[0].at_ns, 1);
    assert_string_equal(span.marks[1].name, "the last");
    assert_int_equal(span.marks[1].id, 6);
    tarn_session_file_close(file);
}

static void test_names_that_no_server_gives_are_not_believed(void **state)
{
    (void)state;
    static const struct {
        const char *name, *title;
    } cases[] = {{"../../up", "A toy"}, {"", "A toy"},          {"Toy", "A toy"},
                 {"to\ny", "A toy"},    {"toy", "A\033[2Jtoy"}, {"toy", "A \xff toy"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tarn_session_about about = about_toy, read;
        tarn_session_file *file;
        tarn_text why = "";
        memset(about.name, 0, sizeof about.name);
        memset(about.title, 0, sizeof about.title);
        snprintf(about.name, sizeof about.name, "%s", cases[i].name);
        snprintf(about.title, sizeof about.title, "%s", cases[i].title);
        make_file();
        assert_int_equal(tarn_session_file_open(in_dir("toy.tank"), &file, why), TARN_OK);
        assert_int_equal(tarn_session_file_put_about(file, &about, why), TARN_OK);
        assert_int_equal(tarn_session_file_about(file, &read, why), TARN_E_MALFORMED);
        tarn_session_file_close(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_database_that_is_made_up_otherwise_is_none, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_numbers_that_are_used_up_are_seen_at_once, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_what_lies_beside_it_leads_nowhere_else, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_journal_that_names_a_file_deletes_none, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_none_is_not_waited_for, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_no_query_runs_for_ever, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_names_of_marks_are_read_as_far_as_they_may_go, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_names_that_no_server_gives_are_not_believed, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
