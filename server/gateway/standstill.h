/// Time in which this program itself stood: its machine was suspended, somebody stopped it, or it got no processor.
/// Nobody could be heard meanwhile, so nobody was silent: deadlines that run are moved by as much before anything looks
/// at them.
#ifndef TARN_SERVER_GATEWAY_STANDSTILL_H
#define TARN_SERVER_GATEWAY_STANDSTILL_H

#include <stdint.h>
#include <uv.h>

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
