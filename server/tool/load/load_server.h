/// What the server itself tells of its load: its metrics page, and the processor time and memory of its processes.
#ifndef TARN_SERVER_TOOL_LOAD_SERVER_H
#define TARN_SERVER_TOOL_LOAD_SERVER_H

#include "protocol/message.h"
#include "server/tool/load/load_target.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    LOAD_SERVER_WAIT_MS = 2000,
    LOAD_PROCESS_NAME_BYTES = 16, ///< with the end; longer names are cut by the kernel
};

/// What /metrics says of one session, by the names there without "tarn_session_".
typedef struct load_metrics {
    uint64_t at_ns;   ///< when the answer was there; 0: there is none
    bool has_session; ///< it says something; of one that isn't listed it says nothing by name
    int worker;       ///< that has the session's tank; -1: none
    pid_t worker_pid; ///< 0: unknown
    double viewers, frames_received_total, frames_sent_total, frames_skipped_total, bytes_sent_total;
    double realtime_factor, step_seconds, encode_seconds, particles;
} load_metrics;

/// Whether connections to the address are refused, so that nothing listens there. Waits at most LOAD_SERVER_WAIT_MS.
bool load_server_refuses(const load_target *target);

/// Fetches the page and waits at most LOAD_SERVER_WAIT_MS for all of it. Any thread.
/// @param key  shown with the request; empty: none  @return whether the server has such a page, and shows it
bool load_metrics_fetch(const load_target *target, const char *session, const char *key, load_metrics *metrics);

/// Reads the page. Pure.
void load_metrics_read(const char *page, const char *session, load_metrics *metrics);

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

/// A child of a process: the wanted one where it is one, else the first; 0 where there is none.
pid_t load_process_child(pid_t pid, pid_t wanted);

#endif
