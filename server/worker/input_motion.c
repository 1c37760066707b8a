// A place for each source, which keeps its newest grid; a step takes copies.
#include "server/worker/input_motion.h"
#include "protocol/assert.h"

#include <stdio.h>
#include <string.h>

/// The source's place, or a free one. @return NULL: all are taken
static tarn_motion_source *place_of(tarn_input_motion_state *state, uint32_t viewer_id, uint32_t source)
{
    tarn_motion_source *free_place = NULL;
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        tarn_motion_source *at = &state->sources[i];
        if (at->viewer_id == viewer_id && at->source == source) {
            return at;
        }
        if (at->viewer_id == 0 && free_place == NULL) {
            free_place = at;
        }
    }
    return free_place;
}

static void forget(tarn_input_motion_state *state, tarn_motion_source *source)
{
    source->viewer_id = 0;
    state->told = 0;
}

tarn_status tarn_input_motion_put(tarn_input_motion_state *state, uint32_t viewer_id, const tarn_input_motion *motion,
                                  tarn_text why)
{
    TARN_ASSERT(viewer_id != 0 && motion->cell_bytes <= TARN_MOTION_CODE_BYTES_MAX);
    tarn_motion_source *to = place_of(state, viewer_id, motion->source);
    if (motion->cell_bytes == 0) {
        if (to != NULL && to->viewer_id != 0) {
            forget(state, to);
        }
        return TARN_OK;
    }
    if (to == NULL) {
        const bool is_told = state->told == viewer_id;
        state->told = viewer_id;
        snprintf(why, sizeof(tarn_text), "input.source: as many cameras act on this tank as fit, which are %d",
                 TARN_STEP_MOTION_FIELDS_MAX);
        return is_told ? TARN_OK : TARN_E_LIMIT;
    }
    to->viewer_id = viewer_id;
    to->source = motion->source;
    to->silent_s = 0.0f;
    to->is_new = true;
    to->moves = tarn_motion_has(motion->cells, motion->cell_bytes, motion->solid ? 0 : motion->columns * motion->rows);
    to->field = (tarn_motion_field){
        .depth_m = motion->depth_m,
        .speed_m_s = motion->speed_m_s,
        .strength = motion->strength,
        .solid = motion->solid != 0,
        .columns = motion->columns,
        .rows = motion->rows,
        .cell_bytes = motion->cell_bytes,
    };
    memcpy(to->field.corner_m, motion->corner_m, sizeof to->field.corner_m);
    memcpy(to->field.across_m, motion->across_m, sizeof to->field.across_m);
    memcpy(to->field.up_m, motion->up_m, sizeof to->field.up_m);
    memcpy(to->cells, motion->cells, motion->cell_bytes);
    return TARN_OK;
}

void tarn_input_motion_viewer_gone(tarn_input_motion_state *state, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        if (state->sources[i].viewer_id == viewer_id) {
            forget(state, &state->sources[i]);
        }
    }
}

bool tarn_input_motion_latch(tarn_input_motion_state *state, float hand_s, tarn_step_input *input)
{
    bool is_heard = false;
    input->motion_field_count = 0;
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        tarn_motion_source *source = &state->sources[i];
        if (source->viewer_id == 0) {
            continue;
        }
        if (source->silent_s > TARN_MOTION_SILENCE_S) {
            forget(state, source);
            continue;
        }
        source->silent_s += hand_s;
        is_heard |= source->is_new && source->moves;
        source->is_new = false;
        if (source->moves) {
            // Messages come while the step is being made, too.
            const uint32_t at = input->motion_field_count++;
            memcpy(state->latched[at], source->cells, source->field.cell_bytes);
            input->motion_fields[at] = source->field;
            input->motion_fields[at].cells = state->latched[at];
        }
    }
    return is_heard;
}
