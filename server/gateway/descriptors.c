// The limit of connections follows from the limit of descriptors, not the other way round: at the end of a day it is
// the kernel that says no.
#include "server/gateway/descriptors.h"
#include "server/common/log.h"
#include "server/gateway/gateway_limits.h"

#include <stdio.h>
#include <sys/resource.h>

tarn_status tarn_descriptors_plan(uint32_t worker_count, uint32_t sessions_max, bool are_kept,
                                  uint32_t *connections_max, tarn_text why)
{
    const rlim_t kept =
        TARN_GATEWAY_DESCRIPTORS_KEPT + worker_count * TARN_GATEWAY_DESCRIPTORS_WORKER +
        sessions_max * (TARN_GATEWAY_DESCRIPTORS_SESSION + (are_kept ? TARN_GATEWAY_DESCRIPTORS_STORE : 0));
    const rlim_t wanted = kept + TARN_GATEWAY_CONNECTIONS_MAX;
    struct rlimit limit;
    *connections_max = TARN_GATEWAY_CONNECTIONS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return TARN_OK;
    }
    if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
        const struct rlimit more = {limit.rlim_max < wanted ? limit.rlim_max : wanted, limit.rlim_max};
        limit = setrlimit(RLIMIT_NOFILE, &more) == 0 ? more : limit;
    }
    if (limit.rlim_cur >= wanted) {
        return TARN_OK;
    }
    if (limit.rlim_cur < kept + TARN_GATEWAY_CONNECTIONS_MIN) {
        snprintf(why, sizeof(tarn_text),
                 "the limit of open files is %llu, allowed are %llu or more with this many workers and tanks "
                 "(ulimit -n)",
                 (unsigned long long)limit.rlim_cur, (unsigned long long)kept + TARN_GATEWAY_CONNECTIONS_MIN);
        return TARN_E_LIMIT;
    }
    *connections_max = (uint32_t)(limit.rlim_cur - kept);
    tarn_log_warn("connections are limited to %u, not %d: the limit of open files is %llu, of which %llu are kept for "
                  "workers and tanks",
                  *connections_max, TARN_GATEWAY_CONNECTIONS_MAX, (unsigned long long)limit.rlim_cur,
                  (unsigned long long)kept);
    return TARN_OK;
}
