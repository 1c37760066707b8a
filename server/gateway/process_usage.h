/// What processes take of the machine, as /proc tells it.
#ifndef TARN_SERVER_GATEWAY_PROCESS_USAGE_H
#define TARN_SERVER_GATEWAY_PROCESS_USAGE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tarn_process_usage {
    uint64_t open_fds, max_fds;
    uint64_t resident_bytes, virtual_bytes;
    double cpu_s;   ///< of all its threads, user's and system's
    double start_s; ///< when it began, in seconds since 1970
} tarn_process_usage;

/// Of this process. What can't be found out is 0.
void tarn_process_usage_read(tarn_process_usage *usage);

/// Memory that a process has in use, in bytes; 0: there is no such process. @param pid  0: none
uint64_t tarn_process_resident_bytes(int pid);

/// What the threads of a process did since it began.
typedef struct tarn_process_work {
    uint64_t ran_ns, waited_ns; ///< on a processor, and for one
    bool is_stopped;            ///< by a signal
} tarn_process_work;

/// @param pid  0: this process  @return false: it can't be found out
bool tarn_process_work_read(int pid, tarn_process_work *work);

/// How long this thread has waited for a processor since it began; 0 where nobody says.
uint64_t tarn_process_thread_waited_ns(void);

/// How many processes the kernel has ended for want of memory: of this one's group, or else of the machine. 0: nobody
/// says.
uint64_t tarn_process_oom_kills(void);

#endif
