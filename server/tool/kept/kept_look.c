// All states, then all batches of the log, then what a server makes of them. Begin at kept_look.
#include "server/tool/kept/kept_look.h"
#include "kernels/step_input.h"
#include "server/common/black_box_layout.h"
#include "server/common/scene.h"
#include "server/common/scene_pack.h"
#include "server/common/session_shrink.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RANGE_BYTES = 64 };

size_t kept_name_bytes(const char *file_name, bool *is_aside)
{
    static const char *const endings[] = {".tank", ".damaged"};
    const size_t length = strlen(file_name);
    for (int i = 0; i < 2; i++) {
        const size_t end = strlen(endings[i]);
        if (length > end && length - end <= TARN_NAME_BYTES_MAX && strcmp(file_name + length - end, endings[i]) == 0) {
            *is_aside = i == 1;
            return length - end;
        }
    }
    return 0;
}

uint64_t kept_file_bytes(const char *path, int64_t *changed_s)
{
    static const char *const besides[] = {"", "-wal"};
    uint64_t bytes = 0;
    *changed_s = 0;
    for (int i = 0; i < 2; i++) {
        char beside[PATH_MAX];
        struct stat found;
        snprintf(beside, sizeof beside, "%s%s", path, besides[i]);
        if (stat(beside, &found) == 0) {
            bytes += (uint64_t)found.st_size;
            *changed_s = found.st_mtime > *changed_s ? found.st_mtime : *changed_s;
        }
    }
    return bytes;
}

bool kept_log_steps(const uint8_t *log, size_t byte_count, uint64_t *steps)
{
    static tarn_step_input input; // large
    tarn_black_box_record record;
    size_t at = 0;
    *steps = 0;
    while (tarn_black_box_record_next(log, byte_count, &at, &record)) {
        if (record.input_bytes == 0) { // of what viewers hold alone
            continue;
        }
        if (tarn_step_input_read(record.input, record.input_bytes, &input) != TARN_OK) {
            return false;
        }
        *steps += !input.holds;
    }
    return true;
}

typedef struct look {
    const char *path, *scenes_dir;
    bool is_aside;
    const kept_sink *sink;
    kept_summary *summary;
    tarn_session_file *file;
    int64_t newest;                  // the newest state that is whole; 0: none
    int64_t first_state, last_state; // that are there
    int64_t last_batch;
} look;

__attribute__((format(printf, 2, 3))) static void damage(look *l, const char *format, ...)
{
    char sentence[2 * sizeof(tarn_text)];
    va_list arguments;
    l->summary->damage_count++;
    if (l->sink->on_damage != NULL) {
        const int at = snprintf(sentence, sizeof sentence, "%.300s: ", l->path);
        va_start(arguments, format);
        vsnprintf(sentence + at, sizeof sentence - (size_t)at, format, arguments);
        va_end(arguments);
        l->sink->on_damage(l->sink->user, sentence);
    }
}

static void on_database_damage(void *user, const char *sentence)
{
    damage(user, "SQLite: %.300s", sentence);
}

static const char *loss_of_state(const look *l, int64_t id)
{
    return id < l->newest   ? "nothing else is, since a newer one is whole"
           : l->newest != 0 ? "the tank goes on from an older one, as far as the log leads from there"
                            : "the tank starts afresh";
}

static const char *loss_of_log(const look *l, int64_t state)
{
    return state < l->newest ? "the way to the next state is, the tank isn't: a newer one is whole"
                             : "so is what was done to the tank from there on";
}

static void take_about(look *l)
{
    tarn_text why;
    const char *name = strrchr(l->path, '/');
    name = name == NULL ? l->path : name + 1;
    l->summary->has_about = tarn_session_file_about(l->file, &l->summary->about, why) == TARN_OK;
    const size_t length = kept_name_bytes(name, &l->is_aside);
    if (!l->summary->has_about) {
        damage(l, "what the session is can't be read: its name, its title and its links are lost");
    } else if (length > 0 && !l->is_aside &&
               (strlen(l->summary->about.name) != length || memcmp(l->summary->about.name, name, length) != 0)) {
        l->summary->is_misnamed = true;
        damage(l, "the session in it is \"%s\": a server sets the file aside", l->summary->about.name);
    }
}

/// "state 3 is" or "states 3 to 5 are".
static const char *range_text(char text[RANGE_BYTES], const char *what, const char *ending, int64_t first, int64_t last)
{
    if (first == last) {
        snprintf(text, RANGE_BYTES, "%s %" PRId64 " is", what, first);
    } else {
        snprintf(text, RANGE_BYTES, "%s%s %" PRId64 " to %" PRId64 " are", what, ending, first, last);
    }
    return text;
}

static void take_state(look *l, const tarn_session_row *row)
{
    char range[RANGE_BYTES];
    l->summary->state_count++;
    if (l->last_state != 0 && row->id != l->last_state + 1 &&
        !tarn_session_aside_has(l->file, false, l->last_state + 1, row->id - 1)) {
        damage(l, "%s missing and lost", range_text(range, "state", "s", l->last_state + 1, row->id - 1));
    }
    l->first_state = l->first_state == 0 ? row->id : l->first_state;
    l->last_state = row->id;
    if (!row->is_whole) {
        damage(l, "state %" PRId64 " (%zu bytes) is damaged and lost; %s", row->id, row->packed_bytes,
               loss_of_state(l, row->id));
    }
    if (l->sink->on_state != NULL) {
        l->sink->on_state(l->sink->user, row);
    }
}

static void take_batch(look *l, const tarn_session_row *row)
{
    char range[RANGE_BYTES];
    uint64_t steps = 0;
    l->summary->batch_count++;
    if (l->last_batch != 0 && row->id != l->last_batch + 1 &&
        !tarn_session_aside_has(l->file, true, l->last_batch + 1, row->id - 1)) {
        damage(l, "%s missing and lost before one behind state %" PRId64 "; %s",
               range_text(range, "log batch", "es", l->last_batch + 1, row->id - 1), row->state,
               loss_of_log(l, row->state));
    }
    l->last_batch = row->id;
    if (row->state < l->first_state || row->state > l->last_state) {
        damage(l, "log batch %" PRId64 " is behind state %" PRId64 ", which isn't there", row->id, row->state);
    }
    if (!row->is_whole) {
        damage(l, "log batch %" PRId64 " (%zu bytes), behind state %" PRId64 ", is damaged and lost; %s", row->id,
               row->packed_bytes, row->state, loss_of_log(l, row->state));
    } else if (!kept_log_steps(row->content, row->content_bytes, &steps)) {
        damage(l, "log batch %" PRId64 ", behind state %" PRId64 ": the record after %" PRIu64 " steps is none; %s",
               row->id, row->state, steps, loss_of_log(l, row->state));
    }
    if (l->sink->on_batch != NULL) {
        l->sink->on_batch(l->sink->user, row, steps);
    }
}

static void find_newest(look *l)
{
    tarn_session_row row = {0};
    tarn_text why;
    while (tarn_session_file_next_state(l->file, &row, why) == TARN_OK) {
        l->newest = row.is_whole ? row.id : l->newest;
    }
}

static void take_rows(look *l)
{
    tarn_session_row state = {0}, batch = {0};
    tarn_text why;
    tarn_status status;
    while ((status = tarn_session_file_next_state(l->file, &state, why)) == TARN_OK) {
        take_state(l, &state);
    }
    if (status != TARN_E_NOT_FOUND) {
        damage(l, "no state behind %" PRId64 " can be found (%s)", state.id, tarn_status_text(status));
    }
    while ((status = tarn_session_file_next_batch(l->file, &batch, why)) == TARN_OK) {
        take_batch(l, &batch);
    }
    if (status != TARN_E_NOT_FOUND) {
        damage(l, "no log batch behind %" PRId64 " can be found (%s)", batch.id, tarn_status_text(status));
    }
}

/// The scene as it is in the file, or else in the scenes' folder.
static void take_scene(const look *l, const tarn_box_bytes *bytes)
{
    kept_summary *summary = l->summary;
    tarn_scene_pack pack = {.bytes = bytes->bytes, .byte_count = bytes->count}; // which is only read
    tarn_scene_entry entry;
    size_t at = 0;
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES];
    while (tarn_scene_pack_next(pack.bytes, pack.byte_count, &at, &entry)) {
        summary->scene_files++;
        summary->scene_bytes += entry.byte_count;
    }
    tarn_scene *read = calloc(1, sizeof *read);
    const tarn_status status =
        read == NULL          ? TARN_E_MEMORY
        : pack.byte_count > 0 ? tarn_scene_read_kept(&pack, read, why, sizeof why)
                              : tarn_scene_resolve(summary->scene, l->scenes_dir, path, sizeof path, why, sizeof why);
    if (status == TARN_OK && (pack.byte_count > 0 || tarn_scene_read_file(path, read, why, sizeof why) == TARN_OK)) {
        summary->dt_s = (double)read->tank.dt_s;
        memcpy(summary->title, read->title, sizeof summary->title);
        tarn_scene_free(read);
    }
    free(read);
    if (summary->about.title[0] != 0) {
        snprintf(summary->title, sizeof summary->title, "%s", summary->about.title);
    }
}

/// A copy that was made without what lay beside the file.
static void take_log_beside(look *l)
{
    const char *name = strrchr(l->path, '/');
    name = name == NULL ? l->path : name + 1;
    if (!l->is_aside && tarn_session_file_lacks_log(l->file)) {
        damage(
            l,
            "no server closed it, and %.100s-wal, which then lies beside it, is missing: all that was done behind step "
            "%" PRIu64 " is lost, unless an earlier version closed it; `tarn session backup` makes whole copies",
            name, l->summary->end_step);
    }
}

static void take_aside(look *l)
{
    tarn_session_aside aside = {0};
    tarn_text why;
    while (l->sink->on_aside != NULL && tarn_session_aside_next(l->file, &aside, why) == TARN_OK) {
        l->sink->on_aside(l->sink->user, &aside);
    }
}

/// What a server goes on from.
static void take_rest(look *l)
{
    tarn_session_rest rest;
    tarn_text why;
    uint64_t steps;
    kept_summary *summary = l->summary;
    if (tarn_session_file_rest(l->file, &rest, why) != TARN_OK) {
        return;
    }
    (void)kept_log_steps(rest.log.bytes, rest.log.count, &steps);
    summary->has_rest = true;
    memcpy(summary->scene, rest.state.scene, sizeof summary->scene);
    if (rest.is_scene_damaged) {
        damage(l, "the scene \"%s\" is damaged and lost; the one of that name in the scenes' folder is taken",
               rest.state.scene);
    }
    take_scene(l, &rest.state.pack);
    summary->epoch = rest.epoch;
    summary->state_step = rest.state.step;
    summary->end_step = rest.state.step + steps;
    tarn_session_rest_free(&rest);
}

tarn_status kept_look(const char *path, const char *scenes_dir, bool is_thorough, const kept_sink *sink,
                      kept_summary *summary, tarn_text why)
{
    look l = {.path = path, .scenes_dir = scenes_dir, .sink = sink, .summary = summary};
    int64_t changed_s;
    memset(summary, 0, sizeof *summary);
    summary->file_bytes = kept_file_bytes(path, &changed_s);
    const tarn_status status = tarn_session_file_open_to_read(path, &l.file, why);
    if (status != TARN_OK) {
        return status;
    }
    if (is_thorough && tarn_session_file_check(l.file, on_database_damage, &l, why) != TARN_OK) {
        damage(&l, "SQLite can't look through it");
    }
    if (tarn_session_shrink_can(l.file, &summary->shrinks, why) != TARN_OK) {
        summary->shrinks = true; // nothing can be said of it
    }
    take_about(&l);
    find_newest(&l);
    take_rows(&l);
    take_aside(&l);
    take_rest(&l);
    take_log_beside(&l);
    tarn_session_file_close(l.file);
    return TARN_OK;
}
