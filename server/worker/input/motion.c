// A place for each source, which keeps its newest grid; a step takes copies: start at tarn_input_motion_put.
#include "server/worker/input/motion.h"
#include "protocol/assert.h"

#include <stdio.h>
#include <string.h>

static void forget_silent(tarn_input_motion_state *state, uint64_t now_ns)
{
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        tarn_motion_source *at = &state->sources[i];
        if (at->viewer_id != 0 && now_ns > at->heard_ns + TARN_MOTION_SILENCE_NS) {
            at->viewer_id = 0;
        }
    }
}

static uint32_t places_of(const tarn_input_motion_state *state, uint32_t viewer_id)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        count += state->sources[i].viewer_id == viewer_id;
    }
    return count;
}

static tarn_motion_source *find(tarn_input_motion_state *state, uint32_t viewer_id, uint32_t source)
{
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        tarn_motion_source *at = &state->sources[i];
        if (at->viewer_id == viewer_id && at->source == source) {
            return at;
        }
    }
    return NULL;
}

/// A place for one more source of a viewer. @return NULL: there is none
static tarn_motion_source *make_place(tarn_input_motion_state *state, uint32_t viewer_id)
{
    tarn_motion_source *spare = NULL;
    const bool has_none = places_of(state, viewer_id) == 0;
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        tarn_motion_source *at = &state->sources[i];
        if (at->viewer_id == 0) {
            return at;
        }
        if (has_none && places_of(state, at->viewer_id) > 1) {
            spare = at;
        }
    }
    return spare;
}

/// @return whether the viewer had been told before
static bool tell(tarn_input_motion_state *state, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < TARN_MOTION_TOLD_MAX; i++) {
        if (state->told[i] == viewer_id) {
            return true;
        }
    }
    state->told[state->told_next] = viewer_id;
    state->told_next = (state->told_next + 1) % TARN_MOTION_TOLD_MAX;
    return false;
}

tarn_status tarn_input_motion_put(tarn_input_motion_state *state, uint64_t now_ns, uint32_t viewer_id,
                                  const tarn_input_motion *motion, tarn_text why)
{
    TARN_ASSERT(viewer_id != 0 && motion->cell_bytes <= TARN_MOTION_CODE_BYTES_MAX);
    forget_silent(state, now_ns);
    tarn_motion_source *to = find(state, viewer_id, motion->source);
    if (motion->cell_bytes == 0) {
        if (to != NULL) {
            to->viewer_id = 0;
        }
        return TARN_OK;
    }
    to = to != NULL ? to : make_place(state, viewer_id);
    if (to == NULL) {
        snprintf(why, sizeof(tarn_text), "input.source: as many cameras act on this tank as fit, which are %d",
                 TARN_STEP_MOTION_FIELDS_MAX);
        return tell(state, viewer_id) ? TARN_OK : TARN_E_LIMIT;
    }
    to->viewer_id = viewer_id;
    to->source = motion->source;
    to->heard_ns = now_ns;
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
            state->sources[i].viewer_id = 0;
        }
    }
    for (uint32_t i = 0; i < TARN_MOTION_TOLD_MAX; i++) {
        state->told[i] = state->told[i] == viewer_id ? 0 : state->told[i];
    }
}

void tarn_input_motion_release(tarn_input_motion_state *state)
{
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        state->sources[i].viewer_id = 0;
    }
}

bool tarn_input_motion_latch(tarn_input_motion_state *state, uint64_t now_ns, tarn_step_input *input)
{
    bool is_heard = false;
    forget_silent(state, now_ns);
    input->motion_field_count = 0;
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        tarn_motion_source *source = &state->sources[i];
        if (source->viewer_id == 0) {
            continue;
        }
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
