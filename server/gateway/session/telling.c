// Begin at tarn_session_telling_want. What the worker put into the memory is read, never mapped: it may cut it short.
#include "server/gateway/session/telling.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/gateway/session/box.h"
#include "server/gateway/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert((int)TARN_IPC_SCENE_TOLD_BYTES_MAX <= (int)TARN_GATEWAY_PAGE_BYTES_MAX, "what is told can be sent");

static const char NOT_NOW[] = "the tank can't be told as a scene just now; try again in a moment",
                  TOO_MANY[] = "too many tanks as they stand are on their way to slow readers; try again in a minute";

_Static_assert(TARN_GATEWAY_TOLD_MS_MIN == 60000, "a sentence says a minute");
_Static_assert((int)TARN_GATEWAY_PAGE_BYTES_MAX <= (int)TARN_GATEWAY_TOLD_BYTES_MAX, "there is room for one at least");

/// Tells all that wait. @param page  NULL: there is none
static void tell_all(tarn_session *session, unsigned status, const char *why, tarn_scene_page *page)
{
    tarn_telling_wait *wait = session->telling.waiting;
    session->telling.waiting = NULL;
    tarn_session_box_close(&session->telling.fd);
    while (wait != NULL) {
        tarn_telling_wait *next = wait->next;
        wait->session = NULL;
        wait->next = NULL;
        wait->is_told = true;
        wait->status = status;
        wait->page = page;
        if (page != NULL) {
            page->user_count++;
        }
        snprintf(wait->why, sizeof wait->why, "%s", why);
        wait->is_done(wait->user);
        wait = next;
    }
}

static void forget_page(tarn_session *session)
{
    tarn_scene_page_close(session->telling.page);
    session->telling.page = NULL;
}

/// Asks the worker. @return whether it has been
static bool ask(tarn_session *session)
{
    tarn_session_telling *telling = &session->telling;
    const tarn_worker_queue_key key = {.kind = TARN_IPC_SCENE_WANTED, .index = session->id & TARN_SESSION_PLACE_MASK};
    tarn_ipc_message message = {.kind = TARN_IPC_SCENE_WANTED, .tank = session->id};
    if (session->worker == NULL || !session->state.worker_ready || !tarn_worker_process_is_ready(session->worker)) {
        return false;
    }
    const int fd = memfd_create("tarn-scene", MFD_CLOEXEC);
    if (fd <= 0 || !tarn_session_box_can_go(fd)) {
        if (fd > 0) {
            close(fd);
        }
        return false;
    }
    telling->fd = fd;
    telling->asked_ns = tarn_clock_monotonic_ns();
    message.scene_wanted = (tarn_ipc_scene_wanted){.ask = ++telling->asks, .box = fd};
    if (tarn_worker_process_send(session->worker, &message, key, false) != TARN_OK) {
        tarn_session_box_close(&telling->fd);
        return false;
    }
    return true;
}

void tarn_session_telling_want(tarn_session *session, tarn_scene_pages *pages, tarn_telling_wait *wait)
{
    tarn_session_telling *telling = &session->telling;
    telling->pages = pages;
    if (telling->page != NULL && !telling->page->is_gone) {
        wait->is_told = true;
        wait->status = 200;
        wait->page = telling->page;
        wait->page->user_count++;
        return;
    }
    if (telling->fd <= 0 && !ask(session)) {
        wait->is_told = true;
        wait->status = 503;
        snprintf(wait->why, sizeof wait->why, "%s", NOT_NOW);
        return;
    }
    wait->session = session;
    wait->next = telling->waiting;
    telling->waiting = wait;
}

void tarn_session_telling_leave(tarn_telling_wait *wait)
{
    tarn_telling_wait **link = wait->session != NULL ? &wait->session->telling.waiting : NULL;
    while (link != NULL && *link != NULL && *link != wait) {
        link = &(*link)->next;
    }
    if (link != NULL && *link == wait) {
        *link = wait->next;
    }
    tarn_scene_page_close(wait->page);
    *wait = (tarn_telling_wait){0};
}

/// @param page  NULL on failure  @return TARN_OK, TARN_E_IO (not all of it is there), TARN_E_LIMIT or TARN_E_MEMORY
static tarn_status read_page(tarn_session_telling *telling, uint32_t byte_count, tarn_scene_page **page)
{
    uint8_t *bytes = malloc(byte_count > 0 ? byte_count : 1);
    size_t done = 0;
    *page = NULL;
    while (bytes != NULL && done < byte_count) {
        const ssize_t got = pread(telling->fd, bytes + done, byte_count - done, (off_t)done);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            free(bytes);
            return TARN_E_IO;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return bytes != NULL ? tarn_scene_page_take(telling->pages, bytes, byte_count, telling->told_ns, page)
                         : TARN_E_MEMORY;
}

void tarn_session_telling_told(tarn_session *session, const tarn_ipc_scene_told *told)
{
    tarn_session_telling *telling = &session->telling;
    if (telling->fd <= 0 || told->ask != telling->asks) {
        return; // nobody waits for that one any more
    }
    if (told->lack != TARN_IPC_SCENE_LACKS_NOT) {
        tell_all(session, told->lack == TARN_IPC_SCENE_LACKS_WORDS ? 409 : 503, told->why, NULL);
        return;
    }
    forget_page(session);
    telling->told_ns = tarn_clock_monotonic_ns();
    const tarn_status status = read_page(telling, told->byte_count, &telling->page);
    tell_all(session, status == TARN_OK ? 200 : 503,
             status == TARN_OK        ? ""
             : status == TARN_E_LIMIT ? TOO_MANY
                                      : NOT_NOW,
             telling->page);
}

void tarn_session_telling_tick(tarn_session *session, uint64_t now_ns)
{
    tarn_session_telling *telling = &session->telling;
    if (telling->fd > 0 && (!session->state.worker_ready ||
                            now_ns - telling->asked_ns > TARN_GATEWAY_TELLING_MS_MAX * UINT64_C(1000000))) {
        tell_all(session, 503, NOT_NOW, NULL);
    }
    if (telling->page != NULL && now_ns - telling->told_ns > TARN_GATEWAY_TELLING_KEEP_MS * UINT64_C(1000000)) {
        forget_page(session);
    }
}

void tarn_session_telling_end(tarn_session *session)
{
    tell_all(session, 404, "there is no such session any more", NULL);
    forget_page(session);
}
