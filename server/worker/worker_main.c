// tarn-worker: one thread, one loop. Messages are read only between steps, so that an input is latched at a step
// boundary; the device's own threads are inside tarn_tank_step.
//
//     loop: read messages -> tell the gateway -> send -> wait until the next step is due -> step one that is due
//
// The socket is the worker's life: when it ends, the gateway is gone and so is the worker.
#include "kernels/tank.h"
#include "server/common/clock.h"
#include "server/common/cuda_missing.h"
#include "server/common/log.h"
#include "server/common/scene.h"
#include "server/worker/turns.h"
#include "server/worker/worker_link.h"
#include "server/worker/worker_options.h"
#include "server/worker/worker_tank.h"

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
    tarn_worker_tank tanks[TARN_WORKER_TANKS_MAX];
    tarn_turns turns;
    bool greeted, ended;
} worker;

static tarn_worker_tank *tank_find(worker *self, uint32_t id)
{
    for (int i = 0; i < TARN_WORKER_TANKS_MAX; i++) {
        if (self->tanks[i].id == id) {
            return &self->tanks[i];
        }
    }
    return NULL;
}

static void refuse(worker *self, uint32_t tank, uint32_t viewer_id, uint32_t sequence, uint32_t code, const char *why)
{
    tarn_ipc_message message = {.kind = TARN_IPC_REFUSED, .tank = tank};
    message.refused.viewer_id = viewer_id;
    message.refused.sequence = sequence;
    message.refused.code = code;
    snprintf(message.refused.text, sizeof message.refused.text, "%s", why);
    tarn_worker_link_put(&self->link, &message);
}

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

static void load(worker *self, uint32_t id, const tarn_ipc_load *message)
{
    tarn_text why = "";
    tarn_worker_tank *tank = tank_find(self, id);
    bool fresh = tank == NULL;
    if (fresh) {
        tank = tank_find(self, 0);
    }
    if (tank == NULL) {
        snprintf(why, sizeof why, "this worker has %d tanks already; no more fit", TARN_WORKER_TANKS_MAX);
        refuse(self, id, message->viewer_id, message->sequence, TARN_ERROR_SCENE, why);
        return;
    }
    tarn_status status = tarn_worker_tank_load(tank, self->device, self->scenes_dir, &self->options, message,
                                               tarn_clock_monotonic_ns(), why);
    if (status != TARN_OK) {
        refuse(self, id, message->viewer_id, message->sequence, TARN_ERROR_SCENE, why);
        return;
    }
    tank->id = id;
    tank->slot = (uint32_t)(tank - self->tanks);
    tarn_worker_link_frame_drop(&self->link, tank->slot);
    tarn_log_info("tank %u: scene %s, epoch %u", id, tank->scene.name, tank->epoch);
}

static void input(worker *self, tarn_worker_tank *tank, const tarn_ipc_input *forwarded)
{
    tarn_message message;
    tarn_text why = "";
    uint32_t sequence = 0;
    tarn_status status = tarn_message_read(forwarded->bytes, forwarded->byte_count, &message, &why);
    if (status == TARN_OK && message.kind != TARN_MESSAGE_INPUT) {
        return;
    }
    if (status == TARN_OK) {
        sequence = message.input.sequence;
        status = tarn_worker_tank_input(tank, forwarded->viewer_id, &message.input, why);
    }
    if (status != TARN_OK) {
        refuse(self, tank->id, forwarded->viewer_id, sequence, TARN_ERROR_INPUT, why);
    }
}

static void unload(worker *self, tarn_worker_tank *tank)
{
    tarn_log_info("tank %u: ended", tank->id);
    tarn_worker_link_frame_drop(&self->link, tank->slot);
    tarn_worker_tank_free(tank);
}

/// Messages about a tank that is there.
static tarn_status tank_message(worker *self, tarn_worker_tank *tank, const tarn_ipc_message *message)
{
    uint64_t now_ns = tarn_clock_monotonic_ns();
    switch (message->kind) {
    case TARN_IPC_RESET:
        tarn_worker_link_frame_drop(&self->link, tank->slot);
        return tarn_worker_tank_reset(tank, &message->reset, now_ns);
    case TARN_IPC_KEY_WANTED:
        tarn_frame_plan_ask(&tank->plan);
        return TARN_OK;
    case TARN_IPC_UNLOAD:
        unload(self, tank);
        return TARN_OK;
    case TARN_IPC_CONTROL:
        tarn_worker_tank_control(tank, &message->control, now_ns);
        return TARN_OK;
    case TARN_IPC_AUDIENCE:
        tarn_worker_tank_audience(tank, message->audience.viewer_count, now_ns);
        return TARN_OK;
    case TARN_IPC_INPUT:
        input(self, tank, &message->input);
        return TARN_OK;
    case TARN_IPC_VIEWER_GONE:
        tarn_input_state_viewer_gone(&tank->inputs, message->viewer_gone.viewer_id);
        return TARN_OK;
    default:
        return TARN_E_UNKNOWN_KIND;
    }
}

static tarn_status take_message(void *user, const tarn_ipc_message *message)
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
    case TARN_IPC_LOAD:
        load(self, message->tank, &message->load);
        return TARN_OK;
    case TARN_IPC_PING: {
        tarn_ipc_message pong = {.kind = TARN_IPC_PONG, .ping = message->ping};
        tarn_worker_link_put(&self->link, &pong);
        return TARN_OK;
    }
    case TARN_IPC_SHUTDOWN:
        self->ended = true;
        return TARN_OK;
    default: {
        tarn_worker_tank *tank = message->tank ? tank_find(self, message->tank) : NULL;
        // Messages for a tank whose scene was refused are not an error.
        return tank != NULL ? tank_message(self, tank, message) : TARN_OK;
    }
    }
}

static tarn_status device_open(worker *self)
{
    tarn_device_choice choice = self->options.device.choice;
    const uint32_t index = self->options.device.index;
    int gpus = choice == TARN_DEVICE_CHOOSE_CPU ? 0 : tarn_device_count(TARN_DEVICE_CUDA);
    if (choice == TARN_DEVICE_CHOOSE_CUDA && gpus == 0) {
        fault(self, tarn_cuda_missing(tarn_device_has_cuda()));
        return TARN_E_UNAVAILABLE;
    }
    if (choice == TARN_DEVICE_CHOOSE_CUDA && index >= (uint32_t)gpus) {
        tarn_text why;
        snprintf(why, sizeof why, "--device cuda:%u: this machine has no such GPU, allowed are cuda:0 to cuda:%d",
                 index, gpus - 1);
        fault(self, why);
        return TARN_E_UNAVAILABLE;
    }
    tarn_device_desc desc = {
        .kind = gpus > 0 ? TARN_DEVICE_CUDA : TARN_DEVICE_CPU, .index = (int)index, .threads = self->options.threads};
    tarn_status status = tarn_device_create(&desc, &self->device);
    if (status != TARN_OK) {
        fault_status(self, gpus > 0 ? "the CUDA device cannot be opened" : "the CPU device cannot be opened", status);
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
    tarn_status status = tarn_scene_list(self->scenes_dir, hello->scenes, TARN_SCENES_MAX, &hello->scene_count);
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

/// When the first tank is due, and when each.
static uint64_t find_due(worker *self, uint64_t due_ns[TARN_WORKER_TANKS_MAX])
{
    uint64_t first_ns = UINT64_MAX;
    for (int i = 0; i < TARN_WORKER_TANKS_MAX; i++) {
        due_ns[i] = tarn_worker_tank_due_ns(&self->tanks[i]);
        if (due_ns[i] < first_ns) {
            first_ns = due_ns[i];
        }
    }
    return first_ns;
}

/// Runs the tank whose turn it is, if one is due.
static tarn_status run_tank(worker *self, const uint64_t due_ns[TARN_WORKER_TANKS_MAX])
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const int i = tarn_turns_pick(&self->turns, due_ns, now_ns);
    if (i < 0) {
        return TARN_OK;
    }
    const tarn_status status = tarn_worker_tank_run(&self->tanks[i], &self->link, now_ns);
    tarn_turns_note(&self->turns, i, tarn_clock_monotonic_ns() - now_ns);
    return status;
}

static void wait_until(const worker *self, uint64_t due_ns)
{
    struct pollfd pollfd = {.fd = self->link.fd, .events = POLLIN};
    if (tarn_worker_link_waiting(&self->link)) {
        pollfd.events |= POLLOUT;
    }
    uint64_t now_ns = tarn_clock_monotonic_ns(), longest_ns = TARN_WORKER_WAIT_MS_MAX * (uint64_t)1000000;
    uint64_t wait_ns = due_ns <= now_ns ? 0 : due_ns - now_ns;
    if (wait_ns > longest_ns) {
        wait_ns = longest_ns;
    }
    struct timespec timeout = {.tv_sec = (time_t)(wait_ns / 1000000000u), .tv_nsec = (long)(wait_ns % 1000000000u)};
    ppoll(&pollfd, 1, &timeout, NULL);
}

/// @return TARN_OK when the worker was told to end or the gateway is gone
static tarn_status run(worker *self)
{
    for (;;) {
        tarn_status status = tarn_worker_link_read(&self->link);
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
        uint64_t due_ns[TARN_WORKER_TANKS_MAX], now_ns = tarn_clock_monotonic_ns();
        for (int i = 0; i < TARN_WORKER_TANKS_MAX; i++) {
            if (self->tanks[i].id) {
                tarn_worker_tank_tell(&self->tanks[i], &self->link, now_ns);
            }
        }
        if (tarn_worker_link_flush(&self->link) != TARN_OK) {
            return TARN_OK;
        }
        wait_until(self, find_due(self, due_ns));
        status = run_tank(self, due_ns);
        if (status != TARN_OK) {
            fault_status(self, "the simulation failed", status);
            return status;
        }
    }
}

int main(int argc, char **argv)
{
    // The gateway decides when a worker ends; Ctrl-C in a terminal and its closing reach both.
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    pid_t parent = getppid();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        return 1;
    }

    static worker self;
    tarn_worker_options_parse(argc, argv, &self.options);
    tarn_log_open("tarn-worker", self.options.log_level);
    // Nothing that the gateway had open is the worker's business.
    if (self.options.fd > STDERR_FILENO + 1) {
        close_range(STDERR_FILENO + 1, (unsigned)self.options.fd - 1, 0);
    }
    close_range((unsigned)self.options.fd + 1, UINT_MAX, 0);
    tarn_ipc_sink sink = {.user = &self, .message = take_message};
    if (tarn_worker_link_open(&self.link, self.options.fd, &sink) != TARN_OK) {
        tarn_log_error("--fd %d is no open descriptor", self.options.fd);
        return 1;
    }
    tarn_status status = scenes_find(&self);
    if (status == TARN_OK) {
        status = device_open(&self);
    }
    if (status == TARN_OK) {
        status = greet(&self);
    }
    if (status == TARN_OK) {
        status = run(&self);
    }
    for (int i = 0; i < TARN_WORKER_TANKS_MAX; i++) {
        tarn_worker_tank_free(&self.tanks[i]);
    }
    tarn_device_destroy(self.device);
    tarn_worker_link_close(&self.link);
    return status == TARN_OK ? 0 : 1;
}
