// libuv, as far as the gateway uses it. A handle's own record hangs on its reserved words; begin at uv_run.
#include "server/base/limits.h"
#include "tests/sim/sim.h"

#include <string.h>
#include <uv.h>

typedef struct handle {
    uv_handle_t *uv;
    bool is_active, is_closing, is_due;
    bool is_aside;       // doesn't keep the loop running
    uint64_t generation; // of the timer's start
    uint64_t repeat_ns;
    uv_timer_cb on_timer;
    uv_poll_cb on_poll;
    uv_signal_cb on_signal;
    uv_check_cb on_check;
    int events, number;
    sim_socket *socket;
    uv_close_cb on_closed;
    struct handle *next;
    uint64_t of_run; // of which run of the gateway
} handle;

static handle *handles;
static uint64_t run_now = 1; // one more with each gateway

static uint64_t stands_from_ns, stands_until_ns;
static bool stood_long;

enum { TURN_NS = 20000 }; // what a callback takes

static handle *open_handle(uv_handle_t *uv, uv_loop_t *loop)
{
    handle *made = sim_make(sizeof *made);
    made->uv = uv;
    made->of_run = run_now;
    made->next = handles;
    handles = made;
    uv->loop = loop;
    uv->u.reserved[0] = made;
    return made;
}

static handle *of(const void *uv)
{
    return ((const uv_handle_t *)uv)->u.reserved[0];
}

static void forget(handle *gone)
{
    for (handle **link = &handles; *link != NULL; link = &(*link)->next) {
        if (*link == gone) {
            *link = gone->next;
            return;
        }
    }
}

void sim_loop_drop(void)
{
    handles = NULL;
    stands_until_ns = 0;
    run_now++;
}

void sim_loop_stand(uint64_t ns)
{
    stands_from_ns = sim_now();
    stands_until_ns = sim_now() + ns;
    stood_long = ns >= TARN_GATEWAY_STANDSTILL_MS * SIM_MS;
}

bool sim_loop_has_stood(uint64_t ns)
{
    return stood_long && stands_until_ns != 0 && sim_now() >= stands_until_ns && sim_now() - stands_until_ns < ns;
}

uint64_t sim_loop_stood_from(void)
{
    return stands_from_ns;
}

uint64_t sim_loop_stands_until(void)
{
    return stands_until_ns;
}

uint32_t sim_loop_handles(void)
{
    uint32_t count = 0;
    for (const handle *at = handles; at != NULL; at = at->next) {
        count += !at->is_aside;
    }
    return count;
}

bool sim_loop_is_alive(void)
{
    for (const handle *at = handles; at != NULL; at = at->next) {
        if ((at->is_active && !at->is_aside) || at->is_closing) {
            return true;
        }
    }
    return false;
}

int uv_loop_init(uv_loop_t *loop)
{
    memset(loop, 0, sizeof *loop);
    return 0;
}

int uv_loop_close(uv_loop_t *loop)
{
    (void)loop;
    return handles == NULL ? 0 : UV_EBUSY;
}

static bool is_over(void)
{
    return !sim_loop_is_alive() || sim_gateway_is_dead();
}

int uv_run(uv_loop_t *loop, uv_run_mode mode)
{
    (void)loop;
    (void)mode;
    sim_run(is_over, UINT64_MAX);
    if (sim_gateway_is_dead()) {
        sim_gateway_exit(-1);
    }
    return 0;
}

void uv_unref(uv_handle_t *uv)
{
    of(uv)->is_aside = true;
}

int uv_is_closing(const uv_handle_t *uv)
{
    return of(uv) != NULL && of(uv)->is_closing;
}

static void closed(void *which, uint64_t number)
{
    handle *self = which;
    (void)number;
    if (self->of_run != run_now) {
        return;
    }
    forget(self);
    if (self->on_closed != NULL) {
        self->on_closed(self->uv);
    }
}

void uv_close(uv_handle_t *uv, uv_close_cb on_closed)
{
    handle *self = of(uv);
    SIM_CHECK(ALIVE, !self->is_closing, "a handle is closed twice");
    self->is_closing = true;
    self->is_active = false;
    self->on_closed = on_closed;
    if (self->socket != NULL && self->socket->poll == self) {
        self->socket->poll = NULL;
    }
    sim_at(sim_now(), closed, self, 0);
}

// ------------------------------------------------------------------------------------------------------------- timers

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer)
{
    open_handle((uv_handle_t *)timer, loop);
    return 0;
}

/// Behind what sockets say, in front of timers.
static void look_in_between(void)
{
    for (handle *at = handles; at != NULL; at = at->next) {
        if (at->is_active && at->on_check != NULL) {
            at->on_check((uv_check_t *)at->uv);
        }
    }
}

static void timer_due(void *which, uint64_t generation)
{
    handle *self = which;
    if (self->of_run != run_now || !self->is_active || self->generation != generation) {
        return;
    }
    if (stands_until_ns > sim_now()) {
        sim_at(stands_until_ns + 1, timer_due, self, generation); // behind what came meanwhile
        return;
    }
    if (self->repeat_ns > 0) {
        sim_at(sim_now() + self->repeat_ns, timer_due, self, generation);
    } else {
        self->is_active = false;
    }
    look_in_between();
    self->on_timer((uv_timer_t *)self->uv);
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb on_timer, uint64_t after_ms, uint64_t repeat_ms)
{
    handle *self = of(timer);
    self->on_timer = on_timer;
    self->repeat_ns = repeat_ms * SIM_MS;
    self->is_active = true;
    sim_at(sim_now() + after_ms * SIM_MS, timer_due, self, ++self->generation);
    return 0;
}

int uv_check_init(uv_loop_t *loop, uv_check_t *check)
{
    open_handle((uv_handle_t *)check, loop);
    return 0;
}

int uv_check_start(uv_check_t *check, uv_check_cb on_check)
{
    handle *self = of(check);
    self->on_check = on_check;
    self->is_active = true;
    return 0;
}

// -------------------------------------------------------------------------------------------------------------- polls

int uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int fd)
{
    handle *self = open_handle((uv_handle_t *)poll, loop);
    self->socket = sim_socket_of(fd);
    SIM_NEED(self->socket != NULL && self->socket->poll == NULL);
    self->socket->poll = self;
    return 0;
}

static int ready(const handle *self)
{
    return (sim_socket_is_readable(self->socket) ? UV_READABLE : 0) |
           (sim_socket_is_writable(self->socket) ? UV_WRITABLE : 0);
}

static void look(void *which, uint64_t number)
{
    handle *self = which;
    (void)number;
    if (self->of_run == run_now && stands_until_ns > sim_now()) {
        sim_at(stands_until_ns, look, self, 0);
        return;
    }
    self->is_due = false;
    if (self->of_run != run_now || !self->is_active) {
        return;
    }
    const int events = ready(self) & self->events;
    if (events != 0) {
        self->on_poll((uv_poll_t *)self->uv, 0, events);
    }
    if (!sim_gateway_is_dead() && self->is_active && (ready(self) & self->events) != 0 && !self->is_due) {
        self->is_due = true;
        sim_at(sim_now() + TURN_NS, look, self, 0);
    }
}

void sim_loop_socket_changed(sim_socket *socket)
{
    handle *self = socket->poll;
    if (self != NULL && self->is_active && !self->is_due) {
        self->is_due = true;
        sim_at(sim_now() + TURN_NS, look, self, 0);
    }
}

int uv_poll_start(uv_poll_t *poll, int events, uv_poll_cb on_poll)
{
    handle *self = of(poll);
    self->events = events;
    self->on_poll = on_poll;
    self->is_active = true;
    sim_loop_socket_changed(self->socket);
    return 0;
}

// ------------------------------------------------------------------------------------------------------------ signals

int uv_signal_init(uv_loop_t *loop, uv_signal_t *signal)
{
    open_handle((uv_handle_t *)signal, loop);
    return 0;
}

int uv_signal_start(uv_signal_t *signal, uv_signal_cb on_signal, int number)
{
    handle *self = of(signal);
    self->on_signal = on_signal;
    self->number = number;
    self->is_active = true;
    return 0;
}

void sim_loop_signal(int number)
{
    for (handle *at = handles; at != NULL; at = at->next) {
        if (at->on_signal != NULL && at->number == number && at->is_active) {
            at->on_signal((uv_signal_t *)at->uv, number);
            return;
        }
    }
}

// --------------------------------------------------------------------------------------------------------------- work

/// What a thread would do takes no time here.
int uv_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb on_work, uv_after_work_cb on_done)
{
    work->loop = loop;
    on_work(work);
    on_done(work, 0);
    return 0;
}

// ---------------------------------------------------------------------------------------------------------- processes

int uv_spawn(uv_loop_t *loop, uv_process_t *process, const uv_process_options_t *options)
{
    handle *self = open_handle((uv_handle_t *)process, loop);
    process->exit_cb = options->exit_cb;
    process->pid = 0;
    const int error = sim_worker_spawn(process, options->stdio[3].data.fd);
    self->is_active = error == 0;
    return error;
}

void sim_loop_process_ended(uv_process_t *process, int status, int number)
{
    of(process)->is_active = false;
    process->exit_cb(process, status, number);
}

int uv_process_kill(uv_process_t *process, int number)
{
    sim_worker_signal(process, number);
    return 0;
}

uv_pid_t uv_process_get_pid(const uv_process_t *process)
{
    return process->pid;
}

int uv_translate_sys_error(int number)
{
    return number <= 0 ? number : -number;
}

const char *uv_strerror(int error)
{
    return strerror(-error);
}

unsigned uv_available_parallelism(void)
{
    return 4;
}
