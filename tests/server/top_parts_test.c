// What `tarn top` makes of a server's pages: quantiles, odd text, and a table that stays within its columns.
#include "server/tool/top.h"
#include "tests/server/test_cmocka.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static top_sample first, second;
static char text[TOP_TABLE_BYTES];

static bool read_into(top_sample *sample, const char *metrics)
{
    char *copy = strdup(metrics);
    const bool good = top_sample_read_metrics(sample, copy);
    free(copy);
    return good;
}

/// Each line ends, is printable, and takes 80 columns at most. @return how many there are
static int check_lines(void)
{
    int lines = 0, columns = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '\n') {
            lines++;
            columns = 0;
            continue;
        }
        assert_true(*c >= 0x20 && *c != 0x7f);
        columns += (*c & 0xc0) != 0x80;
        if (columns > TOP_COLUMNS) {
            fail_msg("more than 80 columns in line %d of\n%s", lines + 1, text);
        }
    }
    assert_int_equal(columns, 0);
    return lines;
}

static void test_quantiles_lie_where_the_inputs_do(void **state)
{
    (void)state;
    const top_latency before = {3, {0.01, 0.1, INFINITY}, {10, 20, 30}};
    const top_latency now = {3, {0.01, 0.1, INFINITY}, {10, 120, 130}};
    assert_float_equal(top_latency_quantile(&before, &now, 0.5), 0.055, 1e-6);
    assert_float_equal(top_latency_quantile(&before, &now, 1), 0.1, 1e-6);
    assert_float_equal(top_latency_quantile(NULL, &before, 1.0 / 3), 0.01, 1e-6);
    assert_true(isinf(top_latency_quantile(NULL, &before, 0.99)));
    assert_true(top_latency_quantile(&now, &now, 0.5) == -1);
    const top_latency none = {0};
    assert_true(top_latency_quantile(NULL, &none, 0.5) == -1);
}

static void test_rates_are_counted_between_two_samples(void **state)
{
    (void)state;
    assert_true(read_into(&first, "tarn_viewers 1\n"
                                  "tarn_session_bytes_sent_total{session=\"main\",worker=\"0\"} 1000000\n"
                                  "tarn_session_frames_skipped_total{session=\"main\",worker=\"0\"} 5\n"));
    assert_true(read_into(&second, "tarn_viewers 1\n"
                                   "tarn_session_viewers{session=\"main\",worker=\"1\"} 3\n"
                                   "tarn_session_step_seconds{session=\"main\",worker=\"1\"} 0.0125\n"
                                   "tarn_session_realtime_factor{session=\"main\",worker=\"1\"} 0.75\n"
                                   "tarn_session_bytes_sent_total{session=\"main\",worker=\"1\"} 3500000\n"
                                   "tarn_session_frames_skipped_total{session=\"main\",worker=\"1\"} 8\n"
                                   "tarn_session_worker_losses_total{session=\"main\",worker=\"1\"} 2\n"));
    static const char sessions[] = "{\"sessions\":[{\"session\":\"main\",\"scene\":\"small-pool\"}]}";
    top_sample_read_sessions(&first, "", 0);
    top_sample_read_sessions(&second, sessions, strlen(sessions));
    first.when_ns = 1000000000;
    second.when_ns = 3000000000;
    top_table_write("a:1", &first, &first, &second, 24, text);
    assert_int_equal(check_lines(), 4);
    assert_non_null(
        strstr(text, "\nmain           small-pool   1    3   12.50  0.75   10.00    1.5     -     -    2\n"));
    top_table_write("a:1", NULL, NULL, &second, 24, text);
    assert_non_null(strstr(text, "0.75       -      -     -     -    2\n"));
}

static void test_names_steer_nothing_and_fit(void **state)
{
    (void)state;
    static char page[65536], sessions[8192];
    size_t used = 0;
    // Names that are long, have wide letters, escapes, halves of letters; more tanks than there are places.
#define WIDE "\303\274\303\274\303\274\303\274\303\274"
    static const char wide[] = WIDE WIDE WIDE;
    const char *const names[] = {"\033[2J\033]0;x\007", "a\\\"b\\\\c\\nd", wide,
                                 "\342\200\256right",   "\377\376\303",    ""};
    static char longest[300];
    memset(longest, 'x', sizeof longest - 1);
    used += (size_t)snprintf(page + used, sizeof page - used, "tarn_build_info{version=\"\033[31m%s\"} 1\n", longest);
    used += (size_t)snprintf(page + used, sizeof page - used, "tarn_viewers 1e300\nprocess_open_fds 1e30\n");
    for (int i = 0; i < 200; i++) {
        const char *name = i < 6 ? names[i] : longest;
        used += (size_t)snprintf(page + used, sizeof page - used,
                                 "tarn_session_viewers{session=\"%s%d\",worker=\"12345\"} 1e%d\n"
                                 "tarn_session_step_seconds{session=\"%s%d\"} -1\n",
                                 i < 6 ? name : "t", i, i, i < 6 ? name : "t", i);
    }
    snprintf(
        page + used, sizeof page - used,
        "tarn_session_viewers{session=\"open\ntarn_session_viewers{session=\ntarn_session_viewers{=\"\"} \n{} 1\n \n"
        "tarn_session_viewers{session=\"main\"} nan\ntarn_session_viewers{session=\"end\\");
    snprintf(sessions, sizeof sessions,
             "{\"sessions\":[{\"session\":\"t6\",\"scene\":\"\\u001b[2J%s\"},{\"session\":7},8,{}],\"x\":[]}", longest);
    assert_true(read_into(&second, page));
    top_sample_read_sessions(&second, sessions, strlen(sessions));
    second.when_ns = 5;
    assert_int_equal(second.tank_count, TOP_TANKS_MAX);
    assert_int_equal(second.tanks_left_out, 200 - TOP_TANKS_MAX);
    for (uint32_t rows = 6; rows < 80; rows++) {
        top_table_write(longest, &second, NULL, &second, rows, text);
        assert_true(check_lines() <= (int)rows);
        assert_non_null(strstr(text, " more\n"));
    }
    top_table_write("a:1", NULL, NULL, &second, UINT32_MAX, text);
    assert_int_equal(check_lines(), 3 + TOP_TANKS_MAX + 1);
    assert_non_null(strstr(text, "\n?[2J?]0;x?0   "));
    assert_non_null(strstr(text, "?[2Jxxxxxx~ "));
}

static void test_other_pages_are_known_for_such(void **state)
{
    (void)state;
    static const char *const others[] = {"", "\n", "<html>tarn_viewers 1</html>", "go_threads 1\n",
                                         "# tarn_viewers 1\n"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(read_into(&second, others[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles_lie_where_the_inputs_do),
        cmocka_unit_test(test_rates_are_counted_between_two_samples),
        cmocka_unit_test(test_names_steer_nothing_and_fit),
        cmocka_unit_test(test_other_pages_are_known_for_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
