// `tarn top` as people see it: on a pipe and on a terminal, with a server, without one, and with a wrong one.
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static server_process server;
static const char *scheme = ""; // in front of the server's address
static char said[1 << 18], complained[8192];
static struct termios terminal_after; // the end of the program on it

/// A `tarn top` that runs.
typedef struct top_process {
    pid_t pid;
    int out_fd, err_fd; // out: the terminal's other end, where it has one
    int terminal_fd;    // -1: it has none
    pid_t leader;       // of the terminal's session, which outlives it: the terminal is reset when that ends
    int told_fd;        // by the leader: the pid, and the terminal's settings after its end
    size_t have;
} top_process;

static void become_top(const top_process *top, const char *address, bool once, int out, int err)
{
    if (top->terminal_fd >= 0) {
        dup2(top->terminal_fd, STDIN_FILENO);
    }
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execl(TARN_TEST_TOOL, "tarn", "top", address, once ? "--once" : NULL, NULL);
    _exit(127);
}

/// A process between: as a shell, whose terminal it is. It ends like the program.
static void lead(const top_process *top, const char *address, int out, int err, int told)
{
    int status;
    struct termios after;
    setsid();
    ioctl(top->terminal_fd, TIOCSCTTY, 0);
    const pid_t pid = fork();
    if (pid == 0) {
        become_top(top, address, false, out, err);
    }
    signal(SIGINT, SIG_IGN);
    const bool is_told = write(told, &pid, sizeof pid) == sizeof pid;
    waitpid(pid, &status, 0);
    tcgetattr(top->terminal_fd, &after);
    const bool is_all = is_told && write(told, &after, sizeof after) == sizeof after;
    _exit(!is_all ? 126 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void start_top(top_process *top, uint16_t port, bool once, bool on_terminal)
{
    char address[40];
    int out[2], err[2], told[2];
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    snprintf(address, sizeof address, "%s127.0.0.1:%u", scheme, port);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    if (on_terminal) {
        assert_int_equal(openpty(&out[0], &out[1], NULL, NULL, &size), 0);
    } else {
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    }
    *top = (top_process){.out_fd = out[0], .err_fd = err[0], .terminal_fd = on_terminal ? out[1] : -1, .leader = -1};
    said[0] = complained[0] = '\0';
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0 && on_terminal) {
        lead(top, address, out[1], err[1], told[1]);
    } else if (pid == 0) {
        become_top(top, address, once, out[1], err[1]);
    }
    close(err[1]);
    close(told[1]);
    top->told_fd = told[0];
    top->pid = pid;
    if (on_terminal) {
        top->leader = pid;
        assert_int_equal(read(told[0], &top->pid, sizeof top->pid), sizeof top->pid);
    } else {
        close(out[1]);
    }
}

/// Adds what it has shown. @return whether there was something
static bool listen_to(top_process *top, int wait_ms)
{
    struct pollfd pollfd = {.fd = top->out_fd, .events = POLLIN};
    if (poll(&pollfd, 1, wait_ms) != 1) {
        return false;
    }
    if (top->have > sizeof said / 2) {
        top->have = 0;
    }
    const ssize_t got = read(top->out_fd, said + top->have, sizeof said - 1 - top->have);
    top->have += got > 0 ? (size_t)got : 0;
    said[top->have] = '\0';
    return got > 0;
}

static void wait_for(top_process *top, const char *part)
{
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 100 && strstr(said, part) == NULL; i++) {
        listen_to(top, 100);
    }
    if (strstr(said, part) == NULL) {
        fail_msg("\"%s\" was not shown:\n%s", part, said);
    }
}

/// @return the exit status, or 128 + signal
static int end_of(top_process *top)
{
    const pid_t pid = top->leader > 0 ? top->leader : top->pid;
    int status = 0;
    bool has_ended = false;
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 10 && !has_ended; i++) {
        has_ended = waitpid(pid, &status, WNOHANG) == pid;
        usleep(has_ended ? 0 : 10000); // what has closed its output doesn't make the next call wait
        while (listen_to(top, has_ended ? 50 : 0)) {
        }
    }
    if (!has_ended) {
        kill(top->pid, SIGKILL);
        waitpid(pid, &status, 0);
        fail_msg("it did not end:\n%s", said);
    }
    const ssize_t got = read(top->err_fd, complained, sizeof complained - 1);
    complained[got > 0 ? got : 0] = '\0';
    close(top->err_fd);
    close(top->out_fd);
    if (top->terminal_fd >= 0) {
        close(top->terminal_fd);
        assert_int_equal(read(top->told_fd, &terminal_after, sizeof terminal_after), sizeof terminal_after);
    }
    close(top->told_fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int start(void **state)
{
    (void)state;
    server_start(&server,
                 (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--threads", "1", NULL});
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_stop(&server);
    return 0;
}

static void test_a_server_with_tls_is_asked_by_https(void **state)
{
    (void)state;
    char folder[] = "/tmp/tarn-top-XXXXXX";
    static server_process encrypted;
    top_process top;
    assert_non_null(mkdtemp(folder));
    server_start(&encrypted, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool",
                                              "--tls-self-signed", "--tls-dir", folder, NULL});
    scheme = "https://";
    start_top(&top, encrypted.port, true, false);
    scheme = "";
    assert_int_equal(end_of(&top), 0);
    assert_string_equal(complained, "");
    assert_non_null(strstr(said, "small-pool"));
    start_top(&top, encrypted.port, true, false); // without it
    assert_int_equal(end_of(&top), 1);
    assert_non_null(strstr(complained, "it answers by TLS alone, allowed is https://"));
    server_stop(&encrypted);
    assert_int_equal(server_remove_store(folder), 0); // the same for any folder
}

static void test_once_prints_one_table(void **state)
{
    (void)state;
    top_process top;
    ws_client client;
    ws_frame frame;
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    start_top(&top, server.port, true, false);
    assert_int_equal(end_of(&top), 0);
    assert_string_equal(complained, "");
    assert_null(strchr(said, '\033'));
    assert_non_null(strstr(said, "1 of 1 workers ready, 1 tanks, 1 viewers, "));
    assert_non_null(strstr(said, "\nmain           small-pool   0    1 "));
    for (char *rest = said, *line; (line = strsep(&rest, "\n")) != NULL;) {
        assert_true(strlen(line) <= 80);
    }
    ws_client_close(&client);
}

static bool are_equal(const struct termios *a, const struct termios *b)
{
    return a->c_lflag == b->c_lflag && a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag &&
           memcmp(a->c_cc, b->c_cc, sizeof a->c_cc) == 0;
}

static void test_the_terminal_is_as_it_was(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        int signal, status;
    } ends[] = {{"q", 0, 0}, {"\003", 0, 130}, {NULL, SIGTERM, 130}, {NULL, SIGHUP, 130}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        top_process top;
        struct termios before, during;
        start_top(&top, server.port, false, true);
        wait_for(&top, "small-pool");
        top.have = 0; // and anew, a second later
        said[0] = '\0';
        wait_for(&top, "\033[H");
        wait_for(&top, "small-pool");
        tcgetattr(top.terminal_fd, &during);
        assert_false(during.c_lflag & (ICANON | ECHO));
        before = during;
        before.c_lflag |= ICANON | ECHO;
        if (ends[i].keys != NULL) {
            assert_int_equal(write(top.out_fd, ends[i].keys, strlen(ends[i].keys)), strlen(ends[i].keys));
        } else {
            kill(top.pid, ends[i].signal);
        }
        assert_int_equal(end_of(&top), ends[i].status);
        assert_true(are_equal(&terminal_after, &before));
        assert_non_null(strstr(said, "\033[?25h\033[?1049l"));
    }
}

static void test_a_server_that_is_gone_is_waited_for(void **state)
{
    (void)state;
    static server_process own;
    char port[8];
    top_process top;
    server_start(&own, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--threads", "1", NULL});
    snprintf(port, sizeof port, "%u", own.port);
    const uint16_t number = own.port;
    start_top(&top, number, false, true);
    wait_for(&top, "small-pool");
    server_stop(&own);
    wait_for(&top, "can't be reached: Connection refused");
    wait_for(&top, "Trying again each second; q or Ctrl-C ends this.");
    // The harness takes a free port: this one is asked for by hand.
    server_spawn(&own, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-dam", "--threads", "1",
                                        "--port", port, NULL});
    wait_for(&top, "small-dam");
    assert_int_equal(write(top.out_fd, "q", 1), 1);
    assert_int_equal(end_of(&top), 0);
    server_stop(&own);
    start_top(&top, number, true, false);
    assert_int_equal(end_of(&top), 1);
    assert_non_null(strstr(complained, "can't be reached: Connection refused"));
    assert_string_equal(said, "");
}

/// A server in a process of its own that answers everything alike. @return its pid
static pid_t answer_always(const char *answer, uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(fd, 8), 0);
    getsockname(fd, (struct sockaddr *)&address, &bytes);
    *port = ntohs(address.sin_port);
    const pid_t pid = fork();
    if (pid == 0) {
        char request[4096];
        signal(SIGPIPE, SIG_IGN);
        for (;;) {
            const int client = accept(fd, NULL, NULL);
            if (read(client, request, sizeof request) > 0 && write(client, answer, strlen(answer)) < 0) {
                _exit(1);
            }
            if (answer[0] != '\0') { // else it stays silent
                shutdown(client, SHUT_WR);
                close(client);
            }
        }
    }
    close(fd);
    return pid;
}

static void test_a_wrong_server_does_no_harm(void **state)
{
    (void)state;
#define OK "HTTP/1.1 200 OK\r\n"
    static const struct {
        const char *answer, *says;
    } cases[] = {
        {"", "no answer in time"},
        {"SSH-2.0-x\r\n\r\n", "what answers isn't HTTP"},
        {"HTTP/1.1 404 Not Found\r\n\r\n", "the answer was 404"},
        {OK "Content-Length: 99999999999\r\n\r\n", "the answer is too large"},
        {OK "Content-Length: 50\r\n\r\ntarn_viewers 1\n", "the connection ended before the answer did"},
        {OK "Transfer-Encoding: chunked\r\n\r\n", "the answer comes in chunks"},
        {OK "\r\nwelcome\n", "what answers isn't tarnd"},
        {OK "\r\ntarn_viewers 1\ntarn_session_viewers{session=\"\033[2J\"} 1\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        top_process top;
        uint16_t port;
        const pid_t pid = answer_always(cases[i].answer, &port);
        start_top(&top, port, true, false);
        const int status = end_of(&top);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        assert_null(strchr(said, '\033'));
        if (cases[i].says == NULL) {
            assert_int_equal(status, 0);
            assert_non_null(strstr(said, "\n?[2J "));
        } else if (status != 1 || strstr(complained, cases[i].says) == NULL) {
            fail_msg("\"%s\" was answered with %d: %s", cases[i].answer, status, complained);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once_prints_one_table),       cmocka_unit_test(test_a_server_with_tls_is_asked_by_https),
        cmocka_unit_test(test_the_terminal_is_as_it_was),   cmocka_unit_test(test_a_server_that_is_gone_is_waited_for),
        cmocka_unit_test(test_a_wrong_server_does_no_harm),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
