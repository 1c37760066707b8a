// What a worker may ask of the system: of the program itself what the kernel says of it, and of the lists each way out,
// tried by a process that they hold.
#include "server/worker/confinement.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKS = 0, REFUSED = 1, ELSE = 2 };

static server_process server;
static char folder[] = "/tmp/tarn-confined-XXXXXX";

static int make_folder(void **state)
{
    char command[256];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "mkdir %s/scenes && echo '{}' > %s/scenes/a.json && echo no > %s/secret", folder,
             folder, folder);
    return system(command);
}

static int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

// ---- what a process tries ----

static int opens(const char *name, int flags)
{
    char path[128];
    snprintf(path, sizeof path, "%s%s%s", name[0] == '/' ? "" : folder, name[0] == '/' ? "" : "/", name);
    const int fd = open(path, flags | O_CLOEXEC, 0600);
    return fd >= 0 ? WORKS : errno == EPERM || errno == EACCES ? REFUSED : ELSE;
}

static int read_a_scene(void)
{
    return opens("scenes/a.json", O_RDONLY) == WORKS ? opens("scenes", O_RDONLY | O_DIRECTORY) : ELSE;
}

static int read_another_file(void)
{
    return opens("secret", O_RDONLY);
}

static int read_a_password_file(void)
{
    return opens("/etc/passwd", O_RDONLY);
}

static int write_a_scene(void)
{
    return opens("scenes/a.json", O_WRONLY);
}

static int make_a_file(void)
{
    return opens("scenes/b.json", O_RDWR | O_CREAT);
}

static int remove_a_file(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/scenes/a.json", folder);
    return unlink(path) == 0 ? WORKS : REFUSED;
}

static int open_a_socket(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 ? WORKS : REFUSED;
}

static int start_a_program(void)
{
    execl("/bin/true", "true", NULL);
    return REFUSED;
}

static int start_a_process(void)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    return child > 0 ? WORKS : REFUSED;
}

static int look_into_another(void)
{
    return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0 ? WORKS : REFUSED;
}

static int signal_another(void)
{
    return kill(getppid(), 0) == 0 ? WORKS : REFUSED;
}

/// What is ready on a descriptor is told to whom its owner names, by which signal he likes.
static int signal_another_by_a_descriptor(void)
{
    const int fd = STDERR_FILENO;
    return fcntl(fd, F_SETOWN, getppid()) == 0 || fcntl(fd, F_SETSIG, SIGKILL) == 0 ? WORKS : REFUSED;
}

/// As it would be another's, whose number may be anybody's.
static int slow_by_number(void)
{
    return setpriority(PRIO_PROCESS, (id_t)getpid(), 19) == 0 ? WORKS : REFUSED;
}

static int call_by_other_numbers(void)
{
#ifdef __x86_64__
    const long x32 = 0x40000000;
    return syscall(x32 | SYS_getpid) < 0 && errno == ENOSYS ? REFUSED : WORKS;
#else
    return kill(getpid(), SIGSYS); // there are no others
#endif
}

static int make_code(void)
{
    void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made != MAP_FAILED ? WORKS : errno == EPERM ? REFUSED : ELSE;
}

static int make_memory_code(void)
{
    void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(made, 4096, PROT_READ | PROT_EXEC) == 0 ? WORKS : errno == EPERM ? REFUSED : ELSE;
}

static void *answer(void *user)
{
    *(int *)user = 7;
    return NULL;
}

static int start_a_thread(void)
{
    pthread_t thread;
    int answered = 0;
    return pthread_create(&thread, NULL, answer, &answered) == 0 && pthread_join(thread, NULL) == 0 && answered == 7
               ? WORKS
               : ELSE;
}

static int keep_a_box(void)
{
    const int fd = memfd_create("box", MFD_CLOEXEC);
    return fd >= 0 && ftruncate(fd, 8192) == 0 &&
                   mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED
               ? WORKS
               : ELSE;
}

static int step_back(void)
{
    return setpriority(PRIO_PROCESS, 0, 19) == 0 ? WORKS : ELSE;
}

static int end_by_assertion(void)
{
    abort();
}

static int ask_for_what_is_unknown(void)
{
    return syscall(SYS_quotactl, 0, NULL, 0, NULL) < 0 && errno == ENOSYS ? REFUSED : ELSE;
}

/// @return what came of it, or 128 and the signal that ended it
static int tried(tarn_confined kind, int (*what)(void))
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        char scenes[128];
        snprintf(scenes, sizeof scenes, "%s/scenes", folder);
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        tarn_confinement_begin(kind != TARN_CONFINED_CUDA);
        _exit(tarn_confinement_end(kind, (const char *const[]){scenes, NULL}) ? what() : 99);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void test_a_way_out_fails_or_ends_the_process(void **state)
{
    (void)state;
    enum { ENDS = 128 + SIGSYS };
    const bool has_landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
    const struct {
        const char *name;
        int (*what)(void);
        int cpu, cuda;
    } cases[] = {
        {"a scene is read", read_a_scene, WORKS, WORKS},
        {"another file is read", read_another_file, has_landlock ? REFUSED : WORKS, WORKS},
        {"a password file is read", read_a_password_file, has_landlock ? REFUSED : WORKS, WORKS},
        {"a scene is written", write_a_scene, REFUSED, WORKS},
        {"a file is made", make_a_file, REFUSED, WORKS},
        {"a file is removed", remove_a_file, REFUSED, -1},
        {"a socket is opened", open_a_socket, ENDS, WORKS},
        {"a program is started", start_a_program, ENDS, REFUSED},
        {"a process is started", start_a_process, ENDS, WORKS},
        {"another process is looked into", look_into_another, ENDS, ENDS},
        {"another process is signalled", signal_another, ENDS, WORKS},
        {"another is signalled by a descriptor", signal_another_by_a_descriptor, REFUSED, WORKS},
        {"the priority of a number is lowered", slow_by_number, REFUSED, WORKS},
        {"a call is made by other numbers", call_by_other_numbers, ENDS, ENDS},
        {"code is made", make_code, REFUSED, WORKS},
        {"memory becomes code", make_memory_code, REFUSED, WORKS},
        {"a thread is started", start_a_thread, WORKS, WORKS},
        {"a black box is kept", keep_a_box, WORKS, WORKS},
        {"its priority is lowered", step_back, WORKS, WORKS},
        {"an assertion fails", end_by_assertion, 128 + SIGABRT, 128 + SIGABRT},
        {"an unknown call is made", ask_for_what_is_unknown, REFUSED, -1},
    };
    if (tarn_confinement_is_sanitized) {
        print_message("skipped: a build with sanitizers has no lists of calls\n");
        skip();
    }
    if (!has_landlock) {
        print_message("this kernel has no Landlock: files outside the scenes' folder stay to be read\n");
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int cpu = tried(TARN_CONFINED_CPU, cases[i].what),
                  cuda = cases[i].cuda >= 0 ? tried(TARN_CONFINED_CUDA, cases[i].what) : -1;
        if (cpu != cases[i].cpu || cuda != cases[i].cuda) {
            fail_msg("%s: CPU %d, expected %d; CUDA %d, expected %d", cases[i].name, cpu, cases[i].cpu, cuda,
                     cases[i].cuda);
        }
    }
}

// ---- the program ----

/// A number of /proc/PID/status; of each of its threads, where they are to be the same. @return -1: they aren't
static long status_of(pid_t pid, const char *field, int base)
{
    char path[64], line[256];
    long found = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':') {
            found = strtol(line + strlen(field) + 1, NULL, base);
        }
    }
    fclose(file);
    return found;
}

static void test_the_worker_has_less_than_the_gateway(void **state)
{
    (void)state;
    const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--device", "cpu", NULL};
    server_start(&server, arguments);
    ws_client client;
    ws_frame frame;
    ws_client_enter(&client, server.port);
    assert_int_equal(ws_client_wait_frame(&client, &frame), 1);
    const pid_t worker = server_worker(&server);
    assert_true(worker > 0);
    assert_int_equal(status_of(worker, "NoNewPrivs", 10), 1);
    assert_int_equal(status_of(worker, "CapPrm", 16), 0);
    assert_int_equal(status_of(worker, "CapEff", 16), 0);
    assert_int_equal(status_of(worker, "CapAmb", 16), 0);
    if (!tarn_confinement_is_sanitized) {
        assert_int_equal(status_of(worker, "Seccomp", 10), 2);
        assert_int_equal(status_of(worker, "Threads", 10) > 1, 1);
        char command[128]; // what holds for one of its threads holds for all
        snprintf(command, sizeof command, "! grep -hL '^Seccomp:.2$' /proc/%d/task/*/status | grep -q .", (int)worker);
        assert_int_equal(system(command), 0);
    }
    ws_client_close(&client);
    server_stop(&server);
}

/// A scene of one's own lies elsewhere than the others, and is read all the same.
static void test_an_own_scene_is_read_where_it_lies(void **state)
{
    (void)state;
    char command[256], scene[128];
    snprintf(scene, sizeof scene, "%s/own.json", folder);
    snprintf(command, sizeof command, "cp %s/small-pool.json %s", TARN_TEST_SCENES, scene);
    assert_int_equal(system(command), 0);
    server_start(&server, (const char *[]){"--scene", scene, "--device", "cpu", NULL});
    ws_client client;
    ws_frame frame;
    ws_client_enter(&client, server.port);
    assert_int_equal(ws_client_wait_frame(&client, &frame), 1);
    ws_client_control(&client, TARN_CONTROL_RESET, NULL);
    do {
        assert_int_equal(ws_client_wait_frame(&client, &frame), 1);
    } while (frame.step > 5);
    ws_client_close(&client);
    server_stop(&server);
}

static void test_an_end_by_its_own_limits_is_told_from_others(void **state)
{
    (void)state;
    char program[128];
    snprintf(program, sizeof program, "%s/worker", folder);
    FILE *file = fopen(program, "we");
    assert_non_null(file);
    fputs("#!/bin/sh\nkill -SYS $$\n", file);
    assert_int_equal(fchmod(fileno(file), 0700), 0);
    fclose(file);
    server_spawn(&server, (const char *[]){"--port", "0", "--worker", program, "--device", "cpu", NULL});
    assert_int_equal(server_wait(&server), 1);
    assert_non_null(strstr(server.err, "the worker asked the system for what none needs and was ended by it (SIGSYS)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_way_out_fails_or_ends_the_process),
        cmocka_unit_test(test_the_worker_has_less_than_the_gateway),
        cmocka_unit_test(test_an_own_scene_is_read_where_it_lies),
        cmocka_unit_test(test_an_end_by_its_own_limits_is_told_from_others),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
