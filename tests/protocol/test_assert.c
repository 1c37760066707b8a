// What a failed assertion does: its sentence on stderr, and the program's end. In a child, which doesn't come back.
#include "protocol/assert.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int line_of_check; // in this file

static void check(int particles, int room)
{
    line_of_check = __LINE__ + 1;
    TARN_ASSERT(particles <= room);
}

/// @return how the child ended; text is what it said
static int check_in_child(int particles, int room, char *text, size_t text_bytes)
{
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL); // not cmocka's
        (void)dup2(ends[1], STDERR_FILENO);
        check(particles, room);
        _exit(0);
    }
    close(ends[1]);
    const ssize_t bytes = read(ends[0], text, text_bytes - 1);
    text[bytes > 0 ? bytes : 0] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_failed_assertion_says_where_and_what_and_aborts(void **state)
{
    (void)state;
    char text[4096], wanted[64];
    const int status = check_in_child(9, 8, text, sizeof text);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    check(8, 8);
    (void)snprintf(wanted, sizeof wanted, "test_assert.c:%d: assertion failed: particles <= room\n", line_of_check);
    assert_non_null(strstr(text, wanted));
}

static void what_holds_goes_on_without_a_word(void **state)
{
    (void)state;
    char text[64];
    const int status = check_in_child(8, 8, text, sizeof text);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_string_equal(text, "");
}

static void a_condition_is_evaluated_once(void **state)
{
    (void)state;
    int count = 0;
    TARN_ASSERT(++count > 0);
    assert_int_equal(count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_assertion_says_where_and_what_and_aborts),
        cmocka_unit_test(what_holds_goes_on_without_a_word),
        cmocka_unit_test(a_condition_is_evaluated_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
