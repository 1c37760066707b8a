// Where scenes lie: the shipped directory, its listing, and what a person's argument means.
#include "server/common/near_name.h"
#include "server/common/printable.h"
#include "server/common/scene.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCENE_SUFFIX ".json"
#define SCENE_SHARE "/../share/tarn/scenes"

bool tarn_scene_name_valid(const char *name)
{
    size_t bytes = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return bytes > 0 && name[bytes] == '\0' && bytes <= TARN_NAME_BYTES_MAX;
}

/// @return 0, or why there is none that can be read, as errno says it
static int directory_error(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return errno;
    }
    return !S_ISDIR(status.st_mode) ? ENOTDIR : access(path, R_OK | X_OK) != 0 ? errno : 0;
}

/// The directory of the running executable, without a slash at the end.
static bool executable_directory(char *path, size_t path_bytes)
{
    ssize_t bytes = readlink("/proc/self/exe", path, path_bytes - 1);
    if (bytes <= 0 || (size_t)bytes >= path_bytes - 1) {
        return false;
    }
    path[bytes] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

/// Says why there is no directory.
static void say_no_directory(const char *by, const char *directory, int error, char *why, size_t why_bytes)
{
    if (why == NULL || why_bytes == 0) {
        return;
    }
    if (by != NULL) {
        snprintf(why, why_bytes, "%s names %.160s, which cannot be read: %s", by, directory, strerror(error));
    } else {
        snprintf(why, why_bytes, "the scenes that come with Tarn are not in %.120s; TARN_SCENES names another folder",
                 directory);
    }
    tarn_make_printable(why);
}

tarn_status tarn_scene_directory(const char *option, char *path, size_t path_bytes, char *why, size_t why_bytes)
{
    // A directory that somebody named is the only one tried: falling back would hide the mistake.
    const char *variable = getenv("TARN_SCENES"), *named = option;
    if (option != NULL && variable != NULL && strcmp(option, variable) == 0) {
        option = NULL; // a program whose options come from the environment, too, was told the same by that
    }
    if (option == NULL && variable != NULL && variable[0] != '\0') {
        named = variable;
    }
    char beside[PATH_MAX + sizeof SCENE_SHARE] = "", real[PATH_MAX];
    if (named == NULL && executable_directory(beside, PATH_MAX)) {
        strcat(beside, SCENE_SHARE);
    }
    const char *candidate = named != NULL ? named : beside;
    const int error = directory_error(candidate);
    const char *found = error != 0 ? NULL : option != NULL ? option : realpath(candidate, real);
    if (found != NULL && strlen(found) < path_bytes) {
        strcpy(path, found);
        return TARN_OK;
    }
    say_no_directory(named == NULL    ? NULL
                     : option != NULL ? "--scenes"
                                      : "TARN_SCENES",
                     candidate, error, why, why_bytes);
    return TARN_E_NOT_FOUND;
}

/// Cuts the suffix off a scene's file name. The schema and hidden files aren't scenes, by their names.
static bool scene_name_of(const char *file, tarn_name name)
{
    size_t bytes = strlen(file), suffix = strlen(SCENE_SUFFIX);
    if (bytes <= suffix || bytes - suffix > TARN_NAME_BYTES_MAX || strcmp(file + bytes - suffix, SCENE_SUFFIX) != 0) {
        return false;
    }
    memcpy(name, file, bytes - suffix);
    name[bytes - suffix] = '\0';
    return tarn_scene_name_valid(name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

tarn_status tarn_scene_list(const char *directory, tarn_name *names, uint32_t names_max, uint32_t *name_count)
{
    DIR *stream = opendir(directory);
    if (stream == NULL) {
        return errno == ENOENT || errno == ENOTDIR ? TARN_E_NOT_FOUND : TARN_E_IO;
    }
    if (names_max > TARN_SCENES_MAX) {
        names_max = TARN_SCENES_MAX;
    }
    // A directory comes in no order: with more scenes than fit, the first by name are kept.
    uint32_t count = 0;
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        tarn_name name = {0};
        if (!scene_name_of(entry->d_name, name)) {
            continue;
        }
        if (count < names_max) {
            memcpy(names[count++], name, sizeof name);
        } else if (count > 0 && strcmp(name, names[count - 1]) < 0) {
            memcpy(names[count - 1], name, sizeof name);
        } else {
            continue;
        }
        qsort(names, count, sizeof names[0], compare_names);
    }
    closedir(stream);
    *name_count = count;
    return TARN_OK;
}

/// Says which scenes there are; for the sentence about one that isn't.
static void say_not_found(const char *argument, const char *directory, char *why, size_t why_bytes)
{
    if (why == NULL || why_bytes == 0) {
        return;
    }
    size_t used = 0;
    int bytes = snprintf(why, why_bytes, "scene %.100s: no such file%s%.200s", argument,
                         directory != NULL ? ", and none of that name in " : "", directory != NULL ? directory : "");
    used = bytes < 0 ? 0 : (size_t)bytes;
    tarn_name *names = calloc(TARN_SCENES_MAX, sizeof *names);
    uint32_t count = 0;
    if (names != NULL && directory != NULL) {
        tarn_scene_list(directory, names, TARN_SCENES_MAX, &count);
    }
    const char *near = names != NULL ? tarn_near_name(argument, names[0], count, sizeof names[0]) : NULL;
    if (near != NULL && used < why_bytes) {
        bytes = snprintf(why + used, why_bytes - used, "; did you mean \"%s\"?", near);
        used += bytes < 0 ? 0 : (size_t)bytes;
    }
    for (uint32_t i = 0; i < count && used < why_bytes; i++) {
        bytes = snprintf(why + used, why_bytes - used, "%s%s",
                         i > 0          ? ", "
                         : near != NULL ? " Allowed is a path to a .json file or one of: "
                                        : "; allowed is a path to a .json file or one of: ",
                         names[i]);
        used += bytes < 0 ? 0 : (size_t)bytes;
    }
    free(names);
    tarn_make_printable(why);
}

/// Whether a file is there, or may be: where the system says anything else than that there is none, so does who reads
/// it.
static bool may_be_there(const char *path)
{
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

tarn_status tarn_scene_resolve(const char *argument, const char *directory, char *path, size_t path_bytes, char *why,
                               size_t why_bytes)
{
    char own[PATH_MAX];
    if (directory == NULL && tarn_scene_directory(NULL, own, sizeof own, NULL, 0) == TARN_OK) {
        directory = own;
    }
    tarn_name name = {0};
    bool is_name = tarn_scene_name_valid(argument);
    if (is_name) {
        snprintf(name, sizeof name, "%s", argument);
    }
    int bytes = snprintf(path, path_bytes, "%s", argument);
    if (bytes < 0 || (size_t)bytes >= path_bytes) {
        say_not_found(argument, directory, why, why_bytes);
        return TARN_E_NOT_FOUND;
    }
    // A bare name means the shipped scene; a file of that name here is meant only when its path says so.
    if (!is_name && may_be_there(path)) {
        return TARN_OK;
    }
    if (!is_name && strchr(argument, '/') == NULL) {
        is_name = scene_name_of(argument, name);
    }
    if (is_name && directory == NULL) {
        tarn_scene_directory(NULL, own, sizeof own, why, why_bytes);
        return TARN_E_NOT_FOUND;
    }
    if (is_name) {
        bytes = snprintf(path, path_bytes, "%s/%s" SCENE_SUFFIX, directory, name);
        if (bytes > 0 && (size_t)bytes < path_bytes && may_be_there(path)) {
            return TARN_OK;
        }
    }
    say_not_found(argument, directory, why, why_bytes);
    return TARN_E_NOT_FOUND;
}
