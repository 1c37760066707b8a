// One datagram for each thing to tell: start at tell. Then when this program itself stood: start at
// tarn_standstill_look.
#include "server/gateway/service_manager.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/limits.h"
#include "server/base/text.h"
#include "server/gateway/metrics.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_MS = 1000 };

static void tell(const tarn_service_manager *manager, const char *text)
{
    if (manager->fd >= 0) {
        const ssize_t sent = sendto(manager->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                                    (const struct sockaddr *)&manager->address, manager->address_bytes);
        (void)sent; // who doesn't listen misses it
    }
}

/// A path, or a name behind an '@', which stands for the NUL that begins names outside the file system.
static bool read_address(tarn_service_manager *manager, const char *text)
{
    const size_t bytes = strlen(text);
    if ((text[0] != '/' && text[0] != '@') || bytes < 2 || bytes >= sizeof manager->address.sun_path) {
        return false;
    }
    manager->address.sun_family = AF_UNIX;
    memcpy(manager->address.sun_path, text, bytes + 1);
    manager->address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
    if (text[0] == '@') {
        manager->address.sun_path[0] = '\0';
    } else {
        manager->address_bytes++; // its end is told
    }
    return true;
}

/// @return 0: no signs of life are wanted, at least not from this process
static uint64_t read_watchdog_ns(const char *usec, const char *pid)
{
    char *end;
    if (usec == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid())) {
        return 0;
    }
    errno = 0;
    const unsigned long long allowed_us = strtoull(usec, &end, 10);
    const bool is_number = usec[0] >= '0' && usec[0] <= '9' && *end == '\0' && errno == 0;
    return is_number && allowed_us <= UINT64_MAX / 1000 ? allowed_us * 1000 / 2 : 0;
}

tarn_status tarn_service_manager_open(tarn_service_manager *manager, tarn_text why)
{
    const char *address = getenv("NOTIFY_SOCKET");
    tarn_status status = TARN_OK;
    *manager = (tarn_service_manager){.fd = -1};
    if (address != NULL && !read_address(manager, address)) {
        snprintf(why, sizeof(tarn_text), "$NOTIFY_SOCKET: found \"%.100s\", allowed are paths and names behind an @",
                 address);
        status = TARN_E_ARGUMENT;
    } else if (address != NULL) {
        manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (manager->fd < 0) {
            snprintf(why, sizeof(tarn_text), "there is no socket to tell the service manager by: %s", strerror(errno));
            status = TARN_E_IO;
        }
        manager->watchdog_ns = read_watchdog_ns(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return status;
}

void tarn_service_manager_close(tarn_service_manager *manager)
{
    if (manager->fd >= 0) {
        close(manager->fd);
    }
    manager->fd = -1;
}

void tarn_service_manager_ready(tarn_service_manager *manager)
{
    tell(manager, "READY=1");
}

void tarn_service_manager_stopping(tarn_service_manager *manager)
{
    tell(manager, "STOPPING=1\nSTATUS=ending");
}

bool tarn_service_manager_wants_status(const tarn_service_manager *manager, uint64_t now_ns)
{
    return manager->fd >= 0 && now_ns >= manager->status_due_ns;
}

void tarn_service_manager_tick(tarn_service_manager *manager, uint64_t now_ns, const char *status)
{
    if (manager->watchdog_ns > 0 && now_ns >= manager->watchdog_due_ns) {
        tell(manager, "WATCHDOG=1");
        manager->watchdog_due_ns = now_ns + manager->watchdog_ns;
    }
    if (status == NULL || strcmp(status, manager->status) == 0) {
        return;
    }
    char text[sizeof(tarn_text) + 16];
    TARN_ASSERT(tarn_is_printable(status)); // a line's end would be another message
    snprintf(manager->status, sizeof manager->status, "%s", status);
    snprintf(text, sizeof text, "STATUS=%s", manager->status);
    tell(manager, text);
    manager->status_due_ns = now_ns + STATUS_MS * (uint64_t)1000000;
}

// ---- when this program stood ----
// The loop turns at least as often as its timer says. What is read from sockets comes first in a turn, then this, then
// timers: so what came during a standstill is heard before anybody is held to be late.

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

void tarn_standstill_read(tarn_standstill_clocks *clocks)
{
    struct timespec boot;
    const uint64_t at_ns = tarn_clock_monotonic_ns();
    clock_gettime(CLOCK_BOOTTIME, &boot);
    const uint64_t boot_ns = (uint64_t)boot.tv_sec * 1000000000 + (uint64_t)boot.tv_nsec;
    *clocks = (tarn_standstill_clocks){.at_ns = at_ns,
                                       .suspended_ns = boot_ns > at_ns ? boot_ns - at_ns : 0,
                                       .ran_ns = tarn_clock_thread_ns(),
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
