/// What the parts of the simulation share: one history, drawn from one seed, of one gateway that is started, killed and
/// started again in a world of events. Nothing here knows the real time.
///
///     history --does--> clients, network, workers, disk --events--> the gateway's own code (libtarnd_sim.so)
///                                                                      |  libuv, libwebsockets, the system: doubles
///     checks  <--told-- ledger (what tanks took), clients (what they got)
///
/// What is made stays until the process ends: each history has a process of its own.
#ifndef TARN_TESTS_SIM_SIM_H
#define TARN_TESTS_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tarn_gateway;
struct uv_process_s;

#define SIM_MS UINT64_C(1000000)
#define SIM_S UINT64_C(1000000000)

/// What is checked: X(name, sentence). Each is counted.
#define SIM_CHECKS(X)                                                                                                  \
    X(PRIVATE, "nobody gets a frame, a state or a list of a session that it hasn't joined")                            \
    X(ROLE, "nobody does more than its key gives")                                                                     \
    X(INTACT, "a frame that arrives is what its worker made, byte for byte")                                           \
    X(DECODES, "a frame that arrives moves the one before it, or needs none")                                          \
    X(ONCE, "an input is taken at most once, and as it was sent")                                                      \
    X(IN_ORDER, "no press or release is left out or overtaken")                                                        \
    X(ACKNOWLEDGED, "what a frame says it contains is in its tank")                                                    \
    X(DURABLE, "a start after a kill or a power cut loses no more than --durability allows")                           \
    X(RESTORED, "a tank that goes on has the hash that it had at this step, and is this session's")                    \
    X(NOTHING_LOST, "a tank goes on at the very step after its worker's death")                                        \
    X(BOUNDED, "queues stay within base/limits.h")                                                                     \
    X(REACHABLE, "when all is quiet every session opens with each of its keys")                                        \
    X(SHOWN, "when all is quiet every viewer gets frames")                                                             \
    X(TAKEN, "when all is quiet every press and release was taken")                                                    \
    X(RELEASED, "no descriptor, memory, map or handle is left at the end")                                             \
    X(ALIVE, "the gateway neither stops nor spins")

typedef enum sim_check {
#define X(name, sentence) SIM_CHECK_##name,
    SIM_CHECKS(X)
#undef X
        SIM_CHECK_COUNT
} sim_check;

/// What the parent process learns of a history, in memory that both share.
typedef struct sim_result {
    uint64_t seed;
    uint64_t checked[SIM_CHECK_COUNT];
    uint64_t events, frames, inputs, deaths, restarts, simulated_ms;
    int failed; ///< sim_check; -1: none
    char sentence[512];
} sim_result;

extern sim_result *sim_told;
extern bool sim_traces;

// ---- world: the clock, events, chance ----

uint64_t sim_now(void);

/// Calls `what` then, behind those that are due at the same time already.
void sim_at(uint64_t when_ns, void (*what)(void *of, uint64_t number), void *of, uint64_t number);

/// Runs events until the condition holds, the time is over or there are none.
void sim_run(bool (*is_over)(void), uint64_t until_ns);

uint64_t sim_random(void);
uint32_t sim_below(uint32_t limit);                ///< 0..limit - 1
uint64_t sim_between(uint64_t low, uint64_t high); ///< both included
bool sim_chance(uint32_t percent);
void sim_seed(uint64_t seed);

void *sim_make(size_t byte_count); ///< zeroed
uint64_t sim_hash(uint64_t before, const void *bytes, size_t byte_count);

void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Ends the history where the condition doesn't hold.
#define SIM_CHECK(check, condition, ...)                                                                               \
    (sim_told->checked[SIM_CHECK_##check]++, (condition) ? (void)0 : sim_fail(SIM_CHECK_##check, __VA_ARGS__))
__attribute__((noreturn, format(printf, 2, 3))) void sim_fail(sim_check check, const char *format, ...);

#define SIM_NEED(condition) ((condition) ? (void)0 : sim_broken(__FILE__, __LINE__, #condition))
__attribute__((noreturn)) void sim_broken(const char *file, int line, const char *condition);

// ---- the gateway as a program ----

/// A running gateway; NULL: none runs.
struct tarn_gateway *sim_gateway(void);
void sim_gateway_is(struct tarn_gateway *gateway);

/// Runs it until it ends or is killed. @return its exit status; -1: it was killed
int sim_gateway_run(int argc, char **argv);

/// From inside an event: nothing of it runs any more.
void sim_gateway_kill(void);

/// Leaves it from inside, as _exit() would.
__attribute__((noreturn)) void sim_gateway_exit(int status);
bool sim_gateway_is_dead(void);
long sim_wall_offset_s(void);
void sim_wall_jump(long seconds);

/// What the gateway has taken from the system and not given back.
typedef struct sim_held {
    uint32_t blocks, maps, descriptors, sockets;
} sim_held;
sim_held sim_system_held(void);
void sim_system_drop(void);                       ///< the kernel takes it back
void sim_system_fail_descriptors(uint32_t count); ///< the next ones aren't to be had
bool sim_system_lacks_descriptors(void);

// ---- the loop ----

void sim_loop_drop(void);
uint32_t sim_loop_handles(void);
void sim_loop_signal(int number);

/// The gateway gets no processor for so long: what comes waits in sockets.
void sim_loop_stand(uint64_t ns);
uint64_t sim_loop_stands_until(void); ///< not ahead of now: it doesn't stand
bool sim_loop_has_stood(uint64_t ns); ///< a standstill that it must have noticed ended less than so long ago
uint64_t sim_loop_stood_from(void);   ///< when the newest standstill began
void sim_loop_process_ended(struct uv_process_s *process, int status, int number);
bool sim_loop_is_alive(void);

// ---- sockets ----

struct sim_client;
struct lws;

typedef struct sim_right {
    size_t behind; ///< of all bytes that ever came
    int fd;
} sim_right;

/// An end of a connection, or what accepts them.
typedef struct sim_socket {
    uint32_t references;
    bool is_listener, has_ended, is_reset, is_shut; ///< the other end: closed, broken; this one: writes no more
    uint8_t *in;
    size_t in_count, in_room;
    uint64_t in_taken, in_total;
    sim_right rights[64];
    uint32_t right_count;
    struct sim_socket *peer;   ///< of a pair
    size_t in_max;             ///< of a pair: what it holds
    void (*changed)(void *of); ///< of the end that isn't the gateway's
    void *changed_of;
    struct sim_client *client;
    struct sim_client *waiting[64]; ///< to be accepted
    uint32_t waiting_count;
    void *poll; ///< of the loop
    struct lws *wsi;
} sim_socket;

sim_socket *sim_socket_of(int fd);
int sim_socket_open(sim_socket *of);
void sim_socket_put(sim_socket *to, const void *bytes, size_t byte_count);
size_t sim_socket_take(sim_socket *from, void *bytes, size_t byte_count);
void sim_socket_let_go(sim_socket *of);
void sim_socket_changed(sim_socket *of);
bool sim_socket_is_readable(const sim_socket *of);
bool sim_socket_is_writable(const sim_socket *of);
uint32_t sim_sockets_open(void);
void sim_sockets_drop(void);
/// The gateway's socket that accepts; NULL: none does.
sim_socket *sim_socket_listener(void);

// ---- loop and web, told of sockets ----

void sim_loop_socket_changed(sim_socket *of);
void sim_web_socket_changed(sim_socket *of);
void sim_web_drop(void);

// ---- the store's thread ----

bool sim_thread_is_inside(void);
void sim_thread_pause(uint64_t ns); ///< from inside
void sim_thread_drop(void);

// ---- the disk ----

void sim_disk_begin(const char *dir);
void sim_disk_kill(void); ///< programs are gone, what they wrote is there
void sim_disk_cut(void);  ///< and so is what wasn't synced
void sim_disk_fail(bool is_failing);
void sim_disk_full(bool is_full);
void sim_disk_slow(uint64_t sync_ns);
uint64_t sim_disk_bad_ns(void); ///< when it was last slow, full or failing, or there was no descriptor; 0: never

// ---- workers ----

typedef struct sim_worker sim_worker;

/// @param fd  its end of the pair, which is copied @return 0, or as uv_spawn
int sim_worker_spawn(struct uv_process_s *process, int fd);
void sim_worker_signal(const struct uv_process_s *process, int number);
void sim_workers_drop(void);
void sim_workers_quiet(void); ///< they do as they should from now on

typedef enum sim_worker_fault {
    SIM_WORKER_KILL,
    SIM_WORKER_HANG,
    SIM_WORKER_SLOW,
    SIM_WORKER_GARBAGE,
    SIM_WORKER_FAULT,
    SIM_WORKER_CLOSE,
    SIM_WORKER_FAULT_COUNT
} sim_worker_fault;
void sim_worker_do(uint32_t index, sim_worker_fault fault);
uint32_t sim_workers_count(void);

#endif
