/// The worker as the gateway sees it: a process that is started, greeted, asked ten times a second whether it lives,
/// killed when it does not answer, and started again when it ended. What it says is untrusted: one malformed message
/// ends it.
///
///     start -> spawn -> hello both ways -> ready -> (lost -> wait, ever longer -> spawn ...) -> given up, and tried
///                                                                          again, ever more rarely, for ever
///
/// An end that comes from outside (a signal that somebody sends, the kernel's want of memory, a machine that gives the
/// process no time) is a failure of nobody: it doesn't count towards giving the worker up, nor against its tanks.
///
/// Runs on the gateway's loop. The owner calls tick often and is told through the events.
#ifndef TARN_SERVER_GATEWAY_WORKER_PROCESS_H
#define TARN_SERVER_GATEWAY_WORKER_PROCESS_H

#include "server/base/devices.h"
#include "server/base/ipc.h"
#include "server/base/log.h"
#include "server/gateway/metrics.h"
#include "server/gateway/service_manager.h"
#include "server/gateway/worker/queue.h"

#include <stdbool.h>
#include <uv.h>

struct tarn_worker_process;

/// Pieces of a tank's state that wait: they are too large for the queue, behind which they go.
typedef struct tarn_worker_chunks {
    uint32_t first, count;
    uint32_t sent; ///< bytes of the first
    struct {
        uint32_t byte_count;
        uint8_t bytes[TARN_IPC_CHUNK_MESSAGE_BYTES_MAX];
    } of[TARN_IPC_CHUNKS_MAX];
} tarn_worker_chunks;

typedef struct tarn_worker_events {
    void *user;
    /// Its hello is there. Anything but TARN_OK ends the worker.
    tarn_status (*ready)(void *user, struct tarn_worker_process *worker);
    /// The worker is gone. @param sentence  why, for people  @param given_up  it failed too often, and is tried again
    /// but rarely
    void (*lost)(void *user, struct tarn_worker_process *worker, const char *sentence, bool given_up);
    /// A message; anything but TARN_OK ends the worker.
    tarn_status (*message)(void *user, struct tarn_worker_process *worker, const tarn_ipc_message *message);
    /// One more of the chunks that waited is on its way.
    void (*chunk_sent)(void *user, struct tarn_worker_process *worker);
    uint8_t *(*frame_space)(void *user, struct tarn_worker_process *worker, uint32_t tank, uint32_t frame_bytes);
    tarn_status (*frame)(void *user, struct tarn_worker_process *worker, uint32_t tank, uint32_t frame_bytes);
} tarn_worker_events;

typedef struct tarn_worker_config {
    const char *program;
    tarn_device_word device;
    const char *scenes;    ///< NULL: the worker finds them
    const char *reads[2];  ///< folders whose files it may read besides; NULL: none
    uint32_t threads, fps; ///< 0: the worker's own
    uint32_t timeout_s;    ///< without an answer before it is killed; 0: by what its steps take
    const char *log_level;
    tarn_log_format log_format;
} tarn_worker_config;

typedef enum tarn_worker_phase {
    TARN_WORKER_NONE = 0,
    TARN_WORKER_GREETING = 1, ///< spawned, hello not yet received
    TARN_WORKER_READY = 2,
    TARN_WORKER_WAITING = 3,  ///< lost; started again at `retry_ns`
    TARN_WORKER_GIVEN_UP = 4, ///< lost too often; the same
    TARN_WORKER_ENDING = 5,
} tarn_worker_phase;

/// Whose doing an end was, as far as anybody knows.
typedef enum tarn_worker_end {
    TARN_WORKER_END_OWN = 0,
    TARN_WORKER_END_OUTSIDE = 1,   ///< stopped, starved, or a signal that asks for it
    TARN_WORKER_END_KILLED = 2,    ///< SIGKILL, by somebody
    TARN_WORKER_END_NO_MEMORY = 3, ///< the same by the kernel, which says why
} tarn_worker_end;

/// What a worker that doesn't answer was seen to do halfway to its limit.
typedef struct tarn_worker_silence {
    uint64_t since_ns, looked_ns; ///< its last answer, and when it was looked at; 0: it wasn't
    tarn_process_work work;
} tarn_worker_silence;

typedef struct tarn_worker_process {
    uint32_t index; ///< among the workers
    tarn_worker_config config;
    tarn_worker_events events;
    uv_loop_t *loop;
    uv_process_t process;
    uv_poll_t poll;
    bool process_open, poll_open; ///< handles that libuv still knows
    bool alive;                   ///< the process has not ended yet
    int fd;
    int polled; ///< uv events that are asked for
    tarn_worker_phase phase;
    uint64_t phase_since_ns, retry_ns;
    uint64_t ping_ns, answered_ns;
    uint64_t closed_ns; ///< the socket's end came, and the process' should; 0: it didn't
    uint32_t ping_id;
    uint32_t loads_open; ///< tanks that it was told to make and hasn't answered for
    struct {
        uint32_t tank;
        uint32_t epoch; ///< of the tank that is made; 0: what comes is of whichever it had
    } loads[TARN_IPC_TANKS_MAX];
    uint32_t unloads[TARN_IPC_TANKS_MAX]; ///< tanks that are no more, which it could not be told yet, in order
    uint32_t unload_count;
    double step_s; ///< the longest that a tank's steps took lately
    tarn_worker_silence silence;
    uint32_t failures;        ///< in a row, that were its own
    uint32_t kills;           ///< in a row, that came from outside
    tarn_worker_end last_end; ///< the newest
    tarn_worker_end work_end; ///< the newest that may have found it at work on tanks
    bool was_given_up;        ///< since it was started last
    uint64_t oom_kills;       ///< of the kernel, as it was seen a moment ago
    uint64_t starts_total, failures_total;
    tarn_text sentence;          ///< the worker's own, why it ends
    tarn_ipc_worker_hello hello; ///< its newest, of this process or of the one before
    tarn_ipc_reader reader;
    tarn_worker_queue queue;
    tarn_worker_queue waiting; ///< what viewers do while their tanks are brought back; the sessions'
    tarn_worker_sent sent;     ///< what viewers did before; kept when it dies
    tarn_worker_chunks chunks;
} tarn_worker_process;

/// Starts the worker. @return TARN_OK, or TARN_E_IO with a sentence in why; then nothing runs
tarn_status tarn_worker_process_start(tarn_worker_process *worker, uint32_t index, uv_loop_t *loop,
                                      const tarn_worker_config *config, const tarn_worker_events *events,
                                      tarn_text why);

/// Sends a message, or queues it (queue.h); chunks have places of their own. That a tank is no more finds a
/// place however full the queue is: it is said as soon as there is room.
/// @return TARN_OK, TARN_E_STATE (the worker is not ready) or TARN_E_LIMIT (no place in the queue)
tarn_status tarn_worker_process_send(tarn_worker_process *worker, const tarn_ipc_message *message,
                                     tarn_worker_queue_key key, bool is_move);

/// Sends again what a worker that died was sent for a tank, as far as there is room.
/// @param present    of whom it is sent again: those of whom the worker knows what it has
/// @param at, until  in `sent`: where to begin, which goes on, and to end @return whether that was all
bool tarn_worker_process_send_again(tarn_worker_process *worker, uint32_t tank, const tarn_ipc_present *present,
                                    uint64_t *at, uint64_t until);

/// Sends what waits in another queue for a tank, or for all (tarn_worker_queue_append). @return whether that was all
bool tarn_worker_process_send_all(tarn_worker_process *worker, tarn_worker_queue *from, uint32_t tank);

/// Deadlines, pings, restarts. To be called every TARN_GATEWAY_TICK_MS.
void tarn_worker_process_tick(tarn_worker_process *worker, uint64_t now_ns);

/// Whether it simulates.
bool tarn_worker_process_is_ready(const tarn_worker_process *worker);

/// How long until it is started again; 0: at once, or it runs.
uint64_t tarn_worker_process_retry_ms(const tarn_worker_process *worker, uint64_t now_ns);

/// The system's number for the process; 0: there is none.
int tarn_worker_process_pid(const tarn_worker_process *worker);

/// Lets the rest of a tank's frame that is on its way go elsewhere (tarn_ipc_reader_divert).
void tarn_worker_process_divert(tarn_worker_process *worker, uint32_t tank, uint8_t *space);

/// Tries again at once after it was given up, as if it had never failed.
void tarn_worker_process_retry(tarn_worker_process *worker);

/// Whether nothing of it is left: no process, no handles in the loop.
bool tarn_worker_process_is_gone(const tarn_worker_process *worker);

// ---- all workers ----
// One process for each device of --devices, in that order. Each has a queue, a hello, pings and restarts of its own:
// what one of them does is nothing to the others.

typedef struct tarn_workers {
    uint32_t count;
    tarn_worker_process workers[TARN_GATEWAY_WORKERS_MAX];
    tarn_ipc_scene_faults faults; ///< of the scenes' folder, for owners of the first tank
    tarn_ipc_worker_hello told;   ///< to viewers: the newest worker's scenes and the server's own, the devices
} tarn_workers;

/// Starts one for each device.
/// @param config  what all have in common; its device is not looked at
/// @return TARN_OK, or TARN_E_IO with a sentence in why: one of them cannot be started, others may run
tarn_status tarn_workers_start(tarn_workers *workers, uv_loop_t *loop, const tarn_device_list *devices,
                               const tarn_worker_config *config, const tarn_worker_events *events, tarn_text why);

/// Sets, for all that run, after how many seconds without an answer one is killed (0: as its steps take); and how much
/// those log that are started from now on. @param log_level  a literal
void tarn_workers_configure(tarn_workers *workers, uint32_t timeout_s, const char *log_level);

/// tarn_worker_process_tick of each.
void tarn_workers_tick(tarn_workers *workers, uint64_t now_ns);

/// The gateway stood: workers have their time again.
void tarn_workers_stood(tarn_workers *workers, const tarn_standstill *stood);

/// How many of them simulate.
uint32_t tarn_workers_ready(const tarn_workers *workers);

/// How many of them failed too often and aren't started again by themselves.
uint32_t tarn_workers_given_up(const tarn_workers *workers);

/// Asks all to end; tarn_workers_are_gone when that is done.
void tarn_workers_end(tarn_workers *workers);
bool tarn_workers_are_gone(const tarn_workers *workers);

/// What people are told of where this server simulates: the first worker's device, and how many others there are.
void tarn_workers_device(const tarn_workers *workers, tarn_name device);

#endif
