// The store as the gateway's thread sees it: begin at tarn_store_keep. What is done with it is in rounds.c.
#include "server/gateway/store/store.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/files.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/gateway/session/session.h"
#include "server/gateway/store/files.h"
#include "server/gateway/store/rounds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- its folder and its thread ----

static tarn_status take_folder(tarn_store *store, tarn_text why)
{
    tarn_status status;
    if (mkdir(store->dir, 0700) != 0 && errno != EEXIST) {
        snprintf(why, sizeof(tarn_text), "--store %.300s: it can't be made: %s", store->dir, strerror(errno));
        return TARN_E_IO;
    }
    store->lock_fd = tarn_store_take_lock(store->dir, &status, why);
    return status;
}

static tarn_status start_thread(tarn_store *store, tarn_text why)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&store->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&store->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    const int error = pthread_create(&store->thread, NULL, tarn_store_rounds, store);
    if (error != 0) {
        snprintf(why, sizeof(tarn_text), "--store: there is no thread for it: %s", strerror(error));
    }
    return error == 0 ? TARN_OK : TARN_E_MEMORY;
}

tarn_status tarn_store_open(tarn_store **store, const char *dir, uint32_t commit_ms, const tarn_store_limit *limit,
                            uint32_t history_minutes, tarn_text why)
{
    tarn_store *made = calloc(1, sizeof *made);
    *store = NULL;
    snprintf(why, sizeof(tarn_text), "--store: out of memory");
    if (made == NULL) {
        return TARN_E_MEMORY;
    }
    made->lock_fd = -1;
    made->commit_ms = commit_ms;
    made->limit = *limit;
    made->history_ns = history_minutes * (uint64_t)60000000000;
    made->opened_s = (int64_t)time(NULL);
    made->opened_ns = tarn_clock_monotonic_ns();
    tarn_status status = TARN_OK;
    if (dir[0] == 0 || (size_t)snprintf(made->dir, sizeof made->dir, "%s", dir) >= sizeof made->dir) {
        snprintf(why, sizeof(tarn_text), "--store: found a path of %zu bytes, allowed are 1 to %zu", strlen(dir),
                 sizeof made->dir - 1);
        status = TARN_E_IO;
    }
    if (status == TARN_OK) {
        status = take_folder(made, why);
    }
    if (status == TARN_OK) {
        status = start_thread(made, why);
    }
    if (status != TARN_OK) {
        if (made->lock_fd >= 0) {
            close(made->lock_fd);
        }
        free(made);
        return status;
    }
    *store = made;
    return TARN_OK;
}

void tarn_store_set(tarn_store *store, uint32_t commit_ms, const tarn_store_limit *limit)
{
    pthread_mutex_lock(&store->mutex);
    store->commit_ms = commit_ms;
    store->limit = *limit;
    pthread_mutex_unlock(&store->mutex);
}

// ---- what is found in the folder ----

static int is_session(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name), end = sizeof TARN_TANK_FILES_SUFFIX - 1;
    return length > end && length - end <= TARN_NAME_BYTES_MAX &&
           strcmp(entry->d_name + length - end, TARN_TANK_FILES_SUFFIX) == 0;
}

/// @return TARN_OK, TARN_E_NOT_FOUND: there is none, or it was set aside, or why it is left where it is
static tarn_status find_one(tarn_store *store, const char *file_name, bool is_first, tarn_store_found *found,
                            tarn_text why)
{
    char path[4096];
    tarn_name label;
    const size_t name_bytes = strlen(file_name) - (sizeof TARN_TANK_FILES_SUFFIX - 1);
    tarn_session_file *file = NULL;
    memset(found, 0, sizeof *found);
    tarn_store_path(store, file_name, "", path);
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        return TARN_E_NOT_FOUND;
    }
    tarn_status status = tarn_session_file_open(path, &file, why);
    if (status == TARN_OK) {
        status = tarn_store_read(file, file_name, name_bytes, is_first, found, why);
    }
    tarn_session_file_close(file);
    tarn_store_label(file_name, name_bytes, is_first || found->about.is_listed, 0, label);
    tarn_store_hide(why, file_name, name_bytes, label);
    return status == TARN_E_MALFORMED && tarn_store_put_aside(store, path, label, why) ? TARN_E_NOT_FOUND : status;
}

tarn_status tarn_store_find_first(tarn_store *store, const char *name, tarn_store_found *found, tarn_text why)
{
    char file_name[TARN_NAME_BYTES_MAX + sizeof TARN_TANK_FILES_SUFFIX];
    snprintf(file_name, sizeof file_name, "%s%s", name, TARN_TANK_FILES_SUFFIX);
    return find_one(store, file_name, true, found, why);
}

void tarn_store_find(tarn_store *store, const char *first, uint32_t sessions_max,
                     void (*found)(void *user, const tarn_store_found *found), void *user)
{
    static tarn_store_found one; // large
    struct dirent **entries = NULL;
    const int count = scandir(store->dir, &entries, is_session, alphasort);
    uint32_t left = sessions_max;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        tarn_text why = "";
        if (strlen(name) - (sizeof TARN_TANK_FILES_SUFFIX - 1) == strlen(first) &&
            strncmp(name, first, strlen(first)) == 0) {
            // which was looked at before
        } else if (left == 0) {
            tarn_name label;
            tarn_store_label(name, strlen(name) - (sizeof TARN_TANK_FILES_SUFFIX - 1), false, 0, label);
            tarn_log_warn("%s/%s%s: more tanks than --sessions-max allows; it is left out", store->dir, label,
                          TARN_TANK_FILES_SUFFIX);
        } else {
            const tarn_status status = find_one(store, name, false, &one, why);
            if (status == TARN_OK) {
                found(user, &one);
                left--;
            } else if (status != TARN_E_NOT_FOUND) {
                tarn_log_error("%s; its session is left out", why);
            }
        }
        free(entries[i]);
    }
    free(entries);
}

// ---- what is kept ----

/// What nobody waits for any more. Under the lock.
static void forget_older(store_asked *asked)
{
    if (asked->has_older && asked->older.box_fd > 0) {
        close(asked->older.box_fd);
    }
    asked->has_older = asked->wants_older = false;
}

/// The same of a piece that nobody took.
static void forget_replay(tarn_replay_mail *mail)
{
    if (mail->has_piece && mail->piece.fd > 0) {
        close(mail->piece.fd);
    }
    mail->has_piece = mail->is_wanted = false;
}

/// The same of a reply. @return a box that nobody took, to be closed; 0: there is none
static int forget_past(tarn_past_mail *mail)
{
    const int box_fd = mail->has_reply ? mail->reply.box_fd : 0;
    mail->has_past = mail->has_reply = false;
    mail->wish.kind = TARN_STORE_WISH_NONE;
    return box_fd;
}

bool tarn_store_keep(tarn_store *store, uint32_t place, uint32_t id, const tarn_session_about *about, int box_fd)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX && id != 0);
    const int own_fd = box_fd > 0 ? fcntl(box_fd, F_DUPFD_CLOEXEC, 3) : 0;
    if (own_fd < 0) {
        return false;
    }
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[place];
    const int old_fd = asked->box_fd;
    forget_older(asked);
    asked->kept_ns = asked->id == id ? asked->kept_ns : tarn_clock_monotonic_ns();
    asked->id = id;
    asked->is_failing = asked->has_vanished = false;
    asked->held_until_ns = 0;
    asked->changes++;
    asked->about = *about;
    asked->box_fd = own_fd;
    pthread_mutex_unlock(&store->mutex);
    if (old_fd > 0) {
        close(old_fd);
    }
    return true;
}

void tarn_store_tell(tarn_store *store, uint32_t place, uint32_t id, const tarn_session_about *about)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX && id != 0);
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[place];
    if (asked->id == id) {
        asked->changes++;
        asked->about = *about;
    }
    pthread_mutex_unlock(&store->mutex);
}

static void let_go(tarn_store *store, uint32_t place, const char *name, bool is_aside)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[place];
    const int old_fd = asked->box_fd, reply_fd = forget_past(&asked->mail);
    tarn_name label;
    tarn_store_label(name, strlen(name), asked->about.is_listed, asked->id >> TARN_SESSION_PLACE_BITS, label);
    forget_older(asked);
    forget_replay(&asked->replay);
    asked->id = 0;
    asked->is_failing = asked->has_vanished = false;
    asked->held_until_ns = 0;
    asked->box_fd = 0;
    if (store->dropped_count < TARN_GATEWAY_SESSIONS_MAX) { // more end between two rounds only if the disk hangs
        snprintf(store->dropped[store->dropped_count].name, sizeof store->dropped[0].name, "%s", name);
        memcpy(store->dropped[store->dropped_count].label, label, sizeof label);
        store->dropped[store->dropped_count++].is_aside = is_aside;
    } else {
        tarn_log_error("%s/%s%s can't be removed: the disk hangs", store->dir, label, TARN_TANK_FILES_SUFFIX);
    }
    pthread_mutex_unlock(&store->mutex);
    if (old_fd > 0) {
        close(old_fd);
    }
    if (reply_fd > 0) {
        close(reply_fd);
    }
}

void tarn_store_drop(tarn_store *store, uint32_t place, const char *name)
{
    let_go(store, place, name, false);
}

void tarn_store_set_aside(tarn_store *store, uint32_t place, const char *name)
{
    let_go(store, place, name, true);
}

void tarn_store_hold(tarn_store *store, const char *name, const void *bytes, size_t byte_count)
{
    TARN_ASSERT(byte_count > 0 && byte_count <= TARN_GATEWAY_STORE_FILE_BYTES_MAX);
    pthread_mutex_lock(&store->mutex);
    uint32_t at = 0;
    while (store->files[at].byte_count > 0 && strcmp(store->files[at].name, name) != 0) {
        at++;
        TARN_ASSERT(at < TARN_GATEWAY_STORE_FILES_MAX);
    }
    snprintf(store->files[at].name, sizeof store->files[at].name, "%s", name);
    memcpy(store->files[at].bytes, bytes, byte_count);
    store->files[at].byte_count = (uint32_t)byte_count;
    pthread_mutex_unlock(&store->mutex);
}

// ---- a session's past ----

bool tarn_store_past(tarn_store *store, uint32_t place, tarn_session_span *span)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    const tarn_past_mail *mail = &store->asked[place].mail;
    const bool has_past = mail->has_past;
    if (has_past) {
        *span = mail->past;
    }
    pthread_mutex_unlock(&store->mutex);
    return has_past;
}

bool tarn_store_wish_for(tarn_store *store, uint32_t place, const tarn_store_wish *wish)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX && wish->kind != TARN_STORE_WISH_NONE);
    pthread_mutex_lock(&store->mutex);
    tarn_past_mail *mail = &store->asked[place].mail; // one is done at a time, and what came of it is taken first
    const bool is_taken = store->asked[place].id != 0 && mail->wish.kind == TARN_STORE_WISH_NONE && !mail->has_reply;
    if (is_taken) {
        mail->wish = *wish;
    }
    store->is_wished |= is_taken;
    pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(&store->mutex);
    return is_taken;
}

bool tarn_store_take_reply(tarn_store *store, uint32_t place, tarn_store_reply *reply)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    tarn_past_mail *mail = &store->asked[place].mail;
    const bool has_reply = mail->has_reply;
    if (has_reply) {
        *reply = mail->reply;
        mail->has_reply = false;
    }
    pthread_mutex_unlock(&store->mutex);
    return has_reply;
}

bool tarn_store_replay_want(tarn_store *store, uint32_t place, uint32_t id, const tarn_session_stretch *stretch,
                            const tarn_ipc_replay_wanted *at)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX && stretch->state > 0);
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[place];
    const bool is_kept = asked->id == id;
    if (is_kept) {
        forget_replay(&asked->replay);
        asked->replay.is_wanted = store->is_wished = true;
        asked->replay.stretch = *stretch;
        asked->replay.at = *at;
        pthread_cond_signal(&store->wake);
    }
    pthread_mutex_unlock(&store->mutex);
    return is_kept;
}

bool tarn_store_replay_take(tarn_store *store, uint32_t place, tarn_replay_piece *piece)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    tarn_replay_mail *mail = &store->asked[place].replay;
    const bool has_piece = mail->has_piece;
    if (has_piece) {
        *piece = mail->piece;
        mail->has_piece = false;
    }
    pthread_mutex_unlock(&store->mutex);
    return has_piece;
}

bool tarn_store_ask_older(tarn_store *store, uint32_t place, uint32_t id, uint32_t epoch_min, const char *reason)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[place];
    const bool is_kept = asked->id == id;
    if (is_kept) {
        forget_older(asked);
        asked->wants_older = store->is_hurried = true;
        asked->epoch_min = epoch_min;
        snprintf(asked->reason, sizeof asked->reason, "%s", reason);
        pthread_cond_signal(&store->wake);
    }
    pthread_mutex_unlock(&store->mutex);
    return is_kept;
}

bool tarn_store_take_older(tarn_store *store, uint32_t place, tarn_store_older *older)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[place];
    const bool is_there = asked->has_older;
    asked->has_older = false;
    if (is_there) {
        *older = asked->older;
    }
    pthread_mutex_unlock(&store->mutex);
    return is_there;
}

// ---- how it goes ----

bool tarn_store_take_vanished(tarn_store *store, uint32_t place)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    const bool has_vanished = store->asked[place].has_vanished;
    store->asked[place].has_vanished = false;
    pthread_mutex_unlock(&store->mutex);
    return has_vanished;
}

bool tarn_store_fails(tarn_store *store, uint32_t place)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    const bool hangs = store->round_ns != 0 &&
                       tarn_clock_monotonic_ns() - store->round_ns > TARN_GATEWAY_STORE_HANGS_MS * (uint64_t)1000000;
    const bool is_failing = store->asked[place].is_failing || hangs;
    pthread_mutex_unlock(&store->mutex);
    return is_failing;
}

bool tarn_store_holds_back(tarn_store *store, uint32_t place, double *left_s)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    const uint64_t until_ns = store->asked[place].held_until_ns, now_ns = tarn_clock_monotonic_ns();
    pthread_mutex_unlock(&store->mutex);
    *left_s = until_ns > now_ns ? 1e-9 * (double)(until_ns - now_ns) : 0;
    return until_ns != 0;
}

void tarn_store_stood(tarn_store *store, const tarn_standstill *stood)
{
    if (store != NULL) {
        pthread_mutex_lock(&store->mutex);
        tarn_standstill_move(stood, &store->round_ns);
        pthread_mutex_unlock(&store->mutex);
    }
}

void tarn_store_count(tarn_store *store, tarn_store_counts *counts)
{
    pthread_mutex_lock(&store->mutex);
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    *counts = store->counts;
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        const store_asked *asked = &store->asked[place];
        const double unkept_s = asked->id != 0 ? 1e-9 * (double)(now_ns - asked->kept_ns) : 0;
        counts->unkept_s = unkept_s > counts->unkept_s ? unkept_s : counts->unkept_s;
    }
    counts->age_s = counts->unkept_s > counts->age_s ? counts->unkept_s : counts->age_s;
    pthread_mutex_unlock(&store->mutex);
}

// ---- its end ----

void tarn_store_end(tarn_store *store)
{
    pthread_mutex_lock(&store->mutex);
    store->is_ending = true;
    pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(&store->mutex);
}

bool tarn_store_has_ended(tarn_store *store)
{
    pthread_mutex_lock(&store->mutex);
    const bool has_ended = store->has_ended;
    pthread_mutex_unlock(&store->mutex);
    return has_ended;
}

void tarn_store_close(tarn_store *store)
{
    if (store == NULL) {
        return;
    }
    tarn_store_end(store);
    pthread_join(store->thread, NULL);
    tarn_store_large_free(&store->large);
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        tarn_store_slot_close(&store->slots[place]);
        forget_older(&store->asked[place]);
        forget_replay(&store->asked[place].replay);
        if (store->asked[place].box_fd > 0) {
            close(store->asked[place].box_fd);
        }
        const int reply_fd = forget_past(&store->asked[place].mail);
        if (reply_fd > 0) {
            close(reply_fd);
        }
    }
    tarn_box_news_free(&store->news);
    pthread_cond_destroy(&store->wake);
    pthread_mutex_destroy(&store->mutex);
    if (store->lock_fd >= 0) {
        close(store->lock_fd);
    }
    free(store);
}
