// Begin at run_row.
#include "tests/faults/reconnects.h"
#include "server/base/clock.h"
#include "tests/faults/process_watch.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/tls_client.h"
#include "tests/server/ws_client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SAMPLES = 100,                  ///< of memory, evenly spread
    WARMING = 4,                    ///< of them before descriptors are counted
    SETTLED_MS_MAX = 30000,         ///< for the last ones to be gone
    JOIN_MS = 5,                    ///< between joins that a session takes, in the long run
    GROWTH_BYTES_MAX = 1024 * 1024, ///< in ten thousand of them
    COUNT_JUDGED = 1000,            ///< fewer are about warming up
};

typedef enum leave_how {
    LEAVE_POLITELY, ///< joined, saw a frame, closed
    LEAVE_ABRUPTLY, ///< the same with a reset on the wire
    LEAVE_HALFWAY,  ///< before the upgrade, amid it, before hello, before join: by turns; half of them with a reset
} leave_how;

typedef struct reconnect_row {
    const char *name, *what;
    leave_how how;
    bool is_encrypted;
} reconnect_row;

static const reconnect_row rows[] = {
    {"come-and-go", "join, a frame, close", LEAVE_POLITELY, false},
    {"come-and-reset", "join, a frame, reset", LEAVE_ABRUPTLY, false},
    {"come-halfway", "half-done handshakes", LEAVE_HALFWAY, false},
    {"come-by-tls", "TLS: join, a frame, close", LEAVE_POLITELY, true},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static server_process server;

static void reset_on_close(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
}

/// @return whether it got in and saw a frame
static bool look_in(leave_how how)
{
    ws_client viewer;
    ws_frame frame;
    tarn_message message;
    if (ws_client_open(&viewer, server.port, "/ws", "tarn.v1", NULL) != 101) {
        return false;
    }
    viewer.is_blind = true;
    const bool was_in = ws_client_hello(&viewer) == 0 && ws_client_join(&viewer, "") == 0 &&
                        ws_client_wait(&viewer, TARN_MESSAGE_JOINED, &message) &&
                        ws_client_wait_frame(&viewer, &frame) == 1;
    if (how == LEAVE_ABRUPTLY) {
        reset_on_close(viewer.fd);
    } else {
        ws_client_send(&viewer, WS_CLOSE, "\x03\xe9", 2); // going away
    }
    ws_client_close(&viewer);
    return was_in;
}

/// @return whether it got as far as it wanted to
static bool look_halfway(int turn)
{
    static const char begun[] = "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websock";
    ws_client viewer;
    bool got = true;
    if (turn % 4 < 2) { // nothing, or a piece of a request
        const int fd = ws_connect(server.port);
        got = fd >= 0 && (turn % 4 == 0 || ws_send_raw(fd, begun, sizeof begun - 1) == 0);
        if (fd >= 0 && turn % 8 < 4) {
            reset_on_close(fd);
        }
        close(fd);
        return got;
    }
    got = ws_client_open(&viewer, server.port, "/ws", "tarn.v1", NULL) == 101 &&
          (turn % 4 == 2 || ws_client_hello(&viewer) == 0);
    if (got && turn % 8 < 4) {
        reset_on_close(viewer.fd);
    }
    ws_client_close(&viewer);
    return got;
}

/// Waits until as many descriptors are open as before. @return how many there are
static unsigned settled_descriptors(pid_t pid, unsigned before)
{
    process_look look = {0};
    for (int ms = 0; ms < SETTLED_MS_MAX; ms += 100) {
        process_look_at(pid, &look);
        if (look.descriptors <= before) {
            break;
        }
        usleep(100000);
    }
    return look.descriptors;
}

static double mb(double bytes)
{
    return bytes / (1 << 20);
}

/// Of the second half of the samples, for ten thousand connections: what goes on in both of its own halves. What is
/// taken once, a page of the program that is touched late or a buffer that has found its size, is in one of them alone.
static double growth_bytes(const process_look *looks, const double *counts)
{
    double values[SAMPLES], least = 0;
    for (int i = 0; i < SAMPLES; i++) {
        values[i] = (double)looks[i].rss_bytes;
    }
    for (int from = SAMPLES / 2; from < SAMPLES; from += SAMPLES / 4) {
        const double slope = slope_of(counts + from, values + from, SAMPLES / 4);
        least = from == SAMPLES / 2 || slope < least ? slope : least;
    }
    return 10000 * least;
}

/// @return whether it holds
static bool run_row(const reconnect_row *row, int count)
{
    static process_look gateway[SAMPLES], worker[SAMPLES];
    static double counts[SAMPLES];
    const char *options[] = {
        "--scenes", TARN_TEST_SCENES, "--scene", "small-dam", row->is_encrypted ? "--tls-self-signed" : NULL, NULL};
    unsigned refused = 0, sample = 0;
    server_start(&server, options);
    ws_connect_by = row->is_encrypted ? tls_connect : NULL;
    const pid_t worker_pid = server_worker(&server);
    const uint64_t begun_ns = tarn_clock_monotonic_ns();
    uint64_t due_ns = begun_ns;
    for (int i = 0; i < count; i++) {
        const uint64_t now_ns = tarn_clock_monotonic_ns();
        if (row->how != LEAVE_HALFWAY && due_ns > now_ns) {
            usleep((useconds_t)((due_ns - now_ns) / 1000));
        }
        // Who was late doesn't hurry: the session would take it for a flood.
        due_ns = tarn_clock_monotonic_ns() + JOIN_MS * 1000000;
        refused += row->how == LEAVE_HALFWAY ? !look_halfway(i) : !look_in(row->how);
        if ((i + 1) / (count / SAMPLES) > (int)sample && sample < SAMPLES) {
            process_look_at(server.pid, &gateway[sample]);
            process_look_at(worker_pid, &worker[sample]);
            counts[sample++] = i + 1;
        }
    }
    const double seconds = 1e-9 * (double)(tarn_clock_monotonic_ns() - begun_ns);
    // Those that just left may be counted in the middle, so the fewest of the beginning are what there is to come to.
    unsigned before = gateway[0].descriptors;
    for (int i = 1; i < WARMING; i++) {
        before = gateway[i].descriptors < before ? gateway[i].descriptors : before;
    }
    const unsigned after = settled_descriptors(server.pid, before);
    const unsigned worker_after = settled_descriptors(worker_pid, worker[0].descriptors);
    const double growth = growth_bytes(gateway, counts), worker_growth = growth_bytes(worker, counts);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const bool is_judged = false; // what is freed is kept for a while
#else
    const bool is_judged = count >= COUNT_JUDGED;
#endif
    const bool holds = refused == 0 && after <= before && worker_after <= worker[0].descriptors &&
                       (!is_judged || (growth < GROWTH_BYTES_MAX && worker_growth < GROWTH_BYTES_MAX)) &&
                       server_worker(&server) == worker_pid;
    printf("| %s | %d | %.0f | %u | %u, %u; %u, %u | %.2f, %.2f, %.2f; %.2f, %.2f, %.2f | %+.2f, %+.2f (%.0f) | %s |\n",
           row->what, count, count / seconds, refused, before, after, worker[0].descriptors, worker_after,
           mb((double)gateway[0].rss_bytes), mb((double)gateway[SAMPLES / 2].rss_bytes),
           mb((double)gateway[SAMPLES - 1].rss_bytes), mb((double)worker[0].rss_bytes),
           mb((double)worker[SAMPLES / 2].rss_bytes), mb((double)worker[SAMPLES - 1].rss_bytes), mb(growth),
           mb(worker_growth), mb(GROWTH_BYTES_MAX), holds ? "ok" : "FAIL");
    fflush(stdout);
    ws_connect_by = NULL;
    server_stop(&server);
    return holds;
}

int reconnects_run(bool (*is_wanted)(const char *row), int count, int *ran)
{
    int failed = 0;
    *ran = 0;
    for (int i = 0; i < ROWS; i++) {
        if (!is_wanted(rows[i].name)) {
            continue;
        }
        if (++*ran == 1) {
            printf(
                "\n| viewers that come and go | how many | a second | refused | descriptors of the gateway: before, "
                "after; of the worker | memory of the gateway, MB: at the beginning, amid, in the end; of the worker "
                "| growth of both in 10 000 of the second half, MB (asked) | |\n|---|---|---|---|---|---|---|---|\n");
        }
        failed += !run_row(&rows[i], count);
    }
    return failed;
}

const char *reconnects_name(unsigned index)
{
    return index < ROWS ? rows[index].name : NULL;
}
