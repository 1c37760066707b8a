/// What the server itself tells of its load: its metrics page, and the processor time and memory of its processes.
#ifndef TARN_SERVER_TOOL_LOAD_SERVER_H
#define TARN_SERVER_TOOL_LOAD_SERVER_H

#include "server/tool/load/load_target.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    LOAD_SERVER_WAIT_MS = 2000,
    LOAD_PROCESS_NAME_BYTES = 16, ///< with the end; longer names are cut by the kernel
};

/// Of /metrics, by the names there without "tarn_".
typedef struct load_metrics {
    uint64_t at_ns; ///< when the answer was there; 0: there is none
    double viewers, frames_received_total, frames_sent_total, frames_skipped_total, bytes_sent_total;
    double realtime_factor, step_seconds, encode_seconds, particles;
} load_metrics;

/// Whether connections to the address are refused, so that nothing listens there. Waits at most LOAD_SERVER_WAIT_MS.
bool load_server_refuses(const load_target *target);

/// Fetches the page and waits at most LOAD_SERVER_WAIT_MS for each piece of it. Any thread.
/// @return whether the server has such a page
bool load_metrics_fetch(const load_target *target, load_metrics *metrics);

/// A process at a moment.
typedef struct load_process {
    uint64_t at_ns; ///< 0: there is no such process
    pid_t pid;
    double cpu_s;       ///< of all its threads
    uint64_t rss_bytes; ///< its own pages in memory
} load_process;

/// The name of a process's program, without what could steer a terminal. @return whether the process is there
bool load_process_name(pid_t pid, char name[LOAD_PROCESS_NAME_BYTES]);

/// @return whether the process is there
bool load_process_look(pid_t pid, load_process *process);

/// The first child of a process, which of tarnd is its worker; 0 where there is none.
pid_t load_process_child(pid_t pid);

#endif
