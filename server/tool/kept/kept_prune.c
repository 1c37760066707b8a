// The folder's lock, then one file after the other. Begin at kept_prune.
#include "server/tool/kept/kept_prune.h"
#include "server/common/printable.h"
#include "server/common/session_shrink.h"
#include "server/tool/kept/kept_look.h"
#include "server/tool/kept/kept_tell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/// Holds the folder as a tarnd would. @return a descriptor that holds it; -1: there never was a lock; -2: a sentence
/// went to stderr
static int hold(const char *command, const char *dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/lock", dir);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        return -1;
    }
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        return fd;
    }
    if (fd >= 0 && errno == EWOULDBLOCK) {
        fprintf(stderr, "%s: %s: a tarnd keeps its tanks there; end it first\n", command, dir);
    } else {
        fprintf(stderr, "%s: %s: %s\n", command, path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return -2;
}

static bool is_named(const char *file_name, const char *name)
{
    bool is_aside;
    const size_t length = kept_name_bytes(file_name, &is_aside);
    return strcmp(file_name, name) == 0 || (strlen(name) == length && memcmp(file_name, name, length) == 0);
}

static bool is_wanted(const kept_prune_plan *plan, const char *file_name, uint64_t bytes, int64_t age_s)
{
    bool wanted = plan->name_count == 0;
    for (int i = 0; i < plan->name_count && !wanted; i++) {
        wanted = is_named(file_name, plan->names[i]);
    }
    return wanted && (plan->older_s == 0 || (age_s > 0 && (uint64_t)age_s > plan->older_s)) &&
           (plan->larger_bytes == 0 || bytes > plan->larger_bytes);
}

/// The database last: without it what lies beside it says nothing.
static bool remove_all(const char *command, const char *path)
{
    static const char *const besides[] = {"-wal", "-shm", ""};
    for (size_t i = 0; i < sizeof besides / sizeof besides[0]; i++) {
        char beside[PATH_MAX];
        snprintf(beside, sizeof beside, "%s%s", path, besides[i]);
        if (unlink(beside) != 0 && errno != ENOENT) {
            fprintf(stderr, "%s: %s: %s\n", command, beside, strerror(errno));
            return false;
        }
    }
    return true;
}

/// @return whether it could be done, or need not be
static bool shrink(const char *command, const kept_prune_plan *plan, const char *path, uint64_t bytes, int *done)
{
    tarn_session_file *file = NULL;
    tarn_text why;
    int64_t changed_s;
    bool can = true;
    char shown[PATH_MAX];
    tarn_status status =
        plan->is_dry ? tarn_session_file_open_to_read(path, &file, why) : tarn_session_file_open(path, &file, why);
    if (status == TARN_OK) {
        status = tarn_session_shrink_can(file, &can, why);
    }
    if (status == TARN_OK && !can && !plan->is_dry) {
        status = tarn_session_shrink_enable(file, why);
    }
    tarn_session_file_close(file);
    if (status != TARN_OK) {
        tarn_make_printable(why);
        fprintf(stderr, "%s: %s; it is as it was\n", command, why);
        return false;
    }
    snprintf(shown, sizeof shown, "%s", path);
    tarn_make_printable(shown);
    if (!can && plan->is_dry) {
        printf("%s: %" PRIu64 " bytes, would be written anew\n", shown, bytes);
    } else if (!can) {
        printf("%s: written anew, %" PRIu64 " bytes instead of %" PRIu64 "\n", shown, kept_file_bytes(path, &changed_s),
               bytes);
    }
    *done += !can;
    return true;
}

/// @return whether all went that was to go
static bool prune_one(const char *command, const kept_prune_plan *plan, const char *file_name, int *gone)
{
    char path[PATH_MAX];
    int64_t changed_s;
    snprintf(path, sizeof path, "%s/%s", plan->dir, file_name);
    const uint64_t bytes = kept_file_bytes(path, &changed_s);
    const int64_t age_s = (int64_t)time(NULL) - changed_s;
    if (!is_wanted(plan, file_name, bytes, age_s)) {
        return true;
    }
    if (plan->shrinks) {
        bool is_aside = false;
        (void)kept_name_bytes(file_name, &is_aside);
        return is_aside || shrink(command, plan, path, bytes, gone); // nobody can say what a damaged one becomes
    }
    if (!plan->is_dry && !remove_all(command, path)) {
        return false;
    }
    tarn_make_printable(path);
    printf("%s: %s, %" PRIu64 " bytes, last changed %" PRId64 " h ago\n", path, plan->is_dry ? "would go" : "gone",
           bytes, age_s / 3600);
    ++*gone;
    return true;
}

/// @return whether each name is one of a file's
static bool check_names(const char *command, const kept_prune_plan *plan, char **names, int count)
{
    bool are_there = true;
    for (int i = 0; i < plan->name_count; i++) {
        bool is_there = false;
        for (int k = 0; k < count; k++) {
            is_there |= is_named(names[k], plan->names[i]);
        }
        if (!is_there) {
            fprintf(stderr, "%s: %s: no session \"%s\" is kept there\n", command, plan->dir, plan->names[i]);
            are_there = false;
        }
    }
    return are_there;
}

bool kept_prune(const char *command, const kept_prune_plan *plan)
{
    char **names;
    int gone = 0;
    const int count = kept_find(command, plan->dir, &names);
    const int lock = count >= 0 ? hold(command, plan->dir) : -2;
    const bool goes = lock != -2 && check_names(command, plan, names, count); // or nothing does
    bool succeeded = goes;
    for (int i = 0; i < count; i++) {
        if (goes && (succeeded || plan->shrinks)) { // one that can't be written anew keeps no other from it
            succeeded = prune_one(command, plan, names[i], &gone) && succeeded;
        }
        free(names[i]);
    }
    free(names);
    if (succeeded && gone == 0) {
        printf(plan->shrinks ? "nothing need be written anew\n" : "nothing goes\n");
    }
    if (lock >= 0) {
        close(lock);
    }
    return succeeded;
}
