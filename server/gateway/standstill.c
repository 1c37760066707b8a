// The loop turns at least as often as its timer says. What is read from sockets comes first in a turn, then this, then
// timers: so what came during a standstill is heard before anybody is held to be late.
#include "server/gateway/standstill.h"
#include "server/common/clock.h"
#include "server/gateway/gateway_limits.h"

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
