// Log lines as text and as JSON: what they hold, and that nothing that they quote breaks them.
#include "server/base/log.h"
#include "tests/server/test_cmocka.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char said[16384];
static int saved_fd, pipe_fds[2];

/// What is logged from here on goes to a pipe.
static void begin(void)
{
    fflush(stderr);
    assert_int_equal(pipe(pipe_fds), 0);
    saved_fd = dup(STDERR_FILENO);
    dup2(pipe_fds[1], STDERR_FILENO);
}

/// All that was logged since, with a NUL behind it. @return its bytes
static size_t end(void)
{
    dup2(saved_fd, STDERR_FILENO);
    close(saved_fd);
    close(pipe_fds[1]);
    size_t count = 0;
    ssize_t got;
    while (count < sizeof said - 1 && (got = read(pipe_fds[0], said + count, sizeof said - 1 - count)) > 0) {
        count += (size_t)got;
    }
    close(pipe_fds[0]);
    said[count] = '\0';
    return count;
}

/// The one line as JSON; fails where it isn't one object in one line.
static json_t *read_line(size_t bytes)
{
    json_error_t error;
    assert_true(bytes > 0 && bytes <= TARN_LOG_LINE_BYTES_MAX);
    assert_ptr_equal(strchr(said, '\n'), said + bytes - 1);
    for (const char *c = said; *c != '\n'; c++) {
        assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
    json_t *line = json_loadb(said, bytes, JSON_REJECT_DUPLICATES, &error);
    if (line == NULL || !json_is_object(line)) {
        fail_msg("%s in %s", error.text, said);
    }
    return line;
}

static const char *text_of(const json_t *line, const char *field)
{
    const char *text = json_string_value(json_object_get(line, field));
    if (text == NULL) {
        fail_msg("no %s in %s", field, said);
    }
    return text;
}

static void test_text_is_a_sentence_with_nothing_that_steers(void **state)
{
    (void)state;
    int year, day, ms;
    tarn_log_set_format(TARN_LOG_TEXT, 3);
    begin();
    tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.viewer = 7}, "viewer %d: a \"%s\"", 7, "b\033[2Jc\nd");
    tarn_log_debug("not this");
    end();
    assert_int_equal(sscanf(said, "%4d-%*2d-%2dT%*2d:%*2d:%*2d.%3dZ", &year, &day, &ms), 3);
    assert_string_equal(said + strlen("2026-01-31T12:00:00.000Z"), " warn  prog: viewer 7: a \"b?[2Jc?d\"\n");
}

static void test_json_has_time_level_sentence_and_what_it_is_about(void **state)
{
    (void)state;
    int parts[7], length = 0;
    tarn_log_set_format(TARN_LOG_JSON, -1);
    begin();
    const tarn_log_subject subject = {.session = "m\"a\\i\nn", .tank = 256, .viewer = 7, .worker = 1};
    tarn_log_of(TARN_LOG_ERROR, subject, "it %s", "ends");
    json_t *line = read_line(end());
    assert_int_equal(sscanf(text_of(line, "ts"), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &parts[0], &parts[1], &parts[2],
                            &parts[3], &parts[4], &parts[5], &parts[6], &length),
                     7);
    assert_int_equal(length, strlen("2026-01-31T12:00:00.000Z"));
    assert_int_equal(strlen(text_of(line, "ts")), length);
    assert_string_equal(text_of(line, "level"), "error");
    assert_string_equal(text_of(line, "program"), "prog");
    assert_string_equal(text_of(line, "msg"), "it ends");
    assert_string_equal(text_of(line, "session"), "m\"a\\i\nn");
    assert_int_equal(json_integer_value(json_object_get(line, "tank")), 256);
    assert_int_equal(json_integer_value(json_object_get(line, "viewer")), 7);
    assert_int_equal(json_integer_value(json_object_get(line, "worker")), 0);
    json_decref(line);
}

static void test_json_leaves_out_what_it_is_not_about(void **state)
{
    (void)state;
    tarn_log_set_format(TARN_LOG_JSON, -1);
    begin();
    tarn_log_info("plain");
    json_t *line = read_line(end());
    assert_int_equal(json_object_size(line), 4);
    json_decref(line);
    tarn_log_set_format(TARN_LOG_JSON, 2); // a worker says which one it is
    begin();
    tarn_log_info("plain");
    line = read_line(end());
    assert_int_equal(json_object_size(line), 5);
    assert_int_equal(json_integer_value(json_object_get(line, "worker")), 2);
    json_decref(line);
}

static void test_json_says_what_was_quoted_and_stays_json(void **state)
{
    (void)state;
    static const struct {
        const char *sentence, *read;
    } cases[] = {
        {"tab\there", "tab\there"},
        {"\001\033[2J\177", "\001\033[2J\177"},
        {"\"quoted\\\"", "\"quoted\\\""},
        {"Gr\303\274\303\237e \360\237\246\206 \344\270\255", "Gr\303\274\303\237e \360\237\246\206 \344\270\255"},
        {"\342\200\256left \302\205 \357\273\277", "\342\200\256left \302\205 \357\273\277"},
        {"bad \377\300\200 \303", "bad \357\277\275\357\277\275\357\277\275 \357\277\275"},
        {"", ""},
    };
    tarn_log_set_format(TARN_LOG_JSON, -1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin();
        tarn_log_info("%s", cases[i].sentence);
        json_t *line = read_line(end());
        assert_string_equal(text_of(line, "msg"), cases[i].read);
        assert_null(strstr(said, "\342\200\256")); // what steers is escaped, whatever reads the log
        json_decref(line);
    }
}

/// Each length around the limit, of characters that take 1 to 6 bytes.
static void test_json_is_bounded_and_cut_between_characters(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a", "\"", "\303\274", "\360\237\246\206", "\033", "\377"};
    static char sentence[4096], name[4096];
    tarn_log_set_format(TARN_LOG_JSON, -1);
    for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
        for (int count = 100; count<1000; count += count> 130 && count < 800 ? 97 : 1) {
            sentence[0] = name[0] = '\0';
            for (int i = 0; i < count; i++) {
                strcat(sentence, pieces[p]);
                strcat(name, pieces[p]);
            }
            begin();
            tarn_log_of(TARN_LOG_INFO, (tarn_log_subject){.session = name, .tank = 1}, "%s", sentence);
            json_t *line = read_line(end());
            if (p != 5) { // which stands for something else
                const char *msg = text_of(line, "msg");
                assert_int_equal(strncmp(msg, sentence, strlen(msg)), 0);
                assert_true(strlen(msg) >= 60);
            }
            json_decref(line);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_a_sentence_with_nothing_that_steers),
        cmocka_unit_test(test_json_has_time_level_sentence_and_what_it_is_about),
        cmocka_unit_test(test_json_leaves_out_what_it_is_not_about),
        cmocka_unit_test(test_json_says_what_was_quoted_and_stays_json),
        cmocka_unit_test(test_json_is_bounded_and_cut_between_characters),
    };
    tarn_log_open("prog", TARN_LOG_INFO);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
