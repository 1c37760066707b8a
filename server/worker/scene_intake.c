// Begin at tarn_scene_intake. The process is limited before the first byte is read.
#include "server/worker/scene_intake.h"
#include "server/common/scene.h"
#include "server/common/scene_archive.h"
#include "server/worker/confinement.h"
#include "server/worker/worker_limits.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

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
