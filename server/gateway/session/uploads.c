// A list of what is in the folder, which nobody else changes: begin at tarn_uploads_open. And scenes on their way
// there: begin at tarn_upload_begin.
#include "server/gateway/session/uploads.h"
#include "protocol/assert.h"
#include "server/base/files.h"
#include "server/base/log.h"
#include "server/base/text.h"
#include "server/gateway/pages/scenes.h"
#include "server/gateway/rights/role.h"
#include "server/scene/archive.h"
#include "server/scene/scene.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- files by their names ----

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

// ---- what is there ----

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

// ---- the folder's names on the disk ----

static void settle_folder(uv_work_t *work)
{
    const tarn_uploads *uploads = work->data;
    tarn_file_sync_folder(uploads->settling.path);
}

static void settle_more(tarn_uploads *uploads);

static void tell_settled(tarn_uploads *uploads);

static void on_settled(uv_work_t *work, int status)
{
    tarn_uploads *uploads = work->data;
    (void)status;
    uploads->settling.is_running = false;
    uploads->settling.done = uploads->settling.running_for;
    if (uploads->settling.done < uploads->settling.asked) {
        settle_more(uploads);
    }
    tell_settled(uploads);
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

// ---- what goes ----

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
    while (uploads->is_temporary && uploads->count > 0) {
        remove_at(uploads, uploads->count - 1);
    }
    if (uploads->is_temporary && rmdir(uploads->folder) != 0) {
        tarn_log_warn("%s can't be removed: %s", uploads->folder, strerror(errno));
    }
    uploads->folder[0] = 0;
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

// ---- room for more ----

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

/// Takes room for one. @return NULL: as many are on their way as may be, with a sentence in why
static tarn_uploads_place *take_place(tarn_uploads *uploads, const char *session, const char *by, uint64_t byte_count,
                                      tarn_text why)
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

// ---- what comes ----

int tarn_uploads_file_open(const tarn_uploads *uploads, const char *session, const char *by, tarn_name id,
                           tarn_text why)
{
    char path[PATH_BYTES], letters[TARN_GATEWAY_UPLOADS_ID_LETTERS + 1] = "";
    int fd = -1;
    if (tarn_draw_letters(letters, TARN_GATEWAY_UPLOADS_ID_LETTERS)) { // 100 bits
        snprintf(id, sizeof(tarn_name), "%s%s", TARN_UPLOADS_ID_PREFIX, letters);
        write_path(uploads, session, by, id, PARTIAL, path);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    if (fd < 0) {
        snprintf(why, sizeof(tarn_text), "the server can't keep it now: %s", strerror(errno));
    }
    return fd;
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

/// What was put there is not right: it is gone.
static void drop_file(const tarn_uploads *uploads, const char *session, const char *by, const char *id)
{
    char path[PATH_BYTES];
    write_path(uploads, session, by, id, PARTIAL, path);
    (void)unlink(path);
}

// ---- one on its way ----
// A process, a socket to it and what waits for that. It is over when the process has ended and its line has been read;
// its memory goes when libuv has let go of both, and whoever asked for it has, too.

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

/// The folder has been settled: who waited for that is told, unless the program ends.
static void tell_settled(tarn_uploads *uploads)
{
    for (tarn_upload *upload = uploads->folder[0] != 0 ? uploads->running : NULL; upload != NULL;
         upload = upload->next) {
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
        drop_file(upload->uploads, upload->session, upload->by, upload->id);
    } else {
        kept = tarn_uploads_file_keep(upload->uploads, upload->session, upload->by, upload->id, upload->plan.byte_count,
                                      why);
    }
    if (kept != NULL) {
        upload->result.status = 201;
        upload->result.scene = *kept;
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
    upload->place = take_place(uploads, plan->session, plan->by, plan->byte_count, why);
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
        drop_file(uploads, plan->session, plan->by, upload->id);
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
