/// `tarn load`: hundreds of viewers in one process against a running server, and what they saw.
///
///     options -> load_run: opens viewers, settles, measures -> results -> load_report_text or load_report_json
///
/// One thread and one libuv loop hold all connections; frames are decoded on libuv's threads, so that checking them
/// does not delay what is being timed.
#ifndef TARN_SERVER_TOOL_LOAD_RUN_H
#define TARN_SERVER_TOOL_LOAD_RUN_H

#include "protocol/message.h"
#include "server/tool/load/frame.h"
#include "server/tool/load/socket.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// ---- what the server tells of its load ----
// Its metrics page, and the processor time and memory of its processes.

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

/// Fetches the page and waits at most LOAD_SERVER_WAIT_MS for all of it. Any thread.
/// @param key  shown with the request; empty: none  @return whether the server has such a page, and shows it
bool load_metrics_fetch(const load_target *target, const char *session, const char *key, load_metrics *metrics);

/// A process at a moment.
typedef struct load_process {
    uint64_t at_ns; ///< 0: there is no such process
    pid_t pid;
    double cpu_s;       ///< of all its threads
    uint64_t rss_bytes; ///< its own pages in memory
} load_process;

/// The name of a process's program, without what could steer a terminal. @return whether the process is there
bool load_process_name(pid_t pid, char name[LOAD_PROCESS_NAME_BYTES]);

// ---- a run ----

enum {
    LOAD_CONNECTIONS_MAX = 1024,     ///< viewers and pushers
    LOAD_PUSHERS_MAX = 256,          ///< of them
    LOAD_SECONDS_MAX = 86400,        ///< of one run
    LOAD_INPUTS_PER_S_MAX = 200,     ///< of one pusher; a server bounds them at no less than 500 messages a second
    LOAD_INPUTS_OPEN_MAX = 512,      ///< of one pusher, whose frame hasn't come
    LOAD_INPUT_MS_MAX = 1000,        ///< after which an input whose frame hasn't come is called unseen
    LOAD_OPENING_MAX = 32,           ///< connections that are being opened at the same time
    LOAD_OPEN_MS_MAX = 10000,        ///< from connecting to the first frame
    LOAD_SETTLE_MS = 1000,           ///< from the last viewer's first frame to the beginning of the measurement
    LOAD_OPENING_ALL_MS = 60000,     ///< for all viewers to be there
    LOAD_FAILURES_MAX = 8,           ///< different ones that are told
    LOAD_RECONNECT_MS_MIN = 100,     ///< pause before a viewer comes back...
    LOAD_RECONNECT_MS_MAX = 600,     ///< ...at most
    LOAD_SLOW_RECEIVE_BYTES = 65536, ///< that the kernel holds for a slow viewer
    LOAD_SIGN_OF_LIFE_MS = 5000,     ///< between the pings of a stalled viewer
    LOAD_READ_BYTES_MAX = 1 << 20,   ///< read from one connection before others get their turn
    LOAD_TICK_MS = 2,
};

/// How a viewer behaves.
typedef enum load_kind {
    LOAD_STEADY = 0,       ///< takes every frame at once
    LOAD_PUSHER = 1,       ///< the same, and drags a pointer through the tank
    LOAD_SLOW = 2,         ///< reads no faster than `slow_mbit_s`
    LOAD_STALLED = 3,      ///< reads nothing after its first frame, but gives signs of life
    LOAD_HALF_OPEN = 4,    ///< after its first frame neither reads nor sends, as if its cable were cut
    LOAD_RECONNECTING = 5, ///< leaves after `reconnect_s`, politely or not, and comes back
    LOAD_KIND_COUNT
} load_kind;

const char *load_kind_name(load_kind kind); ///< for people

typedef struct load_options {
    const char *command; ///< its name, for messages
    load_target target;
    tarn_name session;
    tarn_pass key;                    ///< to join with, and for the metrics page; empty: none
    uint32_t counts[LOAD_KIND_COUNT]; ///< connections of each kind
    uint32_t seconds;
    uint32_t inputs_per_s; ///< of each pusher
    uint32_t slow_mbit_s;
    uint32_t reconnect_s;
    uint32_t check_every; ///< frames of which one is decoded; 0: none is, and nothing else is looked at
    uint32_t seed;
    pid_t server_pid; ///< 0: unknown
    bool json, quiet;
    bool (*interrupted)(void); ///< whether somebody wants it to end
} load_options;

/// What the viewers of one kind saw while it was measured.
typedef struct load_group {
    uint64_t frames[LOAD_FRAME_KINDS], frame_bytes[LOAD_FRAME_KINDS];
    uint64_t layers; ///< of all frames together
    uint64_t bytes;
    uint64_t dropped;              ///< frames that somebody got and this viewer, which was there, did not
    uint64_t connections, lost;    ///< opened in all; ended by the server or by an error
    double mbit_s_min, mbit_s_max; ///< of one viewer
    load_histogram interval;       ///< from the end of a frame to the end of the next
    load_histogram first_frame;    ///< from connecting to the end of the first frame; of all connections
} load_group;

typedef struct load_failure {
    uint64_t count;
    char text[LOAD_TARGET_WHY_BYTES];
} load_failure;

typedef struct load_results {
    double seconds; ///< measured; 0: it didn't come to that
    bool interrupted;
    tarn_name session; ///< that the viewers are in, by the name that the server has for it; empty: nobody got in
    load_group groups[LOAD_KIND_COUNT];
    uint64_t frames; ///< different ones that reached anybody
    load_histogram input_to_head, input_to_frame;
    uint64_t inputs_sent, inputs_unseen, inputs_refused;
    uint64_t checked, checked_wrong, checks_left_out;
    uint64_t chains_wrong;   ///< frames that a viewer could not decode by what it was sent before
    load_metrics metrics[2]; ///< at the beginning and the end of the measurement
    load_process gateway_alone, gateway[2], worker[2]; ///< before anybody came; beginning and end
    double own_cpu_s;
    load_histogram own_delay; ///< by which this program's own clock was late
    uint32_t failure_count;
    load_failure failures[LOAD_FAILURES_MAX];
    uint64_t failures_untold;
} load_results;

/// Runs it, until `interrupted` at most; the results are then what was measured until then.
/// @return whether it could be run at all; else a sentence went to stderr
bool load_run(const load_options *options, load_results *results);

/// Notes a failure; those with the same text are counted.
void load_fail(load_results *results, const char *text);

/// Whether everything was as it should be: nobody lost who behaved, no wrong frames.
bool load_results_good(const load_results *results);

/// Tables for people, on standard output.
void load_report_text(const load_options *options, const load_results *results);

/// One JSON object, on standard output. @return whether there was memory for it
bool load_report_json(const load_options *options, const load_results *results);

#endif
