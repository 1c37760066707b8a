// A list of what is in the folder, which nobody else changes. Begin at tarn_uploads_open.
#include "server/gateway/session/uploads.h"
#include "protocol/assert.h"
#include "server/base/files.h"
#include "server/base/log.h"
#include "server/gateway/pages/scenes.h"
#include "server/scene/archive.h"
#include "server/scene/scene.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char PARTIAL[] = ".part"; // behind the name of one that isn't kept yet

enum { PATH_BYTES = TARN_GATEWAY_UPLOADS_FOLDER_BYTES + 2 * TARN_NAME_BYTES_MAX + TARN_TOKEN_ID_BYTES_MAX + 32 };

_Static_assert((int)PATH_BYTES <= (int)TARN_IPC_SCENE_BYTES_MAX, "a worker is told of it by its path");

/// @param ending  behind it all: PARTIAL or ""
static void write_path(const tarn_uploads *uploads, const char *session, const char *by, const char *id,
                       const char *ending, char path[PATH_BYTES])
{
    const int bytes =
        snprintf(path, PATH_BYTES, "%s/%s.%s.%s%s%s", uploads->folder, session, by, id, TARN_SCENE_PACK_ENDING, ending);
    TARN_ASSERT(bytes > 0 && bytes < PATH_BYTES);
}

/// The next part of a file's name, up to a '.'. @return what follows that, or NULL: it is none
static const char *take_part(const char *at, char *part, size_t bytes_max, bool may_be_empty)
{
    const size_t bytes = strcspn(at, ".");
    if (at[bytes] != '.' || bytes > bytes_max || (bytes == 0 && !may_be_empty)) {
        return NULL;
    }
    memcpy(part, at, bytes);
    part[bytes] = 0;
    return at + bytes + 1;
}

static bool read_file_name(const char *file, tarn_uploads_scene *scene)
{
    const char *at = take_part(file, scene->session, TARN_NAME_BYTES_MAX, false);
    at = at != NULL ? take_part(at, scene->by, TARN_TOKEN_ID_BYTES_MAX, true) : NULL;
    at = at != NULL ? take_part(at, scene->id, TARN_NAME_BYTES_MAX, false) : NULL;
    return at != NULL && strcmp(at, TARN_SCENE_PACK_ENDING + 1) == 0 && tarn_scene_name_valid(scene->id);
}

/// The scene's own name, which the pack begins with, and how large it is. @return false: it is no such file
static bool read_file(const char *path, tarn_uploads_scene *scene)
{
    uint8_t head[8 + TARN_SCENE_PACK_NAME_BYTES_MAX + 1] = {0};
    struct stat found;
    uint32_t name_bytes = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool is_right = fd >= 0 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode) &&
                    pread(fd, head, sizeof head - 1, 0) > (ssize_t)sizeof name_bytes * 2;
    if (fd >= 0) {
        close(fd);
    }
    memcpy(&name_bytes, head, sizeof name_bytes);
    const size_t end = strlen(".json");
    is_right = is_right && name_bytes > end && name_bytes - end <= TARN_NAME_BYTES_MAX;
    if (!is_right) {
        return false;
    }
    snprintf(scene->name, sizeof scene->name, "%.*s", (int)(name_bytes - end), (const char *)head + 8);
    scene->bytes = (uint64_t)found.st_size;
    scene->at_s = (int64_t)found.st_mtim.tv_sec;
    return tarn_scene_name_valid(scene->name);
}

static int compare_ages(const void *a, const void *b)
{
    const tarn_uploads_scene *one = a, *other = b;
    return one->at_s != other->at_s ? (one->at_s < other->at_s ? -1 : 1) : strcmp(one->id, other->id);
}

/// What is there. Of a program before this one that was killed amid an upload, a part may be, which goes.
static void find_scenes(tarn_uploads *uploads)
{
    char path[PATH_BYTES];
    DIR *dir = opendir(uploads->folder);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const size_t bytes = strlen(entry->d_name), end = strlen(PARTIAL);
        if ((size_t)snprintf(path, sizeof path, "%s/%s", uploads->folder, entry->d_name) >= sizeof path) {
            continue;
        }
        if (bytes > end && strcmp(entry->d_name + bytes - end, PARTIAL) == 0) {
            (void)unlink(path);
            continue;
        }
        tarn_uploads_scene scene = {0};
        if (entry->d_name[0] == '.' || !read_file_name(entry->d_name, &scene) || !read_file(path, &scene)) {
            continue; // whoever put it there knows why
        }
        if (uploads->count == TARN_GATEWAY_UPLOADS_MAX) {
            tarn_log_warn("there are more uploaded scenes than the %d that are allowed; some aren't offered",
                          TARN_GATEWAY_UPLOADS_MAX);
            break;
        }
        uploads->scenes[uploads->count++] = scene;
        uploads->bytes += scene.bytes;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    qsort(uploads->scenes, uploads->count, sizeof uploads->scenes[0], compare_ages);
}

tarn_status tarn_uploads_open(tarn_uploads *uploads, const char *store, uint64_t bytes_max, tarn_text why)
{
    char real[PATH_MAX], named[PATH_MAX];
    struct stat found;
    if (bytes_max == 0) {
        return TARN_OK;
    }
    if (store != NULL) {
        snprintf(named, sizeof named, "%.*s/uploads", PATH_MAX - 16, store);
        (void)mkdir(named, 0700);
    } else {
        const char *folder = getenv("TMPDIR");
        snprintf(named, sizeof named, "%.*s/tarnd-uploads-XXXXXX", PATH_MAX - 32, folder != NULL ? folder : "/tmp");
        if (mkdtemp(named) == NULL) {
            snprintf(why, sizeof(tarn_text), "--uploads: %.300s can't be made: %s", named, strerror(errno));
            return TARN_E_IO;
        }
        uploads->is_temporary = true;
    }
    if (realpath(named, real) == NULL || stat(real, &found) != 0 || !S_ISDIR(found.st_mode) ||
        found.st_uid != geteuid() || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        snprintf(why, sizeof(tarn_text),
                 "--uploads: %.300s isn't there, or others may write there; allowed is a folder of one's own", named);
        return TARN_E_IO;
    }
    if (strlen(real) >= sizeof uploads->folder) {
        snprintf(why, sizeof(tarn_text), "--uploads: the path of its folder has %zu bytes, allowed are %zu",
                 strlen(real), sizeof uploads->folder - 1);
        return TARN_E_IO;
    }
    memcpy(uploads->folder, real, strlen(real) + 1);
    uploads->bytes_max = bytes_max;
    find_scenes(uploads);
    return TARN_OK;
}

static void settle_folder(uv_work_t *work)
{
    const tarn_uploads *uploads = work->data;
    tarn_file_sync_folder(uploads->settling.path);
}

static void settle_more(tarn_uploads *uploads);

static void on_settled(uv_work_t *work, int status)
{
    tarn_uploads *uploads = work->data;
    (void)status;
    uploads->settling.is_running = false;
    uploads->settling.done = uploads->settling.running_for;
    if (uploads->settling.done < uploads->settling.asked) {
        settle_more(uploads);
    }
    if (uploads->settling.settled != NULL) {
        uploads->settling.settled(uploads);
    }
}

static void settle_more(tarn_uploads *uploads)
{
    uploads->settling.work.data = uploads;
    uploads->settling.running_for = uploads->settling.asked;
    uploads->settling.is_running = true;
    snprintf(uploads->settling.path, sizeof uploads->settling.path, "%s/", uploads->folder);
    if (uv_queue_work(uploads->loop, &uploads->settling.work, settle_folder, on_settled) != 0) {
        uploads->settling.is_running = false; // which it refuses of no function alone
        uploads->settling.done = uploads->settling.running_for;
    }
}

uint64_t tarn_uploads_settle(tarn_uploads *uploads)
{
    uploads->settling.asked++;
    if (!uploads->settling.is_running) {
        settle_more(uploads);
    }
    return uploads->settling.asked;
}

static void remove_at(tarn_uploads *uploads, uint32_t place)
{
    char path[PATH_BYTES];
    const tarn_uploads_scene *scene = &uploads->scenes[place];
    TARN_ASSERT(place < uploads->count && uploads->bytes >= scene->bytes);
    write_path(uploads, scene->session, scene->by, scene->id, "", path);
    if (unlink(path) != 0 && errno != ENOENT) {
        tarn_log_warn("an uploaded scene can't be removed: %s", strerror(errno));
    }
    uploads->bytes -= scene->bytes;
    uploads->count--;
    memmove(&uploads->scenes[place], &uploads->scenes[place + 1], (uploads->count - place) * sizeof uploads->scenes[0]);
}

void tarn_uploads_close(tarn_uploads *uploads)
{
    if (uploads->folder[0] == 0) {
        return;
    }
    uploads->settling.settled = NULL;
    while (uploads->is_temporary && uploads->count > 0) {
        remove_at(uploads, uploads->count - 1);
    }
    if (uploads->is_temporary && rmdir(uploads->folder) != 0) {
        tarn_log_warn("%s can't be removed: %s", uploads->folder, strerror(errno));
    }
    uploads->folder[0] = 0;
}

/// One that has a scene, or brings one.
typedef struct owner_use {
    uint32_t count;
    uint64_t bytes;
} owner_use;

static owner_use use_of(const tarn_uploads *uploads, const char *session, const char *by)
{
    owner_use use = {0};
    for (uint32_t i = 0; i < uploads->count; i++) {
        const tarn_uploads_scene *scene = &uploads->scenes[i];
        if (strcmp(scene->session, session) == 0 && strcmp(scene->by, by) == 0) {
            use.count++;
            use.bytes += scene->bytes;
        }
    }
    for (uint32_t i = 0; i < TARN_GATEWAY_UPLOADING_MAX; i++) {
        const tarn_uploads_place *place = &uploads->places[i];
        if (place->is_taken && strcmp(place->session, session) == 0 && strcmp(place->by, by) == 0) {
            use.count++;
            use.bytes += place->bytes;
        }
    }
    return use;
}

static owner_use use_of_all(const tarn_uploads *uploads)
{
    owner_use use = {uploads->count, uploads->bytes};
    for (uint32_t i = 0; i < TARN_GATEWAY_UPLOADING_MAX; i++) {
        use.count += uploads->places[i].is_taken;
        use.bytes += uploads->places[i].is_taken ? uploads->places[i].bytes : 0;
    }
    return use;
}

tarn_status tarn_uploads_have_room(const tarn_uploads *uploads, const char *session, const char *by,
                                   uint64_t byte_count, tarn_text why)
{
    const owner_use use = use_of(uploads, session, by), all = use_of_all(uploads);
    const uint64_t share = uploads->bytes_max / TARN_GATEWAY_SHARE;
    if (use.count >= TARN_GATEWAY_UPLOADS_OWN_MAX) {
        snprintf(why, sizeof(tarn_text), "you have %u scenes here, which is all that one may have; remove one first",
                 use.count);
    } else if (use.bytes > share || byte_count > share - use.bytes) {
        snprintf(why, sizeof(tarn_text),
                 "this scene has %llu bytes and the others that you have here %llu, allowed are %llu for all of them; "
                 "remove one first",
                 (unsigned long long)byte_count, (unsigned long long)use.bytes, (unsigned long long)share);
    } else if (all.count >= TARN_GATEWAY_UPLOADS_MAX || all.bytes > uploads->bytes_max ||
               byte_count > uploads->bytes_max - all.bytes) {
        snprintf(why, sizeof(tarn_text),
                 "all uploaded scenes together have %u files of %llu bytes, allowed are %d of %llu; somebody must "
                 "remove one first",
                 all.count, (unsigned long long)all.bytes, TARN_GATEWAY_UPLOADS_MAX,
                 (unsigned long long)uploads->bytes_max);
    } else {
        return TARN_OK;
    }
    return TARN_E_LIMIT;
}

tarn_uploads_place *tarn_uploads_take_place(tarn_uploads *uploads, const char *session, const char *by,
                                            uint64_t byte_count, tarn_text why)
{
    tarn_uploads_place *found = NULL;
    uint32_t own = 0;
    for (uint32_t i = 0; i < TARN_GATEWAY_UPLOADING_MAX; i++) {
        tarn_uploads_place *place = &uploads->places[i];
        own += place->is_taken && strcmp(place->session, session) == 0 && strcmp(place->by, by) == 0;
        found = found == NULL && !place->is_taken ? place : found;
    }
    if (found == NULL || own >= TARN_GATEWAY_UPLOADING_OWN_MAX) { // one leaves room for somebody else's
        snprintf(why, sizeof(tarn_text), "%d scene%s being uploaded%s, which is all at once; try again in a moment",
                 found == NULL ? TARN_GATEWAY_UPLOADING_MAX : TARN_GATEWAY_UPLOADING_OWN_MAX,
                 found == NULL ? "s are" : " is", found == NULL ? "" : " by you");
        return NULL;
    }
    *found = (tarn_uploads_place){.is_taken = true, .bytes = byte_count};
    snprintf(found->session, sizeof found->session, "%s", session);
    snprintf(found->by, sizeof found->by, "%s", by);
    return found;
}

/// 100 bits.
static bool draw_id(tarn_name id)
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789"; // 32: five bits of a byte pick one evenly
    uint8_t bytes[TARN_GATEWAY_UPLOADS_ID_LETTERS];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return false;
    }
    size_t used = (size_t)snprintf(id, sizeof(tarn_name), "%s", TARN_UPLOADS_ID_PREFIX);
    for (size_t i = 0; i < sizeof bytes; i++) {
        id[used++] = letters[bytes[i] % (sizeof letters - 1)];
    }
    id[used] = 0;
    return true;
}

int tarn_uploads_file_open(const tarn_uploads *uploads, const char *session, const char *by, tarn_name id,
                           tarn_text why)
{
    char path[PATH_BYTES];
    int fd = -1;
    if (draw_id(id)) {
        write_path(uploads, session, by, id, PARTIAL, path);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (fd < 0) {
        snprintf(why, sizeof(tarn_text), "the server can't keep it now: %s", strerror(errno));
    }
    return fd;
}

void tarn_uploads_file_drop(const tarn_uploads *uploads, const char *session, const char *by, const char *id)
{
    char path[PATH_BYTES];
    write_path(uploads, session, by, id, PARTIAL, path);
    (void)unlink(path);
}

const tarn_uploads_scene *tarn_uploads_file_keep(tarn_uploads *uploads, const char *session, const char *by,
                                                 const char *id, uint64_t bytes_max, tarn_text why)
{
    char partial[PATH_BYTES], path[PATH_BYTES];
    tarn_uploads_scene *scene = &uploads->scenes[uploads->count];
    TARN_ASSERT(uploads->count < TARN_GATEWAY_UPLOADS_MAX);
    *scene = (tarn_uploads_scene){0};
    snprintf(scene->session, sizeof scene->session, "%s", session);
    snprintf(scene->by, sizeof scene->by, "%s", by);
    snprintf(scene->id, sizeof scene->id, "%s", id);
    write_path(uploads, session, by, id, PARTIAL, partial);
    write_path(uploads, session, by, id, "", path);
    const bool is_right = read_file(partial, scene), is_larger = is_right && scene->bytes > bytes_max;
    if (!is_right || is_larger || rename(partial, path) != 0) {
        snprintf(why, sizeof(tarn_text),
                 is_larger ? "the scene's check wrote more than came" : "the server can't keep it now");
        (void)unlink(partial);
        return NULL;
    }
    scene->at_s = (int64_t)time(NULL);
    uploads->bytes += scene->bytes;
    uploads->count++;
    return scene;
}

bool tarn_uploads_remove(tarn_uploads *uploads, const char *session, const char *id)
{
    for (uint32_t i = 0; i < uploads->count; i++) {
        if (strcmp(uploads->scenes[i].session, session) == 0 && strcmp(uploads->scenes[i].id, id) == 0) {
            remove_at(uploads, i);
            (void)tarn_uploads_settle(uploads);
            return true;
        }
    }
    return false;
}

void tarn_uploads_end_session(tarn_uploads *uploads, const char *session)
{
    if (uploads == NULL) {
        return;
    }
    const uint32_t before = uploads->count;
    for (uint32_t i = uploads->count; i-- > 0;) {
        if (strcmp(uploads->scenes[i].session, session) == 0) {
            remove_at(uploads, i);
        }
    }
    if (uploads->count < before) {
        (void)tarn_uploads_settle(uploads);
    }
    for (uint32_t i = 0; i < TARN_GATEWAY_UPLOADING_MAX; i++) {
        tarn_uploads_place *place = &uploads->places[i];
        place->is_over |= place->is_taken && strcmp(place->session, session) == 0;
    }
}

const char *tarn_uploads_choose(const tarn_uploads *uploads, const tarn_ipc_scenes *listed, const char *own,
                                const char *name)
{
    static char path[PATH_BYTES];
    if (tarn_own_scene_is_listed(listed, name)) {
        return tarn_own_scene_find(own, name);
    }
    for (uint32_t i = 0; uploads != NULL && i < uploads->count; i++) {
        const tarn_uploads_scene *scene = &uploads->scenes[i];
        if (strcmp(scene->id, name) == 0) {
            write_path(uploads, scene->session, scene->by, scene->id, "", path);
            return path;
        }
    }
    return NULL;
}
