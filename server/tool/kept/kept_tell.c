// Rows of text from kept_look, and copies. Begin at kept_list.
#include "server/tool/kept/kept_tell.h"
#include "server/common/printable.h"
#include "server/tool/kept/kept_look.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_BYTES = 32, TIME_BYTES = 32 };

/// "12.3 MB"
static const char *size_text(uint64_t bytes, char text[SIZE_BYTES])
{
    if (bytes < 1000) {
        snprintf(text, SIZE_BYTES, "%" PRIu64 " B", bytes);
    } else if (bytes < 1000000) {
        snprintf(text, SIZE_BYTES, "%.1f kB", 1e-3 * (double)bytes);
    } else {
        snprintf(text, SIZE_BYTES, "%.1f MB", 1e-6 * (double)bytes);
    }
    return text;
}

/// "12.30 s", or "-" where nobody knows how long a step is.
static const char *time_text(uint64_t step, double dt_s, char text[TIME_BYTES])
{
    snprintf(text, TIME_BYTES, dt_s > 0.0 ? "%.2f s" : "-", (double)step * dt_s);
    return text;
}

static int is_kept(const struct dirent *entry)
{
    bool is_aside;
    return kept_name_bytes(entry->d_name, &is_aside) > 0;
}

int kept_find(const char *command, const char *dir, char ***names)
{
    struct dirent **entries = NULL;
    *names = NULL;
    const int count = scandir(dir, &entries, is_kept, alphasort);
    if (count < 0) {
        fprintf(stderr, "%s: %s: %s\n", command, dir, strerror(errno));
        return -1;
    }
    *names = calloc((size_t)count + 1, sizeof **names);
    for (int i = 0; i < count; i++) {
        if (*names != NULL) {
            (*names)[i] = strdup(entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    if (*names == NULL) {
        fprintf(stderr, "%s: out of memory\n", command);
        return -1;
    }
    return count;
}

static void list_one(const char *file_name, const kept_summary *summary)
{
    char time[TIME_BYTES], size[SIZE_BYTES], name[TARN_NAME_BYTES_MAX + 16], title[sizeof summary->title],
        scene[sizeof summary->scene];
    snprintf(name, sizeof name, "%s", file_name);
    snprintf(title, sizeof title, "%s", summary->title[0] != 0 ? summary->title : "-");
    snprintf(scene, sizeof scene, "%s", summary->has_rest ? summary->scene : "-");
    tarn_make_printable(name);
    tarn_make_printable(title);
    tarn_make_printable(scene);
    char damaged[SIZE_BYTES] = "no";
    if (summary->damage_count > 0) {
        snprintf(damaged, sizeof damaged, "%u times", summary->damage_count);
    }
    printf("%-20s %-20s %-18s %8" PRIu64 " %10s %6u %5" PRIu64 " steps %10s %s\n", name, title, scene,
           summary->end_step, time_text(summary->end_step, summary->dt_s, time), summary->state_count,
           summary->end_step - summary->state_step, size_text(summary->file_bytes, size), damaged);
}

/// @param file  how it is called
static void tell_of_shrinking(const char *file, const kept_summary *summary)
{
    char shown[PATH_MAX];
    snprintf(shown, sizeof shown, "%s", file);
    tarn_make_printable(shown);
    if (!summary->shrinks) {
        printf("%s: an earlier version made it, and it never gets smaller: `tarn session prune DIR --shrink` writes it "
               "anew\n",
               shown);
    }
}

bool kept_list(const char *command, const char *dir, const char *scenes_dir)
{
    char **names;
    bool is_read = true;
    const int count = kept_find(command, dir, &names);
    if (count == 0) {
        printf("no kept session is in %s\n", dir);
    } else if (count > 0) {
        printf("%-20s %-20s %-18s %8s %10s %6s %11s %10s %s\n", "NAME", "TITLE", "SCENE", "STEP", "TIME", "STATES",
               "LOG", "SIZE", "DAMAGED");
    }
    for (int i = 0; i < count; i++) {
        static const kept_sink nobody;
        static kept_summary summary;
        char path[PATH_MAX];
        tarn_text why;
        bool is_aside = false;
        const size_t name_bytes = kept_name_bytes(names[i], &is_aside);
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if (kept_look(path, scenes_dir, false, &nobody, &summary, why) == TARN_OK) {
            names[i][is_aside ? strlen(names[i]) : name_bytes] = 0;
            list_one(names[i], &summary);
            tell_of_shrinking(names[i], &summary);
        } else {
            tarn_make_printable(why);
            fprintf(stderr, "%s: %s\n", command, why);
            is_read = false;
        }
        free(names[i]);
    }
    free(names);
    return count >= 0 && is_read;
}

// ---- one of them ----

static void show_state(void *user, const tarn_session_row *row)
{
    char packed[SIZE_BYTES], plain[SIZE_BYTES], scene[sizeof row->head.scene];
    (void)user;
    if (!row->is_whole) {
        printf("state %" PRId64 ": damaged, %s\n", row->id, size_text(row->packed_bytes, packed));
        return;
    }
    snprintf(scene, sizeof scene, "%s", row->head.scene);
    tarn_make_printable(scene);
    printf("state %" PRId64 ": step %" PRIu64 ", epoch %u, frame %u, %s (%s packed) of \"%s\", %s\n", row->id,
           row->head.step, row->head.epoch, row->head.number, size_text(row->content_bytes, plain),
           size_text(row->packed_bytes, packed), scene,
           row->follows ? "to which the log before leads" : "made anew or set back");
}

static void show_batch(void *user, const tarn_session_row *row, uint64_t steps)
{
    char packed[SIZE_BYTES], plain[SIZE_BYTES];
    (void)user;
    if (!row->is_whole) {
        printf("log %" PRId64 " behind state %" PRId64 ": damaged, %s\n", row->id, row->state,
               size_text(row->packed_bytes, packed));
        return;
    }
    printf("log %" PRId64 " behind state %" PRId64 ": %" PRIu64 " steps, until epoch %u and frame %u, %s (%s packed)\n",
           row->id, row->state, steps, row->head.epoch, row->head.number, size_text(row->content_bytes, plain),
           size_text(row->packed_bytes, packed));
}

static void show_aside(void *user, const tarn_session_aside *aside)
{
    tarn_text reason;
    (void)user;
    snprintf(reason, sizeof reason, "%s", aside->reason);
    tarn_make_printable(reason);
    printf("state %" PRId64 " was set aside, with %u batches of its log: ", aside->state, aside->batch_count);
    if (aside->is_whole) {
        printf("step %" PRIu64 ", %s\n", aside->step, reason);
    } else {
        printf("damaged, %s\n", reason);
    }
}

static void show_damage(void *user, const char *sentence)
{
    char text[2 * sizeof(tarn_text)];
    (void)user;
    snprintf(text, sizeof text, "%s", sentence);
    tarn_make_printable(text);
    printf("%s\n", text);
}

static void show_about(const kept_summary *summary)
{
    static const char *const roles[] = {"watch", "play", "do as an owner"};
    _Static_assert(sizeof roles / sizeof roles[0] == TARN_ROLE_COUNT, "a text for each");
    tarn_session_about about = summary->about;
    tarn_make_printable(about.name);
    tarn_make_printable(about.title);
    tarn_make_printable(about.begun_as);
    printf("session \"%s\"%s%s%s, opened with the scene \"%s\"; whoever has no key may %s%s%s\n", about.name,
           about.title[0] != 0 ? ", \"" : "", about.title, about.title[0] != 0 ? "\"" : "", about.begun_as,
           roles[about.guests], about.is_listed ? "; listed" : "", about.is_kept ? "; stays when nobody is in it" : "");
}

static void show_scene(const kept_summary *summary)
{
    char size[SIZE_BYTES], scene[sizeof summary->scene];
    snprintf(scene, sizeof scene, "%s", summary->scene);
    tarn_make_printable(scene);
    if (summary->scene_files > 0) {
        printf("its scene, \"%s\", is in it: %u file%s, %s\n", scene, summary->scene_files,
               summary->scene_files > 1 ? "s" : "", size_text(summary->scene_bytes, size));
    } else {
        printf("its scene, \"%s\", isn't in it: it is taken from the scenes' folder\n", scene);
    }
}

bool kept_show(const char *command, const char *path, const char *scenes_dir)
{
    static const kept_sink sink = {NULL, show_state, show_batch, show_aside, show_damage};
    static kept_summary summary;
    char size[SIZE_BYTES], time[TIME_BYTES];
    tarn_text why;
    if (kept_look(path, scenes_dir, false, &sink, &summary, why) != TARN_OK) {
        tarn_make_printable(why);
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    if (summary.has_about) {
        show_about(&summary);
    }
    if (summary.has_rest) {
        show_scene(&summary);
        printf("a server goes on at step %" PRIu64 " (%s), from a state of step %" PRIu64 "; %s in all\n",
               summary.end_step, time_text(summary.end_step, summary.dt_s, time), summary.state_step,
               size_text(summary.file_bytes, size));
    } else {
        printf("no state of the tank can be read: a server starts it afresh; %s in all\n",
               size_text(summary.file_bytes, size));
    }
    return true;
}

// ---- what is damaged ----

static void print_counts(const kept_summary *summary)
{
    printf("%u state%s, %u log batch%s, until step %" PRIu64, summary->state_count,
           summary->state_count == 1 ? "" : "s", summary->batch_count, summary->batch_count == 1 ? "" : "es",
           summary->end_step);
}

static bool verify_one(const char *command, const char *path)
{
    static const kept_sink sink = {.on_damage = show_damage};
    static kept_summary summary;
    tarn_text why;
    if (kept_look(path, NULL, true, &sink, &summary, why) != TARN_OK) {
        tarn_make_printable(why);
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    if (summary.damage_count == 0) {
        char shown[PATH_MAX];
        snprintf(shown, sizeof shown, "%s", path);
        tarn_make_printable(shown);
        printf("%s: whole: ", shown);
        print_counts(&summary);
        putchar('\n');
    }
    tell_of_shrinking(path, &summary);
    return summary.damage_count == 0;
}

bool kept_verify(const char *command, const char *path)
{
    struct stat found;
    char **names;
    bool is_whole = true;
    if (stat(path, &found) != 0 || !S_ISDIR(found.st_mode)) {
        return verify_one(command, path);
    }
    const int count = kept_find(command, path, &names);
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%s/%s", path, names[i]);
        is_whole = verify_one(command, file) && is_whole;
        free(names[i]);
    }
    free(names);
    if (count == 0) {
        printf("no kept session is in %s\n", path);
    }
    return count >= 0 && is_whole;
}

// ---- a copy ----

/// @param dir, name  of the store and of a session, or of a file there
/// @return whether there is such a file
static bool find_named(const char *dir, const char *name, char path[PATH_MAX])
{
    bool is_aside;
    const char *ending = kept_name_bytes(name, &is_aside) > 0 ? "" : ".tank";
    char named[PATH_MAX];
    return (size_t)snprintf(named, sizeof named, "%s/%s%s", dir, name, ending) < sizeof named &&
           realpath(named, path) != NULL;
}

/// @param lacks_log  receives whether what lay in a log beside the file isn't in the copy
static tarn_status copy_file(const char *path, const char *to, bool *lacks_log, tarn_text why)
{
    char wal[PATH_MAX + 8];
    tarn_session_file *file;
    tarn_status status;
    bool is_again = true;
    snprintf(wal, sizeof wal, "%s-wal", path);
    do { // A file that nobody writes is copied as it lies there, unless somebody begins to meanwhile.
        const bool was_written = access(wal, F_OK) == 0;
        status = tarn_session_file_open_to_read(path, &file, why);
        if (status == TARN_OK) {
            *lacks_log = tarn_session_file_lacks_log(file);
            status = tarn_session_file_copy(file, to, why);
            tarn_session_file_close(file);
        }
        is_again = status == TARN_OK && !was_written && access(wal, F_OK) == 0;
    } while (is_again && unlink(to) == 0);
    return status;
}

bool kept_backup(const char *command, const char *dir, const char *name, const char *to)
{
    static const kept_sink sink = {.on_damage = show_damage};
    static kept_summary summary;
    char path[PATH_MAX], shown[PATH_MAX], size[SIZE_BYTES];
    tarn_text why;
    if (!find_named(dir, name, path)) {
        snprintf(shown, sizeof shown, "%s: no session \"%s\" is kept there", dir, name);
        tarn_make_printable(shown);
        fprintf(stderr, "%s: %s\n", command, shown);
        return false;
    }
    bool lacks_log = false;
    tarn_status status = copy_file(path, to, &lacks_log, why);
    if (status == TARN_OK) {
        status = kept_look(to, NULL, true, &sink, &summary, why);
    }
    if (status != TARN_OK) {
        tarn_make_printable(why);
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    snprintf(shown, sizeof shown, "%s", to);
    tarn_make_printable(shown);
    printf("%s: ", shown);
    print_counts(&summary);
    printf(", %s\n", size_text(summary.file_bytes, size));
    if (lacks_log) {
        char sentence[2 * sizeof(tarn_text)];
        snprintf(sentence, sizeof sentence,
                 "%.300s: no server closed it, and the -wal that then lies beside it is missing: all that was done "
                 "behind step %" PRIu64 " is lost, in the copy too, unless an earlier version closed it",
                 path, summary.end_step);
        show_damage(NULL, sentence);
    }
    return !lacks_log && summary.damage_count == (summary.is_misnamed ? 1 : 0);
}
