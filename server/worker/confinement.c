// Lists of system calls as programs for the kernel (seccomp), and folders by Landlock: start at tarn_confinement_end.
#include "server/worker/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

const bool tarn_confinement_is_sanitized = IS_SANITIZED;

#if (defined(__x86_64__) || defined(__aarch64__)) && !IS_SANITIZED
#define HAS_FILTER 1
#endif

// ---- system calls ----

#ifdef HAS_FILTER

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define FAIL(error) (SECCOMP_RET_ERRNO | (error))
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(verdict) BPF_STMT(BPF_RET | BPF_K, verdict)
#define CALL(call, verdict) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), RETURN(verdict)
#define ALLOW(call) CALL(call, SECCOMP_RET_ALLOW)
#define END(call) CALL(call, SECCOMP_RET_KILL_PROCESS)
// By the lower half of an argument: whether it has one of these bits, or is this number.
#define BY_BITS(call, argument, bits, if_set, if_clear)                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 4), LOAD(args[argument]),                                      \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), RETURN(if_set), RETURN(if_clear)
#define BY_NUMBER(call, argument, number, if_equal, if_other)                                                          \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 4), LOAD(args[argument]),                                      \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), RETURN(if_equal), RETURN(if_other)
#define UP_TO(call, argument, most)                                                                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 4), LOAD(args[argument]),                                      \
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, most, 0, 1), RETURN(FAIL(EPERM)), RETURN(SECCOMP_RET_ALLOW)
// Of who asks alone: others, the gateway among them, would have to stand back, too.
#define OWN_PRIORITY                                                                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_setpriority, 0, 6), LOAD(args[0]),                                        \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PRIO_PROCESS, 0, 3), LOAD(args[1]),                                        \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), RETURN(SECCOMP_RET_ALLOW), RETURN(FAIL(EPERM))

// Another architecture's numbers mean other calls; and so do x32's, which are marked by a bit and else pass as this
// one's: a list of what is refused wouldn't know them.
#ifdef __x86_64__
#define ONE_CALLING_WAY BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, __X32_SYSCALL_BIT, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS)
#else
#define ONE_CALLING_WAY LOAD(nr)
#endif
#define BEGIN                                                                                                          \
    LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), LOAD(nr),   \
        ONE_CALLING_WAY

// Debuggers, mounts, modules, what the kernel runs for others: no program of ours, and no driver in it, needs them.
#define NEVER                                                                                                          \
    END(ptrace), END(process_vm_readv), END(process_vm_writev), END(mount), END(umount2), END(pivot_root),             \
        END(chroot), END(setns), END(unshare), END(bpf), END(init_module), END(finit_module), END(delete_module),      \
        END(kexec_load), END(reboot), END(swapon), END(swapoff), END(add_key), END(request_key), END(keyctl),          \
        END(userfaultfd), END(perf_event_open), END(io_uring_setup)

#define MEMORY_AND_FILES                                                                                               \
    ALLOW(read), ALLOW(write), ALLOW(fstat), ALLOW(newfstatat), ALLOW(lseek), ALLOW(close), ALLOW(munmap),             \
        ALLOW(mremap), ALLOW(madvise), ALLOW(brk), ALLOW(futex), ALLOW(getrandom), ALLOW(clock_gettime),               \
        ALLOW(rt_sigreturn), ALLOW(exit), ALLOW(exit_group)

static bool filter(const struct sock_filter *calls, size_t count)
{
    const struct sock_fprog program = {(unsigned short)count, (struct sock_filter *)(uintptr_t)calls};
    const long failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (failed > 0) { // a thread that can't have it
        errno = EBUSY;
    }
    return failed == 0;
}

static bool filter_cpu(void)
{
    const int written = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
    const struct sock_filter calls[] = {
        BEGIN,
        // Those of every step and frame first.
        ALLOW(ppoll), ALLOW(recvmsg), ALLOW(sendmsg), ALLOW(sendto), ALLOW(sched_yield), MEMORY_AND_FILES,
        BY_BITS(mmap, 2, PROT_EXEC, FAIL(EPERM), SECCOMP_RET_ALLOW),
        BY_BITS(mprotect, 2, PROT_EXEC, FAIL(EPERM), SECCOMP_RET_ALLOW), ALLOW(writev), ALLOW(pread64), ALLOW(pwrite64),
        ALLOW(getdents64), ALLOW(statx), ALLOW(readlinkat), ALLOW(faccessat),
#ifdef __x86_64__
        ALLOW(poll), ALLOW(stat), ALLOW(lstat), ALLOW(readlink), ALLOW(access),
        BY_BITS(open, 1, written, FAIL(EPERM), SECCOMP_RET_ALLOW), END(fork), END(vfork),
#endif
        BY_BITS(openat, 2, written, FAIL(EPERM), SECCOMP_RET_ALLOW), ALLOW(getcwd),
        UP_TO(fcntl, 1, F_SETFL), // those above may have the kernel signal others
        ALLOW(ftruncate), ALLOW(memfd_create), ALLOW(eventfd2), ALLOW(nanosleep), ALLOW(clock_nanosleep),
        ALLOW(clock_getres), ALLOW(restart_syscall),
        // Threads, but no other process. What clone3 asks stands in memory, where a filter can't look: glibc then
        // goes on by clone.
        BY_BITS(clone, 0, CLONE_THREAD, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS), CALL(clone3, FAIL(ENOSYS)),
        ALLOW(set_robust_list), ALLOW(rseq), ALLOW(gettid), ALLOW(getpid), ALLOW(sched_getaffinity),
        ALLOW(sched_getscheduler), ALLOW(sched_getparam), OWN_PRIORITY, ALLOW(getpriority), ALLOW(membarrier),
        ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(sigaltstack),
        BY_NUMBER(tgkill, 0, (uint32_t)getpid(), SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS),
        BY_NUMBER(prctl, 0, PR_SET_NAME, SECCOMP_RET_ALLOW, FAIL(EPERM)),
        BY_NUMBER(prlimit64, 0, 0, SECCOMP_RET_ALLOW, FAIL(EPERM)), ALLOW(getrlimit), ALLOW(getrusage), ALLOW(sysinfo),
        ALLOW(uname), ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid), ALLOW(getppid), NEVER, END(execve),
        END(execveat), END(socket), END(connect), END(bind), END(listen), END(accept), END(accept4), END(kill),
        END(tkill),
        RETURN(FAIL(ENOSYS)), // what a newer C library tries first it then does otherwise
    };
    return filter(calls, sizeof calls / sizeof calls[0]);
}

static bool filter_cuda(void)
{
    const struct sock_filter calls[] = {
        BEGIN, NEVER, CALL(execve, FAIL(EPERM)), CALL(execveat, FAIL(EPERM)), RETURN(SECCOMP_RET_ALLOW),
    };
    return filter(calls, sizeof calls / sizeof calls[0]);
}

static bool filter_intake(void)
{
    const struct sock_filter calls[] = {
        BEGIN, MEMORY_AND_FILES, ALLOW(mmap), ALLOW(mprotect), ALLOW(fsync), RETURN(FAIL(EPERM)),
    };
    return filter(calls, sizeof calls / sizeof calls[0]);
}

static bool filter_calls(tarn_confined kind)
{
    return kind == TARN_CONFINED_CPU ? filter_cpu() : kind == TARN_CONFINED_CUDA ? filter_cuda() : filter_intake();
}

#else

static bool filter_calls(tarn_confined kind)
{
    (void)kind;
    return true;
}

#endif

// ---- folders ----

/// Of this thread and those that it starts. Where the kernel knows nothing of it, rights stay what the user's are.
static void limit_folders(const char *const *folders)
{
    // What the first version knows: more rights than the kernel knows of would be refused.
    const struct landlock_ruleset_attr all = {.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    if (rules < 0) {
        return;
    }
    for (int i = 0; folders[i] != NULL; i++) {
        const struct landlock_path_beneath_attr beneath = {
            .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
            .parent_fd = open(folders[i], O_PATH | O_DIRECTORY | O_CLOEXEC)};
        if (beneath.parent_fd >= 0) {
            (void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
            close(beneath.parent_fd);
        }
    }
    (void)syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}

// ---- both ends ----

void tarn_confinement_begin(bool is_cpu)
{
    if (is_cpu && !IS_SANITIZED) {
        // Refused in some containers and services, whose sandbox is the limit then.
        (void)unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC);
    }
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    (void)syscall(SYS_capset, &head, none);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

bool tarn_confinement_end(tarn_confined kind, const char *const *folders)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return false;
    }
    // What is taken opens nothing at all. A sanitizer looks for leaks in files of its own.
    if (kind == TARN_CONFINED_CPU && !IS_SANITIZED) {
        limit_folders(folders);
    }
    return filter_calls(kind);
}
