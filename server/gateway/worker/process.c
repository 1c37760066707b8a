// A worker's life as phases, and its socket: start at tarn_worker_process_tick, then on_poll and lose.
#include "server/gateway/worker/process.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/metrics.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHILD_FD = 3, ARGUMENTS_MAX = 24, MADE_MAX = 5 };

static uint64_t ms(uint64_t count)
{
    return count * 1000000u;
}

static void enter(tarn_worker_process *worker, tarn_worker_phase phase)
{
    worker->phase = phase;
    worker->phase_since_ns = tarn_clock_monotonic_ns();
}

static void on_poll_closed(uv_handle_t *handle)
{
    tarn_worker_process *worker = handle->data;
    TARN_ASSERT(worker->poll_open && worker->fd >= 0);
    worker->poll_open = false;
    close(worker->fd);
    worker->fd = -1;
}

static void on_process_closed(uv_handle_t *handle)
{
    ((tarn_worker_process *)handle->data)->process_open = false;
    TARN_ASSERT(!((tarn_worker_process *)handle->data)->alive);
}

static void close_poll(tarn_worker_process *worker)
{
    if (worker->poll_open && !uv_is_closing((uv_handle_t *)&worker->poll)) {
        uv_close((uv_handle_t *)&worker->poll, on_poll_closed);
    }
}

static void clear_waiting(tarn_worker_process *worker)
{
    tarn_worker_queue_clear(&worker->queue);
    worker->chunks.first = worker->chunks.count = worker->chunks.sent = 0;
    worker->unload_count = 0;
}

/// What was still to be sent goes to the next worker like what was.
static void note_queue(tarn_worker_process *worker)
{
    const tarn_worker_queue_entry *entry;
    while ((entry = tarn_worker_queue_first(&worker->queue)) != NULL) {
        tarn_worker_sent_note(&worker->sent, entry);
        tarn_worker_queue_sent(&worker->queue, entry->byte_count - worker->queue.sent);
    }
}

// ---- its end ----

/// Before the next start: people wait for the first. One that was given up is tried again, too, ever more rarely.
static uint64_t pause_ms(const tarn_worker_process *worker, bool is_given_up)
{
    const bool is_own = worker->last_end == TARN_WORKER_END_OWN;
    const uint32_t failures = is_own ? worker->failures : worker->kills, doublings_max = 16;
    const uint64_t most_ms = is_given_up ? TARN_GATEWAY_WORKER_REST_MS_MAX
                             : is_own    ? TARN_GATEWAY_WORKER_BACKOFF_MS_MAX
                                         : TARN_GATEWAY_WORKER_KILLED_MS_MAX,
                   first_ms = is_given_up ? TARN_GATEWAY_WORKER_REST_MS : TARN_GATEWAY_WORKER_BACKOFF_MS;
    const uint32_t before = is_given_up ? TARN_GATEWAY_WORKER_FAILURES_MAX : 2; // that have the first pause
    if (failures < before) {
        return 0;
    }
    const uint32_t doublings = failures - before < doublings_max ? failures - before : doublings_max;
    return first_ms << doublings < most_ms ? first_ms << doublings : most_ms;
}

/// Counts the end. One that came from outside says nothing about the worker, nor about what it was told.
static void count_end(tarn_worker_process *worker, uint64_t now_ns, tarn_worker_end end)
{
    if (worker->phase == TARN_WORKER_READY && now_ns - worker->phase_since_ns >= ms(TARN_GATEWAY_WORKER_STABLE_MS)) {
        worker->failures = worker->kills = 0;
    }
    worker->last_end = end;
    worker->work_end = worker->phase == TARN_WORKER_READY ? end : worker->work_end;
    if (end != TARN_WORKER_END_OWN) {
        tarn_worker_sent_excuse(&worker->sent);
        worker->kills++;
    } else {
        worker->failures++;
    }
    worker->failures_total++;
}

/// Ends what is left of the worker and tells why; `sentence` is kept if the worker gave none itself.
static void lose(tarn_worker_process *worker, const char *sentence, tarn_worker_end end)
{
    bool ending = worker->phase == TARN_WORKER_ENDING;
    if (worker->phase != TARN_WORKER_GREETING && worker->phase != TARN_WORKER_READY && !ending) {
        return;
    }
    if (worker->alive) {
        uv_process_kill(&worker->process, SIGKILL);
    }
    close_poll(worker);
    note_queue(worker);
    clear_waiting(worker);
    if (ending) {
        return;
    }
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    count_end(worker, now_ns, worker->sentence[0] == 0 ? end : TARN_WORKER_END_OWN);
    const bool given_up =
        worker->last_end == TARN_WORKER_END_OWN && worker->failures >= TARN_GATEWAY_WORKER_FAILURES_MAX;
    enter(worker, given_up ? TARN_WORKER_GIVEN_UP : TARN_WORKER_WAITING);
    worker->was_given_up |= given_up;
    worker->retry_ns = now_ns + ms(pause_ms(worker, given_up));
    tarn_text why;
    snprintf(why, sizeof why, "%s", worker->sentence[0] ? worker->sentence : sentence);
    worker->events.lost(worker->events.user, worker, why, given_up);
}

/// What a program is ended by for what it does itself.
static bool is_fault(int term_signal)
{
    return term_signal == SIGSEGV || term_signal == SIGBUS || term_signal == SIGFPE || term_signal == SIGILL ||
           term_signal == SIGABRT || term_signal == SIGTRAP || term_signal == SIGSYS;
}

/// How the process ended, for people. It catches no signals but those of faults, and sends itself none: any other came
/// from outside.
static tarn_worker_end tell_end(const tarn_worker_process *worker, int64_t status, int term_signal, tarn_text sentence)
{
    const bool lacked_memory = term_signal == SIGKILL && tarn_process_oom_kills() > worker->oom_kills;
    if (lacked_memory) {
        snprintf(sentence, sizeof(tarn_text), "the kernel ended the worker for want of memory (signal %d)",
                 term_signal);
    } else if (term_signal != 0 && !is_fault(term_signal)) {
        snprintf(sentence, sizeof(tarn_text),
                 "somebody ended the worker by signal %d (%s): neither this program nor, as far as it is told, the "
                 "kernel for want of memory",
                 term_signal, strsignal(term_signal));
    } else if (term_signal == SIGSYS) {
        snprintf(sentence, sizeof(tarn_text),
                 "the worker asked the system for what none needs and was ended by it (SIGSYS): a fault of it, or an "
                 "attack");
    } else if (term_signal != 0) {
        snprintf(sentence, sizeof(tarn_text), "the worker ended by signal %d (%s)", term_signal,
                 strsignal(term_signal));
    } else {
        snprintf(sentence, sizeof(tarn_text), "the worker ended with exit status %d", (int)status);
    }
    return term_signal == 0 || is_fault(term_signal) ? TARN_WORKER_END_OWN
           : lacked_memory                           ? TARN_WORKER_END_NO_MEMORY
           : term_signal == SIGKILL                  ? TARN_WORKER_END_KILLED
                                                     : TARN_WORKER_END_OUTSIDE;
}

// ---- what it says ----

static void note_load(tarn_worker_process *worker, uint32_t tank, uint32_t epoch)
{
    uint32_t at = 0;
    while (at < worker->loads_open && worker->loads[at].tank != tank) {
        at++;
    }
    if (at < TARN_IPC_TANKS_MAX) {
        worker->loads[at].tank = tank;
        worker->loads[at].epoch = epoch;
        worker->loads_open += at == worker->loads_open;
    }
}

/// @param epoch  that it has; an older one is of the tank that was there before, of which words may still come
static void note_loaded(tarn_worker_process *worker, uint32_t tank, uint32_t epoch)
{
    for (uint32_t i = 0; i < worker->loads_open; i++) {
        if (worker->loads[i].tank == tank && epoch >= worker->loads[i].epoch) {
            worker->loads[i] = worker->loads[--worker->loads_open];
            return;
        }
    }
}

/// What a worker says of a tank may be that it is made, or can't be.
static void note_answer(tarn_worker_process *worker, const tarn_ipc_message *message)
{
    const bool is_refused = message->kind == TARN_IPC_REFUSED &&
                            (message->refused.code == TARN_ERROR_SCENE || message->refused.code == TARN_ERROR_SESSION);
    if (message->kind == TARN_IPC_STATE) {
        note_loaded(worker, message->tank, message->state.epoch);
    } else if (message->kind == TARN_IPC_MADE || is_refused) {
        note_loaded(worker, message->tank, UINT32_MAX);
    }
}

/// A long step is remembered for some reports, of which there is one a second and tank.
static void note_step(tarn_worker_process *worker, double step_s)
{
    const double before_s = 0.9 * worker->step_s, most_s = TARN_GATEWAY_WORKER_HANGS_STEP_S_MAX;
    worker->step_s = step_s > before_s ? (step_s < most_s ? step_s : most_s) : before_s; // whatever it says
}

static tarn_status on_message(void *user, const tarn_ipc_message *message)
{
    tarn_worker_process *worker = user;
    if (message->kind == TARN_IPC_FAULT) {
        snprintf(worker->sentence, sizeof worker->sentence, "%s", message->fault.text);
        return TARN_OK;
    }
    if (worker->phase == TARN_WORKER_GREETING) {
        if (message->kind != TARN_IPC_WORKER_HELLO) {
            return TARN_E_MALFORMED;
        }
        if (message->worker_hello.version != TARN_IPC_VERSION) {
            snprintf(worker->sentence, sizeof worker->sentence,
                     "the worker \"%s\" speaks version %u of the socketpair's messages; this program speaks %d",
                     message->worker_hello.program, message->worker_hello.version, TARN_IPC_VERSION);
            return TARN_E_VERSION;
        }
        enter(worker, TARN_WORKER_READY);
        worker->answered_ns = worker->ping_ns = worker->phase_since_ns;
        worker->hello = message->worker_hello;
        return worker->events.ready(worker->events.user, worker);
    }
    if (worker->phase != TARN_WORKER_READY) {
        return TARN_OK;
    }
    worker->answered_ns = tarn_clock_monotonic_ns();
    switch (message->kind) {
    case TARN_IPC_PONG:
        return TARN_OK;
    case TARN_IPC_STATE:
    case TARN_IPC_REFUSED:
    case TARN_IPC_MADE:
        note_answer(worker, message);
        return worker->events.message(worker->events.user, worker, message);
    case TARN_IPC_REPORT:
        note_step(worker, (double)message->report.step_s);
        return worker->events.message(worker->events.user, worker, message);
    case TARN_IPC_SCENES:
    case TARN_IPC_SCENE_FAULTS:
    case TARN_IPC_STAMPS:
    case TARN_IPC_STATE_HEAD:
    case TARN_IPC_STATE_CHUNK:
    case TARN_IPC_REPLAY_WANTED:
    case TARN_IPC_SCENE_PROBES:
    case TARN_IPC_PROBED:
    case TARN_IPC_READINGS:
    case TARN_IPC_SCENE_TOLD:
        return worker->events.message(worker->events.user, worker, message);
    default:
        return TARN_E_MALFORMED; // what only a gateway says
    }
}

static uint8_t *frame_space(void *user, uint32_t tank, uint32_t frame_bytes)
{
    tarn_worker_process *worker = user;
    return worker->phase == TARN_WORKER_READY
               ? worker->events.frame_space(worker->events.user, worker, tank, frame_bytes)
               : NULL;
}

static tarn_status frame(void *user, uint32_t tank, uint32_t frame_bytes)
{
    tarn_worker_process *worker = user;
    worker->answered_ns = tarn_clock_monotonic_ns();
    return worker->events.frame(worker->events.user, worker, tank, frame_bytes);
}

/// @return TARN_OK, TARN_E_IO when the other end is closed, or why the stream cannot be continued
static tarn_status receive(tarn_worker_process *worker)
{
    for (size_t total = 0; total < TARN_GATEWAY_WORKER_READ_BYTES_MAX;) {
        size_t room;
        uint8_t *space = tarn_ipc_reader_space(&worker->reader, &room);
        ssize_t got = recv(worker->fd, space, room, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return TARN_OK;
        }
        if (got <= 0) {
            return TARN_E_IO;
        }
        tarn_status status = tarn_ipc_reader_commit(&worker->reader, (size_t)got);
        if (status != TARN_OK || worker->phase == TARN_WORKER_WAITING || worker->phase == TARN_WORKER_GIVEN_UP) {
            return status;
        }
        total += (size_t)got;
    }
    return TARN_OK;
}

/// The process has ended.
static void on_exit_seen(uv_process_t *process, int64_t status, int term_signal)
{
    tarn_worker_process *worker = process->data;
    worker->alive = false;
    // Its last words may still be in the socket.
    if (worker->poll_open && !uv_is_closing((uv_handle_t *)&worker->poll)) {
        receive(worker);
    }
    tarn_text sentence;
    const tarn_worker_end end = tell_end(worker, status, term_signal, sentence);
    uv_close((uv_handle_t *)process, on_process_closed);
    lose(worker, sentence, end);
}

// ---- what it is sent ----

static void on_poll(uv_poll_t *poll, int status, int events);

static void watch(tarn_worker_process *worker, int events)
{
    if (worker->polled == events || !worker->poll_open || uv_is_closing((uv_handle_t *)&worker->poll)) {
        return;
    }
    worker->polled = events;
    uv_poll_start(&worker->poll, events, on_poll);
}

/// The bytes to send next; NULL when nothing waits. A chunk that was begun is finished; else the queue goes first.
static const uint8_t *next_bytes(const tarn_worker_process *worker, size_t *byte_count, bool *is_chunk)
{
    const tarn_worker_chunks *chunks = &worker->chunks;
    const uint8_t *head = chunks->sent == 0 ? tarn_worker_queue_head(&worker->queue, byte_count) : NULL;
    *is_chunk = head == NULL && chunks->count > 0;
    if (*is_chunk) {
        TARN_ASSERT(chunks->sent < chunks->of[chunks->first].byte_count);
        *byte_count = chunks->of[chunks->first].byte_count - chunks->sent;
        head = chunks->of[chunks->first].bytes + chunks->sent;
    }
    return head;
}

static void note_chunk_sent(tarn_worker_process *worker, size_t byte_count)
{
    tarn_worker_chunks *chunks = &worker->chunks;
    chunks->sent += (uint32_t)byte_count;
    if (chunks->sent == chunks->of[chunks->first].byte_count) {
        chunks->sent = 0;
        chunks->first = (chunks->first + 1) % TARN_IPC_CHUNKS_MAX;
        chunks->count--;
        worker->events.chunk_sent(worker->events.user, worker);
    }
}

/// @param fd  goes along, where it isn't 0  @return as send
static ssize_t send_with(int socket, const uint8_t *bytes, size_t byte_count, int fd)
{
    union {
        struct cmsghdr head;
        uint8_t bytes[CMSG_SPACE(sizeof fd)];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec piece = {.iov_base = (void *)bytes, .iov_len = byte_count}; // which is only read
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (fd > 0) {
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
    }
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void flush(tarn_worker_process *worker)
{
    size_t bytes;
    bool is_chunk;
    const uint8_t *head;
    TARN_ASSERT(worker->fd >= 0);
    while ((head = next_bytes(worker, &bytes, &is_chunk)) != NULL) {
        ssize_t sent = send_with(worker->fd, head, bytes, is_chunk ? 0 : tarn_worker_queue_head_fd(&worker->queue));
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            break; // a full socket is waited for; a broken one is seen by the reader
        }
        if (is_chunk) {
            note_chunk_sent(worker, (size_t)sent);
        } else {
            if ((size_t)sent == bytes) {
                tarn_worker_sent_note(&worker->sent, tarn_worker_queue_first(&worker->queue));
            }
            tarn_worker_queue_sent(&worker->queue, (size_t)sent);
        }
    }
    // Another set of events costs those that the loop has just found. Each time that a socket is full and then isn't
    // would cost what the worker says, as long as viewers say much: only on_poll, which has read it, asks for less.
    if (head != NULL) {
        watch(worker, UV_READABLE | UV_WRITABLE);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    tarn_worker_process *worker = poll->data;
    // A worker that ended before it read everything makes this an error, too; its last words are in the socket.
    tarn_status read = status < 0 || (events & UV_READABLE) ? receive(worker) : TARN_OK;
    if (read == TARN_OK && status < 0) {
        read = TARN_E_IO;
    }
    if (read == TARN_E_IO) {
        close_poll(worker);
        worker->closed_ns = tarn_clock_monotonic_ns();
        return;
    }
    if (read != TARN_OK) {
        tarn_text sentence;
        snprintf(sentence, sizeof sentence, "the worker's messages cannot be read: %s", tarn_status_text(read));
        lose(worker, sentence, TARN_WORKER_END_OWN);
        return;
    }
    if (events & UV_WRITABLE) {
        size_t bytes;
        bool is_chunk;
        flush(worker);
        if (next_bytes(worker, &bytes, &is_chunk) == NULL) {
            watch(worker, UV_READABLE);
        }
    }
}

static tarn_status push(tarn_worker_process *worker, const tarn_ipc_message *message, tarn_worker_queue_key key,
                        bool is_move)
{
    if (worker->fd < 0) {
        return TARN_E_STATE;
    }
    tarn_status status = tarn_worker_queue_push(&worker->queue, message, key, is_move);
    if (status == TARN_OK) {
        flush(worker);
    }
    return status;
}

static tarn_status push_chunk(tarn_worker_process *worker, const tarn_ipc_message *message)
{
    tarn_worker_chunks *chunks = &worker->chunks;
    size_t bytes;
    if (worker->fd < 0) {
        return TARN_E_STATE;
    }
    if (chunks->count == TARN_IPC_CHUNKS_MAX) {
        return TARN_E_LIMIT;
    }
    const uint32_t place = (chunks->first + chunks->count) % TARN_IPC_CHUNKS_MAX;
    const tarn_status status = tarn_ipc_write(message, chunks->of[place].bytes, sizeof chunks->of[place].bytes, &bytes);
    if (status == TARN_OK) {
        chunks->of[place].byte_count = (uint32_t)bytes;
        chunks->count++;
        flush(worker);
    }
    return status;
}

// ---- its start ----

/// Arguments of the program; `made` holds the texts of those that aren't texts.
static void make_arguments(const tarn_worker_process *worker, char made[MADE_MAX][TARN_DEVICE_WORD_BYTES],
                           char *arguments[ARGUMENTS_MAX])
{
    const tarn_worker_config *config = &worker->config;
    int n = 0;
    snprintf(made[0], sizeof made[0], "%d", CHILD_FD);
    snprintf(made[1], sizeof made[1], "%u", config->threads);
    snprintf(made[2], sizeof made[2], "%u", config->fps);
    tarn_device_word_write(&config->device, made[3]);
    const char *list[] = {config->program, "--fd",  made[0], "--device",       made[3],
                          "--threads",     made[1], "--log", config->log_level};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        arguments[n++] = (char *)list[i];
    }
    if (config->fps != 0) {
        arguments[n++] = (char *)"--fps";
        arguments[n++] = made[2];
    }
    if (config->scenes != NULL) {
        arguments[n++] = (char *)"--scenes";
        arguments[n++] = (char *)config->scenes;
    }
    for (size_t i = 0; i < sizeof config->reads / sizeof config->reads[0]; i++) {
        if (config->reads[i] != NULL) {
            arguments[n++] = (char *)"--reads";
            arguments[n++] = (char *)config->reads[i];
        }
    }
    if (config->log_format != TARN_LOG_TEXT) {
        snprintf(made[4], sizeof made[4], "%u", worker->index);
        arguments[n++] = (char *)"--log-format";
        arguments[n++] = (char *)tarn_log_format_name(config->log_format);
        arguments[n++] = (char *)"--index";
        arguments[n++] = made[4];
    }
    TARN_ASSERT(n < ARGUMENTS_MAX);
    arguments[n] = NULL;
}

static int spawn_process(tarn_worker_process *worker, int child_fd)
{
    char made[MADE_MAX][TARN_DEVICE_WORD_BYTES];
    char *arguments[ARGUMENTS_MAX];
    make_arguments(worker, made, arguments);
    uv_stdio_container_t stdio[CHILD_FD + 1] = {
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = STDOUT_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = child_fd},
    };
    uv_process_options_t options = {
        .exit_cb = on_exit_seen,
        .file = worker->config.program,
        .args = arguments,
        .stdio_count = CHILD_FD + 1,
        .stdio = stdio,
    };
    worker->process.data = worker;
    int error = uv_spawn(worker->loop, &worker->process, &options);
    worker->process_open = true;
    worker->alive = error == 0;
    if (error) {
        uv_close((uv_handle_t *)&worker->process, on_process_closed);
    }
    return error;
}

/// @return 0, or a libuv error; then only handles that are closing are left
static int spawn(tarn_worker_process *worker)
{
    int ends[2];
    TARN_ASSERT(!worker->poll_open && !worker->process_open && !worker->alive);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return uv_translate_sys_error(errno);
    }
    // A busy worker sends between pieces of work only: what of a frame doesn't fit would wait for a whole one.
    int link_bytes = TARN_GATEWAY_WORKER_LINK_BYTES;
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &link_bytes, sizeof link_bytes);
    int error = spawn_process(worker, ends[1]);
    close(ends[1]);
    worker->fd = ends[0];
    if (!error) {
        error = uv_poll_init(worker->loop, &worker->poll, ends[0]);
    }
    if (error) {
        close(ends[0]);
        worker->fd = -1;
        if (worker->alive) {
            uv_process_kill(&worker->process, SIGKILL);
        }
        return error;
    }
    worker->poll.data = worker;
    worker->poll_open = true;
    worker->polled = 0;
    worker->loads_open = 0;
    worker->step_s = 0;
    worker->closed_ns = 0;
    worker->sentence[0] = 0;
    worker->starts_total++;
    worker->was_given_up = false;
    worker->silence = (tarn_worker_silence){0};
    worker->oom_kills = tarn_process_oom_kills();
    tarn_ipc_sink sink = {worker, on_message, frame_space, frame};
    tarn_ipc_reader_init(&worker->reader, &sink);
    clear_waiting(worker);
    enter(worker, TARN_WORKER_GREETING);
    watch(worker, UV_READABLE);
    tarn_ipc_message hello = {.kind = TARN_IPC_GATEWAY_HELLO};
    hello.gateway_hello.version = TARN_IPC_VERSION;
    snprintf(hello.gateway_hello.program, sizeof hello.gateway_hello.program, "tarnd %s", TARN_VERSION);
    push(worker, &hello, (tarn_worker_queue_key){0}, false);
    return 0;
}

tarn_status tarn_worker_process_start(tarn_worker_process *worker, uint32_t index, uv_loop_t *loop,
                                      const tarn_worker_config *config, const tarn_worker_events *events, tarn_text why)
{
    memset(worker, 0, sizeof *worker);
    worker->index = index;
    worker->fd = -1;
    worker->loop = loop;
    worker->config = *config;
    worker->events = *events;
    int error = spawn(worker);
    if (!error) {
        return TARN_OK;
    }
    snprintf(why, sizeof(tarn_text), "the worker %.300s cannot be started: %s", config->program, uv_strerror(error));
    return TARN_E_IO;
}

// ---- messages for it ----

/// Says which tanks are no more, as far as there is room.
static void send_unloads(tarn_worker_process *worker)
{
    while (worker->unload_count > 0) {
        const tarn_ipc_message message = {.kind = TARN_IPC_UNLOAD, .tank = worker->unloads[0]};
        if (push(worker, &message, (tarn_worker_queue_key){.kind = TARN_IPC_UNLOAD}, false) != TARN_OK) {
            return;
        }
        worker->unload_count--;
        memmove(worker->unloads, worker->unloads + 1, worker->unload_count * sizeof worker->unloads[0]);
    }
}

/// Keeps one for later. A worker has no more tanks than there are places, but where there were some that it never heard
/// of. @return TARN_OK or TARN_E_LIMIT
static tarn_status owe_unload(tarn_worker_process *worker, uint32_t tank)
{
    for (uint32_t i = 0; i < worker->unload_count; i++) {
        if (worker->unloads[i] == tank) {
            return TARN_OK;
        }
    }
    if (worker->unload_count == TARN_IPC_TANKS_MAX) {
        return TARN_E_LIMIT;
    }
    worker->unloads[worker->unload_count++] = tank;
    return TARN_OK;
}

tarn_status tarn_worker_process_send(tarn_worker_process *worker, const tarn_ipc_message *message,
                                     tarn_worker_queue_key key, bool is_move)
{
    if (worker->phase != TARN_WORKER_READY) {
        return TARN_E_STATE;
    }
    if (message->kind == TARN_IPC_STATE_CHUNK) {
        return push_chunk(worker, message);
    }
    send_unloads(worker); // they take places that a new tank may need
    tarn_status status = push(worker, message, key, is_move);
    if (message->kind == TARN_IPC_UNLOAD) {
        status = status == TARN_E_LIMIT ? owe_unload(worker, message->tank) : status;
        note_loaded(worker, message->tank, UINT32_MAX); // nothing is answered for it any more
    }
    if (status == TARN_OK && (message->kind == TARN_IPC_LOAD || message->kind == TARN_IPC_RESTORE)) {
        const bool is_new = message->kind == TARN_IPC_LOAD && !message->load.resumes;
        note_load(worker, message->tank, is_new ? message->load.epoch : 0);
        worker->answered_ns = tarn_clock_monotonic_ns();
    }
    return status;
}

static bool is_present(const tarn_ipc_present *present, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < present->viewer_count; i++) {
        if (present->viewer_ids[i] == viewer_id) {
            return true;
        }
    }
    return false;
}

/// Whether the next worker is to have it, too. That a viewer lets go of everything in any case: the box may know it as
/// held still. Of anything else, what is no more may be what ends workers.
static bool comes_again(const tarn_worker_queue_entry *entry, const tarn_ipc_present *present)
{
    return entry->kind == TARN_IPC_VIEWER_GONE ||
           (entry->times < TARN_GATEWAY_WORKER_SENT_TIMES_MAX && is_present(present, entry->key.viewer_id));
}

bool tarn_worker_process_send_again(tarn_worker_process *worker, uint32_t tank, const tarn_ipc_present *present,
                                    uint64_t *at, uint64_t until)
{
    static tarn_worker_queue_entry entry; // large
    while (tarn_worker_sent_next(&worker->sent, at, until, tank, &entry)) {
        if (comes_again(&entry, present) &&
            (worker->fd < 0 || tarn_worker_queue_put(&worker->queue, &entry, entry.bytes) != TARN_OK)) {
            return false;
        }
        tarn_worker_sent_drop(&worker->sent, *at);
        flush(worker);
    }
    return true;
}

bool tarn_worker_process_send_all(tarn_worker_process *worker, tarn_worker_queue *from, uint32_t tank)
{
    if (worker->phase != TARN_WORKER_READY || worker->fd < 0) {
        return false;
    }
    const bool is_all = tarn_worker_queue_append(&worker->queue, from, tank);
    flush(worker);
    return is_all;
}

// ---- whether it lives ----

/// Without an answer for so long it hangs. A worker that is well answers between two pieces of a step.
static uint64_t answer_ns_max(const tarn_worker_process *worker)
{
    if (worker->loads_open > 0) {
        return ms(TARN_GATEWAY_WORKER_LOAD_MS_MAX);
    }
    if (worker->config.timeout_s > 0) {
        return ms((uint64_t)worker->config.timeout_s * 1000);
    }
    return ms(TARN_GATEWAY_WORKER_HANGS_MS) + (uint64_t)(worker->step_s * 1e9 * TARN_GATEWAY_WORKER_HANGS_STEPS);
}

/// Why a worker is silent, from halfway to its limit on: it is looked at then, and at the end.
typedef enum silence_cause { SILENCE_OWN, SILENCE_STARVED, SILENCE_STOPPED } silence_cause;

static silence_cause cause_of_silence(tarn_worker_process *worker, uint64_t now_ns)
{
    tarn_process_work now;
    const tarn_worker_silence *from = &worker->silence;
    if (!worker->alive || from->since_ns == 0 || from->since_ns != worker->answered_ns ||
        !tarn_process_work_read(tarn_worker_process_pid(worker), &now)) {
        return SILENCE_OWN;
    }
    const uint64_t waited_ns = now.waited_ns - from->work.waited_ns, ran_ns = now.ran_ns - from->work.ran_ns;
    return now.is_stopped                                                           ? SILENCE_STOPPED
           : waited_ns >= ran_ns / 2 && waited_ns >= (now_ns - from->looked_ns) / 4 ? SILENCE_STARVED
                                                                                    : SILENCE_OWN;
}

/// It didn't answer for as long as it may. @return false: others take its processors, and it gets more time
static bool end_silence(tarn_worker_process *worker, uint64_t now_ns, uint64_t limit_ns)
{
    static const char *const causes[] = {
        [SILENCE_OWN] = "--worker-timeout gives it longer",
        [SILENCE_STARVED] = "it got too little of the processors, which others take: the machine is too busy",
        [SILENCE_STOPPED] = "it had been stopped by a signal",
    };
    const uint64_t silent_ns = now_ns - worker->answered_ns;
    const silence_cause cause = cause_of_silence(worker, now_ns);
    const bool is_patient = cause == SILENCE_STARVED && worker->config.timeout_s == 0;
    tarn_text sentence;
    if (is_patient && silent_ns <= TARN_GATEWAY_WORKER_PATIENCE * limit_ns) {
        return false;
    }
    snprintf(sentence, sizeof sentence, "the worker did not answer for %.1f s and was killed; %s",
             1e-9 * (double)silent_ns, causes[cause]);
    lose(worker, sentence, cause == SILENCE_OWN ? TARN_WORKER_END_OWN : TARN_WORKER_END_OUTSIDE);
    return true;
}

static void check_answers(tarn_worker_process *worker, uint64_t now_ns)
{
    if (worker->closed_ns != 0) { // how it ended says more, and whose doing it was
        if (now_ns > worker->closed_ns + ms(TARN_GATEWAY_WORKER_CLOSED_MS)) {
            lose(worker, "the worker closed its socket and did not end", TARN_WORKER_END_OWN);
        }
        return;
    }
    send_unloads(worker);
    const uint64_t limit_ns = answer_ns_max(worker),
                   silent_ns = now_ns > worker->answered_ns ? now_ns - worker->answered_ns : 0;
    if (worker->alive && silent_ns > limit_ns / 2 && worker->silence.since_ns != worker->answered_ns &&
        tarn_process_work_read(tarn_worker_process_pid(worker), &worker->silence.work)) {
        worker->silence.since_ns = worker->answered_ns;
        worker->silence.looked_ns = now_ns;
    }
    if (silent_ns > limit_ns && end_silence(worker, now_ns, limit_ns)) {
        return;
    }
    if (now_ns >= worker->ping_ns + ms(TARN_GATEWAY_WORKER_PING_MS) &&
        worker->ping_id % TARN_GATEWAY_WORKER_OOM_PINGS == 0) {
        worker->oom_kills = tarn_process_oom_kills();
    }
    if (now_ns >= worker->ping_ns + ms(TARN_GATEWAY_WORKER_PING_MS)) {
        tarn_ipc_message ping = {.kind = TARN_IPC_PING};
        ping.ping.id = ++worker->ping_id;
        worker->ping_ns = now_ns;
        // As a move: of the pings that wait, only the newest stays.
        push(worker, &ping, (tarn_worker_queue_key){.kind = TARN_IPC_PING}, true);
    }
}

void tarn_worker_process_tick(tarn_worker_process *worker, uint64_t now_ns)
{
    switch (worker->phase) {
    case TARN_WORKER_GREETING:
        if (now_ns - worker->phase_since_ns > ms(TARN_GATEWAY_WORKER_HELLO_MS_MAX)) {
            lose(worker, "the worker did not say hello in time", TARN_WORKER_END_OWN);
        }
        break;
    case TARN_WORKER_READY:
        check_answers(worker, now_ns);
        break;
    case TARN_WORKER_WAITING:
    case TARN_WORKER_GIVEN_UP: {
        if (now_ns < worker->retry_ns || worker->process_open || worker->poll_open) {
            break;
        }
        int error = spawn(worker);
        if (error) {
            snprintf(worker->sentence, sizeof worker->sentence, "the worker cannot be started: %s", uv_strerror(error));
            enter(worker, TARN_WORKER_GREETING);
            lose(worker, "", TARN_WORKER_END_OWN);
        }
        break;
    }
    case TARN_WORKER_ENDING:
        if (worker->alive && now_ns - worker->phase_since_ns > ms(TARN_GATEWAY_END_WORKER_MS_MAX)) {
            uv_process_kill(&worker->process, SIGKILL);
        }
        break;
    case TARN_WORKER_NONE:
        break;
    }
}

bool tarn_worker_process_is_ready(const tarn_worker_process *worker)
{
    return worker->phase == TARN_WORKER_READY;
}

int tarn_worker_process_pid(const tarn_worker_process *worker)
{
    return worker->alive ? uv_process_get_pid(&worker->process) : 0;
}

uint64_t tarn_worker_process_retry_ms(const tarn_worker_process *worker, uint64_t now_ns)
{
    const bool waits = worker->phase == TARN_WORKER_WAITING || worker->phase == TARN_WORKER_GIVEN_UP;
    return waits && worker->retry_ns > now_ns ? (worker->retry_ns - now_ns + 999999) / 1000000 : 0;
}

void tarn_worker_process_divert(tarn_worker_process *worker, uint32_t tank, uint8_t *space)
{
    tarn_ipc_reader_divert(&worker->reader, tank, space);
}

void tarn_worker_process_retry(tarn_worker_process *worker)
{
    if (worker->phase != TARN_WORKER_GIVEN_UP) {
        return;
    }
    worker->failures = worker->kills = 0;
    worker->retry_ns = 0;
    enter(worker, TARN_WORKER_WAITING);
}

bool tarn_worker_process_is_gone(const tarn_worker_process *worker)
{
    return !worker->alive && !worker->process_open && !worker->poll_open;
}

// ---- all workers ----

tarn_status tarn_workers_start(tarn_workers *workers, uv_loop_t *loop, const tarn_device_list *devices,
                               const tarn_worker_config *config, const tarn_worker_events *events, tarn_text why)
{
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < devices->count && status == TARN_OK; i++) {
        tarn_worker_config own = *config;
        TARN_ASSERT(workers->count == i && i < TARN_GATEWAY_WORKERS_MAX);
        own.device = devices->devices[i];
        status = tarn_worker_process_start(&workers->workers[i], i, loop, &own, events, why);
        workers->count += status == TARN_OK;
    }
    return status;
}

void tarn_workers_configure(tarn_workers *workers, uint32_t timeout_s, const char *log_level)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        workers->workers[i].config.timeout_s = timeout_s;
        workers->workers[i].config.log_level = log_level;
    }
}

void tarn_workers_tick(tarn_workers *workers, uint64_t now_ns)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        tarn_worker_process_tick(&workers->workers[i], now_ns);
    }
}

void tarn_workers_stood(tarn_workers *workers, const tarn_standstill *stood)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        tarn_standstill_move(stood, &workers->workers[i].answered_ns);
        tarn_standstill_move(stood, &workers->workers[i].closed_ns);
        tarn_standstill_move(stood, &workers->workers[i].phase_since_ns);
    }
}

uint32_t tarn_workers_ready(const tarn_workers *workers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < workers->count; i++) {
        count += tarn_worker_process_is_ready(&workers->workers[i]);
    }
    return count;
}

uint32_t tarn_workers_given_up(const tarn_workers *workers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < workers->count; i++) {
        count += workers->workers[i].phase == TARN_WORKER_GIVEN_UP;
    }
    return count;
}

/// Asks the worker to end; it is killed after TARN_GATEWAY_END_WORKER_MS_MAX.
static void end(tarn_worker_process *worker)
{
    if (worker->phase == TARN_WORKER_NONE || worker->phase == TARN_WORKER_ENDING) {
        return;
    }
    tarn_ipc_message message = {.kind = TARN_IPC_SHUTDOWN};
    if (worker->fd >= 0 && worker->alive) {
        push(worker, &message, (tarn_worker_queue_key){0}, false);
    }
    if (worker->phase == TARN_WORKER_GREETING && worker->alive) {
        uv_process_kill(&worker->process, SIGKILL);
    }
    enter(worker, TARN_WORKER_ENDING);
    if (!worker->alive) {
        close_poll(worker);
    }
}

void tarn_workers_end(tarn_workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        end(&workers->workers[i]);
    }
}

bool tarn_workers_are_gone(const tarn_workers *workers)
{
    bool are_gone = true;
    for (uint32_t i = 0; i < workers->count; i++) {
        are_gone &= tarn_worker_process_is_gone(&workers->workers[i]);
    }
    return are_gone;
}

void tarn_workers_device(const tarn_workers *workers, tarn_name device)
{
    const char *first = workers->workers[0].hello.device;
    const int length = workers->count > 1 ? snprintf(device, sizeof(tarn_name), "%s; %u devices", first, workers->count)
                                          : TARN_NAME_BYTES_MAX + 1;
    if (length > TARN_NAME_BYTES_MAX) { // half a character is none
        memcpy(device, first, sizeof(tarn_name));
    }
}
