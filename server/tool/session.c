// `tarn session`: kept sessions' files, looked at, told of, copied and deleted; its acts and their options. Begin at
// tool_session, which is the last one. What is simulated of a session is in run/export.c and run/replay.c.
#include "server/tool/session.h"
#include "kernels/step_input.h"
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/log/black_box.h"
#include "server/log/session_history.h"
#include "server/log/session_scene.h"
#include "server/scene/archive.h"
#include "server/scene/scene.h"
#include "server/tool/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- states and their log ----
// From a file's rows to stretches, and from a stretch to steps. Begin at kept_copy_read.

static tarn_status append(tarn_box_bytes *to, const uint8_t *bytes, size_t byte_count)
{
    if (to->count + byte_count > to->room) {
        const size_t doubled = 2 * to->room, needed = to->count + byte_count;
        if (tarn_box_bytes_make_room(to, doubled > needed ? doubled : needed) != TARN_OK) {
            return TARN_E_MEMORY;
        }
    }
    if (byte_count > 0) {
        memcpy(to->bytes + to->count, bytes, byte_count);
        to->count += byte_count;
    }
    return TARN_OK;
}

static tarn_status take_states(tarn_session_file *file, int64_t after, kept_copy *copy, tarn_text why)
{
    tarn_session_row row = {.id = after};
    tarn_status status = TARN_OK;
    while (copy->count < KEPT_STATES_MAX && (status = tarn_session_file_next_state(file, &row, why)) == TARN_OK) {
        const int64_t before = copy->count > 0 ? copy->stretches[copy->count - 1].id : after;
        kept_stretch *stretch = &copy->stretches[copy->count++];
        stretch->id = row.id;
        stretch->follows = row.follows && (before == 0 || before + 1 == row.id);
        stretch->is_whole = row.is_whole;
        stretch->epoch = row.head.epoch;
        stretch->state.step = row.head.step;
        stretch->state.state_bytes_max = row.head.state_bytes_max;
        memcpy(stretch->state.scene, row.head.scene, sizeof stretch->state.scene);
        if (append(&stretch->state.bytes, row.content, row.content_bytes) != TARN_OK) {
            snprintf(why, sizeof(tarn_text), "out of memory for %zu bytes of a state", row.content_bytes);
            return TARN_E_MEMORY;
        }
        const tarn_status scene = tarn_session_scene_read(file, row.id, &stretch->state.pack, why);
        if (scene != TARN_OK && scene != TARN_E_MALFORMED) { // one that is damaged is taken by its name
            return scene;
        }
    }
    return status == TARN_E_NOT_FOUND ? TARN_OK : status;
}

static void take_batch(kept_stretch *stretch, const tarn_session_row *row, bool is_next)
{
    stretch->is_cut = stretch->is_cut || !is_next || !row->is_whole ||
                      stretch->log.count + row->content_bytes > KEPT_LOG_BYTES_MAX ||
                      append(&stretch->log, row->content, row->content_bytes) != TARN_OK;
}

static void take_log(tarn_session_file *file, kept_copy *copy, tarn_text why)
{
    tarn_session_row row = {.id = copy->batch};
    tarn_status status;
    const int64_t newest = copy->count > 0 ? copy->stretches[copy->count - 1].id : 0;
    int64_t last = 0;
    int at = 0;
    while ((status = tarn_session_file_next_batch(file, &row, why)) == TARN_OK && row.state <= newest) {
        while (at < copy->count && copy->stretches[at].id < row.state) {
            at++;
        }
        if (at < copy->count && copy->stretches[at].id == row.state) {
            take_batch(&copy->stretches[at], &row,
                       last == 0 || row.id == last + 1 || tarn_session_aside_has(file, true, last + 1, row.id - 1));
        } else if (at > 0) { // its state is missing
            copy->stretches[at - 1].is_cut = true;
        }
        copy->batch = last = row.id;
    }
    if (status != TARN_OK && status != TARN_E_NOT_FOUND && copy->count > 0) {
        copy->stretches[at < copy->count ? at : copy->count - 1].is_cut = true;
    }
}

static tarn_status take(tarn_session_file *file, const char *path, int64_t after, kept_copy *copy, tarn_text why)
{
    kept_copy_free(copy);
    tarn_status status = take_states(file, after, copy, why);
    if (status == TARN_OK) {
        take_log(file, copy, why);
    }
    if (status == TARN_OK && copy->count == 0) {
        snprintf(why, sizeof(tarn_text), "%.300s: no state of the tank is in it", path);
        status = TARN_E_NOT_FOUND;
    }
    if (status != TARN_OK) {
        kept_copy_free(copy);
    }
    return status;
}

tarn_status kept_copy_read(const char *path, int64_t after, kept_copy *copy, tarn_text why)
{
    tarn_session_file *file;
    tarn_status status = tarn_session_file_open_to_read(path, &file, why);
    if (status == TARN_OK) {
        status = take(file, path, after, copy, why);
        tarn_session_file_close(file);
    }
    return status;
}

static bool has_whole(const kept_copy *copy)
{
    bool has = false;
    for (int i = 0; i < copy->count; i++) {
        has |= copy->stretches[i].is_whole;
    }
    return has;
}

tarn_status kept_copy_read_newest(const char *path, kept_copy *copy, tarn_text why)
{
    tarn_session_file *file;
    int64_t after = 1;
    tarn_status status = tarn_session_file_open_to_read(path, &file, why);
    if (status != TARN_OK) {
        return status;
    }
    for (uint32_t back = KEPT_STATES_MAX; status == TARN_OK && after != 0 && !has_whole(copy);
         back += KEPT_STATES_MAX) {
        status = tarn_session_history_before_newest(file, back, &after, why);
        copy->batch = 0;
        status = status == TARN_OK ? take(file, path, after, copy, why) : status;
    }
    tarn_session_file_close(file);
    return status;
}

void kept_copy_free(kept_copy *copy)
{
    for (int i = 0; i < copy->count; i++) {
        tarn_box_bytes_free(&copy->stretches[i].state.bytes);
        tarn_box_bytes_free(&copy->stretches[i].state.pack);
        tarn_box_bytes_free(&copy->stretches[i].log);
    }
    copy->count = 0;
}

static tarn_status compare(tarn_tank *tank, const tarn_black_box_hash *logged, uint64_t step, kept_hashes *hashes)
{
    tarn_tank_hash hash;
    const tarn_status status = tarn_tank_hash_get(tank, &hash);
    if (status != TARN_OK) {
        return status;
    }
    hashes->count++;
    if (hash.lo == logged->lo && hash.hi == logged->hi && step == logged->step) {
        hashes->same_step = step;
        return TARN_OK;
    }
    hashes->differs = true;
    hashes->step = step;
    hashes->in_log = (tarn_tank_hash){.lo = logged->lo, .hi = logged->hi};
    hashes->of_tank = hash;
    return TARN_OK;
}

tarn_status kept_replay(tarn_tank *tank, const tarn_box_bytes *log, uint64_t *step, kept_hashes *hashes,
                        bool (*on_step)(void *user, uint64_t step), void *user)
{
    static tarn_step_input input; // large
    tarn_black_box_record record;
    size_t at = 0;
    while (tarn_black_box_record_next(log->bytes, log->count, &at, &record)) {
        if (record.is_hash && hashes != NULL && !hashes->differs) {
            const tarn_status compared = compare(tank, &record.hash, *step, hashes);
            if (compared != TARN_OK) {
                return compared;
            }
        }
        if (record.input_bytes == 0) { // of what viewers hold alone, or a hash
            continue;
        }
        tarn_status status = tarn_step_input_read(record.input, record.input_bytes, &input);
        if (status == TARN_OK) {
            status = tarn_tank_step(tank, &input);
        }
        if (status != TARN_OK) {
            return status;
        }
        *step += !input.holds;
        if (!input.holds && on_step != NULL && !on_step(user, *step)) {
            return TARN_OK;
        }
    }
    return TARN_OK;
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

// ---- the tank of a state ----

static tarn_box_bytes made_from; // the scene itself, of the tank that is there: the copy that had it is read anew

void tool_kept_close(tool_tank *tank)
{
    if (tank->tank != NULL) {
        tool_tank_close(tank);
    }
    *tank = (tool_tank){0};
    tarn_box_bytes_free(&made_from);
}

/// From the scene as the file has it.
static bool make_from_pack(const char *command, const tool_device *device, const tarn_box_state *state, tool_tank *tank)
{
    tarn_scene_pack pack = {.bytes = state->pack.bytes, .byte_count = state->pack.count}; // which is only read
    tarn_scene *read = calloc(1, sizeof *read);
    char why[TARN_SCENE_WHY_BYTES] = "out of memory", origin[sizeof state->scene];
    const bool is_read = read != NULL && tarn_scene_read_kept(&pack, read, why, sizeof why) == TARN_OK;
    snprintf(origin, sizeof origin, "%s", state->scene);
    tarn_make_printable(origin);
    if (!is_read) {
        fprintf(stderr, "%s: the scene that the tank was made from: %s\n", command, why);
    }
    const bool is_made = is_read && tool_tank_open_read(tank, command, origin, read, device);
    free(read);
    return is_made;
}

static bool make(const char *command, const char *scenes_dir, const tool_device *device, const tarn_box_state *state,
                 tool_tank *tank)
{
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES] = "";
    if (state->pack.count > 0) {
        return make_from_pack(command, device, state, tank);
    }
    if (tarn_scene_resolve(state->scene, scenes_dir, path, sizeof path, why, sizeof why) != TARN_OK) {
        fprintf(stderr, "%s: the scene that the tank was made from: %s; --scenes says where it is\n", command, why);
        return false;
    }
    return tool_tank_open(tank, command, path, NULL, device);
}

bool tool_kept_is_of(const kept_stretch *stretch, const char *made)
{
    const tarn_box_state *state = &stretch->state;
    return strcmp(made, state->scene) == 0 && made_from.count == state->pack.count &&
           (made_from.count == 0 || memcmp(made_from.bytes, state->pack.bytes, made_from.count) == 0);
}

/// @return false: there is no memory for it
static bool remember_pack(const tarn_box_bytes *pack)
{
    if (pack->count > 0 && tarn_box_bytes_make_room(&made_from, pack->count) != TARN_OK) {
        return false;
    }
    if (pack->count > 0) {
        memcpy(made_from.bytes, pack->bytes, pack->count);
    }
    made_from.count = pack->count;
    return true;
}

bool tool_kept_put(const char *command, const char *scenes_dir, const tool_device *device, const kept_stretch *stretch,
                   tool_tank *tank, char made[TARN_IPC_SCENE_BYTES_MAX + 1])
{
    const tarn_box_state *state = &stretch->state;
    if (tank->tank != NULL && !tool_kept_is_of(stretch, made)) {
        tool_kept_close(tank);
    }
    if (tank->tank == NULL && !make(command, scenes_dir, device, state, tank)) {
        *tank = (tool_tank){0};
        return false;
    }
    if (!remember_pack(&state->pack)) {
        fprintf(stderr, "%s: out of memory for %zu bytes of a scene\n", command, state->pack.count);
        return false;
    }
    memcpy(made, state->scene, sizeof state->scene);
    const tarn_status status = state->state_bytes_max == tarn_black_box_state_room(tarn_tank_save_bytes_max(tank->tank))
                                   ? tarn_tank_load(tank->tank, state->bytes.bytes, state->bytes.count)
                                   : TARN_E_MALFORMED;
    if (status != TARN_OK) {
        char scene[sizeof state->scene];
        memcpy(scene, state->scene, sizeof scene);
        tarn_make_printable(scene);
        fprintf(stderr, "%s: state %" PRId64 " can't be put into a tank of the scene \"%s\": %s\n", command,
                stretch->id, scene,
                status == TARN_E_MALFORMED ? "it was saved from another one" : tarn_status_text(status));
    }
    return status == TARN_OK;
}

// ---- what is in a file ----
// Looks through the file of a kept session once, from its oldest state to the end of its log, and says what is in it
// and what of it is damaged: all states, then all batches of the log, then what a server makes of them. Only reads; a
// tarnd may use the file meanwhile. Begin at kept_look.

/// What a file comes to.
typedef struct kept_summary {
    uint64_t file_bytes; ///< with what lies beside it
    bool shrinks;        ///< else an earlier version made it, and it keeps all the room that it ever took
    bool has_about;
    tarn_session_about about;
    uint32_t state_count, batch_count;
    uint32_t damage_count;
    bool is_misnamed; ///< which counts as one of these: a server takes it under the session's name alone
    bool has_rest;    ///< a server that gets the file goes on from a state
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1];
    uint32_t scene_files; ///< that are in the file, the scene's JSON among them; 0: the scene isn't
    uint64_t scene_bytes; ///< of them
    double dt_s;          ///< of a step of it; 0: not known
    tarn_text title;      ///< what people see the tank as: its own title, or its scene's; empty: not known
    uint32_t epoch;
    uint64_t state_step; ///< of that state
    uint64_t end_step;   ///< that its log leads to
} kept_summary;

/// Who hears of what is found, in the order in which it happened; each may be NULL.
typedef struct kept_sink {
    void *user;
    void (*on_state)(void *user, const tarn_session_row *row);
    /// @param steps  that the batch makes
    void (*on_batch)(void *user, const tarn_session_row *row, uint64_t steps);
    void (*on_aside)(void *user, const tarn_session_aside *aside); ///< a state that killed its workers
    void (*on_damage)(void *user, const char *sentence);           ///< what is damaged and what is lost by it
} kept_sink;

enum { RANGE_BYTES = 64 };

/// Whether a name ends as that of a kept session (".tank"), or of one that was set aside (".damaged").
/// @return the bytes in front of the ending; 0: it doesn't
static size_t kept_name_bytes(const char *file_name, bool *is_aside)
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

/// The bytes of a file and of what SQLite keeps beside it. @param changed_s  receives when it changed last, since 1970
static uint64_t kept_file_bytes(const char *path, int64_t *changed_s)
{
    static const char *const besides[] = {"", "-wal"};
    uint64_t bytes = 0;
    *changed_s = 0;
    for (int i = 0; i < 2; i++) {
        char beside[PATH_MAX + 8];
        struct stat found;
        snprintf(beside, sizeof beside, "%s%s", path, besides[i]);
        if (stat(beside, &found) == 0) {
            bytes += (uint64_t)found.st_size;
            *changed_s = found.st_mtime > *changed_s ? found.st_mtime : *changed_s;
        }
    }
    return bytes;
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

static void look_at_batch(look *l, const tarn_session_row *row)
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
        look_at_batch(l, &batch);
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

/// @param scenes_dir  where scenes are that aren't in their files; NULL: where those are that came with the program
/// @param is_thorough  whether SQLite looks through its own structures too
/// @param why  on failure: the path, what was found
/// @return TARN_OK, also where parts are damaged; else what tarn_session_file_open_to_read returns
static tarn_status kept_look(const char *path, const char *scenes_dir, bool is_thorough, const kept_sink *sink,
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

// ---- a table of a folder ----
// All that follows prints to standard output, and what can't be read to standard error after the command's name.

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

/// Sessions' files of a folder, by name. @return how many; -1: a sentence went to stderr. Free each, and the list
static int kept_find(const char *command, const char *dir, char ***names)
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

/// A table of a folder's sessions. @param scenes_dir  where scenes are, for their seconds; NULL: where Tarn's are
/// @return false: the folder, or a file in it, can't be read
static bool kept_list(const char *command, const char *dir, const char *scenes_dir)
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

// ---- one file, part by part ----

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

/// All that is in a file but secrets.
static bool kept_show(const char *command, const char *path, const char *scenes_dir)
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

/// Looks through a file, or all files of a folder. @return false: something is damaged, or can't be read
static bool kept_verify(const char *command, const char *path)
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

/// Copies a session out of a folder into a file that isn't there yet, also while a tarnd writes it, and looks through
/// the copy. @param name  of the session, or of its file  @return false: it couldn't be copied, or the copy is damaged
static bool kept_backup(const char *command, const char *dir, const char *name, const char *to)
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

// ---- taken away, or made smaller ----
// Kept sessions go, or their files are written anew, of a folder that no tarnd uses: the folder's lock, then one file
// after the other. Begin at kept_prune.

/// Which go: those for which all that is given holds.
typedef struct kept_prune_plan {
    const char *dir;
    char **names; ///< of sessions, or of files; none: any
    int name_count;
    uint64_t older_s, larger_bytes; ///< 0: not given
    bool is_dry;                    ///< only said
    bool shrinks;                   ///< none goes: those that an earlier version made are written anew
} kept_prune_plan;

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

/// Says what goes on standard output. @return false: a sentence went to stderr
static bool kept_prune(const char *command, const kept_prune_plan *plan)
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

// ---- the command ----

enum { KEY_SCENES = 256, KEY_OLDER, KEY_LARGER, KEY_DRY, KEY_SHRINK };

typedef struct session_arguments {
    const char *scenes_dir;
    char **paths;
    int path_count;
    kept_prune_plan plan;
} session_arguments;

static error_t parse(int key, char *argument, struct argp_state *state)
{
    session_arguments *arguments = state->input;
    switch (key) {
    case KEY_SCENES:
        arguments->scenes_dir = argument;
        return 0;
    case KEY_OLDER:
        arguments->plan.older_s = tarn_option_age_s(state, "older", argument);
        return 0;
    case KEY_LARGER:
        arguments->plan.larger_bytes = tarn_option_bytes(state, "larger", argument);
        return 0;
    case KEY_DRY:
        arguments->plan.is_dry = true;
        return 0;
    case KEY_SHRINK:
        arguments->plan.shrinks = true;
        return 0;
    case ARGP_KEY_ARGS:
        arguments->paths = state->argv + state->next;
        arguments->path_count = state->argc - state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define SCENES_OPTION                                                                                                  \
    {                                                                                                                  \
        "scenes", KEY_SCENES, "DIR", 0,                                                                                \
            "where the server had its scenes, for seconds of simulated time; default: those that came with Tarn", 0    \
    }

static const struct argp_option scenes_options[] = {SCENES_OPTION, {0}};
static const struct argp_option prune_options[] = {
    {"older", KEY_OLDER, "AGE", 0, "those that last changed so long ago: 90s, 15m, 12h, 30d", 0},
    {"larger", KEY_LARGER, "SIZE", 0, "those that take more: bytes, or with k, M or G", 0},
    {"dry-run", KEY_DRY, 0, 0, "only say what would go", 0},
    {"shrink", KEY_SHRINK, 0, 0,
     "delete nothing: write those anew that an earlier version made, which never get smaller", 0},
    {0},
};
static const struct argp list_argp = {
    .options = scenes_options,
    .parser = parse,
    .args_doc = "DIR",
    .doc = "Lists the sessions that a tarnd keeps in DIR (--store), also while it runs.\v"
           "TITLE is what people see: the tank's, or else its scene's. STEP and TIME are where a server goes on; LOG "
           "is how many steps of that lie behind the newest state."};
static const struct argp show_argp = {.options = scenes_options,
                                      .parser = parse,
                                      .args_doc = "FILE...",
                                      .doc = "Shows what is in a kept session's file, but no secret."};
static const struct argp verify_argp = {
    .parser = parse,
    .args_doc = "FILE|DIR...",
    .doc = "Looks whether kept sessions are whole: SQLite's structures, each part's checksum and what is in it.\v"
           "Names what is damaged and what is lost by it. The status is 1 where something is."};
static const struct argp backup_argp = {
    .parser = parse,
    .args_doc = "DIR NAME FILE",
    .doc = "Copies the session NAME that a tarnd keeps in DIR into FILE, also while it runs, and looks whether the "
           "copy is whole.\v"
           "FILE is new: one file, which lacks nothing, as it was when this began. A server takes it as NAME.tank in a "
           "folder that no tarnd uses."};
static const struct argp prune_argp = {
    .options = prune_options,
    .parser = parse,
    .args_doc = "DIR [NAME...]",
    .doc = "Deletes kept sessions from DIR, which no tarnd may be using, and says which.\v"
           "Those go for which all holds that is given: the names, --older, --larger. With --shrink these, or all, are "
           "written anew where that helps, each with twice its size of the disk for as long as that takes."};

static void usage(const struct argp *argp, char **argv, const char *sentence)
{
    fprintf(stderr, "%s: %s\n", argv[0], sentence);
    argp_help(argp, stderr, ARGP_HELP_SEE, argv[0]);
    exit(argp_err_exit_status);
}

static int run_list(int argc, char **argv)
{
    session_arguments arguments = {0};
    tarn_options_parse(&list_argp, argc, argv, 0, &arguments);
    if (arguments.path_count != 1) {
        usage(&list_argp, argv, "allowed is one folder");
    }
    return kept_list(argv[0], arguments.paths[0], arguments.scenes_dir) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_show(int argc, char **argv)
{
    session_arguments arguments = {0};
    bool is_read = true;
    tarn_options_parse(&show_argp, argc, argv, 0, &arguments);
    if (arguments.path_count == 0) {
        usage(&show_argp, argv, "the file of a kept session is missing");
    }
    for (int i = 0; i < arguments.path_count; i++) {
        is_read = kept_show(argv[0], arguments.paths[i], arguments.scenes_dir) && is_read;
    }
    return is_read ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_verify(int argc, char **argv)
{
    session_arguments arguments = {0};
    bool is_whole = true;
    tarn_options_parse(&verify_argp, argc, argv, 0, &arguments);
    if (arguments.path_count == 0) {
        usage(&verify_argp, argv, "the file or the folder is missing");
    }
    for (int i = 0; i < arguments.path_count; i++) {
        is_whole = kept_verify(argv[0], arguments.paths[i]) && is_whole;
    }
    return is_whole ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_backup(int argc, char **argv)
{
    session_arguments arguments = {0};
    tarn_options_parse(&backup_argp, argc, argv, 0, &arguments);
    if (arguments.path_count != 3) {
        usage(&backup_argp, argv, "allowed are a folder, the name of a session in it and a file that is to be made");
    }
    return kept_backup(argv[0], arguments.paths[0], arguments.paths[1], arguments.paths[2]) ? EXIT_SUCCESS
                                                                                            : EXIT_FAILURE;
}

static int run_prune(int argc, char **argv)
{
    session_arguments arguments = {0};
    kept_prune_plan *plan = &arguments.plan;
    tarn_options_parse(&prune_argp, argc, argv, 0, &arguments);
    if (arguments.path_count == 0) {
        usage(&prune_argp, argv, "the folder is missing");
    }
    plan->dir = arguments.paths[0];
    plan->names = arguments.paths + 1;
    plan->name_count = arguments.path_count - 1;
    if (!plan->shrinks && plan->name_count == 0 && plan->older_s == 0 && plan->larger_bytes == 0) {
        usage(&prune_argp, argv, "nothing says which are to go: --older, --larger or names");
    }
    return kept_prune(argv[0], plan) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} acts[] = {{"list", run_list},     {"show", run_show},  {"verify", run_verify}, {"export", tool_session_export},
            {"backup", run_backup}, {"prune", run_prune}};

typedef struct session_choice {
    int (*run)(int argc, char **argv);
    const char *name;
    int first; // index of the act's name in argv
} session_choice;

static error_t choose(int key, char *argument, struct argp_state *state)
{
    session_choice *choice = state->input;
    if (key == ARGP_KEY_ARG) {
        for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
            if (strcmp(argument, acts[i].name) == 0) {
                *choice = (session_choice){acts[i].run, acts[i].name, state->next - 1};
                state->next = state->argc;
                return 0;
            }
        }
        const char *names[sizeof acts / sizeof acts[0]];
        for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
            names[i] = acts[i].name;
        }
        const char *near = tarn_nearest_name(argument, names, sizeof acts / sizeof acts[0]);
        argp_error(state, "found \"%s\"%s%s%s, allowed are list, show, verify, export, backup and prune", argument,
                   near != NULL ? " (did you mean " : "", near != NULL ? near : "", near != NULL ? "?)" : "");
    }
    if (key == ARGP_KEY_NO_ARGS) {
        argp_error(state, "allowed are list, show, verify, export, backup and prune");
    }
    return ARGP_ERR_UNKNOWN;
}

int tool_session(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = choose,
        .args_doc = "ACT [OPTION...]",
        .doc = "Looks after the sessions that tarnd keeps with --store.\v"
               "Acts:\n"
               "  list   a table of a folder\n"
               "  show   what is in a file\n"
               "  verify whether files are whole\n"
               "  export simulate to the newest step, and write it\n"
               "  backup copy one into a file, also while a server runs\n"
               "  prune  delete old or large ones\n"
               "\n"
               "`tarn session ACT --help` describes one. `tarn replay FILE` makes a file's steps again.",
    };
    session_choice choice = {0};
    char name[64];
    tarn_options_parse(&argp, argc, argv, ARGP_IN_ORDER, &choice);
    snprintf(name, sizeof name, "%s %s", argv[0], choice.name);
    argv[choice.first] = name;
    return choice.run(argc - choice.first, argv + choice.first);
}
