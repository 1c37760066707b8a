// The loop turns at least as often as its timer says. What is read from sockets comes first in a turn, then this, then
// timers: so what came during a standstill is heard before anybody is held to be late.
#include "server/gateway/standstill.h"
#include "server/common/clock.h"
#include "server/gateway/gateway_limits.h"
#include "server/gateway/process_usage.h"

#include <time.h>

static void on_check(uv_check_t *check)
{
    tarn_standstill_look(check->data, tarn_clock_monotonic_ns());
}

void tarn_standstill_open(tarn_standstill_watch *watch, uv_loop_t *loop,
                          void (*over)(void *user, const tarn_standstill *stood), void *user)
{
    watch->seen_ns = tarn_clock_monotonic_ns();
    watch->over = over;
    watch->user = user;
    watch->check.data = watch;
    uv_check_init(loop, &watch->check);
    uv_check_start(&watch->check, on_check);
    uv_unref((uv_handle_t *)&watch->check);
}

void tarn_standstill_look(tarn_standstill_watch *watch, uint64_t now_ns)
{
    const uint64_t ns = now_ns > watch->seen_ns ? now_ns - watch->seen_ns : 0;
    watch->seen_ns = now_ns;
    if (ns >= TARN_GATEWAY_STANDSTILL_MS * (uint64_t)1000000) {
        const tarn_standstill stood = {now_ns, ns};
        watch->over(watch->user, &stood);
    }
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void tarn_standstill_read(tarn_standstill_clocks *clocks)
{
    const uint64_t at_ns = tarn_clock_monotonic_ns(), boot_ns = clock_ns(CLOCK_BOOTTIME);
    *clocks = (tarn_standstill_clocks){.at_ns = at_ns,
                                       .suspended_ns = boot_ns > at_ns ? boot_ns - at_ns : 0,
                                       .ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
                                       .waited_ns = tarn_process_thread_waited_ns()};
}

const char *tarn_standstill_cause(const tarn_standstill_clocks *from, const tarn_standstill_clocks *to, uint64_t ns)
{
    const uint64_t half_ns = ns / 2;
    return from->at_ns == 0                             ? "nobody saw why"
           : to->ran_ns - from->ran_ns >= half_ns       ? "it was busy itself"
           : to->waited_ns - from->waited_ns >= half_ns ? "others took the processors"
                                                        : "it was stopped by a signal, waited for a disk, or "
                                                          "its machine was paused from outside";
}

uint64_t tarn_standstill_suspended_ns(const tarn_standstill_clocks *from, const tarn_standstill_clocks *to)
{
    const uint64_t least_ns = TARN_GATEWAY_STANDSTILL_MS * (uint64_t)1000000;
    const bool was_suspended = from->at_ns != 0 && to->suspended_ns >= from->suspended_ns + least_ns;
    return was_suspended ? to->suspended_ns - from->suspended_ns : 0;
}

uint64_t tarn_standstill_tick(tarn_standstill_watch *watch)
{
    const tarn_standstill_clocks before = watch->clocks;
    if (before.at_ns != 0 &&
        tarn_clock_monotonic_ns() - before.at_ns < TARN_GATEWAY_STANDSTILL_CLOCKS_MS * (uint64_t)1000000) {
        return 0;
    }
    tarn_standstill_read(&watch->clocks);
    return tarn_standstill_suspended_ns(&before, &watch->clocks);
}
