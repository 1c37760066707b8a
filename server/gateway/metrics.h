/// What is counted and measured, and its text for Prometheus: of the program, of its sessions and processes, and of the
/// time between an input and its frame.
#ifndef TARN_SERVER_GATEWAY_METRICS_H
#define TARN_SERVER_GATEWAY_METRICS_H

#include "protocol/message.h"
#include "protocol/stream.h"
#include "server/base/ipc.h"
#include "server/gateway/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- what processes take ----
// As /proc tells it.

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

// ---- the time between an input and its picture ----
// Where it goes, as far as the server sees it:
//
//     arrived -- wait --> latched -- step --> stepped -- encode --> encoded -- pass --> taken -- write --> written
//
// `wait` begins with an input and is known of frames that contain one; the others of every frame, `write` for every
// viewer that it is sent to.

typedef enum tarn_stage {
    TARN_STAGE_WAIT = 0,   ///< for the step that it acts in, the way to the worker included
    TARN_STAGE_STEP = 1,   ///< the step
    TARN_STAGE_ENCODE = 2, ///< the frame's encoding
    TARN_STAGE_PASS = 3,   ///< from the worker to the gateway
    TARN_STAGE_WRITE = 4,  ///< until a viewer's socket takes it
    TARN_STAGE_COUNT
} tarn_stage;

typedef struct tarn_stages {
    uint64_t count[TARN_STAGE_COUNT];
    double sum_s[TARN_STAGE_COUNT];
    double recent_s[TARN_STAGE_COUNT]; ///< a mean in which the newest 16 count most
} tarn_stages;

/// One took this long. What isn't from 0 to TARN_STAGE_S_MAX isn't believed.
void tarn_stages_note(tarn_stages *stages, tarn_stage stage, double seconds);

/// A frame came from the worker: notes step, encode and pass, where the stamps are in order.
void tarn_stages_frame(tarn_stages *stages, const tarn_ipc_stamps *stamps, uint64_t now_ns);

#define TARN_STAGE_S_MAX 60.0

// ---- the page ----

enum { TARN_METRICS_LATENCY_BUCKETS = 10, TARN_METRICS_KINDS = 3 };

/// How many took how long.
typedef struct tarn_latency {
    uint64_t buckets[TARN_METRICS_LATENCY_BUCKETS + 1]; ///< the last one is for everything above
    uint64_t count;
    double sum_s;
} tarn_latency;

typedef struct tarn_metrics {
    uint64_t connections_total, connections_refused_total, connections_dropped_total;
    uint64_t viewers; ///< that have joined and are there
    uint64_t messages_total, messages_unknown_total, messages_refused_total;
    uint64_t inputs_total, inputs_coalesced_total;
    uint64_t frames_received_total, frames_sent_total, frames_skipped_total, keys_asked_total;
    uint64_t moves_total, moves_failed_total;
    uint64_t frames_by_kind_total[TARN_METRICS_KINDS]; ///< sent, by tarn_stream_kind
    uint64_t frame_bytes_by_kind_total[TARN_METRICS_KINDS];
    uint32_t viewers_by_layers[TARN_STREAM_LAYERS_MAX]; ///< that were sent a key frame with so many layers and one more
    uint64_t bytes_sent_total;
    tarn_latency latency; ///< from the arrival of an input to that of the first frame that contains it
    tarn_stages stages;
    uint64_t scrapes; ///< of this text
    double scrapes_s; ///< what they took of the loop
} tarn_metrics;

/// What is told of each session.
typedef enum tarn_session_metric {
    TARN_SESSION_METRIC_VIEWERS,
    TARN_SESSION_METRIC_FRAMES_RECEIVED,
    TARN_SESSION_METRIC_FRAMES_SENT,
    TARN_SESSION_METRIC_FRAMES_SKIPPED,
    TARN_SESSION_METRIC_BYTES_SENT,
    TARN_SESSION_METRIC_REALTIME_FACTOR,
    TARN_SESSION_METRIC_STEP_S,
    TARN_SESSION_METRIC_ENCODE_S,
    TARN_SESSION_METRIC_ENCODER_BYTES,
    TARN_SESSION_METRIC_PARTICLES,
    TARN_SESSION_METRIC_STEPS,
    TARN_SESSION_METRIC_UNCONVERGED,
    TARN_SESSION_METRIC_INPUTS_WAITING,
    TARN_SESSION_METRIC_FRAMES_IN_FLIGHT,
    TARN_SESSION_METRIC_WORKER_LOSSES,
    TARN_SESSION_METRIC_RESUMES,
    TARN_SESSION_METRIC_RESTARTS,
    TARN_SESSION_METRIC_SET_BACKS,
    TARN_SESSION_METRIC_COUNT
} tarn_session_metric;

typedef struct tarn_metrics_session {
    tarn_name label; ///< its name where everybody may know it
    int worker;      ///< -1: none
    double values[TARN_SESSION_METRIC_COUNT];
    uint64_t steps; ///< and what they took
    double steps_s;
    const tarn_latency *latency; ///< NULL: none was measured
} tarn_metrics_session;

typedef enum tarn_worker_metric {
    TARN_WORKER_METRIC_READY,
    TARN_WORKER_METRIC_STARTS,
    TARN_WORKER_METRIC_FAILURES,
    TARN_WORKER_METRIC_RETRY,
    TARN_WORKER_METRIC_TANKS,
    TARN_WORKER_METRIC_LOAD,
    TARN_WORKER_METRIC_PID,
    TARN_WORKER_METRIC_MEMORY,
    TARN_WORKER_METRIC_QUEUE,
    TARN_WORKER_METRIC_HELD,
    TARN_WORKER_METRIC_COUNT
} tarn_worker_metric;

typedef struct tarn_metrics_worker {
    const char *device; ///< as it calls it
    double values[TARN_WORKER_METRIC_COUNT];
} tarn_metrics_worker;

/// Everything on the page: the server as a whole, each worker by its number, each session by its label.
typedef struct tarn_metrics_page {
    const tarn_metrics *metrics;
    tarn_process_usage usage;
    const tarn_metrics_worker *workers;
    uint32_t worker_count;
    const tarn_metrics_session *sessions;
    uint32_t session_count;
    const tarn_store_counts *store; ///< NULL: nothing is kept
} tarn_metrics_page;

/// Notes that one took this long.
void tarn_latency_note(tarn_latency *latency, double seconds);

/// @return bytes written, without the NUL; what does not fit is cut off at a line's end
size_t tarn_metrics_write(const tarn_metrics_page *page, char *text, size_t text_bytes);

// ---- one session ----

/// What came and went in it, since it began.
typedef struct tarn_session_counts {
    uint64_t frames_received, frames_sent, frames_skipped, bytes_sent;
    uint64_t steps;         ///< that the worker reported, however often the tank started afresh
    double steps_s;         ///< what they took
    uint64_t worker_losses; ///< times that its worker ended and the tank with it
    uint64_t resumes;       ///< times that the tank then went on where it was
    uint64_t restarts;      ///< times that it didn't, and started afresh
    uint64_t set_backs;     ///< times that its worker set it back, since the simulation failed
    tarn_latency latency;   ///< from an input to its frame
} tarn_session_counts;

#endif
