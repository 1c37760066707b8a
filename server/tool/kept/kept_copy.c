// From a file's rows to stretches, and from a stretch to steps. Begin at kept_copy_read.
#include "server/tool/kept/kept_copy.h"
#include "kernels/step_input.h"
#include "server/common/black_box_layout.h"
#include "server/common/session_aside.h"
#include "server/common/session_history.h"
#include "server/common/session_scene.h"

#include <stdio.h>
#include <string.h>

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
