// Runs the program as anyone would, so that what it says and how it ends are part of what is tested.
#include "tests/kinect/bridge_process.h"
#include "server/base/clock.h"
#include "tests/server/pool_server.h"
#include "tests/server/test_cmocka.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char bridge_folder[64], bridge_recording[96];

int bridge_record(void **state)
{
    char command[512];
    snprintf(bridge_folder, sizeof bridge_folder, "/tmp/tarn-kinect-XXXXXX");
    if (mkdtemp(bridge_folder) == NULL) {
        return -1;
    }
    snprintf(bridge_recording, sizeof bridge_recording, "%s/side", bridge_folder);
    snprintf(command, sizeof command, "%s %s side %d 1", TARN_TEST_MAKE_DEPTH, bridge_recording, BRIDGE_FRAMES);
    return system(command) != 0 ? -1 : pool_server_start(state);
}

int bridge_forget(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", bridge_folder);
    return system(command) != 0 ? -1 : pool_server_stop(state);
}

void bridge_start(bridge_process *b, const char *folder, const char *options, const char *library_folder,
                  const char *recording)
{
    static int count;
    char line[1024];
    char *arguments[32] = {TARN_TEST_TOOL, "kinect"};
    int n = 2;
    snprintf(b->log, sizeof b->log, "%s/log-%d", folder, count++);
    snprintf(line, sizeof line, "%s", options);
    for (char *rest, *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        arguments[n++] = word;
    }
    b->pid = fork();
    assert_true(b->pid >= 0);
    if (b->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int fd = open(b->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        if (library_folder != NULL) {
            setenv("LD_LIBRARY_PATH", library_folder, 1);
            setenv("FAKENECT_PATH", recording, 1);
            setenv("ASAN_OPTIONS", "strict_string_checks=0", 1); // it looks for a line's end in text without one
        }
        execv(arguments[0], arguments);
        _exit(127);
    }
}

const char *bridge_said(bridge_process *b)
{
    const int fd = open(b->log, O_RDONLY);
    const ssize_t have = fd >= 0 ? read(fd, b->text, sizeof b->text - 1) : 0;
    b->text[have > 0 ? have : 0] = '\0';
    close(fd);
    return b->text;
}

int bridge_count_said(bridge_process *b, const char *what)
{
    int count = 0;
    for (const char *at = bridge_said(b); (at = strstr(at, what)) != NULL; at++) {
        count++;
    }
    return count;
}

void bridge_wait_said(bridge_process *b, const char *what)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + BRIDGE_WAIT_S * (uint64_t)1000000000;
    while (strstr(bridge_said(b), what) == NULL) {
        if (tarn_clock_monotonic_ns() > until_ns) {
            fail_msg("never said \"%s\", but \"%s\"", what, b->text);
        }
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
}

int bridge_finish(bridge_process *b, int signal_number)
{
    int status;
    if (signal_number != 0) {
        kill(b->pid, signal_number);
    }
    assert_int_equal(waitpid(b->pid, &status, 0), b->pid);
    bridge_said(b);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

double bridge_summary(bridge_process *b, const char *words)
{
    const char *at = strstr(bridge_said(b), words);
    if (at == NULL || at == b->text) {
        return -1;
    }
    at--;
    while (at > b->text && strchr("0123456789.", at[-1]) != NULL) {
        at--;
    }
    return strtod(at, NULL);
}
