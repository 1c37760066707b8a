// A server that a service manager runs: what it is told by sd_notify's datagrams, and how SIGTERM drains.
#include "server/base/clock.h"
#include "tests/sanitized.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *const small_pool[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--threads", "1", NULL};
/// While it drains, several things are tried.
#if TEST_IS_SANITIZED
#define DRAIN_S "15"
#else
#define DRAIN_S "2"
#endif
static const char *const small_pool_drained[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--threads",
                                                 "1",        "--drain",        DRAIN_S,   NULL};
static server_process server;

// Of <sys/prctl.h>, which on Debian 12 is older than they are.
enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1 };

static char answer[8192];

/// A socket that a server tells things to. @param name  a path, or behind an '@' one outside the file system
static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    if (name[0] == '@') {
        address.sun_path[0] = '\0';
    }
    assert_int_equal(bind(fd, (struct sockaddr *)&address, bytes), 0);
    return fd;
}

/// The next datagram. @return false: none came
static bool hear(int fd, int wait_ms, char text[512])
{
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    text[0] = '\0';
    if (poll(&pollfd, 1, wait_ms) != 1) {
        return false;
    }
    const ssize_t got = recv(fd, text, 511, 0);
    assert_true(got > 0 && memchr(text, '\0', (size_t)got) == NULL);
    text[got] = '\0';
    return true;
}

/// Waits for a datagram that begins like this.
static void wait_to_hear(int fd, const char *begin, char text[512])
{
    do {
        if (!hear(fd, WS_CLIENT_WAIT_MS, text)) {
            fail_msg("%s was not said", begin);
        }
    } while (strncmp(text, begin, strlen(begin)) != 0);
}

static void start_with(const char *name, const char *watchdog_usec)
{
    setenv("NOTIFY_SOCKET", name, 1);
    if (watchdog_usec != NULL) {
        setenv("WATCHDOG_USEC", watchdog_usec, 1);
    }
    server_start(&server, small_pool);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
}

/// Whether a process has a variable.
static bool has_variable(pid_t pid, const char *name)
{
    static char all[65536];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t bytes = fread(all, 1, sizeof all - 1, file);
    fclose(file);
    all[bytes] = '\0';
    assert_true(bytes > 0);
    for (size_t at = 0; at < bytes; at += strlen(all + at) + 1) {
        if (strncmp(all + at, name, strlen(name)) == 0 && all[at + strlen(name)] == '=') {
            return true;
        }
    }
    return false;
}

static void follow(const char *name)
{
    char text[512], again[512];
    ws_client client;
    int fd = listen_at(name);
    start_with(name, NULL);
    wait_to_hear(fd, "READY=1", text);
    assert_string_equal(text, "READY=1");
    ws_client_enter(&client, server.port);
    do {
        wait_to_hear(fd, "STATUS=", text);
    } while (strcmp(text, "STATUS=1 of 1 workers ready; 1 tanks; 1 viewers") != 0);
    // The same again is not worth a word, and signs of life were not asked for.
    assert_false(hear(fd, 2500, again));
    assert_true(has_variable(server_worker(&server), "PATH"));
    assert_false(has_variable(server_worker(&server), "NOTIFY_SOCKET"));
    ws_client_close(&client);
    kill(server.pid, SIGTERM);
    wait_to_hear(fd, "STOPPING=1\nSTATUS=", text);
    assert_int_equal(server_wait(&server), 0);
    close(fd);
}

static void test_the_manager_learns_how_it_goes(void **state)
{
    (void)state;
    char folder[] = "/tmp/tarn-notify-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    follow(path);
    unlink(path);
    rmdir(folder);
    snprintf(path, sizeof path, "@tarn-notify-%d", (int)getpid());
    follow(path);
}

static void test_the_loop_gives_signs_of_life(void **state)
{
    (void)state;
    char name[64], text[512];
    snprintf(name, sizeof name, "@tarn-watchdog-%d", (int)getpid());
    int fd = listen_at(name);
    start_with(name, "2000000");
    wait_to_hear(fd, "WATCHDOG=1", text);
    for (int i = 0; i < 3; i++) {
        const uint64_t before_ns = tarn_clock_monotonic_ns();
        wait_to_hear(fd, "WATCHDOG=1", text);
        const uint64_t after_ms = (tarn_clock_monotonic_ns() - before_ns) / 1000000;
        // Half of what is allowed, on a busy machine.
        assert_true(TEST_IS_SANITIZED || (after_ms > 500 && after_ms < 2000));
    }
    assert_false(has_variable(server_worker(&server), "WATCHDOG_USEC"));
    // A loop that hangs gives none.
    kill(server.pid, SIGSTOP);
    while (hear(fd, 100, text)) {
    }
    assert_false(hear(fd, 2500, text));
    kill(server.pid, SIGCONT);
    wait_to_hear(fd, "WATCHDOG=1", text);
    server_stop(&server);
    close(fd);
}

static void test_a_manager_that_cannot_be_told_harms_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"", "@", "not/a/path", "@nobody-listens-there", "/nowhere/at/all"};
    char longest[200];
    memset(longest, 'a', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    for (size_t i = 0; i <= sizeof names / sizeof names[0]; i++) {
        const bool is_odd = i < 3 || i == sizeof names / sizeof names[0];
        start_with(i < sizeof names / sizeof names[0] ? names[i] : longest, "nonsense");
        const bool has_said = strstr(server_said(&server), "$NOTIFY_SOCKET: found") != NULL;
        assert_true(has_said == is_odd);
        server_stop(&server);
    }
}

/// Tries to come while the server drains.
static void try_to_come(uint16_t port)
{
    ws_client late;
    tarn_message message;
    assert_int_equal(server_http(port, "GET", "/readyz", NULL, answer, sizeof answer), 503);
    assert_non_null(strstr(answer, "the server is ending"));
    assert_int_equal(server_request(port, "POST", "/sessions", "Content-Type: application/json\r\n",
                                    "{\"scene\":\"small-dam\"}", answer, sizeof answer),
                     503);
    assert_non_null(strstr(answer, "{\"error\":\"the server is ending; try again in a moment\"}"));
    assert_non_null(strstr(answer, "retry-after: 5"));
    assert_int_equal(ws_client_open(&late, port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(&late);
    assert_true(ws_client_wait(&late, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_SHUTDOWN);
    assert_int_equal(ws_client_wait_close(&late), 4010);
    ws_client_close(&late);
    // What is only looked at still can be.
    assert_int_equal(server_http(port, "GET", "/sessions", NULL, answer, sizeof answer), 200);
    assert_int_equal(server_http(port, "GET", "/metrics", NULL, answer, sizeof answer), 200);
}

static void test_sigterm_drains(void **state)
{
    (void)state;
    ws_client client;
    ws_frame frame;
    tarn_message message;
    server_start(&server, small_pool_drained);
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    assert_int_equal(server_http(server.port, "GET", "/readyz", NULL, answer, sizeof answer), 200);
    const uint64_t before_ns = tarn_clock_monotonic_ns();
    kill(server.pid, SIGTERM);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_SHUTDOWN);
    assert_int_equal(ws_client_wait_close(&client), 4010);
    try_to_come(server.port);
    assert_int_equal(server_wait(&server), 0);
    const uint64_t took_ms = (tarn_clock_monotonic_ns() - before_ns) / 1000000;
    assert_true(took_ms >= 1000 * strtoul(DRAIN_S, NULL, 10));
    assert_true(TEST_IS_SANITIZED || took_ms < 30000);
    ws_client_close(&client);
}

/// Who takes no last message doesn't hold it up for long, and a second signal doesn't wait at all.
static void test_a_drain_ends(void **state)
{
    (void)state;
    static const int second[] = {0, SIGTERM, SIGINT};
    for (int i = 0; i < 3; i++) {
        ws_client stalled;
        ws_frame frame;
        server_start(&server, i == 0 ? small_pool : small_pool_drained);
        ws_client_enter(&stalled, server.port);
        assert_true(ws_client_wait_frame(&stalled, &frame));
        const uint64_t before_ns = tarn_clock_monotonic_ns();
        kill(server.pid, SIGTERM);
        if (second[i] != 0) {
            usleep(300000);
            kill(server.pid, second[i]);
        }
        assert_int_equal(server_wait(&server), 0);
        const uint64_t took_ms = (tarn_clock_monotonic_ns() - before_ns) / 1000000;
        if (!TEST_IS_SANITIZED && took_ms > 6000) {
            fail_msg("it took %d ms", (int)took_ms);
        }
        ws_client_close(&stalled);
    }
}

/// As MemoryDenyWriteExecute= of the unit has it, for this process and all that it starts: to be the last test.
static void test_the_cpu_needs_no_memory_that_is_written_and_run(void **state)
{
    (void)state;
    ws_client client;
    ws_frame frame;
    if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0) {
        print_message("skipped: the kernel has no PR_SET_MDWE, which came with 6.3\n");
        return;
    }
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_equal(memory, MAP_FAILED);
    server_start(&server, small_pool);
    ws_client_enter(&client, server.port);
    for (int i = 0; i < 10; i++) {
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    ws_client_close(&client);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_manager_learns_how_it_goes),
        cmocka_unit_test(test_the_loop_gives_signs_of_life),
        cmocka_unit_test(test_a_manager_that_cannot_be_told_harms_nothing),
        cmocka_unit_test(test_sigterm_drains),
        cmocka_unit_test(test_a_drain_ends),
        cmocka_unit_test(test_the_cpu_needs_no_memory_that_is_written_and_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
