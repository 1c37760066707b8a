// One thread goes round the sessions. Begin at run_round; tarn_store_keep is what it gets from the gateway's thread.
#include "server/gateway/tank_store.h"
#include "protocol/assert.h"
#include "server/common/clock.h"
#include "server/common/file_bytes.h"
#include "server/common/log.h"
#include "server/gateway/gateway_limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char SUFFIX[] = ".tank";

/// What the gateway asks for; under the lock.
typedef struct store_asked {
    uint32_t id; // of the session; 0: none is there
    bool is_failing;
    uint32_t changes;
    tarn_session_about about;
    int box_fd; // a descriptor of its own; 0: the thread has it
} store_asked;

/// What the thread has of a place.
typedef struct store_slot {
    uint32_t id, changes;
    bool is_failing;
    uint64_t retry_ns;               // not before
    uint64_t state_due_ns, state_ns; // the next one, and how far apart the newest sets them
    uint64_t log_bytes;              // behind the newest
    uint64_t looked_ns;              // at the box
    tarn_session_file *file;
    tarn_box_follower follower; // fd 0: there is no box
    char path[4096];
} store_slot;

struct tarn_store {
    char dir[2048];
    int lock_fd;
    uint32_t commit_ms;
    tarn_store_limit limit;
    int64_t opened_s; // since 1970
    pthread_t thread;
    pthread_mutex_t mutex; // of what follows
    pthread_cond_t wake;
    bool is_ending, has_ended;
    struct {
        tarn_name name;
        bool is_aside;                    // else it is to go
    } dropped[TARN_GATEWAY_SESSIONS_MAX]; // files of sessions that ended
    uint32_t dropped_count;
    store_asked asked[TARN_GATEWAY_SESSIONS_MAX];
    tarn_store_counts counts;
    // the thread's
    store_slot slots[TARN_GATEWAY_SESSIONS_MAX];
    tarn_box_news news;
    uint64_t limit_due_ns;
    bool is_too_large;
};

static void path_of(const tarn_store *store, const char *name, const char *suffix, char path[4096])
{
    snprintf(path, 4096, "%s/%.1024s%s", store->dir, name, suffix);
}

/// What SQLite keeps beside a database, which says nothing without it.
static const char *const besides[] = {"", "-wal", "-shm"};

enum { BESIDES = sizeof besides / sizeof besides[0] };

static void remove_all(const char *path)
{
    char beside[4200];
    for (size_t i = 0; i < BESIDES; i++) {
        snprintf(beside, sizeof beside, "%s%s", path, besides[i]);
        if (unlink(beside) != 0 && errno != ENOENT) {
            tarn_log_warn("%s: %s", beside, strerror(errno));
        }
    }
    tarn_file_sync_folder(path);
}

// ------------------------------------------------------------------------------------------------ the store's thread

static void slot_close(store_slot *slot)
{
    tarn_session_file_close(slot->file);
    if (slot->follower.fd > 0) {
        close(slot->follower.fd);
    }
    memset(slot, 0, sizeof *slot);
}

/// @param sentence  NULL: all is well
static void note(tarn_store *store, store_slot *slot, const char *sentence)
{
    if (sentence != NULL && !slot->is_failing) {
        tarn_log_error("%s; what happens in this tank is not kept until that is better", sentence);
    } else if (sentence == NULL && slot->is_failing) {
        tarn_log_info("%s: it is kept again", slot->path);
    }
    pthread_mutex_lock(&store->mutex);
    tarn_store_counts *counts = &store->counts;
    counts->failing += (sentence != NULL) - slot->is_failing;
    store->asked[slot - store->slots].is_failing = sentence != NULL;
    if (sentence != NULL) {
        counts->failures++;
        snprintf(counts->sentence, sizeof counts->sentence, "%s", sentence);
    }
    pthread_mutex_unlock(&store->mutex);
    slot->is_failing = sentence != NULL;
    if (sentence != NULL) {
        slot->retry_ns = tarn_clock_monotonic_ns() + TARN_GATEWAY_STORE_RETRY_MS * (uint64_t)1000000;
        tarn_box_follower_forget(&slot->follower); // a gap follows: what is put next is whole
        tarn_session_file_close(slot->file);
        slot->file = NULL;
        slot->changes = 0;
    }
}

/// Under a name that is free, with all that SQLite needs to find more in it. @return false: it stays where it is
static bool set_aside(tarn_store *store, const char *path, const char *why)
{
    char aside[4096], from[4200], to[4200];
    const int length = (int)(strlen(path) - (sizeof SUFFIX - 1));
    for (uint32_t i = 0;; i++) {
        snprintf(aside, sizeof aside, i == 0 ? "%.*s.damaged" : "%.*s-%u.damaged", length, path, i);
        if (access(aside, F_OK) != 0) {
            break;
        }
    }
    for (size_t i = BESIDES; i > 0; i--) { // the database last: what is beside it must not be left to another one
        snprintf(from, sizeof from, "%s%s", path, besides[i - 1]);
        snprintf(to, sizeof to, "%s%s", aside, besides[i - 1]);
        if (rename(from, to) != 0 && errno != ENOENT) {
            tarn_log_error("%s; it can't be set aside as %s: %s", why, to, strerror(errno));
            return false;
        }
    }
    (void)utimensat(AT_FDCWD, aside, NULL, 0); // --store-age counts from now on
    tarn_log_error("%s; it is set aside as %s", why, aside);
    tarn_file_sync_folder(path);
    pthread_mutex_lock(&store->mutex);
    store->counts.set_aside++;
    pthread_mutex_unlock(&store->mutex);
    return true;
}

/// Lets go of sessions that are no more: first of what is open, then of the files.
static void drop_ended(tarn_store *store)
{
    static typeof(store->dropped) dropped; // large, and one thread's
    bool has_ended[TARN_GATEWAY_SESSIONS_MAX];
    pthread_mutex_lock(&store->mutex);
    const uint32_t count = store->dropped_count;
    memcpy(&dropped, &store->dropped, sizeof dropped);
    store->dropped_count = 0;
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        store_slot *slot = &store->slots[place];
        has_ended[place] = slot->id != 0 && slot->id != store->asked[place].id;
        store->counts.failing -= has_ended[place] && slot->is_failing;
    }
    pthread_mutex_unlock(&store->mutex);
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        if (has_ended[place]) {
            slot_close(&store->slots[place]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        char path[4096];
        path_of(store, dropped[i].name, SUFFIX, path);
        if (!dropped[i].is_aside) {
            remove_all(path);
        } else if (access(path, F_OK) == 0) {
            (void)set_aside(store, path, "its tank can't go on from it");
        }
    }
}

/// Takes what a place is to have. @return whether something is to be kept there
static bool take_asked(tarn_store *store, uint32_t place, tarn_session_about *about, bool *has_changed)
{
    store_slot *slot = &store->slots[place];
    int box_fd = 0;
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[place];
    if (slot->id == 0 || slot->id == asked->id) { // else that one is let go of first
        *has_changed = slot->changes != asked->changes;
        slot->changes = asked->changes;
        *about = asked->about;
        box_fd = asked->box_fd;
        asked->box_fd = 0;
        slot->id = asked->id;
    }
    pthread_mutex_unlock(&store->mutex);
    if (box_fd > 0) {
        if (slot->follower.fd > 0) {
            close(slot->follower.fd);
        }
        slot->follower = (tarn_box_follower){.fd = box_fd};
    }
    return slot->id != 0;
}

static tarn_status put_about(tarn_store *store, store_slot *slot, const tarn_session_about *about, tarn_text why)
{
    tarn_status status = TARN_OK;
    if (slot->file == NULL) {
        char path[4096];
        path_of(store, about->name, SUFFIX, path);
        memcpy(slot->path, path, sizeof path);
        status = tarn_session_file_open(slot->path, &slot->file, why);
    }
    return status == TARN_OK ? tarn_session_file_put_about(slot->file, about, why) : status;
}

/// States are put as often as their size allows.
static uint64_t state_after_ns(uint64_t state_bytes)
{
    const uint64_t ns = state_bytes * 1000000000 / TARN_GATEWAY_STORE_STATE_BYTES_PER_S;
    const uint64_t min_ns = TARN_GATEWAY_STORE_STATE_MS_MIN * (uint64_t)1000000;
    return ns > min_ns ? ns : min_ns;
}

/// Whether the next state is to be put: its turn has come, or the log behind the last one has grown long.
static bool wants_state(const store_slot *slot, uint64_t now_ns)
{
    return now_ns >= slot->state_due_ns || slot->log_bytes >= TARN_GATEWAY_STORE_LOG_BYTES;
}

/// Whether a tank that begins anew is to wait: somebody may start it afresh again and again.
static bool holds_back(const store_slot *slot, uint64_t now_ns)
{
    return tarn_box_is_anew(&slot->follower) &&
           slot->state_due_ns > now_ns + TARN_GATEWAY_STORE_ANEW_MAX * slot->state_ns;
}

static void note_commit(tarn_store *store, store_slot *slot, uint64_t state_bytes, uint64_t begun_ns)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const double took_s = 1e-9 * (double)(now_ns - begun_ns),
                 age_s = slot->looked_ns != 0 ? 1e-9 * (double)(now_ns - slot->looked_ns) : 0;
    if (store->news.has_state) {
        slot->state_ns = state_after_ns(state_bytes);
        slot->state_due_ns = (slot->state_due_ns > begun_ns ? slot->state_due_ns : begun_ns) + slot->state_ns;
        slot->log_bytes = 0;
    }
    slot->log_bytes += store->news.log.count;
    pthread_mutex_lock(&store->mutex);
    tarn_store_counts *counts = &store->counts;
    counts->commits++;
    counts->state_bytes += state_bytes;
    counts->commit_s = took_s > counts->commit_s ? took_s : counts->commit_s;
    counts->age_s = age_s > counts->age_s ? age_s : counts->age_s;
    pthread_mutex_unlock(&store->mutex);
}

/// Puts what came. @return TARN_OK also where nothing did
static tarn_status put_news(tarn_store *store, store_slot *slot, uint64_t now_ns, tarn_text why)
{
    uint64_t state_bytes = 0;
    if (holds_back(slot, now_ns)) {
        return TARN_OK;
    }
    tarn_status status = tarn_box_follow(&slot->follower, wants_state(slot, now_ns), &store->news);
    if (status == TARN_E_NOT_FOUND || status == TARN_E_STATE) {
        slot->looked_ns = status == TARN_E_NOT_FOUND ? now_ns : slot->looked_ns;
        return TARN_OK;
    }
    if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "%.300s: the tank's black box can't be read: %s", slot->path,
                 tarn_status_text(status));
        return status;
    }
    status = tarn_session_file_put(slot->file, &store->news, &state_bytes, why);
    if (status == TARN_OK) {
        note_commit(store, slot, state_bytes, now_ns);
        slot->looked_ns = now_ns;
    }
    return status;
}

static void serve_place(tarn_store *store, uint32_t place, bool is_last)
{
    store_slot *slot = &store->slots[place];
    tarn_session_about about;
    tarn_text why = "";
    bool has_changed = false;
    if (!take_asked(store, place, &about, &has_changed)) {
        return;
    }
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (now_ns < slot->retry_ns && !is_last) {
        return; // there is no file, so that all is put when it is tried again
    }
    tarn_status status = has_changed || slot->file == NULL ? put_about(store, slot, &about, why) : TARN_OK;
    if (status == TARN_OK && slot->follower.fd > 0) {
        status = put_news(store, slot, now_ns, why);
    }
    if (status != TARN_OK) {
        note(store, slot, why);
    } else if (slot->is_failing) {
        note(store, slot, NULL);
    }
}

static void run_round(tarn_store *store, bool is_last)
{
    drop_ended(store);
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        serve_place(store, place, is_last);
    }
    if (store->news.state.bytes.room > TARN_GATEWAY_STORE_ROOM_BYTES) {
        tarn_box_news_free(&store->news);
    }
}

/// Whether a session of that name is kept, or is about to be.
static bool is_used(void *user, const char *name, size_t name_bytes)
{
    tarn_store *store = user;
    bool used = false;
    pthread_mutex_lock(&store->mutex);
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX && !used; place++) {
        const store_asked *asked = &store->asked[place];
        used = asked->id != 0 && strlen(asked->about.name) == name_bytes &&
               memcmp(asked->about.name, name, name_bytes) == 0;
    }
    pthread_mutex_unlock(&store->mutex);
    return used;
}

/// On this thread no file can become a session's meanwhile.
static void keep_limit(tarn_store *store)
{
    tarn_store_use use;
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (now_ns < store->limit_due_ns) {
        return;
    }
    store->limit_due_ns = now_ns + TARN_GATEWAY_STORE_LIMIT_MS * (uint64_t)1000000;
    if (!tarn_store_limit_apply(store->dir, &store->limit, store->opened_s, (int64_t)time(NULL), is_used, store,
                                &use)) {
        return; // commits fail too, and say why
    }
    if (use.is_too_large && !store->is_too_large) {
        tarn_log_warn("%s: its tanks take %" PRIu64 " bytes, more than --store-max; they stay", store->dir, use.bytes);
    }
    store->is_too_large = use.is_too_large;
}

static void *run(void *user)
{
    tarn_store *store = user;
    bool is_ending;
    do {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        // Half of what may be lost: what a step begins just after a commit is durable when the next one has ended.
        until.tv_nsec += (long)(store->commit_ms % 2000) * 500000;
        until.tv_sec += (time_t)(store->commit_ms / 2000) + until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&store->mutex);
        while (!store->is_ending && pthread_cond_timedwait(&store->wake, &store->mutex, &until) == 0) {
        }
        is_ending = store->is_ending;
        pthread_mutex_unlock(&store->mutex);
        run_round(store, is_ending);
        keep_limit(store);
    } while (!is_ending);
    pthread_mutex_lock(&store->mutex);
    store->has_ended = true;
    pthread_mutex_unlock(&store->mutex);
    return NULL;
}

// ------------------------------------------------------------------------------------------------ the gateway's thread

static tarn_status take_folder(tarn_store *store, tarn_text why)
{
    char path[4096];
    path_of(store, "lock", "", path);
    if (mkdir(store->dir, 0700) != 0 && errno != EEXIST) {
        snprintf(why, sizeof(tarn_text), "--store %.300s: it can't be made: %s", store->dir, strerror(errno));
        return TARN_E_IO;
    }
    store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (store->lock_fd < 0) {
        snprintf(why, sizeof(tarn_text), "--store %.300s: %s", path, strerror(errno));
        return TARN_E_IO;
    }
    struct stat folder;
    if (stat(store->dir, &folder) != 0 || folder.st_uid != geteuid() || (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        snprintf(why, sizeof(tarn_text), "--store %.300s: others may write there, allowed is a folder of one's own",
                 store->dir);
        return TARN_E_IO;
    }
    if (flock(store->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        snprintf(why, sizeof(tarn_text), "--store %.300s: another tarnd keeps its tanks there", store->dir);
        return TARN_E_STATE;
    }
    return TARN_OK;
}

static tarn_status start_thread(tarn_store *store, tarn_text why)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&store->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&store->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    const int error = pthread_create(&store->thread, NULL, run, store);
    if (error != 0) {
        snprintf(why, sizeof(tarn_text), "--store: there is no thread for it: %s", strerror(error));
    }
    return error == 0 ? TARN_OK : TARN_E_MEMORY;
}

tarn_status tarn_store_open(tarn_store **store, const char *dir, uint32_t commit_ms, const tarn_store_limit *limit,
                            tarn_text why)
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
    made->opened_s = (int64_t)time(NULL);
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

static int is_session(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name), end = sizeof SUFFIX - 1;
    return length > end && length - end <= TARN_NAME_BYTES_MAX && strcmp(entry->d_name + length - end, SUFFIX) == 0;
}

/// A box that a worker goes on from, under a new epoch: what viewers saw last may be lost.
/// @return TARN_OK, TARN_E_NOT_FOUND: no state of the tank can be read, or TARN_E_MEMORY
static tarn_status fill_box(tarn_session_file *file, const char *path, tarn_store_found *found, tarn_text why)
{
    static tarn_session_rest rest; // large, and one at a time
    tarn_status status = tarn_session_file_rest(file, &rest, why);
    if (status != TARN_OK) {
        return status;
    }
    if (rest.damaged > 0) {
        tarn_log_error("%s: %u parts of it are damaged; the tank is as it was before", path, rest.damaged);
    }
    const int fd = memfd_create("tarn-tank", MFD_CLOEXEC);
    found->epoch = rest.epoch + 1;
    memcpy(found->scene, rest.state.scene, sizeof found->scene);
    if (fd > 0 &&
        tarn_box_fill(fd, &rest.state, found->epoch, rest.number, rest.log.bytes, rest.log.count) == TARN_OK) {
        found->box_fd = fd;
    } else {
        snprintf(why, sizeof(tarn_text), "%.300s: there is no memory for its tank", path);
        status = TARN_E_MEMORY;
        if (fd > 0) {
            close(fd);
        }
    }
    tarn_session_rest_free(&rest);
    return status;
}

static tarn_status read_one(tarn_session_file *file, const char *path, tarn_store_found *found, tarn_text why)
{
    tarn_status status = tarn_session_file_about(file, &found->about, why);
    const char *name = strrchr(path, '/') + 1;
    const size_t length = strlen(name) - (sizeof SUFFIX - 1);
    if (status == TARN_OK && (strlen(found->about.name) != length || memcmp(found->about.name, name, length) != 0)) {
        snprintf(why, sizeof(tarn_text), "%.300s: the session in it is \"%s\"", path, found->about.name);
        return TARN_E_MALFORMED;
    }
    if (status != TARN_OK) {
        return status == TARN_E_NOT_FOUND ? TARN_E_MALFORMED : status;
    }
    tarn_session_row first = {0};
    if (tarn_session_file_next_state(file, &first, why) == TARN_E_NOT_FOUND) { // it ended before its tank was made
        memcpy(found->scene, found->about.begun_as, sizeof found->scene);
        return TARN_OK;
    }
    status = fill_box(file, path, found, why);
    return status == TARN_E_NOT_FOUND ? TARN_E_MALFORMED : status;
}

/// @return TARN_OK, TARN_E_NOT_FOUND: there is none, or it was set aside, or why it is left where it is
static tarn_status find_one(tarn_store *store, const char *file_name, tarn_store_found *found, tarn_text why)
{
    char path[4096];
    tarn_session_file *file = NULL;
    memset(found, 0, sizeof *found);
    path_of(store, file_name, "", path);
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        return TARN_E_NOT_FOUND;
    }
    tarn_status status = tarn_session_file_open(path, &file, why);
    if (status == TARN_OK) {
        status = read_one(file, path, found, why);
    }
    tarn_session_file_close(file);
    return status == TARN_E_MALFORMED && set_aside(store, path, why) ? TARN_E_NOT_FOUND : status;
}

tarn_status tarn_store_find_first(tarn_store *store, const char *name, tarn_store_found *found, tarn_text why)
{
    char file_name[TARN_NAME_BYTES_MAX + sizeof SUFFIX];
    snprintf(file_name, sizeof file_name, "%s%s", name, SUFFIX);
    return find_one(store, file_name, found, why);
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
        if (strlen(name) - (sizeof SUFFIX - 1) == strlen(first) && strncmp(name, first, strlen(first)) == 0) {
            // which was looked at before
        } else if (left == 0) {
            tarn_log_warn("%s/%s: more tanks than --sessions-max allows; it is left out", store->dir, name);
        } else {
            const tarn_status status = find_one(store, name, &one, why);
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
    asked->id = id;
    asked->is_failing = false;
    asked->changes++;
    asked->about = *about;
    asked->box_fd = own_fd;
    pthread_mutex_unlock(&store->mutex);
    if (old_fd > 0) {
        close(old_fd);
    }
    return true;
}

static void let_go(tarn_store *store, uint32_t place, const char *name, bool is_aside)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[place];
    const int old_fd = asked->box_fd;
    asked->id = 0;
    asked->is_failing = false;
    asked->box_fd = 0;
    if (store->dropped_count < TARN_GATEWAY_SESSIONS_MAX) { // more end between two rounds only if the disk hangs
        snprintf(store->dropped[store->dropped_count].name, sizeof store->dropped[0].name, "%s", name);
        store->dropped[store->dropped_count++].is_aside = is_aside;
    } else {
        tarn_log_error("%s/%s%s can't be removed: the disk hangs", store->dir, name, SUFFIX);
    }
    pthread_mutex_unlock(&store->mutex);
    if (old_fd > 0) {
        close(old_fd);
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

bool tarn_store_fails(tarn_store *store, uint32_t place)
{
    TARN_ASSERT(place < TARN_GATEWAY_SESSIONS_MAX);
    pthread_mutex_lock(&store->mutex);
    const bool is_failing = store->asked[place].is_failing;
    pthread_mutex_unlock(&store->mutex);
    return is_failing;
}

void tarn_store_count(tarn_store *store, tarn_store_counts *counts)
{
    pthread_mutex_lock(&store->mutex);
    *counts = store->counts;
    pthread_mutex_unlock(&store->mutex);
}

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
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        slot_close(&store->slots[place]);
        if (store->asked[place].box_fd > 0) {
            close(store->asked[place].box_fd);
        }
    }
    tarn_box_news_free(&store->news);
    pthread_cond_destroy(&store->wake);
    pthread_mutex_destroy(&store->mutex);
    close(store->lock_fd);
    free(store);
}
