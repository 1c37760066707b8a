// The folder's scenes, which a thread looks at again and again: begin at watch_folder. Behind that an uploaded scene,
// which a process of its own takes in: begin at tarn_scene_intake.
#include "server/worker/scenes.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/scene/archive.h"
#include "server/scene/scene.h"
#include "server/worker/confinement.h"
#include "server/worker/limits.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- the folder ----

enum { STACK_BYTES = 1 << 20 };

/// By what a file is told from what it was.
typedef struct file_stamp {
    struct timespec changed;
    off_t bytes;
    ino_t inode;
} file_stamp;

typedef struct watched_scene {
    tarn_name name;
    file_stamp stamp;
    uint64_t read_ns; ///< 0: it was never read
    bool is_right;
    uint64_t wrong_ns; ///< since when it has this fault
    tarn_text why;     ///< the fault
} watched_scene;

struct tarn_scene_watch {
    char folder[PATH_MAX];
    uint32_t first_ms;
    bool says;
    pthread_t thread;
    pthread_mutex_t lock; ///< of all up to `ends`
    pthread_cond_t end;
    tarn_ipc_scenes offered;
    tarn_ipc_scene_faults faults;
    bool is_reading, ends;
    atomic_bool has_news, has_faults_news;
    // The thread's.
    uint32_t count;
    watched_scene scenes[TARN_SCENES_MAX];
    file_stamp stamp; ///< of the folder
    tarn_scene *scene;
};

static bool is_same(const file_stamp *a, const file_stamp *b)
{
    return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec && a->bytes == b->bytes &&
           a->inode == b->inode;
}

static bool stamp_of(const char *path, file_stamp *stamp)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return false;
    }
    *stamp = (file_stamp){status.st_mtim, status.st_size, status.st_ino};
    return true;
}

/// Whoever copies a file may not be done with it. One from another clock's future isn't waited for.
static bool is_fresh(const file_stamp *stamp)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t age_ms =
        (now.tv_sec - stamp->changed.tv_sec) * 1000 + (now.tv_nsec - stamp->changed.tv_nsec) / 1000000;
    return age_ms > -TARN_SCENE_WATCH_AGAIN_MS && age_ms < TARN_SCENE_WATCH_FRESH_MS;
}

static const watched_scene *known(const tarn_scene_watch *watch, const char *name)
{
    for (uint32_t i = 0; i < watch->count; i++) {
        if (strcmp(watch->scenes[i].name, name) == 0) {
            return &watch->scenes[i];
        }
    }
    return NULL;
}

static void read_scene(tarn_scene_watch *watch, const char *path, const watched_scene *before, watched_scene *scene)
{
    char why[TARN_SCENE_WHY_BYTES];
    scene->read_ns = tarn_clock_monotonic_ns();
    scene->is_right = tarn_scene_read_file(path, watch->scene, why, sizeof why) == TARN_OK;
    if (scene->is_right) {
        tarn_scene_free(watch->scene);
    }
    // A path is the operator's business; the log has it.
    const size_t path_bytes = strlen(path);
    const bool has_path = strncmp(why, path, path_bytes) == 0 && strncmp(why + path_bytes, ": ", 2) == 0;
    const char *behind = strncmp(why, "...", 3) == 0 ? strstr(why, ".json: ") : NULL; // a long path's end
    const char *plain = has_path ? why + path_bytes + 2 : behind != NULL ? behind + 7 : why;
    const bool is_new = before == NULL || (before->read_ns == 0 && !before->is_right),
               was_wrong = !is_new && !before->is_right;
    const bool is_news = !scene->is_right && !(was_wrong && is_same(&before->stamp, &scene->stamp));
    if (is_news) {
        scene->wrong_ns = scene->read_ns;
        snprintf(scene->why, sizeof scene->why, "%s", plain);
    }
    if (!watch->says) {
        return;
    }
    if (is_news) {
        tarn_log_warn("the scene \"%s\" isn't offered: %s", scene->name, why);
    } else if (scene->is_right && (is_new || was_wrong)) {
        tarn_log_info("the scene \"%s\" is offered", scene->name);
    }
}

/// @param changed  whether the folder has other entries than before: what a scene lacked may be there
/// @return false: there is no such file
static bool look_at(tarn_scene_watch *watch, const char *name, bool changed, watched_scene *scene)
{
    char path[PATH_MAX];
    const watched_scene *before = known(watch, name);
    const int bytes = snprintf(path, sizeof path, "%s/%s.json", watch->folder, name);
    *scene = before != NULL ? *before : (watched_scene){0};
    snprintf(scene->name, sizeof scene->name, "%s", name);
    const file_stamp was = scene->stamp;
    if (bytes < 0 || (size_t)bytes >= sizeof path || !stamp_of(path, &scene->stamp)) {
        return false;
    }
    const bool is_other = scene->read_ns == 0 || !is_same(&was, &scene->stamp);
    if (is_other && is_fresh(&scene->stamp)) {
        scene->stamp = was;
        return true;
    }
    const uint64_t since_ns = tarn_clock_monotonic_ns() - scene->read_ns;
    if (is_other || (!scene->is_right && (changed || since_ns > TARN_SCENE_WATCH_AGAIN_MS * (uint64_t)1000000))) {
        read_scene(watch, path, before, scene);
    }
    return true;
}

/// Looks at all files once. A folder that can't be read leaves all as it is.
static void look(tarn_scene_watch *watch)
{
    static tarn_name names[TARN_SCENES_MAX];
    static watched_scene scenes[TARN_SCENES_MAX];
    file_stamp stamp = {0};
    uint32_t name_count, count = 0;
    if (!stamp_of(watch->folder, &stamp) ||
        tarn_scene_list(watch->folder, names, TARN_SCENES_MAX, &name_count) != TARN_OK) {
        return;
    }
    const bool changed = !is_same(&stamp, &watch->stamp);
    watch->stamp = stamp;
    for (uint32_t i = 0; i < name_count; i++) {
        count += look_at(watch, names[i], changed, &scenes[count]);
    }
    memcpy(watch->scenes, scenes, count * sizeof scenes[0]);
    watch->count = count;
}

/// What is right, or was offered from the start and is still to be read.
static void offer(tarn_scene_watch *watch, tarn_ipc_scenes *offered)
{
    *offered = (tarn_ipc_scenes){0};
    for (uint32_t i = 0; i < watch->count; i++) {
        if (watch->scenes[i].is_right) {
            memcpy(offered->names[offered->count++], watch->scenes[i].name, sizeof(tarn_name));
        }
    }
}

/// What can't be read, and the newest fault.
static void find_faults(const tarn_scene_watch *watch, tarn_ipc_scene_faults *faults)
{
    const watched_scene *newest = NULL;
    *faults = (tarn_ipc_scene_faults){0};
    for (uint32_t i = 0; i < watch->count; i++) {
        const watched_scene *scene = &watch->scenes[i];
        if (!scene->is_right && scene->read_ns > 0) {
            faults->count++;
            newest = newest == NULL || scene->wrong_ns > newest->wrong_ns ? scene : newest;
        }
    }
    if (newest != NULL) {
        memcpy(faults->newest, newest->name, sizeof faults->newest);
        memcpy(faults->why, newest->why, sizeof faults->why);
    }
}

/// @return false: it is to end
static bool wait_ms(tarn_scene_watch *watch, uint32_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!watch->ends && pthread_cond_timedwait(&watch->end, &watch->lock, &until) == 0) {
    }
    return !watch->ends;
}

static void *watch_folder(void *context)
{
    tarn_scene_watch *watch = context;
    static tarn_ipc_scenes offered;
    static tarn_ipc_scene_faults faults;
    (void)setpriority(PRIO_PROCESS, 0, TARN_SCENE_WATCH_NICE); // this thread's, on Linux
    pthread_mutex_lock(&watch->lock);
    for (uint32_t ms = watch->first_ms; wait_ms(watch, ms); ms = TARN_SCENE_WATCH_MS) {
        watch->is_reading = true;
        pthread_mutex_unlock(&watch->lock);
        look(watch);
        offer(watch, &offered);
        find_faults(watch, &faults);
        pthread_mutex_lock(&watch->lock);
        watch->is_reading = false;
        if (memcmp(&offered, &watch->offered, sizeof offered) != 0) {
            watch->offered = offered;
            atomic_store(&watch->has_news, true);
        }
        if (watch->says && (faults.count != watch->faults.count || strcmp(faults.newest, watch->faults.newest) != 0 ||
                            strcmp(faults.why, watch->faults.why) != 0)) {
            watch->faults = faults;
            atomic_store(&watch->has_faults_news, true);
        }
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

static void free_watch(tarn_scene_watch *watch)
{
    pthread_cond_destroy(&watch->end);
    pthread_mutex_destroy(&watch->lock);
    free(watch->scene);
    free(watch);
}

tarn_status tarn_scene_watch_open(const char *folder, const tarn_ipc_scenes *first, uint32_t first_ms, bool says,
                                  tarn_scene_watch **out)
{
    tarn_scene_watch *watch = calloc(1, sizeof *watch);
    tarn_scene *scene = calloc(1, sizeof *scene);
    if (watch == NULL || scene == NULL) {
        free(watch);
        free(scene);
        return TARN_E_MEMORY;
    }
    *watch = (tarn_scene_watch){.first_ms = first_ms, .says = says, .offered = *first, .scene = scene};
    snprintf(watch->folder, sizeof watch->folder, "%s", folder);
    // Those that were there from the start aren't new.
    watch->count = first->count;
    for (uint32_t i = 0; i < first->count; i++) {
        memcpy(watch->scenes[i].name, first->names[i], sizeof(tarn_name));
        watch->scenes[i].is_right = true;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    const int failed = pthread_create(&watch->thread, &small, watch_folder, watch);
    pthread_attr_destroy(&small);
    if (failed) {
        free_watch(watch);
        return TARN_E_MEMORY;
    }
    *out = watch;
    return TARN_OK;
}

bool tarn_scene_watch_news(tarn_scene_watch *watch, tarn_ipc_scenes *scenes)
{
    if (!atomic_exchange(&watch->has_news, false)) {
        return false;
    }
    pthread_mutex_lock(&watch->lock);
    *scenes = watch->offered;
    pthread_mutex_unlock(&watch->lock);
    return true;
}

bool tarn_scene_watch_faults(tarn_scene_watch *watch, tarn_ipc_scene_faults *faults)
{
    if (!atomic_exchange(&watch->has_faults_news, false)) {
        return false;
    }
    pthread_mutex_lock(&watch->lock);
    *faults = watch->faults;
    pthread_mutex_unlock(&watch->lock);
    return true;
}

void tarn_scene_watch_close(tarn_scene_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    pthread_mutex_lock(&watch->lock);
    watch->ends = true;
    const bool is_reading = watch->is_reading;
    pthread_cond_signal(&watch->end);
    pthread_mutex_unlock(&watch->lock);
    if (is_reading) {
        pthread_detach(watch->thread);
        return;
    }
    pthread_join(watch->thread, NULL);
    free_watch(watch);
}

// ---- an uploaded one ----
// The process is limited before the first byte is read.

static bool limit(int resource, rlim_t most)
{
    struct rlimit found;
    if (getrlimit((__rlimit_resource_t)resource, &found) != 0) {
        return false;
    }
    const rlim_t value = found.rlim_max < most ? found.rlim_max : most;
    return setrlimit((__rlimit_resource_t)resource, &(struct rlimit){value, value}) == 0;
}

/// What the process may have from here on. @return false: the system doesn't let it be limited
static bool confine(int file_fd)
{
    (void)setpriority(PRIO_PROCESS, 0, TARN_SCENE_INTAKE_NICE);
    const bool closed =
        (file_fd <= STDERR_FILENO + 1 || close_range(STDERR_FILENO + 1, (unsigned)file_fd - 1, 0) == 0) &&
        close_range((unsigned)file_fd + 1, UINT_MAX, 0) == 0;
    return closed && (tarn_confinement_is_sanitized || limit(RLIMIT_AS, TARN_SCENE_INTAKE_MEMORY_BYTES)) &&
           limit(RLIMIT_CPU, TARN_SCENE_INTAKE_CPU_S) && limit(RLIMIT_FSIZE, TARN_SCENE_ARCHIVE_BYTES_MAX) &&
           limit(RLIMIT_CORE, 0) && (tarn_confinement_is_sanitized || limit(RLIMIT_NOFILE, (rlim_t)file_fd + 1)) &&
           prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
           tarn_confinement_end(TARN_CONFINED_INTAKE, (const char *const[]){NULL});
}

static ssize_t read_stdin(void *from, void *bytes, size_t byte_count)
{
    (void)from;
    ssize_t got;
    do {
        got = read(STDIN_FILENO, bytes, byte_count);
    } while (got < 0 && errno == EINTR);
    return got;
}

/// @return TARN_OK or TARN_E_IO: errno says why
static tarn_status write_file(int fd, const tarn_scene_pack *pack)
{
    size_t done = 0;
    while (done < pack->byte_count) {
        const ssize_t got = write(fd, pack->bytes + done, pack->byte_count - done);
        if (got < 0 && errno != EINTR) {
            return TARN_E_IO;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return fsync(fd) == 0 ? TARN_OK : TARN_E_IO;
}

/// Leaves only the scene and what it may name: nobody is to keep anything else here.
static tarn_status drop_unnamed(tarn_scene_pack *pack)
{
    tarn_scene_pack kept = {0};
    tarn_scene_entry scene, entry;
    size_t at = 0;
    tarn_status status = tarn_scene_pack_next(pack->bytes, pack->byte_count, &at, &scene)
                             ? tarn_scene_pack_add(&kept, scene.name, scene.bytes, scene.byte_count)
                             : TARN_E_MALFORMED;
    while (status == TARN_OK && tarn_scene_pack_next(pack->bytes, pack->byte_count, &at, &entry)) {
        if (tarn_scene_pack_names(&scene, entry.name)) {
            status = tarn_scene_pack_add(&kept, entry.name, entry.bytes, entry.byte_count);
        }
    }
    tarn_scene_pack_free(status == TARN_OK ? pack : &kept);
    if (status == TARN_OK) {
        *pack = kept;
    }
    return status;
}

/// @return a new reference, or NULL: there is no memory
static json_t *describe(const tarn_scene *scene, const tarn_scene_pack *pack)
{
    tarn_remark remarks[TARN_REMARKS_MAX];
    const uint32_t count = tarn_tank_desc_remarks(&scene->tank, remarks, TARN_REMARKS_MAX);
    json_t *list = json_array();
    for (uint32_t i = 0; i < count && i < TARN_REMARKS_MAX; i++) {
        json_array_append_new(list, json_string(remarks[i]));
    }
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:o}", "scene", scene->name, "title", scene->title, "files",
                     (json_int_t)tarn_scene_pack_count(pack), "bytes", (json_int_t)pack->byte_count, "particles",
                     (json_int_t)tarn_tank_desc_particles(&scene->tank), "remarks", list);
}

/// Takes the scene. @return what is to be said of it
static json_t *take(int file_fd, tarn_scene *scene, tarn_scene_pack *pack)
{
    char why[TARN_SCENE_WHY_BYTES] = "";
    tarn_status status = tarn_scene_archive_read(read_stdin, NULL, pack, why, sizeof why);
    if (status == TARN_OK) {
        status = drop_unnamed(pack);
    }
    if (status == TARN_OK) {
        status = tarn_scene_read_kept(pack, scene, why, sizeof why);
    }
    if (status == TARN_E_MEMORY) {
        snprintf(why, sizeof why, "reading it takes more than the %d MiB of memory that are allowed",
                 TARN_SCENE_INTAKE_MEMORY_BYTES >> 20);
    }
    if (status != TARN_OK) {
        return json_pack("{s:s}", "error", why[0] != 0 ? why : tarn_status_text(status));
    }
    if (write_file(file_fd, pack) != TARN_OK) {
        snprintf(why, sizeof why, "it cannot be kept: %s", strerror(errno));
        return json_pack("{s:s, s:b}", "error", why, "is_disk", 1);
    }
    return describe(scene, pack);
}

int tarn_scene_intake(int file_fd)
{
    static tarn_scene scene;
    tarn_scene_pack pack = {0};
    if (!confine(file_fd)) {
        fprintf(stderr, "tarn-worker: a scene's check can't be limited: %s\n", strerror(errno));
        return 1;
    }
    json_t *said = take(file_fd, &scene, &pack);
    char *line = said != NULL ? json_dumps(said, JSON_COMPACT) : NULL;
    const bool is_said = line != NULL && printf("%s\n", line) > 0 && fflush(stdout) == 0;
    free(line);
    json_decref(said);
    tarn_scene_free(&scene);
    tarn_scene_pack_free(&pack);
    return is_said ? 0 : 1;
}
