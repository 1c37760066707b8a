// One due time is all that the generic cell rate algorithm keeps.
#include "server/gateway/turn_taking.h"
#include "server/common/clock.h"

bool tarn_turn_allow(uint64_t *due_ns, uint32_t every_ms, uint32_t burst)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns(), every_ns = every_ms * (uint64_t)1000000;
    const uint64_t used_ns = *due_ns > now_ns ? *due_ns : now_ns;
    if (used_ns - now_ns > (burst - 1) * every_ns) {
        return false;
    }
    *due_ns = used_ns + every_ns;
    return true;
}
