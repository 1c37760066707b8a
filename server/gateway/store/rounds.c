// The store's own thread, which goes round the sessions. Begin at tarn_store_rounds, at the end, then serve_place.
#include "server/gateway/store/rounds.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/base/files.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/gateway/session/session.h"
#include "server/gateway/store/files.h"
#include "server/gateway/store/store.h"
#include "server/log/session_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- large states on a thread of their own ----
// Begin at begin_large.

static void *put_large(void *user)
{
    tarn_store_large *large = user;
    large->status = tarn_session_file_put(large->file, &large->news, &large->state_bytes, large->why);
    atomic_store(&large->has_ended, true);
    return NULL;
}

/// Whether news have a state that is worth a thread.
static bool is_large(const tarn_box_news *news)
{
    return news->has_state && news->state.bytes.count >= TARN_GATEWAY_STORE_LARGE_BYTES;
}

/// Begins to put news, which are taken over. None may be there.
/// @param file  nobody else's until it is taken  @return false: there is no thread for it, and nothing changes
static bool begin_large(tarn_store_large *large, uint32_t place, tarn_session_file *file, tarn_box_news *news,
                        uint64_t now_ns)
{
    TARN_ASSERT(!large->is_there);
    *large = (tarn_store_large){.is_there = true, .place = place, .begun_ns = now_ns, .file = file, .news = *news};
    if (pthread_create(&large->thread, NULL, put_large, large) != 0) {
        *large = (tarn_store_large){0};
        return false;
    }
    *news = (tarn_box_news){0};
    return true;
}

/// Whether one is under way for a place, or wasn't taken yet.
static bool has_large(const tarn_store_large *large, uint32_t place)
{
    return large->is_there && large->place == place;
}

/// Takes what was put: its status, state_bytes, why and news say what came of it, until tarn_store_large_free.
/// @param waits  for the thread  @return false: there is none, or it isn't done yet
static bool end_large(tarn_store_large *large, bool waits)
{
    if (!large->is_there || (!waits && !atomic_load(&large->has_ended))) {
        return false;
    }
    pthread_join(large->thread, NULL);
    large->is_there = false;
    return true;
}

void tarn_store_large_free(tarn_store_large *large)
{
    (void)end_large(large, true);
    tarn_box_news_free(&large->news);
}

// ---- from a file to a box ----
// That a worker goes on from.

static void say_damage(const tarn_session_rest *rest, const char *label)
{
    if (rest->damaged > 0) {
        tarn_log_error("the file of \"%s\": %u part%s of it %s damaged; the tank is as it was before", label,
                       rest->damaged, rest->damaged == 1 ? "" : "s", rest->damaged == 1 ? "is" : "are");
    }
    if (rest->is_scene_damaged) {
        tarn_log_error("the file of \"%s\": its scene is damaged; the one of that name in the scenes' folder is taken",
                       label);
    }
}

tarn_status tarn_store_read(tarn_session_file *file, const char *name, size_t name_bytes, bool is_first,
                            tarn_store_found *found, tarn_text why)
{
    tarn_name label;
    static tarn_session_rest rest; // large, and one at a time
    tarn_status status = tarn_session_file_about(file, &found->about, why);
    if (status == TARN_OK &&
        (strlen(found->about.name) != name_bytes || memcmp(found->about.name, name, name_bytes) != 0)) {
        snprintf(why, sizeof(tarn_text), "%.80s: the session in it is another one by its name", name);
        return TARN_E_MALFORMED;
    }
    tarn_session_row first = {0};
    if (status == TARN_OK &&
        tarn_session_file_next_state(file, &first, why) == TARN_E_NOT_FOUND) { // it ended before its tank was made
        memcpy(found->scene, found->about.begun_as, sizeof found->scene);
        return TARN_OK;
    }
    if (status == TARN_OK) {
        status = tarn_session_file_rest(file, &rest, why);
    }
    if (status != TARN_OK) {
        return status == TARN_E_NOT_FOUND ? TARN_E_MALFORMED : status;
    }
    tarn_store_label(name, name_bytes, is_first || found->about.is_listed, 0, label);
    say_damage(&rest, label);
    found->epoch = rest.epoch + 1; // what viewers saw last may be lost
    memcpy(found->scene, rest.state.scene, sizeof found->scene);
    found->box_fd = tarn_tank_history_box(&rest, found->epoch, rest.damaged == 0);
    if (found->box_fd > 0) {
        found->pack = rest.state.pack;
        rest.state.pack = (tarn_box_bytes){0};
    } else {
        snprintf(why, sizeof(tarn_text), "%.80s: there is no memory for its tank", name);
        status = TARN_E_MEMORY;
    }
    tarn_session_rest_free(&rest);
    return status;
}

/// Sets the newest state aside, and reads the one before it. @param label  of the session  @param epoch_min  of the box
static void read_older(tarn_session_file *file, const char *label, const char *reason, uint32_t epoch_min,
                       tarn_store_older *older)
{
    tarn_session_rest newest, rest;
    memset(older, 0, sizeof *older);
    if (tarn_session_file_rest(file, &newest, older->why) != TARN_OK) {
        return;
    }
    older->aside_step = newest.state.step;
    const tarn_status status = tarn_session_aside_put(file, newest.id, reason, older->why);
    tarn_session_rest_free(&newest);
    older->is_aside = status == TARN_OK;
    if (status != TARN_OK || tarn_session_file_rest(file, &rest, older->why) != TARN_OK) {
        return;
    }
    say_damage(&rest, label);
    older->epoch = rest.epoch + 1 > epoch_min ? rest.epoch + 1 : epoch_min;
    older->step = rest.state.step;
    memcpy(older->scene, rest.state.scene, sizeof older->scene);
    older->box_fd = tarn_tank_history_box(&rest, older->epoch, false);
    tarn_session_rest_free(&rest);
}

// ---- pieces of what is played back ----
// Begin at serve_replay.

/// Puts the records into memory of their own.
static void wrap(const tarn_box_bytes *records, tarn_replay_piece *piece)
{
    const int fd = records->count > 0 ? memfd_create("tarn-replay", MFD_CLOEXEC) : 0;
    piece->byte_count = (uint32_t)records->count;
    if (fd > 0 && pwrite(fd, records->bytes, records->count, 0) == (ssize_t)records->count) {
        piece->fd = fd;
    } else if (records->count > 0) {
        piece->status = TARN_E_MEMORY;
        snprintf(piece->why, sizeof piece->why, "there is no memory for what was done to the tank then");
        if (fd > 0) {
            close(fd);
        }
    }
}

static void read_piece(store_slot *slot, const tarn_session_stretch *stretch, tarn_replay_piece *piece)
{
    tarn_box_bytes records = {0};
    if (piece->at.from < stretch->step || piece->at.from > stretch->until) { // a worker isn't believed
        piece->is_last = true;
        return;
    }
    piece->status = tarn_session_stretch_read(slot->file, &slot->replay, stretch, piece->at.from, piece->at.held,
                                              &records, &piece->is_last, piece->why);
    if (piece->status == TARN_OK) {
        wrap(&records, piece);
    }
    tarn_box_bytes_free(&records);
}

/// Reads what is asked for. @param is_well  the session's file is
static void serve_replay(tarn_store *store, uint32_t place, bool is_well)
{
    store_slot *slot = &store->slots[place];
    store_asked *asked = &store->asked[place];
    tarn_replay_piece piece = {0};
    pthread_mutex_lock(&store->mutex);
    const bool is_wanted = asked->replay.is_wanted && asked->id == slot->id;
    const tarn_session_stretch stretch = asked->replay.stretch;
    piece.at = asked->replay.at;
    pthread_mutex_unlock(&store->mutex);
    if (!is_wanted) {
        return;
    }
    if (is_well) {
        read_piece(slot, &stretch, &piece);
    } else {
        piece.status = TARN_E_STATE;
        snprintf(piece.why, sizeof piece.why, "this tank isn't kept just now, so that its past can't be read");
    }
    pthread_mutex_lock(&store->mutex);
    tarn_replay_mail *mail = &asked->replay;
    const bool is_its = mail->is_wanted && asked->id == slot->id && mail->at.epoch == piece.at.epoch &&
                        mail->at.from == piece.at.from && mail->at.held == piece.at.held;
    if (is_its) {
        mail->is_wanted = false;
        mail->piece = piece;
        mail->has_piece = true;
    }
    pthread_mutex_unlock(&store->mutex);
    if (!is_its && piece.fd > 0) { // something else is wanted by now
        close(piece.fd);
    }
}

// ---- the folder ----

void tarn_store_path(const tarn_store *store, const char *name, const char *suffix, char path[4096])
{
    snprintf(path, 4096, "%s/%.1024s%s", store->dir, name, suffix);
}

bool tarn_store_put_aside(tarn_store *store, const char *path, const char *label, const char *why)
{
    const bool is_aside = tarn_tank_files_set_aside(path, label, why);
    pthread_mutex_lock(&store->mutex);
    store->counts.set_aside += is_aside;
    pthread_mutex_unlock(&store->mutex);
    return is_aside;
}

void tarn_store_slot_close(store_slot *slot)
{
    tarn_session_file_close(slot->file);
    if (slot->follower.fd > 0) {
        close(slot->follower.fd);
    }
    memset(slot, 0, sizeof *slot);
}

/// @param sentence  NULL: all is well
static void note(tarn_store *store, store_slot *slot, char *sentence)
{
    if (sentence != NULL) {
        tarn_store_hide(sentence, slot->name, strlen(slot->name), slot->label);
    }
    if (sentence != NULL && !slot->is_failing) {
        tarn_log_error("%s; what happens in this tank is not kept until that is better", sentence);
    } else if (sentence == NULL && slot->is_failing) {
        tarn_store_log(TARN_LOG_INFO, slot->name, strlen(slot->name), slot->label, "%s: it is kept again", slot->path);
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
    slot->is_excused |= slot->is_failing;
    if (sentence != NULL) {
        slot->retry_ns = tarn_clock_monotonic_ns() + TARN_GATEWAY_STORE_RETRY_MS * (uint64_t)1000000;
        tarn_box_follower_forget(&slot->follower); // a gap follows: what is put next is whole
        tarn_session_file_close(slot->file);
        slot->file = NULL;
        slot->goes_on = false;
        slot->changes = 0;
    }
}

int tarn_store_take_lock(const char *dir, tarn_status *status, tarn_text why)
{
    char path[4096];
    struct stat folder;
    snprintf(path, sizeof path, "%s/lock", dir);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    *status = TARN_E_IO;
    if (fd < 0) {
        snprintf(why, sizeof(tarn_text), "--store %.300s: %s", path, strerror(errno));
    } else if (stat(dir, &folder) != 0 || folder.st_uid != geteuid() || (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        snprintf(why, sizeof(tarn_text), "--store %.300s: others may write there, allowed is a folder of one's own",
                 dir);
    } else if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        snprintf(why, sizeof(tarn_text), "--store %.300s: another tarnd keeps its tanks there", dir);
        *status = TARN_E_STATE;
    } else {
        *status = TARN_OK;
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/// Whether the lock is in the folder still, and the folder where it was; else another program may be about to take it.
static bool holds_lock(const tarn_store *store)
{
    char path[4096];
    struct stat held, found;
    tarn_store_path(store, "lock", "", path);
    return store->lock_fd >= 0 && fstat(store->lock_fd, &held) == 0 && stat(path, &found) == 0 && held.st_nlink > 0 &&
           held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

/// Where it isn't it is taken again, in the folder that is there now. Until then nothing is written.
static void keep_lock(tarn_store *store)
{
    tarn_status status;
    tarn_text why;
    if (holds_lock(store)) {
        store->why_not[0] = '\0';
        return;
    }
    const int fd = tarn_store_take_lock(store->dir, &status, why);
    if (fd < 0) {
        if (strcmp(store->why_not, why) != 0) {
            tarn_log_error("%s: its lock, or all of it, was removed or moved while this program keeps tanks there; %s",
                           store->dir, why);
        }
        snprintf(store->why_not, sizeof store->why_not, "%s", why);
        return;
    }
    if (store->lock_fd >= 0) {
        close(store->lock_fd);
    }
    store->lock_fd = fd;
    store->why_not[0] = '\0';
    tarn_log_error("%s: its lock was removed or moved while this program keeps tanks there; it is taken anew",
                   store->dir);
}

/// Writes a small file, whole, where there is none.
static void keep_file(const tarn_store *store, const store_file *file)
{
    char path[4096];
    tarn_store_path(store, file->name, "", path);
    if (access(path, F_OK) == 0 || errno != ENOENT) {
        return;
    }
    if (tarn_file_bytes_put(path, 0600, file->bytes, file->byte_count) == TARN_OK) {
        tarn_log_error("%s: it was removed or moved; it is written anew", path);
    } else {
        tarn_log_error("%s: it was removed or moved, and can't be written anew: %s", path, strerror(errno));
    }
}

static void note_vanished(tarn_store *store, store_slot *slot, tarn_text why)
{
    note(store, slot, why);
    slot->retry_ns = 0; // it is written anew at once
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[slot - store->slots];
    asked->has_vanished = asked->id == slot->id;
    store->counts.vanished++;
    pthread_mutex_unlock(&store->mutex);
}

/// Looks whether everything is where it was: a file that has no name any more takes all that is written, and loses it.
static void look_for_files(tarn_store *store, uint64_t now_ns)
{
    static store_file files[TARN_GATEWAY_STORE_FILES_MAX]; // one thread's
    if (now_ns < store->there_due_ns) {
        return;
    }
    store->there_due_ns = now_ns + TARN_GATEWAY_STORE_THERE_MS * (uint64_t)1000000;
    keep_lock(store);
    pthread_mutex_lock(&store->mutex);
    memcpy(files, store->files, sizeof files);
    pthread_mutex_unlock(&store->mutex);
    for (uint32_t i = 0; i < TARN_GATEWAY_STORE_FILES_MAX && store->why_not[0] == '\0'; i++) {
        if (files[i].byte_count > 0) {
            keep_file(store, &files[i]);
        }
    }
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        store_slot *slot = &store->slots[place];
        tarn_text why;
        if (slot->file != NULL && !has_large(&store->large, place) && tarn_session_file_has_vanished(slot->file, why)) {
            note_vanished(store, slot, why);
        }
    }
}

// ---- sessions that end and change ----

/// Lets go of sessions that are no more: first of what is open, then of the files.
static void drop_ended(tarn_store *store)
{
    static store_dropped dropped[TARN_GATEWAY_SESSIONS_MAX]; // large, and one thread's
    bool has_ended[TARN_GATEWAY_SESSIONS_MAX];
    pthread_mutex_lock(&store->mutex);
    const uint32_t count = store->dropped_count;
    memcpy(dropped, store->dropped, sizeof dropped);
    store->dropped_count = 0;
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        store_slot *slot = &store->slots[place];
        has_ended[place] = slot->id != 0 && slot->id != store->asked[place].id;
        store->counts.failing -= has_ended[place] && slot->is_failing;
        store->counts.held -= has_ended[place] && slot->is_held;
    }
    pthread_mutex_unlock(&store->mutex);
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        if (has_ended[place] && has_large(&store->large, place)) {
            tarn_store_large_free(&store->large);
        }
        if (has_ended[place]) {
            tarn_store_slot_close(&store->slots[place]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        char path[4096];
        tarn_store_path(store, dropped[i].name, TARN_TANK_FILES_SUFFIX, path);
        if (!dropped[i].is_aside) {
            tarn_tank_files_remove(path, dropped[i].label);
        } else if (access(path, F_OK) == 0) {
            (void)tarn_store_put_aside(store, path, dropped[i].label, "its tank can't go on from it");
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
    const bool is_its = slot->id == 0 || slot->id == asked->id; // else that one ended just now, and is let go of first
    if (is_its) {
        *has_changed = slot->changes != asked->changes;
        slot->changes = asked->changes;
        *about = asked->about;
        box_fd = asked->box_fd;
        asked->box_fd = 0;
        slot->kept_ns = slot->id == 0 ? asked->kept_ns : slot->kept_ns;
        slot->id = asked->id;
        memcpy(slot->name, about->name, sizeof slot->name);
        tarn_store_label(slot->name, strlen(slot->name), about->is_listed, slot->id >> TARN_SESSION_PLACE_BITS,
                         slot->label);
    }
    pthread_mutex_unlock(&store->mutex);
    if (box_fd > 0) {
        if (slot->follower.fd > 0) {
            close(slot->follower.fd);
        }
        slot->follower = (tarn_box_follower){.fd = box_fd};
        slot->goes_on = slot->file == NULL; // what a file that is open has is what another box had
    }
    return is_its && slot->id != 0;
}

/// Of the past that is kept each tank that is there may have the same part: of what SQLite's logs leave.
static tarn_session_keep_rule rule_of(tarn_store *store)
{
    uint32_t count = 0;
    pthread_mutex_lock(&store->mutex);
    const uint64_t bytes_max = store->limit.bytes_max;
    pthread_mutex_unlock(&store->mutex);
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        count += store->slots[place].id != 0;
    }
    const uint64_t part = bytes_max / 100 * TARN_GATEWAY_HISTORY_SHARE / (count > 0 ? count : 1);
    const uint64_t beside = TARN_GATEWAY_STORE_BESIDE_BYTES;
    return (tarn_session_keep_rule){.ns_max = store->history_ns,
                                    .bytes_max = part > 2 * beside ? part - beside : part / 2};
}

static tarn_status put_about(tarn_store *store, store_slot *slot, const tarn_session_about *about, tarn_text why)
{
    tarn_status status = TARN_OK;
    if (slot->file == NULL && !holds_lock(store)) {
        keep_lock(store);
    }
    if (store->why_not[0] != '\0') { // nor into a file that is open: it may be another's
        snprintf(why, sizeof(tarn_text), "%s", store->why_not);
        return TARN_E_IO;
    }
    if (slot->file == NULL) {
        char path[4096];
        tarn_store_path(store, about->name, TARN_TANK_FILES_SUFFIX, path);
        memcpy(slot->path, path, sizeof path);
        status = tarn_session_file_open(slot->path, &slot->file, why);
        if (status == TARN_OK) {
            const tarn_session_keep_rule rule = rule_of(store);
            status = tarn_tank_history_open(&slot->history, slot->file, &rule, why);
        }
    }
    return status == TARN_OK ? tarn_session_file_put_about(slot->file, about, why) : status;
}

/// Of a tank that came out of its file that needs to know just what comes, and under which epoch.
static tarn_status put_epoch(store_slot *slot, tarn_text why)
{
    uint32_t epoch, number;
    if (!slot->goes_on || slot->follower.fd <= 0) {
        return TARN_OK;
    }
    slot->goes_on = false;
    if (!tarn_box_follower_go_on(&slot->follower, &epoch, &number)) {
        return TARN_OK;
    }
    const tarn_status status = tarn_session_file_put_epoch(slot->file, epoch, number, why);
    if (status != TARN_OK) {
        tarn_box_follower_forget(&slot->follower);
    }
    return status == TARN_E_STATE ? TARN_OK : status;
}

// ---- states and logs ----

/// States are put as often as their size allows.
static uint64_t state_after_ns(uint64_t state_bytes)
{
    const uint64_t ns = state_bytes * 1000000000 / TARN_GATEWAY_STORE_STATE_BYTES_PER_S;
    const uint64_t min_ns = TARN_GATEWAY_STORE_STATE_MS_MIN * (uint64_t)1000000;
    return ns > min_ns ? ns : min_ns;
}

/// Whether the next state is to be put: it is worth it and its turn has come, or the log behind the last one has grown
/// long.
static bool wants_state(const store_slot *slot, uint64_t now_ns)
{
    const uint64_t since_ns = now_ns - slot->put_ns, least_ns = TARN_GATEWAY_STORE_STATE_MS_MIN * (uint64_t)1000000;
    return (now_ns >= slot->state_due_ns && since_ns >= least_ns &&
            tarn_tank_history_wants_state(&slot->history, since_ns)) ||
           slot->log_bytes >= TARN_GATEWAY_STORE_LOG_BYTES;
}

/// Until when a tank that begins anew is to wait: somebody may start it afresh again and again, and what is known to be
/// good would have to go.
static uint64_t held_until_ns(const store_slot *slot)
{
    const uint64_t ahead_ns = TARN_GATEWAY_STORE_ANEW_MAX * slot->state_ns;
    return slot->state_due_ns > ahead_ns ? slot->state_due_ns - ahead_ns : 0;
}

/// Says when a tank begins to be held back, and when it is kept again.
static void note_held(tarn_store *store, store_slot *slot, bool is_held, uint64_t now_ns)
{
    if (slot->is_held == is_held) {
        return;
    }
    const uint64_t until_ns = held_until_ns(slot);
    if (is_held) {
        tarn_store_log(TARN_LOG_WARN, slot->name, strlen(slot->name), slot->label,
                       "%s: its tank began anew too often just now; what happens in it is not kept for %.1f s",
                       slot->path, 1e-9 * (double)(until_ns - now_ns));
    } else {
        tarn_store_log(TARN_LOG_INFO, slot->name, strlen(slot->name), slot->label, "%s: it is kept again", slot->path);
    }
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[slot - store->slots];
    asked->held_until_ns = is_held && asked->id == slot->id ? until_ns : 0;
    store->counts.held += is_held;
    store->counts.held -= slot->is_held;
    pthread_mutex_unlock(&store->mutex);
    slot->is_held = is_held;
}

/// Whether what comes is to wait. Of a tank that a worker is just being tried on nobody need know.
/// @param is_last  there is no later
static bool holds_back(tarn_store *store, store_slot *slot, uint64_t now_ns, bool is_last)
{
    const bool is_anew = tarn_box_is_anew(&slot->follower),
               is_held = is_anew && !is_last && held_until_ns(slot) > now_ns;
    note_held(store, slot, is_held, now_ns);
    const bool waits = is_held || (is_anew && tarn_box_is_unproven(slot->follower.fd));
    slot->is_excused |= waits;
    return waits;
}

/// A commit came late: the first time that is said, and the others are counted.
static void note_late(tarn_store *store, uint64_t age_ns, uint32_t commit_ms, uint64_t now_ns)
{
    store_lateness *late = &store->lateness;
    if (late->newest_ns == 0) {
        tarn_log_warn("%s: what happened was kept after %.0f ms, --durability is %" PRIu32
                      ": the disk or the processors don't keep up; further late commits are counted",
                      store->dir, 1e-6 * (double)age_ns, commit_ms);
        *late = (store_lateness){0};
    }
    late->newest_ns = now_ns;
    late->age_ns = age_ns > late->age_ns ? age_ns : late->age_ns;
    late->count++;
}

/// Says once that no commit has come late for a while.
static void note_in_time(tarn_store *store, uint64_t now_ns)
{
    store_lateness *late = &store->lateness;
    if (late->newest_ns == 0 || now_ns - late->newest_ns < TARN_GATEWAY_STORE_IN_TIME_MS * (uint64_t)1000000) {
        return;
    }
    tarn_log_info("%s: commits come in time again; %" PRIu32 " were late, the latest %.0f ms after what happened",
                  store->dir, late->count, 1e-6 * (double)late->age_ns);
    late->newest_ns = 0;
}

static void note_commit(tarn_store *store, store_slot *slot, const tarn_box_news *news, uint64_t state_bytes,
                        uint64_t begun_ns)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    const uint64_t age_ns = now_ns - slot->kept_ns;
    const double took_s = 1e-9 * (double)(now_ns - begun_ns), age_s = 1e-9 * (double)age_ns;
    if (news->has_state) {
        const uint64_t saved_ns = TARN_GATEWAY_STORE_STATE_SAVED_MS * (uint64_t)1000000,
                       from_ns = begun_ns > saved_ns ? begun_ns - saved_ns : 0;
        slot->state_ns = state_after_ns(state_bytes);
        slot->state_due_ns = (slot->state_due_ns > from_ns ? slot->state_due_ns : from_ns) + slot->state_ns;
        slot->put_ns = begun_ns;
        slot->log_bytes = 0;
    }
    slot->log_bytes += news->log.count;
    pthread_mutex_lock(&store->mutex);
    tarn_store_counts *counts = &store->counts;
    counts->commits++;
    counts->state_bytes += state_bytes;
    counts->commit_s = took_s > counts->commit_s ? took_s : counts->commit_s;
    counts->age_s = age_s > counts->age_s ? age_s : counts->age_s;
    const uint32_t commit_ms = store->commit_ms;
    const bool is_late = age_ns > commit_ms * (uint64_t)1000000 && !slot->is_excused;
    counts->late += is_late;
    pthread_mutex_unlock(&store->mutex);
    slot->kept_ns = begun_ns; // the gateway sees that with the rest, in serve_past
    slot->is_excused = false;
    if (is_late) {
        note_late(store, age_ns, commit_ms, now_ns);
    }
}

/// Others' tanks leave one that rests less room, too. Where that can't be done its file is what it was.
static void trim(tarn_store *store, store_slot *slot, uint64_t now_ns)
{
    bool is_done = true;
    tarn_text ignored;
    const tarn_session_keep_rule rule = rule_of(store);
    const tarn_status status = tarn_tank_history_trim(&slot->history, slot->file, &rule, &is_done, ignored);
    const bool goes_on = status == TARN_OK && !is_done;
    slot->trim_due_ns =
        now_ns + (goes_on ? TARN_GATEWAY_STORE_TRIM_MS : TARN_GATEWAY_STORE_LIMIT_MS) * (uint64_t)1000000;
}

/// News were put.
static tarn_status note_news(tarn_store *store, store_slot *slot, const tarn_box_news *news, uint64_t state_bytes,
                             uint64_t begun_ns, tarn_text why)
{
    const tarn_session_keep_rule rule = rule_of(store);
    note_commit(store, slot, news, state_bytes, begun_ns);
    return tarn_tank_history_note(&slot->history, slot->file, news, &rule, why);
}

/// Reads what came. While a large state is put another one waits: its own tank's log goes on, or that waits, too.
/// @return as tarn_box_follow
static tarn_status follow(tarn_store *store, store_slot *slot, uint64_t now_ns)
{
    const tarn_box_follower before = slot->follower;
    tarn_status status = tarn_box_follow(&slot->follower, wants_state(slot, now_ns), &store->news);
    if (status == TARN_OK && store->large.is_there && is_large(&store->news)) {
        slot->follower = before;
        status = store->news.is_anew ? TARN_E_STATE : tarn_box_follow(&slot->follower, false, &store->news);
    }
    return status;
}

/// Puts what came. @return TARN_OK also where nothing did, or where that isn't known yet
static tarn_status put_news(tarn_store *store, store_slot *slot, uint64_t now_ns, bool is_last, tarn_text why)
{
    uint64_t state_bytes = 0;
    if (holds_back(store, slot, now_ns, is_last)) {
        return TARN_OK;
    }
    tarn_status status = follow(store, slot, now_ns);
    if (status == TARN_E_NOT_FOUND || status == TARN_E_STATE) {
        slot->kept_ns = status == TARN_E_NOT_FOUND ? now_ns : slot->kept_ns;
        if (status == TARN_E_NOT_FOUND && now_ns >= slot->trim_due_ns) {
            trim(store, slot, now_ns);
        }
        return TARN_OK;
    }
    if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "%.300s: the tank's black box can't be read: %s", slot->path,
                 tarn_status_text(status));
        return TARN_E_IO;
    }
    tarn_tank_history_date(&slot->history, &store->news);
    if (!is_last && is_large(&store->news) &&
        begin_large(&store->large, (uint32_t)(slot - store->slots), slot->file, &store->news, now_ns)) {
        return TARN_OK;
    }
    status = tarn_session_file_put(slot->file, &store->news, &state_bytes, why);
    return status == TARN_OK ? note_news(store, slot, &store->news, state_bytes, now_ns, why) : status;
}

// ---- what the gateway waits for ----

/// Does what is wished of a tank's past, and shows the gateway what that is. @param is_well  its file is
static void serve_past(tarn_store *store, uint32_t place, bool is_well)
{
    store_slot *slot = &store->slots[place];
    tarn_past_mail *mail = &store->asked[place].mail;
    static tarn_store_reply reply; // large, and one thread's
    pthread_mutex_lock(&store->mutex);
    if (slot->id == store->asked[place].id) {
        store->asked[place].kept_ns = slot->kept_ns;
    }
    const tarn_store_wish wish = mail->wish;
    pthread_mutex_unlock(&store->mutex);
    const bool is_wished = wish.kind != TARN_STORE_WISH_NONE;
    memset(&reply, 0, sizeof reply);
    if (is_wished && is_well) {
        tarn_tank_history_grant(&slot->history, slot->file, &wish, &reply);
    } else if (is_wished) {
        reply.status = TARN_E_STATE;
        snprintf(reply.why, sizeof reply.why, "this tank isn't kept just now, so that its past can't be seen");
    }
    pthread_mutex_lock(&store->mutex);
    const bool is_there = slot->id != 0 && slot->id == store->asked[place].id;
    mail->has_past = is_there && is_well;
    if (mail->has_past) {
        mail->past = slot->history.span;
    }
    if (is_wished && is_there) {
        mail->wish.kind = TARN_STORE_WISH_NONE;
        mail->reply = reply;
        mail->has_reply = true;
        reply.box_fd = 0;
    }
    pthread_mutex_unlock(&store->mutex);
    if (reply.box_fd > 0) { // nobody's any more
        close(reply.box_fd);
    }
}

/// Where an older state is asked for. @return false: none is
static bool takes_older(tarn_store *store, uint32_t place, uint32_t *epoch_min, tarn_text reason)
{
    pthread_mutex_lock(&store->mutex);
    store_asked *asked = &store->asked[place];
    const bool is_wanted = asked->wants_older && store->slots[place].id == asked->id;
    asked->wants_older = asked->wants_older && !is_wanted;
    *epoch_min = asked->epoch_min;
    memcpy(reason, asked->reason, sizeof(tarn_text));
    pthread_mutex_unlock(&store->mutex);
    return is_wanted;
}

/// The box that the newest state was in is of no use any more: what is in it isn't put.
static void serve_older(tarn_store *store, uint32_t place, tarn_status opened, uint32_t epoch_min, const char *reason)
{
    static tarn_store_older older; // large, and one thread's
    store_slot *slot = &store->slots[place];
    memset(&older, 0, sizeof older);
    if (slot->follower.fd > 0) {
        close(slot->follower.fd);
        slot->follower = (tarn_box_follower){0};
    }
    if (opened == TARN_OK) {
        read_older(slot->file, slot->label, reason, epoch_min, &older);
    }
    tarn_store_hide(older.why, slot->name, strlen(slot->name), slot->label);
    pthread_mutex_lock(&store->mutex);
    store->counts.states_aside += older.is_aside;
    store_asked *asked = &store->asked[place];
    const bool is_its = asked->id == slot->id;
    if (is_its) {
        asked->older = older;
        asked->has_older = true;
    }
    pthread_mutex_unlock(&store->mutex);
    if (!is_its && older.box_fd > 0) {
        close(older.box_fd);
    }
}

// ---- one round ----

/// A file that is damaged in part doesn't get better: it makes way for a new one, which all that is there goes into. If
/// that one fails at once the disk does, and only time can help.
static void begin_file_anew(tarn_store *store, store_slot *slot, const char *why)
{
    if (tarn_store_put_aside(store, slot->path, slot->label, why)) {
        slot->retry_ns = 0;
    }
}

/// @param status  TARN_E_MALFORMED: the file is damaged
static void note_status(tarn_store *store, store_slot *slot, tarn_status status, tarn_text why)
{
    if (status != TARN_OK) {
        const bool was_well = !slot->is_failing;
        note(store, slot, why);
        if (status == TARN_E_MALFORMED && was_well) {
            begin_file_anew(store, slot, why);
        }
        if (status == TARN_E_LIMIT) { // to find out so takes as long as to put it
            slot->retry_ns += TARN_GATEWAY_STORE_LARGE_MS * (uint64_t)1000000;
        }
    } else if (slot->is_failing) {
        note(store, slot, NULL);
    }
}

/// A large state was put. @param waits  for that
static void take_large(tarn_store *store, bool waits)
{
    tarn_store_large *large = &store->large;
    tarn_text why;
    if (!end_large(large, waits)) {
        return;
    }
    store_slot *slot = &store->slots[large->place];
    tarn_status status = large->status;
    memcpy(why, large->why, sizeof why);
    if (status == TARN_OK) {
        status = note_news(store, slot, &large->news, large->state_bytes, large->begun_ns, why);
    }
    note_status(store, slot, status, why);
    tarn_store_large_free(large);
}

static void serve_place(tarn_store *store, uint32_t place, bool is_last)
{
    store_slot *slot = &store->slots[place];
    tarn_session_about about;
    tarn_text why = "";
    bool has_changed = false;
    if (has_large(&store->large, place) || !take_asked(store, place, &about, &has_changed)) {
        return; // its file isn't this thread's just now, or there is nothing to be kept
    }
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    tarn_text reason;
    uint32_t epoch_min;
    const bool is_older_wanted = takes_older(store, place, &epoch_min, reason);
    if (now_ns < slot->retry_ns && !is_last && !is_older_wanted) {
        serve_past(store, place, false);
        serve_replay(store, place, false);
        return; // there is no file, so that all is put when it is tried again
    }
    const bool is_due = has_changed || slot->file == NULL || store->why_not[0] != '\0';
    tarn_status status = is_due ? put_about(store, slot, &about, why) : TARN_OK;
    if (is_older_wanted) {
        serve_older(store, place, status, epoch_min, reason);
    }
    if (status == TARN_OK) {
        status = put_epoch(slot, why);
    }
    if (status == TARN_OK && slot->follower.fd > 0) {
        status = put_news(store, slot, now_ns, is_last, why);
    } else if (status == TARN_OK) {
        slot->kept_ns = now_ns; // there is no tank that anything could happen in
    }
    if (has_large(&store->large, place)) {
        return;
    }
    note_status(store, slot, status, why);
    serve_past(store, place, slot->file != NULL);
    serve_replay(store, place, slot->file != NULL);
}

static void run_round(tarn_store *store, bool is_last)
{
    drop_ended(store);
    take_large(store, is_last);
    for (uint32_t place = 0; place < TARN_GATEWAY_SESSIONS_MAX; place++) {
        serve_place(store, place, is_last);
    }
    if (store->news.state.bytes.room > TARN_GATEWAY_STORE_ROOM_BYTES) {
        tarn_box_news_free(&store->news);
    }
}

// ---- what the folder may take ----

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

/// The time of day, since 1970, but for what it jumped ahead: a clock that was set wrong must cost nobody a tank.
static int64_t time_of_day_s(const tarn_store *store, uint64_t now_ns)
{
    const int64_t now_s = (int64_t)time(NULL);
    const int64_t counted_s = store->opened_s + (int64_t)((now_ns - store->opened_ns) / 1000000000);
    return now_s < counted_s ? now_s : counted_s;
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
    pthread_mutex_lock(&store->mutex);
    const tarn_store_limit limit = store->limit;
    pthread_mutex_unlock(&store->mutex);
    if (!tarn_store_limit_apply(store->dir, &limit, store->opened_s, time_of_day_s(store, now_ns), is_used, store,
                                &use)) {
        return; // commits fail too, and say why
    }
    if (use.is_too_large && !store->is_too_large) {
        tarn_log_warn("%s: its tanks take %" PRIu64 " bytes, more than --store-max; they stay", store->dir, use.bytes);
    }
    store->is_too_large = use.is_too_large;
}

// ---- round after round ----

uint64_t tarn_store_pause_ns(uint32_t commit_ms, uint64_t round_ns)
{
    const uint64_t half_ns = commit_ms * (uint64_t)500000, least_ns = half_ns / TARN_GATEWAY_STORE_PAUSE_SHARE;
    return round_ns + least_ns < half_ns ? half_ns - round_ns : least_ns;
}

void *tarn_store_rounds(void *user)
{
    tarn_store *store = user;
    bool is_ending;
    uint64_t round_ns = 0; // that the last one took
    do {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        pthread_mutex_lock(&store->mutex);
        store->round_ns = 0;
        const uint64_t wanted_ns = tarn_store_pause_ns(store->commit_ms, round_ns),
                       most_ns = TARN_GATEWAY_STORE_THERE_MS * (uint64_t)1000000;
        const uint64_t pause_ns = (wanted_ns < most_ns ? wanted_ns : most_ns) + (uint64_t)until.tv_nsec;
        until.tv_sec += (time_t)(pause_ns / 1000000000);
        until.tv_nsec = (long)(pause_ns % 1000000000);
        while (!store->is_ending && !store->is_wished && !store->is_hurried &&
               pthread_cond_timedwait(&store->wake, &store->mutex, &until) == 0) {
        }
        store->is_wished = false;
        is_ending = store->is_ending;
        store->is_hurried = false;
        const uint64_t begun_ns = store->round_ns = tarn_clock_monotonic_ns();
        pthread_mutex_unlock(&store->mutex);
        look_for_files(store, begun_ns);
        run_round(store, is_ending);
        keep_limit(store);
        note_in_time(store, tarn_clock_monotonic_ns());
        round_ns = tarn_clock_monotonic_ns() - begun_ns;
    } while (!is_ending);
    pthread_mutex_lock(&store->mutex);
    store->has_ended = true;
    pthread_mutex_unlock(&store->mutex);
    return NULL;
}
