// A process, a socket to it and what waits for that. It is over when the process has ended and its line has been read;
// its memory goes when libuv has let go of both, and whoever asked for it has, too.
#include "server/gateway/session/upload.h"
#include "protocol/assert.h"
#include "server/base/log.h"
#include "server/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_BYTES = 4096, FILE_FD = 3 };

struct tarn_upload {
    tarn_uploads *uploads;
    tarn_upload *next;
    tarn_upload_plan plan; ///< session and by are these:
    tarn_name session;
    tarn_token_id by;
    tarn_name id;
    uv_process_t process;
    uv_poll_t poll;
    uint32_t handles_open;
    int fd; ///< of the socket; -1: closed
    bool has_ended, is_told, is_over, is_done, is_closed, is_late, is_orphan;
    uint64_t settles_at;       ///< it is kept, once the folder's changes have come so far; 0: it isn't
    tarn_uploads_place *place; ///< NULL: it takes none any more
    bool is_whole;             ///< all of the body has come
    int64_t exit_status;
    int exit_signal;
    uint32_t ticks; ///< since it was whole: a standstill of this program isn't the scene's
    size_t queue_begin, queue_bytes;
    size_t line_bytes;
    tarn_upload_result result;
    char line[LINE_BYTES + 1];
    uint8_t queue[TARN_GATEWAY_UPLOAD_QUEUE_BYTES];
};

static void free_if_over(tarn_upload *upload)
{
    if (upload->handles_open > 0 || !upload->is_closed) {
        return;
    }
    for (tarn_upload **link = &upload->uploads->running; *link != NULL; link = &(*link)->next) {
        if (*link == upload) {
            *link = upload->next;
            break;
        }
    }
    free(upload);
}

static void on_handle_closed(uv_handle_t *handle)
{
    tarn_upload *upload = handle->data;
    upload->handles_open--;
    free_if_over(upload);
}

static void close_socket(tarn_upload *upload)
{
    if (upload->fd < 0) {
        return;
    }
    uv_close((uv_handle_t *)&upload->poll, on_handle_closed);
    close(upload->fd);
    upload->fd = -1;
}

static void leave_place(tarn_upload *upload)
{
    if (upload->place != NULL) {
        upload->is_orphan |= upload->place->is_over;
        *upload->place = (tarn_uploads_place){0};
        upload->place = NULL;
    }
}

static void fail(tarn_upload *upload, unsigned status, const char *sentence)
{
    upload->result.status = status;
    snprintf(upload->result.why, sizeof upload->result.why, "%s", sentence);
    tarn_make_printable(upload->result.why);
}

/// A text of the line, which a process that a scene has taken over may have written.
static void take_text(const json_t *object, const char *name, tarn_text text)
{
    const char *found = json_string_value(json_object_get(object, name));
    snprintf(text, sizeof(tarn_text), "%s", found != NULL ? found : "");
    tarn_make_printable(text);
}

static uint64_t take_number(const json_t *object, const char *name)
{
    const json_int_t found = json_integer_value(json_object_get(object, name));
    return found > 0 ? (uint64_t)found : 0;
}

static void take_remarks(const json_t *object, tarn_upload_result *result)
{
    const json_t *found = json_object_get(object, "remarks");
    for (size_t i = 0; i < json_array_size(found) && result->remark_count < TARN_REMARKS_MAX; i++) {
        const char *text = json_string_value(json_array_get(found, i));
        char *to = result->remarks[result->remark_count++];
        snprintf(to, sizeof result->remarks[0], "%s", text != NULL ? text : "");
        tarn_make_printable(to);
    }
}

static void say_how_it_ended(tarn_upload *upload)
{
    tarn_text why;
    if (upload->is_late) { // its processor time has a limit of its own
        snprintf(why, sizeof why, "the server was too busy to read the scene within %d s; try again in a moment",
                 TARN_GATEWAY_UPLOAD_CHECK_MS_MAX / 1000);
        fail(upload, 503, why);
        return;
    }
    if (upload->exit_signal == SIGXCPU || upload->exit_signal == SIGKILL) {
        snprintf(why, sizeof why,
                 "reading the scene took longer, or more memory, than is allowed; simpler meshes would help");
    } else {
        snprintf(why, sizeof why, "the scene's check failed (%s %d): its files can't be read",
                 upload->exit_signal != 0 ? "signal" : "status",
                 upload->exit_signal != 0 ? upload->exit_signal : (int)upload->exit_status);
        tarn_log_error("an uploaded scene's check ended by %s %d", upload->exit_signal != 0 ? "signal" : "status",
                       upload->exit_signal != 0 ? upload->exit_signal : (int)upload->exit_status);
    }
    fail(upload, 400, why);
}

/// What the line says. @return whether the scene is right
static bool take_line(tarn_upload *upload)
{
    json_t *object = json_loads(upload->line, 0, NULL);
    tarn_text why;
    if (object == NULL || upload->exit_signal != 0 || upload->exit_status != 0 || upload->is_late) {
        json_decref(object);
        say_how_it_ended(upload);
        return false;
    }
    take_text(object, "error", why);
    const bool is_right = why[0] == 0 && upload->is_whole;
    if (!is_right) {
        fail(upload, json_is_true(json_object_get(object, "is_disk")) ? 503 : 400,
             why[0] != 0 ? why : "the scene's check ended before all of it had come");
    }
    take_text(object, "title", upload->result.title);
    upload->result.files = take_number(object, "files");
    upload->result.particles = take_number(object, "particles");
    take_remarks(object, &upload->result);
    json_decref(object);
    return is_right;
}

/// What came of it is known: whoever waits is told.
static void tell(tarn_upload *upload)
{
    upload->is_done = true;
    if (!upload->is_closed) {
        upload->plan.is_done(upload->plan.user);
    }
}

static void on_settled(tarn_uploads *uploads)
{
    for (tarn_upload *upload = uploads->running; upload != NULL; upload = upload->next) {
        if (upload->is_over && !upload->is_done && upload->settles_at <= uploads->settling.done) {
            tell(upload);
        }
    }
}

static void finish(tarn_upload *upload)
{
    tarn_text why;
    if (upload->is_over || !upload->has_ended || !upload->is_told) {
        return;
    }
    upload->is_over = true;
    leave_place(upload);
    const tarn_uploads_scene *kept = NULL;
    if (upload->is_closed || upload->is_orphan || !take_line(upload)) {
        tarn_uploads_file_drop(upload->uploads, upload->session, upload->by, upload->id);
    } else {
        kept = tarn_uploads_file_keep(upload->uploads, upload->session, upload->by, upload->id, upload->plan.byte_count,
                                      why);
    }
    if (kept != NULL) {
        upload->result.status = 201;
        upload->result.scene = *kept;
        upload->uploads->settling.settled = on_settled;
        upload->settles_at = tarn_uploads_settle(upload->uploads);
    } else if (upload->is_orphan) {
        fail(upload, 404, "there is no such session any more");
    } else if (upload->result.status == 0) {
        fail(upload, 503, why);
    }
    if (!upload->is_done && upload->settles_at <= upload->uploads->settling.done) {
        tell(upload);
    }
}

static void on_exit_seen(uv_process_t *process, int64_t status, int number)
{
    tarn_upload *upload = process->data;
    upload->has_ended = true;
    upload->exit_status = status;
    upload->exit_signal = number;
    finish(upload);
    uv_close((uv_handle_t *)process, on_handle_closed);
}

/// Reads what the process says. At its end, or of more than a line, there is nothing left to be said.
static void read_line(tarn_upload *upload)
{
    while (upload->fd >= 0) {
        const size_t room = LINE_BYTES - upload->line_bytes;
        const ssize_t got = room > 0 ? recv(upload->fd, upload->line + upload->line_bytes, room, MSG_DONTWAIT) : 0;
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        }
        if (got <= 0) {
            close_socket(upload);
            upload->is_told = true;
            finish(upload);
            return;
        }
        upload->line_bytes += (size_t)got;
    }
}

static void on_poll(uv_poll_t *poll, int status, int events);

/// Asks for what there is to wait for.
static void wait(tarn_upload *upload)
{
    if (upload->fd >= 0) {
        uv_poll_start(&upload->poll, UV_READABLE | (upload->queue_bytes > 0 ? UV_WRITABLE : 0), on_poll);
    }
}

/// Sends what waits, as far as the socket takes it. What a process that has ended doesn't take is nobody's.
static void flush(tarn_upload *upload)
{
    while (upload->fd >= 0 && upload->queue_bytes > 0) {
        const size_t until_end = sizeof upload->queue - upload->queue_begin;
        const size_t count = upload->queue_bytes < until_end ? upload->queue_bytes : until_end;
        const ssize_t sent = send(upload->fd, upload->queue + upload->queue_begin, count, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        }
        const size_t gone = sent < 0 ? count : (size_t)sent;
        upload->queue_begin = (upload->queue_begin + gone) % sizeof upload->queue;
        upload->queue_bytes -= gone;
    }
    if (upload->fd >= 0 && upload->is_whole) {
        (void)shutdown(upload->fd, SHUT_WR);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    tarn_upload *upload = poll->data;
    const size_t before = upload->queue_bytes;
    (void)status;
    if (events & UV_WRITABLE) {
        flush(upload);
    }
    read_line(upload); // an error is found there, too
    wait(upload);
    if (!upload->is_closed && before > TARN_GATEWAY_UPLOAD_QUEUE_FULL_BYTES &&
        (upload->queue_bytes <= TARN_GATEWAY_UPLOAD_QUEUE_FULL_BYTES || upload->fd < 0)) {
        upload->plan.may_go_on(upload->plan.user);
    }
}

static int spawn(tarn_upload *upload, int child_fd, int file_fd)
{
    char option[] = "--take-scene", fd_option[] = "--fd=3";
    char *arguments[] = {(char *)(uintptr_t)upload->uploads->program, option, fd_option,
                         NULL}; // which libuv only reads
    _Static_assert(FILE_FD == 3, "an option says so");
    uv_stdio_container_t stdio[FILE_FD + 1] = {
        {.flags = UV_INHERIT_FD, .data.fd = child_fd},
        {.flags = UV_INHERIT_FD, .data.fd = child_fd},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = file_fd},
    };
    uv_process_options_t options = {
        .exit_cb = on_exit_seen,
        .file = upload->uploads->program,
        .args = arguments,
        .stdio_count = FILE_FD + 1,
        .stdio = stdio,
    };
    upload->process.data = upload;
    const int error = uv_spawn(upload->uploads->loop, &upload->process, &options);
    upload->handles_open++;
    if (error != 0) {
        upload->has_ended = true;
        uv_close((uv_handle_t *)&upload->process, on_handle_closed);
    }
    return error;
}

/// @return 0, or a libuv error: then handles that are closing may be left
static int start(tarn_upload *upload, int file_fd)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return uv_translate_sys_error(errno);
    }
    int error = spawn(upload, ends[1], file_fd);
    close(ends[1]);
    if (error == 0) {
        error = uv_poll_init(upload->uploads->loop, &upload->poll, ends[0]);
    }
    if (error != 0) {
        close(ends[0]);
        if (!upload->has_ended) {
            uv_process_kill(&upload->process, SIGKILL);
        }
        return error;
    }
    upload->fd = ends[0];
    upload->poll.data = upload;
    upload->handles_open++;
    wait(upload);
    return 0;
}

tarn_status tarn_upload_begin(tarn_uploads *uploads, const tarn_upload_plan *plan, tarn_upload **out, tarn_text why)
{
    *out = NULL;
    tarn_upload *upload = calloc(1, sizeof *upload);
    if (upload == NULL) {
        snprintf(why, sizeof(tarn_text), "the server has no memory for it now");
        return TARN_E_MEMORY;
    }
    upload->place = tarn_uploads_take_place(uploads, plan->session, plan->by, plan->byte_count, why);
    if (upload->place == NULL) {
        free(upload);
        return TARN_E_LIMIT;
    }
    upload->uploads = uploads;
    upload->plan = *plan;
    upload->fd = -1;
    snprintf(upload->session, sizeof upload->session, "%s", plan->session);
    snprintf(upload->by, sizeof upload->by, "%s", plan->by);
    upload->plan.session = upload->session;
    upload->plan.by = upload->by;
    upload->next = uploads->running;
    uploads->running = upload;
    const int file_fd = tarn_uploads_file_open(uploads, plan->session, plan->by, upload->id, why);
    int error = file_fd >= 0 ? 0 : -1;
    if (error == 0 && (error = start(upload, file_fd)) != 0) {
        snprintf(why, sizeof(tarn_text), "the scene's check can't be started: %s", uv_strerror(error));
        tarn_uploads_file_drop(uploads, plan->session, plan->by, upload->id);
    }
    if (file_fd >= 0) {
        close(file_fd);
    }
    if (error != 0) {
        leave_place(upload);
        upload->is_closed = true;
        upload->is_told = true;
        free_if_over(upload);
        return TARN_E_IO;
    }
    *out = upload;
    return TARN_OK;
}

bool tarn_upload_take(tarn_upload *upload, const void *bytes, size_t byte_count)
{
    if (upload->fd < 0) {
        return true; // nobody reads it any more
    }
    TARN_ASSERT(byte_count <= sizeof upload->queue - upload->queue_bytes);
    const size_t at = (upload->queue_begin + upload->queue_bytes) % sizeof upload->queue;
    const size_t until_end = sizeof upload->queue - at, first = byte_count < until_end ? byte_count : until_end;
    memcpy(upload->queue + at, bytes, first);
    memcpy(upload->queue, (const uint8_t *)bytes + first, byte_count - first);
    upload->queue_bytes += byte_count;
    flush(upload);
    wait(upload);
    return upload->queue_bytes <= TARN_GATEWAY_UPLOAD_QUEUE_FULL_BYTES;
}

void tarn_upload_end(tarn_upload *upload)
{
    upload->is_whole = true;
    flush(upload);
}

const tarn_upload_result *tarn_upload_done(const tarn_upload *upload)
{
    return upload->is_done ? &upload->result : NULL;
}

static void kill_check(tarn_upload *upload)
{
    if (!upload->has_ended) {
        uv_process_kill(&upload->process, SIGKILL);
    }
}

void tarn_upload_close(tarn_upload *upload)
{
    if (upload == NULL) {
        return;
    }
    TARN_ASSERT(!upload->is_closed);
    upload->is_closed = true;
    leave_place(upload);
    kill_check(upload);
    free_if_over(upload);
}

void tarn_upload_tick(tarn_uploads *uploads)
{
    for (tarn_upload *upload = uploads->running; upload != NULL; upload = upload->next) {
        if (upload->is_whole && !upload->has_ended &&
            ++upload->ticks > TARN_GATEWAY_UPLOAD_CHECK_MS_MAX / TARN_GATEWAY_TICK_MS) {
            upload->is_late = true;
            kill_check(upload);
        }
        if (upload->place != NULL && upload->place->is_over) {
            kill_check(upload);
        }
    }
}
