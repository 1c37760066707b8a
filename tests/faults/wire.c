// Begin at wire_open; what happens to packets is in carry.
#include "tests/faults/wire.h"
#include "server/base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PACKET_BYTES_MAX = 2048, ///< more than an interface's 1500
    PACKETS_MAX = 4096,      ///< on their way in a direction; further ones are lost
    QUEUE_MS = 500,          ///< that packets may wait for a slow wire; further ones are lost
};

typedef struct packet {
    uint64_t due_ns;
    uint32_t byte_count;
    uint8_t bytes[PACKET_BYTES_MAX];
} packet;

typedef struct direction {
    int from_fd, to_fd;
    uint32_t first, count; ///< a ring
    uint64_t free_ns;      ///< when the wire has taken the newest one
    packet *packets;
} direction;

/// What both processes see.
typedef struct shared_weather {
    _Atomic uint32_t delay_ms, kbit_per_s, lost_per_100;
    _Atomic bool is_cut;
} shared_weather;

static shared_weather *shared;
static int near_fd = -1, far_fd = -1; // the namespaces

// ------------------------------------------------------------------------------------------------------- the process

/// When a packet that comes now is at the other end. @return false: never
static bool plan(direction *way, uint32_t byte_count, uint64_t now_ns, unsigned *seed, uint64_t *due_ns)
{
    const uint32_t lost_per_100 = atomic_load(&shared->lost_per_100), kbit_per_s = atomic_load(&shared->kbit_per_s);
    if (atomic_load(&shared->is_cut) || way->count == PACKETS_MAX ||
        (lost_per_100 > 0 && (uint32_t)(rand_r(seed) % 100) < lost_per_100)) {
        return false;
    }
    uint64_t begins_ns = way->free_ns > now_ns && kbit_per_s > 0 ? way->free_ns : now_ns;
    if (begins_ns - now_ns > QUEUE_MS * (uint64_t)1000000) {
        return false;
    }
    way->free_ns = begins_ns + (kbit_per_s > 0 ? (uint64_t)byte_count * 8000000 / kbit_per_s : 0);
    *due_ns = way->free_ns + atomic_load(&shared->delay_ms) * (uint64_t)1000000;
    return true;
}

static void take_packets(direction *way, unsigned *seed)
{
    for (;;) {
        packet *next = &way->packets[(way->first + way->count) % PACKETS_MAX], lost;
        packet *into = way->count < PACKETS_MAX ? next : &lost;
        const ssize_t got = read(way->from_fd, into->bytes, sizeof into->bytes);
        if (got <= 0) {
            return;
        }
        into->byte_count = (uint32_t)got;
        way->count += plan(way, into->byte_count, tarn_clock_monotonic_ns(), seed, &into->due_ns);
    }
}

static void give_packets(direction *way)
{
    while (way->count > 0 && way->packets[way->first].due_ns <= tarn_clock_monotonic_ns()) {
        const packet *oldest = &way->packets[way->first];
        const ssize_t sent = write(way->to_fd, oldest->bytes, oldest->byte_count);
        (void)sent; // what doesn't fit is lost, as on any network
        way->first = (way->first + 1) % PACKETS_MAX;
        way->count--;
    }
}

/// Carries packets for ever.
static void carry(int near_tun, int far_tun)
{
    direction ways[2] = {{.from_fd = near_tun, .to_fd = far_tun}, {.from_fd = far_tun, .to_fd = near_tun}};
    unsigned seed = 5;
    for (int i = 0; i < 2; i++) {
        ways[i].packets = calloc(PACKETS_MAX, sizeof *ways[i].packets);
        if (ways[i].packets == NULL) {
            _exit(1);
        }
    }
    for (;;) {
        const uint64_t now_ns = tarn_clock_monotonic_ns();
        uint64_t wait_ns = 1000000000;
        for (int i = 0; i < 2; i++) {
            const uint64_t due_ns = ways[i].count > 0 ? ways[i].packets[ways[i].first].due_ns : UINT64_MAX;
            const uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
            wait_ns = left_ns < wait_ns ? left_ns : wait_ns;
        }
        struct pollfd polled[2] = {{.fd = near_tun, .events = POLLIN}, {.fd = far_tun, .events = POLLIN}};
        ppoll(polled, 2,
              &(struct timespec){.tv_sec = (time_t)(wait_ns / 1000000000), .tv_nsec = (long)(wait_ns % 1000000000)},
              NULL);
        for (int i = 0; i < 2; i++) {
            take_packets(&ways[i], &seed);
            give_packets(&ways[i]);
        }
    }
}

// -------------------------------------------------------------------------------------------------------- the devices

static bool set_up(int fd, const char *name, const char *address)
{
    struct ifreq request = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&request.ifr_addr;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (address != NULL) {
        in->sin_family = AF_INET;
        inet_pton(AF_INET, address, &in->sin_addr);
        if (ioctl(fd, SIOCSIFADDR, &request) != 0) {
            return false;
        }
        inet_pton(AF_INET, "255.255.255.252", &in->sin_addr);
        if (ioctl(fd, SIOCSIFNETMASK, &request) != 0) {
            return false;
        }
    }
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    return ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

/// The end of the wire in this namespace. @return its descriptor or -1
static int make_end(const char *address)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    const int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    const int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "wire");
    const bool is_made = tun >= 0 && socket_fd >= 0 && ioctl(tun, TUNSETIFF, &request) == 0 &&
                         set_up(socket_fd, "lo", NULL) && set_up(socket_fd, "wire", address);
    const int error = errno;
    if (socket_fd >= 0) {
        close(socket_fd);
    }
    if (!is_made && tun >= 0) {
        close(tun);
    }
    errno = error;
    return is_made ? tun : -1;
}

static void write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t written = write(fd, text, strlen(text));
        (void)written; // what needs it fails then
        close(fd);
    }
}

/// Whoever isn't root is root of a user namespace.
static bool leave_network(void)
{
    char map[64];
    const unsigned uid = getuid(), gid = getgid();
    if (unshare(CLONE_NEWNET) == 0) {
        return true;
    }
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        return false;
    }
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "0 %u 1", uid);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "0 %u 1", gid);
    write_file("/proc/self/gid_map", map);
    return true;
}

static int here(void)
{
    return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

tarn_status wire_open(tarn_text why)
{
    const char *what = "network namespaces can't be made here";
    int near_tun = -1, far_tun = -1;
    pid_t carrier = -1;
    if (!leave_network() || (near_fd = here()) < 0) {
        goto fail;
    }
    what = "TUN devices can't be made here";
    near_tun = make_end(WIRE_NEAR);
    if (near_tun < 0 || unshare(CLONE_NEWNET) != 0 || (far_fd = here()) < 0 || (far_tun = make_end(WIRE_FAR)) < 0 ||
        setns(near_fd, CLONE_NEWNET) != 0) {
        goto fail;
    }
    what = "there is no memory";
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || (carrier = fork()) < 0) {
        goto fail;
    }
    if (carrier == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        carry(near_tun, far_tun);
    }
    close(near_tun);
    close(far_tun);
    return TARN_OK;
fail:
    snprintf(why, sizeof(tarn_text), "%s: %s", what, strerror(errno));
    return TARN_E_IO;
}

void wire_set(const wire_weather *weather)
{
    atomic_store(&shared->delay_ms, weather->delay_ms);
    atomic_store(&shared->kbit_per_s, weather->kbit_per_s);
    atomic_store(&shared->lost_per_100, weather->lost_per_100);
    atomic_store(&shared->is_cut, weather->is_cut);
}

int wire_connect(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int on = 1, fd = -1;
    inet_pton(AF_INET, WIRE_NEAR, &address.sin_addr);
    // A socket stays in the namespace that it was made in.
    if (setns(far_fd, CLONE_NEWNET) == 0) {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    }
    if (setns(near_fd, CLONE_NEWNET) != 0 || fd < 0) {
        abort(); // nothing is where it should be
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        return fd;
    }
    close(fd);
    return -1;
}
