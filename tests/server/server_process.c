#include "tests/server/server_process.h"
#include "server/base/clock.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned server_descriptors_max;

static uint64_t deadline_ns(void)
{
    return tarn_clock_monotonic_ns() + 3 * WS_CLIENT_WAIT_MS * (uint64_t)1000000;
}

static const char *program(void)
{
    const char *named = getenv("TARN_TEST_SERVER");
    return named != NULL ? named : TARN_TEST_SERVER_BUILT;
}

/// @param err_fd  -1: standard input and standard error are closed
static void run_child(const char *const *arguments, int out_fd, int err_fd)
{
    char *list[SERVER_ARGUMENTS_MAX] = {(char *)program()};
    int n = 1;
    for (; *arguments != NULL && n < SERVER_ARGUMENTS_MAX - 1; arguments++) {
        list[n++] = (char *)*arguments;
    }
    // A test that dies leaves no server behind.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out_fd, STDOUT_FILENO);
    if (err_fd >= 0) {
        dup2(err_fd, STDERR_FILENO);
    } else {
        close(STDIN_FILENO);
        close(STDERR_FILENO);
    }
    if (server_descriptors_max != 0) {
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){server_descriptors_max, server_descriptors_max});
    }
    execv(list[0], list);
    _exit(127);
}

typedef enum spawn_how {
    SPAWN_PIPES,
    SPAWN_CLOSED, ///< no standard input and no standard error
    SPAWN_TERMINAL,
} spawn_how;

static void spawn(server_process *server, const char *const *arguments, spawn_how how)
{
    int out[2], err[2];
    memset(server, 0, sizeof *server);
    if (how == SPAWN_TERMINAL) {
        out[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(out[0] >= 0 && grantpt(out[0]) == 0 && unlockpt(out[0]) == 0);
        out[1] = open(ptsname(out[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(out[1] >= 0);
    } else {
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    }
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0) {
        run_child(arguments, out[1], how == SPAWN_CLOSED ? -1 : err[1]);
    }
    close(out[1]);
    close(err[1]);
    server->out_fd = out[0];
    server->err_fd = err[0];
}

void server_spawn(server_process *server, const char *const *arguments)
{
    spawn(server, arguments, SPAWN_PIPES);
}

/// Appends what a pipe has to a text. @return false at its end
static bool drain(int fd, char *text)
{
    char rest[4096];
    size_t have = strlen(text), room = SERVER_OUTPUT_BYTES_MAX - 1 - have;
    ssize_t got = room ? read(fd, text + have, room) : read(fd, rest, sizeof rest);
    if (room && got > 0) {
        text[have + (size_t)got] = 0;
    }
    return got > 0;
}

/// Reads both pipes for a moment. @return false when both have ended
static bool listen_to(server_process *server)
{
    struct pollfd fds[2] = {{.fd = server->out_fd, .events = POLLIN}, {.fd = server->err_fd, .events = POLLIN}};
    poll(fds, 2, 20);
    if (fds[0].revents && !drain(server->out_fd, server->out)) {
        close(server->out_fd);
        server->out_fd = -1;
    }
    if (fds[1].revents && !drain(server->err_fd, server->err)) {
        close(server->err_fd);
        server->err_fd = -1;
    }
    return server->out_fd >= 0 || server->err_fd >= 0;
}

static void find_port(server_process *server)
{
    char *address = strstr(server->out, "://"); // http or https
    const char *port = address != NULL && strchr(address, '\n') != NULL ? strchr(address + 3, ':') : NULL;
    if (port != NULL) {
        server->port = (uint16_t)atoi(port + 1);
    }
}

bool server_listens(server_process *server)
{
    const bool is_open = listen_to(server);
    find_port(server);
    return is_open;
}

static void wait_until_it_serves(server_process *server)
{
    uint64_t until_ns = deadline_ns();
    while (tarn_clock_monotonic_ns() < until_ns && listen_to(server)) {
        find_port(server);
        if (server->port != 0) {
            return;
        }
    }
    fail_msg("the server did not start: %s", server->err);
}

static void start(server_process *server, const char *const *arguments, spawn_how how)
{
    // Requests that tests write themselves are for the hosts "a" and "b".
    const char *list[SERVER_ARGUMENTS_MAX] = {"--port", "0", "--threads", "1", "--name", "a", "--name", "b"};
    int n = 8;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    list[n++] = "--worker-timeout"; // one that is many times slower doesn't hang
    list[n++] = "20";
#endif
    for (; arguments != NULL && *arguments != NULL && n < SERVER_ARGUMENTS_MAX - 1; arguments++) {
        list[n++] = *arguments;
    }
    spawn(server, list, how);
    wait_until_it_serves(server);
}

void server_start_bare(server_process *server, const char *const *arguments)
{
    spawn(server, arguments, SPAWN_PIPES);
    wait_until_it_serves(server);
}

void server_start(server_process *server, const char *const *arguments)
{
    start(server, arguments, SPAWN_PIPES);
}

void server_start_closed(server_process *server, const char *const *arguments)
{
    start(server, arguments, SPAWN_CLOSED);
}

void server_start_on_terminal(server_process *server, const char *const *arguments)
{
    start(server, arguments, SPAWN_TERMINAL);
}

void server_owners_key(const char *store, char *key, size_t key_bytes)
{
    char path[512], link[512] = "";
    struct stat about;
    snprintf(path, sizeof path, "%s/owner-link", store);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(link, sizeof link, file));
    assert_int_equal(fstat(fileno(file), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    fclose(file);
    const char *found = strstr(link, "#key=");
    assert_non_null(found);
    found += strlen("#key=");
    snprintf(key, key_bytes, "%.*s", (int)strcspn(found, "\n"), found);
}

const char *server_said(server_process *server)
{
    struct pollfd said = {.fd = server->err_fd, .events = POLLIN};
    while (poll(&said, 1, 100) > 0 && drain(server->err_fd, server->err)) {
    }
    return server->err;
}

int server_remove_store(const char *store)
{
    char path[512];
    DIR *opened = opendir(store);
    for (const struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", store, entry->d_name);
        unlink(path);
    }
    if (opened != NULL) {
        closedir(opened);
    }
    return rmdir(store);
}

int server_wait(server_process *server)
{
    int status;
    uint64_t until_ns = deadline_ns();
    for (;;) {
        bool open = listen_to(server);
        pid_t ended = waitpid(server->pid, &status, WNOHANG);
        if (ended == server->pid && !open) {
            break;
        }
        if (ended == server->pid) {
            while (listen_to(server) && tarn_clock_monotonic_ns() < until_ns)
                ;
            break;
        }
        if (tarn_clock_monotonic_ns() > until_ns) {
            kill(server->pid, SIGKILL);
            return -1;
        }
        if (!open) {
            usleep(10000);
        }
    }
    server->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void server_stop(server_process *server)
{
    kill(server->pid, SIGTERM);
    int status = server_wait(server);
    // The worker's findings are on the same stderr.
    if (status != 0 || strstr(server->err, "Sanitizer") != NULL || strstr(server->err, "runtime error:") != NULL) {
        fail_msg("the server ended with %d:\n%s", status, server->err);
    }
}

pid_t server_worker(const server_process *server)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)server->pid, (int)server->pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    if (fgets(text, sizeof text, file) == NULL) {
        text[0] = 0;
    }
    fclose(file);
    return (pid_t)atoi(text);
}

pid_t server_worker_at(const server_process *server, int index)
{
    char name[64];
    snprintf(name, sizeof name, "tarn_worker_pid{worker=\"%d\"}", index);
    const double pid = server_metric(server->port, name);
    return pid > 0 ? (pid_t)pid : 0;
}

bool server_runs(const server_process *server)
{
    return server->pid > 0 && kill(server->pid, 0) == 0;
}

int server_http(uint16_t port, const char *method, const char *target, const char *headers, char *answer,
                int answer_bytes)
{
    char request[2048];
    int fd = ws_connect(port), status = 0, have = 0;
    if (fd < 0) {
        return 0;
    }
    int length = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%s\r\n",
                          method, target, headers != NULL ? headers : "");
    if (ws_send_raw(fd, request, (size_t)length) == 0) {
        struct pollfd pollfd = {.fd = fd, .events = POLLIN};
        while (have < answer_bytes - 1 && poll(&pollfd, 1, WS_CLIENT_WAIT_MS) > 0) {
            ssize_t got = recv(fd, answer + have, (size_t)(answer_bytes - 1 - have), 0);
            if (got <= 0) {
                break;
            }
            have += (int)got;
        }
    }
    answer[have] = 0;
    close(fd);
    sscanf(answer, "HTTP/1.%*d %d", &status);
    return status;
}

int server_request(uint16_t port, const char *method, const char *target, const char *headers, const char *body,
                   char *answer, int answer_bytes)
{
    char all[1024];
    snprintf(all, sizeof all, "%s", headers);
    if (body != NULL) {
        // server_http ends everything with a line's end, which to JSON is a space.
        snprintf(all, sizeof all, "%sContent-Length: %zu\r\n\r\n%s", headers, strlen(body) + 2, body);
    }
    return server_http(port, method, target, all, answer, answer_bytes);
}

double server_metric(uint16_t port, const char *name)
{
    static char answer[262144];
    char line[128];
    if (server_http(port, "GET", "/metrics", NULL, answer, sizeof answer) != 200) {
        return -1;
    }
    snprintf(line, sizeof line, "\n%s ", name);
    char *found = strstr(answer, line);
    return found != NULL ? atof(found + strlen(line)) : -1;
}
