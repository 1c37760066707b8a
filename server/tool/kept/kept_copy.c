// From a file's rows to stretches, and from a stretch to steps. Begin at kept_copy_read.
#include "server/tool/kept/kept_copy.h"
#include "kernels/step_input.h"
#include "server/common/black_box_layout.h"
#include "server/common/session_aside.h"
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

static tarn_status take_states(tarn_session_file *file, kept_copy *copy, tarn_text why)
{
    tarn_session_row row = {0};
    tarn_status status;
    while ((status = tarn_session_file_next_state(file, &row, why)) == TARN_OK) {
        if (copy->count == KEPT_STATES_MAX) {
            snprintf(why, sizeof(tarn_text), "found more than %d states, allowed are so many", KEPT_STATES_MAX);
            return TARN_E_LIMIT;
        }
        kept_stretch *stretch = &copy->stretches[copy->count++];
        stretch->id = row.id;
        stretch->follows = row.follows && (copy->count == 1 || stretch[-1].id + 1 == row.id);
        stretch->is_whole = row.is_whole;
        stretch->epoch = row.head.epoch;
        stretch->state.step = row.head.step;
        stretch->state.state_bytes_max = row.head.state_bytes_max;
        memcpy(stretch->state.scene, row.head.scene, sizeof stretch->state.scene);
        if (append(&stretch->state.bytes, row.content, row.content_bytes) != TARN_OK) {
            snprintf(why, sizeof(tarn_text), "out of memory for %zu bytes of a state", row.content_bytes);
            return TARN_E_MEMORY;
        }
        status = tarn_session_scene_read(file, row.id, &stretch->state.pack, why);
        if (status != TARN_OK && status != TARN_E_MALFORMED) { // one that is damaged is taken by its name
            return status;
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
    tarn_session_row row = {0};
    tarn_status status;
    int64_t last = 0;
    int at = 0;
    while ((status = tarn_session_file_next_batch(file, &row, why)) == TARN_OK) {
        while (at < copy->count && copy->stretches[at].id < row.state) {
            at++;
        }
        if (at < copy->count && copy->stretches[at].id == row.state) {
            take_batch(&copy->stretches[at], &row,
                       last == 0 || row.id == last + 1 || tarn_session_aside_has(file, true, last + 1, row.id - 1));
        } else if (at > 0) { // its state is missing
            copy->stretches[at - 1].is_cut = true;
        }
        last = row.id;
    }
    if (status != TARN_E_NOT_FOUND && copy->count > 0) {
        copy->stretches[at < copy->count ? at : copy->count - 1].is_cut = true;
    }
}

tarn_status kept_copy_read(const char *path, kept_copy *copy, tarn_text why)
{
    tarn_session_file *file;
    memset(copy, 0, sizeof *copy);
    tarn_status status = tarn_session_file_open_to_read(path, &file, why);
    if (status != TARN_OK) {
        return status;
    }
    status = take_states(file, copy, why);
    if (status == TARN_OK) {
        take_log(file, copy, why);
    }
    if (status == TARN_OK && copy->count == 0) {
        snprintf(why, sizeof(tarn_text), "%.300s: no state of the tank is in it", path);
        status = TARN_E_NOT_FOUND;
    }
    tarn_session_file_close(file);
    if (status != TARN_OK) {
        kept_copy_free(copy);
    }
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

tarn_status kept_replay(tarn_tank *tank, const tarn_box_bytes *log, uint64_t *step,
                        bool (*on_step)(void *user, uint64_t step), void *user)
{
    static tarn_step_input input; // large
    tarn_black_box_record record;
    size_t at = 0;
    while (tarn_black_box_record_next(log->bytes, log->count, &at, &record)) {
        if (record.input_bytes == 0) { // of what viewers hold alone
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
