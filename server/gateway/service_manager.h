/// The program as a service: what its manager is told, and when the program itself stood still.
///
/// The service manager that started the program, where one did, is told by systemd's sd_notify protocol (sd_notify(3)):
/// datagrams of NAME=VALUE lines to the socket that $NOTIFY_SOCKET names. Without one all of this does nothing. Nothing
/// waits: a datagram that finds no room is lost, and the next one says the same.
///
///     open -> ready -> tick ... -> stopping -> tick ...
#ifndef TARN_SERVER_GATEWAY_SERVICE_MANAGER_H
#define TARN_SERVER_GATEWAY_SERVICE_MANAGER_H

#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

typedef struct tarn_service_manager {
    int fd; ///< owned; -1: there is nobody to tell
    struct sockaddr_un address;
    socklen_t address_bytes;
    uint64_t watchdog_ns; ///< between signs of life, half of what is allowed; 0: none are wanted
    uint64_t watchdog_due_ns, status_due_ns;
    tarn_text status; ///< that it was told
} tarn_service_manager;

/// Reads $NOTIFY_SOCKET and $WATCHDOG_USEC, and takes them out of the environment, which workers inherit.
/// @param why  on failure a sentence, with which nobody is told anything
/// @return TARN_OK, TARN_E_ARGUMENT (the address is none) or TARN_E_IO (there is no socket)
tarn_status tarn_service_manager_open(tarn_service_manager *manager, tarn_text why);
void tarn_service_manager_close(tarn_service_manager *manager);

/// The program serves.
void tarn_service_manager_ready(tarn_service_manager *manager);

/// It is about to end.
void tarn_service_manager_stopping(tarn_service_manager *manager);

/// Whether tick has a use for a new status: something listens, and heard none for a second.
bool tarn_service_manager_wants_status(const tarn_service_manager *manager, uint64_t now_ns);

/// Gives a sign of life where one is due, and the status where it is new. To be called from the loop that is to be
/// known alive, every TARN_GATEWAY_TICK_MS.
/// @param status  for people, one line; NULL: as it was
void tarn_service_manager_tick(tarn_service_manager *manager, uint64_t now_ns, const char *status);

// ---- when this program stood ----
// Its machine was suspended, somebody stopped it, or it got no processor.
// Nobody could be heard meanwhile, so nobody was silent: deadlines that run are moved by as much before anything looks
// at them.

/// One that is over.
typedef struct tarn_standstill {
    uint64_t now_ns; ///< when it ended
    uint64_t ns;     ///< how long it was
} tarn_standstill;

/// What this thread and its machine did up to a moment.
typedef struct tarn_standstill_clocks {
    uint64_t at_ns;             ///< of the monotonic clock; 0: it wasn't looked at
    uint64_t suspended_ns;      ///< that the machine was suspended, which the monotonic clock leaves out
    uint64_t ran_ns, waited_ns; ///< on a processor, and for one
} tarn_standstill_clocks;

/// What notices them. A timer must keep the loop turning, every TARN_GATEWAY_TICK_MS.
typedef struct tarn_standstill_watch {
    uv_check_t check;
    tarn_standstill_clocks clocks; ///< as they were a moment ago
    uint64_t seen_ns;              ///< when the loop turned last
    void *user;
    void (*over)(void *user, const tarn_standstill *stood);
} tarn_standstill_watch;

/// Calls `over` from now on for standstills of TARN_GATEWAY_STANDSTILL_MS and more. The watch lasts as long as the
/// loop.
void tarn_standstill_open(tarn_standstill_watch *watch, uv_loop_t *loop,
                          void (*over)(void *user, const tarn_standstill *stood), void *user);

/// Looks whether there was one; the loop does so by itself between its sockets and its timers.
void tarn_standstill_look(tarn_standstill_watch *watch, uint64_t now_ns);

/// Reads the clocks of this thread.
void tarn_standstill_read(tarn_standstill_clocks *clocks);

/// Why this thread stood between two looks at them, for people. @param ns  of it it stood
const char *tarn_standstill_cause(const tarn_standstill_clocks *from, const tarn_standstill_clocks *to, uint64_t ns);

/// How long the machine was suspended between two looks; 0: it wasn't.
uint64_t tarn_standstill_suspended_ns(const tarn_standstill_clocks *from, const tarn_standstill_clocks *to);

/// Notes the clocks, a few times a second. @return how long the machine was suspended since the last time; 0: it wasn't
uint64_t tarn_standstill_tick(tarn_standstill_watch *watch);

/// Moves the time when something began, of the monotonic clock; 0, which is no time, stays.
static inline void tarn_standstill_move(const tarn_standstill *stood, uint64_t *since_ns)
{
    if (*since_ns != 0 && *since_ns < stood->now_ns) {
        const uint64_t age_ns = stood->now_ns - *since_ns;
        *since_ns += age_ns < stood->ns ? age_ns : stood->ns; // it may have begun since
    }
}

#endif
