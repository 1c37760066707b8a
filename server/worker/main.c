// tarn-worker: the socket's loop, which is the scheduler of the tanks' jobs (jobs.h). A tank's inputs are latched when
// its next step begins; the device's own threads are inside the jobs.
//
//     loop: read messages -> tell the gateway -> send -> wait until something is due -> one tank's turn
//
// A turn ends when the job is done, or yields because another tank is due, a message has come or its slice of time is
// over. A job that doesn't yield blocks this loop, and pings stay unanswered: so the gateway notices one that hangs.
//
// The socket is the worker's life: when it ends, the gateway is gone and so is the worker.
#include "kernels/tank.h"
#include "server/base/clock.h"
#include "server/base/device.h"
#include "server/base/log.h"
#include "server/scene/scene.h"
#include "server/worker/confinement.h"
#include "server/worker/link.h"
#include "server/worker/options.h"
#include "server/worker/places.h"
#include "server/worker/scenes.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

typedef struct worker {
    tarn_worker_options options;
    char scenes_dir[4096];
    tarn_device *device;
    tarn_worker_link link;
    tarn_places places;
    tarn_ipc_scenes scenes; ///< that the gateway knows of
    tarn_scene_watch *watch;
    bool has_news; ///< it doesn't know of `scenes` yet
    tarn_ipc_scene_faults faults;
    bool has_faults_news; ///< the same of `faults`
    uint64_t read_ns;     ///< when messages were read last
    size_t refused_bytes; ///< of what the device says that it goes without: that the log has
    bool greeted, ended;
} worker;

/// Says why the worker ends: to the gateway, which tells people, or to the log where the socket doesn't take it.
static void fault(worker *self, const char *sentence)
{
    tarn_ipc_message message = {.kind = TARN_IPC_FAULT};
    snprintf(message.fault.text, sizeof message.fault.text, "%s", sentence);
    if (tarn_worker_link_put(&self->link, &message) != TARN_OK || tarn_worker_link_flush(&self->link) != TARN_OK ||
        tarn_worker_link_waiting(&self->link)) {
        tarn_log_error("%s", sentence);
    }
}

static void fault_status(worker *self, const char *what, tarn_status status)
{
    tarn_text why;
    snprintf(why, sizeof why, "%s: %s", what, tarn_status_text(status));
    fault(self, why);
}

static tarn_status on_message(void *user, const tarn_ipc_message *message)
{
    worker *self = user;
    if (!self->greeted) {
        if (message->kind != TARN_IPC_GATEWAY_HELLO || message->gateway_hello.version != TARN_IPC_VERSION) {
            return TARN_E_VERSION;
        }
        self->greeted = true;
        return TARN_OK;
    }
    switch (message->kind) {
    case TARN_IPC_PING: {
        tarn_ipc_message pong = {.kind = TARN_IPC_PONG, .ping = message->ping};
        tarn_worker_link_put(&self->link, &pong);
        return TARN_OK;
    }
    case TARN_IPC_SHUTDOWN:
        self->ended = true;
        return TARN_OK;
    default:
        return tarn_places_message(&self->places, message, tarn_clock_monotonic_ns());
    }
}

static tarn_status device_open(worker *self)
{
    const tarn_device_desc cpu = {.kind = TARN_DEVICE_CPU, .threads = self->options.threads};
    char why[TARN_DEVICE_WHY_BYTES];
    const tarn_status status = tarn_device_open(&self->options.device, &cpu, "", &self->device, why);
    if (status != TARN_OK) {
        fault(self, why);
    } else if (why[0] != '\0') {
        tarn_log_warn("%s", why);
    }
    return status;
}

static tarn_status greet(worker *self)
{
    tarn_ipc_message message = {.kind = TARN_IPC_WORKER_HELLO};
    tarn_ipc_worker_hello *hello = &message.worker_hello;
    hello->version = TARN_IPC_VERSION;
    hello->tanks_max = TARN_WORKER_TANKS_MAX;
    snprintf(hello->program, sizeof hello->program, "tarn-worker %s", TARN_VERSION);
    snprintf(hello->device, sizeof hello->device, "%s", tarn_device_name(self->device));
    tarn_status status = tarn_scene_list(self->scenes_dir, self->scenes.names, TARN_SCENES_MAX, &self->scenes.count);
    hello->scenes = self->scenes;
    if (status != TARN_OK) {
        tarn_text why;
        snprintf(why, sizeof why, "the scenes in %.200s cannot be read", self->scenes_dir);
        fault(self, why);
        return status;
    }
    return tarn_worker_link_put(&self->link, &message);
}

static tarn_status scenes_find(worker *self)
{
    tarn_text why;
    const tarn_status status =
        tarn_scene_directory(self->options.scenes, self->scenes_dir, sizeof self->scenes_dir, why, sizeof why);
    if (status != TARN_OK) {
        fault(self, why);
    }
    return status;
}

/// What finds no room is tried again.
static void tell_scenes(worker *self)
{
    if (self->watch != NULL && tarn_scene_watch_news(self->watch, &self->scenes)) {
        self->has_news = true;
    }
    if (self->has_news) {
        const tarn_ipc_message message = {.kind = TARN_IPC_SCENES, .scenes = self->scenes};
        self->has_news = tarn_worker_link_put(&self->link, &message) != TARN_OK;
    }
    if (self->watch != NULL && tarn_scene_watch_faults(self->watch, &self->faults)) {
        self->has_faults_news = true;
    }
    if (self->has_faults_news) {
        const tarn_ipc_message message = {.kind = TARN_IPC_SCENE_FAULTS, .scene_faults = self->faults};
        self->has_faults_news = tarn_worker_link_put(&self->link, &message) != TARN_OK;
    }
}

/// That a GPU goes without something shows in nothing but its speed.
static void tell_refused(worker *self)
{
    const char *refused = tarn_device_refused(self->device);
    if (strlen(refused) > self->refused_bytes) {
        self->refused_bytes = strlen(refused);
        tarn_log_warn("%s goes without: %s", tarn_device_name(self->device), refused);
    }
}

static struct pollfd what_to_wait_for(const worker *self)
{
    struct pollfd pollfd = {.fd = self->link.fd, .events = tarn_worker_link_reads(&self->link) ? POLLIN : 0};
    if (tarn_worker_link_waiting(&self->link)) {
        pollfd.events |= POLLOUT;
    }
    return pollfd;
}

/// Whether the socket takes something that waits, or has had something for a while. Called by jobs.
static bool socket_is_ready(void *user)
{
    const worker *self = user;
    struct pollfd pollfd = what_to_wait_for(self);
    if (tarn_clock_monotonic_ns() - self->read_ns < TARN_WORKER_READ_MS * (uint64_t)1000000 &&
        !tarn_places_are_moving(&self->places)) {
        pollfd.events &= ~POLLIN; // what comes is for the next step at the earliest
    }
    return pollfd.events != 0 && poll(&pollfd, 1, 0) != 0;
}

/// Jobs that run alone have the baton meanwhile, and end the wait when they are done.
static void wait_until(worker *self, uint64_t due_ns)
{
    tarn_jobs *jobs = &self->places.jobs;
    struct pollfd pollfds[2] = {what_to_wait_for(self), {.fd = jobs->done_fd, .events = POLLIN}};
    uint64_t done;
    uint64_t now_ns = tarn_clock_monotonic_ns(), longest_ns = TARN_WORKER_WAIT_MS_MAX * (uint64_t)1000000;
    uint64_t wait_ns = due_ns <= now_ns ? 0 : due_ns - now_ns;
    if (wait_ns > longest_ns) {
        wait_ns = longest_ns;
    }
    struct timespec timeout = {.tv_sec = (time_t)(wait_ns / 1000000000u), .tv_nsec = (long)(wait_ns % 1000000000u)};
    tarn_jobs_give(jobs);
    if (ppoll(pollfds, 2, &timeout, NULL) > 0 && pollfds[1].revents != 0) {
        (void)!read(jobs->done_fd, &done, sizeof done);
    }
    tarn_jobs_take(jobs);
}

/// @return TARN_OK when the worker was told to end or the gateway is gone
static tarn_status run(worker *self)
{
    for (;;) {
        tarn_status status = tarn_worker_link_read(&self->link);
        self->read_ns = tarn_clock_monotonic_ns();
        if (status == TARN_E_IO) {
            return TARN_OK;
        }
        if (status != TARN_OK) {
            fault_status(self, "the gateway's messages cannot be read", status);
            return status;
        }
        if (self->ended) {
            return TARN_OK;
        }
        uint64_t now_ns = tarn_clock_monotonic_ns();
        tarn_places_tell(&self->places, now_ns);
        tell_scenes(self);
        if (tarn_worker_link_flush(&self->link) != TARN_OK) {
            return TARN_OK;
        }
        wait_until(self, tarn_places_due_ns(&self->places, now_ns));
        status = tarn_places_turn(&self->places);
        if (status != TARN_OK) {
            fault_status(self, "the simulation failed", status);
            return status;
        }
        tell_refused(self);
    }
}

/// Whether it is known from the start that there will be no CUDA device.
static bool is_cpu(const worker *self)
{
    return self->options.takes_scene || self->options.device.choice == TARN_DEVICE_CHOOSE_CPU ||
           !tarn_device_has_cuda();
}

/// Keeps of the system what is needed from now on: before the first message is read, and on the CPU before there are
/// threads.
static void confine(worker *self, tarn_confined kind)
{
    const char *folders[TARN_WORKER_READS_MAX + 2] = {self->scenes_dir};
    memcpy(&folders[1], self->options.reads, sizeof self->options.reads);
    if (!tarn_confinement_end(kind, folders)) {
        tarn_log_warn("the system doesn't limit what this worker may ask of it: %s", strerror(errno));
    }
}

int main(int argc, char **argv)
{
    // The gateway decides when a worker ends; Ctrl-C in a terminal and its closing reach both.
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    static worker self;
    pid_t parent = getppid();
    tarn_worker_options_parse(argc, argv, &self.options);
    tarn_confinement_begin(is_cpu(&self));
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        return 1;
    }
    if (self.options.takes_scene) {
        return tarn_scene_intake(self.options.fd);
    }
    tarn_log_open("tarn-worker", self.options.log_level);
    tarn_log_set_format(self.options.log_format, self.options.index);
    // Nothing that the gateway had open is the worker's business.
    if (self.options.fd > STDERR_FILENO + 1) {
        close_range(STDERR_FILENO + 1, (unsigned)self.options.fd - 1, 0);
    }
    close_range((unsigned)self.options.fd + 1, UINT_MAX, 0);
    tarn_ipc_sink sink = {.user = &self, .message = on_message};
    if (tarn_worker_link_open(&self.link, self.options.fd, &sink) != TARN_OK) {
        tarn_log_error("--fd %d is no open descriptor", self.options.fd);
        return 1;
    }
    tarn_status status = scenes_find(&self);
    if (status == TARN_OK && is_cpu(&self)) {
        confine(&self, TARN_CONFINED_CPU);
    }
    if (status == TARN_OK) {
        status = device_open(&self);
    }
    if (status == TARN_OK && !is_cpu(&self)) {
        confine(&self, strncmp(tarn_device_name(self.device), "CPU", 3) == 0 ? TARN_CONFINED_CPU : TARN_CONFINED_CUDA);
    }
    if (status == TARN_OK) {
        status = greet(&self);
    }
    if (status == TARN_OK) {
        status = tarn_places_open(&self.places, self.device, &self.link, &self.options, self.scenes_dir,
                                  socket_is_ready, &self);
    }
    if (status == TARN_OK) {
        if (tarn_scene_watch_open(self.scenes_dir, &self.scenes, TARN_SCENE_WATCH_FIRST_MS, self.options.index <= 0,
                                  &self.watch) != TARN_OK) {
            tarn_log_warn("the scenes' folder isn't watched: %s", tarn_status_text(TARN_E_MEMORY));
        }
        status = run(&self);
        tarn_scene_watch_close(self.watch);
        if (!tarn_places_close(&self.places)) {
            _exit(status == TARN_OK ? 0 : 1); // jobs in progress hold the rest: the system frees it
        }
    }
    tarn_device_destroy(self.device);
    tarn_worker_link_close(&self.link);
    return status == TARN_OK ? 0 : 1;
}
