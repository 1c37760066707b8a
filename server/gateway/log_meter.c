// Lines by the rate of turn_taking.h; what was left out is a number that is told once a second.
#include "server/gateway/log_meter.h"
#include "server/gateway/gateway_limits.h"
#include "server/gateway/turn_taking.h"

bool tarn_log_meter_allow(tarn_log_meter *meter)
{
    if (tarn_turn_allow(&meter->due_ns, 1000 / TARN_GATEWAY_LOG_LINES_PER_S, TARN_GATEWAY_LOG_LINES_BURST)) {
        return true;
    }
    meter->left_out++;
    return false;
}

uint32_t tarn_log_meter_left_out(tarn_log_meter *meter, uint64_t now_ns)
{
    if (meter->left_out == 0 || now_ns - meter->told_ns < 1000000000) {
        return 0;
    }
    meter->told_ns = now_ns;
    const uint32_t count = meter->left_out;
    meter->left_out = 0;
    return count;
}
