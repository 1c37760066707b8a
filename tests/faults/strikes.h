/// What is done to a server at a moment, for lockstep.h.
#ifndef TARN_TESTS_FAULTS_STRIKES_H
#define TARN_TESTS_FAULTS_STRIKES_H

#include "tests/server/server_process.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/// One of the moments at which something happens.
typedef struct strike_moment {
    const server_process *server;
    int index; ///< 0, 1, 2 ...
    unsigned *seed;
    void (*wait)(unsigned ms); ///< while viewers listen
} strike_moment;

typedef struct server_fault {
    const char *const *options; ///< of tarnd, ended by NULL; NULL: none
    /// Does it. @return when it was done, tarn_clock_monotonic_ns
    uint64_t (*strike)(const struct server_fault *fault, const strike_moment *at);
    void (*begin)(void), (*end)(void); ///< around the life of the server that is hurt; NULL: nothing
    int signal;                        ///< to be sent
    int value_max;                     ///< to be sent with it: 1 to this; 0: none
    unsigned stop_ms;                  ///< for which everything is stopped
    bool spares_workers;               ///< none may end by it
    // of a server that is killed (outage.h)
    int worker_kills; ///< before the first outage
    int busy;         ///< processes that do nothing but run, for each processor
} server_fault;

/// Sends the worker the signal.
uint64_t strike_worker(const server_fault *fault, const strike_moment *at);

/// Kills the worker, and the next one's device fails at a call: most of them while it brings tanks back.
uint64_t strike_next_worker(const server_fault *fault, const strike_moment *at);
void strike_next_worker_begin(void);
void strike_next_worker_end(void);

/// Stops the server and its worker, and lets them go on, in any order.
uint64_t strike_all(const server_fault *fault, const strike_moment *at);

/// Lets clocks jump, of the server and its worker: the time of day by hours, days and years, forth and back; the time
/// since the machine's start by an hour, as when it was suspended.
uint64_t strike_clocks(const server_fault *fault, const strike_moment *at);
void strike_clocks_begin(void);
void strike_clocks_end(void);

/// Has the server's disk take up to 0.25 s to sync what it is given.
void strike_disk_begin(void);
void strike_disk_end(void);

#endif
